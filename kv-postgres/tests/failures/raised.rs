//! Errors that come over the wire from a real server, whatever has caused them: a trigger raises
//! them, in a statement of the commit or at its end. And some that only come when something has
//! happened to the server.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use permazen_kv::{KvDatabase, KvDatabaseExt, KvError, KvRead, KvWrite, TxOptions};
use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::Postgres;

/// The table of a URL.
fn table(url: &str) -> &str {
    url.rsplit_once("table=").unwrap().1
}

fn open(url: &str) -> PostgresStore {
    waiting(url, Duration::from_secs(30))
}

fn waiting(url: &str, wait: Duration) -> PostgresStore {
    PostgresStore::builder().wait(wait).open(url).unwrap()
}

/// A table where a value of `raise` and a SQLSTATE is refused with that state.
fn refusing(server: &Postgres, is_late: bool) -> PostgresStore {
    let url = server.new_table();
    let (store, table) = (open(&url), table(&url));
    let kind = if is_late { "CONSTRAINT TRIGGER" } else { "TRIGGER" };
    let time = if is_late { "AFTER" } else { "BEFORE" };
    let late = if is_late { "DEFERRABLE INITIALLY DEFERRED" } else { "" };
    server.sql(&format!(
        "CREATE FUNCTION raise_{table}() RETURNS trigger LANGUAGE plpgsql AS $$
         DECLARE said text := encode(NEW.kv_value, 'escape');
         BEGIN
             IF said LIKE 'raise %' THEN
                 RAISE EXCEPTION 'raised on purpose' USING ERRCODE = substr(said, 7);
             END IF;
             RETURN NEW;
         END $$;
         CREATE {kind} raise {time} INSERT OR UPDATE ON \"{table}\" {late}
         FOR EACH ROW EXECUTE FUNCTION raise_{table}()"
    ));
    store
}

/// The kind of an error.
fn kind(error: &KvError) -> &'static str {
    match error {
        KvError::Retry(_) | KvError::Conflict(_) => "retry",
        KvError::OutcomeUnknown(_) => "unknown",
        KvError::Stale(_) => "stale",
        KvError::Timeout(_) => "time-out",
        KvError::Full { .. } => "full",
        KvError::Open { .. } => "open",
        KvError::Store { .. } => "store",
        _ => "other",
    }
}

/// Each state: what it becomes, and a word of what to do.
const STATES: [(&str, &str, &str); 33] = [
    // Errors of the connection, or of the connection between a proxy and the server: the store asks
    // for the outcome of the commit.
    ("08000", "retry", "the commit did not take place"),
    ("08001", "retry", "the commit did not take place"),
    ("08003", "retry", "the commit did not take place"),
    ("08004", "retry", "the commit did not take place"),
    ("08006", "retry", "the commit did not take place"),
    ("08P01", "retry", "the commit did not take place"),
    ("0A000", "retry", "name all hosts"),
    ("22021", "store", ""),
    ("23505", "retry", "another transaction was first"),
    ("25006", "retry", "name all hosts"),
    ("25P02", "stale", "begin another one"),
    ("25P03", "retry", "idle_in_transaction_session_timeout"),
    ("28000", "open", "look at the user"),
    ("28P01", "open", "look at the user"),
    ("40000", "retry", "must be retried"),
    ("40001", "retry", "must be retried"),
    ("40002", "retry", "must be retried"),
    // The server says that the outcome is not known. The token of the commit shows it.
    ("40003", "retry", "the commit did not take place"),
    ("40P01", "retry", "must be retried"),
    ("42501", "open", "needs SELECT, INSERT, UPDATE and DELETE"),
    ("42P01", "open", "opening the store creates it"),
    ("53000", "retry", "must be retried"),
    ("53100", "full", "make room"),
    ("53200", "retry", "max_pred_locks_per_transaction"),
    ("53300", "retry", "max_connections"),
    ("53400", "full", "raise this limit"),
    ("54000", "store", "larger than the server takes"),
    ("55P03", "retry", "lock_timeout"),
    ("57014", "time-out", "statement_timeout"),
    // The server ends the connection, or shuts down: the store asks for the outcome of the commit.
    ("57P01", "retry", "the commit did not take place"),
    ("57P02", "retry", "the commit did not take place"),
    ("57P03", "retry", "the commit did not take place"),
    ("57P05", "retry", "the commit did not take place"),
];

/// Refuses commits with each state, and checks the error that the state becomes.
fn each_state(is_late: bool) {
    let Some(server) = Postgres::shared().filter(|server| server.port() > 0) else { return };
    let store = refusing(server, is_late);
    for (state, expected, advice) in STATES {
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        tx.put(b"before", state.as_bytes()).unwrap();
        tx.put(b"key", format!("raise {state}").as_bytes()).unwrap();
        let error = tx.commit().unwrap_err();
        let text = error.to_string();
        assert_eq!(kind(&error), expected, "{state}: {text}");
        assert_eq!(error.is_retryable(), expected == "retry", "{state}: {text}");
        for part in ["cannot commit", "raised on purpose", state, advice] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // Nothing was changed, and the store still works.
        store.write(|tx| tx.put(b"after", state.as_bytes())).unwrap();
        let read = |key: &[u8]| store.read(|tx| Ok(tx.get(key)?.map(|v| v.into_owned()))).unwrap();
        assert_eq!((read(b"before"), read(b"key")), (None, None), "{state}");
        assert_eq!(read(b"after").as_deref(), Some(state.as_bytes()));
    }
}

