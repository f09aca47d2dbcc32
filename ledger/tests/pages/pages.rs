//! Pages with their history.

use std::sync::{Arc, Mutex};

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::{
    Capabilities, Direction, KeySpan, KvDatabase, KvError, KvRead, KvTransaction, KvWrite,
    TxOptions,
};
use permazen_ledger::{
    CommitId, CommitTime, LedgerError, MAIN, Origin, Page, PageId, Repository, Secret,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::page::{Map, new_page, pairs, put};

#[test]
fn every_commit_keeps_its_content() {
    let page = new_page();
    let db = page.database(MAIN).unwrap();
    let mut random = StdRng::seed_from_u64(1);
    let (mut map, mut states) = (Map::new(), vec![(CommitId::FIRST, Map::new())]);
    for _ in 0..200 {
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        for _ in 0..random.random_range(0..8) {
            let key = vec![random.random_range(0..40), random.random_range(0..4)];
            match random.random_range(0..8) {
                0 => {
                    let end = [key[0] + 3];
                    tx.remove_span(KeySpan::new(&key, Some(&end))).unwrap();
                    map.retain(|it, _| *it < key || it[..] >= end[..]);
                }
                1 => {
                    tx.remove(&key).unwrap();
                    map.remove(&key);
                }
                kind => {
                    let len = if kind == 2 { random.random_range(0..20_000) } else { 9 };
                    let value = vec![random.random(); len];
                    tx.put(&key, &value).unwrap();
                    map.insert(key, value);
                }
            }
        }
        tx.commit().unwrap();
        states.push((page.head(MAIN).unwrap(), map.clone()));
    }
    for (id, map) in &states {
        let snapshot = page.snapshot(id).unwrap();
        assert_eq!(pairs(&snapshot), *map);
        assert_eq!(snapshot.count(KeySpan::FULL).unwrap(), map.len() as u64);
    }
    for _ in 0..100 {
        let [old, new] = [(); 2].map(|()| &states[random.random_range(0..states.len())]);
        let found: Vec<_> =
            page.diff(&old.0, &new.0, KeySpan::FULL, Direction::Forward).unwrap().collect();
        let mut applied = old.1.clone();
        for change in found {
            let change = change.unwrap();
            assert_eq!(applied.get(&change.key), change.old.as_ref());
            assert_ne!(change.old, change.new);
            match change.new {
                Some(value) => applied.insert(change.key, value),
                None => applied.remove(&change.key),
            };
        }
        assert_eq!(applied, new.1);
    }
    // A transaction that changes nothing makes no commit.
    let head = page.head(MAIN).unwrap();
    let (key, value) = map.first_key_value().unwrap();
    assert_eq!(put(&page, MAIN, key, value), head);
    let commits: Vec<_> = page.log(head).unwrap().map(|commit| commit.unwrap()).collect();
    let mut ids: Vec<_> = states.iter().map(|(id, _)| *id).collect();
    ids.dedup();
    assert_eq!(commits.iter().rev().map(|(id, _)| *id).collect::<Vec<_>>(), ids[1..]);
    for pair in commits.windows(2) {
        let [(_, newer), (older_id, older)] = pair else { unreachable!() };
        assert_eq!(newer.parents(), [*older_id]);
        assert!(newer.time > older.time && newer.generation == older.generation + 1);
    }
}

#[test]
fn equal_contents_have_equal_roots() {
    let mut random = StdRng::seed_from_u64(2);
    let map: Map = (0..3_000)
        .map(|_| {
            let key = (0..random.random_range(1..9)).map(|_| random.random_range(0..9)).collect();
            (key, vec![random.random(); random.random_range(0..700)])
        })
        .collect();
    let roots = [1, 40, 3_000].map(|portion| {
        let repository = Repository::open_or_create(MemoryStore::new()).unwrap();
        let secret = Secret::new([3; 32]);
        let page = repository.create_page_with("a", PageId::ROOT, secret).unwrap();
        let db = page.database(MAIN).unwrap();
        let mut entries: Vec<_> = map.iter().collect();
        for at in (1..entries.len()).rev() {
            entries.swap(at, random.random_range(0..=at));
        }
        // Entries that are removed again leave no trace.
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        (0..100_u32).for_each(|n| tx.put(&n.to_be_bytes(), b"gone").unwrap());
        tx.commit().unwrap();
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        tx.remove_span(KeySpan::FULL).unwrap();
        tx.commit().unwrap();
        for entries in entries.chunks(portion.max(20)) {
            let mut tx = db.begin(&TxOptions::writing()).unwrap();
            entries.iter().for_each(|(key, value)| tx.put(key, value).unwrap());
            tx.commit().unwrap();
        }
        page.snapshot(&page.head(MAIN).unwrap()).unwrap().root()
    });
    assert_eq!(roots[0], roots[1]);
    assert_eq!(roots[0], roots[2]);
    // Another secret cuts at other places.
    let page = new_page();
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    map.iter().for_each(|(key, value)| tx.put(key, value).unwrap());
    tx.commit().unwrap();
    assert_ne!(page.snapshot(&page.head(MAIN).unwrap()).unwrap().root(), roots[0]);
}

#[test]
fn branches_and_tags_name_commits() {
    let page = new_page();
    assert_eq!(page.branches().unwrap(), [(MAIN.to_owned(), vec![CommitId::FIRST])]);
    let first = put(&page, MAIN, b"a", b"1");
    page.create_branch("other", &first).unwrap();
    let second = put(&page, MAIN, b"b", b"2");
    let third = put(&page, "other", b"c", b"3");
    assert_eq!(pairs(&page.snapshot(&second).unwrap()).len(), 2);
    assert!(page.snapshot(&third).unwrap().get(b"b").unwrap().is_none());
    let branches = page.branches().unwrap();
    assert_eq!(branches, [(MAIN.into(), vec![second]), ("other".into(), vec![third])]);
    assert!(page.is_ancestor(&first, &third).unwrap() && page.is_ancestor(&first, &first).unwrap());
    assert!(!page.is_ancestor(&second, &third).unwrap());
    assert!(page.is_ancestor(&CommitId::FIRST, &third).unwrap());

    page.set_tag("v1", &first).unwrap();
    page.set_tag("v2", &first).unwrap();
    page.set_tag("v2", &second).unwrap();
    assert_eq!(page.tags().unwrap(), [("v1".into(), first), ("v2".into(), second)]);
    page.remove_tag("v1").unwrap();
    assert!(matches!(page.tag("v1"), Err(LedgerError::NoSuch { what: "tag", .. })));
    assert_eq!(page.tag("v2").unwrap(), second);

    page.remove_branch("other").unwrap();
    assert!(matches!(page.head("other"), Err(LedgerError::NoSuch { .. })));
    assert!(matches!(page.create_branch(MAIN, &first), Err(LedgerError::Exists { .. })));
    for name in ["", "a\0b", &"x".repeat(256)] {
        let error = page.create_branch(name, &first).unwrap_err();
        assert!(matches!(error, LedgerError::InvalidArgument(_)));
        assert!(matches!(page.set_tag(name, &first), Err(LedgerError::InvalidArgument(_))));
    }
    let unknown = CommitId(permazen_ledger::Kind::Commit.digest(b""));
    for error in [
        page.create_branch("x", &unknown).unwrap_err(),
        page.set_tag("x", &unknown).unwrap_err(),
        page.reset(MAIN, &unknown).unwrap_err(),
        page.snapshot(&unknown).unwrap_err(),
        page.log(unknown).map(drop).unwrap_err(),
    ] {
        assert!(matches!(error, LedgerError::NoCommit { commit, .. } if commit == unknown));
    }
    assert_eq!(page.head(MAIN).unwrap(), second);
    assert!(matches!(page.remove_branch("x"), Err(LedgerError::NoSuch { .. })));
    assert!(matches!(page.database("x"), Err(LedgerError::NoSuch { .. })));
}

#[test]
fn a_reset_stops_transactions_that_are_under_way() {
    let page = new_page();
    let first = put(&page, MAIN, b"a", b"1");
    put(&page, MAIN, b"a", b"2");
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.get(b"a").unwrap();
    tx.put(b"b", b"3").unwrap();
    page.reset(MAIN, &first).unwrap();
    assert!(tx.commit().unwrap_err().is_retryable());
    assert_eq!(page.head(MAIN).unwrap(), first);
    // Forward and back again: the values that were read are as they were, and the number of the
    // version is not.
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    assert_eq!(tx.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
    tx.put(b"b", b"3").unwrap();
    put(&page, MAIN, b"c", b"1");
    page.reset(MAIN, &first).unwrap();
    tx.commit().unwrap();
    let keys: Vec<_> =
        pairs(&page.snapshot(&page.head(MAIN).unwrap()).unwrap()).into_keys().collect();
    assert_eq!(keys, [b"a".to_vec(), b"b".to_vec()]);
}

#[test]
fn repositories_keep_pages_apart() {
    let host = MemoryStore::new();
    let repository = Repository::open_or_create(host.clone()).unwrap();
    let ids = [PageId::ROOT, PageId::random().unwrap(), PageId::random().unwrap()];
    for (at, id) in ids.iter().enumerate() {
        let page = repository.create_page("a", *id).unwrap();
        put(&page, MAIN, b"key", &[at as u8]);
    }
    repository.create_page("b\0", ids[0]).unwrap();
    let error = repository.create_page("a", ids[1]).unwrap_err();
    assert!(matches!(error, LedgerError::Exists { what: "page", .. }));
    for name in ["", &"x".repeat(129)] {
        let error = repository.create_page(name, ids[0]).unwrap_err();
        assert!(matches!(error, LedgerError::InvalidArgument(_)));
    }
    // The pages are closed.
    repository.maintain().unwrap();
    let repository = Repository::open(host.clone()).unwrap();
    for (at, id) in ids.iter().enumerate() {
        let page = repository.page("a", *id).unwrap();
        let snapshot = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
        assert_eq!(pairs(&snapshot), Map::from([(b"key".to_vec(), vec![at as u8])]));
    }
    let pages = repository.pages().unwrap();
    assert_eq!(pages.len(), 4);
    assert_eq!(pages[3], ("b\0".to_owned(), ids[0]));
    repository.delete_page("a", ids[1]).unwrap();
    assert!(matches!(repository.page("a", ids[1]), Err(LedgerError::NoSuch { .. })));
    assert_eq!(repository.pages().unwrap().len(), 3);
    assert!(repository.page("a", ids[2]).is_ok());
    // A new page of the same name has nothing of the old one.
    let page = repository.create_page("a", ids[1]).unwrap();
    assert_eq!(page.head(MAIN).unwrap(), CommitId::FIRST);
}

#[test]
fn other_data_is_no_repository() {
    let host = MemoryStore::new();
    let refused = |opened: Result<Repository, LedgerError>| match opened {
        Err(error @ LedgerError::NoRepository { is_empty, .. }) => (is_empty, error.to_string()),
        other => panic!("{other:?}"),
    };
    let (is_empty, told) = refused(Repository::open(host.clone()));
    assert!(is_empty);
    assert!(told.contains("no repository yet: Repository::open_or_create makes one"), "{told}");
    let mut tx = host.begin(&TxOptions::writing()).unwrap();
    tx.put(b"key", b"value").unwrap();
    tx.commit().unwrap();
    for opened in [Repository::open_or_create(host.clone()), Repository::open(host)] {
        let (is_empty, told) = refused(opened);
        assert!(!is_empty && told.contains("has other data"), "{told}");
    }
}

#[test]
fn t148_a_flipped_bit_in_any_row_is_an_error_or_changes_nothing() {
    let host = MemoryStore::new();
    let repository = Repository::open_or_create(host.clone()).unwrap();
    let page = repository.create_page("a", PageId::ROOT).unwrap();
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    (0..2_000_u32).for_each(|n| tx.put(&n.to_be_bytes(), &n.to_le_bytes()).unwrap());
    tx.put(b"long", &(0..100_000_u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect::<Vec<_>>())
        .unwrap();
    tx.commit().unwrap();
    page.set_tag("tag", &page.head(MAIN).unwrap()).unwrap();
    let expected = pairs(&page.snapshot(&page.head(MAIN).unwrap()).unwrap());
    let read = || -> permazen_ledger::Result<Map> {
        // Without a cache.
        let page = Repository::open(host.clone())?.page("a", PageId::ROOT)?;
        page.branches()?;
        let head = page.head(MAIN)?;
        if page.tag("tag")? != head {
            return Err(LedgerError::NoCommit { page: 1, commit: head });
        }
        let snapshot = page.snapshot(&head)?;
        let mut map = Map::new();
        for pair in snapshot.scan(KeySpan::FULL, Direction::Forward)? {
            let (key, value) = pair?;
            map.insert(key.into_owned(), value.into_owned());
        }
        Ok(map)
    };
    assert_eq!(read().unwrap(), expected);
    let rows = pairs(&host.begin(&TxOptions::reading()).unwrap());
    let mut random = StdRng::seed_from_u64(5);
    let set = |key: &[u8], value: Option<&[u8]>| {
        let mut tx = host.begin(&TxOptions::writing()).unwrap();
        match value {
            Some(value) => tx.put(key, value).unwrap(),
            None => tx.remove(key).unwrap(),
        }
        tx.commit().unwrap();
    };
    let (count, mut errors) = (rows.len(), 0);
    for (key, value) in rows {
        for _ in 0..4 {
            let mut damaged = value.clone();
            let at = random.random_range(0..damaged.len());
            damaged[at] ^= 1 << random.random_range(0..8);
            set(&key, Some(&damaged));
            match read() {
                Ok(found) => assert_eq!(found, expected, "row {key:?}, byte {at}"),
                Err(_) => errors += 1,
            }
        }
        set(&key, Some(&value));
        let mut moved = key.clone();
        let at = random.random_range(0..moved.len());
        moved[at] ^= 1 << random.random_range(0..8);
        set(&key, None);
        set(&moved, Some(&value));
        match read() {
            Ok(found) => assert_eq!(found, expected, "row {key:?} moved to {moved:?}"),
            Err(_) => errors += 1,
        }
        set(&moved, None);
        set(&key, Some(&value));
    }
    assert_eq!(read().unwrap(), expected);
    // Damage is not noticed in rows that are not read: those of processes and the counts.
    assert!(errors > 4 * count, "{errors} errors with {count} rows");
}

#[test]
fn errors_come_back_from_the_key_value_layer() {
    let page = new_page();
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    let error = tx.put(&[0; 8_193], b"").and_then(|()| tx.commit()).unwrap_err();
    assert!(matches!(error, KvError::KeyTooLong { len: 8_193, max: 8_192, .. }), "{error}");
    page.remove_branch(MAIN).unwrap();
    let error = db.begin(&TxOptions::writing()).map(drop).unwrap_err();
    assert!(matches!(LedgerError::from(error), LedgerError::NoSuch { what: "branch", .. }));
}

#[test]
fn two_handles_of_one_host_are_serializable() {
    let host = MemoryStore::new();
    Repository::open_or_create(host.clone()).unwrap().create_page("a", PageId::ROOT).unwrap();
    // As two processes: nothing is shared but the host.
    let add = |count: u32| {
        let page = Repository::open(host.clone()).unwrap().page("a", PageId::ROOT).unwrap();
        let db = page.database(MAIN).unwrap();
        for _ in 0..count {
            loop {
                let mut tx = db.begin(&TxOptions::writing()).unwrap();
                let old = tx.get(b"sum").unwrap().map_or(0, |sum| sum[0]);
                tx.put(b"sum", &[old + 1]).unwrap();
                match tx.commit() {
                    Ok(()) => break,
                    Err(error) => assert!(error.is_retryable(), "{error}"),
                }
            }
        }
    };
    std::thread::scope(|scope| {
        (0..3).for_each(|_| {
            scope.spawn(|| add(50));
        });
    });
    let page = Repository::open(host.clone()).unwrap().page("a", PageId::ROOT).unwrap();
    let head = page.head(MAIN).unwrap();
    assert_eq!(page.snapshot(&head).unwrap().get(b"sum").unwrap().as_deref(), Some(&[150][..]));
    assert_eq!(page.log(head).unwrap().count(), 150);
}

#[test]
fn commits_say_what_they_are() {
    let page = new_page();
    let id = put(&page, MAIN, b"a", b"1");
    let commit = page.commit(&id).unwrap().unwrap();
    assert!(matches!(&commit.origin, Origin::Change { parent, .. } if *parent == CommitId::FIRST));
    assert!(commit.time > CommitTime::default() && commit.generation == 1);
    assert!(page.commit(&CommitId::FIRST).unwrap().is_none());
}

#[test]
fn changes_say_on_which_device_they_were_made_unless_told_otherwise() {
    let device_of = |page: &Page, id: &CommitId| match page.commit(id).unwrap().unwrap().origin {
        Origin::Change { device, .. } => device,
        other => panic!("{other:?}"),
    };
    let host = MemoryStore::new();
    let tx = |host: &MemoryStore| {
        let tx = host.begin(&TxOptions::reading()).unwrap();
        tx.get(&[0x02]).unwrap().unwrap()[..16].to_vec()
    };
    let repository = Repository::open_or_create(host.clone()).unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    let first = put(&page, MAIN, b"a", b"1");
    assert_eq!(device_of(&page, &first)[..], tx(&host));
    assert_ne!(device_of(&page, &first), [0; 16]);
    put(&page, MAIN, b"a", b"2");
    let squashed = page.squash(MAIN, &CommitId::FIRST, None).unwrap();
    assert_eq!(device_of(&page, &squashed)[..], tx(&host));
    let db = page.branching_database(MAIN).unwrap();
    let mut beside = db.begin(&TxOptions::writing()).unwrap();
    beside.put(b"b", b"1").unwrap();
    beside.commit().unwrap();
    assert_eq!(device_of(&page, &page.head(MAIN).unwrap())[..], tx(&host));
    // Each repository has another one.
    let other = MemoryStore::new();
    drop(Repository::open_or_create(other.clone()).unwrap());
    assert_ne!(tx(&other), tx(&host));
    drop((db, page, repository));
    let silent = Repository::builder(host.clone()).without_device().open().unwrap();
    let page = silent.page("test", PageId::ROOT).unwrap();
    let last = put(&page, MAIN, b"a", b"3");
    assert_eq!(device_of(&page, &last), [0; 16]);
}

#[test]
fn a_transaction_that_has_failed_often_holds_all_others_off() {
    let dir = tempfile::tempdir().unwrap();
    let host: Arc<dyn KvDatabase> = Arc::new(LmdbStore::open_or_create(dir.path()).unwrap());
    // Two processes, as far as they know.
    let repositories =
        [0, 1].map(|_| Repository::open_or_create_shared(Arc::clone(&host)).unwrap());
    let page = repositories[0].create_page("test", PageId::ROOT).unwrap();
    let other = repositories[1].page("test", PageId::ROOT).unwrap();
    let (ours, theirs) = (page.database(MAIN).unwrap(), other.database(MAIN).unwrap());
    let add = |db: &dyn KvDatabase, options: &TxOptions| {
        let mut tx = db.begin(options)?;
        let old = tx.get(b"count")?.map_or(0, |old| old[0]);
        tx.put(b"count", &[old + 1])?;
        tx.commit()
    };
    add(&ours, &TxOptions::writing()).unwrap();

    let mut exclusive = ours.begin(&TxOptions::writing().with_failed(6)).unwrap();
    let old = exclusive.get(b"count").unwrap().unwrap()[0];
    std::thread::scope(|scope| {
        let short = TxOptions::writing().with_wait(std::time::Duration::from_millis(50));
        let refused = scope.spawn(move || add(&theirs, &short).unwrap_err());
        assert!(refused.join().unwrap().is_retryable());
    });
    exclusive.put(b"count", &[old + 1]).unwrap();
    assert_eq!(exclusive.get(b"count").unwrap().as_deref(), Some(&[2][..]));
    exclusive.commit().unwrap();
    let theirs = other.database(MAIN).unwrap();
    add(&theirs, &TxOptions::writing()).unwrap();
    add(&ours, &TxOptions::writing().with_failed(6)).unwrap();
    let head = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
    assert_eq!(head.get(b"count").unwrap().as_deref(), Some(&[4][..]));
    assert_eq!(page.log(page.head(MAIN).unwrap()).unwrap().count(), 4);
    // A transaction that changes nothing makes no commit.
    let exclusive = ours.begin(&TxOptions::writing().with_failed(6)).unwrap();
    exclusive.commit().unwrap();
    assert_eq!(page.log(page.head(MAIN).unwrap()).unwrap().count(), 4);
}

#[test]
fn commits_have_the_author_and_message_of_their_thread() {
    let page = new_page();
    let author_and_message = |id: CommitId| match page.commit(&id).unwrap().unwrap().origin {
        Origin::Change { author, message, .. } => format!("{author}: {message}"),
        other => format!("{other:?}"),
    };
    let (inner, outer) = page
        .with_author_and_message("Ann", "outer", || {
            let inner = page
                .with_author_and_message("Bob", "inner", || put(&page, MAIN, b"a", b"1"))
                .unwrap();
            // A panic takes author and message back.
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                page.with_author_and_message("Cid", "", || std::panic::resume_unwind(Box::new(())))
            }));
            assert!(panicked.is_err());
            (inner, put(&page, MAIN, b"a", b"2"))
        })
        .unwrap();
    assert_eq!(
        (author_and_message(inner), author_and_message(outer)),
        ("Bob: inner".into(), "Ann: outer".into())
    );
    assert_eq!(author_and_message(put(&page, MAIN, b"a", b"3")), ": ");
    // The author and message of another page are not meant.
    let other = new_page();
    let commit = other.with_author_and_message("Ann", "", || put(&page, MAIN, b"a", b"4")).unwrap();
    assert_eq!(author_and_message(commit), ": ");
    let long = "x".repeat(4_097);
    let refused = page.with_author_and_message("", &long, || unreachable!());
    assert!(matches!(refused, Err::<(), _>(LedgerError::InvalidArgument(_))));
}

