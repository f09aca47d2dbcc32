//! Reads of one transaction: from what it knows, else from the store.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Mutex;

use bytes::Bytes;

use super::engine::{Changes, Page, RangeRead, Session};
use super::known::{Known, Rest};
use crate::store_parts::lock::lock;
use crate::{Blob, Direction, KeySpan, KvError, KvRead, Pair, Result, Scan, Visitor, key};

/// The first page of a scan has so many pairs. Each further one has twice as many, up to the most.
const FIRST_PAGE: usize = 256;
const LARGEST_PAGE: usize = 1 << 16;

/// No page has many more bytes than this.
const PAGE_BYTES: usize = 1 << 20;

/// What is to be read soon is not noted beyond so many ranges.
const MOST_WANTED: usize = 1024;

/// What a transaction reads. All of it comes from one state of the store.
pub(super) struct Reader {
    state: Mutex<State>,
    max_key_len: usize,
}

struct State {
    session: Box<dyn Session>,
    known: Known,
    /// What will be read soon. It travels with the next question.
    wanted: Vec<RangeRead>,
    /// The questions of the requests that have no answer yet.
    under_way: VecDeque<Vec<RangeRead>>,
    /// Why nothing can be read any more.
    failure: Option<String>,
}

const ENDED: &str = "the transaction has been committed";

/// Stands where the session was.
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

    fn answer(&mut self) -> Result<Vec<Page>> {
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
    pub(super) fn new(session: Box<dyn Session>, max_key_len: usize) -> Self {
        let (known, wanted) = (Known::default(), Vec::new());
        let state = State { session, known, wanted, under_way: VecDeque::new(), failure: None };
        Reader { state: Mutex::new(state), max_key_len }
    }

    /// Fails if something has failed before.
    pub(super) fn check(&self) -> Result<()> {
        lock(&self.state).check()
    }

    /// Whether the store was asked.
    pub(super) fn is_begun(&self) -> bool {
        lock(&self.state).session.is_begun()
    }

    /// Whether a key is there, if that is known.
    pub(super) fn knows(&self, key: &[u8]) -> Option<bool> {
        lock(&self.state).known.get(key).map(|value| value.is_some())
    }

    /// Notes that no key begins with `prefix`.
    pub(super) fn learn_gap(&self, prefix: &[u8]) {
        let max = key::after_prefix(prefix);
        lock(&self.state).known.learn_gap(KeySpan::new(prefix, max.as_deref()));
    }

    /// Does something with the session. After an error nothing can be read any more.
    pub(super) fn with_session<T>(
        &self,
        act: impl FnOnce(&mut dyn Session) -> Result<T>,
    ) -> Result<T> {
        let mut state = lock(&self.state);
        state.check()?;
        let result = act(&mut *state.session);
        state.note(result)
    }

    /// Forgets all that was read, because the store has changed for this transaction.
    pub(super) fn forget(&self) -> Result<()> {
        let mut state = lock(&self.state);
        while !state.under_way.is_empty() {
            state.arrive()?;
        }
        state.known.forget();
        Ok(())
    }

    /// Gives up the session. Who still has the reader gets errors.
    pub(super) fn end(&self) -> Box<dyn Session> {
        let mut state = lock(&self.state);
        state.failure = Some(ENDED.to_owned());
        std::mem::replace(&mut state.session, Box::new(Ended))
    }

    /// The first pair of a span.
    fn nearest(&self, span: KeySpan<'_>, direction: Direction) -> Result<Option<Pair<'_>>> {
        let mut rest = Rest::of(span);
        let mut state = lock(&self.state);
        loop {
            if rest.span().is_empty() {
                state.check()?;
                return Ok(None);
            }
            state.need(&RangeRead::new(rest.span(), direction, 1, PAGE_BYTES))?;
            let (pairs, after) = state.known.take(rest.span(), direction, 1);
            match pairs.into_iter().next() {
                Some((key, value)) => return Ok(Some((owned(&key), owned(&value)))),
                None => rest = after,
            }
        }
    }
}

impl State {
    fn check(&self) -> Result<()> {
        match &self.failure {
            Some(failure) => {
                Err(KvError::Stale(format!("an earlier operation has failed in it: {failure}")))
            }
            None => Ok(()),
        }
    }

    fn note<T>(&mut self, result: Result<T>) -> Result<T> {
        if let Err(error) = &result
            && !error.is_caller_error()
        {
            self.failure = Some(error.to_string());
        }
        result
    }

    /// Makes known the start of what is asked for.
    fn need(&mut self, read: &RangeRead) -> Result<()> {
        self.check()?;
        while !self.known.begins(read.span(), read.direction) {
            let starts = |other: &RangeRead| starts(other, read);
            if self.under_way.iter().flatten().any(starts) {
                self.arrive()?;
                continue;
            }
            let mut reads = std::mem::take(&mut self.wanted);
            if !reads.iter().any(starts) {
                reads.push(read.clone());
            }
            self.ask(reads)?;
            // What was said to be needed soon begins where this does, but may end before.
            while !self.under_way.is_empty() {
                self.arrive()?;
            }
        }
        Ok(())
    }

    fn ask(&mut self, reads: Vec<RangeRead>) -> Result<()> {
        let asked = self.session.ask(&reads);
        self.note(asked)?;
        self.under_way.push_back(reads);
        Ok(())
    }

    /// Waits for the oldest answer.
    fn arrive(&mut self) -> Result<()> {
        let Some(reads) = self.under_way.pop_front() else { return Ok(()) };
        let answer = self.session.answer();
        let pages = self.note(answer)?;
        for (read, page) in reads.iter().zip(pages) {
            self.known.learn(read, page);
        }
        Ok(())
    }
}

/// Whether the answer to one question says something of the first key of another one.
fn starts(read: &RangeRead, other: &RangeRead) -> bool {
    let (span, wanted) = (read.span(), other.span());
    match (read.direction, other.direction) {
        // It may end before it comes so far, unless it is of one key or begins there.
        (Direction::Forward, Direction::Forward) => {
            span.min == wanted.min || (read.pairs > 1 && span.contains(wanted.min))
        }
        (Direction::Reverse, Direction::Reverse) => {
            span.max == wanted.max
                || (read.pairs > 1
                    && span.min < wanted.max.unwrap_or(span.min)
                    && key::compare_max(wanted.max, span.max).is_le())
        }
        _ => false,
    }
}

fn owned(bytes: &Bytes) -> Blob<'static> {
    Cow::Owned(bytes.to_vec())
}

