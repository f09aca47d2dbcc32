//! Reads in read-only transactions, from the pages that LMDB has mapped.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::ControlFlow;

use super::key::MAX_KEY;
use super::page::{InLeaf, Page};
use super::read::{End, MOST_STEPS, Reader, View, not_stored_by_us, stripped};
use super::tree::{Spot, Tree};
use crate::{Blob, Direction, KeySpan, KvRead, Near, Pair, Result, Scan, Visitor};

/// How far a page was shown.
enum Shown<'t> {
    /// All of it. This is the last key.
    All(&'t [u8]),
    /// All that is wanted of the span.
    Enough,
    /// Up to this key, or nothing. What follows does not look as expected.
    UpTo(Option<&'t [u8]>),
}

/// Reads from the pages, and lets LMDB read what is not as expected.
#[derive(Clone, Copy)]
struct PageReader<'t> {
    tree: &'t Tree,
    reader: Reader<'t>,
    /// What the transaction reads through, if others may use it too.
    view: Option<&'t View>,
}

/// A visit of a span.
struct Visit<'t, 's> {
    pages: PageReader<'t>,
    span: KeySpan<'s>,
    direction: Direction,
}

impl<'t> PageReader<'t> {
    /// A reader of the pages of a view, if they can be read. It needs no turn.
    #[inline]
    fn of(view: &'t View) -> Option<Self> {
        Some(PageReader::new(view.tree()?, view.reader()?, Some(view)))
    }

    /// The tree must be that of the pairs in the transaction of the reader.
    fn new(tree: &'t Tree, reader: Reader<'t>, view: Option<&'t View>) -> Self {
        PageReader { tree, reader, view }
    }

    fn in_turn<T>(self, read: impl FnOnce(Reader<'t>) -> Result<T>) -> Result<T> {
        let _turn = self.view.and_then(View::turn);
        read(self.reader)
    }

    /// Does the same as [`Reader::get`].
    #[inline]
    fn get(self, key: &[u8]) -> Result<Option<Blob<'t>>> {
        match self.tree.get(key) {
            Spot::At(leaf, at) => {
                if let Some(InLeaf { value: Some(value), .. }) = leaf.pair(at) {
                    return Ok(Some(Cow::Borrowed(value)));
                }
            }
            Spot::Nowhere => return Ok(None),
            Spot::Unexpected => {}
        }
        self.in_turn(|reader| reader.get(key))
    }

    /// Does the same as [`Reader::get_near`], but does not look at what comes after an absent key.
    #[inline]
    fn get_near(self, key: &[u8], near: &[u8]) -> Result<Option<Near<'t>>> {
        let (leaf, at) = match self.tree.get(key) {
            Spot::At(leaf, at) => (leaf, at),
            Spot::Nowhere => return Ok(None),
            Spot::Unexpected => return self.in_turn(|reader| reader.get_near(key, near)),
        };
        let Some(InLeaf { value: Some(value), .. }) = leaf.pair(at) else {
            return self.in_turn(|reader| reader.get_near(key, near));
        };
        let value = Cow::Borrowed(value);
        if near > key {
            for index in at + 1..leaf.count().min(at + 1 + MOST_STEPS) {
                let Some(InLeaf { stored, value: Some(other) }) = leaf.pair(index) else { break };
                let (found, other) = stripped(self.reader.path, (stored, other))?;
                match found.cmp(near) {
                    Ordering::Less => {}
                    Ordering::Equal => return Ok(Some((value, Some(Cow::Borrowed(other))))),
                    Ordering::Greater => return Ok(Some((value, None))),
                }
            }
        }
        Ok(Some((value, self.get(near)?)))
    }

    /// Does the same as [`Reader::at_least`].
    fn at_least(self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'t>>> {
        let pair = match self.pair(self.tree.at_least(min)) {
            Some(pair) => pair?,
            None => return self.in_turn(|reader| reader.at_least(min, max)),
        };
        Ok(pair.filter(|(key, _)| max.is_none_or(|max| **key < *max)))
    }

    /// Does the same as [`Reader::at_most`].
    fn at_most(self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'t>>> {
        let pair = match self.pair(self.tree.before(max)) {
            Some(pair) => pair?,
            None => return self.in_turn(|reader| reader.at_most(min, max)),
        };
        Ok(pair.filter(|(key, _)| **key >= *min))
    }

    /// The pair at a spot, if there is one. `None` if LMDB must look.
    #[inline]
    fn pair(self, spot: Spot<'t>) -> Option<Result<Option<Pair<'t>>>> {
        let (leaf, at) = match spot {
            Spot::At(leaf, at) => (leaf, at),
            Spot::Nowhere => return Some(Ok(None)),
            Spot::Unexpected => return None,
        };
        let InLeaf { stored, value } = leaf.pair(at)?;
        let pair = stripped(self.reader.path, (stored, value?));
        Some(pair.map(|(key, value)| Some((Cow::Borrowed(key), Cow::Borrowed(value)))))
    }

    /// Does the same as [`Reader::visit_of`] on pairs that this crate has stored. Where keys are not in order,
    /// which is damage, both end, but may show other pairs; and this does not look at keys of others after an
    /// end.
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
}

