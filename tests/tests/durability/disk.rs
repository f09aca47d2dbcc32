//! No space left, and no permission to write.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use permazen::kv::lmdb::LmdbStore;
use permazen::kv::sqlite::SqliteStore;
use permazen::kv::{KvDatabase, KvError, TxOptions};
use permazen::object::{Database, Error};
use tempfile::TempDir;

use crate::model::Model;
use crate::processes::{Role, Store, inspect, looking, say};
use crate::workload::{SLOTS, Step, Workload, config};

const WORKLOAD: Workload = Workload { seed: 3, partition: 0, large: true };

/// Commits until there is no space. The content can then be read and made smaller.
pub(crate) fn fill(path: &Path, store: Store) {
    let (number, removed) = fill_up(path, store);
    removed.unwrap();
    assert_eq!(inspect(store.create(path).unwrap(), WORKLOAD, "less"), made_smaller(number));
    say(&format!("committed {number}"));
}

/// Like [`fill`], on a file system of its own, which is then given more space.
pub(crate) fn fill_mounted(path: &Path, store: Store) {
    let (number, removed) = fill_up(path, store);
    match &removed {
        Ok(()) => {}
        // SQLite's log would have to grow for that.
        Err(Error::Kv { source: KvError::Full { .. }, .. }) if store == Store::Sqlite => {}
        Err(error) => panic!("{error:?}"),
    }
    let expected =
        if removed.is_ok() { made_smaller(number) } else { Model::after(WORKLOAD, number) };
    assert_eq!(inspect(store.create(path).unwrap(), WORKLOAD, "less"), expected);
    let mounted = path.parent().unwrap();
    let other = mounted.join("other");
    let error = std::fs::write(&other, vec![0; 1 << 20]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    std::fs::remove_file(other).unwrap();
    let grown = Command::new("mount").args(["-o", "remount,size=64m"]).arg(mounted).status();
    assert!(grown.unwrap().success());
    if removed.is_err() {
        remove_photos(&Database::new(store.create(path).unwrap()), number).unwrap();
    }
    go_on(path, store, number);
    say(&format!("committed {number}"));
}

/// Commits until there is no space. Returns the number of the last commit that succeeded, and
/// whether all photos could be removed afterwards.
fn fill_up(path: &Path, store: Store) -> (u64, permazen::object::Result<()>) {
    let kv = store.create(path).unwrap();
    let db = Database::new(Arc::clone(&kv));
    let mut number = 0;
    let error = loop {
        let commit = || {
            let tx = db.begin(&config(WORKLOAD.version(number + 1)))?;
            WORKLOAD.perform(&tx, number + 1)?;
            tx.commit()
        };
        if let Err(error) = commit() {
            break error;
        }
        number += 1;
    };
    assert!(matches!(error, Error::Kv { source: KvError::Full { .. }, .. }), "{error:?}");
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    assert_eq!(inspect(kv, WORKLOAD, "full"), Model::after(WORKLOAD, number));
    (number, remove_photos(&db, number))
}

/// Commits the removals, after commit `number`.
fn remove_photos(db: &Database, number: u64) -> permazen::object::Result<()> {
    let tx = db.begin(&config(WORKLOAD.version(number)))?;
    for step in removals() {
        WORKLOAD.apply(&tx, &step)?;
    }
    tx.commit()
}

/// Removes the photos, which take the space.
fn removals() -> impl Iterator<Item = Step> {
    (0..SLOTS).map(|slot| Step::Photo(slot, None))
}

/// The content after commit `number` and the removals.
fn made_smaller(number: u64) -> Model {
    let full = Model::after(WORKLOAD, number);
    let mut model = full.clone();
    for step in removals() {
        model.apply(&step, WORKLOAD.version(number));
    }
    assert_ne!(model, full, "there is nothing to remove");
    model
}

/// With space again, commits succeed again.
fn go_on(path: &Path, store: Store, number: u64) {
    let kv = store.create(path).unwrap();
    let mut model = made_smaller(number);
    assert_eq!(inspect(Arc::clone(&kv), WORKLOAD, "afterwards"), model);
    let db = Database::new(Arc::clone(&kv));
    for number in number + 1..=number + 5 {
        let tx = db.begin(&config(WORKLOAD.version(number))).unwrap();
        WORKLOAD.perform(&tx, number).unwrap();
        tx.commit().unwrap();
        model.perform(WORKLOAD, number);
    }
    assert_eq!(inspect(kv, WORKLOAD, "gone on"), model);
}

/// Files cannot grow beyond a size.
fn limited(store: Store) {
    for kib in [1200, 2500] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store");
        let role = Role { name: "fill", store, path: path.clone(), workload: WORKLOAD };
        let ended = role.start_limited(kib).ended();
        assert!(ended.status.success(), "{:?}", ended.said);
        let number = ended.last("committed ");
        assert!(number > 0);
        go_on(&path, store, number);
    }
}

