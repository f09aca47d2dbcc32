//! Histories of concurrent transactions, checked for strict serializability.
//!
//! Each key holds a list of numbers. A write appends a number that no other write appends. The
//! final lists show the order of the writes to each key. Each list that was read shows which writes
//! came before its reader and which after. If these orders and real time contradict each other, no
//! serial execution explains the history.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{Fixture, Tx, committed};
use crate::{Direction, KeySpan, KvDatabase, KvRead, Result, TxOptions};

const KEYS: u8 = 6;

/// A committed transaction.
#[derive(Debug)]
struct Done {
    begun: Instant,
    ended: Instant,
    /// The lists that were read. Absent keys are empty lists.
    read: BTreeMap<u8, Vec<u32>>,
    appended: Vec<(u8, u32)>,
}

/// Threads append to lists and read them, one by one and by scans. Then the history is checked.
pub fn lists_are_strictly_serializable(fixture: &mut Fixture) {
    let store = fixture.store();
    assert!(store.capabilities().serializable, "the store does not claim to be serializable");
    for seed in 0..3 {
        super::write(store, |tx| tx.remove_span(KeySpan::FULL));
        let history = run(store, seed);
        check(&history, store);
    }
}

fn run(store: &dyn KvDatabase, seed: u64) -> Vec<Done> {
    let history = Mutex::new(Vec::new());
    let next = AtomicU32::new(1);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (history, next) = (&history, &next);
            scope.spawn(move || {
                let mut rng = StdRng::seed_from_u64(seed * 100 + thread);
                for _ in 0..40 {
                    let begun = Instant::now();
                    let read_only = rng.random_ratio(1, 4);
                    let options =
                        if read_only { TxOptions::reading() } else { TxOptions::writing() };
                    match transact(store, &options, &mut rng, next) {
                        Ok((read, appended)) => history.lock().unwrap().push(Done {
                            begun,
                            ended: Instant::now(),
                            read,
                            appended: if read_only { Vec::new() } else { appended },
                        }),
                        Err(error) => assert!(error.is_retryable(), "{error}"),
                    }
                    if rng.random_ratio(1, 8) {
                        std::thread::sleep(Duration::from_micros(rng.random_range(0..200)));
                    }
                }
            });
        }
    });
    history.into_inner().unwrap()
}

type Observed = (BTreeMap<u8, Vec<u32>>, Vec<(u8, u32)>);

fn transact(
    store: &dyn KvDatabase,
    options: &TxOptions,
    rng: &mut StdRng,
    next: &AtomicU32,
) -> Result<Observed> {
    let mut tx = store.begin(options)?;
    let (mut read, mut appended) = (BTreeMap::new(), Vec::new());
    for _ in 0..rng.random_range(1..5) {
        let key = rng.random_range(0..KEYS);
        match rng.random_range(0..4) {
            0 => {
                let max = rng.random_range(key..KEYS) + 1;
                let reverse = rng.random();
                for (key, list) in scan(&tx, key, max, reverse)? {
                    note(&mut read, &appended, key, list);
                }
            }
            1 => {
                let list = get(&tx, key)?;
                note(&mut read, &appended, key, list);
            }
            _ if options.read_only => {}
            _ => {
                let mut list = get(&tx, key)?;
                note(&mut read, &appended, key, list.clone());
                let number = next.fetch_add(1, Ordering::Relaxed);
                list.push(number);
                let bytes: Vec<u8> = list.iter().flat_map(|n| n.to_be_bytes()).collect();
                tx.put(&[key], &bytes)?;
                appended.push((key, number));
            }
        }
        if rng.random_ratio(1, 3) {
            std::thread::yield_now();
        }
    }
    tx.commit()?;
    Ok((read, appended))
}

/// Notes the list of a key before the transaction's own appends.
fn note(read: &mut BTreeMap<u8, Vec<u32>>, own: &[(u8, u32)], key: u8, mut list: Vec<u32>) {
    let mine = own.iter().filter(|(k, _)| *k == key).count();
    list.truncate(list.len() - mine);
    let first = read.entry(key).or_insert_with(|| list.clone());
    assert_eq!(*first, list, "key {key} changed while it was read");
}

fn numbers(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(4).map(|chunk| u32::from_be_bytes(chunk.try_into().unwrap())).collect()
}

