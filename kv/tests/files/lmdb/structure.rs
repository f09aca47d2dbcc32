//! The check of the structure of an LMDB file, which does not use LMDB.
#![cfg(feature = "lmdb")]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use permazen_kv::lmdb::{Durability, LmdbStore};
use permazen_kv::{Direction, KeySpan, KvDatabase, KvError, KvRead, TxOptions};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const PAGE: usize = 4096;

/// Changes keys at random, with values in and out of the leaves, and removes ranges.
fn change(store: &LmdbStore, rng: &mut StdRng, changes: u32) {
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    for _ in 0..changes {
        let key = rng.random_range(0..3000u32).to_be_bytes().repeat(rng.random_range(1..100));
        match rng.random_range(0..20) {
            0 => tx.remove_span(KeySpan::new(&key, Some(&[&key[..], &[0xff]].concat()))).unwrap(),
            1..=4 => tx.remove(&key).unwrap(),
            5 => tx.put(&key, &vec![1; rng.random_range(3000..30_000)]).unwrap(),
            _ => tx.put(&key, &vec![2; rng.random_range(0..300)]).unwrap(),
        }
    }
    tx.commit().unwrap();
}

fn store(path: &Path) -> LmdbStore {
    let builder = LmdbStore::builder().create(true).durability(Durability::MayLoseEverything);
    builder.checks(true).open(path).unwrap()
}

/// Neither the check of the file nor the checks of single pages find anything wrong.
fn is_sound(store: &LmdbStore) {
    assert_eq!(store.verify().unwrap(), [""; 0]);
    let tx = store.begin(&TxOptions::reading()).unwrap();
    let pairs = tx.scan(KeySpan::FULL, Direction::Forward).unwrap();
    let pairs = pairs.map(Result::unwrap).count() as u64;
    assert_eq!(store.statistics().unwrap().entries, Some(pairs));
    let back = tx.scan(KeySpan::FULL, Direction::Reverse).unwrap();
    assert_eq!(back.map(Result::unwrap).count() as u64, pairs);
}

#[test]
fn what_lmdb_writes_is_sound() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    is_sound(&store);
    let mut rng = StdRng::seed_from_u64(4);
    let mut reader = None;
    for round in 0..60 {
        change(&store, &mut rng, if round % 10 == 0 { 2000 } else { 20 });
        is_sound(&store);
        // Readers keep free pages from being used, which makes the lists of these pages longer.
        reader = (round % 3 > 0).then(|| store.begin(&TxOptions::reading()).unwrap()).or(reader);
    }
    drop(reader);
    // A reader keeps the free pages of all these commits, so that their list is a tree of several
    // levels.
    let reader = store.begin(&TxOptions::reading()).unwrap();
    for round in 0..800 {
        change(&store, &mut rng, 2);
        if round % 40 == 0 {
            is_sound(&store);
        }
    }
    drop(reader);
    for round in 0..300 {
        change(&store, &mut rng, 5);
        if round % 10 == 0 {
            is_sound(&store);
        }
    }
    let copy = tempfile::tempdir().unwrap();
    store.copy_to(copy.path()).unwrap();
    assert_eq!(LmdbStore::open(copy.path()).unwrap().verify().unwrap(), [""; 0]);
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    tx.remove_span(KeySpan::FULL).unwrap();
    tx.commit().unwrap();
    is_sound(&store);
}

#[test]
fn looking_while_others_write_finds_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    change(&store, &mut StdRng::seed_from_u64(0), 3000);
    let enough = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut rng = StdRng::seed_from_u64(1);
            while !enough.load(Ordering::Relaxed) {
                change(&store, &mut rng, 2);
            }
        });
        for round in 0..100 {
            let builder = LmdbStore::builder().durability(Durability::MayLoseEverything);
            let same = builder.verify(round % 10 == 0).open(dir.path());
            assert!(same.is_ok(), "round {round}: {:?}", same.err());
        }
        enough.store(true, Ordering::Relaxed);
    });
}

