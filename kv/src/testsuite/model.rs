//! Random operations in several open transactions, compared with a sorted map.
//!
//! The answers of a committed transaction must be the same as if all of it, with its reads, had run
//! at the moment of its commit. The answers of a read-only transaction must fit the state at its
//! beginning.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::{Fixture, Tx, attempt, committed, write};
use crate::{Direction, KeySpan, KvDatabase, KvError, KvRead, Result, SharedRead, TxOptions};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// An operation in one of the open transactions.
#[derive(Debug, Clone)]
enum Operation {
    Get(Vec<u8>),
    GetNear(Vec<u8>, Vec<u8>),
    GetToPut(Vec<u8>, Vec<u8>),
    AtLeast(Vec<u8>, Option<Vec<u8>>),
    AtMost(Vec<u8>, Option<Vec<u8>>),
    Scan(Vec<u8>, Option<Vec<u8>>, bool),
    Put(Vec<u8>, Vec<u8>),
    Remove(Vec<u8>),
    RemoveSpan(Vec<u8>, Option<Vec<u8>>),
    Adjust(Vec<u8>, i64),
}

/// The next step.
#[derive(Debug, Clone)]
enum Step {
    Begin { read_only: bool },
    Operate(usize, Operation),
    Snapshot(usize),
    SetReadOnly(usize),
    Commit(usize),
    Rollback(usize),
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop::sample::select(vec![0u8, 1, 2, 0x7f, 0x80, 0xfe, 0xff]);
    prop::collection::vec(byte, 0..4)
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..4),
        any::<i64>().prop_map(|count| count.to_be_bytes().to_vec()),
    ]
}

fn span() -> impl Strategy<Value = (Vec<u8>, Option<Vec<u8>>)> {
    (key(), prop::option::weighted(0.8, key()))
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        2 => key().prop_map(Operation::Get),
        2 => (key(), key()).prop_map(|(key, near)| Operation::GetNear(key, near)),
        2 => (key(), key()).prop_map(|(key, near)| Operation::GetToPut(key, near)),
        1 => span().prop_map(|(min, max)| Operation::AtLeast(min, max)),
        1 => span().prop_map(|(min, max)| Operation::AtMost(min, max)),
        1 => (span(), any::<bool>()).prop_map(|((min, max), r)| Operation::Scan(min, max, r)),
        5 => (key(), value()).prop_map(|(key, value)| Operation::Put(key, value)),
        2 => key().prop_map(Operation::Remove),
        1 => span().prop_map(|(min, max)| Operation::RemoveSpan(min, max)),
        2 => (key(), any::<i64>()).prop_map(|(key, by)| Operation::Adjust(key, by)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let which = 0usize..4;
    prop_oneof![
        2 => prop::bool::weighted(0.3).prop_map(|read_only| Step::Begin { read_only }),
        16 => (which.clone(), operation()).prop_map(|(i, operation)| Step::Operate(i, operation)),
        1 => which.clone().prop_map(Step::Snapshot),
        1 => which.clone().prop_map(Step::SetReadOnly),
        2 => which.clone().prop_map(Step::Commit),
        1 => which.prop_map(Step::Rollback),
    ]
}

/// The result of an operation.
#[derive(Debug, PartialEq)]
enum Outcome {
    Done,
    Value(Option<Vec<u8>>),
    Near(Option<(Vec<u8>, Option<Vec<u8>>)>),
    Pairs(Vec<(Vec<u8>, Vec<u8>)>),
    Refused,
}

/// Performs `operation` on the store. A retryable failure is an error.
fn on_store(tx: &mut Tx, operation: &Operation) -> Result<Outcome> {
    let one = |pair: Option<crate::Pair<'_>>| {
        Outcome::Pairs(pair.into_iter().map(|(k, v)| (k.into_owned(), v.into_owned())).collect())
    };
    let both = |found: Option<crate::Near<'_>>| {
        let owned = |(value, near): crate::Near<'_>| {
            (value.into_owned(), near.map(|near| near.into_owned()))
        };
        Outcome::Near(found.map(owned))
    };
    let done = match operation {
        Operation::Get(key) => {
            tx.get(key).map(|value| Outcome::Value(value.map(|value| value.into_owned())))
        }
        Operation::GetNear(key, near) => tx.get_near(key, near).map(both),
        Operation::GetToPut(key, near) => tx.get_to_put(key, near).map(both),
        Operation::AtLeast(min, max) => tx.at_least(min, max.as_deref()).map(one),
        Operation::AtMost(min, max) => tx.at_most(min, max.as_deref()).map(one),
        Operation::Scan(min, max, reverse) => {
            let direction = if *reverse { Direction::Reverse } else { Direction::Forward };
            tx.scan(KeySpan::new(min, max.as_deref()), direction).and_then(|scan| {
                let pairs: Result<Vec<_>> =
                    scan.map(|pair| pair.map(|(k, v)| (k.into_owned(), v.into_owned()))).collect();
                pairs.map(Outcome::Pairs)
            })
        }
        Operation::Put(key, value) => tx.put(key, value).map(|()| Outcome::Done),
        Operation::Remove(key) => tx.remove(key).map(|()| Outcome::Done),
        Operation::RemoveSpan(min, max) => {
            tx.remove_span(KeySpan::new(min, max.as_deref())).map(|()| Outcome::Done)
        }
        Operation::Adjust(key, by) => tx.adjust_counter(key, *by).map(|()| Outcome::Done),
    };
    match done {
        Err(KvError::InvalidArgument(_)) => Ok(Outcome::Refused),
        done => done,
    }
}

