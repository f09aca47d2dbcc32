//! The store reports the true outcome of a commit, whatever is lost on the way to the cluster.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use permazen_kv::{Direction, KeySpan, KvDatabase, KvDatabaseExt, KvRead, KvWrite, TxOptions};
use permazen_kv_etcd::EtcdStore;
use permazen_test_servers::Etcd;

use crate::support::{Fault, Proxy};

/// The same store through a proxy and without one.
struct World {
    proxy: Proxy,
    through: EtcdStore,
    direct: EtcdStore,
}

impl World {
    fn new(cluster: &Etcd, wait: Duration) -> Option<World> {
        // A cluster that the tests have not started can be anywhere.
        let port = *cluster.endpoints().first()?;
        let proxy = Proxy::new(port);
        let url = cluster.new_prefix();
        let direct = EtcdStore::open(&url).unwrap();
        let open = || EtcdStore::builder().wait(wait).open(&proxy.url(&url, port));
        // On a busy machine it can take longer than the store waits.
        let through = (0..30).find_map(|_| open().ok()).unwrap_or_else(|| open().unwrap());
        Some(World { proxy, through, direct })
    }

    fn keys(&self) -> BTreeSet<Vec<u8>> {
        let tx = self.direct.begin(&TxOptions::reading()).unwrap();
        let scan = tx.scan(KeySpan::FULL, Direction::Forward).unwrap();
        scan.map(|pair| pair.unwrap().0.into_owned()).collect()
    }
}

/// Each fault at each request of a transaction.
#[test]
fn a_lost_connection_has_a_true_outcome() {
    let Some(cluster) = Etcd::shared() else { return };
    let Some(world) = World::new(cluster, Duration::from_secs(10)) else { return };
    let mut expected = BTreeSet::new();
    let (mut committed, mut retried) = (0, 0);
    for fault in [Fault::Lost, Fault::NoAnswer, Fault::Late] {
        for at in 0.. {
            assert!(at < 50, "it does not end");
            let key = format!("{fault:?} {at}").into_bytes();
            world.direct.write(|tx| tx.put(b"xx", b"")).unwrap();
            world.proxy.fail(at, fault);
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
                    expected.remove(&b"xx"[..]);
                }
                Err(error) => {
                    assert!(has_come && error.is_retryable(), "{fault:?} {at}: {error}");
                    expected.insert(b"xx".to_vec());
                    retried += 1;
                }
            }
            assert_eq!(world.keys(), expected, "{fault:?} {at}");
            if !has_come {
                break;
            }
        }
    }
    // Some have lost the answer, and some the question.
    assert!(committed >= 3 && retried >= 2, "{committed} committed, {retried} not");
}

#[test]
fn a_late_commit_comes_too_late() {
    let Some(cluster) = Etcd::shared() else { return };
    let Some(world) = World::new(cluster, Duration::from_secs(10)) else { return };
    world.proxy.fail(0, Fault::Late);
    let mut tx = world.through.begin(&TxOptions::writing()).unwrap();
    tx.put(b"key", b"").unwrap();
    let error = tx.commit().unwrap_err();
    assert!(error.is_retryable() && error.to_string().contains("did not take place"), "{error}");
    // Also when the record that bars it has been swept away.
    for _ in 0..2 {
        world.direct.write(|tx| tx.put(b"other", b"")).unwrap();
        world.direct.sweep().unwrap();
    }
    assert!(world.proxy.end_fault());
    let late = world.proxy.take_late();
    assert!(late.len() == 1 && late[0].contains("200 OK") && !late[0].contains("succeeded"));
    assert!(world.direct.read(|tx| Ok(tx.get(b"key")?.is_none())).unwrap());
}

/// A store that asks for the outcome of a commit, and gets no answer, asks again.
#[test]
fn an_answer_to_the_question_can_be_lost_too() {
    let Some(cluster) = Etcd::shared() else { return };
    let Some(world) = World::new(cluster, Duration::from_secs(10)) else { return };
    for (fault, takes_place) in [(Fault::Lost, false), (Fault::NoAnswer, true)] {
        let key = format!("{fault:?}").into_bytes();
        let mut tx = world.through.begin(&TxOptions::writing()).unwrap();
        tx.put(&key, b"").unwrap();
        world.proxy.fail_twice(fault, Fault::NoAnswer);
        let done = tx.commit();
        assert!(world.proxy.end_fault());
        assert_eq!(world.keys().contains(&key), takes_place);
        match done {
            Ok(()) => assert!(takes_place),
            Err(error) => assert!(error.is_retryable() && !takes_place, "{error}"),
        }
    }
}

