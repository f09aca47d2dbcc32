//! Types and fields by name.

use std::sync::Arc;

use permazen::StorageId;
use permazen::schema::{ResolvedField, SchemaIndex};

use super::checker::{Checker, Result};
use super::versions::Versions;
use crate::catalog::TypeEntry;
use crate::mistake::{Mistake, is_bare_id, needs_at};
use crate::syntax::{Name, Span};
use crate::text::{escaped, quoted_name};

/// A field in one version of a type.
#[derive(Debug, Clone)]
pub(super) struct FieldAt {
    /// The field. If the version has none of the name, that of the newest version that has one.
    pub(super) field: Arc<ResolvedField>,
    /// Whether the version has it. Otherwise it reads as its default.
    pub(super) stored: bool,
}

impl Name {
    /// Whether something has this name.
    pub(super) fn is(&self, name: &str, storage_id: StorageId) -> bool {
        self.text.as_deref().is_none_or(|text| text == name)
            && self.storage_id.is_none_or(|id| id == storage_id)
    }

    /// Whether something may have this name, by its text.
    pub(super) fn is_text(&self, name: &str) -> bool {
        self.text.as_deref() == Some(name)
    }
}

/// A name in a message.
pub(super) fn ticked(name: &str) -> String {
    let quoted = quoted_name(name);
    if quoted.starts_with('`') { quoted } else { format!("`{quoted}`") }
}

/// The mistake that there is nothing of this name.
pub(super) fn missing<'n>(
    name: &Name,
    what: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> Mistake {
    let found = match (&name.text, name.storage_id) {
        (Some(text), None) => format!("{what} {}", ticked(text)),
        (Some(text), Some(id)) => format!("{what} {} with storage ID {id}", ticked(text)),
        (None, Some(id)) => format!("{what} with storage ID {id}"),
        (None, None) => what.to_owned(),
    };
    let mistake = Mistake::new(name.span, format!("there is no {found}"));
    match &name.text {
        Some(text) if what == "object type" && is_bare_id(text) => {
            Mistake::new(name.span, needs_at(text))
        }
        // Only the storage ID is wrong.
        Some(text) if name.storage_id.is_none() => mistake.near(text, names),
        _ => mistake,
    }
}

impl<'c> Checker<'c> {
    /// The type with this name.
    pub(super) fn object_type(&self, name: &Name) -> Result<&'c TypeEntry> {
        let types = self.catalog.types();
        types
            .iter()
            .find(|entry| name.is(&entry.name, entry.storage_id))
            .ok_or_else(|| missing(name, "object type", types.iter().map(|entry| &*entry.name)))
    }

    /// The type of the object with an ID.
    pub(super) fn type_of_id(&self, id: permazen::ObjId, span: Span) -> Result<&'c TypeEntry> {
        self.catalog.type_with_id(id.storage_id()).ok_or_else(|| {
            let what = format!("no object type has storage ID {}, as @{id} says", id.storage_id());
            Mistake::new(span, what)
        })
    }

    /// The names of types, for messages.
    pub(super) fn type_names(&self, types: &[StorageId]) -> String {
        let name = |id: &StorageId| match self.catalog.type_with_id(*id) {
            Some(entry) => escaped(&entry.name).into_owned(),
            None => format!("#{id}"),
        };
        match types {
            [] => "no type".to_owned(),
            [one] => name(one),
            [first, second] => format!("{} or {}", name(first), name(second)),
            [first, rest @ ..] => format!("{} or {} other types", name(first), rest.len()),
        }
    }

    /// The entries of types.
    pub(super) fn entries(&self, types: &[StorageId]) -> impl Iterator<Item = &'c TypeEntry> {
        types.iter().filter_map(|id| self.catalog.type_with_id(*id))
    }

    /// The fields of a name in all versions of these types. A version without it gets it as its
    /// default, if another version of the same type has it.
    pub(super) fn fields(&self, types: &[StorageId], name: &Name) -> Result<Versions<FieldAt>> {
        let found: Versions<FieldAt> = self
            .entries(types)
            .flat_map(|entry| fields_in(entry, |field| name.is(&field.name, field.storage_id)))
            .collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let names: Vec<_> =
            self.entries(types).flat_map(TypeEntry::fields).map(|field| field.name).collect();
        let what = format!("{} has no field", self.type_names(types));
        let mut mistake = missing(name, "field", names.iter().map(|name| &**name));
        mistake.what = mistake.what.replacen("there is no field", &what, 1);
        Err(mistake)
    }
}

/// A field in all versions of a type.
pub(super) fn fields_in(
    entry: &TypeEntry,
    is_it: impl Fn(&ResolvedField) -> bool,
) -> Vec<((StorageId, SchemaIndex), FieldAt)> {
    let in_versions: Vec<_> = entry
        .versions
        .iter()
        .map(|version| (version.schema, version.fields.iter().find(|field| is_it(field))))
        .collect();
    let Some(newest) = in_versions.iter().rev().find_map(|(_, field)| *field) else {
        return Vec::new();
    };
    let at = |field: Option<&Arc<ResolvedField>>| FieldAt {
        field: Arc::clone(field.unwrap_or(newest)),
        stored: field.is_some(),
    };
    in_versions.into_iter().map(|(schema, field)| ((entry.storage_id, schema), at(field))).collect()
}
