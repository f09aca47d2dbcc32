//! How long values can be.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use permazen_kv::{KvDatabase, KvDatabaseExt, KvError, KvRead, KvWrite, TxOptions};
use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::Postgres;

const LONGEST: usize = 1_000 << 20;

#[test]
fn a_value_that_is_too_long_is_refused_when_it_is_put() {
    let Some(server) = Postgres::shared() else { return };
    let store = PostgresStore::open(&server.new_table()).unwrap();
    // Nobody touches these zeros, so they take no memory.
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
    // The transaction goes on without it.
    tx.commit().unwrap();
    let read = |key: &[u8]| store.read(|tx| Ok(tx.get(key)?.map(|v| v.into_owned()))).unwrap();
    assert_eq!((read(b"other").as_deref(), read(b"key")), (Some(&b"there"[..]), None));
}

/// Of 64 MiB; with `PERMAZEN_TEST_LARGE` of the longest there can be, which takes some 6 GiB of memory and disk.
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
    assert_eq!(
        tx.scan(permazen_kv::KeySpan::FULL, permazen_kv::Direction::Forward).unwrap().count(),
        31
    );
}
