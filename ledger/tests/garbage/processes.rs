//! Several processes on one repository, each with a handle of its own: the commits that one reads,
//! the others keep, and a collection survives the end of the process that began it.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use permazen_kv::fault::FaultStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvError, KvRead, KvWrite, TxOptions};
use permazen_ledger::{
    Clock, CommitId, LastWriterWins, LedgerError, MAIN, Page, PageId, Repository,
    RepositoryBuilder, Retention,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::clock::TestClock;
use crate::support::faults;
use crate::support::page::{Map, assert_clean_when, copy, pairs, try_pairs};

const MINUTE: Duration = Duration::from_secs(60);

fn builder(host: impl KvDatabase + 'static, clock: &Arc<TestClock>) -> RepositoryBuilder {
    let clock: Arc<dyn Clock> = Arc::clone(clock) as _;
    // So little memory that everything is read from the host.
    Repository::builder(host).manual_maintenance().clock(clock).cache_bytes(1)
}

/// A process that has the page open.
struct Process {
    repository: Repository,
    page: Page,
}

fn process(host: &MemoryStore, clock: &Arc<TestClock>) -> Process {
    let repository = builder(host.clone(), clock).open_or_create().unwrap();
    let page = match repository.page("test", PageId::ROOT) {
        Ok(page) => page,
        Err(_) => repository.create_page("test", PageId::ROOT).unwrap(),
    };
    Process { repository, page }
}

/// Puts many values of this number, and returns the new head.
fn put(page: &Page, branch: &str, number: u8) -> CommitId {
    let db = page.database(branch).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    for key in 0..200 {
        tx.put(&[key], &[number; 50]).unwrap();
    }
    tx.put(b"long", &vec![number; 3_000]).unwrap();
    tx.commit().unwrap();
    page.head(branch).unwrap()
}

/// Collects until nothing is left to be removed.
fn collect_all(page: &Page, clock: &TestClock) {
    page.collect().unwrap();
    clock.advance(3 * MINUTE);
    page.collect().unwrap();
    assert_clean_when(page, "after a collection");
    assert_eq!(page.verify().unwrap().unreachable_pieces, 0);
}

/// All other processes have ended, and this one finds that out.
fn end_other_leases(page: &Page, clock: &TestClock) {
    clock.advance(90 * MINUTE);
    match page.collect() {
        // The process that has collected may have slept.
        Ok(_) | Err(LedgerError::Busy { .. }) => {}
        Err(error) => panic!("{error}"),
    }
    clock.advance(MINUTE);
    page.collect().unwrap();
}

#[test]
fn what_a_process_reads_stays_while_it_renews_its_lease() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let (reader, other) = (process(&host, &clock), process(&host, &clock));
    let old = put(&reader.page, MAIN, 1);
    let snapshot = reader.page.snapshot(&old).unwrap();
    let before = pairs(&snapshot);
    put(&other.page, MAIN, 2);
    other.page.set_retention(Retention::Heads).unwrap();

    // For two minutes nothing is removed, also if the others do not know of the reader.
    other.page.collect().unwrap();
    clock.advance(MINUTE + MINUTE / 2);
    other.page.collect().unwrap();
    assert_eq!(pairs(&snapshot), before);
    // Before that, the pin becomes a row, and the lease is renewed.
    for _ in 0..30 {
        reader.repository.maintain().unwrap();
        clock.advance(10 * MINUTE);
        other.page.collect().unwrap();
        assert_eq!(pairs(&snapshot), before);
    }
    assert_clean_when(&other.page, "with a pin");

    // Commits that are not read any more are removed.
    drop(snapshot);
    reader.repository.maintain().unwrap();
    collect_all(&other.page, &clock);
    assert!(matches!(reader.page.snapshot(&old), Err(LedgerError::NoCommit { .. })));
}

