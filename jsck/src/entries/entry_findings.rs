//! Findings about index entries. They are the same whether all entries are merged with the entries
//! that the objects require, or each entry is read by itself.

use permazen::__internal::layout::{IndexPart, each_index_part, field_key, index_key, prefix_end};
use permazen::__internal::schema::SchemaBundle;
use permazen::ObjId;
use permazen::encoding::{Reader, uint};
use permazen::kv::KvRead;
use permazen::schema::{ResolvedField, Schema, SchemaIndex};

use crate::objects::info::Meta;
use crate::objects::known::Known;
use crate::report::finding::{Class, Finding};
use crate::report::output::Checked;
use crate::tables::ranges::{IndexRange, Tail};

/// The index that an entry belongs to.
pub(crate) enum Kind<'i> {
    ObjectSchema,
    Index(&'i IndexRange),
}

impl Kind<'_> {
    /// The finding for an entry that has a value.
    pub(crate) fn non_empty(&self, key: &[u8], value: &[u8]) -> Finding {
        let class = match self {
            Kind::ObjectSchema => Class::NonEmptySchemaIndexValue,
            Kind::Index(_) => Class::NonEmptyIndexValue,
        };
        let detail = "the value of an index entry is always empty";
        self.about(Finding::new(class, key, detail)).value(value).put(&[])
    }

    fn about(&self, finding: Finding) -> Finding {
        match self {
            Kind::ObjectSchema => finding,
            Kind::Index(index) => finding.item(index.item.clone()),
        }
    }

    /// The object that a well-formed entry is about.
    pub(crate) fn object(&self, key: &[u8]) -> Option<ObjId> {
        match self {
            Kind::ObjectSchema => {
                key.len().checked_sub(8).and_then(|at| ObjId::from_slice(key.get(at..)?).ok())
            }
            Kind::Index(index) => index.parse(key).ok().map(|(id, _)| id),
        }
    }

    /// The finding for an entry that an object requires and that is missing.
    pub(crate) fn missing(&self, key: &[u8]) -> Finding {
        let (class, detail) = match self {
            Kind::ObjectSchema => (
                Class::MissingSchemaIndexEntry,
                "the object schema index lacks the entry of an object",
            ),
            Kind::Index(_) => {
                (Class::MissingIndexEntry, "the index lacks an entry an object calls for")
            }
        };
        let finding = self.about(Finding::new(class, key, detail));
        let finding = match self.object(key) {
            Some(id) => finding.object(id),
            None => finding,
        };
        finding.put(&[])
    }
}

/// Judges entries by the objects that they name.
pub(crate) struct Judge<'a> {
    pub(crate) kv: &'a dyn KvRead,
    pub(crate) bundle: &'a SchemaBundle,
    pub(crate) known: &'a Known,
}