impl KvRead for Reader {
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
        let mut state = lock(&self.state);
        loop {
            if let Some(value) = state.known.get(key) {
                state.check()?;
                return Ok(value.as_ref().map(owned));
            }
            let next = key::next_key(key);
            let span = KeySpan::new(key, Some(&next));
            state.need(&RangeRead::new(span, Direction::Forward, 1, PAGE_BYTES))?;
        }
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        Ok(Box::new(Pages::new(self, span, direction)?.flat_map(|page| {
            let (pairs, error) = match page {
                Ok(pairs) => (pairs, None),
                Err(error) => (Vec::new(), Some(Err(error))),
            };
            let lent = |(key, value): (Bytes, Bytes)| Ok((owned(&key), owned(&value)));
            pairs.into_iter().map(lent).chain(error)
        })))
    }

    fn visit(
        &self,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        for page in Pages::new(self, span, direction)? {
            for (key, value) in page? {
                if let ControlFlow::Break(()) = visitor(&key, &value) {
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
        let mut state = lock(&self.state);
        for span in spans {
            let forward = Direction::Forward;
            let is_there = |reads: &[RangeRead]| reads.iter().any(|read| read.span() == *span);
            if state.wanted.len() < MOST_WANTED
                && !state.known.contains(*span)
                && !is_there(&state.wanted)
                && !state.under_way.iter().any(|reads| is_there(reads))
            {
                let pairs = if span.is_single_key() { 1 } else { FIRST_PAGE };
                state.wanted.push(RangeRead::new(*span, forward, pairs, PAGE_BYTES));
            }
        }
        true
    }

    fn max_key_len(&self) -> usize {
        self.max_key_len
    }
}

/// The pairs of a span, page by page.
struct Pages<'r> {
    reader: &'r Reader,
    direction: Direction,
    /// What was not returned yet.
    rest: Rest,
    /// How many pairs the next page has.
    size: usize,
    failed: bool,
}

impl<'r> Pages<'r> {
    fn new(reader: &'r Reader, span: KeySpan<'_>, direction: Direction) -> Result<Self> {
        span.check()?;
        reader.check()?;
        Ok(Pages { reader, direction, rest: Rest::of(span), size: FIRST_PAGE, failed: false })
    }

    fn page(&mut self) -> Result<Vec<(Bytes, Bytes)>> {
        let mut state = lock(&self.reader.state);
        let read = RangeRead::new(self.rest.span(), self.direction, self.size, PAGE_BYTES);
        let is_known = state.known.begins(read.span(), self.direction);
        state.need(&read)?;
        let (pairs, rest) = state.known.take(read.span(), self.direction, self.size);
        self.rest = rest;
        if !is_known || self.size > FIRST_PAGE {
            let is_first = self.size == FIRST_PAGE;
            self.size = (self.size * 2).min(LARGEST_PAGE);
            // Who has come to a second page will want the next one too, so it is under way meanwhile.
            let next = RangeRead::new(self.rest.span(), self.direction, self.size, PAGE_BYTES);
            let is_coming = |read: &RangeRead| starts(read, &next);
            if !is_first
                && !state.known.begins(next.span(), self.direction)
                && !state.under_way.iter().flatten().any(is_coming)
            {
                state.ask(vec![next])?;
            }
        }
        Ok(pairs)
    }
}

impl Iterator for Pages<'_> {
    type Item = Result<Vec<(Bytes, Bytes)>>;

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
