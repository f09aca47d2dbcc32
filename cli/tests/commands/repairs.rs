//! Repairs by `check` that do not come to an end.
#![cfg(unix)]

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use permazen::kv::{KvDatabase, TxOptions};
use permazen::open::Opening;

use crate::fixture::Fixture;

/// An index entry that no object calls for.
const STALE: &str = "11416e6f001000000000000001";

fn damaged() -> Fixture {
    let db = Fixture::reference();
    db.out(&["--write", "kv", "put", STALE, ""]);
    db
}

fn permazen(db: &Fixture, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_permazen"));
    command.arg(&db.db).args(args).stdin(Stdio::null());
    command
}

#[test]
fn an_undo_that_is_interrupted_undoes_nothing_and_says_so() {
    let db = damaged();
    let undo = db.name("undo");
    db.run(&["--write", "--yes", "check", "--repair", "--undo-file", &undo]).out(1);
    let repaired = db.pairs();
    // Nothing is asked, so that `--yes` says nothing new.
    let twin = damaged();
    twin.run(&["--write", "--yes", "check", "--repair", "--undo-file", &twin.name("undo")]).out(1);
    let back = ["--write", "check", "--apply-undo", &twin.name("undo"), "--yes"];
    twin.out(&back);
    assert_eq!(twin.pairs(), damaged().pairs());
    let undo = std::fs::read_to_string(undo).expect("the undo file");
    let pipe = db.name("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let args = ["--write", "check", "--apply-undo", &pipe, "--force=incomplete"];
    let mut command = permazen(&db, &args);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("run");
    // It reads the undo file once the other end of the pipe is open.
    let mut to = File::options().write(true).open(&pipe).expect("open");
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill").success());
    // The undo file has no end, so only Ctrl-C ends the program early.
    let (first, change) = undo.split_once('\n').expect("lines");
    let change = change.lines().next().expect("a change");
    let _ = writeln!(to, "{first}");
    for _ in 0..2000 {
        if writeln!(to, "{change}").is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(to);
    let output = child.wait_with_output().expect("wait");
    let (out, err) = (String::from_utf8(output.stdout), String::from_utf8(output.stderr));
    let (out, err) = (out.expect("UTF-8"), err.expect("UTF-8"));
    assert_eq!(out, "", "{err}");
    assert!(err.contains("interrupted; nothing was undone"), "{err}");
    assert_eq!(output.status.code(), Some(130));
    assert!(db.pairs() == repaired);
}

#[test]
fn a_check_that_is_interrupted_ends_as_every_command_does() {
    let db = Fixture::reference();
    for (at, options) in [&[][..], &["--kind", "lmdb"]].into_iter().enumerate() {
        let position = db.name(&format!("position-{at}"));
        // It takes a minute for its pairs.
        let check = ["check", "--online", "--rate", "1", "--position", &position];
        let mut command = permazen(&db, &[options, &check].concat());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("run");
        // It is there when the first piece is checked.
        while !std::path::Path::new(&position).exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(sent.expect("kill").success());
        let output = child.wait_with_output().expect("wait");
        let (out, err) = (String::from_utf8(output.stdout), String::from_utf8(output.stderr));
        assert!(out.expect("UTF-8").contains("not everything was checked"));
        // On a busy machine, a line before it says that the program waits.
        let waits = "permazen: waiting for other programs that use the database\n";
        let err = err.expect("UTF-8");
        assert_eq!(err.strip_prefix(waits).unwrap_or(&err), "permazen: interrupted\n");
        assert_eq!(output.status.code(), Some(130), "{options:?}");
    }
}

#[test]
fn a_repair_whose_report_cannot_be_written_is_not_made() {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        println!("skipped: there is no /dev/full");
        return;
    };
    let db = damaged();
    let before = db.pairs();
    let mut command = permazen(&db, &["--write", "--yes", "check", "--repair"]);
    let mut child = command.stdout(full).stderr(Stdio::piped()).spawn().expect("run");
    let mut err = String::new();
    child.stderr.take().expect("errors").read_to_string(&mut err).expect("UTF-8");
    assert_eq!(child.wait().expect("wait").code(), Some(2));
    assert_eq!(err.matches("standard output").count(), 1, "{err}");
    assert!(db.pairs() == before);
}

#[test]
fn a_script_ends_with_a_check_that_fails() {
    let db = Fixture::reference();
    let check = format!("check --schema 1={}", db.name("missing"));
    assert_eq!(db.run_with(&["-f", "-"], format!("{check}\necho after\n")).out(2), "");
    // At the prompt, the next line comes.
    let shown = db.run_with(&["--prompt"], format!("{check}\necho after\n")).out(0);
    assert!(shown.ends_with("\nafter\n"), "{shown}");
}

/// The prompt reads all lines, also the answers.
#[test]
fn at_the_prompt_a_repair_asks_there() {
    let db = damaged();
    let lines = "check --repair\nn\necho between\ncheck --repair\ny\necho after\n";
    let shown = db.run_with(&["--write", "--prompt"], lines).out(0);
    assert_eq!(shown.matches("Make 1 changes? [y/N] ").count(), 2, "{shown}");
    assert!(shown.contains("Nothing was changed") && shown.contains("\nbetween\n"), "{shown}");
    assert!(shown.contains("Repaired: 1 changes") && shown.ends_with("\nafter\n"), "{shown}");
    db.run(&["check"]).out(0);
}

#[test]
fn a_repair_waits_for_others_and_says_so() {
    let db = damaged();
    let before = db.pairs();
    let store = Opening::new().write(true).open(&db.db).expect("open");
    let held = store.begin(&TxOptions::writing()).expect("begin");
    let args = ["--write", "--yes", "--wait", "4s", "check", "--repair"];
    let ran = permazen(&db, &args).output().expect("run");
    let err = String::from_utf8(ran.stderr).expect("UTF-8");
    drop(held);
    assert_eq!(ran.status.code(), Some(3), "{err}");
    assert!(
        err.starts_with("permazen: waiting for other programs that use the database\n"),
        "{err}"
    );
    assert!(err.contains("was waited for 4s; nothing was changed"), "{err}");
    assert!(db.pairs() == before);
}
