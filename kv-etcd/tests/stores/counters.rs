//! The counters of a store on etcd, and its events for `tracing`.

use std::time::Duration;

use permazen_kv::{Direction, KeySpan, KvDatabase, KvDatabaseExt, KvWrite, TxOptions};
use permazen_kv_etcd::EtcdStore;
use permazen_test_servers::Etcd;

use crate::conflict::conflict_once;
use crate::support::{Fault, Proxy};
use crate::told::Collector;

/// Each request that a proxy before the member sees is counted, and no other.
#[test]
fn requests_are_those_that_the_member_gets() {
    let Some(cluster) = Etcd::shared() else { return };
    let Some(port) = cluster.endpoints().first().copied() else { return };
    let proxy = Proxy::new(port);
    let store = EtcdStore::open(&proxy.url(&cluster.new_prefix(), port)).unwrap();
    let mut seen = 0;
    let mut is_same = |what: &str| {
        let more = proxy.take_requests();
        seen += more;
        assert_eq!(store.counters().requests, u64::try_from(seen).ok(), "{what}");
        more
    };
    assert_eq!(is_same("opening"), 2);
    store.write(|tx| tx.put(b"key", b"value")).unwrap();
    assert!(is_same("a commit") >= 1);
    store.read(|tx| tx.get(b"key").map(drop)).unwrap();
    assert_eq!(is_same("a read"), 1);
    let count = store.read(|tx| Ok(tx.scan(KeySpan::FULL, Direction::Forward)?.count()));
    assert_eq!((count.unwrap(), is_same("a scan")), (1, 1));
    store.statistics().unwrap();
    assert_eq!(is_same("figures"), 1);
    let now = store.counters();
    assert_eq!((now.commits, now.begun, now.failovers), (Some(1), Some(3), Some(0)));
    assert_eq!((now.idle_connections, now.most_connections), (Some(1), None));
}

#[test]
fn a_conflict_is_counted_once_and_told() {
    let Some(cluster) = Etcd::shared() else { return };
    let store = EtcdStore::open(&cluster.new_prefix()).unwrap();
    let heard = Collector::default();
    heard.hears(|| conflict_once(&store));
    let now = store.counters();
    assert_eq!((now.conflicts, now.retries, now.commits), (Some(1), Some(1), Some(2)));
    let commits = heard.of("permazen::commit");
    let outcomes: Vec<_> = commits.iter().map(|told| told.field("outcome")).collect();
    assert_eq!(outcomes, ["committed", "conflict", "committed"]);
    assert_eq!(heard.of("permazen::retry")[0].field("reason"), "conflict");
    let requests = heard.of("permazen::request");
    let counted = u64::try_from(requests.len()).unwrap();
    // Two more have opened the store.
    assert!(now.requests >= Some(counted) && counted >= 5);
    for told in requests {
        assert_eq!((told.field("kind"), told.field("outcome")), ("txn", "answered"));
        assert!(told.field("host").contains(':') && told.within.len() == 1, "{told:?}");
    }
}

#[test]
fn an_unknown_outcome_is_counted_and_told() {
    let Some(cluster) = Etcd::start(1, &[]) else { return };
    let store = EtcdStore::open(&cluster.new_prefix()).unwrap();
    let options = TxOptions::writing().with_wait(Duration::from_secs(1));
    let mut tx = store.begin(&options).unwrap();
    tx.put(b"key", b"").unwrap();
    cluster.pause(0);
    let heard = Collector::default();
    let done = heard.hears(|| tx.commit());
    cluster.resume(0);
    assert!(done.unwrap_err().is_outcome_unknown());
    let now = store.counters();
    assert_eq!((now.unknown_outcomes, now.commits, now.conflicts), (Some(1), Some(0), Some(0)));
    let commits = heard.of("permazen::commit");
    assert_eq!((commits[0].field("outcome"), &*commits[0].level), ("unknown", "WARN"));
}

/// A member that does not answer is left once.
#[test]
fn a_failover_is_counted_once_and_told() {
    let Some(cluster) = Etcd::shared() else { return };
    let Some(port) = cluster.endpoints().first().copied() else { return };
    let [one, other] = [(); 2].map(|()| Proxy::new(port));
    let url = cluster.new_prefix();
    let (url, second) = (one.url(&url, port), other.url(&url, port));
    let place = |url: &str| url.split("://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    let places = [place(&url), place(&second)];
    let url = url.replace(&places[0], &places.join(","));
    let store = EtcdStore::open(&url).unwrap();
    store.write(|tx| tx.put(b"key", b"")).unwrap();
    assert_eq!(store.counters().failovers, Some(0));
    let heard = Collector::default();
    heard.hears(|| {
        one.fail(0, Fault::Lost);
        store.read(|tx| tx.get(b"key").map(drop)).unwrap();
        assert!(one.end_fault());
        store.read(|tx| tx.get(b"key").map(drop)).unwrap();
    });
    let now = store.counters();
    assert_eq!((now.failovers, now.conflicts), (Some(1), Some(0)));
    let told = heard.of("permazen::failover");
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].field("from"), told[0].field("to")), (&*places[0], &*places[1]));
    assert_eq!(told[0].field("store"), store.name());
}
