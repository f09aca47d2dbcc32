//! Making a store compact in its place: its content stays, no other process may use it meanwhile,
//! and it is whole whenever the process is killed.
//!
//! `PERMAZEN_KILLS` sets how often the process is killed: once for 40 of it, 25 times unless set.
#![cfg(unix)]
#![allow(unsafe_code)]

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, EnvOpenOptions, WithoutTls};
use permazen_kv::copy::Watch;
use permazen_kv::lmdb::LmdbStore;
use permazen_kv::sqlite::SqliteStore;
use permazen_kv::{KeySpan, KvDatabase, KvError, TxOptions};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::{Pairs, dump, message, put, reading, role, spawn, wait_for, writing};

/// The test that a child process runs.
const CHILD: &str = concat!(module_path!(), "::child");

/// Fills a store, and then empties most of it.
fn fill(store: &dyn KvDatabase, pairs: u32) -> Pairs {
    let mut tx = writing(store);
    for number in 0..pairs {
        tx.put(&number.to_be_bytes(), &[number as u8; 300]).unwrap();
    }
    // A value with pages of its own.
    tx.put(b"long", &vec![7; 50_000]).unwrap();
    tx.commit().unwrap();
    let mut tx = writing(store);
    tx.remove_span(KeySpan::new(&[0], Some(&(pairs - pairs / 5).to_be_bytes()))).unwrap();
    tx.commit().unwrap();
    dump(&*reading(store))
}

/// An environment of which four fifths are unused.
fn environment(pairs: u32) -> (tempfile::TempDir, PathBuf, Pairs) {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("db");
    let left = fill(&LmdbStore::open_or_create(&path).unwrap(), pairs);
    (parent, path, left)
}

fn pairs(path: &Path) -> Pairs {
    dump(&*reading(&LmdbStore::open(path).unwrap()))
}

/// The environment as any program opens it.
fn plain(path: &Path) -> heed::Result<heed::Env<WithoutTls>> {
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    // SAFETY: Only LMDB changes the files.
    unsafe { options.max_dbs(4).open(path) }
}

/// The database of this name in it, which is made if it is missing.
fn database(env: &heed::Env<WithoutTls>, name: &str) -> Database<'static, Bytes, Bytes> {
    let created = env.create_databases_and_commit(env.write_txn().unwrap(), |opener, tx| {
        let created = opener.create_database::<Bytes, Bytes>(tx, Some(name));
        created.map(CommitOrAbort::<_, ()>::Commit)
    });
    created.unwrap().commit().unwrap()
}

/// The size of the map that a data file has.
fn map_size(path: &Path) -> u64 {
    let mut start = [0; 40];
    fs::File::open(path.join("data.mdb")).unwrap().read_exact(&mut start).unwrap();
    u64::from_ne_bytes(start[32..].try_into().unwrap())
}

/// The work of other processes.
#[test]
fn child() {
    let Some((role, path)) = role() else { return };
    let key = role.as_bytes().to_vec();
    match &*role {
        // It keeps it open until the standard input ends.
        "holds" => {
            let store = LmdbStore::builder().read_only(true).open(&path).unwrap();
            println!("open");
            std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
            drop(store);
        }
        "holds plain" => {
            let env = plain(&path).unwrap();
            println!("open");
            std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
            drop(env);
        }
        "writes" => put(&LmdbStore::open(&path).unwrap(), &key, b"written"),
        "writes plain" => {
            let env = plain(&path).unwrap();
            let pairs = database(&env, "permazen");
            let mut tx = env.write_txn().unwrap();
            pairs.put(&mut tx, &[&[0], &*key].concat(), b"written").unwrap();
            tx.commit().unwrap();
        }
        "reads" => {
            let store = LmdbStore::builder().read_only(true).open(&path).unwrap();
            println!("open");
            let mut wanted = Vec::new();
            std::io::stdin().read_to_end(&mut wanted).unwrap();
            assert!(store.begin(&TxOptions::reading()).unwrap().get(&wanted).unwrap().is_some());
        }
        "does not wait" => {
            let opened = LmdbStore::builder().wait(Duration::from_millis(50)).open(&path);
            println!("refused: {}", opened.err().unwrap());
        }
        "compacts lmdb" => {
            println!("begins");
            loop {
                LmdbStore::builder().compact(&path, &mut Watch::new()).unwrap();
            }
        }
        "compacts sqlite" => {
            println!("begins");
            loop {
                SqliteStore::builder().compact(&path, &mut Watch::new()).unwrap();
            }
        }
        role => panic!("no role {role}"),
    }
}

