//! Reads of pages give the same as reads by calls of LMDB, and end in an error where a page is
//! damaged.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::Path;

use heed::types::Bytes;
use heed::{CommitOrAbort, DatabaseFlags, Env, EnvOpenOptions, WithoutTls};
use proptest::prelude::*;

use super::super::env::Pairs;
use super::super::page::readable_pages;
use super::super::read::Reader;
use super::*;

type Seen = Vec<(Vec<u8>, Vec<u8>)>;

/// An environment, its pairs, and the database that has their record.
struct Database {
    env: Env<WithoutTls>,
    pairs: Pairs,
    records: Pairs,
}

impl Database {
    /// Lends both readers of the present version. For the second one, the file has only the first
    /// `most` pages; it is not there if LMDB must read all of them. If `checks`, it checks pages as
    /// a whole.
    fn read(
        &self,
        path: &Path,
        (most, checks): (u64, bool),
        look: impl FnOnce(Reader<'_>, Option<PageReader<'_>>),
    ) {
        let txn = self.env.read_txn().unwrap();
        let record = self.records.get(&txn, b"pairs").unwrap().unwrap();
        let page_len = self.pairs.stat(&txn).unwrap().page_size as usize;
        let pages = self.env.info().last_page_number as u64 + 1;
        // SAFETY: the transaction is read-only, and the tree is used only here.
        #[allow(unsafe_code)]
        let tree = unsafe { Tree::new(record, readable_pages(page_len).unwrap(), pages, checks) };
        let reader = Reader { pairs: self.pairs, txn: &txn, path, thread: None };
        let tree = tree.map(|tree| tree.limited(most));
        look(reader, tree.as_ref().map(|tree| PageReader::new(tree, path)));
    }
}

/// The pairs that a visit has shown, and how it ended.
type Visited = (Seen, String);

/// Both visits of a span, of `most` pairs at most, and the scan by pages.
fn all(
    reader: Reader<'_>,
    pages: PageReader<'_>,
    span: KeySpan<'_>,
    direction: Direction,
    most: usize,
) -> [Visited; 3] {
    let collect = |visit: &mut dyn FnMut(&mut Visitor<'_>) -> Result<()>| {
        let mut seen = Seen::new();
        let ended = visit(&mut |key, value| {
            seen.push((key.to_vec(), value.to_vec()));
            if seen.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        (seen, format!("{ended:?}"))
    };
    let by_steps = collect(&mut |visitor| reader.visit(span, direction, visitor));
    let by_pages = collect(&mut |visitor| pages.visit(span, direction, visitor));
    let scanned = collect(&mut |visitor| {
        for pair in pages.scan(span, direction)? {
            let (key, value) = pair?;
            if visitor(&key, &value).is_break() {
                break;
            }
        }
        Ok(())
    });
    [by_steps, by_pages, scanned]
}

/// A read with some pages missing is right, or ended in an error.
fn right_or_damaged<T: PartialEq + std::fmt::Debug>(right: Result<T>, found: Result<T>) {
    match found {
        Ok(found) => assert_eq!(right.unwrap(), found),
        Err(error) => assert!(matches!(error, KvError::Damaged { .. }), "{error}"),
    }
}

fn environment(directory: &Path) -> Env<WithoutTls> {
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.map_size(1 << 26).max_dbs(1);
    // SAFETY: no other code knows the directory.
    #[allow(unsafe_code)]
    unsafe { options.open(directory) }.unwrap()
}

fn open(directory: &Path) -> Database {
    let env = environment(directory);
    let opened = env.open_databases_and_commit(env.read_txn().unwrap(), |opener, txn| {
        let pairs = opener.open_database::<Bytes, Bytes>(txn, Some("pairs"))?;
        let records = opener.open_database::<Bytes, Bytes>(txn, None)?;
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit((pairs, records)))
    });
    let (pairs, records) = opened.unwrap().commit().unwrap();
    Database { env, pairs: pairs.unwrap(), records: records.unwrap() }
}

fn database(directory: &Path, flags: DatabaseFlags) -> Database {
    let env = environment(directory);
    let txn = env.write_txn().unwrap();
    let made = env.create_databases_and_commit(txn, |opener, txn| {
        let mut options = opener.database_options().types::<Bytes, Bytes>();
        let made = options.name("pairs").flags(flags).create(txn)?;
        let records = opener.database_options().types::<Bytes, Bytes>().create(txn)?;
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit((made, records)))
    });
    let (pairs, records) = made.unwrap().commit().unwrap();
    Database { env, pairs, records }
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
        near in prop::collection::vec((any::<usize>(), 0..12usize, bound()), 1..20),
        (pages_there, checks) in (prop_oneof![2 => Just(u64::MAX), 1 => 3..60u64], any::<bool>()),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let database = database(directory.path(), DatabaseFlags::empty());
        let pairs = database.pairs;
        let mut keys = std::collections::BTreeSet::new();
        for commit in &commits {
            let mut txn = database.env.write_txn().unwrap();
            for (key, value) in commit {
                let stored = [&[0], &key[..]].concat();
                match value {
                    Some(len) => pairs.put(&mut txn, &stored, &vec![*len as u8; *len]).unwrap(),
                    None => drop(pairs.delete(&mut txn, &stored).unwrap()),
                }
                keys.insert(key.clone());
            }
            txn.commit().unwrap();
        }
        let keys: Vec<_> = keys.into_iter().collect();
        database.read(directory.path(), (pages_there, checks), |reader, pages| {
            // The page with the record may be missing too.
            let are_all = pages_there == u64::MAX;
            let Some(pages) = pages else { return assert!(!are_all) };
            for (min, max, reverse, most) in &spans {
                let span = KeySpan::new(min.as_deref().unwrap_or_default(), max.as_deref());
                let direction = if *reverse { Direction::Reverse } else { Direction::Forward };
                for most in [*most, usize::MAX] {
                    let [(right, ended), by_pages, scanned] =
                        all(reader, pages, span, direction, most);
                    for (found, end) in [by_pages, scanned] {
                        assert!(right.starts_with(&found));
                        assert!((&found, &end) == (&right, &ended) || !are_all && end.contains("Damaged"), "{end}");
                    }
                }
                if span.check().is_ok() {
                    let (min, max) = (span.min, span.max);
                    right_or_damaged(reader.at_least(min, max), pages.at_least(min, max));
                    right_or_damaged(reader.at_most(min, max), pages.at_most(min, max));
                }
                right_or_damaged(reader.get(span.min), pages.get(span.min));
            }
            for key in &keys {
                right_or_damaged(reader.get(key), pages.get(key));
                assert!(!are_all || pages.get(key).is_ok());
            }
            for (at, further, other) in &near {
                let at = at % keys.len();
                let further = (at + further).checked_sub(2).and_then(|at| keys.get(at));
                let key = &keys[at][..];
                for near in [other.as_deref(), further.map(|key| &key[..])].into_iter().flatten() {
                    right_or_damaged(reader.get_near(key, near), pages.get_near(key, near));
                }
            }
        });
    }
}

