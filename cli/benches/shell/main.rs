//! The speed and memory of the shell: of whole processes, compared with programs that do the same
//! for this one database.
//!
//! `cargo bench -p permazen-cli` makes an LMDB environment in a temporary directory, which goes at
//! the end. `PERMAZEN_BENCH_OBJECTS` sets the number of objects (100000). Of the words `query`,
//! `csv`, `json`, `copy`, `first`, `memory` and `completion`, those that are given choose the
//! measurements. For each process, the time of processors and the time on the clock are measured;
//! the two sides take turns, and the table has medians.
#![allow(
    missing_docs,
    unsafe_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing
)]

mod by_hand;
mod people;
mod process;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use process::{Taken, first_lines, on_processors, peaks, run, same_output, shell};

/// How often a query of a few milliseconds is run.
const SHORT: usize = 41;
/// How often something is run that takes as long as the database is large.
const LONG: usize = 7;
const TYPES: u32 = 1000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("by-hand", rest)) = arguments.split_first().map(|(first, rest)| (&**first, rest)) {
        return by_hand::run(rest);
    }
    let objects = std::env::var("PERMAZEN_BENCH_OBJECTS").ok();
    let objects: u32 = objects.map_or(100_000, |number| number.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("people");
    people::fill(&db, objects);
    println!("{objects} objects, LMDB; medians");
    let chosen: Vec<_> = arguments.iter().filter(|word| !word.starts_with("--")).collect();
    let is_chosen = |what: &str| chosen.is_empty() || chosen.iter().any(|word| *word == what);
    if is_chosen("query") {
        one_object(&db, objects);
    }
    if is_chosen("csv") {
        beside(&db, "index entries as CSV", &["--format", "csv", "index Person.name"], "csv");
    }
    if is_chosen("json") {
        beside(&db, "objects as JSON", &["--json", "export Person"], "json");
    }
    if is_chosen("copy") {
        copies(&db, folder.path());
    }
    if is_chosen("first") {
        first_rows(&db);
    }
    if is_chosen("memory") {
        memory(&db);
    }
    if is_chosen("completion") {
        let types = folder.path().join("types");
        people::many_types(&types, TYPES);
        completion(&types);
    }
}

