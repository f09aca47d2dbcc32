//! How often the cluster is asked.

use std::time::Duration;

use permazen_kv::{Direction, KeySpan, KvDatabase, KvDatabaseExt, KvRead, KvWrite, TxOptions};
use permazen_kv_etcd::EtcdStore;
use permazen_test_servers::Etcd;

use crate::support::Proxy;

#[test]
fn nothing_is_asked_twice() {
    // Some commits, chosen at random, also sweep, and then ask more.
    assert!((0..3).any(|_| std::panic::catch_unwind(ask_for_all).is_ok()));
}

fn ask_for_all() {
    let Some(cluster) = Etcd::shared() else { return };
    let Some(port) = cluster.endpoints().first().copied() else { return };
    let proxy = Proxy::new(port);
    let url = proxy.url(&cluster.new_prefix(), port);
    drop(EtcdStore::open(&url).unwrap());
    // The horizon is read, and put if it is not there.
    assert_eq!(proxy.take_requests(), 2);
    let store = EtcdStore::open(&url).unwrap();
    assert_eq!(proxy.take_requests(), 1);
    store.write(|tx| (0..100_u8).try_for_each(|key| tx.put(&[key], b"value"))).unwrap();
    assert_eq!(proxy.take_requests(), 1, "writing without reading");
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    let spans: Vec<[u8; 2]> = (0..100).map(|key| [key, 0]).collect();
    assert!(tx.prefetch(
        &spans.iter().map(|span| KeySpan::new(&span[..1], Some(span))).collect::<Vec<_>>()
    ));
    assert!((0..100).all(|key| tx.get(&[key]).unwrap().is_some()));
    assert_eq!(proxy.take_requests(), 1, "many keys");
    assert_eq!(tx.scan(KeySpan::FULL, Direction::Forward).unwrap().count(), 100);
    assert_eq!(proxy.take_requests(), 1, "a range");
    assert_eq!(tx.scan(KeySpan::FULL, Direction::Forward).unwrap().count(), 100);
    assert!(tx.put_new(b"new", b"").unwrap());
    tx.remove_span(KeySpan::new(&[50], Some(&[60]))).unwrap();
    assert_eq!(proxy.take_requests(), 0, "what is known");
    tx.commit().unwrap();
    assert_eq!(proxy.take_requests(), 1, "all of it commits");
    store.write(|tx| tx.remove_span(KeySpan::new(&[60], Some(&[70])))).unwrap();
    assert_eq!(proxy.take_requests(), 2, "a range is removed that was not read");
    let tx = store.begin(&TxOptions::reading()).unwrap();
    assert!(tx.get(&[55]).unwrap().is_none() && tx.get(&[65]).unwrap().is_none());
    assert_eq!(proxy.take_requests(), 2);
    tx.commit().unwrap();
    assert_eq!(proxy.take_requests(), 0, "the end of reading");
    let tx = store.begin(&TxOptions::reading()).unwrap();
    let snapshot = tx.snapshot().unwrap();
    tx.commit().unwrap();
    store.write(|tx| tx.put(b"later", b"")).unwrap();
    proxy.take_requests();
    assert!(snapshot.get(b"later").unwrap().is_none());
    assert_eq!(proxy.take_requests(), 1, "a snapshot");
}

/// Pages that were requested ahead and have come, however long ago, are not requested again.
#[test]
fn a_slow_reader_asks_no_more_often() {
    let Some(cluster) = Etcd::shared() else { return };
    let Some(port) = cluster.endpoints().first().copied() else { return };
    let proxy = Proxy::new(port);
    let store = EtcdStore::open(&proxy.url(&cluster.new_prefix(), port)).unwrap();
    for some in 0..20_u8 {
        store.write(|tx| (0..100).try_for_each(|key| tx.put(&[some, key], b"value"))).unwrap();
    }
    let requests = |pause: Option<Duration>| -> permazen_kv::Result<usize> {
        proxy.take_requests();
        let options = TxOptions::reading().with_wait(Duration::from_millis(50));
        let tx = store.begin(&options)?;
        for (n, pair) in tx.scan(KeySpan::FULL, Direction::Forward)?.enumerate() {
            pair?;
            // Until this is over, no attempt lasts.
            if let (Some(pause), 700) = (pause, n) {
                std::thread::sleep(pause);
            }
        }
        Ok(proxy.take_requests())
    };
    // A member that a busy machine keeps from answering is asked again, but not each time.
    let is_same = || -> permazen_kv::Result<bool> {
        Ok(requests(None)? == requests(Some(Duration::from_millis(1100)))?)
    };
    assert!((0..5).any(|_| is_same().is_ok_and(|same| same)));
}
