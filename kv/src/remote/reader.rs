//! Reads of one transaction: from the pairs that it knows, else from the store.

use std::borrow::Cow;
use std::fmt;
use std::iter;
use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;

use super::engine::{Changes, RangePage, RangeRead, Session};
use super::known::{Rest, Taken};
use super::lane::{Lane, starts};
use super::lanes::Lanes;
use crate::store_parts::counts::Counts;
use crate::store_parts::earlier_failure::EarlierFailure;
use crate::store_parts::lock::lock;
use crate::{Blob, Direction, KeySpan, KvError, KvRead, Pair, Result, Scan, Visitor, key};

/// The first page of a scan has this many pairs. Each further page has twice as many, up to
/// [`LARGEST_PAGE`].
const FIRST_PAGE: usize = 256;
const LARGEST_PAGE: usize = 1 << 16;

/// No page has many more bytes than this.
const PAGE_BYTES: usize = 1 << 20;

/// At most this many ranges that will be read soon are noted.
const MOST_WANTED: usize = 1024;

/// Reads for a transaction. All of them see one state of the store.
pub(super) struct Reader {
    lanes: Lanes,
    max_key_len: usize,
}

const ENDED: &str = "the transaction has been committed";

/// In place of the session after its end.
struct Ended;

impl Ended {
    fn error<T>() -> Result<T> {
        Err(KvError::Stale(ENDED.to_owned()))
    }
}

impl Session for Ended {
    fn ask(&mut self, _: &[RangeRead]) -> Result<()> {
        Ended::error()
    }

    fn answer(&mut self) -> Result<Vec<RangePage>> {
        Ended::error()
    }

    fn is_begun(&self) -> bool {
        true
    }

    fn share(&mut self) -> Result<()> {
        Ended::error()
    }

