//! One environment used by several parts of a program: joining it, leaving it, and others' locks.
#![cfg(feature = "lmdb")]

use std::io::Read as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use permazen_kv::lmdb::{Durability, LmdbStore};
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::{KvDatabase, KvDatabaseExt, KvError, KvRead, KvWrite, TxOptions};

use crate::support::{dump, message, put, reading, role, spawn, wait_for, writing};

/// The test that a child process runs.
const CHILD: &str = concat!(module_path!(), "::child");

/// A process that keeps the right to write. The other tests start it.
#[test]
fn child() {
    let Some((role, path)) = role() else { return };
    match role.as_str() {
        "hold" => {
            let store = LmdbStore::open(&path).unwrap();
            let _tx = writing(&store);
            println!("holds");
            let _ = std::io::stdin().read(&mut [0]);
        }
        "hold-empty" => {
            // SAFETY: Its files are changed by LMDB only.
            #[allow(unsafe_code)]
            let env = unsafe { heed::EnvOpenOptions::new().open(&path) }.unwrap();
            let _tx = env.write_txn().unwrap();
            println!("holds");
            let _ = std::io::stdin().read(&mut [0]);
        }
        "commit" => {
            let store = LmdbStore::open(&path).unwrap();
            println!("commits");
            loop {
                let mut tx = writing(&store);
                tx.put(b"theirs", b"").unwrap();
                std::thread::sleep(Duration::from_millis(150));
                tx.commit().unwrap();
            }
        }
        "grow" => {
            let store = LmdbStore::builder().map_size(1 << 24).open(&path).unwrap();
            put(&store, b"large", &[7; 1 << 21]);
            println!("grown");
        }
        #[cfg(target_os = "linux")]
        "many limited" => open_many_within_a_limit(&path),
        #[cfg(target_os = "linux")]
        "limited" => grow_within_limits(&path),
        #[cfg(target_os = "linux")]
        "many" => open_many(&path),
        other => panic!("role {other}"),
    }
}

fn short_wait() -> TxOptions {
    TxOptions::writing().with_wait(Duration::from_millis(20))
}

#[test]
fn after_a_wait_in_vain_the_store_can_be_dropped_and_opened() {
    let dir = tempfile::tempdir().unwrap();
    drop(LmdbStore::open_or_create(dir.path()).unwrap());
    let (mut child, mut out) = spawn(CHILD, "hold", dir.path());
    wait_for(&mut out, "holds");
    for _ in 0..3 {
        let store = LmdbStore::open(dir.path()).unwrap();
        assert!(store.begin(&short_wait()).err().unwrap().is_retryable());
        assert_eq!(dump(&*reading(&store)).len(), 0);
    }
    // While it waits it cannot be opened in another way, and the error says why.
    let other = LmdbStore::builder().durability(Durability::MayLoseEverything);
    let text = message(other.open(dir.path()), dir.path());
    assert!(text.contains("in line for the right to write"), "{text}");
    child.kill().unwrap();
    child.wait().unwrap();
    // It is joined or opened again, whether or not the thread that waited has ended.
    put(&LmdbStore::open(dir.path()).unwrap(), b"mine", b"");
    assert_eq!(dump(&*reading(&LmdbStore::open(dir.path()).unwrap())).len(), 1);
}

#[test]
fn a_thread_that_gave_up_waiting_closes_the_environment_in_the_end() {
    let dir = tempfile::tempdir().unwrap();
    drop(LmdbStore::open_or_create(dir.path()).unwrap());
    let (mut child, mut out) = spawn(CHILD, "hold", dir.path());
    wait_for(&mut out, "holds");
    let store = LmdbStore::open(dir.path()).unwrap();
    assert!(store.begin(&short_wait()).err().unwrap().is_retryable());
    drop(store);
    let directory = dir.path().canonicalize().unwrap();
    let closing = heed::env_closing_event(&directory).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(closing.wait_timeout(Duration::from_secs(60)));
    let other = LmdbStore::builder().durability(Durability::MayLoseEverything);
    put(&other.open(dir.path()).unwrap(), b"mine", b"");
}

