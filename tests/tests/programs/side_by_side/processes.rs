//! The same programs as two processes.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

use permazen::ObjId;
use permazen_tests::child;

use crate::side_by_side::cases::cases;
use crate::side_by_side::judge::{check_end, check_snapshot};
use crate::side_by_side::program::Entry;
use crate::side_by_side::{begin, open, open_store, work_on};

const CASE: &str = "PERMAZEN_CASE";
const STORE: &str = "PERMAZEN_STORE";
const PATH: &str = "PERMAZEN_PATH";
const OBJECTS: &str = "PERMAZEN_OBJECTS";

/// The beginning of the lines of the journal in the output of the process.
const JOURNAL: &str = "journal ";

/// The line that it prints after it has opened the database. It begins when it gets the order to.
const READY: &str = "ready";

/// The other process: it is the newer program. Alone, this tests nothing.
#[test]
fn child() {
    let Ok(case) = std::env::var(CASE) else { return };
    let case = cases().into_iter().find(|known| known.name == case).unwrap();
    let store =
        open_store(&std::env::var(STORE).unwrap(), Path::new(&std::env::var(PATH).unwrap()));
    let ids: Vec<ObjId> =
        std::env::var(OBJECTS).unwrap().split(' ').map(|id| id.parse().unwrap()).collect();
    let db = open(&case.new, &store);
    println!("\n{READY}");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let journal = work_on(&case, 1, &db, &ids, |_| {}).unwrap();
    db.read(|tx| Ok(check_snapshot(&case.new, tx))).unwrap();
    println!("\n{JOURNAL}{}", serde_json::to_string(&journal).unwrap());
}

fn in_two_processes(kind: &str) {
    for case in cases() {
        println!("{} on {kind}", case.name);
        let dir = tempfile::tempdir().unwrap();
        let store = open_store(kind, dir.path());
        let dbs = case.programs().map(|program| open(program, &store));
        let mut journal = Vec::new();
        let ids = begin(&case, [&dbs[0], &dbs[1]], &mut journal);
        let objects: Vec<String> = ids.iter().map(ObjId::to_string).collect();
        let mut child = child::this_program()
            .args(child::arguments(module_path!(), "child"))
            .args(["--nocapture", "--test-threads=1"])
            .env(CASE, case.name)
            .env(STORE, kind)
            .env(PATH, dir.path())
            .env(OBJECTS, objects.join(" "))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert!(lines.by_ref().any(|line| line == READY), "{}", case.name);
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        journal.extend(work_on(&case, 0, &dbs[0], &ids, |_| {}).unwrap());
        dbs[0].read(|tx| Ok(check_snapshot(&case.old, tx))).unwrap();
        let written = lines.find_map(|line| line.strip_prefix(JOURNAL).map(str::to_owned));
        let status = child.wait().unwrap();
        assert!(status.success(), "{}: {status}", case.name);
        journal.extend(serde_json::from_str::<Vec<Entry>>(&written.unwrap()).unwrap());
        check_end(&case, [&dbs[0], &dbs[1]], &store, &journal);
    }
}

#[test]
fn two_processes_on_lmdb() {
    in_two_processes("LMDB");
}

#[test]
fn two_processes_on_sqlite() {
    in_two_processes("SQLite");
}
