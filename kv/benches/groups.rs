//! Small durable transactions on 1 to 8 threads, compared with the same transactions that one
//! thread makes by hand, with heed, or on SQLite with transactions that were begun by hand.
//!
//! `cargo bench -p permazen-kv --bench groups`. Add `-- lmdb` or `-- sqlite` to run only that part,
//! and `free=N` for an LMDB file with N free pages.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvOpenOptions, WithoutTls};
use permazen_kv::lmdb::LmdbStore;
use permazen_kv::sqlite::SqliteStore;
use permazen_kv::{KvDatabase, KvDatabaseExt as _, KvRead, KvWrite, TxOptions};

const ROUNDS: usize = 21;
/// How long each side runs in a round.
const SLICE: Duration = Duration::from_millis(150);
const BEFORE: u64 = 100_000;
const VALUE: [u8; 30] = [7; 30];
const THREADS: [usize; 4] = [1, 2, 4, 8];

static NUMBER: AtomicU64 = AtomicU64::new(BEFORE);

/// The keys of an object with two indexes: most of them lie together.
fn keys() -> [[u8; 10]; 8] {
    keys_of(NUMBER.fetch_add(1, Ordering::Relaxed))
}

fn keys_of(number: u64) -> [[u8; 10]; 8] {
    let random = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut keys = [[0; 10]; 8];
    for (part, key) in keys.iter_mut().enumerate() {
        let (group, random) = match part {
            6 | 7 => (part as u8, random.rotate_left(part as u32 * 9)),
            _ => (0, random),
        };
        key[0] = group;
        key[1..9].copy_from_slice(&random.to_be_bytes());
        key[9] = part as u8;
    }
    keys
}

fn fill(store: &dyn KvDatabase) {
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    for number in 0..BEFORE {
        keys_of(number).iter().for_each(|key| tx.put(key, &VALUE).unwrap());
    }
    tx.commit().unwrap();
}

/// Leaves `pages` free pages in the file.
fn free_pages(store: &dyn KvDatabase, pages: u64) {
    let chunk = vec![0; 1 << 20];
    for number in 0..pages / 256 {
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        tx.put(&[&[0xff][..], &number.to_be_bytes()].concat(), &chunk).unwrap();
        tx.commit().unwrap();
    }
    for number in 0..pages / 256 {
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        tx.remove(&[&[0xff][..], &number.to_be_bytes()].concat()).unwrap();
        tx.commit().unwrap();
    }
}

type Pairs = Database<'static, Bytes, Bytes>;

fn heed(path: &Path) -> (Env<WithoutTls>, Pairs) {
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.map_size(1 << 40).max_dbs(1);
    #[allow(unsafe_code)]
    // SAFETY: No other code has the file open.
    let env = unsafe { options.open(path) }.unwrap();
    let txn = env.write_txn().unwrap();
    let pairs = env.create_databases_and_commit(txn, |opener, txn| {
        opener.create_database(txn, Some("permazen")).map(CommitOrAbort::<_, ()>::Commit)
    });
    let pairs = pairs.unwrap().commit().unwrap();
    (env, pairs)
}

/// Commits a second of `threads` that call `commit`.
fn speed(threads: usize, commit: &(dyn Fn() + Sync)) -> f64 {
    let start = Instant::now();
    let made: u32 = thread::scope(|scope| {
        let one = || {
            let mut made = 0;
            while start.elapsed() < SLICE {
                commit();
                made += 1;
            }
            made
        };
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    f64::from(made) / start.elapsed().as_secs_f64()
}

fn median(mut speeds: Vec<f64>) -> f64 {
    speeds.sort_by(f64::total_cmp);
    speeds[speeds.len() / 2]
}

fn closure(store: &dyn KvDatabase) {
    let keys = keys();
    store
        .write(|tx| {
            assert!(tx.get(&keys[0])?.is_none());
            keys.iter().try_for_each(|key| tx.put(key, &VALUE))
        })
        .unwrap();
}

fn compare(
    title: &str,
    grouped: &dyn KvDatabase,
    alone: &dyn KvDatabase,
    by_hand: &(dyn Fn() + Sync),
) {
    println!("\n{title}; medians of {ROUNDS} interleaved rounds");
    let mut hand = Vec::new();
    let mut ours = vec![Vec::new(); 2 * THREADS.len()];
    for _ in 0..ROUNDS {
        hand.push(speed(1, by_hand));
        for (at, threads) in THREADS.iter().enumerate() {
            ours[2 * at].push(speed(*threads, &|| closure(grouped)));
            ours[2 * at + 1].push(speed(*threads, &|| closure(alone)));
        }
    }
    let ratios = |speeds: &[f64]| median(speeds.iter().zip(&hand).map(|(a, b)| a / b).collect());
    println!(
        "{:>8} {:>14} {:>8} {:>14} {:>8}",
        "threads", "groups: a s", "ratio", "alone: a s", "ratio"
    );
    println!("{:>8} {:>14.0}", "by hand", median(hand.clone()));
    for (at, threads) in THREADS.iter().enumerate() {
        let (grouped, alone) = (&ours[2 * at], &ours[2 * at + 1]);
        println!(
            "{threads:>8} {:>14.0} {:>8.2} {:>14.0} {:>8.2}",
            median(grouped.clone()),
            ratios(grouped),
            median(alone.clone()),
            ratios(alone)
        );
    }
}

fn lmdb(free: u64) {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let open = |name: &str, groups| {
        let store =
            LmdbStore::builder().create(true).group_commit(groups).open(path(name)).unwrap();
        fill(&store);
        free_pages(&store, free);
        store
    };
    drop(open("by-hand", false));
    let (env, pairs) = heed(&path("by-hand"));
    let by_hand = || {
        let mut txn = env.write_txn().unwrap();
        let keys = keys().map(|key| [&[0][..], &key].concat());
        assert!(pairs.get(&txn, &keys[0]).unwrap().is_none());
        keys.iter().for_each(|key| pairs.put(&mut txn, key, &VALUE).unwrap());
        txn.commit().unwrap();
    };
    let title = format!("LMDB, {free} free pages");
    compare(&title, &open("grouped", true), &open("alone", false), &by_hand);
}

fn sqlite() {
    let directory = tempfile::tempdir().unwrap();
    let open = |name: &str, groups| {
        let builder = SqliteStore::builder().create(true).group_commit(groups);
        let store = builder.open(directory.path().join(name)).unwrap();
        fill(&store);
        store
    };
    // A transaction by hand of the store makes the same statements as one of rusqlite.
    let by_hand = open("by-hand", false);
    let commit = || {
        let keys = keys();
        let mut tx = by_hand.begin(&TxOptions::writing()).unwrap();
        assert!(tx.get(&keys[0]).unwrap().is_none());
        keys.iter().for_each(|key| tx.put(key, &VALUE).unwrap());
        tx.commit().unwrap();
    };
    compare("SQLite", &open("grouped", true), &open("alone", false), &commit);
}

fn main() {
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let runs = |part: &str| {
        words.iter().all(|word| word.starts_with("free=")) || words.iter().any(|word| word == part)
    };
    let free = words.iter().find_map(|word| word.strip_prefix("free=")?.parse().ok());
    if runs("lmdb") {
        lmdb(free.unwrap_or(0));
    }
    if runs("sqlite") {
        sqlite();
    }
}
