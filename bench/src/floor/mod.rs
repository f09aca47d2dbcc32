//! Our side through the typed layer, beside the same pairs by hand on the same kind of store.

mod check;
mod collections;
mod durable;
mod memory;
mod people;
mod references;
mod whole;
mod world;

use std::path::Path;

use crate::data;
use crate::measure::{Cost, Spread, rounds};
use crate::report::Floor;
use crate::settings::Settings;

/// The same work twice. Each side times the part that matters, and leaves its database as it was.
struct Case<'w> {
    name: &'static str,
    /// The ratio should not be higher than this.
    goal: Option<f64>,
    by_hand: Box<dyn Fn(&Round) -> Cost + 'w>,
    ours: Box<dyn Fn(&Round) -> Cost + 'w>,
}

impl<'w> Case<'w> {
    fn new(
        name: &'static str,
        goal: impl Into<Option<f64>>,
        by_hand: impl Fn(&Round) -> Cost + 'w,
        ours: impl Fn(&Round) -> Cost + 'w,
    ) -> Case<'w> {
        Case { name, goal: goal.into(), by_hand: Box::new(by_hand), ours: Box::new(ours) }
    }
}

/// The data that both sides work on in one round.
struct Round {
    number: usize,
    /// Objects in random order, others in each round.
    sample: Vec<usize>,
}

impl Round {
    /// Numbers that no other round has.
    fn fresh(&self, at: usize) -> i32 {
        i32::try_from(data::AGES as usize + self.number * 100_000 + at).unwrap_or(i32::MAX)
    }
}

/// A line of the table.
pub struct Line {
    pub name: &'static str,
    pub goal: Option<f64>,
    pub by_hand: Spread,
    pub ours: Spread,
}

impl Line {
    pub fn ratio(&self) -> f64 {
        self.ours.median / self.by_hand.median
    }
}

/// The lines of one store.
pub struct Lines {
    pub objects: usize,
    pub lines: Vec<Line>,
}

fn measure(cases: &[Case<'_>], objects: usize, count: usize, sample: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for case in cases {
        let round =
            |number: usize| Round { number, sample: data::sample(objects, sample, number as u64) };
        let series = rounds(count, 2, |number, side| {
            let round = round(number);
            Some(if side == 0 { (case.by_hand)(&round) } else { (case.ours)(&round) })
        });
        let spread = |side: usize| series[side].spread().unwrap();
        let line = Line { name: case.name, goal: case.goal, by_hand: spread(0), ours: spread(1) };
        eprintln!("{objects:>8} objects · {:44} {:.2}", line.name, line.ratio());
        lines.push(line);
    }
    lines
}

/// Everything: on LMDB, there for several numbers of objects, and in memory.
pub fn measure_all(dir: &Path, settings: &Settings) -> Floor {
    let mut floor = Floor { lmdb: None, growth: Vec::new(), memory: Vec::new() };
    if settings.runs("floor") {
        floor.lmdb = Some(on_lmdb(dir, settings));
    }
    if settings.runs("growth") {
        let grown = settings.sizes.iter().map(|objects| growth(dir, *objects, settings));
        floor.growth = grown.collect();
    }
    if settings.runs("memory") {
        for objects in [settings.objects, settings.objects * 10] {
            let world = memory::World::new(objects);
            let cases = memory::cases(&world);
            let lines = measure(&cases, objects, settings.rounds, settings.sample);
            drop(cases);
            memory::check(world);
            floor.memory.push(Lines { objects, lines });
        }
    }
    floor
}

fn on_lmdb(dir: &Path, settings: &Settings) -> Lines {
    let (objects, rounds) = (settings.objects, settings.rounds);
    let world = world::World::new(&dir.join("floor"), objects);
    let mut cases = people::cases(&world);
    cases.extend(collections::cases(&world));
    let mut lines = measure(&cases, objects, rounds, settings.sample);
    drop(cases);
    lines.extend(measure(&whole::cases(&world), objects, rounds.min(5), settings.sample));
    let heavy = references::cases(&world, settings.referrers);
    lines.extend(measure(&heavy, objects, rounds.min(9), settings.sample));
    drop(heavy);
    lines.extend(durable::lines(&dir.join("durable"), settings));
    check::same_pairs(world, settings.sample);
    Lines { objects, lines }
}

/// The lines about people, for one number of objects.
fn growth(dir: &Path, objects: usize, settings: &Settings) -> Lines {
    let dir = dir.join(format!("floor-{objects}"));
    let world = world::World::new(&dir, objects);
    let cases = people::cases(&world);
    let lines = measure(&cases, objects, settings.rounds.min(9), settings.sample);
    drop(cases);
    check::same_pairs(world, settings.sample);
    std::fs::remove_dir_all(dir).unwrap();
    Lines { objects, lines }
}