#[test]
fn a_wait_for_one_environment_does_not_block_others() {
    let (empty, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (mut child, mut out) = spawn(CHILD, "hold-empty", empty.path());
    wait_for(&mut out, "holds");
    std::thread::scope(|scope| {
        // Its database must be created, and for that it takes the right to write.
        let waiting = scope.spawn(|| LmdbStore::open_or_create(empty.path()).map(drop));
        std::thread::sleep(Duration::from_millis(200));
        let (say, opened) = channel();
        let path = other.path();
        scope.spawn(move || say.send(LmdbStore::open_or_create(path).is_ok()));
        let opened = opened.recv_timeout(Duration::from_secs(20));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(opened, Ok(true));
        waiting.join().unwrap().unwrap();
    });
}

/// Fills the store until its map is used up; returns the error.
fn fill(store: &LmdbStore) -> String {
    let mut tx = writing(store);
    let error = (0..2000u32).find_map(|i| tx.put(&i.to_be_bytes(), &[7; 5000]).err()).unwrap();
    assert!(matches!(error, KvError::Full { .. }), "{error}");
    error.to_string()
}

/// Each wait is shorter than the transactions of the other. So when the lock comes, the thread that
/// asked first has given up.
#[test]
fn a_short_wait_gets_its_turn_beside_a_process_that_commits_without_pause() {
    let dir = tempfile::tempdir().unwrap();
    let store = LmdbStore::open_or_create(dir.path()).unwrap();
    let (mut child, mut out) = spawn(CHILD, "commit", dir.path());
    wait_for(&mut out, "commits");
    for round in 0..5u8 {
        let tried = (0..300).find_map(|_| store.begin(&short_wait()).ok());
        let mut tx = tried.unwrap();
        tx.put(&[round], b"").unwrap();
        tx.commit().unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn after_a_wait_in_vain_and_a_restore_it_is_said_what_keeps_the_environment_open() {
    let parent = tempfile::tempdir().unwrap();
    let (path, backup) = (parent.path().join("store"), parent.path().join("backup"));
    for directory in [&path, &backup] {
        put(&LmdbStore::open_or_create(directory).unwrap(), b"key", b"");
    }
    let (mut child, mut out) = spawn(CHILD, "hold", &path);
    wait_for(&mut out, "holds");
    let store = LmdbStore::open(&path).unwrap();
    assert!(store.begin(&short_wait()).err().unwrap().is_retryable());
    std::fs::rename(backup.join("data.mdb"), path.join("data.mdb")).unwrap();
    let copied = store.copy_to(parent.path().join("copy"));
    let verified = store.verify();
    drop(store);
    for result in [copied, verified.map(drop), LmdbStore::open(&path).map(drop)] {
        let text = message(result, &path);
        assert!(text.contains("data.mdb was replaced"), "{text}");
        assert!(text.contains("in line for the right to write"), "{text}");
    }
    let closing = heed::env_closing_event(path.canonicalize().unwrap()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(closing.wait_timeout(Duration::from_secs(60)));
    put(&LmdbStore::open(&path).unwrap(), b"mine", b"");
}

fn limit(store: &LmdbStore) -> u64 {
    store.statistics().unwrap().limit_bytes.unwrap()
}

#[test]
fn a_map_grows_while_its_environment_is_open() {
    let dir = tempfile::tempdir().unwrap();
    let open = |map_size| LmdbStore::builder().create(true).map_size(map_size).open(dir.path());
    let store = open(1 << 20).unwrap();
    put(&store, b"first", b"");
    let text = fill(&store);
    assert!(text.contains("1048576 bytes"), "{text}");
    assert!(text.contains("larger map size"), "{text}");
    assert!(text.contains("no transaction or snapshot of it is open here"), "{text}");
    // Neither an opening without a size nor one with the same changes it.
    drop(LmdbStore::open(dir.path()).unwrap());
    drop(open(1 << 20).unwrap());
    assert_eq!(limit(&store), 1 << 20);
    let larger = open(1 << 24).unwrap();
    assert_eq!((limit(&store), limit(&larger)), (1 << 24, 1 << 24));
    let mut tx = writing(&store);
    (0..2000u32).for_each(|i| tx.put(&i.to_be_bytes(), &[7; 5000]).unwrap());
    tx.commit().unwrap();
    assert_eq!(dump(&*reading(&larger)).len(), 2001);
    // It does not become smaller.
    assert_eq!(limit(&open(1 << 20).unwrap()), 1 << 24);
    assert_eq!(dump(&*reading(&store)).len(), 2001);
}

#[test]
fn a_map_in_use_does_not_grow_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let store = LmdbStore::builder().create(true).map_size(1 << 20).open(dir.path()).unwrap();
    put(&store, b"key", b"value");
    let larger = LmdbStore::builder().map_size(1 << 24);
    let refused = |expected: &str| {
        let text = message(larger.open(dir.path()), dir.path());
        assert!(text.contains("a map size of 1048576 bytes, which cannot grow"), "{text}");
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("opened without a map size it keeps the map it has"), "{text}");
    };
    let tx = reading(&store);
    refused("1 read-only transactions and snapshots and 0 others");
    let snapshot = tx.snapshot().unwrap();
    drop(tx);
    refused("1 read-only transactions and snapshots and 0 others");
    assert_eq!(dump(&*snapshot).len(), 1);
    drop(snapshot);
    let tx = writing(&store);
    refused("0 read-only transactions and snapshots and 1 others");
    drop(tx);
    let (mut child, mut out) = spawn(CHILD, "hold", dir.path());
    wait_for(&mut out, "holds");
    assert!(store.begin(&short_wait()).err().unwrap().is_retryable());
    refused("0 read-only transactions and snapshots and 1 others");
    child.kill().unwrap();
    child.wait().unwrap();
    put(&store, b"other", b"value");
    assert_eq!(limit(&larger.open(dir.path()).unwrap()), 1 << 24);
    assert_eq!(dump(&*reading(&store)).len(), 2);
}

#[test]
fn a_map_that_grows_is_in_no_readers_way() {
    let dir = tempfile::tempdir().unwrap();
    let store = LmdbStore::builder().create(true).map_size(1 << 20).open(dir.path()).unwrap();
    put(&store, b"key", b"value");
    let done = AtomicBool::new(false);
    let mut opened = Vec::new();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    assert!(reading(&store).get(b"key").unwrap().is_some());
                    store.statistics().unwrap();
                    put(&store, b"other", b"");
                }
            });
        }
        for step in 1..400u64 {
            let size = (16 + step) << 16;
            let larger = LmdbStore::builder().map_size(usize::try_from(size).unwrap());
            opened.push((size, larger.open(dir.path()).map(|larger| limit(&larger))));
            std::thread::yield_now();
        }
        done.store(true, Ordering::Relaxed);
    });
    for (size, opened) in opened {
        match opened {
            Ok(limit) => assert_eq!(limit, size),
            // Each time the map was in use.
            Err(error) => assert!(matches!(error, KvError::Open { .. }), "{error}"),
        }
    }
    let larger = LmdbStore::builder().map_size(1 << 26).open(dir.path()).unwrap();
    assert_eq!(limit(&larger), 1 << 26);
    assert_eq!(dump(&*reading(&store)).len(), 2);
}

