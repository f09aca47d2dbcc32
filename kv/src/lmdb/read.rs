//! Reads the pairs of one version by calls of LMDB, in a transaction of either kind or in a
//! snapshot. Most views read pages themselves (`page_reader.rs`).

use std::borrow::Cow;
use std::mem::ManuallyDrop;
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use heed::types::Bytes;
use heed::{AnyTls, RoIter, RoRange, RoRevIter, RoRevRange, RoTxn, WithoutTls};

use super::env::{CountedReader, Pairs, SharedEnv};
use super::error::{READING, damaged, failed};
use super::key::{StoredKey, StoredSpan};
use super::own_thread::AtEachStep;
use super::tree::Tree;
use crate::store_parts;
use crate::store_parts::lock::lock;
use crate::{Blob, Direction, KeySpan, KvError, Near, Pair, Result, Scan, Visitor};

/// How many pairs [`Reader::get_near`] steps over after the first before it searches again. This
/// many steps cost about as much as a search.
pub(super) const MOST_STEPS: usize = 8;

/// The pairs as a transaction of LMDB sees them.
#[derive(Clone, Copy)]
pub(super) struct Reader<'t> {
    pub(super) pairs: Pairs,
    pub(super) txn: &'t RoTxn<'t, AnyTls>,
    pub(super) path: &'t Path,
    /// Present if a thread must not end before the transaction does.
    pub(super) thread: Option<AtEachStep<'t>>,
}

impl<'t> Reader<'t> {
    pub(super) fn failed(self, error: heed::Error) -> KvError {
        failed(self.path, READING, error)
    }

