//! A transaction of LMDB that writes, with the cursor through which it puts.
//!
//! LMDB looks for each key from the root of its tree on, page by page. A cursor that stays where
//! the last pair was put, or where something was read for that, first looks whether the next key
//! belongs on the same page, as the pairs of an object mostly do. If so, there is no search.

use std::ops::{Bound, RangeBounds};

use heed::types::Bytes;
use heed::{MdbError, PutFlags, RwRange, RwTxn};

use super::env::Pairs;

/// A transaction that is open.
pub(super) struct OpenWrite {
    /// Where the last pair was put, or something was read by [`stay_at`](OpenWrite::stay_at). It
    /// must be closed before the transaction ends, so it is the first field.
    cursor: Option<Cursor>,
    txn: RwTxn<'static>,
}

/// An iterator of heed, because only that has a cursor which can be kept.
struct Cursor(RwRange<'static, Bytes, Bytes>);

// SAFETY: The cursor is a part of its transaction, which may be sent to other threads. Both are in
// one `OpenWrite`, so they are only sent together.
#[allow(unsafe_code)]
unsafe impl Send for Cursor {}

/// The pairs from where a cursor is.
pub(super) struct CursorPairs<'o>(&'o mut Cursor);

impl<'o> Iterator for CursorPairs<'o> {
    type Item = heed::Result<(&'o [u8], &'o [u8])>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let CursorPairs(Cursor(iter)) = self;
        iter.next()
    }
}

impl OpenWrite {
    pub(super) fn new(txn: RwTxn<'static>) -> Self {
        OpenWrite { cursor: None, txn }
    }