impl Judge<'_> {
    /// The finding for an entry that no object requires, judged by stored values. `None` if it may
    /// be the entry of a default value that is not known.
    pub(crate) fn surplus(&self, kind: &Kind<'_>, key: &[u8]) -> Checked<Option<Finding>> {
        match kind {
            Kind::ObjectSchema => self.surplus_schema_entry(key).map(Some),
            // The end of such a value is not known, so neither is what the entry says exactly.
            Kind::Index(index) if index.is_opaque() => self.surplus_opaque_entry(index, key),
            Kind::Index(index) => self.surplus_entry(index, key).map(Some),
        }
    }

    fn surplus_schema_entry(&self, key: &[u8]) -> Checked<Finding> {
        let mut reader = Reader::new(key.get(2..).unwrap_or_default());
        let bad = |detail: String| Ok(Finding::new(Class::BadSchemaIndexKey, key, detail));
        let number = match uint::read(&mut reader) {
            Ok(number) => number,
            Err(e) => return bad(format!("the schema index cannot be read: {e}")),
        };
        let index = SchemaIndex::new(number).filter(|index| !index.is_empty_schema());
        // Asked before the object ID is read: without the schema, the entry is wrong in any case.
        if index.and_then(|index| self.bundle.schema(index)).is_none() {
            return bad(format!("no schema is recorded under schema index {number}"));
        }
        let id = match ObjId::read_from(&mut reader) {
            Ok(id) => id,
            Err(e) => return bad(format!("the object ID cannot be read: {e}")),
        };
        if !reader.is_empty() {
            return bad("bytes follow the object ID".to_owned());
        }
        let detail = if self.known.contains(self.kv, self.bundle, id)? {
            format!("object {id} is not of schema {number}")
        } else if let Some(schema) = index.and_then(|index| self.bundle.schema(index))
            && self.is_all_that_is_left(schema, id)?
        {
            let detail =
                format!("other indexes know object {id}, too, but nothing is stored of it");
            return Ok(Finding::new(Class::MissingObjectMeta, key, detail).object(id));
        } else {
            format!("object {id} does not exist")
        };
        Ok(Finding::new(Class::DanglingSchemaIndexEntry, key, detail).object(id))
    }

    /// Whether nothing is stored under an object ID, but some other index has an entry of it: the
    /// entry that an object of this schema requires if it has only meta-data. Then the meta-data is
    /// missing.
    fn is_all_that_is_left(&self, schema: &Schema, id: ObjId) -> Checked<bool> {
        let Some(object_type) = schema.type_by_storage_id(id.storage_id()) else {
            return Ok(false);
        };
        let end = prefix_end(id.as_bytes());
        // If anything of the object is stored, its own pairs tell of the missing meta-data.
        if self.kv.at_least(id.as_bytes(), end.as_deref())?.is_some() {
            return Ok(false);
        }
        let default = |field: &ResolvedField| field.simple().and_then(|s| s.default.clone());
        let fields = object_type.fields.iter().filter(|field| field.is_indexed());
        let of_fields = fields.map(|field| (field.key, default(field)));
        let of_indexes = object_type.indexes.iter().map(|index| {
            let values: Option<Vec<_>> = index.fields.iter().map(|field| default(field)).collect();
            (index.key, values.map(|values| values.concat().into()))
        });
        for (index, values) in of_fields.chain(of_indexes) {
            // The default is not known, so neither is the entry that would show it.
            let Some(values) = values else { continue };
            if self.kv.get(&index_key(&index, &values, id, &[]))?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn surplus_entry(&self, index: &IndexRange, key: &[u8]) -> Checked<Finding> {
        let finding = match index.parse(key) {
            Err(detail) => Finding::new(Class::UndecodableIndexEntry, key, detail),
            Ok((id, rest)) if !rest.is_empty() => Finding::new(
                Class::TrailingGarbageIndexEntry,
                key,
                format!("{} bytes follow the index entry", rest.len()),
            )
            .object(id),
            Ok((id, _)) => {
                let detail = if self.known.contains(self.kv, self.bundle, id)? {
                    format!("object {id} has no such value")
                } else {
                    format!("object {id} does not exist")
                };
                Finding::new(Class::DanglingIndexEntry, key, detail).object(id)
            }
        };
        Ok(finding.item(index.item.clone()))
    }

    /// The finding for an entry that no object requires with stored values, in an index whose
    /// values have an encoding that is not registered. `None` if it may be the entry of a default
    /// value.
    fn surplus_opaque_entry(&self, index: &IndexRange, key: &[u8]) -> Checked<Option<Finding>> {
        let finding = |detail: String| {
            Finding::new(Class::DanglingIndexEntry, key, detail).item(index.item.clone())
        };
        let Ok((id, _)) = index.parse(key) else {
            return Ok(Some(finding("no object has such a value".to_owned())));
        };
        if !self.known.contains(self.kv, self.bundle, id)? {
            return Ok(Some(finding(format!("object {id} does not exist")).object(id)));
        }
        if may_be_of_default(self.kv, self.bundle, index, id)? {
            return Ok(None);
        }
        Ok(Some(finding(format!("object {id} has no such value")).object(id)))
    }
}

/// Whether an existing object stores nothing for an indexed field whose encoding is not registered.
/// Then its default value is not known, and neither is the entry that it requires.
fn may_be_of_default(
    kv: &dyn KvRead,
    bundle: &SchemaBundle,
    index: &IndexRange,
    id: ObjId,
) -> Checked<bool> {
    let Some(meta) = kv.get(id.as_bytes())? else { return Ok(false) };
    let meta = Meta::read(bundle, id.storage_id(), &meta);
    let Some(object_type) = meta.object_type() else { return Ok(false) };
    for &storage_id in &index.opaque_fields {
        let Some(field) = object_type.field_by_storage_id(storage_id) else { continue };
        let has_this_index = (field.is_indexed() && field.key == index.key)
            || object_type.indexes_of(field).any(|found| found.key == index.key);
        // An empty value is not a value of any encoding: a repair removes it.
        if has_this_index && kv.get(&field_key(id, &field.key))?.is_none_or(|v| v.is_empty()) {
            return Ok(true);
        }
    }
    Ok(false)
}

impl IndexRange {
    /// The object ID of an entry, and the bytes after the entry's end.
    ///
    /// If the encoding of a value is not registered, the end of the value is not known. Then the
    /// object ID is taken from the end of the key, if it is the last part.
    pub(crate) fn parse<'k>(&self, key: &'k [u8]) -> Result<(ObjId, &'k [u8]), String> {
        if self.is_opaque() {
            let rest = key.strip_prefix(&self.key[..]).unwrap_or_default();
            return match (&self.tail, rest.split_last_chunk::<{ ObjId::LEN }>()) {
                (Tail::Nothing, Some((values, id))) if !values.is_empty() => {
                    ObjId::from_bytes(*id).map(|id| (id, &[][..])).map_err(|e| e.to_string())
                }
                _ => Err("the end of the value is not known".to_owned()),
            };
        }
        let (at, rest) = self.split(key)?;
        let id = key.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default();
        Ok((ObjId::from_bytes(id).map_err(|e| e.to_string())?, rest))
    }

    /// Where the object ID of an entry may begin. This is one place, except if the encoding of the
    /// value is not registered and something follows the object ID.
    pub(crate) fn object_places(&self, key: &[u8]) -> Vec<usize> {
        let start = self.key.len();
        let Some(last) = key.len().checked_sub(ObjId::LEN).filter(|&last| last >= start) else {
            return Vec::new();
        };
        match (&self.tail, self.is_opaque()) {
            (_, false) => self.split(key).map(|(at, _)| at).into_iter().collect(),
            (Tail::Nothing, true) => vec![last],
            // Nothing tells where the value ends, so each place is tried.
            (_, true) => (start..=last).collect(),
        }
    }

    /// Where the object ID of an entry begins, and the bytes after the entry's end.
    fn split<'k>(&self, key: &'k [u8]) -> Result<(usize, &'k [u8]), String> {
        let mut reader = Reader::new(key.strip_prefix(&self.key[..]).unwrap_or_default());
        let mut at = key.len();
        let has_suffix = !matches!(self.tail, Tail::Nothing);
        each_index_part(self.columns.len(), has_suffix, |part| match (part, &self.tail) {
            (IndexPart::Value(column), _) => {
                let Some(column) = self.columns.get(column) else { return Ok(()) };
                canonical(
                    &mut reader,
                    |r| column.decode(r).map(drop),
                    |bytes| column.check_canonical(bytes),
                )
                .map_err(|e| format!("no value of {}: {e}", column.name()))
            }
            (IndexPart::Object, _) => {
                at = key.len() - reader.rest().len();
                ObjId::read_from(&mut reader).map(drop).map_err(|e| format!("no object ID: {e}"))
            }
            (IndexPart::Suffix, tail) => tail.read(&mut reader),
        })?;
        Ok((at, reader.rest()))
    }
}

