//! The reads of a transaction, all of them at one revision.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use permazen_kv::remote::{RangePage, RangeRead};
use permazen_kv::{Direction, KeyRanges, KeySpan, KvError, Result, key};

use crate::client::{TXN, UnderWay, encoded};
use crate::error::Failure;
use crate::layout::value_of;
use crate::shared::Shared;
use crate::wire::{Done, Op, Range, RangeResponse, Txn};

/// The keys that were read are forgotten when they take more bytes than this. Then they may be read
/// again.
const MOST_SEEN: usize = 32 << 20;

/// The memory of a key besides its bytes.
const KEY: usize = 64;

/// Where only removed keys lie, a page grows to this many.
const LARGEST_GAP: usize = 1 << 12;

const UNANSWERED: &str = "the server has not answered each question";

pub(crate) const NOT_ASKED_FOR: &str = "the server has sent a pair that was not asked for";

/// The keys that a transaction has read.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The keys that are there.
    keys: BTreeSet<Bytes>,
    /// The keys of which it is known whether they are there.
    ranges: KeyRanges,
    bytes: usize,
}

impl Seen {
    fn note(&mut self, span: KeySpan<'_>, keys: impl Iterator<Item = Bytes>) {
        if self.bytes > MOST_SEEN {
            *self = Seen::default();
        }
        self.ranges.add(span);
        for key in keys {
            self.bytes += key.len() + KEY;
            self.keys.insert(key);
        }
    }

    /// Whether a key was absent for certain.
    pub(crate) fn lacks(&self, key: &[u8]) -> bool {
        self.ranges.contains(key) && !self.keys.contains(key)
    }

    /// Whether all of a span was read.
    fn contains(&self, span: KeySpan<'_>) -> bool {
        self.ranges.overlapping(span).any(|range| {
            range.min <= span.min
                && match (range.max, span.max) {
                    (None, _) => true,
                    (Some(_), None) => false,
                    (Some(max), Some(end)) => end <= max,
                }
        })
    }

    /// The keys of a span that are there, as far as it was read.
    pub(crate) fn keys_in(&self, span: KeySpan<'_>) -> impl Iterator<Item = &Bytes> {
        let end = span.max.map_or(Unbounded, Excluded);
        let range = (Included(span.min), end);
        (!span.is_empty()).then(|| self.keys.range::<[u8], _>(range)).into_iter().flatten()
    }
}

/// The reads of a transaction.
pub(crate) struct Reading {
    pub(crate) shared: Arc<Shared>,
    pub(crate) wait: Duration,
    /// The revision at which it reads, once it has read.
    pub(crate) base: Option<i64>,
    /// The member that has this revision.
    host: usize,
    asked: VecDeque<Asked>,
    /// The ranges that were read, if they may be needed when the transaction commits.
    pub(crate) seen: Option<Seen>,
    /// How many pairs and tombstones have come, and their bytes.
    pub(crate) pairs: usize,
    bytes: usize,
}

/// Questions without an answer.
struct Asked {
    reads: Vec<RangeRead>,
    parts: Vec<Part>,
}

/// A request for some of the questions.
enum Part {
    Done(Done),
    UnderWay {
        /// The member that was asked.
        host: usize,
        sent: std::result::Result<UnderWay, Failure>,
        body: Vec<u8>,
        /// The revision that the answer has at least, if it must be up to date.
        known: Option<i64>,
        /// How much longer the answer may take once it is awaited.
        left: Duration,
    },
}

impl Reading {
    pub(crate) fn new(shared: Arc<Shared>, read_only: bool, wait: Duration) -> Self {
        let host = shared.client.host();
        let seen = (!read_only).then(Seen::default);
        let (base, asked) = (None, VecDeque::new());
        Reading { shared, wait, base, host, asked, seen, pairs: 0, bytes: 0 }
    }

    pub(crate) fn until(&self) -> Instant {
        Instant::now() + self.wait
    }

    fn error(&self, failure: &Failure) -> KvError {
        self.shared.error("cannot read", failure)
    }

    /// A question, at the revision of the transaction if it has one.
    fn range(&self, read: &RangeRead, limit: usize) -> Range {
        let layout = &self.shared.layout;
        let (revision, serializable) = (self.base, self.base.is_some());
        let mut range = Range { revision, serializable, ..Range::of(layout.data(&read.min)) };
        if !read.span().is_single_key() {
            range.range_end = Some(layout.data_end(read.max.as_deref()));
            range.limit = limit;
            if read.direction == Direction::Reverse {
                (range.sort_order, range.sort_target) = (Some("DESCEND"), Some("KEY"));
            }
        }
        range
    }

    /// How many pairs to ask for. etcd counts pairs and not bytes, so the pairs that came before
    /// tell how long they are.
    fn limit(&self, read: &RangeRead) -> usize {
        let average = self.bytes / self.pairs.max(1);
        match (2 * read.bytes).checked_div(average) {
            Some(fitting) => read.pairs.min(fitting.max(1)),
            None => read.pairs,
        }
    }

