//! [`IndexOverlay`]: how a view of an index shows objects of other schemas. It adds entries to
//! those of the index itself, and leaves some out.
//!
//! By the format, an object's index entries are those of its own schema. So objects of another
//! schema may have their entries under another storage ID, or have none.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use permazen_kv::key::after_prefix;
use permazen_kv::{Blob, Direction, KeySpan, KvRead, Visitor};

use super::shape::IndexShape;
use crate::encoding::Encoding;
use crate::id::{ObjId, StorageId};
use crate::layout::{self, SchemaIndex};
use crate::object::error::{Error, Result};
use crate::object::store::ScanOverlay;
use crate::object::whole_object::ObjectData;

/// The entries that a view of an index shows besides those of the index itself, and those that it
/// leaves out.
#[derive(Debug)]
pub(crate) struct IndexOverlay {
    shape: Arc<IndexShape>,
    /// Indexes whose entries mean the same.
    pub(crate) merged: Vec<MergedIndex>,
    /// Further entries: whole keys of the index.
    added: BTreeSet<Vec<u8>>,
    /// The objects for which the index's own entries are left out.
    pub(crate) hidden: Vec<HiddenObjects>,
}

/// The objects of a type, of one schema or of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HiddenObjects {
    pub(crate) of_type: StorageId,
    pub(crate) schema: Option<SchemaIndex>,
}

/// An index whose entries mean the same for objects of some types, although its storage ID differs.
#[derive(Debug, Clone)]
pub(crate) struct MergedIndex {
    pub(crate) shape: Arc<IndexShape>,
    /// The types of the objects.
    pub(crate) types: Vec<StorageId>,
    /// The columns that may have values which the viewed index cannot have, with the encoding that
    /// such a value has in the viewed index.
    pub(crate) checked: Vec<(usize, Arc<dyn Encoding>)>,
    /// Whether entries with such values are left out. Otherwise they are errors.
    pub(crate) skips_unknown: bool,
}

/// An entry of one of the sources, or why there is none.
struct SourceEntry<'k> {
    /// The key in the index of the source.
    key: Blob<'k>,
    /// How many bytes of the key are the prefix of that index.
    prefix: usize,
    fault: Option<Error>,
}

impl SourceEntry<'_> {
    /// The rest of the key after the prefix. It orders the entries of all sources.
    fn rest(&self) -> &[u8] {
        self.key.get(self.prefix..).unwrap_or_default()
    }
}

type SourceEntries<'k> = Box<dyn Iterator<Item = Result<SourceEntry<'k>>> + 'k>;

/// Entries in order, and the next of them.
struct Source<'k> {
    entries: SourceEntries<'k>,
    next: Option<SourceEntry<'k>>,
}

impl<'k> Source<'k> {
    fn new(entries: SourceEntries<'k>) -> Self {
        Source { entries, next: None }
    }

    /// Reads the next entry if the last one was taken.
    fn fill(&mut self) -> Result<()> {
        if self.next.is_none() {
            self.next = self.entries.next().transpose()?;
        }
        Ok(())
    }
}

impl IndexOverlay {
    /// An overlay that changes nothing yet.
    pub(crate) fn new(shape: Arc<IndexShape>) -> Self {
        IndexOverlay { shape, merged: Vec::new(), added: BTreeSet::new(), hidden: Vec::new() }
    }

    /// Adds the entries of an object with this content.
    pub(crate) fn add(&mut self, data: &ObjectData, id: ObjId) -> Result<()> {
        data.each_entry(id, |key| {
            // The object has entries in all of its indexes, and this overlay is of one.
            if key.starts_with(self.shape.prefix()) {
                self.added.insert(key.to_vec());
            }
            Ok(())
        })
    }

    /// The index.
    pub(crate) fn shape(&self) -> &IndexShape {
        &self.shape
    }

    /// Whether the view shows exactly the entries of the index.
    pub(crate) fn is_empty(&self) -> bool {
        self.merged.is_empty() && self.added.is_empty() && self.hidden.is_empty()
    }

    /// Whether there are further entries.
    pub(super) fn adds(&self) -> bool {
        !self.added.is_empty()
    }

