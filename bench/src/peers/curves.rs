//! How costs grow with the number of objects.

use std::path::Path;

use super::{Line, World, lines};
use crate::settings::Settings;
use crate::sides::Flush;

/// The same lines for each number of objects.
pub struct Growth {
    pub sides: Vec<&'static str>,
    pub sizes: Vec<(usize, Vec<Line>)>,
}

pub fn growth(dir: &Path, settings: &Settings) -> Growth {
    let mut growth = Growth { sides: Vec::new(), sizes: Vec::new() };
    for objects in &settings.sizes {
        let dir = dir.join(format!("growth-{objects}"));
        let mut world = World::new(&dir, *objects, Flush::Never);
        growth.sides = world.names();
        let (count, sample) = (settings.rounds.min(7), settings.sample);
        let mut found = lines::basic_reads(&world, count, sample);
        found.extend(lines::writes(&mut world, count, sample));
        growth.sizes.push((*objects, found));
        drop(world);
        std::fs::remove_dir_all(dir).unwrap();
    }
    growth
}
