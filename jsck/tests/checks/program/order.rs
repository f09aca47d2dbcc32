//! The order in which a repair writes. Before anything is written to the database, the undo file
//! and the backup are complete, on disk, and under their names.
//!
//! A small C library is compiled here. It stands between the program and the C library, and records
//! the writes and syncs.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{STALE_ENTRY, change, damaged, sqlite_file};

/// Compiles the library. Returns `None` if there is no compiler.
fn recorder(dir: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/checks/program/record.c");
    let library = dir.join("record.so");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .stderr(Stdio::inherit())
        .status();
    match compiled {
        Err(_) => {
            println!("skipped: there is no C compiler");
            None
        }
        Ok(status) => {
            assert!(status.success(), "the library does not compile");
            Some(library)
        }
    }
}

/// Repairs a database, and checks the order of the writes. `is_store` says whether a path belongs
/// to the database.
fn repair(dir: &Path, database: &str, is_store: impl Fn(&str) -> bool) {
    let Some(library) = recorder(dir) else { return };
    let [record, undo, backup] = ["record", "undo", "backup.xml"].map(|name| dir.join(name));
    let program = env!("CARGO_BIN_EXE_jsck");
    let status = Command::new(program)
        .args(["--repair", "--yes", "--undo-file"])
        .arg(&undo)
        .arg("--backup")
        .arg(&backup)
        .arg(database)
        .env("LD_PRELOAD", &library)
        .env("RECORD_TO", &record)
        .env("RECORD_NAMED", &undo)
        .stdout(Stdio::null())
        .status();
    assert_eq!(status.expect("run").code(), Some(1));
    let text = fs::read_to_string(&record).expect("what was recorded");
    let lines: Vec<&str> = text.lines().collect();
    let change = |line: &&str| line.strip_prefix("write ").is_some_and(&is_store);
    let first = lines.iter().position(change);
    let first = first.unwrap_or_else(|| panic!("the database is not written:\n{text}"));
    let (before, after) = lines.split_at(first);
    // The files that the program writes have other names until they are complete.
    let of_files = |line: &str| line.contains("/.jsck-");
    let written = |line: &&str| line.starts_with("write ") && of_files(line);
    let synced = |line: &&str| line.starts_with("sync ") && of_files(line);
    let last_written = before.iter().rposition(written).expect("files are written");
    let last_synced = before.iter().rposition(synced).expect("files are synced");
    assert!(last_written < last_synced, "{text}");
    let files = |is: &dyn Fn(&&str) -> bool| {
        let mut names: Vec<&str> = before
            .iter()
            .filter(|line| is(line))
            .filter_map(|line| line.split_once(" "))
            .map(|(_, file)| file)
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    assert_eq!(files(&written).len(), 2, "the undo file and the backup: {text}");
    assert_eq!(files(&written), files(&synced), "{text}");
    let directory = format!("sync {} named", dir.display());
    let names = before.iter().rposition(|line| *line == directory);
    assert!(names > Some(last_synced), "the name is not on disk: {text}");
    assert!(!after.iter().any(|line| of_files(line)), "{text}");
    assert!(after[0].ends_with(" named"), "{text}");
}

#[test]
fn an_lmdb_environment_is_written_last() {
    let (dir, path) = damaged(&[STALE_ENTRY]);
    let dir = dir.path().canonicalize().expect("a path");
    repair(&dir, &path, |file| file.contains("/data.mdb"));
}

#[test]
fn a_sqlite_file_is_written_last() {
    let scratch = tempfile::tempdir().expect("a directory");
    let dir = scratch.path().canonicalize().expect("a path");
    let file = sqlite_file(&dir, |kv| change(kv, &[STALE_ENTRY]));
    repair(&dir, file.to_str().expect("UTF-8"), |file| {
        file.contains("/db.sqlite") && !file.contains("-shm")
    });
}
