//! The indexes: what is there against what the objects call for, merged in key order.

use std::collections::BTreeMap;

use permazen::encoding::{Reader, uint};
use permazen::kv::{KeySpan, KvRead};
use permazen::layout::{OBJECT_SCHEMA_INDEX_SPAN, SchemaIndex, field_key};
use permazen::schema::SchemaBundle;
use permazen::{ObjId, StorageId};

use crate::finding::{Class, Finding};
use crate::fingerprint::{Differences, Fingerprint};
use crate::known::{Known, Meta};
use crate::output::{Checked, Output};
use crate::parts::Part;
use crate::ranges::{IndexRange, Range, Tail};
use crate::selection::Selection;
use crate::sort::Sorted;
use crate::workers::visit;

/// Adds the index entries of a part to a fingerprint.
pub(crate) fn fingerprint(
    kv: &dyn KvRead,
    part: &Part,
    into: &mut Fingerprint,
    out: &mut Output<'_>,
) -> Checked {
    visit(kv, part.span(), |key, value| {
        out.entry()?;
        into.add(key);
        if !value.is_empty() {
            into.suspect(key);
        }
        Ok(())
    })
}

/// Compares index entries with what the objects call for.
pub(crate) struct IndexMerge<'a, 'o> {
    kv: &'a dyn KvRead,
    bundle: &'a SchemaBundle,
    known: &'a Known,
    /// Entries about objects that are not checked are passed over.
    selection: &'a Selection,
    /// Which entries are compared; all of them if there is nothing here.
    only: Option<&'a Differences>,
    expected: Expected,
    out: &'a mut Output<'o>,
}

impl<'a, 'o> IndexMerge<'a, 'o> {
    pub(crate) fn new(
        kv: &'a dyn KvRead,
        bundle: &'a SchemaBundle,
        known: &'a Known,
        selection: &'a Selection,
        only: Option<&'a Differences>,
        expected: Sorted,
        out: &'a mut Output<'o>,
    ) -> Checked<Self> {
        let expected = Expected::new(expected)?;
        Ok(IndexMerge { kv, bundle, known, selection, only, expected, out })
    }

    /// Checks the object schema index, then all others in the order of their keys.
    pub(crate) fn run(&mut self, ranges: &BTreeMap<StorageId, Range>) -> Checked {
        let KeySpan { min, max } = OBJECT_SCHEMA_INDEX_SPAN;
        self.merge(&Kind::ObjectSchema, min, max.unwrap_or(&[0, 0x81]))?;
        for (id, range) in ranges {
            if let Range::Index(index) = range {
                let (min, max) = id.key_range();
                self.merge(&Kind::Index(index), &min, &max)?;
            }
        }
        Ok(())
    }

    fn merge(&mut self, kind: &Kind<'_>, min: &[u8], max: &[u8]) -> Checked {
        visit(self.kv, KeySpan::new(min, Some(max)), |key, value| self.entry(kind, key, value))?;
        while self.expected.is_below(max) {
            self.missing(kind)?;
        }
        Ok(())
    }

    fn entry(&mut self, kind: &Kind<'_>, key: &[u8], value: &[u8]) -> Checked {
        self.out.entry()?;
        if self.only.is_some_and(|only| !only.includes(key)) {
            return Ok(());
        }
        while self.expected.is_below(key) {
            self.missing(kind)?;
        }
        if self.expected.is(key) {
            self.expected.advance()?;
            if !value.is_empty() {
                self.out.report(kind.non_empty(key, value))?;
            }
        } else if !self.passes_over(kind, key) {
            let finding = match kind {
                Kind::ObjectSchema => Some(self.surplus_schema_entry(key)?),
                Kind::Index(index) if index.is_opaque() => self.surplus_opaque_entry(index, key)?,
                Kind::Index(index) => Some(self.surplus_entry(index, key)?),
            };
            if let Some(finding) = finding {
                self.out.report(finding.value(value))?;
            }
        }
        Ok(())
    }

    /// Whether an entry is about an object that is not checked.
    fn passes_over(&self, kind: &Kind<'_>, key: &[u8]) -> bool {
        self.selection.is_partial()
            && match kind.object(key) {
                Some(id) => !self.selection.includes(id.as_bytes()),
                None => matches!(kind, Kind::Index(index) if index.is_opaque()),
            }
    }

    fn missing(&mut self, kind: &Kind<'_>) -> Checked {
        let key = self.expected.head.clone();
        self.expected.advance()?;
        let finding = match kind {
            Kind::ObjectSchema => Finding::new(
                Class::MissingSchemaIndexEntry,
                &key,
                "the object schema index lacks the entry of an object",
            ),
            Kind::Index(index) => Finding::new(
                Class::MissingIndexEntry,
                &key,
                "the index lacks an entry an object calls for",
            )
            .item(index.item.clone()),
        };
        let finding = match kind.object(&key) {
            Some(id) => finding.object(id),
            None => finding,
        };
        self.out.report(finding.put(&[]))
    }

