//! Properties that only LMDB environments have (docs/src/stores.md).
#![cfg(feature = "lmdb")]

use std::fs;
use std::io::Read as _;
use std::io::Write as _;
use std::time::Duration;

use permazen_kv::copy::Watch;
use permazen_kv::lmdb::{Durability, LmdbStore};
use permazen_kv::{Direction, KeySpan, KvDatabase, KvError, KvRead, SharedRead, TxOptions};
use tempfile::TempDir;

use crate::support::{dump, message, put, reading, role, spawn, spawn_limited, wait_for, writing};

/// The test that a child process runs.
const CHILD: &str = concat!(module_path!(), "::child");

fn store() -> (TempDir, LmdbStore) {
    let dir = tempfile::tempdir().unwrap();
    let store = LmdbStore::open_or_create(dir.path()).unwrap();
    (dir, store)
}

/// The action of a second process, which the other tests start.
#[test]
fn child() {
    let Some((role, path)) = role() else { return };
    let wait = || {
        println!("ready");
        let _ = std::io::stdin().read(&mut [0]);
    };
    match role.as_str() {
        "read" => {
            let store = LmdbStore::open(&path).unwrap();
            let tx = reading(&store);
            wait();
            println!("sees {}", dump(&*tx).len());
        }
        "open" => match LmdbStore::open(&path) {
            Ok(store) => println!("opened {store:?}"),
            Err(error) => println!("failed {error:?}"),
        },
        "write" => {
            let store = LmdbStore::open(&path).unwrap();
            let mut tx = writing(&store);
            tx.put(b"child", b"uncommitted").unwrap();
            wait();
            tx.commit().unwrap();
        }
        "fill" => {
            let store = LmdbStore::open(&path).unwrap();
            let mut committed = 0;
            let error = loop {
                let mut tx = writing(&store);
                let put = (0..64u32).try_for_each(|i| {
                    tx.put(
                        &[&(committed as u32).to_be_bytes()[..], &i.to_be_bytes()].concat(),
                        &[7; 3000],
                    )
                });
                if let Err(error) = put.and_then(|()| tx.commit()) {
                    break error;
                }
                committed += 1;
            };
            assert!(matches!(error, KvError::Full { .. }), "{error:?}");
            // The pairs that are there can be read and removed in the same process.
            assert_eq!(dump(&*reading(&store)).len(), 64 * committed);
            println!("full after {committed} {error}");
        }
        "fill-large" => {
            // A transaction so large that LMDB must write parts of it before the commit.
            let store = LmdbStore::open(&path).unwrap();
            let mut tx = writing(&store);
            let mut filled = 0u32;
            let error = loop {
                if let Err(error) = tx.put(&filled.to_be_bytes(), &[7; 100_000]) {
                    break error;
                }
                filled += 1;
                if filled == 5000 {
                    break tx.commit().unwrap_err();
                }
            };
            assert!(matches!(error, KvError::Full { .. }), "{error:?}");
            assert_eq!(dump(&*reading(&store)).len(), 1);
            put(&store, b"after", b"small");
            println!("full");
        }
        other => panic!("role {other}"),
    }
}

#[test]
fn t098_keys_have_at_most_510_bytes() {
    let (_dir, store) = store();
    let mut tx = writing(&store);
    tx.put(b"", b"empty").unwrap();
    tx.put(&[1; 510], b"longest").unwrap();
    assert_eq!(tx.max_key_len(), 510);
    let error = tx.put(&[1; 511], b"").unwrap_err();
    assert!(matches!(error, KvError::KeyTooLong { len: 511, max: 510, .. }), "{error}");
    // A key that cannot be stored is absent, but may be a bound of a span.
    assert!(tx.get(&[1; 511]).unwrap().is_none());
    tx.remove(&[1; 511]).unwrap();
    tx.adjust_counter(&[1; 511], 1).unwrap();
    assert_eq!(tx.at_least(&[1; 511], None).unwrap(), None);
    assert_eq!(tx.at_most(&[], Some(&[1; 511])).unwrap().unwrap().0.len(), 510);
    assert_eq!(tx.at_most(&[], Some(&[1; 510])).unwrap().unwrap().0.len(), 0);
    let below = KeySpan::new(&[], Some(&[1; 600]));
    assert_eq!(tx.scan(below, Direction::Reverse).unwrap().count(), 2);
    tx.put(&[2], b"").unwrap();
    let above = KeySpan::new(&[1; 600], None);
    assert_eq!(tx.scan(above, Direction::Forward).unwrap().count(), 1);
    tx.remove_span(KeySpan::new(&[1], Some(&[1; 511]))).unwrap();
    assert_eq!(dump(&*tx).len(), 2);
    tx.commit().unwrap();

    let mut tx = reading(&store);
    assert!(matches!(tx.put(&[1; 511], b""), Err(KvError::KeyTooLong { .. })));
}