    fn encoded(&self, ranges: impl Iterator<Item = Range>) -> Result<Vec<u8>> {
        let success = ranges.map(Op::Range).collect();
        encoded(&Txn { success, ..Txn::default() }).map_err(|failure| self.error(&failure))
    }

    fn send(&self, reads: &[RangeRead]) -> Result<Part> {
        let body = self.encoded(reads.iter().map(|read| self.range(read, self.limit(read))))?;
        Ok(self.sent(body))
    }

    fn sent(&self, body: Vec<u8>) -> Part {
        let client = &self.shared.client;
        let known = self.base.is_none().then(|| client.revision());
        let until = self.until();
        let sent = client.send(self.host, TXN, &body, until);
        let left = until.saturating_duration_since(Instant::now());
        Part::UnderWay { host: self.host, sent, body, known, left }
    }

    /// Waits for the answer to a request. The first one fixes the revision.
    fn receive(&mut self, part: Part) -> Result<Done> {
        let client = &self.shared.client;
        let (asked, sent, body, known, left) = match part {
            Part::Done(done) => return Ok(done),
            Part::UnderWay { host, sent, body, known, left } => (host, sent, body, known, left),
        };
        let until = Instant::now() + left;
        let received = sent.and_then(|mut sent| {
            // Another member is asked instead of one that was silent.
            if asked == self.host {
                client.renew(&mut sent, until, body.len());
            }
            client.receive::<Done>(sent)
        });
        let (host, done) = match received {
            Ok(done) => (asked, done),
            Err(failure)
                if failure.may_pass()
                    || failure.server().is_some_and(|error| error.is_logged_out()) =>
            {
                tracing::debug!(server = %client.address, host = asked, %failure, "a member does not answer");
                if failure.may_pass() {
                    client.avoid(asked);
                }
                client.ask(TXN, &body, until).map_err(|failure| self.error(&failure))?
            }
            Err(failure) => return Err(self.error(&failure)),
        };
        let noted = match known {
            Some(known) => client.note_latest(host, done.header, known),
            None => client.note(host, done.header),
        };
        noted.map_err(|failure| self.error(&failure))?;
        self.host = host;
        self.base.get_or_insert(done.header.revision);
        Ok(done)
    }

    /// Asks, and waits for the answer.
    fn read_now(&mut self, range: Range) -> Result<Done> {
        let body = self.encoded([range].into_iter())?;
        let part = self.sent(body);
        self.receive(part)
    }

    /// Waits for the first answer if it has not come yet, for it fixes the revision.
    fn settle(&mut self) -> Result<()> {
        if self.base.is_some() {
            return Ok(());
        }
        let Some(mut oldest) = self.asked.pop_front() else { return Ok(()) };
        let parts = std::mem::take(&mut oldest.parts);
        for part in parts {
            oldest.parts.push(Part::Done(self.receive(part)?));
        }
        self.asked.push_front(oldest);
        Ok(())
    }

    /// The page that was asked for. If all the keys that have come were removed, asks for the next
    /// ones.
    fn page(&mut self, read: &RangeRead, mut found: RangeResponse) -> Result<RangePage> {
        let mut rest = read.clone();
        loop {
            let is_last = !found.more || rest.span().is_single_key();
            let (mut last, mut pairs) = (None, Vec::with_capacity(found.kvs.len()));
            for record in found.kvs {
                self.pairs += 1;
                self.bytes += record.key.len() + record.value.len();
                let key = self.shared.layout.key_of(&record.key);
                // If the scan continued after another key, it would not come to an end.
                let Some(key) = key.filter(|key| is_next(&rest, last.as_ref(), key)) else {
                    return Err(self.error(&Failure::garbled(NOT_ASKED_FOR)));
                };
                last = Some(key.clone());
                match value_of(&key, &record.value) {
                    Ok(Some(value)) => pairs.push((key, value)),
                    Ok(None) => {}
                    Err(failure) => return Err(self.error(&failure)),
                }
            }
            if last.is_none() && !is_last {
                let what = "the server has sent no pair, and says that there are more";
                return Err(self.error(&Failure::garbled(what)));
            }
            let (covered, after) = split(&rest, last.filter(|_| !is_last));
            if let Some(seen) = &mut self.seen {
                seen.note(covered.span(), pairs.iter().map(|(key, _)| key.clone()));
            }
            if is_last || !pairs.is_empty() {
                return Ok(RangePage { pairs, is_last });
            }
            rest = after;
            rest.pairs = (2 * rest.pairs).clamp(16, LARGEST_GAP);
            let range = self.range(&rest, rest.pairs);
            let Some(next) = self.read_now(range)?.found().next() else {
                return Err(self.error(&Failure::garbled(UNANSWERED)));
            };
            found = next;
        }
    }