/// A connection that was closed while it was idle disturbs no commit.
#[test]
fn a_server_that_was_started_again_is_no_lost_commit() {
    let Some(cluster) = Etcd::start(1, &[]) else { return };
    let store = EtcdStore::open(&cluster.new_prefix()).unwrap();
    cluster.kill(0);
    cluster.restart(0);
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    tx.put(b"key", b"").unwrap();
    tx.commit().unwrap();
}

/// A request that stays on its way is one that is lost, after the time to wait.
#[test]
fn what_stalls_is_given_up_in_time() {
    let Some(cluster) = Etcd::shared() else { return };
    let each = |fault: Fault| {
        let Some(world) = World::new(cluster, Duration::from_secs(4)) else { return };
        let mut expected = BTreeSet::new();
        for at in 0..3 {
            let key = format!("{fault:?} {at}").into_bytes();
            world.proxy.fail(at, fault);
            let done = world.through.begin(&TxOptions::writing()).and_then(|mut tx| {
                tx.get(&key)?;
                tx.put(&key, b"")?;
                tx.commit()
            });
            world.proxy.end_fault();
            match done {
                Ok(()) => drop(expected.insert(key)),
                Err(error) => assert!(error.is_retryable(), "{fault:?} {at}: {error}"),
            }
        }
        assert_eq!(world.keys(), expected);
    };
    thread::scope(|scope| {
        for fault in [Fault::StallThere, Fault::StallBack] {
            scope.spawn(move || each(fault));
        }
    });
}

/// A member gets little time while there are others to ask; but where all take longer, they get
/// longer.
#[test]
fn what_takes_every_member_long_is_answered() {
    let Some(cluster) = Etcd::shared() else { return };
    let Some(port) = cluster.endpoints().first().copied() else { return };
    let proxies = [Proxy::new(port), Proxy::new(port)];
    let url = cluster.new_prefix();
    let members = format!("127.0.0.1:{},127.0.0.1:{}", proxies[0].port(), proxies[1].port());
    let through = url.replace(&format!("127.0.0.1:{port}"), &members);
    // No member gets more than this in the first turn.
    let first = Duration::from_millis(500);
    EtcdStore::open(&url).unwrap().write(|tx| tx.put(b"key", b"value")).unwrap();
    // A busy machine may need longer to open it.
    let store = (0..20).find_map(|_| EtcdStore::builder().wait(first).open(&through).ok()).unwrap();
    proxies.iter().for_each(|proxy| proxy.delay(3 * first));
    let options = TxOptions::writing().with_wait(Duration::from_secs(60));
    let mut tx = store.begin(&options).unwrap();
    assert_eq!(tx.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
    tx.put(b"key", b"2").unwrap();
    tx.commit().unwrap();
}

#[test]
fn behind_the_horizon_the_outcome_is_unknown() {
    let Some(cluster) = Etcd::shared() else { return };
    let Some(world) = World::new(cluster, Duration::from_secs(20)) else { return };
    for fault in [Fault::StallThere, Fault::StallBack] {
        let mut tx = world.through.begin(&TxOptions::writing()).unwrap();
        tx.get(b"key").unwrap();
        tx.put(b"key", b"").unwrap();
        world.proxy.fail(0, fault);
        let done = thread::scope(|scope| {
            let done = scope.spawn(|| tx.commit());
            world.proxy.await_fault();
            for _ in 0..2 {
                world.direct.write(|tx| tx.put(b"other", b"")).unwrap();
                world.direct.sweep().unwrap();
            }
            assert!(world.proxy.end_fault());
            done.join().unwrap()
        });
        let error = done.unwrap_err();
        assert!(error.is_outcome_unknown(), "{error}");
    }
}

#[test]
fn without_a_cluster_the_outcome_is_unknown_and_the_wait_is_bounded() {
    let Some(cluster) = Etcd::start(1, &[]) else { return };
    let store =
        EtcdStore::builder().wait(Duration::from_secs(5)).open(&cluster.new_prefix()).unwrap();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    tx.get(b"key").unwrap();
    tx.put(b"key", b"").unwrap();
    cluster.pause(0);
    let error = tx.commit().unwrap_err();
    assert!(error.is_outcome_unknown(), "{error}");
    cluster.kill(0);
    // No server listens, so nothing was sent.
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    tx.put(b"key", b"").unwrap();
    let error = tx.commit().unwrap_err();
    assert!(error.is_retryable(), "{error}");
    let error = store.begin(&TxOptions::reading()).unwrap().get(b"key").unwrap_err();
    assert!(error.is_retryable(), "{error}");
    cluster.restart(0);
    store.write(|tx| tx.put(b"key", b"")).unwrap();
    assert!(store.read(|tx| Ok(tx.get(b"key")?.is_some())).unwrap());
}
