//! Our side and other libraries on the same objects.

mod check;
mod curves;
mod lines;
mod threads;
mod ycsb;

use std::path::Path;

use crate::data::{self, Person};
use crate::measure::Spread;
use crate::settings::Settings;
use crate::sides::diesel::Diesel;
use crate::sides::native_db::NativeDb;
use crate::sides::permazen::Ours;
use crate::sides::redb::Redb;
use crate::sides::rusqlite::Rusqlite;
use crate::sides::{Flush, Key, Side};

/// A line of a table: one entry for each side.
pub struct Line {
    pub name: String,
    /// Of each side; nothing if it cannot do that.
    pub sides: Vec<Option<Spread>>,
}

/// A table with a column for each side.
pub struct Table {
    pub sides: Vec<&'static str>,
    pub lines: Vec<Line>,
}

/// The measurements on one number of objects.
pub struct Tables {
    pub objects: usize,
    pub read: Table,
    /// Each commit is on the disk.
    pub flushed: Table,
    pub unflushed: Table,
    pub mixed: Table,
    pub ycsb: Table,
    /// Bytes of each side's files for each object, after all objects were created.
    pub sizes: Vec<f64>,
}

/// How many messages each author has written.
const MESSAGES: usize = 10;

/// One side, and the keys of its objects.
struct Filled {
    side: Box<dyn Side>,
    people: Vec<Key>,
    messages: Vec<Key>,
}

/// All sides, filled with the same objects.
struct World {
    sides: Vec<Filled>,
    /// The content of the sides, by number.
    people: Vec<Person>,
    /// The first of them have written messages.
    authors: usize,
}

impl World {
    fn new(dir: &Path, objects: usize, flush: Flush) -> World {
        let at = |name: &str| dir.join(name);
        let sides: Vec<Box<dyn Side>> = vec![
            Box::new(Ours::open(&at("permazen"), flush)),
            Box::new(Rusqlite::open(&at("rusqlite"), flush)),
            Box::new(Diesel::open(&at("diesel"), flush)),
            Box::new(Redb::open(&at("redb"), flush)),
            Box::new(NativeDb::open(&at("native_db"), flush)),
        ];
        let (people, authors) = (data::people(objects, 1), objects.div_ceil(10));
        let fill = |side: Box<dyn Side>| {
            let mut session = side.session();
            let keys = session.create(&people, 50_000);
            let of = |n: usize| (keys[n % authors], format!("Message {n} of somebody"));
            let new: Vec<(Key, String)> = (0..authors * MESSAGES).map(of).collect();
            let messages = session.write_messages(&new);
            drop(session);
            Filled { side, people: keys, messages }
        };
        let sides = sides.into_iter().map(fill).collect();
        World { sides, people, authors }
    }

    fn names(&self) -> Vec<&'static str> {
        self.sides.iter().map(|filled| filled.side.name()).collect()
    }

    fn sizes(&self) -> Vec<f64> {
        let of = |filled: &Filled| filled.side.size() as f64 / self.people.len() as f64;
        self.sides.iter().map(of).collect()
    }
}

/// The tables for the usual number of objects.
pub fn tables(dir: &Path, settings: &Settings) -> Tables {
    let objects = settings.objects;
    let mut lazy = World::new(&dir.join("unflushed"), objects, Flush::Never);
    let names = lazy.names();
    let read = lines::reads(&lazy, settings);
    let mut unflushed = lines::writes(&mut lazy, settings.rounds, settings.sample);
    unflushed.extend(lines::single_commits(&mut lazy, settings));
    let mixed = threads::mixed(&lazy, settings);
    let ycsb = ycsb::workloads(&mut lazy, settings);
    check::same_people(&lazy);
    drop(lazy);
    let mut world = World::new(&dir.join("flushed"), objects.min(10_000), Flush::EachCommit);
    // redb keeps data in memory until a flush, so sizes are those of flushed files.
    let sizes = world.sizes();
    let mut flushed = lines::batches(&mut world, settings);
    flushed.extend(lines::single_commits(&mut world, settings));
    flushed.push(lines::threads(&world, settings));
    check::same_people(&world);
    let table = |lines| Table { sides: names.clone(), lines };
    Tables {
        objects,
        read: table(read),
        flushed: table(flushed),
        unflushed: table(unflushed),
        mixed: table(mixed),
        ycsb: table(ycsb),
        sizes,
    }
}

pub use curves::{Growth, growth};

/// Says how far the run is.
pub fn log(line: &Line, objects: usize) {
    let median = |side: &Option<Spread>| match side {
        Some(spread) => format!("{:9.3}", spread.median / 1000.0),
        None => format!("{:>9}", "–"),
    };
    let medians: Vec<String> = line.sides.iter().map(median).collect();
    eprintln!("{objects:>8} objects · {:44} {} µs", line.name, medians.join(" "));
}