#[test]
fn a_process_that_does_not_renew_its_lease_is_told_what_it_has_lost() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let (reader, other) = (process(&host, &clock), process(&host, &clock));
    let old = put(&reader.page, MAIN, 1);
    let snapshot = reader.page.snapshot(&old).unwrap();
    let changes =
        reader.page.diff(&CommitId::FIRST, &old, KeySpan::FULL, Direction::Forward).unwrap();
    let db = reader.page.database(MAIN).unwrap();
    let tx = db.begin(&TxOptions::writing()).unwrap();
    clock.advance(MINUTE);
    reader.repository.maintain().unwrap();
    let head = put(&other.page, MAIN, 2);
    other.page.set_retention(Retention::Heads).unwrap();

    clock.advance(50 * MINUTE);
    other.page.collect().unwrap();
    clock.advance(5 * MINUTE);
    other.page.collect().unwrap();
    assert!(try_pairs(&snapshot).is_ok());
    clock.advance(10 * MINUTE);
    // A minute later it counts as dead.
    other.page.collect().unwrap();
    clock.advance(MINUTE);
    collect_all(&other.page, &clock);

    let error = LedgerError::from(try_pairs(&snapshot).unwrap_err());
    assert!(
        matches!(error, LedgerError::SnapshotExpired { commit, .. } if commit == old),
        "{error}"
    );
    for change in changes.take(1) {
        assert!(matches!(change, Err(LedgerError::SnapshotExpired { .. })));
    }
    let error = LedgerError::from(try_pairs(&tx).unwrap_err());
    assert!(error.is_retryable(), "{error}");
    drop(tx);
    // The process works on, with another name.
    assert_eq!(reader.page.head(MAIN).unwrap(), head);
    let snapshot = reader.page.snapshot(&head).unwrap();
    clock.advance(MINUTE);
    reader.repository.maintain().unwrap();
    put(&other.page, MAIN, 3);
    collect_all(&other.page, &clock);
    assert_eq!(pairs(&snapshot).len(), 201);
}

#[test]
fn a_clock_that_jumps_and_processes_that_sleep_take_nothing_from_live_processes() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let (reader, other) = (process(&host, &clock), process(&host, &clock));
    let old = put(&reader.page, MAIN, 1);
    let snapshot = reader.page.snapshot(&old).unwrap();
    let before = pairs(&snapshot);
    let mut value = reader.page.write_value(None).unwrap();
    value.write_all(&[7; 100_000]).unwrap();
    let value = value.finish().unwrap();
    clock.advance(2 * MINUTE);
    reader.repository.maintain().unwrap();
    put(&other.page, MAIN, 2);
    other.page.set_retention(Retention::Heads).unwrap();
    other.page.collect().unwrap();
    for _ in 0..3 {
        // All wake up, and the one that collects is first.
        clock.advance(5 * 60 * MINUTE);
        other.page.collect().unwrap();
        other.repository.maintain().unwrap();
        let refused = process(&host, &clock).repository.delete_page("test", PageId::ROOT);
        assert!(matches!(refused, Err(LedgerError::PageInUse { .. })), "{refused:?}");
        process(&host, &clock).page.collect().unwrap();
        clock.advance(MINUTE / 6);
        reader.repository.maintain().unwrap();
        clock.advance(2 * MINUTE);
        other.page.collect().unwrap();
        assert_eq!(pairs(&snapshot), before);
    }
    let db = reader.page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.put(b"value", value.as_bytes()).unwrap();
    tx.commit().unwrap();
    drop((snapshot, value));
    reader.repository.maintain().unwrap();
    assert_clean_when(&other.page, "with a value of a process that slept");
}