#[test]
fn a_statement_of_a_commit_is_refused() {
    each_state(false);
}

#[test]
fn the_end_of_a_commit_is_refused() {
    each_state(true);
}

/// 40P01: each of two transactions waits for a lock of the other one.
#[test]
fn two_transactions_that_wait_for_each_other() {
    let Some(server) = Postgres::shared().filter(|server| server.port() > 0) else { return };
    let user = format!("waiting{}", std::process::id());
    server.sql(&format!("CREATE ROLE {user} LOGIN SUPERUSER"));
    // A transaction that waits checks once, after this time, whether there is a deadlock.
    server.sql(&format!("ALTER ROLE {user} SET deadlock_timeout = '10s'"));
    let url = server.new_table();
    // The store waits longer than that.
    let builder = PostgresStore::builder().wait(Duration::from_secs(60));
    let store = builder.open(&url.replace("test@", &format!("{user}@"))).unwrap();
    store.write(|tx| tx.put(b"a", b"old").and_then(|()| tx.put(b"b", b"old"))).unwrap();
    let mut other = server.session();
    let change = |key: &str| {
        format!("UPDATE \"{}\" SET \"kv_value\" = 'other' WHERE \"kv_key\" = '{key}'", table(&url))
    };
    other.run("SET deadlock_timeout = '1h'");
    other.run(&format!("BEGIN; {}", change("b")));
    let error = thread::scope(|scope| {
        let ours = scope.spawn(|| {
            let mut tx = store.begin(&TxOptions::writing()).unwrap();
            tx.put(b"a", b"new").unwrap();
            tx.put(b"b", b"new").unwrap();
            tx.commit().unwrap_err()
        });
        server.wait_until(&format!(
            "SELECT count(*) = 1 FROM pg_stat_activity WHERE usename = '{user}' AND wait_event_type = 'Lock'"
        ));
        other.run(&change("a"));
        ours.join().unwrap()
    });
    assert!(error.is_retryable() && error.to_string().contains("40P01"), "{error}");
    other.run("COMMIT");
    let read = |key: &[u8]| store.read(|tx| Ok(tx.get(key)?.map(|v| v.into_owned()))).unwrap();
    assert_eq!(read(b"a").as_deref(), Some(&b"other"[..]));
}

/// 54000: an index that the store has not made takes no value of this length.
#[test]
fn a_value_that_an_index_does_not_take() {
    let Some(server) = Postgres::shared().filter(|server| server.port() > 0) else { return };
    let url = server.new_table();
    let store = open(&url);
    server.sql(&format!("CREATE INDEX ON \"{}\" (\"kv_value\")", table(&url)));
    // It cannot be compressed.
    let mut number = 1_u32;
    let mut next = || {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (number >> 24) as u8
    };
    let value: Vec<u8> = (0..10_000).map(|_| next()).collect();
    let error = store.write(|tx| tx.put(b"key", &value)).unwrap_err();
    assert_eq!(kind(&error), "store", "{error}");
    let text = error.to_string();
    assert!(text.contains("54000") && text.contains("larger than the server takes"), "{text}");
    store.write(|tx| tx.put(b"key", b"short")).unwrap();
}

/// 57P05
#[test]
fn a_connection_that_was_idle_for_long() {
    let Some(server) = Postgres::shared().filter(|server| server.port() > 0) else { return };
    let user = format!("idle{}", std::process::id());
    server.sql(&format!("CREATE ROLE {user} LOGIN SUPERUSER"));
    let url = server.new_table().replace("test@", &format!("{user}@"));
    drop(open(&url));
    // So long that no connection is lost while it is opened, also on a busy machine.
    server.sql(&format!("ALTER ROLE {user} SET idle_session_timeout = 3000"));
    let store = open(&url);
    store.write(|tx| tx.put(b"key", b"")).unwrap();
    let ended = format!("SELECT count(*) = 0 FROM pg_stat_activity WHERE usename = '{user}'");
    server.wait_until(&ended);
    let tx = store.begin(&TxOptions::reading()).unwrap();
    let error = tx.get(b"key").unwrap_err();
    assert!(error.is_retryable(), "{error}");
    drop(tx);
    // The transaction runs again by itself.
    server.wait_until(&ended);
    store.write(|tx| tx.put(b"key", b"")).unwrap();
}

