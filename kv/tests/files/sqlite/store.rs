//! Properties that only SQLite databases have (docs/src/stores.md#sqlite).
#![cfg(feature = "sqlite")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use permazen_kv::__internal::{OpenWithSqlite, unless_open_with_sqlite};
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::sqlite::SqliteStore;
use permazen_kv::{
    Direction, Durability, KeySpan, KvDatabase, KvDatabaseExt, KvError, KvRead, KvTransaction,
    TxOptions,
};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::support::{dump, message, put, reading, role, spawn, spawn_limited, wait_for, writing};

/// The test that a child process runs.
const CHILD: &str = concat!(module_path!(), "::child");

fn store() -> (TempDir, SqliteStore) {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_or_create(dir.path().join("db")).unwrap();
    (dir, store)
}

#[test]
fn child() {
    let Some((role, path)) = role() else { return };
    match role.as_str() {
        "write" => {
            let store = SqliteStore::open(&path).unwrap();
            let mut tx = writing(&store);
            tx.put(b"child", b"uncommitted").unwrap();
            println!("ready");
            let _ = std::io::stdin().read(&mut [0]);
        }
        "read" => {
            let store = SqliteStore::builder().read_only(true).open(&path);
            let read = store.and_then(|store| store.begin(&TxOptions::reading()).map(drop));
            println!("read {:?} {}", read, read.as_ref().unwrap_err());
        }
        "fill" => {
            let store = SqliteStore::open(&path).unwrap();
            let mut committed = 0u32;
            let error = loop {
                let mut tx = writing(&store);
                let key = committed.to_be_bytes();
                if let Err(error) = tx.put(&key, &[7; 50_000]).and_then(|()| tx.commit()) {
                    break error;
                }
                committed += 1;
            };
            assert!(matches!(error, KvError::Full { .. }), "{error:?}");
            assert_eq!(dump(&*reading(&store)).len(), committed as usize);
            println!("full after {committed}");
        }
        "commit when told" => {
            let store = SqliteStore::open(&path).unwrap();
            println!("ready");
            let mut told = [0];
            while std::io::stdin().read(&mut told).unwrap() > 0 {
                put(&store, b"child", &told);
                println!("committed");
            }
        }
        other => panic!("role {other}"),
    }
}

#[test]
fn t101_table_and_queries_are_those_of_java() {
    let (dir, store) = store();
    put(&store, b"", b"");
    put(&store, b"text", b"value");
    drop(store);
    let db = Connection::open(dir.path().join("db")).unwrap();
    let text = |sql: &str| db.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
    assert_eq!(
        text("SELECT sql FROM sqlite_master WHERE name = 'KV'"),
        "CREATE TABLE \"KV\"(\n  \"kv_key\" BLOB\n    CONSTRAINT \"kv_key_null\" NOT NULL\n    \
         CONSTRAINT \"kv_key_pkey\" PRIMARY KEY,\n  \"kv_value\" BLOB\n    \
         CONSTRAINT \"kv_value_null\" NOT NULL\n)"
    );
    assert_eq!(text("PRAGMA journal_mode"), "wal");
    assert_eq!(text("SELECT DISTINCT typeof(kv_key) || typeof(kv_value) FROM KV"), "blobblob");
    for order in ["ASC", "DESC"] {
        let plan = db.query_row(
            &format!(
                "EXPLAIN QUERY PLAN SELECT \"kv_key\", \"kv_value\" FROM \"KV\" WHERE \
                 \"kv_key\" >= ?1 AND \"kv_key\" < ?2 ORDER BY \"kv_key\" {order} LIMIT ?3"
            ),
            (b"a", b"b", 1),
            |row| row.get::<_, String>(3),
        );
        assert!(plan.unwrap().contains("USING INDEX sqlite_autoindex_KV_1"));
    }
}

