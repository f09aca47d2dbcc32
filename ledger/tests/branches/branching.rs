//! Branches with several heads: transactions that never fail because of others.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use permazen::{Permazen, PermazenObject};
use permazen_kv::memory::MemoryStore;
use permazen_kv::{
    Capabilities, Direction, KeySpan, KvDatabase, KvDatabaseExt, KvError, KvRead, KvTransaction,
    KvWrite, TxOptions,
};
use permazen_ledger::{
    BranchingDatabase, Clock, CommitId, CommitTime, LastWriterWins, LedgerError, MAIN, Page,
    PageId, Repository, Retention,
};

use crate::support::clock::TestClock;

fn new_page(host: &MemoryStore) -> Page {
    let repository =
        Repository::builder(host.clone()).manual_maintenance().open_or_create().unwrap();
    repository.create_page("test", PageId::ROOT).unwrap()
}

fn put(db: &BranchingDatabase, key: &[u8], value: &[u8]) -> CommitId {
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.put(key, value).unwrap();
    tx.commit().unwrap();
    db.commit()
}

fn keys(db: &BranchingDatabase) -> Vec<String> {
    let tx = db.begin(&TxOptions::reading()).unwrap();
    let pairs = tx.scan(KeySpan::FULL, Direction::Forward).unwrap();
    pairs.map(|pair| String::from_utf8(pair.unwrap().0.into_owned()).unwrap()).collect()
}

#[test]
fn a_branch_counts_its_own_transactions() {
    let host = MemoryStore::new();
    let page = new_page(&host);
    let (several, one) = (page.branching_database(MAIN).unwrap(), page.database(MAIN).unwrap());
    let before = host.counters();
    put(&several, b"a", b"1");
    drop(several.begin(&TxOptions::reading()).unwrap());
    let counted = several.clone().counters();
    assert_eq!((counted.begun, counted.commits, counted.conflicts), (Some(2), Some(1), None));
    one.write(|tx| tx.put(b"b", b"2")).unwrap();
    let mut late = one.begin(&TxOptions::writing()).unwrap();
    late.get(b"b").unwrap();
    late.put(b"c", b"").unwrap();
    one.write(|tx| tx.put(b"b", b"3")).unwrap();
    assert!(late.commit().unwrap_err().is_retryable());
    let counted = one.counters();
    assert_eq!((counted.begun, counted.commits, counted.conflicts), (Some(3), Some(2), Some(1)));
    assert_eq!((counted.waits, counted.requests), (host.counters().waits, None));
    // Each of them is one commit of the host.
    assert_eq!(host.counters().commits.unwrap() - before.commits.unwrap(), 3);
}

#[test]
fn commits_on_one_base_make_heads_and_each_handle_sees_its_own() {
    let page = new_page(&MemoryStore::new());
    let [ann, bob, late] = [(); 3].map(|()| page.branching_database(MAIN).unwrap());
    let base = put(&ann, b"base", b"");
    assert_eq!(page.heads(MAIN).unwrap(), [base]);
    assert_eq!((keys(&bob), bob.commit()), (vec!["base".to_owned()], base));
    let mut of_ann = ann.begin(&TxOptions::writing()).unwrap();
    let mut of_bob = bob.begin(&TxOptions::writing()).unwrap();
    of_ann.put(b"ann", b"").unwrap();
    of_bob.put(b"bob", b"").unwrap();
    of_ann.commit().unwrap();
    of_bob.commit().unwrap();
    let heads = page.heads(MAIN).unwrap();
    assert_eq!(heads.len(), 2);
    assert!(heads.contains(&ann.commit()) && heads.contains(&bob.commit()));
    assert_eq!(keys(&ann), ["ann", "base"]);
    assert_eq!(keys(&bob), ["base", "bob"]);
    // A handle that follows the base goes along the older one, a new handle begins there.
    let oldest = keys(&page.branching_database(MAIN).unwrap());
    assert_eq!(keys(&late), oldest);
    assert_eq!(late.commit(), heads[0]);
    // Each goes its own way, until a merge.
    put(&ann, b"ann 2", b"");
    assert_eq!(keys(&ann), ["ann", "ann 2", "base"]);
    assert_eq!(keys(&bob), ["base", "bob"]);
    let merge = page.merge_heads(MAIN, &mut LastWriterWins).unwrap();
    for db in [&ann, &bob, &late] {
        assert_eq!(keys(db), ["ann", "ann 2", "base", "bob"]);
        assert_eq!(db.commit(), merge);
    }
    assert!(page.verify().unwrap().findings.is_empty());
}