#[test]
fn an_environment_gets_smaller_and_keeps_everything() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("db");
    let left = {
        let store = LmdbStore::builder().create(true).map_size(64 << 20).open(&path).unwrap();
        fill(&store, 5000)
    };
    // Another database in it.
    {
        let env = plain(&path).unwrap();
        let other = database(&env, "other");
        let mut tx = env.write_txn().unwrap();
        other.put(&mut tx, b"a", b"b").unwrap();
        tx.commit().unwrap();
        env.prepare_for_closing().wait();
    }
    let data = path.join("data.mdb");
    fs::set_permissions(&data, fs::Permissions::from_mode(0o640)).unwrap();
    let (before, map_before) = (fs::metadata(&data).unwrap(), map_size(&path));
    assert_eq!(map_before, 64 << 20);
    // The file that a killed process has left.
    fs::write(path.join("data.mdb.compact"), "left over").unwrap();

    let compacted = LmdbStore::builder().compact(&path, &mut Watch::new()).unwrap();

    let after = fs::metadata(&data).unwrap();
    assert_eq!((compacted.before, compacted.after), (before.len(), after.len()));
    assert!(compacted.after * 4 < compacted.before, "{compacted:?}");
    assert_eq!(after.mode(), before.mode());
    assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
    assert_eq!(map_size(&path), map_before);
    let mut files: Vec<_> = fs::read_dir(&path).unwrap().map(|f| f.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["data.mdb", "lock.mdb"]);
    assert_eq!(pairs(&path), left);
    let env = plain(&path).unwrap();
    let other = database(&env, "other");
    let tx = env.read_txn().unwrap();
    assert_eq!(other.get(&tx, b"a").unwrap(), Some(&b"b"[..]));
    drop(tx);
    env.prepare_for_closing().wait();
    let store = LmdbStore::open(&path).unwrap();
    assert_eq!(store.verify().unwrap(), [""; 0]);
    // It can be written, by this process and others.
    put(&store, b"more", b"");
    let (mut child, _out) = spawn(CHILD, "writes plain", &path);
    assert!(child.wait().unwrap().success());
    assert_eq!(dump(&*reading(&store)).len(), left.len() + 2);
}

#[test]
fn an_environment_of_java() {
    let data =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/databases/music/lmdb/data.mdb");
    let parent = tempfile::tempdir().unwrap();
    // Without lock.mdb, as a backup has it.
    fs::copy(&data, parent.path().join("data.mdb")).unwrap();
    let other = tempfile::tempdir().unwrap();
    fs::copy(&data, other.path().join("data.mdb")).unwrap();
    let before = map_size(parent.path());
    let compacted = LmdbStore::builder().compact(parent.path(), &mut Watch::new()).unwrap();
    assert!(compacted.after <= compacted.before, "{compacted:?}");
    assert_eq!(map_size(parent.path()), before);
    let found = pairs(parent.path());
    assert!(!found.is_empty());
    assert_eq!(found, pairs(other.path()));
}

