//! Ctrl-C, at every stage of the program.
#![cfg(target_os = "linux")]

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use permazen::kv::lmdb::LmdbStore;
use permazen::kv::{KvDatabase, TxOptions};

use crate::support::{STALE_ENTRY, damaged, jsck};

/// Opens a file so that writing to it never waits.
const NONBLOCKING: i32 = 0o4000;
/// How long to wait for something that is expected to happen.
const PATIENCE: Duration = Duration::from_secs(60);

fn start(args: &[&str], stdout: impl Into<Stdio>) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jsck"));
    command.args(args).stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped());
    command.spawn().expect("run")
}

/// Uses the shell's own `kill`, which needs no program of that name.
fn signal(child: &Child, name: &str) {
    let kill = format!("kill -{name} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
}

fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !happened() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Presses Ctrl-C until the program ends. Presses that follow each other too quickly count once.
fn press_until_it_ends(child: &mut Child) -> ExitStatus {
    let mut ended = None;
    wait_until("it ends", || {
        signal(child, "INT");
        std::thread::sleep(Duration::from_millis(20));
        ended = child.try_wait().expect("wait");
        ended.is_some()
    });
    ended.expect("an end")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A full pipe: a program that writes to it waits. The pipe must not be dropped before that program
/// has ended.
fn full_pipe(dir: &Path) -> File {
    let pipe = dir.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let blocking = OpenOptions::new().read(true).write(true).open(&pipe).expect("open");
    let mut full =
        OpenOptions::new().write(true).custom_flags(NONBLOCKING).open(&pipe).expect("open");
    for size in [4096, 1] {
        let room = |full: &mut File| match full.write(&vec![b' '; size]) {
            Err(e) if e.kind() == ErrorKind::WouldBlock => false,
            written => written.expect("write") > 0,
        };
        while room(&mut full) {}
    }
    blocking
}

/// Whether a process has set what it does on Ctrl-C.
fn listens(child: &Child) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("a process");
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("signals");
    u64::from_str_radix(caught.trim(), 16).expect("hex") & 2 != 0
}

/// The first line of the report, or the result of an undo, does not fit into a full pipe.
#[test]
fn where_nothing_can_be_summed_up_it_ends_the_program_with_130() {
    let (dir, path) = damaged(&[STALE_ENTRY]);
    let undo = dir.path().join("undo");
    let stdout = full_pipe(dir.path());
    jsck(&["--repair", "--yes", "--undo-file", text(&undo), &path]).assert().code(1);
    for args in [&[&*path][..], &["--apply-undo", text(&undo), &path]] {
        let child = start(args, stdout.try_clone().expect("a pipe"));
        wait_until("it listens", || listens(&child));
        signal(&child, "INT");
        let output = child.wait_with_output().expect("wait");
        assert_eq!(output.status.code(), Some(130), "{args:?}: {output:?}");
    }
}

#[test]
fn ctrl_c_ends_a_check_and_the_second_one_the_program() {
    let (dir, path) = damaged(&[STALE_ENTRY]);
    // The summary does not fit into a full pipe, and waits.
    let blocking = full_pipe(dir.path());
    let position = dir.path().join("position");
    let args = ["--json", "--online", "--rate", "2", "--position", text(&position), &path];
    let mut child = start(&args, blocking);
    wait_until("a slice has ended", || position.exists());
    assert_eq!(press_until_it_ends(&mut child).code(), Some(130));
}

/// If there are findings so far, the exit code is that of findings. The test of online checks
/// covers that too.
#[test]
fn a_check_that_was_ended_without_findings_says_that_it_was_not_complete() {
    let (dir, path) = damaged(&[]);
    let position = dir.path().join("position");
    let args = ["--json", "--online", "--rate", "2", "--position", text(&position), &path];
    let child = start(&args, Stdio::piped());
    wait_until("a slice has ended", || position.exists());
    signal(&child, "INT");
    let output = child.wait_with_output().expect("wait");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a summary");
    assert_eq!((&summary["complete"], &summary["findings"]), (&false.into(), &0.into()));
}

#[test]
fn a_backup_is_ended_at_once_and_leaves_nothing() {
    let (dir, path) = damaged(&[STALE_ENTRY]);
    let store = LmdbStore::builder().map_size(1 << 30).open(&path).expect("open");
    let mut kv = store.begin(&TxOptions::writing()).expect("begin");
    // User meta-data, which no check reads. So only the backup takes long.
    for number in 0..30_u8 {
        kv.put(&[0, 0xff, number], &vec![number; 1 << 20]).expect("put");
    }
    kv.commit().expect("commit");
    drop(store);
    let before = fs::read(Path::new(&path).join("data.mdb")).expect("read");
    let backup = dir.path().join("backup.xml");
    let args = ["--repair", "--yes", "--no-store-check", "--backup", text(&backup), &path];
    let mut child = start(&args, Stdio::piped());
    wait_until("the backup has begun", || {
        assert!(child.try_wait().expect("wait").is_none(), "it has ended too early");
        let files = fs::read_dir(dir.path()).expect("list").filter_map(|file| file.ok());
        files
            .filter_map(|file| file.metadata().ok())
            .any(|file| file.is_file() && file.len() > 1 << 16)
    });
    signal(&child, "INT");
    let output = child.wait_with_output().expect("wait");
    let out = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "there are findings: {output:?}");
    assert!(out.contains("Nothing was changed"), "{out}");
    let names: Vec<_> = fs::read_dir(dir.path())
        .expect("list")
        .map(|file| file.expect("a file").file_name().into_string().expect("UTF-8"))
        .collect();
    assert_eq!(names, ["db"], "a file was left");
    assert!(fs::read(Path::new(&path).join("data.mdb")).expect("read") == before);
    jsck(&["--no-store-check", &path]).assert().code(1);
}

/// Connections wait in a queue of the system, so there is no answer, and the check says which
/// server it waits for.
#[test]
fn a_check_that_waits_for_a_server_says_so() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("its address").port();
    for scheme in ["postgres://ann@", "etcd://"] {
        let url = format!("{scheme}127.0.0.1:{port}/none");
        let mut child = start(&[&url], Stdio::null());
        let mut said = String::new();
        let errors = child.stderr.take().expect("its messages");
        BufReader::new(errors).read_line(&mut said).expect("a line");
        assert_eq!(said, format!("jsck: waiting for the server of {url}\n"));
        signal(&child, "KILL");
        child.wait().expect("an end");
    }
}
