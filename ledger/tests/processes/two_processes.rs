//! Two processes work on one page at once, on LMDB and SQLite, with the pages under prefixes and in
//! databases of their own. Each has a thread that collects garbage.
//!
//! In linear mode, threads append numbers to lists and read lists, and print the lists that they
//! have read. No number is appended twice, so the lists in the end show the order of the writes to
//! each key, and each list that was read shows which writes came before its reader. If these orders
//! contradict each other, or the order in which the transactions ran, no order of all transactions
//! explains the reads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{LastWriterWins, LedgerError, MAIN, Page, PageId, Repository, Retention};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::children::{Worker, task};
use crate::support::hosts::{Location, Pages, Store};

/// The test that a process runs which another one has started.
const CHILD: &str = concat!(module_path!(), "::child");

const KEYS: u8 = 5;
const THREADS: u32 = 2;
const TRANSACTIONS: u32 = 20;

type Lists = BTreeMap<u8, Vec<u32>>;

fn location(store: &str, pages: &str, folder: &Path) -> Location {
    let store = if store == "lmdb" { Store::Lmdb } else { Store::Sqlite };
    let pages = if pages == "separate" { Pages::Separate } else { Pages::Prefixes };
    Location::new(store, pages, folder).fast()
}

fn page(repository: &Repository) -> Page {
    repository.page_or_create("test", PageId::ROOT).unwrap()
}

/// Tries again while another process is in the way.
fn with_retries<T>(mut step: impl FnMut() -> Result<T, LedgerError>) -> T {
    loop {
        match step() {
            Err(error) if error.is_retryable() => {}
            result => return result.unwrap(),
        }
    }
}

fn list(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(4).map(|number| u32::from_be_bytes(number.try_into().unwrap())).collect()
}

fn lists(read: &dyn KvRead) -> Result<Lists, LedgerError> {
    let mut lists = Lists::new();
    for pair in read.scan(KeySpan::FULL, Direction::Forward)? {
        let (key, value) = pair?;
        lists.insert(key[0], list(&value));
    }
    Ok(lists)
}

/// Reads some lists, appends the number to one or two of them, and returns the lists that it has
/// read and those to which it has appended.
fn append(page: &Page, random: &mut StdRng, number: u32) -> Result<(Lists, Vec<u8>), LedgerError> {
    let db = page.database(MAIN)?;
    let mut tx = db.begin(&TxOptions::writing())?;
    let mut read = Lists::new();
    if random.random_range(0..4) == 0 {
        let all = lists(&*tx)?;
        read.extend((0..KEYS).map(|key| (key, all.get(&key).cloned().unwrap_or_default())));
    }
    for _ in 0..2 {
        let key = random.random_range(0..KEYS);
        let found = tx.get(&[key])?.map(|found| list(&found));
        read.insert(key, found.unwrap_or_default());
    }
    let mut appended: Vec<u8> = read.keys().copied().collect();
    appended.rotate_left(number as usize % read.len());
    appended.truncate(1 + number as usize % 2);
    for key in &appended {
        let numbers = read[key].iter().copied().chain([number]);
        let bytes: Vec<u8> = numbers.flat_map(u32::to_be_bytes).collect();
        tx.put(&[*key], &bytes)?;
    }
    tx.commit()?;
    Ok((read, appended))
}

/// The work of a process in linear mode: each line has the number of the transaction, how much of
/// which lists it has read, and the last number of each.
fn append_often(page: &Page, number: u32) {
    let mut random = StdRng::seed_from_u64(u64::from(number));
    for number in (0..TRANSACTIONS).map(|at| number + at) {
        let (read, appended) = with_retries(|| append(page, &mut random, number));
        let words = |(key, list): (u8, &Vec<u32>)| {
            let list: Vec<_> = list.iter().map(u32::to_string).collect();
            format!("{key}={}", list.join(","))
        };
        let read: Vec<_> = read.iter().map(|(key, list)| words((*key, list))).collect();
        let appended: Vec<_> = appended.iter().map(u8::to_string).collect();
        println!("done {number} {} {}", appended.join(","), read.join(";"));
    }
}

