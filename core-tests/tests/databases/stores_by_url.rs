//! Stores opened by path and by URL.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use permazen::__internal::open::XmlDump;
use permazen::kv::copy::Watch;
use permazen::kv::{Direction, KeySpan, KvDatabase, KvError, KvRead, KvWrite, TxOptions};
use permazen::open::{OpenError, Opening, StoreKind};
use tempfile::TempDir;

use crate::child;

const DUMP: &str = "<entries><entry><key>01</key><value>02</value></entry></entries>";

fn in_directory(name: &str) -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join(name);
    (dir, path)
}

fn put(store: &dyn KvDatabase) {
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    tx.put(&[1], &[2]).unwrap();
    tx.commit().unwrap();
}

fn assert_has_pair(store: &dyn KvDatabase) {
    let tx = store.begin(&TxOptions::reading()).unwrap();
    assert_eq!(tx.get(&[1]).unwrap().as_deref(), Some(&[2][..]));
}

/// Creates a store by its URL, then opens it by its URL and by its path.
fn creates_and_finds(scheme: &str, kind: StoreKind) {
    let (_dir, path) = in_directory("db");
    let url = format!("{scheme}:{}", path.display());
    assert!(permazen::open(&url).is_err());
    assert!(Opening::new().write(true).open(&url).is_err() && !path.exists());
    put(&Opening::new().create(true).open(&url).unwrap());
    for name in [&url, &format!("{scheme}://{}", path.display()), path.to_str().unwrap()] {
        let store = permazen::open(name).unwrap();
        assert_eq!((store.kind(), store.path()), (kind, Some(&*path)));
        assert_has_pair(&store);
        let refused = store.begin(&TxOptions::writing()).err().unwrap();
        assert!(matches!(refused, KvError::IllegalState(_)), "{refused}");
        drop(store);
        put(&Opening::new().write(true).open(name).unwrap());
    }
}

#[test]
fn an_lmdb_environment_is_found_by_directory_and_file() {
    creates_and_finds("lmdb", StoreKind::Lmdb);
    let (_dir, path) = in_directory("db");
    put(&Opening::new().create(true).kind(StoreKind::Lmdb).open(&path).unwrap());
    let store = permazen::open(path.join("data.mdb")).unwrap();
    assert_eq!((store.kind(), store.path()), (StoreKind::Lmdb, Some(&*path)));
    assert_has_pair(&store);
}

#[test]
fn an_sqlite_file_is_found() {
    creates_and_finds("sqlite", StoreKind::Sqlite);
}

/// Names the SQLite file of a process that this program starts.
const FILE: &str = "PERMAZEN_TEST_SQLITE_FILE";

/// Tells how many pairs it sees, puts another one, and closes the file.
#[test]
fn child() {
    let Some(path) = std::env::var_os(FILE) else { return };
    let store = Opening::new().kind(StoreKind::Sqlite).write(true).open(path).unwrap();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    let pairs = tx.scan(KeySpan::FULL, Direction::Forward).unwrap().count();
    tx.put(format!("child {pairs}").as_bytes(), &[]).unwrap();
    tx.commit().unwrap();
    println!("sees {pairs} pairs");
}

/// How many pairs another process sees, which then puts one more.
fn seen_by_a_child(path: &Path) -> usize {
    let mut command = child::this_program();
    command.args(child::arguments(module_path!(), "child")).arg("--nocapture").env(FILE, path);
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    let (_, told) = told.split_once("sees ").unwrap();
    told.split(' ').next().unwrap().parse().unwrap()
}

