//! Visits in read-only transactions: LMDB finds each page, and the pairs are read from there.

use std::ops::{Bound, ControlFlow};

use super::key::StoredSpan;
use super::leaf::{InLeaf, Leaf};
use super::read::{End, Reader, View, not_stored_by_us};
use crate::{Direction, KeySpan, Result, Visitor};

/// A key as it is stored, and its value.
type Found<'t> = Option<(&'t [u8], &'t [u8])>;

/// How far a page was shown.
enum Shown<'t> {
    /// All of it. This is the last key, as it is stored.
    All(&'t [u8]),
    /// All that is wanted of the span.
    Enough,
    /// Up to this key, or nothing. What follows does not look as expected.
    UpTo(Option<&'t [u8]>),
}

/// A visit of a span.
pub(super) struct Visit<'t, 's> {
    reader: Reader<'t>,
    /// What the transaction reads through, if others may use it too.
    view: Option<&'t View>,
    span: KeySpan<'s>,
    direction: Direction,
}

impl View {
    /// A visit by pages if they can be read, else by steps.
    pub(super) fn visit_pages(
        &self,
        reader: Reader<'_>,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        match self.readable_pages() {
            // SAFETY: the transaction of a view is read-only.
            #[allow(unsafe_code)]
            Some(page_len) => unsafe {
                Visit::new(reader, Some(self), span, direction).by_pages(page_len, visitor)
            },
            None => reader.visit_of(Some(self), span, direction, visitor),
        }
    }
}

impl<'t, 's> Visit<'t, 's> {
    pub(super) fn new(
        reader: Reader<'t>,
        view: Option<&'t View>,
        span: KeySpan<'s>,
        direction: Direction,
    ) -> Self {
        Visit { reader, view, span, direction }
    }

    /// Does the same as [`Reader::visit_of`]. Where keys are not in order, which is damage, both end, but may
    /// show other pairs.
    ///
    /// # Safety
    /// The transaction is read-only, and [`readable_pages`](super::leaf::readable_pages) returned
    /// `page_len` for its environment.
    #[allow(unsafe_code)]
    pub(super) unsafe fn by_pages(self, page_len: usize, visitor: &mut Visitor<'_>) -> Result<()> {
        self.span.check()?;
        if self.span.is_empty() {
            return Ok(());
        }
        let Reader { pairs, txn, .. } = self.reader;
        let mut found = self.in_turn(|| self.first())?;
        let mut before = None;
        while let Some((stored, _)) = found {
            // SAFETY: the transaction is read-only, and the length is that of its pages.
            let around = unsafe { Leaf::around(stored, page_len) };
            // The next page is found by the last key of this one. In a damaged page, that could lead back.
            let around = around.filter(|(leaf, _)| self.leads_on(before, stored, *leaf));
            let shown = match (around, self.direction) {
                (None, _) => Shown::UpTo(None),
                (Some((leaf, at)), Direction::Forward) => {
                    let end = self.end_for(leaf);
                    self.show(leaf, at..leaf.count, |key| end.is_before(key), visitor)?
                }
                (Some((leaf, at)), Direction::Reverse) => {
                    let min = self.span.min;
                    self.show(leaf, (0..=at).rev(), |key| key >= min, visitor)?
                }
            };
            let last = match shown {
                Shown::All(last) => last,
                Shown::Enough => return Ok(()),
                Shown::UpTo(last) => return self.rest(stored, last, visitor),
            };
            before = Some(last);
            found = self.in_turn(|| match self.direction {
                Direction::Forward => pairs.get_greater_than(txn, last),
                Direction::Reverse => pairs.get_lower_than(txn, last),
            })?;
        }
        Ok(())
    }

    fn in_turn<T>(&self, find: impl FnOnce() -> heed::Result<T>) -> Result<T> {
        let _turn = self.view.and_then(View::turn);
        find().map_err(|error| self.reader.failed(error))
    }

