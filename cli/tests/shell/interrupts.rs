//! Ctrl-C and readers that go away.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use permazen::kv::{KvDatabase, KvWrite, TxOptions};

use crate::support::{Fixture, SCHEMA, without_a_wait};

/// A database with more objects than a pipe takes.
fn large() -> Fixture {
    let db = Fixture::with_schema(SCHEMA);
    let name = "x".repeat(200);
    let pets = (1..=20_000).map(|n| format!(r#"<Pet id="20{n:014x}"><name>{name}</name></Pet>"#));
    db.load(&pets.collect::<String>());
    db
}

fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Presses Ctrl-C.
fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Presses Ctrl-C again and again, until the program has ended.
fn interrupt_until_it_ends(child: &mut Child) -> Option<i32> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        assert!(start.elapsed() < Duration::from_secs(60), "it does not end");
        interrupt(child);
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn text(mut from: impl Read) -> String {
    let mut text = String::new();
    from.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn ctrl_c_stops_a_statement() {
    let db = large();
    let mut child = start(&mut db.command(&["find Pet", "--format", "csv"]));
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    // It runs, and will soon wait for a reader of its output.
    out.read_line(&mut first).unwrap();
    interrupt(&child);
    let rest = text(out);
    let err = text(child.stderr.take().unwrap());
    let err = without_a_wait(&err).unwrap_or(&err);
    assert_eq!((child.wait().unwrap().code(), err), (Some(130), "permazen: interrupted\n"));
    assert!(rest.lines().count() < 20_000);
    assert!(rest.ends_with('\n'), "whole rows were written");
}

#[test]
fn ctrl_c_rolls_a_script_back() {
    let db = large();
    let count = || db.run(&["count Pet", "--raw"]).done();
    assert_eq!(count(), "20000\n");
    // More than 1 MiB is printed, and so before the commit.
    let finds = "find Pet; ".repeat(5);
    let script = &format!("delete Pet limit 5; {finds}delete all Pet");
    let mut child = start(&mut db.command(&["-c", script, "--write", "--format", "csv"]));
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut String::new()).unwrap();
    interrupt(&child);
    text(out);
    let err = text(child.stderr.take().unwrap());
    assert!(err.contains("this is not run again"), "{err}");
    assert!(err.ends_with("\npermazen: interrupted; nothing is changed\n"), "{err}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(count(), "20000\n");
}

#[test]
fn ctrl_c_twice_ends_the_program() {
    let db = large();
    let mut child = start(&mut db.command(&["find Pet", "--format", "csv"]));
    let mut first = [0];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    // It cannot stop by itself while its output is not read.
    assert_eq!(interrupt_until_it_ends(&mut child), Some(130));
}

#[test]
fn ctrl_c_ends_the_wait_for_others() {
    let db = Fixture::new();
    let store = db.open();
    let held = store.begin(&TxOptions::writing()).unwrap();
    let mut child = start(&mut db.command(&["create Pet", "--write", "--wait", "10m"]));
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    err.read_line(&mut line).unwrap();
    assert_eq!(line, "permazen: waiting for other programs that use the database\n");
    interrupt(&child);
    assert_eq!(text(err), "permazen: interrupted; nothing is changed\n");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(held);
}

#[test]
fn ctrl_c_ends_a_program_that_reads_its_script() {
    let Ok(_) = std::fs::read_dir("/proc/self") else {
        println!("skipped: there is no /proc that tells whether a program waits for Ctrl-C");
        return;
    };
    let db = Fixture::new();
    let mut child = start(db.command(&[]).stdin(Stdio::piped()));
    // It stays open, so that there may be more of the script.
    let _script = child.stdin.take();
    let status = format!("/proc/{}/status", child.id());
    let waits_for_ctrl_c = || {
        let status = std::fs::read_to_string(&status).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & 1 << 1 != 0
    };
    while !waits_for_ctrl_c() {
        std::thread::yield_now();
    }
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// The check of the file of the store does not look whether to stop, so Ctrl-C does not wait for
/// it.
#[test]
fn ctrl_c_ends_a_check_that_looks_at_the_file_of_the_store() {
    let db = Fixture::new();
    let store = db.open();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    // Enough pages that looking at them takes longer than Ctrl-C.
    for number in 0..80_000_u32 {
        tx.put(&[&[0, 0xff][..], &number.to_be_bytes()].concat(), &[0; 1_200]).unwrap();
    }
    tx.commit().unwrap();
    drop(store);
    // On a busy machine, Ctrl-C may come when the file was checked already.
    let ended = (0..20).find_map(|_| {
        let mut child = start(&mut db.command(&["check"]));
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert!(line.starts_with("Checking "), "{line}");
        interrupt(&child);
        let (rest, err) = (text(out), text(child.stderr.take().unwrap()));
        let code = child.wait().unwrap().code();
        err.contains("interrupted; nothing was checked").then_some((code, rest))
    });
    assert_eq!(ended, Some((Some(130), String::new())));
}

#[test]
fn a_reader_that_goes_away_ends_a_query() {
    let db = large();
    for format in ["table", "lines", "json", "csv", "xml"] {
        let mut child = start(&mut db.command(&["find Pet", "--format", format]));
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut String::new()).unwrap();
        drop(out);
        let err = text(child.stderr.take().unwrap());
        let err = without_a_wait(&err).unwrap_or(&err);
        assert_eq!((child.wait().unwrap().code(), err), (Some(0), ""), "{format}");
    }
}