/// Performs `operation` on a sorted map.
fn on_map(map: &mut Map, operation: &Operation) -> Outcome {
    let within = |map: &Map, min: &[u8], max: Option<&[u8]>| -> Vec<(Vec<u8>, Vec<u8>)> {
        let span = KeySpan::new(min, max);
        map.iter().filter(|(k, _)| span.contains(k)).map(|(k, v)| (k.clone(), v.clone())).collect()
    };
    let reversed =
        |min: &[u8], max: &Option<Vec<u8>>| max.as_ref().is_some_and(|max| min > &max[..]);
    match operation {
        Operation::Get(key) => return Outcome::Value(map.get(key).cloned()),
        Operation::GetNear(key, near) | Operation::GetToPut(key, near) => {
            let values = map.get(key).map(|value| (value.clone(), map.get(near).cloned()));
            return Outcome::Near(values);
        }
        Operation::AtLeast(min, max) => {
            return Outcome::Pairs(within(map, min, max.as_deref()).into_iter().take(1).collect());
        }
        Operation::AtMost(min, max) => {
            let pairs = within(map, min, max.as_deref());
            return Outcome::Pairs(pairs.into_iter().next_back().into_iter().collect());
        }
        Operation::Scan(min, max, _) if reversed(min, max) => return Outcome::Refused,
        Operation::RemoveSpan(min, max) if reversed(min, max) => return Outcome::Refused,
        Operation::Scan(min, max, reverse) => {
            let mut pairs = within(map, min, max.as_deref());
            if *reverse {
                pairs.reverse();
            }
            return Outcome::Pairs(pairs);
        }
        Operation::Put(key, value) => {
            map.insert(key.clone(), value.clone());
        }
        Operation::Remove(key) => {
            map.remove(key);
        }
        Operation::RemoveSpan(min, max) => {
            let span = KeySpan::new(min, max.as_deref());
            map.retain(|key, _| !span.contains(key));
        }
        Operation::Adjust(key, by) => {
            if let Some(value) = map.get_mut(key)
                && let Ok(old) = <[u8; 8]>::try_from(&value[..])
            {
                *value = i64::from_be_bytes(old).wrapping_add(*by).to_be_bytes().to_vec();
            }
        }
    }
    Outcome::Done
}