#[test]
fn t102_a_write_after_another_commit_must_be_retried() {
    let (dir, store) = store();
    put(&store, b"k", b"1");
    let late = SqliteStore::builder().late_lock(true).open(store.path()).unwrap();
    let mut tx = writing(&late);
    assert!(tx.get(b"k").unwrap().is_some());
    put(&store, b"k", b"2");
    let error = tx.put(b"other", b"").unwrap_err();
    assert!(error.is_retryable(), "{error}");
    // Later operations get the same error.
    let error = tx.get(b"k").unwrap_err();
    assert!(error.is_retryable() && !error.is_stale(), "{error}");
    let error = tx.commit().unwrap_err().to_string();
    let start = "this must be retried: an earlier operation has failed in it: ";
    assert!(
        error.starts_with(start) && error.contains("another transaction is in the way"),
        "{error}"
    );
    let mut tx = writing(&late);
    tx.put(b"other", b"").unwrap();
    let short = TxOptions::writing().with_wait(Duration::from_millis(20));
    let mut second = late.begin(&short).unwrap();
    assert!(second.put(b"other", b"").unwrap_err().is_retryable());
    tx.commit().unwrap();
    assert_eq!(dump(&*reading(&store)).len(), 2);
    drop(dir);
}

#[test]
fn a_closure_that_passes_over_a_conflict_runs_again() {
    let (_dir, store) = store();
    put(&store, b"k", b"1");
    let late = SqliteStore::builder().late_lock(true).open(store.path()).unwrap();
    for commits in [false, true] {
        let mut attempts = 0;
        let run = |tx: &mut dyn KvTransaction| {
            attempts += 1;
            tx.get(b"k")?;
            if attempts == 1 {
                put(&store, b"k", b"2");
            }
            let taken = tx.put(b"k", b"3");
            assert_eq!(taken.is_ok(), attempts > 1);
            // Another operation says the same as the commit.
            if commits { Ok(()) } else { tx.get(b"k").map(drop) }
        };
        late.write(run).unwrap();
        assert_eq!(attempts, 2);
        assert_eq!(reading(&store).get(b"k").unwrap().as_deref(), Some(&b"3"[..]));
    }
}

#[test]
fn errors_of_opening_say_where_and_why() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing");
    assert!(message(SqliteStore::open(&missing), &missing).contains("no such file"));
    assert!(!missing.exists());
    let below = missing.join("store.sqlite");
    let told = message(SqliteStore::open_or_create(&below), &below);
    let expected = format!("there is no directory {};", missing.display());
    assert!(told.contains(&expected) && !told.contains("two files"), "{told}");
    assert!(message(SqliteStore::open(dir.path()), dir.path()).contains("a directory"));
    let nowhere = dir.path().join("no/such/directory");
    assert!(
        message(SqliteStore::open_or_create(&nowhere), &nowhere).contains("there is no directory")
    );

    let foreign = dir.path().join("foreign");
    fs::write(&foreign, b"certainly not a database".repeat(100)).unwrap();
    let text = message(SqliteStore::open_or_create(&foreign), &foreign);
    assert!(text.contains("no SQLite database"), "{text}");

    let other = dir.path().join("other");
    let db = Connection::open(&other).unwrap();
    db.execute_batch("CREATE TABLE people(name TEXT); CREATE TABLE odd(x)").unwrap();
    let text = message(SqliteStore::open_or_create(&other), &other);
    assert!(text.contains("without a table named \"KV\""), "{text}");
    let text = message(SqliteStore::builder().table_name("odd").open(&other), &other);
    assert!(text.contains("not one of key/value pairs"), "{text}");
    let count = "SELECT count(*) FROM sqlite_master";
    assert_eq!(db.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap(), 2);
}

#[test]
fn a_text_key_is_damage_and_not_a_key() {
    let (_dir, store) = store();
    put(&store, b"a", b"1");
    let db = Connection::open(store.path()).unwrap();
    db.execute("INSERT INTO KV VALUES ('text', x'00')", []).unwrap();
    let tx = reading(&store);
    let error = tx.scan(KeySpan::FULL, Direction::Forward).unwrap().find_map(Result::err);
    assert!(matches!(error, Some(KvError::Damaged { .. })), "{error:?}");
}

