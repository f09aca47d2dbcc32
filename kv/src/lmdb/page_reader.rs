//! Reads in read-only transactions, from the pages that LMDB has mapped.
//!
//! A damaged page is [`KvError::Damaged`]. LMDB itself, which can end the process there, reads
//! nothing here.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::path::Path;

use super::error::damaged;
use super::key::MAX_KEY;
use super::page::{InLeaf, LmdbPage};
use super::read::{Access, End, LmdbView, MOST_STEPS, each_stored, not_stored_by_us, stripped};
use super::tree::{Spot, Tree};
use crate::{Blob, Direction, KeySpan, KvError, KvRead, Near, Pair, Result, Scan, Visitor};

/// Reads from the pages.
#[derive(Clone, Copy)]
pub(super) struct PageReader<'t> {
    tree: &'t Tree,
    path: &'t Path,
}

/// Gets pairs as they are stored.
type Put<'p> = &'p mut dyn FnMut(&[u8], &[u8]) -> Result<()>;

/// A visit of a span.
struct Visit<'t, 's> {
    pages: PageReader<'t>,
    span: KeySpan<'s>,
    direction: Direction,
}

impl<'t> PageReader<'t> {
    /// A reader of the pages of a view; `None` if they cannot be read, for the reason that
    /// [`LmdbView::otherwise`] has. It needs no turn.
    #[inline(always)]
    pub(super) fn of(view: &'t LmdbView) -> Option<Self> {
        if view.check().is_err() {
            return None;
        }
        match view.access() {
            Access::Pages(tree) => Some(PageReader::new(tree, view.path())),
            _ => None,
        }
    }

    /// The tree must be that of the pairs in a read-only transaction that stays open.
    fn new(tree: &'t Tree, path: &'t Path) -> Self {
        PageReader { tree, path }
    }

    /// The error for a page that is not as expected.
    #[cold]
    fn damaged(self) -> KvError {
        damaged(self.path, self.tree.problem())
    }

    /// A pair of a leaf, with its key as it is stored.
    #[inline]
    fn stored(self, leaf: LmdbPage<'t>, at: usize) -> Result<(&'t [u8], &'t [u8])> {
        match leaf.pair(at) {
            Some(InLeaf { stored, value: Some(value) }) => Ok((stored, value)),
            Some(InLeaf { stored, value: None }) => Ok((stored, self.elsewhere(leaf, at)?)),
            None => Err(self.damaged()),
        }
    }

    /// A value that is on pages of its own.
    #[cold]
    fn elsewhere(self, leaf: LmdbPage<'t>, at: usize) -> Result<&'t [u8]> {
        self.tree.value_elsewhere(leaf, at).ok_or_else(|| self.damaged())
    }

    /// Does the same as [`Reader::get`](super::read::Reader::get).
    #[inline]
    fn get(self, key: &[u8]) -> Result<Option<Blob<'t>>> {
        match self.tree.get(key) {
            Spot::At(leaf, at) => Ok(Some(Cow::Borrowed(self.stored(leaf, at)?.1))),
            Spot::Nowhere => Ok(None),
            Spot::Unexpected => Err(self.damaged()),
        }
    }