/// The locks of SQLite belong to the process, which loses them when it closes the file.
#[test]
fn an_sqlite_file_that_is_open_is_found_without_a_loss_of_its_locks() {
    let (dir, path) = in_directory("db");
    let url = format!("sqlite:{}", path.display());
    let store = Opening::new().create(true).open(&url).unwrap();
    put(&store);
    let link = dir.path().join("link");
    std::fs::hard_link(&path, &link).unwrap();
    for name in [&path, &link] {
        assert_eq!(StoreKind::detect(name).unwrap(), StoreKind::Sqlite);
    }
    let index = StoreKind::detect(dir.path().join("db-shm"));
    assert!(matches!(index, Err(OpenError::Unrecognized { .. })));
    assert_has_pair(&permazen::open(&path).unwrap());
    assert!(permazen::open(format!("xml:{}", path.display())).is_err());
    assert_eq!(seen_by_a_child(&path), 1);
    // With no lock, the child would have closed the database as the last one that has it open.
    assert!(dir.path().join("db-wal").exists());
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    tx.put(&[2], &[]).unwrap();
    tx.commit().unwrap();
    assert_eq!(seen_by_a_child(&path), 3);
}

#[test]
fn an_unknown_kind_lists_those_there_are() {
    let error = permazen::open("mysql://ann:secret@server/db").unwrap_err();
    assert!(matches!(&error, OpenError::UnknownScheme { scheme } if scheme == "mysql"));
    let text = error.to_string();
    for expected in ["mysql: is no kind of store", "xml:PATH", "memory:", "write ./ before"] {
        assert!(text.contains(expected), "{text}");
    }
    assert!(!text.contains("secret"), "{text}");
}

/// `?` opens a store in functions of both layers.
#[test]
fn errors_become_those_of_the_program() {
    fn open(name: &str) -> permazen::Result<()> {
        permazen::open(name)?;
        Ok(())
    }
    assert_eq!(open("xml:").unwrap_err().to_string(), "there is no path: the form is xml:PATH");
    // An error of the store stays one, so it can still say that it is to be tried again.
    let busy = OpenError::Store(KvError::Retry("busy".into()));
    assert!(permazen::Error::from(busy).is_retryable());
}

#[test]
fn urls_are_checked() {
    for (url, reason) in [
        ("memory:name", "a store in memory has no name: the form is memory:"),
        ("xml:", "there is no path: the form is xml:PATH"),
        ("xml://host/dump", "no server can be named after //: the form is xml:PATH"),
        ("lmdb://host", "no server can be named after //: the form is lmdb:PATH"),
    ] {
        assert_eq!(permazen::open(url).unwrap_err().to_string(), reason, "{url}");
    }
    for name in ["", ":", ":db", "a b:c"] {
        assert!(permazen::open(name).is_err(), "{name:?}");
    }
}

#[test]
fn a_colon_after_a_slash_belongs_to_a_path() {
    let (_dir, path) = in_directory("a:b");
    std::fs::write(&path, DUMP).unwrap();
    let store = permazen::open(&path).unwrap();
    assert_eq!((store.kind(), store.path()), (StoreKind::Xml, Some(&*path)));
    let by_kind = Opening::new().kind(StoreKind::Xml);
    assert!(
        matches!(by_kind.open("xml:none").unwrap_err(), OpenError::Io { path, .. } if &*path == Path::new("xml:none"))
    );
}

#[cfg(unix)]
#[test]
fn a_path_need_not_be_unicode() {
    use std::os::unix::ffi::OsStringExt;
    let dir = TempDir::new().unwrap();
    let path = dir.path().join(std::ffi::OsString::from_vec(b"du\xffmp".to_vec()));
    std::fs::write(&path, DUMP).unwrap();
    let mut url = std::ffi::OsString::from("xml:");
    url.push(&path);
    for name in [path.clone().into_os_string(), url] {
        let store = permazen::open(name).unwrap();
        assert_eq!(store.path(), Some(&*path));
        assert_has_pair(&store);
    }
}

