//! The structs of a schema, as Rust source.

mod names;
mod types;

use std::collections::HashMap;
use std::fmt::Write;

use permazen::StorageId;
use permazen::schema::{
    CompositeIndex, DeleteAction, Field, FieldKind, ObjectType, Reference, SchemaModel, Simple,
    SimpleKind, SubField,
};

use names::{FieldName, FieldNames, TypeNames, VariantNames, can_be_said, literal};
use types::RustType;

/// Structs with which a program has this schema, or the parts of it that structs cannot state. They
/// have the storage IDs that the schema asks for.
pub(crate) fn structs(schema: &SchemaModel) -> Result<String, Vec<String>> {
    let mut source = Source::default();
    // All structs have their names before the first one is written, because a reference can lead to
    // a later one.
    for object_type in schema.object_types() {
        let ident = source.types.take(object_type.name(), "Fields");
        source.idents.insert(object_type.name(), ident);
    }
    if schema.is_empty() {
        source.cannot.push("the schema is empty, and a program has at least one struct".to_owned());
    }
    let mut text = String::new();
    for object_type in schema.object_types() {
        source.object_type(object_type, &mut text);
    }
    // All reasons are given at once, and no source that would give another schema.
    if !source.cannot.is_empty() {
        return Err(source.cannot);
    }
    let mut head = format!("// The structs of {}.\n\n", schema.schema_id());
    source.imports(&text, &mut head);
    head.push_str(&text);
    for (_, _, declaration) in &source.enums {
        let _ = write!(head, "\n{declaration}");
    }
    for (_, _, declaration) in &source.kinds {
        let _ = write!(head, "\n{declaration}");
    }
    Ok(head)
}

/// Source that is being written. Writing to a string does not fail.
#[derive(Default)]
struct Source<'s> {
    types: TypeNames,
    /// The struct of each object type.
    idents: HashMap<&'s str, String>,
    /// Enums: their constants, their name, their source.
    enums: Vec<(&'s [String], String, String)>,
    /// Kinds: the types they allow, their name, their source.
    kinds: Vec<(&'s [String], String, String)>,
    /// The parts of the schema that structs cannot state.
    cannot: Vec<String>,
}

/// The field or sub-field that a message names.
#[derive(Clone, Copy)]
struct FieldPath<'s> {
    object_type: &'s ObjectType,
    field: &'s Field,
    sub_field: Option<&'s str>,
}

impl FieldPath<'_> {
    fn text(&self) -> String {
        let (object_type, field) = (self.object_type.name(), self.field.name());
        match self.sub_field {
            None => format!("field {object_type}.{field}"),
            Some(sub_field) => format!("field {object_type}.{field}.{sub_field}"),
        }
    }
}

impl<'s> Source<'s> {
    fn cannot(&mut self, what: &str, why: impl std::fmt::Display) {
        self.cannot.push(format!("{what}: {why}"));
    }

    fn check_name(&mut self, what: &str, name: &str) {
        if !can_be_said(name) {
            self.cannot(what, "the attributes take names of letters, digits, _ and $ only");
        }
    }

    fn imports(&self, text: &str, head: &mut String) {
        for collection in ["BTreeMap", "BTreeSet"] {
            if text.contains(collection) {
                let _ = writeln!(head, "use std::collections::{collection};");
            }
        }
        if head.contains("use ") {
            head.push('\n');
        }
        let has = |what: &str| text.contains(what);
        let used = [
            ("Any", has("Ref<Any>")),
            ("Counter", has(": Counter,")),
            ("Obj", !self.kinds.is_empty()),
            ("PermazenEnum", !self.enums.is_empty()),
            ("PermazenKind", !self.kinds.is_empty()),
            ("PermazenObject", true),
            ("Ref", has("Ref<")),
        ];
        let used: Vec<_> = used.iter().filter(|(_, used)| *used).map(|(name, _)| *name).collect();
        let _ = match &used[..] {
            [one] => writeln!(head, "use permazen::{one};"),
            several => writeln!(head, "use permazen::{{{}}};", several.join(", ")),
        };
    }

