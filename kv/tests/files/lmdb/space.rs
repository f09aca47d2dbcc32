//! The space of pairs in the file of LMDB, and that copies fill their pages.
#![cfg(unix)]
#![allow(unsafe_code)]

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use heed::types::Bytes;
use heed::{CommitOrAbort, EnvOpenOptions, WithoutTls};
use permazen_kv::copy::Watch;
use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::prefix::Prefixed;
use permazen_kv::{KeySpan, KvDatabase, KvError, Space};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::{dump, reading, writing};

/// Pairs like those of objects: keys of 9 to 30 bytes in random order, under three prefixes, and
/// values of up to 20. Some values have pages of their own.
fn fill(store: &dyn KvDatabase, seed: u64, pairs: usize) {
    let mut rng = StdRng::seed_from_u64(seed);
    for _ in 0..pairs / 1000 {
        let mut tx = writing(store);
        for _ in 0..1000 {
            let mut key = vec![rng.random_range(1..=3)];
            key.extend((0..rng.random_range(8..30)).map(|_| rng.random::<u8>()));
            let len = if rng.random_ratio(1, 2000) { 9000 } else { rng.random_range(0..20) };
            tx.put(&key, &vec![7; len]).unwrap();
        }
        tx.commit().unwrap();
    }
}

fn all(store: &dyn KvDatabase) -> Space {
    store.space(&[KeySpan::FULL]).unwrap()[0]
}

#[test]
fn each_range_is_counted_as_its_pairs_are() {
    let dir = tempfile::tempdir().unwrap();
    let store = LmdbStore::open_or_create(dir.path()).unwrap();
    assert_eq!(all(&store), Space::default());
    fill(&store, 1, 20_000);
    let spans = [
        KeySpan::new(&[], Some(&[1])),
        KeySpan::new(&[1], Some(&[1, 77])),
        KeySpan::new(&[1, 77], Some(&[2])),
        KeySpan::new(&[2, 9, 9], Some(&[2, 9, 9])),
        KeySpan::new(&[3], None),
    ];
    let found = store.space(&spans).unwrap();
    let pairs = dump(&*reading(&store));
    for (span, found) in spans.iter().zip(&found) {
        let expected: Vec<_> = pairs.iter().filter(|(key, _)| span.contains(key)).collect();
        let bytes: usize = expected.iter().map(|(key, value)| key.len() + value.len()).sum();
        assert_eq!((found.pairs, found.pair_bytes), (expected.len() as u64, bytes as u64));
        assert!(found.filled_bytes >= found.pair_bytes && found.filled_bytes <= found.page_bytes);
        assert_eq!(found.page_bytes == 0, expected.is_empty());
    }
    // Together they take as much as all pairs, except for the rounding of shares.
    let (rest, total) = (store.space(&[KeySpan::new(&[2], Some(&[3]))]).unwrap()[0], all(&store));
    let sum: u64 = found.iter().chain([&rest]).map(|space| space.page_bytes).sum();
    assert!(sum <= total.page_bytes && total.page_bytes - sum < 200, "{sum} {total:?}");
    assert_eq!(total.pairs, pairs.len() as u64);
    let used = store.statistics().unwrap().used_bytes.unwrap();
    assert!(total.page_bytes < used && total.page_bytes > used / 10 * 9, "{total:?} {used}");

    let prefixed = Prefixed::new(store, &[1]);
    let found = prefixed.space(&[KeySpan::new(&[77], None)]).unwrap()[0];
    assert_eq!(found, prefixed.into_inner().space(&spans[2..3]).unwrap()[0]);
}

#[test]
fn ranges_in_another_order_are_refused_and_other_stores_say_that_they_do_not_know() {
    let dir = tempfile::tempdir().unwrap();
    let store = LmdbStore::open_or_create(dir.path()).unwrap();
    let (one, two) = (KeySpan::new(&[1], Some(&[2])), KeySpan::new(&[2], None));
    store.space(&[one, two]).unwrap();
    for spans in [[two, one], [one, one], [KeySpan::FULL, two], [KeySpan::new(&[2], Some(&[1])); 2]]
    {
        assert!(matches!(store.space(&spans), Err(KvError::InvalidArgument(_))), "{spans:?}");
    }
    let memory = MemoryStore::new();
    assert!(matches!(memory.space(&[one]), Err(KvError::Unsupported(_))));
}

