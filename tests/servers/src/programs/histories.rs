//! Histories of several processes: there is one order that explains all that was read and written,
//! and it agrees with the order in time. The conformance suite does the same with the threads of
//! one process.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::time::SystemTime;

use permazen::kv::{
    Direction, KeySpan, KvDatabase, KvDatabaseExt, KvRead, KvWrite, Result, TxOptions,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::process::{Process, say};

const PROCESSES: u32 = 3;
const THREADS: u32 = 2;
const TRANSACTIONS: u32 = 120;
const KEYS: u8 = 6;

/// Each key has the numbers that were appended to it. No number is appended twice.
type Lists = BTreeMap<u8, Vec<u32>>;

/// A committed transaction.
#[derive(Debug)]
struct Done {
    begun: u128,
    ended: u128,
    /// Before its own appends.
    read: Lists,
    appended: Lists,
}

fn now() -> u128 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos()
}

fn written(lists: &Lists) -> String {
    let list = |(key, list): (&u8, &Vec<u32>)| {
        let numbers: Vec<String> = list.iter().map(u32::to_string).collect();
        format!("{key}:{}", numbers.join("."))
    };
    lists.iter().map(list).collect::<Vec<_>>().join(",")
}

fn parsed(text: &str) -> Lists {
    let list = |list: &str| {
        let (key, numbers) = list.split_once(':').unwrap();
        let numbers = numbers.split('.').filter(|number| !number.is_empty());
        (key.parse().unwrap(), numbers.map(|number| number.parse().unwrap()).collect())
    };
    text.split(',').filter(|list| !list.is_empty()).map(list).collect()
}

/// The work of a process: it prints the reads and appends of each committed transaction.
pub(super) fn work(store: &dyn KvDatabase, process: u32) {
    std::io::stdin().read_line(&mut String::new()).unwrap();
    // The process that started this one does not listen while the threads work.
    let said = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let said = &said;
            scope.spawn(move || {
                let id = process * THREADS + thread;
                let mut rng = StdRng::seed_from_u64(rand::rng().random());
                for number in 0..TRANSACTIONS {
                    let begun = now();
                    match transact(store, &mut rng, (id * TRANSACTIONS + number) * 10) {
                        Ok((read, appended)) => {
                            let ended = now();
                            let (read, appended) = (written(&read), written(&appended));
                            let text = format!("transaction {begun} {ended} {read}|{appended}");
                            said.lock().unwrap().push(text);
                        }
                        Err(error) => assert!(error.is_retryable(), "{error}"),
                    }
                }
            });
        }
    });
    said.into_inner().unwrap().iter().for_each(|text| say(text));
    say("transaction none");
}

fn transact(store: &dyn KvDatabase, rng: &mut StdRng, mut next: u32) -> Result<(Lists, Lists)> {
    let reads_only = rng.random_ratio(1, 4);
    let options = if reads_only { TxOptions::reading() } else { TxOptions::writing() };
    let mut tx = store.begin(&options)?;
    let (mut read, mut appended) = (Lists::new(), Lists::new());
    let mut note = |own: &Lists, key: u8, mut list: Vec<u32>| {
        list.truncate(list.len() - own.get(&key).map_or(0, Vec::len));
        let first = read.entry(key).or_insert_with(|| list.clone());
        assert_eq!(*first, list, "key {key} changed while it was read");
    };
    for _ in 0..rng.random_range(1..5) {
        let key = rng.random_range(0..KEYS);
        if rng.random_ratio(1, 4) {
            let max = rng.random_range(key..KEYS) + 1;
            let (min, max) = ([key], [max]);
            let span = KeySpan::new(&min, Some(&max));
            let mut found: Lists = (key..max[0]).map(|key| (key, Vec::new())).collect();
            for pair in tx.scan(span, Direction::Forward)? {
                let (key, value) = pair?;
                found.insert(key[0], numbers(&value));
            }
            found.into_iter().for_each(|(key, list)| note(&appended, key, list));
            continue;
        }
        let mut list = tx.get(&[key])?.map_or(Vec::new(), |value| numbers(&value));
        note(&appended, key, list.clone());
        if !reads_only && rng.random_ratio(2, 3) {
            next += 1;
            list.push(next);
            let bytes: Vec<u8> = list.iter().flat_map(|number| number.to_be_bytes()).collect();
            tx.put(&[key], &bytes)?;
            appended.entry(key).or_default().push(next);
        }
    }
    tx.commit()?;
    Ok((read, appended))
}

