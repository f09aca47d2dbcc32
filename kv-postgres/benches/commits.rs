//! The cost of watches, and the share of transactions that runs again by the settings of predicate
//! locks, on a PostgreSQL server of the loopback device:
//! `cargo bench -p permazen-kv-postgres --bench commits`.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use permazen_kv::{KvDatabase, KvRead, KvWrite, Result, TxOptions};
use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::Postgres;

const TIME: Duration = Duration::from_secs(3);
const PAIRS: u64 = 20_000;

/// Numbers that differ enough.
struct Numbers(u64);

impl Numbers {
    fn key(&mut self) -> Vec<u8> {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % PAIRS).to_be_bytes().to_vec()
    }
}

/// Transactions by `workers` workers: commits in a second, and the share of transactions that ran
/// again.
fn run(workers: u64, body: impl Fn(&mut Numbers) -> Result<()> + Sync) -> (f64, f64) {
    let (done, again, is_over) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for worker in 0..workers {
            let (done, again, is_over, body) = (&done, &again, &is_over, &body);
            scope.spawn(move || {
                let mut numbers = Numbers(worker * 1_000_003);
                while !is_over.load(Ordering::Relaxed) {
                    match body(&mut numbers) {
                        Ok(()) => done.fetch_add(1, Ordering::Relaxed),
                        Err(error) => {
                            assert!(error.is_retryable(), "{error}");
                            again.fetch_add(1, Ordering::Relaxed)
                        }
                    };
                }
            });
        }
        thread::sleep(TIME);
        is_over.store(true, Ordering::Relaxed);
    });
    let (done, again) = (done.into_inner() as f64, again.into_inner() as f64);
    (done / TIME.as_secs_f64(), 100.0 * again / (done + again).max(1.0))
}

/// A store with all pairs.
fn filled(url: &str) -> PostgresStore {
    let store = PostgresStore::open(url).unwrap();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    for number in 0..PAIRS {
        tx.put(&number.to_be_bytes(), &[7; 100]).unwrap();
    }
    tx.commit().unwrap();
    store
}

fn main() {
    let Some(server) = Postgres::start(&[]) else { return };
    for watches in ["off", "on"] {
        let store = filled(&format!("{}&watches={watches}", server.new_table()));
        for workers in [1, 4, 16] {
            let (commits, again) = run(workers, |numbers| {
                let mut tx = store.begin(&TxOptions::writing())?;
                for _ in 0..3 {
                    tx.put(&numbers.key(), &[8; 100])?;
                }
                tx.commit()
            });
            println!(
                "watches {watches:3}, {workers:2} workers: {commits:6.0} commits/s, {again:4.1} % again"
            );
        }
    }
    drop(server);
    for settings in [
        &[][..],
        &["max_pred_locks_per_transaction=256"],
        &["max_pred_locks_per_transaction=1024"],
        &["max_pred_locks_per_transaction=1024", "max_pred_locks_per_relation=4096"],
        &["max_pred_locks_per_transaction=4096"],
        &["max_pred_locks_per_transaction=4096", "max_pred_locks_per_page=16"],
    ] {
        let Some(server) = Postgres::start(settings) else { return };
        let store = filled(&server.new_table());
        for read in [10, 100, 1_000] {
            let (commits, again) = run(8, |numbers| {
                let mut tx = store.begin(&TxOptions::writing())?;
                let keys: Vec<_> = (0..read).map(|_| numbers.key()).collect();
                let ends: Vec<_> = keys.iter().map(|key| permazen_kv::key::next_key(key)).collect();
                let spans = keys.iter().zip(&ends);
                let spans: Vec<_> =
                    spans.map(|(key, end)| permazen_kv::KeySpan::new(key, Some(end))).collect();
                for (spans, keys) in spans.chunks(64).zip(keys.chunks(64)) {
                    tx.prefetch(spans);
                    keys.iter().try_for_each(|key| tx.get(key).map(drop))?;
                }
                tx.put(&keys[0], &[9; 100])?;
                tx.commit()
            });
            println!(
                "{settings:?}, {read:4} pairs read: {commits:6.0} commits/s, {again:4.1} % again"
            );
        }
    }
}
