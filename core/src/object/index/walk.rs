//! Walking over the entries of an index view: [`IndexScan`] in one direction, [`IndexIter`] from
//! both ends. [`IndexEntry`] and [`IndexEntryRef`] are what they return.

use std::borrow::Cow;
use std::sync::Arc;

use permazen_kv::Direction;

use super::column::FilterPosition;
use super::selection::{IndexSource, Selection, push_jump};
use super::shape::IndexKind;
use crate::encoding::Value;
use crate::id::ObjId;
use crate::layout;
use crate::object::error::{Error, Result, hex};
use crate::object::store::{LiveScan, extend_to_after_prefix, has_met};

/// How many entries with the same returned columns are skipped one by one before a seek.
const PASSED_BEFORE_SEEK: u32 = 16;

/// A walk over the entries of a selection in one direction. A view may show only the first columns
/// of the index: the *returned* columns.
pub(crate) struct IndexScan<'t> {
    source: &'t dyn IndexSource,
    selection: Arc<Selection>,
    scan: LiveScan<'t>,
    /// The columns with filters that the bounds of the scan do not express. The walk compares these
    /// columns of each entry with their filters.
    checked: Vec<usize>,
    /// Where each column ends in the current key.
    ends: Vec<usize>,
    /// The returned columns of the last entry that the walk gave to its caller. Empty unless
    /// `distinct`.
    last: Vec<u8>,
    /// Whether several entries can have the same returned columns. They are returned as one.
    distinct: bool,
    /// Whether the scan is at the entry that was returned last. False after the end and after an
    /// error.
    on_entry: bool,
    /// For each wanted schema, the prefix of its keys in the object schema index.
    schemas: Option<Vec<Vec<u8>>>,
    /// A buffer for the key that the scan seeks next.
    target: Vec<u8>,
}

impl<'t> IndexScan<'t> {
    pub(crate) fn new(
        source: &'t dyn IndexSource,
        selection: Arc<Selection>,
        direction: Direction,
    ) -> Self {
        let (min, max, checked) = selection.span();
        let distinct = selection.columns < selection.shape.columns();
        IndexScan {
            source,
            scan: LiveScan::new(source.as_scan_source(), min, max, direction, false)
                .through(selection.scan_overlay()),
            schemas: selection.schemas.as_ref().map(|schemas| {
                schemas.iter().map(|schema| layout::object_schema_prefix(*schema)).collect()
            }),
            selection,
            checked,
            ends: Vec::new(),
            last: Vec::new(),
            distinct,
            on_entry: false,
            target: Vec::new(),
        }
    }

    /// Sets how many keys the first seek reads. The walk must not have begun.
    pub(super) fn read_at_once(&mut self, keys: usize) {
        self.scan.read_at_once(keys);
    }

    /// The next entry. An error ends the walk.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<IndexEntryRef<'_, 't>>> {
        match self.advance() {
            Ok(true) => Ok(self.current()),
            Ok(false) => Ok(None),
            Err(error) => {
                // The scan may be at an entry that cannot be read. Without this, the next call
                // would continue after it.
                self.scan.finish();
                Err(error)
            }
        }
    }

    /// The entry that was returned last.
    #[inline]
    pub(crate) fn current(&self) -> Option<IndexEntryRef<'_, 't>> {
        if !self.on_entry {
            return None;
        }
        let (key, _) = self.scan.current()?;
        Some(IndexEntryRef {
            stored: Stored::Cut { key, ends: &self.ends },
            source: self.source,
            selection: &self.selection,
        })
    }

    /// Moves to the next wanted entry. Returns `false` at the end.
    fn advance(&mut self) -> Result<bool> {
        self.on_entry = false;
        let IndexScan {
            source,
            selection,
            scan,
            checked,
            ends,
            last,
            distinct,
            schemas,
            target,
            ..
        } = self;
        let direction = scan.direction();
        let mut passed = 0;
        loop {
            let Some((key, _)) = scan.next()? else { return Ok(false) };
            // Entries that differ only in columns that are not returned count as one.
            // `last` is empty until an entry was returned, and every key begins with an empty one.
            if *distinct && !last.is_empty() && key.starts_with(last) {
                passed += 1;
                // Usually there are few such entries, and a seek costs as much as many steps. So
                // the walk steps first, and seeks only if there are many.
                if passed >= PASSED_BEFORE_SEEK {
                    passed = 0;
                    target.clone_from(last);
                    // Backwards, a seek goes below all keys that begin with `target`. Forwards, it
                    // must go above them; if there is no higher key, the scan steps to its end.
                    if direction == Direction::Reverse || extend_to_after_prefix(target) {
                        scan.skip_to(target);
                    }
                }
                continue;
            }
            selection.shape.cut(key, ends)?;
            match check_columns(selection, checked, key, ends, direction, target) {
                Verdict::Wanted => {}
                // There is no key to seek, so step.
                Verdict::Unwanted => continue,
                Verdict::SeekTarget => {
                    scan.skip_to(target);
                    continue;
                }
            }
            // An object's schema is not in the key, so checking it costs up to one get for each
            // wanted schema. Therefore it comes last.
            if let Some(schemas) = schemas
                && !is_in_schemas(*source, schemas, selection.id_in(key, ends), target)?
            {
                continue;
            }
            // Noted, so that later entries with the same returned columns are skipped.
            if *distinct {
                let end = selection.columns.checked_sub(1).and_then(|column| ends.get(column));
                last.clear();
                last.extend_from_slice(end.and_then(|end| key.get(..*end)).unwrap_or(key));
            }
            self.on_entry = true;
            return Ok(true);
        }
    }
}