fn numbers(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(4).map(|chunk| u32::from_be_bytes(chunk.try_into().unwrap())).collect()
}

/// Which transactions come after each one.
fn orders(history: &[Done], lists: &Lists) -> Vec<Vec<usize>> {
    let mut writer = HashMap::new();
    for (id, done) in history.iter().enumerate() {
        for (key, numbers) in &done.appended {
            for number in numbers {
                assert!(lists[key].contains(number), "committed append {number} is lost");
                writer.insert(*number, id);
            }
        }
    }
    let mut after = vec![Vec::new(); history.len()];
    let mut order = |first: usize, second: usize| {
        if first != second {
            after[first].push(second);
        }
    };
    let none = Vec::new();
    for (id, done) in history.iter().enumerate() {
        for (key, seen) in &done.read {
            let list = lists.get(key).unwrap_or(&none);
            assert!(list.starts_with(seen), "key {key}: {seen:?} was read, {list:?} is there");
            if let Some(last) = seen.last() {
                order(writer[last], id);
            }
            if let Some(next) = list.get(seen.len()) {
                order(id, writer[next]);
            }
        }
        for (other, earlier) in history.iter().enumerate() {
            if earlier.ended < done.begun {
                order(other, id);
            }
        }
    }
    for list in lists.values() {
        list.windows(2).for_each(|pair| order(writer[&pair[0]], writer[&pair[1]]));
    }
    after
}

/// The transactions that cannot be put in order.
fn in_circles(after: &[Vec<usize>]) -> Vec<usize> {
    let mut before = vec![0; after.len()];
    after.iter().flatten().for_each(|&second| before[second] += 1);
    let mut free: Vec<usize> = (0..after.len()).filter(|&id| before[id] == 0).collect();
    while let Some(first) = free.pop() {
        for &second in &after[first] {
            before[second] -= 1;
            if before[second] == 0 {
                free.push(second);
            }
        }
    }
    (0..after.len()).filter(|&id| before[id] > 0).collect()
}

/// Processes on one new store, which has this URL too, read and append to lists.
///
/// # Panics
/// If no order explains their reads and appends.
pub fn are_strictly_serializable(store: &dyn KvDatabase, url: &str) {
    let start = |process: u32| Process::start(&["histories", url, &process.to_string()]);
    let mut processes: Vec<_> = (0..PROCESSES).map(start).collect();
    processes.iter_mut().for_each(|process| process.tell("begin"));
    let mut history = Vec::new();
    for mut process in processes {
        loop {
            let said = process.hear("transaction ");
            let words: Vec<&str> = said.splitn(3, ' ').collect();
            let [begun, ended, lists] = words[..] else { break };
            let (read, appended) = lists.split_once('|').unwrap();
            let (begun, ended) = (begun.parse().unwrap(), ended.parse().unwrap());
            let (read, appended) = (parsed(read), parsed(appended));
            history.push(Done { begun, ended, read, appended });
        }
        process.stop();
    }
    let lists = store.read(|tx| {
        let scan = tx.scan(KeySpan::FULL, Direction::Forward)?;
        scan.map(|pair| pair.map(|(key, value)| (key[0], numbers(&value))))
            .collect::<Result<Lists>>()
    });
    let unlike = in_circles(&orders(&history, &lists.unwrap()));
    let unlike: Vec<&Done> = unlike.iter().map(|&id| &history[id]).collect();
    assert!(unlike.is_empty(), "no order explains {unlike:#?}");
    println!("{} of {} committed", history.len(), PROCESSES * THREADS * TRANSACTIONS);
    assert!(history.len() > 100);
}