#[test]
fn errors_of_opening_say_where_and_why() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();

    let missing = path.join("missing");
    assert!(message(LmdbStore::open(&missing), &missing).contains("no such directory"));
    assert!(!missing.exists());
    // A typing error in the path does not make an empty database elsewhere.
    let below = missing.join("more/store");
    let told = message(LmdbStore::open_or_create(&below), &below);
    let expected = format!("there is no directory {};", missing.display());
    assert!(told.contains(&expected) && !missing.exists(), "{told}");

    let text = message(LmdbStore::open(path), path);
    assert!(text.contains("no LMDB environment"), "{text}");
    assert_eq!(fs::read_dir(path).unwrap().count(), 0, "looking must not create anything");

    let file = path.join("file");
    fs::write(&file, b"").unwrap();
    assert!(message(LmdbStore::open(&file), &file).contains("a file, where the directory"));

    let foreign = path.join("foreign");
    fs::create_dir(&foreign).unwrap();
    let data = foreign.join("data.mdb");
    for content in
        [b"hello".to_vec(), vec![0; 9000], vec![0xff; 9000], b"SQLite format 3\0".repeat(600)]
    {
        fs::write(&data, &content).unwrap();
        for create in [false, true] {
            let text = message(LmdbStore::builder().create(create).open(&foreign), &foreign);
            assert!(text.contains("no LMDB data file"), "{text}");
        }
        assert_eq!(fs::read(&data).unwrap(), content);
    }
    fs::write(&data, b"").unwrap();
    assert!(message(LmdbStore::open(&foreign), &foreign).contains("data.mdb is empty"));
}

#[test]
fn an_environment_of_another_program_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    drop(LmdbStore::builder().create(true).database_name("other").open(dir.path()).unwrap());
    let before = fs::read(dir.path().join("data.mdb")).unwrap();
    let text = message(LmdbStore::open_or_create(dir.path()), dir.path());
    assert!(text.contains("without a database named \"permazen\""), "{text}");
    assert_eq!(fs::read(dir.path().join("data.mdb")).unwrap(), before);
    assert!(LmdbStore::builder().database_name("a\0b").open(dir.path()).is_err());
}

/// An environment in which nothing was ever written may belong to another program. It is used only
/// if a new store is asked for.
#[test]
fn an_environment_without_databases_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    // SAFETY: No other code uses the new directory.
    #[allow(unsafe_code)]
    drop(unsafe { heed::EnvOpenOptions::new().open(dir.path()) }.unwrap());
    let data = dir.path().join("data.mdb");
    let before = fs::read(&data).unwrap();
    let text = message(LmdbStore::open(dir.path()), dir.path());
    assert!(text.contains("without a database named \"permazen\""), "{text}");
    let view = LmdbStore::builder().read_only(true).open(dir.path()).unwrap();
    assert_eq!(dump(&*reading(&view)).len(), 0);
    drop(view);
    assert_eq!(fs::read(&data).unwrap(), before);
    drop(LmdbStore::open_or_create(dir.path()).unwrap());
    assert_ne!(fs::read(&data).unwrap(), before);
    drop(LmdbStore::open(dir.path()).unwrap());
}

