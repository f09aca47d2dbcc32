//! A store says which settings of its server disturb it.
#![allow(clippy::unwrap_used, clippy::panic)]

use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::Postgres;

#[test]
fn default_predicate_locks_are_warned_of() {
    let Some(server) = Postgres::start(&["fsync=off"]) else { return };
    let store = PostgresStore::open(&server.url()).unwrap();
    let [warning] = store.warnings() else { panic!("{:?}", store.warnings()) };
    let advice = "set max_pred_locks_per_transaction = 1024";
    assert!(warning.contains("more than 32 pairs") && warning.contains(advice), "{warning}");
}

#[test]
fn what_is_recommended_is_not_warned_of() {
    let settings = ["fsync=off", "max_pred_locks_per_transaction=1024"];
    let Some(server) = Postgres::start(&settings) else { return };
    let store = PostgresStore::open(&server.url()).unwrap();
    assert!(store.warnings().is_empty());
}

#[test]
fn commits_that_a_server_can_lose_are_warned_of() {
    let settings = ["fsync=off", "max_pred_locks_per_transaction=1024", "synchronous_commit=off"];
    let Some(server) = Postgres::start(&settings) else { return };
    let store = PostgresStore::open(&server.url()).unwrap();
    let [warning] = store.warnings() else { panic!("{:?}", store.warnings()) };
    assert!(warning.contains("synchronous_commit = off"), "{warning}");
}