/// The verdict of the filters on an entry.
enum Verdict {
    Wanted,
    Unwanted,
    /// Not wanted, and the next wanted entry cannot come before `target` in the direction of the
    /// walk.
    SeekTarget,
}

/// Compares the columns `checked` of an entry with their filters. If the entry is not wanted,
/// writes to `target` the key to seek.
fn check_columns(
    selection: &Selection,
    checked: &[usize],
    key: &[u8],
    ends: &[usize],
    direction: Direction,
    target: &mut Vec<u8>,
) -> Verdict {
    let start = selection.shape.prefix().len();
    for &column in checked {
        // A column without a filter may have any value.
        let Some(Some(filter)) = selection.filters.get(column) else { continue };
        let before = column.checked_sub(1).and_then(|column| ends.get(column));
        let from = before.map_or(start, |end| *end);
        let value = ends.get(column).and_then(|to| key.get(from..*to)).unwrap_or_default();
        let place = filter.locate(value, direction);
        if place == FilterPosition::Inside {
            continue;
        }
        target.clear();
        target.extend_from_slice(key.get(..from).unwrap_or_default());
        let reachable = match place {
            // Wanted values of this column are ahead: seek the first of them.
            FilterPosition::Ahead(bound) => push_jump(target, bound, direction),
            // The walk is past the wanted values of this column, so no more entries with these
            // values in the earlier columns are wanted. Seek the next values of the earlier
            // columns; backwards, these come right before the prefix in `target`.
            _ => direction == Direction::Reverse || extend_to_after_prefix(target),
        };
        return if reachable { Verdict::SeekTarget } else { Verdict::Unwanted };
    }
    Verdict::Wanted
}

/// Whether an object has one of the schemas. Each schema is given as the prefix of its keys in the
/// object schema index. `key` is a buffer. Cost: one get for each schema, up to the one that the
/// object has.
fn is_in_schemas(
    source: &dyn IndexSource,
    schemas: &[Vec<u8>],
    id: &[u8],
    key: &mut Vec<u8>,
) -> Result<bool> {
    let mut found = false;
    source.with_read(&mut |kv| {
        for schema in schemas {
            key.clone_from(schema);
            key.extend_from_slice(id);
            found = kv.get(key)?.is_some();
            // An object has one schema only.
            if found {
                break;
            }
        }
        Ok(())
    })?;
    Ok(found)
}

/// An index entry, borrowed from the walk over it.
#[derive(Clone, Copy)]
pub struct IndexEntryRef<'e, 't> {
    stored: Stored<'e>,
    source: &'t dyn IndexSource,
    selection: &'e Arc<Selection>,
}

/// The bytes of an entry.
#[derive(Clone, Copy)]
enum Stored<'e> {
    /// A key, and where each of its columns ends.
    Cut { key: &'e [u8], ends: &'e [usize] },
    /// The only value, and the object ID after it. All columns are returned.
    Plain { value: &'e [u8], id: &'e ObjId },
}

impl std::fmt::Debug for IndexEntryRef<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("IndexEntryRef").field(&hex(&self.returned(), 64)).finish()
    }
}

impl<'e, 't> IndexEntryRef<'e, 't> {
    /// An entry with one value and an object ID, of a selection that returns both.
    #[inline]
    pub(super) fn plain(
        value: &'e [u8],
        id: &'e ObjId,
        source: &'t dyn IndexSource,
        selection: &'e Arc<Selection>,
    ) -> Self {
        IndexEntryRef { stored: Stored::Plain { value, id }, source, selection }
    }

    /// How many columns the entry has.
    pub fn columns(&self) -> usize {
        self.selection.columns
    }

