//! Finds out whether an object requires an index entry, by reading only the pairs that the entry
//! follows from.

use std::io;

use permazen::__internal::layout::{
    content_key, field_key, object_schema_key, parse_list_position,
};
use permazen::__internal::schema::{ResolvedKind, SubFieldRole};
use permazen::ObjId;
use permazen::schema::{ResolvedField, ResolvedType};

use crate::Progress;
use crate::entries::entry_findings::{Judge, Kind};
use crate::entries::required::RequiredEntries;
use crate::objects::content::{Content, ContentPair, Elements};
use crate::objects::info::Meta;
use crate::report::finding::Finding;
use crate::report::output::{Checked, Output};
use crate::tables::ranges::IndexRange;

impl Judge<'_> {
    /// Whether the object that an entry names requires it with its stored values and with known
    /// default values. Positions in a list are taken as they are stored. Costs a few lookups.
    pub(crate) fn is_required(&self, kind: &Kind<'_>, key: &[u8]) -> Checked<bool> {
        let index = match kind {
            Kind::Index(index) => index,
            Kind::ObjectSchema => {
                let Some(id) = kind.object(key) else { return Ok(false) };
                let Some(meta) = self.kv.get(id.as_bytes())? else { return Ok(false) };
                return Ok(match Meta::read(self.bundle, id.storage_id(), &meta) {
                    Meta::Object { schema, .. } => object_schema_key(schema, id) == key,
                    _ => false,
                });
            }
        };
        for at in index.object_places(key) {
            let Some((id, tail)) = key.get(at..).and_then(|rest| rest.split_first_chunk()) else {
                continue;
            };
            let Ok(id) = ObjId::from_bytes(*id) else { continue };
            // Without a type, the bytes at this place are no object ID, and reading the store is
            // spared.
            if self.bundle.type_name(id.storage_id()).is_none() {
                continue;
            }
            let Some(meta) = self.kv.get(id.as_bytes())? else { continue };
            let meta = Meta::read(self.bundle, id.storage_id(), &meta);
            let Some(object_type) = meta.object_type() else { continue };
            let values = key.get(index.key.len()..at).unwrap_or_default();
            if self.object_requires(index, key, id, object_type, (values, tail))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn object_requires(
        &self,
        index: &IndexRange,
        key: &[u8],
        id: ObjId,
        object_type: &ResolvedType,
        (values, tail): (&[u8], &[u8]),
    ) -> Checked<bool> {
        if let Some(composite) = object_type.indexes.iter().find(|found| found.key == index.key) {
            let mut called_for = Vec::with_capacity(values.len());
            for field in &composite.fields {
                // An unknown default can be any value, so it requires no entry that could be named.
                let Some(value) = self.simple(id, object_type, field)? else { return Ok(false) };
                called_for.extend_from_slice(&value);
            }
            return Ok(tail.is_empty() && called_for == values);
        }
        let field = object_type.all_fields().find(|f| f.is_indexed() && f.key == index.key);
        let Some(field) = field else { return Ok(false) };
        let Some(parent) = &field.parent else {
            let value = self.simple(id, object_type, field)?;
            return Ok(tail.is_empty() && value.is_some_and(|value| value == values));
        };
        let Some(parent_field) = object_type.field(&parent.name) else { return Ok(false) };
        let pair_tail = match parent.role {
            // In these collections the value is in the key of the pair. In the others, the end of
            // the entry is.
            SubFieldRole::SetElement | SubFieldRole::MapKey => values,
            SubFieldRole::ListElement | SubFieldRole::MapValue => tail,
        };
        self.collection_requires(id, object_type, parent_field, pair_tail, key)
    }

    /// Whether a pair of a collection requires an entry.
    fn collection_requires(
        &self,
        id: ObjId,
        object_type: &ResolvedType,
        field: &ResolvedField,
        tail: &[u8],
        entry: &[u8],
    ) -> Checked<bool> {
        let key = content_key(id, field.storage_id, tail);
        let Some(value) = self.kv.get(&key)? else { return Ok(false) };
        let pair = ContentPair { id, object_type, field, key: &key, tail, value: &value };
        let mut wanted = Wanted { entry, found: false };
        self.aside(&mut wanted, |content| match &field.kind {
            ResolvedKind::Set { element } => content.set_element(&pair, element),
            ResolvedKind::Map { key, value } => content.map_entry(&pair, key, value),
            ResolvedKind::List { element } => match parse_list_position(tail) {
                Ok(position) => {
                    content.list_element(&pair, element, &mut Elements::before(position))
                }
                Err(_) => Ok(()),
            },
            ResolvedKind::Simple(_) | ResolvedKind::Counter => Ok(()),
        })?;
        Ok(wanted.found)
    }

    /// The value of an object in a simple field; `None` if it is a default value that is not known.
    fn simple(
        &self,
        id: ObjId,
        object_type: &ResolvedType,
        field: &ResolvedField,
    ) -> Checked<Option<Vec<u8>>> {
        let Some(simple) = field.simple() else { return Ok(None) };
        let key = field_key(id, &field.key);
        if let Some(value) = self.kv.get(&key)? {
            let pair = ContentPair { id, object_type, field, key: &key, tail: &[], value: &value };
            let mut none = Wanted { entry: &[], found: false };
            let usable = self.aside(&mut none, |content| content.simple(&pair, simple))?;
            // A damaged value is repaired to the default, so the entry of the default is the one
            // that is required.
            if let Some(usable) = usable.filter(|usable| !usable.is_empty()) {
                return Ok(Some(usable.into_owned()));
            }
        }
        Ok(simple.default.as_deref().filter(|value| !value.is_empty()).map(<[u8]>::to_vec))
    }

    /// Checks content without reporting anything about it.
    fn aside<T>(
        &self,
        required: &mut Wanted<'_>,
        look: impl FnOnce(&mut Content<'_, '_>) -> Checked<T>,
    ) -> Checked<T> {
        let (mut silent, mut quiet) = (|_: &Finding| {}, |_: &Progress| {});
        let mut out = Output::quiet(self.kv, &mut silent, &mut quiet);
        let (kv, bundle, known) = (self.kv, self.bundle, self.known);
        look(&mut Content { kv, bundle, known, required, entry: &mut Vec::new(), out: &mut out })
    }
}

/// Notes whether one entry is required.
struct Wanted<'w> {
    entry: &'w [u8],
    found: bool,
}

impl RequiredEntries for Wanted<'_> {
    fn add(&mut self, entry: &[u8]) -> io::Result<()> {
        self.found |= entry == self.entry;
        Ok(())
    }
}
