//! The work of a process until it is killed.

use std::path::Path;
use std::sync::{Arc, RwLock};

use permazen_ledger::{CommitId, LedgerError, Page, PageId, RemoteState, Repository, Result};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::bring::{fetch_all, fetch_some, push, receive, set_source};
use super::content::{LINES, PAGES, Side, builder, commit_next, page};

/// A page on both sides.
#[derive(Clone)]
pub(crate) struct Pair {
    pub(crate) here: Page,
    pub(crate) there: Page,
}

/// Opens a page on both sides. One that was evicted comes from the remote.
pub(crate) fn open(here: &Repository, there: &Repository, number: usize) -> Result<Pair> {
    let (here, there) = (page(here, number, Side::Here)?, page(there, number, Side::There)?);
    set_source(&here, &there);
    for line in LINES.iter().filter(|line| line.page == number) {
        let is_empty = here.head(line.branch)? == CommitId::FIRST;
        if is_empty && there.head(line.branch)? != CommitId::FIRST {
            if here.remote().state()? == RemoteState::Detached {
                here.remote().attach()?;
            }
            receive(&here, &there, line.branch)?;
        }
    }
    Ok(Pair { here, there })
}

/// Fetches all that is only at the remote, and detaches the page.
pub(crate) fn detach(pair: &Pair, number: usize) -> Result<()> {
    // Commits that nothing names are not fetched.
    pair.here.collect()?;
    for line in LINES.iter().filter(|line| line.page == number) {
        fetch_all(&pair.here, line.branch)?;
    }
    pair.here.remote().detach()
}

/// Brings all of a page to the remote, and evicts it.
fn evict(here: &Repository, there: &Repository, number: usize) -> Result<()> {
    let pair = open(here, there, number)?;
    pair.here.remote().attach()?;
    for _ in 0..3 {
        if push(&pair.here, &pair.there)? {
            break;
        }
        pair.here.collect()?;
    }
    drop(pair);
    if here.evict(PAGES[number], PageId::ROOT)? {
        println!("evicted");
    }
    Ok(())
}

/// Does the same again and again on a thread of its own.
fn again(name: &str, mut step: impl FnMut(usize) -> Result<()> + Send + 'static) {
    let named = std::thread::Builder::new().name(name.to_owned());
    let run = move || {
        for turn in 0.. {
            check(step(turn));
        }
    };
    named.spawn(run).unwrap();
}

/// Others may do something at the same time, for which the caller has to do it again.
pub(crate) fn check(result: Result<()>) {
    if let Err(error) = result {
        assert!(error.is_retryable(), "{error}");
    }
}

/// Works in a store in a folder, until it is killed.
pub(crate) fn work(what: &str) {
    let [store, seed, folder] = what.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
    let (folder, mut random) = (Path::new(folder), StdRng::seed_from_u64(seed.parse().unwrap()));
    let open_side = |side| builder(store, folder, side).exclusive().open_or_create().unwrap();
    let (here, there) = (open_side(Side::Here), open_side(Side::There));
    // The test harness has begun a line.
    println!("\nbegin");
    for number in [1, 2] {
        if random.random_range(0..3) == 0 {
            check(evict(&here, &there, number));
        }
    }
    let open = |number| open(&here, &there, number).unwrap();
    let pairs = [open(0), open(1), open(2)];
    work_on(&pairs, &mut random);
}

fn work_on(pairs: &[Pair; 3], random: &mut StdRng) {
    // Between the last fetch and the detachment, no commit may come from the remote, and no thread
    // may read a commit: one that no branch leads to would stay, with values that are not fetched.
    let coming = Arc::new(RwLock::new(()));
    let all = pairs.clone();
    again("collect", move |turn| {
        let page = &all[turn % 3].here;
        match turn % 7 {
            2 => page.set_reference_rows(true),
            5 => page.set_reference_rows(false),
            _ => page.collect().map(drop),
        }
    });
    let (all, shared) = (pairs.clone(), Arc::clone(&coming));
    again("fetch", move |turn| {
        let line = LINES[turn % 4];
        let _shared = shared.read().unwrap();
        fetch_some(&all[line.page].here, line.branch, turn)
    });
    let (all, exclusive) = (pairs.clone(), Arc::clone(&coming));
    let mut choice = StdRng::seed_from_u64(random.random());
    again("attach", move |turn| {
        let (number, pair) = (turn % 3, &all[turn % 3]);
        if pair.here.remote().state()? != RemoteState::Attached {
            return pair.here.remote().attach();
        }
        push(&pair.here, &pair.there)?;
        if choice.random_range(0..3) == 0 {
            let _exclusive = exclusive.write().unwrap();
            detach(pair, number)?;
        }
        Ok(())
    });
    let all = pairs.clone();
    again("receive", move |turn| {
        let (at, line) = [(1, LINES[1]), (3, LINES[3])][turn % 2];
        let Pair { here, there } = &all[line.page];
        commit_next(there, line.branch)?;
        let _shared = coming.read().unwrap();
        say(at, receive(here, there, line.branch)?);
        Ok(())
    });
    for turn in 0.. {
        let (at, line) = [(0, LINES[0]), (2, LINES[2])][turn % 2];
        match commit_next(&pairs[line.page].here, line.branch) {
            Ok(number) => say(at, number),
            Err(error) => assert!(error.is_retryable(), "{error}"),
        }
    }
}

/// Tells the process that has started this one that a branch has this many commits.
pub(crate) fn say(line: usize, number: u64) {
    println!("done {line} {number}");
}

/// Opens a page on both sides, or says that it is not here.
pub(crate) fn open_if_there(
    here: &Repository,
    there: &Repository,
    number: usize,
) -> Result<Option<Pair>> {
    match here.page(PAGES[number], PageId::ROOT) {
        Err(LedgerError::NoSuch { .. }) => Ok(None),
        result => {
            let there = page(there, number, Side::There)?;
            let here = result?;
            set_source(&here, &there);
            Ok(Some(Pair { here, there }))
        }
    }
}
