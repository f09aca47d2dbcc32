//! An upgrade that is killed at random instants, again and again, while other versions of the
//! program look at the database and work on it. It must end like an undisturbed one.

use std::thread;
use std::time::Duration;

use crate::tracker::process::{AfterBatch, Tracker};
use crate::tracker::program::lines::Lines;
use crate::tracker::random::{Random, seed, setting};
use crate::tracker::versions::{check_new, check_old};

/// How many issues there are. There are about four times as many objects, which are enough for
/// several batches of an upgrade, and for other versions to work while it runs.
fn issues() -> u32 {
    if std::env::var_os("PERMAZEN_ALL").is_some() { 600 } else { 400 }
}

/// The lines of an undisturbed database after a number of days of work.
struct Expected {
    /// To version 1, without an upgrade.
    old: Vec<Lines>,
    /// To version 3, after an upgrade.
    new: Vec<Lines>,
}

impl Expected {
    fn of(filled: &Tracker, days: u32) -> Expected {
        let tracker = filled.copy();
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for day in 0..=days {
            if day > 0 {
                tracker.work(day);
            }
            old.push(tracker.print("v1"));
            let upgraded = tracker.copy();
            upgraded.upgrade("v3");
            upgraded.check();
            new.push(upgraded.print("v3"));
        }
        Expected { old, new }
    }
}

/// One database on its way to version 3.
struct Journey<'a> {
    tracker: Tracker,
    expected: &'a Expected,
    random: &'a mut Random,
    when: String,
    /// How many days version 1 has worked on it.
    days: usize,
    kills: u64,
    /// After how many kills some objects had moved and others had not.
    halfway: u64,
}

impl Journey<'_> {
    /// Starts an upgrade and kills it. Returns whether it had already ended.
    fn killed_upgrade(&mut self, version: &str) -> bool {
        // The first kill comes in the middle, however fast the machine is.
        let then = if self.kills == 0 { AfterBatch::Stop } else { AfterBatch::Continue };
        let mut process = self.tracker.start_upgrade(version, then);
        // Sometimes the kill comes while the database is being opened.
        let waits = then == AfterBatch::Stop || self.random.below(5) > 0;
        let begun = waits && process.wait_for_a_batch();
        match self.random.below(4) {
            0 => self.look(),
            _ => thread::sleep(Duration::from_micros(self.random.below(60_000))),
        }
        let done = process.kill();
        self.kills += 1;
        self.halfway += u64::from(begun && !done);
        done
    }

    /// Nothing is wrong after a kill. Sometimes this also looks.
    fn inspect(&mut self) {
        self.tracker.check();
        if self.random.below(2) == 0 {
            self.look();
        }
    }

    /// Versions 1 and 3 read everything.
    fn look(&self) {
        let when = format!("{}, after {} kills and {} days", self.when, self.kills, self.days);
        check_new(&self.tracker.print("v3"), &self.expected.new[self.days], &when);
        check_old(&self.tracker.print("v1"), &self.expected.old[self.days], &when);
    }

    /// Version 1 works for a day.
    fn work(&mut self) {
        self.days += 1;
        self.tracker.work(self.days as u32);
    }

    fn run(mut self) -> (u64, u64) {
        // Version 2 does not always end its upgrade before version 3 begins with its own.
        for _ in 0..self.random.below(3) {
            self.killed_upgrade("v2");
            self.inspect();
        }
        self.work();
        let mut done = false;
        while !done {
            done = self.killed_upgrade("v3");
            self.inspect();
            if self.days == 1 {
                // The program of version 1 works while the upgrade runs.
                let mut process = self.tracker.start_upgrade("v3", AfterBatch::Continue);
                process.wait_for_a_batch();
                self.work();
                done = process.kill();
            }
        }
        self.tracker.upgrade("v3");
        self.tracker.check();
        assert_eq!(self.tracker.print("v3"), self.expected.new[self.days], "{}", self.when);
        (self.kills, self.halfway)
    }
}

#[test]
fn a_killed_upgrade_ends_like_an_undisturbed_one() {
    let seed = seed("killed upgrades");
    let wanted = setting("PERMAZEN_KILLS").unwrap_or(4);
    let filled = Tracker::filled(issues());
    let expected = Expected::of(&filled, 2);
    let (mut journeys, mut kills, mut halfway) = (0, 0, 0);
    while kills < wanted {
        let when = format!("PERMAZEN_SEED={seed}, journey {journeys}");
        let mut random = Random::new(seed, journeys);
        let journey = Journey {
            tracker: filled.copy(),
            expected: &expected,
            random: &mut random,
            when,
            days: 0,
            kills: 0,
            halfway: 0,
        };
        let found = journey.run();
        (journeys, kills, halfway) = (journeys + 1, kills + found.0, halfway + found.1);
    }
    assert!(halfway > 0, "no kill of {kills} came in the middle of an upgrade");
    println!("{journeys} upgrades, {kills} kills, {halfway} of them in the middle");
}