#[test]
fn a_map_larger_than_the_address_space_is_as_large_as_can_be() {
    let dir = tempfile::tempdir().unwrap();
    let open = |map_size| LmdbStore::builder().create(true).map_size(map_size).open(dir.path());
    let store = open(usize::MAX).unwrap();
    put(&store, b"key", b"value");
    let most = limit(&store);
    assert!(most >= 1 << 28, "{most}");
    // The same happens if it is asked for while the environment is open.
    drop(store);
    let store = open(1 << 20).unwrap();
    for _ in 0..2 {
        assert!(limit(&open(usize::MAX).unwrap()) > 1 << 20);
        assert_eq!(dump(&*reading(&store)).len(), 1);
    }
}

#[test]
fn a_map_follows_what_another_process_wrote() {
    for (builder, limit_after) in [
        (LmdbStore::builder().map_size(1 << 20), None),
        (LmdbStore::builder().first_map_size(1 << 20), Some(1 << 40)),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let store = builder.clone().create(true).open(dir.path()).unwrap();
        put(&store, b"key", b"value");
        let snapshot = reading(&store).snapshot().unwrap();
        let (mut child, mut out) = spawn(CHILD, "grow", dir.path());
        wait_for(&mut out, "grown");
        assert!(child.wait().unwrap().success());
        // Open transactions stay as they are, and keep the map from growing.
        for begun in [
            store.begin(&TxOptions::reading()).map(drop),
            store.begin(&TxOptions::writing()).map(drop),
            store.begin(&TxOptions::writing().ending_here()).map(drop),
            LmdbStore::open(dir.path()).map(drop),
        ] {
            let error = begun.unwrap_err();
            assert!(error.is_retryable(), "{error}");
            let text = error.to_string();
            assert!(text.contains("another process has made it larger"), "{text}");
            assert!(text.contains("1 read-only transactions and snapshots"), "{text}");
            assert!(text.contains(dir.path().to_str().unwrap()), "{text}");
        }
        assert_eq!(dump(&*snapshot).len(), 1);
        drop(snapshot);
        assert_eq!(dump(&*reading(&store)).len(), 2);
        // It has become as large as it must be, and larger only if no size was set.
        let after = limit(&store);
        assert!(after > 1 << 21 && limit_after.is_none_or(|limit| limit == after), "{after}");
        store.write(|tx| tx.remove(b"large")).unwrap();
        put(&store, b"other", b"value");
        drop(builder.open(dir.path()).unwrap());
        assert_eq!(dump(&*reading(&store)).len(), 2);
    }
}

