//! The store reports the true outcome of a commit, whatever is lost on the way to the server.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixListener;
use std::thread;
use std::time::Duration;

use permazen_kv::{Direction, KeySpan, KvDatabase, KvDatabaseExt, KvRead, KvWrite, TxOptions};
use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::{End, Fault, Postgres, Proxy, Way};

/// The same table through a proxy and without one.
struct World {
    proxy: Proxy,
    through: PostgresStore,
    direct: PostgresStore,
}

impl World {
    fn new(server: &Postgres, wait: Duration) -> Option<World> {
        // A server that the tests have not started can be anywhere.
        if server.port() == 0 {
            return None;
        }
        let proxy = Proxy::new(server.port());
        let url = server.new_table();
        let direct = PostgresStore::open(&url).unwrap();
        let url = proxy.url(&url, server.port());
        let open = || PostgresStore::builder().wait(wait).open(&url);
        // On a busy machine it can take longer than the store waits.
        let through = (0..30).find_map(|_| open().ok()).unwrap_or_else(|| open().unwrap());
        Some(World { proxy, through, direct })
    }

    /// Commits this key while these faults come. Afterwards, the store has the keys from before,
    /// and this key if the commit was reported to have taken place. Returns whether all faults have
    /// come.
    fn commit(
        &self,
        key: String,
        faults: impl IntoIterator<Item = (Way, usize, Fault)>,
        expected: &mut BTreeSet<Vec<u8>>,
    ) -> bool {
        let mut tx = self.through.begin(&TxOptions::writing()).unwrap();
        assert!(tx.get(key.as_bytes()).unwrap().is_none());
        tx.put(key.as_bytes(), b"").unwrap();
        self.proxy.fail_in_turn(faults);
        let done = tx.commit();
        let has_come = self.proxy.end_fault();
        match done {
            Ok(()) => drop(expected.insert(key.clone().into_bytes())),
            Err(error) => assert!(error.is_retryable(), "{key}: {error}"),
        }
        assert_eq!(self.keys(), *expected, "{key}");
        has_come
    }

    fn keys(&self) -> BTreeSet<Vec<u8>> {
        let tx = self.direct.begin(&TxOptions::reading()).unwrap();
        let scan = tx.scan(KeySpan::FULL, Direction::Forward).unwrap();
        scan.map(|pair| pair.unwrap().0.into_owned()).collect()
    }
}

/// Each fault at messages of a transaction, both ways.
#[test]
fn a_lost_connection_has_a_true_outcome() {
    let Some(server) = Postgres::shared() else { return };
    let wait = Duration::from_secs(10);
    let Some(world) = World::new(server, wait) else { return };
    let mut expected = BTreeSet::new();
    let (mut committed, mut retried) = (0, 0);
    let distance = Fault::distance(2);
    for way in [Way::There, Way::Back] {
        for (row, fault) in [Fault::Lose, Fault::CutAfter].into_iter().enumerate() {
            for at in Fault::messages(row, distance) {
                assert!(at < 200, "it does not end");
                let key = format!("{way:?} {fault:?} {at}").into_bytes();
                // A connection is there, so that only the transaction is disturbed.
                world.through.read(|tx| tx.get(b"").map(drop)).unwrap();
                world.proxy.fail(way, at, fault);
                let done = world.through.begin(&TxOptions::writing()).and_then(|mut tx| {
                    assert!(tx.get(&key)?.is_none());
                    tx.put_new(&key, b"new")?;
                    tx.put(b"last", &key)?;
                    tx.remove(b"none")?;
                    tx.remove_span(KeySpan::new(b"x", Some(b"y")))?;
                    tx.commit()
                });
                let has_come = world.proxy.end_fault();
                match done {
                    Ok(()) => {
                        committed += u64::from(has_come);
                        expected.insert(key);
                        expected.insert(b"last".to_vec());
                    }
                    Err(error) => {
                        assert!(
                            has_come && error.is_retryable(),
                            "{way:?} {fault:?} {at}: {error}"
                        );
                        retried += 1;
                    }
                }
                if !has_come {
                    break;
                }
            }
        }
    }
    assert_eq!(world.keys(), expected);
    // Some have lost the answer, and some the question.
    let enough = (3 / distance as u64, 16 / distance as u64);
    assert!(committed > enough.0 && retried > enough.1, "{committed} committed, {retried} not");
}

