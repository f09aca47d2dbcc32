//! Rows 105 to 110 and 139 to 147: transactions, and a page as a store.

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::{Direction, KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{KeyClass, MAIN, Merger, PageId, Repository, Secret};

use super::setting::{ALL, Setting, content, many, pairs};

#[test]
fn t105_a_transaction_keeps_its_base() {
    let setting = Setting::new();
    setting.put(b"key", b"1");
    let db = setting.page.database(MAIN).unwrap();
    let tx = db.begin(&TxOptions::reading()).unwrap();
    setting.put(b"key", b"2");
    assert_eq!(tx.get(b"key").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(setting.get(b"key").as_deref(), Some(&b"2"[..]));
}

#[test]
fn t106_and_107_a_transaction_that_is_dropped_makes_no_commit() {
    let setting = Setting::new();
    let before = setting.put(b"key", b"1");
    let db = setting.page.database(MAIN).unwrap();
    for rolls_back in [true, false] {
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        tx.put(b"key", b"2").unwrap();
        match rolls_back {
            true => tx.rollback(),
            false => drop(tx),
        }
        assert_eq!(setting.head(), before);
    }
}

#[test]
fn t108_what_is_acknowledged_is_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let open =
        || Repository::open_or_create(LmdbStore::open_or_create(dir.path()).unwrap()).unwrap();
    let head = {
        let page = open().create_page("test", PageId::ROOT).unwrap();
        let db = page.database(MAIN).unwrap();
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        tx.put(b"key", b"value").unwrap();
        tx.commit().unwrap();
        page.head(MAIN).unwrap()
    };
    // The handles are gone, and with them all threads: the file can be opened again at once.
    let page = open().page("test", PageId::ROOT).unwrap();
    assert_eq!(page.head(MAIN).unwrap(), head);
    assert_eq!(content(&page, &head)[&b"key"[..]], b"value");
}

#[test]
fn t110_a_listing_in_portions_shows_one_state() {
    let setting = Setting::new();
    let map = many(500);
    let snapshot = setting.page.snapshot(&setting.put_all(&map)).unwrap();
    let (mut found, mut from) = (Vec::new(), Vec::new());
    loop {
        let rest = permazen_kv::KeySpan::new(&from, None);
        let portion: Vec<_> =
            snapshot.scan(rest, Direction::Forward).unwrap().take(40).map(Result::unwrap).collect();
        let Some((last, _)) = portion.last() else { break };
        from = permazen_kv::key::next_key(last);
        found.extend(portion.iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
        // The page changes meanwhile.
        setting.write(MAIN, |tx| tx.put(&[&last[..], b"!"].concat(), b"new").unwrap());
    }
    assert!(found.into_iter().eq(map));
}

#[test]
fn t139_transactions_that_do_not_meet_make_a_line_of_commits() {
    let setting = Setting::new();
    let base = setting.put(b"base", b"");
    let db = setting.page.database(MAIN).unwrap();
    let mut one = db.begin(&TxOptions::writing()).unwrap();
    let mut two = db.begin(&TxOptions::writing()).unwrap();
    one.put(b"one", b"1").unwrap();
    two.put(b"two", b"2").unwrap();
    one.commit().unwrap();
    two.commit().unwrap();
    assert_eq!(setting.content().len(), 3);
    let log: Vec<_> =
        setting.page.log(setting.head()).unwrap().map(|found| found.unwrap()).collect();
    assert_eq!(log.len(), 3);
    assert!(log.iter().all(|(_, commit)| commit.parents().len() == 1));
    assert_eq!(log[2].0, base);
}

#[test]
fn t140_a_range_that_was_read_and_changed_is_a_conflict() {
    let setting = Setting::new();
    setting.put(b"m", b"");
    // Another process, which shares nothing with this one.
    let page = setting.cold();
    let (db, other) = (setting.page.database(MAIN).unwrap(), page.database(MAIN).unwrap());
    for changes_range in [true, false] {
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        let range = permazen_kv::KeySpan::new(b"k", Some(b"p"));
        assert!(tx.scan(range, Direction::Forward).unwrap().count() > 0);
        let mut theirs = other.begin(&TxOptions::writing()).unwrap();
        theirs.put(if changes_range { b"n" } else { b"z" }, b"").unwrap();
        theirs.commit().unwrap();
        tx.put(b"a", if changes_range { b"1" } else { b"2" }).unwrap();
        match tx.commit() {
            Err(error) => assert!(changes_range && error.is_retryable(), "{error}"),
            Ok(()) => assert!(!changes_range),
        }
    }
}

/// All keys are counters.
struct Counters;

impl Merger for Counters {
    fn class(&self, _: &[u8]) -> KeyClass {
        KeyClass::Counter
    }
}

#[test]
fn t141_what_both_sides_add_is_added_up() {
    let setting = Setting::new();
    setting.put(b"count", &10_i64.to_be_bytes());
    setting.branch("other");
    setting.write(MAIN, |tx| tx.adjust_counter(b"count", 2).unwrap());
    setting.write("other", |tx| tx.adjust_counter(b"count", 3).unwrap());
    let from = setting.page.head("other").unwrap();
    setting.page.merge(MAIN, &from, &mut Counters).unwrap();
    assert_eq!(setting.get(b"count"), Some(15_i64.to_be_bytes().to_vec()));
}

#[test]
fn t146_an_old_commit_has_the_content_of_then() {
    let setting = Setting::new();
    let mut past = Vec::new();
    for number in 0..30_u8 {
        let head = setting.write(MAIN, |tx| {
            tx.put(&[number % 7], &vec![number; 700]).unwrap();
            tx.remove(&[number % 5]).unwrap();
        });
        past.push((head, setting.content()));
    }
    let cold = setting.cold();
    for (head, then) in past {
        assert_eq!(content(&cold, &head), then);
        let snapshot = cold.snapshot(&head).unwrap();
        assert_eq!(snapshot.count(ALL).unwrap(), then.len() as u64);
        assert_eq!(pairs(&snapshot, ALL, Direction::Forward).len(), then.len());
    }
}

#[test]
fn t147_all_hosts_give_the_same_roots() {
    let dir = tempfile::tempdir().unwrap();
    let lmdb = LmdbStore::open_or_create(dir.path().join("lmdb")).unwrap();
    let sqlite =
        permazen_kv::sqlite::SqliteStore::open_or_create(dir.path().join("sqlite")).unwrap();
    let hosts: [std::sync::Arc<dyn KvDatabase>; 3] = [
        std::sync::Arc::new(permazen_kv::memory::MemoryStore::new()),
        std::sync::Arc::new(lmdb),
        std::sync::Arc::new(sqlite),
    ];
    let roots = hosts.map(|host| {
        let repository = Repository::open_or_create_shared(host).unwrap();
        let secret = Secret::new([1; 32]);
        let page = repository.create_page_with("test", PageId::random().unwrap(), secret).unwrap();
        let db = page.database(MAIN).unwrap();
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        many(2_000).iter().for_each(|(key, value)| tx.put(key, value).unwrap());
        tx.put(b"long", &[7; 100_000]).unwrap();
        tx.commit().unwrap();
        page.snapshot(&page.head(MAIN).unwrap()).unwrap().root()
    });
    assert_eq!(roots[0], roots[1]);
    assert_eq!(roots[0], roots[2]);
}
