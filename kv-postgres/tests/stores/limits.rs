//! How long values can be.

use std::time::Duration;

use permazen_kv::memory::MemoryStore;
use permazen_kv::{
    Direction, KeySpan, KvDatabase, KvDatabaseExt, KvError, KvRead, KvWrite, TxOptions,
};
use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::Postgres;

const LONGEST: usize = 1_000 << 20;

#[test]
fn a_value_that_is_too_long_is_refused_when_it_is_put() {
    let Some(server) = Postgres::shared() else { return };
    let store = PostgresStore::open(&server.new_table()).unwrap();
    // No code touches these zeros, so they take no memory.
    let value = vec![0; LONGEST + 1];
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    tx.put(b"other", b"there").unwrap();
    for error in [tx.put(b"key", &value).unwrap_err(), tx.put_new(b"key", &value).unwrap_err()] {
        assert!(matches!(error, KvError::InvalidArgument(_)) && error.is_caller_error());
        let text = error.to_string();
        for part in ["6b6579", "1048576001 bytes", "at most 1048576000", "several keys"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    // The transaction continues without it.
    tx.commit().unwrap();
    let read = |key: &[u8]| store.read(|tx| Ok(tx.get(key)?.map(|v| v.into_owned()))).unwrap();
    assert_eq!((read(b"other").as_deref(), read(b"key")), (Some(&b"there"[..]), None));
}

/// Of 64 MiB; with `PERMAZEN_TEST_LARGE` of the longest there can be, which takes some 6 GiB of
/// memory and disk.
#[test]
fn a_long_value_is_written_and_read() {
    let Some(server) = Postgres::shared() else { return };
    let is_large = std::env::var_os("PERMAZEN_TEST_LARGE").is_some();
    let len = if is_large { LONGEST } else { 64 << 20 };
    let builder = PostgresStore::builder().wait(Duration::from_secs(600));
    let store = builder.open(&server.new_table()).unwrap();
    let mut number = 1_u64;
    let mut next = || {
        number =
            number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (number >> 56) as u8
    };
    // It cannot be compressed. Beside it are others that travel with it.
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    for key in 0..30_u8 {
        tx.put(&[key; 2_692], &[key; 100_000]).unwrap();
    }
    let value: Vec<u8> = (0..len).map(|_| next()).collect();
    tx.put(&[30; 2_692], &value).unwrap();
    tx.commit().unwrap();
    let tx = store.begin(&TxOptions::reading()).unwrap();
    assert!(tx.get(&[30; 2_692]).unwrap().unwrap() == value);
    assert_eq!(tx.scan(KeySpan::FULL, Direction::Forward).unwrap().count(), 31);
}

/// A few pairs are asked for without counting their bytes, until a long value turns up.
#[test]
fn long_values_among_short_ones_come_in_their_order() {
    let Some(server) = Postgres::shared() else { return };
    let url = server.new_table();
    // With 64 questions at once, a value of more than 4 KiB is a long one; alone, one of more than
    // 256 KiB.
    for (at, len) in [(0_u32, 5_000), (3, 5_000), (700, 300_000), (999, 300_000)] {
        for others in [0, 100] {
            let store = PostgresStore::open(&url).unwrap();
            let value = |number: u32| vec![number as u8; if number == at { len } else { others }];
            let mut tx = store.begin(&TxOptions::writing()).unwrap();
            for number in 0..1_000_u32 {
                tx.put(&number.to_be_bytes(), &value(number)).unwrap();
            }
            tx.commit().unwrap();
            for direction in [Direction::Forward, Direction::Reverse] {
                // Another program: it has met no long value yet.
                let store = PostgresStore::open(&url).unwrap();
                for _ in 0..2 {
                    let tx = store.begin(&TxOptions::reading()).unwrap();
                    let keys: Vec<_> = (0..1_000_u32).step_by(10).map(u32::to_be_bytes).collect();
                    let spans = keys.iter().zip(keys.iter().skip(1));
                    let spans: Vec<_> =
                        spans.map(|(min, max)| KeySpan::new(min, Some(max))).collect();
                    tx.prefetch(&spans[..64]);
                    assert_eq!(tx.get(&7_u32.to_be_bytes()).unwrap().unwrap(), value(7));
                    let pairs = tx.scan(KeySpan::FULL, direction).unwrap();
                    let pairs: Vec<_> = pairs.map(Result::unwrap).collect();
                    let number = |at: usize| match direction {
                        Direction::Forward => at as u32,
                        Direction::Reverse => 999 - at as u32,
                    };
                    assert_eq!(pairs.len(), 1_000);
                    for (at, (key, found)) in pairs.iter().enumerate() {
                        assert_eq!(key[..], number(at).to_be_bytes());
                        assert_eq!(found[..], value(number(at)));
                    }
                }
            }
        }
    }
}

/// One statement asks for spans that lie apart; the others have their own. A long value ends its
/// page.
#[test]
fn spans_that_share_keys_are_read_ahead_as_they_are() {
    let Some(server) = Postgres::shared() else { return };
    for dialect in ["postgres", "portable"] {
        let url = server.new_table();
        let url = format!("{url}{}dialect={dialect}", if url.contains('?') { '&' } else { '?' });
        let memory = MemoryStore::new();
        let put = |store: &dyn KvDatabase| {
            let mut tx = store.begin(&TxOptions::writing()).unwrap();
            for key in 0..200_u8 {
                let len = if key == 75 { 5_000 } else { usize::from(key) };
                tx.put(&[key], &vec![key; len]).unwrap();
            }
            tx.commit().unwrap();
        };
        put(&memory);
        put(&PostgresStore::open(&url).unwrap());
        // Equal, nested, touching and overlapping ones, in no order, around the long value or
        // ending at it.
        let mut spans: Vec<(u8, u8)> = (0..50).map(|at| (4 * at, 4 * at + 4)).rev().collect();
        spans.extend([(60, 90), (60, 90), (70, 80), (75, 76), (60, 75), (76, 90), (74, 77)]);
        spans.extend([(10, 10), (0, 200), (198, 255), (30, 50), (40, 60)]);
        for turn in 0..spans.len() {
            spans.rotate_left(1);
            let some = &spans[..if turn % 2 == 0 { 62 } else { 20 }];
            let ends: Vec<_> = some.iter().map(|(min, max)| ([*min], [*max])).collect();
            let asked: Vec<_> =
                ends.iter().map(|(min, max)| KeySpan::new(min, Some(max))).collect();
            let here = memory.begin(&TxOptions::reading()).unwrap();
            // The first time, the program has met no long value.
            let store = PostgresStore::open(&url).unwrap();
            for _ in 0..2 {
                let there = store.begin(&TxOptions::reading()).unwrap();
                there.prefetch(&asked);
                for span in &asked {
                    let [found, expected] = [&there, &here].map(|tx| {
                        let pairs = tx.scan(*span, Direction::Forward).unwrap();
                        pairs.map(Result::unwrap).collect::<Vec<_>>()
                    });
                    assert!(found == expected, "{dialect}: {span:?} of {asked:?}");
                }
            }
        }
    }
}
