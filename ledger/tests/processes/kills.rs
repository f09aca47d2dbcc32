//! Processes that commit, write values in parts, collect garbage, turn reference rows on and off,
//! attach the page to a remote and detach it are killed at random instants, on LMDB and on SQLite.
//! The commits that they acknowledged are there, and `verify` finds nothing.
//!
//! `PERMAZEN_KILLS` sets how often this is tried with each store.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::sqlite::SqliteStore;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{
    LedgerError, MAIN, Page, PageId, PageRemote, RemoteState, Repository, Retention,
};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

use crate::support::children::{Worker, task};
use crate::support::page::Map;

/// The test that a process runs which another one has started.
const CHILD: &str = concat!(module_path!(), "::child");

fn open(store: &str, path: &Path) -> Arc<dyn KvDatabase> {
    match store {
        "lmdb" => Arc::new(LmdbStore::open_or_create(path).unwrap()),
        _ => Arc::new(SqliteStore::open_or_create(path).unwrap()),
    }
}

fn page(repository: &Repository) -> Page {
    match repository.page("test", PageId::ROOT) {
        Ok(page) => page,
        Err(LedgerError::NoSuch { .. }) => {
            let page = repository.create_page("test", PageId::ROOT).unwrap();
            page.set_retention(Retention::Last(3)).unwrap();
            page
        }
        Err(error) => panic!("{error}"),
    }
}

/// The writes of commit `number`: few contents, so that garbage comes back to life.
fn writes(number: u64) -> Map {
    let value = |key: u8| vec![(number % 4) as u8; if key == 7 { 30_000 } else { 60 }];
    let from = (number % 5) as u8 * 20;
    let mut writes: Map = (from..from + 60).map(|key| (vec![key], value(key))).collect();
    writes.insert(b"number".to_vec(), number.to_be_bytes().to_vec());
    writes
}

/// A value. Every fifth one is long enough that several transactions store it. Values share parts.
fn film(number: u64) -> Vec<u8> {
    let mut film = vec![0; 30_000];
    StdRng::seed_from_u64(number % 3).fill_bytes(&mut film);
    film.extend(vec![(number % 2) as u8; if number % 5 == 1 { 1_500_000 } else { 70_000 }]);
    film
}

/// Writes a value in parts, attaches two of three, and ends some too early.
fn write_film(page: &Page, number: u64) -> permazen_ledger::Result<()> {
    let mut writer = page.write_value(None)?;
    for portion in film(number).chunks(1 << 18) {
        if let Err(error) = writer.write_all(portion) {
            return Err(*error.into_inner().unwrap().downcast().unwrap());
        }
    }
    if number % 7 == 6 {
        return Ok(());
    }
    let film = writer.finish()?;
    if number % 3 != 2 {
        let db = page.database(MAIN)?;
        let mut tx = db.begin(&TxOptions::writing())?;
        tx.put(b"film", film.as_bytes())?;
        tx.put(b"film number", &number.to_be_bytes())?;
        tx.commit()?;
        println!("film {number}");
    }
    Ok(())
}

/// Attaches the page to a remote, brings all there several times, and detaches it.
fn sync(remote: &PageRemote) -> permazen_ledger::Result<()> {
    remote.attach()?;
    // Few times, so that some kills come while the page is attached or detached.
    for _ in 0..6 {
        let commits = remote.unsynced_commits()?;
        let commits: Vec<_> = commits.iter().map(|commit| commit.id).collect();
        let pieces = remote.local_pieces(None, 1_000)?;
        let pieces: Vec<_> = pieces.iter().map(|piece| piece.digest).collect();
        remote.mark_synced(&commits, &pieces, &[])?;
    }
    remote.detach()
}

/// Commits one number after the other while other threads write values and collect.
fn work(store: &str, path: &Path) {
    let repository =
        Repository::shared_builder(open(store, path)).exclusive().open_or_create().unwrap();
    let page = page(&repository);
    // The test harness has begun a line.
    println!("\nopen");
    let collector = page.clone();
    std::thread::spawn(move || {
        for turn in 0_u32.. {
            let result = match turn % 8 {
                3 => collector.set_reference_rows(true),
                7 => collector.set_reference_rows(false),
                _ => collector.collect().map(drop),
            };
            match result {
                Ok(()) => {}
                // The host was busy for long.
                Err(error) => assert!(error.is_retryable(), "{error}"),
            }
        }
    });
    let writer = page.clone();
    std::thread::spawn(move || {
        let snapshot = writer.snapshot(&writer.head(MAIN).unwrap()).unwrap();
        let last = snapshot.get(b"film number").unwrap().map(|last| last.into_owned());
        drop(snapshot);
        for number in last.map_or(0, |last| u64::from_be_bytes(last.try_into().unwrap())) + 1.. {
            match write_film(&writer, number) {
                Ok(()) => {}
                Err(error) => assert!(error.is_retryable(), "{error}"),
            }
        }
    });
    let remote = page.remote();
    std::thread::spawn(move || {
        loop {
            match sync(&remote) {
                Ok(()) => {}
                Err(error) => assert!(error.is_retryable(), "{error}"),
            }
        }
    });
    let db = page.database(MAIN).unwrap();
    loop {
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        let last = tx.get(b"number").unwrap().map(|last| last.into_owned());
        let number = last.map_or(0, |last| u64::from_be_bytes(last.try_into().unwrap())) + 1;
        for (key, value) in writes(number) {
            tx.put(&key, &value).unwrap();
        }
        tx.commit().unwrap();
        println!("committed {number}");
        std::io::stdout().flush().unwrap();
    }
}