/// A tree with several levels of branches, read at each of its keys, and just before and after
/// each.
#[test]
fn deep_trees_are_searched_as_lmdb_does() {
    let directory = tempfile::tempdir().unwrap();
    let database = database(directory.path(), DatabaseFlags::empty());
    let pairs = database.pairs;
    let key = |number: u16| {
        let mut key = number.wrapping_mul(40503).to_be_bytes().to_vec();
        key.resize(500, 7);
        key
    };
    let mut txn = database.env.write_txn().unwrap();
    for number in 0..3000 {
        pairs.put(&mut txn, &[&[0], &key(number)[..]].concat(), &number.to_be_bytes()).unwrap();
    }
    assert!(pairs.stat(&txn).unwrap().depth >= 5);
    txn.commit().unwrap();
    database.read(directory.path(), (u64::MAX, true), |reader, pages| {
        let pages = pages.unwrap();
        for number in 0..3000 {
            let there = key(number);
            let before = [&there[..499], &[6, 0xff]].concat();
            let after = [&there[..], &[0]].concat();
            for key in [there, before, after] {
                assert_eq!(reader.get(&key).unwrap(), pages.get(&key).unwrap());
                let found = pages.at_least(&key, None).unwrap();
                assert_eq!(reader.at_least(&key, None).unwrap(), found);
                let found = pages.at_most(b"", Some(&key)).unwrap();
                assert_eq!(reader.at_most(b"", Some(&key)).unwrap(), found);
                if number % 30 == 0 {
                    for span in [KeySpan::new(&key, None), KeySpan::new(b"", Some(&key))] {
                        for direction in [Direction::Forward, Direction::Reverse] {
                            let [by_steps, by_pages, scanned] =
                                all(reader, pages, span, direction, 40);
                            assert_eq!((&by_steps, &by_steps), (&by_pages, &scanned));
                        }
                    }
                }
            }
        }
    });
}

/// Trees that are ordered in another way: opening an environment refuses them.
#[test]
fn trees_of_other_kinds_are_not_read() {
    for flags in [DatabaseFlags::DUP_SORT, DatabaseFlags::REVERSE_KEY] {
        let directory = tempfile::tempdir().unwrap();
        let database = database(directory.path(), flags);
        let mut txn = database.env.write_txn().unwrap();
        for number in 0..600u16 {
            database.pairs.put(&mut txn, &number.to_be_bytes(), &[7; 20]).unwrap();
        }
        txn.commit().unwrap();
        database.read(directory.path(), (u64::MAX, true), |_, pages| assert!(pages.is_none()));
    }
}

