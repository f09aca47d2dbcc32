//! Kills at random instants.

use std::path::Path;
use std::time::Duration;

use permazen_kv::KvRead;
use permazen_ledger::{LedgerError, Page, RemoteState, Result, Status};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::CHILD;
use super::bring::{fetch_all, has};
use super::content::{LINES, Map, Side, builder, content, head, number, page};
use super::work::{Pair, open_if_there};

use crate::support::children::Worker;
use crate::support::page::assert_clean_when;

/// How many kills came when something was half done.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    commits: u64,
    halfway: u64,
    absent: u64,
    evicted: u64,
    gone: u64,
    /// How many heads were here and checked.
    heads: u64,
}

/// Checks the head of a branch, which is whole except for values that are only at the remote, and
/// returns the number of the commit.
pub(crate) fn check_head(page: &Page, branch: &str, when: &str, seen: &mut Seen) -> Result<u64> {
    let snapshot = head(page, branch)?;
    let number = number(&snapshot)?;
    let (content, lazies) = content(number);
    for (key, value) in &content {
        let found = snapshot.get(key)?.map(|found| found.into_owned());
        assert!(found.as_ref() == Some(value), "{when}: key {key:?} of commit {number}");
    }
    for (key, value) in &lazies {
        match snapshot.get(key).map_err(LedgerError::from) {
            Ok(found) => assert!(found.as_deref() == Some(value), "{when}: key {key:?}"),
            Err(LedgerError::NeedsFetch { .. }) => {
                let state = page.remote().state()?;
                assert_eq!(state, RemoteState::Attached, "{when}: key {key:?} is lost");
                seen.absent += 1;
            }
            Err(error) => return Err(error),
        }
    }
    let keys: Map = content.into_iter().chain(lazies).collect();
    let count = snapshot.count(permazen_kv::KeySpan::FULL)?;
    assert_eq!(count, keys.len() as u64, "{when}");
    Ok(number)
}

/// Commits and pieces that count as being at the remote are there.
pub(crate) fn check_statuses(Pair { here, there }: &Pair, branch: &str, when: &str) -> Result<()> {
    for commit in here.log(here.head(branch)?)? {
        let (id, commit) = commit?;
        if here.commit_status(&id)? == Status::Synced {
            assert!(has(there, &id)?, "{when}: commit {id} is not at the remote");
        }
        let root = here.piece_status(&commit.root)?;
        assert_ne!(root, Status::Transient, "{when}");
        if root == Status::Synced {
            assert_eq!(there.piece_status(&commit.root)?, Status::Local, "{when}");
        }
    }
    Ok(())
}

/// Ends the work that was begun: attaches the page, or detaches it.
fn check_halfway(pair: &Pair, number: usize, attach: bool, when: &str) -> Result<()> {
    let remote = pair.here.remote();
    match attach {
        true => remote.attach()?,
        false => {
            remote.detach()?;
            for line in LINES.iter().filter(|line| line.page == number) {
                // Nothing is asked for.
                pair.here.remove_source();
                fetch_all(&pair.here, line.branch)?;
            }
        }
    }
    assert_clean_when(&pair.here, when);
    Ok(())
}

/// Checks all pages on both sides. Returns how many commits each branch has.
fn check(store: &str, folder: &Path, when: &str, random: &mut StdRng, seen: &mut Seen) -> [u64; 4] {
    let open = |side| {
        builder(store, folder, side).exclusive().manual_maintenance().open_or_create().unwrap()
    };
    let (here, there) = (open(Side::Here), open(Side::There));
    for side in [&here, &there] {
        let found = side.verify().unwrap().findings;
        assert!(found.is_empty(), "{when}: {found:#?}");
    }
    let mut numbers = [0; 4];
    for which in 0..3 {
        let when = format!("{when}, page {which}");
        let pair = open_if_there(&here, &there, which).unwrap();
        seen.gone += u64::from(pair.is_none());
        for (at, line) in LINES.iter().enumerate().filter(|(_, line)| line.page == which) {
            let there = page(&there, which, Side::There).unwrap();
            assert_clean_when(&there, &when);
            let when = format!("{when}, branch {}", line.branch);
            numbers[at] = number(&head(&there, line.branch).unwrap()).unwrap();
            let Some(pair) = &pair else { continue };
            assert_clean_when(&pair.here, &when);
            let branches = pair.here.branches().unwrap();
            if branches.iter().all(|(name, _)| name != line.branch) {
                continue;
            }
            let found = check_head(&pair.here, line.branch, &when, seen).unwrap();
            seen.heads += 1;
            // A page with one branch that has nothing was evicted, and all of it is at the remote.
            if which == 0 || found > 0 {
                let there = numbers[at];
                assert!(found >= there || !line.is_own, "{when}: {found} here, {there} there");
                numbers[at] = found;
            }
            check_statuses(pair, line.branch, &when).unwrap();
        }
        if let Some(pair) =
            pair.filter(|pair| pair.here.remote().state().unwrap() == RemoteState::Attaching)
        {
            seen.halfway += 1;
            check_halfway(&pair, which, random.random(), &when).unwrap();
        }
    }
    numbers
}

fn kills(store: &str) {
    let kills = std::env::var("PERMAZEN_KILLS").map_or(12, |kills| kills.parse().unwrap());
    let mut random = StdRng::seed_from_u64(7);
    let (mut last, mut seen) = ([0; 4], Seen::default());
    let mut folder = tempfile::tempdir().unwrap();
    for kill in 0..kills {
        if kill % 20 == 0 {
            (last, folder) = ([0; 4], tempfile::tempdir().unwrap());
        }
        let when = format!("{store}, kill {kill}");
        let mut worker =
            Worker::start(CHILD, &format!("{store} {kill} {}", folder.path().display()));
        let begin: &[&str] = match random.random_range(0..4) {
            0 => &["begin"],
            _ => &["done", "done", "done"],
        };
        let mut said = Vec::new();
        for word in begin {
            said.extend(worker.wait_for(word));
        }
        std::thread::sleep(Duration::from_micros(random.random_range(0..250_000)));
        let mut acknowledged = last;
        said.extend(worker.kill());
        for line in said {
            seen.evicted += u64::from(line == "evicted");
            if let Some(("done", [line, number])) = words(&line) {
                acknowledged[line as usize] = number;
            }
        }
        let found = check(store, folder.path(), &when, &mut random, &mut seen);
        for (at, line) in LINES.iter().enumerate() {
            assert!(
                found[at] >= acknowledged[at].max(last[at]),
                "{when}: {line:?}: {acknowledged:?} were acknowledged, {found:?} are there"
            );
            seen.commits += found[at] - last[at];
        }
        last = found;
    }
    assert!(seen.commits > kills, "{seen:?}");
    assert!(seen.heads > kills, "{seen:?}");
    // In few kills there may be none of these.
    let rare = [seen.absent, seen.halfway, seen.evicted, seen.gone];
    assert!(kills < 500 || rare.iter().all(|count| *count > 0), "{seen:?}");
    println!("{store}: {kills} kills, {seen:?}");
}

/// A line of a process.
pub(crate) fn words(line: &str) -> Option<(&str, [u64; 2])> {
    let mut words = line.split(' ');
    let first = words.next()?;
    Some((first, [words.next()?.parse().ok()?, words.next()?.parse().ok()?]))
}

#[test]
fn what_is_beside_a_remote_survives_kills_on_lmdb() {
    kills("lmdb");
}

#[test]
fn what_is_beside_a_remote_survives_kills_on_sqlite() {
    kills("sqlite");
}