impl Tail {
    /// Skips the bytes after the object ID in an entry.
    fn read(&self, reader: &mut Reader<'_>) -> Result<(), String> {
        match self {
            Tail::Nothing => Ok(()),
            Tail::ListPosition => {
                let before = reader.rest().len();
                let position = uint::read(reader).map_err(|e| format!("no list position: {e}"))?;
                // A position in a longer form is another key, which no object requires.
                if uint::len(position) != before - reader.rest().len() {
                    return Err("the list position is written longer than necessary".to_owned());
                }
                Ok(())
            }
            Tail::MapKey(encodings) => {
                let start = reader.clone();
                let mut failed = "no encoding is known for it".to_owned();
                let fits = encodings.iter().any(|encoding| {
                    // The last attempt may have read a part of the key.
                    *reader = start.clone();
                    canonical(
                        reader,
                        |r| encoding.decode(r).map(drop),
                        |bytes| encoding.check_canonical(bytes),
                    )
                    .map_err(|e| failed = e)
                    .is_ok()
                });
                if fits { Ok(()) } else { Err(format!("no map key: {failed}")) }
            }
        }
    }
}

fn canonical<E: ToString>(
    reader: &mut Reader<'_>,
    read: impl FnOnce(&mut Reader<'_>) -> Result<(), E>,
    check: impl FnOnce(&[u8]) -> Result<(), E>,
) -> Result<(), String> {
    let before = reader.rest();
    read(reader).map_err(|e| e.to_string())?;
    let used = before.len() - reader.rest().len();
    // Bytes that are read as a value, but that no value is written as, are no entry of an object.
    check(before.get(..used).unwrap_or_default()).map_err(|e| e.to_string())
}
