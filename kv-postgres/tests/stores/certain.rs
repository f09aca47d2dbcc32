//! Read-only transactions that wait once, and then cannot fail.

use std::thread;
use std::time::Duration;

use permazen_kv::copy::{Watch, copy_pairs};
use permazen_kv::{
    Direction, KeySpan, KvDatabase, KvDatabaseExt, KvError, KvRead, KvTransaction, KvWrite,
    TxOptions,
};
use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::{Fault, Postgres, Proxy, Way};

/// A server of one test alone, because certainty waits for all transactions that write.
fn own_server() -> Option<Postgres> {
    // If the other tests use a server that they have not started, none is started here.
    Postgres::shared().filter(|server| server.port() > 0)?;
    Postgres::start(&["fsync=off"])
}

fn certain() -> TxOptions {
    TxOptions::reading().with_certainty()
}

fn put(store: &PostgresStore, keys: &[&[u8]]) {
    store.write(|tx| keys.iter().try_for_each(|key| tx.put(key, b"0"))).unwrap();
}

#[test]
fn it_waits_for_transactions_that_write_and_then_cannot_fail() {
    let Some(server) = own_server() else { return };
    let url = server.new_table();
    let store = PostgresStore::open(&url).unwrap();
    put(&store, &[b"x", b"y"]);
    let mut writer = store.begin(&TxOptions::writing()).unwrap();
    writer.get(b"x").unwrap();
    let name = format!("certain{}", std::process::id());
    // Another program, which can be told from the others.
    server.sql(&format!("CREATE ROLE {name} LOGIN SUPERUSER"));
    let url = url.replace("test@", &format!("{name}@"));
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let other = PostgresStore::open(&url).unwrap();
            let tx = other.begin(&certain()).unwrap();
            // The state is that of the question, which has turned out to be one that counts.
            assert_eq!(tx.get(b"y").unwrap().as_deref(), Some(&b"0"[..]));
            tx.commit().unwrap();
        });
        server.wait_until(&format!(
            "SELECT count(*) = 1 FROM pg_stat_activity WHERE usename = '{name}' AND wait_event = 'SafeSnapshot'"
        ));
        assert!(!reader.is_finished());
        writer.put(b"y", b"1").unwrap();
        writer.commit().unwrap();
        reader.join().unwrap();
    });
}

#[test]
fn it_waits_no_longer_than_asked_and_the_connections_stay() {
    let Some(server) = own_server() else { return };
    let proxy = Proxy::new(server.port());
    let url = proxy.url(&server.new_table(), server.port());
    let store = PostgresStore::open(&url).unwrap();
    put(&store, &[b"x"]);
    let writer = store.begin(&TxOptions::writing()).unwrap();
    writer.get(b"x").unwrap();
    proxy.take_requests();
    for options in [certain(), TxOptions::reading()] {
        let options = options.with_wait(Duration::from_millis(50));
        let tx = store.begin(&options).unwrap();
        let result = if options.certain { tx.get(b"x").map(drop) } else { tx.snapshot().map(drop) };
        let error = result.unwrap_err();
        assert!(error.is_retryable(), "{error}");
        assert!(error.to_string().contains("TxOptions::wait"), "{error}");
    }
    store.read(|tx| tx.get(b"x").map(drop)).unwrap();
    // There is one new connection, beside that of the writer, because the server itself has ended
    // the statements that waited: it asks for the time once, each attempt is a question and its
    // end, and so is the last one.
    assert_eq!(proxy.take_requests(), 7);
    drop(writer);
}

/// The wait travels with the first question, and the end is not awaited.
#[test]
fn it_costs_a_round_trip_less() {
    let Some(server) = own_server() else { return };
    let proxy = Proxy::new(server.port());
    let plain = proxy.url(&server.new_table(), server.port());
    let deferrable = format!("{plain}&deferrable=on");
    for (url, options, is_certain) in [
        (&plain, TxOptions::reading(), false),
        (&plain, certain(), true),
        (&deferrable, TxOptions::reading(), true),
    ] {
        let store = PostgresStore::builder().wait(Duration::from_secs(5)).open(url).unwrap();
        store.read(|tx| tx.get(b"x").map(drop)).unwrap();
        // Its answer shows that all that was sent before has arrived.
        put(&store, &[b"x"]);
        proxy.take_requests();
        let tx = store.begin(&options).unwrap();
        assert_eq!(proxy.take_requests(), 0);
        tx.get(b"x").unwrap();
        assert_eq!(proxy.take_requests(), 1);
        // Messages that are sent from now on never arrive.
        proxy.fail(Way::There, 0, Fault::Stall);
        assert_eq!(tx.commit().is_ok(), is_certain);
        proxy.end_fault();
        assert_eq!(proxy.take_requests(), 0);
    }
}

