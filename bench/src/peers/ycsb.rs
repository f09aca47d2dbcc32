//! The workloads A to F of YCSB on objects, with keys drawn by Zipf's law. Each operation is a
//! transaction.

use std::hash::{DefaultHasher, Hash, Hasher};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{Line, World};
use crate::data::{AGES, Person};
use crate::measure::{rounds, timed};
use crate::settings::Settings;
use crate::sides::Key;

/// Of a hundred operations of a workload. The others load an object.
#[derive(Clone, Copy, Default)]
struct Mix {
    name: &'static str,
    updates: u32,
    inserts: u32,
    scans: u32,
    modifications: u32,
    /// Mostly the latest objects are read.
    latest: bool,
}

const NONE: Mix =
    Mix { name: "", updates: 0, inserts: 0, scans: 0, modifications: 0, latest: false };

const MIXES: [Mix; 6] = [
    Mix { name: "A: half updates", updates: 50, ..NONE },
    Mix { name: "B: 5 % updates", updates: 5, ..NONE },
    Mix { name: "C: loads only", ..NONE },
    Mix { name: "D: the latest, 5 % new", inserts: 5, latest: true, ..NONE },
    Mix { name: "E: scans of up to 100, 5 % new", inserts: 5, scans: 95, ..NONE },
    Mix { name: "F: half read, change, write", modifications: 50, ..NONE },
];

/// Numbers below `count` by Zipf's law with the exponent 0.99, as YCSB draws them.
struct Zipf {
    count: f64,
    zeta: f64,
    eta: f64,
}

const THETA: f64 = 0.99;

impl Zipf {
    fn new(count: usize) -> Zipf {
        let zeta = |n: usize| (1..=n).map(|i| (i as f64).powf(-THETA)).sum::<f64>();
        let (of, all) = (zeta(2.min(count)), zeta(count));
        let count = count as f64;
        let eta = (1.0 - (2.0 / count).powf(1.0 - THETA)) / (1.0 - of / all);
        Zipf { count, zeta: all, eta }
    }

    fn draw(&self, random: &mut StdRng) -> usize {
        let part: f64 = random.random();
        let scaled = part * self.zeta;
        if scaled < 1.0 {
            0
        } else if scaled < 1.0 + 0.5_f64.powf(THETA) {
            1
        } else {
            let alpha = 1.0 / (1.0 - THETA);
            (self.count * (self.eta * part - self.eta + 1.0).powf(alpha)) as usize
        }
    }
}

/// So that popular objects do not lie side by side.
fn scattered(number: usize, of: usize) -> usize {
    let mut hasher = DefaultHasher::new();
    number.hash(&mut hasher);
    (hasher.finish() % of as u64) as usize
}

/// One operation, the same for all sides.
enum Operation {
    Load(usize),
    /// The latest but this many.
    LoadLatest(usize),
    Update(usize),
    Insert(Person),
    Scan(i32, usize),
    Modify(usize),
}

fn operations(mix: Mix, zipf: &Zipf, people: usize, count: usize, seed: u64) -> Vec<Operation> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut operation = || {
        let choice = random.random_range(0..100);
        let drawn = zipf.draw(&mut random).min(people - 1);
        let number = scattered(drawn, people);
        let Mix { updates, inserts, scans, modifications, .. } = mix;
        if choice < updates {
            Operation::Update(number)
        } else if choice < updates + inserts {
            Operation::Insert(Person::random(&mut random))
        } else if choice < updates + inserts + scans {
            Operation::Scan(random.random_range(0..AGES), random.random_range(1..=100))
        } else if choice < updates + inserts + scans + modifications {
            Operation::Modify(number)
        } else if mix.latest {
            Operation::LoadLatest(drawn)
        } else {
            Operation::Load(number)
        }
    };
    (0..count).map(|_| operation()).collect()
}

pub fn workloads(world: &mut World, settings: &Settings) -> Vec<Line> {
    let people = world.people.len();
    let zipf = Zipf::new(people);
    let count = if settings.quick { 50 } else { 4000 };
    let mut lines = Vec::new();
    // Scores that have changed are set back at the end, and new people deleted.
    let mut changed = Vec::new();
    for (at, mix) in MIXES.into_iter().enumerate() {
        let series = rounds(settings.rounds.min(7), world.sides.len(), |round, side| {
            let seed = (at * 1000 + round) as u64;
            let operations = operations(mix, &zipf, people, count, seed);
            let filled = &world.sides[side];
            let mut session = filled.side.session();
            let mut inserted: Vec<Key> = Vec::new();
            let cost = timed(operations.len(), || {
                for operation in &operations {
                    match operation {
                        Operation::Load(number) => session.load(&[filled.people[*number]]),
                        Operation::LoadLatest(back) => {
                            let old = |back: usize| filled.people[people - 1 - back];
                            let key = match back.checked_sub(inserted.len()) {
                                None => inserted[inserted.len() - 1 - back],
                                Some(back) => old(back),
                            };
                            session.load(&[key]);
                        }
                        Operation::Update(number) => session.set_score(filled.people[*number], 1),
                        Operation::Insert(person) => {
                            inserted.extend(session.create(std::slice::from_ref(person), 1));
                        }
                        Operation::Scan(low, limit) => drop(session.load_from(*low, *limit)),
                        Operation::Modify(number) => session.modify(filled.people[*number]),
                    }
                }
            });
            for operation in &operations {
                if let Operation::Update(number) | Operation::Modify(number) = operation {
                    changed.push((side, *number));
                }
            }
            session.delete(&inserted);
            Some(cost)
        });
        let line =
            Line { name: mix.name.into(), sides: series.iter().map(|s| s.spread()).collect() };
        super::log(&line, people);
        lines.push(line);
    }
    changed.sort_unstable();
    changed.dedup();
    for (side, number) in changed {
        let filled = &world.sides[side];
        filled.side.session().set_score(filled.people[number], world.people[number].score);
    }
    lines
}