fn get(tx: &Tx, key: u8) -> Result<Vec<u32>> {
    Ok(tx.get(&[key])?.map_or(Vec::new(), |value| numbers(&value)))
}

fn scan(tx: &Tx, min: u8, max: u8, reverse: bool) -> Result<BTreeMap<u8, Vec<u32>>> {
    let direction = if reverse { Direction::Reverse } else { Direction::Forward };
    let mut found: BTreeMap<u8, Vec<u32>> = (min..max).map(|key| (key, Vec::new())).collect();
    for pair in tx.scan(KeySpan::new(&[min], Some(&[max])), direction)? {
        let (key, value) = pair?;
        found.insert(key[0], numbers(&value));
    }
    Ok(found)
}

fn check(history: &[Done], store: &dyn KvDatabase) {
    let lists: HashMap<u8, Vec<u32>> =
        committed(store).into_iter().map(|(key, value)| (key[0], numbers(&value))).collect();
    let mut writer = HashMap::new();
    for (id, done) in history.iter().enumerate() {
        for (key, number) in &done.appended {
            let list = lists.get(key).expect("a committed append is lost with its list");
            assert!(list.contains(number), "committed append {number} to key {key} is lost");
            writer.insert((*key, *number), id);
        }
    }
    for (key, list) in &lists {
        for number in list {
            assert!(writer.contains_key(&(*key, *number)), "{number} was never committed");
        }
    }
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); history.len()];
    let mut order = |first: usize, second: usize| {
        if first != second {
            after[first].push(second);
        }
    };
    for (id, done) in history.iter().enumerate() {
        for (key, seen) in &done.read {
            let list = lists.get(key).map_or(&[][..], |list| list);
            assert!(list.starts_with(seen), "key {key}: {seen:?} was read, {list:?} is there");
            if let Some(last) = seen.last() {
                order(writer[&(*key, *last)], id);
            }
            if let Some(next) = list.get(seen.len()) {
                order(id, writer[&(*key, *next)]);
            }
        }
        for (other, earlier) in history.iter().enumerate() {
            if earlier.ended < done.begun {
                order(other, id);
            }
        }
    }
    for (key, list) in &lists {
        for pair in list.windows(2) {
            order(writer[&(*key, pair[0])], writer[&(*key, pair[1])]);
        }
    }
    if let Some(cycle) = find_cycle(&after) {
        let members: Vec<_> = cycle.iter().map(|id| &history[*id]).collect();
        panic!("no serial order explains {members:#?}");
    }
}

/// A cycle in a graph; `None` if there is none.
fn find_cycle(after: &[Vec<usize>]) -> Option<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        OnPath,
        Done,
    }
    let mut marks = vec![Mark::New; after.len()];
    for start in 0..after.len() {
        // The path, with the number of edges already followed at each node.
        let mut path: Vec<(usize, usize)> = vec![];
        if marks[start] == Mark::New {
            marks[start] = Mark::OnPath;
            path.push((start, 0));
        }
        while let Some((node, followed)) = path.last_mut() {
            let Some(next) = after[*node].get(*followed) else {
                marks[*node] = Mark::Done;
                path.pop();
                continue;
            };
            *followed += 1;
            match marks[*next] {
                Mark::New => {
                    marks[*next] = Mark::OnPath;
                    path.push((*next, 0));
                }
                Mark::OnPath => {
                    let from = path.iter().position(|(node, _)| node == next)?;
                    return Some(path[from..].iter().map(|(node, _)| *node).collect());
                }
                Mark::Done => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_found() {
        assert_eq!(find_cycle(&[vec![1], vec![2], vec![]]), None);
        assert_eq!(find_cycle(&[vec![1, 2], vec![2], vec![]]), None);
        assert_eq!(find_cycle(&[vec![1], vec![2], vec![1]]), Some(vec![1, 2]));
    }

    #[test]
    #[should_panic(expected = "no serial order")]
    fn a_write_skew_is_found() {
        let store = crate::memory::MemoryStore::new();
        super::super::put_all(&store, &[(&[0], &1u32.to_be_bytes()), (&[1], &2u32.to_be_bytes())]);
        let now = Instant::now();
        let skewed = |key: u8, number: u32| Done {
            begun: now,
            ended: now,
            read: [(0, vec![]), (1, vec![])].into(),
            appended: vec![(key, number)],
        };
        check(&[skewed(0, 1), skewed(1, 2)], &store);
    }
}
