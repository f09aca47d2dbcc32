//! The program with paths that are no files, with files that cannot be written, and with files that
//! it only reads.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use permazen::kv::sqlite::SqliteStore;
use permazen::kv::{KvDatabase, TxOptions};
use tempfile::TempDir;

use crate::support::{STALE_ENTRY, bytes, change, damaged, data, jsck, sqlite_file};

/// A directory with a named pipe, a socket and a link to a device in it. Each comes with its kind
/// in words.
fn no_files() -> (TempDir, Vec<(String, &'static str)>, UnixListener) {
    let dir = TempDir::new().expect("a directory");
    let name = |name: &str| dir.path().join(name).to_str().expect("UTF-8").to_owned();
    let (pipe, socket, device) = (name("pipe"), name("socket"), name("device"));
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let listener = UnixListener::bind(&socket).expect("a socket");
    std::os::unix::fs::symlink("/dev/zero", &device).expect("a link");
    let kinds = vec![(pipe, "a named pipe"), (socket, "a socket"), (device, "a device")];
    (dir, kinds, listener)
}

/// The program ends with exit code 2 and a line that names the file.
fn refused(args: &[&str], file: &str) -> String {
    let mut command = jsck(args);
    let output = command.timeout(Duration::from_secs(20)).output().expect("run");
    let error = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    assert_eq!(error.lines().count(), 1, "{args:?}: {error}");
    assert!(error.contains(file), "{args:?}: {error}");
    error
}

#[test]
fn what_is_no_file_is_refused_in_words() {
    let (dir, kinds, _listener) = no_files();
    let (_other, path) = damaged(&[STALE_ENTRY]);
    let directory = dir.path().to_str().expect("UTF-8").to_owned();
    for (file, kind) in kinds.iter().map(|(f, k)| (f, *k)).chain([(&directory, "a directory")]) {
        for args in [
            &["--kind", "xml", file][..],
            &["--kind", "xml", "--repair", "--yes", file],
            &["--kind", "sqlite", file],
            &["--kind", "sqlite", "--repair", "--yes", file],
        ] {
            let error = refused(args, file);
            assert!(error.contains(kind) && error.contains("where a file is expected"), "{error}");
        }
        let schema = format!("1={file}");
        for args in [
            &["--apply-undo", file, &path][..],
            &["--online", "--position", file, &path],
            &["--schema", &schema, &path],
        ] {
            // A file that is read as text can be a pipe.
            if kind == "a named pipe" {
                continue;
            }
            let error = refused(args, file);
            assert!(error.contains(kind) && error.contains("where a file is expected"), "{error}");
        }
        for option in ["--backup", "--undo-file"] {
            refused(&["--repair", "--yes", option, file, &path], file);
        }
        if kind != "a directory" {
            assert!(refused(&[file], file).contains(kind));
            refused(&["--kind", "lmdb", file], file);
        }
    }
    for (file, _) in &kinds {
        let found = fs::metadata(file).expect("it is there").file_type();
        assert!(found.is_fifo() || found.is_socket() || found.is_char_device(), "{file}");
    }
}

/// Runs a script in a shell that knows `<(…)`. Returns the exit code, and both outputs as text.
fn script(script: &str, variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = assert_cmd::Command::new("bash");
    command.args(["-c", script]).env("JSCK", env!("CARGO_BIN_EXE_jsck"));
    command.envs(variables.iter().copied()).timeout(Duration::from_secs(20));
    let output = command.output().expect("run");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).expect("UTF-8"))
}

/// The ways to pass what `$1` prints.
const PIPES: [&str; 4] = [
    r#""$JSCK" ARGS <(SOURCE) "$DB""#,
    r#"SOURCE | "$JSCK" ARGS - "$DB""#,
    r#"SOURCE | "$JSCK" ARGS /dev/stdin "$DB""#,
    r#"mkfifo "$DIR/pipe"; SOURCE >"$DIR/pipe" & "$JSCK" ARGS "$DIR/pipe" "$DB""#,
];

