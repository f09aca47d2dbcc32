//! The host fails at one operation after another, and everything that was acknowledged is there.
//! With `PERMAZEN_FAULTS=full` these are all operations, and otherwise some, spread evenly.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use permazen_kv::fault::FaultStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::{KeySpan, KvDatabase, KvError, KvTransaction, KvWrite, TxOptions};
use permazen_ledger::{
    CommitId, LastWriterWins, LedgerError, MAIN, Page, PageId, Receiver, Repository, Secret,
};

use crate::support::faults;
use crate::support::page::{Map, get, put, try_pairs};

/// The acknowledged results of a script, step by step.
#[derive(Default)]
struct Told {
    /// The content of each commit that was acknowledged.
    commits: Vec<(CommitId, Map)>,
    heads: BTreeMap<String, CommitId>,
}

fn content(page: &Page, at: &CommitId) -> permazen_ledger::Result<Map> {
    Ok(try_pairs(&page.snapshot(at)?)?)
}

fn commit(page: &Page, branch: &str, told: &mut Told, step: u8) -> permazen_ledger::Result<()> {
    let db = page.database(branch)?;
    let mut tx = db.begin(&TxOptions::writing())?;
    for key in 0..40 {
        tx.put(&[key, step % 3], &[step; 30])?;
    }
    tx.remove_span(KeySpan::new(&[step], Some(&[step + 2])))?;
    tx.put(b"long", &vec![step; 9_000])?;
    tx.commit()?;
    let head = page.head(branch)?;
    told.commits.push((head, content(page, &head)?));
    told.heads.insert(branch.to_owned(), head);
    Ok(())
}

fn script(host: impl KvDatabase + 'static, told: &mut Told) -> permazen_ledger::Result<()> {
    let repository = Repository::open_or_create(host)?;
    let page = repository.create_page("a", PageId::ROOT)?;
    told.heads.insert(MAIN.to_owned(), CommitId::FIRST);
    commit(&page, MAIN, told, 1)?;
    commit(&page, MAIN, told, 2)?;
    let at = page.head(MAIN)?;
    page.create_branch("other", &at)?;
    told.heads.insert("other".to_owned(), at);
    commit(&page, "other", told, 3)?;
    commit(&page, MAIN, told, 4)?;
    let from = page.head("other")?;
    let merge = page.merge(MAIN, &from, &mut LastWriterWins)?;
    told.commits.push((merge, content(&page, &merge)?));
    told.heads.insert(MAIN.to_owned(), merge);
    page.set_tag("merged", &merge)?;
    page.reset("other", &merge)?;
    told.heads.insert("other".to_owned(), merge);
    Ok(())
}

/// Every acknowledged commit is there, every commit of the log can be read, and the page works.
/// `false` if there is no page yet.
fn check(host: &MemoryStore, told: &Told, what: &str) -> bool {
    let opened = Repository::open(host.clone());
    let opened = opened.and_then(|found| found.page("a", PageId::ROOT).map(|page| (found, page)));
    let (repository, page) = match opened {
        Err(LedgerError::NoRepository { .. } | LedgerError::NoSuch { .. })
            if told.heads.is_empty() =>
        {
            return false;
        }
        opened => opened.unwrap_or_else(|error| panic!("{what}: {error}")),
    };
    for (id, map) in &told.commits {
        assert!(content(&page, id).unwrap() == *map, "{what}: commit {id}");
    }
    for (branch, heads) in page.branches().unwrap() {
        let [head] = heads[..] else { panic!("{what}: {branch} has several heads") };
        // One step more may have been made than was acknowledged.
        let last = told.heads.get(&branch).or_else(|| told.heads.get(MAIN));
        assert!(
            page.is_ancestor(last.unwrap_or(&CommitId::FIRST), &head).unwrap(),
            "{what}: {branch}"
        );
        for commit in page.log(head).unwrap() {
            content(&page, &commit.unwrap().0).unwrap();
        }
        commit(&page, &branch, &mut Told::default(), 9).unwrap();
    }
    for branch in told.heads.keys() {
        assert!(page.head(branch).is_ok(), "{what}: {branch}");
    }
    assert_eq!(repository.verify().unwrap().findings, [], "{what}");
    true
}

type MakeError = fn() -> KvError;

