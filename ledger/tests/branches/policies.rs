//! Heads that are merged without being asked: on threads, with resolvers that do not return, and by
//! policies that change meanwhile.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use permazen_kv::fault::FaultStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvError, KvRead, KvWrite, TxOptions};
use permazen_ledger::{
    Fallback, KeyClass, LedgerError, MAIN, MergeFactory, MergePolicy, MergeResult, MergeWait,
    Merged, Merger, Page, PageId, PageSnapshot, Repository, Resolver, Result, TimeLimit,
    WholeRanges,
};

use crate::support::clock::TestClock;

const LONG: Duration = Duration::from_secs(60);

type Decide = dyn Fn(&MergeResult) -> Result<()> + Send + Sync;

/// A factory and its resolver.
struct Says {
    policy: MergePolicy,
    limit: TimeLimit,
    calls: AtomicU64,
    decide: Box<Decide>,
    merger: fn() -> Box<dyn Merger>,
}

impl Says {
    fn new(
        policy: MergePolicy,
        limit: Option<Duration>,
        decide: impl Fn(&MergeResult) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        let limit = TimeLimit { limit, fallback: Fallback::LastWriterWins };
        let (calls, decide) = (AtomicU64::new(0), Box::new(decide));
        Says { policy, limit, calls, decide, merger: || Box::new(permazen_ledger::LastWriterWins) }
    }
}

struct Given(Arc<Says>);

impl MergeFactory for Given {
    fn policy(&self, _: &str, _: &PageId) -> MergePolicy {
        self.0.policy
    }

    fn resolver(&self, _: &str, _: &PageId) -> Result<Arc<dyn Resolver>> {
        Ok(Arc::new(Given(Arc::clone(&self.0))))
    }

    fn time_limit(&self, _: &str, _: &PageId) -> TimeLimit {
        self.0.limit
    }

    fn merger(&self, _: &str, _: &PageId) -> Box<dyn Merger> {
        (self.0.merger)()
    }
}

impl Resolver for Given {
    fn resolve(
        &self,
        _: &PageSnapshot,
        _: &PageSnapshot,
        _: &PageSnapshot,
        result: &MergeResult,
    ) -> Result<()> {
        self.0.calls.fetch_add(1, Ordering::Relaxed);
        (self.0.decide)(result)
    }
}

/// A repository whose thread does nothing.
fn by_hand() -> (Repository, Page) {
    let repository =
        Repository::builder(MemoryStore::new()).manual_maintenance().open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    (repository, page)
}

fn put(tx: &mut dyn KvWrite, pairs: &[(&str, &str)]) {
    pairs.iter().for_each(|(key, value)| tx.put(key.as_bytes(), value.as_bytes()).unwrap());
}

/// Two commits at one time make two heads.
fn diverge(page: &Page, older: &[(&str, &str)], newer: &[(&str, &str)]) {
    let both = [(); 2].map(|()| page.branching_database(MAIN).unwrap());
    let mut open = both.each_ref().map(|db| db.begin(&TxOptions::writing()).unwrap());
    put(&mut *open[0], older);
    put(&mut *open[1], newer);
    for tx in open {
        tx.commit().unwrap();
    }
}

fn content(page: &Page) -> Vec<(String, Vec<u8>)> {
    let snapshot = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
    let pairs = snapshot.scan(KeySpan::FULL, Direction::Forward).unwrap();
    let strings = |pair: permazen_kv::Result<permazen_kv::Pair<'_>>| {
        let (key, value) = pair.unwrap();
        (String::from_utf8(key.to_vec()).unwrap(), value.to_vec())
    };
    pairs.map(strings).collect()
}

fn keys(page: &Page) -> Vec<String> {
    content(page).into_iter().map(|(key, _)| key).collect()
}

/// Waits until the other side says so.
fn gate() -> (Sender<()>, Mutex<Receiver<()>>) {
    let (open, wait) = channel();
    (open, Mutex::new(wait))
}

