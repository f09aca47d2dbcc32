//! Reading the pairs of one version, in a transaction of either kind or in a snapshot.

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heed::{AnyTls, RoTxn, WithoutTls};

use super::env::{Pairs, Shared};
use super::error::{READING, failed};
use super::key::{MAX_KEY, StoredKey, StoredSpan};
use crate::{Blob, Direction, KeySpan, KvError, KvRead, Pair, Result, Scan, read_transaction};

/// The pairs as a transaction of LMDB sees them.
#[derive(Clone, Copy)]
pub(super) struct Reader<'t> {
    pub(super) pairs: Pairs,
    pub(super) txn: &'t RoTxn<'t, AnyTls>,
    pub(super) path: &'t Path,
}

impl<'t> Reader<'t> {
    fn failed(self, error: heed::Error) -> KvError {
        failed(self.path, READING, error)
    }

    pub(super) fn get(self, key: &[u8]) -> Result<Option<Blob<'t>>> {
        let Some(key) = StoredKey::fitting(key) else { return Ok(None) };
        match self.pairs.get(self.txn, key.bytes()) {
            Ok(value) => Ok(value.map(Cow::Borrowed)),
            Err(error) => Err(self.failed(error)),
        }
    }

    pub(super) fn at_least(self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'t>>> {
        let found = if min.is_empty() {
            self.pairs.first(self.txn)
        } else if let Some(min) = StoredKey::fitting(min) {
            self.pairs.get_greater_than_or_equal_to(self.txn, min.bytes())
        } else {
            let found = self.steps(KeySpan::new(min, max), Direction::Forward)?.next();
            return found.transpose();
        };
        let Some(pair) = found.map_err(|error| self.failed(error))? else { return Ok(None) };
        let pair = stripped(self.path, pair)?;
        Ok(Some(pair).filter(|(key, _)| max.is_none_or(|max| **key < *max)))
    }

    pub(super) fn at_most(self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'t>>> {
        let found = match max.map(StoredKey::fitting) {
            None => self.pairs.last(self.txn),
            Some(Some(max)) => self.pairs.get_lower_than(self.txn, max.bytes()),
            Some(None) => {
                let found = self.steps(KeySpan::new(min, max), Direction::Reverse)?.next();
                return found.transpose();
            }
        };
        let Some(pair) = found.map_err(|error| self.failed(error))? else { return Ok(None) };
        let pair = stripped(self.path, pair)?;
        Ok(Some(pair).filter(|(key, _)| **key >= *min))
    }

    pub(super) fn steps(self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'t>> {
        span.check()?;
        if span.is_empty() {
            return Ok(Box::new(std::iter::empty()));
        }
        let path = self.path;
        let stored = StoredSpan::new(span);
        let bounds = stored.bounds();
        Ok(match direction {
            Direction::Forward => {
                let range = self.pairs.range(self.txn, &bounds);
                Box::new(Steps { range: range.map_err(|error| self.failed(error))?, path })
            }
            Direction::Reverse => {
                let range = self.pairs.rev_range(self.txn, &bounds);
                Box::new(Steps { range: range.map_err(|error| self.failed(error))?, path })
            }
        })
    }
}

/// A pair without the zero byte before its key.
#[inline]
fn stripped<'t>(path: &Path, (key, value): (&'t [u8], &'t [u8])) -> Result<Pair<'t>> {
    match key.split_first() {
        Some((0, key)) => Ok((Cow::Borrowed(key), Cow::Borrowed(value))),
        _ => Err(KvError::Damaged {
            path: path.to_owned(),
            reason: format!("stored key {} does not begin with a zero byte", crate::Hex(key)),
        }),
    }
}

/// A scan over a range of LMDB's.
struct Steps<'t, I> {
    range: I,
    path: &'t Path,
}

impl<'t, I> Iterator for Steps<'t, I>
where
    I: Iterator<Item = heed::Result<(&'t [u8], &'t [u8])>>,
{
    type Item = Result<Pair<'t>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        Some(match self.range.next()? {
            Ok(pair) => stripped(self.path, pair),
            Err(error) => Err(failed(self.path, READING, error)),
        })
    }
}

/// One version of the pairs, held open by a read-only transaction of LMDB.
///
/// The read-only transactions of this crate own one alone; snapshots share it between threads.
pub(super) struct View {
    txn: RoTxn<'static, WithoutTls>,
    pairs: Option<Pairs>,
    /// Whether others than the transaction that opened this view may use it.
    shared: AtomicBool,
    turn: Mutex<()>,
    env: Arc<Shared>,
}

// SAFETY: Without thread-local slots LMDB lets any thread use a read-only transaction, one at a
// time. Before a view can be reached from a second thread `shared` is set, by the thread that is
// then still its only user; from then on every use of `txn`, and of cursors in it, is made under
// `turn`. What the uses return points into the map, which does not change while `txn` is open.
#[allow(unsafe_code)]
unsafe impl Sync for View {}

impl View {
    /// Opens the current version.
    pub(super) fn open(env: Arc<Shared>) -> Result<Self> {
        // The database must be known before the transaction begins that is to use it.
        let pairs = env.pairs()?;
        let txn = env.begin_read()?;
        Ok(View { txn, pairs, shared: AtomicBool::new(false), turn: Mutex::new(()), env })
    }

    /// Number of entries, pages in use for them, and size of a page.
    pub(super) fn sizes(&self) -> Result<(u64, u64, u64)> {
        let _turn = self.turn();
        let main = self.env.env.heed().unnamed_database_stat();
        let mut pages = main.branch_pages + main.leaf_pages + main.overflow_pages;
        let mut entries = 0;
        if let Some(reader) = self.reader() {
            let stat = reader.pairs.stat(reader.txn).map_err(|error| reader.failed(error))?;
            pages += stat.branch_pages + stat.leaf_pages + stat.overflow_pages;
            entries = stat.entries;
        }
        Ok((entries as u64, pages as u64, u64::from(main.page_size)))
    }

    fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        let shared = self.shared.load(Ordering::Acquire);
        shared.then(|| self.turn.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn reader(&self) -> Option<Reader<'_>> {
        let pairs = self.pairs?;
        Some(Reader { pairs, txn: &self.txn, path: self.env.path() })
    }
}

impl read_transaction::View for View {
    fn share(&self) {
        self.shared.store(true, Ordering::Release);
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.env.reader_ended(self.txn.id());
    }
}

impl KvRead for View {
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
        let _turn = self.turn();
        self.reader().map_or(Ok(None), |reader| reader.get(key))
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        let _turn = self.turn();
        let Some(reader) = self.reader() else {
            span.check()?;
            return Ok(Box::new(std::iter::empty()));
        };
        let steps = reader.steps(span, direction)?;
        Ok(Box::new(Turns { view: self, steps: Some(steps) }))
    }

    fn at_least(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        let _turn = self.turn();
        self.reader().map_or(Ok(None), |reader| reader.at_least(min, max))
    }

    fn at_most(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        let _turn = self.turn();
        self.reader().map_or(Ok(None), |reader| reader.at_most(min, max))
    }

    fn max_key_len(&self) -> usize {
        MAX_KEY
    }
}

/// A scan that takes its turn for each step.
struct Turns<'a> {
    view: &'a View,
    steps: Option<Scan<'a>>,
}

impl<'a> Iterator for Turns<'a> {
    type Item = Result<Pair<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let _turn = self.view.turn();
        self.steps.as_mut()?.next()
    }
}

impl Drop for Turns<'_> {
    fn drop(&mut self) {
        let _turn = self.view.turn();
        self.steps = None;
    }
}
