//! The counters of a store on PostgreSQL, and its events for `tracing`.

use std::time::Duration;

use permazen_kv::{
    Direction, KeySpan, KvDatabase, KvDatabaseExt, KvError, KvRead, KvWrite, TxOptions,
};
use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::{End, Fault, Postgres, Proxy, Way};

use crate::conflict::conflict_once;
use crate::told::{Collector, Told};

/// Each request that a proxy before the server sees is counted, and no other.
#[test]
fn requests_are_those_that_the_server_gets() {
    let Some(server) = Postgres::shared() else { return };
    if server.port() == 0 {
        return;
    }
    let proxy = Proxy::new(server.port());
    let store = PostgresStore::open(&proxy.url(&server.new_table(), server.port())).unwrap();
    let mut seen = 0;
    let mut is_same = |what: &str, least: u64| {
        let more = proxy.take_requests();
        seen += more;
        assert_eq!(store.counters().requests, Some(seen), "{what}");
        assert!(more >= least, "{what}: {more}");
    };
    is_same("opening", 1);
    store.write(|tx| tx.put(b"key", b"value")).unwrap();
    is_same("a commit", 1);
    store.read(|tx| tx.get(b"key").map(drop)).unwrap();
    is_same("a read, and the end", 2);
    store
        .write(|tx| {
            tx.prefetch(&[KeySpan::FULL]);
            assert_eq!(tx.scan(KeySpan::FULL, Direction::Forward)?.count(), 1);
            tx.put(b"other", b"")
        })
        .unwrap();
    is_same("a scan, and a commit", 2);
    let tx = store.begin(&TxOptions::reading()).unwrap();
    tx.get(b"key").unwrap();
    tx.rollback();
    // The next transaction waits for the rest of this one.
    store.read(|tx| tx.get(b"key").map(drop)).unwrap();
    is_same("a rollback", 3);
    let now = store.counters();
    assert_eq!((now.commits, now.failovers, now.conflicts), (Some(2), Some(0), Some(0)));
    assert_eq!(now.begun, Some(5));
}

#[test]
fn the_pool_and_the_waits_for_it_are_shown() {
    let Some(server) = Postgres::shared() else { return };
    let store = PostgresStore::builder().connections(2).open(&server.new_table()).unwrap();
    let pool = || {
        let now = store.counters();
        (now.connections.unwrap(), now.idle_connections.unwrap(), now.most_connections.unwrap())
    };
    assert_eq!(pool(), (1, 1, 2));
    let one = store.begin(&TxOptions::reading()).unwrap();
    assert_eq!(pool(), (1, 1, 2));
    one.get(b"key").unwrap();
    assert_eq!(pool(), (1, 0, 2));
    let two = store.begin(&TxOptions::reading()).unwrap();
    two.get(b"key").unwrap();
    assert_eq!(pool(), (2, 0, 2));
    let before = store.counters();
    assert_eq!((before.waits, before.waits_in_vain), (Some(0), Some(0)));
    let wait = Duration::from_millis(20);
    let three = store.begin(&TxOptions::reading().with_wait(wait)).unwrap();
    assert!(three.get(b"key").unwrap_err().is_retryable());
    let now = store.counters();
    assert_eq!((now.waits, now.waits_in_vain), (Some(1), Some(1)));
    assert!(now.waited.unwrap() >= wait);
    drop((one, two, three));
    assert_eq!(pool(), (2, 2, 2));
}

