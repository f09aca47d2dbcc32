//! Programs at work on a bank, while something happens to them or to the servers.

use std::thread;
use std::time::{Duration, Instant};

use permazen::kv::KvDatabase;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::Open;
use super::bank::{self, Outcome, Records};
use super::process::Process;

/// How many threads each process has.
const THREADS: &str = "2";

/// Records are compared with the database after this many rounds, and at the end.
const ROUNDS_TO_CHECK: usize = 20;

/// How many faults: a fiftieth of `full`, but at least `least` for each kind to come, unless
/// `PERMAZEN_FAULTS` is a number, or `full`.
///
/// # Panics
/// If it is neither.
pub fn rounds(full: usize, least: usize) -> usize {
    match std::env::var("PERMAZEN_FAULTS") {
        Ok(all) if all == "full" => full,
        Ok(number) => number.parse().unwrap(),
        Err(_) => full.div_ceil(50).max(least),
    }
}

/// Programs at work on a bank. A mistake is a panic.
#[allow(missing_debug_implementations)]
pub struct World<S> {
    /// How the store is opened to compare it with the records.
    look: Open<S>,
    url: String,
    directory: tempfile::TempDir,
    /// Each with its name.
    programs: Vec<(String, Process)>,
    started: usize,
    rng: StdRng,
}

impl<S: KvDatabase + Clone + 'static> World<S> {
    /// `programs` programs on a new store, which `look` opens to check what is there.
    pub fn new(look: Open<S>, url: &str, programs: usize) -> World<S> {
        let url = url.to_owned();
        bank::found(&look(&url));
        let (directory, rng) = (tempfile::tempdir().unwrap(), StdRng::seed_from_u64(1));
        let mut world = World { look, url, directory, programs: Vec::new(), started: 0, rng };
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
    pub fn wait(&self) {
        let names = self.programs.iter().map(|(name, _)| &name[..]);
        let before: Vec<_> = names.map(|name| (name, self.acknowledged(name))).collect();
        before.iter().for_each(|(name, before)| self.wait_for(name, *before));
    }

    /// Waits until a program has recorded some acknowledged commits beyond the first `before`
    /// bytes.
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

    /// Lets them work for a random time.
    pub fn pause(&mut self) {
        thread::sleep(Duration::from_micros(self.rng.random_range(0..40_000)));
    }

    /// Records the answer that another program got for a transfer.
    pub fn note(&self, name: &str, outcome: Outcome) {
        bank::record(self.directory.path(), "others", name, outcome);
    }

    /// Compares the records until now with the content of the store, and checks that as `jsck`
    /// does.
    pub fn check(&self) -> (Records, Vec<String>) {
        let records = Records::read(self.directory.path());
        let untold = records.check(&(self.look)(&self.url));
        (records, untold)
    }

    /// Lets them end. All transfers that are there must have been recorded.
    pub fn end(self) -> Records {
        let (records, untold) = self.stop();
        assert!(untold.is_empty(), "not recorded by any program: {untold:?}");
        records
    }

    fn stop(mut self) -> (Records, Vec<String>) {
        self.programs.drain(..).for_each(|(_, process)| process.stop());
        self.check()
    }
}

/// Kills programs at work on a new store, and starts others.
///
/// # Panics
/// If they leave something half done.
pub fn kill_programs<S: KvDatabase + Clone + 'static>(look: Open<S>, url: &str) {
    let programs = 4;
    let mut world = World::new(look, url, programs);
    let count = rounds(200, 4);
    let begun = Instant::now();
    for round in 1..=count {
        let at = world.rng.random_range(0..programs);
        let (name, process) = world.programs.remove(at);
        // It works, so it is killed within a transaction.
        world.wait_for(&name, 0);
        world.pause();
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
