//! The part that sets, lists and maps share: the keys of one field of one object.

use std::ops::Bound;
use std::sync::Arc;

use permazen_kv::Direction;

use crate::encoding::{EncodingError, Value};
use crate::id::ObjId;
use crate::layout;
use crate::object::describe::describe;
use crate::object::error::{Error, Result, hex};
use crate::object::index::{ColumnFilter, EncodedRange, OwnedSpan, encode_bound, span_of};
use crate::object::notify::ChangeKind;
use crate::object::reference::check_reference_type;
use crate::object::store::{LiveScan, ScanSource, Undo, has_met};
use crate::object::transaction::Transaction;
use crate::object::whole_object::KeyList;
use crate::schema::{ResolvedField, ResolvedSimple, ResolvedType};

/// A field of an object. Views hold one.
#[derive(Clone)]
pub(crate) struct Content<'t> {
    pub(crate) tx: &'t Transaction,
    pub(crate) id: ObjId,
    pub(crate) field: Arc<ResolvedField>,
}

/// A field of an object, as the object's schema defines it at the moment of a change.
pub(crate) struct Target {
    object_type: Arc<ResolvedType>,
    pub(crate) field: Arc<ResolvedField>,
    /// Whether listeners watch the field.
    pub(crate) monitored: bool,
}

impl std::fmt::Debug for Content<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} {}", self.field.full_name, self.field.type_name, self.id)
    }
}

impl<'t> Content<'t> {
    pub(crate) fn new(tx: &'t Transaction, id: ObjId, field: Arc<ResolvedField>) -> Self {
        Content { tx, id, field }
    }

    /// The common prefix of all keys of the field.
    pub(crate) fn prefix(&self) -> Vec<u8> {
        layout::field_key(self.id, &self.field.key)
    }

    /// The key made of the prefix and `suffix`.
    pub(crate) fn key(&self, suffix: &[u8]) -> Vec<u8> {
        layout::content_key(self.id, self.field.storage_id, suffix)
    }