    /// Does the same as [`Reader::get_near`](super::read::Reader::get_near), but does not look at
    /// the pair after an absent key.
    #[inline]
    fn get_near(self, key: &[u8], near: &[u8]) -> Result<Option<Near<'t>>> {
        let (leaf, at) = match self.tree.get(key) {
            Spot::At(leaf, at) => (leaf, at),
            Spot::Nowhere => return Ok(None),
            Spot::Unexpected => return Err(self.damaged()),
        };
        let value = Cow::Borrowed(self.stored(leaf, at)?.1);
        if near > key {
            for index in at + 1..leaf.count().min(at + 1 + MOST_STEPS) {
                let Some(InLeaf { stored, value: Some(other) }) = leaf.pair(index) else { break };
                let (found, other) = stripped(self.path, (stored, other))?;
                match found.cmp(near) {
                    Ordering::Less => {}
                    Ordering::Equal => return Ok(Some((value, Some(Cow::Borrowed(other))))),
                    Ordering::Greater => return Ok(Some((value, None))),
                }
            }
        }
        Ok(Some((value, self.get(near)?)))
    }

    /// Does the same as [`Reader::at_least`](super::read::Reader::at_least).
    fn at_least(self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'t>>> {
        let pair = self.pair(self.tree.at_least(min))?;
        Ok(pair.filter(|(key, _)| max.is_none_or(|max| **key < *max)))
    }

    /// Does the same as [`Reader::at_most`](super::read::Reader::at_most).
    fn at_most(self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'t>>> {
        let pair = self.pair(self.tree.before(max))?;
        Ok(pair.filter(|(key, _)| **key >= *min))
    }

    /// The pair at a spot, if there is one.
    #[inline]
    fn pair(self, spot: Spot<'t>) -> Result<Option<Pair<'t>>> {
        let (leaf, at) = match spot {
            Spot::At(leaf, at) => (leaf, at),
            Spot::Nowhere => return Ok(None),
            Spot::Unexpected => return Err(self.damaged()),
        };
        let (key, value) = stripped(self.path, self.stored(leaf, at)?)?;
        Ok(Some((Cow::Borrowed(key), Cow::Borrowed(value))))
    }

    /// Does the same as [`Reader::visit`](super::read::Reader::visit) on pairs that this crate has
    /// stored; but this does not look at keys of others after an end.
    fn visit(
        self,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        span.check()?;
        if span.is_empty() {
            return Ok(());
        }
        Visit { pages: self, span, direction }.run(visitor)
    }

    /// Does the same as [`Reader::scan`](super::read::Reader::scan), with the differences of
    /// [`visit`](Self::visit).
    fn scan(self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'t>> {
        span.check()?;
        if span.is_empty() {
            return Ok(Box::new(std::iter::empty()));
        }
        let (min, max) = (span.min.into(), span.max.map(Into::into));
        let next = Next::In { after: None };
        Ok(Box::new(PageScan { pages: self, min, max, direction, next }))
    }

    /// Gives all pairs to `put`, in order, as they are stored.
    pub(super) fn each_stored(self, put: Put<'_>) -> Result<()> {
        let (mut spot, mut before) = (self.tree.at_least(&[]), None);
        while let Some((leaf, at)) = self.enter(spot, before, Direction::Forward)? {
            for index in at..leaf.count() {
                let (stored, value) = self.stored(leaf, index)?;
                before = Some(stripped(self.path, (stored, value))?.0);
                put(stored, value)?;
            }
            spot = before.map_or(Spot::Nowhere, |last| self.tree.next_leaf(last));
        }
        Ok(())
    }

    /// The leaf, and the pair in it, where a scan continues that has shown `before` last; `None` at
    /// its end.
    ///
    /// The next leaf is found by the last key of this one. If a page is damaged, that could lead
    /// back.
    #[inline]
    fn enter(
        self,
        spot: Spot<'t>,
        before: Option<&[u8]>,
        direction: Direction,
    ) -> Result<Option<(LmdbPage<'t>, usize)>> {
        match spot {
            Spot::At(leaf, at) if leads_on(before, leaf, at, direction) => Ok(Some((leaf, at))),
            Spot::At(leaf, _) => {
                let reason = format!("page {} has keys that are out of order", leaf.number());
                Err(damaged(self.path, &reason))
            }
            Spot::Nowhere => Ok(None),
            Spot::Unexpected => Err(self.damaged()),
        }
    }
}

/// Whether a page follows the pairs that were shown before it, and ends after the pair where it is
/// entered.
#[inline]
fn leads_on(before: Option<&[u8]>, leaf: LmdbPage<'_>, at: usize, direction: Direction) -> bool {
    let last = match direction {
        Direction::Forward => leaf.count() - 1,
        Direction::Reverse => 0,
    };
    let (Some(first), Some(last)) = (leaf.stored_key(at), leaf.stored_key(last)) else {
        return false;
    };
    // The key that was shown has no zero byte before it.
    let follows = |order: Ordering| {
        before.is_none_or(|before| match first.split_first() {
            Some((0, first)) => first.cmp(before) == order,
            _ => order.is_gt(),
        })
    };
    match direction {
        Direction::Forward => follows(Ordering::Greater) && first <= last,
        Direction::Reverse => follows(Ordering::Less) && first >= last,
    }
}