#[test]
fn a_truncated_file_is_an_error_and_not_a_signal() {
    let (dir, store) = store();
    for i in 0..2000u32 {
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        tx.put(&i.to_be_bytes(), &vec![7; if i % 50 == 0 { 9000 } else { 300 }]).unwrap();
        if i % 400 == 0 {
            tx.commit().unwrap();
        } else {
            tx.rollback();
        }
    }
    let mut tx = writing(&store);
    for i in 0..2000u32 {
        tx.put(&i.to_be_bytes(), &vec![7; if i % 50 == 0 { 9000 } else { 300 }]).unwrap();
    }
    tx.commit().unwrap();
    drop(store);
    let whole = fs::read(dir.path().join("data.mdb")).unwrap();
    let mut refused = 0;
    for keep in
        [whole.len() - 1, whole.len() - 5000, whole.len() / 2, 20_000, 9000, 8192, 4096, 200, 100]
    {
        let cut = tempfile::tempdir().unwrap();
        fs::write(cut.path().join("data.mdb"), &whole[..keep]).unwrap();
        for read_only in [true, false] {
            match LmdbStore::builder().read_only(read_only).open(cut.path()) {
                // Pages at the end may be unused. Then everything must be there.
                Ok(store) => assert_eq!(dump(&*reading(&store)).len(), 2000),
                Err(error) => {
                    refused += 1;
                    assert!(message(Err::<(), _>(error), cut.path()).contains("data.mdb"));
                }
            }
        }
        assert_eq!(fs::read(cut.path().join("data.mdb")).unwrap(), whole[..keep]);
    }
    assert!(refused >= 14, "{refused}");
}

#[test]
fn opening_and_reading_changes_nothing() {
    let (dir, store) = store();
    put(&store, b"key", b"value");
    drop(store);
    let data = dir.path().join("data.mdb");
    let before = fs::read(&data).unwrap();
    let store = LmdbStore::builder().read_only(true).open(dir.path()).unwrap();
    let mut tx = reading(&store);
    tx.put(b"scratch", b"gone at the end").unwrap();
    assert_eq!(dump(&*tx).len(), 2);
    tx.commit().unwrap();
    assert_eq!(dump(&*reading(&store)).len(), 1);
    let error = store.begin(&TxOptions::writing()).err().unwrap();
    assert!(matches!(error, KvError::IllegalState(_)), "{error}");
    let error = message(LmdbStore::open(dir.path()), dir.path());
    assert!(error.contains("already open in this process, read-only"), "{error}");
    drop(store);
    drop(LmdbStore::open(dir.path()).unwrap());
    assert_eq!(fs::read(&data).unwrap(), before);
}

#[test]
#[cfg(unix)]
fn others_may_read_the_files_as_with_java() {
    use std::os::unix::fs::PermissionsExt;
    let (dir, _store) = store();
    for name in ["data.mdb", "lock.mdb"] {
        let mode = fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o640, 0o640, "{name}: {mode:o}");
    }
}

/// All users that may use `data.mdb` can take part in locking.
#[test]
#[cfg(unix)]
fn a_lock_file_that_was_missing_is_for_the_users_of_the_data() {
    use std::os::unix::fs::PermissionsExt;
    let (dir, store) = store();
    put(&store, b"key", b"value");
    drop(store);
    let file = |name| dir.path().join(name);
    // More than a usual umask allows, and less.
    for mode in [0o666, 0o664, 0o600] {
        fs::set_permissions(file("data.mdb"), fs::Permissions::from_mode(mode)).unwrap();
        let opens: [&dyn Fn(); 3] = [
            &|| drop(LmdbStore::open(dir.path()).unwrap()),
            &|| drop(LmdbStore::builder().read_only(true).open(dir.path()).unwrap()),
            &|| _ = LmdbStore::builder().compact(dir.path(), &mut Watch::new()).unwrap(),
        ];
        for open in opens {
            fs::remove_file(file("lock.mdb")).unwrap();
            open();
            let made = fs::metadata(file("lock.mdb")).unwrap().permissions().mode() & 0o777;
            assert_eq!(made, mode, "{made:o} {mode:o}");
        }
    }
    // A store that is open for reading only is locked too.
    fs::set_permissions(file("data.mdb"), fs::Permissions::from_mode(0o440)).unwrap();
    fs::remove_file(file("lock.mdb")).unwrap();
    drop(LmdbStore::builder().read_only(true).open(dir.path()).unwrap());
    let made = fs::metadata(file("lock.mdb")).unwrap().permissions().mode() & 0o777;
    assert_eq!(made, 0o640, "{made:o}");
}