    /// The objects of the further entries whose keys begin with `prefix`, which ends before the
    /// object ID.
    pub(crate) fn added_after<'a>(&'a self, prefix: &'a [u8]) -> impl Iterator<Item = ObjId> + 'a {
        let from = self.added.range(prefix.to_vec()..);
        let keys = from.take_while(move |key| key.starts_with(prefix));
        keys.filter_map(|key| layout::object_after(key, prefix.len()))
    }

    /// The entries of the index itself.
    fn own<'k>(
        &'k self,
        kv: &'k dyn KvRead,
        span: KeySpan<'_>,
        direction: Direction,
    ) -> Result<SourceEntries<'k>> {
        judged(kv, span, direction, self.shape.prefix(), move |key, ends| {
            Ok(if self.hides(kv, key, ends)? { Judged::LeftOut } else { Judged::Shown })
        })
    }

    /// Whether an entry of the index is left out. Cost: one get for each schema that may be the
    /// object's.
    fn hides(&self, kv: &dyn KvRead, key: &[u8], ends: &mut Vec<usize>) -> Result<bool> {
        // Without hidden objects, no entry need be taken apart.
        if self.hidden.is_empty() {
            return Ok(false);
        }
        let Some(id) = id_in(&self.shape, key, ends)? else { return Ok(false) };
        for hidden in self.hidden.iter().filter(|hidden| hidden.of_type == id.storage_id()) {
            // All objects of the type are hidden, so its schema need not be looked up.
            let Some(schema) = hidden.schema else { return Ok(true) };
            // The schema of an object is not in the key of its entry, so the object schema index is
            // asked.
            if kv.get(&layout::object_schema_key(schema, id))?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The further entries.
    fn further(&self, span: KeySpan<'_>, direction: Direction) -> SourceEntries<'_> {
        // Such a range of a set would be an error.
        if span.max.is_some_and(|max| span.min >= max) {
            return Box::new(std::iter::empty());
        }
        let max = span.max.map_or(Bound::Unbounded, Bound::Excluded);
        let keys = self.added.range::<[u8], _>((Bound::Included(span.min), max));
        let prefix = self.shape.prefix().len();
        let entry = move |key| Ok(SourceEntry { key: Blob::Borrowed(key), prefix, fault: None });
        match direction {
            Direction::Forward => Box::new(keys.map(|key| &key[..]).map(entry)),
            Direction::Reverse => Box::new(keys.rev().map(|key| &key[..]).map(entry)),
        }
    }

    /// The entries of an index that mean the same.
    fn merged_entries<'k>(
        &'k self,
        kv: &'k dyn KvRead,
        merged: &'k MergedIndex,
        span: KeySpan<'_>,
        direction: Direction,
    ) -> Result<SourceEntries<'k>> {
        let (own, other) = (self.shape.prefix(), merged.shape.prefix());
        // The span is one of the viewed index. In the other index, the same values have another
        // prefix.
        let min = moved(span.min, own, other);
        let max = span.max.map_or_else(|| after_prefix(other), |max| moved(max, own, other));
        // Nothing follows the last possible key.
        let Some(min) = min else { return Ok(Box::new(std::iter::empty())) };
        let span = KeySpan::new(&min, max.as_deref());
        judged(kv, span, direction, other, move |key, ends| merged.judge(key, ends))
    }
}

/// The entries of an index in the store, as `judge` says. It gets a buffer for the ends of columns.
fn judged<'k>(
    kv: &'k dyn KvRead,
    span: KeySpan<'_>,
    direction: Direction,
    prefix: &[u8],
    judge: impl Fn(&[u8], &mut Vec<usize>) -> Result<Judged> + 'k,
) -> Result<SourceEntries<'k>> {
    let (pairs, prefix) = (kv.scan(span, direction)?, prefix.len());
    let mut ends = Vec::new();
    Ok(Box::new(pairs.filter_map(move |pair| {
        let key = match pair {
            Ok((key, _)) => key,
            Err(error) => return Some(Err(error.into())),
        };
        match judge(&key, &mut ends) {
            // A damaged entry ends the scan. An entry of an unknown value is an error only where it
            // is reached.
            Ok(Judged::Shown) => Some(Ok(SourceEntry { key, prefix, fault: None })),
            Ok(Judged::LeftOut) => None,
            Ok(Judged::Unknown(fault)) => Some(Ok(SourceEntry { key, prefix, fault: Some(fault) })),
            Err(error) => Some(Err(error)),
        }
    })))
}