    fn commit(self: Box<Self>, _: Changes) -> Result<()> {
        Ended::error()
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

impl Reader {
    pub(super) fn new(session: Box<dyn Session>, max_key_len: usize, counts: &Arc<Counts>) -> Self {
        Reader { lanes: Lanes::new(Lane::new(session, Arc::clone(counts))), max_key_len }
    }

    /// Fails if something has failed before.
    pub(super) fn check(&self) -> Result<()> {
        lock(&self.lanes.first).check()
    }

    /// Whether the store was asked.
    pub(super) fn is_begun(&self) -> bool {
        lock(&self.lanes.first).session.is_begun()
    }

    /// Whether the state could be shared if the transaction had begun as a certain one.
    pub(super) fn lacks_certainty(&self) -> bool {
        lock(&self.lanes.first).session.lacks_certainty()
    }

    /// Whether a key is there, if that is known.
    pub(super) fn knows(&self, key: &[u8]) -> Option<bool> {
        lock(&self.lanes.first).known.get(key).map(|value| value.is_some())
    }

    /// Notes that no key begins with `prefix`.
    pub(super) fn learn_gap(&self, prefix: &[u8]) {
        let max = key::after_prefix(prefix);
        lock(&self.lanes.first).known.learn_gap(KeySpan::new(prefix, max.as_deref()));
    }

    /// Calls `act` with the session. After an error nothing can be read any more.
    pub(super) fn with_session<T>(
        &self,
        act: impl FnOnce(&mut dyn Session) -> Result<T>,
    ) -> Result<T> {
        let mut lane = lock(&self.lanes.first);
        lane.check()?;
        let result = act(&mut *lane.session);
        lane.note(result)
    }

    /// Fixes the state, so that it can be read when the transaction has ended, by several threads
    /// at once if the store can do that.
    pub(super) fn share(&self) -> Result<()> {
        let mut lane = lock(&self.lanes.first);
        lane.check()?;
        while !lane.under_way.is_empty() {
            lane.arrive()?;
        }
        let shared = lane.session.share();
        lane.note(shared)?;
        if let Some(siblings) = lane.session.siblings() {
            self.lanes.allow_others(siblings, Arc::clone(lane.counts()));
        }
        Ok(())
    }

    /// Forgets all that was read, because the store has changed for this transaction.
    pub(super) fn forget(&self) -> Result<()> {
        let mut lane = lock(&self.lanes.first);
        while !lane.under_way.is_empty() {
            lane.arrive()?;
        }
        lane.known.forget();
        Ok(())
    }

    /// Gives up the session. Later reads through this reader are errors.
    pub(super) fn end(&self) -> Box<dyn Session> {
        let mut lane = lock(&self.lanes.first);
        lane.failure = Some(EarlierFailure::ended(ENDED));
        std::mem::replace(&mut lane.session, Box::new(Ended))
    }

    /// The first pair of a span.
    fn nearest(&self, span: KeySpan<'_>, direction: Direction) -> Result<Option<Pair<'_>>> {
        let mut rest = Rest::of(span);
        let mut lane = self.lanes.choose();
        loop {
            if rest.span().is_empty() {
                lane.check()?;
                return Ok(None);
            }
            lane.need(&RangeRead::new(rest.span(), direction, 1, PAGE_BYTES))?;
            let known = lane.known.take(rest.span(), direction, 1);
            let Some((mut taken, after)) = known else { continue };
            match taken.next(direction) {
                Some((key, value)) => return Ok(Some((owned(key), owned(value)))),
                None => rest = after,
            }
        }
    }
}

fn owned(bytes: &Bytes) -> Blob<'static> {
    Cow::Owned(bytes.to_vec())
}

impl KvRead for Reader {
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
        let mut lane = self.lanes.choose();
        loop {
            if let Some(value) = lane.known.get(key) {
                lane.check()?;
                return Ok(value.map(owned));
            }
            let next = key::next_key(key);
            let span = KeySpan::new(key, Some(&next));
            lane.need(&RangeRead::new(span, Direction::Forward, 1, PAGE_BYTES))?;
        }
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        Ok(Box::new(SpanPages::new(self, span, direction)?.flat_map(move |page| {
            let (mut pairs, mut error) = match page {
                Ok(pairs) => (pairs, None),
                Err(error) => (Taken::default(), Some(error)),
            };
            iter::from_fn(move || match pairs.next(direction) {
                Some((key, value)) => Some(Ok((owned(key), owned(value)))),
                None => error.take().map(Err),
            })
        })))
    }

    fn visit(
        &self,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        for page in SpanPages::new(self, span, direction)? {
            let mut pairs = page?;
            while let Some((key, value)) = pairs.next(direction) {
                if let ControlFlow::Break(()) = visitor(key, value) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn at_least(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.nearest(KeySpan::new(min, max), Direction::Forward)
    }

    fn at_most(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.nearest(KeySpan::new(min, max), Direction::Reverse)
    }

    fn prefetch(&self, spans: &[KeySpan<'_>]) -> bool {
        let mut lane = self.lanes.choose();
        for span in spans {
            let forward = Direction::Forward;
            let is_it = |read: &RangeRead| read.span() == *span;
            // Spans that are wanted twice are dropped when they are asked for, because they are
            // sorted then.
            if lane.wanted.len() < MOST_WANTED
                && !lane.wanted.last().is_some_and(is_it)
                && !lane.under_way.iter().flatten().any(is_it)
                && !lane.known.contains(*span)
            {
                let pairs = if span.is_single_key() { 1 } else { FIRST_PAGE };
                lane.wanted.push(RangeRead::new(*span, forward, pairs, PAGE_BYTES));
            }
        }
        true
    }

    fn max_key_len(&self) -> usize {
        self.max_key_len
    }
}

/// How many pairs like these fill a page; at least as many as the first page has.
fn worth_a_page(pairs: &[(Bytes, Bytes)]) -> usize {
    let bytes: usize = pairs.iter().map(|(key, value)| key.len() + value.len()).sum();
    (PAGE_BYTES / (bytes / pairs.len().max(1)).max(1)).max(FIRST_PAGE)
}

/// The pairs of a span, page by page.
struct SpanPages<'r> {
    reader: &'r Reader,
    direction: Direction,
    /// The part of the span that was not returned yet.
    rest: Rest,
    /// How many pairs the next page has.
    size: usize,
    failed: bool,
}

impl<'r> SpanPages<'r> {
    fn new(reader: &'r Reader, span: KeySpan<'_>, direction: Direction) -> Result<Self> {
        span.check()?;
        reader.check()?;
        Ok(SpanPages { reader, direction, rest: Rest::of(span), size: FIRST_PAGE, failed: false })
    }

    fn page(&mut self) -> Result<Taken> {
        let mut lane = self.reader.lanes.choose();
        let span = self.rest.span();
        let known = lane.known.take(span, self.direction, self.size);
        let is_known = known.is_some();
        let (taken, rest) = match known {
            Some(found) => {
                lane.check()?;
                found
            }
            None => {
                lane.need(&RangeRead::new(span, self.direction, self.size, PAGE_BYTES))?;
                let found = lane.known.take(span, self.direction, self.size);
                found.unwrap_or_else(|| (Taken::default(), Rest::of(span)))
            }
        };
        self.rest = rest;
        if !is_known || self.size > FIRST_PAGE {
            let is_first = self.size == FIRST_PAGE;
            self.size = (self.size * 2).min(LARGEST_PAGE).min(worth_a_page(taken.pairs()));
            // A scan that has come to its second page will probably need the next one too, so that
            // is asked for ahead.
            let next = RangeRead::new(self.rest.span(), self.direction, self.size, PAGE_BYTES);
            let is_coming = |read: &RangeRead| starts(read, &next);
            if !is_first
                && !lane.known.begins(next.span(), self.direction)
                && !lane.under_way.iter().flatten().any(is_coming)
            {
                lane.ask(vec![next])?;
            }
        }
        Ok(taken)
    }
}

impl Iterator for SpanPages<'_> {
    type Item = Result<Taken>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.failed || self.rest.span().is_empty() {
                return None;
            }
            match self.page() {
                Ok(pairs) if pairs.is_empty() => {}
                Ok(pairs) => return Some(Ok(pairs)),
                Err(error) => {
                    self.failed = true;
                    return Some(Err(error));
                }
            }
        }
    }
}
