//! One session: the pairs that are known from it, which questions are under way, and why nothing
//! can be asked any more.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::ThreadId;

use super::engine::{RangeRead, Session};
use super::known::Known;
use crate::store_parts::counts::Counts;
use crate::store_parts::earlier_failure::EarlierFailure;
use crate::store_parts::process::Process;
use crate::{Direction, Result, key};

/// The name, in errors, of the store that a child of a fork cannot use.
pub(super) const FORKED: &str = "a store on a server";

/// A session, and the pairs that are known from it.
pub(super) struct Lane {
    pub(super) session: Box<dyn Session>,
    pub(super) known: Known,
    /// The ranges that will be read soon. They travel with the next question.
    pub(super) wanted: Vec<RangeRead>,
    /// The questions of the requests that have no answer yet.
    pub(super) under_way: VecDeque<Vec<RangeRead>>,
    /// Why nothing can be read any more.
    pub(super) failure: Option<EarlierFailure>,
    /// The process that owns its connection.
    process: Process,
    /// The thread that has used it last, if threads can have different ones.
    pub(super) user: Option<ThreadId>,
    counts: Arc<Counts>,
}

impl Lane {
    pub(super) fn new(session: Box<dyn Session>, counts: Arc<Counts>) -> Self {
        Lane {
            session,
            known: Known::default(),
            wanted: Vec::new(),
            under_way: VecDeque::new(),
            failure: None,
            process: Process::this(),
            user: None,
            counts,
        }
    }

    pub(super) fn counts(&self) -> &Arc<Counts> {
        &self.counts
    }

    pub(super) fn check(&self) -> Result<()> {
        self.process.check(|| FORKED)?;
        match &self.failure {
            Some(failure) => Err(failure.error()),
            None => Ok(()),
        }
    }

    pub(super) fn note<T>(&mut self, result: Result<T>) -> Result<T> {
        if let Err(error) = &result
            && !error.is_caller_error()
        {
            if self.failure.is_none() {
                self.counts.note_failure(error);
            }
            self.failure = Some(EarlierFailure::of(error));
        }
        result
    }

    /// Asks until the start of the range is known.
    pub(super) fn need(&mut self, read: &RangeRead) -> Result<()> {
        self.check()?;
        while !self.known.begins(read.span(), read.direction) {
            let starts = |other: &RangeRead| starts(other, read);
            if self.under_way.iter().flatten().any(starts) {
                self.arrive()?;
                continue;
            }
            let mut reads = std::mem::take(&mut self.wanted);
            reads.sort_by(|one, other| (&one.min, &one.max).cmp(&(&other.min, &other.max)));
            reads.dedup();
            if !reads.iter().any(starts) {
                reads.push(read.clone());
            }
            self.ask(reads)?;
            // A read that was wanted already may begin where this one does, but end before it.
            while !self.under_way.is_empty() {
                self.arrive()?;
            }
        }
        Ok(())
    }

    pub(super) fn ask(&mut self, reads: Vec<RangeRead>) -> Result<()> {
        let asked = self.session.ask(&reads);
        self.note(asked)?;
        self.under_way.push_back(reads);
        Ok(())
    }

    /// Waits for the oldest answer.
    pub(super) fn arrive(&mut self) -> Result<()> {
        let Some(reads) = self.under_way.pop_front() else { return Ok(()) };
        let answer = self.session.answer();
        let pages = self.note(answer)?;
        self.known.make_room();
        for (read, page) in reads.iter().zip(pages) {
            self.known.learn(read, page);
        }
        Ok(())
    }
}

/// Whether the answer to `read` may say something of the first key of `other`.
pub(super) fn starts(read: &RangeRead, other: &RangeRead) -> bool {
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