    pub(super) fn get(self, key: &[u8]) -> Result<Option<Blob<'t>>> {
        let mut room = StoredKey::room();
        let Some(stored) = room.fitting(key) else { return Ok(None) };
        match self.pairs.get(self.txn, stored) {
            Ok(value) => Ok(value.map(Cow::Borrowed)),
            Err(error) => Err(self.failed(error)),
        }
    }

    pub(super) fn get_near(self, key: &[u8], near: &[u8]) -> Result<Option<Near<'t>>> {
        let mut room = StoredKey::room();
        let Some(stored) = room.fitting(key) else { return Ok(None) };
        let from = (Bound::Included(stored), Bound::Unbounded);
        let pairs = self.pairs.range(self.txn, &from).map_err(|error| self.failed(error))?;
        self.get_along(pairs, key, near)
    }

    /// Does the same as [`Reader::get_near`], with the pairs from where `key` is or would be.
    pub(super) fn get_along(
        self,
        mut pairs: impl Iterator<Item = heed::Result<(&'t [u8], &'t [u8])>>,
        key: &[u8],
        near: &[u8],
    ) -> Result<Option<Near<'t>>> {
        let mut step = || -> Result<Option<(&'t [u8], &'t [u8])>> {
            let pair = pairs.next().transpose().map_err(|error| self.failed(error))?;
            pair.map(|pair| stripped(self.path, pair)).transpose()
        };
        let Some((found, value)) = step()? else { return Ok(None) };
        if found != key {
            return Ok(None);
        }
        let value = Cow::Borrowed(value);
        if near > key {
            for _ in 0..MOST_STEPS {
                match step()? {
                    Some((found, _)) if found < near => {}
                    Some((found, other)) if found == near => {
                        return Ok(Some((value, Some(Cow::Borrowed(other)))));
                    }
                    _ => return Ok(Some((value, None))),
                }
            }
        }
        Ok(Some((value, self.get(near)?)))
    }

    pub(super) fn at_least(self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'t>>> {
        let mut room = StoredKey::room();
        let found = if min.is_empty() {
            self.pairs.first(self.txn)
        } else if let Some(stored) = room.fitting(min) {
            self.pairs.get_greater_than_or_equal_to(self.txn, stored)
        } else {
            return self.first_of_scan(min, max, Direction::Forward);
        };
        let Some(pair) = found.map_err(|error| self.failed(error))? else { return Ok(None) };
        let pair = lent(stripped(self.path, pair)?);
        Ok(Some(pair).filter(|(key, _)| max.is_none_or(|max| **key < *max)))
    }

    pub(super) fn at_most(self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'t>>> {
        let mut room = StoredKey::room();
        let found = match max.map(|max| room.fitting(max)) {
            None => self.pairs.last(self.txn),
            Some(Some(stored)) => self.pairs.get_lower_than(self.txn, stored),
            Some(None) => return self.first_of_scan(min, max, Direction::Reverse),
        };
        let Some(pair) = found.map_err(|error| self.failed(error))? else { return Ok(None) };
        let pair = lent(stripped(self.path, pair)?);
        Ok(Some(pair).filter(|(key, _)| **key >= *min))
    }

    /// The first pair where a bound is too long to be stored. A scan replaces such a bound by its
    /// longest prefix.
    #[cold]
    fn first_of_scan(
        self,
        min: &[u8],
        max: Option<&[u8]>,
        direction: Direction,
    ) -> Result<Option<Pair<'t>>> {
        let span = KeySpan::new(min, max);
        if span.is_empty() { Ok(None) } else { self.scan(span, direction)?.next().transpose() }
    }

    pub(super) fn scan(self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'t>> {
        self.steps_of(None, span, direction)
    }

    /// A scan. If it reads a `view` that is shared, it waits for its turn at each step.
    pub(super) fn steps_of(
        self,
        view: Option<&'t LmdbView>,
        span: KeySpan<'_>,
        direction: Direction,
    ) -> Result<Scan<'t>> {
        Ok(match self.open(span, direction)? {
            Opened::Nothing => Box::new(std::iter::empty()),
            Opened::All(range) => Box::new(RangeScan::new(range, self, view)),
            Opened::AllBack(range) => Box::new(RangeScan::new(range, self, view)),
            Opened::Range(range) => Box::new(RangeScan::new(range, self, view)),
            Opened::RangeBack(range) => Box::new(RangeScan::new(range, self, view)),
        })
    }

    pub(super) fn visit(
        self,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        self.visit_of(None, span, direction, visitor)
    }

    /// A visit. If it reads a `view` that is shared, it waits for its turn at each step.
    pub(super) fn visit_of(
        self,
        view: Option<&'t LmdbView>,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        let opened = {
            let _turn = view.and_then(LmdbView::turn);
            match (span.max, direction) {
                // Checking for the end here costs less than in a range of LMDB.
                (Some(_), Direction::Forward) if !span.min.is_empty() => {
                    span.check()?;
                    self.open(KeySpan::new(span.min, None), direction)?
                }
                _ => self.open(span, direction)?,
            }
        };
        let end = End::new(span.max.filter(|_| direction == Direction::Forward));
        opened.show(self, view, &mut |key, value| match end.is_before(key) {
            true => visitor(key, value),
            false => ControlFlow::Break(()),
        })
    }

    fn open(self, span: KeySpan<'_>, direction: Direction) -> Result<Opened<'t>> {
        span.check()?;
        if span.is_empty() {
            return Ok(Opened::Nothing);
        }
        let opened = match (span.is_full(), direction) {
            (true, Direction::Forward) => self.pairs.iter(self.txn).map(Opened::All),
            (true, Direction::Reverse) => self.pairs.rev_iter(self.txn).map(Opened::AllBack),
            (false, direction) => {
                let stored = StoredSpan::new(span);
                let bounds = stored.bounds();
                match direction {
                    Direction::Forward => self.pairs.range(self.txn, &bounds).map(Opened::Range),
                    Direction::Reverse => {
                        self.pairs.rev_range(self.txn, &bounds).map(Opened::RangeBack)
                    }
                }
            }
        };
        opened.map_err(|error| self.failed(error))
    }
}

