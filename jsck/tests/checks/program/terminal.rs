//! The program on a terminal, which `script` of util-linux provides.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use permazen::kv::lmdb::LmdbStore;
use permazen::kv::sqlite::SqliteStore;
use permazen::kv::{KvDatabase, TxOptions, xml};

use crate::support::{STALE_ENTRY, change, damaged, data, jsck};

/// The program on a terminal; `None` if there is no `script`.
fn on_terminal(args: &str, environment: &[(&str, &str)]) -> Option<Child> {
    if Command::new("script").arg("--version").output().is_err() {
        println!("skipped: there is no program `script`");
        return None;
    }
    // `exec` is needed: a shell that stays beside the program may itself be killed by the Ctrl-C,
    // and hide the program's exit code.
    let command = format!("exec '{}' {args}", env!("CARGO_BIN_EXE_jsck"));
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).env("TERM", "xterm").env("SHELL", "/bin/sh");
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES"] {
        script.env_remove(variable);
    }
    script.envs(environment.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped());
    Some(script.spawn().expect("run"))
}

/// Reads until `wanted` was shown or the output ends. Returns everything that was shown.
fn shown(child: &mut Child, wanted: &str) -> String {
    let output = child.stdout.as_mut().expect("output");
    let deadline = Instant::now() + Duration::from_secs(20);
    let (mut text, mut bytes) = (String::new(), [0; 4096]);
    while !text.contains(wanted) && Instant::now() < deadline {
        match output.read(&mut bytes) {
            Ok(0) | Err(_) => break,
            Ok(count) => text.push_str(&String::from_utf8_lossy(&bytes[..count])),
        }
    }
    text
}

fn code_and_rest(mut child: Child) -> (Option<i32>, String) {
    let rest = shown(&mut child, "\0never");
    (child.wait().expect("wait").code(), rest)
}

#[test]
fn colours_are_shown_unless_they_are_off() {
    let (_dir, path) = damaged(&[STALE_ENTRY]);
    let Some(child) = on_terminal(&format!("'{path}'"), &[]) else { return };
    let (code, text) = code_and_rest(child);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("\x1b[31mdangling-index-entry\x1b[0m"), "{text:?}");
    let Some(child) = on_terminal(&format!("'{path}' 2>/dev/null"), &[("NO_COLOR", "1")]) else {
        return;
    };
    let (_, text) = code_and_rest(child);
    assert!(text.contains("dangling-index-entry") && !text.contains("\x1b["), "{text:?}");
}

#[test]
fn a_bar_shows_how_far_it_is_and_ctrl_c_ends_the_check() {
    let (_dir, path) = damaged(&[]);
    let Some(mut child) = on_terminal(&format!("--online --rate 10 '{path}'"), &[]) else { return };
    let text = shown(&mut child, "pairs,");
    assert!(text.contains("pairs,"), "no bar: {text:?}");
    child.stdin.as_mut().expect("input").write_all(&[3]).expect("write");
    let (code, text) = code_and_rest(child);
    assert_eq!(code, Some(2), "not all was checked: {text}");
    assert!(text.contains("Stopped before the key"), "{text}");
}

#[test]
fn a_repair_asks_first() {
    let (dir, path) = damaged(&[STALE_ENTRY]);
    for (answer, made) in [(&b"\x03"[..], false), (b"n\n", false), (b"y\n", true)] {
        let Some(mut child) = on_terminal(&format!("--repair '{path}'"), &[]) else { return };
        let text = shown(&mut child, "[y/N]");
        assert!(text.contains("Make 1 changes? [y/N]"), "{text}");
        child.stdin.as_mut().expect("input").write_all(answer).expect("write");
        let (code, text) = code_and_rest(child);
        assert_eq!(code, Some(1), "{text}");
        assert_eq!(text.contains("Repaired: 1 changes"), made, "{text}");
        jsck(&[&path]).assert().code(if made { 0 } else { 1 });
        let files = std::fs::read_dir(dir.path()).expect("list").count();
        assert_eq!(files, if made { 2 } else { 1 }, "the undo file");
    }
}