/// The work of a process in branching mode: each key is put once.
fn put_often(page: &Page, number: u32) {
    let db = page.branching_database(MAIN).unwrap();
    for number in (0..TRANSACTIONS).map(|at| number + at) {
        with_retries(|| {
            let mut tx = db.begin(&TxOptions::writing())?;
            tx.put(&number.to_be_bytes(), &number.to_be_bytes())?;
            Ok(tx.commit()?)
        });
        println!("done {number}");
    }
}

/// Works in a process of its own, as soon as the other one is ready too.
fn work(what: &str) {
    let [mode, store, pages, first, folder] =
        what.splitn(5, ' ').collect::<Vec<_>>().try_into().unwrap();
    let (first, folder): (u32, _) = (first.parse().unwrap(), Path::new(folder));
    let repository = with_retries(|| location(store, pages, folder).builder().open_or_create());
    let page = with_retries(|| repository.page_or_create("test", PageId::ROOT));
    // The test harness has begun a line.
    println!("\nready");
    while !folder.join("go").exists() {
        std::thread::yield_now();
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (page, is_over) = (&page, &is_over);
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                if let Err(error) = page.collect() {
                    assert!(error.is_retryable(), "{error}");
                }
            }
        });
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| first + thread * TRANSACTIONS)
            .map(|number| {
                scope.spawn(move || match mode {
                    "linear" => append_often(page, number),
                    _ => put_often(page, number),
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

/// The role of a process. The test that starts it sets the variable; without it there is nothing to
/// do.
#[test]
fn child() {
    if let Some(what) = task() {
        work(&what);
    }
}

/// A transaction of a process.
struct Done {
    number: u32,
    read: Lists,
    appended: Vec<u8>,
}

fn done(line: &str) -> Option<Done> {
    let mut words = line.strip_prefix("done ")?.split(' ');
    let number = words.next()?.parse().unwrap();
    let appended = words.next()?.split(',').map(|key| key.parse().unwrap()).collect();
    let mut read = Lists::new();
    for list in words.next()?.split(';') {
        let (key, list) = list.split_once('=').unwrap();
        let list = list.split(',').filter(|number| !number.is_empty());
        read.insert(key.parse().unwrap(), list.map(|number| number.parse().unwrap()).collect());
    }
    Some(Done { number, read, appended })
}

/// Lets two processes run at once, and returns the lines that they say.
fn both(mode: &str, store: &str, pages: &str, round: u32, folder: &Path) -> [Vec<String>; 2] {
    let mut workers = [0, 1].map(|process| {
        let first = (round * 2 + process) * THREADS * TRANSACTIONS;
        let what = format!("{mode} {store} {pages} {first} {}", folder.display());
        Worker::start(CHILD, &what)
    });
    workers.iter_mut().for_each(|worker| drop(worker.wait_for("ready")));
    std::fs::write(folder.join("go"), "").unwrap();
    let lines = workers.map(Worker::end);
    std::fs::remove_file(folder.join("go")).unwrap();
    lines
}

/// Which process has appended a number.
fn process(number: u32) -> u32 {
    number / (THREADS * TRANSACTIONS) % 2
}

/// An order of all transactions that explains the reads, if there is one: each transaction has
/// edges to those after it.
fn assert_serializable(rounds: &[Vec<Done>], last: &Lists, when: &str) {
    let mut after: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let mut earlier: Vec<u32> = Vec::new();
    for round in rounds {
        for done in round {
            let next = after.entry(done.number).or_default();
            // The next of the same thread.
            if done.number % TRANSACTIONS + 1 < TRANSACTIONS {
                next.insert(done.number + 1);
            }
            for (key, read) in &done.read {
                let list = last.get(key).cloned().unwrap_or_default();
                let what =
                    format!("{when}: transaction {} has read {read:?} of {list:?}", done.number);
                assert!(list.starts_with(read), "{what}");
                let (before, then) = (list[..read.len()].last(), list.get(read.len()));
                let is_own = then == Some(&done.number);
                assert_eq!(is_own, done.appended.contains(key), "{what}");
                // A transaction that has not read a number comes before the one that has appended
                // it.
                let then = if is_own { list.get(read.len() + 1) } else { then };
                after.entry(done.number).or_default().extend(then);
                if let Some(before) = before {
                    after.entry(*before).or_default().insert(done.number);
                }
            }
        }
        for before in &earlier {
            after.get_mut(before).unwrap().extend(round.iter().map(|done| done.number));
        }
        earlier.extend(round.iter().map(|done| done.number));
    }
    // Takes away transactions without a predecessor, until no transaction is left.
    while !after.is_empty() {
        let later: BTreeSet<u32> = after.values().flatten().copied().collect();
        let count = after.len();
        after.retain(|number, _| later.contains(number));
        assert!(after.len() < count, "{when}: no order explains what these have read: {after:?}");
    }
}

#[test]
#[should_panic(expected = "no order explains")]
fn what_has_no_order_is_found() {
    // Each has read the list of the other one, from before the other one appended to it.
    let read = Lists::from([(0, vec![]), (1, vec![])]);
    let done = |number, appended| Done { number, read: read.clone(), appended };
    let rounds = [vec![done(0, vec![0]), done(TRANSACTIONS, vec![1])]];
    assert_serializable(&rounds, &Lists::from([(0, vec![0]), (1, vec![TRANSACTIONS])]), "both");
}

fn linear(store: &str, pages: &str) {
    let folder = tempfile::tempdir().unwrap();
    let repository = location(store, pages, folder.path()).builder().open_or_create().unwrap();
    page(&repository).set_retention(Retention::Last(2)).unwrap();
    let mut rounds = Vec::new();
    for round in 0..3 {
        let lines = both("linear", store, pages, round, folder.path());
        let all: Vec<_> = lines.iter().flatten().filter_map(|line| done(line)).collect();
        assert_eq!(all.len() as u32, 2 * THREADS * TRANSACTIONS);
        rounds.push(all);
    }
    let page = page(&repository);
    let last = lists(&page.snapshot(&page.head(MAIN).unwrap()).unwrap()).unwrap();
    let when = format!("{store}, {pages}");
    assert_serializable(&rounds, &last, &when);
    let count = last.values().map(Vec::len).sum::<usize>();
    let appended = rounds.iter().flatten().map(|done| done.appended.len()).sum::<usize>();
    assert_eq!(count, appended, "{when}");
    // They have worked at the same time.
    let switches = last.values().flat_map(|list| list.windows(2));
    let switches = switches.filter(|two| process(two[0]) != process(two[1])).count();
    assert!(switches > rounds.len(), "{when}: {switches} switches");
    assert_eq!(repository.verify().unwrap().findings, [], "{when}");
}

fn branching(store: &str, pages: &str) {
    let folder = tempfile::tempdir().unwrap();
    let repository = location(store, pages, folder.path()).builder().open_or_create().unwrap();
    let page = page(&repository);
    let lines = both("branching", store, pages, 0, folder.path());
    let said = lines.iter().flatten().filter_map(|line| line.strip_prefix("done "));
    let said: BTreeSet<u32> = said.map(|number| number.parse().unwrap()).collect();
    assert_eq!(said.len() as u32, 2 * THREADS * TRANSACTIONS);
    let head = page.merge_heads(MAIN, &mut LastWriterWins).unwrap();
    let snapshot = page.snapshot(&head).unwrap();
    let mut found = BTreeSet::new();
    for pair in snapshot.scan(KeySpan::FULL, Direction::Forward).unwrap() {
        let (key, value) = pair.unwrap();
        assert_eq!(key, value);
        found.insert(u32::from_be_bytes((*key).try_into().unwrap()));
    }
    assert_eq!(found, said, "{store}, {pages}");
    assert_eq!(repository.verify().unwrap().findings, [], "{store}, {pages}");
}

#[test]
fn what_two_processes_do_on_lmdb_has_an_order() {
    linear("lmdb", "prefixes");
    linear("lmdb", "separate");
}

#[test]
fn what_two_processes_do_on_sqlite_has_an_order() {
    linear("sqlite", "prefixes");
    linear("sqlite", "separate");
}

#[test]
fn what_two_processes_commit_beside_each_other_is_merged() {
    for store in ["lmdb", "sqlite"] {
        branching(store, "prefixes");
        branching(store, "separate");
    }
}