/// An open transaction, and its operations.
struct Open {
    tx: Tx,
    read_only: bool,
    /// Whether it began as a writer. Then it may block other writers even after it becomes
    /// read-only.
    begun_writing: bool,
    /// The content that the transaction should see.
    seen: Map,
    log: Vec<(Operation, Outcome)>,
    /// Whether an adjustment has changed a counter that it saw.
    adjusted: bool,
    /// How many transactions had changed something when it began.
    begun_at: usize,
}

/// Whether a transaction had changes to commit.
#[derive(Debug, PartialEq)]
enum Changes {
    Nothing,
    /// Only adjustments that changed nothing in the state that it saw: the key was missing or was
    /// no counter. A store may do nothing for them, or repeat them on the state at the commit.
    Perhaps,
    Certainly,
}

fn changes(log: &[(Operation, Outcome)], adjusted: bool) -> Changes {
    let mut adjusts: BTreeMap<&[u8], i64> = BTreeMap::new();
    for (operation, _) in log {
        match operation {
            Operation::Put(..) | Operation::Remove(_) => return Changes::Certainly,
            Operation::RemoveSpan(min, max) if !KeySpan::new(min, max.as_deref()).is_empty() => {
                return Changes::Certainly;
            }
            Operation::Adjust(key, by) => {
                let sum = adjusts.entry(key).or_default();
                *sum = sum.wrapping_add(*by);
            }
            _ => {}
        }
    }
    match adjusts.values().any(|sum| *sum != 0) {
        true if adjusted => Changes::Certainly,
        true => Changes::Perhaps,
        false => Changes::Nothing,
    }
}

type TransactionLog = Vec<(Operation, Outcome)>;

/// The transactions that have changed something, in the order in which they took place.
struct Order {
    logs: Vec<TransactionLog>,
    /// The content before each of them, and after the last one.
    states: Vec<Map>,
}

impl Order {
    fn now(&self) -> &Map {
        &self.states[self.logs.len()]
    }

    /// The states from there on if a transaction takes place before the one with this number.
    /// `None` if something would have another outcome.
    fn with(&self, at: usize, log: &TransactionLog) -> Option<Vec<Map>> {
        let mut state = self.states[at].clone();
        let mut states = Vec::new();
        for log in [log].into_iter().chain(&self.logs[at..]) {
            for (operation, outcome) in log {
                if on_map(&mut state, operation) != *outcome {
                    return None;
                }
            }
            states.push(state.clone());
        }
        Some(states)
    }

    /// Adds a transaction that has led to this content. It takes place last, or, in a store where
    /// that is possible, anywhere after it began.
    fn add(&mut self, log: TransactionLog, begun_at: usize, anywhere: bool, now: &Map) {
        let last = self.logs.len();
        let first = if anywhere { begun_at } else { last };
        let places = (first..=last).rev().filter_map(|at| Some((at, self.with(at, &log)?)));
        let fits = |(_, states): &(usize, Vec<Map>)| states.last() == Some(now);
        let Some((at, states)) = places.into_iter().find(fits) else {
            panic!("{log:?} in {:?} does not lead to {now:?}", self.states[last]);
        };
        self.logs.insert(at, log);
        self.states.truncate(at + 1);
        self.states.extend(states);
    }
}

/// Random operations return the same as on a sorted map.
pub fn equals_a_sorted_map(fixture: &mut Fixture) {
    let store = fixture.store();
    let given = std::env::var_os("PROPTEST_CASES").is_some();
    let config = Config { failure_persistence: None, ..Config::default() };
    let config = if given { config } else { Config { cases: 25, ..config } };
    let steps = prop::collection::vec(step(), 1..120);
    TestRunner::new(config)
        .run(&steps, |steps| {
            write(store, |tx| tx.remove_span(KeySpan::FULL));
            run(store, &steps);
            Ok(())
        })
        .unwrap();
}

