//! Watchers, and the watches of databases on a branch. The numbers are those of the ledger's table
//! of behaviours.
//!
//! `PERMAZEN_WATCHES` sets how many random histories are followed.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use permazen_kv::fault::FaultStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvError, KvRead, KvWrite, TxOptions};
use permazen_ledger::{
    CommitId, LastWriterWins, LedgerError, MAIN, NewValue, Notification, NotificationPart, Page,
    PageId, Repository, Retention, Watcher,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::page::Map;

/// Long enough for every machine. A test waits this long only if something is wrong.
pub(crate) const LONG: Duration = Duration::from_secs(60);

fn new_page() -> (MemoryStore, Page) {
    let host = MemoryStore::new();
    let repository = Repository::open_or_create(host.clone()).unwrap();
    (host, repository.create_page("test", PageId::ROOT).unwrap())
}

/// As another process: it shares nothing but the host.
fn other_handle(host: &MemoryStore) -> Page {
    Repository::open(host.clone()).unwrap().page("test", PageId::ROOT).unwrap()
}

fn change(page: &Page, branch: &str, pairs: &[(&[u8], Option<&[u8]>)]) -> CommitId {
    let db = page.database(branch).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    for (key, value) in pairs {
        match value {
            Some(value) => tx.put(key, value).unwrap(),
            None => tx.remove(key).unwrap(),
        }
    }
    tx.commit().unwrap();
    page.head(branch).unwrap()
}

fn content(read: &dyn KvRead, prefix: &[u8]) -> Map {
    let end = permazen_kv::key::after_prefix(prefix);
    let pairs = read.scan(KeySpan::new(prefix, end.as_deref()), Direction::Forward).unwrap();
    pairs.map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap()).collect()
}

pub(crate) fn told(watcher: &mut Watcher) -> Notification {
    watcher.next(LONG).unwrap().unwrap()
}

fn nothing(watcher: &mut Watcher) {
    assert_eq!(watcher.next(Duration::ZERO).unwrap(), None);
}

pub(crate) fn keys(notification: &Notification) -> Vec<&[u8]> {
    notification.updates.iter().map(|update| &*update.key).collect()
}

#[test]
fn t097_other_prefixes_are_not_told_and_passed() {
    let (_, page) = new_page();
    let mut watcher = page.watch(MAIN, b"a").unwrap();
    let commit = change(&page, MAIN, &[(b"b1", Some(b""))]);
    nothing(&mut watcher);
    assert_eq!(watcher.commit(), commit);
}

#[test]
fn t098_what_is_committed_before_it_is_asked_for_comes_together() {
    let (_, page) = new_page();
    let mut watcher = page.watch(MAIN, b"").unwrap();
    change(&page, MAIN, &[(b"1", Some(b""))]);
    assert_eq!(keys(&told(&mut watcher)), [b"1"]);
    change(&page, MAIN, &[(b"2", Some(b"")), (b"3", Some(b""))]);
    let last = change(&page, MAIN, &[(b"2", None), (b"4", Some(b""))]);
    let notification = told(&mut watcher);
    assert_eq!(keys(&notification), [b"3", b"4"]);
    assert_eq!((notification.commit, notification.part), (last, NotificationPart::Whole));
    nothing(&mut watcher);
}

#[test]
fn t099_large_changes_come_in_parts() {
    let (_, page) = new_page();
    let mut watcher = page.watch(MAIN, b"").unwrap();
    let value = [7; 60_000];
    let names: Vec<_> = (0..50_u8).map(|name| [name]).collect();
    let pairs: Vec<(&[u8], _)> = names.iter().map(|name| (&name[..], Some(&value[..]))).collect();
    let commit = change(&page, MAIN, &pairs);
    let mut parts = Vec::new();
    let mut all = Vec::new();
    while let Some(notification) = watcher.next(Duration::ZERO).unwrap() {
        assert_eq!(notification.commit, commit);
        parts.push(notification.part);
        all.extend(notification.updates.into_iter().map(|update| update.key[0]));
    }
    assert_eq!(
        parts,
        [NotificationPart::Started, NotificationPart::Continued, NotificationPart::Completed]
    );
    assert_eq!(all, (0..50).collect::<Vec<_>>());
}