#[test]
fn a_map_without_a_size_grows_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let builder = LmdbStore::builder().create(true).first_map_size(1 << 20);
    let store = builder.durability(Durability::MayLoseEverything).open(dir.path()).unwrap();
    let map = || {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
        let path = dir.path().canonicalize().unwrap().join("data.mdb");
        let mut lines = maps.lines().skip_while(|line| !line.ends_with(path.to_str().unwrap()));
        let size = lines.find_map(|line| line.strip_prefix("Size:")?.strip_suffix("kB"));
        size.map_or(0, |size| size.trim().parse::<u64>().unwrap() << 10)
    };
    // Small transactions, closures and others: it grows before it is used up.
    for i in 0..300u32 {
        match i % 2 {
            0 => put(&store, &i.to_be_bytes(), &[7; 20_000]),
            _ => store.write(|tx| tx.put(&i.to_be_bytes(), &[7; 20_000])).unwrap(),
        }
    }
    assert!(cfg!(not(target_os = "linux")) || map() == 1 << 24, "{}", map());
    // One that is larger than the map runs again in a larger one.
    let mut runs = 0;
    let write = store.write(|tx| {
        runs += 1;
        (1000..3000u32).try_for_each(|i| tx.put(&i.to_be_bytes(), &[7; 20_000]))
    });
    write.unwrap();
    assert!(runs == 2 || runs == 3, "{runs}");
    // A transaction begun by hand gets the error.
    let fill = |keys: std::ops::Range<u32>| {
        let mut tx = writing(&store);
        keys.into_iter().try_for_each(|i| tx.put(&i.to_be_bytes(), &[7; 30_000]))?;
        tx.commit()
    };
    let failed = fill(5000..7000).unwrap_err();
    assert!(failed.is_retryable() && failed.to_string().contains("is used up"), "{failed}");
    fill(5000..7000).unwrap();
    assert_eq!(limit(&store), 1 << 40);
    assert_eq!(dump(&*reading(&store)).len(), 300 + 2000 + 2000);
    assert_eq!(store.verify().unwrap(), [""; 0]);
}

/// An optimistic transaction still reads when its commit writes.
#[test]
fn a_map_grows_for_optimistic_transactions() {
    let dir = tempfile::tempdir().unwrap();
    let builder = LmdbStore::builder().create(true).first_map_size(1 << 20);
    let store = builder.durability(Durability::MayLoseEverything).open(dir.path()).unwrap();
    let store = OptimisticDatabase::new(store);
    // With small ones it grows before it is used up.
    (0..150u32).for_each(|i| put(&store, &i.to_be_bytes(), &[7; 20_000]));
    // One that is larger than the map runs again in a larger one.
    let write =
        store.write(|tx| (1000..2000u32).try_for_each(|i| tx.put(&i.to_be_bytes(), &[7; 20_000])));
    write.unwrap();
    assert_eq!(dump(&*reading(&store)).len(), 150 + 1000);
}

