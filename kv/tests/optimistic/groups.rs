//! Closures that write at the same time and are committed together.
#![cfg(feature = "lmdb")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::{
    Durability, KvDatabase, KvDatabaseExt as _, KvError, KvRead, KvTransaction, KvWrite, Result,
    TxOptions,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tempfile::TempDir;

use crate::support::{dump, open_or_create, put, reading, role, spawn};

/// The test that a child process runs.
const CHILD: &str = concat!(module_path!(), "::child");

#[cfg(feature = "sqlite")]
const STORES: [&str; 2] = ["lmdb", "sqlite"];
#[cfg(not(feature = "sqlite"))]
const STORES: [&str; 1] = ["lmdb"];

fn store(kind: &str) -> (TempDir, Box<dyn KvDatabase>) {
    let directory = tempfile::tempdir().unwrap();
    let store = open_or_create(kind, &directory.path().join("store"));
    (directory, store)
}

fn leading() -> TxOptions {
    TxOptions::writing().ending_here().in_group()
}

/// Whether the transaction is a member of a group. The first of a group has a version.
fn is_member(tx: &dyn KvTransaction) -> bool {
    tx.version().is_none()
}

/// Runs `member` in a closure while another transaction commits, until it was a member of that
/// one's group. Returns the result of that run, and how often it ran.
fn as_member<T: Send>(
    store: &dyn KvDatabase,
    mut member: impl FnMut(&mut dyn KvTransaction) -> Result<T> + Send,
) -> (thread::Result<Result<T>>, u32) {
    for _ in 0..10_000 {
        let mut leader = store.begin(&leading()).unwrap();
        leader.put(b"leader", b"").unwrap();
        let (tell, told) = channel();
        let (mut runs, mut joined) = (0, false);
        let result = thread::scope(|scope| {
            let running = scope.spawn(|| {
                tell.send(()).unwrap();
                store.write(|tx| {
                    joined |= is_member(tx);
                    if !joined {
                        return Ok(None);
                    }
                    runs += 1;
                    member(tx).map(Some)
                })
            });
            told.recv().unwrap();
            thread::sleep(Duration::from_micros(500));
            leader.commit().unwrap();
            running.join()
        });
        if joined {
            return (result.map(|result| result.map(Option::unwrap)), runs);
        }
    }
    panic!("it never was a member");
}

fn count(tx: &dyn KvRead) -> Result<u64> {
    let value = tx.get(b"count")?;
    Ok(value.map_or(0, |value| u64::from_be_bytes(value[..].try_into().unwrap())))
}

#[test]
fn a_member_sees_what_it_follows_and_makes_no_version_of_its_own() {
    for kind in STORES {
        let (_directory, store) = store(kind);
        put(&*store, b"first", b"");
        let version = || reading(&*store).version().unwrap();
        let mut seen = Vec::new();
        let (done, _) = as_member(&*store, |tx| {
            seen.push(tx.get(b"leader")?.is_some() && tx.get(b"first")?.is_some());
            // Others do not see it yet.
            assert!(reading(&*store).get(b"member")?.is_none());
            tx.put(b"member", b"1")?;
            assert!(tx.put_if_absent(b"first", b"")?.eq(&false));
            Ok(version())
        });
        assert_eq!(version(), done.unwrap().unwrap() + 1);
        assert!(seen.iter().all(|seen| *seen));
        assert_eq!(reading(&*store).get(b"member").unwrap().as_deref(), Some(&b"1"[..]));
    }
}

#[test]
fn a_member_that_fails_leaves_nothing() {
    for kind in STORES {
        let (_directory, store) = store(kind);
        let fails = || {
            as_member(&*store, |tx| {
                tx.put(b"member", b"")?;
                Err::<(), _>(KvError::Stopped("it"))
            })
        };
        // A leader that does not wait so long for it lets it run again.
        let once = (0..10).map(|_| fails()).find(|(_, runs)| *runs == 1);
        assert!(matches!(once, Some((Ok(Err(KvError::Stopped(_))), _))));
        let (panicked, _) = as_member(&*store, |tx| -> Result<()> {
            tx.put(b"member", b"")?;
            panic!("on purpose")
        });
        assert!(panicked.is_err());
        let (discarded, _) = as_member(&*store, |tx| {
            tx.put(b"member", b"")?;
            tx.set_read_only()?;
            assert!(tx.is_read_only());
            Ok(())
        });
        discarded.unwrap().unwrap();
        assert!(reading(&*store).get(b"member").unwrap().is_none());
        assert!(reading(&*store).get(b"leader").unwrap().is_some());
    }
}

