//! Servers that have lost the data that transactions under way have read.

use std::thread;
use std::time::{Duration, Instant};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use permazen_kv::{Direction, KeySpan, KvDatabase, KvDatabaseExt, KvRead, KvWrite, TxOptions};
use permazen_kv_etcd::EtcdStore;
use permazen_test_servers::{Etcd, post_to_etcd};

fn open(url: &str) -> EtcdStore {
    EtcdStore::builder().wait(Duration::from_secs(20)).open(url).unwrap()
}

/// All records of a store were removed, tombstones too, and another store was begun there.
#[test]
fn a_store_that_was_removed_does_not_get_what_was_made_of_it() {
    let Some(cluster) = Etcd::start(1, &[]) else { return };
    let url = cluster.new_prefix();
    let store = open(&url);
    store.write(|tx| tx.put(b"a", b"1")).unwrap();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    assert!(tx.get(b"a").unwrap().is_some());
    cluster.remove_all();
    let new = open(&url);
    tx.put(b"b", b"made of a").unwrap();
    let error = tx.commit().unwrap_err();
    assert!(error.is_retryable(), "{error}");
    // A new transaction sees the new store, and can write to it.
    let has_a = store.write(|tx| {
        tx.put(b"c", b"")?;
        Ok(tx.get(b"a")?.is_some())
    });
    assert!(!has_a.unwrap());
    assert!(new.read(|tx| Ok(tx.get(b"b")?.is_none() && tx.get(b"c")?.is_some())).unwrap());
}

/// It waits as long as its options say, and not some seconds for each attempt.
#[test]
fn a_transaction_waits_no_longer_than_its_options_say() {
    let Some(cluster) = Etcd::start(1, &[]) else { return };
    let store = open(&cluster.new_prefix());
    store.write(|tx| tx.put(b"a", b"1")).unwrap();
    cluster.pause(0);
    let begun = Instant::now();
    let options = TxOptions::reading().with_wait(Duration::from_millis(500));
    let error = store.begin(&options).unwrap().get(b"a").map(drop).unwrap_err();
    assert!(error.is_retryable(), "{error}");
    // Attempts of four seconds would take eight.
    assert!(begun.elapsed() < Duration::from_secs(7), "{:?}", begun.elapsed());
    cluster.resume(0);
    assert!(store.read(|tx| tx.get(b"a").map(|value| value.is_some())).unwrap());
}

/// The record of another program is neither a value nor a tombstone.
#[test]
fn a_value_that_no_commit_has_written_is_an_error() {
    let Some(cluster) = Etcd::start(1, &[]) else { return };
    let url = cluster.new_prefix();
    let store = open(&url);
    store.write(|tx| tx.put(b"a", b"1")).unwrap();
    let prefix = url.rsplit('/').next().unwrap().split('?').next().unwrap();
    for (value, shown) in [(&b"\x07value"[..], "07"), (b"", "nothing")] {
        let [key, value] = [&format!("{prefix}:da\u{1}").into_bytes()[..], value]
            .map(|bytes| BASE64_STANDARD.encode(bytes));
        let body = format!(r#"{{"key":"{key}","value":"{value}"}}"#);
        let answer = post_to_etcd(cluster.endpoints()[0], "kv/put", &body);
        assert!(answer.contains("200 OK"), "{answer}");
        let tx = store.begin(&TxOptions::reading()).unwrap();
        let scanned = tx.scan(KeySpan::FULL, Direction::Forward).unwrap().find_map(Result::err);
        let error = scanned.unwrap();
        let text = error.to_string();
        assert!(error.is_damage() && text.contains("6101") && text.contains(shown), "{text}");
        let error = store.read(|tx| tx.get(b"a\x01").map(drop)).unwrap_err();
        assert!(error.is_damage(), "{error}");
        // The key does not count as absent.
        let error = store.write(|tx| tx.put_new(b"a\x01", b"new")).unwrap_err();
        assert!(error.is_damage(), "{error}");
    }
}

/// The cluster is the same one, and its revisions come a second time.
#[test]
fn a_cluster_that_was_restored_is_not_taken_for_what_it_was() {
    let each = |begins_before: bool| {
        let Some(cluster) = Etcd::start(1, &[]) else { return };
        let url = cluster.new_prefix();
        let store = open(&url);
        let count = |store: &EtcdStore| {
            store.write(|tx| {
                let count = tx.get(b"count")?.map_or(0, |value| value[0]);
                tx.put(b"count", &[count + 1])
            })
        };
        count(&store).unwrap();
        cluster.back_up();
        (0..5).for_each(|_| count(&store).unwrap());
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        assert_eq!(tx.get(b"count").unwrap().as_deref(), Some(&[6][..]));
        tx.put(b"count", &[7]).unwrap();
        cluster.restore();
        if begins_before {
            // Reads from there must not be mixed with earlier reads.
            let error = store.read(|tx| tx.get(b"count").map(drop)).unwrap_err().to_string();
            assert!(error.contains("open the store again"), "{error}");
        }
        let error = tx.commit().unwrap_err();
        assert!(!error.is_retryable(), "{error}");
        assert!(error.to_string().contains("open the store again"), "{error}");
        let again = open(&url);
        count(&again).unwrap();
        assert!(count(&store).is_err());
    };
    thread::scope(|scope| {
        for begins_before in [false, true] {
            scope.spawn(move || each(begins_before));
        }
    });
}