#[test]
fn heads_are_merged_on_a_thread() {
    let repository = Repository::open_or_create(MemoryStore::new()).unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    for round in 0..20 {
        let (one, two) = (format!("{round} one"), format!("{round} two"));
        diverge(&page, &[(&one, "")], &[(&two, "")]);
        assert_ne!(page.wait_for_merges(LONG).unwrap(), MergeWait::TimedOut);
        assert_eq!(keys(&page).len(), 2 * (round + 1));
    }
    assert!(page.verify().unwrap().findings.is_empty());
}

#[test]
fn heads_that_are_there_are_merged_when_a_page_is_opened() {
    let host = MemoryStore::new();
    {
        let repository =
            Repository::builder(host.clone()).manual_maintenance().open_or_create().unwrap();
        let page = repository.create_page("test", PageId::ROOT).unwrap();
        diverge(&page, &[("a", "")], &[("b", "")]);
        assert!(page.has_unfinished_merges().unwrap());
    }
    let page = Repository::open(host).unwrap().page("test", PageId::ROOT).unwrap();
    assert_ne!(page.wait_for_merges(LONG).unwrap(), MergeWait::TimedOut);
    assert_eq!(keys(&page), ["a", "b"]);
}

#[test]
fn handles_on_many_threads_end_in_one_head() {
    let repository = Repository::open_or_create(MemoryStore::new()).unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    thread::scope(|scope| {
        for thread in 0..4 {
            let db = page.branching_database(MAIN).unwrap();
            scope.spawn(move || {
                for round in 0..25 {
                    let mut tx = db.begin(&TxOptions::writing()).unwrap();
                    put(&mut *tx, &[(&format!("{thread} {round}"), "")]);
                    tx.commit().unwrap();
                }
            });
        }
    });
    assert_ne!(page.wait_for_merges(LONG).unwrap(), MergeWait::TimedOut);
    assert_eq!(keys(&page).len(), 100);
    assert!(page.verify().unwrap().findings.is_empty());
}

#[test]
fn two_processes_merge_the_same_heads() {
    let host = MemoryStore::new();
    let open = || {
        let repository = Repository::open_or_create(host.clone()).unwrap();
        let page = repository.page_or_create("test", PageId::ROOT).unwrap();
        (repository, page)
    };
    let both = [open(), open()];
    thread::scope(|scope| {
        for (n, (_, page)) in both.iter().enumerate() {
            let db = page.branching_database(MAIN).unwrap();
            scope.spawn(move || {
                for round in 0..30 {
                    let mut tx = db.begin(&TxOptions::writing()).unwrap();
                    put(&mut *tx, &[(&format!("{n} {round}"), "")]);
                    tx.commit().unwrap();
                }
            });
        }
    });
    for (_, page) in &both {
        assert_ne!(page.wait_for_merges(LONG).unwrap(), MergeWait::TimedOut);
        assert_eq!(keys(page).len(), 60);
        assert!(page.verify().unwrap().findings.is_empty());
    }
}