/// The last page for which `is` is true. The last pages were written last, so they are in use.
fn find(bytes: &[u8], is: impl Fn(&[u8]) -> bool) -> usize {
    bytes.chunks(PAGE).rposition(is).unwrap()
}

fn has(page: &[u8], part: &[u8]) -> bool {
    page.windows(part.len()).any(|window| window == part)
}

/// The first page of the tree of pairs. It is in the record with the name of the database.
fn root(bytes: &[u8]) -> usize {
    let page = find(bytes, |page| page[10] == 2 && has(page, b"permazen"));
    let page = &bytes[page * PAGE..];
    let name = page.windows(8).position(|window| window == b"permazen").unwrap();
    usize::from(page[name + 48]) | usize::from(page[name + 49]) << 8
}

/// The file of a store with branches, leaves and a value on pages of its own.
fn sample(path: &Path) -> Vec<u8> {
    let store = store(path);
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    for key in 0..20_000u32 {
        tx.put(&key.to_be_bytes(), &[key as u8; 100]).unwrap();
    }
    tx.put(&5u32.to_be_bytes(), &[5; 20_000]).unwrap();
    tx.commit().unwrap();
    drop(store);
    fs::read(path.join("data.mdb")).unwrap()
}

/// The error of opening such a file with `verify`.
fn problem_of(file: &[u8]) -> String {
    let damaged = tempfile::tempdir().unwrap();
    fs::write(damaged.path().join("data.mdb"), file).unwrap();
    match LmdbStore::builder().verify(true).open(damaged.path()) {
        Err(KvError::Damaged { reason, .. }) => reason.into(),
        other => panic!("{other:?}"),
    }
}