    pub(crate) fn source(&self) -> &'t dyn ScanSource {
        self.tx.store()
    }

    /// The key span of the content within `range`; `None` if nothing can be there.
    pub(crate) fn span(&self, range: &EncodedRange) -> Option<OwnedSpan> {
        span_of(&self.prefix(), &ColumnFilter::range(range.0.clone(), range.1.clone()))
    }

    /// The object and field, for messages.
    pub(crate) fn describe(&self) -> String {
        describe(self.id, &self.field)
    }

    /// An error saying that the stored pair at `key` is damaged.
    pub(crate) fn damaged(&self, key: &[u8], reason: &dyn std::fmt::Display) -> Error {
        Error::inconsistent(format!("{}: key {}: {reason}", self.describe(), hex(key, 64)))
    }

    /// Encodes `value` as `part`, which is an element, key or value.
    pub(crate) fn encode(&self, part: &ResolvedField, value: &Value) -> Result<Vec<u8>> {
        let simple = self.simple(part)?;
        let mut bytes = Vec::new();
        simple.encoding.encode(value, &mut bytes).map_err(|source| self.invalid(part, source))?;
        Ok(bytes)
    }

    /// Encodes `value` as `part`; `None` if it cannot be one.
    pub(crate) fn find_encoding(
        &self,
        part: &ResolvedField,
        value: &Value,
    ) -> Result<Option<Vec<u8>>> {
        match self.encode(part, value) {
            Ok(bytes) => Ok(Some(bytes)),
            // A value that cannot be an element is found nowhere, which is no error of the search.
            Err(Error::InvalidValue { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Encodes a bound on values of `part`.
    pub(crate) fn encode_bound(
        &self,
        part: &ResolvedField,
        bound: Bound<&Value>,
    ) -> Result<Bound<Vec<u8>>> {
        encode_bound(bound, |value| self.encode(part, value))
    }

    /// Refuses bytes that are not the encoding of any value of `part`.
    pub(crate) fn check_encoded(&self, part: &ResolvedField, bytes: &[u8]) -> Result<()> {
        self.simple(part)?
            .encoding
            .check_canonical(bytes)
            .map_err(|source| self.invalid(part, source))
    }

    /// Decodes stored bytes of `part`. `suffix` gives the rest of the key after the prefix, for
    /// messages.
    pub(crate) fn decode<S: AsRef<[u8]>>(
        &self,
        part: &ResolvedField,
        bytes: &[u8],
        suffix: impl FnOnce() -> S,
    ) -> Result<Value> {
        self.simple(part)?
            .encoding
            .decode_all(bytes)
            .map_err(|reason| self.damaged(&self.key(suffix().as_ref()), &reason))
    }

    pub(crate) fn simple<'p>(&self, part: &'p ResolvedField) -> Result<&'p ResolvedSimple> {
        part.simple().ok_or_else(|| {
            Error::inconsistent(format!("{} has a part of no simple kind", self.describe()))
        })
    }

    fn invalid(&self, part: &ResolvedField, source: EncodingError) -> Error {
        Error::InvalidValue { field: describe(self.id, part), source }
    }

    // ------------------------------------------------------------------ changing

    /// Runs `body` as one change of the field. Checks that the transaction is open and that the
    /// object exists, and finds the field as the object's present schema defines it. If `body`
    /// fails, everything is undone. Afterwards listeners are called, unless this is part of a
    /// larger change.
    pub(crate) fn mutate<R>(&self, body: impl FnOnce(&Target) -> Result<R>) -> Result<R> {
        let changes = self.tx.store().changes();
        let change = || {
            // The field is looked up inside the operation, since the object may have moved since
            // the view was made.
            let (target, before) = (self.target()?, changes.get());
            let result = body(&target)?;
            // The counter says whether anything was written, so `body` need not say so.
            if changes.get() != before {
                self.tx.dirty_set.field(self.id, target.field.storage_id, None);
            }
            Ok(result)
        };
        self.tx.mutate(change).map_err(|error| error.about(|| self.describe()))
    }

    /// The field as the object's present schema defines it.
    fn target(&self) -> Result<Target> {
        let object_type = self.tx.require_object_type(self.id)?;
        let field = match object_type.field_by_storage_id(self.field.storage_id) {
            Some(field) => field.clone(),
            None => {
                return Err(Error::UnknownField {
                    type_name: Some(object_type.name.to_string()),
                    field: self.field.full_name.to_string(),
                });
            }
        };
        let monitored = self.tx.is_monitored(&object_type, &field);
        Ok(Target { object_type, field, monitored })
    }

    /// The field as the object's present schema defines it, if the object has it.
    pub(crate) fn present_field(&self) -> Option<Arc<ResolvedField>> {
        let object_type = self.tx.require_object_type(self.id).ok()?;
        object_type.field_by_storage_id(self.field.storage_id).cloned()
    }

    /// Notes a pair that the field has got. The positions in a list do not matter.
    pub(crate) fn got(&self, target: &Target, pair: (&[u8], &[u8])) {
        self.tx.dirty_set.pairs(self.id, target.field.storage_id, std::iter::once(pair));
    }

    /// Queues a change for listeners. Call only if `target.monitored`.
    pub(crate) fn changed(&self, target: &Target, kind: ChangeKind) {
        self.tx.queue_change(self.id, &target.object_type, &target.field, kind);
    }

    /// Refuses a reference to a type that the field does not allow.
    pub(crate) fn check_type(&self, part: &ResolvedField, bytes: &[u8]) -> Result<()> {
        check_reference_type(self.id, part, bytes)
    }

    /// Refuses a reference to an object that does not exist, unless the field allows it.
    pub(crate) fn check_exists(&self, part: &ResolvedField, bytes: &[u8]) -> Result<()> {
        self.tx.check_reference_exists(self.id, part, bytes)
    }

    /// Refuses a value whose index entry would have a key that is too long. Call before anything is
    /// written.
    pub(crate) fn check_entry(
        &self,
        part: &ResolvedField,
        value: &[u8],
        suffix_len: usize,
    ) -> Result<()> {
        let len = layout::index_key_len(&part.key, value.len(), suffix_len);
        // Only the length counts, so the key is not made for the check.
        if !part.is_indexed() || self.tx.store().fits(len) {
            return Ok(());
        }
        let key = layout::index_key(&part.key, value, self.id, &vec![0; suffix_len]);
        let checked = self.tx.store().check_key(&key);
        checked.map_err(|error| {
            error.about(|| format!("the index entry of a value of {}", self.describe()))
        })
    }

    /// Puts the index entry for a value of `part`, if `part` has an index.
    pub(crate) fn index(&self, part: &ResolvedField, value: &[u8], suffix: &[u8]) -> Result<()> {
        if part.is_indexed() {
            self.tx.store().put_entry(&layout::index_key(&part.key, value, self.id, suffix))?;
        }
        Ok(())
    }

    /// Removes the index entry for a value of `part`, if `part` has an index.
    pub(crate) fn unindex(&self, part: &ResolvedField, value: &[u8], suffix: &[u8]) -> Result<()> {
        if part.is_indexed() {
            self.tx.store().remove_entry(&layout::index_key(&part.key, value, self.id, suffix))?;
        }
        Ok(())
    }

    /// Removes the content in `[min, max)`, and the index entries that `entries` names for each of
    /// its pairs. Returns `false` if nothing was there. Cost: one scan, one range removal and one
    /// delete per entry.
    pub(crate) fn remove_content(
        &self,
        min: &[u8],
        max: Option<&[u8]>,
        mut entries: impl FnMut(&[u8], &[u8], &mut KeyList) -> Result<()>,
    ) -> Result<bool> {
        let prefix_len = self.prefix().len();
        let mut keys = KeyList::default();
        let mut found = false;
        self.tx.store().remove_span_with(permazen_kv::KeySpan::new(min, max), |key, value| {
            found = true;
            entries(key.get(prefix_len..).unwrap_or_default(), value, &mut keys)
        })?;
        // Stores take keys fastest in order.
        keys.sort();
        for key in keys.iter() {
            self.tx.store().remove_entry(key)?;
        }
        Ok(found)
    }

    /// Sets the pair at `key`; `old` is the value before.
    pub(crate) fn put(&self, key: &[u8], value: &[u8], old: Option<&[u8]>) -> Result<()> {
        self.tx.store().put(key, value, old.map_or(Undo::Absent, Undo::Old))
    }

    /// Removes the pair at `key`; `old` is its value.
    pub(crate) fn remove(&self, key: &[u8], old: &[u8]) -> Result<()> {
        self.tx.store().remove(key, Undo::Old(old))
    }

    /// A copy of the value at `key`. Cost: one get.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.lend(key, |value| value.map(<[u8]>::to_vec))
    }

    /// Lends the value at `key`. Cost: one get.
    pub(crate) fn lend<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        self.tx.store().get(key, read).map_err(|error| error.about(|| self.describe()))
    }

    /// Lends the first pair of `span` in the given direction. Cost: one seek.
    pub(crate) fn first<R>(
        &self,
        span: permazen_kv::KeySpan<'_>,
        direction: Direction,
        read: impl FnOnce(Option<(&[u8], &[u8])>) -> R,
    ) -> Result<R> {
        let result = self.tx.store().first(span, direction, read);
        result.map_err(|error| error.about(|| self.describe()))
    }
}

