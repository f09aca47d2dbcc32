//! The space that an object takes in a file, by the order of IDs and the size of transactions, and
//! after packing.

use std::fs;
use std::path::Path;

use permazen::kv::copy::Watch;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::{Durability, KeySpan, KvDatabase};
use permazen::{ObjIdGenerator, Permazen};

use crate::data;
use crate::model::Person;
use crate::settings::Settings;
use crate::sides::rusqlite::Rusqlite;
use crate::sides::{Flush, Side};

/// The measurements after all objects were created in one way. All are bytes for an object.
pub struct Line {
    pub ids: &'static str,
    /// Objects in a transaction; `None` for all.
    pub batch: Option<usize>,
    pub file: f64,
    /// Pages that the newest state uses.
    pub used: f64,
    /// How full the pages with pairs are, from 0 to 1.
    pub fill: f64,
    pub packed_file: f64,
    pub packed_fill: f64,
}

pub struct Space {
    pub objects: usize,
    /// Bytes of keys and values for an object.
    pub pairs: f64,
    pub lines: Vec<Line>,
    pub sqlite: f64,
}

pub fn measure(dir: &Path, settings: &Settings) -> Space {
    let objects = settings.sizes.iter().copied().max().unwrap_or(settings.objects);
    let people = data::people(objects, 1);
    let ways = [
        ("random", None),
        ("random", Some(1000)),
        ("random", Some(100)),
        ("ordered", None),
        ("ordered", Some(1000)),
        ("ordered", Some(100)),
    ];
    let mut space = Space { objects, pairs: 0.0, lines: Vec::new(), sqlite: 0.0 };
    for (ids, batch) in ways {
        let (line, pairs) = create(&dir.join("space"), &people, ids, batch);
        eprintln!("{objects:>8} objects · space, {ids} IDs, {batch:?} {:.0}", line.file);
        space.lines.push(line);
        space.pairs = pairs;
    }
    let sqlite = dir.join("space-sqlite");
    let side = Rusqlite::open(&sqlite, Flush::Never);
    side.session().create(&people, 1000);
    space.sqlite = side.size() as f64 / objects as f64;
    fs::remove_dir_all(sqlite).unwrap();
    space
}

/// Creates the people in a new environment, which is then removed. Returns the line, and the bytes
/// of keys and values for an object.
fn create(
    dir: &Path,
    people: &[data::Person],
    ids: &'static str,
    batch: Option<usize>,
) -> (Line, f64) {
    let builder = LmdbStore::builder().create(true).durability(Durability::MayLoseEverything);
    let store = builder.open(dir).unwrap();
    let db = Permazen::builder(store.clone()).model::<Person>().build().unwrap();
    if ids == "ordered" {
        db.database().set_id_generator(ObjIdGenerator::ordered().unwrap());
    }
    for people in people.chunks(batch.unwrap_or(people.len())) {
        db.write(|tx| people.iter().try_for_each(|one| tx.create(Person::from(one)).map(drop)))
            .unwrap();
    }
    let each = |bytes: u64| bytes as f64 / people.len() as f64;
    let of = |store: &LmdbStore| {
        let statistics = store.statistics().unwrap();
        let all = store.space(&[KeySpan::FULL]).unwrap()[0];
        (statistics.file_bytes.unwrap(), statistics.used_bytes.unwrap(), all)
    };
    let (file, used, all) = of(&store);
    drop((db, store));
    LmdbStore::builder().compact(dir, &mut Watch::new()).unwrap();
    let (packed_file, _, packed) = of(&LmdbStore::open(dir).unwrap());
    fs::remove_dir_all(dir).unwrap();
    let line = Line {
        ids,
        batch,
        file: each(file),
        used: each(used),
        fill: all.fill(),
        packed_file: each(packed_file),
        packed_fill: packed.fill(),
    };
    (line, each(all.pair_bytes))
}
