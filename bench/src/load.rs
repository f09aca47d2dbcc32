//! Filling a new database: with the loader, and by hand with LMDB's append mode.

use std::fs;
use std::path::Path;
use std::time::Instant;

use permazen::Permazen;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::{KeySpan, KvDatabase};

use crate::by_hand::people;
use crate::data;
use crate::measure::{Spread, rounds, timed};
use crate::model::{PERSON, Person};
use crate::pairs::heed::Environment;
use crate::pairs::{Read, Write};
use crate::settings::Settings;

/// The lines for one number of objects.
pub struct Load {
    pub objects: usize,
    /// The same pairs, which are in memory in the order of their keys.
    pub append: Spread,
    /// Code by hand that makes the pairs, sorts them in memory, and appends them.
    pub sort: Spread,
    pub ours: Spread,
    /// Adding the objects to the loader, before it writes the first pair.
    pub adding: f64,
    /// How much more memory the loader takes than there was, besides the pages of files.
    pub memory: Option<u64>,
    /// How full the pages are, and bytes of the file for an object.
    pub fill: f64,
    pub file: f64,
}

/// This number of bytes of pairs is in one transaction by hand, as in one transaction of the
/// loader.
const SLICE: usize = 32 << 20;

pub fn measure(dir: &Path, settings: &Settings) -> Vec<Load> {
    settings.sizes.iter().map(|objects| of_size(dir, *objects, settings)).collect()
}

fn of_size(dir: &Path, objects: usize, settings: &Settings) -> Load {
    let people = data::people(objects, 1);
    let ours: Vec<Person> = people.iter().map(Person::from).collect();
    let ids = ids(objects);
    let mut sorted = Sorted::default();
    sorted.fill(&people, &ids);
    let pairs = sorted.pairs.len();
    let (mut adding, mut memory, mut sizes) = (0.0, None, (0.0, 0.0));
    // Each round writes gigabytes if there are many objects.
    let count = settings.rounds.min(if objects > 2_000_000 { 1 } else { 5 });
    let series = rounds(count, 3, |_, side| {
        let at = dir.join("load");
        let cost = match side {
            0 => {
                let env = Environment::open(&at, true);
                timed(objects, || sorted.append(&env))
            }
            1 => {
                let env = Environment::open(&at, true);
                timed(objects, || {
                    let mut sorted = Sorted::default();
                    sorted.fill(&people, &ids);
                    sorted.append(&env);
                })
            }
            _ => {
                let store = LmdbStore::open_or_create(&at).unwrap();
                let db = Permazen::builder(store.clone()).model::<Person>().build().unwrap();
                let before = anonymous();
                let mut most = before;
                let cost = timed(objects, || {
                    let start = Instant::now();
                    let tell = |_| most = most.max(anonymous());
                    let mut loader = db.loader().unwrap().directory(dir).progress(tell);
                    for person in &ours {
                        loader.add(person).unwrap();
                    }
                    adding = start.elapsed().as_nanos() as f64 / objects as f64;
                    assert_eq!(loader.finish().unwrap().pairs, pairs as u64);
                });
                memory = most.zip(before).map(|(most, before)| most.saturating_sub(before));
                let all = store.space(&[KeySpan::FULL]).unwrap()[0];
                let file = store.statistics().unwrap().file_bytes.unwrap();
                sizes = (all.fill(), file as f64 / objects as f64);
                cost
            }
        };
        fs::remove_dir_all(at).unwrap();
        eprintln!("{objects:>8} objects · load, side {side}: {:?}", cost.wall);
        Some(cost)
    });
    let spread = |side: usize| series[side].spread().unwrap();
    let (fill, file) = sizes;
    let (append, sort, ours) = (spread(0), spread(1), spread(2));
    Load { objects, append, sort, ours, adding, memory, fill, file }
}

/// IDs that ascend, as the IDs of the loader do.
fn ids(count: usize) -> Vec<[u8; 8]> {
    let id = |n: usize| {
        let mut bytes = (n as u64 * 32_768).to_be_bytes();
        bytes[0] = PERSON;
        bytes
    };
    (1..=count).map(id).collect()
}

/// The bytes of the process that are of no file.
fn anonymous() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

/// Pairs in memory.
#[derive(Default)]
struct Sorted {
    bytes: Vec<u8>,
    pairs: Vec<(usize, u16, u16)>,
}

impl Sorted {
    fn fill(&mut self, people: &[data::Person], ids: &[[u8; 8]]) {
        for (person, id) in people.iter().zip(ids) {
            people::create(self, *id, person);
        }
        let bytes = &self.bytes;
        self.pairs.sort_unstable_by_key(|(start, key, _)| &bytes[*start..start + *key as usize]);
    }

    fn append(&self, env: &Environment) {
        let mut pairs = self.pairs.iter().peekable();
        while pairs.peek().is_some() {
            let mut txn = env.write();
            let mut len = 0;
            while len <= SLICE
                && let Some((start, key, value)) = pairs.next()
            {
                let (key, value) = (*key as usize, *value as usize);
                let pair = &self.bytes[*start..start + key + value];
                txn.append(&pair[..key], &pair[key..]);
                len += pair.len();
            }
            txn.commit();
        }
    }
}

impl Read for Sorted {
    const START: &'static [u8] = &[0];

    fn get(&self, _: &[u8]) -> Option<&[u8]> {
        None
    }

    fn visit(&self, _: &[u8], _: &[u8], _: impl FnMut(&[u8], &[u8]) -> bool) {}

    fn last(&self, _: &[u8], _: &[u8]) -> Option<&[u8]> {
        None
    }
}

impl Write for Sorted {
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) {
        self.pairs.push((self.bytes.len(), key.len() as u16, value.len() as u16));
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
    }

    fn put_new(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.put(key, value);
        true
    }

    fn remove(&mut self, _: &[u8]) {}

    fn remove_range(&mut self, _: &[u8], _: &[u8]) {}
}
