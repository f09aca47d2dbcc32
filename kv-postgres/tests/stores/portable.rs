//! Servers that are similar to PostgreSQL: they are recognized by the name that they announce, and
//! get only statements that they support.

use std::time::Duration;

use permazen_kv::{KvDatabase, KvDatabaseExt, KvError, KvRead, KvTransaction, KvWrite, TxOptions};
use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::{Fault, Postgres, Proxy, Way};

/// A server of our own that seems to announce a parameter, and the URL of a new table there and
/// without that.
fn announcing(name: &str, value: &str) -> Option<(&'static Postgres, Proxy, String, String)> {
    let server = Postgres::shared().filter(|server| server.port() > 0)?;
    let proxy = Proxy::new(server.port());
    proxy.announce(name, value);
    let direct = server.new_table();
    let url = proxy.url(&direct, server.port());
    Some((server, proxy, url, direct))
}

const COCKROACH: (&str, &str) = ("crdb_version", "CockroachDB CCL v23.2.0");
const YUGABYTE: (&str, &str) = ("server_version", "15.2-YB-2.25.0.0-b0");

#[test]
fn the_dialect_is_chosen_by_what_the_server_announces() {
    let Some((_, _proxy, url, direct)) = announcing(COCKROACH.0, COCKROACH.1) else { return };
    let store = PostgresStore::open(&format!("{url}&warnings=on")).unwrap();
    assert!(!store.capabilities().serializable && store.warnings().is_empty());
    store.write(|tx| tx.put(b"key", b"value")).unwrap();
    let tx = store.begin(&TxOptions::reading().with_certainty()).unwrap();
    assert!(matches!(tx.snapshot(), Err(KvError::Unsupported(_))));
    assert!(tx.get(b"key").unwrap().is_some());
    // It is an ordinary one.
    tx.commit().unwrap();
    // Both ask for the same table.
    let plain = PostgresStore::open(&format!("{direct}&warnings=on")).unwrap();
    assert!(plain.capabilities().serializable && !plain.warnings().is_empty());
    assert!(plain.read(|tx| Ok(tx.get(b"key")?.is_some())).unwrap());
    // Asking for more than the server has is an error, also if the dialect was named.
    for option in ["watches=on", "deferrable=on"] {
        for url in [&url, &format!("{direct}&dialect=portable")] {
            let error = PostgresStore::open(&format!("{url}&{option}")).unwrap_err();
            assert!(matches!(error, KvError::Open { .. }), "{error}");
            assert!(error.to_string().contains(option), "{error}");
        }
    }
    let forced = PostgresStore::open(&format!("{url}&dialect=postgres&watches=on")).unwrap();
    assert!(forced.capabilities().watches);
}

#[test]
fn keys_must_lie_in_their_order() {
    let Some((server, _proxy, url, direct)) = announcing(YUGABYTE.0, YUGABYTE.1) else { return };
    // It says how the keys are to lie, which PostgreSQL does not understand.
    let error = PostgresStore::open(&url).unwrap_err();
    assert!(error.to_string().contains("syntax error at or near \"ASC\""), "{error}");
    PostgresStore::open(&direct).unwrap();
    let store = PostgresStore::open(&url).unwrap();
    store.write(|tx| tx.put(b"key", b"value")).unwrap();
    // An index that is described as one in the order of a hash is there.
    let table = direct.rsplit_once('=').unwrap().1;
    server.sql(&format!(
        "CREATE INDEX ON \"{table}\" ((encode(\"kv_key\", 'hex') = 'lsm (kv_key HASH)'))"
    ));
    let error = PostgresStore::open(&url).unwrap_err();
    assert!(matches!(error, KvError::Open { .. }) && !error.is_retryable(), "{error}");
    assert!(error.to_string().contains("PRIMARY KEY (\"kv_key\" ASC)"), "{error}");
    PostgresStore::open(&direct).unwrap();
}

/// The question for the outcome of a commit is another statement.
#[test]
fn a_lost_connection_has_a_true_outcome() {
    let Some((_, proxy, url, direct)) = announcing(COCKROACH.0, COCKROACH.1) else { return };
    let store = PostgresStore::builder().wait(Duration::from_secs(10)).open(&url).unwrap();
    let plain = PostgresStore::open(&direct).unwrap();
    let (mut committed, mut retried) = (0, 0);
    for way in [Way::There, Way::Back] {
        for at in 0..60 {
            let key = format!("{way:?} {at}").into_bytes();
            store.read(|tx| tx.get(b"").map(drop)).unwrap();
            let mut tx = store.begin(&TxOptions::writing()).unwrap();
            tx.get(&key).unwrap();
            tx.put_new(&key, b"").unwrap();
            tx.put(b"last", &key).unwrap();
            proxy.fail(way, at, Fault::Lose);
            let done = tx.commit();
            if !proxy.end_fault() {
                done.unwrap();
                break;
            }
            let is_there = plain.read(|tx| Ok(tx.get(&key)?.is_some())).unwrap();
            match done {
                Ok(()) => committed += 1,
                Err(ref error) => {
                    assert!(error.is_retryable(), "{way:?} {at}: {error}");
                    retried += 1;
                }
            }
            assert_eq!(done.is_ok(), is_there, "{way:?} {at}");
        }
    }
    assert!(committed > 3 && retried > 5, "{committed} committed, {retried} not");
}