#[test]
fn a_log_ends_where_history_ends() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let Process { page, .. } = process(&host, &clock);
    let commits: Vec<_> = (1..=10).map(|number| put(&page, MAIN, number)).collect();
    page.set_tag("old", &commits[1]).unwrap();
    page.set_retention(Retention::Last(3)).unwrap();
    assert_eq!(page.retention().unwrap(), Retention::Last(3));
    assert!(matches!(page.set_retention(Retention::Last(0)), Err(LedgerError::InvalidArgument(_))));
    let longest = Duration::from_millis(u64::MAX);
    let refused = page.set_retention(Retention::Age(longest + Duration::from_millis(1)));
    let refused = refused.unwrap_err();
    assert!(matches!(&refused, LedgerError::InvalidArgument(what) if what.contains("keep all")));
    page.set_retention(Retention::Age(longest)).unwrap();
    assert_eq!(page.retention().unwrap(), Retention::Age(longest));
    page.set_retention(Retention::Last(3)).unwrap();
    collect_all(&page, &clock);

    let log: Vec<_> = page.log(commits[9]).unwrap().map(|commit| commit.unwrap().0).collect();
    assert_eq!(log, [commits[9], commits[8], commits[7]]);
    assert_eq!(page.log(commits[1]).unwrap().count(), 1);
    assert!(page.is_ancestor(&commits[8], &commits[9]).unwrap());
    assert!(page.is_ancestor(&CommitId::FIRST, &commits[9]).unwrap());
    // Nothing tells which commits were between them.
    let error = page.is_ancestor(&commits[1], &commits[9]).unwrap_err();
    assert!(matches!(error, LedgerError::BaseMissing { commit, .. } if commit == commits[6]));
    page.create_branch("old", &commits[1]).unwrap();
    let error = page.merge("old", &commits[9], &mut LastWriterWins).unwrap_err();
    assert!(matches!(error, LedgerError::BaseMissing { .. }), "{error}");
    let error = page.squash(MAIN, &commits[1], None).unwrap_err();
    assert!(matches!(error, LedgerError::BaseMissing { .. }), "{error}");
    page.squash(MAIN, &commits[8], Some("one")).unwrap();
    collect_all(&page, &clock);
}

/// A process ends in the middle of a collection, in each of its slices. The next one, which is
/// alone, finds at once all that is garbage.
#[test]
fn one_collection_after_a_kill_finds_all() {
    // How many slices a phase has depends on the order of random IDs, so one can be missed.
    let mut phases = [0; 4];
    for _ in 0..20 {
        let seen = kill_in_each_slice(false);
        phases = std::array::from_fn(|at| phases[at] + seen[at]);
        if phases.iter().all(|count| *count > 0) {
            break;
        }
    }
    assert!(phases.iter().all(|count| *count > 0), "{phases:?}");
    // By reference rows there are no rounds; the slices are those in which they are built.
    let phases = kill_in_each_slice(true);
    assert!(phases[0] > 3 && phases[1..] == [0; 3], "{phases:?}");
}

/// How many of the kills came in each phase of a round.
fn kill_in_each_slice(with_references: bool) -> [usize; 4] {
    let (mut phases, mut slices) = ([0; 4], 0);
    loop {
        let (host, clock) = (MemoryStore::new(), TestClock::new());
        let killed = process(&host, &clock);
        let stream = |number: u8| {
            let mut writer = killed.page.write_value(None).unwrap();
            writer.write_all(&vec![number; 100_000]).unwrap();
            writer.finish().unwrap()
        };
        let attach = |number: u8| {
            let value = stream(number);
            let db = killed.page.database(MAIN).unwrap();
            let mut tx = db.begin(&TxOptions::writing()).unwrap();
            tx.put(b"stream", value.as_bytes()).unwrap();
            tx.commit().unwrap();
        };
        for number in 0..5 {
            put(&killed.page, MAIN, number);
        }
        killed.page.collect().unwrap();
        // Something to be swept.
        killed.page.create_branch("garbage", &killed.page.head(MAIN).unwrap()).unwrap();
        put(&killed.page, "garbage", 77);
        killed.page.remove_branch("garbage").unwrap();
        killed.page.collect().unwrap();
        clock.advance(3 * MINUTE);
        killed.page.set_reference_rows(with_references).unwrap();
        let mut is_over = false;
        for _ in 0..slices {
            is_over = !killed.page.collect_slice().unwrap();
        }
        // Pieces that become garbage meanwhile, with values that were written in parts.
        attach(1);
        let left = stream(2);
        for number in 5..8 {
            put(&killed.page, MAIN, number);
        }
        attach(3);
        killed.page.set_retention(Retention::Heads).unwrap();
        // It is killed: none of its later work is there.
        let host = copy(&host);
        drop((left, killed));
        let row = host.snapshot().get(&[0x10, 1, 0x32]).unwrap().unwrap().into_owned();
        phases[usize::from(row[47])] += 1;
        let exclusive = builder(host.clone(), &clock).exclusive().open_or_create().unwrap();
        let page = exclusive.page("test", PageId::ROOT).unwrap();
        let found = page.collect().unwrap();
        assert!(found.commits > 0 && found.pieces > 0, "after {slices} slices: {found:?}");
        let again = page.collect().unwrap();
        assert_eq!((again.commits, again.pieces), (0, 0), "after {slices} slices: {found:?}");
        let report = page.verify().unwrap();
        assert!(report.findings.is_empty(), "after {slices} slices: {:?}", report.findings);
        assert_eq!((report.commits, report.unreachable_pieces), (1, 0), "after {slices} slices");
        if is_over {
            return phases;
        }
        slices += 1;
    }
}