#[test]
fn another_transaction_within_a_member_is_refused_as_it_is_alone() {
    for kind in STORES {
        let (_directory, store) = store(kind);
        let mut nest = |tx: &mut dyn KvTransaction| {
            tx.put(b"outer", b"")?;
            for _ in 0..2 {
                assert!(matches!(store.begin(&leading()), Err(KvError::WithinWrite { .. })));
            }
            store.write(|inner| inner.put(b"inner", b""))
        };
        let alone = store.write(&mut nest).unwrap_err();
        let (nested, _) = as_member(&*store, nest);
        assert_eq!(nested.unwrap().unwrap_err().to_string(), alone.to_string());
        assert!(reading(&*store).get(b"outer").unwrap().is_none());
        // A closure that continues after the error is committed.
        let (nested, _) = as_member(&*store, |tx| {
            assert!(store.begin(&TxOptions::writing()).is_err());
            tx.put(b"outer", b"")
        });
        nested.unwrap().unwrap();
        assert!(reading(&*store).get(b"outer").unwrap().is_some());
    }
}

#[test]
fn a_closure_that_waits_for_the_thread_of_the_leader_does_not_wait_forever() {
    for kind in STORES {
        let (_directory, store) = store(kind);
        let mut waited = false;
        for _ in 0..10_000 {
            let mut leader = store.begin(&leading()).unwrap();
            leader.put(b"leader", b"").unwrap();
            let (after, committed) = channel::<()>();
            let (tell, told) = channel();
            let (store, seen) = (&store, &mut waited);
            thread::scope(|scope| {
                let waiting = scope.spawn(move || {
                    tell.send(()).unwrap();
                    store.write(|tx| {
                        *seen |= is_member(tx);
                        let _ = committed.recv();
                        tx.put(b"member", b"")
                    })
                });
                told.recv().unwrap();
                thread::sleep(Duration::from_micros(500));
                leader.commit().unwrap();
                drop(after);
                waiting.join().unwrap().unwrap();
            });
            if waited {
                break;
            }
        }
        assert!(waited);
        assert!(reading(&*store).get(b"member").unwrap().is_some());
    }
}