#[test]
fn scans_go_on_over_many_pages_in_both_directions() {
    let (_dir, store) = store();
    let mut tx = writing(&store);
    for i in 0..5000u32 {
        tx.put(&i.to_be_bytes(), &i.to_le_bytes()).unwrap();
    }
    let keys = |direction| -> Vec<u32> {
        let (min, max) = (7u32.to_be_bytes(), 4711u32.to_be_bytes());
        let scan = tx.scan(KeySpan::new(&min, Some(&max)), direction).unwrap();
        scan.map(|pair| u32::from_be_bytes(pair.unwrap().0[..].try_into().unwrap())).collect()
    };
    assert_eq!(keys(Direction::Forward), (7..4711).collect::<Vec<_>>());
    assert_eq!(keys(Direction::Reverse), (7..4711).rev().collect::<Vec<_>>());
}

#[test]
fn read_only_stores_and_durabilities() {
    let (_dir, store) = store();
    put(&store, b"a", b"1");
    let path = store.path().to_owned();
    let view = SqliteStore::builder().read_only(true).open(&path).unwrap();
    assert_eq!(dump(&*reading(&view)).len(), 1);
    assert!(matches!(view.begin(&TxOptions::writing()), Err(KvError::IllegalState(_))));
    for durability in [Durability::MayLoseLastCommits, Durability::MayLoseEverything] {
        let store = SqliteStore::builder().durability(durability).open(&path).unwrap();
        put(&store, format!("{durability:?}").as_bytes(), b"");
    }
    assert_eq!(dump(&*reading(&view)).len(), 3);
    let figures = store.statistics().unwrap();
    assert!(figures.used_bytes.unwrap() > 0 && figures.file_bytes.unwrap() > 0);
}

#[test]
fn a_writer_in_another_process_is_waited_for_with_a_limit() {
    let (_dir, store) = store();
    let (mut child, mut out) = spawn(CHILD, "write", store.path());
    wait_for(&mut out, "ready");
    let options = TxOptions::writing().with_wait(Duration::from_millis(50));
    assert!(store.begin(&options).err().unwrap().is_retryable());
    child.kill().unwrap();
    child.wait().unwrap();
    put(&store, b"mine", b"");
    assert_eq!(dump(&*reading(&store)).len(), 1);
}

#[test]
fn a_full_disk_is_an_error_that_loses_nothing() {
    let (_dir, store) = store();
    let path = store.path().to_owned();
    drop(store);
    let (mut child, mut out) = spawn_limited(CHILD, "fill", &path, 1000);
    let committed: usize = wait_for(&mut out, "full after").parse().unwrap();
    assert!(child.wait().unwrap().success());
    assert!(committed > 0);
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(dump(&*reading(&store)).len(), committed);
    put(&store, b"goes on", b"");
}

#[test]
fn a_truncated_database_is_an_error() {
    let (dir, store) = store();
    let mut tx = writing(&store);
    for i in 0..2000u32 {
        tx.put(&i.to_be_bytes(), &[7; 100]).unwrap();
    }
    tx.commit().unwrap();
    let path = store.path().to_owned();
    drop(store);
    let whole = fs::read(&path).unwrap();
    let cut = dir.path().join("cut");
    for keep in [whole.len() / 2, 5000, 100, 50] {
        fs::write(&cut, &whole[..keep]).unwrap();
        let damage = SqliteStore::open(&cut).and_then(|store| {
            let tx = store.begin(&TxOptions::reading())?;
            tx.scan(KeySpan::FULL, Direction::Forward)?.try_for_each(|pair| pair.map(drop))
        });
        let text = message(damage, &cut);
        assert!(
            text.contains("damaged")
                || text.contains("no SQLite database")
                || text.contains("without a table"),
            "{text}"
        );
        for suffix in ["-wal", "-shm"] {
            let _ = fs::remove_file(dir.path().join(format!("cut{suffix}")));
        }
    }
}