    /// The first pair of the span in the direction. If there is none, one after the span, or nothing.
    fn first(&self) -> heed::Result<Found<'t>> {
        let Reader { pairs, txn, .. } = self.reader;
        let stored = StoredSpan::new(self.span);
        match (self.direction, stored.bounds()) {
            (Direction::Forward, (Bound::Unbounded, _)) => pairs.first(txn),
            (Direction::Forward, (Bound::Included(min), _)) => {
                pairs.get_greater_than_or_equal_to(txn, min)
            }
            (Direction::Forward, (Bound::Excluded(min), _)) => pairs.get_greater_than(txn, min),
            (Direction::Reverse, (_, Bound::Unbounded)) => pairs.last(txn),
            (Direction::Reverse, (_, Bound::Included(max))) => {
                pairs.get_lower_than_or_equal_to(txn, max)
            }
            (Direction::Reverse, (_, Bound::Excluded(max))) => pairs.get_lower_than(txn, max),
        }
    }

    /// Whether a page follows what was shown before it, and ends after the key that was found in it.
    #[inline]
    fn leads_on(&self, before: Option<&[u8]>, found: &[u8], leaf: Leaf<'t>) -> bool {
        let index = match self.direction {
            Direction::Forward => leaf.count - 1,
            Direction::Reverse => 0,
        };
        let Some(InLeaf { stored: last, .. }) = leaf.pair(index) else {
            return false;
        };
        match self.direction {
            Direction::Forward => before.is_none_or(|before| before < found) && found <= last,
            Direction::Reverse => before.is_none_or(|before| before > found) && found >= last,
        }
    }

    /// The end with which each key of a page must be compared: none if the last key is before the end.
    #[inline]
    fn end_for(&self, leaf: Leaf<'t>) -> End<'s> {
        let end = End::new(self.span.max);
        let last = leaf.pair(leaf.count - 1).and_then(|last| last.stored.split_first());
        match last {
            Some((0, last)) if end.is_before(last) => End::new(None),
            _ => end,
        }
    }

    #[inline]
    fn show(
        &self,
        leaf: Leaf<'t>,
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
                    _ => Err(not_stored_by_us(self.reader.path, stored)),
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
            last = Some(stored);
        }
        Ok(last.map_or(Shown::UpTo(None), Shown::All))
    }

    /// A value that is on pages of its own.
    #[cold]
    fn value_elsewhere(&self, stored: &[u8]) -> Result<Option<&'t [u8]>> {
        self.in_turn(|| self.reader.pairs.get(self.reader.txn, stored))
    }

    /// Lets LMDB step through the rest: from the key that it found on, or from after the last one shown.
    #[cold]
    fn rest(&self, found: &[u8], last: Option<&[u8]>, visitor: &mut Visitor<'_>) -> Result<()> {
        // A foreign key has no place in a span.
        let Some((0, key)) = last.unwrap_or(found).split_first() else {
            return Err(not_stored_by_us(self.reader.path, found));
        };
        let after = [key, &[0]].concat();
        let span = match (self.direction, last.is_some()) {
            (Direction::Forward, true) => KeySpan::new(&after, self.span.max),
            // In a damaged page it may have found one before the span.
            (Direction::Forward, false) => KeySpan::new(key.max(self.span.min), self.span.max),
            (Direction::Reverse, true) => KeySpan::new(self.span.min, Some(key)),
            (Direction::Reverse, false) => KeySpan::new(self.span.min, Some(&after)),
        };
        // Where LMDB found nothing in the span, it found something after it.
        match span.check() {
            Ok(()) => self.reader.visit_of(self.view, span, self.direction, visitor),
            Err(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use std::path::Path;

    use heed::types::Bytes;
    use heed::{CommitOrAbort, DatabaseFlags, Env, EnvOpenOptions, WithoutTls};
    use proptest::prelude::*;

    use super::super::env::Pairs;
    use super::super::leaf::readable_pages;
    use super::*;

    type Seen = Vec<(Vec<u8>, Vec<u8>)>;

    /// Both visits of a span, up to so many pairs.
    fn both(
        reader: Reader<'_>,
        span: KeySpan<'_>,
        direction: Direction,
        most: usize,
    ) -> [(Seen, String); 2] {
        let collect = |visit: &mut dyn FnMut(&mut Visitor<'_>) -> Result<()>| {
            let mut seen = Seen::new();
            let ended = visit(&mut |key, value| {
                seen.push((key.to_vec(), value.to_vec()));
                if seen.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            (seen, format!("{ended:?}"))
        };
        let by_steps = collect(&mut |visitor| reader.visit_of(None, span, direction, visitor));
        let by_pages = collect(&mut |visitor| {
            let visit = Visit::new(reader, None, span, direction);
            let page_len = reader.pairs.stat(reader.txn).unwrap().page_size as usize;
            // SAFETY: the transaction of the reader is read-only.
            #[allow(unsafe_code)]
            unsafe {
                visit.by_pages(readable_pages(page_len).unwrap(), visitor)
            }
        });
        [by_steps, by_pages]
    }

    fn environment(directory: &Path) -> Env<WithoutTls> {
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        options.map_size(1 << 26).max_dbs(1);
        // SAFETY: nobody else knows the directory.
        #[allow(unsafe_code)]
        unsafe { options.open(directory) }.unwrap()
    }

    fn open(directory: &Path) -> (Env<WithoutTls>, Pairs) {
        let env = environment(directory);
        let opened = env.open_databases_and_commit(env.read_txn().unwrap(), |opener, txn| {
            let opened =
                opener.database_options().types::<Bytes, Bytes>().name("pairs").open(txn)?;
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(opened))
        });
        let pairs = opened.unwrap().commit().unwrap().unwrap();
        (env, pairs)
    }

    fn database(directory: &Path, flags: DatabaseFlags) -> (Env<WithoutTls>, Pairs) {
        let env = environment(directory);
        let txn = env.write_txn().unwrap();
        let made = env.create_databases_and_commit(txn, |opener, txn| {
            let mut options = opener.database_options().types::<Bytes, Bytes>();
            let made = options.name("pairs").flags(flags).create(txn)?;
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(made))
        });
        let pairs = made.unwrap().commit().unwrap();
        (env, pairs)
    }

    /// Keys that share their first bytes or not, some as long as they can be.
    fn key() -> impl Strategy<Value = Vec<u8>> {
        let short = prop::collection::vec(prop_oneof![Just(0), Just(7), Just(0xff)], 0..5);
        let random = prop::collection::vec(any::<u8>(), 0..40);
        let long = (any::<u8>(), 500..=510usize).prop_map(|(byte, len)| vec![byte; len]);
        prop_oneof![4 => short, 4 => random, 1 => long]
    }

    fn bound() -> impl Strategy<Value = Option<Vec<u8>>> {
        let too_long = (any::<u8>(), 511..600usize).prop_map(|(byte, len)| vec![byte; len]);
        prop_oneof![1 => Just(None), 6 => key().prop_map(Some), 1 => too_long.prop_map(Some)]
    }

    /// Values in pages with others, and on pages of their own.
    fn value() -> impl Strategy<Value = usize> {
        prop_oneof![6 => 0..40usize, 3 => 0..1500usize, 1 => 1900..9000usize]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

        #[test]
        fn pages_show_what_steps_show(
            commits in prop::collection::vec(
                prop::collection::vec((key(), prop::option::weighted(0.8, value())), 1..60),
                1..5,
            ),
            spans in prop::collection::vec((bound(), bound(), any::<bool>(), 1..200usize), 1..20),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let (env, pairs) = database(directory.path(), DatabaseFlags::empty());
            for commit in &commits {
                let mut txn = env.write_txn().unwrap();
                for (key, value) in commit {
                    let stored = [&[0], &key[..]].concat();
                    match value {
                        Some(len) => pairs.put(&mut txn, &stored, &vec![*len as u8; *len]).unwrap(),
                        None => drop(pairs.delete(&mut txn, &stored).unwrap()),
                    }
                }
                txn.commit().unwrap();
            }
            let txn = env.read_txn().unwrap();
            let reader = Reader { pairs, txn: &txn, path: directory.path() };
            for (min, max, reverse, most) in spans {
                let span = KeySpan::new(min.as_deref().unwrap_or_default(), max.as_deref());
                let direction = if reverse { Direction::Reverse } else { Direction::Forward };
                for most in [most, usize::MAX] {
                    let [by_steps, by_pages] = both(reader, span, direction, most);
                    prop_assert_eq!(by_steps, by_pages);
                }
            }
        }
    }

    /// What stands before or after the pairs of a page and is not like them is left to LMDB.
    #[test]
    fn unexpected_nodes_are_left_to_lmdb() {
        let directory = tempfile::tempdir().unwrap();
        let (env, pairs) = database(directory.path(), DatabaseFlags::DUP_SORT);
        let mut txn = env.write_txn().unwrap();
        for number in 0..600u16 {
            let key = [&[0], &number.to_be_bytes()[..]].concat();
            for copy in 0..if number % 50 == 7 { 3 } else { 1 } {
                pairs.put(&mut txn, &key, &[copy; 20]).unwrap();
            }
        }
        txn.commit().unwrap();
        let txn = env.read_txn().unwrap();
        let reader = Reader { pairs, txn: &txn, path: directory.path() };
        for direction in [Direction::Forward, Direction::Reverse] {
            for (min, max) in [(0u16, 600u16), (7, 8), (8, 57), (8, 58), (56, 300), (400, 401)] {
                let (min, max) = (min.to_be_bytes(), max.to_be_bytes());
                let [by_steps, by_pages] =
                    both(reader, KeySpan::new(&min, Some(&max)), direction, usize::MAX);
                assert_eq!(by_steps, by_pages);
                assert!(!by_pages.0.is_empty());
            }
        }
    }

    /// A key that was changed in the file is out of order.
    #[test]
    fn visits_of_damaged_pages_end() {
        const PAIRS: u16 = 600;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("data.mdb");
        let (env, pairs) = database(directory.path(), DatabaseFlags::empty());
        let mut txn = env.write_txn().unwrap();
        let key = |number: u16| [&[0], &number.to_be_bytes()[..], b"key"].concat();
        for number in 0..PAIRS {
            pairs.put(&mut txn, &key(number), &[7; 20]).unwrap();
        }
        txn.commit().unwrap();
        env.prepare_for_closing().wait();
        let healthy = std::fs::read(&file).unwrap();
        for number in 0..PAIRS {
            let key = key(number);
            let places: Vec<_> =
                (0..healthy.len()).filter(|at| healthy[*at..].starts_with(&key)).collect();
            // 512 less, or more.
            let mut damaged = healthy.clone();
            for at in places {
                damaged[at + 1] ^= 2;
            }
            std::fs::write(&file, &damaged).unwrap();
            let (env, pairs) = open(directory.path());
            let txn = env.read_txn().unwrap();
            let reader = Reader { pairs, txn: &txn, path: directory.path() };
            for direction in [Direction::Forward, Direction::Reverse] {
                let [_, (seen, _)] = both(reader, KeySpan::FULL, direction, 10 * PAIRS as usize);
                assert!(seen.len() <= 2 * PAIRS as usize, "{number}: {}", seen.len());
            }
            drop(txn);
            env.prepare_for_closing().wait();
        }
    }

    #[test]
    fn foreign_keys_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let (env, pairs) = database(directory.path(), DatabaseFlags::empty());
        let mut txn = env.write_txn().unwrap();
        for number in 0..400u16 {
            let foreign = u8::from(number > 300);
            let key = [&[foreign], &number.to_be_bytes()[..]].concat();
            pairs.put(&mut txn, &key, &[7; 20]).unwrap();
        }
        txn.commit().unwrap();
        let txn = env.read_txn().unwrap();
        let reader = Reader { pairs, txn: &txn, path: directory.path() };
        for direction in [Direction::Forward, Direction::Reverse] {
            for (min, max) in
                [(&[][..], None), (&[0, 9], None), (&[0, 9], Some(&[1, 40][..])), (&[], Some(&[7]))]
            {
                let [by_steps, by_pages] =
                    both(reader, KeySpan::new(min, max), direction, usize::MAX);
                assert_eq!(by_steps, by_pages);
            }
            let [_, (_, ended)] = both(reader, KeySpan::FULL, direction, usize::MAX);
            assert!(ended.contains("does not begin with a zero byte"), "{ended}");
        }
    }
}