impl<'t, 's> Visit<'t, 's> {
    fn run(self, visitor: &mut Visitor<'_>) -> Result<()> {
        let (tree, span) = (self.pages.tree, self.span);
        let mut spot = match self.direction {
            Direction::Forward => tree.at_least(span.min),
            Direction::Reverse => tree.before(span.max),
        };
        let mut before = None;
        loop {
            let shown = match (spot, self.direction) {
                (Spot::Nowhere, _) => return Ok(()),
                (Spot::Unexpected, _) => return self.rest(before, visitor),
                // The next page is found by the last key of this one. In a damaged page, that could lead
                // back.
                (Spot::At(leaf, at), _) if !self.leads_on(before, leaf, at) => {
                    return self.rest(before, visitor);
                }
                (Spot::At(leaf, at), Direction::Forward) => {
                    let end = self.end_for(leaf);
                    self.show(leaf, at..leaf.count(), |key| end.is_before(key), visitor)?
                }
                (Spot::At(leaf, at), Direction::Reverse) => {
                    self.show(leaf, (0..=at).rev(), |key| key >= span.min, visitor)?
                }
            };
            let last = match shown {
                Shown::All(last) => last,
                Shown::Enough => return Ok(()),
                Shown::UpTo(last) => return self.rest(last.or(before), visitor),
            };
            before = Some(last);
            spot = match self.direction {
                Direction::Forward => tree.next_leaf(last),
                Direction::Reverse => tree.before(Some(last)),
            };
        }
    }

    /// Whether a page follows what was shown before it, and ends after the pair where it is entered.
    #[inline]
    fn leads_on(&self, before: Option<&[u8]>, leaf: Page<'t>, at: usize) -> bool {
        let last = match self.direction {
            Direction::Forward => leaf.count() - 1,
            Direction::Reverse => 0,
        };
        let (Some(first), Some(last)) = (leaf.pair(at), leaf.pair(last)) else { return false };
        // What was shown has no byte before it.
        let follows = |order: Ordering| {
            before.is_none_or(|before| match first.stored.split_first() {
                Some((0, first)) => first.cmp(before) == order,
                _ => order.is_gt(),
            })
        };
        match self.direction {
            Direction::Forward => follows(Ordering::Greater) && first.stored <= last.stored,
            Direction::Reverse => follows(Ordering::Less) && first.stored >= last.stored,
        }
    }