#[test]
fn it_is_refused_while_a_process_has_it_open() {
    let (_parent, path, left) = environment(500);
    let data = fs::read(path.join("data.mdb")).unwrap();
    let compact = || LmdbStore::builder().compact(&path, &mut Watch::new());
    for role in ["holds", "holds plain"] {
        let (mut child, mut out) = spawn(CHILD, role, &path);
        wait_for(&mut out, "open");
        let refused = compact();
        assert!(matches!(refused, Err(KvError::Retry(_))), "{role}: {refused:?}");
        assert!(message(refused, &path).contains("another process has it open"));
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
    let store = LmdbStore::open(&path).unwrap();
    assert!(message(compact(), &path).contains("open in this process"));
    let snapshot = reading(&store);
    assert!(message(compact(), &path).contains("open in this process"));
    drop(snapshot);
    // By another path.
    let link = path.parent().unwrap().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let refused = LmdbStore::builder().compact(&link, &mut Watch::new());
    assert!(message(refused, &path).contains("open in this process"));
    drop(store);
    assert_eq!(fs::read(path.join("data.mdb")).unwrap(), data);
    compact().unwrap();
    assert_eq!(pairs(&path), left);
}

#[test]
fn a_file_with_another_name_is_refused() {
    let (parent, path, left) = environment(500);
    let compact = || LmdbStore::builder().compact(&path, &mut Watch::new());
    let (data, other) = (path.join("data.mdb"), parent.path().join("other"));
    fs::hard_link(&data, &other).unwrap();
    assert!(message(compact(), &path).contains("another name"));
    fs::remove_file(&data).unwrap();
    std::os::unix::fs::symlink(&other, &data).unwrap();
    assert!(message(compact(), &path).contains("is a link"));
    assert_eq!(pairs(&path), left);
}

#[test]
fn damage_and_a_stop_leave_it_as_it_is() {
    let (_parent, path, left) = environment(30_000);
    let data = path.join("data.mdb");
    let good = fs::read(&data).unwrap();
    let stop = AtomicBool::new(false);
    let mut tell = |_| stop.store(true, Ordering::Relaxed);
    let mut watch = Watch::new().stop(&stop).progress(&mut tell);
    let stopped = LmdbStore::builder().compact(&path, &mut watch);
    assert!(matches!(stopped, Err(KvError::Stopped(_))), "{stopped:?}");
    assert_eq!(fs::read(&data).unwrap(), good);
    assert!(!path.join("data.mdb.compact").exists());
    assert_eq!(pairs(&path), left);
    // The kind of every page.
    let mut bad = good.clone();
    for page in bad.chunks_mut(4096).skip(2) {
        page[10] ^= 0xff;
    }
    fs::write(&data, &bad).unwrap();
    let refused = LmdbStore::builder().compact(&path, &mut Watch::new());
    assert!(matches!(refused, Err(KvError::Damaged { .. })), "{refused:?}");
    assert_eq!(fs::read(&data).unwrap(), bad);
    let missing = LmdbStore::builder().compact(path.join("none"), &mut Watch::new());
    assert!(message(missing, &path).contains("no such directory"));
}

/// Programs that open it meanwhile wait, and then have the new file.
#[test]
fn processes_that_wait_get_in() {
    let (_parent, path, left) = environment(30_000);
    assert!(left.len() * 300 > 1 << 20);
    let mut children = Vec::new();
    let mut refused = String::new();
    let mut tell = |_| {
        if !children.is_empty() {
            return;
        }
        let (mut child, mut out) = spawn(CHILD, "does not wait", &path);
        refused = wait_for(&mut out, "refused: ");
        assert!(child.wait().unwrap().success());
        // This process may not open it either.
        assert!(message(LmdbStore::open(&path), &path).contains("being made compact"));
        children.extend(["writes", "writes plain", "reads"].map(|role| spawn(CHILD, role, &path)));
        std::thread::sleep(Duration::from_millis(500));
        for (child, _) in &mut children {
            assert!(child.try_wait().unwrap().is_none(), "one did not wait");
        }
    };
    LmdbStore::builder().compact(&path, &mut Watch::new().progress(&mut tell)).unwrap();
    assert!(refused.contains("being made compact"), "{refused}");
    let [(writer, _), (plain, _), (reader, out)] = &mut children[..] else { unreachable!() };
    assert!(writer.wait().unwrap().success() && plain.wait().unwrap().success());
    // It sees the commits to the new file.
    wait_for(out, "open");
    reader.stdin.take().unwrap().write_all(b"writes plain").unwrap();
    assert!(reader.wait().unwrap().success());
    let found = pairs(&path);
    assert_eq!(found.len(), left.len() + 2);
    assert!(left.iter().all(|pair| found.contains(pair)));
}

fn kills() -> u32 {
    let kills = std::env::var("PERMAZEN_KILLS").ok().and_then(|number| number.parse().ok());
    kills.unwrap_or(1000_u32).div_ceil(40)
}

fn kill_often(role: &str, path: &Path, check: impl Fn()) {
    let mut random = StdRng::seed_from_u64(u64::from(std::process::id()));
    for _ in 0..kills() {
        let (mut child, mut out) = spawn(CHILD, role, path);
        wait_for(&mut out, "begins");
        std::thread::sleep(Duration::from_micros(random.random_range(0..60_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        check();
    }
}

#[test]
fn an_environment_is_whole_whenever_the_process_is_killed() {
    let (_parent, path, left) = environment(2000);
    let turn = AtomicBool::new(false);
    kill_often("compacts lmdb", &path, || {
        // Opened first by this crate, and by LMDB alone.
        if turn.fetch_xor(true, Ordering::Relaxed) {
            plain(&path).unwrap().prepare_for_closing().wait();
        }
        let store = LmdbStore::open(&path).unwrap();
        assert_eq!(dump(&*reading(&store)), left);
        put(&store, &left[0].0, &left[0].1);
    });
    LmdbStore::builder().compact(&path, &mut Watch::new()).unwrap();
    assert!(!path.join("data.mdb.compact").exists());
    assert_eq!(pairs(&path), left);
}

#[test]
fn an_sqlite_file_gets_smaller_and_keeps_everything() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("data.db");
    let left = fill(&SqliteStore::open_or_create(&path).unwrap(), 5000);
    let builder = SqliteStore::builder().wait(Duration::from_millis(50));
    let compact = || builder.compact(&path, &mut Watch::new());
    // Not while others write; the state that others read stays.
    let store = SqliteStore::open(&path).unwrap();
    let mut tx = writing(&store);
    tx.put(b"later", b"").unwrap();
    let refused = compact();
    assert!(matches!(refused, Err(KvError::Retry(_))), "{refused:?}");
    tx.rollback();
    let stop = AtomicBool::new(true);
    let stopped = builder.compact(&path, &mut Watch::new().stop(&stop));
    assert!(matches!(stopped, Err(KvError::Stopped(_))), "{stopped:?}");
    drop(store);

    let compacted = compact().unwrap();

    assert_eq!(compacted.after, fs::metadata(&path).unwrap().len());
    assert!(compacted.after * 4 < compacted.before, "{compacted:?}");
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(dump(&*reading(&store)), left);
    // A reader is open.
    let view = reading(&store);
    assert!(view.get(b"long").unwrap().is_some());
    compact().unwrap();
    assert_eq!(dump(&*view), left);
    put(&store, b"more", b"");
    assert_eq!(dump(&*reading(&store)).len(), left.len() + 1);
    let missing = SqliteStore::builder().compact(parent.path().join("none"), &mut Watch::new());
    assert!(message(missing, parent.path()).contains("no such file"));
}

#[test]
fn a_thread_that_writes_to_an_sqlite_file_is_told_that_it_would_wait_for_itself() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("data.db");
    let store = SqliteStore::open_or_create(&path).unwrap();
    let builder = SqliteStore::builder().wait(Duration::from_millis(10));
    let compact = || builder.compact(&path, &mut Watch::new()).map(drop);
    let mut tx = store.begin(&TxOptions::writing().ending_here()).unwrap();
    tx.put(b"key", b"value").unwrap();
    let refused = compact().unwrap_err();
    assert!(matches!(refused, KvError::WithinWrite { .. }), "{refused}");
    tx.commit().unwrap();
    compact().unwrap();
    assert_eq!(dump(&*reading(&store)).len(), 1);
}

#[test]
fn an_sqlite_file_is_whole_whenever_the_process_is_killed() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("data.db");
    let left = fill(&SqliteStore::open_or_create(&path).unwrap(), 2000);
    kill_often("compacts sqlite", &path, || {
        let store = SqliteStore::open(&path).unwrap();
        assert_eq!(dump(&*reading(&store)), left);
    });
}
