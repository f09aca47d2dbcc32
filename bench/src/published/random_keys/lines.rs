//! The operations on the pairs, the same on all sides.

use std::path::Path;
use std::sync::Barrier;
use std::time::Duration;

use super::sides::Side;
use super::{Pair, SIDES, open};
use crate::data::sample;
use crate::measure::{Cost, timed};
use crate::peers::Line;
use crate::published::line_of;
use crate::settings::Settings;

/// Pairs that are read from each key on.
pub const SCAN: usize = 10;

pub type Sides = Vec<Box<dyn Side>>;

/// Puts all pairs into a new database in one transaction. Returns the databases of the last round.
pub fn bulk_load(dir: &Path, count: usize, pairs: &[Pair]) -> (Vec<Line>, Sides) {
    let mut sides: Vec<Option<Box<dyn Side>>> = (0..SIDES).map(|_| None).collect();
    let line = line_of("bulk load", count, SIDES, |_, side| {
        let dir = dir.join(side.to_string());
        if sides[side].take().is_some() {
            std::fs::remove_dir_all(&dir).unwrap();
        }
        let new = sides[side].insert(open(&dir, side));
        let mut session = new.session();
        timed(pairs.len(), || session.put(pairs))
    });
    (vec![line], sides.into_iter().flatten().collect())
}

/// In each round the next `round` of `new`, with `each` in a transaction.
pub fn writes(name: &str, sides: &Sides, new: &[Pair], round: usize, each: usize) -> Line {
    line_of(name, new.len() / round, sides.len(), |at, side| {
        let mut session = sides[side].session();
        let new = &new[at * round..][..round];
        timed(round, || new.chunks(each).for_each(|new| session.put(new)))
    })
}

/// In each round the next `round` of `old`, in one transaction.
pub fn removals(sides: &Sides, old: &[Pair], round: usize) -> Line {
    line_of("removals", old.len() / round, sides.len(), |at, side| {
        let mut session = sides[side].session();
        timed(round, || session.remove(&old[at * round..][..round]))
    })
}

pub fn reads(sides: &Sides, pairs: &[Pair], settings: &Settings) -> Vec<Line> {
    let count = settings.rounds.min(9);
    let some = |count: usize, seed: usize| -> Vec<&Pair> {
        sample(pairs.len(), count, seed as u64).into_iter().map(|n| &pairs[n]).collect()
    };
    let mut lines = vec![
        line_of("len()", count, sides.len(), |_, side| {
            let mut session = sides[side].session();
            timed(1, || assert_eq!(session.len(), pairs.len()))
        }),
        line_of("random reads", count, sides.len(), |round, side| {
            let mut session = sides[side].session();
            let some = some(settings.sample, round);
            timed(some.len(), || assert_eq!(session.read(&some), sum(&some)))
        }),
    ];
    let mut sums: Vec<Option<u64>> = vec![None; count];
    lines.push(line_of("random range reads", count, sides.len(), |round, side| {
        let mut session = sides[side].session();
        let some = some(settings.sample / SCAN, round);
        let mut found = 0;
        let cost = timed(some.len() * SCAN, || found = session.read_from(&some));
        assert_eq!(found, *sums[round].get_or_insert(found), "{}", sides[side].name());
        cost
    }));
    let reads = if settings.quick { 400 } else { 20_000 };
    for threads in [4, 8, 16, 32] {
        let name = format!("random reads, {threads} threads");
        lines.push(line_of(&name, count.min(5), sides.len(), |round, side| {
            let some = some(reads, round);
            in_threads(&*sides[side], &some, threads)
        }));
    }
    lines
}

/// The sum of the first bytes of the values of these pairs.
fn sum(pairs: &[&Pair]) -> u64 {
    pairs.iter().map(|pair| u64::from(pair.value[0])).sum()
}

/// The time of all threads together. Each reads its share in one transaction.
fn in_threads(side: &dyn Side, pairs: &[&Pair], threads: usize) -> Cost {
    let (ready, done) = (Barrier::new(threads + 1), Barrier::new(threads + 1));
    let mut cost = Cost { items: 0, wall: Duration::ZERO, cpu: Duration::ZERO };
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (ready, done) = (&ready, &done);
            let share: Vec<&Pair> = pairs.iter().copied().skip(thread).step_by(threads).collect();
            scope.spawn(move || {
                let mut session = side.session();
                session.read(&share[..1]);
                ready.wait();
                assert_eq!(session.read(&share), sum(&share));
                done.wait();
            });
        }
        ready.wait();
        cost = timed(pairs.len(), || {
            done.wait();
        });
    });
    cost
}