#[test]
fn what_was_acknowledged_survives_each_failure_of_the_host() {
    let errors: [(&str, MakeError, bool); 4] = [
        ("failure", || KvError::Stale("broken".into()), false),
        ("retry", || KvError::Retry("busy".into()), false),
        ("unknown, done", || KvError::OutcomeUnknown("cut".into()), false),
        ("unknown, not done", || KvError::OutcomeUnknown("cut".into()), true),
    ];
    let distance = faults::distance(5);
    let mut row = 0;
    for (name, error, loses) in errors {
        for all in [false, true] {
            let mut early = 0;
            row += 1;
            for n in faults::failing(row, distance) {
                let host = MemoryStore::new();
                let failing = FaultStore::new(host.clone());
                let faults = failing.faults();
                faults.lose_commits(loses);
                match all {
                    true => faults.fail_from(n, error),
                    false => faults.fail_nth(n, error),
                }
                let mut told = Told::default();
                let result = script(failing, &mut told);
                let hits = faults.hits();
                let what = format!("{name}, operation {n}, all later: {all}");
                early += u64::from(!check(&host, &told, &what));
                if hits == 0 {
                    result.unwrap();
                    assert!(n > 200, "{n} operations are too few for this script");
                    break;
                }
            }
            assert!(
                early < 40 / distance + 2,
                "{name}: after {early} failures there was no page to check"
            );
        }
    }
}

/// A step that only names a commit that was here before: the row of the commit does not tell how
/// the step ended.
#[test]
fn an_unknown_outcome_is_no_success_because_the_commit_was_here_before() {
    let mut told = [0; 2];
    for squash in [true, false] {
        for n in 1.. {
            let host = FaultStore::new(MemoryStore::new());
            let repository =
                Repository::builder(host.clone()).manual_maintenance().open_or_create().unwrap();
            let page = repository.create_page("a", PageId::ROOT).unwrap();
            page.create_branch("other", &CommitId::FIRST).unwrap();
            page.create_branch("merged", &CommitId::FIRST).unwrap();
            let put = |branch: &str, key: &[u8], is_there: bool| {
                let db = page.database(branch).unwrap();
                let mut tx = db.begin(&TxOptions::writing()).unwrap();
                match is_there {
                    true => tx.put(key, b"1").unwrap(),
                    false => tx.remove(key).unwrap(),
                }
                tx.commit().unwrap();
                page.head(branch).unwrap()
            };
            let first = put(MAIN, b"a", true);
            let other = match squash {
                true => put(MAIN, b"a", false),
                false => put("other", b"b", true),
            };
            if !squash {
                // The same merge is made on another branch before.
                page.merge("merged", &first, &mut LastWriterWins).unwrap();
                page.merge("merged", &other, &mut LastWriterWins).unwrap();
            }
            let faults = host.faults();
            faults.lose_commits(true);
            faults.fail_nth(n, || KvError::OutcomeUnknown("cut".into()));
            let result = match squash {
                true => page.squash(MAIN, &CommitId::FIRST, None),
                false => page.merge(MAIN, &other, &mut LastWriterWins),
            };
            let hits = faults.hits();
            faults.stop();
            match result {
                Ok(head) => assert_eq!(page.head(MAIN).unwrap(), head, "operation {n}"),
                Err(error) => {
                    told[usize::from(squash)] += usize::from(error.to_string().contains("cut"));
                }
            }
            if hits == 0 {
                break;
            }
        }
    }
    assert!(told.iter().all(|told| *told > 0), "{told:?}");
}

/// Puts a pair in a transaction that is not repeated.
fn put_once(db: &dyn KvDatabase) -> permazen_ledger::Result<()> {
    let mut tx = db.begin(&TxOptions::writing().with_wait(Duration::ZERO))?;
    tx.put(b"key", b"value")?;
    Ok(tx.commit()?)
}

