//! Transactions of several processes, step by step in each order: their reads and the data that
//! they leave are those of the same transactions in turn.

use std::collections::BTreeMap;
use std::thread;

use permazen::kv::{
    Direction, KeySpan, KvDatabase, KvDatabaseExt, KvRead, KvTransaction, KvWrite, Result,
    TxOptions,
};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::Open;
use super::process::{Process, say};
use super::rounds;

/// A step of a transaction. Its reads are added up.
#[derive(Debug, Clone, Copy)]
enum Step {
    Get(&'static str),
    /// All keys from one on and before another.
    Scan(&'static str, &'static str),
    /// Puts the sum of what was read, and a number more.
    Put(&'static str, i64),
    Remove(&'static str),
    Commit,
}
use Step::{Commit, Get, Put, Remove, Scan};

/// The pairs that are there before, and the transactions.
#[derive(Debug)]
struct Case {
    name: &'static str,
    before: &'static [(&'static str, i64)],
    programs: &'static [&'static [Step]],
    /// An order in which not all can be committed, if that is rare.
    known: &'static [usize],
}

const CASES: &[Case] = &[
    Case {
        name: "lost update",
        before: &[("x", 1)],
        programs: &[&[Get("x"), Put("x", 10), Commit], &[Get("x"), Put("x", 100), Commit]],
        known: &[],
    },
    Case {
        name: "write skew",
        before: &[("x", 1), ("y", 2)],
        programs: &[
            &[Get("x"), Get("y"), Put("x", 10), Commit],
            &[Get("x"), Get("y"), Put("y", 100), Commit],
        ],
        known: &[],
    },
    Case {
        name: "phantom",
        before: &[("k1", 1)],
        programs: &[
            &[Scan("k", "l"), Put("k2", 10), Commit],
            &[Scan("k", "l"), Put("k3", 100), Commit],
        ],
        known: &[],
    },
    Case {
        name: "deleted phantom",
        before: &[("k1", 1), ("k2", 2), ("k3", 4)],
        programs: &[
            &[Scan("k", "l"), Remove("k1"), Put("x", 10), Commit],
            &[Scan("k", "l"), Remove("k3"), Put("y", 100), Commit],
        ],
        known: &[],
    },
    Case {
        name: "a key that is absent",
        before: &[],
        programs: &[&[Get("x"), Put("y", 10), Commit], &[Get("y"), Put("x", 100), Commit]],
        known: &[],
    },
    Case {
        name: "read-only anomaly",
        before: &[("x", 0), ("y", 0)],
        programs: &[
            &[Get("y"), Put("y", 20), Commit],
            &[Get("x"), Get("y"), Put("x", -11), Commit],
            &[Get("x"), Get("y"), Commit],
        ],
        known: &[1, 1, 0, 0, 0, 2, 2, 2, 1, 1],
    },
    Case {
        name: "a ring of three",
        before: &[("x", 1), ("y", 2), ("z", 4)],
        programs: &[
            &[Get("x"), Put("y", 10), Commit],
            &[Get("y"), Put("z", 100), Commit],
            &[Get("z"), Put("x", 1000), Commit],
        ],
        known: &[],
    },
];

/// How many orders of each case are tried, if it has more: 100 if `PERMAZEN_FAULTS` is `full`.
fn most_orders() -> usize {
    rounds(100, 40).max(40)
}

/// The work of the process: the transactions of one of the programs, step by step as it gets the
/// orders.
pub(super) fn work(store: &dyn KvDatabase, case: usize, program: usize) {
    let steps = CASES[case].programs[program];
    let writes = steps.iter().any(|step| matches!(step, Put(..) | Remove(_)));
    let options = if writes { TxOptions::writing() } else { TxOptions::reading() };
    let mut lines = std::io::stdin().lines();
    say("ready");
    while lines.next().is_some() {
        let (mut tx, mut sum) = (Some(store.begin(&options).unwrap()), 0);
        for (at, step) in steps.iter().enumerate() {
            // It got the first one already.
            if at > 0 {
                lines.next().unwrap().unwrap();
            }
            match perform(step, &mut tx, &mut sum) {
                Ok(()) => say(&format!("did {sum}")),
                Err(error) => {
                    assert!(error.is_retryable(), "{error}");
                    say("did retry");
                    break;
                }
            }
        }
    }
}

fn perform(
    step: &Step,
    held: &mut Option<Box<dyn KvTransaction + Send>>,
    sum: &mut i64,
) -> Result<()> {
    let tx = held.as_mut().unwrap();
    match *step {
        Get(key) => *sum += tx.get(key.as_bytes())?.map_or(0, |value| number(&value)),
        Scan(min, max) => {
            let span = KeySpan::new(min.as_bytes(), Some(max.as_bytes()));
            for pair in tx.scan(span, Direction::Forward)? {
                *sum += number(&pair?.1);
            }
        }
        Put(key, more) => tx.put(key.as_bytes(), &(*sum + more).to_be_bytes())?,
        Remove(key) => tx.remove(key.as_bytes())?,
        Commit => return held.take().unwrap().commit(),
    }
    Ok(())
}

fn number(bytes: &[u8]) -> i64 {
    i64::from_be_bytes(bytes.try_into().unwrap())
}

type Pairs = BTreeMap<String, i64>;

