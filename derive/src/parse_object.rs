//! Parses a struct and its attributes to an `ObjectModel`, and has it checked.

use quote::{ToTokens, quote};
use syn::{Data, DeriveInput, Field, Fields, Ident, LitStr, Type};

use crate::attribute_syntax::{self, Argument, Item};
use crate::check;
use crate::composite;
use crate::errors::Errors;
use crate::evolution;
use crate::evolution_attributes::{self, FieldEvolution, TypeEvolution, Upgrade};
use crate::exclude;
use crate::inverse;
use crate::inverse_methods;
use crate::names::{self, Case};
use crate::object_model::{
    DeleteAction, FieldModel, Flattened, ObjectModel, Refused, Role, Shape, ValueModel,
};
use crate::types::{self, ReferenceModel};

const STRUCT_KEYS: &[&str] = &[
    "name",
    "storage_id",
    "singleton",
    "rename_all",
    "composite",
    "default_allow_deleted",
    "default_upgrade",
    "removed",
    "on_schema_change",
    "validate",
    "hooks",
    "inverse",
    "aliases",
    "accessors",
    "crate",
];
const MIXIN_KEYS: &[&str] = &[
    "rename_all",
    "composite",
    "default_allow_deleted",
    "default_upgrade",
    "aliases",
    "hooks",
    "accessors",
    "crate",
];
const FIELD_KEYS: &[&str] = &[
    "rename",
    "accessor",
    "skip",
    "flatten",
    "storage_id",
    "indexed",
    "unique",
    "exclude",
    "encoding",
    "with",
    "upgrade",
    "was",
    "default",
    "upgrade_with",
    "validate",
    "inverse_delete",
    "forward_delete",
    "allow_deleted",
    "cascade",
    "element",
    "key",
    "value",
    "list",
    "set",
    "map",
    "array",
    "reference",
    "simple",
];
const SUB_FIELD_KEYS: &[&str] = &[
    "storage_id",
    "indexed",
    "encoding",
    "inverse_delete",
    "forward_delete",
    "allow_deleted",
    "cascade",
    "reference",
];

/// The attributes of the struct that apply to all its fields.
struct Defaults {
    case: Case,
    allow_deleted: bool,
    upgrade: Option<Upgrade>,
}

/// The model of a struct, as far as it makes sense, and all its mistakes.
pub(crate) fn parse(input: &DeriveInput, role: Role) -> (ObjectModel, Errors) {
    let mut errors = Errors::default();
    let mut model = ObjectModel {
        role,
        ident: input.ident.clone(),
        visibility: input.vis.clone(),
        krate: quote!(::permazen),
        name: Case::AsWritten.apply(&input.ident),
        storage_id: None,
        singleton: false,
        fields: Vec::new(),
        flattened: Vec::new(),
        skipped: Vec::new(),
        refused: Vec::new(),
        accessors: None,
        composites: Vec::new(),
        inverses: Vec::new(),
        evolution: TypeEvolution::default(),
        validate: None,
        hooks: None,
    };
    let mut defaults = Defaults { case: Case::Camel, allow_deleted: false, upgrade: None };
    let mut name_tokens = input.ident.to_token_stream();
    for item in
        attribute_syntax::permazen_items(&input.attrs, &["composite", "inverse"], &mut errors)
    {
        match item.key.to_string().as_str() {
            key if role == Role::Mixin && !MIXIN_KEYS.contains(&key) => {
                errors.push(item.unknown("a mix-in", MIXIN_KEYS));
            }
            "name" => {
                if let Some(text) = errors.note(item.string()) {
                    model.name = text.value();
                    name_tokens = text.to_token_stream();
                }
            }
            // These make a struct without parameters, which this one is.
            "aliases" => {}
            "accessors" => {
                model.accessors = errors.note(item.type_name());
            }
            "storage_id" => model.storage_id = errors.note(item.storage_id()),
            "singleton" => model.singleton = item.flag(&mut errors),
            "rename_all" => {
                let case = item.string().and_then(|text| Case::parse(&text.value(), text.span()));
                defaults.case = errors.note(case).unwrap_or(defaults.case);
            }
            "composite" => model.composites.extend(composite::parse(&item, &mut errors)),
            "default_allow_deleted" => defaults.allow_deleted = item.flag(&mut errors),
            "default_upgrade" => {
                defaults.upgrade = errors.note(evolution_attributes::upgrade(&item));
            }
            "inverse" => {
                model.inverses.extend(inverse::parse(&item, &input.ident, &mut errors));
            }
            "removed" => model.evolution.removed(&item, &mut errors),
            "hooks" => model.hooks = item.flag(&mut errors).then(|| item.key.span()),
            "on_schema_change" => model.evolution.on_schema_change(&item, &mut errors),
            "validate" => model.validate = errors.note(item.function()),
            "crate" => {
                model.krate =
                    errors.note(attribute_syntax::crate_path(&item)).unwrap_or(model.krate);
            }
            _ => errors.push(item.unknown("a struct", STRUCT_KEYS)),
        }
    }
    names::check(&model.name, &name_tokens, &mut errors);
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => {
                for field in &fields.named {
                    parse_field(field, &defaults, &mut model, &mut errors);
                }
            }
            Fields::Unit => {}
            Fields::Unnamed(fields) => errors.at(fields, "the fields of an object type have names"),
        },
        Data::Enum(data) if role == Role::Mixin => {
            errors.at_span(data.enum_token.span, "a mix-in is a struct");
        }
        Data::Enum(data) => errors.at_span(
            data.enum_token.span,
            "an object type is a struct; for an enum use `#[derive(PermazenEnum)]`",
        ),
        Data::Union(data) => errors.at_span(data.union_token.span, "an object type is a struct"),
    }
    check::fields(&model.fields, &mut errors);
    check::flattened(&model, &mut errors);
    check::composites(&model, &mut errors);
    inverse_methods::check(&model, &mut errors);
    evolution::check(&model, &mut errors);
    (model, errors)
}