#[test]
fn what_is_no_store_is_refused_with_its_path() {
    let (dir, missing) = in_directory("missing");
    let text = dir.path().join("file.txt");
    std::fs::write(&text, "hello").unwrap();
    assert!(matches!(permazen::open(&missing).unwrap_err(), OpenError::Io { .. }));
    assert!(matches!(permazen::open(&text).unwrap_err(), OpenError::Unrecognized { .. }));
    let error = Opening::new().create(true).open(&missing).unwrap_err();
    assert!(error.to_string().contains("to create it, say of which kind"), "{error}");
    assert!(!missing.exists());
    // LMDB has its locks on such a file, so it is not read.
    let locks = dir.path().join("lock.mdb");
    std::fs::write(&locks, DUMP).unwrap();
    assert!(matches!(StoreKind::detect(&locks), Err(OpenError::Unrecognized { .. })));
    std::fs::write(&text, "<entries><entry><key>0").unwrap();
    let error = permazen::open(&text).unwrap_err();
    assert!(matches!(error, OpenError::Xml { .. }) && error.to_string().contains("file.txt"));
}

#[cfg(unix)]
#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let (_dir, path) = in_directory("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    for name in [path.display().to_string(), format!("xml:{}", path.display())] {
        let error = permazen::open(name).unwrap_err().to_string();
        assert!(error.ends_with("a named pipe, where a file is expected"), "{error}");
    }
}

#[test]
fn an_xml_dump_can_be_read_until_it_is_changed() {
    let (_dir, path) = in_directory("dump");
    std::fs::write(&path, DUMP).unwrap();
    let error = Opening::new().write(true).open(&path).unwrap_err();
    assert!(matches!(error, OpenError::NotWritable { .. }), "{error}");
    let store = permazen::open(&path).unwrap();
    assert_has_pair(&store);
    assert!(matches!(store.begin(&TxOptions::writing()), Err(KvError::IllegalState(_))));
    // Writes of a reading transaction are discarded.
    let mut tx = store.begin(&TxOptions::reading()).unwrap();
    tx.put(&[1], &[3]).unwrap();
    tx.commit().unwrap();
    assert_has_pair(&store);
    // A file with the same length and time in its place.
    let other = path.with_extension("other");
    std::fs::write(&other, DUMP).unwrap();
    let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
    let file = std::fs::File::options().append(true).open(&other).unwrap();
    file.set_modified(modified).unwrap();
    std::fs::rename(&other, &path).unwrap();
    if cfg!(unix) {
        let error = store.begin(&TxOptions::reading()).err().unwrap().to_string();
        assert!(error.ends_with("it was changed since it was read; open it again"), "{error}");
    }
    assert_has_pair(&permazen::open(&path).unwrap());
    let dump = XmlDump::read(&path).unwrap();
    assert!(dump.is_unchanged());
    std::fs::remove_file(&path).unwrap();
    assert!(!dump.is_unchanged());
}

/// A store of each kind with one pair, by its name.
fn one_of_each_kind(dir: &Path) -> Vec<String> {
    let mut names = vec!["memory:".to_owned(), format!("xml:{}", dir.join("xml").display())];
    std::fs::write(dir.join("xml"), DUMP).unwrap();
    for scheme in ["lmdb", "sqlite"] {
        let name = format!("{scheme}:{}", dir.join(scheme).display());
        put(&Opening::new().create(true).open(&name).unwrap());
        names.push(name);
    }
    names
}

#[test]
fn every_kind_of_store_counts_from_its_opening_on() {
    let dir = TempDir::new().unwrap();
    for name in one_of_each_kind(dir.path()) {
        let is_writable = !name.starts_with("xml:");
        let store = Opening::new().write(is_writable).open(&name).unwrap();
        let counted = || (store.counters().begun, store.counters().commits);
        assert_eq!(counted(), (Some(0), is_writable.then_some(0)), "{name}");
        drop(store.begin(&TxOptions::reading()).unwrap());
        assert_eq!(counted(), (Some(1), is_writable.then_some(0)), "{name}");
        if is_writable {
            put(&store);
            assert_eq!(counted(), (Some(2), Some(1)), "{name}");
            let above = store.clone().optimistic();
            assert_eq!(above.counters().commits, Some(0), "{name}");
        }
    }
}

