//! Processes that do everything at once are killed at random instants, on LMDB and SQLite, with the
//! pages under prefixes and in databases of their own: they change objects on two branches of a
//! page, merge the branches, retire old commits, collect garbage with and without reference rows,
//! and fill, attach and evict other pages.
//!
//! After each kill `verify` finds nothing, the checker finds nothing at the heads, the objects are
//! whole, and all that was acknowledged is there.
//!
//! `PERMAZEN_KILLS` sets how often this is tried with each store.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use permazen::{Permazen, PermazenObject, Ref};
use permazen_jsck::Options;
use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{
    LastWriterWins, LedgerError, MAIN, Page, PageId, Repository, Result, Retention,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::children::{Worker, task};
use crate::support::hosts::{Location, Pages, Store};

/// The test that a process runs which another one has started.
const CHILD: &str = concat!(module_path!(), "::child");

const SIDE: &str = "side";

/// How many people a branch has.
const PEOPLE: u64 = 8;

/// The pages that are evicted.
const SMALL: u64 = 3;

/// How many kills a store survives before there is a new one.
const KILLS: u64 = 25;

#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
struct Person {
    #[permazen(indexed, unique)]
    name: String,
    /// Long, so that it lies outside of the leaf.
    notes: String,
    #[permazen(element(indexed))]
    tags: Vec<String>,
    #[permazen(inverse_delete = "nullify")]
    boss: Option<Ref<Person>>,
}

fn name(branch: &str, number: u64) -> String {
    format!("{branch} {number:06}")
}

fn tags(number: u64) -> Vec<String> {
    vec!["all".to_owned(), format!("tag {}", number % 3)]
}

/// Few contents, which many people share.
fn notes(number: u64) -> String {
    "0123456789"[number as usize % 4..].repeat(200)
}

/// The number in the name of a person of a branch.
fn number(name: &str, branch: &str) -> Option<u64> {
    name.strip_prefix(branch).map(|number| number.trim().parse().unwrap())
}

/// Adds the next person of a branch and removes the first one. Returns the number of the new one.
fn add_next(db: &Permazen, branch: &str) -> permazen::Result<u64> {
    db.write(|tx| {
        let mut people = BTreeMap::new();
        for entry in tx.index(Person::NAME)?.iter() {
            let (name, person) = entry?;
            people.extend(number(&name, branch).map(|number| (number, person)));
        }
        let last = people.last_key_value();
        let (next, boss) = last.map_or((1, None), |(last, boss)| (last + 1, Some(boss.to_ref())));
        let name = name(branch, next);
        tx.create(Person { name, notes: notes(next), tags: tags(next), boss })?;
        for (number, person) in people {
            if number + PEOPLE <= next {
                person.delete()?;
            }
        }
        Ok(next)
    })
}

fn open(page: &Page, branch: &str) -> Result<Permazen> {
    Ok(Permazen::builder(page.database(branch)?).model::<Person>().build().unwrap())
}

/// The last number of each branch that this branch has. All of their people are whole.
fn check_people(page: &Page, branch: &str, when: &str) -> [u64; 2] {
    let found = open(page, branch).unwrap().read(|tx| {
        let mut found = BTreeMap::new();
        for entry in tx.index(Person::NAME)?.iter() {
            let (name, person) = entry?;
            let person = person.load()?;
            let boss = person.boss.map(|boss| tx.get(boss)?.name()).transpose()?;
            assert_eq!(person.name, name, "{when}");
            found.insert(name, (person.notes, person.tags, boss));
        }
        Ok(found)
    });
    let found = found.unwrap();
    let (mut expected, mut numbers) = (BTreeMap::new(), [0; 2]);
    for (last, branch) in numbers.iter_mut().zip([MAIN, SIDE]) {
        *last = found.keys().filter_map(|name| number(name, branch)).max().unwrap_or(0);
        let first = last.saturating_sub(PEOPLE - 1).max(1);
        for number in first..=*last {
            let boss = (number > first).then(|| name(branch, number - 1));
            expected.insert(name(branch, number), (notes(number), tags(number), boss));
        }
    }
    assert!(found == expected, "{when}: the people of {branch} are {:?}", found.keys());
    numbers
}

fn location(what: &str, folder: &Path) -> Location {
    let (store, pages) = what.split_once('-').unwrap();
    let store = if store == "lmdb" { Store::Lmdb } else { Store::Sqlite };
    let pages = if pages == "separate" { Pages::Separate } else { Pages::Prefixes };
    Location::new(store, pages, folder)
}

/// Opens the page with the objects, and makes the missing parts.
fn page(repository: &Repository) -> Result<Page> {
    let page = repository.page_or_create("people", PageId::ROOT)?;
    if page.retention()? == Retention::All {
        page.set_retention(Retention::Last(3))?;
    }
    drop(open(&page, MAIN)?);
    match page.create_branch(SIDE, &page.head(MAIN)?) {
        Ok(()) | Err(LedgerError::Exists { .. }) => Ok(page),
        Err(error) => Err(error),
    }
}

/// Work that is repeated may get in the way of other work.
fn check(result: Result<()>) {
    if let Err(error) = result {
        assert!(error.is_retryable(), "{error}");
    }
}

fn small(number: u64) -> String {
    format!("small {number}")
}

/// The count in a small page.
fn count(page: &Page) -> Result<u64> {
    let snapshot = page.snapshot(&page.head(MAIN)?)?;
    let found = snapshot.get(b"count")?.map(|found| found.into_owned());
    Ok(found.map_or(0, |found| u64::from_be_bytes(found[..8].try_into().unwrap())))
}

/// Changes a small page, brings all of it to a remote that is not there, and evicts it.
fn evict(repository: &Repository, number: u64) -> Result<()> {
    let page = repository.page_or_create(&small(number), PageId::ROOT)?;
    let next = count(&page)? + 1;
    let db = page.database(MAIN)?;
    let mut tx = db.begin(&TxOptions::writing())?;
    tx.put(b"count", &next.to_be_bytes().repeat(500))?;
    tx.commit()?;
    println!("put {number} {next}");
    drop(db);
    if next.is_multiple_of(3) {
        return Ok(());
    }
    let remote = page.remote();
    remote.attach()?;
    println!("syncs {number} {next}");
    while !remote.unsynced_commits()?.is_empty() || !remote.local_pieces(None, 1)?.is_empty() {
        let commits = remote.unsynced_commits()?;
        let commits: Vec<_> = commits.iter().map(|commit| commit.id).collect();
        let pieces = remote.local_pieces(None, 1_000)?;
        let pieces: Vec<_> = pieces.iter().map(|piece| piece.digest).collect();
        remote.mark_synced(&commits, &pieces, &[])?;
    }
    drop((remote, page));
    if repository.evict(&small(number), PageId::ROOT)? {
        println!("evicted {number} {next}");
    }
    Ok(())
}

/// Does the same again and again on a thread of its own.
fn again(mut step: impl FnMut(u64) -> Result<()> + Send + 'static) {
    std::thread::spawn(move || {
        for turn in 0.. {
            check(step(turn));
        }
    });
}

/// Adds people to a branch again and again, and merges the other one.
fn add_people(page: &Page, branch: &'static str) -> Result<()> {
    let db = open(page, branch)?;
    let other = if branch == MAIN { SIDE } else { MAIN };
    for turn in 0.. {
        match add_next(&db, branch) {
            Ok(number) => println!("added {branch} {number}"),
            Err(error) => assert!(error.is_retryable(), "{error}"),
        }
        if turn % 3 == 1 {
            // While two branches merge older commits of each other, none of their history can go.
            // So this one waits until the other one has all of it.
            while branch == SIDE && !page.is_ancestor(&page.head(branch)?, &page.head(other)?)? {
                std::thread::sleep(Duration::from_millis(1));
            }
            page.merge(branch, &page.head(other)?, &mut LastWriterWins)?;
            println!("merged {branch}");
        }
    }
    Ok(())
}

/// Works until it is killed.
fn work(what: &str) {
    let (location_of, folder) = what.split_once(' ').unwrap();
    let repository =
        location(location_of, Path::new(folder)).builder().exclusive().open_or_create().unwrap();
    // The test harness has begun a line.
    println!("\nopen");
    let page = page(&repository).unwrap();
    let of_thread = page.clone();
    again(move |turn| {
        println!("collects");
        match turn % 6 {
            2 => of_thread.set_reference_rows(true)?,
            5 => of_thread.set_reference_rows(false)?,
            _ => println!("retired {}", of_thread.collect()?.commits),
        }
        println!("collected");
        Ok(())
    });
    let of_thread = repository.clone();
    again(move |turn| evict(&of_thread, turn % SMALL));
    let of_thread = page.clone();
    again(move |_| add_people(&of_thread, SIDE));
    loop {
        check(add_people(&page, MAIN));
    }
}

/// The role of a process that is killed. The test that starts it sets the variable; without it
/// there is nothing to do.
#[test]
fn child() {
    if let Some(what) = task() {
        work(&what);
    }
}

/// The acknowledged work that must be there.
#[derive(Debug, Default)]
struct Told {
    /// The last person of each branch.
    added: [u64; 2],
    /// The counts of the small pages that were not brought to a remote.
    small: [u64; SMALL as usize],
}

/// How often something has happened.
#[derive(Debug, Default)]
struct Seen {
    people: u64,
    merged: u64,
    retired: u64,
    evicted: u64,
    /// Small pages that were not there after a kill.
    gone: u64,
    /// Kills during a collection.
    during_collections: u64,
}

/// Notes the output of a process.
fn listen(said: &[String], told: &mut Told, seen: &mut Seen) {
    let mut collects = false;
    for line in said {
        let words: Vec<_> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        match words[0] {
            "added" => told.added[usize::from(words[1] == SIDE)] = number(2),
            "merged" => seen.merged += 1,
            "collects" => collects = true,
            "retired" => seen.retired += number(1),
            "collected" => collects = false,
            "put" => told.small[number(1) as usize] = number(2),
            "syncs" => told.small[number(1) as usize] = 0,
            "evicted" => seen.evicted += 1,
            _ => {}
        }
    }
    seen.during_collections += u64::from(collects);
}

/// Checks all that is there, and takes note of it.
fn check_all(location: &Location, told: &mut Told, seen: &mut Seen, when: &str) {
    let repository = location.builder().exclusive().manual_maintenance().open_or_create().unwrap();
    let found = repository.verify().unwrap().findings;
    assert!(found.is_empty(), "{when}: {found:#?}");
    for number in 0..SMALL {
        let there = match repository.page(&small(number), PageId::ROOT) {
            Err(LedgerError::NoSuch { .. }) => {
                seen.gone += 1;
                0
            }
            page => count(&page.unwrap()).unwrap(),
        };
        let told = &mut told.small[number as usize];
        assert!(there >= *told, "{when}: page {number} has {there}, {told} was acknowledged");
    }
    let page = match repository.page("people", PageId::ROOT) {
        Err(LedgerError::NoSuch { .. }) => {
            assert_eq!(told.added, [0; 2], "{when}");
            return;
        }
        page => page.unwrap(),
    };
    let branches = page.branches().unwrap();
    for (branch, heads) in &branches {
        // Without a commit it has no schema either.
        if *heads == [permazen_ledger::CommitId::FIRST] {
            assert_eq!(told.added, [0; 2], "{when}");
            continue;
        }
        let db = page.database(branch).unwrap();
        let (tx, mut findings) = (db.begin(&TxOptions::reading()).unwrap(), Vec::new());
        let note = &mut |finding: &permazen_jsck::Finding| findings.push(finding.to_string());
        permazen_jsck::check(&*tx, &Options::default(), note).unwrap();
        assert_eq!(findings, [""; 0], "{when}: {branch}");
        drop(tx);
        let there = check_people(&page, branch, &format!("{when}: {branch}"));
        let own = usize::from(branch == SIDE);
        let last = told.added[own];
        assert!(there[own] >= last, "{when}: {branch} has {there:?}, {last} was acknowledged");
        seen.people += there[own] - last;
        told.added[own] = there[own];
    }
    assert!(branches.len() == 2 || told.added == [0; 2], "{when}");
}

fn kills(store: &str) {
    let kills = std::env::var("PERMAZEN_KILLS").map_or(10, |kills| kills.parse().unwrap());
    let mut random = StdRng::seed_from_u64(6);
    let (mut told, mut seen) = (Told::default(), Seen::default());
    let mut folder = tempfile::tempdir().unwrap();
    for kill in 0..kills {
        let which = format!("{store}-{}", ["prefixes", "separate"][(kill / KILLS % 2) as usize]);
        if kill % KILLS == 0 {
            (told, folder) = (Told::default(), tempfile::tempdir().unwrap());
        }
        let when = format!("{which}, kill {kill}");
        let location = location(&which, folder.path());
        let mut worker = Worker::start(CHILD, &format!("{which} {}", folder.path().display()));
        let mut said = Vec::new();
        if kill % KILLS == 0 {
            // All of this has happened in a new store before the first kill.
            let mut missing = vec!["evicted", "merged", "added main", "added side", "retired"];
            while !missing.is_empty() {
                let line = worker.line().unwrap();
                missing.retain(|word| !line.starts_with(word) || line == "retired 0");
                said.push(line);
            }
        } else if random.random_range(0..8) > 0 {
            said = worker.wait_for("added");
        }
        std::thread::sleep(Duration::from_micros(random.random_range(0..60_000)));
        said.extend(worker.kill());
        seen.people += said.iter().filter(|line| line.starts_with("added")).count() as u64;
        listen(&said, &mut told, &mut seen);
        check_all(&location, &mut told, &mut seen, &when);
    }
    println!("{store}: {kills} kills, {seen:?}");
    let Seen { people, merged, retired, evicted, gone, during_collections } = seen;
    let counts = [people, merged, retired, evicted, gone, during_collections];
    assert!(counts.iter().all(|count| *count > 0), "{store}: {seen:?}");
    assert!(people > kills, "{store}: {seen:?}");
}

#[test]
fn objects_survive_kills_on_lmdb() {
    kills("lmdb");
}

#[test]
fn objects_survive_kills_on_sqlite() {
    kills("sqlite");
}