#[test]
fn t100_a_transaction_is_one_notification() {
    let (_, page) = new_page();
    let mut watcher = page.watch(MAIN, b"").unwrap();
    change(&page, MAIN, &[(b"a", Some(b"1")), (b"b", Some(b"2")), (b"c", Some(b"3"))]);
    assert_eq!(keys(&told(&mut watcher)), [b"a", b"b", b"c"]);
}

#[test]
fn t104_other_branches_are_told_once_a_merge_brings_them() {
    let (_, page) = new_page();
    change(&page, MAIN, &[(b"base", Some(b""))]);
    page.create_branch("side", &page.head(MAIN).unwrap()).unwrap();
    let mut watcher = page.watch(MAIN, b"").unwrap();
    let side = change(&page, "side", &[(b"side", Some(b""))]);
    nothing(&mut watcher);
    change(&page, MAIN, &[(b"main", Some(b""))]);
    assert_eq!(keys(&told(&mut watcher)), [b"main"]);
    page.merge(MAIN, &side, &mut LastWriterWins).unwrap();
    assert_eq!(keys(&told(&mut watcher)), [b"side"]);
}

#[test]
fn long_values_are_notified_with_their_length() {
    let (_, page) = new_page();
    let mut watcher = page.watch(MAIN, b"").unwrap();
    change(&page, MAIN, &[(b"a", Some(&[1; 65_536])), (b"b", Some(&[1; 65_537]))]);
    let notification = told(&mut watcher);
    let len = |at: usize| match notification.updates[at].value.as_ref().unwrap() {
        NewValue::Whole(value) => (value.len() as u64, true),
        NewValue::Long { len, .. } => (*len, false),
        other => panic!("{other:?}"),
    };
    assert_eq!((len(0), len(1)), ((65_536, true), (65_537, false)));
}

#[test]
fn a_reset_is_notified_as_a_move_and_a_removed_branch_as_an_error() {
    let (_, page) = new_page();
    let first = change(&page, MAIN, &[(b"a", Some(b"1"))]);
    change(&page, MAIN, &[(b"a", Some(b"2")), (b"b", Some(b""))]);
    let mut watcher = page.watch(MAIN, b"").unwrap();
    page.reset(MAIN, &first).unwrap();
    let notification = told(&mut watcher);
    assert!(notification.moved);
    assert_eq!((keys(&notification), notification.commit), (vec![&b"a"[..], b"b"], first));
    assert_eq!(notification.updates[1].value, None);
    change(&page, MAIN, &[(b"c", Some(b""))]);
    assert!(!told(&mut watcher).moved);
    page.remove_branch(MAIN).unwrap();
    let error = watcher.next(LONG).unwrap_err();
    assert_eq!(error.to_string(), "branch main of page 1, which is watched, was removed");
}

