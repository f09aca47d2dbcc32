//! Workloads that other libraries publish about themselves.

mod associations;
mod secondary_keys;

use std::path::Path;

use crate::measure::{Cost, rounds};
use crate::peers::{Line, Table};
use crate::settings::Settings;

/// What they are, and their tables.
pub struct Published {
    pub associations: Table,
    pub secondary_keys: Table,
}

pub fn tables(dir: &Path, settings: &Settings) -> Published {
    let dir = dir.join("published");
    Published {
        associations: associations::table(&dir.join("associations"), settings),
        secondary_keys: secondary_keys::table(&dir.join("keys"), settings),
    }
}

/// What one side does in a line.
type Work<'w> = Box<dyn FnMut(usize) -> Cost + 'w>;

fn line(name: &str, count: usize, mut sides: Vec<Work<'_>>) -> Line {
    let series = rounds(count, sides.len(), |round, side| Some(sides[side](round)));
    let line = Line { name: name.to_owned(), sides: series.iter().map(|s| s.spread()).collect() };
    crate::peers::log(&line, 0);
    line
}
