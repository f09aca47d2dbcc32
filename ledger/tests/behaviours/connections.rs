//! Rows 101 to 103: transactions and watchers of a client.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{Connection, LastWriterWins, LedgerError, MAIN};

use super::setting::{Setting, content};

const LONG: Duration = Duration::from_secs(600);

fn put(connection: &Connection, key: &[u8]) {
    let mut tx = connection.start().unwrap();
    tx.put(key, b"").unwrap();
    tx.commit().unwrap();
}

fn keys(connection: &Connection) -> Vec<Vec<u8>> {
    use super::setting::{ALL, pairs};
    let snapshot = connection.snapshot().unwrap();
    let pairs = pairs(&snapshot, ALL, permazen_kv::Direction::Forward);
    pairs.into_iter().map(|(key, _)| key).collect()
}

#[test]
fn t101_a_transaction_starts_when_what_was_told_is_dealt_with() {
    let setting = Setting::new();
    let connection = setting.page.connect(MAIN).unwrap().with_wait(LONG);
    let mut watcher = connection.watch(b"").unwrap();
    put(&connection, b"one");
    assert_eq!(watcher.next(LONG).unwrap().unwrap().updates[0].key, b"one");
    // It is not dealt with yet.
    let order: Mutex<Vec<&str>> = Mutex::default();
    thread::scope(|scope| {
        let starting = scope.spawn(|| {
            let mut tx = connection.start().unwrap();
            order.lock().unwrap().push("started");
            tx.put(b"two", b"").unwrap();
            tx.commit().unwrap();
        });
        while !connection.is_in_transaction() {
            thread::yield_now();
        }
        order.lock().unwrap().push("dealt with");
        // The watcher got the base of the transaction, and nothing newer comes while it waits.
        assert!(
            watcher.next(Duration::ZERO).unwrap().is_none_or(|told| told.updates[0].key == b"two")
        );
        starting.join().unwrap();
    });
    assert_eq!(*order.lock().unwrap(), ["dealt with", "started"]);
}

#[test]
fn a_start_does_not_wait_longer_than_it_should() {
    let setting = Setting::new();
    let connection = setting.page.connect(MAIN).unwrap().with_wait(Duration::ZERO);
    let mut watcher = connection.watch(b"").unwrap();
    put(&connection, b"one");
    assert!(watcher.next(LONG).unwrap().is_some());
    // The notification is not dealt with, and the transaction starts.
    put(&connection, b"two");
    drop(watcher);
    // Without watchers there is nothing to wait for.
    put(&setting.page.connect(MAIN).unwrap().with_wait(LONG), b"three");
}

/// Only a start in the way of Ledger waits.
#[test]
fn begin_does_not_wait_for_watchers() {
    let setting = Setting::new();
    let connection = setting.page.connect(MAIN).unwrap().with_wait(LONG);
    let mut watcher = connection.watch(b"").unwrap();
    put(&connection, b"one");
    assert!(watcher.next(LONG).unwrap().is_some());
    // The notification is not dealt with.
    let begun = Instant::now();
    let linear = setting.page.database(MAIN).unwrap();
    let branching = setting.page.branching_database(MAIN).unwrap();
    for (db, key) in [(&linear as &dyn KvDatabase, b"two"), (&branching, b"six")] {
        drop(db.begin(&TxOptions::reading()).unwrap());
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        tx.put(key, b"").unwrap();
        tx.commit().unwrap();
    }
    assert!(begun.elapsed() < LONG);
    assert_eq!(watcher.next(LONG).unwrap().unwrap().updates.len(), 2);
}

#[test]
fn a_start_within_a_call_does_not_wait_for_it() {
    let setting = Setting::new();
    let connection = Arc::new(setting.page.connect(MAIN).unwrap().with_wait(LONG));
    let (inside, (tell, told)) = (Arc::clone(&connection), channel());
    let watcher = connection.watch(b"").unwrap();
    let subscription = watcher
        .subscribe(move |notification| {
            let key = notification.unwrap().updates[0].key.clone();
            if key == b"one" {
                put(&inside, b"two");
            }
            tell.send(key).unwrap();
        })
        .unwrap();
    put(&connection, b"one");
    assert_eq!(told.recv().unwrap(), b"one");
    assert_eq!(told.recv().unwrap(), b"two");
    drop(subscription);
}