#[test]
fn every_kind_of_store_can_be_used_optimistically() {
    let dir = TempDir::new().unwrap();
    for name in one_of_each_kind(dir.path()) {
        let is_writable = !name.starts_with("xml:");
        let plain = Opening::new().write(is_writable).open(&name).unwrap();
        let store = plain.clone().optimistic();
        assert_eq!((store.kind(), store.path()), (plain.kind(), plain.path()));
        assert!(store.capabilities().concurrent_writers);
        let mut one = store.begin(&TxOptions::writing()).unwrap();
        let mut two = store.begin(&TxOptions::writing()).unwrap();
        assert_eq!(one.get(&[1]).unwrap().is_some(), name != "memory:");
        one.put(&[2], &[]).unwrap();
        two.put(&[1], &[3]).unwrap();
        let pending = one.pending().unwrap();
        assert!(pending.writes.touches(&[2]) && pending.base.get(&[2]).unwrap().is_none());
        if !is_writable {
            assert!(matches!(one.commit(), Err(KvError::IllegalState(_))));
            continue;
        }
        two.commit().unwrap();
        assert!(matches!(one.commit(), Err(KvError::Conflict(_))));
        // Others are noticed too.
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        tx.get(&[1]).unwrap();
        tx.put(&[4], &[]).unwrap();
        put(&plain);
        assert!(matches!(tx.commit(), Err(KvError::Conflict(_))));
        let blind = || {
            let mut tx = store.begin(&TxOptions::writing()).unwrap();
            tx.put(&[5], &[]).unwrap();
            tx
        };
        blind().commit().unwrap();
        // While another transaction writes, a commit waits as long as the setting of the store
        // says.
        let patient = Opening::new().wait(Duration::ZERO);
        let hasty = patient.write(true).open(&name).unwrap().optimistic();
        if name != "memory:" {
            let _writer = plain.begin(&TxOptions::writing()).unwrap();
            let mut tx = hasty.begin(&TxOptions::writing()).unwrap();
            tx.put(&[6], &[]).unwrap();
            assert!(tx.commit().unwrap_err().is_retryable());
        }
    }
}

#[test]
fn every_kind_of_store_can_be_copied_to_every_other_and_backed_up() {
    let dir = TempDir::new().unwrap();
    let names = one_of_each_kind(dir.path());
    for (number, name) in names.iter().enumerate() {
        let from = permazen::open(name).unwrap();
        if name == "memory:" {
            put(&from);
        }
        let tx = from.begin(&TxOptions::reading()).unwrap();
        for other in &names {
            let scheme = other.split(':').next().unwrap();
            let place = dir.path().join(format!("{scheme}-of-{number}"));
            let target = format!("{scheme}:{}", place.display());
            let copied = |name: &str| Opening::new().create_from(name, &tx, &mut Watch::new());
            if scheme == "memory" {
                let error = copied("memory:").unwrap_err();
                assert!(matches!(error, OpenError::Store(KvError::Unsupported(_))), "{error}");
                continue;
            }
            assert_eq!(copied(&target).unwrap().pairs, 1);
            assert_has_pair(&permazen::open(&target).unwrap());
            // Its path leads to it, and it is not replaced.
            for again in [&target, place.to_str().unwrap()] {
                let error = copied(again).unwrap_err();
                assert!(error.to_string().contains("already"), "{error}");
            }
        }
        let target = dir.path().join(format!("backup-of-{number}"));
        let stop = AtomicBool::new(true);
        let stopped = from.back_up(&target, &mut Watch::new().stop(&stop));
        if name == "memory:" {
            assert!(matches!(stopped, Err(OpenError::Store(KvError::Unsupported(_)))));
            continue;
        }
        assert!(matches!(stopped, Err(OpenError::Store(KvError::Stopped(_)))), "{name}");
        assert!(!target.exists());
        from.clone().optimistic().back_up(&target, &mut Watch::new()).unwrap();
        let backup = permazen::open(&target).unwrap();
        assert_eq!(backup.kind(), from.kind());
        assert_has_pair(&backup);
        assert!(from.back_up(&target, &mut Watch::new()).is_err());
    }
    let missing = dir.path().join("missing");
    let tx = permazen::open("memory:").unwrap();
    let tx = tx.begin(&TxOptions::reading()).unwrap();
    let error = Opening::new().create_from(&missing, &tx, &mut Watch::new()).unwrap_err();
    assert!(matches!(error, OpenError::NoKind { .. }), "{error}");
    let by_kind = Opening::new().kind(StoreKind::Xml);
    by_kind.create_from(&missing, &tx, &mut Watch::new()).unwrap();
    assert_eq!(permazen::open(&missing).unwrap().kind(), StoreKind::Xml);
}