/// The sums that a program reads and the pairs that it leaves when it is alone.
fn alone(steps: &[Step], pairs: &mut Pairs) -> Vec<i64> {
    let mut sum = 0;
    let mut sums = Vec::new();
    for step in steps {
        match *step {
            Get(key) => sum += pairs.get(key).copied().unwrap_or(0),
            Scan(min, max) => {
                sum +=
                    pairs.range(min.to_owned()..max.to_owned()).map(|(_, value)| value).sum::<i64>()
            }
            Put(key, more) => drop(pairs.insert(key.to_owned(), sum + more)),
            Remove(key) => drop(pairs.remove(key)),
            Commit => {}
        }
        sums.push(sum);
    }
    sums
}

/// All orders of some things.
fn permutations(things: &[usize]) -> Vec<Vec<usize>> {
    if things.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, thing) in things.iter().enumerate() {
        let rest = [&things[..at], &things[at + 1..]].concat();
        all.extend(permutations(&rest).into_iter().map(|rest| [&[*thing][..], &rest].concat()));
    }
    all
}

/// All orders of the steps of programs. An order lists which program makes each step.
fn orders(left: &mut [usize], so_far: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
    if left.iter().all(|&left| left == 0) {
        all.push(so_far.clone());
    }
    for program in 0..left.len() {
        if left[program] > 0 {
            left[program] -= 1;
            so_far.push(program);
            orders(left, so_far, all);
            so_far.pop();
            left[program] += 1;
        }
    }
}

fn reset(store: &dyn KvDatabase, before: &[(&str, i64)]) {
    store
        .write(|tx| {
            tx.remove_span(KeySpan::FULL)?;
            before.iter().try_for_each(|(key, value)| tx.put(key.as_bytes(), &value.to_be_bytes()))
        })
        .unwrap();
}

fn pairs(store: &dyn KvDatabase) -> Pairs {
    let read = |tx: &dyn KvTransaction| {
        let scan = tx.scan(KeySpan::FULL, Direction::Forward)?;
        let pair = |pair: Result<permazen::kv::Pair<'_>>| {
            let (key, value) = pair?;
            Ok((String::from_utf8_lossy(&key).into_owned(), number(&value)))
        };
        scan.map(pair).collect()
    };
    store.read(read).unwrap()
}

/// Transactions of several processes, step by step in each order. Each call of `new` makes the URL
/// of a new store. The cases run at the same time, since each of them mostly waits for the one
/// process whose turn it is.
///
/// # Panics
/// If they read or leave what they would not in turn.
pub fn are_as_good_as_one_after_another<S: KvDatabase>(
    open: Open<S>,
    new: impl Fn() -> String + Sync,
) {
    thread::scope(|scope| {
        for (number, case) in CASES.iter().enumerate() {
            let new = &new;
            scope.spawn(move || is_as_good_in_each_order(open, &new(), number, case));
        }
    });
}

fn is_as_good_in_each_order<S: KvDatabase>(open: Open<S>, url: &str, number: usize, case: &Case) {
    let store = open(url);
    let start = |program: usize| {
        let (number, program) = (number.to_string(), program.to_string());
        let mut process = Process::start(&["interleavings", url, &number, &program]);
        process.hear("ready");
        process
    };
    let mut processes: Vec<_> = (0..case.programs.len()).map(start).collect();
    let mut left: Vec<usize> = case.programs.iter().map(|steps| steps.len()).collect();
    let mut all = Vec::new();
    orders(&mut left, &mut Vec::new(), &mut all);
    all.shuffle(&mut StdRng::seed_from_u64(rand::rng().random()));
    let (mut committed, mut retried) = (0, 0);
    let known = (!case.known.is_empty()).then(|| case.known.to_vec());
    for order in known.iter().chain(all.iter().take(most_orders())) {
        reset(&store, case.before);
        let mut sums: Vec<Option<Vec<i64>>> = vec![Some(Vec::new()); processes.len()];
        for &program in order {
            let Some(so_far) = &mut sums[program] else { continue };
            processes[program].tell("step");
            match processes[program].hear("did ").parse() {
                Ok(sum) => so_far.push(sum),
                Err(_) => sums[program] = None,
            }
        }
        let after = pairs(&store);
        let done: Vec<usize> = (0..sums.len()).filter(|&at| sums[at].is_some()).collect();
        committed += done.len();
        retried += sums.len() - done.len();
        let explains = |turns: &Vec<usize>| {
            let mut pairs: Pairs =
                case.before.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect();
            let each = |&at: &usize| Some(alone(case.programs[at], &mut pairs)) == sums[at];
            turns.iter().all(each) && pairs == after
        };
        assert!(
            permutations(&done).iter().any(explains),
            "{}: {order:?} gave {sums:?} and {after:?}",
            case.name
        );
        // The first one to commit has no conflict, and without overlap none has.
        assert!(!done.is_empty(), "{}: {order:?}", case.name);
        let is_serial = order.windows(2).filter(|turns| turns[0] != turns[1]).count() + 1;
        assert!(is_serial > sums.len() || done.len() == sums.len(), "{}: {order:?}", case.name);
    }
    println!("{}: {committed} committed, {retried} to be retried", case.name);
    assert!(committed > 0 && retried > 0, "{}: {committed} {retried}", case.name);
    processes.into_iter().for_each(Process::stop);
}