/// Where a scan begins in LMDB. Scans of everything need not check for bounds.
enum Opened<'t> {
    Nothing,
    All(RoIter<'t, Bytes, Bytes>),
    AllBack(RoRevIter<'t, Bytes, Bytes>),
    Range(RoRange<'t, Bytes, Bytes>),
    RangeBack(RoRevRange<'t, Bytes, Bytes>),
}

impl<'t> Opened<'t> {
    #[inline]
    fn show(
        self,
        reader: Reader<'t>,
        view: Option<&'t LmdbView>,
        visitor: &mut impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        match self {
            Opened::Nothing => Ok(()),
            Opened::All(range) => RangeScan::new(range, reader, view).show(visitor),
            Opened::AllBack(range) => RangeScan::new(range, reader, view).show(visitor),
            Opened::Range(range) => RangeScan::new(range, reader, view).show(visitor),
            Opened::RangeBack(range) => RangeScan::new(range, reader, view).show(visitor),
        }
    }
}

/// Where a visit ends: before this key, or nowhere if it is `None`.
pub(super) struct End<'k> {
    key: Option<&'k [u8]>,
    head: u64,
}

impl<'k> End<'k> {
    pub(super) fn new(key: Option<&'k [u8]>) -> Self {
        End { key, head: head_of(key.unwrap_or_default()) }
    }

    /// Whether `key` is before the end. Mostly, the first bytes decide.
    #[inline]
    pub(super) fn is_before(&self, key: &[u8]) -> bool {
        let Some(end) = self.key else { return true };
        match key.first_chunk().map(|head| u64::from_be_bytes(*head)) {
            Some(head) if head != self.head => head < self.head,
            _ => key < end,
        }
    }
}

/// The first eight bytes of a key as a number; a shorter key counts as if zero bytes followed it.
/// If the numbers of two keys differ, the keys sort as the numbers do.
fn head_of(key: &[u8]) -> u64 {
    let mut head = [0; 8];
    let len = key.len().min(head.len());
    if let (Some(room), Some(start)) = (head.get_mut(..len), key.get(..len)) {
        room.copy_from_slice(start);
    }
    u64::from_be_bytes(head)
}

/// A pair without the zero byte before its key.
#[inline(always)]
pub(super) fn stripped<'t>(
    path: &Path,
    (stored, value): (&'t [u8], &'t [u8]),
) -> Result<(&'t [u8], &'t [u8])> {
    match stored.split_first() {
        Some((0, key)) => Ok((key, value)),
        _ => Err(not_stored_by_us(path, stored)),
    }
}

fn lent<'t>((key, value): (&'t [u8], &'t [u8])) -> Pair<'t> {
    (Cow::Borrowed(key), Cow::Borrowed(value))
}

#[cold]
pub(super) fn not_stored_by_us(path: &Path, stored: &[u8]) -> KvError {
    KvError::Damaged {
        path: path.into(),
        reason: format!("stored key {} does not begin with a zero byte", crate::Hex(stored)).into(),
    }
}

/// A scan over a range of LMDB.
struct RangeScan<'t, I> {
    /// Taken out only when the scan ends.
    range: Option<I>,
    path: &'t Path,
    thread: Option<AtEachStep<'t>>,
    view: Option<&'t LmdbView>,
}

impl<'t, I> RangeScan<'t, I>
where
    I: Iterator<Item = heed::Result<(&'t [u8], &'t [u8])>>,
{
    /// A scan that `reader` has opened.
    #[inline(always)]
    fn new(range: I, reader: Reader<'t>, view: Option<&'t LmdbView>) -> Self {
        RangeScan { range: Some(range), path: reader.path, thread: reader.thread, view }
    }

    #[inline(always)]
    fn step(&mut self) -> Option<Result<(&'t [u8], &'t [u8])>> {
        let range = self.range.as_mut()?;
        if let Some(Err(error)) = self.thread.map(AtEachStep::check) {
            self.range = None;
            return Some(Err(error));
        }
        match range.next()? {
            Ok(pair) => Some(stripped(self.path, pair)),
            Err(error) => {
                self.range = None;
                Some(Err(failed(self.path, READING, error)))
            }
        }
    }

    #[cold]
    fn step_in_turn(&mut self) -> Option<Result<(&'t [u8], &'t [u8])>> {
        let _turn = self.view.map(LmdbView::wait_for_turn);
        self.step()
    }

    #[inline(always)]
    fn step_when_due(&mut self) -> Option<Result<(&'t [u8], &'t [u8])>> {
        if self.view.is_some_and(LmdbView::is_shared) { self.step_in_turn() } else { self.step() }
    }

    /// Waits for its turn at each step, not once for all: the visitor may read the same view.
    #[inline]
    fn show(mut self, visitor: &mut impl FnMut(&[u8], &[u8]) -> ControlFlow<()>) -> Result<()> {
        loop {
            if self.view.is_some_and(LmdbView::is_shared) {
                match self.step_in_turn().transpose()? {
                    Some((key, value)) if visitor(key, value).is_continue() => continue,
                    _ => return Ok(()),
                }
            }
            // The same as `step`, without building values that would be taken apart again.
            if let Some(thread) = self.thread {
                thread.check()?;
            }
            match self.range.as_mut().and_then(I::next) {
                Some(Ok((stored, value))) => match stored.split_first() {
                    Some((0, key)) if visitor(key, value).is_continue() => {}
                    Some((0, _)) => return Ok(()),
                    _ => return Err(not_stored_by_us(self.path, stored)),
                },
                Some(Err(error)) => return Err(failed(self.path, READING, error)),
                None => return Ok(()),
            }
        }
    }
}