#[test]
fn a_thread_that_would_wait_for_itself_is_told_so_at_once() {
    let host = MemoryStore::new();
    let page = new_page(&host);
    let [ann, bob] = [(); 2].map(|()| page.branching_database(MAIN).unwrap());
    let linear = page.database(MAIN).unwrap();
    let is_refused = |result: permazen_kv::Result<()>| {
        let error = result.unwrap_err();
        assert!(matches!(error, KvError::WithinWrite { .. }), "{error:?}");
        assert!(!error.is_retryable());
    };
    // Transactions of one handle take turns.
    is_refused(ann.write(|_| ann.write(|tx| tx.put(b"within", b""))));
    is_refused(ann.write(|_| ann.begin(&TxOptions::writing()).map(drop)));
    // Transactions of two handles do not, and neither do the transactions of a branch with one line
    // of commits.
    ann.write(|_| bob.write(|tx| tx.put(b"bob", b""))).unwrap();
    linear.write(|_| linear.write(|tx| tx.put(b"linear", b""))).unwrap();
    // Each commit writes to the host.
    is_refused(host.write(|_| ann.write(|tx| tx.put(b"within", b""))));
    is_refused(host.write(|_| linear.write(|tx| tx.put(b"within", b""))));
    ann.write(|tx| tx.put(b"ann", b"")).unwrap();
    page.merge_heads(MAIN, &mut LastWriterWins).unwrap();
    assert_eq!(keys(&bob), ["ann", "bob", "linear"]);
}

#[test]
fn a_transaction_that_is_overtaken_by_a_merge_makes_a_head() {
    let page = new_page(&MemoryStore::new());
    let (ann, bob) =
        (page.branching_database(MAIN).unwrap(), page.branching_database(MAIN).unwrap());
    let mut of_ann = ann.begin(&TxOptions::writing()).unwrap();
    put(&bob, b"bob 1", b"");
    put(&bob, b"bob 2", b"");
    of_ann.put(b"ann", b"").unwrap();
    // The first commit of the page was replaced as a head by two commits.
    of_ann.commit().unwrap();
    assert_eq!(keys(&ann), ["ann"]);
    assert_eq!(page.heads(MAIN).unwrap().len(), 2);
    // While a transaction is open, its handle stays, also if something is read through it.
    let mut of_ann = ann.begin(&TxOptions::writing()).unwrap();
    let merge = page.merge_heads(MAIN, &mut LastWriterWins).unwrap();
    assert_eq!(keys(&ann), ["ann"]);
    assert_eq!(keys(&bob), ["ann", "bob 1", "bob 2"]);
    of_ann.put(b"ann 2", b"").unwrap();
    of_ann.commit().unwrap();
    assert_eq!(keys(&ann), ["ann", "ann 2"]);
    let heads = page.heads(MAIN).unwrap();
    assert_eq!(heads.len(), 2);
    assert!(heads.contains(&merge));
    page.merge_heads(MAIN, &mut LastWriterWins).unwrap();
    assert_eq!(keys(&ann), ["ann", "ann 2", "bob 1", "bob 2"]);
    // A transaction that ends without a commit lets the handle continue.
    let tx = ann.begin(&TxOptions::writing()).unwrap();
    put(&bob, b"bob 3", b"");
    assert_eq!(keys(&ann).len(), 4);
    drop(tx);
    assert_eq!(keys(&ann).len(), 5);
    assert!(page.verify().unwrap().findings.is_empty());
}

#[test]
fn a_linear_database_refuses_several_heads_and_says_what_to_do() {
    let page = new_page(&MemoryStore::new());
    let linear = page.database(MAIN).unwrap();
    let (ann, bob) =
        (page.branching_database(MAIN).unwrap(), page.branching_database(MAIN).unwrap());
    let open = ann.begin(&TxOptions::writing()).unwrap();
    put(&bob, b"bob", b"");
    let mut open = open;
    open.put(b"ann", b"").unwrap();
    open.commit().unwrap();
    let Err(error) = linear.begin(&TxOptions::reading()) else { panic!("two heads") };
    assert!(error.to_string().contains("2 heads: wait until the policy"), "{error}");
    assert!(!error.is_retryable());
    assert!(matches!(page.head(MAIN), Err(LedgerError::ManyHeads { count: 2, .. })));
    page.merge_heads(MAIN, &mut LastWriterWins).unwrap();
    assert!(linear.begin(&TxOptions::reading()).unwrap().get(b"ann").unwrap().is_some());
}