/// The notifications of a watcher, applied to a copy, give the content, after any changes of the
/// branch.
#[test]
fn a_copy_that_follows_is_always_the_content() {
    let count = std::env::var("PERMAZEN_WATCHES").map_or(30, |count| count.parse().unwrap());
    for seed in 0..count {
        let mut random = StdRng::seed_from_u64(seed);
        let (host, page) = new_page();
        let other = other_handle(&host);
        let prefix: &[u8] = [&b""[..], b"1"][usize::from(seed % 2 == 0)];
        change(&page, MAIN, &[(b"10", Some(b"")), (b"20", Some(b""))]);
        page.create_branch("side", &page.head(MAIN).unwrap()).unwrap();
        let mut watcher = page.watch(MAIN, prefix).unwrap();
        let mut copy = content(&page.snapshot(&watcher.commit()).unwrap(), prefix);
        for _ in 0..60 {
            let actor = if random.random_bool(0.5) { &page } else { &other };
            let mut branch = || if random.random_bool(0.6) { MAIN } else { "side" };
            let branch = branch();
            match random.random_range(0..10) {
                0 => {
                    let from = actor.head("side").unwrap();
                    actor.merge(MAIN, &from, &mut LastWriterWins).unwrap();
                }
                1 => {
                    let from = actor.head(MAIN).unwrap();
                    actor.merge("side", &from, &mut LastWriterWins).unwrap();
                }
                2 => {
                    let log: Vec<_> = actor.log(actor.head(branch).unwrap()).unwrap().collect();
                    let to = random.random_range(0..log.len().min(4));
                    actor.reset(branch, &log[to].as_ref().unwrap().0).unwrap();
                }
                _ => {
                    let key = random.random_range(10..30_u8).to_string();
                    let value = [random.random_range(0..3)];
                    let value = random.random_bool(0.7).then_some(&value[..]);
                    change(actor, branch, &[(key.as_bytes(), value)]);
                }
            }
            if random.random_bool(0.4) {
                while let Some(notification) = watcher.next(Duration::ZERO).unwrap() {
                    for update in notification.updates {
                        match update.value {
                            Some(NewValue::Whole(value)) => drop(copy.insert(update.key, value)),
                            _ => assert!(copy.remove(&update.key).is_some()),
                        }
                    }
                }
                assert_eq!(watcher.commit(), page.head(MAIN).unwrap(), "seed {seed}");
                let expected = content(&page.snapshot(&watcher.commit()).unwrap(), prefix);
                assert_eq!(copy, expected, "seed {seed}");
            }
        }
    }
}

#[test]
fn commits_of_others_are_seen_without_being_told() {
    let (host, page) = new_page();
    let mut watcher = page.watch(MAIN, b"").unwrap();
    let other = other_handle(&host);
    let waiting = std::thread::spawn(move || told(&mut watcher));
    change(&other, MAIN, &[(b"a", Some(b""))]);
    assert_eq!(keys(&waiting.join().unwrap()), [b"a"]);
}

#[test]
fn subscriptions_call_until_they_are_dropped() {
    let (host, page) = new_page();
    let (sender, receiver) = mpsc::channel();
    let inside = page.clone();
    let subscription = page
        .watch(MAIN, b"in/")
        .unwrap()
        .subscribe(move |told| {
            let told = told.unwrap();
            // A call may write.
            change(&inside, MAIN, &[(b"out", Some(&told.updates[0].key))]);
            sender.send(told.updates[0].key.clone()).unwrap();
        })
        .unwrap();
    change(&other_handle(&host), MAIN, &[(b"in/1", Some(b""))]);
    assert_eq!(receiver.recv_timeout(LONG).unwrap(), b"in/1");
    assert_eq!(content(&page.snapshot(&page.head(MAIN).unwrap()).unwrap(), b"out").len(), 1);
    assert!(!subscription.is_ended());
    drop(subscription);
    // The thread ends, and with it the function and its sender.
    change(&page, MAIN, &[(b"in/2", Some(b""))]);
    while receiver.recv_timeout(LONG).is_ok_and(|key| key == b"in/2") {}
    assert_eq!(receiver.recv_timeout(LONG), Err(mpsc::RecvTimeoutError::Disconnected));
}

#[test]
fn a_subscription_ends_with_its_branch() {
    let (_, page) = new_page();
    let (sender, receiver) = mpsc::channel();
    let watcher = page.watch(MAIN, b"").unwrap();
    let subscription = watcher.subscribe(move |told| sender.send(told.is_err()).unwrap()).unwrap();
    page.remove_branch(MAIN).unwrap();
    assert_eq!(receiver.recv_timeout(LONG), Ok(true));
    assert_eq!(receiver.recv_timeout(LONG), Err(mpsc::RecvTimeoutError::Disconnected));
    while !subscription.is_ended() {
        std::thread::yield_now();
    }
}