    fn surplus_schema_entry(&self, key: &[u8]) -> Checked<Finding> {
        let mut reader = Reader::new(key.get(2..).unwrap_or_default());
        let bad = |detail: String| Ok(Finding::new(Class::BadSchemaIndexKey, key, detail));
        let number = match uint::read(&mut reader) {
            Ok(number) => number,
            Err(e) => return bad(format!("the schema index cannot be read: {e}")),
        };
        let index = SchemaIndex::new(number).filter(|index| !index.is_empty_schema());
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
        } else {
            format!("object {id} does not exist")
        };
        Ok(Finding::new(Class::DanglingSchemaIndexEntry, key, detail).object(id))
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
}

impl IndexMerge<'_, '_> {
    /// An entry no object calls for with stored values, of an index with values of an encoding that
    /// is not registered. None if it may be the entry of a default value.
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

/// Whether an existing object stores nothing for an indexed field whose encoding, and so its default
/// value, is not known: nothing tells then which entry it calls for.
pub(crate) fn may_be_of_default(
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
        // An empty value is none, and goes when it is repaired.
        if has_this_index && kv.get(&field_key(id, &field.key))?.is_none_or(|v| v.is_empty()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Which index is being merged.
enum Kind<'i> {
    ObjectSchema,
    Index(&'i IndexRange),
}

impl Kind<'_> {
    fn non_empty(&self, key: &[u8], value: &[u8]) -> Finding {
        let class = match self {
            Kind::ObjectSchema => Class::NonEmptySchemaIndexValue,
            Kind::Index(_) => Class::NonEmptyIndexValue,
        };
        let finding = Finding::new(class, key, "the value of an index entry is always empty")
            .value(value)
            .put(&[]);
        match self {
            Kind::ObjectSchema => finding,
            Kind::Index(index) => finding.item(index.item.clone()),
        }
    }

    /// The object a well-formed entry is about.
    fn object(&self, key: &[u8]) -> Option<ObjId> {
        match self {
            Kind::ObjectSchema => {
                key.len().checked_sub(8).and_then(|at| ObjId::from_slice(key.get(at..)?).ok())
            }
            Kind::Index(index) => index.parse(key).ok().map(|(id, _)| id),
        }
    }
}

impl IndexRange {
    /// The object ID of an entry and what is left over behind the entry's end.
    ///
    /// Where a value of an encoding that is not registered ends is not known: the object id is then
    /// taken from the end of the key, if that is where it stands.
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
        let mut reader = Reader::new(key.strip_prefix(&self.key[..]).unwrap_or_default());
        for column in &self.columns {
            canonical(
                &mut reader,
                |r| column.decode(r).map(drop),
                |bytes| column.check_canonical(bytes),
            )
            .map_err(|e| format!("no value of {}: {e}", column.name()))?;
        }
        let id = ObjId::read_from(&mut reader).map_err(|e| format!("no object ID: {e}"))?;
        match &self.tail {
            Tail::Nothing => {}
            Tail::ListPosition => {
                uint::read(&mut reader).map_err(|e| format!("no list position: {e}"))?;
            }
            Tail::MapKey(encodings) => {
                let start = reader.clone();
                let fits = encodings.iter().any(|encoding| {
                    reader = start.clone();
                    encoding.decode(&mut reader).is_ok()
                });
                if !fits {
                    return Err("no map key".to_owned());
                }
            }
        }
        Ok((id, reader.rest()))
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
    check(before.get(..used).unwrap_or_default()).map_err(|e| e.to_string())
}

/// The entries objects call for, one ahead.
struct Expected {
    sorted: Sorted,
    head: Vec<u8>,
    previous: Vec<u8>,
    ended: bool,
}

impl Expected {
    fn new(sorted: Sorted) -> Checked<Self> {
        let mut expected =
            Expected { sorted, head: Vec::new(), previous: Vec::new(), ended: false };
        expected.fill()?;
        Ok(expected)
    }

    fn is_below(&self, key: &[u8]) -> bool {
        !self.ended && &self.head[..] < key
    }

    fn is(&self, key: &[u8]) -> bool {
        !self.ended && self.head == key
    }

    /// Goes on to the next entry; the same entry called for twice counts once.
    fn advance(&mut self) -> Checked {
        std::mem::swap(&mut self.head, &mut self.previous);
        self.fill()?;
        while !self.ended && self.head == self.previous {
            self.fill()?;
        }
        Ok(())
    }

    fn fill(&mut self) -> Checked {
        match self.sorted.next()? {
            Some(item) => {
                self.head.clear();
                self.head.extend_from_slice(item);
            }
            None => self.ended = true,
        }
        Ok(())
    }
}