#[test]
#[cfg(unix)]
fn no_room_for_the_lock_file() {
    let (dir, store) = store();
    put(&store, b"key", b"value");
    drop(store);
    fs::remove_file(dir.path().join("lock.mdb")).unwrap();
    let (mut child, mut out) = crate::support::spawn_limited(CHILD, "open", dir.path(), 1);
    let failed = wait_for(&mut out, "failed");
    assert!(child.wait().unwrap().success());
    assert!(failed.starts_with("Full {") && failed.contains("no room for lock.mdb"), "{failed}");
}

#[test]
fn one_environment_can_be_opened_many_times() {
    let (dir, first) = store();
    let second = LmdbStore::open(dir.path().join(".")).unwrap();
    put(&first, b"a", b"1");
    put(&second, b"b", b"2");
    assert_eq!(dump(&*reading(&first)), dump(&*reading(&second)));
    let text = message(
        LmdbStore::builder().durability(Durability::MayLoseEverything).open(dir.path()),
        dir.path(),
    );
    assert!(text.contains("another durability"), "{text}");
    let view = LmdbStore::builder().read_only(true).open(dir.path()).unwrap();
    assert!(view.begin(&TxOptions::writing()).is_err());
    let snapshot = reading(&first).snapshot().unwrap();
    drop((first, second, view));
    // The environment is still open for the snapshot. It closes with it and can be opened again.
    assert_eq!(dump(&*snapshot).len(), 2);
    drop(snapshot);
    let again = LmdbStore::builder().durability(Durability::MayLoseEverything).open(dir.path());
    let again = again.unwrap();
    put(&again, b"c", b"3");
    again.sync().unwrap();
}

#[test]
fn opened_and_closed_by_many_threads_at_once() {
    let (dir, store) = store();
    put(&store, b"key", b"value");
    drop(store);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..30 {
                    let store = LmdbStore::open(dir.path()).unwrap();
                    assert_eq!(dump(&*reading(&store)).len(), 1);
                }
            });
        }
    });
}

#[test]
fn a_snapshot_serves_several_threads() {
    let (_dir, store) = store();
    let mut tx = writing(&store);
    for i in 0..1000u32 {
        tx.put(&i.to_be_bytes(), &i.to_be_bytes()).unwrap();
    }
    tx.commit().unwrap();
    let mut tx = reading(&store);
    let running = tx.scan(KeySpan::FULL, Direction::Reverse).unwrap().count();
    assert_eq!(running, 1000);
    let plain = tx.snapshot().unwrap();
    tx.put(b"scratch", b"").unwrap();
    tx.remove_span(KeySpan::new(&[], Some(&500u32.to_be_bytes()))).unwrap();
    let scratched = tx.snapshot().unwrap();
    tx.rollback();
    let mut tx = writing(&store);
    tx.remove_span(KeySpan::FULL).unwrap();
    tx.commit().unwrap();
    std::thread::scope(|scope| {
        for (snapshot, expected) in [(&plain, 1000), (&scratched, 501), (&plain, 1000)] {
            let snapshot: &SharedRead = snapshot;
            scope.spawn(move || {
                for _ in 0..20 {
                    assert_eq!(dump(&**snapshot).len(), expected);
                    assert!(snapshot.get(&700u32.to_be_bytes()).unwrap().is_some());
                    assert!(snapshot.at_most(&[], None).unwrap().is_some());
                }
            });
        }
    });
    assert!(dump(&*reading(&store)).is_empty());
}

#[test]
fn a_write_transaction_may_end_on_another_thread() {
    let (_dir, store) = store();
    for i in 0..20u8 {
        let mut tx = writing(&store);
        tx.put(&[i], &[i]).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || if i % 2 == 0 { tx.commit().unwrap() } else { tx.rollback() });
        });
    }
    put(&store, b"here", b"");
    assert_eq!(dump(&*reading(&store)).len(), 11);
}

