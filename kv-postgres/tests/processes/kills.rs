//! Servers and programs that end at once while programs commit.

use std::thread;
use std::time::{Duration, Instant};

use permazen_test_servers::{End, Postgres};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::bank::{self, Records};
use crate::child::Process;

/// A server as users have it: what is committed is on the disk.
const SETTINGS: &[&str] = &["max_pred_locks_per_transaction=1024"];

/// Processes with so many threads each.
const THREADS: &str = "2";

/// Records are compared with what is there after so many rounds, and at the end.
const ROUNDS_TO_CHECK: usize = 20;

/// How many faults: a tenth of `full`, unless `PERMAZEN_FAULTS` is a number, or `full`.
fn rounds(full: usize) -> usize {
    match std::env::var("PERMAZEN_FAULTS") {
        Ok(all) if all == "full" => full,
        Ok(number) => number.parse().unwrap(),
        Err(_) => full / 10,
    }
}

fn pause(rng: &mut StdRng) {
    thread::sleep(Duration::from_micros(rng.random_range(0..40_000)));
}

/// Programs at work on a bank.
struct World {
    url: String,
    directory: tempfile::TempDir,
    /// Each with its name.
    programs: Vec<(String, Process)>,
    started: usize,
}

impl World {
    fn new(url: &str, programs: usize) -> World {
        bank::found(url);
        let directory = tempfile::tempdir().unwrap();
        let mut world = World { url: url.to_owned(), directory, programs: Vec::new(), started: 0 };
        (0..programs).for_each(|_| world.start());
        world
    }

    /// One program more.
    fn start(&mut self) {
        let name = self.started.to_string();
        self.started += 1;
        let directory = self.directory.path().to_str().unwrap();
        let process = Process::start(&["bank", &self.url, directory, &name, THREADS]);
        self.programs.push((name, process));
    }

    /// Waits until each program has had commits acknowledged from now on.
    fn wait(&self) {
        let names = self.programs.iter().map(|(name, _)| &name[..]);
        let before: Vec<_> = names.map(|name| (name, self.acknowledged(name))).collect();
        before.iter().for_each(|(name, before)| self.wait_for(name, *before));
    }

    /// Waits until a program has recorded some acknowledged commits after so many bytes of them.
    fn wait_for(&self, name: &str, before: u64) {
        let begun = Instant::now();
        while self.acknowledged(name) < before + 20 {
            assert!(begun.elapsed() < Duration::from_secs(120), "nothing is committed any more");
            thread::sleep(Duration::from_millis(2));
        }
    }

    fn acknowledged(&self, name: &str) -> u64 {
        Records::acknowledged(self.directory.path(), name)
    }

    /// Compares what was recorded until now.
    fn check(&self) -> (Records, Vec<String>) {
        let records = Records::read(self.directory.path());
        let untold = records.check(&self.url);
        (records, untold)
    }

    /// Lets them end. All that is there was recorded.
    fn end(self) -> Records {
        let (records, untold) = self.stop();
        assert!(untold.is_empty(), "nobody was told of {untold:?}");
        records
    }

    fn stop(mut self) -> (Records, Vec<String>) {
        self.programs.drain(..).for_each(|(_, process)| process.stop());
        self.check()
    }
}

#[test]
fn a_server_that_ends_at_once_loses_no_acknowledged_commit() {
    let Some(mut server) = Postgres::start(SETTINGS) else { return };
    let world = World::new(&server.url(), 3);
    let mut rng = StdRng::seed_from_u64(1);
    let count = rounds(200);
    let begun = Instant::now();
    for round in 1..=count {
        world.wait();
        pause(&mut rng);
        let end = [End::Immediate, End::Killed, End::Beheaded][round % 3];
        server.end(end);
        server.run();
        if round % ROUNDS_TO_CHECK == 0 {
            world.check();
        }
    }
    world.wait();
    let records = world.end();
    println!("server ended {count} times in {:?}: {}", begun.elapsed(), records.summary());
    assert!(records.committed.len() > 5 * count);
}

#[test]
fn a_standby_has_all_acknowledged_commits() {
    let Some(mut primary) = Postgres::start(SETTINGS) else { return };
    bank::open(&primary.url());
    let Some(mut standby) = primary.start_standby() else { return };
    let url =
        format!("postgres://test@127.0.0.1:{},127.0.0.1:{}/test", primary.port(), standby.port());
    let world = World::new(&url, 3);
    let mut rng = StdRng::seed_from_u64(2);
    let count = rounds(20);
    let begun = Instant::now();
    for round in 1..=count {
        world.wait();
        pause(&mut rng);
        let end = [End::Immediate, End::Killed, End::Beheaded][round % 3];
        primary.end(end);
        // Sometimes it comes back before the other one takes its place.
        if round % 4 == 0 {
            primary.run();
            primary.wait_for_standby();
            world.wait();
            primary.end(end);
        }
        standby.promote();
        std::mem::swap(&mut primary, &mut standby);
        standby.follow(&primary);
        primary.wait_for_standby();
        if round % ROUNDS_TO_CHECK == 0 {
            world.check();
        }
    }
    world.wait();
    let records = world.end();
    println!("standby promoted {count} times in {:?}: {}", begun.elapsed(), records.summary());
    assert!(records.committed.len() > 5 * count);
}

#[test]
fn killed_programs_leave_nothing_half_done() {
    let Some(server) = Postgres::start(SETTINGS) else { return };
    let programs = 4;
    let mut world = World::new(&server.url(), programs);
    let mut rng = StdRng::seed_from_u64(3);
    let count = rounds(200);
    let begun = Instant::now();
    for round in 1..=count {
        let at = rng.random_range(0..programs);
        let (name, process) = world.programs.remove(at);
        // It works, so it is killed within a transaction.
        world.wait_for(&name, 0);
        pause(&mut rng);
        process.kill();
        world.start();
        if round % ROUNDS_TO_CHECK == 0 {
            world.check();
        }
    }
    world.wait();
    let (records, untold) = world.stop();
    println!("programs killed {count} times in {:?}: {}", begun.elapsed(), records.summary());
    println!("{} commits whose programs were killed before they recorded them", untold.len());
    assert!(records.unknown.is_empty() && untold.len() <= 2 * count, "{untold:?}");
    assert!(records.committed.len() > 5 * count);
}
