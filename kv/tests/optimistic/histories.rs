//! Interleaved transactions of the optimistic engine return the same as in some serial order: the
//! order of their commits, or for read-only transactions that of their beginnings.

use std::collections::BTreeMap;

use permazen_kv::memory::MemoryStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, KvTransaction, TxOptions};
use proptest::prelude::*;

type Content = BTreeMap<u8, i64>;

#[derive(Debug, Clone)]
enum Op {
    Get(u8),
    Scan(u8, u8, bool, usize),
    Put(u8, i64),
    Remove(u8),
    RemoveSpan(u8, u8),
    Adjust(u8, i64),
}

#[derive(Debug, Clone)]
enum Step {
    Begin(usize, bool),
    Do(usize, Op),
    Commit(usize),
    Rollback(usize),
}

const SLOTS: usize = 4;

fn any_key() -> impl Strategy<Value = u8> {
    0..6_u8
}

fn any_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => any_key().prop_map(Op::Get),
        2 => (any_key(), any_key(), any::<bool>(), 0..4_usize)
            .prop_map(|(a, b, reverse, steps)| Op::Scan(a.min(b), a.max(b), reverse, steps)),
        4 => (any_key(), 0..9_i64).prop_map(|(key, value)| Op::Put(key, value)),
        2 => any_key().prop_map(Op::Remove),
        1 => (any_key(), any_key()).prop_map(|(a, b)| Op::RemoveSpan(a.min(b), a.max(b) + 1)),
        // All are positive, so that a transaction that adjusts certainly writes.
        2 => (any_key(), 1..4_i64).prop_map(|(key, by)| Op::Adjust(key, by)),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..SLOTS, prop::bool::weighted(0.2)).prop_map(|(slot, ro)| Step::Begin(slot, ro)),
        20 => (0..SLOTS, any_op()).prop_map(|(slot, op)| Step::Do(slot, op)),
        3 => (0..SLOTS).prop_map(Step::Commit),
        1 => (0..SLOTS).prop_map(Step::Rollback),
    ]
}

type Answer = Vec<(u8, i64)>;

fn perform(tx: &mut dyn KvTransaction, op: &Op) -> Answer {
    let number = |value: &[u8]| i64::from_be_bytes(value.try_into().unwrap());
    match op {
        Op::Get(key) => {
            return tx
                .get(&[*key])
                .unwrap()
                .map(|value| (*key, number(&value)))
                .into_iter()
                .collect();
        }
        Op::Scan(min, max, reverse, steps) => {
            let direction = if *reverse { Direction::Reverse } else { Direction::Forward };
            let (min, max) = ([*min], [*max]);
            let scan = tx.scan(KeySpan::new(&min, Some(&max)), direction).unwrap();
            return scan
                .take(*steps)
                .map(|pair| pair.map(|(key, value)| (key[0], number(&value))).unwrap())
                .collect();
        }
        Op::Put(key, value) => tx.put(&[*key], &value.to_be_bytes()).unwrap(),
        Op::Remove(key) => tx.remove(&[*key]).unwrap(),
        Op::RemoveSpan(min, max) => tx.remove_span(KeySpan::new(&[*min], Some(&[*max]))).unwrap(),
        Op::Adjust(key, by) => tx.adjust_counter(&[*key], *by).unwrap(),
    }
    Answer::new()
}

/// The same on a plain map.
fn model(content: &mut Content, op: &Op) -> Answer {
    match op {
        Op::Get(key) => return content.get(key).map(|value| (*key, *value)).into_iter().collect(),
        Op::Scan(min, max, reverse, steps) => {
            let pairs = content.range(min..max).map(|(key, value)| (*key, *value));
            return if *reverse {
                pairs.rev().take(*steps).collect()
            } else {
                pairs.take(*steps).collect()
            };
        }
        Op::Put(key, value) => drop(content.insert(*key, *value)),
        Op::Remove(key) => drop(content.remove(key)),
        Op::RemoveSpan(min, max) => content.retain(|key, _| !(min..max).contains(&key)),
        Op::Adjust(key, by) => {
            if let Some(value) = content.get_mut(key) {
                *value += by;
            }
        }
    }
    Answer::new()
}

struct Running {
    tx: Box<dyn KvTransaction + Send>,
    read_only: bool,
    begun_with: Content,
    done: Vec<(Op, Answer)>,
}

/// Repeats a transaction on `content`, and checks that it returns the same answers.
fn replay(content: &mut Content, done: &[(Op, Answer)]) {
    for (op, answer) in done {
        assert_eq!(&model(content, op), answer, "{op:?} of {done:?}");
    }
}

/// Returns how many transactions were committed and how many refused.
fn run(db: &dyn KvDatabase, steps: &[Step]) -> (usize, usize) {
    let mut content = Content::new();
    let mut slots: [Option<Running>; SLOTS] = Default::default();
    let (mut committed, mut refused) = (0, 0);
    for step in steps {
        match step {
            Step::Begin(slot, _) if slots[*slot].is_some() => {}
            Step::Begin(slot, read_only) => {
                let options = if *read_only { TxOptions::reading() } else { TxOptions::writing() };
                slots[*slot] = Some(Running {
                    tx: db.begin(&options).unwrap(),
                    read_only: *read_only,
                    begun_with: content.clone(),
                    done: Vec::new(),
                });
            }
            Step::Do(slot, op) => {
                if let Some(running) = &mut slots[*slot] {
                    let answer = perform(&mut *running.tx, op);
                    running.done.push((op.clone(), answer));
                }
            }
            Step::Commit(slot) => {
                let Some(mut running) = slots[*slot].take() else { continue };
                let reads_only = running.read_only
                    || running.done.iter().all(|(op, _)| matches!(op, Op::Get(_) | Op::Scan(..)));
                match running.tx.commit() {
                    Ok(()) if reads_only => replay(&mut running.begun_with, &running.done),
                    Ok(()) => replay(&mut content, &running.done),
                    Err(error) => {
                        assert!(error.conflict().is_some() && !reads_only, "{error}");
                        refused += 1;
                        continue;
                    }
                }
                committed += 1;
            }
            Step::Rollback(slot) => slots[*slot] = None,
        }
    }
    drop(slots);
    let mut tx = db.begin(&TxOptions::reading()).unwrap();
    let found: Content = perform(&mut *tx, &Op::Scan(0, 255, false, 100)).into_iter().collect();
    assert_eq!(found, content);
    (committed, refused)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn interleavings_in_memory(steps in prop::collection::vec(any_step(), 1..120)) {
        run(&OptimisticDatabase::new(MemoryStore::new()), &steps);
    }
}

#[cfg(feature = "lmdb")]
proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn interleavings_on_lmdb(steps in prop::collection::vec(any_step(), 1..120)) {
        let dir = tempfile::tempdir().unwrap();
        let store = permazen_kv::lmdb::LmdbStore::open_or_create(dir.path()).unwrap();
        run(&OptimisticDatabase::new(store), &steps);
    }
}

/// Checks that the random histories contain commits and refusals.
#[test]
fn histories_contain_conflicts() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut committed, mut refused) = (0, 0);
    for _ in 0..200 {
        let steps = prop::collection::vec(any_step(), 120).new_tree(&mut runner).unwrap().current();
        let db = OptimisticDatabase::new(MemoryStore::new());
        let counts = run(&db, &steps);
        committed += counts.0;
        refused += counts.1;
    }
    assert!(committed > 500 && refused > 50, "{committed} committed, {refused} refused");
}