impl<'t, 's> Visit<'t, 's> {
    fn run(self, visitor: &mut Visitor<'_>) -> Result<()> {
        let (tree, span) = (self.pages.tree, self.span);
        let mut spot = match self.direction {
            Direction::Forward => tree.at_least(span.min),
            Direction::Reverse => tree.before(span.max),
        };
        let mut before = None;
        while let Some((leaf, at)) = self.pages.enter(spot, before, self.direction)? {
            let shown = match self.direction {
                Direction::Forward => {
                    let end = self.end_for(leaf);
                    self.show(leaf, at..leaf.count(), |key| end.is_before(key), visitor)?
                }
                Direction::Reverse => {
                    self.show(leaf, (0..=at).rev(), |key| key >= span.min, visitor)?
                }
            };
            let Some(last) = shown else { return Ok(()) };
            before = Some(last);
            spot = match self.direction {
                Direction::Forward => tree.next_leaf(last),
                Direction::Reverse => tree.before(Some(last)),
            };
        }
        Ok(())
    }

    /// The end with which each key of a page must be compared: no end if the last key is before it.
    #[inline]
    fn end_for(&self, leaf: LmdbPage<'t>) -> End<'s> {
        let end = End::new(self.span.max);
        let last = leaf.stored_key(leaf.count() - 1).and_then(|last| last.split_first());
        match last {
            Some((0, last)) if end.is_before(last) => End::new(None),
            _ => end,
        }
    }

    /// Shows pairs of a page, and returns the last key; `None` if no more of the span is wanted.
    #[inline]
    fn show(
        &self,
        leaf: LmdbPage<'t>,
        pairs: impl Iterator<Item = usize>,
        is_inside: impl Fn(&[u8]) -> bool,
        visitor: &mut Visitor<'_>,
    ) -> Result<Option<&'t [u8]>> {
        let mut last = None;
        for index in pairs {
            let Some(InLeaf { stored, value }) = leaf.pair(index) else {
                return Err(self.pages.damaged());
            };
            let Some((0, key)) = stored.split_first() else {
                return self.pages.foreign(stored, self.direction, self.span.max.is_some());
            };
            if !is_inside(key) {
                return Ok(None);
            }
            let value = match value {
                Some(value) => value,
                None => self.pages.elsewhere(leaf, index)?,
            };
            if visitor(key, value) == ControlFlow::Break(()) {
                return Ok(None);
            }
            last = Some(key);
        }
        Ok(last)
    }
}

impl PageReader<'_> {
    /// The result of a scan at a key that this crate has not stored.
    #[cold]
    fn foreign<T>(self, stored: &[u8], direction: Direction, has_end: bool) -> Result<Option<T>> {
        match direction {
            // It is after the span.
            Direction::Forward if has_end => Ok(None),
            _ => Err(not_stored_by_us(self.path, stored)),
        }
    }
}

/// A scan.
struct PageScan<'t> {
    pages: PageReader<'t>,
    min: Box<[u8]>,
    max: Option<Box<[u8]>>,
    direction: Direction,
    next: Next<'t>,
}