#[test]
fn a_closure_that_hides_the_error_of_a_map_that_is_used_up_runs_again() {
    for remove in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let builder = LmdbStore::builder().create(true).first_map_size(1 << 20);
        let store = builder.durability(Durability::MayLoseEverything).open(dir.path()).unwrap();
        put(&store, b"key", b"value");
        let mut runs = 0;
        let written = store.write(|tx| {
            runs += 1;
            if tx.put(b"large", &vec![7; 3 << 20]).is_err() {
                // Each operation after it says why the transaction is given up.
                let later = if remove { tx.remove(b"key") } else { tx.get(b"key").map(drop) };
                let error = later.unwrap_err();
                assert!(error.is_retryable(), "{error}");
                assert!(error.to_string().contains("is used up"), "{error}");
            }
            Ok(())
        });
        written.unwrap();
        assert!(runs == 2 || runs == 3, "{runs}");
        assert_eq!(dump(&*reading(&store)).len(), 2);
        // By hand, the commit says it.
        let mut tx = writing(&store);
        let version = tx.version();
        assert!(tx.put(b"larger", &vec![7; 30 << 20]).is_err());
        assert_eq!(tx.version(), version);
        let error = tx.commit().unwrap_err();
        assert!(error.is_retryable() && error.to_string().contains("is used up"), "{error}");
        // So does the end of a transaction that is to write nothing, and the wish for that.
        let mut tx = writing(&store);
        assert!(tx.put(b"larger", &vec![7; 60 << 20]).is_err());
        let error = tx.set_read_only().unwrap_err();
        assert!(error.is_retryable(), "{error}");
        drop(tx);
        let mut tx = writing(&store);
        tx.set_read_only().unwrap();
        assert!(tx.put(b"larger", &vec![7; 120 << 20]).is_err());
        let error = tx.commit().unwrap_err();
        assert!(error.is_retryable(), "{error}");
        // The right to write was given back.
        put(&store, b"other", b"value");
        assert_eq!(dump(&*reading(&store)).len(), 3);
    }
}

#[test]
fn a_map_that_cannot_grow_says_what_uses_it() {
    let dir = tempfile::tempdir().unwrap();
    let builder = LmdbStore::builder().create(true).first_map_size(1 << 20);
    let store = builder.durability(Durability::MayLoseEverything).open(dir.path()).unwrap();
    put(&store, b"key", b"value");
    let fill = || store.write(|tx| tx.put(b"large", &vec![7; 3 << 20]));
    let snapshot = reading(&store).snapshot().unwrap();
    let error = fill().unwrap_err();
    assert!(matches!(error, KvError::Full { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("1048576 bytes is used up, and cannot grow"), "{text}");
    assert!(text.contains("1 read-only transactions and snapshots"), "{text}");
    // Pairs that fit can be written all the same. The snapshot can be read.
    (0..5).for_each(|_| put(&store, b"other", b""));
    assert_eq!(dump(&*snapshot).len(), 1);
    drop(snapshot);
    fill().unwrap();
    assert_eq!(dump(&*reading(&store)).len(), 3);
}

#[test]
fn readers_that_come_and_go_do_not_keep_a_map_from_growing() {
    let dir = tempfile::tempdir().unwrap();
    let builder = LmdbStore::builder().create(true).first_map_size(1 << 20);
    let store = builder.durability(Durability::MayLoseEverything).open(dir.path()).unwrap();
    put(&store, b"key", b"value");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                // Each begins the next transaction before it ends one.
                while !done.load(Ordering::Relaxed) {
                    let tx = reading(&store);
                    assert!(tx.get(b"key").unwrap().is_some());
                    std::thread::sleep(Duration::from_millis(5));
                    drop(tx);
                }
            });
        }
        for i in 0..40u32 {
            store.write(|tx| tx.put(&i.to_be_bytes(), &vec![7; 200_000])).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(dump(&*reading(&store)).len(), 41);
}

#[cfg(target_os = "linux")]
fn open_many(path: &std::path::Path) {
    let builder = LmdbStore::builder().create(true).durability(Durability::MayLoseEverything);
    let stores: Vec<LmdbStore> =
        (0..256).map(|i| builder.open(path.join(i.to_string())).unwrap()).collect();
    assert!(stores.iter().all(|store| limit(store) >= 100 << 30));
    assert!(addresses() < 80 << 40, "{} addresses are reserved", addresses());
    let started = std::sync::Barrier::new(64);
    std::thread::scope(|scope| {
        for i in 0..64 {
            let (started, store) = (&started, &stores[i * 4]);
            let thread = std::thread::Builder::new();
            let started = thread.spawn_scoped(scope, move || {
                started.wait();
                put(store, b"key", b"value");
            });
            started.unwrap();
        }
    });
    let memory = Vec::<u8>::with_capacity(1 << 30);
    assert!(memory.capacity() >= 1 << 30);
    // All of them have addresses for 100 GiB at the same time.
    for (i, store) in stores.iter().enumerate() {
        drop(builder.clone().map_size(100 << 30).open(path.join(i.to_string())).unwrap());
        store.write(|tx| tx.put(b"key", b"value")).unwrap();
    }
    assert!(addresses() < 100 << 40, "{} addresses are reserved", addresses());
    std::thread::Builder::new().spawn(|| ()).unwrap().join().unwrap();
    println!("done");
}

