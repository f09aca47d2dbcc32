//! Workloads that other libraries publish about themselves.

mod associations;
mod random_keys;
mod secondary_keys;

use std::path::Path;

use crate::measure::{Cost, rounds};
use crate::peers::{Line, Table};
use crate::settings::Settings;

pub use random_keys::RandomKeys;

/// Their tables.
pub struct Published {
    pub associations: Table,
    pub secondary_keys: Table,
    pub random_keys: RandomKeys,
}

pub fn tables(dir: &Path, settings: &Settings) -> Published {
    let dir = dir.join("published");
    Published {
        associations: associations::table(&dir.join("associations"), settings),
        secondary_keys: secondary_keys::table(&dir.join("keys"), settings),
        random_keys: random_keys::measure(&dir.join("random"), settings),
    }
}

/// The work of one side for a line.
type Work<'w> = Box<dyn FnMut(usize) -> Cost + 'w>;

fn line(name: &str, count: usize, mut sides: Vec<Work<'_>>) -> Line {
    line_of(name, count, sides.len(), |round, side| sides[side](round))
}

/// The line for the work that `run` does with a round and a side.
fn line_of(
    name: &str,
    count: usize,
    sides: usize,
    mut run: impl FnMut(usize, usize) -> Cost,
) -> Line {
    let series = rounds(count, sides, |round, side| Some(run(round, side)));
    let line = Line { name: name.to_owned(), sides: series.iter().map(|s| s.spread()).collect() };
    crate::peers::log(&line, 0);
    line
}
