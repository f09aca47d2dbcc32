//! A store says which settings of its server disturb it, and follows its own settings.

use std::time::{Duration, Instant};

use permazen_kv::{KvDatabase, KvDatabaseExt, KvRead, TxOptions, Warning, WarningKind};
use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::Postgres;

/// The warnings of a server that is safe and fast but for these settings.
fn warned(settings: &[&str]) -> Option<Vec<Warning>> {
    let fast = "max_pred_locks_per_transaction=1024";
    let server = Postgres::start(&[&[fast][..], settings].concat())?;
    let store = PostgresStore::open(&server.url()).unwrap();
    let quiet = PostgresStore::open(&format!("{}?warnings=off", server.url())).unwrap();
    assert!(quiet.warnings().is_empty());
    Some(store.warnings().to_vec())
}

#[test]
fn default_predicate_locks_are_warned_of() {
    let Some(warnings) = warned(&["max_pred_locks_per_transaction=64"]) else { return };
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    let advice = "set max_pred_locks_per_transaction = 1024";
    assert_eq!(warning.kind(), WarningKind::Speed);
    let warning = warning.text();
    assert!(warning.contains("more than 32 pairs") && warning.contains(advice), "{warning}");
}

#[test]
fn what_is_recommended_is_not_warned_of() {
    let Some(warnings) = warned(&[]) else { return };
    assert_eq!(warnings, []);
}

#[test]
fn settings_that_endanger_commits_are_warned_of() {
    let dangers = [
        "synchronous_commit=off",
        "fsync=off",
        "full_page_writes=off",
        "zero_damaged_pages=on",
        "ignore_checksum_failure=on",
    ];
    let Some(warnings) = warned(&dangers) else { return };
    assert_eq!(warnings.len(), dangers.len(), "{warnings:?}");
    for (warning, danger) in warnings.iter().zip(dangers) {
        assert_eq!(warning.kind(), WarningKind::Data);
        assert!(warning.text().contains(&danger.replace('=', " = ")), "{warning}");
    }
}

#[test]
fn the_server_sees_what_a_program_calls_itself_and_its_options() {
    let Some(server) = Postgres::shared().filter(|server| server.port() > 0) else { return };
    let url = server.new_table();
    let options = "options=-c%20idle_session_timeout%3D54321%20-c%20lock_timeout%3D999";
    let name = format!("player {}", std::process::id());
    let store = PostgresStore::builder().setting("application_name", &name);
    let _store = store.open(&format!("{url}&{options}")).unwrap();
    let called = format!("SELECT count(*) FROM pg_stat_activity WHERE application_name = '{name}'");
    assert_eq!(server.sql(&called), "1");
    let wrong = PostgresStore::open(&format!("{url}&options=-c%20nothing%3D1")).unwrap_err();
    assert!(wrong.to_string().contains("nothing"), "{wrong}");
}

#[test]
fn stores_of_two_schemas_are_apart() {
    let Some(server) = Postgres::shared().filter(|server| server.port() > 0) else { return };
    let url = server.new_table();
    let schema = |name: &str| format!("{name} \"{}", std::process::id());
    let open = |name: &str| {
        PostgresStore::builder().setting("schema", schema(name)).setting("watches", "on").open(&url)
    };
    let error = open("one").unwrap_err();
    assert!(error.to_string().contains("SQLSTATE 3F000"), "{error}");
    for name in ["one", "other"] {
        server.sql(&format!("CREATE SCHEMA \"{}\"", schema(name).replace('"', "\"\"")));
    }
    let stores = [open("one").unwrap(), open("other").unwrap(), PostgresStore::open(&url).unwrap()];
    let watches: Vec<_> = stores[..2]
        .iter()
        .map(|store| store.begin(&TxOptions::reading()).unwrap().watch(b"key").unwrap())
        .collect();
    for (store, value) in stores.iter().zip([b"1", b"2", b"3"]) {
        store.write(|tx| tx.put(b"key", value)).unwrap();
        assert!(store.name().contains("table="), "{}", store.name());
    }
    for (store, value) in stores.iter().zip([b"1", b"2", b"3"]) {
        let read = store.read(|tx| Ok(tx.get(b"key")?.unwrap().into_owned())).unwrap();
        assert_eq!(read, value);
    }
    for watch in watches {
        assert!(watch.wait_timeout(Duration::from_secs(60)).unwrap());
    }
}

#[test]
fn there_are_no_more_connections_than_the_url_says_and_none_is_older() {
    let Some(server) = Postgres::shared().filter(|server| server.port() > 0) else { return };
    let name = format!("pool {}", std::process::id());
    let url = format!("{}&connections=2&connection_life=3", server.new_table());
    let store = PostgresStore::builder().setting("application_name", &name).connections(5);
    let store = store.open(&url).unwrap();
    let held: Vec<_> = (0..2).map(|_| store.begin(&TxOptions::reading()).unwrap()).collect();
    held.iter().for_each(|tx| drop(tx.get(b"key").unwrap()));
    let soon = TxOptions::reading().with_wait(Duration::from_millis(200));
    let third = store.begin(&soon).and_then(|tx| tx.get(b"key").map(drop));
    let error = third.unwrap_err().to_string();
    assert!(error.contains("all 2 connections"), "{error}");
    drop(held);
    let ids = format!("SELECT pid FROM pg_stat_activity WHERE application_name = '{name}'");
    let before = server.sql(&ids);
    assert_eq!(before.lines().count(), 2);
    std::thread::sleep(Duration::from_millis(3_100));
    store.read(|tx| tx.get(b"key").map(drop)).unwrap();
    // The server ends their sessions a moment after they were closed.
    let old = before.replace('\n', ",");
    server.wait_until(&format!("SELECT count(*) = 0 FROM pg_stat_activity WHERE pid IN ({old})"));
    assert!(!server.sql(&ids).is_empty());
}

/// A host that takes connections and says nothing.
#[test]
fn no_host_is_waited_for_longer_than_the_url_says() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("postgres://test@127.0.0.1:{port}/test?connect_timeout=1");
    let begun = Instant::now();
    let error = PostgresStore::builder().wait(Duration::from_secs(600)).open(&url).unwrap_err();
    assert!(error.is_retryable() && begun.elapsed() < Duration::from_secs(60), "{error}");
}
