//! How often a store on another machine is asked, and the results of failures.
#![cfg(feature = "testsuite")]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use permazen_kv::remote::{RemoteDatabase, SimulatedServer};
use permazen_kv::{
    Direction, KeySpan, KvDatabase, KvDatabaseExt, KvError, KvRead, KvWrite, TxOptions,
};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

type Database = RemoteDatabase<SimulatedServer>;

fn database() -> (SimulatedServer, Database) {
    let server = SimulatedServer::new();
    (server.clone(), RemoteDatabase::new(server))
}

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

/// Puts `count` keys on the server, with values of `len` bytes.
fn fill(server: &SimulatedServer, count: u32, len: usize) {
    let mut tx = server.store().begin(&TxOptions::writing()).unwrap();
    for number in 0..count {
        tx.put(&key(number), &vec![number as u8; len]).unwrap();
    }
    tx.commit().unwrap();
}

#[test]
fn nothing_is_asked_for_a_transaction_that_does_nothing() {
    let (server, db) = database();
    for options in [TxOptions::reading(), TxOptions::writing()] {
        db.begin(&options).unwrap().commit().unwrap();
        db.begin(&options).unwrap().rollback();
    }
    assert_eq!(server.take_requests(), 0);
}

#[test]
fn nothing_is_asked_twice() {
    let (server, db) = database();
    fill(&server, 100, 10);
    let tx = db.begin(&TxOptions::reading()).unwrap();
    assert!(tx.get(&key(5)).unwrap().is_some() && tx.get(b"absent").unwrap().is_none());
    assert_eq!(server.take_requests(), 2);
    assert!(tx.get(&key(5)).unwrap().is_some() && tx.get(b"absent").unwrap().is_none());
    assert_eq!(server.take_requests(), 0);
    // The gap between two pairs that were read is known too.
    assert_eq!(tx.scan(KeySpan::FULL, Direction::Forward).unwrap().count(), 100);
    assert_eq!(server.take_requests(), 1);
    assert_eq!(tx.scan(KeySpan::FULL, Direction::Reverse).unwrap().count(), 100);
    assert!(tx.get(&[0, 0, 0, 5, 0]).unwrap().is_none());
    assert_eq!(&*tx.at_most(b"", None).unwrap().unwrap().0, key(99));
    assert_eq!(&*tx.at_least(&key(98), None).unwrap().unwrap().0, key(98));
    assert_eq!(server.take_requests(), 0);
    tx.commit().unwrap();
    assert_eq!(server.take_requests(), 1);
}

/// The first parts of a large answer are still there when its last part has come.
#[test]
fn a_large_answer_is_used_whole() {
    let (server, db) = database();
    let count = 12;
    fill(&server, count, 4 << 20);
    let tx = db.begin(&TxOptions::reading()).unwrap();
    let keys: Vec<_> = (0..count).map(|number| (key(number), key(number + 1))).collect();
    let spans = keys.iter().map(|(key, next)| KeySpan::new(key, Some(next)));
    tx.prefetch(&spans.collect::<Vec<_>>());
    for (key, _) in &keys {
        assert!(tx.get(key).unwrap().is_some());
    }
    assert_eq!(server.take_requests(), 1);
}

#[test]
fn own_writes_travel_with_the_commit() {
    let (server, db) = database();
    fill(&server, 10, 8);
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    for number in 0..1000 {
        tx.put(&key(number), b"new").unwrap();
    }
    tx.remove_span(KeySpan::new(&key(500), Some(&key(600)))).unwrap();
    assert!(tx.put_new(b"new", b"").unwrap());
    // Nothing can be there that begins with a key that must be new.
    assert!(tx.get(b"new field").unwrap().is_none());
    assert_eq!(server.take_requests(), 0);
    tx.commit().unwrap();
    assert_eq!(server.take_requests(), 1);
    assert_eq!(db.read(|tx| Ok(tx.scan(KeySpan::FULL, Direction::Forward)?.count())).unwrap(), 901);
}

