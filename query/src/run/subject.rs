//! One object, as far as it has been read.

use std::cell::Cell;
use std::ops::{ControlFlow, Range};

use permazen::__internal::layout::{self, prefix_end};
use permazen::kv::{Direction, KeySpan};
use permazen::schema::{ResolvedField, SchemaIndex};
use permazen::{ObjId, StorageId};

use super::fail::{Fail, Result};
use super::reader::{Lookup, Reader};

/// Whether more is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    More,
    Enough,
}

impl Flow {
    pub(crate) fn is_break(self) -> bool {
        self == Flow::Enough
    }
}

impl From<ControlFlow<()>> for Flow {
    fn from(flow: ControlFlow<()>) -> Self {
        if flow.is_break() { Flow::Enough } else { Flow::More }
    }
}

/// The function that is called with the key, or a part of it, and the value of each pair.
pub(crate) type EachPair<'p> = dyn FnMut(&[u8], &[u8]) -> Result<Flow> + 'p;

/// One object. Content that is not known yet is read when it is asked for.
pub(crate) struct Subject<'a> {
    pub(crate) id: ObjId,
    // The version is looked up when it is first needed, by code that only borrows the subject.
    found: Cell<Option<Lookup>>,
    known: Known<'a>,
}

/// The known content of an object.
#[derive(Clone, Copy)]
enum Known<'a> {
    /// Nothing.
    Nothing,
    /// All pairs of the fields that are asked for.
    Pairs(&'a Pairs),
    /// The values of some simple fields, by storage ID: the columns of an index entry.
    Columns(&'a [StorageId], &'a [&'a [u8]]),
}

/// Pairs of one object, in the order of their keys.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    bytes: Vec<u8>,
    pairs: Vec<PairAt>,
}

#[derive(Debug)]
struct PairAt {
    field: StorageId,
    rest: Range<usize>,
    value: Range<usize>,
}

impl Pairs {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.pairs.clear();
    }

    /// Adds a pair of a field. `rest` follows the field in the key.
    pub(crate) fn push(&mut self, field: StorageId, rest: &[u8], value: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(rest);
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(value);
        let (rest, value) = (start..middle, middle..self.bytes.len());
        self.pairs.push(PairAt { field, rest, value });
    }

    /// Appends the pairs, if that takes at most `most` bytes. Returns `false` if it does not.
    fn pack(&self, most: usize, out: &mut Vec<u8>) -> bool {
        // 12 bytes are the three numbers that are packed for each pair.
        if self.bytes.len() + self.pairs.len() * 12 > most {
            return false;
        }
        let start = out.len();
        let packed = self.pack_all(out).is_some();
        // A part of the pairs would be taken for all of them.
        if !packed {
            out.truncate(start);
        }
        packed
    }

    /// Appends the pairs; `None`, and a part of them, if a length has more than 32 bits.
    fn pack_all(&self, out: &mut Vec<u8>) -> Option<()> {
        let length = |length: usize| Some(u32::try_from(length).ok()?.to_le_bytes());
        // The numbers come first: the bytes of all pairs follow as they lie in memory.
        for pair in &self.pairs {
            out.extend(pair.field.get().to_le_bytes());
            out.extend(length(pair.rest.len())?);
            out.extend(length(pair.value.len())?);
        }
        out.extend_from_slice(&self.bytes);
        out.extend(length(self.pairs.len())?);
        Some(())
    }

    /// Takes the pairs that were packed; `None` if these are no such bytes.
    fn unpack(&mut self, packed: &[u8]) -> Option<()> {
        self.clear();
        let (rest, count) = packed.split_last_chunk()?;
        // The record may have been in a file, so the count is not trusted.
        let heads = (u32::from_le_bytes(*count) as usize).checked_mul(12)?;
        let (heads, bytes) = rest.split_at_checked(heads)?;
        self.bytes.extend_from_slice(bytes);
        let mut at = 0;
        for head in heads.chunks_exact(4).collect::<Vec<_>>().chunks_exact(3) {
            let number = |part: &&[u8]| part.first_chunk().copied().map(u32::from_le_bytes);
            let mut numbers = head.iter().map(number);
            let field = StorageId::new(numbers.next()??)?;
            let middle = at + numbers.next()?? as usize;
            let end = middle + numbers.next()?? as usize;
            self.pairs.push(PairAt { field, rest: at..middle, value: middle..end });
            at = end;
        }
        Some(())
    }

    /// The pairs of a field: the rest of the key after it, and the value.
    fn of(&self, field: StorageId) -> impl Iterator<Item = (&[u8], &[u8])> {
        let bytes = |range: &Range<usize>| self.bytes.get(range.clone()).unwrap_or_default();
        // The pairs are in the order of their keys, so those of a field follow each other.
        let start = self.pairs.partition_point(|pair| pair.field < field);
        let rest = self.pairs.get(start..).unwrap_or_default();
        rest.iter()
            .take_while(move |pair| pair.field == field)
            .map(move |pair| (bytes(&pair.rest), bytes(&pair.value)))
    }
}

impl<'a> Subject<'a> {
    /// An object of which nothing is known. It may not exist.
    pub(crate) fn of(id: ObjId) -> Self {
        Subject { id, found: Cell::new(None), known: Known::Nothing }
    }

    /// An object in this version.
    pub(crate) fn found(id: ObjId, found: Lookup) -> Self {
        Subject { id, found: Cell::new(Some(found)), known: Known::Nothing }
    }

