//! A process that has hundreds of pages open, each with a database of its own: there are still
//! addresses for all else. A process of its own, since the addresses are those of all its tests.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::sync::{Arc, Barrier};
use std::thread;

use permazen_kv::Durability;
use permazen_kv::lmdb::{LmdbBuilder, LmdbStore};
use permazen_ledger::{LmdbPages, MAIN, PageId, Repository};

use crate::support::children::{Worker, task};
use crate::support::page::{get, put};

/// The test that a process runs which another one has started.
const CHILD: &str = concat!(module_path!(), "::child");

/// With one reservation of a TiB for each, a process has no addresses for more than some 127.
const PAGES: u32 = 210;

/// All as it is without a word, but for what waits for the disk.
fn lmdb() -> LmdbBuilder {
    LmdbStore::builder().durability(Durability::MayLoseEverything)
}

fn open(path: &Path) -> Repository {
    let host = lmdb().create(true).open(path.join("host")).unwrap();
    let pages = LmdbPages::new(path.join("pages")).options(lmdb());
    Repository::builder(host).page_databases(Arc::new(pages)).open_or_create().unwrap()
}

fn page_id(number: u32) -> PageId {
    let mut id = [0; 16];
    id[..4].copy_from_slice(&number.to_be_bytes());
    PageId(id)
}

/// How many bytes of addresses this process uses.
fn addresses() -> u64 {
    let used = std::fs::read_to_string("/proc/self/statm").unwrap();
    used.split(' ').next().unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn child() {
    let Some(path) = task() else { return };
    let path = Path::new(&path);
    // Once while the pages are made, and once where they are there.
    for is_new in [true, false] {
        let repository = open(path);
        let pages: Vec<_> = (0..PAGES)
            .map(|number| match is_new {
                true => repository.create_page("many", page_id(number)).unwrap(),
                false => repository.page("many", page_id(number)).unwrap(),
            })
            .collect();
        assert!(addresses() < 100 << 40, "{} bytes of addresses are used", addresses());
        let started = Barrier::new(32);
        thread::scope(|scope| {
            for page in &pages[..32] {
                let started = &started;
                let write = move || {
                    started.wait();
                    put(page, MAIN, b"key", &[u8::from(is_new)]);
                };
                if let Err(error) = thread::Builder::new().spawn_scoped(scope, write) {
                    // The others wait for this one: the scope would never end.
                    println!("no thread starts: {error}");
                    std::process::exit(1);
                }
            }
        });
        let memory = Vec::<u8>::with_capacity(1 << 30);
        assert!(memory.capacity() >= 1 << 30);
        for page in pages.iter().step_by(10) {
            put(page, MAIN, b"last", &[u8::from(is_new)]);
        }
        assert_eq!(get(&pages[0], b"key"), Some(vec![u8::from(is_new)]));
        assert_eq!(std::fs::read_dir(path.join("pages")).unwrap().count(), PAGES as usize);
    }
    println!("all are open");
}

#[test]
fn hundreds_of_pages_with_a_database_each_leave_addresses_for_all_else() {
    let folder = tempfile::tempdir().unwrap();
    let lines = Worker::start(CHILD, folder.path().to_str().unwrap()).end();
    assert!(lines.iter().any(|line| line.ends_with("all are open")), "{lines:?}");
}
