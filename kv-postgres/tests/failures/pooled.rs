//! A pooler that gives each transaction another connection to the server.

use std::time::Duration;

use permazen_kv::{KvDatabase, KvDatabaseExt, KvRead, KvWrite, TxOptions};
use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::{PgBouncer, Pooler, Postgres};

/// URLs of two tables on one server, through a pooler: PgBouncer where it is there, and one of our
/// own.
fn pooled(connections: usize, mut test: impl FnMut(&str, &str)) {
    let Some(server) = Postgres::shared().filter(|server| server.port() > 0) else { return };
    let port = server.port();
    let own = Pooler::new(port, connections);
    test(&own.url(&server.new_table(), port), &own.url(&server.new_table(), port));
    let Some(bouncer) = PgBouncer::start(server, connections) else { return };
    test(&bouncer.url(&server.new_table(), port), &bouncer.url(&server.new_table(), port));
}

fn transactions(url: &str) -> String {
    format!("{url}&pooling=transaction")
}

/// A statement that was prepared for one table must never be used for another one.
#[test]
fn a_store_never_uses_what_another_one_has_prepared() {
    let Some(server) = Postgres::shared().filter(|server| server.port() > 0) else { return };
    let pooler = Pooler::exchanging(server.port(), 2);
    let open = |value: u8| {
        let url = pooler.url(&server.new_table(), server.port());
        let store = PostgresStore::builder().connections(1).open(&url).unwrap();
        store.write(|tx| tx.put(b"key", &[value])).unwrap();
        assert_eq!(store.read(|tx| Ok(tx.get(b"key")?.unwrap().into_owned())).unwrap(), [value]);
        store
    };
    let stores = [open(1), open(2)];
    pooler.exchange();
    for store in &stores {
        let error = store.read(|tx| tx.get(b"key").map(drop)).unwrap_err();
        assert!(error.to_string().contains("pooling=transaction"), "{error}");
        assert!(!error.is_retryable(), "{error}");
    }
    // The connections have forgotten their prepared statements, so each store prepares its own.
    for (store, value) in stores.iter().zip([3, 4]) {
        store.write(|tx| tx.put(b"key", &[value])).unwrap();
    }
    pooler.exchange();
    for (store, value) in stores.iter().zip([3, 4]) {
        let store = PostgresStore::open(&store.name().replace("?", "?pooling=transaction&"));
        let read = store.unwrap().read(|tx| Ok(tx.get(b"key")?.unwrap().into_owned()));
        assert_eq!(read.unwrap(), [value]);
    }
}

#[test]
fn stores_work_through_it_with_the_option() {
    pooled(2, |one, other| {
        let one = PostgresStore::open(&transactions(one)).unwrap();
        let other = PostgresStore::builder().transaction_pooling(true).open(other).unwrap();
        for number in 0..20_u8 {
            for (store, value) in [(&one, [1, number]), (&other, [2, number])] {
                store.write(|tx| tx.put(&[number % 7], &value)).unwrap();
                let found = store.read(|tx| Ok(tx.get(&[number % 7])?.unwrap().into_owned()));
                assert_eq!(found.unwrap(), value);
            }
        }
        // A transaction that has read keeps its connection, and so does a snapshot.
        // It waits for the transactions of all other programs.
        let certain = TxOptions::reading().with_certainty().with_wait(Duration::from_secs(300));
        let reading = one.begin(&certain).unwrap();
        let snapshot = reading.snapshot().unwrap();
        one.write(|tx| tx.put(&[0], b"new")).unwrap();
        assert_ne!(snapshot.get(&[0]).unwrap().as_deref(), Some(&b"new"[..]));
        // A small table is not read as a whole, so transactions that touch different keys do not
        // conflict.
        drop((snapshot, reading));
        let (mut left, mut right) =
            (one.begin(&TxOptions::writing()).unwrap(), one.begin(&TxOptions::writing()).unwrap());
        for (tx, key) in [(&mut left, 1_u8), (&mut right, 5)] {
            tx.get(&[key]).unwrap();
            tx.put(&[key, 0], b"").unwrap();
        }
        drop(right);
        left.commit().unwrap();
    });
}

#[test]
fn watches_are_refused_with_it() {
    let Some(server) = Postgres::shared() else { return };
    let url = transactions(&server.new_table());
    let error = PostgresStore::open(&format!("{url}&watches=on")).unwrap_err().to_string();
    assert!(error.contains("watches=on") && error.contains("pooling=transaction"), "{error}");
}