#[test]
fn a_host_that_fails_anywhere_loses_nothing() {
    for n in 1.. {
        let host = MemoryStore::new();
        let failing = FaultStore::new(host);
        let faults = failing.faults();
        let repository =
            Repository::builder(failing).manual_maintenance().open_or_create().unwrap();
        let page = repository.create_page("test", PageId::ROOT).unwrap();
        let handles = [(); 3].map(|()| page.branching_database(MAIN).unwrap());
        faults.fail_nth(n, || KvError::Stale("broken".into()));
        let mut made = Vec::new();
        // All that begin do so with the first commit.
        let open = handles.each_ref().map(|db| db.begin(&TxOptions::writing()));
        for (tx, key) in open.into_iter().zip(["a", "b", "c"]) {
            let Ok(mut tx) = tx else {
                assert_eq!(faults.hits(), 1);
                continue;
            };
            put(&mut *tx, &[(key, "")]);
            if tx.commit().is_ok() {
                made.push(key);
            }
        }
        let merged = page.merge_by_policy();
        let hits = faults.hits();
        faults.fail_nth(u64::MAX, || KvError::Stale("never".into()));
        // One operation fails, so at most one of them does.
        assert!(made.len() >= 2, "operation {n}: {made:?}");
        let mut left = Vec::new();
        for head in page.heads(MAIN).unwrap() {
            let snapshot = page.snapshot(&head).unwrap();
            let found = snapshot.scan(KeySpan::FULL, Direction::Forward).unwrap();
            left.extend(found.map(|pair| pair.unwrap().0.to_vec()));
        }
        for key in &made {
            assert!(left.contains(&key.as_bytes().to_vec()), "operation {n}: {key}");
        }
        assert!(page.verify().unwrap().findings.is_empty(), "operation {n}");
        assert!(page.merge_by_policy().unwrap());
        assert_eq!(keys(&page), made, "operation {n}");
        if hits == 0 {
            assert!(merged.unwrap());
            assert_eq!(made.len(), 3);
            break;
        }
    }
}