/// The commit is lost, or its answer, and so is the message after it: the question for its outcome,
/// or the answer to that.
#[test]
fn a_lost_question_does_not_change_the_outcome() {
    let Some(server) = Postgres::shared() else { return };
    let Some(world) = World::new(server, Duration::from_secs(10)) else { return };
    let mut expected = BTreeSet::new();
    let (mut came, distance) = ([0, 0], Fault::distance(2));
    // Of the commit, the first message, or its answer.
    for (is_sent, first) in
        [(Way::There, 0, Fault::Lose), (Way::Back, 0, Fault::Lose)].iter().enumerate()
    {
        for (row, way) in [Way::There, Way::Back].into_iter().enumerate() {
            for at in Fault::messages(is_sent + row, distance) {
                assert!(at < 200, "it does not end");
                let faults = [*first, (way, at, Fault::Lose)];
                if !world.commit(format!("{first:?} {way:?} {at}"), faults, &mut expected) {
                    break;
                }
                came[is_sent] += 1;
            }
        }
    }
    assert!(came.into_iter().all(|came| came >= 20 / distance), "{came:?}");
}

/// The changes were sent before, since they are many, and nothing is left for the commit to send.
#[test]
fn a_commit_of_what_was_sent_before_has_a_true_outcome() {
    let Some(server) = Postgres::shared() else { return };
    let Some(world) = World::new(server, Duration::from_secs(30)) else { return };
    let mut tx = world.through.begin(&TxOptions::writing()).unwrap();
    let value = vec![7; 1 << 20];
    for number in 0..64 {
        tx.put(&[number], &value).unwrap();
    }
    // This sends them, and changes nothing.
    tx.remove_span(KeySpan::new(b"x", Some(b"x"))).unwrap();
    world.proxy.fail(Way::Back, 0, Fault::Lose);
    let done = tx.commit();
    assert!(world.proxy.end_fault());
    // The server has committed, and only its answer was lost.
    done.unwrap();
    assert_eq!(world.keys().len(), 64);
}

/// A server that does not keep to the protocol says nothing of a commit.
#[test]
fn strange_answers_have_a_true_outcome() {
    let Some(server) = Postgres::shared() else { return };
    let Some(world) = World::new(server, Duration::from_secs(5)) else { return };
    let mut expected = BTreeSet::new();
    for fault in [Fault::Omit, Fault::Replace] {
        for at in 0.. {
            assert!(at < 200, "it does not end");
            let faults = [(Way::Back, at, fault)];
            if !world.commit(format!("{fault:?} {at}"), faults, &mut expected) {
                assert!(at > 6, "{at}");
                break;
            }
        }
    }
}

/// The server answers each statement, COMMIT too, and says an error all the same.
#[test]
fn an_error_beside_all_answers_does_not_make_a_commit_undone() {
    let Some(server) = Postgres::shared() else { return };
    let Some(world) = World::new(server, Duration::from_secs(30)) else { return };
    let mut expected = BTreeSet::new();
    for at in 0.. {
        assert!(at < 200, "it does not end");
        let has_come =
            world.commit(at.to_string(), [(Way::Back, at, Fault::Refuse)], &mut expected);
        // Otherwise a closure would run a second time.
        assert_eq!(expected.len(), at + 1);
        if !has_come {
            assert!(at > 6, "{at}");
            break;
        }
    }
}