    /// An object with all pairs of the fields that will be asked for.
    pub(crate) fn with_pairs(id: ObjId, found: Lookup, pairs: &'a Pairs) -> Self {
        Subject { id, found: Cell::new(Some(found)), known: Known::Pairs(pairs) }
    }

    /// An object with the values of some simple fields.
    pub(crate) fn with_columns(id: ObjId, fields: &'a [StorageId], values: &'a [&'a [u8]]) -> Self {
        Subject { id, found: Cell::new(None), known: Known::Columns(fields, values) }
    }

    /// Appends the known content of the object, if all pairs of the fields that are asked for are
    /// known and that is little.
    pub(crate) fn pack(&self, most: usize, out: &mut Vec<u8>) {
        let start = out.len();
        // Only pairs that were read in one go are complete; single values are not.
        if let (Known::Pairs(pairs), Some(Lookup::Of((_, schema)))) = (self.known, self.found.get())
            && pairs.pack(most, out)
        {
            out.extend(schema.get().to_le_bytes());
        } else {
            // An empty content says that the object must be read again.
            out.truncate(start);
        }
    }

    /// The packed content of an object; `None` if nothing was packed.
    pub(crate) fn unpack(id: ObjId, packed: &[u8], pairs: &'a mut Pairs) -> Option<Self> {
        let (packed, schema) = packed.split_last_chunk()?;
        let schema = SchemaIndex::new(u32::from_le_bytes(*schema))?;
        pairs.unpack(packed)?;
        Some(Subject::with_pairs(id, Lookup::Of((id.storage_id(), schema)), pairs))
    }

    /// Its version. Cost: one get, the first time.
    pub(crate) fn version(&self, reader: &Reader<'_>) -> Result<Lookup> {
        if let Some(found) = self.found.get() {
            return Ok(found);
        }
        let found = reader.find(self.id)?;
        self.found.set(Some(found));
        Ok(found)
    }

    /// Its version, if that is known.
    pub(crate) fn known_version(&self) -> Option<Lookup> {
        self.found.get()
    }

    /// The value of the pair of a field, with `rest` after the field in the key. Cost: one get,
    /// unless it is known.
    pub(crate) fn value<R>(
        &self,
        reader: &Reader<'_>,
        field: &ResolvedField,
        rest: &[u8],
        read: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R> {
        match self.known {
            Known::Pairs(pairs) => {
                // All pairs that are asked for were read, so a missing one is not stored.
                let pair = pairs.of(field.storage_id).find(|(key, _)| *key == rest);
                return Ok(read(pair.map(|(_, value)| value)));
            }
            // A column covers its own field only, so other fields are read.
            Known::Columns(fields, values) => {
                let at = fields.iter().position(|id| *id == field.storage_id);
                if let Some(value) = at.and_then(|at| values.get(at)) {
                    return Ok(read(Some(value)));
                }
            }
            Known::Nothing => {}
        }
        reader.look()?;
        // The key of a simple field is made without an allocation.
        if rest.is_empty() {
            let key = layout::FieldKey::new(self.id, &field.key);
            return Ok(read(reader.kv.get(&key)?.as_deref()));
        }
        let key = layout::content_key(self.id, field.storage_id, rest);
        // The statement gives the rest of the key, and stores refuse keys that are too long.
        if key.len() > reader.kv.max_key_len() {
            return Ok(read(None));
        }
        Ok(read(reader.kv.get(&key)?.as_deref()))
    }

    /// The pairs of a collection: the rest of the key after the field, and the value. Cost: one
    /// seek and a step for each pair, unless they are known.
    pub(crate) fn each_pair(
        &self,
        reader: &Reader<'_>,
        field: &ResolvedField,
        pair: &mut EachPair<'_>,
    ) -> Result<Flow> {
        // The known pairs cost no seek.
        if let Known::Pairs(pairs) = self.known {
            for (rest, value) in pairs.of(field.storage_id) {
                if pair(rest, value)?.is_break() {
                    return Ok(Flow::Enough);
                }
            }
            return Ok(Flow::More);
        }
        let prefix = layout::field_key(self.id, &field.key);
        // A prefix of the greatest bytes has no end.
        let end = prefix_end(&prefix);
        visit(
            reader,
            KeySpan::new(&prefix, end.as_deref()),
            Direction::Forward,
            &mut |key, value| pair(key.get(prefix.len()..).unwrap_or_default(), value),
        )
    }
}

/// Visits pairs until `pair` breaks or fails.
pub(crate) fn visit(
    reader: &Reader<'_>,
    span: KeySpan<'_>,
    direction: Direction,
    pair: &mut EachPair<'_>,
) -> Result<Flow> {
    // The store passes no errors of the caller, so the failure is kept until it returns.
    let mut failed: Option<Fail> = None;
    let mut flow = Flow::More;
    reader.kv.visit(span, direction, &mut |key, value| {
        // A stop is looked for at each pair, since a scan can pass many without giving a row.
        match reader.look().and_then(|()| pair(key, value)) {
            Ok(Flow::More) => return ControlFlow::Continue(()),
            Ok(Flow::Enough) => flow = Flow::Enough,
            Err(fail) => failed = Some(fail),
        }
        ControlFlow::Break(())
    })?;
    failed.map_or(Ok(flow), Err)
}