#[test]
fn a_collection_survives_the_process_that_began_it() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let reader = process(&host, &clock);
    for number in 0..40 {
        put(&reader.page, MAIN, number);
    }
    reader.page.set_retention(Retention::Heads).unwrap();
    reader.page.collect().unwrap();
    clock.advance(3 * MINUTE);
    // The host as each slice leaves it.
    let mut states = Vec::new();
    while reader.page.collect_slice().unwrap() {
        states.push(copy(&host));
    }
    assert!(states.len() > 5, "{} slices", states.len());
    for (at, state) in states.into_iter().enumerate() {
        let other = process(&state, &clock);
        assert_clean_when(&other.page, &format!("after slice {at}"));
        // The first one is alive, as far as others know.
        let result = other.page.collect();
        if let Err(error) = result {
            assert!(matches!(error, LedgerError::Busy { .. }), "slice {at}: {error}");
            assert!(error.is_retryable());
            clock.advance(MINUTE / 2);
            assert!(matches!(other.page.collect(), Err(LedgerError::Busy { .. })), "slice {at}");
            clock.advance(MINUTE / 2);
        }
        other.page.collect().unwrap();
        assert_clean_when(&other.page, &format!("after slice {at}, and a collection"));
        let found = other.page.verify().unwrap();
        assert_eq!((found.commits, found.unreachable_pieces), (1, 0), "slice {at}");
    }
    // The row of the counts says in which phase the round is, and which process runs it.
    let row = || host.snapshot().get(&[0x10, 1, 0x32]).unwrap().unwrap().to_vec();
    let (phase, runs) = (|| row()[47], || row()[48..64].to_vec());
    let begins = |number| {
        put(&reader.page, MAIN, number);
        clock.advance(3 * MINUTE);
        while phase() == 0 {
            assert!(reader.page.collect_slice().unwrap());
        }
    };
    begins(50);
    let other = process(&host, &clock);
    let error = other.page.collect().unwrap_err();
    assert!(matches!(error, LedgerError::Busy { .. }), "{error}");
    clock.advance(MINUTE);
    // A collector that is relieved notices.
    let first = runs();
    while runs() == first || phase() == 0 {
        assert!(other.page.collect_slice().unwrap());
    }
    let error = loop {
        match reader.page.collect_slice() {
            Ok(is_more) => assert!(is_more, "it has not noticed"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, LedgerError::Busy { .. }), "{error}");
    other.page.collect().unwrap();
    assert_clean_when(&other.page, "with two collectors");
    // If the other one has ended already, it begins anew.
    begins(51);
    assert!(matches!(other.page.collect(), Err(LedgerError::Busy { .. })));
    clock.advance(MINUTE);
    other.page.collect().unwrap();
    while reader.page.collect_slice().unwrap() {}
    assert_clean_when(&other.page, "after both");
    reader.page.collect().unwrap();
    assert_clean_when(&other.page, "in the end");
}

#[test]
fn garbage_is_collected_without_being_asked() {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let Process { repository, page } = process(&host, &clock);
    let first = put(&page, MAIN, 1);
    for number in 2..20 {
        put(&page, MAIN, number);
    }
    page.reset(MAIN, &first).unwrap();
    let before = page.verify().unwrap();
    assert_eq!(before.commits, 19);
    for _ in 0..40 {
        clock.advance(MINUTE / 6);
        repository.maintain().unwrap();
    }
    let after = page.verify().unwrap();
    assert_eq!((after.commits, after.unreachable_pieces), (1, 0));
    assert!(after.findings.is_empty(), "{:?}", after.findings);
    assert!(after.pieces * 5 < before.pieces);
}