    /// The encoded value of a column; empty if there is no such column.
    #[inline]
    pub fn encoded(&self, column: usize) -> &'e [u8] {
        let (key, ends) = match self.stored {
            Stored::Cut { key, ends } => (key, ends),
            Stored::Plain { value, id } => {
                return match column {
                    0 => value,
                    1 => id.as_bytes(),
                    _ => &[],
                };
            }
        };
        // The key may have more columns than the view returns.
        if column >= self.selection.columns {
            return &[];
        }
        self.selection.shape.column(column, key, ends)
    }

    /// The key, which may have more columns than the view returns.
    fn key(&self) -> Cow<'e, [u8]> {
        match self.stored {
            Stored::Cut { key, .. } => Cow::Borrowed(key),
            Stored::Plain { value, id } => {
                Cow::Owned(layout::index_key(self.selection.shape.prefix(), value, *id, &[]))
            }
        }
    }

    /// The part of the key that holds the returned columns.
    pub(in crate::object) fn returned(&self) -> Cow<'e, [u8]> {
        match self.stored {
            Stored::Cut { key, ends } => {
                let end = self.selection.columns.checked_sub(1).and_then(|column| ends.get(column));
                Cow::Borrowed(end.and_then(|end| key.get(..*end)).unwrap_or(key))
            }
            Stored::Plain { .. } => self.key(),
        }
    }

    /// The object ID.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the view does not return the column of the object ID.
    #[inline]
    pub fn id(&self) -> Result<ObjId> {
        match self.stored {
            Stored::Plain { id, .. } => Ok(*id),
            Stored::Cut { .. } => self.id_in_key(),
        }
    }

    #[inline(never)]
    fn id_in_key(&self) -> Result<ObjId> {
        object_id(self.encoded(self.selection.shape.id_column()), self.selection)
    }

    /// The value of a column: an indexed value, the object ID as a reference, the position as an
    /// int, or the map key.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] if the bytes are damaged; [`Error::InvalidArgument`] if there is no
    /// such column.
    pub fn value(&self, column: usize) -> Result<Value> {
        decode_column(
            column,
            self.encoded(column),
            &self.key(),
            || self.id(),
            self.source,
            self.selection,
        )
    }

    /// The position of a list element.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the entry has no position.
    pub fn position(&self) -> Result<u32> {
        let position = self.encoded(self.selection.shape.id_column() + 1);
        list_position(position, &self.key(), self.selection)
    }

    /// A copy that owns its bytes.
    pub fn to_owned(&self) -> IndexEntry<'t> {
        let key = self.returned();
        let ends = match self.stored {
            Stored::Cut { ends, .. } => ends.get(..self.selection.columns).unwrap_or(ends).into(),
            Stored::Plain { .. } => [key.len().saturating_sub(ObjId::LEN), key.len()].into(),
        };
        IndexEntry { key: key.into(), ends, source: self.source, selection: self.selection.clone() }
    }
}

/// An index entry that owns its bytes.
#[derive(Clone)]
pub struct IndexEntry<'t> {
    key: Box<[u8]>,
    ends: Box<[usize]>,
    source: &'t dyn IndexSource,
    selection: Arc<Selection>,
}

impl std::fmt::Debug for IndexEntry<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("IndexEntry").field(&hex(&self.key, 64)).finish()
    }
}

impl IndexEntry<'_> {
    fn borrowed(&self) -> IndexEntryRef<'_, '_> {
        IndexEntryRef {
            stored: Stored::Cut { key: &self.key, ends: &self.ends },
            source: self.source,
            selection: &self.selection,
        }
    }

    /// How many columns the entry has.
    pub fn columns(&self) -> usize {
        self.selection.columns
    }

    /// The encoded value of a column; empty if there is no such column.
    #[doc(hidden)]
    pub fn encoded(&self, column: usize) -> &[u8] {
        self.borrowed().encoded(column)
    }

    /// The object ID.
    ///
    /// # Errors
    /// The errors of [`IndexEntryRef::id`].
    pub fn id(&self) -> Result<ObjId> {
        self.borrowed().id()
    }

    /// The value of a column.
    ///
    /// # Errors
    /// The errors of [`IndexEntryRef::value`].
    pub fn value(&self, column: usize) -> Result<Value> {
        self.borrowed().value(column)
    }

    /// The values of all columns.
    ///
    /// # Errors
    /// The errors of [`IndexEntryRef::value`].
    pub fn to_values(&self) -> Result<Vec<Value>> {
        (0..self.columns()).map(|column| self.value(column)).collect()
    }

    /// The position of a list element.
    ///
    /// # Errors
    /// The errors of [`IndexEntryRef::position`].
    pub fn position(&self) -> Result<u32> {
        self.borrowed().position()
    }
}