fn parse_field(field: &Field, defaults: &Defaults, model: &mut ObjectModel, errors: &mut Errors) {
    let Some(ident) = field.ident.clone() else { return };
    let items = attribute_syntax::permazen_items(&field.attrs, &[], errors);
    for item in &items {
        if !FIELD_KEYS.iter().any(|key| item.is(key)) {
            errors.push(item.unknown("a field", FIELD_KEYS));
        }
    }
    if let Some(skip) = items.iter().find(|item| item.is("skip")) {
        skip.flag(errors);
        for other in items.iter().filter(|item| !item.is("skip")) {
            errors.at(&other.key, "a field that is skipped has no other attributes");
        }
        model.skipped.push(ident);
        return;
    }
    if let Some(flatten) = items.iter().find(|item| item.is("flatten")) {
        flatten.flag(errors);
        for other in items.iter().filter(|item| !item.is("flatten")) {
            let message = "a mix-in has no other attributes here: write them at its fields";
            errors.at(&other.key, message);
        }
        let docs = field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc"));
        model.flattened.push(Flattened {
            visibility: field.vis.clone(),
            docs: docs.cloned().collect(),
            ty: types::without_self(&field.ty, &model.ident),
            ident,
        });
        return;
    }
    let mut name = defaults.case.apply(&ident);
    let mut name_span = ident.span();
    let mut name_tokens = ident.to_token_stream();
    let mut accessor = ident.clone();
    let mut unique = None;
    let mut excludes = None;
    for item in &items {
        match item.key.to_string().as_str() {
            "rename" => {
                if let Some(text) = errors.note(item.string()) {
                    name = text.value();
                    name_span = text.span();
                    name_tokens = text.to_token_stream();
                }
            }
            "accessor" => {
                let text = errors.note(item.string());
                let parsed = text.and_then(|text| errors.note(check::accessor(&text)));
                accessor = parsed.unwrap_or(accessor);
            }
            "unique" => unique = item.flag(errors).then_some(&item.key),
            "exclude" => excludes = Some((&item.key, exclude::parse(item, errors))),
            _ => {}
        }
    }
    names::check(&name, &name_tokens, errors);
    let evolution = FieldEvolution::of(&items, defaults.upgrade, errors);
    let validate = items.iter().find(|item| item.is("validate"));
    if let Some(item) = validate.filter(|_| model.role == Role::Mixin) {
        let message =
            "a mix-in has no validation of its own: write `validate = path` at the models";
        errors.at(&item.key, message);
    }
    let validate = validate.and_then(|item| errors.note(item.function()));
    let ty = types::without_self(&field.ty, &model.ident);
    // The type was reported. The field is kept apart, so that its accessors still exist.
    let Some(mut shape) = shape(&ty, &items, &model.ident, errors) else {
        model.refused.push(Refused { ident, accessor, visibility: field.vis.clone(), ty });
        return;
    };
    value_attributes(&mut shape, &items, defaults, errors);
    let storage_id = items.iter().find(|item| item.is("storage_id"));
    let storage_id = storage_id.and_then(|item| errors.note(item.storage_id()));
    let indexed = matches!(&shape, Shape::Simple(value) if value.indexed);
    if let Some(key) = unique {
        if !matches!(shape, Shape::Simple(_)) {
            errors.at(key, "only a simple field can be unique");
        } else if !indexed {
            errors.at(key, "a unique field is looked up by value: `unique` needs `indexed`");
        }
    }
    if let (Some((key, _)), None) = (&excludes, unique) {
        errors.at(key, "`exclude` exempts values from uniqueness: it needs `unique`");
    }
    let attributes_named =
        |name| field.attrs.iter().filter(move |attribute| attribute.path().is_ident(name));
    model.fields.push(FieldModel {
        docs: attributes_named("doc").cloned().collect(),
        deprecated: attributes_named("deprecated").next().cloned(),
        visibility: field.vis.clone(),
        ty,
        ident,
        accessor,
        name,
        name_span,
        storage_id,
        shape,
        unique: unique.is_some(),
        excludes: excludes.map(|(_, list)| list).unwrap_or_default(),
        evolution,
        validate,
    });
}