#[test]
fn a_subscription_whose_host_fails_is_not_called_all_the_time() {
    let host = FaultStore::new(MemoryStore::new());
    let faults = host.faults();
    let repository = Repository::builder(host).manual_maintenance().open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    let (sender, receiver) = mpsc::channel();
    let watcher = page.watch(MAIN, b"").unwrap();
    let subscription = watcher.subscribe(move |told| _ = sender.send(told.is_ok())).unwrap();
    page.set_watch_interval(Duration::from_millis(1));
    // Most probably it waits now, and hears of the error although nothing was committed.
    std::thread::sleep(Duration::from_millis(50));
    let begun = Instant::now();
    faults.fail_from(1, || KvError::IllegalState("the disk is full of sand".to_owned()));
    // Before it would look again by itself.
    assert_eq!(receiver.recv_timeout(LONG / 3), Ok(false));
    std::thread::sleep(Duration::from_millis(100));
    faults.stop();
    // Errors come once in a second.
    let errors = receiver.try_iter().count() as u64;
    assert!(errors <= 1 + begun.elapsed().as_secs(), "{errors}");
    change(&page, MAIN, &[(b"a", Some(b""))]);
    while receiver.recv_timeout(LONG) != Ok(true) {}
    drop(subscription);
}

/// No commit comes after that, and no thread looks.
#[test]
fn what_the_host_has_failed_to_give_once_is_told_without_another_commit() {
    let plain = MemoryStore::new();
    let host = FaultStore::new(plain.clone());
    let faults = host.faults();
    let repository = Repository::builder(host).manual_maintenance().open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    page.set_watch_interval(10 * LONG);
    let (mut watcher, other) = (page.watch(MAIN, b"").unwrap(), other_handle(&plain));
    let mut failed = 0;
    for n in 1.. {
        change(&other, MAIN, &[(b"a", Some(&[n]))]);
        faults.fail_nth(n.into(), || KvError::IllegalState("it is full of sand".to_owned()));
        let begun = Instant::now();
        // The first call gets its errors at once.
        while watcher.next(LONG).is_err() {}
        assert!(begun.elapsed() < LONG / 2, "operation {n}");
        if faults.hits() == 0 {
            break;
        }
        failed += 1;
    }
    assert!(failed > 5);
}

/// A damaged row of one branch does not delay notifications of another one.
#[test]
fn a_damaged_branch_delays_no_watcher_of_another_one() {
    let (host, page) = new_page();
    let base = change(&page, MAIN, &[(b"a", Some(b"0"))]);
    page.create_branch("side", &base).unwrap();
    let db = page.branching_database(MAIN).unwrap();
    let side = page.branching_database("side").unwrap();
    let watch = |db: &dyn KvDatabase| db.begin(&TxOptions::reading()).unwrap().watch(b"a").unwrap();
    let (on_main, on_side) = (watch(&db), watch(&side));
    let mut watcher = page.watch(MAIN, b"").unwrap();
    let mut damaged = page.watch("side", b"").unwrap();
    let waiting = std::thread::spawn(move || told(&mut watcher));
    let waiting_too = std::thread::spawn(move || damaged.next(LONG));
    let mut tx = host.begin(&TxOptions::writing()).unwrap();
    let heads = [&[0x10, 1, 0x20][..], b"side\0"].concat();
    let end = permazen_kv::key::after_prefix(&heads);
    let found = tx.at_least(&heads, end.as_deref()).unwrap().unwrap().0.into_owned();
    tx.put(&found, b"damaged").unwrap();
    tx.commit().unwrap();
    change(&other_handle(&host), MAIN, &[(b"a", Some(b"1"))]);
    assert_eq!(keys(&waiting.join().unwrap()), [b"a"]);
    assert!(on_main.wait_timeout(LONG).unwrap());
    // A caller that waits for a commit that cannot be read gets an error, at once.
    assert!(KvError::from(waiting_too.join().unwrap().unwrap_err()).is_damage());
    assert!(on_side.wait_timeout(LONG).unwrap());
}

