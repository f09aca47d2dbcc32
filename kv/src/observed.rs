//! Reads that an observer is told of, through a transaction, its snapshots and its untracked view.

use crate::{Blob, Direction, KeySpan, KvRead, KvTransaction, Pair, Result, Scan, SharedRead};

/// Who is told of reads, and can make them fail.
pub(crate) trait Observer: Clone {
    /// A value is asked for.
    fn get(&self) -> Result<()>;

    /// A place is looked for in key order.
    fn seek(&self) -> Result<()>;

    /// A scan has begun, which goes on as the result does.
    fn steps<'a>(&'a self, scan: Scan<'a>) -> Scan<'a>;
}

/// What is read and who is told.
pub(crate) trait Observed {
    type By: Observer;

    fn observer(&self) -> &Self::By;

    fn content(&self) -> &dyn KvRead;
}

/// Reads what is observed.
pub(crate) struct Reader<T>(T);

impl<T: Observed> KvRead for Reader<T> {
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
        self.0.observer().get()?;
        self.0.content().get(key)
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        self.0.observer().seek()?;
        Ok(self.0.observer().steps(self.0.content().scan(span, direction)?))
    }

    fn at_least(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.0.observer().seek()?;
        self.0.content().at_least(min, max)
    }

    fn at_most(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.0.observer().seek()?;
        self.0.content().at_most(min, max)
    }

    fn max_key_len(&self) -> usize {
        self.0.content().max_key_len()
    }

    fn encode_counter(&self, count: i64) -> [u8; 8] {
        self.0.content().encode_counter(count)
    }

    fn decode_counter(&self, value: &[u8]) -> Result<i64> {
        self.0.content().decode_counter(value)
    }
}

pub(crate) struct Snapshot<O> {
    content: SharedRead,
    observer: O,
}

impl<O: Observer> Observed for Snapshot<O> {
    type By = O;

    fn observer(&self) -> &O {
        &self.observer
    }

    fn content(&self) -> &dyn KvRead {
        &self.content
    }
}

impl<O: Observer> Reader<Snapshot<O>> {
    pub(crate) fn new(content: SharedRead, observer: O) -> Self {
        Reader(Snapshot { content, observer })
    }
}

/// What a transaction sees when nothing is tracked.
pub(crate) struct Untracked<'db, O> {
    tx: Box<dyn KvTransaction + Send + 'db>,
    observer: O,
}

impl<O: Observer> Observed for Untracked<'_, O> {
    type By = O;

    fn observer(&self) -> &O {
        &self.observer
    }

    fn content(&self) -> &dyn KvRead {
        self.tx.untracked().unwrap_or(&self.tx)
    }
}

/// A transaction with the view of it that is untracked.
pub(crate) struct Tracked<'db, O>(Reader<Untracked<'db, O>>);

impl<O: Observer> Observed for Tracked<'_, O> {
    type By = O;

    fn observer(&self) -> &O {
        &self.0.0.observer
    }

    fn content(&self) -> &dyn KvRead {
        &self.0.0.tx
    }
}

/// A transaction whose reads are observed.
pub(crate) type Transaction<'db, O> = Reader<Tracked<'db, O>>;

impl<'db, O: Observer> Transaction<'db, O> {
    pub(crate) fn new(tx: Box<dyn KvTransaction + Send + 'db>, observer: O) -> Self {
        Reader(Tracked(Reader(Untracked { tx, observer })))
    }

    pub(crate) fn observer(&self) -> &O {
        self.0.observer()
    }

    pub(crate) fn inner(&self) -> &(dyn KvTransaction + Send + 'db) {
        &*self.0.0.0.tx
    }

    pub(crate) fn inner_mut(&mut self) -> &mut (dyn KvTransaction + Send + 'db) {
        &mut *self.0.0.0.tx
    }

    pub(crate) fn into_inner(self) -> Box<dyn KvTransaction + Send + 'db> {
        self.0.0.0.tx
    }

    /// The untracked view, if it is another one.
    pub(crate) fn untracked_reads(&self) -> Option<&dyn KvRead> {
        self.inner().untracked().map(|_| &self.0.0 as &dyn KvRead)
    }
}