#[test]
fn the_longest_key_is_told() {
    let (_dir, store) = store();
    assert_eq!(writing(&store).max_key_len(), 999_999_968);
    assert_eq!(reading(&store).max_key_len(), 999_999_968);
}

/// The version of a transaction that reads.
fn version(store: &SqliteStore) -> u64 {
    reading(store).version().unwrap()
}

#[test]
fn a_commit_of_another_process_is_another_version() {
    let (_dir, store) = store();
    put(&store, b"a", b"1");
    let (mut child, mut out) = spawn(CHILD, "commit when told", store.path());
    wait_for(&mut out, "ready");
    let mut tell = child.stdin.take().unwrap();
    let before = version(&store);
    for told in 1..=3u8 {
        // On connections that were used before, that are in use, and that are new.
        let open = reading(&store);
        let seen = open.version();
        assert_eq!(writing(&store).version(), seen);
        tell.write_all(&[told]).unwrap();
        wait_for(&mut out, "committed");
        let now = reading(&store);
        assert_eq!(now.get(b"child").unwrap().as_deref(), Some(&[told][..]));
        assert!(now.version() > seen, "{:?} after {seen:?}", now.version());
        assert_eq!(writing(&store).version(), now.version());
        assert_eq!((open.version(), version(&store)), (seen, now.version().unwrap()));
    }
    assert!(version(&store) > before);
    drop(tell);
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_engine_notices_a_commit_of_another_process() {
    let (_dir, store) = store();
    put(&store, b"child", b"0");
    let (mut child, mut out) = spawn(CHILD, "commit when told", store.path());
    wait_for(&mut out, "ready");
    let mut tell = child.stdin.take().unwrap();
    let db = OptimisticDatabase::new(store);
    let (mut reader, mut other) = (writing(&db), writing(&db));
    reader.get(b"child").unwrap();
    other.get(b"elsewhere").unwrap();
    let watch = other.watch(b"child").unwrap();
    tell.write_all(b"1").unwrap();
    wait_for(&mut out, "committed");
    reader.put(b"reader", b"").unwrap();
    other.put(b"other", b"").unwrap();
    assert!(matches!(reader.commit(), Err(KvError::Conflict(_))));
    other.commit().unwrap();
    assert!(watch.is_changed().unwrap());
    assert_eq!(reading(&db).get(b"child").unwrap().as_deref(), Some(&b"1"[..]));
    drop(tell);
    assert!(child.wait().unwrap().success());
}

#[test]
fn own_commits_count_one_each_whatever_readers_and_checkpoints_do() {
    let (_dir, store) = unflushed(false);
    put(&store, b"n", b"");
    let first = version(&store);
    let enough = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !enough.load(Ordering::Relaxed) {
                    version(&store);
                }
            });
        }
        let _enough = Enough(&enough);
        // The log is written back to the database every thousand pages.
        for n in 1..=1500u64 {
            let mut tx = writing(&store);
            assert_eq!(tx.version(), Some(first + n - 1));
            tx.put(b"n", &[n as u8; 6000]).unwrap();
            tx.commit().unwrap();
        }
    });
    assert_eq!(version(&store), first + 1500);
}

/// Tells other threads to stop, also if the test fails.
struct Enough<'a>(&'a AtomicBool);

impl Drop for Enough<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn unflushed(late: bool) -> (TempDir, SqliteStore) {
    let dir = tempfile::tempdir().unwrap();
    let builder = SqliteStore::builder().create(true).late_lock(late);
    let builder = builder.durability(Durability::MayLoseEverything);
    let store = builder.open(dir.path().join("db")).unwrap();
    (dir, store)
}

