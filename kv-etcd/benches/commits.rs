//! How many transactions an etcd cluster commits:
//! `cargo bench -p permazen-kv-etcd --bench commits`, with the number of members as an argument.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use permazen_kv::{KvDatabase, KvTransaction, TxOptions};
use permazen_kv_etcd::EtcdStore;
use permazen_test_servers::Etcd;

/// How long each measurement takes.
const TIME: Duration = Duration::from_secs(3);

/// The number of keys among which workers choose.
const KEYS: u64 = 20_000;

type Tx = Box<dyn KvTransaction + Send>;

fn key(number: u64) -> Vec<u8> {
    format!("key {number:08}").into_bytes()
}

/// Numbers that look random.
fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

/// Puts eight new pairs, without reading.
fn create(tx: &mut Tx, seed: &mut u64) {
    (0..8).for_each(|_| tx.put(&key(KEYS + random(seed)), &[7; 32]).unwrap());
}

/// Reads a pair and changes it.
fn update(tx: &mut Tx, seed: &mut u64) {
    let key = key(random(seed) % KEYS);
    let value = tx.get(&key).unwrap().map_or(0, |value| value[0]);
    tx.put(&key, &[value.wrapping_add(1); 32]).unwrap();
}

fn measure(url: &str, what: &str, workers: u64, work: fn(&mut Tx, &mut u64)) {
    let (done, retried) = (AtomicU64::new(0), AtomicU64::new(0));
    let begun = Instant::now();
    thread::scope(|scope| {
        for worker in 0..workers {
            let (done, retried) = (&done, &retried);
            scope.spawn(move || {
                let store = EtcdStore::open(url).unwrap();
                let mut seed = worker + 1;
                while begun.elapsed() < TIME {
                    let mut tx: Tx = store.begin(&TxOptions::writing()).unwrap();
                    work(&mut tx, &mut seed);
                    match tx.commit() {
                        Ok(()) => done.fetch_add(1, Ordering::Relaxed),
                        Err(error) if error.is_retryable() => {
                            retried.fetch_add(1, Ordering::Relaxed)
                        }
                        Err(error) => unreachable!("{error}"),
                    };
                }
            });
        }
    });
    let (done, retried) = (done.into_inner(), retried.into_inner());
    let each = begun.elapsed().mul_f64(workers as f64 / done.max(1) as f64);
    let rate = done as f64 / begun.elapsed().as_secs_f64();
    let lost = 100.0 * retried as f64 / (done + retried).max(1) as f64;
    println!(
        "{what:8} {workers:2} workers: {rate:6.0} commits/s, {each:9.2?} each, {lost:4.1} % retried"
    );
}

fn main() {
    let members = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(3);
    let Some(cluster) = Etcd::start(members, &[]) else { return };
    let url = cluster.new_prefix();
    for workers in [1, 4, 16] {
        measure(&url, "create", workers, create);
        measure(&url, "update", workers, update);
    }
}