/// The treatment of an entry in the store.
enum Judged {
    Shown,
    LeftOut,
    /// The entry cannot be shown.
    Unknown(Error),
}

impl MergedIndex {
    fn judge(&self, key: &[u8], ends: &mut Vec<usize>) -> Result<Judged> {
        // An entry without an object ID cannot be one of the wanted types.
        let Some(id) = id_in(&self.shape, key, ends)? else { return Ok(Judged::LeftOut) };
        // For objects of other types, the entries of that index mean something else.
        if !self.types.contains(&id.storage_id()) {
            return Ok(Judged::LeftOut);
        }
        for (column, encoding) in &self.checked {
            let value = self.shape.column(*column, key, ends);
            if encoding.decode_all(value).is_ok() {
                continue;
            }
            // The program has said that such values do not count.
            if self.skips_unknown {
                return Ok(Judged::LeftOut);
            }
            return Ok(Judged::Unknown(Error::UnknownValue {
                id,
                index: self.shape.name().to_owned(),
                value: self.text(*column, value, key)?,
            }));
        }
        Ok(Judged::Shown)
    }

    /// The value of a column as text.
    fn text(&self, column: usize, bytes: &[u8], key: &[u8]) -> Result<String> {
        let value = self.shape.decode(column, bytes, key)?;
        let text =
            self.shape.values().get(column).and_then(|value_is| value_is.to_text(&value).ok());
        Ok(text.unwrap_or_else(|| format!("{value:?}")))
    }
}

/// The object ID in a key of an index. `ends` is a buffer for the ends of the columns.
fn id_in(shape: &IndexShape, key: &[u8], ends: &mut Vec<usize>) -> Result<Option<ObjId>> {
    shape.cut(key, ends)?;
    Ok(ObjId::from_slice(shape.column(shape.id_column(), key, ends)).ok())
}

/// The place of a bound when the keys that begin with `from` begin with `to` instead; `None` if it
/// is after all keys.
fn moved(bound: &[u8], from: &[u8], to: &[u8]) -> Option<Vec<u8>> {
    match bound.strip_prefix(from) {
        Some(rest) => Some([to, rest].concat()),
        // A bound outside of the index stays outside of the other one, at the same end.
        None if bound < from => Some(to.to_vec()),
        None => after_prefix(to),
    }
}

impl ScanOverlay for IndexOverlay {
    fn visit(
        &self,
        kv: &dyn KvRead,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        let mut sources = vec![Source::new(self.own(kv, span, direction)?)];
        for merged in &self.merged {
            sources.push(Source::new(self.merged_entries(kv, merged, span, direction)?));
        }
        if self.adds() {
            sources.push(Source::new(self.further(span, direction)));
        }
        let mut buffer = self.shape.prefix().to_vec();
        loop {
            // All sources are in the same order, so the next entry is the lowest of their next
            // ones.
            sources.iter_mut().try_for_each(Source::fill)?;
            let heads = sources.iter().enumerate();
            let heads = heads.filter_map(|(at, source)| Some((at, source.next.as_ref()?.rest())));
            let first = match direction {
                Direction::Forward => heads.min_by(|(_, one), (_, other)| one.cmp(other)),
                Direction::Reverse => heads.max_by(|(_, one), (_, other)| one.cmp(other)),
            };
            let Some((at, _)) = first else { return Ok(()) };
            let Some(mut entry) = sources.get_mut(at).and_then(|source| source.next.take()) else {
                return Ok(());
            };
            // An object that has moved since the view was opened has its entry twice.
            for source in &mut sources {
                if let Some(same) = source.next.take_if(|next| next.rest() == entry.rest()) {
                    // The entry is one, so a fault in either source is a fault of it.
                    entry.fault = entry.fault.or(same.fault);
                }
            }
            if let Some(fault) = entry.fault {
                return Err(fault);
            }
            buffer.truncate(self.shape.prefix().len());
            buffer.extend_from_slice(entry.rest());
            if visitor(&buffer, &[]).is_break() {
                return Ok(());
            }
        }
    }
}