#[test]
fn a_second_writer_waits_its_turn_and_gives_up_in_time() {
    let (_dir, store) = store();
    let tx = writing(&store);
    let options = TxOptions::writing().with_wait(Duration::from_millis(10));
    assert!(store.begin(&options).err().unwrap().is_retryable());
    drop(tx);
    assert!(writing(&store).commit().is_ok());
}

#[test]
fn a_writer_in_another_process_is_waited_for_with_a_limit() {
    let (dir, store) = store();
    let (mut child, mut out) = spawn(CHILD, "write", dir.path());
    wait_for(&mut out, "ready");
    let options = TxOptions::writing().with_wait(Duration::from_millis(120));
    let error = store.begin(&options).err().unwrap();
    assert!(error.is_retryable(), "{error}");
    assert!(error.to_string().contains("another process"), "{error}");
    // A process that is killed while it holds the lock neither blocks others nor leaves anything.
    child.kill().unwrap();
    child.wait().unwrap();
    put(&store, b"mine", b"");
    assert_eq!(dump(&*reading(&store)).len(), 1);
}

#[test]
fn several_processes_share_an_environment() {
    let (dir, store) = store();
    put(&store, b"a", b"");
    let (mut child, mut out) = spawn(CHILD, "read", dir.path());
    wait_for(&mut out, "ready");
    put(&store, b"b", b"");
    child.stdin.take().unwrap().write_all(b"x").unwrap();
    assert_eq!(wait_for(&mut out, "sees"), "1");
    assert!(child.wait().unwrap().success());
    let (mut child, mut out) = spawn(CHILD, "write", dir.path());
    wait_for(&mut out, "ready");
    assert_eq!(dump(&*reading(&store)).len(), 2);
    child.stdin.take().unwrap().write_all(b"x").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(dump(&*reading(&store)).len(), 3);
}

#[test]
fn t100_a_holder_with_another_lock_format_is_recognised() {
    let (dir, store) = store();
    put(&store, b"a", b"");
    drop(store);
    let (mut child, mut out) = spawn(CHILD, "read", dir.path());
    wait_for(&mut out, "ready");
    // As if the other process had the lock format of LMDB 0.9.29.
    let lock = fs::OpenOptions::new().write(true).open(dir.path().join("lock.mdb")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&lock, &1u32.to_ne_bytes(), 4).unwrap();
    drop(lock);
    let data = fs::read(dir.path().join("data.mdb")).unwrap();
    let text = message(LmdbStore::open(dir.path()), dir.path());
    assert!(text.contains("Permazen for Java"), "{text}");
    assert_eq!(fs::read(dir.path().join("data.mdb")).unwrap(), data);
    child.kill().unwrap();
    child.wait().unwrap();
    // The next process makes a new lock file.
    assert_eq!(dump(&*reading(&LmdbStore::open(dir.path()).unwrap())).len(), 1);
}

#[test]
fn reader_slots_run_out_with_a_clear_error_and_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = LmdbStore::builder().create(true).max_readers(3).open(dir.path()).unwrap();
    put(&store, b"a", b"");
    let mut readers: Vec<_> = (0..3).map(|_| reading(&store)).collect();
    let error = store.begin(&TxOptions::reading()).err().unwrap();
    assert!(matches!(error, KvError::ReadersFull { max: 3, .. }), "{error}");
    assert!(error.to_string().contains(dir.path().to_str().unwrap()));
    let copy = tempfile::tempdir().unwrap();
    let error = store.copy_to(copy.path()).unwrap_err();
    assert!(matches!(error, KvError::ReadersFull { max: 3, .. }), "{error}");
    assert_eq!(fs::read_dir(copy.path()).unwrap().count(), 0);
    let (mut child, mut out) = spawn(CHILD, "open", dir.path());
    let error = wait_for(&mut out, "failed");
    assert!(error.starts_with("ReadersFull") && error.contains("max: 3"), "{error}");
    child.wait().unwrap();
    put(&store, b"b", b"");
    readers.pop();
    assert_eq!(dump(&*reading(&store)).len(), 2);
    drop(readers);
    // Slots of processes that died become free without any action.
    for _ in 0..4 {
        let (mut child, mut out) = spawn(CHILD, "read", dir.path());
        wait_for(&mut out, "ready");
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(dump(&*reading(&store)).len(), 2);
    for _ in 0..4 {
        let (mut child, mut out) = spawn(CHILD, "read", dir.path());
        wait_for(&mut out, "ready");
        child.kill().unwrap();
        child.wait().unwrap();
    }
    store.copy_to(copy.path()).unwrap();
}