#[test]
fn counters_are_read_in_one_request_when_they_are_added_up() {
    let (server, db) = database();
    fill(&server, 50, 8);
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    (0..50).for_each(|number| tx.adjust_counter(&key(number), 1).unwrap());
    tx.adjust_counter(b"absent", 1).unwrap();
    assert_eq!(server.take_requests(), 0);
    tx.commit().unwrap();
    assert_eq!(server.take_requests(), 2);
    let value = server.store().snapshot().get(&key(7)).unwrap().unwrap().into_owned();
    assert_eq!(value, [7, 7, 7, 7, 7, 7, 7, 8]);
    assert!(server.store().snapshot().get(b"absent").unwrap().is_none());
}

#[test]
fn pages_grow_and_the_next_one_is_under_way() {
    let (server, db) = database();
    let count = 20_000;
    fill(&server, count, 10);
    for direction in [Direction::Forward, Direction::Reverse] {
        let tx = db.begin(&TxOptions::reading()).unwrap();
        assert_eq!(tx.scan(KeySpan::FULL, direction).unwrap().take(256).count(), 256);
        assert_eq!(server.take_requests(), 1);
        // 256, which are known, then 256, 512, 1,024, 2,048, 4,096, 8,192 and the rest.
        assert_eq!(tx.scan(KeySpan::FULL, direction).unwrap().count(), count as usize);
        assert_eq!(server.take_requests(), 7);
    }
    // Each answer takes 50 ms, and the caller needs as long for a page: both at once.
    server.set_delay(Duration::from_millis(50));
    let tx = db.begin(&TxOptions::reading()).unwrap();
    let (mut seen, mut sums) = (0, Vec::new());
    tx.visit(KeySpan::FULL, Direction::Forward, &mut |_, _| {
        seen += 1;
        // The third page was asked for while the second one was visited.
        if seen == 256 + 512 {
            sums.push(server.take_requests());
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!((seen, sums), (count, vec![3]));
}

#[test]
fn pages_of_large_values_are_short() {
    let (server, db) = database();
    fill(&server, 300, 100_000);
    let tx = db.begin(&TxOptions::reading()).unwrap();
    assert_eq!(tx.scan(KeySpan::FULL, Direction::Forward).unwrap().count(), 300);
    // Eleven values come to more than 1 MiB.
    assert_eq!(server.take_requests(), 300_u64.div_ceil(11));
    // 30 MB are kept. If there are more, the pairs that were read first are read again.
    assert_eq!(tx.scan(KeySpan::FULL, Direction::Reverse).unwrap().count(), 300);
    assert_eq!(server.take_requests(), 0);
    drop(tx);
    fill(&server, 1_000, 100_000);
    let tx = db.begin(&TxOptions::reading()).unwrap();
    for _ in 0..2 {
        assert_eq!(tx.scan(KeySpan::FULL, Direction::Forward).unwrap().count(), 1_000);
    }
    assert!(server.take_requests() > 150);
}

#[test]
fn what_will_be_read_is_asked_for_at_once() {
    let (server, db) = database();
    fill(&server, 5_000, 10);
    let tx = db.begin(&TxOptions::reading()).unwrap();
    let ends: Vec<_> = (0..64).map(|n| (key(n * 50), key(n * 50 + 10))).collect();
    let spans: Vec<_> = ends.iter().map(|(min, max)| KeySpan::new(min, Some(max))).collect();
    tx.prefetch(&spans);
    assert_eq!(server.take_requests(), 0);
    // The first one that is needed brings all of them.
    assert!(tx.get(&key(3_001)).unwrap().is_some());
    assert_eq!(server.take_requests(), 1);
    for span in &spans {
        assert_eq!(tx.scan(*span, Direction::Forward).unwrap().count(), 10);
        assert_eq!(&*tx.at_least(span.min, span.max).unwrap().unwrap().0, span.min);
    }
    assert_eq!(server.take_requests(), 0);
    // Something else that is needed takes them along.
    tx.prefetch(&[KeySpan::new(&key(11), Some(&key(20)))]);
    assert!(tx.get(&key(40)).unwrap().is_some());
    assert!(tx.get(&key(12)).unwrap().is_some());
    assert_eq!(server.take_requests(), 1);
}

#[test]
fn many_writes_go_to_the_store_before_the_commit() {
    let (server, db) = database();
    fill(&server, 10, 8);
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.adjust_counter(&key(1), 1).unwrap();
    assert!(tx.put_new(b"new", b"").unwrap());
    let value = vec![7; 1 << 20];
    for number in 0..70 {
        tx.put(&key(1_000 + number), &value).unwrap();
        tx.remove(&key(2)).unwrap();
    }
    // Two to add up the counter and to take 64 MiB.
    assert_eq!(server.take_requests(), 2);
    assert_eq!(&*tx.get(&key(1)).unwrap().unwrap(), [1, 1, 1, 1, 1, 1, 1, 2]);
    assert!(tx.get(&key(2)).unwrap().is_none());
    assert_eq!(tx.scan(KeySpan::FULL, Direction::Forward).unwrap().count(), 80);
    assert_eq!(
        server.store().begin(&TxOptions::reading()).unwrap().get(&key(1_000)).unwrap(),
        None
    );
    tx.commit().unwrap();
    assert_eq!(db.read(|tx| Ok(tx.scan(KeySpan::FULL, Direction::Forward)?.count())).unwrap(), 80);
}

#[test]
fn a_key_that_the_store_has_taken_already_is_not_new() {
    let (server, db) = database();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    let value = vec![7; 1 << 20];
    assert!(tx.put_new(b"new", b"1").unwrap());
    tx.put(b"gone", b"1").unwrap();
    for number in 0..70 {
        tx.put(&key(number), &value).unwrap();
    }
    tx.remove(b"gone").unwrap();
    server.take_requests();
    // Most others can still be told apart without asking.
    for number in 1_000..2_000 {
        assert!(tx.put_new(&key(number), b"").unwrap());
    }
    assert_eq!(server.take_requests(), 0);
    for taken in [&b"new"[..], &key(0), &key(69), &key(1_000)] {
        assert!(!tx.put_new(taken, b"2").unwrap());
    }
    assert!(tx.put_new(b"gone", b"2").unwrap());
    tx.commit().unwrap();
    let tx = db.begin(&TxOptions::reading()).unwrap();
    assert_eq!(&*tx.get(b"new").unwrap().unwrap(), b"1");
    assert_eq!(&*tx.get(b"gone").unwrap().unwrap(), b"2");
}

#[test]
fn what_the_store_has_taken_already_is_not_committed_by_a_read_only_transaction() {
    let (server, db) = database();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    let value = vec![7; 1 << 20];
    for number in 0..70 {
        tx.put(&key(number), &value).unwrap();
    }
    assert_eq!(server.take_requests(), 1);
    // It cannot become one any more, and stays as it was.
    let switched = tx.set_read_only();
    assert!(matches!(switched, Err(KvError::IllegalState(_))), "{switched:?}");
    assert!(!tx.is_read_only() && tx.get(&key(0)).unwrap().is_some());
    tx.rollback();
    assert_eq!(db.read(|tx| Ok(tx.scan(KeySpan::FULL, Direction::Forward)?.count())).unwrap(), 0);
}

#[test]
fn pending_writes_are_told_until_the_store_has_some_of_them() {
    let (server, db) = database();
    fill(&server, 100, 10);
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    assert!(tx.get(&key(1)).unwrap().is_some());
    tx.put(&key(1), b"mine").unwrap();
    tx.remove(&key(2)).unwrap();
    let pending = tx.pending().unwrap();
    assert!(pending.writes.touches(&key(1)) && pending.writes.touches(&key(2)));
    let base = pending.base;
    assert_eq!(base.get(&key(1)).unwrap().as_deref(), Some(&[1; 10][..]));
    assert!(base.get(&key(2)).unwrap().is_some());
    // A holder of the base does not keep the transaction from committing, and reads nothing wrong
    // afterwards.
    tx.commit().unwrap();
    assert!(base.get(&key(50)).unwrap_err().is_stale());
    assert!(server.store().snapshot().get(&key(2)).unwrap().is_none());
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    for number in 0..70 {
        assert!(number > 60 || tx.pending().is_some());
        tx.put(&key(number), &vec![0; 1 << 20]).unwrap();
    }
    assert!(tx.pending().is_none());
}

#[test]
fn a_snapshot_is_read_after_its_transaction_by_several_threads() {
    let (server, db) = database();
    fill(&server, 1_000, 10);
    let mut tx = db.begin(&TxOptions::reading()).unwrap();
    let snapshot = tx.snapshot().unwrap();
    tx.put(b"own", b"").unwrap();
    let with_own = tx.snapshot().unwrap();
    tx.commit().unwrap();
    fill(&server, 2_000, 20);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in (0..2_000).step_by(7) {
                    let value = snapshot.get(&key(number)).unwrap();
                    assert_eq!(value.map(|value| value.len()), (number < 1_000).then_some(10));
                }
                assert_eq!(
                    with_own.scan(KeySpan::FULL, Direction::Forward).unwrap().count(),
                    1_001
                );
            });
        }
    });
    let writing = db.begin(&TxOptions::writing()).unwrap();
    assert!(matches!(writing.snapshot(), Err(KvError::Unsupported(_))));
}