/// Readers, writers, and writers elsewhere at the same time: equal versions have equal content.
#[test]
fn a_version_names_one_state_only() {
    for late in [false, true] {
        let (_dir, store) = unflushed(late);
        put(&store, b"n", &0u64.to_be_bytes());
        let states = Mutex::new(BTreeMap::new());
        let note = |version: u64, content: u64| {
            let known = *states.lock().unwrap().entry(version).or_insert(content);
            assert_eq!(known, content, "version {version}, late {late}");
        };
        let content = |tx: &dyn KvRead| {
            u64::from_be_bytes(tx.get(b"n").unwrap().unwrap()[..].try_into().unwrap())
        };
        let enough = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let elsewhere = scope.spawn(|| {
                let db = Connection::open(store.path()).unwrap();
                db.busy_timeout(Duration::from_secs(60)).unwrap();
                db.execute_batch("PRAGMA synchronous = OFF").unwrap();
                for _ in 0..400 {
                    db.execute_batch("BEGIN IMMEDIATE").unwrap();
                    let old = "SELECT kv_value FROM KV WHERE kv_key = x'6e'";
                    let old: Vec<u8> = db.query_row(old, [], |row| row.get(0)).unwrap();
                    let new = u64::from_be_bytes(old.try_into().unwrap()) + 1;
                    let put = "UPDATE KV SET kv_value = ?1 WHERE kv_key = x'6e'";
                    db.execute(put, [new.to_be_bytes()]).unwrap();
                    db.execute_batch("COMMIT").unwrap();
                }
            });
            let writers = [(); 2].map(|()| {
                scope.spawn(|| {
                    let mut made = 0;
                    while made < 200 {
                        let mut tx = writing(&store);
                        let (found, old) = (tx.version().unwrap(), content(&tx));
                        note(found, old);
                        let new = (old + 1).to_be_bytes();
                        match tx.put(b"n", &new).and_then(|()| tx.commit()) {
                            Ok(()) => {
                                made += 1;
                                note(found + 1, old + 1);
                            }
                            Err(error) => assert!(late && error.is_retryable(), "{error}"),
                        }
                    }
                })
            });
            scope.spawn(|| {
                while !enough.load(Ordering::Relaxed) {
                    let tx = reading(&store);
                    note(tx.version().unwrap(), content(&tx));
                }
            });
            let _enough = Enough(&enough);
            elsewhere.join().unwrap();
            writers.into_iter().for_each(|writer| writer.join().unwrap());
        });
        assert_eq!(content(&reading(&store)), 800);
    }
}

/// SQLite has locks on the index too, and none on the log.
#[test]
#[cfg(unix)]
fn an_open_file_and_its_index_are_known() {
    let (dir, store) = store();
    put(&store, b"key", b"value");
    let open_as = |name: &str| unless_open_with_sqlite(&dir.path().join(name), || ()).err();
    let known = || ["db", "db-shm", "db-wal"].map(open_as);
    let open = [Some(OpenWithSqlite::Database), Some(OpenWithSqlite::Index), None];
    assert_eq!(known(), open);
    drop(store);
    assert_eq!(known(), [None; 3]);
    let store = SqliteStore::builder().read_only(true).open(dir.path().join("db")).unwrap();
    assert_eq!(reading(&store).get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
    assert_eq!(known(), open);
}

/// SQLite makes an index of its log even for a reader.
#[test]
#[cfg(unix)]
fn no_room_to_read() {
    let (dir, store) = store();
    put(&store, b"key", b"value");
    drop(store);
    let (mut child, mut out) = spawn_limited(CHILD, "read", &dir.path().join("db"), 1);
    let failed = wait_for(&mut out, "read");
    assert!(child.wait().unwrap().success());
    assert!(failed.starts_with("Err(Full {"), "{failed}");
    assert!(failed.contains("db-shm") && !failed.contains("I/O error"), "{failed}");
}
