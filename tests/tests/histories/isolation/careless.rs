//! A store that breaks its promise: it does not count the reads of its transactions as reads.

use permazen::kv::{
    Blob, Capabilities, Direction, KeySpan, KvDatabase, KvRead, KvTransaction, KvWrite, Pair,
    Result, Scan, SharedRead, TxOptions,
};

/// Passes everything on, but reads without a check for conflicts.
pub(crate) struct Careless<D>(D);

impl<D> Careless<D> {
    pub(crate) fn new(inner: D) -> Self {
        Careless(inner)
    }
}

impl<D: KvDatabase> KvDatabase for Careless<D> {
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>> {
        Ok(Box::new(Blind(self.0.begin(options)?)))
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }
}

struct Blind(Box<dyn KvTransaction + Send>);

impl Blind {
    fn read(&self) -> &dyn KvRead {
        self.0.untracked().unwrap()
    }
}

impl KvRead for Blind {
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
        self.read().get(key)
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        self.read().scan(span, direction)
    }

    fn at_least(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.read().at_least(min, max)
    }

    fn at_most(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.read().at_most(min, max)
    }
}

impl KvWrite for Blind {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.0.put(key, value)
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.0.remove(key)
    }

    fn remove_span(&mut self, span: KeySpan<'_>) -> Result<()> {
        self.0.remove_span(span)
    }
}

impl KvTransaction for Blind {
    fn is_read_only(&self) -> bool {
        self.0.is_read_only()
    }

    fn set_read_only(&mut self) -> Result<()> {
        self.0.set_read_only()
    }

    fn snapshot(&self) -> Result<SharedRead> {
        self.0.snapshot()
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.0.commit()
    }

    fn rollback(self: Box<Self>) {
        self.0.rollback();
    }
}