#[test]
fn a_closure_that_passes_over_a_lost_connection_runs_again() {
    let (server, db) = database();
    fill(&server, 10, 10);
    let mut attempts = 0;
    db.write(|tx| {
        attempts += 1;
        if attempts == 1 {
            server.fail_after(0);
        }
        assert_eq!(tx.get(&key(5)).is_ok(), attempts > 1);
        Ok(())
    })
    .unwrap();
    assert_eq!(attempts, 2);
}

#[test]
fn after_a_failure_a_transaction_answers_nothing() {
    let (server, db) = database();
    fill(&server, 3_000, 10);
    let run = |failing: u64| {
        server.fail_after(failing);
        let mut tx = db.begin(&TxOptions::writing())?;
        let scan = tx.scan(KeySpan::FULL, Direction::Forward)?;
        let count =
            scan.map(|pair| pair.map(drop)).collect::<Result<Vec<_>, _>>().map(|all| all.len());
        let failed = count.is_err();
        let then = [
            count.map(drop),
            tx.get(&key(5)).map(drop),
            tx.at_least(b"", None).map(drop),
            tx.put(b"key", b"").map(drop),
        ];
        if failed {
            assert!(then[0].as_ref().unwrap_err().is_retryable());
            then[1..]
                .iter()
                .for_each(|result| assert!(result.as_ref().unwrap_err().is_retryable()));
            assert!(tx.commit().unwrap_err().is_retryable());
            return Ok(None);
        }
        tx.commit().map(Some)
    };
    for failing in 0..4 {
        assert!(run(failing).unwrap().is_none(), "{failing}");
    }
    assert!(run(4).unwrap_err().is_retryable());
    assert!(server.store().snapshot().get(b"key").unwrap().is_none());
    assert!(run(5).unwrap().is_some());
}