#[test]
fn a_limit_of_file_sizes_on_lmdb() {
    limited(Store::Lmdb);
}

#[test]
fn a_limit_of_file_sizes_on_sqlite() {
    limited(Store::Sqlite);
}

/// A file system has no free block.
fn full(store: Store) {
    for mib in [3, 6] {
        let mounting = format!(
            "mount -t tmpfs -o size={mib}m none \"$PERMAZEN_MOUNTED\" && exec \"$0\" \"$@\""
        );
        let dir = tempfile::tempdir().unwrap();
        let Some(command) = mounted(&mounting, dir.path(), "a small file system") else { return };
        let path = dir.path().join("store");
        let role = Role { name: "fill-mounted", store, path, workload: WORKLOAD };
        let ended = role.start_with(command).ended();
        assert!(ended.status.success(), "{:?}", ended.said);
        assert!(ended.last("committed ") > 0);
    }
}

#[test]
fn a_full_disk_on_lmdb() {
    full(Store::Lmdb);
}

#[test]
fn a_full_disk_on_sqlite() {
    full(Store::Sqlite);
}

/// The uses of a database where nothing can be written. Writing is refused with a helpful message.
/// So is reading, except for LMDB on a file system that is read-only as a whole.
pub(crate) fn look_without_writing(path: &Path, store: Store, all_read_only: bool) {
    let text = match store.create(path) {
        Ok(kv) => {
            let db = Database::new(kv);
            let commit = || {
                let tx = db.begin(&config(1))?;
                WORKLOAD.perform(&tx, 4)?;
                tx.commit()
            };
            commit().unwrap_err().to_string()
        }
        Err(error) => error.to_string(),
    };
    assert!(text.contains(path.to_str().unwrap()), "{text}");
    assert!(text.contains("open it read-only") || text.contains("copy it to a dir"), "{text}");
    let opened: permazen::kv::Result<Arc<dyn KvDatabase>> = match store {
        Store::Lmdb => LmdbStore::builder().read_only(true).open(path).map(|kv| Arc::new(kv) as _),
        Store::Sqlite => {
            SqliteStore::builder().read_only(true).open(path).map(|kv| Arc::new(kv) as _)
        }
        Store::Page => unreachable!("no page is opened read-only"),
    };
    let read = opened.and_then(|kv| {
        kv.begin(&TxOptions::reading())?;
        Ok(kv)
    });
    match read {
        Ok(kv) => {
            assert_eq!(inspect(Arc::clone(&kv), WORKLOAD, "looking"), Model::after(WORKLOAD, 3));
            let error = Database::new(kv).begin(&config(1)).err().unwrap();
            assert!(error.to_string().contains("read-only transactions"), "{error}");
            say("read");
        }
        Err(error) => {
            // SQLite must be able to create files beside its own. LMDB must be able to write its
            // lock file, unless the file system is read-only.
            assert!(store == Store::Sqlite || !all_read_only, "{error}");
            let advice =
                if store == Store::Lmdb { "lock.mdb cannot be written" } else { "copy it" };
            assert!(error.to_string().contains(advice), "{error}");
            say("refused");
        }
    }
}