#[test]
#[cfg(target_os = "linux")]
fn many_environments_leave_addresses_for_all_else() {
    let dir = tempfile::tempdir().unwrap();
    let (mut child, mut out) = spawn(CHILD, "many", dir.path());
    wait_for(&mut out, "done");
    assert!(child.wait().unwrap().success());
}

/// Opens environments within a limit of 8 GiB, and writes to each of them more than it has room for
/// at first.
#[cfg(target_os = "linux")]
fn open_many_within_a_limit(path: &std::path::Path) {
    limit_addresses(Some(8 << 30));
    let builder = LmdbStore::builder().create(true).durability(Durability::MayLoseEverything);
    let stores: Vec<LmdbStore> =
        (0..256).map(|i| builder.open(path.join(i.to_string())).unwrap()).collect();
    for store in &stores {
        store.write(|tx| tx.put(b"key", b"value")).unwrap();
    }
    // The last one has the smallest map.
    let last = &stores[255];
    for key in 0..40u8 {
        last.write(|tx| tx.put(&[key], &vec![7; 100_000])).unwrap();
    }
    assert_eq!(dump(&*reading(last)).len(), 41);
    println!("done");
}

#[test]
#[cfg(target_os = "linux")]
fn many_environments_fit_in_few_addresses() {
    let dir = tempfile::tempdir().unwrap();
    let (mut child, mut out) = spawn(CHILD, "many limited", dir.path());
    wait_for(&mut out, "done");
    assert!(child.wait().unwrap().success());
}

/// How many addresses this process uses.
#[cfg(target_os = "linux")]
fn addresses() -> u64 {
    let used = std::fs::read_to_string("/proc/self/statm").unwrap();
    used.split(' ').next().unwrap().parse::<u64>().unwrap() * 4096
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn limit_addresses(more: Option<u64>) {
    let used = addresses();
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: It is a place for a limit, and only limits of this process change.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_AS, &raw mut limit), 0);
        limit.rlim_cur = more.map_or(limit.rlim_max, |more| used + more);
        assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &raw const limit), 0);
    }
}

#[cfg(target_os = "linux")]
fn grow_within_limits(path: &std::path::Path) {
    const GIB: usize = 1 << 30;
    let open = |size| LmdbStore::builder().map_size(size).open(path).unwrap();
    limit_addresses(Some(3 << 30));
    let store = open(2 * GIB);
    assert_eq!(limit(&store), 2 << 30);
    // The new map takes the place of the old one.
    open(2 * GIB + GIB / 2);
    assert_eq!(limit(&store), 5 << 29);
    open(64 * GIB);
    assert_eq!(limit(&store), 5 << 29);
    // The size that was refused before is asked for again.
    limit_addresses(None);
    open(64 * GIB);
    assert_eq!(limit(&store), 1 << 36);
    put(&store, b"key", b"value");
    // Without a size, a few maps leave addresses for all else.
    limit_addresses(Some(4 << 30));
    let more: Vec<LmdbStore> = (0..3)
        .map(|i| LmdbStore::open_or_create(path.join(format!("more {i}"))).unwrap())
        .collect();
    assert!(Vec::<u8>::with_capacity(1 << 30).capacity() >= 1 << 30);
    for store in &more {
        std::thread::scope(|scope| {
            scope.spawn(|| put(store, b"key", b"value"));
        });
    }
    println!("done");
}

#[test]
#[cfg(target_os = "linux")]
fn a_map_grows_as_far_as_the_system_allows_now() {
    let dir = tempfile::tempdir().unwrap();
    drop(LmdbStore::open_or_create(dir.path()).unwrap());
    let (mut child, mut out) = spawn(CHILD, "limited", dir.path());
    wait_for(&mut out, "done");
    assert!(child.wait().unwrap().success());
}
