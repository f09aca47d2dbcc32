//! Refusals of a real server: which error they become, whether the transaction may run again, and
//! what to do.

use std::ops::Deref;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use permazen_kv::{KvDatabase, KvDatabaseExt, KvError, KvRead, KvWrite, TxOptions};
use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::{Postgres, Psql};

/// A server of our own.
fn own_server() -> Option<&'static Postgres> {
    Postgres::shared().filter(|server| server.port() > 0)
}

/// A user with these settings, and a table that the user may use.
struct World<S = &'static Postgres> {
    server: S,
    user: String,
    table: String,
    url: String,
}

impl World {
    fn new(settings: &[&str]) -> Option<World> {
        Some(World::on(own_server()?, settings))
    }
}

impl<S: Deref<Target = Postgres>> World<S> {
    fn on(server: S, settings: &[&str]) -> World<S> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let user = format!("user{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        server.sql(&format!("CREATE ROLE {user} LOGIN"));
        let url = server.new_table();
        PostgresStore::open(&url).unwrap();
        let table = url.rsplit_once('=').unwrap().1.to_owned();
        for table in [&table, &format!("{table}_commit")] {
            let all = "SELECT, INSERT, UPDATE, DELETE";
            server.sql(&format!("GRANT {all} ON \"{table}\" TO {user}"));
        }
        for setting in settings {
            server.sql(&format!("ALTER ROLE {user} {setting}"));
        }
        let url = url.replace("test@", &format!("{user}@"));
        World { server, user, table, url }
    }

    fn open(&self) -> PostgresStore {
        self.try_open().unwrap()
    }

    fn try_open(&self) -> permazen_kv::Result<PostgresStore> {
        PostgresStore::builder().wait(Duration::from_secs(5)).open(&self.url)
    }

    /// Another session, in a transaction that has locked the table.
    fn locked(&self) -> Psql {
        let mut other = self.server.session();
        other.run(&format!("BEGIN; LOCK TABLE \"{}\" IN ACCESS EXCLUSIVE MODE", self.table));
        other
    }
}

fn get(store: &PostgresStore) -> KvError {
    let tx = store.begin(&TxOptions::reading()).unwrap();
    let error = tx.get(b"key").unwrap_err();
    // Nothing more is read in it.
    assert!(tx.get(b"other").is_err());
    error
}

#[track_caller]
fn check(error: &KvError, parts: &[&str]) {
    let text = error.to_string();
    parts.iter().for_each(|part| assert!(text.contains(part), "{part}: {text}"));
}

/// 42501
#[test]
fn a_table_that_the_user_may_not_use() {
    let Some(world) = World::new(&[]) else { return };
    let store = world.open();
    store.write(|tx| tx.put(b"key", b"value")).unwrap();
    world.server.sql(&format!("REVOKE INSERT ON \"{}\" FROM {}", world.table, world.user));
    let error = store.write(|tx| tx.put(b"key", b"other")).unwrap_err();
    assert!(matches!(error, KvError::Open { .. }) && !error.is_retryable());
    check(&error, &["cannot commit", "42501", "needs SELECT, INSERT, UPDATE and DELETE"]);
    // Nothing was changed, and reading still works.
    assert_eq!(store.read(|tx| Ok(tx.get(b"key")?.unwrap().into_owned())).unwrap(), b"value");
    world.server.sql(&format!("REVOKE SELECT ON \"{}\" FROM {}", world.table, world.user));
    check(&get(&store), &["cannot read", "42501"]);
    check(&world.try_open().unwrap_err(), &["cannot open the tables", "42501"]);
}

/// 25006
#[test]
fn a_user_that_may_only_read_cannot_create_the_tables() {
    let Some(world) = World::new(&["SET default_transaction_read_only = on"]) else { return };
    // Transactions that write say so, also if the default is another one.
    world.open().write(|tx| tx.put(b"key", b"")).unwrap();
    let error = PostgresStore::open(&format!("{}_none", world.url)).unwrap_err();
    assert!(error.is_retryable(), "{error}");
    check(&error, &["25006", "name all hosts", "default_transaction_read_only"]);
}