impl<'t, I> Iterator for RangeScan<'t, I>
where
    I: Iterator<Item = heed::Result<(&'t [u8], &'t [u8])>>,
{
    type Item = Result<Pair<'t>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let pair = self.step_when_due()?;
        Some(pair.map(lent))
    }
}

impl<I> Drop for RangeScan<'_, I> {
    fn drop(&mut self) {
        let _turn = self.view.and_then(LmdbView::turn);
        self.range = None;
    }
}

/// Gives all pairs to `put`, in order, as they are stored.
pub(super) fn each_stored(
    pairs: Pairs,
    txn: &RoTxn<'_, AnyTls>,
    path: &Path,
    mut put: impl FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<()> {
    let reading = |error| failed(path, READING, error);
    for pair in pairs.iter(txn).map_err(reading)? {
        let (key, value) = pair.map_err(reading)?;
        put(key, value)?;
    }
    Ok(())
}

/// How the pairs of a view are read.
pub(super) enum Access {
    /// From the pages in the map.
    Pages(Tree),
    /// By calls of LMDB, because pages of this length are not known to lie in the map as they must.
    ByLmdb,
    /// Not at all, for this reason.
    Damaged(&'static str),
}

/// One version of the pairs. A read-only transaction of LMDB holds it open.
///
/// A read-only transaction of this crate has a view to itself. Snapshots share it between threads.
pub(super) struct LmdbView {
    /// Ended when this is dropped, unless it belongs to the parent of this process.
    txn: ManuallyDrop<RoTxn<'static, WithoutTls>>,
    /// After `txn`, so that it is dropped later.
    counted: CountedReader,
    pairs: Option<Pairs>,
    /// How the pairs are read, once that is known.
    access: OnceLock<Access>,
    /// Whether each page is checked as a whole before it is used.
    checks: bool,
    /// Whether others than the transaction that opened this view may use it.
    shared: AtomicBool,
    turn: Mutex<()>,
}

// SAFETY: Without thread-local slots LMDB lets any thread use a read-only transaction, one at a
// time. Before a view can be reached from a second thread `shared` is set, by the thread that is
// then still its only user; from then on every use of `txn`, and of cursors in it, is made under
// `turn`. The results of these uses, and the tree, point into the map, whose pages of this version
// do not change while `txn` is open.
#[allow(unsafe_code)]
unsafe impl Sync for LmdbView {}

impl LmdbView {
    /// Opens the current version. If `checks`, each page is checked as a whole before it is used.
    pub(super) fn open(env: &Arc<SharedEnv>, checks: bool) -> Result<Self> {
        // The database must be known before a transaction begins that will use it.
        let pairs = env.pairs()?;
        let (txn, counted) = env.begin_read()?;
        let (shared, turn) = (AtomicBool::new(false), Mutex::new(()));
        let txn = ManuallyDrop::new(txn);
        Ok(LmdbView { txn, counted, pairs, access: OnceLock::new(), checks, shared, turn })
    }

    fn env(&self) -> &SharedEnv {
        &self.counted.shared
    }

    /// Fails if the version is held for the parent of this process.
    #[inline]
    pub(super) fn check(&self) -> Result<()> {
        self.env().check_process()
    }

    /// The number of entries, the pages in use for them, and the size of a page.
    pub(super) fn sizes(&self) -> Result<(u64, u64, u64)> {
        let _turn = self.turn();
        let main = self.env().env.heed().unnamed_database_stat();
        let mut pages = main.branch_pages + main.leaf_pages + main.overflow_pages;
        let mut entries = 0;
        if let Some(reader) = self.reader() {
            let stat = reader.pairs.stat(reader.txn).map_err(|error| reader.failed(error))?;
            pages += stat.branch_pages + stat.leaf_pages + stat.overflow_pages;
            entries = stat.entries;
        }
        Ok((entries as u64, pages as u64, u64::from(main.page_size)))
    }

    #[inline]
    fn is_shared(&self) -> bool {
        self.shared.load(Ordering::Acquire)
    }

    /// How the pairs are read.
    #[inline]
    pub(super) fn access(&self) -> &Access {
        self.access.get_or_init(|| self.find_access())
    }

    #[inline]
    pub(super) fn path(&self) -> &Path {
        self.env().path()
    }

    #[cold]
    fn find_access(&self) -> Access {
        let _turn = self.turn();
        let env = &self.env().env;
        let (Some(page_len), Some(records)) = (env.readable_pages(), env.records()) else {
            return Access::ByLmdb;
        };
        // The pages with the record were checked when the environment was opened.
        let Ok(Some(record)) = records.get(&self.txn, self.env().name().as_bytes()) else {
            return Access::ByLmdb;
        };
        let info = env.heed().info();
        let pages = info.last_page_number.saturating_add(1).min(info.map_size / page_len) as u64;
        let pages = env.pages_in_file(pages, page_len as u64);
        // SAFETY: This transaction is read-only, and open as long as this view has the tree. That
        // it begins where the map does is checked here.
        #[allow(unsafe_code)]
        let tree = unsafe { Tree::new(record, page_len, pages, self.checks) };
        match tree {
            Some(tree) if env.map_begins_at(tree.start()) => Access::Pages(tree),
            _ => Access::Damaged("the record of the pairs cannot be right"),
        }
    }

    #[inline]
    pub(super) fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        if self.is_shared() { Some(self.wait_for_turn()) } else { None }
    }

    #[cold]
    fn wait_for_turn(&self) -> MutexGuard<'_, ()> {
        lock(&self.turn)
    }

    /// A reader by calls of LMDB, if its pages are not read here; `None` if there are no pairs.
    #[cold]
    pub(super) fn otherwise(&self) -> Result<Option<Reader<'_>>> {
        self.check()?;
        match self.access() {
            Access::Damaged(reason) => Err(damaged(self.path(), reason)),
            _ => Ok(self.reader()),
        }
    }

    fn reader(&self) -> Option<Reader<'_>> {
        let pairs = self.pairs?;
        Some(Reader { pairs, txn: &self.txn, path: self.env().path(), thread: None })
    }
}

impl Drop for LmdbView {
    fn drop(&mut self) {
        if self.env().env.process().is_this() {
            // SAFETY: Nothing uses the transaction after this.
            #[allow(unsafe_code)]
            unsafe {
                ManuallyDrop::drop(&mut self.txn);
            }
        }
    }
}

impl store_parts::read_transaction::StateView for LmdbView {
    fn share(&self) {
        self.shared.store(true, Ordering::Release);
    }

    fn version(&self) -> Option<u64> {
        Some(self.txn.id() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::End;

    #[test]
    fn the_end_of_a_visit_is_where_the_order_of_keys_puts_it() {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        for head in [&b""[..], b"abc", b"abcdefg", b"abcdefgh", &[0xff; 8]] {
            for tail in [&b""[..], &[0], &[0, 0], &[1], &[0x7f, 0xff], &[0xff]] {
                keys.push([head, tail].concat());
            }
        }
        for end in &keys {
            for key in &keys {
                assert_eq!(End::new(Some(end)).is_before(key), key < end, "{key:?} {end:?}");
            }
            assert!(End::new(None).is_before(end));
        }
    }
}