#[test]
fn statistics_show_what_a_reader_holds_back() {
    let (_dir, store) = store();
    let mut tx = writing(&store);
    for i in 0..500u32 {
        tx.put(&i.to_be_bytes(), &[7; 500]).unwrap();
    }
    tx.commit().unwrap();
    let before = store.statistics().unwrap();
    assert_eq!(before.entries, Some(500));
    assert!(before.used_bytes.unwrap() > 500 * 500);
    assert!(before.file_bytes.unwrap() < before.limit_bytes.unwrap() / 1000);
    assert_eq!(before.oldest_reader_lag, Some(0));
    let reader = reading(&store);
    for round in 0..5u8 {
        let mut tx = writing(&store);
        for i in 0..500u32 {
            tx.put(&i.to_be_bytes(), &[round; 500]).unwrap();
        }
        tx.commit().unwrap();
    }
    let held = store.statistics().unwrap();
    assert_eq!(held.oldest_reader_lag, Some(5));
    assert!(held.readers.unwrap() >= 1);
    assert!(held.file_bytes.unwrap() > 3 * before.file_bytes.unwrap());
    assert!(held.free_bytes.unwrap() > held.used_bytes.unwrap());
    drop(reader);
    assert_eq!(store.statistics().unwrap().oldest_reader_lag, Some(0));

    let parent = tempfile::tempdir().unwrap();
    let target = parent.path().join("copy");
    store.copy_to(&target).unwrap();
    assert!(message(store.copy_to(&target), &target).contains("already"));
    let copy = LmdbStore::open(&target).unwrap();
    assert_eq!(dump(&*reading(&copy)), dump(&*reading(&store)));
    let small = copy.statistics().unwrap();
    assert!(small.file_bytes.unwrap() < held.file_bytes.unwrap() / 2);
    assert_eq!(small.free_bytes, Some(0));
}

#[test]
fn a_map_that_is_used_up_is_an_error_that_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let small = LmdbStore::builder().create(true).map_size(1 << 20).open(dir.path()).unwrap();
    put(&small, b"first", b"");
    let mut tx = writing(&small);
    let error = (0..1000u32).find_map(|i| tx.put(&i.to_be_bytes(), &[7; 5000]).err()).unwrap();
    assert!(matches!(error, KvError::Full { .. }), "{error}");
    assert!(error.to_string().contains("larger map size"), "{error}");
    assert!(tx.put(b"more", b"").is_err());
    drop(tx);
    put(&small, b"second", b"");
    assert_eq!(dump(&*reading(&small)).len(), 2);
    drop(small);
    let large = LmdbStore::open(dir.path()).unwrap();
    let mut tx = writing(&large);
    (0..1000u32).for_each(|i| tx.put(&i.to_be_bytes(), &[7; 5000]).unwrap());
    tx.commit().unwrap();
    assert_eq!(dump(&*reading(&large)).len(), 1002);
}

#[test]
fn a_full_disk_is_an_error_that_loses_nothing() {
    for (role, kib) in [("fill", 2000), ("fill-large", 20_000)] {
        let (dir, store) = store();
        if role == "fill-large" {
            put(&store, b"before", b"");
        }
        drop(store);
        let (mut child, mut out) = spawn_limited(CHILD, role, dir.path(), kib);
        let said = wait_for(&mut out, "full");
        assert!(child.wait().unwrap().success());
        let store = LmdbStore::open(dir.path()).unwrap();
        let found = dump(&*reading(&store)).len();
        if role == "fill" {
            let committed: usize =
                said.split(' ').nth(1).and_then(|count| count.parse().ok()).unwrap();
            assert!(committed > 0, "{said}");
            assert_eq!(found, 64 * committed);
        } else {
            assert_eq!(found, 2);
        }
        put(&store, b"goes on", b"");
    }
}
