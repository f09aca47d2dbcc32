//! All orders in which the transactions of a collection and of another process can come, if both
//! run at the same time.
//!
//! Both run on threads of their own, and wait before each transaction of the host until it is their
//! turn. So a run is a list of turns, and all lists are tried one after the other. Two transactions
//! that only read are tried in one order only: the other order has the same result.
//!
//! Each run begins with a host in which there are pieces without a commit and commits that are
//! about to be removed. The other process makes use of both. After each run `verify` finds nothing,
//! all commits that are there can be read, and after one more collection nothing is left that
//! nothing leads to.
//!
//! Unless `PERMAZEN_INTERLEAVINGS` is `all`, only lists are tried in which processes are
//! interrupted at most that many times: once, if it is not set.

mod receiving;
mod turns;

use std::sync::Arc;
use std::time::Duration;

use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvWrite, TxOptions};
use permazen_ledger::{
    Clock, CommitId, LedgerError, MAIN, Page, PageId, Repository, Result, Retention, Secret,
};

use self::receiving::Elsewhere;
use self::turns::{COLLECTOR, End, Given, InTurn, Lists, OTHER, Turns};
use crate::support::clock::TestClock;
use crate::support::page::{Map, assert_clean_when, count_rows, pairs, try_pairs};

const MINUTE: Duration = Duration::from_secs(60);

/// A process that has the page open.
struct Process {
    repository: Repository,
    page: Page,
    clock: Arc<TestClock>,
}

fn process(host: impl KvDatabase + 'static, clock: &Arc<TestClock>) -> Process {
    let of_test: Arc<dyn Clock> = Arc::clone(clock) as _;
    let builder = Repository::builder(host).manual_maintenance().clock(of_test).without_device();
    let repository = builder.cache_bytes(1).open_or_create().unwrap();
    let page = match repository.page("test", PageId::ROOT) {
        Err(LedgerError::NoSuch { .. }) => {
            repository.create_page_with("test", PageId::ROOT, Secret::new([1; 32])).unwrap()
        }
        page => page.unwrap(),
    };
    Process { repository, page, clock: Arc::clone(clock) }
}

/// Some leaves, and a value outside of them.
fn content(number: u8) -> Map {
    let mut content: Map = (0..90).map(|key| (vec![key], vec![number; 50])).collect();
    content.insert(b"long".to_vec(), vec![number; 3_000]);
    content
}

fn put(page: &Page, content: &Map) -> Result<CommitId> {
    put_on(page, MAIN, content)
}

fn put_on(page: &Page, branch: &str, content: &Map) -> Result<CommitId> {
    let db = page.database(branch)?;
    let mut tx = db.begin(&TxOptions::writing())?;
    content.iter().try_for_each(|(key, value)| tx.put(key, value))?;
    tx.commit()?;
    page.head(branch)
}

/// The host with which each run begins: the content 0 was there, and only its pieces are left. The
/// commits of 1, 2 and 3 are about to be removed, and the head is 4.
struct Begin {
    rows: Vec<(Vec<u8>, Vec<u8>)>,
    time: u64,
    /// The commits of 1 to 4.
    commits: Vec<CommitId>,
    elsewhere: Elsewhere,
}

fn begin(with_references: bool, is_attached: bool) -> Begin {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let first = process(host.clone(), &clock);
    let page = &first.page;
    page.set_retention(Retention::Heads).unwrap();
    page.set_reference_rows(with_references).unwrap();
    put(page, &content(0)).unwrap();
    let mut commits = vec![put(page, &content(1)).unwrap()];
    page.collect().unwrap();
    clock.advance(3 * MINUTE);
    commits.extend((2..5).map(|number| put(page, &content(number)).unwrap()));
    // The commit of 0 goes, and the others get the time after which they may go.
    while count_rows(&host, 0x22) > 4 || count_rows(&host, 0x34) < 3 {
        assert!(page.collect_slice().unwrap());
    }
    clock.advance(3 * MINUTE);
    if is_attached {
        // All of it is there.
        let remote = page.remote();
        remote.attach().unwrap();
        let pieces = remote.local_pieces(None, usize::MAX).unwrap();
        let pieces: Vec<_> = pieces.into_iter().map(|piece| piece.digest).collect();
        remote.mark_synced(&commits, &pieces, &[]).unwrap();
    }
    drop(first);
    let rows: Vec<_> = pairs(&host.snapshot()).into_iter().collect();
    let time = clock.millis();
    let elsewhere = Elsewhere::new(&rows, time, &commits);
    Begin { rows, time, commits, elsewhere }
}

/// The work of the other process: the refs that it sets, and the commits that it reads.
type Script = fn(&Process, &Begin) -> Result<()>;