/// The pairs in a part of a field's content. Each is converted by a closure while its bytes are
/// borrowed. Can be read from both ends. Live: see [`IdSet::iter`](crate::object::IdSet::iter).
pub struct ContentIter<'t, F> {
    source: &'t dyn ScanSource,
    id: ObjId,
    field: Arc<ResolvedField>,
    min: Vec<u8>,
    max: Option<Vec<u8>>,
    prefix_len: usize,
    with_values: bool,
    front: Option<LiveScan<'t>>,
    back: Option<LiveScan<'t>>,
    read: F,
    done: bool,
}

impl<F> std::fmt::Debug for ContentIter<'_, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ContentIter").field("min", &hex(&self.min, 32)).finish_non_exhaustive()
    }
}

impl<'t, F> ContentIter<'t, F> {
    /// The pairs within `range`. `read` gets the rest of each key after the prefix, and the value.
    pub(crate) fn new(
        content: &Content<'t>,
        range: &EncodedRange,
        with_values: bool,
        read: F,
    ) -> Self {
        let span = content.span(range);
        let done = span.is_none();
        let (min, max) = span.unwrap_or_default();
        ContentIter {
            source: content.source(),
            id: content.id,
            field: Arc::clone(&content.field),
            min,
            max,
            prefix_len: content.prefix().len(),
            with_values,
            front: None,
            back: None,
            read,
            done,
        }
    }

    fn step<T>(&mut self, direction: Direction) -> Option<Result<T>>
    where
        F: FnMut(&[u8], &[u8]) -> Result<T>,
    {
        if self.done {
            return None;
        }
        let (scan, other) = match direction {
            Direction::Forward => (&mut self.front, &self.back),
            Direction::Reverse => (&mut self.back, &self.front),
        };
        let scan = scan.get_or_insert_with(|| {
            let (min, max) = (self.min.clone(), self.max.clone());
            LiveScan::new(self.source, min, max, direction, self.with_values)
        });
        let result = match scan.next() {
            Ok(Some((key, value))) => {
                // The iterator ends where the one from the other end is.
                let other = other.as_ref().and_then(LiveScan::current);
                let met = other.is_some_and(|(other, _)| has_met(direction, key, other));
                let suffix = key.get(self.prefix_len..).unwrap_or_default();
                // A damaged pair is reported, but does not end the iteration.
                if met { None } else { return Some((self.read)(suffix, value)) }
            }
            Ok(None) => None,
            Err(error) => Some(Err(error.about(|| describe(self.id, &self.field)))),
        };
        self.done = true;
        result
    }
}

impl<F, T> Iterator for ContentIter<'_, F>
where
    F: FnMut(&[u8], &[u8]) -> Result<T>,
{
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        self.step(Direction::Forward)
    }
}

impl<F, T> DoubleEndedIterator for ContentIter<'_, F>
where
    F: FnMut(&[u8], &[u8]) -> Result<T>,
{
    fn next_back(&mut self) -> Option<Result<T>> {
        self.step(Direction::Reverse)
    }
}