/// Makes a database of three commits in `path`.
fn written(path: &Path, store: Store) {
    let db = Database::new(store.create(path).unwrap());
    for number in 1..=3 {
        let tx = db.begin(&config(WORKLOAD.version(number))).unwrap();
        WORKLOAD.perform(&tx, number).unwrap();
        tx.commit().unwrap();
    }
    let _ = db.begin(&looking()).unwrap();
}

/// A command that starts its arguments as a process that must obey permissions, even if this
/// process runs as an administrator, for whom permissions do not count.
fn without_privileges() -> Command {
    let has_them = std::fs::read_to_string("/proc/self/status").is_ok_and(|status| {
        let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        effective.is_some_and(|set| set.trim().chars().any(|digit| digit != '0'))
    });
    let mut command = Command::new(if has_them { "setpriv" } else { "env" });
    if has_them {
        command.args(["--bounding-set=-all", "--inh-caps=-all"]);
    }
    command
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// The report of a role about a database in a directory that cannot be written.
fn read_only(
    dir: &TempDir,
    store: Store,
    name: &'static str,
    command: Command,
    protect: bool,
) -> String {
    // SQLite writes files beside its own.
    let inner = dir.path();
    let path = if store == Store::Lmdb { inner.to_owned() } else { inner.join("file") };
    written(&path, store);
    let modes = |file: u32, directory: u32| {
        for entry in std::fs::read_dir(inner).unwrap() {
            set_mode(&entry.unwrap().path(), file);
        }
        set_mode(inner, directory);
    };
    if protect {
        modes(0o444, 0o555);
    }
    let workload = WORKLOAD;
    let ended = Role { name, store, path, workload }.start_with(command).ended();
    modes(0o644, 0o755);
    assert!(ended.status.success(), "{:?}", ended.said);
    ended.said.concat()
}

#[test]
fn a_directory_that_cannot_be_written() {
    for store in [Store::Lmdb, Store::Sqlite] {
        let dir = tempfile::tempdir().unwrap();
        let said = read_only(&dir, store, "look", without_privileges(), true);
        assert!(said.contains("refused"), "{said}");
    }
}

/// A command that starts its arguments in their own name space, with something mounted on a
/// directory. Without the permission to do that, it prints what is not tested, even if output is
/// captured.
fn mounted(script: &str, directory: &Path, what: &str) -> Option<Command> {
    let command = || {
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", script]).env("PERMAZEN_MOUNTED", directory);
        command
    };
    let reason = match command().arg("true").output() {
        Ok(output) if output.status.success() => return Some(command()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => format!("unshare: {error}"),
    };
    let mut text = format!("skipped: no right to mount {what} here ({reason})");
    if std::env::var("CI").is_ok_and(|ci| ci == "true") {
        let line = "!".repeat(80);
        text = format!("{line}\nNOT TESTED IN CI, {text}\n{line}");
    }
    let mut out = std::io::stderr().lock();
    writeln!(out, "{text}").unwrap();
    None
}

/// Needs permission to mount in its own name space. Without it, the test says so.
#[test]
fn a_file_system_that_is_read_only() {
    let mounting = "mount --bind \"$PERMAZEN_MOUNTED\" \"$PERMAZEN_MOUNTED\" && \
                    mount -o remount,ro,bind \"$PERMAZEN_MOUNTED\" && exec \"$0\" \"$@\"";
    for store in [Store::Lmdb, Store::Sqlite] {
        let dir = tempfile::tempdir().unwrap();
        let what = "a read-only file system";
        let Some(command) = mounted(mounting, dir.path(), what) else { return };
        let said = read_only(&dir, store, "look-mounted", command, false);
        let expected = if store == Store::Lmdb { "read\n" } else { "refused\n" };
        assert!(said.contains(expected), "{said}");
    }
}