/// A commit that may be gone.
fn unless_gone<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(LedgerError::NoCommit { .. } | LedgerError::SnapshotExpired { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Commits content that is garbage, and after that content of a commit that is about to go.
fn commit_garbage(process: &Process, _: &Begin) -> Result<()> {
    put(&process.page, &content(0)).map(drop)
}

fn commit_what_goes(process: &Process, _: &Begin) -> Result<()> {
    put(&process.page, &content(1)).map(drop)
}

fn branch(process: &Process, begin: &Begin) -> Result<()> {
    if unless_gone(process.page.create_branch("new", &begin.commits[0]))?.is_some() {
        assert_eq!(process.page.head("new")?, begin.commits[0]);
    }
    Ok(())
}

fn tag(process: &Process, begin: &Begin) -> Result<()> {
    if unless_gone(process.page.set_tag("new", &begin.commits[1]))?.is_some() {
        assert_eq!(process.page.tag("new")?, begin.commits[1]);
    }
    Ok(())
}

fn reset(process: &Process, begin: &Begin) -> Result<()> {
    if unless_gone(process.page.reset(MAIN, &begin.commits[0]))?.is_some() {
        assert_eq!(process.page.head(MAIN)?, begin.commits[0]);
    }
    Ok(())
}

/// Reads a commit that is about to be removed.
fn read(process: &Process, begin: &Begin) -> Result<()> {
    let Some(snapshot) = unless_gone(process.page.snapshot(&begin.commits[2]))? else {
        return Ok(());
    };
    if let Some(found) = unless_gone(try_pairs(&snapshot).map_err(LedgerError::from))? {
        assert!(found == content(3));
    }
    Ok(())
}

/// Reads the head until after it is nothing any more.
fn pin(process: &Process, begin: &Begin) -> Result<()> {
    let Process { repository, page, clock } = process;
    let snapshot = page.snapshot(&page.head(MAIN)?)?;
    page.reset(MAIN, &CommitId::FIRST)?;
    clock.advance(MINUTE + MINUTE / 60);
    repository.maintain()?;
    clock.advance(2 * MINUTE);
    assert!(try_pairs(&snapshot)? == content(4));
    page.create_branch("read", &begin.commits[3])
}

fn squash(process: &Process, begin: &Begin) -> Result<()> {
    match process.page.squash(MAIN, &begin.commits[1], None) {
        Ok(_)
        | Err(
            LedgerError::NoCommit { .. }
            | LedgerError::BaseMissing { .. }
            | LedgerError::BranchMoved { .. },
        ) => Ok(()),
        Err(error) => Err(error),
    }
}

fn keep_all(process: &Process, _: &Begin) -> Result<()> {
    process.page.set_retention(Retention::All)
}

fn keep_two(process: &Process, _: &Begin) -> Result<()> {
    process.page.set_retention(Retention::Last(2))
}

/// Turns reference rows on, or off.
fn switch(process: &Process, _: &Begin) -> Result<()> {
    let keeps = process.page.has_reference_rows()?;
    process.page.set_reference_rows(!keeps)
}

/// Collects too, after something else has become garbage.
fn collect(process: &Process, _: &Begin) -> Result<()> {
    put(&process.page, &content(5))?;
    process.page.collect().map(drop)
}

fn tag_and_commit(process: &Process, begin: &Begin) -> Result<()> {
    tag(process, begin)?;
    commit_garbage(process, begin)
}

fn reset_and_commit(process: &Process, begin: &Begin) -> Result<()> {
    reset(process, begin)?;
    commit_what_goes(process, begin)
}

/// How many lists were tried, and their results.
#[derive(Debug, Default)]
struct Seen {
    runs: u64,
    /// Lists that differ from others only by the order of reads.
    same: u64,
    /// Lists in which the collector could not collect because the other process did.
    busy: u64,
    /// Lists after which each of the four commits was there.
    kept: [u64; 4],
    /// Lists that were given again, because a slice has ended early.
    again: u64,
    most_turns: usize,
}

/// All commits to which branches and tags lead can be read, and have the entries that were put.
fn check_content(page: &Page, begin: &Begin, what: &str) {
    let names = page.branches().unwrap().into_iter().map(|(_, heads)| heads).collect::<Vec<_>>();
    let tags = page.tags().unwrap().into_iter().map(|(_, tag)| tag);
    for head in names.into_iter().flatten().chain(tags) {
        for commit in page.log(head).unwrap() {
            let (id, _) = commit.unwrap();
            let found = pairs(&page.snapshot(&id).unwrap());
            let number = found[&b"long"[..]][0];
            assert!(found == content(number), "{what}: commit {id}");
            if let Some(at) = begin.commits.iter().position(|commit| *commit == id) {
                assert_eq!(usize::from(number), at + 1, "{what}: commit {id}");
            }
        }
    }
}

/// Lets both run with this list of turns.
fn run(begin: &Begin, script: Script, lists: &mut Lists, seen: &mut Seen, name: &str) -> Given {
    let (host, clock) = (MemoryStore::new(), TestClock::at(begin.time));
    let mut tx = host.begin(&TxOptions::writing()).unwrap();
    begin.rows.iter().for_each(|(key, row)| tx.put(key, row).unwrap());
    tx.commit().unwrap();
    let turns = Arc::new(Turns::default());
    let processes = [OTHER, COLLECTOR].map(|number| {
        let turns = Arc::clone(&turns);
        process(InTurn { host: host.clone(), turns, process: number }, &clock)
    });
    let [other, collector] = &processes;
    turns.begin();
    let (did, collected, given) = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let _end = End(&turns, OTHER);
            script(other, begin)
        });
        let collector = scope.spawn(|| {
            let _end = End(&turns, COLLECTOR);
            collector.page.collect()
        });
        let given = lists.give_all(&turns);
        (other.join().unwrap(), collector.join().unwrap(), given)
    });
    let chosen: Vec<_> = lists.turns.iter().map(|turn| turn.process).collect();
    match given {
        Given::New => seen.runs += 1,
        Given::Same => seen.same += 1,
        Given::Other => seen.again += 1,
    }
    if given != Given::New {
        return given;
    }
    seen.most_turns = seen.most_turns.max(chosen.len());
    let what = format!("{name}, turns {chosen:?}");
    for error in [did.err(), collected.err()].into_iter().flatten() {
        assert!(matches!(error, LedgerError::Busy { .. }), "{what}: {error}");
        seen.busy += 1;
    }
    let page = &collector.page;
    assert_clean_when(page, &what);
    check_content(page, begin, &what);
    for (kept, commit) in seen.kept.iter_mut().zip(&begin.commits) {
        *kept += u64::from(unless_gone(page.snapshot(commit)).unwrap().is_some());
    }
    // The collection that was begun ends, and the next one finds all earlier garbage.
    for _ in 0..2 {
        clock.advance(3 * MINUTE);
        other.repository.maintain().unwrap();
        page.collect().unwrap();
        assert_clean_when(page, &what);
    }
    check_content(page, begin, &what);
    assert_eq!(page.verify().unwrap().unreachable_pieces, 0, "{what}");
    given
}