    pub(super) fn txn(&self) -> &RwTxn<'static> {
        &self.txn
    }

    /// Gives the transaction back, to be ended.
    pub(super) fn into_txn(self) -> RwTxn<'static> {
        let OpenWrite { cursor, txn } = self;
        drop(cursor);
        txn
    }

    /// Puts a pair. `pairs` must be the same each time.
    #[inline]
    pub(super) fn put(&mut self, pairs: Pairs, key: &[u8], value: &[u8]) -> heed::Result<()> {
        self.put_with(pairs, PutFlags::empty(), key, value)
    }

    /// Puts a pair where the flags allow it. Returns false if they do not.
    #[inline]
    pub(super) fn put_if(
        &mut self,
        pairs: Pairs,
        flags: PutFlags,
        key: &[u8],
        value: &[u8],
    ) -> heed::Result<bool> {
        match self.put_with(pairs, flags, key, value) {
            Ok(()) => Ok(true),
            Err(heed::Error::Mdb(MdbError::KeyExist)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    #[inline]
    fn put_with(
        &mut self,
        pairs: Pairs,
        flags: PutFlags,
        key: &[u8],
        value: &[u8],
    ) -> heed::Result<()> {
        let Cursor(iter) = match &mut self.cursor {
            Some(cursor) => cursor,
            none => none.insert(Cursor::open(pairs, &mut self.txn, &..)?),
        };
        // SAFETY: This puts the pair in the place of its key, wherever the cursor is. No bytes that
        // were read are still borrowed: borrows of `txn` and `stay_at` end before the transaction
        // is borrowed to be changed.
        #[allow(unsafe_code)]
        unsafe {
            iter.put_current_with_options::<Bytes>(flags, key, value)
        }
    }

    /// The pairs from `key` on. Puts near the last one that this has given find their places
    /// without a search.
    pub(super) fn stay_at(
        &mut self,
        pairs: Pairs,
        key: &[u8],
    ) -> heed::Result<(CursorPairs<'_>, &RwTxn<'static>)> {
        // A cursor of heed can search only once. The memory of the one that is closed is used for
        // the next one.
        self.cursor = None;
        let from = (Bound::Included(key), Bound::Unbounded);
        let cursor = self.cursor.insert(Cursor::open(pairs, &mut self.txn, &from)?);
        Ok((CursorPairs(cursor), &self.txn))
    }

    /// Removes a pair. Returns false if there was no such pair.
    pub(super) fn remove(&mut self, pairs: Pairs, key: &[u8]) -> heed::Result<bool> {
        // LMDB moves the cursor with the pairs beside the removed one.
        pairs.delete(&mut self.txn, key)
    }

    /// Removes the pairs of a range.
    pub(super) fn remove_range(
        &mut self,
        pairs: Pairs,
        range: &impl RangeBounds<[u8]>,
    ) -> heed::Result<()> {
        self.cursor = None;
        pairs.delete_range(&mut self.txn, range).map(drop)
    }

    /// The pairs of a range, which can be removed while it is gone through.
    pub(super) fn range_mut(
        &mut self,
        pairs: Pairs,
        range: &impl RangeBounds<[u8]>,
    ) -> heed::Result<RwRange<'_, Bytes, Bytes>> {
        self.cursor = None;
        pairs.range_mut(&mut self.txn, range)
    }

    /// Removes all pairs.
    pub(super) fn clear(&mut self, pairs: Pairs) -> heed::Result<()> {
        self.cursor = None;
        pairs.clear(&mut self.txn)
    }
}

impl Cursor {
    fn open(
        pairs: Pairs,
        txn: &mut RwTxn<'static>,
        range: &impl RangeBounds<[u8]>,
    ) -> heed::Result<Self> {
        let iter = pairs.range_mut(txn, range)?;
        // SAFETY: The cursor refers to LMDB's transaction, not to the value `txn`, which may move.
        // The cursor is closed before that transaction ends.
        #[allow(unsafe_code)]
        let iter = unsafe {
            std::mem::transmute::<RwRange<'_, Bytes, Bytes>, RwRange<'static, Bytes, Bytes>>(iter)
        };
        Ok(Cursor(iter))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeMap;

    use heed::{CommitOrAbort, Env, EnvOpenOptions, WithoutTls};
    use proptest::prelude::*;

    use super::super::file::verify;
    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        Put(Vec<u8>, Vec<u8>),
        PutNew(Vec<u8>, Vec<u8>),
        Append(Vec<u8>, Vec<u8>),
        StayAt(Vec<u8>, usize),
        Remove(Vec<u8>),
        RemoveRange(Vec<u8>, Vec<u8>),
        Clear,
    }

    /// Mostly beside each other, as the pairs of an object are; never empty, which LMDB does not
    /// allow. Few enough that most of them come again, and some of them long, which makes the tree
    /// deep.
    fn key() -> impl Strategy<Value = Vec<u8>> {
        let len = prop_oneof![4 => Just(0usize), 2 => Just(60), 2 => Just(500)];
        (0..4u8, 0..30u8, len).prop_map(|(object, field, len)| {
            let mut key = vec![0, object, field];
            key.resize(key.len() + len, field);
            key
        })
    }

    fn value() -> impl Strategy<Value = Vec<u8>> {
        let len = prop_oneof![8 => 0..30usize, 3 => 0..1200usize, 1 => 1900..9000usize];
        (any::<u8>(), len).prop_map(|(byte, len)| vec![byte; len])
    }

    fn step(removals: u32) -> impl Strategy<Value = Step> {
        prop_oneof![
            600 => (key(), value()).prop_map(|(key, value)| Step::Put(key, value)),
            200 => (key(), value()).prop_map(|(key, value)| Step::PutNew(key, value)),
            50 => (key(), value()).prop_map(|(key, value)| Step::Append(key, value)),
            200 => (key(), 0..10usize).prop_map(|(key, steps)| Step::StayAt(key, steps)),
            removals => key().prop_map(Step::Remove),
            4 => (key(), key()).prop_map(|(a, b)| Step::RemoveRange(a.clone().min(b.clone()), a.max(b))),
            1 => Just(Step::Clear),
        ]
    }

    /// The steps of a transaction. In some of them, the tree becomes small again.
    fn steps() -> impl Strategy<Value = Vec<Step>> {
        prop_oneof![
            2 => prop::collection::vec(step(300), 1..600),
            1 => prop::collection::vec(step(5000), 1..600),
        ]
    }

    type Model = BTreeMap<Vec<u8>, Vec<u8>>;

    fn take(open: &mut OpenWrite, pairs: Pairs, model: &mut Model, step: &Step) {
        match step {
            Step::Put(key, value) => {
                open.put(pairs, key, value).unwrap();
                model.insert(key.clone(), value.clone());
            }
            Step::PutNew(key, value) => {
                let put = open.put_if(pairs, PutFlags::NO_OVERWRITE, key, value).unwrap();
                assert_eq!(put, !model.contains_key(key));
                model.entry(key.clone()).or_insert_with(|| value.clone());
            }
            Step::Append(key, value) => {
                let put = open.put_if(pairs, PutFlags::APPEND, key, value).unwrap();
                assert_eq!(put, model.last_key_value().is_none_or(|(last, _)| last < key));
                if put {
                    model.insert(key.clone(), value.clone());
                }
            }
            Step::StayAt(key, steps) => {
                let (found, _) = open.stay_at(pairs, key).unwrap();
                let found: Vec<_> = found.take(*steps).map(Result::unwrap).collect();
                let there = model.range(key.clone()..).take(*steps);
                assert_eq!(
                    found,
                    there.map(|(key, value)| (&key[..], &value[..])).collect::<Vec<_>>()
                );
            }
            Step::Remove(key) => {
                assert_eq!(open.remove(pairs, key).unwrap(), model.remove(key).is_some());
            }
            Step::RemoveRange(min, max) => {
                let bounds = (Bound::Included(&min[..]), Bound::Excluded(&max[..]));
                open.remove_range(pairs, &bounds).unwrap();
                model.retain(|key, _| key < min || key >= max);
            }
            Step::Clear => {
                open.clear(pairs).unwrap();
                model.clear();
            }
        }
    }

    fn content(pairs: Pairs, txn: &heed::RoTxn<'_>) -> Model {
        let owned = |(key, value): (&[u8], &[u8])| (key.to_vec(), value.to_vec());
        pairs.iter(txn).unwrap().map(|pair| owned(pair.unwrap())).collect()
    }

    /// How often: `PROPTEST_CASES`.
    fn cases() -> u32 {
        std::env::var("PROPTEST_CASES").map_or(25, |cases| cases.parse().unwrap())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

        /// Also with the cursor of heed's own iterators beside it, and after a rollback.
        #[test]
        fn pairs_are_what_a_map_has(
            transactions in prop::collection::vec((steps(), prop::bool::weighted(0.8)), 1..6),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let mut options = EnvOpenOptions::new().read_txn_without_tls();
            options.map_size(1 << 28).max_dbs(1);
            // SAFETY: no other code knows the directory.
            #[allow(unsafe_code)]
            let env: Env<WithoutTls> = unsafe { options.open(directory.path()) }.unwrap();
            let made = env.create_databases_and_commit(env.write_txn().unwrap(), |opener, txn| {
                let mut options = opener.database_options().types::<Bytes, Bytes>();
                Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(options.name("pairs").create(txn)?))
            });
            let pairs = made.unwrap().commit().unwrap();
            let mut committed = Model::new();
            for (steps, commit) in &transactions {
                let mut model = committed.clone();
                // SAFETY: the transaction ends before the environment.
                #[allow(unsafe_code)]
                let txn = unsafe {
                    std::mem::transmute::<RwTxn<'_>, RwTxn<'static>>(env.write_txn().unwrap())
                };
                let mut open = OpenWrite::new(txn);
                for (number, step) in steps.iter().enumerate() {
                    take(&mut open, pairs, &mut model, step);
                    if number % 50 == 0 {
                        prop_assert_eq!(&content(pairs, open.txn()), &model);
                    }
                }
                prop_assert_eq!(&content(pairs, open.txn()), &model);
                if *commit {
                    open.into_txn().commit().unwrap();
                    committed = model;
                    prop_assert_eq!(verify(directory.path(), "pairs").unwrap(), Vec::<String>::new());
                } else {
                    drop(open);
                }
                prop_assert_eq!(&content(pairs, &env.read_txn().unwrap()), &committed);
            }
        }
    }
}