/// All problems of such a file, or the error if it cannot be opened.
fn problems_of(file: &[u8]) -> String {
    let damaged = tempfile::tempdir().unwrap();
    fs::write(damaged.path().join("data.mdb"), file).unwrap();
    match LmdbStore::builder().read_only(true).open(damaged.path()) {
        Ok(store) => store.verify().unwrap().join("; "),
        Err(KvError::Damaged { reason, .. }) => reason.into(),
        Err(other) => panic!("{other:?}"),
    }
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn set(bytes: &mut [u8], at: usize, number: u64) {
    bytes[at..at + 8].copy_from_slice(&number.to_ne_bytes());
}

/// The start of the meta page that was written last.
fn meta(bytes: &[u8]) -> usize {
    if number(bytes, 144) > number(bytes, PAGE + 144) { 0 } else { PAGE }
}

/// The start of each entry of a page.
fn entries(bytes: &[u8], page: usize) -> Vec<usize> {
    let at = |at: usize| usize::from(u16::from_ne_bytes(bytes[at..at + 2].try_into().unwrap()));
    let page = page * PAGE;
    (page + 16..page + at(page + 12)).step_by(2).map(|entry| page + at(entry)).collect()
}

#[test]
fn records_of_trees_must_bear_out_the_pages() {
    let dir = tempfile::tempdir().unwrap();
    let whole = sample(dir.path());
    let page = find(&whole, |page| page[10] == 2 && has(page, b"permazen")) * PAGE;
    let name = whole[page..].windows(8).position(|window| window == b"permazen").unwrap();
    let pairs = page + name + 8;
    let databases = meta(&whole) + 88;
    // The depth decides how far branches are followed.
    for (tree, what) in [(pairs, "the pairs"), (databases, "the list of databases")] {
        for depth in [0u16, 33] {
            let mut file = whole.clone();
            file[tree + 6..tree + 8].copy_from_slice(&depth.to_ne_bytes());
            let expected = format!("{what}: recorded as {depth} pages deep");
            assert!(problem_of(&file).contains(&expected), "{expected}");
        }
    }
    let counts = [(8, "branch pages"), (16, "leaf pages"), (24, "overflow pages"), (32, "entries")];
    for (at, of) in counts {
        let mut file = whole.clone();
        let real = number(&file, pairs + at);
        set(&mut file, pairs + at, real + 1);
        let expected = format!("{real} {of} where {} are recorded", real + 1);
        assert!(problem_of(&file).contains(&expected), "{expected}");
    }
    let mut file = whole.clone();
    set(&mut file, pairs + 40, u64::MAX);
    assert!(problem_of(&file).contains("the pairs: recorded without a first page"));
    [8, 16, 24, 32].into_iter().for_each(|at| set(&mut file, pairs + at, 0));
    assert!(problem_of(&file).contains("recorded without a first page, but as 3 pages deep"));
    let mut file = whole.clone();
    // Files with the flag 4 are of another program, see `lmdb/tests.rs`.
    file[pairs + 4] = 0x84;
    assert!(problem_of(&file).contains("the pairs are recorded with flags 0x84"));
    let mut file = whole.clone();
    let last = number(&file, meta(&whole) + 136);
    set(&mut file, meta(&whole) + 136, last + (1 << 20));
    assert!(problem_of(&file).contains("is neither in the file nor free"));
}

fn put_u16(bytes: &mut [u8], at: usize, number: u16) {
    bytes[at..at + 2].copy_from_slice(&number.to_ne_bytes());
}

#[test]
fn pages_must_fit_together() {
    let dir = tempfile::tempdir().unwrap();
    let whole = sample(dir.path());
    let list = find(&whole, |page| page[10] == 2 && has(page, b"permazen"));
    let name = whole[list * PAGE..].windows(8).position(|window| window == b"permazen").unwrap();
    let record = list * PAGE + name + 8;
    let root = root(&whole);
    let branch = entries(&whole, root);
    let leaf = find(&whole, |page| page[10] == 2 && has(page, &[0, 0, 0, 0x20, 0]));
    let [first, second] = [entries(&whole, leaf)[0], entries(&whole, leaf)[1]];
    let place = u16::try_from(second - leaf * PAGE).unwrap();
    let cases = [
        (branch[0], 1, "the pairs: page 1 is recorded, where pages 2 to".to_owned()),
        (
            branch[0] + 4,
            1,
            format!("where pages 2 to {} can be", number(&whole, meta(&whole) + 136)),
        ),
        (branch[0], root as u16, format!("page {root} is used twice, at last for the pairs")),
        (branch[1] + 6, 0, format!("the pairs: page {root} has an impossible key")),
        (root * PAGE + 12, 18, format!("branch page {root} has one entry only")),
        (record + 6, 2, "is a branch at depth 2 of 2".to_owned()),
        (record + 6, 4, "is a leaf at depth 3 of 4".to_owned()),
        (leaf * PAGE + 16, place, format!("page {leaf} has entries that overlap")),
        (first + 6, 0, format!("the pairs: page {leaf} has an impossible key")),
        (first + 4, 2, format!("page {leaf} has a database where a value should be")),
        (record - 16, 47, format!("page {list} has a database without a record")),
    ];
    for (at, value, expected) in cases {
        let mut file = whole.clone();
        put_u16(&mut file, at, value);
        let problem = problems_of(&file);
        assert!(problem.contains(&expected), "{expected}: {problem}");
    }
    let cut = problem_of(&whole[..whole.len() / PAGE / 2 * PAGE]);
    assert!(cut.contains("seems to be cut off"), "{cut}");
    assert!(cut.contains("and the file ends before it"), "{cut}");
}

#[test]
fn meta_pages_must_fit_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let whole = sample(dir.path());
    let cases = [
        (16, 7, "data.mdb is no LMDB data file"),
        (PAGE + 16, 7, "the second page of data.mdb is not a meta page"),
        (20, 99, "has LMDB format version 99"),
        (40, 4095, "page size of 4095 bytes"),
        (PAGE + 40, 8192, "give different page sizes"),
        (44, 0x44, "impossible flags 0x44 and 0x0 in meta page 0"),
        (PAGE + 92, 0x44, "the flags MDB_DUPSORT | MDB_REVERSEDUP"),
        (PAGE + 92, 0x80, "and 0x80 in meta page 1"),
        (144, 77, "not of two successive commits"),
    ];
    for (at, value, expected) in cases {
        let damaged = tempfile::tempdir().unwrap();
        let mut file = whole.clone();
        put_u16(&mut file, at, value);
        fs::write(damaged.path().join("data.mdb"), &file).unwrap();
        let error = LmdbStore::open(damaged.path()).err().unwrap();
        assert!(matches!(error, KvError::Damaged { .. } | KvError::Open { .. }), "{error:?}");
        assert!(error.to_string().contains(expected), "{expected}: {error}");
    }
}