#[test]
fn a_change_on_another_branch_is_later_within_a_millisecond_and_after_a_clock_was_set_back() {
    let clock = TestClock::at(1_700_000_000_000);
    let own = Arc::clone(&clock) as Arc<dyn Clock>;
    let builder = Repository::builder(MemoryStore::new()).manual_maintenance().clock(own);
    let repository = builder.open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    let other = repository.create_page("other", PageId::ROOT).unwrap();
    let mut last = CommitTime::default();
    let mut commit = |page: &Page, branch: &str, round: u64| {
        // It may be there.
        let _ = page.create_branch(branch, &CommitId::FIRST);
        let id = put(&page.branching_database(branch).unwrap(), b"key", &round.to_be_bytes());
        let time = page.commit(&id).unwrap().unwrap().time;
        assert!(time > last, "round {round}: {time}, after {last}");
        last = time;
    };
    for round in 0..40 {
        let branch = ["one", "two", MAIN][round as usize % 3];
        commit(if round % 4 == 3 { &other } else { &page }, branch, round);
        if round == 20 {
            clock.set_back(Duration::from_millis(23 * 60 * 60 * 1_000));
        }
    }
    let theirs = page.head("two").unwrap();
    let merge = page.merge("one", &theirs, &mut LastWriterWins).unwrap();
    let [merged, later] = [merge, theirs].map(|id| page.snapshot(&id).unwrap());
    assert_eq!(merged.get(b"key").unwrap(), later.get(b"key").unwrap());
    // A clock that was wrong by days has the right times afterwards.
    clock.set(1_600_000_000_000);
    page.create_branch("three", &CommitId::FIRST).unwrap();
    let id = put(&page.branching_database("three").unwrap(), b"key", b"");
    assert_eq!(page.commit(&id).unwrap().unwrap().time.as_millis(), 1_600_000_000_000);
}

#[test]
fn what_a_handle_has_written_does_not_vanish_because_history_ends_before_it() {
    let clock = TestClock::at(1_000_000);
    let host = MemoryStore::new();
    let open = || {
        let own = Arc::clone(&clock) as Arc<dyn Clock>;
        Repository::builder(host.clone())
            .exclusive()
            .manual_maintenance()
            .clock(own)
            .open_or_create()
            .unwrap()
    };
    let page = open().create_page("test", PageId::ROOT).unwrap();
    let [ann, bob, cid] = [(); 3].map(|()| page.branching_database(MAIN).unwrap());
    for number in 0..8_u8 {
        put(&cid, &[number], b"");
    }
    // A branch from the beginning.
    page.create_branch("side", &CommitId::FIRST).unwrap();
    let side = put(&page.branching_database("side").unwrap(), b"side", b"");
    let mut of_bob = bob.begin(&TxOptions::writing()).unwrap();
    // A clock that is set back by less than a day still gives later times.
    clock.set(100_000_000);
    put(&ann, b"ann", b"");
    put(&cid, b"cid", b"");
    let merge = page.merge(MAIN, &side, &mut LastWriterWins).unwrap();
    page.remove_branch("side").unwrap();
    page.set_retention(Retention::Last(5)).unwrap();
    // A process that takes this one for dead does not keep the commits that the open transaction
    // needs.
    open().page("test", PageId::ROOT).unwrap().collect().unwrap();
    assert!(page.commit(&side).is_err());
    // The head that `bob` makes is older than the merge, so each new handle begins there.
    clock.set(1_000_000);
    of_bob.put(b"bob", b"").unwrap();
    of_bob.commit().unwrap();
    assert_eq!(page.heads(MAIN).unwrap(), [bob.commit(), merge]);
    assert!(keys(&ann).contains(&"ann".to_owned()));
    assert_eq!(ann.commit(), merge);
}

#[test]
fn after_a_reset_a_transaction_runs_again() {
    let page = new_page(&MemoryStore::new());
    let db = page.branching_database(MAIN).unwrap();
    let first = put(&db, b"1", b"");
    put(&db, b"2", b"");
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.put(b"3", b"").unwrap();
    page.reset(MAIN, &first).unwrap();
    let error = tx.commit().unwrap_err();
    assert!(error.is_retryable(), "{error}");
    assert_eq!(keys(&db), ["1"]);
    assert_eq!(page.heads(MAIN).unwrap(), [first]);
    page.remove_branch(MAIN).unwrap();
    let Err(error) = db.begin(&TxOptions::reading()) else { panic!("no branch") };
    assert!(matches!(LedgerError::from(error), LedgerError::NoSuch { .. }));
}

