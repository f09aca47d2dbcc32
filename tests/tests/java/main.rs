//! Permazen for Java and this implementation do the same, and continue with each other's files.
//!
//! ```text
//! mvn -q -B package -f tests/java      # once; needs a JDK 17 and Maven
//! cargo test -p permazen-tests --test java
//! ```
//!
//! Both sides perform random operations on random schemas, each on its own copy. Every answer must
//! be the same, and every refusal of the same kind. After every transaction the stores must be
//! equal, pair by pair. Then each side continues with the file that the other has written, in each
//! kind of file in turn, and the checker of each side finds nothing in it. Before all that, texts,
//! bytes and conversions of every encoding are compared in the same way; most of them are almost
//! values. Steps on which Java is known to be wrong are left out. They are in `defects`, `deletion`
//! and `encoding_exceptions`, with the reasons. Settings (all but one are numbers):
//!
//! | variable | meaning | unless set |
//! |---|---|---|
//! | `PERMAZEN_HISTORIES` | how many histories | 60 |
//! | `PERMAZEN_STEPS` | operations in each | 500 |
//! | `PERMAZEN_SEED` | the seed of the first one; the others follow | 1 |
//! | `PERMAZEN_HISTORY` | only this one, given as seed, or as seed and steps: `17:500` | |
//! | `PERMAZEN_TEXTS` | texts, byte strings and conversions of each encoding | 150 |
//! | `PERMAZEN_ENCODING` | only this encoding, by its alias | |
//! | `PERMAZEN_JAVA` | 1: fail if Java or the driver is not there, instead of skipping | 0 |
//!
//! A run that compares too little also fails: see `floor`.
#![allow(clippy::print_stdout, unreachable_pub)]

mod author;
mod defects;
mod deletion;
mod driver;
mod encoding_exceptions;
mod encoding_inputs;
mod encodings;
mod floor;
mod history;
mod play;
mod queries;
mod random;
mod shrink;
mod sketch;
mod stores;
mod unfinished;
mod values;

use std::collections::VecDeque;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use author::Invention;
use driver::Driver;
use history::{Again, History};
use permazen_tests::outcome::{Outcome, Stop, fail};
use play::{Counts, play};
use random::mixed;
use values::Values;

/// How many threads play at the same time, each with a JVM. The two sides of a history wait for
/// each other.
const PAIRS: usize = 2;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stop::Skip(reason)) => {
            println!("skipped: {reason}");
            ExitCode::SUCCESS
        }
        Err(Stop::Fail(text)) => {
            println!("FAIL: {text}");
            ExitCode::FAILURE
        }
    }
}

/// An environment variable's number.
fn setting(name: &str, default: usize) -> Outcome<usize> {
    match std::env::var(name) {
        Ok(text) => {
            text.parse().map_err(|_| fail(format!("{name} should be a number, not {text}")))
        }
        Err(_) => Ok(default),
    }
}

/// The seeds of the histories, and the steps of each.
fn wanted() -> Outcome<(Vec<u64>, usize)> {
    let steps = setting("PERMAZEN_STEPS", 500)?;
    if let Ok(one) = std::env::var("PERMAZEN_HISTORY") {
        let wrong = || fail(format!("PERMAZEN_HISTORY should be SEED or SEED:STEPS, not {one}"));
        let (seed, steps) = match one.split_once(':') {
            Some((seed, steps)) => (seed, steps.parse().map_err(|_| wrong())?),
            None => (&one[..], steps),
        };
        return Ok((vec![seed.parse().map_err(|_| wrong())?], steps));
    }
    let first = setting("PERMAZEN_SEED", 1)? as u64;
    let histories = setting("PERMAZEN_HISTORIES", 60)? as u64;
    Ok(((first..first + histories).collect(), steps))
}