    /// Reads the keys of these spans that it has not read yet. Returns all that are there.
    pub(crate) fn keys_of(&mut self, spans: &[KeySpan<'_>]) -> Result<BTreeSet<Bytes>> {
        let (mut keys, mut unread) = (BTreeSet::new(), Vec::new());
        for span in spans {
            match &self.seen {
                Some(seen) if seen.contains(*span) => keys.extend(seen.keys_in(*span).cloned()),
                _ => unread.push(RangeRead::new(*span, Direction::Forward, 1 << 10, 1 << 20)),
            }
        }
        while !unread.is_empty() {
            self.ask(&unread)?;
            let pages = self.answer()?;
            let mut left = Vec::new();
            for (read, page) in unread.into_iter().zip(pages) {
                let last = page.pairs.last().map(|(key, _)| key.clone());
                keys.extend(page.pairs.into_iter().map(|(key, _)| key));
                if !page.is_last {
                    let mut after = split(&read, last).1;
                    after.pairs = 1 << 14;
                    left.push(after);
                }
            }
            unread = left;
        }
        Ok(keys)
    }

    /// Sends questions, and does not wait for the answer.
    pub(crate) fn ask(&mut self, reads: &[RangeRead]) -> Result<()> {
        self.settle()?;
        let mut parts = Vec::new();
        for some in reads.chunks(self.shared.max_txn_ops()) {
            let mut part = self.send(some)?;
            if self.base.is_none() && some.len() < reads.len() {
                part = Part::Done(self.receive(part)?);
            }
            parts.push(part);
        }
        self.asked.push_back(Asked { reads: reads.to_vec(), parts });
        Ok(())
    }

    /// Waits for the oldest answer.
    pub(crate) fn answer(&mut self) -> Result<Vec<RangePage>> {
        let Some(Asked { reads, parts }) = self.asked.pop_front() else {
            return Err(KvError::IllegalState("nothing was asked".to_owned()));
        };
        let mut found = Vec::with_capacity(reads.len());
        for part in parts {
            found.extend(self.receive(part)?.found());
        }
        if found.len() != reads.len() {
            return Err(self.error(&Failure::garbled(UNANSWERED)));
        }
        reads.iter().zip(found).map(|(read, found)| self.page(read, found)).collect()
    }

    /// Whether the revision is fixed, or will be.
    pub(crate) fn is_begun(&self) -> bool {
        self.base.is_some() || !self.asked.is_empty()
    }

    /// Fixes the revision.
    pub(crate) fn fix(&mut self) -> Result<()> {
        self.settle()?;
        if self.base.is_none() {
            let horizon = Range::of(self.shared.layout.horizon());
            self.read_now(horizon)?;
        }
        Ok(())
    }

    /// How many pairs and tombstones lie in these ranges.
    pub(crate) fn count(&mut self, ranges: &KeyRanges) -> Result<usize> {
        let reads: Vec<RangeRead> =
            ranges.iter().map(|span| RangeRead::new(span, Direction::Forward, 1, 1)).collect();
        let mut count = 0;
        for some in reads.chunks(self.shared.max_txn_ops()) {
            let ranges = some.iter().map(|read| Range { count_only: true, ..self.range(read, 0) });
            let body = self.encoded(ranges)?;
            let part = self.sent(body);
            for found in self.receive(part)?.found() {
                // A commit compares keys by this number, so none is guessed.
                let some = usize::try_from(found.count).map_err(|_| {
                    let failure = Failure::garbled("the server says a number of keys that is none");
                    self.error(&failure)
                })?;
                count += some;
            }
        }
        Ok(count)
    }

    /// Forgets the questions whose answers do not matter any more.
    pub(crate) fn end_reading(&mut self) {
        self.asked.clear();
    }
}

/// Whether a key can come after the last one in the answer to a question.
fn is_next(read: &RangeRead, last: Option<&Bytes>, key: &Bytes) -> bool {
    let comes_after = |last: &Bytes| match read.direction {
        Direction::Forward => last < key,
        Direction::Reverse => last > key,
    };
    read.span().contains(key) && last.is_none_or(comes_after)
}

/// The part of a range up to the last key that has come, and the rest of it. Without such a key,
/// all of it has come.
fn split(read: &RangeRead, last: Option<Bytes>) -> (RangeRead, RangeRead) {
    let (mut covered, mut after) = (read.clone(), read.clone());
    match (last, read.direction) {
        (Some(last), Direction::Forward) => {
            let next = key::next_key(&last);
            covered.max = Some(next.clone());
            after.min = next;
        }
        (Some(last), Direction::Reverse) => {
            covered.min = last.to_vec();
            after.max = Some(last.to_vec());
        }
        (None, _) => (after.min, after.max) = (Vec::new(), Some(Vec::new())),
    }
    (covered, after)
}