#[test]
fn what_is_read_as_text_can_come_from_a_pipe() {
    for pipe in PIPES {
        let (dir, db) = damaged(&[STALE_ENTRY]);
        let dir = dir.path().to_str().expect("UTF-8");
        let undo = format!("{dir}/undo");
        let variables = [("DB", &*db), ("DIR", dir), ("UNDO", &*undo)];
        let run = |args: &str, source: &str| {
            let _ = fs::remove_file(format!("{dir}/pipe"));
            script(&pipe.replace("ARGS", args).replace("SOURCE", source), &variables)
        };
        // First the object after the one of the entry, then the beginning.
        let (code, text) = run("--online --position", "echo 2000000000000002");
        assert_eq!(code, Some(0), "{pipe}: {text}");
        let (code, text) = run("--online --position", "true");
        assert_eq!(code, Some(1), "{pipe}: {text}");
        // The program prints where it stops, and writes it to no file.
        let (code, text) = run("--online --limit 1 --position", "echo 10");
        assert_eq!(code, Some(1), "{pipe}: {text}");
        assert!(text.contains("Stopped before the key"), "{pipe}: {text}");
        let (code, text) = run("--online --position", "echo no hex");
        assert_eq!(code, Some(2), "{pipe}: {text}");
        assert!(text.contains("not a position in hex"), "{pipe}: {text}");
        jsck(&["--repair", "--yes", "--undo-file", &undo, &db]).assert().code(1);
        let (code, text) = run("--apply-undo", "true");
        assert_eq!(code, Some(2), "{pipe}: {text}");
        assert!(text.contains("is no undo file"), "{pipe}: {text}");
        let (code, text) = run("--apply-undo", r#"cat "$UNDO""#);
        assert_eq!(code, Some(0), "{pipe}: {text}");
        assert!(text.contains("1 changes undone"), "{pipe}: {text}");
        jsck(&[&db]).assert().code(1);
    }
    assert!(fs::metadata("/dev/stdin").is_ok());
}

#[test]
fn a_schema_can_come_from_standard_input() {
    let (_dir, db) = damaged(&[]);
    let source = r#"echo nonsense | "$JSCK" --schema 1=- "$DB""#;
    let (code, text) = script(source, &[("DB", &db)]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("standard input:"), "{text}");
}

/// The target of a link is updated, not the link itself: `/dev/stdin` is such a link.
#[test]
fn a_position_is_kept_where_its_link_leads() {
    let (dir, db) = damaged(&[STALE_ENTRY]);
    let (file, link) = (dir.path().join("position"), dir.path().join("link"));
    fs::write(&file, "10\n").expect("write");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    let position = link.to_str().expect("UTF-8");
    jsck(&["--online", "--limit", "1", "--position", position, &db]).assert().code(1);
    let text = fs::read_to_string(&file).expect("read");
    jsck(&["--online", "--position", position, &db]).assert().code(0);
    assert!(text.trim() > "10" && !file.exists(), "{text}");
    assert!(fs::symlink_metadata(&link).expect("it is there").is_symlink());
}

/// The same if the target does not exist yet, or no longer exists.
#[test]
fn a_position_is_kept_where_its_link_leads_although_nothing_is_there() {
    let (dir, db) = damaged(&[STALE_ENTRY]);
    let (file, link) = (dir.path().join("position"), dir.path().join("link"));
    let first = dir.path().join("first");
    std::os::unix::fs::symlink("position", &link).expect("a link");
    std::os::unix::fs::symlink(&link, &first).expect("a link");
    let position = first.to_str().expect("UTF-8");
    for _ in 0..2 {
        jsck(&["--online", "--limit", "1", "--position", position, &db]).assert().code(1);
        assert!(fs::symlink_metadata(&file).expect("it is there").is_file());
        jsck(&["--online", "--position", position, &db]).assert().code(0);
        assert!(!file.exists());
        for link in [&first, &link] {
            assert!(fs::symlink_metadata(link).expect("it is there").is_symlink());
        }
    }
    let round = dir.path().join("round");
    std::os::unix::fs::symlink("round", &round).expect("a link");
    let round = round.to_str().expect("UTF-8");
    refused(&["--online", "--position", round, &db], round);
    assert!(fs::symlink_metadata(round).expect("it is there").is_symlink());
}

/// An open file that no longer has a name is only read. The link to it stays.
#[cfg(target_os = "linux")]
#[test]
fn a_position_can_come_from_a_file_that_was_removed() {
    let (dir, db) = damaged(&[STALE_ENTRY]);
    let (file, link) = (dir.path().join("position"), dir.path().join("link"));
    std::os::unix::fs::symlink("/proc/self/fd/0", &link).expect("a link");
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let variables = [("DB", &*db), ("FILE", &text(&file)), ("LINK", &text(&link))];
    for (position, expected) in [("2000000000000002", 0), ("10", 1)] {
        let run = r#""$JSCK" --online --limit 1 --position "$LINK" "$DB""#;
        let source = format!(r#"echo {position} >"$FILE"; exec <"$FILE"; rm "$FILE"; {run}"#);
        let (code, text) = script(&source, &variables);
        assert_eq!(code, Some(expected), "{text}");
        assert!(fs::symlink_metadata(&link).expect("it is there").is_symlink());
    }
}

#[test]
fn what_can_be_read_once_is_not_read_twice() {
    let (dir, db) = damaged(&[STALE_ENTRY]);
    let schema = r#"<Schema><ObjectType name="Note"/></Schema>"#;
    let variables = [("DB", &*db), ("DIR", dir.path().to_str().expect("UTF-8")), ("XML", schema)];
    for (arguments, name) in [
        ("--schema 8=- --schema 9=-", "standard input"),
        ("--online --schema 9=- --position -", "standard input"),
        ("--online --schema 9=- --position /dev/stdin", "/dev/stdin"),
        ("--online --schema 9=/dev/stdin --position -", "standard input"),
        ("--apply-undo - --schema 9=-", "standard input"),
        (r#"--online --schema 9="$DIR/pipe" --position "$DIR/pipe""#, "/pipe"),
    ] {
        let source = format!(
            r#"rm -f "$DIR/pipe"; mkfifo "$DIR/pipe"; echo "$XML" | "$JSCK" {arguments} "$DB""#
        );
        let (code, text) = script(&source, &variables);
        assert_eq!(code, Some(2), "{arguments}: {text}");
        assert!(text.contains(name) && text.contains("read only once"), "{arguments}: {text}");
    }
    // Two pipes are read one after the other.
    let source = r#""$JSCK" --online --schema 9=<(echo "$XML") --position <(echo 10) "$DB""#;
    let (code, text) = script(source, &variables);
    assert_eq!(code, Some(1), "{text}");
    let source = r#"echo 10 | "$JSCK" --online --schema 9=<(echo "$XML") --position - "$DB""#;
    assert_eq!(script(source, &variables).0, Some(1));
}

/// Otherwise the group of new files could read it, for which it was not meant.
#[test]
fn a_repaired_dump_keeps_its_group_and_permissions() {
    let dir = TempDir::new().expect("a directory");
    let (file, undo) = (dir.path().join("dump.xml"), dir.path().join("undo"));
    let text = fs::read_to_string(data("reference/R.kv.xml")).expect("data");
    let stale = format!("<entry><key>{}</key></entry></entries>", STALE_ENTRY.0);
    fs::write(&file, text.replace("</entries>", &stale)).expect("write");
    fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).expect("permissions");
    let about = || fs::metadata(&file).expect("it is there");
    let of_new = about().gid();
    let own = Command::new("id").arg("-G").output().expect("id").stdout;
    let own = String::from_utf8(own).expect("UTF-8");
    // The system administrator can give it to any group.
    let groups =
        own.split_whitespace().filter_map(|group| group.parse::<u32>().ok()).chain([of_new + 1]);
    let mut others = groups.filter(|group| *group != of_new);
    if !others.any(|group| chown(&file, None, Some(group)).is_ok()) {
        println!("skipped: the user is in one group only");
        return;
    }
    let group = about().gid();
    assert_ne!(group, of_new);
    let repair = ["--repair", "--yes", "--undo-file"];
    jsck(&repair).arg(&undo).arg(&file).assert().code(1);
    assert_eq!((about().gid(), about().mode() & 0o777), (group, 0o640));
    jsck(&[]).arg(&file).assert().code(0);
}

#[test]
fn an_environment_whose_files_are_none_is_refused() {
    let (_dir, kinds, _listener) = no_files();
    for name in ["data.mdb", "lock.mdb"] {
        for (file, _) in &kinds {
            let (_other, path) = damaged(&[]);
            let inside = Path::new(&path).join(name);
            let _ = fs::remove_file(&inside);
            std::os::unix::fs::symlink(file, &inside).expect("a link");
            for args in [&[&*path][..], &["--repair", "--yes", &path]] {
                assert!(refused(args, &path).contains(name));
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn with_full_output(args: &[&str]) -> (Option<i32>, String) {
    let full = fs::File::options().write(true).open("/dev/full").expect("open");
    let output = Command::new(env!("CARGO_BIN_EXE_jsck"))
        .args(args)
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .expect("run");
    (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
}

#[cfg(target_os = "linux")]
#[test]
fn a_report_that_cannot_be_written_is_an_error() {
    let (_clean, clean) = damaged(&[]);
    let (dir, path) = damaged(&[STALE_ENTRY]);
    for args in [
        &[&*clean][..],
        &["--json", &clean],
        &["--online", &clean],
        &["--online", "--json", &clean],
        &["--repair", "--yes", "--json", &clean],
        &[&path],
        &["--json", &path],
        &["--online", "--json", &path],
        &["--repair", "--dry-run", &path],
        &["--repair", "--dry-run", "--json", &path],
        &["--repair", "--yes", &path],
        &["--repair", "--yes", "--json", &path],
        &["--generate", "bash"],
        &["--generate", "man"],
        &["--generate", "json-schema"],
        &["--help"],
        &["--version"],
    ] {
        let (code, error) = with_full_output(args);
        assert_eq!(code, Some(2), "{args:?}: {error}");
        assert!(error.contains("standard output: No space left on device"), "{args:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{args:?}: {error}");
    }
    // Nothing is repaired that could not be reported.
    jsck(&[&path]).assert().code(1);
    assert_eq!(fs::read_dir(dir.path()).expect("list").count(), 1, "a file was left");
}

#[cfg(target_os = "linux")]
#[test]
fn what_was_done_is_told_if_only_the_end_of_the_report_is_lost() {
    let (dir, path) = damaged(&[STALE_ENTRY]);
    let undo = dir.path().join("undo");
    let name = undo.to_str().expect("UTF-8");
    jsck(&["--repair", "--yes", "--undo-file", name, &path]).assert().code(1);
    // The undo prints nothing but its last line.
    let (code, error) = with_full_output(&["--apply-undo", name, &path]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("1 changes were undone"), "{error}");
    jsck(&[&path]).assert().code(1);
    // The finding can be written, but not the summary: the report may grow by 600 bytes.
    fs::remove_file(&undo).expect("remove");
    let report = dir.path().join("report");
    let script = "ulimit -f 256; exec \"$0\" \"$@\" >>\"$REPORT\"";
    fs::write(&report, vec![b' '; 256 * 512 - 600]).expect("write");
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_jsck"), "--json", "--repair", "--yes"])
        .args(["--undo-file", name, &path])
        .env("REPORT", &report)
        .output()
        .expect("run");
    let error = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("the repair is made") && error.contains(name), "{error}");
    jsck(&[&path]).assert().code(0);
    jsck(&["--apply-undo", name, &path]).assert().code(0);
}

/// A reader that has closed the pipe has seen what it wanted. An error that cannot be printed still
/// has its exit code.
#[cfg(target_os = "linux")]
#[test]
fn a_closed_pipe_changes_no_exit_code() {
    let (_clean, clean) = damaged(&[]);
    let (_dir, path) = damaged(&[STALE_ENTRY]);
    for (script, code) in [
        ("{ \"$JSCK\" \"$CLEAN\"; echo $? >&2; } | true", "0"),
        ("{ \"$JSCK\" --json \"$CLEAN\"; echo $? >&2; } | true", "0"),
        ("{ \"$JSCK\" \"$DAMAGED\"; echo $? >&2; } | true", "1"),
        ("\"$JSCK\" /no/such/place 2>/dev/full; echo $? >&2", "2"),
        ("\"$JSCK\" --no-such-option 2>/dev/full; echo $? >&2", "2"),
    ] {
        let output = Command::new("sh")
            .args(["-c", script])
            .env("JSCK", env!("CARGO_BIN_EXE_jsck"))
            .env("CLEAN", &clean)
            .env("DAMAGED", &path)
            .output()
            .expect("run");
        let error = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(error.trim(), code, "{script}");
    }
}

/// Every file in a directory.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).expect("list").map(|entry| entry.expect("entry"));
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().expect("UTF-8");
            (name, fs::read(entry.path()).expect("read"))
        })
        .collect()
}

const LOOKS: [&[&str]; 4] = [&[], &["--json"], &["--online"], &["--repair", "--dry-run"]];

#[test]
fn a_look_at_a_sqlite_file_leaves_it_as_it_is() {
    for wal in [true, false] {
        let dir = TempDir::new().expect("a directory");
        let file = sqlite_file(dir.path(), |kv| change(kv, &[STALE_ENTRY]));
        if !wal {
            // The header then says that the journal mode is not WAL, and there is no log.
            let mut bytes = fs::read(&file).expect("read");
            bytes[18..20].fill(1);
            fs::write(&file, bytes).expect("write");
        }
        let before = files(dir.path());
        assert_eq!(before.len(), 1, "{:?}", before.keys());
        for args in LOOKS {
            jsck(args).arg(&file).assert().code(1);
            assert_eq!(files(dir.path()), before, "{args:?}, WAL: {wal}");
        }
    }
}

#[test]
fn files_that_were_there_before_a_look_stay() {
    let dir = TempDir::new().expect("a directory");
    let file = sqlite_file(dir.path(), |_| {});
    // The files that a killed writer has left: the stale entry is in the log only.
    let writer = SqliteStore::open(&file).expect("open");
    let mut kv = writer.begin(&TxOptions::writing()).expect("begin");
    change(&mut *kv, &[STALE_ENTRY]);
    kv.commit().expect("commit");
    let killed = TempDir::new().expect("a directory");
    for (name, content) in files(dir.path()) {
        fs::write(killed.path().join(name), content).expect("write");
    }
    let names = ["db.sqlite", "db.sqlite-shm", "db.sqlite-wal"];
    for place in [killed.path(), dir.path()] {
        // In one directory no program has the database open, in the other this process has.
        let before = files(place);
        assert_eq!(before.keys().collect::<Vec<_>>(), names);
        for args in LOOKS {
            jsck(args).arg(place.join("db.sqlite")).assert().code(1);
            let after = files(place);
            assert_eq!(after.keys().collect::<Vec<_>>(), names, "{args:?}");
            for name in ["db.sqlite", "db.sqlite-wal"] {
                assert!(after[name] == before[name], "{name} was changed: {args:?}");
            }
        }
    }
    // The writer continues, and cleans up as usual.
    let mut kv = writer.begin(&TxOptions::writing()).expect("begin");
    kv.remove(&bytes(STALE_ENTRY.0)).expect("remove");
    kv.commit().expect("commit");
    jsck(&[]).arg(&file).assert().code(0);
    drop(writer);
    assert_eq!(files(dir.path()).len(), 1);
}

/// They hold what the database holds, which others may not be able to read.
#[test]
fn backups_and_undo_files_are_private_to_the_user() {
    let (dir, lmdb) = damaged(&[STALE_ENTRY]);
    let sqlite = sqlite_file(dir.path(), |kv| change(kv, &[STALE_ENTRY]));
    for (number, database) in [lmdb, sqlite.to_str().expect("UTF-8").to_owned()].iter().enumerate()
    {
        let [backup, undo] =
            ["backup", "undo"].map(|name| dir.path().join(format!("{name}{number}")));
        let mut command = Command::new("sh");
        // A program may be asked to make files that all can read and write.
        command.args(["-c", "umask 000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_jsck")]);
        command.args(["--repair", "--yes", "--backup"]).arg(&backup).arg("--undo-file").arg(&undo);
        let output = command.arg(database).output().expect("run");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        for file in [&backup, &undo] {
            let mode = fs::metadata(file).expect("it was made").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{file:?}");
        }
        // Undoing writes none of them anew.
        let undone = jsck(&["--apply-undo", undo.to_str().expect("UTF-8"), database]).output();
        assert_eq!(undone.expect("run").status.code(), Some(0));
        assert_eq!(fs::metadata(&undo).expect("it stays").permissions().mode() & 0o777, 0o600);
    }
}