/// Where the next pair of a scan is.
#[derive(Clone, Copy)]
enum Next<'t> {
    /// This one.
    At(LmdbPage<'t>, usize),
    /// In the leaf that follows the pair with this key in the direction of the scan; in the first
    /// leaf if the key is `None`.
    In { after: Option<&'t [u8]> },
    /// There is no such pair.
    Nowhere,
}

impl<'t> PageScan<'t> {
    #[inline]
    fn step(&mut self) -> Result<Option<(&'t [u8], &'t [u8])>> {
        let (leaf, at) = match self.next {
            Next::At(leaf, at) => (leaf, at),
            Next::Nowhere => return Ok(None),
            Next::In { after } => match self.enter(after)? {
                Some(found) => found,
                None => return Ok(None),
            },
        };
        let (stored, value) = self.pages.stored(leaf, at)?;
        let Some((0, key)) = stored.split_first() else {
            return self.pages.foreign(stored, self.direction, self.max.is_some());
        };
        let (is_inside, following) = match self.direction {
            Direction::Forward => {
                let is_inside = self.max.as_deref().is_none_or(|max| key < max);
                (is_inside, Some(at + 1).filter(|at| *at < leaf.count()))
            }
            Direction::Reverse => (key >= &*self.min, at.checked_sub(1)),
        };
        if !is_inside {
            return Ok(None);
        }
        self.next = match following {
            Some(at) => Next::At(leaf, at),
            None => Next::In { after: Some(key) },
        };
        Ok(Some((key, value)))
    }

    fn enter(&self, after: Option<&'t [u8]>) -> Result<Option<(LmdbPage<'t>, usize)>> {
        let tree = self.pages.tree;
        let spot = match (self.direction, after) {
            (Direction::Forward, None) => tree.at_least(&self.min),
            (Direction::Forward, Some(last)) => tree.next_leaf(last),
            (Direction::Reverse, None) => tree.before(self.max.as_deref()),
            (Direction::Reverse, after) => tree.before(after),
        };
        self.pages.enter(spot, after, self.direction)
    }
}

impl<'t> Iterator for PageScan<'t> {
    type Item = Result<Pair<'t>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self.step() {
            Ok(Some((key, value))) => Some(Ok((Cow::Borrowed(key), Cow::Borrowed(value)))),
            ended => {
                self.next = Next::Nowhere;
                ended.err().map(Err)
            }
        }
    }
}

impl LmdbView {
    /// Gives all pairs to `put`, in order, as they are stored.
    pub(super) fn each_stored(
        &self,
        mut put: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        if let Some(pages) = PageReader::of(self) {
            return pages.each_stored(&mut put);
        }
        let Some(reader) = self.otherwise()? else { return Ok(()) };
        each_stored(reader.pairs, reader.txn, reader.path, put)
    }
}

impl KvRead for LmdbView {
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
        if let Some(pages) = PageReader::of(self) {
            return pages.get(key);
        }
        let _turn = self.turn();
        self.otherwise()?.map_or(Ok(None), |reader| reader.get(key))
    }

    fn get_near(&self, key: &[u8], near: &[u8]) -> Result<Option<Near<'_>>> {
        if let Some(pages) = PageReader::of(self) {
            return pages.get_near(key, near);
        }
        let _turn = self.turn();
        self.otherwise()?.map_or(Ok(None), |reader| reader.get_near(key, near))
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        if let Some(pages) = PageReader::of(self) {
            return pages.scan(span, direction);
        }
        let _turn = self.turn();
        let Some(reader) = self.otherwise()? else {
            span.check()?;
            return Ok(Box::new(std::iter::empty()));
        };
        reader.steps_of(Some(self), span, direction)
    }

    fn visit(
        &self,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        if let Some(pages) = PageReader::of(self) {
            return pages.visit(span, direction, visitor);
        }
        match self.otherwise()? {
            Some(reader) => reader.visit_of(Some(self), span, direction, visitor),
            None => span.check(),
        }
    }

    fn at_least(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        if let Some(pages) = PageReader::of(self) {
            return pages.at_least(min, max);
        }
        let _turn = self.turn();
        self.otherwise()?.map_or(Ok(None), |reader| reader.at_least(min, max))
    }

    fn at_most(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        if let Some(pages) = PageReader::of(self) {
            return pages.at_most(min, max);
        }
        let _turn = self.turn();
        self.otherwise()?.map_or(Ok(None), |reader| reader.at_most(min, max))
    }

    fn max_key_len(&self) -> usize {
        MAX_KEY
    }
}

#[cfg(test)]
#[path = "page_reader_tests.rs"]
mod tests;
