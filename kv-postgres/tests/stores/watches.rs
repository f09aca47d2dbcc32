//! A watch of a key ends when another program commits a change of it, or another store of this
//! program.

use std::time::Duration;

use permazen_kv::{
    KeySpan, KeyWatch, KvDatabase, KvDatabaseExt, KvError, KvTransaction, KvWrite, TxOptions,
};
use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::{End, Postgres};

const SOON: Duration = Duration::from_secs(20);

fn watch(store: &PostgresStore, key: &[u8]) -> KeyWatch {
    store.begin(&TxOptions::reading()).unwrap().watch(key).unwrap()
}

fn put(store: &PostgresStore, keys: &[&[u8]]) {
    store.write(|tx| keys.iter().try_for_each(|key| tx.put(key, b""))).unwrap();
}

/// Waits until all that was committed before has been told.
fn catch_up(store: &PostgresStore, writer: &PostgresStore) {
    let last = watch(store, b"last");
    put(writer, &[b"last"]);
    assert!(last.wait_timeout(SOON).unwrap());
}

#[test]
fn other_programs_tell_what_they_commit() {
    let Some(server) = Postgres::shared() else { return };
    let url = format!("{}&watches=on", server.new_table());
    // Each is a program of its own.
    let (store, other) = (PostgresStore::open(&url).unwrap(), PostgresStore::open(&url).unwrap());
    assert!(store.capabilities().watches);
    let (key, range, rest) = (watch(&store, b"key"), watch(&store, b"m"), watch(&store, b"z"));
    put(&other, &[b"another"]);
    let strange = PostgresStore::open(&format!("{}&watches=on", server.new_table())).unwrap();
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
    // The end of the store is the end of its watches.
    let last = watch(&store, b"key");
    drop(store);
    assert!(last.wait_timeout(SOON).unwrap_err().is_stale());
}

/// One program names the schema of the table, and another one finds it by its path.
#[test]
fn programs_that_name_the_schema_and_those_that_search_for_it_tell_each_other() {
    let Some(server) = Postgres::shared() else { return };
    let (url, schema) = (server.new_table(), format!("watched_{}", std::process::id()));
    server.sql(&format!("CREATE SCHEMA {schema}"));
    let open = |setting, value| {
        PostgresStore::builder().watches(true).setting(setting, value).open(&url).unwrap()
    };
    let named = open("schema", schema.clone());
    let found = open("options", format!("-c search_path={schema}"));
    let elsewhere = PostgresStore::builder().watches(true).open(&url).unwrap();
    let watches = [watch(&named, b"key"), watch(&found, b"key")];
    put(&elsewhere, &[b"another"]);
    put(&named, &[b"key"]);
    assert!(watches.iter().all(|watch| watch.wait_timeout(SOON).unwrap()));
    let watches = [watch(&named, b"other"), watch(&found, b"other")];
    put(&found, &[b"other"]);
    assert!(watches.iter().all(|watch| watch.wait_timeout(SOON).unwrap()));
    let is_here = |store: &PostgresStore| {
        store.read(|tx| Ok(permazen_kv::KvRead::get(tx, b"other")?.is_some())).unwrap()
    };
    assert!(is_here(&named) && is_here(&found) && !is_here(&elsewhere));
}

#[test]
fn more_than_fits_into_a_notification_wakes_all() {
    let Some(server) = Postgres::shared() else { return };
    let url = server.new_table();
    let open = || PostgresStore::builder().watches(true).open(&url).unwrap();
    let (store, other) = (open(), open());
    let (written, untouched) = (watch(&store, &[1; 2_000]), watch(&store, b"untouched"));
    let keys: Vec<[u8; 2_000]> = (0..9).map(|byte| [byte; 2_000]).collect();
    put(&other, &keys.iter().map(|key| &key[..]).collect::<Vec<_>>());
    assert!(written.wait_timeout(SOON).unwrap());
    assert!(untouched.wait_timeout(SOON).unwrap());
}

#[test]
fn they_are_off_unless_asked_for() {
    let Some(server) = Postgres::shared() else { return };
    let url = server.new_table();
    let store = PostgresStore::open(&url).unwrap();
    assert!(!store.capabilities().watches);
    let error = store.begin(&TxOptions::reading()).unwrap().watch(b"key").unwrap_err();
    assert!(matches!(error, KvError::Unsupported(_)), "{error}");
    assert!(error.to_string().contains("watches=on"), "{error}");
    // Such a store does not notify either.
    let watching = PostgresStore::builder().watches(true).open(&url).unwrap();
    let key = watch(&watching, b"key");
    put(&store, &[b"key"]);
    catch_up(&watching, &watching);
    assert!(!key.is_changed().unwrap());
}

#[test]
fn a_lost_listener_wakes_all_and_listens_again() {
    let Some(server) = Postgres::shared().filter(|server| server.port() > 0) else { return };
    let url = format!("{}&watches=on", server.new_table());
    let store = PostgresStore::open(&url).unwrap();
    let table = url.split_once("table=").unwrap().1.split('&').next().unwrap();
    let watches = [watch(&store, b"a"), watch(&store, b"b")];
    server.sql(&format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN \"{table}_watch\"'"
    ));
    assert!(watches.iter().all(|watch| watch.wait_timeout(SOON).unwrap()));
    let again = watch(&store, b"a");
    catch_up(&store, &store);
    assert!(!again.is_changed().unwrap());
    put(&store, &[b"a"]);
    assert!(again.wait_timeout(SOON).unwrap());
}

#[test]
fn without_a_server_there_is_no_watch_and_the_wait_is_bounded() {
    let Some(mut server) = Postgres::start(&["fsync=off"]) else { return };
    let store = PostgresStore::builder()
        .wait(Duration::from_secs(5))
        .watches(true)
        .open(&server.url())
        .unwrap();
    let before = watch(&store, b"key");
    server.end(End::Immediate);
    assert!(before.wait_timeout(SOON).unwrap());
    let mut tx = store.begin(&TxOptions::reading()).unwrap();
    let error = tx.watch(b"key").unwrap_err();
    assert!(error.is_retryable(), "{error}");
    assert!(error.to_string().contains("cannot listen"), "{error}");
    server.run();
    // The listener comes back by itself.
    let after = loop {
        match store.begin(&TxOptions::reading()).unwrap().watch(b"key") {
            Ok(watch) => break watch,
            Err(error) => assert!(error.is_retryable(), "{error}"),
        }
    };
    put(&store, &[b"key"]);
    assert!(after.wait_timeout(SOON).unwrap());
}
