//! Key/value transactions that keep their database alive.
//!
//! A transaction of the key/value layer can borrow its database. Handles on objects would need that
//! lifetime as a second one, because the compiler cannot shorten it for a transaction that can be
//! written to. So where the store has no transactions that borrow nothing, the typed layer keeps
//! database and transaction in one value.

use std::sync::Arc;
use std::time::Duration;

use permazen_kv::{
    Blob, Direction, KeySpan, KeyWatch, KvDatabase, KvError, KvRead, KvTransaction, KvWrite, Near,
    Pair, Pending, Result, Scan, SharedRead, TxOptions, Verdict, Visitor, Writes,
};
use self_cell::self_cell;

/// A transaction that keeps its database open.
pub(super) type OwnedTransaction = Box<dyn KvTransaction + Send>;

/// A transaction that borrows its database; `None` once it has ended.
type Borrowed<'db> = Option<Box<dyn KvTransaction + Send + 'db>>;

self_cell!(
    /// A transaction together with its database.
    struct WithDatabase {
        owner: Arc<dyn KvDatabase>,
        #[not_covariant]
        dependent: Borrowed,
    }
);

/// Begins a transaction that keeps its database open.
pub(super) fn begin_owned(
    database: &Arc<dyn KvDatabase>,
    options: &TxOptions,
) -> Result<OwnedTransaction> {
    if let Some(begun) = database.begin_owned(options) {
        return begun;
    }
    let begun =
        WithDatabase::try_new(Arc::clone(database), |database| database.begin(options).map(Some))?;
    Ok(Box::new(begun))
}

impl WithDatabase {
    fn read<'a, R>(
        &'a self,
        body: impl for<'db> FnOnce(&'a (dyn KvTransaction + Send + 'db)) -> Result<R>,
    ) -> Result<R> {
        self.with_dependent(|_, tx| match tx {
            Some(tx) => body(&**tx),
            None => Err(ended()),
        })
    }

    fn write<'a, R>(
        &'a mut self,
        body: impl for<'db> FnOnce(&'a mut (dyn KvTransaction + Send + 'db)) -> Result<R>,
    ) -> Result<R> {
        self.with_dependent_mut(|_, tx| match tx {
            Some(tx) => body(&mut **tx),
            None => Err(ended()),
        })
    }
}

fn ended() -> KvError {
    KvError::Stale("it has ended".into())
}

impl KvRead for WithDatabase {
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
        self.read(|tx| tx.get(key))
    }

    fn get_near(&self, key: &[u8], near: &[u8]) -> Result<Option<Near<'_>>> {
        self.read(|tx| tx.get_near(key, near))
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        self.read(|tx| tx.scan(span, direction))
    }

    fn visit(
        &self,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        self.read(|tx| tx.visit(span, direction, visitor))
    }

    fn at_least(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.read(|tx| tx.at_least(min, max))
    }

    fn at_most(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.read(|tx| tx.at_most(min, max))
    }

    fn encode_counter(&self, count: i64) -> [u8; 8] {
        self.with_dependent(|_, tx| match tx {
            Some(tx) => tx.encode_counter(count),
            // An ended transaction writes nothing, so the form does not matter.
            None => count.to_be_bytes(),
        })
    }

    fn decode_counter(&self, value: &[u8]) -> Result<i64> {
        self.read(|tx| tx.decode_counter(value))
    }

    fn prefetch(&self, spans: &[KeySpan<'_>]) -> bool {
        self.with_dependent(|_, tx| tx.as_ref().is_some_and(|tx| tx.prefetch(spans)))
    }

    fn max_key_len(&self) -> usize {
        self.with_dependent(|_, tx| tx.as_ref().map_or(usize::MAX, |tx| tx.max_key_len()))
    }
}

impl KvWrite for WithDatabase {
    fn get_to_put(&mut self, key: &[u8], near: &[u8]) -> Result<Option<Near<'_>>> {
        self.write(|tx| tx.get_to_put(key, near))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.write(|tx| tx.put(key, value))
    }

    fn put_new(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.write(|tx| tx.put_new(key, value))
    }

    fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.write(|tx| tx.put_if_absent(key, value))
    }

    fn get_or_put(&mut self, key: &[u8], value: &[u8]) -> Result<Option<Vec<u8>>> {
        self.write(|tx| tx.get_or_put(key, value))
    }

    fn append(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.write(|tx| tx.append(key, value))
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.write(|tx| tx.remove(key))
    }

    fn remove_span(&mut self, span: KeySpan<'_>) -> Result<()> {
        self.write(|tx| tx.remove_span(span))
    }

    fn remove_where(
        &mut self,
        span: KeySpan<'_>,
        judge: &mut dyn FnMut(&[u8], &[u8]) -> Verdict,
    ) -> Result<()> {
        self.write(|tx| tx.remove_where(span, judge))
    }

    fn apply(&mut self, writes: &Writes) -> Result<()> {
        self.write(|tx| tx.apply(writes))
    }

    fn adjust_counter(&mut self, key: &[u8], by: i64) -> Result<()> {
        self.write(|tx| tx.adjust_counter(key, by))
    }
}

impl KvTransaction for WithDatabase {
    fn is_read_only(&self) -> bool {
        self.with_dependent(|_, tx| tx.as_ref().is_none_or(|tx| tx.is_read_only()))
    }

    fn set_read_only(&mut self) -> Result<()> {
        self.write(|tx| tx.set_read_only())
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        self.write(|tx| tx.set_timeout(timeout))
    }

    fn snapshot(&self) -> Result<SharedRead> {
        self.read(|tx| tx.snapshot())
    }

    fn version(&self) -> Option<u64> {
        self.with_dependent(|_, tx| tx.as_ref().and_then(|tx| tx.version()))
    }

    fn watch(&mut self, key: &[u8]) -> Result<KeyWatch> {
        self.write(|tx| tx.watch(key))
    }

    fn untracked(&self) -> Option<&dyn KvRead> {
        self.with_dependent(|_, tx| tx.as_ref().and_then(|tx| tx.untracked()))
    }

    fn pending(&self) -> Option<Pending<'_>> {
        self.with_dependent(|_, tx| tx.as_ref().and_then(|tx| tx.pending()))
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        self.with_dependent_mut(|_, tx| tx.take().ok_or_else(ended)?.commit())
    }

    fn rollback(mut self: Box<Self>) {
        self.with_dependent_mut(|_, tx| {
            if let Some(tx) = tx.take() {
                tx.rollback();
            }
        });
    }
}