#[cfg(unix)]
#[test]
fn copies_are_as_private_as_their_source() {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    let dir = TempDir::new().unwrap();
    let set = |path: &Path, mode: u32| {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    set(dir.path(), 0o755);
    let names = one_of_each_kind(dir.path());
    // The mode that the umask leaves.
    let left = mode(&dir.path().join("xml"));
    for (number, name) in names.iter().enumerate() {
        let from = permazen::open(name).unwrap();
        for (source, wanted) in [(0o600, 0o600), (0o644, left & 0o644)] {
            let check = |made: &Path, wanted: u32| {
                let file = made.join("data.mdb");
                if file.exists() {
                    assert_eq!(mode(&file), wanted, "{}", file.display());
                    let folder = wanted | 0o100 | ((wanted & 0o044) >> 2);
                    assert_eq!(mode(made), folder, "{}", made.display());
                } else {
                    assert_eq!(mode(made), wanted, "{}", made.display());
                }
            };
            if let Some(path) = from.path() {
                let file = path.join("data.mdb");
                if file.exists() {
                    set(path, 0o755);
                    set(&file, source);
                } else {
                    set(path, source);
                }
                let backup = dir.path().join(format!("backup-{number}-{source:o}"));
                from.back_up(&backup, &mut Watch::new()).unwrap();
                check(&backup, wanted);
            }
            let tx = from.begin(&TxOptions::reading()).unwrap();
            for other in names.iter().filter(|other| *other != "memory:") {
                let scheme = other.split(':').next().unwrap();
                let at =
                    |what: &str| dir.path().join(format!("{what}-{scheme}-of-{number}-{source:o}"));
                let make = |made: &Path, watch: &mut Watch<'_>| {
                    let target = format!("{scheme}:{}", made.display());
                    Opening::new().create_from(target, &tx, watch).unwrap();
                };
                make(&at("own"), &mut Watch::new());
                check(&at("own"), 0o600);
                make(&at("like"), &mut Watch::new().readers(from.readers()));
                check(&at("like"), if name == "memory:" { 0o600 } else { wanted });
            }
        }
    }
}

/// A store that was opened read-only can be changed up to the commit.
#[test]
fn pending_writes_need_no_right_to_write() {
    let dir = TempDir::new().unwrap();
    for name in one_of_each_kind(dir.path()).into_iter().filter(|name| name != "memory:") {
        let store = permazen::open(&name).unwrap().optimistic();
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        tx.put(&[9], &[9]).unwrap();
        assert!(tx.get(&[9]).unwrap().is_some() && tx.pending().unwrap().writes.len() == 1);
        assert!(matches!(tx.commit(), Err(KvError::IllegalState(_))), "{name}");
        assert_has_pair(&store);
    }
}

#[test]
fn the_time_to_wait_is_that_of_the_transaction_if_it_has_one() {
    let store = Opening::new().wait(Duration::ZERO).open("memory:").unwrap();
    let _writer = store.begin(&TxOptions::writing()).unwrap();
    assert!(store.begin(&TxOptions::writing()).is_err_and(|error| error.is_retryable()));
}