    fn object_type(&mut self, object_type: &'s ObjectType, text: &mut String) {
        let name = object_type.name();
        self.check_name(&format!("object type {name}"), name);
        let ident = self.idents.get(name).cloned().unwrap_or_default();
        let mut attributes = Vec::new();
        // Without the attribute, the struct's own name is that of the type.
        if ident != name {
            attributes.push(format!("name = {}", literal(name)));
        }
        attributes.extend(object_type.storage_id().map(storage_id));
        let mut constants = HashMap::new();
        for index in object_type.indexes() {
            let what = format!("composite index {name}.{}", index.name());
            self.check_name(&what, index.name());
            // Fields and composite indexes have a constant each, in one name space.
            if object_type.find_field(index.name()).is_some() {
                self.cannot(&what, "it has the name of a field");
            }
            // Two names can differ only in their case, and have the same constant.
            if let Some(other) = constants.insert(names::constant(index.name()), index.name()) {
                self.cannot(&what, format!("its constant would be that of index {other}"));
            }
        }
        let mut fields = FieldNames::new(constants.into_keys());
        let mut names = HashMap::new();
        let mut body = String::new();
        for field in object_type.fields() {
            let path = FieldPath { object_type, field, sub_field: None };
            self.check_name(&path.text(), field.name());
            let taken = fields.take(field.name());
            self.field(path, &taken, &mut body);
            names.insert(field.name(), taken.ident);
        }
        for index in object_type.indexes() {
            attributes.push(composite(index, &names));
        }
        let _ = writeln!(text, "\n#[derive(PermazenObject, Debug)]");
        for attribute in attributes {
            let _ = writeln!(text, "#[permazen({attribute})]");
        }
        let _ = match body.is_empty() {
            true => writeln!(text, "pub struct {ident} {{}}"),
            false => writeln!(text, "pub struct {ident} {{\n{body}}}"),
        };
    }

    fn field(&mut self, path: FieldPath<'s>, name: &FieldName, body: &mut String) {
        let field = path.field;
        let mut attributes = Vec::new();
        attributes.extend(name.rename.as_ref().map(|name| format!("rename = {}", literal(name))));
        attributes
            .extend(name.accessor.as_ref().map(|name| format!("accessor = {}", literal(name))));
        attributes.extend(field.storage_id().map(storage_id));
        let ty = match field.kind() {
            FieldKind::Counter => "Counter".to_owned(),
            FieldKind::Simple(simple) => {
                attributes.extend(value_attributes(simple));
                self.value(path, simple).text
            }
            FieldKind::List(element) => {
                let ty = self.sub_field(path, "element", element, &mut attributes);
                format!("Vec<{}>", ty.text)
            }
            FieldKind::Set(element) => {
                let ty = self.sub_field(path, "element", element, &mut attributes);
                match ty.is_ord {
                    true => format!("BTreeSet<{}>", ty.text),
                    false => {
                        attributes.insert(0, "set".to_owned());
                        format!("Vec<{}>", ty.text)
                    }
                }
            }
            FieldKind::Map { key, value } => {
                let key = self.sub_field(path, "key", key, &mut attributes);
                let value = self.sub_field(path, "value", value, &mut attributes);
                match key.is_ord {
                    true => format!("BTreeMap<{}, {}>", key.text, value.text),
                    false => {
                        attributes.insert(0, "map".to_owned());
                        format!("Vec<({}, {})>", key.text, value.text)
                    }
                }
            }
        };
        if !attributes.is_empty() {
            let _ = writeln!(body, "    #[permazen({})]", attributes.join(", "));
        }
        let _ = writeln!(body, "    pub {}: {ty},", name.ident);
    }

    fn sub_field(
        &mut self,
        path: FieldPath<'s>,
        name: &'static str,
        sub_field: &'s SubField,
        attributes: &mut Vec<String>,
    ) -> RustType {
        let own = sub_field.storage_id().map(storage_id).into_iter();
        let own: Vec<_> = own.chain(value_attributes(sub_field.simple())).collect();
        if !own.is_empty() {
            attributes.push(format!("{name}({})", own.join(", ")));
        }
        self.value(FieldPath { sub_field: Some(name), ..path }, sub_field.simple())
    }

    /// The type of a value. If it has none, the reason is noted.
    fn value(&mut self, path: FieldPath<'s>, simple: &'s Simple) -> RustType {
        match simple.kind() {
            SimpleKind::Plain(id) => types::of_encoding(id).unwrap_or_else(|why| {
                self.cannot(&path.text(), why);
                // The error is returned in the end, so this text is never seen.
                types::optional("", true)
            }),
            SimpleKind::Reference(reference) => {
                let target = self.target(path, reference);
                types::optional(&format!("Ref<{target}>"), true)
            }
            SimpleKind::Enum { identifiers } => {
                types::optional(&self.enumeration(path, identifiers), true)
            }
            SimpleKind::EnumArray { identifiers, dimensions } => {
                let dimensions = usize::from(*dimensions);
                if dimensions > types::MAX_DIMENSIONS {
                    self.cannot(&path.text(), types::too_deep());
                }
                let constant = types::optional(&self.enumeration(path, identifiers), true);
                let nested = 0..dimensions.min(types::MAX_DIMENSIONS);
                nested.fold(constant, |element, _| types::array_of(&element))
            }
        }
    }

