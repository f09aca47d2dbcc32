//! Two processes that work with the same pages at once.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use permazen_ledger::{RemoteState, Repository, Result};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::CHILD;
use super::bring::{fetch_some, push, receive};
use super::content::{LINES, Side, builder, commit_next};
use super::kills::{Seen, check_head, check_statuses, words};
use super::work::{Pair, check, detach, open, say};

use crate::support::children::Worker;
use crate::support::page::assert_clean_when;

/// A lock: between the last fetch and the detachment, no commit may come from the remote, and no
/// thread may read a commit, which could be one that no branch leads to.
fn coming(folder: &Path) -> File {
    File::create(folder.join("coming")).unwrap()
}

fn turn(pairs: &[Pair; 3], folder: &Path, random: &mut StdRng) -> Result<()> {
    let at = random.random_range(0..LINES.len());
    let (line, pair) = (LINES[at], &pairs[LINES[at].page]);
    let Pair { here, there } = pair;
    match random.random_range(0..16) {
        0..5 if line.is_own => say(at, commit_next(here, line.branch)?),
        0..5 => {
            say(at, commit_next(there, line.branch)?);
            let coming = coming(folder);
            coming.lock_shared().unwrap();
            receive(here, there, line.branch)?;
        }
        5..8 => {
            let coming = coming(folder);
            coming.lock_shared().unwrap();
            fetch_some(here, line.branch, random.random_range(0..1_000))?;
        }
        8..10 => here.remote().attach()?,
        10..12 => {
            // The page is not detached meanwhile.
            let coming = coming(folder);
            coming.lock_shared().unwrap();
            if here.remote().state()? == RemoteState::Attached {
                push(here, there)?;
            }
        }
        12 => {
            let coming = coming(folder);
            coming.lock().unwrap();
            detach(pair, line.page)?;
        }
        13 => here.set_reference_rows(random.random())?,
        _ => drop(here.collect()?),
    }
    Ok(())
}

/// Works for some turns, on three threads.
pub(crate) fn work(what: &str) {
    let [store, seed, turns, folder] = what.splitn(4, ' ').collect::<Vec<_>>().try_into().unwrap();
    let (seed, turns): (u64, u64) = (seed.parse().unwrap(), turns.parse().unwrap());
    let open_side = |side| builder(store, Path::new(folder), side).open_or_create().unwrap();
    let (here, there) = (open_side(Side::Here), open_side(Side::There));
    let pairs = Arc::new([0, 1, 2].map(|number| open_with_retries(&here, &there, number)));
    println!("\nbegin");
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let pairs = Arc::clone(&pairs);
            scope.spawn(move || {
                let mut random = StdRng::seed_from_u64(seed * 3 + thread);
                (0..turns).for_each(|_| check(turn(&pairs, Path::new(folder), &mut random)));
            });
        }
    });
}

/// The other process makes the same pages at the same time.
fn open_with_retries(here: &Repository, there: &Repository, number: usize) -> Pair {
    loop {
        match open(here, there, number) {
            Err(error) if error.is_retryable() => {}
            result => return result.unwrap(),
        }
    }
}

fn together(store: &str) {
    let turns = std::env::var("PERMAZEN_TOGETHER").map_or(40, |turns| turns.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let what = |seed: u64| format!("together {store} {seed} {turns} {}", folder.path().display());
    let workers: Vec<_> = (0..2).map(|seed| Worker::start(CHILD, &what(seed))).collect();
    let mut commits = [0; 4];
    for worker in workers {
        for line in worker.end() {
            if let Some(("done", [line, _])) = words(&line) {
                commits[line as usize] += 1;
            }
        }
    }
    let open_side = |side| builder(store, folder.path(), side).exclusive().manual_maintenance();
    let (here, there) = (
        open_side(Side::Here).open_or_create().unwrap(),
        open_side(Side::There).open_or_create().unwrap(),
    );
    let mut seen = Seen::default();
    for page in 0..3 {
        let pair = open(&here, &there, page).unwrap();
        assert_clean_when(&pair.here, "at the end");
        assert_clean_when(&pair.there, "at the end");
        pair.here.remote().attach().unwrap();
        pair.here.collect().unwrap();
        for (at, line) in LINES.iter().enumerate().filter(|(_, line)| line.page == page) {
            if !line.is_own {
                receive(&pair.here, &pair.there, line.branch).unwrap();
            }
            // Each commit counts, on whichever side it was made.
            let found = check_head(&pair.here, line.branch, store, &mut seen).unwrap();
            assert_eq!(found, commits[at], "{store}, {line:?}");
            check_statuses(&pair, line.branch, store).unwrap();
        }
        assert!(push(&pair.here, &pair.there).unwrap());
        assert_clean_when(&pair.here, "when all is there");
        assert_clean_when(&pair.there, "when all is there");
    }
    assert!(commits.iter().all(|commits| *commits > 0), "{commits:?}");
}

#[test]
fn two_processes_work_at_once_on_lmdb() {
    together("lmdb");
}

#[test]
fn two_processes_work_at_once_on_sqlite() {
    together("sqlite");
}
