//! No room left, and no right to write.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use permazen::kv::lmdb::LmdbStore;
use permazen::kv::sqlite::SqliteStore;
use permazen::kv::{KvDatabase, KvError, TxOptions};
use permazen::object::{Database, Error};

use crate::model::Model;
use crate::processes::{Role, Store, inspect, looking, say};
use crate::workload::{Workload, config};

const WORKLOAD: Workload = Workload { seed: 3, partition: 0, large: true };

/// Commits until there is no room; what is there can then be read, and made smaller.
pub(crate) fn fill(path: &Path, store: Store) {
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
    assert!(matches!(error, Error::Kv(KvError::Full { .. })), "{error:?}");
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    assert_eq!(inspect(kv, WORKLOAD, "full"), Model::after(WORKLOAD, number));
    let tx = db.begin(&config(WORKLOAD.version(number))).unwrap();
    let accounts = tx.objects("Account").unwrap().to_vec().unwrap();
    accounts.into_iter().for_each(|id| drop(tx.delete(id)));
    tx.rollback().unwrap();
    say(&format!("committed {number}"));
}

fn full(store: Store) {
    for kib in [1200, 2500] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store");
        let role = Role { name: "fill", store, path: path.clone(), workload: WORKLOAD };
        let ended = role.start_limited(kib).ended();
        assert!(ended.status.success(), "{:?}", ended.said);
        let number = ended.last("committed ");
        assert!(number > 0);
        // With room again it goes on.
        let kv = store.create(&path).unwrap();
        assert_eq!(
            inspect(Arc::clone(&kv), WORKLOAD, "afterwards"),
            Model::after(WORKLOAD, number)
        );
        let db = Database::new(Arc::clone(&kv));
        let tx = db.begin(&config(WORKLOAD.version(number + 1))).unwrap();
        WORKLOAD.perform(&tx, number + 1).unwrap();
        tx.commit().unwrap();
        assert_eq!(inspect(kv, WORKLOAD, "gone on"), Model::after(WORKLOAD, number + 1));
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

/// What can be done where nothing can be written: writing is refused in words that help; reading too,
/// except for LMDB on a file system that is read-only as such.
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
            // SQLite has to be able to make files beside its own. LMDB has to be able to write its
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

/// A command that starts its arguments as a process that has to obey permissions, also if this one
/// is an administrator's, who does not.
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

fn read_only(store: Store, name: &'static str, mut command: Command, protect: bool) -> String {
    let dir = tempfile::tempdir().unwrap();
    // SQLite writes files beside its own.
    let inner = dir.path().join("protected");
    std::fs::create_dir(&inner).unwrap();
    let path = if store == Store::Lmdb { inner.clone() } else { inner.join("file") };
    written(&path, store);
    let modes = |file: u32, directory: u32| {
        for entry in std::fs::read_dir(&inner).unwrap() {
            set_mode(&entry.unwrap().path(), file);
        }
        set_mode(&inner, directory);
    };
    if protect {
        modes(0o444, 0o555);
    }
    command.env("PERMAZEN_PROTECTED", &inner);
    let workload = WORKLOAD;
    let ended = Role { name, store, path, workload }.start_with(command).ended();
    modes(0o644, 0o755);
    assert!(ended.status.success(), "{:?}", ended.said);
    ended.said.concat()
}

#[test]
fn a_directory_that_cannot_be_written() {
    for store in [Store::Lmdb, Store::Sqlite] {
        let said = read_only(store, "look", without_privileges(), true);
        assert!(said.contains("refused"), "{said}");
    }
}

/// Needs the right to mount in a name space of its own; where there is none it says so.
#[test]
fn a_file_system_that_is_read_only() {
    let mounting = "mount --bind \"$PERMAZEN_PROTECTED\" \"$PERMAZEN_PROTECTED\" && \
                    mount -o remount,ro,bind \"$PERMAZEN_PROTECTED\" && exec \"$0\" \"$@\"";
    let probe = Command::new("unshare")
        .args(["-rm", "sh", "-c", mounting, "true"])
        .env("PERMAZEN_PROTECTED", std::env::temp_dir())
        .status();
    if !probe.is_ok_and(|status| status.success()) {
        println!("skipped: no right to mount a read-only file system here");
        return;
    }
    for store in [Store::Lmdb, Store::Sqlite] {
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", mounting]);
        let said = read_only(store, "look-mounted", command, false);
        let expected = if store == Store::Lmdb { "read\n" } else { "refused\n" };
        assert!(said.contains(expected), "{said}");
    }
}