type Hook = Box<dyn FnOnce() + Send>;

/// A host that finds conflicts at commit. After the next transaction that writes has begun, others
/// do something.
struct Overtaken {
    host: Arc<OptimisticDatabase<MemoryStore>>,
    then: Mutex<Option<Hook>>,
}

impl KvDatabase for Overtaken {
    fn begin(&self, options: &TxOptions) -> permazen_kv::Result<Box<dyn KvTransaction + Send>> {
        let tx = self.host.begin(options)?;
        if !options.read_only {
            let hook = self.then.lock().unwrap().take();
            hook.into_iter().for_each(|hook| hook());
        }
        Ok(tx)
    }

    fn capabilities(&self) -> Capabilities {
        self.host.capabilities()
    }
}

#[test]
fn transactions_that_have_nothing_in_common_do_not_fail_on_a_host_that_finds_conflicts() {
    let host = Arc::new(OptimisticDatabase::new(MemoryStore::new()));
    let overtaken = Arc::new(Overtaken { host: Arc::clone(&host), then: Mutex::default() });
    let one = Repository::shared_builder(Arc::clone(&overtaken) as Arc<dyn KvDatabase>);
    let one = one.manual_maintenance().open_or_create().unwrap();
    let page = one.create_page("test", PageId::ROOT).unwrap();
    let two = Repository::shared_builder(host).manual_maintenance().open_or_create().unwrap();
    let other = Arc::new(two.page("test", PageId::ROOT).unwrap().database(MAIN).unwrap());
    let db = page.database(MAIN).unwrap();
    for number in 0..3_u8 {
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        tx.put(&[1, number], b"one").unwrap();
        let other = Arc::clone(&other);
        *overtaken.then.lock().unwrap() = Some(Box::new(move || {
            let mut tx = other.begin(&TxOptions::writing()).unwrap();
            tx.put(&[2, number], b"two").unwrap();
            tx.commit().unwrap();
        }));
        tx.commit().unwrap();
        assert!(overtaken.then.lock().unwrap().is_none());
    }
    assert_eq!(page.snapshot(&page.head(MAIN).unwrap()).unwrap().count(KeySpan::FULL).unwrap(), 6);
    assert_eq!(page.log(page.head(MAIN).unwrap()).unwrap().count(), 6);

    // A transaction that has read keys that the other one has written is refused, as always.
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    assert!(tx.get(&[2, 9]).unwrap().is_none());
    tx.put(&[1, 9], b"one").unwrap();
    *overtaken.then.lock().unwrap() = Some(Box::new(move || {
        let mut tx = other.begin(&TxOptions::writing()).unwrap();
        tx.put(&[2, 9], b"two").unwrap();
        tx.commit().unwrap();
    }));
    assert!(matches!(tx.commit(), Err(KvError::Conflict(_))));
    assert!(page.verify().unwrap().findings.is_empty());
}