/// One random read or write, made on both.
fn step(random: &mut StdRng, tx: &mut dyn KvWrite, map: &mut BTreeMap<Vec<u8>, Vec<u8>>) {
    let mut bytes = |most: usize| {
        let mut bytes = vec![0; random.random_range(0..=most)];
        random.fill_bytes(&mut bytes);
        bytes.iter_mut().for_each(|byte| *byte %= 4);
        bytes
    };
    let (one, other, value) = (bytes(4), bytes(4), bytes(20));
    let max = (other > one).then_some(&other[..]);
    let range = || map.range(one.clone()..).filter(|(key, _)| max.is_none_or(|max| &key[..] < max));
    let owned = |pair: Option<permazen_kv::Pair<'_>>| {
        pair.map(|(key, value)| (key.into_owned(), value.into_owned()))
    };
    let cloned = |(key, value): (&Vec<u8>, &Vec<u8>)| (key.clone(), value.clone());
    let span = KeySpan::new(&one, max);
    match random.random_range(0..12) {
        0 | 1 => {
            assert_eq!(tx.get(&one).unwrap().as_deref(), map.get(&one).map(|value| &value[..]))
        }
        2 => assert_eq!(owned(tx.at_least(&one, max).unwrap()), range().next().map(cloned)),
        3 => assert_eq!(owned(tx.at_most(&one, max).unwrap()), range().next_back().map(cloned)),
        4 => assert!(tx.prefetch(&[span, KeySpan::new(&value, None)])),
        5 | 6 => {
            let most = random.random_range(0..600);
            let direction = [Direction::Forward, Direction::Reverse][random.random_range(0..2)];
            let found = tx.scan(span, direction).unwrap().take(most).map(|pair| owned(pair.ok()));
            let found: Vec<_> = found.map(Option::unwrap).collect();
            let expected: Vec<_> = match direction {
                Direction::Forward => range().take(most).map(cloned).collect(),
                Direction::Reverse => range().rev().take(most).map(cloned).collect(),
            };
            assert_eq!(found, expected);
        }
        7 | 8 => {
            tx.put(&one, &value).unwrap();
            map.insert(one, value);
        }
        9 => {
            tx.remove(&one).unwrap();
            map.remove(&one);
        }
        10 => {
            let is_new = tx.put_if_absent(&one, &value).unwrap();
            assert_eq!(is_new, !map.contains_key(&one));
            map.entry(one).or_insert(value);
        }
        _ => {
            let max = max.unwrap_or(&[3, 3, 3, 3, 3]);
            tx.remove_span(KeySpan::new(&one, Some(max))).unwrap();
            map.retain(|key, _| *key < one || &key[..] >= max);
        }
    }
}