#[test]
fn an_empty_tree_has_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let database = database(directory.path(), DatabaseFlags::empty());
    database.read(directory.path(), (u64::MAX, true), |_, pages| {
        let pages = pages.unwrap();
        assert_eq!(pages.get(b"").unwrap(), None);
        assert_eq!(pages.get_near(b"a", b"b").unwrap(), None);
        assert_eq!(pages.at_least(b"", None).unwrap(), None);
        assert_eq!(pages.at_most(b"", None).unwrap(), None);
        let mut shown = 0;
        let mut show = |_: &[u8], _: &[u8]| {
            shown += 1;
            ControlFlow::Continue(())
        };
        pages.visit(KeySpan::FULL, Direction::Forward, &mut show).unwrap();
        assert_eq!(shown, 0);
    });
}

/// A key that was changed in the file is out of order: each third one, or each one if
/// `PERMAZEN_FAULTS` is `full`.
#[test]
fn visits_of_damaged_pages_end() {
    const PAIRS: u16 = 600;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("data.mdb");
    let Database { env, pairs, .. } = database(directory.path(), DatabaseFlags::empty());
    let mut txn = env.write_txn().unwrap();
    let key = |number: u16| [&[0], &number.to_be_bytes()[..], b"key"].concat();
    for number in 0..PAIRS {
        pairs.put(&mut txn, &key(number), &[7; 20]).unwrap();
    }
    txn.commit().unwrap();
    env.prepare_for_closing().wait();
    let healthy = std::fs::read(&file).unwrap();
    let is_full = std::env::var("PERMAZEN_FAULTS").is_ok_and(|faults| faults == "full");
    for number in (0..PAIRS).step_by(if is_full { 1 } else { 3 }) {
        let key = key(number);
        let places: Vec<_> =
            (0..healthy.len()).filter(|at| healthy[*at..].starts_with(&key)).collect();
        // 512 less, or more.
        let mut damaged = healthy.clone();
        for at in places {
            damaged[at + 1] ^= 2;
        }
        std::fs::write(&file, &damaged).unwrap();
        let database = open(directory.path());
        for checks in [false, true] {
            database.read(directory.path(), (u64::MAX, checks), |reader, pages| {
                let pages = pages.unwrap();
                for direction in [Direction::Forward, Direction::Reverse] {
                    let most = 10 * PAIRS as usize;
                    let [_, by_pages, scanned] = all(reader, pages, KeySpan::FULL, direction, most);
                    for (seen, ended) in [by_pages, scanned] {
                        assert!(seen.len() <= 2 * PAIRS as usize, "{number}: {}", seen.len());
                        // The keys around the changed one may still be in order where they are now.
                        let is_right = seen.len() == PAIRS as usize && seen.is_sorted();
                        let is_right = is_right || seen.iter().rev().is_sorted();
                        assert!(
                            !checks || is_right || ended.contains("Damaged"),
                            "{number}: {ended}"
                        );
                    }
                }
            });
        }
        database.env.prepare_for_closing().wait();
    }
}

#[test]
fn foreign_keys_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let database = database(directory.path(), DatabaseFlags::empty());
    let mut txn = database.env.write_txn().unwrap();
    for number in 0..400u16 {
        let foreign = u8::from(number > 300);
        let key = [&[foreign], &number.to_be_bytes()[..]].concat();
        database.pairs.put(&mut txn, &key, &[7; 20]).unwrap();
    }
    txn.commit().unwrap();
    database.read(directory.path(), (u64::MAX, true), |reader, pages| {
        let pages = pages.unwrap();
        for direction in [Direction::Forward, Direction::Reverse] {
            for (min, max) in
                [(&[][..], None), (&[0, 9], None), (&[0, 9], Some(&[1, 40][..])), (&[], Some(&[7]))]
            {
                let span = KeySpan::new(min, max);
                let [by_steps, by_pages, scanned] = all(reader, pages, span, direction, usize::MAX);
                assert_eq!((&by_steps, &by_steps), (&by_pages, &scanned));
            }
            let [_, (_, ended), _] = all(reader, pages, KeySpan::FULL, direction, usize::MAX);
            assert!(ended.contains("does not begin with a zero byte"), "{ended}");
        }
        let last = 300u16.to_be_bytes();
        for near in [[1, 45], [1, 46], [9, 9]] {
            let [by_steps, by_pages] =
                [reader.get_near(&last, &near), pages.get_near(&last, &near)];
            assert_eq!(format!("{by_steps:?}"), format!("{by_pages:?}"));
        }
        for key in [&[1, 44][..], &[1, 45], &[9]] {
            let found = |pair: Result<Option<Pair<'_>>>| format!("{pair:?}");
            assert_eq!(found(reader.at_least(key, None)), found(pages.at_least(key, None)));
            assert_eq!(found(reader.at_most(key, None)), found(pages.at_most(key, None)));
            assert_eq!(reader.get(key).unwrap(), pages.get(key).unwrap());
        }
    });
}