#[test]
fn t102_a_second_start_is_an_error_and_does_not_disturb_the_first() {
    let setting = Setting::new();
    let connection = setting.page.connect(MAIN).unwrap();
    let mut tx = connection.start().unwrap();
    tx.put(b"one", b"").unwrap();
    let Err(error) = connection.start() else { panic!("two transactions") };
    assert!(matches!(error, LedgerError::TransactionInProgress { .. }), "{error}");
    assert!(!error.is_retryable());
    tx.put(b"two", b"").unwrap();
    tx.commit().unwrap();
    assert_eq!(keys(&connection), [b"one", b"two"]);
    // The next one can start, after a commit and after a transaction that was dropped.
    drop(connection.start().unwrap());
    put(&connection, b"x");
}

#[test]
fn t103_two_connections_on_one_base_make_two_heads() {
    let setting = Setting::new();
    let both = [(); 2].map(|()| setting.page.connect(MAIN).unwrap());
    let mut watchers = both.each_ref().map(|connection| connection.watch(b"").unwrap());
    let mut open = both.each_ref().map(|connection| connection.start().unwrap());
    open[0].put(b"a", b"").unwrap();
    open[1].put(b"b", b"").unwrap();
    // No connection sees uncommitted writes.
    assert!(both.each_ref().map(keys).iter().all(Vec::is_empty));
    for tx in open {
        tx.commit().unwrap();
    }
    assert_eq!(setting.page.heads(MAIN).unwrap().len(), 2);
    assert_eq!(both.each_ref().map(keys), [[b"a"], [b"b"]]);
    for (watcher, key) in watchers.iter_mut().zip([b"a", b"b"]) {
        let told = watcher.next(LONG).unwrap().unwrap();
        assert_eq!(told.updates.len(), 1);
        assert_eq!(told.updates[0].key, key);
        assert!(watcher.next(Duration::ZERO).unwrap().is_none());
    }
    let merge = setting.page.merge_heads(MAIN, &mut LastWriterWins).unwrap();
    assert_eq!(content(&setting.page, &merge).len(), 2);
    for ((connection, watcher), key) in both.iter().zip(&mut watchers).zip([b"b", b"a"]) {
        // Each watcher is notified of the change of the other connection.
        let told = watcher.next(LONG).unwrap().unwrap();
        assert_eq!(told.updates.len(), 1);
        assert_eq!((&told.updates[0].key[..], told.commit), (&key[..], merge));
        assert_eq!(keys(connection), [b"a", b"b"]);
        assert_eq!(connection.commit(), merge);
    }
}

#[test]
fn what_others_do_is_told_after_the_transaction() {
    let setting = Setting::new();
    let connection = setting.page.connect(MAIN).unwrap();
    let mut watcher = connection.watch(b"").unwrap();
    for rolls_back in [true, false] {
        let tx = connection.start().unwrap();
        let other = setting.put(if rolls_back { b"one" } else { b"two" }, b"");
        assert!(connection.snapshot().unwrap().get(b"two").unwrap().is_none());
        assert!(watcher.next(Duration::ZERO).unwrap().is_none());
        match rolls_back {
            true => tx.rollback(),
            false => drop(tx),
        }
        let told = watcher.next(LONG).unwrap().unwrap();
        assert_eq!(told.commit, other);
    }
    // The watcher gets a reset too.
    setting.page.reset(MAIN, &permazen_ledger::CommitId::FIRST).unwrap();
    let told = watcher.next(LONG).unwrap().unwrap();
    assert!(told.moved && told.updates.iter().all(|update| update.value.is_none()));
}