fn run(store: &dyn KvDatabase, steps: &[Step]) {
    let capabilities = store.capabilities();
    let mut order = Order { logs: Vec::new(), states: vec![Map::new()] };
    let mut open: Vec<Open> = Vec::new();
    let mut snapshots: Vec<(SharedRead, Map)> = Vec::new();
    for step in steps {
        match step {
            Step::Begin { read_only } if open.len() < 4 => {
                let tx = if *read_only {
                    Some(super::begin(store, &TxOptions::reading()).unwrap())
                } else {
                    attempt(store)
                };
                let Some(tx) = tx else {
                    assert!(open.iter().any(|open| open.begun_writing), "cannot begin to write");
                    continue;
                };
                let (seen, log, read_only) = (order.now().clone(), Vec::new(), *read_only);
                let begun_writing = !read_only;
                open.push(Open {
                    tx,
                    read_only,
                    begun_writing,
                    seen,
                    log,
                    adjusted: false,
                    begun_at: order.logs.len(),
                });
            }
            Step::Begin { .. } => {}
            Step::Operate(i, operation) => {
                let Some(at) = open.len().checked_sub(1).map(|last| i % (last + 1)) else {
                    continue;
                };
                let entry = &mut open[at];
                match on_store(&mut entry.tx, operation) {
                    Ok(outcome) => {
                        let before = match operation {
                            Operation::Adjust(key, _) => entry.seen.get(key).cloned(),
                            _ => None,
                        };
                        assert_eq!(outcome, on_map(&mut entry.seen, operation), "{operation:?}");
                        entry.adjusted |= match operation {
                            Operation::Adjust(key, _) => before.as_ref() != entry.seen.get(key),
                            _ => false,
                        };
                        entry.log.push((operation.clone(), outcome));
                    }
                    Err(error) => {
                        assert!(error.is_retryable(), "{error}");
                        assert!(order.logs.len() > entry.begun_at || open.len() > 1, "{error}");
                        open.remove(at);
                    }
                }
            }
            Step::Snapshot(i) => {
                if let Some(entry) = open.get(*i) {
                    match entry.tx.snapshot() {
                        Ok(snapshot) => snapshots.push((snapshot, entry.seen.clone())),
                        Err(error) => {
                            assert!(matches!(error, KvError::Unsupported(_)), "{error}");
                            assert!(!capabilities.snapshots);
                        }
                    }
                }
            }
            Step::SetReadOnly(i) => {
                if let Some(entry) = open.get_mut(*i)
                    && capabilities.read_only_switch
                {
                    entry.tx.set_read_only().unwrap();
                    entry.read_only = true;
                }
            }
            Step::Commit(i) if *i < open.len() => {
                let entry = open.remove(*i);
                let result = entry.tx.commit();
                let now: Map = committed(store).into_iter().collect();
                let changes = match result {
                    Ok(()) if entry.read_only => Changes::Nothing,
                    Ok(()) => changes(&entry.log, entry.adjusted),
                    Err(error) => {
                        assert!(error.is_retryable(), "{error}");
                        let others = order.logs.len() - entry.begun_at;
                        assert!(others > 0, "no other transaction has committed: {error}");
                        Changes::Nothing
                    }
                };
                // A transaction that only read takes place at its beginning. It was compared with
                // that state already.
                if changes == Changes::Certainly || now != *order.now() {
                    assert_ne!(changes, Changes::Nothing, "a transaction that only read");
                    order.add(entry.log, entry.begun_at, capabilities.reorders_commits, &now);
                } else if changes == Changes::Perhaps {
                    order.add(Vec::new(), entry.begun_at, false, &now);
                }
            }
            Step::Rollback(i) if *i < open.len() => open.remove(*i).tx.rollback(),
            Step::Commit(_) | Step::Rollback(_) => {}
        }
    }
    drop(open);
    for (snapshot, expected) in snapshots {
        let content: Map = super::dump(&*snapshot).into_iter().collect();
        assert_eq!(content, expected);
    }
    assert_eq!(committed(store).into_iter().collect::<Map>(), *order.now());
}