#[inline]
fn object_id(bytes: &[u8], selection: &Selection) -> Result<ObjId> {
    match ObjId::from_slice(bytes) {
        Ok(id) => Ok(id),
        Err(_) => Err(no_object_id(selection)),
    }
}

#[cold]
fn no_object_id(selection: &Selection) -> Error {
    Error::invalid_argument(format!(
        "entries cut to {} columns of index {} have no object id",
        selection.columns,
        selection.shape.name()
    ))
}

fn list_position(bytes: &[u8], key: &[u8], selection: &Selection) -> Result<u32> {
    // The bytes are empty if the view does not return the column of the position.
    if selection.shape.kind() != IndexKind::ListElement || bytes.is_empty() {
        return Err(Error::invalid_argument(format!(
            "entries with {} columns of index {} have no position",
            selection.columns,
            selection.shape.name()
        )));
    }
    layout::parse_list_position(bytes).map_err(|reason| {
        Error::inconsistent(format!(
            "key {} of index {}: {reason}",
            hex(key, 64),
            selection.shape.name()
        ))
    })
}

fn decode_column(
    column: usize,
    bytes: &[u8],
    key: &[u8],
    id: impl FnOnce() -> Result<ObjId>,
    source: &dyn IndexSource,
    selection: &Selection,
) -> Result<Value> {
    let shape = &selection.shape;
    // The key may have more columns than the view returns.
    if column >= selection.columns {
        return Err(Error::invalid_argument(format!(
            "entries of this view of index {} have {} columns, none numbered {column}",
            shape.name(),
            selection.columns
        )));
    }
    // If maps with keys of different encodings share the index, the encoding is that of the
    // object's own map.
    if column > shape.id_column()
        && shape.kind() == IndexKind::MapValue
        && shape.only_map_key().is_none()
    {
        let encoding = source.map_key_encoding(id()?, shape.storage_id())?;
        return encoding.decode_all(bytes).map_err(|reason| {
            Error::inconsistent(format!("key {} of index {}: {reason}", hex(key, 64), shape.name()))
        });
    }
    shape.decode(column, bytes, key)
}

/// An iterator over the entries of an [`IndexView`](super::IndexView), from both ends. A closure
/// converts each entry.
pub struct IndexIter<'t, F> {
    source: &'t dyn IndexSource,
    selection: Arc<Selection>,
    front: Option<IndexScan<'t>>,
    back: Option<IndexScan<'t>>,
    read: F,
    done: bool,
}

impl<F> std::fmt::Debug for IndexIter<'_, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndexIter").field("selection", &self.selection).finish_non_exhaustive()
    }
}

impl<'t, F> IndexIter<'t, F> {
    pub(super) fn new(source: &'t dyn IndexSource, selection: Arc<Selection>, read: F) -> Self {
        IndexIter { source, selection, front: None, back: None, read, done: false }
    }

    #[inline]
    fn step<T>(&mut self, direction: Direction) -> Option<Result<T>>
    where
        F: FnMut(IndexEntryRef<'_, 't>) -> Result<T>,
    {
        if self.done {
            return None;
        }
        let (scan, other) = match direction {
            Direction::Forward => (&mut self.front, &self.back),
            Direction::Reverse => (&mut self.back, &self.front),
        };
        let scan = scan
            .get_or_insert_with(|| IndexScan::new(self.source, self.selection.clone(), direction));
        let result = match scan.next() {
            // Where the walks from both ends meet, every entry has been returned.
            Ok(Some(entry)) => {
                let other = other.as_ref().and_then(IndexScan::current);
                let met = other
                    .is_some_and(|other| has_met(direction, &entry.returned(), &other.returned()));
                if met { None } else { Some((self.read)(entry)) }
            }
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        };
        // An error ends the iteration too.
        self.done = !matches!(result, Some(Ok(_)));
        result
    }
}

impl<'t, F, T> Iterator for IndexIter<'t, F>
where
    F: FnMut(IndexEntryRef<'_, 't>) -> Result<T>,
{
    type Item = Result<T>;

    #[inline]
    fn next(&mut self) -> Option<Result<T>> {
        self.step(Direction::Forward)
    }
}

impl<'t, F, T> DoubleEndedIterator for IndexIter<'t, F>
where
    F: FnMut(IndexEntryRef<'_, 't>) -> Result<T>,
{
    fn next_back(&mut self) -> Option<Result<T>> {
        self.step(Direction::Reverse)
    }
}