/// The host makes a commit, loses the connection before it answers, and cannot be read after that.
#[test]
fn an_unknown_outcome_stays_unknown_if_the_commit_cannot_be_looked_for() {
    type Work = fn(&Page, &mut Receiver, &(CommitId, Vec<u8>)) -> permazen_ledger::Result<()>;
    let works: [(&str, Work); 3] = [
        ("linear", |page, _, _| put_once(&page.database(MAIN)?)),
        ("branching", |page, _, _| put_once(&page.branching_database(MAIN)?)),
        ("received", |_, receiver, (id, bytes)| receiver.add_commit(id, bytes)),
    ];
    let later: [MakeError; 2] = [
        || KvError::Retry("busy".into()),
        || KvError::Open { path: Path::new("host").into(), reason: "close it first".into() },
    ];
    let made = |host: FaultStore<MemoryStore>| {
        let repository = Repository::builder(host).manual_maintenance().open_or_create().unwrap();
        repository.create_page_with("a", PageId::ROOT, Secret::new([5; 32])).unwrap()
    };
    let there = made(FaultStore::new(MemoryStore::new()));
    let id = put(&there, MAIN, b"key", b"value");
    let commit = (id, there.remote().commit_bytes(&id).unwrap().unwrap());
    let stays_unknown = |name: &str, work: Work, later: MakeError| {
        let mut done = 0;
        for n in 1.. {
            let host = FaultStore::new(MemoryStore::new());
            let (page, faults) = (made(host.clone()), host.faults());
            let mut receiver = page.receive();
            for (kind, digest) in receiver.wanted(&commit.1).unwrap() {
                let bytes = there.remote().piece_bytes(&digest).unwrap().unwrap();
                receiver.add_piece(kind, bytes).unwrap();
            }
            let is_first = AtomicBool::new(true);
            faults.fail_from(n, move || match is_first.swap(false, Ordering::Relaxed) {
                true => KvError::OutcomeUnknown("cut".into()),
                false => later(),
            });
            let result = work(&page, &mut receiver, &commit);
            let hits = faults.hits();
            faults.stop();
            let is_there = match name {
                "received" => page.commit(&id).is_ok(),
                _ => get(&page, b"key").is_some(),
            };
            match result {
                Ok(()) => assert!(is_there, "{name}, operation {n}"),
                Err(error) if is_there => {
                    let error = KvError::from(error);
                    assert!(error.is_outcome_unknown(), "{name}, operation {n}: {error}");
                    done += 1;
                }
                // It failed before the commit.
                Err(_) => {}
            }
            if hits == 0 {
                break;
            }
        }
        assert!(done > 0, "{name}: no commit was made");
    };
    // Each of them waits for a host that is busy.
    thread::scope(|scope| {
        for (name, work) in works {
            for later in later {
                let stays_unknown = &stays_unknown;
                scope.spawn(move || stays_unknown(name, work, later));
            }
        }
    });
}

/// A host without a replica: it can be read while the outcomes of its commits are unknown.
struct WithoutReplica(FaultStore<MemoryStore>);

impl KvDatabase for WithoutReplica {
    fn begin(&self, options: &TxOptions) -> permazen_kv::Result<Box<dyn KvTransaction + Send>> {
        match options.read_only {
            true => self.0.inner().begin(options),
            false => self.0.begin(options),
        }
    }
}

/// The page of a repository in this host, with two commits on `main` and one on `other`.
fn two_branches(host: &FaultStore<MemoryStore>) -> Page {
    let builder = Repository::builder(WithoutReplica(host.clone())).manual_maintenance();
    let page = builder.open_or_create().unwrap().create_page("a", PageId::ROOT).unwrap();
    page.create_branch("other", &CommitId::FIRST).unwrap();
    put(&page, "other", b"c", b"3");
    put(&page, MAIN, b"a", b"1");
    put(&page, MAIN, b"b", b"2");
    page
}

type Work = fn(&Page) -> permazen_ledger::Result<()>;

/// Each makes one commit of the host.
const WORKS: [(&str, Work); 4] = [
    ("linear", |page| put_once(&page.database(MAIN)?)),
    ("branching", |page| put_once(&page.branching_database(MAIN)?)),
    ("merge", |page| page.merge(MAIN, &page.head("other")?, &mut LastWriterWins).map(drop)),
    ("squash", |page| page.squash(MAIN, &CommitId::FIRST, None).map(drop)),
];

#[test]
fn a_commit_that_can_be_read_is_no_success_while_no_change_is_certain() {
    for (name, work) in WORKS {
        let mut done = 0;
        for n in 1.. {
            let host = FaultStore::new(MemoryStore::new());
            let (page, faults) = (two_branches(&host), host.faults());
            let before = page.branches().unwrap();
            faults.fail_from(n, || KvError::OutcomeUnknown("no replica".into()));
            let result = work(&page);
            let hits = faults.hits();
            faults.stop();
            if hits == 0 {
                result.unwrap();
                break;
            }
            let error = KvError::from(result.expect_err(&format!("{name}, operation {n}")));
            if page.branches().unwrap() != before {
                assert!(error.is_outcome_unknown(), "{name}, operation {n}: {error}");
                done += 1;
            }
        }
        assert!(done > 0, "{name}: no commit was made");
    }
}

#[test]
fn a_commit_is_a_success_after_an_unknown_outcome_if_a_later_change_is_certain() {
    for (name, work) in WORKS {
        let mut done = 0;
        for n in 1.. {
            let host = FaultStore::new(MemoryStore::new());
            let (page, faults) = (two_branches(&host), host.faults());
            let commits = || host.inner().begin(&TxOptions::reading()).unwrap().version().unwrap();
            let (before, heads) = (commits(), page.branches().unwrap());
            faults.fail_nth(n, || KvError::OutcomeUnknown("cut".into()));
            let result = work(&page);
            if faults.hits() == 0 {
                assert_eq!(commits(), before + 1, "{name}");
                break;
            }
            if page.branches().unwrap() != heads {
                result.unwrap();
                assert_eq!(commits(), before + 2, "{name}, operation {n}");
                done += 1;
            }
        }
        assert_eq!(done, 1, "{name}");
    }
}