/// 57P03, 57P01: the server ends, and waits for the sessions that are there.
#[test]
fn a_server_that_shuts_down() {
    let Some(server) = Postgres::start(&["fsync=off"]) else { return };
    let url = server.new_table();
    let store = waiting(&url, Duration::from_secs(5));
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    assert!(tx.get(b"key").unwrap().is_none());
    let process = server.sql("SELECT pg_read_file('postmaster.pid')");
    let process = process.lines().next().unwrap();
    assert!(Command::new("kill").args(["-TERM", process]).status().unwrap().success());
    let late = || PostgresStore::builder().wait(Duration::from_millis(200)).open(&url);
    // The server takes some more connections until it has seen the signal. A log-in that takes long
    // is an error of its own.
    let mut errors = (0..600).filter_map(|_| late().err());
    let error = errors.find(|error| error.to_string().contains("57P03")).unwrap();
    assert!(error.is_retryable(), "{error}");
    // A session that was there before can continue.
    tx.put(b"key", b"").unwrap();
    tx.commit().unwrap();
}

/// 57P02: the server ends all connections, because one of its processes was killed.
#[test]
fn a_server_one_of_whose_processes_is_killed() {
    let Some(server) = Postgres::start(&["fsync=off"]) else { return };
    let store = PostgresStore::builder().wait(Duration::from_secs(30)).open(&server.new_table());
    let store = store.unwrap();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    assert!(tx.get(b"key").unwrap().is_none());
    let mut session = server.session();
    session.run("SET application_name = 'victim'");
    let victim = server.sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'victim'");
    assert!(Command::new("kill").args(["-KILL", &victim]).status().unwrap().success());
    tx.put(b"key", b"late").unwrap();
    // The commit is either early enough or not at all, and the answer says which.
    let result = tx.commit();
    let there = store.read(|tx| Ok(tx.get(b"key")?.is_some())).unwrap();
    match result {
        Ok(()) => assert!(there),
        Err(error) => assert!(error.is_retryable() && !there, "{error}"),
    }
    store.write(|tx| tx.put(b"key", b"")).unwrap();
}

/// The server commits, and waits for a replica that does not come. After five seconds the store
/// asks what became of the commit. The administrator ends the wait of the commit, and then that of
/// the question.
#[test]
fn a_commit_without_its_replica_is_not_certain_when_it_is_asked_for_either() {
    let settings = ["fsync=off", "synchronous_standby_names=*", "synchronous_commit=local"];
    let Some(server) = Postgres::start(&settings) else { return };
    let url = server.new_table();
    drop(open(&url));
    server.sql("CREATE ROLE certain LOGIN SUPERUSER");
    server.sql("ALTER ROLE certain SET synchronous_commit = on");
    let store = waiting(&url.replace("test@", "certain@"), Duration::from_secs(5));
    let is_over = AtomicBool::new(false);
    let error = thread::scope(|scope| {
        scope.spawn(|| {
            let mut session = server.session();
            while !is_over.load(Ordering::Relaxed) {
                session.run(
                    "SELECT pg_cancel_backend(pid) FROM pg_stat_activity \
                     WHERE wait_event = 'SyncRep' \
                     AND (query <> 'COMMIT' OR query_start < now() - interval '6 s')",
                );
                thread::sleep(Duration::from_millis(20));
            }
        });
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        tx.put(b"key", b"").unwrap();
        let done = tx.commit();
        is_over.store(true, Ordering::Relaxed);
        done.unwrap_err()
    });
    assert!(error.is_outcome_unknown(), "{error}");
    assert!(error.to_string().contains("did not wait for its replica"), "{error}");
}

/// 23505 also for a key below one that must be new: nothing should be there.
#[test]
fn what_is_below_a_new_key_must_be_new_too() {
    let Some(server) = Postgres::shared().filter(|server| server.port() > 0) else { return };
    let store = open(&server.new_table());
    let create = |key: &[u8]| {
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        assert!(tx.put_new(key, b"").unwrap());
        tx.put(&[key, b"field"].concat(), b"1").unwrap();
        tx.put(&[key, b"other"].concat(), b"2").unwrap();
        tx.remove(&[key, b"other"].concat()).unwrap();
        tx.put(b"entry", key).unwrap();
        tx.commit()
    };
    create(b"a").unwrap();
    create(b"b").unwrap();
    store.write(|tx| tx.put(b"cfield", b"left over")).unwrap();
    let error = create(b"c").unwrap_err();
    assert!(error.is_retryable() && error.to_string().contains("23505"), "{error}");
    // A key that was removed and put again does not count as new.
    store
        .write(|tx| {
            tx.remove_span(permazen_kv::KeySpan::new(b"c", Some(b"d")))?;
            assert!(tx.put_new(b"c", b"")?);
            tx.put(b"cfield", b"3")
        })
        .unwrap();
    let read = |key: &[u8]| store.read(|tx| Ok(tx.get(key)?.map(|v| v.into_owned()))).unwrap();
    assert_eq!(read(b"afield").as_deref(), Some(&b"1"[..]));
    assert_eq!((read(b"aother"), read(b"entry").as_deref()), (None, Some(&b"b"[..])));
    assert_eq!(read(b"cfield").as_deref(), Some(&b"3"[..]));
}
