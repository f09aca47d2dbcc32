//! Rules about the names, accessors, constants and composite indexes of a model.

use std::collections::HashMap;

use syn::ext::IdentExt;
use syn::{Ident, LitStr};

use crate::errors::Errors;
use crate::object_model::{CompositeModel, FieldModel, ObjectModel, Shape};
use crate::{names, reserved};

/// Checks that field names are distinct: on disk, as generated constants, and as accessors.
pub(crate) fn fields(fields: &[FieldModel], errors: &mut Errors) {
    let mut on_disk: HashMap<&str, &FieldModel> = HashMap::new();
    let mut constants: HashMap<String, &FieldModel> = HashMap::new();
    for field in fields {
        if let Some(other) = on_disk.insert(&field.name, field) {
            let message = format!(
                "fields `{}` and `{}` are both named `{}`",
                other.ident, field.ident, field.name
            );
            errors.at_span(field.name_span, message);
        }
        // Two names that differ in the database can give the same constant.
        let constant = names::constant(&field.ident.unraw().to_string(), field.ident.span());
        if let Some(other) = constants.insert(constant.to_string(), field) {
            let message = format!(
                "fields `{}` and `{}` give the same constant `{constant}`",
                other.ident, field.ident
            );
            errors.at(&field.ident, message);
        }
    }
    accessors(fields, errors);
}

/// Checks that the compiler finds each accessor: no other one and no method of a handle has its
/// name.
fn accessors(fields: &[FieldModel], errors: &mut Errors) {
    let mut getters: HashMap<String, &FieldModel> = HashMap::new();
    for field in fields {
        let getter = field.accessor.unraw().to_string();
        let setter = format!("set_{getter}");
        // A counter has no setter, so its name is free for other fields.
        let has_setter = !matches!(field.shape, Shape::Counter);
        for name in [Some(&getter), has_setter.then_some(&setter)].into_iter().flatten() {
            if reserved::is_method(name) {
                let message = format!(
                    "a handle has a method `{name}`, which hides this accessor: choose another name for it, as in \
                     `#[permazen(accessor = \"the_{getter}\")]`; the names of the constant and in the database stay"
                );
                errors.at(&field.accessor, message);
            }
        }
        if let Some(other) = getters.insert(getter, field) {
            let message = format!(
                "the accessors of fields `{}` and `{}` have the same name: choose another one",
                other.ident, field.ident
            );
            errors.at(&field.accessor, message);
        }
    }
    // A setter of one field may be named like the getter of another.
    for field in fields.iter().filter(|field| !matches!(field.shape, Shape::Counter)) {
        let setter = format!("set_{}", field.accessor.unraw());
        if let Some(other) = getters.get(&setter) {
            let message = format!(
                "`{setter}` is also the setter of field `{}`: choose another name, as in `#[permazen(accessor = \
                 \"the_{}\")]`",
                field.ident,
                other.accessor.unraw()
            );
            errors.at(&other.accessor, message);
        }
    }
}

/// The name that a field asks for, for its accessors.
pub(crate) fn accessor(text: &LitStr) -> syn::Result<Ident> {
    let name: Ident = text.parse().map_err(|_| {
        let message = format!("`{}` cannot be the name of a method", text.value());
        syn::Error::new(text.span(), message)
    })?;
    Ok(name)
}

/// Checks that mix-ins have constants of their own.
pub(crate) fn flattened(model: &ObjectModel, errors: &mut Errors) {
    let constant = |ident: &Ident| names::constant(&ident.unraw().to_string(), ident.span());
    for (at, mixin) in model.flattened.iter().enumerate() {
        let own = constant(&mixin.ident);
        let fields = model.fields.iter().map(|field| &field.ident);
        let mut others = fields.chain(model.flattened.iter().take(at).map(|other| &other.ident));
        if let Some(other) = others.find(|other| constant(other) == own) {
            let message =
                format!("fields `{other}` and `{}` give the same constant `{own}`", mixin.ident);
            errors.at(&mixin.ident, message);
        }
        let index = |index: &&CompositeModel| names::constant(&index.name, index.span) == own;
        if let Some(index) = model.composites.iter().find(index) {
            let message =
                format!("the constant of this index is also that of mix-in `{}`", mixin.ident);
            errors.at_span(index.span, message);
        }
    }
}

/// Checks that composite indexes have simple fields that exist, have names of their own, and are
/// not redundant.
pub(crate) fn composites(model: &ObjectModel, errors: &mut Errors) {
    let mut names_seen: HashMap<&str, ()> = HashMap::new();
    for (at, composite) in model.composites.iter().enumerate() {
        columns(model, composite, errors);
        // A missing name was reported already.
        if composite.name.is_empty() {
            continue;
        }
        if names_seen.insert(&composite.name, ()).is_some() {
            let message = format!("there are two composite indexes named `{}`", composite.name);
            errors.at_span(composite.span, message);
        }
        if let Some(field) = model.fields.iter().find(|field| field.name == composite.name) {
            let message = format!("`{}` is also the name of a field", field.name);
            errors.at_span(composite.span, message);
        } else if let Some(field) = model.fields.iter().find(|field| {
            let constant = names::constant(&composite.name, composite.span);
            names::constant(&field.ident.unraw().to_string(), composite.span) == constant
        }) {
            let message =
                format!("the constant of this index is also that of field `{}`", field.ident);
            errors.at_span(composite.span, message);
        }
        let earlier = || model.composites.iter().take(at);
        let constant = names::constant(&composite.name, composite.span);
        // Two indexes of the same name were reported above.
        if let Some(other) = earlier().find(|other| {
            other.name != composite.name && names::constant(&other.name, other.span) == constant
        }) {
            let message = format!(
                "composite indexes `{}` and `{}` give the same constant `{constant}`",
                other.name, composite.name
            );
            errors.at_span(composite.span, message);
        }
        // The number of fields is a mistake of its own, which was reported already.
        let is_whole = |index: &CompositeModel| matches!(index.fields.len(), 2..=4);
        let redundant = |other: &&CompositeModel| {
            is_whole(composite)
                && is_whole(other)
                && (other.fields.starts_with(&composite.fields)
                    || composite.fields.starts_with(&other.fields))
        };
        if let Some(other) = earlier().find(redundant) {
            let message = format!(
                "composite indexes `{}` and `{}` are redundant: the fields of one begin with those of the other",
                other.name, composite.name
            );
            errors.at_span(composite.span, message);
        }
    }
}

fn columns(model: &ObjectModel, composite: &CompositeModel, errors: &mut Errors) {
    for (at, column) in composite.fields.iter().enumerate() {
        if composite.fields.iter().take(at).any(|other| other == column) {
            errors.at(column, format!("field `{column}` appears twice in this index"));
            continue;
        }
        match model.fields.iter().find(|field| field.ident == *column) {
            None if model.skipped.contains(column) => {
                errors.at(column, format!("field `{column}` is skipped, so it cannot be indexed"));
            }
            // The mistake of such a field was reported already.
            None if model.refused.iter().any(|field| field.ident == *column) => {}
            None => {
                let hint = if model.flattened.is_empty() {
                    ""
                } else {
                    ". An index on fields of a mix-in belongs to the mix-in"
                };
                let message = format!("struct `{}` has no field `{column}`{hint}", model.ident);
                errors.at(column, message);
            }
            Some(field) if field.simple().is_none() => {
                let message =
                    format!("`{column}` is no simple field, so it cannot be in a composite index");
                errors.at(column, message);
            }
            Some(_) => {}
        }
    }
}