/// A message that stays on its way is one that is lost, after the time to wait.
#[test]
fn what_stalls_is_given_up_in_time() {
    let Some(server) = Postgres::shared() else { return };
    let each = |row: usize, way: Way| {
        let Some(world) = World::new(server, Duration::from_secs(3)) else { return };
        let (mut expected, mut came) = (BTreeSet::new(), 0);
        for at in Fault::messages(2 * row, Fault::distance(5)).take_while(|at| *at < 40) {
            let key = format!("{way:?} {at}").into_bytes();
            // A connection is there, so that only the transaction is disturbed. To make one can
            // take longer than the store waits.
            let is_there = (0..30).any(|_| world.through.read(|tx| tx.get(b"").map(drop)).is_ok());
            assert!(is_there, "{way:?} {at}");
            world.proxy.fail(way, at, Fault::Stall);
            let done = world.through.begin(&TxOptions::writing()).and_then(|mut tx| {
                tx.get(&key)?;
                tx.put(&key, b"")?;
                tx.commit()
            });
            came += usize::from(world.proxy.end_fault());
            match done {
                Ok(()) => drop(expected.insert(key)),
                Err(error) => assert!(error.is_retryable(), "{way:?} {at}: {error}"),
            }
        }
        assert_eq!(world.keys(), expected);
        assert!(came > 0, "{way:?}");
    };
    thread::scope(|scope| {
        for (row, way) in [Way::There, Way::Back].into_iter().enumerate() {
            scope.spawn(move || each(row, way));
        }
    });
}

#[test]
fn without_a_server_the_outcome_is_unknown_and_the_wait_is_bounded() {
    let Some(mut server) = Postgres::start(&[]) else { return };
    let store = PostgresStore::builder().wait(Duration::from_secs(5)).open(&server.url()).unwrap();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    tx.get(b"key").unwrap();
    tx.put(b"key", b"").unwrap();
    server.end(End::Immediate);
    let error = tx.commit().unwrap_err();
    assert!(error.is_outcome_unknown(), "{error}");
    let tx = store.begin(&TxOptions::reading()).unwrap();
    let error = tx.get(b"key").map(drop).unwrap_err();
    assert!(error.is_retryable(), "{error}");
    server.run();
    // The commit of unknown outcome did not take place, because nothing was sent.
    assert!(store.read(|tx| Ok(tx.get(b"key")?.is_none())).unwrap());
    store.write(|tx| tx.put(b"key", b"")).unwrap();
}

/// A standby answers, and cannot tell the outcome of a commit. The server before it comes back.
#[test]
fn a_standby_is_not_asked_for_ever() {
    let Some(mut server) = Postgres::start(&[]) else { return };
    let Some(standby) = server.start_standby() else { return };
    let proxy = Proxy::new(server.port());
    let url =
        format!("postgres://test@127.0.0.1:{},127.0.0.1:{}/test", proxy.port(), standby.port());
    let store = PostgresStore::builder().wait(Duration::from_secs(120)).open(&url).unwrap();
    for fault in [Fault::Lose, Fault::CutAfter] {
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        tx.get(b"key").unwrap();
        tx.put(b"key", b"").unwrap();
        // There is no answer to the commit, and for a while there is only the standby.
        proxy.fail(Way::There, 0, fault);
        let done = thread::scope(|scope| {
            let done = scope.spawn(|| tx.commit());
            // It is away for as long as a restart takes.
            server.end(End::Immediate);
            server.run();
            done.join().unwrap()
        });
        assert!(proxy.end_fault());
        let error = done.unwrap_err();
        assert!(error.is_retryable(), "{error}");
    }
}

/// The last words of the server have come before anything was sent.
#[test]
fn a_server_that_takes_no_more_has_said_why() {
    let folder = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let _ = client.read(&mut [0; 1 << 10]);
            // What the client sends from now on is refused at once.
            let _ = client.shutdown(Shutdown::Read);
            let _ = client.write_all(
                b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05IE\0\0\0\x20SFATAL\0C57P01\0Mterminating\0\0",
            );
        }
    });
    let url = format!("postgres://ann@:5432/db?host={}", folder.path().display());
    // The last attempt has as much time, also on a busy machine.
    let opening = PostgresStore::builder().wait(Duration::from_secs(3));
    let error = opening.open(&url).unwrap_err();
    let text = error.to_string();
    assert!(error.is_retryable() && text.contains("terminating (SQLSTATE 57P01)"), "{text}");
}
