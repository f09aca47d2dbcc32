//! Servers that have lost what transactions under way have read.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use permazen_kv::{KvDatabase, KvDatabaseExt, KvRead, KvWrite, TxOptions};
use permazen_kv_etcd::EtcdStore;
use permazen_test_servers::Etcd;

fn open(url: &str) -> EtcdStore {
    EtcdStore::builder().wait(Duration::from_secs(20)).open(url).unwrap()
}

/// Nothing is left of a store, not even what says that keys were removed; and somebody has begun another one there.
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
    // Whoever begins again sees the new store, and can write to it.
    let has_a = store.write(|tx| {
        tx.put(b"c", b"")?;
        Ok(tx.get(b"a")?.is_some())
    });
    assert!(!has_a.unwrap());
    assert!(new.read(|tx| Ok(tx.get(b"b")?.is_none() && tx.get(b"c")?.is_some())).unwrap());
}

/// The cluster is the same one, and its revisions come a second time.
#[test]
fn a_cluster_that_was_restored_is_not_taken_for_what_it_was() {
    for begins_before in [false, true] {
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
            // What was read there must not be mixed with what was read before.
            let error = store.read(|tx| tx.get(b"count").map(drop)).unwrap_err().to_string();
            assert!(error.contains("open the store again"), "{error}");
        }
        let error = tx.commit().unwrap_err();
        assert!(!error.is_retryable(), "{error}");
        assert!(error.to_string().contains("open the store again"), "{error}");
        let again = open(&url);
        count(&again).unwrap();
        assert!(count(&store).is_err());
    }
}