/// 42P01
#[test]
fn a_table_that_was_dropped() {
    let Some(world) = World::new(&[]) else { return };
    let store = world.open();
    world.server.sql(&format!("DROP TABLE \"{}\"", world.table));
    let error = get(&store);
    assert!(matches!(error, KvError::Open { .. }) && !error.is_retryable());
    check(&error, &["42P01", &world.table, "opening the store creates it"]);
    let none = PostgresStore::builder().create(false).open(&world.url).unwrap_err();
    assert!(matches!(none, KvError::NoStore { .. }), "{none}");
    check(&none, &["cannot open the tables", "there is no store", "42P01"]);
    assert!(!none.to_string().contains("dropped"), "{none}");
}

/// 42703
#[test]
fn a_table_of_something_else() {
    let Some(server) = own_server() else { return };
    let url = server.new_table();
    let table = url.rsplit_once('=').unwrap().1;
    server.sql(&format!("CREATE TABLE \"{table}\" (id INT PRIMARY KEY, text TEXT)"));
    let error = PostgresStore::open(&url).unwrap_err();
    assert!(matches!(error, KvError::Open { .. }) && !error.is_retryable(), "{error}");
    check(&error, &["42703", "not have the columns of a store", "table=NAME"]);
    // Nothing was made beside it.
    let tokens = format!("SELECT count(*) FROM pg_tables WHERE tablename = '{table}_commit'");
    assert_eq!(server.sql(&tokens).trim(), "0");
}

#[test]
fn a_program_that_holds_all_connections_is_told_what_to_do() {
    let Some(server) = own_server() else { return };
    let store = PostgresStore::builder().connections(1).open(&server.new_table()).unwrap();
    let first = store.begin(&TxOptions::reading()).unwrap();
    first.get(b"key").unwrap();
    let second = store.begin(&TxOptions::reading().with_wait(Duration::from_millis(1))).unwrap();
    let error = second.get(b"key").unwrap_err();
    assert!(error.is_retryable(), "{error}");
    check(&error, &["all 1 connections", "PostgresBuilder::connections"]);
}

/// 23505, 42710, 42P07
#[test]
fn programs_that_make_the_tables_at_the_same_time_all_open_them() {
    let Some(server) = own_server() else { return };
    for _ in 0..5 {
        let (url, together) = (server.new_table(), Barrier::new(8));
        let open = || {
            together.wait();
            PostgresStore::open(&url)?.write(|tx| tx.put(b"key", b"value"))
        };
        thread::scope(|scope| {
            let programs = [(); 8].map(|()| scope.spawn(open));
            programs.into_iter().for_each(|program| program.join().unwrap().unwrap());
        });
    }
}

/// 55P03
#[test]
fn a_lock_that_others_hold() {
    let Some(world) = World::new(&["SET lock_timeout = 20"]) else { return };
    let store = world.open();
    let mut other = world.locked();
    let error = get(&store);
    assert!(error.is_retryable(), "{error}");
    check(&error, &["55P03", "lock_timeout"]);
    other.run("ROLLBACK");
    store.write(|tx| tx.put(b"key", b"")).unwrap();
}

/// 57014
#[test]
fn a_statement_that_takes_too_long() {
    // No other test writes there, for which a transaction that must be certain would wait.
    let Some(server) = own_server().and_then(|_| Postgres::start(&["fsync=off"])) else { return };
    let world = World::on(Box::new(server), &["SET statement_timeout = 2000"]);
    let store = world.open();
    let mut other = world.locked();
    let error = get(&store);
    assert!(matches!(error, KvError::Timeout(_)) && error.is_stale(), "{error}");
    check(&error, &["57014", "statement_timeout"]);
    // The same holds for a transaction that first waits to be certain: the read has taken too long.
    let certain = store.begin(&TxOptions::reading().with_certainty()).unwrap();
    let error = certain.get(b"key").unwrap_err();
    assert!(matches!(error, KvError::Timeout(_)) && !error.is_retryable(), "{error}");
    check(&error, &["57014", "statement_timeout"]);
    other.run("ROLLBACK");
    store.write(|tx| tx.put(b"key", b"")).unwrap();
}