/// As a check of the whole database, or a copy of it, does it.
#[test]
fn a_check_and_a_copy_read_one_state_that_counts_at_once() {
    let Some(server) = own_server() else { return };
    let store = PostgresStore::open(&server.new_table()).unwrap();
    put(&store, &[&[0x80], &[0x90]]);
    let mut tx = store.begin(&certain()).unwrap();
    assert_eq!(tx.scan(KeySpan::FULL, Direction::Forward).unwrap().count(), 2);
    // It begins after the check, so it cannot be in conflict with it.
    put(&store, &[&[0xa0]]);
    let mut findings = Vec::new();
    let options = permazen_jsck::Options::default();
    permazen_jsck::check(&*tx, &options, &mut |finding| findings.push(finding.to_string()))
        .unwrap();
    assert!(!findings.is_empty());
    // A snapshot is the same state, which can be used when the transaction has ended.
    let shared = tx.snapshot().unwrap();
    // Its writes are discarded.
    tx.put(&[0xb0], b"").unwrap();
    tx.commit().unwrap();
    assert_eq!(shared.scan(KeySpan::FULL, Direction::Forward).unwrap().count(), 2);
    let copy = permazen_kv::memory::MemoryStore::new();
    let mut to = copy.begin(&TxOptions::writing()).unwrap();
    copy_pairs(&*shared, &mut *to, &mut Watch::default()).unwrap();
    to.commit().unwrap();
    assert_eq!(copy.statistics().unwrap().entries, Some(2));
}

/// The library itself has read by then.
#[test]
fn a_closure_that_wants_a_snapshot_runs_again_as_a_certain_one() {
    let Some(server) = own_server() else { return };
    let url = server.new_table();
    let store = PostgresStore::open(&url).unwrap();
    put(&store, &[b"x"]);
    let mut attempts = 0;
    let snapshot = store.read(|tx| {
        attempts += 1;
        tx.get(b"x")?;
        tx.snapshot()
    });
    assert_eq!(snapshot.unwrap().get(b"x").unwrap().as_deref(), Some(&b"0"[..]));
    assert_eq!(attempts, 2);
    // So does one that does not return the error.
    let mut attempts = 0;
    let snapshot = store.read(|tx| {
        attempts += 1;
        tx.get(b"x")?;
        Ok(tx.snapshot().ok())
    });
    assert!(snapshot.unwrap().is_some());
    assert_eq!(attempts, 2);
    // A transaction that does not run again gets an error that says why.
    let tx = store.begin(&TxOptions::reading()).unwrap();
    tx.get(b"x").unwrap();
    assert!(matches!(tx.snapshot(), Err(KvError::Unsupported(_))));
    drop(tx);

    let db = permazen::Permazen::builder(PostgresStore::open(&server.new_table()).unwrap());
    let db = db.model::<Note>().build().unwrap();
    let id = db.write(|tx| Ok(tx.create(Note { text: "old".to_owned() })?.id())).unwrap();
    let mut attempts = 0;
    let detached = db.read(|tx| {
        attempts += 1;
        assert_eq!(tx.get::<Note>(id)?.load()?.text, "old");
        Ok(tx.core().snapshot()?)
    });
    let detached = detached.unwrap();
    assert_eq!(attempts, 2);
    db.write(|tx| tx.get::<Note>(id)?.delete().map(drop)).unwrap();
    assert!(detached.exists(id).unwrap());
}

#[derive(permazen::PermazenObject, Debug, Clone)]
struct Note {
    text: String,
}

/// 57014 also ends a wait for certainty, but later it is a time-out.
#[test]
fn a_read_that_takes_too_long_after_the_wait_is_a_time_out() {
    let Some(server) = own_server() else { return };
    let user = format!("slow{}", std::process::id());
    server.sql(&format!("CREATE ROLE {user} LOGIN SUPERUSER"));
    server.sql(&format!("ALTER ROLE {user} SET statement_timeout = 2000"));
    let url = server.new_table();
    // The tables are made without this limit.
    PostgresStore::open(&url).unwrap();
    let (table, store) = (
        url.rsplit_once('=').unwrap().1.to_owned(),
        PostgresStore::open(&url.replace("test@", &format!("{user}@"))).unwrap(),
    );
    put(&store, &[b"x"]);
    let tx = store.begin(&certain()).unwrap();
    // It has waited, and has not touched the table yet.
    let snapshot = tx.snapshot().unwrap();
    let mut other = server.session();
    other.run(&format!("BEGIN; LOCK TABLE \"{table}\" IN ACCESS EXCLUSIVE MODE"));
    let error = snapshot.get(b"x").unwrap_err();
    assert!(matches!(error, KvError::Timeout(_)) && !error.is_retryable(), "{error}");
    assert!(error.to_string().contains("statement_timeout"), "{error}");
    other.run("ROLLBACK");
    store.read(|tx| tx.get(b"x").map(drop)).unwrap();
}