/// Heads that a merger refuses to merge with each other do not keep a third one from being merged.
#[test]
fn a_refused_pair_holds_up_no_other_head() {
    let (repository, page) = by_hand();
    let mut says = Says::new(MergePolicy::Merger, None, |_| Ok(()));
    says.merger = || {
        let span = KeySpan::new(b"t", Some(b"u"));
        Box::new(WholeRanges::new(permazen_ledger::LastWriterWins, &[span], "no mix"))
    };
    let _registration = repository.add_merge_factory(Arc::new(Given(Arc::new(says))));
    let all = [(); 3].map(|()| page.branching_database(MAIN).unwrap());
    let mut open = all.each_ref().map(|db| db.begin(&TxOptions::writing()).unwrap());
    for (tx, key) in open.iter_mut().zip(["t one", "t two", "other"]) {
        put(&mut **tx, &[(key, "")]);
    }
    for tx in open {
        tx.commit().unwrap();
        // Heads are merged in the order of their times: those that are refused come first.
        thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(page.heads(MAIN).unwrap().len(), 3);
    let error = page.merge_by_policy().unwrap_err();
    assert!(matches!(error, LedgerError::CannotMerge { .. }), "{error}");
    let heads = page.heads(MAIN).unwrap();
    assert_eq!(heads.len(), 2);
    let has = |head| page.snapshot(head).unwrap().get(b"other").unwrap().is_some();
    assert_eq!(heads.iter().filter(|head| has(head)).count(), 1);
}

#[test]
fn a_closed_page_keeps_no_thread_that_waits() {
    let host = MemoryStore::new();
    let repository = Repository::open_or_create(host).unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    let says =
        Says::new(MergePolicy::Custom, None, |result| result.set(b"no such key", Merged::Older));
    let says = Arc::new(says);
    let registration = repository.add_merge_factory(Arc::new(Given(Arc::clone(&says))));
    diverge(&page, &[("a", "")], &[("b", "")]);
    // Each attempt fails and is tried again later.
    while says.calls.load(Ordering::Relaxed) < 3 {
        thread::yield_now();
    }
    assert_eq!(page.heads(MAIN).unwrap().len(), 2);
    drop((page, registration));
    drop(repository);
    // The thread may still run, but in the end it drops the factory.
    while Arc::strong_count(&says) > 1 {
        thread::yield_now();
    }
}

#[test]
fn after_the_time_limit_the_last_writer_wins() {
    let (repository, page) = by_hand();
    let (open, wait) = gate();
    let (late, ended) = channel();
    let says = Says::new(MergePolicy::Custom, Some(Duration::from_millis(1)), move |result| {
        wait.lock().unwrap().recv().unwrap();
        let _ = late.send(result.set(b"key", Merged::New(b"late")));
        let _ = late.send(result.done());
        Ok(())
    });
    let says = Arc::new(says);
    let _registration = repository.add_merge_factory(Arc::new(Given(Arc::clone(&says))));
    diverge(&page, &[("key", "older"), ("a", "")], &[("key", "newer")]);
    assert!(page.merge_by_policy().unwrap());
    assert_eq!(keys(&page), ["a", "key"]);
    let head = page.commit(&page.head(MAIN).unwrap()).unwrap().unwrap();
    assert_eq!(head.parents().len(), 2);
    // Its thread may begin late.
    while says.calls.load(Ordering::Relaxed) == 0 {
        thread::yield_now();
    }
    // The call has not returned, so the resolver is not called again, and nothing waits for it.
    diverge(&page, &[("b", "")], &[("c", "")]);
    assert!(page.merge_by_policy().unwrap());
    assert_eq!(keys(&page), ["a", "b", "c", "key"]);
    assert_eq!(says.calls.load(Ordering::Relaxed), 1);
    // Its decisions have no effect now.
    let before = content(&page);
    open.send(()).unwrap();
    for _ in 0..2 {
        let error = ended.recv().unwrap().unwrap_err();
        let LedgerError::MergeEnded { page, commits, .. } = &error else { panic!("{error}") };
        assert_eq!((*page, commits.len()), (1, 2));
        let (newer, older) = (commits[0], commits[1]);
        let text = format!(
            "the merge of commits {newer} and {older} of page 1 has ended: its time limit has passed"
        );
        assert_eq!(error.to_string(), text);
    }
    assert_eq!(content(&page), before);
}

#[test]
fn without_a_fallback_heads_wait_for_the_resolver() {
    let (repository, page) = by_hand();
    let (open, wait) = gate();
    let (tell, told) = channel();
    let mut says = Says::new(MergePolicy::Custom, Some(Duration::from_millis(1)), move |result| {
        wait.lock().unwrap().recv().unwrap();
        let _ = result.take_rest().and_then(|()| result.done());
        tell.send(()).unwrap();
        Ok(())
    });
    says.limit.fallback = Fallback::Nothing;
    let _registration = repository.add_merge_factory(Arc::new(Given(Arc::new(says))));
    diverge(&page, &[("a", "")], &[("b", "")]);
    for _ in 0..2 {
        let error = page.merge_by_policy().unwrap_err();
        let LedgerError::Resolver { page: number, commits, .. } = &error else { panic!("{error}") };
        let mut heads = page.heads(MAIN).unwrap();
        heads.reverse();
        assert_eq!((*number, commits), (1, &heads));
        let [newer, older] = heads[..] else { panic!("{heads:?}") };
        assert_eq!(
            error.to_string(),
            format!(
                "commits {newer} and {older} of page 1 were not merged: \
                 the resolver has not decided in time"
            )
        );
    }
    open.send(()).unwrap();
    told.recv().unwrap();
    // Now it comes back at once, sooner or later within the limit.
    for _ in 0..1_000 {
        open.send(()).unwrap();
    }
    while !page.merge_by_policy().unwrap_or(false) {
        thread::yield_now();
    }
    assert_eq!(keys(&page), ["a", "b"]);
}

#[test]
fn another_policy_ends_the_merge_that_is_being_decided() {
    let (repository, page) = by_hand();
    let (tell, told) = channel();
    let (open, wait) = gate();
    let (late, ended) = channel();
    let says = Says::new(MergePolicy::Custom, None, move |result| {
        tell.send(()).unwrap();
        wait.lock().unwrap().recv().unwrap();
        late.send(result.done()).unwrap();
        Ok(())
    });
    let first = repository.add_merge_factory(Arc::new(Given(Arc::new(says))));
    let then = Says::new(MergePolicy::LastWriterWins, None, |_| panic!("it is not asked"));
    let _then = repository.add_merge_factory(Arc::new(Given(Arc::new(then))));
    diverge(&page, &[("a", "")], &[("b", "")]);
    thread::scope(|scope| {
        let merging = scope.spawn(|| page.merge_by_policy().unwrap());
        told.recv().unwrap();
        drop(first);
        // The new one has merged, and the old resolver is still there.
        assert!(merging.join().unwrap());
        open.send(()).unwrap();
    });
    assert!(matches!(ended.recv().unwrap(), Err(LedgerError::MergeEnded { .. })));
    assert_eq!(keys(&page), ["a", "b"]);
}

#[test]
fn a_resolver_may_use_the_page() {
    let (repository, page) = by_hand();
    let inside: Arc<Mutex<Option<Page>>> = Arc::default();
    let of_resolver = Arc::clone(&inside);
    let again = repository.clone();
    let says = Says::new(MergePolicy::Custom, None, move |result| {
        let page = of_resolver.lock().unwrap().clone().unwrap();
        // It is called while no lock is held.
        assert!(page.has_unfinished_merges()?);
        assert!(matches!(page.merge_by_policy(), Err(LedgerError::Busy { .. })));
        assert_eq!(page.wait_for_merges(Duration::ZERO)?, MergeWait::TimedOut);
        again.page("test", PageId::ROOT)?;
        again.maintain()?;
        drop(again.add_merge_factory(Arc::new(Given(Arc::new(Says::new(
            MergePolicy::None,
            None,
            |_| Ok(()),
        ))))));
        page.create_branch("other", &page.heads(MAIN)?[0])?;
        let db = page.database("other")?;
        let mut tx = db.begin(&TxOptions::writing())?;
        tx.put(b"other", b"")?;
        tx.commit()?;
        result.take_rest()?;
        result.done()
    });
    let _registration = repository.add_merge_factory(Arc::new(Given(Arc::new(says))));
    *inside.lock().unwrap() = Some(page.clone());
    diverge(&page, &[("a", "")], &[("b", "")]);
    assert!(page.merge_by_policy().unwrap());
    assert_eq!(keys(&page), ["a", "b"]);
    inside.lock().unwrap().take();
}

#[test]
fn another_thread_may_decide_later() {
    let (repository, page) = by_hand();
    let (give, given) = channel();
    let says = Says::new(MergePolicy::Custom, None, move |result| {
        give.send(result.clone()).unwrap();
        Ok(())
    });
    let _registration = repository.add_merge_factory(Arc::new(Given(Arc::new(says))));
    diverge(&page, &[("a", "1")], &[("b", "2")]);
    thread::scope(|scope| {
        scope.spawn(move || {
            let result = given.recv().unwrap();
            let all: Vec<_> = result.changes(b"").unwrap().map(Result::unwrap).collect();
            assert_eq!(all.len(), 2);
            result.take_rest().unwrap();
            result.done().unwrap();
        });
        assert!(page.merge_by_policy().unwrap());
    });
    assert_eq!(keys(&page), ["a", "b"]);
}

/// Keys with `#` are counters, and "count" is how many keys there are.
struct Counting;

impl Merger for Counting {
    fn class(&self, key: &[u8]) -> KeyClass {
        match key {
            b"count" => KeyClass::Derived,
            [b'#', ..] => KeyClass::Counter,
            _ => KeyClass::Value,
        }
    }

    fn has_derived(&self) -> bool {
        true
    }

    fn finish(&mut self, merged: &mut dyn KvWrite) -> Result<()> {
        merged.remove(b"count")?;
        let count = merged.scan(KeySpan::FULL, Direction::Forward)?.count();
        Ok(merged.put(b"count", &[count as u8])?)
    }
}

#[test]
fn counters_and_what_is_derived_are_no_conflicts_whatever_the_policy() {
    let policies = [
        MergePolicy::LastWriterWins,
        MergePolicy::Merger,
        MergePolicy::AutomaticWithFallback,
        MergePolicy::Custom,
    ];
    for policy in policies {
        let (repository, page) = by_hand();
        let mut says = Says::new(policy, None, |result| {
            assert_eq!(result.conflicts(b"")?.count(), 0);
            let keys = result.changes(b"")?.map(|change| change.map(|change| change.key));
            let keys: Vec<Vec<u8>> = keys.collect::<Result<_>>()?;
            assert_eq!(keys, [&b"#sum"[..], b"a", b"b"]);
            result.take_rest()?;
            result.done()
        });
        says.merger = || Box::new(Counting);
        let says = Arc::new(says);
        let _registration = repository.add_merge_factory(Arc::new(Given(Arc::clone(&says))));
        let number = |n: i64| n.to_be_bytes();
        let both = [(); 2].map(|()| page.branching_database(MAIN).unwrap());
        let mut tx = both[0].begin(&TxOptions::writing()).unwrap();
        tx.put(b"#sum", &number(10)).unwrap();
        tx.put(b"count", &[1]).unwrap();
        tx.commit().unwrap();
        let mut open = both.each_ref().map(|db| db.begin(&TxOptions::writing()).unwrap());
        for (tx, (key, by)) in open.iter_mut().zip([("a", 5), ("b", 7)]) {
            tx.adjust_counter(b"#sum", by).unwrap();
            tx.put(key.as_bytes(), b"").unwrap();
            tx.put(b"count", &[2]).unwrap();
        }
        for tx in open {
            tx.commit().unwrap();
        }
        assert!(page.merge_by_policy().unwrap());
        let expected = [("#sum", &number(22)[..]), ("a", b""), ("b", b""), ("count", &[3])];
        let expected = expected.map(|(key, value)| (key.to_owned(), value.to_vec()));
        assert_eq!(content(&page), expected, "{policy:?}");
        let asked = u64::from(policy == MergePolicy::Custom);
        assert_eq!(says.calls.load(Ordering::Relaxed), asked, "{policy:?}");
    }
}

/// Decides when the test allows it.
fn waiting(policy: MergePolicy) -> (Says, Receiver<()>, Sender<()>) {
    let ((called, is_called), (go, may_go)) = (channel(), channel());
    let may_go = Mutex::new(may_go);
    let says = Says::new(policy, None, move |result| {
        called.send(()).unwrap();
        let _ = may_go.lock().unwrap().recv_timeout(LONG);
        // It may be over by now.
        let _ = result.done();
        Ok(())
    });
    (says, is_called, go)
}

#[test]
fn a_policy_that_changes_again_is_not_delayed_by_a_resolver_that_does_not_return() {
    let (repository, page) = by_hand();
    let (first, is_called, go) = waiting(MergePolicy::Custom);
    let first = repository.add_merge_factory(Arc::new(Given(Arc::new(first))));
    // The second one may not be asked before the first has come back, and has no limit.
    let second = Says::new(MergePolicy::Custom, None, MergeResult::done);
    let second = Arc::new(second);
    let registered = repository.add_merge_factory(Arc::new(Given(Arc::clone(&second))));
    let third = Says::new(MergePolicy::LastWriterWins, None, MergeResult::done);
    let _third = repository.add_merge_factory(Arc::new(Given(Arc::new(third))));
    diverge(&page, &[("a", "1")], &[("b", "2")]);
    let (told, ended) = channel();
    let merging = page.clone();
    let thread = thread::spawn(move || told.send(merging.merge_by_policy().map(drop)).unwrap());
    is_called.recv_timeout(LONG).unwrap();
    drop(first);
    drop(registered);
    // Without a change of the policy, it would wait for the first one.
    ended.recv_timeout(LONG / 2).unwrap().unwrap();
    assert_eq!(keys(&page), ["a", "b"]);
    assert_eq!(second.calls.load(Ordering::Relaxed), 0);
    go.send(()).unwrap();
    thread.join().unwrap();
}

/// Changes the policy within the call that asks for the class of a key.
struct Changing(fn());

impl Merger for Changing {
    fn class(&self, _: &[u8]) -> KeyClass {
        (self.0)();
        KeyClass::Value
    }
}

#[test]
fn a_policy_that_changes_before_the_resolver_is_called_calls_it_no_more() {
    static REGISTRATION: Mutex<Option<permazen_ledger::MergeFactoryRegistration>> =
        Mutex::new(None);
    let (repository, page) = by_hand();
    let mut says = Says::new(MergePolicy::AutomaticWithFallback, None, MergeResult::done);
    says.merger = || Box::new(Changing(|| drop(REGISTRATION.lock().unwrap().take())));
    let says = Arc::new(says);
    let given = Arc::new(Given(Arc::clone(&says)));
    *REGISTRATION.lock().unwrap() = Some(repository.add_merge_factory(given));
    let next = Says::new(MergePolicy::LastWriterWins, None, MergeResult::done);
    let _next = repository.add_merge_factory(Arc::new(Given(Arc::new(next))));
    diverge(&page, &[("a", "1"), ("b", "1")], &[("a", "2"), ("c", "2")]);
    // It is asked whether there is a conflict.
    page.merge_by_policy().unwrap();
    assert!(REGISTRATION.lock().unwrap().is_none());
    assert_eq!(says.calls.load(Ordering::Relaxed), 0);
    assert_eq!(keys(&page), ["a", "b", "c"]);
}

#[test]
fn heads_that_come_while_others_are_merged_are_not_forgotten() {
    let repository =
        Repository::builder(MemoryStore::new()).manual_maintenance().clock(TestClock::at(60_000));
    let repository = repository.open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    let (says, is_called, go) = waiting(MergePolicy::Custom);
    let says = repository.add_merge_factory(Arc::new(Given(Arc::new(says))));
    let first = Says::new(MergePolicy::LastWriterWins, None, MergeResult::done);
    let _first = repository.add_merge_factory(Arc::new(Given(Arc::new(first))));
    diverge(&page, &[("a", "1")], &[("b", "2")]);
    let merging = page.clone();
    let thread = thread::spawn(move || merging.merge_by_policy().map(drop));
    is_called.recv_timeout(LONG).unwrap();
    // Two merges of the same commits, and a change of this process, on another branch.
    let base = page.heads(MAIN).unwrap()[0];
    let on = |branch: &str, at: &permazen_ledger::CommitId, key: &str| {
        page.create_branch(branch, at).unwrap();
        let db = page.database(branch).unwrap();
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        put(&mut *tx, &[(key, branch)]);
        tx.commit().unwrap();
        page.head(branch).unwrap()
    };
    let (one, other) = (on("one", &base, "x"), on("other", &base, "x"));
    struct Older;
    impl Merger for Older {
        fn resolve(
            &mut self,
            _: &permazen_ledger::Conflict<'_>,
        ) -> Result<permazen_ledger::Resolution> {
            Ok(permazen_ledger::Resolution::Older)
        }
    }
    let merges = [
        page.merge("one", &other, &mut permazen_ledger::LastWriterWins).unwrap(),
        page.merge("other", &one, &mut Older).unwrap(),
    ];
    // The two oldest heads are merges, which wait if others have made them.
    page.create_branch("all", &one).unwrap();
    let db = page.branching_database("all").unwrap();
    let mut own = db.begin(&TxOptions::writing()).unwrap();
    put(&mut *own, &[("y", "1")]);
    merges.iter().for_each(|merge| page.add_head("all", merge).unwrap());
    own.commit().unwrap();
    assert_eq!(page.heads("all").unwrap().len(), 3);
    // Another thread merges, so this does nothing yet.
    repository.maintain().unwrap();
    assert_eq!(page.heads("all").unwrap().len(), 3);
    // It is asked about both branches.
    (0..2).for_each(|_| go.send(()).unwrap());
    thread.join().unwrap().unwrap();
    // The callers are known, so the merge does not wait for other ones.
    repository.maintain().unwrap();
    assert_eq!(page.heads("all").unwrap().len(), 1);
    // A change of the policy would merge all heads too.
    drop(says);
}
