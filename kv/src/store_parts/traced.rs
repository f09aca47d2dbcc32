//! A transaction with a span of `tracing`, which lasts as long as the transaction does. It is made
//! only if a subscriber of `tracing` wants such spans.

use tracing::Span;

use crate::contract::pass_on::pass_on;
use crate::{
    Blob, Direction, KeySpan, KvRead, KvTransaction, KvWrite, Near, Pair, Result, Scan, SharedRead,
    Verdict, Visitor,
};

/// Operations of it that may ask a server run within the span.
pub(crate) struct Traced {
    tx: Box<dyn KvTransaction + Send>,
    /// Ends after the transaction.
    span: Span,
}

impl Traced {
    pub(crate) fn new(tx: Box<dyn KvTransaction + Send>, span: Span) -> Self {
        Traced { tx, span }
    }
}

impl KvRead for Traced {
    pass_on!(self => self.tx; LIMITS, CONTENT);

    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
        self.span.in_scope(|| self.tx.get(key))
    }

    fn get_near(&self, key: &[u8], near: &[u8]) -> Result<Option<Near<'_>>> {
        self.span.in_scope(|| self.tx.get_near(key, near))
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        let mut scan = self.span.in_scope(|| self.tx.scan(span, direction))?;
        Ok(Box::new(std::iter::from_fn(move || self.span.in_scope(|| scan.next()))))
    }

    fn visit(
        &self,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        self.span.in_scope(|| self.tx.visit(span, direction, visitor))
    }

    fn at_least(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.span.in_scope(|| self.tx.at_least(min, max))
    }

    fn at_most(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.span.in_scope(|| self.tx.at_most(min, max))
    }
}

impl KvWrite for Traced {
    pass_on!(self => self.tx; append, remove, remove_span, adjust_counter, apply);

    fn get_to_put(&mut self, key: &[u8], near: &[u8]) -> Result<Option<Near<'_>>> {
        self.span.in_scope(|| self.tx.get_to_put(key, near))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.span.in_scope(|| self.tx.put(key, value))
    }

    fn put_new(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.span.in_scope(|| self.tx.put_new(key, value))
    }

    fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.span.in_scope(|| self.tx.put_if_absent(key, value))
    }

    fn get_or_put(&mut self, key: &[u8], value: &[u8]) -> Result<Option<Vec<u8>>> {
        self.span.in_scope(|| self.tx.get_or_put(key, value))
    }

    fn remove_where(
        &mut self,
        span: KeySpan<'_>,
        judge: &mut dyn FnMut(&[u8], &[u8]) -> Verdict,
    ) -> Result<()> {
        self.span.in_scope(|| self.tx.remove_where(span, judge))
    }
}

impl KvTransaction for Traced {
    pass_on!(
        self => self.tx;
        is_read_only, set_read_only, set_timeout, version, watch, untracked, pending
    );

    fn snapshot(&self) -> Result<SharedRead> {
        self.span.in_scope(|| self.tx.snapshot())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        let Traced { tx, span } = *self;
        span.in_scope(|| tx.commit())
    }

    fn rollback(self: Box<Self>) {
        let Traced { tx, span } = *self;
        span.in_scope(|| tx.rollback());
    }
}