/// Two transactions that read each other's writes. The server refuses one of them.
#[test]
fn a_conflict_is_counted_once_and_told() {
    let Some(server) = Postgres::shared() else { return };
    let url = server.new_table();
    let heard = Collector::default();
    let store = PostgresStore::open(&url).unwrap();
    heard.hears(|| conflict_once(&store));
    let now = store.counters();
    assert_eq!((now.conflicts, now.retries, now.commits), (Some(1), Some(1), Some(2)));
    assert_eq!((now.begun, now.unknown_outcomes), (Some(3), Some(0)));
    let commits = heard.of("permazen::commit");
    let outcomes: Vec<_> = commits.iter().map(|told| told.field("outcome")).collect();
    assert_eq!(outcomes, ["committed", "conflict", "committed"]);
    assert!(commits.iter().all(|told| told.field("store") == store.name()));
    let retries = heard.of("permazen::retry");
    assert!(retries.len() == 1 && retries[0].field("reason") == "conflict", "{retries:?}");
    // The event of each request is within the span of its transaction.
    let requests = heard.of("permazen::request");
    let kinds: Vec<_> = requests.iter().map(|told| told.field("kind")).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "read").count(), 3, "{kinds:?}");
    assert_eq!(kinds.iter().filter(|kind| **kind == "commit").count(), 3, "{kinds:?}");
    let is_whole = |told: &&Told| {
        told.field("elapsed_us").parse::<u64>().is_ok()
            && !told.field("host").is_empty()
            && told.within.len() == 1
    };
    let of_transactions = requests.iter().filter(|told| told.field("kind") != "rollback");
    assert_eq!(of_transactions.clone().filter(is_whole).count(), of_transactions.count());
    assert!(heard.all_spans_have_ended());
}

#[test]
fn an_unknown_outcome_is_counted_and_told() {
    let Some(mut server) = Postgres::start(&[]) else { return };
    let store = PostgresStore::builder().wait(Duration::from_secs(5)).open(&server.url()).unwrap();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    tx.get(b"key").unwrap();
    tx.put(b"key", b"").unwrap();
    server.end(End::Immediate);
    let heard = Collector::default();
    let done = heard.hears(|| tx.commit());
    assert!(matches!(done, Err(KvError::OutcomeUnknown(_))), "{done:?}");
    let now = store.counters();
    assert_eq!((now.unknown_outcomes, now.commits, now.conflicts), (Some(1), Some(0), Some(0)));
    let commits = heard.of("permazen::commit");
    assert_eq!(commits.len(), 1);
    assert_eq!((commits[0].field("outcome"), &*commits[0].level), ("unknown", "WARN"));
}

/// A lost connection is no conflict, and the other host that is chosen counts once.
#[test]
fn a_failover_is_counted_once_and_told() {
    let Some(server) = Postgres::shared() else { return };
    if server.port() == 0 {
        return;
    }
    let [one, other] = [(); 2].map(|()| Proxy::new(server.port()));
    let url = one.url(&server.new_table(), server.port());
    let ports = [one.port(), other.port()].map(|port| format!("127.0.0.1:{port}"));
    let url = url.replace(&ports[0], &ports.join(","));
    let store = PostgresStore::open(&url).unwrap();
    store.write(|tx| tx.put(b"key", b"")).unwrap();
    assert_eq!(store.counters().failovers, Some(0));
    let heard = Collector::default();
    heard.hears(|| {
        one.fail(Way::There, 0, Fault::Lose);
        store.read(|tx| tx.get(b"key").map(drop)).unwrap();
        assert!(one.end_fault());
        store.read(|tx| tx.get(b"key").map(drop)).unwrap();
    });
    let now = store.counters();
    assert_eq!((now.failovers, now.conflicts, now.retries), (Some(1), Some(0), Some(1)));
    let told = heard.of("permazen::failover");
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].field("from"), told[0].field("to")), (&*ports[0], &*ports[1]));
    assert_eq!((told[0].field("store"), &*told[0].level), (&*store.name(), "WARN"));
    assert_eq!(heard.of("permazen::retry")[0].field("reason"), "retry");
}

/// A key that the server has said, in the details of its error, is not told.
#[test]
fn neither_keys_nor_passwords_are_told() {
    let Some(server) = Postgres::shared() else { return };
    let url = server.new_table();
    // The server lets every user in.
    let url = url.replacen('@', ":geheim@", 1);
    let heard = Collector::default();
    heard.hears(|| {
        let store = PostgresStore::open(&url).unwrap();
        store.write(|tx| tx.put(b"secret", b"secret")).unwrap();
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        tx.put_new(b"secret", b"secret").unwrap();
        let error = tx.commit().unwrap_err();
        assert!(error.conflict().is_some() && error.to_string().contains("736563726574"));
    });
    let told = format!("{:?}", heard.all());
    assert!(told.contains("conflict"));
    for secret in ["geheim", "secret", "736563726574"] {
        assert!(!told.contains(secret), "{secret}: {told}");
    }
}
