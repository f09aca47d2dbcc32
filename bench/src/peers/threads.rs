//! Threads that read, and now and then write, each operation in a transaction of its own.

use std::sync::Barrier;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{Line, World};
use crate::measure::{Cost, rounds, timed};
use crate::settings::Settings;

/// Of a hundred operations, those that give a person another score.
const WRITES: u32 = 5;

pub fn mixed(world: &World, settings: &Settings) -> Vec<Line> {
    let count = settings.rounds.min(5);
    let operations = if settings.quick { 100 } else { 20_000 };
    let line = |threads: usize| {
        let series = rounds(count, world.sides.len(), |round, side| {
            Some(run(world, side, threads, operations / threads, round as u64))
        });
        let name = format!("{threads} {}", if threads == 1 { "thread" } else { "threads" });
        let line = Line { name, sides: series.iter().map(|s| s.spread()).collect() };
        super::log(&line, world.people.len());
        line
    };
    [1, 2, 4, 8].map(line).into()
}

/// The time of all threads together, by operation.
fn run(world: &World, side: usize, threads: usize, each: usize, seed: u64) -> Cost {
    let filled = &world.sides[side];
    let (ready, done) = (Barrier::new(threads + 1), Barrier::new(threads + 1));
    let mut cost = Cost { items: 0, wall: Duration::ZERO, cpu: Duration::ZERO };
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (ready, done) = (&ready, &done);
            scope.spawn(move || {
                let mut session = filled.side.session();
                let mut random = StdRng::seed_from_u64(seed * 100 + thread as u64);
                let mut draw = || {
                    let number = random.random_range(0..world.people.len());
                    (number, random.random_range(0..100) < WRITES)
                };
                session.load(&[filled.people[0]]);
                ready.wait();
                for _ in 0..each {
                    let (number, writes) = draw();
                    let key = filled.people[number];
                    if writes {
                        // The score that it has, so that all sides stay the same in whichever order
                        // the threads come.
                        session.set_score(key, world.people[number].score);
                    } else {
                        session.load(&[key]);
                    }
                }
                done.wait();
            });
        }
        ready.wait();
        cost = timed(threads * each, || {
            done.wait();
        });
    });
    cost
}