#[test]
fn lists_of_free_pages_must_be_right() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path());
    // While a reader is open each commit leaves a list, so these need several pages.
    let reader = store.begin(&TxOptions::reading()).unwrap();
    let mut rng = StdRng::seed_from_u64(3);
    (0..400).for_each(|_| change(&store, &mut rng, 2));
    drop(reader);
    drop(store);
    let whole = fs::read(dir.path().join("data.mdb")).unwrap();
    let root = number(&whole, meta(&whole) + 80) as usize;
    let leaves: Vec<_> = entries(&whole, root)
        .into_iter()
        .map(|entry| u32::from_ne_bytes(whole[entry..entry + 4].try_into().unwrap()) as usize)
        .collect();
    assert!(leaves.len() > 1 && leaves.iter().all(|leaf| whole[leaf * PAGE + 10] == 2));
    let first = entries(&whole, leaves[0]);
    // After the head of the entry and the number of the commit: first the number of pages, then the
    // pages.
    let at = |entry: &usize| entry + 16;
    let list = at(first.iter().find(|entry| number(&whole, at(entry)) > 1).unwrap());
    let [first_page, last_leaf] = [number(&whole, list + 8), *leaves.last().unwrap() as u64];
    let last_key = entries(&whole, last_leaf as usize).last().unwrap() + 8;
    let cases = [
        (list + 16, first_page, format!("page {first_page} is free twice")),
        (list + 8, root as u64, format!("page {root} is in use and free")),
        (list + 8, last_leaf, format!("page {last_leaf} is in use and free")),
        (list + 8, 1, "there is no page 1".to_owned()),
        (list, 1 << 40, "longer than it can be".to_owned()),
        (last_key, 1 << 40, "freed by a commit to come".to_owned()),
    ];
    for (at, value, expected) in cases {
        let mut file = whole.clone();
        set(&mut file, at, value);
        let problem = problem_of(&file);
        assert!(problem.contains(&expected), "{expected}: {problem}");
    }
}

#[test]
fn damage_is_found_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let whole = sample(&path);
    let leaf = find(&whole, |page| page[10] == 2 && has(page, &[0, 0, 0, 0x20, 0]));
    let overflow = find(&whole, |page| page[10] == 4);
    let root = root(&whole);
    let cases: [(usize, &[u8], &str); 8] = [
        (leaf * PAGE, &[9], "says that it is another page"),
        (leaf * PAGE + 10, &[0x12], "is no page of a tree"),
        (leaf * PAGE + 14, &[0, 0x20], "has impossible bounds"),
        (leaf * PAGE + 12, &[16, 0], "has no entries"),
        (leaf * PAGE + 16, &[0xfe, 0xff], "has an entry that is not within it"),
        (overflow * PAGE + 12, &[1, 0], "does not begin the 20000 bytes"),
        (overflow * PAGE + 10, &[1], "does not begin the 20000 bytes"),
        (leaf * PAGE + PAGE - 106, &[0xff], "out of order"),
    ];
    for (at, bytes, expected) in cases {
        let damaged = tempfile::tempdir().unwrap();
        let mut file = whole.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        fs::write(damaged.path().join("data.mdb"), &file).unwrap();
        let store = LmdbStore::builder().read_only(true).open(damaged.path()).unwrap();
        let problems = store.verify().unwrap();
        assert!(problems[0].contains(expected), "{expected}: {problems:?}");
        drop(store);
        match LmdbStore::builder().verify(true).open(damaged.path()) {
            Err(KvError::Damaged { reason, .. }) => assert_eq!(*reason, *problems[0]),
            other => panic!("{other:?}"),
        }
    }
    // The page that names the database is always checked.
    let mut file = whole.clone();
    file[root * PAGE + 12..root * PAGE + 14].copy_from_slice(&[0xff, 0xff]);
    fs::write(path.join("data.mdb"), &file).unwrap();
    let error = LmdbStore::open(&path).err().unwrap();
    assert!(matches!(error, KvError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("impossible bounds"), "{error}");
}