/// 57P01
#[test]
fn a_connection_that_the_administrator_ends() {
    let Some(world) = World::new(&[]) else { return };
    let store = world.open();
    let tx = store.begin(&TxOptions::reading()).unwrap();
    tx.get(b"key").unwrap();
    let sessions = format!("FROM pg_stat_activity WHERE usename = '{}'", world.user);
    world.server.sql(&format!("SELECT pg_terminate_backend(pid) {sessions}"));
    world.server.wait_until(&format!("SELECT count(*) = 0 {sessions}"));
    let error = tx.get(b"other").unwrap_err();
    assert!(error.is_retryable(), "{error}");
    check(&error, &["the connection to the server is lost", "57P01"]);
    store.write(|tx| tx.put(b"key", b"")).unwrap();
}

/// 25P03
#[test]
fn a_transaction_that_pauses_for_too_long() {
    let settings = ["SET idle_in_transaction_session_timeout = 300"];
    let Some(world) = World::new(&settings) else { return };
    let store = world.open();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    tx.get(b"key").unwrap();
    let sessions = format!("FROM pg_stat_activity WHERE usename = '{}'", world.user);
    world.server.wait_until(&format!("SELECT count(*) = 0 {sessions}"));
    tx.put(b"key", b"").unwrap();
    let error = tx.commit().unwrap_err();
    assert!(error.is_retryable(), "{error}");
    check(&error, &["the connection to the server is lost", "25P03"]);
    assert!(store.read(|tx| Ok(tx.get(b"key")?.is_none())).unwrap());
}

/// 53300
#[test]
fn too_many_connections() {
    let Some(world) = World::new(&["CONNECTION LIMIT 1"]) else { return };
    let store = world.open();
    let first = store.begin(&TxOptions::reading()).unwrap();
    first.get(b"key").unwrap();
    let error = get(&store);
    assert!(error.is_retryable(), "{error}");
    check(&error, &["53300", "max_connections", "PostgresBuilder::connections"]);
    first.commit().unwrap();
    store.write(|tx| tx.put(b"key", b"")).unwrap();
}

/// 28000, 28P01, 3D000
#[test]
fn a_user_that_may_not_log_in() {
    let Some(world) = World::new(&["NOLOGIN"]) else { return };
    let error = world.try_open().unwrap_err();
    assert!(matches!(error, KvError::Open { .. }) && !error.is_retryable(), "{error}");
    check(&error, &["28000", "look at the user"]);
    let error = PostgresStore::open(&format!("{}_none", world.server.url())).unwrap_err();
    assert!(matches!(error, KvError::Open { .. }) && !error.is_retryable(), "{error}");
    check(&error, &["3D000", "the database in the URL"]);
}

#[test]
fn a_password_must_be_right() {
    let Some(server) = Postgres::start_with_passwords(&["fsync=off"]) else { return };
    server.sql("ALTER ROLE test PASSWORD 'right'");
    let open = |password: &str| {
        PostgresStore::open(&server.url().replace("test@", &format!("test:{password}@")))
    };
    open("right").unwrap();
    let error = open("wr%40ng").unwrap_err();
    assert!(matches!(error, KvError::Open { .. }) && !error.is_retryable(), "{error}");
    check(&error, &["28P01", "the password", "~/.pgpass"]);
    let text = format!("{error} {error:?}");
    assert!(!text.contains("wr@ng") && !text.contains("wr%40ng"), "{text}");
}

/// 23505, 40001
#[test]
fn another_transaction_was_first() {
    let Some(world) = World::new(&[]) else { return };
    let store = world.open();
    let mut late = store.begin(&TxOptions::writing()).unwrap();
    assert!(late.put_new(b"new", b"late").unwrap());
    store.write(|tx| tx.put(b"new", b"first")).unwrap();
    let error = late.commit().unwrap_err();
    assert!(error.is_retryable(), "{error}");
    check(&error, &["23505", "another transaction was first"]);
    let mut late = store.begin(&TxOptions::writing()).unwrap();
    late.get(b"new").unwrap();
    store.write(|tx| tx.put(b"new", b"second")).unwrap();
    late.put(b"new", b"late").unwrap();
    let error = late.commit().unwrap_err();
    assert!(error.is_retryable(), "{error}");
    check(&error, &["40001", "must be retried"]);
    assert_eq!(store.read(|tx| Ok(tx.get(b"new")?.unwrap().into_owned())).unwrap(), b"second");
}