fn median<T: Ord + Copy>(mut all: Vec<T>) -> T {
    all.sort();
    all[all.len() / 2]
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Shows one process.
fn alone(name: &str, taken: &[Taken]) {
    let cpu = milliseconds(median(taken.iter().map(|taken| taken.cpu).collect()));
    let wall = milliseconds(median(taken.iter().map(|taken| taken.wall).collect()));
    println!("{name:<44} processors {cpu:>9.2} ms   clock {wall:>9.2} ms");
}

/// A query of one object by an indexed value, from the start of the process to its end.
fn one_object(db: &Path, objects: u32) {
    let query = |n: u32| {
        let name = people::name(n * (objects / SHORT as u32) % objects, objects);
        run(shell(db, &[&format!("find Person where name = \"{name}\"")]))
    };
    query(0);
    let taken: Vec<_> = (0..SHORT as u32).map(query).collect();
    alone("one object by an indexed value", &taken);
    let taken: Vec<_> = (0..SHORT).map(|_| run(shell(db, &["echo"]))).collect();
    alone("  only opening the database", &taken);
}

/// Shows two sides that do the same.
fn compare(name: &str, ours: &[Taken], theirs: &[Taken]) {
    alone(name, ours);
    alone("  by hand", theirs);
    let share = |of: fn(&Taken) -> Duration| {
        let [ours, theirs] =
            [ours, theirs].map(|all| median(all.iter().map(of).collect()).as_secs_f64());
        theirs / ours * 100.0
    };
    let (cpu, wall) = (share(|taken| taken.cpu), share(|taken| taken.wall));
    println!(
        "  speed of the shell, by hand = 100 %          processors {cpu:>7.0} %      clock {wall:>7.0} %"
    );
}

/// The output of a statement, beside a program that writes the same bytes.
fn beside(db: &Path, name: &str, arguments: &[&str], work: &str) {
    let path = db.to_str().unwrap();
    let ours = || shell(db, arguments);
    let theirs = || process::by_hand(&[work, path]);
    let bytes = same_output(ours(), theirs());
    let (mut mine, mut other) = (Vec::new(), Vec::new());
    for _ in 0..LONG {
        mine.push(run(ours()));
        other.push(run(theirs()));
    }
    compare(&format!("{name} ({:.0} MB)", bytes as f64 / 1e6), &mine, &other);
}

/// A copy of all pairs to a new environment, beside a program that does it with one transaction.
fn copies(db: &Path, folder: &Path) {
    let path = db.to_str().unwrap();
    let (mut mine, mut other) = (Vec::new(), Vec::new());
    for _ in 0..LONG {
        for (side, all) in [("ours", &mut mine), ("by-hand", &mut other)] {
            let target = folder.join(side);
            let to = target.to_str().unwrap();
            all.push(match side {
                "ours" => run(shell(db, &["copy", &format!("lmdb:{to}")])),
                _ => run(process::by_hand(&["copy", path, to])),
            });
            std::fs::remove_dir_all(&target).unwrap();
        }
    }
    compare("copy to a new environment", &mine, &other);
}

/// How long a reader waits for the first row of all objects.
fn first_rows(db: &Path) {
    // With the lines above it, if there are any.
    for (name, arguments, lines) in [
        ("first row as JSON", &["--json", "find Person"][..], 1),
        ("first row as CSV", &["--format", "csv", "find Person"], 2),
        ("first row of a table", &["find Person"], 3),
        ("first object of export", &["--json", "export Person"], 1),
    ] {
        let times = (0..SHORT).map(|_| first_lines(shell(db, arguments), lines)).collect();
        println!("{name:<44} clock {:>9.2} ms", milliseconds(median(times)));
    }
}

/// The memory that statements need for themselves.
fn memory(db: &Path) {
    for (name, arguments) in [
        ("find, as CSV", &["--format", "csv", "find Person"][..]),
        ("find, as a table", &["find Person"]),
        ("find by a scan", &["--raw", "find Person where score < 1000 columns id"]),
        ("find by an index, sorted by ID", &["--raw", "find Person where age >= 50 columns name"]),
        ("find in the order of an index", &["--raw", "find Person order by name columns name"]),
        ("export as JSON", &["--json", "export Person"]),
        ("export as XML", &["--format", "xml", "export Person"]),
        ("entries of an index, as CSV", &["--format", "csv", "index Person.name"]),
        ("count", &["count Person where age = 3"]),
    ] {
        let (own, all) = peaks(shell(db, arguments));
        println!("memory of {name:<34} RssAnon {own:>8.1} MB   VmHWM {all:>9.1} MB");
    }
}

/// The candidates of the tab key at the prompt. Lines from standard input are completed too.
fn completion(db: &Path) {
    let mut command: Command = shell(db, &["--prompt", "--no-history"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut to = child.stdin.take().unwrap();
    let mut from = BufReader::new(child.stdout.take().unwrap());
    let id = child.id();
    let mut ask = |typed: &str, number: usize| {
        let end = format!("end{number}");
        let (start, before) = (Instant::now(), on_processors(id));
        write!(to, "{typed}\necho {end}\n").unwrap();
        to.flush().unwrap();
        let (mut line, mut lines) = (String::new(), 0);
        loop {
            line.clear();
            assert!(from.read_line(&mut line).unwrap() > 0);
            if line.trim() == end {
                let taken = Taken { cpu: on_processors(id) - before, wall: start.elapsed() };
                return (taken, lines);
            }
            lines += 1;
        }
    };
    // The program has started, and has the database open.
    ask("", 0);
    let mut number = 0;
    for (name, typed, most) in [
        ("types", "find Type", TYPES as usize),
        ("fields", "find Type999 where fi", 5),
        ("commands", "sch", 1),
    ] {
        let all: Vec<_> = (0..SHORT)
            .map(|_| {
                number += 1;
                ask(&format!("{typed}\t"), number)
            })
            .collect();
        assert!(all.iter().all(|(_, lines)| *lines >= most), "{typed}");
        let taken: Vec<_> = all.into_iter().map(|(taken, _)| taken).collect();
        alone(&format!("completion of {name}"), &taken);
        alone("  the first", &taken[..1]);
    }
    drop(to);
    assert!(child.wait().unwrap().success());
}