#[test]
fn watched_keys_are_told_of_own_changes_and_of_merges() {
    let page = new_page(&MemoryStore::new());
    let (ann, bob) =
        (page.branching_database(MAIN).unwrap(), page.branching_database(MAIN).unwrap());
    let watch = |key: &[u8]| ann.begin(&TxOptions::reading()).unwrap().watch(key).unwrap();
    let [own, other, never] = [&b"ann"[..], b"bob", b"never"].map(watch);
    let mut of_bob = bob.begin(&TxOptions::writing()).unwrap();
    put(&ann, b"ann", b"");
    assert!(own.is_changed().unwrap());
    of_bob.put(b"bob", b"").unwrap();
    of_bob.commit().unwrap();
    // It is on another head.
    assert!(!other.is_changed().unwrap());
    page.merge_heads(MAIN, &mut LastWriterWins).unwrap();
    assert!(other.wait_timeout(Duration::from_secs(60)).unwrap());
    assert!(!never.is_changed().unwrap());
    // A merge made while a transaction is open shows when the transaction ends.
    let (third, tx) = (watch(b"third"), ann.begin(&TxOptions::writing()).unwrap());
    put(&bob, b"third", b"");
    drop(tx);
    assert!(third.wait_timeout(Duration::from_secs(60)).unwrap());
}

#[derive(PermazenObject, Default)]
struct Contact {
    #[permazen(indexed)]
    name: String,
    phone: Option<String>,
}

#[test]
fn object_databases_on_two_handles_merge_their_objects() {
    let page = new_page(&MemoryStore::new());
    let open = || {
        let db = page.branching_database(MAIN).unwrap();
        Permazen::builder(db).model::<Contact>().build().unwrap()
    };
    let office = open();
    let contact = |name: &str| Contact { name: name.to_owned(), ..Contact::default() };
    let ann = office.write(|tx| Ok(tx.create(contact("Ann"))?.to_ref())).unwrap();
    let travel = open();
    // The transaction of the one is open while the other commits.
    office
        .write(|tx| {
            travel.write(|tx| tx.get(ann)?.set_phone("555-0101"))?;
            tx.create(contact("Bob")).map(drop)
        })
        .unwrap();
    assert_eq!(page.heads(MAIN).unwrap().len(), 2);
    let count = |db: &Permazen| db.read(|tx| tx.all::<Contact>()?.count()).unwrap();
    assert_eq!((count(&office), count(&travel)), (2, 1));
    assert_eq!(office.read(|tx| tx.get(ann)?.phone()).unwrap(), None);
    page.merge_heads(MAIN, &mut LastWriterWins).unwrap();
    assert_eq!(count(&travel), 2);
    assert_eq!(office.read(|tx| tx.get(ann)?.phone()).unwrap().as_deref(), Some("555-0101"));
}

/// A host that is busy three times, and notes how long it may be waited for.
#[derive(Clone, Default)]
struct Busy {
    store: MemoryStore,
    waits: Arc<Mutex<Option<Vec<Option<Duration>>>>>,
}

impl KvDatabase for Busy {
    fn begin(&self, options: &TxOptions) -> permazen_kv::Result<Box<dyn KvTransaction + Send>> {
        // Before a pause, it is asked without waiting whether another attempt is in vain.
        let is_attempt = !options.read_only && options.wait != Some(Duration::ZERO);
        if let Some(waits) = self.waits.lock().unwrap().as_mut().filter(|_| is_attempt) {
            waits.push(options.wait);
            if waits.len() < 4 {
                return Err(KvError::Retry("the host is busy, as the test wants".to_owned()));
            }
        }
        self.store.begin(options)
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }
}

#[test]
fn a_commit_that_is_tried_again_does_not_wait_longer_than_it_may() {
    let host = Busy::default();
    let repository =
        Repository::builder(host.clone()).manual_maintenance().open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    let db = page.branching_database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.put(b"a", b"").unwrap();
    *host.waits.lock().unwrap() = Some(Vec::new());
    tx.commit().unwrap();
    let waits = host.waits.lock().unwrap().take().unwrap();
    assert!(waits.is_sorted_by(|before, after| before > after), "{waits:?}");
}