    /// The end with which each key of a page must be compared: none if the last key is before the end.
    #[inline]
    fn end_for(&self, leaf: Page<'t>) -> End<'s> {
        let end = End::new(self.span.max);
        let last = leaf.pair(leaf.count() - 1).and_then(|last| last.stored.split_first());
        match last {
            Some((0, last)) if end.is_before(last) => End::new(None),
            _ => end,
        }
    }

    #[inline]
    fn show(
        &self,
        leaf: Page<'t>,
        pairs: impl Iterator<Item = usize>,
        is_inside: impl Fn(&[u8]) -> bool,
        visitor: &mut Visitor<'_>,
    ) -> Result<Shown<'t>> {
        let mut last = None;
        for index in pairs {
            let Some(InLeaf { stored, value }) = leaf.pair(index) else {
                return Ok(Shown::UpTo(last));
            };
            let Some((0, key)) = stored.split_first() else {
                // It is after the span, if that has an end.
                return match (self.direction, self.span.max) {
                    (Direction::Forward, Some(_)) => Ok(Shown::Enough),
                    _ => Err(not_stored_by_us(self.pages.reader.path, stored)),
                };
            };
            if !is_inside(key) {
                return Ok(Shown::Enough);
            }
            let value = match value {
                Some(value) => value,
                None => match self.value_elsewhere(stored)? {
                    Some(value) => value,
                    None => return Ok(Shown::UpTo(last)),
                },
            };
            if visitor(key, value) == ControlFlow::Break(()) {
                return Ok(Shown::Enough);
            }
            last = Some(key);
        }
        Ok(last.map_or(Shown::UpTo(None), Shown::All))
    }

    /// A value that is on pages of its own.
    #[cold]
    fn value_elsewhere(&self, stored: &[u8]) -> Result<Option<&'t [u8]>> {
        self.pages.in_turn(|reader| reader.value_of_stored(stored))
    }

    /// Lets LMDB step through the rest, from after the last key that was shown.
    #[cold]
    fn rest(&self, last: Option<&[u8]>, visitor: &mut Visitor<'_>) -> Result<()> {
        let after = last.map(|last| [last, &[0]].concat()).unwrap_or_default();
        // In a damaged page, what was shown last may be outside the span.
        let span = match (self.direction, last) {
            (_, None) => self.span,
            (Direction::Forward, _) => KeySpan::new(self.span.min.max(&after), self.span.max),
            (Direction::Reverse, Some(last)) => {
                KeySpan::new(self.span.min, Some(self.span.max.map_or(last, |max| max.min(last))))
            }
        };
        // Where the last key shown is the last one of the span, nothing is left of it.
        match span.check() {
            Ok(()) => self.pages.reader.visit_of(self.pages.view, span, self.direction, visitor),
            Err(_) => Ok(()),
        }
    }
}

impl KvRead for View {
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
        if let Some(pages) = PageReader::of(self) {
            return pages.get(key);
        }
        let _turn = self.turn();
        self.reader().map_or(Ok(None), |reader| reader.get(key))
    }

    fn get_near(&self, key: &[u8], near: &[u8]) -> Result<Option<Near<'_>>> {
        if let Some(pages) = PageReader::of(self) {
            return pages.get_near(key, near);
        }
        let _turn = self.turn();
        self.reader().map_or(Ok(None), |reader| reader.get_near(key, near))
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        let _turn = self.turn();
        let Some(reader) = self.reader() else {
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
        match self.reader() {
            Some(reader) => reader.visit_of(Some(self), span, direction, visitor),
            None => span.check(),
        }
    }

    fn at_least(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        if let Some(pages) = PageReader::of(self) {
            return pages.at_least(min, max);
        }
        let _turn = self.turn();
        self.reader().map_or(Ok(None), |reader| reader.at_least(min, max))
    }

    fn at_most(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        if let Some(pages) = PageReader::of(self) {
            return pages.at_most(min, max);
        }
        let _turn = self.turn();
        self.reader().map_or(Ok(None), |reader| reader.at_most(min, max))
    }

    fn max_key_len(&self) -> usize {
        MAX_KEY
    }
}

#[cfg(test)]
#[path = "page_reader_tests.rs"]
mod tests;
