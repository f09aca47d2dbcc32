//! A watch of a key ends when another program commits a change of it, or another store of this
//! program.

use std::time::Duration;

use permazen_kv::{
    KeySpan, KeyWatch, KvDatabase, KvDatabaseExt, KvTransaction, KvWrite, TxOptions,
};
use permazen_kv_etcd::EtcdStore;
use permazen_test_servers::Etcd;

const SOON: Duration = Duration::from_secs(20);

fn watch(store: &EtcdStore, key: &[u8]) -> KeyWatch {
    store.begin(&TxOptions::reading()).unwrap().watch(key).unwrap()
}

fn put(store: &EtcdStore, keys: &[&[u8]]) {
    store.write(|tx| keys.iter().try_for_each(|key| tx.put(key, b""))).unwrap();
}

/// Waits until all that was committed before has been told.
fn catch_up(store: &EtcdStore, writer: &EtcdStore) {
    let last = watch(store, b"last");
    put(writer, &[b"last"]);
    assert!(last.wait_timeout(SOON).unwrap());
}

#[test]
fn other_programs_tell_what_they_commit() {
    let Some(cluster) = Etcd::shared() else { return };
    let url = cluster.new_prefix();
    // Each is a program of its own.
    let (store, other) = (EtcdStore::open(&url).unwrap(), EtcdStore::open(&url).unwrap());
    assert!(store.capabilities().watches);
    put(&other, &[b"m", b"z"]);
    let (key, range, rest) = (watch(&store, b"key"), watch(&store, b"m"), watch(&store, b"z"));
    put(&other, &[b"another"]);
    let strange = EtcdStore::open(&cluster.new_prefix()).unwrap();
    put(&strange, &[b"key", b"m", b"z"]);
    let mut lost = other.begin(&TxOptions::writing()).unwrap();
    lost.put(b"key", b"").unwrap();
    drop(lost);
    catch_up(&store, &other);
    assert!([&key, &range, &rest].iter().all(|watch| !watch.is_changed().unwrap()));
    put(&other, &[b"key"]);
    assert!(key.wait_timeout(SOON).unwrap());
    other.write(|tx| tx.remove_span(KeySpan::new(b"l", Some(b"n")))).unwrap();
    assert!(range.wait_timeout(SOON).unwrap() && !rest.is_changed().unwrap());
    other.write(|tx| tx.remove_span(KeySpan::new(b"x", None))).unwrap();
    assert!(rest.wait_timeout(SOON).unwrap());
    // Watches got the removal before the sweep.
    let swept = watch(&store, b"m");
    assert!((0..3).map(|_| other.sweep().unwrap()).sum::<u64>() > 0);
    catch_up(&store, &other);
    assert!(!swept.is_changed().unwrap());
    // The end of the store is the end of its watches.
    let last = watch(&store, b"key");
    drop(store);
    assert!(last.wait_timeout(SOON).unwrap_err().is_stale());
}

#[test]
fn a_lost_listener_wakes_all_and_listens_again() {
    let Some(cluster) = Etcd::start(1, &[]) else { return };
    let url = cluster.new_prefix();
    let store = EtcdStore::builder().wait(Duration::from_secs(5)).open(&url).unwrap();
    let watches = [watch(&store, b"a"), watch(&store, b"b")];
    cluster.kill(0);
    assert!(watches.iter().all(|watch| watch.wait_timeout(SOON).unwrap()));
    let mut tx = store.begin(&TxOptions::reading()).unwrap();
    let error = tx.watch(b"key").unwrap_err();
    assert!(error.is_retryable(), "{error}");
    assert!(error.to_string().contains("cannot listen"), "{error}");
    cluster.restart(0);
    // The listener comes back by itself.
    let again = loop {
        match store.begin(&TxOptions::reading()).unwrap().watch(b"a") {
            Ok(watch) => break watch,
            Err(error) => assert!(error.is_retryable(), "{error}"),
        }
    };
    catch_up(&store, &store);
    assert!(!again.is_changed().unwrap());
    put(&store, &[b"a"]);
    assert!(again.wait_timeout(SOON).unwrap());
}

/// A member that is still there but does nothing is left for another one.
#[test]
fn a_member_that_says_nothing_is_left() {
    let Some(cluster) = Etcd::start(3, &[]) else { return };
    let url = cluster.new_prefix();
    let store = EtcdStore::open(&url).unwrap();
    let key = watch(&store, b"key");
    // The store asks the first one that has answered.
    cluster.pause(0);
    assert!(key.wait_timeout(Duration::from_secs(60)).unwrap());
    let again = watch(&store, b"key");
    put(&store, &[b"key"]);
    assert!(again.wait_timeout(SOON).unwrap());
    cluster.resume(0);
}