#[test]
fn watches_of_keys_end_with_commits_of_others_merges_and_resets() {
    let (host, page) = new_page();
    let other = other_handle(&host);
    let base = change(&page, MAIN, &[(b"a", Some(b"0")), (b"b", Some(b"0"))]);
    page.create_branch("side", &base).unwrap();
    let db = page.database(MAIN).unwrap();
    let watch = |key: &[u8]| db.begin(&TxOptions::reading()).unwrap().watch(key).unwrap();

    // Another handle.
    let (a, b) = (watch(b"a"), watch(b"b"));
    change(&other, MAIN, &[(b"a", Some(b"1"))]);
    assert!(a.wait_timeout(LONG).unwrap());
    // The same handle, another database on the branch.
    let a = watch(b"a");
    change(&page, MAIN, &[(b"a", Some(b"2"))]);
    assert!(a.wait_timeout(LONG).unwrap());
    assert!(!b.is_changed().unwrap());
    // A merge.
    let side = change(&other, "side", &[(b"b", Some(b"1"))]);
    assert!(!b.is_changed().unwrap());
    other.merge(MAIN, &side, &mut LastWriterWins).unwrap();
    assert!(b.wait_timeout(LONG).unwrap());
    // A reset.
    let (a, absent) = (watch(b"a"), watch(b"absent"));
    other.reset(MAIN, &base).unwrap();
    assert!(a.wait_timeout(LONG).unwrap());
    assert!(!absent.is_changed().unwrap());
    // The branch is gone.
    other.remove_branch(MAIN).unwrap();
    assert!(absent.wait_timeout(LONG).unwrap());
}

#[test]
fn no_branch_no_watcher() {
    let (_, page) = new_page();
    let error = page.watch("other", b"").unwrap_err();
    assert!(matches!(error, LedgerError::NoSuch { what: "branch", .. }), "{error}");
}

#[test]
fn a_branch_has_not_moved_because_another_parent_of_a_merge_is_not_kept() {
    let repository = Repository::builder(MemoryStore::new()).exclusive().manual_maintenance();
    let page = repository.open_or_create().unwrap().create_page("test", PageId::ROOT).unwrap();
    for number in 0..10_u8 {
        if number == 4 {
            page.create_branch("side", &page.head(MAIN).unwrap()).unwrap();
            change(&page, "side", &[(b"side", Some(b"5"))]);
        }
        change(&page, MAIN, &[(&[number], Some(b""))]);
    }
    let mut watcher = page.watch(MAIN, b"").unwrap();
    change(&page, MAIN, &[(b"main", Some(b"11"))]);
    let side = page.head("side").unwrap();
    let merge = page.merge(MAIN, &side, &mut LastWriterWins).unwrap();
    page.remove_branch("side").unwrap();
    page.set_retention(Retention::Last(5)).unwrap();
    page.collect().unwrap();
    assert!(matches!(page.commit(&side), Err(LedgerError::NoCommit { .. })));
    let notification = told(&mut watcher);
    assert_eq!((notification.commit, notification.moved), (merge, false));
    assert_eq!(notification.updates.len(), 2);
    nothing(&mut watcher);
}

#[test]
fn watchers_are_told_that_history_is_gone() {
    let repository = Repository::builder(MemoryStore::new()).exclusive().manual_maintenance();
    let page = repository.open_or_create().unwrap().create_page("test", PageId::ROOT).unwrap();
    change(&page, MAIN, &[(b"0", Some(b""))]);
    page.set_retention(Retention::Heads).unwrap();
    let connection = page.connect(MAIN).unwrap();
    let mut watchers = [page.watch(MAIN, b"").unwrap(), connection.watch(b"").unwrap()];
    let before = watchers[0].commit();
    for number in [b"1", b"2", b"3"] {
        change(&page, MAIN, &[(number, Some(b""))]);
    }
    page.collect().unwrap();
    assert!(page.commit(&before).is_ok());
    assert_eq!(page.log(page.head(MAIN).unwrap()).unwrap().count(), 1);
    for watcher in &mut watchers {
        let notification = told(watcher);
        assert!(notification.moved);
        assert_eq!(keys(&notification), [b"1", b"2", b"3"]);
    }
    change(&page, MAIN, &[(b"4", Some(b""))]);
    for watcher in &mut watchers {
        assert!(!told(watcher).moved);
    }
}