/// Tries the lists of turns of a script.
fn try_all(name: &str, script: Script) -> Seen {
    try_each(name, script, false)
}

/// The same on a page that is attached to a remote.
fn try_beside_a_remote(name: &str, script: Script) -> Seen {
    try_each(name, script, true)
}

fn try_each(name: &str, script: Script, is_attached: bool) -> Seen {
    let most = match std::env::var("PERMAZEN_INTERLEAVINGS") {
        Ok(all) if all == "all" => None,
        most => Some(most.map_or(1, |most| most.parse().unwrap())),
    };
    let mut seen = Seen::default();
    for with_references in [false, true] {
        let begin = begin(with_references, is_attached);
        let mut lists = Lists { most, ..Lists::default() };
        loop {
            let given = run(&begin, script, &mut lists, &mut seen, name);
            if given != Given::Other && !lists.next() {
                break;
            }
            assert!(seen.again < 1_000 + 10 * seen.runs, "{name}: {seen:?}");
        }
    }
    println!("{name}: {seen:?}");
    seen
}

#[test]
fn garbage_that_is_committed_again_is_there() {
    try_all("commit", commit_garbage);
}

#[test]
fn content_of_a_commit_that_goes_is_there() {
    try_all("commit what goes", commit_what_goes);
}

#[test]
fn a_branch_at_a_commit_that_goes_has_it_or_is_refused() {
    let seen = try_all("branch", branch);
    assert!(0 < seen.kept[0] && seen.kept[0] < seen.runs, "{seen:?}");
}

#[test]
fn a_tag_at_a_commit_that_goes_has_it_or_is_refused() {
    let seen = try_all("tag", tag);
    assert!(0 < seen.kept[1] && seen.kept[1] < seen.runs, "{seen:?}");
}

#[test]
fn a_reset_to_a_commit_that_goes_has_it_or_is_refused() {
    let seen = try_all("reset", reset);
    assert!(0 < seen.kept[0] && seen.kept[0] < seen.runs, "{seen:?}");
}

#[test]
fn a_commit_that_goes_is_read_completely_or_not_at_all() {
    try_all("read", read);
}

#[test]
fn a_commit_that_is_read_stays() {
    let seen = try_all("pin", pin);
    assert_eq!(seen.kept[3], seen.runs, "{seen:?}");
}

#[test]
fn a_squash_has_what_the_head_had() {
    try_all("squash", squash);
}

#[test]
fn what_another_rule_keeps_is_complete() {
    let seen = try_all("keep all", keep_all);
    assert!(0 < seen.kept[0] && seen.kept[0] < seen.runs, "{seen:?}");
    let seen = try_all("keep two", keep_two);
    assert!(0 < seen.kept[2] && seen.kept[2] < seen.runs, "{seen:?}");
}

#[test]
fn reference_rows_are_turned_on_and_off_beside_a_collection() {
    try_all("reference rows", switch);
}

#[test]
fn two_processes_collect_at_once() {
    try_all("collect", collect);
}

#[test]
fn several_changes_come_in_any_order_with_a_collection() {
    try_all("tag and commit", tag_and_commit);
    try_all("reset and commit", reset_and_commit);
}
