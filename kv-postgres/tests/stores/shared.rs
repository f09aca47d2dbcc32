//! Threads that read one snapshot through several connections.

use std::iter;
use std::num::NonZeroUsize;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use permazen::{Permazen, PermazenObject};
use permazen_kv::{
    Direction, KeySpan, KvDatabase, KvDatabaseExt, KvRead, KvWrite, SharedRead, TxOptions,
};
use permazen_kv_postgres::{PostgresBuilder, PostgresStore};
use permazen_test_servers::{Postgres, Proxy};

const PAIRS: u32 = 5_000;

/// Whether no connection has a transaction open.
const NONE_IN_USE: &str = "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'permazen' AND state <> 'idle'";

/// A table of a server of our own, used through a proxy by a user that no other test has.
struct World {
    server: Postgres,
    proxy: Proxy,
    url: String,
}

impl World {
    fn new() -> Option<World> {
        let server = Postgres::start(&["fsync=off"])?;
        let proxy = Proxy::new(server.port());
        let url = server.new_table();
        let url = proxy.url(&url, server.port());
        Some(World { server, proxy, url })
    }

    fn filled(&self, builder: PostgresBuilder) -> PostgresStore {
        let store = builder.open(&self.url).unwrap();
        let put = |tx: &mut dyn KvWrite, number: u32| tx.put(&number.to_be_bytes(), &[0; 4]);
        store.write(|tx| (0..PAIRS).try_for_each(|number| put(tx, number))).unwrap();
        store
    }

    /// How many connections have a transaction open.
    fn in_use(&self) -> usize {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'permazen' AND state <> 'idle'";
        self.server.sql(sql).parse().unwrap()
    }
}

/// The sum of all values, which is that of one state only if all were read in it.
fn sum(kv: &dyn KvRead) -> u32 {
    let pairs = kv.scan(KeySpan::FULL, Direction::Forward).unwrap();
    pairs.map(|pair| of_value(&pair.unwrap().1)).sum()
}

fn of_value(value: &[u8]) -> u32 {
    u32::from_be_bytes(value.try_into().unwrap())
}

/// Four threads read a state twice each, while another one writes. `expected` is the sum of all
/// values in that state.
fn read_while_others_write(store: &PostgresStore, snapshot: &SharedRead, expected: u32) {
    let (all_ready, is_over) = (Barrier::new(5), AtomicBool::new(false));
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut number = 0_u32;
            let mut put = || {
                number += 1;
                let key = (number * 7_919 % PAIRS).to_be_bytes();
                store.write(|tx| {
                    let before = tx.get(&key)?.map_or(0, |value| of_value(&value));
                    tx.put(&key, &(before + 1).to_be_bytes())
                })
            };
            // Something is written before each time that the others read, and while they do. They
            // would wait forever if a failure ended this thread before.
            let written = [0, 1].map(|_| {
                let written = put();
                all_ready.wait();
                written
            });
            written.into_iter().for_each(|written| written.unwrap());
            while !is_over.load(Ordering::Relaxed) {
                put().unwrap();
            }
        });
        let readers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    all_ready.wait();
                    let first = sum(&**snapshot);
                    all_ready.wait();
                    [first, sum(&**snapshot)]
                })
            })
            .collect();
        let read: Vec<_> = readers.into_iter().flat_map(|reader| reader.join().unwrap()).collect();
        is_over.store(true, Ordering::Relaxed);
        writer.join().unwrap();
        assert!(read.iter().all(|sum| *sum == expected), "{expected}: {read:?}");
    });
}

#[test]
fn threads_read_one_state_through_several_connections() {
    let Some(world) = World::new() else { return };
    let store = world.filled(PostgresStore::builder());
    // So long that the threads read at the same time.
    world.proxy.set_delay(Duration::from_millis(20));
    // On a busy machine, a thread may have read all before the others begin.
    let mut rounds = 0;
    let snapshot = (0..20).find_map(|_| {
        rounds += 1;
        // No thread writes before the readers begin.
        let expected = store.read(|tx| Ok(sum(tx))).unwrap();
        world.server.wait_until(NONE_IN_USE);
        // It has read already, which a certain transaction can be shared after.
        let tx = store.begin(&TxOptions::reading().with_certainty()).unwrap();
        assert!(tx.get(&7_u32.to_be_bytes()).unwrap().is_some());
        let snapshot = tx.snapshot().unwrap();
        tx.commit().unwrap();
        assert_eq!(world.in_use(), 1);
        read_while_others_write(&store, &snapshot, expected);
        (world.in_use() > 1).then_some(snapshot)
    });
    eprintln!("read by several connections in round {rounds}");
    assert!(snapshot.is_some(), "all threads have read through one connection");
    assert!(store.read(|tx| Ok(sum(tx) > 0)).unwrap());
    drop(snapshot);
    world.server.wait_until(NONE_IN_USE);
    // The connections are used again: no new one is made.
    let connections = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'permazen'";
    let before = world.server.sql(connections);
    store.write(|tx| tx.put(b"key", b"")).unwrap();
    assert_eq!(world.server.sql(connections), before);
}

#[test]
fn half_of_the_connections_stay_for_others() {
    let Some(world) = World::new() else { return };
    // So long that the threads come to read while others do.
    world.proxy.set_delay(Duration::from_millis(20));
    for (connections, expected) in [(1, 1), (4, 2)] {
        let store = world.filled(PostgresStore::builder().connections(connections));
        let snapshot = || {
            world.server.wait_until(NONE_IN_USE);
            store.begin(&TxOptions::reading()).unwrap().snapshot().unwrap()
        };
        // On a busy machine, a thread may have read all before the others begin.
        let snapshot = iter::repeat_with(snapshot).take(20).find(|snapshot| {
            let all_ready = Barrier::new(6);
            thread::scope(|scope| {
                for _ in 0..6 {
                    scope.spawn(|| {
                        all_ready.wait();
                        assert_eq!(sum(&**snapshot), 0);
                    });
                }
            });
            assert!(world.in_use() <= expected, "of {connections}");
            world.in_use() == expected
        });
        assert!(snapshot.is_some(), "less than {expected} of {connections}");
        drop(snapshot);
        drop(store);
        world.server.wait_until(
            "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'permazen'",
        );
    }
}

#[derive(PermazenObject, Debug, Clone)]
struct Note {
    #[permazen(indexed)]
    text: String,
    number: i64,
}

#[test]
fn a_check_reads_with_several_threads() {
    let Some(world) = World::new() else { return };
    let store = PostgresStore::open(&world.url).unwrap();
    let db = Permazen::builder(store.clone()).model::<Note>().build().unwrap();
    let note = |number: i64| Note { text: format!("note {number}"), number };
    db.write(|tx| (0..3_000).try_for_each(|number| tx.create(note(number)).map(drop))).unwrap();
    world.proxy.set_delay(Duration::from_millis(10));
    let threads = NonZeroUsize::new(4).unwrap();
    let mut options = permazen_jsck::Options::default();
    options.threads = threads;
    let mut most = 0;
    // On a busy machine the threads of one check may happen to read in turn.
    for _ in 0..20 {
        let report = permazen_jsck::check_database(
            &store,
            &options,
            &mut |finding| assert_eq!(finding.to_string(), ""),
            &mut |_| most = most.max(world.in_use()),
        );
        assert_eq!(report.unwrap().objects, 3_000);
        if most > 1 {
            break;
        }
    }
    assert!(most > 1, "all threads have read through one connection");
    // Another part of the program is not kept waiting.
    assert!(most <= 8);
}
