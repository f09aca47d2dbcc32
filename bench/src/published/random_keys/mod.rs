//! redb's benchmark: random keys of 24 bytes with values of 150. With permazen each pair is an
//! object whose key is indexed.

mod lines;
mod sides;

use std::path::Path;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::peers::Table;
use crate::settings::Settings;
use sides::{Ours, Redb, Rusqlite, Side};

/// A stored pair.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    key: [u8; 24],
    value: Vec<u8>,
}

pub struct RandomKeys {
    /// Pairs of the bulk load.
    pub objects: usize,
    pub table: Table,
    /// Bytes of each side's files for each pair after all lines.
    pub sizes: Vec<f64>,
    /// The same when the files were packed.
    pub packed: Vec<f64>,
}

const SIDES: usize = 3;

fn open(dir: &Path, side: usize) -> Box<dyn Side> {
    std::fs::create_dir_all(dir).unwrap();
    match side {
        0 => Box::new(Ours::open(dir)),
        1 => Box::new(Rusqlite::open(dir)),
        _ => Box::new(Redb::open(dir)),
    }
}

fn random(count: usize) -> Vec<Pair> {
    let mut random = StdRng::seed_from_u64(3);
    let mut pair = || {
        let mut value = vec![0; 150];
        let key = random.random();
        random.fill(&mut value[..]);
        Pair { key, value }
    };
    (0..count).map(|_| pair()).collect()
}

/// Each commit is on the disk.
pub fn measure(dir: &Path, settings: &Settings) -> RandomKeys {
    let objects = settings.objects.min(100_000);
    let count = settings.rounds.min(5);
    let pairs = random(objects + count * (settings.commits + settings.batch));
    let (mut lines, mut sides) = lines::bulk_load(dir, count, &pairs[..objects]);
    let mut written = objects;
    for (name, commits, each) in
        [("individual writes", settings.commits, 1), ("batch writes", 1, settings.batch)]
    {
        let new = &pairs[written..][..count * commits * each];
        lines.push(lines::writes(name, &sides, new, commits * each, each));
        written += new.len();
    }
    lines.extend(lines::reads(&sides, &pairs, settings));
    let tenth = (objects / 10).max(1);
    let removed = count * tenth;
    lines.push(lines::removals(&sides, &pairs[..removed], tenth));
    let mut left = pairs[removed..].to_vec();
    left.sort_unstable();
    let bytes = |sides: &lines::Sides| -> Vec<f64> {
        sides.iter().map(|side| side.size() as f64 / left.len() as f64).collect()
    };
    let sizes = bytes(&sides);
    sides.iter_mut().for_each(|side| side.pack());
    let packed = bytes(&sides);
    eprintln!("{:>8} objects · bytes {sizes:.0?}, packed {packed:.0?}", left.len());
    for side in &sides {
        assert!(side.session().content() == left, "{}: other pairs", side.name());
    }
    let sides = sides.iter().map(|side| side.name()).collect();
    RandomKeys { objects, table: Table { sides, lines }, sizes, packed }
}