#[test]
fn random_transactions_equal_a_map() {
    let cases = std::env::var("PERMAZEN_REMOTE_CASES").map_or(300, |cases| cases.parse().unwrap());
    for seed in 0..cases {
        let server =
            if seed % 2 == 0 { SimulatedServer::new() } else { SimulatedServer::checking_reads() };
        let db = RemoteDatabase::new(server);
        let mut random = StdRng::seed_from_u64(seed);
        let mut map = BTreeMap::new();
        for _ in 0..8 {
            let mut copy = map.clone();
            let mut tx = db.begin(&TxOptions::writing()).unwrap();
            for _ in 0..random.random_range(1..60) {
                step(&mut random, &mut tx, &mut copy);
            }
            if random.random_range(0..4) > 0 {
                tx.commit().unwrap();
                map = copy;
            }
        }
        let tx = db.begin(&TxOptions::reading()).unwrap();
        let scan = tx.scan(KeySpan::FULL, Direction::Forward).unwrap().map(Result::unwrap);
        let all: Vec<_> = scan.map(|(key, value)| (key.into_owned(), value.into_owned())).collect();
        assert_eq!(map.into_iter().collect::<Vec<_>>(), all, "seed {seed}");
    }
}

#[test]
fn a_transaction_whose_time_is_over_asks_nothing() {
    let (server, db) = database();
    let mut tx = db.begin(&TxOptions::writing().with_timeout(Duration::from_millis(1))).unwrap();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(2) {
        thread::yield_now();
    }
    assert!(matches!(tx.get(b"key"), Err(KvError::Timeout(_))));
    assert!(matches!(tx.put(b"key", b""), Err(KvError::Timeout(_))));
    assert!(matches!(tx.commit(), Err(KvError::Timeout(_))));
    assert_eq!(server.take_requests(), 0);
}

#[test]
fn the_store_is_a_database_for_many_threads() {
    let (server, db) = database();
    fill(&server, 1, 8);
    let db = Arc::new(db);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    db.write(|tx| tx.adjust_counter(&key(0), 1)).unwrap();
                }
            });
        }
    });
    let value = server.store().snapshot().get(&key(0)).unwrap().unwrap().into_owned();
    assert_eq!(value, 200_i64.to_be_bytes());
}

#[test]
fn threads_read_a_snapshot_at_once_and_see_one_state() {
    let (server, db) = database();
    fill(&server, 2_000, 100);
    let snapshot = db.begin(&TxOptions::reading()).unwrap().snapshot().unwrap();
    db.write(|tx| tx.remove_span(KeySpan::new(&key(0), Some(&key(1_000))))).unwrap();
    server.take_requests();
    server.set_delay(Duration::from_secs(1));
    let all_ready = Barrier::new(4);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                all_ready.wait();
                assert!(snapshot.get(&key(7)).unwrap().is_some());
                if all_ready.wait().is_leader() {
                    // While one thread waits for the answer, the others ask for themselves.
                    assert!(server.take_requests() > 1);
                    server.set_delay(Duration::ZERO);
                }
                all_ready.wait();
                assert!(snapshot.prefetch(&[KeySpan::new(&key(500), Some(&key(510)))]));
                assert!(snapshot.get(&key(505)).unwrap().is_some());
                for direction in [Direction::Forward, Direction::Reverse] {
                    assert_eq!(snapshot.scan(KeySpan::FULL, direction).unwrap().count(), 2_000);
                }
            });
        }
    });
    assert_eq!(
        db.read(|tx| Ok(tx.scan(KeySpan::FULL, Direction::Forward)?.count())).unwrap(),
        1_000
    );
}