    /// The target of a reference: a struct, `Any`, or a kind.
    fn target(&mut self, path: FieldPath<'s>, reference: &'s Reference) -> String {
        let Some(allowed) = reference.object_types() else { return "Any".to_owned() };
        let idents: Vec<_> =
            allowed.iter().filter_map(|name| self.idents.get(&**name)).cloned().collect();
        match &idents[..] {
            [] => {
                self.cannot(&path.text(), "it may refer to objects of no type at all");
                String::new()
            }
            // A kind of one struct would be another name for that struct.
            [ident] => ident.clone(),
            _ => {
                // The schema knows only the list of types, so one enum serves all references with
                // the same list.
                if let Some((_, ident, _)) = self.kinds.iter().find(|(types, ..)| *types == allowed)
                {
                    return format!("{ident}Kind");
                }
                let ident = self.types.take(path.field.name(), "Kind");
                let mut text = format!("#[derive(PermazenKind)]\npub enum {ident}<'t> {{\n");
                for member in &idents {
                    let _ = writeln!(text, "    {member}(Obj<'t, {member}>),");
                }
                text.push_str("}\n");
                self.kinds.push((allowed, ident.clone(), text));
                format!("{ident}Kind")
            }
        }
    }

    /// The enum with these constants.
    fn enumeration(&mut self, path: FieldPath<'s>, identifiers: &'s [String]) -> String {
        // The schema has no names of enums. The same constants are taken for the same enum.
        if let Some((_, ident, _)) = self.enums.iter().find(|(known, ..)| *known == identifiers) {
            return ident.clone();
        }
        if identifiers.is_empty() {
            self.cannot(&path.text(), "an enum without constants has no values");
        }
        let ident = self.types.take(path.field.name(), "");
        let mut variants = VariantNames::default();
        let mut text = String::from(
            "#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]\n",
        );
        let _ = writeln!(text, "pub enum {ident} {{");
        for identifier in identifiers {
            self.check_name(&format!("{}, constant {identifier}", path.text()), identifier);
            let variant = variants.take(identifier);
            // The constant is made from the variant's name, unless the attribute gives another one.
            if names::screaming_snake_case(&variant) != *identifier {
                let _ = writeln!(text, "    #[permazen(rename = {})]", literal(identifier));
            }
            let _ = writeln!(text, "    {variant},");
        }
        text.push_str("}\n");
        self.enums.push((identifiers, ident.clone(), text));
        ident
    }
}

fn storage_id(id: StorageId) -> String {
    format!("storage_id = {id}")
}

/// The attributes of a value, without those about its type.
fn value_attributes(simple: &Simple) -> Vec<String> {
    let Some(reference) = simple.as_reference() else {
        // References are always indexed, so only other values say it.
        return if simple.is_indexed() { vec!["indexed".to_owned()] } else { Vec::new() };
    };
    let action = match reference.inverse_delete() {
        // It is the default.
        DeleteAction::Exception => None,
        DeleteAction::Ignore => Some("ignore"),
        DeleteAction::Nullify => Some("nullify"),
        DeleteAction::Remove => Some("remove"),
        DeleteAction::Delete => Some("delete"),
    };
    let action = action.map(|action| format!("inverse_delete = \"{action}\""));
    let forward = reference.forward_delete().then(|| "forward_delete".to_owned());
    let deleted = reference.allow_deleted().then(|| "allow_deleted".to_owned());
    action.into_iter().chain(forward).chain(deleted).collect()
}

fn composite(index: &CompositeIndex, fields: &HashMap<&str, String>) -> String {
    let storage_id = index.storage_id().map(storage_id);
    let storage_id = storage_id.map(|id| format!("{id}, ")).unwrap_or_default();
    let columns: Vec<_> =
        index.fields().iter().filter_map(|name| fields.get(&**name)).map(String::as_str).collect();
    let name = literal(index.name());
    format!("composite(name = {name}, {storage_id}fields({}))", columns.join(", "))
}