/// Each closure adds one to a count, and writes the number of its thread under the new count. Some
/// fail, panic, only read, or take longer than others can wait; some transactions are no closures.
fn at_random(store: &dyn KvDatabase, seed: u64) -> u64 {
    let joined = AtomicU64::new(0);
    let write = |thread: u8, random: &mut StdRng, what: u32| -> Option<u64> {
        let change = |tx: &mut dyn KvTransaction| {
            let number = count(tx)? + 1;
            assert!(tx.get(&[b"log", &number.to_be_bytes()[..]].concat())?.is_none());
            let before = tx.at_most(b"log", Some(b"loh"))?.map(|(key, _)| key.into_owned());
            let last = before.map_or(0, |key| u64::from_be_bytes(key[3..].try_into().unwrap()));
            assert_eq!(last + 1, number);
            tx.put(b"count", &number.to_be_bytes())?;
            tx.put(&[b"log", &number.to_be_bytes()[..]].concat(), &[thread])?;
            tx.adjust_counter(b"adjusted", 1)?;
            Ok(number)
        };
        let pause = Duration::from_micros(random.random_range(0..300));
        match what {
            0 => {
                let failed = store.write(|tx| {
                    change(tx)?;
                    Err::<(), _>(KvError::Stopped("it"))
                });
                assert!(matches!(failed, Err(KvError::Stopped(_))));
                None
            }
            1 => {
                let panicked = catch_unwind(AssertUnwindSafe(|| {
                    store.write(|tx| -> Result<()> {
                        change(tx)?;
                        std::panic::resume_unwind(Box::new("on purpose"))
                    })
                }));
                assert!(panicked.is_err());
                None
            }
            2 => {
                store.write(|tx| change(tx).and_then(|_| tx.set_read_only())).unwrap();
                None
            }
            3 => {
                let mut tx = store.begin(&TxOptions::writing()).unwrap();
                let number = change(&mut *tx).unwrap();
                tx.commit().unwrap();
                Some(number)
            }
            4 => {
                let late = store.write(|tx| {
                    change(tx)?;
                    tx.set_timeout(Some(Duration::from_nanos(1)))
                });
                assert!(matches!(late, Err(KvError::Timeout(_))), "{late:?}");
                None
            }
            5 if random.random_range(0..20) == 0 => {
                let slow = store.write(|tx| {
                    let number = change(tx)?;
                    thread::sleep(Duration::from_millis(12));
                    Ok(number)
                });
                Some(slow.unwrap())
            }
            _ => {
                let number = store.write(|tx| {
                    joined.fetch_add(u64::from(is_member(tx)), Ordering::Relaxed);
                    let number = change(tx)?;
                    thread::sleep(pause);
                    Ok(number)
                });
                let number = number.unwrap();
                // Acknowledged commits are there.
                assert!(count(&*reading(store)).unwrap() >= number);
                Some(number)
            }
        }
    };
    let mut made: Vec<(u64, u8)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8u8)
            .map(|thread| {
                let write = &write;
                scope.spawn(move || {
                    let mut random = StdRng::seed_from_u64(seed * 100 + u64::from(thread));
                    let each = (0..60).filter_map(|_| {
                        let what = random.random_range(0..25);
                        Some((write(thread, &mut random, what)?, thread))
                    });
                    each.collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    made.sort_unstable();
    let tx = reading(store);
    assert_eq!(count(&*tx).unwrap(), made.len() as u64);
    for (expected, (number, thread)) in (1..).zip(&made) {
        assert_eq!(*number, expected, "each number is given once");
        let key = [b"log", &number.to_be_bytes()[..]].concat();
        assert_eq!(tx.get(&key).unwrap().as_deref(), Some(&[*thread][..]));
    }
    let adjusted = tx.decode_counter(&tx.get(b"adjusted").unwrap().unwrap()).unwrap();
    assert_eq!(adjusted, made.len() as i64);
    assert_eq!(dump(&*tx).len(), made.len() + 2);
    joined.into_inner()
}

#[test]
fn random_closures_on_many_threads_follow_each_other() {
    for kind in STORES {
        let mut joined = 0;
        for seed in 0..4 {
            let (_directory, store) = store(kind);
            let zero = reading(&*store).encode_counter(0);
            put(&*store, b"adjusted", &zero);
            joined += at_random(&*store, seed);
        }
        assert!(joined > 0, "{kind}: there was no group");
    }
}

#[test]
fn what_does_not_fit_together_is_committed_alone() {
    let directory = tempfile::tempdir().unwrap();
    let builder = LmdbStore::builder();
    let store = builder.create(true).map_size(1 << 20).open(directory.path()).unwrap();
    let store = &store;
    let sizes = [300_000, 100_000, 5_000, 60_000, 200_000, 1_000, 250_000, 20_000];
    let made: Vec<(u8, u8)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8u8)
            .map(|thread| {
                scope.spawn(move || {
                    let each = (0..10u8).filter(|round| {
                        let size = sizes[usize::from(thread + round) % 8];
                        let done = store.write(|tx| tx.put(&[thread, *round], &vec![7; size]));
                        match done {
                            Ok(()) => true,
                            Err(KvError::Full { .. }) => false,
                            Err(error) => panic!("{error}"),
                        }
                    });
                    each.map(|round| (thread, round)).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let found: Vec<(u8, u8)> =
        dump(&*reading(store)).into_iter().map(|(key, _)| (key[0], key[1])).collect();
    assert_eq!(found, made);
    assert!(!made.is_empty() && made.len() < 80);
    assert_eq!(store.verify().unwrap(), [""; 0]);
}

#[test]
fn there_are_no_groups_where_they_are_not_wanted() {
    let directory = tempfile::tempdir().unwrap();
    let builder = LmdbStore::builder().create(true);
    let off = builder.clone().group_commit(false);
    let unflushed = builder.clone().durability(Durability::MayLoseEverything);
    for (number, builder) in [off, unflushed].iter().enumerate() {
        let store = builder.open(directory.path().join(number.to_string())).unwrap();
        let before = reading(&store).version().unwrap();
        thread::scope(|scope| {
            for thread in 0..8u8 {
                let store = &store;
                scope.spawn(move || {
                    for round in 0..20 {
                        let write = |tx: &mut dyn KvTransaction| {
                            assert!(!is_member(tx));
                            tx.put(&[thread, round], b"")
                        };
                        store.write(write).unwrap();
                    }
                });
            }
        });
        assert_eq!(dump(&*reading(&store)).len(), 160);
        assert_eq!(reading(&store).version().unwrap(), before + 160);
    }
}

const WRITERS: u8 = 6;

fn of_writer(writer: u8) -> [Vec<u8>; 3] {
    [0, 1, 2].map(|part| vec![part, writer])
}

/// The process that is killed: its threads count up, each for itself.
#[test]
fn child() {
    let Some((kind, path)) = role() else { return };
    let store = open_or_create(&kind, &path);
    let out = std::sync::Mutex::new(std::io::stdout());
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (store, out) = (&store, &out);
            scope.spawn(move || {
                loop {
                    let number = store.write(|tx| {
                        let [first, ..] = of_writer(writer);
                        let last = tx
                            .get(&first)?
                            .map_or(0, |value| u64::from_be_bytes(value[..].try_into().unwrap()));
                        for key in of_writer(writer) {
                            tx.put(&key, &(last + 1).to_be_bytes())?;
                        }
                        Ok(last + 1)
                    });
                    let mut out = out.lock().unwrap();
                    writeln!(out, "committed {writer} {}.", number.unwrap()).unwrap();
                    out.flush().unwrap();
                }
            });
        }
    });
}

fn acknowledged(line: &str) -> Option<(u8, u64)> {
    let (writer, number) =
        line.trim_end().strip_suffix('.')?.rsplit_once("committed ")?.1.split_once(' ')?;
    Some((writer.parse().ok()?, number.parse().ok()?))
}

fn kill_often(kind: &str, path: &Path, kills: u32) {
    let mut random = StdRng::seed_from_u64(u64::from(std::process::id()));
    let mut told = BTreeMap::<u8, u64>::new();
    for kill in 0..kills {
        let (mut process, mut out) = spawn(CHILD, kind, path);
        let mut line = String::new();
        while !line.contains("committed") {
            line.clear();
            assert!(out.read_line(&mut line).unwrap() > 0, "the child ended by itself");
        }
        thread::sleep(Duration::from_micros(random.random_range(0..25_000)));
        process.kill().unwrap();
        process.wait().unwrap();
        told.extend(acknowledged(&line));
        // The last line may be cut short.
        told.extend(out.lines().filter_map(|line| acknowledged(&line.unwrap())));
        let store = open_or_create(kind, path);
        let tx = reading(&*store);
        for writer in 0..WRITERS {
            let parts = of_writer(writer).map(|key| {
                let value = tx.get(&key).unwrap();
                value.map_or(0, |value| u64::from_be_bytes(value[..].try_into().unwrap()))
            });
            let told = told.get(&writer).copied().unwrap_or(0);
            assert!(
                parts[0] == told || parts[0] == told + 1,
                "kill {kill}: {told} was acknowledged to {writer}, {} is there",
                parts[0]
            );
            assert_eq!(parts, [parts[0]; 3], "kill {kill}: a commit of {writer} is not whole");
        }
        // The lock of the killed process does not block others.
        let wait = TxOptions::writing().with_wait(Duration::from_secs(20));
        drop(store.begin(&wait).unwrap());
        drop(tx);
        for writer in 0..WRITERS {
            let [first, ..] = of_writer(writer);
            if let Some(value) = reading(&*store).get(&first).unwrap() {
                told.insert(writer, u64::from_be_bytes(value[..].try_into().unwrap()));
            }
        }
    }
}

#[test]
fn a_kill_loses_only_commits_that_were_not_acknowledged() {
    let kills = std::env::var("PERMAZEN_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    for kind in STORES {
        let directory = tempfile::tempdir().unwrap();
        kill_often(kind, &directory.path().join("store"), kills);
    }
}