/// Others write while the program asks. If the database still needs exactly the changes that were
/// agreed to, they are made. Otherwise the program shows what it needs now, and asks again.
#[test]
fn a_repair_that_asks_does_not_block_writers() {
    let another = ("11416e70001000000000000001", Some(""));
    // An object is removed with its index entries. The entry that repair would put is missing as
    // before, but no object calls for it any more.
    let gone = [
        ("2000000000000001", None),
        ("200000000000000111", None),
        ("200000000000000121", None),
        ("11526578002000000000000001", None),
        ("0080012000000000000001", None),
    ];
    for (damage, meanwhile, asks_again, changes) in [
        (STALE_ENTRY, &[("00ff01", Some("aa"))][..], false, 1),
        (STALE_ENTRY, &[another], true, 2),
        (("11526578002000000000000001", None), &gone, true, 0),
    ] {
        let (dir, path) = damaged(&[damage]);
        let Some(mut child) = on_terminal(&format!("--repair '{path}'"), &[]) else { return };
        let text = shown(&mut child, "[y/N]");
        assert!(text.contains("Make 1 changes? [y/N]"), "{text}");
        let store = LmdbStore::open(&path).expect("open");
        // This would wait for ever if the program held the right to write.
        let mut kv = store.begin(&TxOptions::writing()).expect("begin");
        change(&mut *kv, meanwhile);
        kv.commit().expect("commit");
        drop(store);
        child.stdin.as_mut().expect("input").write_all(b"y\n").expect("write");
        if asks_again && changes > 0 {
            let text = shown(&mut child, "[y/N]");
            assert!(text.contains("has changed while this was asked"), "{text}");
            assert!(text.contains(&format!("Make {changes} changes? [y/N]")), "{text}");
            child.stdin.as_mut().expect("input").write_all(b"y\n").expect("write");
        }
        let (code, text) = code_and_rest(child);
        if changes == 0 {
            assert!(text.contains("has changed while this was asked"), "{text}");
            assert_eq!(code, Some(0), "nothing is wrong any more: {text}");
        } else {
            assert_eq!(code, Some(1), "{text}");
            assert!(text.contains(&format!("Repaired: {changes} changes")), "{text}");
            assert!(!text.contains("has changed"), "{text}");
        }
        jsck(&[&path]).assert().code(0);
        let files = std::fs::read_dir(dir.path()).expect("list").count();
        assert_eq!(files, if changes == 0 { 1 } else { 2 }, "the undo file");
    }
}

/// A dump is read completely at the beginning. Writes of other programs into it after that would be
/// lost.
#[test]
fn a_dump_that_changed_is_not_replaced() {
    let dir = tempfile::TempDir::new().expect("a directory");
    let file = dir.path().join("db.xml");
    let dump = std::fs::read_to_string(data("reference/R.kv.xml")).expect("data");
    let stale = format!("<entry><key>{}</key></entry></entries>", STALE_ENTRY.0);
    std::fs::write(&file, dump.replace("</entries>", &stale)).expect("write");
    let Some(mut child) = on_terminal(&format!("--repair '{}'", file.display()), &[]) else {
        return;
    };
    let text = shown(&mut child, "[y/N]");
    assert!(text.contains("Make 1 changes? [y/N]"), "{text}");
    std::fs::write(&file, "<entries/>").expect("write");
    child.stdin.as_mut().expect("input").write_all(b"y\n").expect("write");
    let (code, text) = code_and_rest(child);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("another program has changed it"), "{text}");
    assert_eq!(std::fs::read_to_string(&file).expect("read"), "<entries/>");
    assert_eq!(std::fs::read_dir(dir.path()).expect("list").count(), 1, "a file was left");
}

/// A store that does not say which state it is in, and one that is read completely.
#[test]
fn a_repair_asks_whatever_the_store() {
    for (name, kind) in [("db.sqlite", "SQLite file"), ("db.xml", "XML dump")] {
        let dir = tempfile::TempDir::new().expect("a directory");
        let file = dir.path().join(name);
        let dump = std::fs::read_to_string(data("reference/R.kv.xml")).expect("data");
        let stale = format!("<entry><key>{}</key></entry></entries>", STALE_ENTRY.0);
        let dump = dump.replace("</entries>", &stale);
        if kind == "XML dump" {
            std::fs::write(&file, &dump).expect("write");
        } else {
            let store = SqliteStore::builder().create(true).open(&file).expect("open");
            let mut kv = store.begin(&TxOptions::writing()).expect("begin");
            xml::load(&mut *kv, dump.as_bytes()).expect("load");
            kv.commit().expect("commit");
        }
        let (path, backup) = (file.display(), dir.path().join("backup.xml"));
        let args = format!("--repair --backup '{}' '{path}'", backup.display());
        let Some(mut child) = on_terminal(&args, &[]) else { return };
        let text = shown(&mut child, "[y/N]");
        assert!(text.contains(kind) && text.contains("Make 1 changes? [y/N]"), "{text}");
        assert!(!backup.exists(), "nothing is written before it was agreed to");
        child.stdin.as_mut().expect("input").write_all(b"y\n").expect("write");
        let (code, text) = code_and_rest(child);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains("Repaired: 1 changes"), "{text}");
        jsck(&[&path.to_string()]).assert().code(0);
        jsck(&[backup.to_str().expect("UTF-8")]).assert().code(1);
    }
}