/// Random slices of collections among random changes, by three processes.
fn interleaved(seed: u64) {
    let (host, clock) = (MemoryStore::new(), TestClock::new());
    let mut random = StdRng::seed_from_u64(seed);
    let mut processes: Vec<_> = (0..3).map(|_| process(&host, &clock)).collect();
    processes[0].page.set_retention(Retention::Heads).unwrap();
    processes[0].page.create_branch("other", &CommitId::FIRST).unwrap();
    let mut models = BTreeMap::from([(MAIN, Map::new()), ("other", Map::new())]);
    let mut kept: Vec<(CommitId, Map, usize)> = Vec::new();
    for _ in 0..300 {
        clock.advance(Duration::from_secs(random.random_range(0..25)));
        let index = random.random_range(0..processes.len());
        let page = &processes[index].page;
        let branch = [MAIN, "other"][random.random_range(0..2)];
        match random.random_range(0..21) {
            20 => {
                // Another process may collect, or may do the same.
                match page.set_reference_rows(random.random_range(0..2) == 0) {
                    Ok(()) | Err(LedgerError::Busy { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            0..8 => match page.collect_slice() {
                Ok(_) | Err(LedgerError::Busy { .. }) => {}
                Err(error) => panic!("{error}"),
            },
            8..13 => {
                let db = page.database(branch).unwrap();
                let mut tx = db.begin(&TxOptions::writing()).unwrap();
                let model = models.get_mut(branch).unwrap();
                // Few contents, so that pieces that are being removed come back to life.
                let number = random.random_range(0..3);
                for key in 0..random.random_range(1..150) {
                    let value = vec![number; if key % 50 == 0 { 3_000 } else { 40 }];
                    tx.put(&[key], &value).unwrap();
                    model.insert(vec![key], value);
                }
                tx.commit().unwrap();
            }
            13 => {
                let to = page.head(branch).unwrap();
                let other = if branch == MAIN { "other" } else { MAIN };
                page.reset(other, &to).unwrap();
                let content = models[branch].clone();
                models.insert(other, content);
            }
            14 => {
                let head = page.head(branch).unwrap();
                page.set_tag("tag", &head).unwrap();
                kept.retain(|(_, _, index)| *index != usize::MAX);
                kept.push((head, models[branch].clone(), usize::MAX));
            }
            15 => {
                // A reset to a commit that only a tag has kept.
                match page.tag("tag") {
                    Ok(to) => {
                        page.reset(branch, &to).unwrap();
                        let content = kept.iter().find(|(id, ..)| *id == to);
                        let content = content.map_or_else(Map::new, |(_, map, _)| map.clone());
                        models.insert(branch, content);
                    }
                    Err(LedgerError::NoSuch { .. }) => assert!(kept.is_empty()),
                    Err(error) => panic!("{error}"),
                }
            }
            16 => {
                // It ends without a word.
                let repository = processes[index].repository.clone();
                std::mem::forget(repository);
                processes[index] = process(&host, &clock);
            }
            _ => processes[index].repository.maintain().unwrap(),
        }
        let page = &processes[index].page;
        let snapshot = page.snapshot(&page.head(branch).unwrap()).unwrap();
        assert_eq!(pairs(&snapshot), models[branch]);
    }
    let page = &processes[0].page;
    assert_clean_when(page, "in the end");
    for (id, content, _) in &kept {
        assert_eq!(pairs(&page.snapshot(id).unwrap()), *content);
    }
    end_other_leases(page, &clock);
    collect_all(page, &clock);
}

#[test]
fn slices_of_collections_come_between_changes_of_several_processes() {
    let count = std::env::var("PERMAZEN_HISTORIES").map_or(2, |count| count.parse().unwrap());
    for seed in 0..count {
        let run = std::panic::catch_unwind(|| interleaved(seed));
        assert!(run.is_ok(), "history {seed}");
    }
}

/// Commits, and collects garbage twice. In between, reference rows are turned on and off if that is
/// wanted.
fn script(
    host: impl KvDatabase + 'static,
    with_references: bool,
    clock: &Arc<TestClock>,
    told: &mut Vec<Map>,
) -> permazen_ledger::Result<()> {
    let repository = builder(host, clock).open_or_create()?;
    let page = repository.create_page("test", PageId::ROOT)?;
    page.set_retention(Retention::Last(2))?;
    let db = page.database(MAIN)?;
    for number in 0..if with_references { 6 } else { 8 } {
        let mut tx = db.begin(&TxOptions::writing())?;
        for key in 0..60 {
            tx.put(&[key], &[number % 3; 100])?;
        }
        tx.commit()?;
        told.push((0..60).map(|key| (vec![key], vec![number % 3; 100])).collect());
        if with_references && number % 3 == 1 {
            page.set_reference_rows(number != 4)?;
        }
        if number % 3 == 2 {
            page.collect()?;
            clock.advance(3 * MINUTE);
            page.collect()?;
        }
        let snapshot = page.snapshot(&page.head(MAIN)?)?;
        clock.advance(2 * MINUTE);
        repository.maintain()?;
        drop(snapshot);
    }
    repository.maintain()
}

type MakeError = fn() -> KvError;

#[test]
fn a_collection_survives_each_failure_of_the_host() {
    with_each_failure(false);
}

#[test]
fn reference_rows_survive_each_failure_of_the_host() {
    with_each_failure(true);
}

fn with_each_failure(with_references: bool) {
    let errors: [(&str, MakeError, bool); 3] = [
        ("failure", || KvError::Stale("broken".into()), false),
        ("unknown, done", || KvError::OutcomeUnknown("cut".into()), false),
        ("unknown, not done", || KvError::OutcomeUnknown("cut".into()), true),
    ];
    let distance = faults::distance(19);
    let mut row = 0;
    for (name, error, loses) in errors {
        for all in [false, true] {
            let mut early = 0;
            row += 1;
            for n in faults::failing(3 * row, distance) {
                let (host, clock) = (MemoryStore::new(), TestClock::new());
                let failing = FaultStore::new(host.clone());
                let faults = failing.faults();
                faults.lose_commits(loses);
                match all {
                    true => faults.fail_from(n, error),
                    false => faults.fail_nth(n, error),
                }
                let mut told = Vec::new();
                let result = script(failing, with_references, &clock, &mut told);
                let what = format!(
                    "{name}, operation {n}, all later: {all}, reference rows: {with_references}"
                );
                let hits = faults.hits();
                if hits == 0 {
                    result.unwrap();
                    assert!(n > 900, "{n} operations are too few for this script");
                    break;
                }
                early += u64::from(!check_after(&host, &clock, &told, &what));
            }
            assert!(
                early < 40 / distance + 2,
                "{name}: after {early} failures there was no page to check"
            );
        }
    }
}

/// The acknowledged commits are there, and a collection continues. `false` if there is no page yet.
fn check_after(host: &MemoryStore, clock: &Arc<TestClock>, told: &[Map], what: &str) -> bool {
    let opened = builder(host.clone(), clock).open();
    let page = match opened.and_then(|repository| repository.page("test", PageId::ROOT)) {
        Err(LedgerError::NoRepository { .. } | LedgerError::NoSuch { .. }) if told.is_empty() => {
            return false;
        }
        page => page.unwrap_or_else(|error| panic!("{what}: {error}")),
    };
    assert_clean_when(&page, what);
    end_other_leases(&page, clock);
    collect_all(&page, clock);
    let head = page.head(MAIN).unwrap();
    let found = pairs(&page.snapshot(&head).unwrap());
    // One step more may have been made than was acknowledged.
    let last = told.last().cloned().unwrap_or_default();
    let next = (0..60).map(|key| (vec![key], vec![told.len() as u8 % 3; 100])).collect();
    assert!(found == last || found == next, "{what}");
    true
}