/// The role of a process that is killed. The test that starts it sets the variable; without it
/// there is nothing to do.
#[test]
fn child() {
    if let Some(what) = task() {
        let (store, path) = what.split_once(' ').unwrap();
        work(store, Path::new(path));
    }
}

/// The number of the last commit, which is whole, and whether there is a film.
fn check(store: &str, path: &Path, when: &str) -> (u64, bool) {
    let repository = Repository::shared_builder(open(store, path))
        .manual_maintenance()
        .open_or_create()
        .unwrap();
    let page = page(&repository);
    let found = page.verify().unwrap();
    assert!(found.findings.is_empty(), "{when}: {:?}", found.findings);
    let snapshot = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
    let all = KeySpan::new(b"", None);
    let pairs = snapshot.scan(all, Direction::Forward).unwrap();
    let mut content: Map =
        pairs.map(|pair| pair.map(|(k, v)| (k.to_vec(), v.to_vec())).unwrap()).collect();
    let found = content.remove(&b"film number"[..]);
    let found = found.map(|found| film(u64::from_be_bytes(found.try_into().unwrap())));
    let has_film = found.is_some();
    assert!(content.remove(&b"film"[..]) == found, "{when}: the film is another one");
    let Some(number) = content.get(&b"number"[..]) else {
        assert!(content.is_empty(), "{when}");
        return (0, has_film);
    };
    let number = u64::from_be_bytes(number.clone().try_into().unwrap());
    // The last five commits have written all keys.
    let mut expected = Map::new();
    (number.saturating_sub(4).max(1)..=number).for_each(|number| expected.extend(writes(number)));
    assert!(content == expected, "{when}: commit {number} is not whole");
    (number, has_film)
}

/// Whether a kill has come while the page was attached to a remote or detached.
fn is_halfway(store: &str, path: &Path) -> bool {
    let repository = Repository::shared_builder(open(store, path)).manual_maintenance();
    let page = page(&repository.open_or_create().unwrap());
    page.remote().state().unwrap() == RemoteState::Attaching
}

/// Nothing is left of uncommitted work.
fn check_collected(store: &str, path: &Path, when: &str) {
    let repository = Repository::shared_builder(open(store, path)).exclusive().manual_maintenance();
    let page = page(&repository.open_or_create().unwrap());
    page.collect().unwrap();
    page.collect().unwrap();
    let found = page.verify().unwrap();
    assert!(found.findings.is_empty(), "{when}: {:?}", found.findings);
    assert_eq!(found.unreachable_pieces, 0, "{when}");
}

fn kills(store: &str) {
    let kills = std::env::var("PERMAZEN_KILLS").map_or(40, |kills| kills.parse().unwrap());
    let mut random = StdRng::seed_from_u64(5);
    let (mut last, mut commits, mut films, mut halfway) = (0, 0, 0, 0);
    let mut directory = tempfile::tempdir().unwrap();
    for round in 0..kills {
        if round % 25 == 0 {
            (last, directory) = (0, tempfile::tempdir().unwrap());
        }
        let path = directory.path().join("store");
        let mut worker = Worker::start(CHILD, &format!("{store} {}", path.display()));
        let mut said = Vec::new();
        if round % 25 == 0 {
            // The store is new. From then on there is always a film.
            said = worker.wait_for("film");
        } else if random.random_range(0..8) > 0 {
            said = worker.wait_for("committed");
        }
        std::thread::sleep(Duration::from_micros(random.random_range(0..80_000)));
        said.extend(worker.kill());
        let number = |line: &String| line.strip_prefix("committed ")?.parse::<u64>().ok();
        let acknowledged = said.iter().rev().find_map(number).unwrap_or(last);
        let when = format!("{store}, kill {round}");
        halfway += u64::from(is_halfway(store, &path));
        let (found, has_film) = check(store, &path, &when);
        films += u64::from(has_film);
        assert!(
            found >= acknowledged.max(last),
            "{when}: {acknowledged} was acknowledged, {found} is there"
        );
        commits += found - last;
        last = found;
        if round % 25 == 24 {
            check_collected(store, &path, &when);
        }
    }
    assert!(commits > kills / 2, "{commits} commits");
    assert_eq!(films, kills, "a film that was acknowledged is there after each kill");
    println!("{store}: {kills} kills after {commits} commits, {films} with a film");
    println!("{store}: {halfway} of the kills while the page was attached or detached");
}

#[test]
fn t108_what_is_acknowledged_survives_kills_on_lmdb() {
    kills("lmdb");
}

#[test]
fn what_is_acknowledged_survives_kills_on_sqlite() {
    kills("sqlite");
}