/// The kind of a field, from its type and the attributes that override it. Reports an error if it
/// has none.
fn shape(ty: &Type, items: &[Item], owner: &Ident, errors: &mut Errors) -> Option<Shape> {
    let given = |key: &str| items.iter().find(|item| item.is(key));
    let kinds = ["list", "set", "map", "array", "with", "simple"];
    let overrides: Vec<&Item> = kinds.into_iter().filter_map(given).collect();
    if let [_, second, ..] = overrides[..] {
        errors.at(
            &second.key,
            "a field is of one kind: `list`, `set`, `map`, `array`, `simple` or `with`",
        );
        return None;
    }
    if let Some(item) = overrides.first() {
        if item.is("with") {
            let target = types::without_self(&errors.note(item.ty())?, owner);
            return Some(Shape::Simple(converted_value(ty, &target, errors)?));
        }
        item.flag(errors);
    }
    let kind = overrides.first().map(|item| item.key.to_string()).unwrap_or_default();
    let (name, arguments) = types::last_segment(ty).unwrap_or_default();
    let is_sequence = matches!(name.as_str(), "Vec" | "BTreeSet");
    let reference = given("reference");
    match (kind.as_str(), name.as_str(), &arguments[..]) {
        ("", "Counter", []) => Some(Shape::Counter),
        ("list", _, [element]) | ("", "Vec", [element]) if is_sequence => {
            Some(Shape::List(inner_value(element, sub_reference(given("element")), errors)?))
        }
        ("set", "HashSet", [element]) | ("", "BTreeSet" | "HashSet", [element]) => {
            Some(Shape::Set(inner_value(element, sub_reference(given("element")), errors)?))
        }
        ("set", _, [element]) if is_sequence => {
            Some(Shape::Set(inner_value(element, sub_reference(given("element")), errors)?))
        }
        ("map" | "", "BTreeMap" | "HashMap", [key, value]) => Some(Shape::Map(
            inner_value(key, sub_reference(given("key")), errors)?,
            inner_value(value, sub_reference(given("value")), errors)?,
        )),
        ("map", "Vec", [Type::Tuple(pair)]) if pair.elems.len() == 2 => Some(Shape::Map(
            inner_value(pair.elems.first()?, sub_reference(given("key")), errors)?,
            inner_value(pair.elems.last()?, sub_reference(given("value")), errors)?,
        )),
        // The array is one value, so its elements must be simple ones.
        ("array", "Vec", [element]) => {
            sub_value(element, None, errors)?;
            let mut value = ValueModel::plain(syn::parse_quote!(Box<[#element]>), None);
            value.converted = true;
            Some(Shape::Simple(value))
        }
        ("array", "Box", _) | ("" | "simple", _, _) => {
            Some(Shape::Simple(sub_value(ty, reference, errors)?))
        }
        ("list" | "set", _, _) => {
            let others = if kind == "set" { ", `BTreeSet<T>` or `HashSet<T>`" } else { "" };
            errors.at(ty, format!("a {kind} is held in a `Vec<T>`{others}"));
            None
        }
        ("map", _, _) => {
            errors.at(ty, "a map is held in a `BTreeMap<K, V>`, `HashMap<K, V>` or `Vec<(K, V)>`");
            None
        }
        _ => {
            errors.at(ty, "an array is held in a `Box<[T]>` or `Vec<T>`");
            None
        }
    }
}

/// The value of a field of type `ty` that is stored as a `target`. An `Option` is converted inside,
/// and stays an `Option`.
fn converted_value(ty: &Type, target: &Type, errors: &mut Errors) -> Option<Box<ValueModel>> {
    let held = types::argument_of(ty, "Option");
    // Only if both are an `Option`, the conversion is inside. A conversion may also make null
    // itself.
    let stored = types::argument_of(target, "Option").filter(|_| held.is_some()).unwrap_or(target);
    let mut value = sub_value(stored, None, errors)?;
    value.converted = true;
    if let Some(held) = held {
        value.inside_option = Some((held.clone(), stored.clone()));
        value.ty = names::option_of(stored);
    }
    Some(value)
}

/// The `reference` flag among the attributes of a sub-field.
fn sub_reference(item: Option<&Item>) -> Option<&Item> {
    let Argument::List(tokens) = &item?.argument else { return None };
    // Only the flag matters here. The attributes of a sub-field are checked where they are read.
    let found = attribute_syntax::items(tokens, &[], &mut Errors::default());
    found.iter().any(|item| item.is("reference")).then_some(item?)
}

/// The elements, keys or values of a collection, of type `ty`. Reports an error if `ty` cannot be
/// theirs.
fn inner_value(ty: &Type, marked: Option<&Item>, errors: &mut Errors) -> Option<Box<ValueModel>> {
    if let Some(message) = types::refusal_inside(ty) {
        errors.at(ty, message);
        return None;
    }
    sub_value(ty, marked, errors)
}

/// A simple value of type `ty`. Reports an error if `ty` cannot be one.
fn sub_value(ty: &Type, marked: Option<&Item>, errors: &mut Errors) -> Option<Box<ValueModel>> {
    if let Some(message) = types::refusal(ty) {
        errors.at(ty, message);
        return None;
    }
    // A type alias hides `Ref`, so the attribute `reference` says it. The target is then unknown.
    let alias = marked.map(|_| ReferenceModel { target: None, optional: true });
    Some(ValueModel::plain(ty.clone(), types::reference(ty).or(alias)))
}

/// Applies the attributes of the field, or of its sub-fields, to the values of `shape`.
fn value_attributes(shape: &mut Shape, items: &[Item], defaults: &Defaults, errors: &mut Errors) {
    let sub_keys = ["element", "key", "value"];
    let (own, subs): (Vec<&Item>, Vec<&Item>) =
        items.iter().partition(|item| !sub_keys.iter().any(|key| item.is(key)));
    // As with an annotation in Java, an attribute on a sub-field switches off the struct's default.
    let inherit = |value: &mut ValueModel| {
        value.allow_deleted = defaults.allow_deleted && value.reference.is_some();
    };
    let mut slots: Vec<(&str, &mut ValueModel)> = match shape {
        Shape::Simple(value) => {
            inherit(value);
            let own =
                own.iter().copied().filter(|item| SUB_FIELD_KEYS.iter().any(|key| item.is(key)));
            // It is the storage ID of the field, not one of its value.
            let own = own.filter(|item| !item.is("storage_id"));
            simple_attributes(value, own, false, errors);
            Vec::new()
        }
        Shape::Counter => {
            refuse_value_attributes(&own, "a counter", "", errors);
            Vec::new()
        }
        Shape::Set(element) | Shape::List(element) => vec![("element", element)],
        Shape::Map(key, value) => vec![("key", key), ("value", value)],
    };
    // Attributes of the values of a collection stand at the sub-fields.
    if !slots.is_empty() {
        let names: Vec<&str> = slots.iter().map(|(name, _)| *name).collect();
        let hint = format!(": write it inside `{}(...)`", names.join("(...)` or `"));
        refuse_value_attributes(&own, "a collection", &hint, errors);
        slots.iter_mut().for_each(|(_, value)| inherit(value));
    }
    for item in subs {
        let Some((_, value)) = slots.iter_mut().find(|(name, _)| item.is(name)) else {
            errors.at(&item.key, format!("this field has no sub-field `{}`", item.key));
            continue;
        };
        let Some(tokens) = errors.note(item.list().cloned()) else { continue };
        value.allow_deleted = false;
        let items = attribute_syntax::items(&tokens, &[], errors);
        for item in &items {
            if item.is("unique") {
                errors.at(&item.key, "a sub-field cannot be unique");
            } else if !SUB_FIELD_KEYS.iter().any(|key| item.is(key)) {
                errors.push(item.unknown("a sub-field", SUB_FIELD_KEYS));
            }
        }
        simple_attributes(value, items.iter(), true, errors);
    }
}

fn refuse_value_attributes(items: &[&Item], what: &str, hint: &str, errors: &mut Errors) {
    let keys = SUB_FIELD_KEYS.iter().filter(|key| **key != "storage_id");
    for item in items.iter().filter(|item| keys.clone().any(|key| item.is(key))) {
        errors.at(&item.key, format!("`{}` does not apply to {what}{hint}", item.key));
    }
}

fn simple_attributes<'i>(
    value: &mut ValueModel,
    items: impl Iterator<Item = &'i Item>,
    sub_field: bool,
    errors: &mut Errors,
) {
    let mut inverse_delete: Option<&Ident> = None;
    for item in items {
        let key = item.key.to_string();
        let for_references = matches!(
            key.as_str(),
            "inverse_delete" | "forward_delete" | "allow_deleted" | "cascade"
        );
        if for_references && value.reference.is_none() {
            let message = format!(
                "`{key}` applies to references: the type is not `Ref<…>` (mark an alias with `reference`)"
            );
            errors.at(&item.key, message);
            continue;
        }
        match key.as_str() {
            "storage_id" => value.storage_id = errors.note(item.storage_id()),
            "indexed" => value.indexed = item.flag(errors),
            "encoding" => {
                value.encoding = errors.note(item.string());
                if value.reference.is_some() {
                    errors.at(&item.key, "a reference has one encoding only");
                }
            }
            "inverse_delete" => {
                value.inverse_delete = errors.note(delete_action(item));
                inverse_delete = Some(&item.key);
            }
            "forward_delete" => value.forward_delete = item.flag(errors),
            "allow_deleted" => value.allow_deleted = item.flag(errors),
            "cascade" => cascades(value, item, errors),
            "reference" => _ = item.flag(errors),
            _ => {}
        }
    }
    let Some(key) = inverse_delete else { return };
    let required = value.reference.as_ref().is_some_and(|reference| !reference.optional);
    match value.inverse_delete {
        Some(DeleteAction::Nullify) if required => {
            let other = if sub_field { "\"remove\"" } else { "\"delete\"" };
            let message = format!(
                "the reference is never null: use `Option<Ref<…>>`, or another action, such as {other}"
            );
            errors.at(key, message);
        }
        Some(DeleteAction::Ignore) if !value.allow_deleted => errors.at(
            key,
            "`inverse_delete = \"ignore\"` leaves references to deleted objects: it needs `allow_deleted`",
        ),
        Some(DeleteAction::Remove) if !sub_field => errors.at(
            key,
            "only an element of a collection can be removed: use \"nullify\", or \"delete\" for the whole object",
        ),
        _ => {}
    }
}

fn cascades(value: &mut ValueModel, item: &Item, errors: &mut Errors) {
    let Some(tokens) = errors.note(item.list().cloned()) else { return };
    for direction in attribute_syntax::items(&tokens, &[], errors) {
        let names: Vec<LitStr> = errors.note(direction.strings()).unwrap_or_default();
        for name in names.iter().filter(|name| name.value().is_empty()) {
            errors.at(name, "a cascade has a name");
        }
        let names = names.iter().map(LitStr::value).collect();
        match direction.key.to_string().as_str() {
            "forward" => value.forward_cascades = names,
            "inverse" => value.inverse_cascades = names,
            _ => errors.push(direction.unknown("a cascade", &["forward", "inverse"])),
        }
    }
}

fn delete_action(item: &Item) -> syn::Result<DeleteAction> {
    let text = item.string()?;
    Ok(match text.value().as_str() {
        "ignore" => DeleteAction::Ignore,
        "exception" => DeleteAction::Exception,
        "nullify" => DeleteAction::Nullify,
        "remove" => DeleteAction::Remove,
        "delete" => DeleteAction::Delete,
        _ => {
            let message =
                "expected \"exception\", \"ignore\", \"nullify\", \"remove\" or \"delete\"";
            return Err(syn::Error::new_spanned(text, message));
        }
    })
}