fn run() -> Outcome {
    let (seeds, steps) = wanted()?;
    let required = setting("PERMAZEN_JAVA", 0)? > 0;
    let start = || {
        Driver::start().map_err(|stop| match stop {
            Stop::Skip(reason) if required => Stop::Fail(reason),
            stop => stop,
        })
    };
    let mut java = start()?;
    if std::env::var_os("PERMAZEN_HISTORY").is_none() {
        let seed = setting("PERMAZEN_SEED", 1)? as u64;
        let alias = std::env::var("PERMAZEN_ENCODING").ok();
        unfinished::compare(&mut java)?;
        encodings::compare(&mut java, seed, setting("PERMAZEN_TEXTS", 150)?, alias.as_deref())?;
    }
    let started = Instant::now();
    let values = Values::read()?;
    let mut drivers = vec![java];
    while drivers.len() < PAIRS.min(seeds.len()) {
        drivers.push(start()?);
    }
    let seeds = Mutex::new(VecDeque::from(seeds));
    let mut counts = Counts::default();
    thread::scope(|scope| {
        let pairs: Vec<_> = drivers
            .into_iter()
            .map(|java| scope.spawn(|| play_all(java, &values, &seeds, steps)))
            .collect();
        let mut first = Ok(());
        for pair in pairs {
            match pair.join().unwrap_or_else(|_| Err(fail("a thread has panicked"))) {
                Ok(done) => counts.add(done),
                Err(stop) if first.is_ok() => first = Err(stop),
                Err(Stop::Fail(text) | Stop::Skip(text)) => println!("another one: {text}"),
            }
        }
        first
    })?;
    report(&counts, started.elapsed().as_secs());
    floor::check(&counts, steps)
}

/// Plays a history for each seed that no other thread has taken. After a difference it leaves no
/// seed to the others.
fn play_all(
    mut java: Driver,
    values: &Values,
    seeds: &Mutex<VecDeque<u64>>,
    steps: usize,
) -> Outcome<Counts> {
    let seeds = || seeds.lock().unwrap_or_else(PoisonError::into_inner);
    let mut counts = Counts::default();
    loop {
        let Some(seed) = seeds().pop_front() else { return Ok(counts) };
        let mut author = Invention::new(values, mixed(seed), steps);
        let (history, outcome) = play(&mut java, values, &mut counts, &mut author);
        let Err(Stop::Fail(first) | Stop::Skip(first)) = outcome else {
            if counts.histories.is_multiple_of(100) {
                println!("{} histories of one thread, equal so far", counts.histories);
            }
            continue;
        };
        seeds().clear();
        println!("PERMAZEN_HISTORY={seed}:{steps} repeats it: {first}");
        let (short, difference) = shortest(java, values, history, first)?;
        return Err(fail(format!("{difference}\na short history that shows it:\n{short}")));
    }
}

/// The history, made as short as possible while a difference of this sort remains, and its last
/// difference.
fn shortest(
    java: Driver,
    values: &Values,
    history: History,
    first: String,
) -> Outcome<(History, String)> {
    let mut java = Some(java);
    let sort = sort(&first).to_owned();
    let mut last = first;
    let short = shrink::shrink(history, |history| {
        // If a step has no answer, the process is of no further use.
        let Some(driver) = java.as_mut() else { return false };
        let (_, outcome) = play(driver, values, &mut Counts::default(), &mut Again::new(history));
        if driver.ask(&[]).is_err() {
            java = Driver::start().ok();
        }
        match outcome {
            Err(Stop::Fail(text)) if self::sort(&text) == sort => {
                last = text;
                true
            }
            _ => false,
        }
    });
    Ok((short, last))
}

/// The sort of a difference: the operation, or the beginning of the text.
fn sort(difference: &str) -> &str {
    match difference.split_once("\"op\":") {
        Some((_, rest)) => rest.split(',').next().unwrap_or_default(),
        None => difference.split([':', ';']).next().unwrap_or_default(),
    }
}

fn report(counts: &Counts, seconds: u64) {
    let all: usize = counts.steps.values().map(|(all, _)| all).sum();
    let refused: usize = counts.steps.values().map(|(_, refused)| refused).sum();
    for (op, (all, refused)) in &counts.steps {
        println!("{op}: {all}, refused {refused}");
    }
    for (reason, count) in &counts.left_out {
        println!("left out: {count}, {reason}");
    }
    println!(
        "left out: {} histories with a schema that Java records and then cannot read",
        counts.skipped
    );
    println!(
        "{} histories, {all} steps ({refused} refused by both), {} transactions, {} commits, \
         {} changes of sides, {} stores seen by Java's checker: equal throughout, {seconds} s",
        counts.histories, counts.transactions, counts.commits, counts.hand_overs, counts.checked
    );
}