/// Random keys leave pages two thirds full; copies fill them.
#[test]
fn copies_fill_their_pages() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let store = LmdbStore::open_or_create(path("db")).unwrap();
    fill(&store, 2, 40_000);
    let (before, pairs) = (all(&store), dump(&*reading(&store)));
    assert!(before.fill() < 0.8, "{before:?}");
    store.copy_to(path("copy")).unwrap();
    let from = reading(&store);
    LmdbStore::builder().create_from(path("from"), &from, &mut Watch::new()).unwrap();
    drop(from);
    drop(store);
    LmdbStore::builder().compact(path("db"), &mut Watch::new()).unwrap();
    for name in ["copy", "from", "db"] {
        let copy = LmdbStore::open(path(name)).unwrap();
        assert_eq!(dump(&*reading(&copy)), pairs, "{name}");
        assert_eq!(copy.verify().unwrap(), [""; 0], "{name}");
        let after = all(&copy);
        assert_eq!((after.pairs, after.pair_bytes), (before.pairs, before.pair_bytes));
        assert!(after.fill() >= 0.95, "{name}: {after:?}");
        let file = copy.statistics().unwrap().file_bytes.unwrap();
        assert!(file < after.page_bytes / 100 * 104, "{name}: {file} {after:?}");
    }
}

/// LMDB's own copy is made, with its half-full pages, if there are other databases or the map has
/// no room.
#[test]
fn what_cannot_be_packed_is_copied_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let store = LmdbStore::open_or_create(path("db")).unwrap();
    fill(&store, 3, 5_000);
    let pairs = dump(&*reading(&store));
    drop(store);
    {
        let env = plain(&path("db"));
        let created = env.create_databases_and_commit(env.write_txn().unwrap(), |opener, tx| {
            let other = opener.create_database::<Bytes, Bytes>(tx, Some("other"))?;
            other.put(tx, b"a", b"b")?;
            heed::Result::Ok(CommitOrAbort::<_, ()>::Commit(other))
        });
        created.unwrap().commit().unwrap();
        env.prepare_for_closing().wait();
    }
    let store = LmdbStore::open(path("db")).unwrap();
    let before = all(&store);
    store.copy_to(path("copy")).unwrap();
    let copy = LmdbStore::open(path("copy")).unwrap();
    assert_eq!((all(&copy), dump(&*reading(&copy))), (before, pairs));
    drop(copy);
    let env = plain(&path("copy"));
    let opened = env.open_databases_and_commit(env.read_txn().unwrap(), |opener, tx| {
        opener.open_database::<Bytes, Bytes>(tx, Some("other")).map(CommitOrAbort::<_, ()>::Commit)
    });
    let other = opened.unwrap().commit().flatten().unwrap();
    assert_eq!(other.get(&env.read_txn().unwrap(), b"a").unwrap(), Some(&b"b"[..]));
    env.prepare_for_closing().wait();
}

#[test]
fn a_packed_environment_that_fills_its_map_is_copied_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let (first, full, again) = (path("first"), path("full"), path("again"));
    let store = LmdbStore::open_or_create(&first).unwrap();
    fill(&store, 4, 3_000);
    store.copy_to(&full).unwrap();
    let pairs = dump(&*reading(&store));
    // The smallest map that has room for the file.
    let size = fs::metadata(full.join("data.mdb")).unwrap().len();
    let data = fs::OpenOptions::new().write(true).open(full.join("data.mdb")).unwrap();
    for meta in 0..2 {
        data.write_all_at(&size.to_ne_bytes(), meta * 4096 + 32).unwrap();
    }
    let store = LmdbStore::builder().map_size(usize::try_from(size).unwrap()).open(&full).unwrap();
    store.copy_to(&again).unwrap();
    drop(store);
    LmdbStore::builder().compact(&full, &mut Watch::new()).unwrap();
    for path in [full, again] {
        assert_eq!(dump(&*reading(&LmdbStore::open(path).unwrap())), pairs);
    }
}

/// Damaged pages are an error, and never a panic.
#[test]
fn damage_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let store = LmdbStore::open_or_create(dir.path()).unwrap();
    fill(&store, 5, 3_000);
    let path = dir.path().join("data.mdb");
    let data = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut rng = StdRng::seed_from_u64(6);
    let pages = data.metadata().unwrap().len() / 4096;
    let mut damaged = 0;
    for _ in 0..800 {
        // The heads of pages and their first nodes.
        let at = rng.random_range(2..pages) * 4096 + rng.random_range(0..40);
        let mut bytes = [0; 2];
        data.read_exact_at(&mut bytes, at).unwrap();
        data.write_all_at(&rng.random::<[u8; 2]>(), at).unwrap();
        match store.space(&[KeySpan::FULL]) {
            Ok(_) => {}
            Err(KvError::Damaged { .. } | KvError::Store { .. }) => damaged += 1,
            Err(error) => panic!("{error:?}"),
        }
        data.write_all_at(&bytes, at).unwrap();
    }
    assert!(damaged > 80, "{damaged}");
    assert_eq!(store.verify().unwrap(), [""; 0]);
}

fn plain(path: &Path) -> heed::Env<WithoutTls> {
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    // SAFETY: Only LMDB changes the files.
    unsafe { options.max_dbs(4).open(path) }.unwrap()
}