/// A copy that was not finished does not block the next one, and is not taken for a complete copy.
#[test]
fn a_copy_appears_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir.path().join("store"));
    change(&store, &mut StdRng::seed_from_u64(2), 500);
    let target = dir.path().join("copy");
    fs::create_dir(&target).unwrap();
    let part = target.join("data.mdb.part");
    fs::write(&part, vec![1; 1 << 20]).unwrap();
    assert!(LmdbStore::open(&target).is_err());
    let other = fs::File::open(&part).unwrap();
    other.lock().unwrap();
    let error = store.copy_to(&target).unwrap_err();
    assert!(error.to_string().contains("another copy is just being written"), "{error}");
    drop(other);
    store.copy_to(&target).unwrap();
    assert!(!part.exists());
    let copy = LmdbStore::builder().verify(true).open(&target).unwrap();
    assert_eq!(copy.statistics().unwrap().entries, store.statistics().unwrap().entries);
}

/// Files that appear while the copy is made keep their names.
#[test]
#[cfg(unix)]
fn a_copy_replaces_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir.path().join("store"));
    change(&store, &mut StdRng::seed_from_u64(2), 500);
    let target = dir.path().join("copy");
    fs::create_dir(&target).unwrap();
    let (data, part) = (target.join("data.mdb"), target.join("data.mdb.part"));
    // A link to a place that is not mounted is noticed only when the copy gets its name.
    std::os::unix::fs::symlink(dir.path().join("elsewhere"), &data).unwrap();
    let error = store.copy_to(&target).unwrap_err();
    assert!(matches!(error, KvError::Open { .. }), "{error}");
    assert!(error.to_string().contains("there is an environment already"), "{error}");
    assert!(fs::symlink_metadata(&data).unwrap().is_symlink() && !part.exists());
    fs::remove_file(&data).unwrap();
    // A copy that kept its first name as well, and was moved since.
    store.copy_to(&target).unwrap();
    let moved = dir.path().join("moved");
    fs::rename(&data, &moved).unwrap();
    fs::hard_link(&moved, &part).unwrap();
    let first = fs::read(&moved).unwrap();
    change(&store, &mut StdRng::seed_from_u64(5), 500);
    store.copy_to(&target).unwrap();
    assert!(fs::read(&moved).unwrap() == first && !part.exists());
}

#[test]
fn of_several_copies_to_one_place_one_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir.path().join("store"));
    change(&store, &mut StdRng::seed_from_u64(2), 500);
    for round in 0..20 {
        let target = dir.path().join(round.to_string());
        let results: Vec<_> = std::thread::scope(|scope| {
            let copies: Vec<_> = (0..4).map(|_| scope.spawn(|| store.copy_to(&target))).collect();
            copies.into_iter().map(|copy| copy.join().unwrap()).collect()
        });
        assert_eq!(results.iter().filter(|copied| copied.is_ok()).count(), 1, "{results:?}");
        for error in results.into_iter().filter_map(Result::err) {
            let text = error.to_string();
            assert!(text.contains("already") || text.contains("another copy"), "{text}");
        }
        assert!(!target.join("data.mdb.part").exists());
        LmdbStore::builder().verify(true).open(&target).unwrap();
    }
}
