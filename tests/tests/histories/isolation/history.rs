//! Histories of concurrent transactions on lists of objects, and whether a serial order explains
//! them.

use super::*;

/// The known facts about one object's list: the numbers that were read, and the range they were
/// read from.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    cell: u8,
    range: (i64, i64),
    /// In the order of the list, if the list itself was read.
    numbers: Vec<i64>,
}

/// A committed transaction.
#[derive(Debug)]
pub(crate) struct Done {
    begun: Instant,
    ended: Instant,
    seen: Vec<Seen>,
    appended: Vec<(u8, i64)>,
}

type Lists = BTreeMap<u8, Vec<i64>>;

/// Runs transactions in threads. Returns the transactions that were committed, the lists at the
/// end, and how many transactions were refused.
pub(crate) fn run(db: &Database, threads: u64, each: u64) -> (Vec<Done>, Lists, u64) {
    let done = Mutex::new(Vec::new());
    let (next, refused) = (AtomicI64::new(1), AtomicU64::new(0));
    in_threads(threads, |thread| {
        for round in 0..each {
            // All attempts do the same.
            let seed = (thread << 32 | round).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let committed = loop {
                let begun = Instant::now();
                match transact(db, seed, &next) {
                    Ok((seen, appended)) => {
                        break Done { begun, ended: Instant::now(), seen, appended };
                    }
                    Err(error) => assert!(error.is_retryable(), "{error}"),
                }
                refused.fetch_add(1, Ordering::Relaxed);
                std::thread::yield_now();
            };
            done.lock().unwrap().push(committed);
        }
    });
    let tx = db.begin(&config().read_only()).unwrap();
    let lists = (0..CELLS).map(|n| (n, list(&tx, n).unwrap())).collect();
    (done.into_inner().unwrap(), lists, refused.into_inner())
}

type Observed = (Vec<Seen>, Vec<(u8, i64)>);

fn transact(db: &Database, seed: u64, next: &AtomicI64) -> Result<Observed> {
    let mut state = seed | 1;
    let mut random = |limit: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % limit
    };
    let read_only = random(4) == 0;
    let config = config();
    let tx = db.begin(&if read_only { config.read_only() } else { config })?;
    let (mut seen, mut appended) = (Vec::new(), Vec::<(u8, i64)>::new());
    for _ in 0..1 + random(4) {
        let n = random(CELLS.into()) as u8;
        match random(4) {
            0 => {
                let from = random(900) as i64;
                let range = (from, from + 200);
                for (cell, mut numbers) in by_index(&tx, range)? {
                    numbers.retain(|number| !appended.contains(&(cell, *number)));
                    seen.push(Seen { cell, range, numbers });
                }
            }
            1 => see(&mut seen, &appended, n, list(&tx, n)?),
            _ if read_only => {}
            _ => {
                see(&mut seen, &appended, n, list(&tx, n)?);
                let number = next.fetch_add(1, Ordering::Relaxed);
                tx.list_view(cell(n), "list", Migrate::No)?.push(&Value::Long(number))?;
                appended.push((n, number));
            }
        }
        if random(3) == 0 {
            std::thread::yield_now();
        }
    }
    tx.commit()?;
    Ok((seen, appended))
}

fn see(seen: &mut Vec<Seen>, own: &[(u8, i64)], cell: u8, mut numbers: Vec<i64>) {
    numbers.retain(|number| !own.contains(&(cell, *number)));
    seen.push(Seen { cell, range: (0, i64::MAX), numbers });
}

fn list(tx: &Transaction, n: u8) -> Result<Vec<i64>> {
    let values = tx.list_view(cell(n), "list", Migrate::No)?.to_vec()?;
    Ok(values.iter().map(|value| value.get::<i64>().unwrap()).collect())
}

/// The numbers of all lists within a range, found through the index. Objects without numbers in the
/// range are included.
fn by_index(tx: &Transaction, (from, to): (i64, i64)) -> Result<Lists> {
    let mut found: Lists = (0..CELLS).map(|n| (n, Vec::new())).collect();
    let index = tx.index(StorageId::new(12).unwrap())?;
    let (from, to) = (Value::Long(from), Value::Long(to));
    use std::ops::Bound::{Excluded, Included};
    for entry in index.with_bounds(0, Included(&from), Excluded(&to))?.entries() {
        let entry = entry?;
        let n = entry.id()?.to_bytes()[7];
        found.get_mut(&n).unwrap().push(entry.value(0)?.get::<i64>().unwrap());
    }
    Ok(found)
}

/// Why no serial order explains a history; `None` if one does.
pub(crate) fn contradiction(history: &[Done], lists: &Lists) -> Option<String> {
    let mut writer = HashMap::new();
    for (id, done) in history.iter().enumerate() {
        for (cell, number) in &done.appended {
            if !lists[cell].contains(number) {
                return Some(format!("committed number {number} is not in the list of {cell}"));
            }
            writer.insert((*cell, *number), id);
        }
    }
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); history.len()];
    let mut order = |first: usize, second: usize| {
        if first != second {
            after[first].push(second);
        }
    };
    for (cell, list) in lists {
        if let Some(number) = list.iter().find(|number| !writer.contains_key(&(*cell, **number))) {
            return Some(format!("number {number} in the list of {cell} was never committed"));
        }
        for pair in list.windows(2) {
            order(writer[&(*cell, pair[0])], writer[&(*cell, pair[1])]);
        }
    }
    for (id, done) in history.iter().enumerate() {
        for seen in &done.seen {
            // The part of the list that can be seen from the range. Through the index it comes
            // sorted.
            let within = |number: &&i64| (seen.range.0..seen.range.1).contains(number);
            let list: Vec<i64> = lists[&seen.cell].iter().filter(within).copied().collect();
            let (mut first, mut read) = (list.clone(), seen.numbers.clone());
            first.truncate(read.len());
            if seen.range.1 != i64::MAX {
                first.sort_unstable();
                read.sort_unstable();
            }
            if first != read {
                return Some(format!("{seen:?} was read, {list:?} is there"));
            }
            if let Some(last) = read.len().checked_sub(1) {
                order(writer[&(seen.cell, list[last])], id);
            }
            if let Some(next) = list.get(read.len()) {
                order(id, writer[&(seen.cell, *next)]);
            }
        }
        for (other, earlier) in history.iter().enumerate() {
            if earlier.ended < done.begun {
                order(other, id);
            }
        }
    }
    // Without a cycle, the transactions can be removed one by one, beginning with those that no
    // other comes before.
    let mut before = vec![0; history.len()];
    after.iter().flatten().for_each(|id| before[*id] += 1);
    let mut free: Vec<usize> = (0..history.len()).filter(|id| before[*id] == 0).collect();
    let mut placed = 0;
    while let Some(id) = free.pop() {
        placed += 1;
        for next in &after[id] {
            before[*next] -= 1;
            if before[*next] == 0 {
                free.push(*next);
            }
        }
    }
    let left = history.len() - placed;
    (left > 0).then(|| format!("{left} transactions wait for each other"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(at: Instant, seen: &[(u8, (i64, i64), &[i64])], appended: &[(u8, i64)]) -> Done {
        let seen = seen.iter().map(|&(cell, range, numbers)| Seen {
            cell,
            range,
            numbers: numbers.to_vec(),
        });
        Done { begun: at, ended: at, seen: seen.collect(), appended: appended.to_vec() }
    }

    fn lists(lists: &[(u8, &[i64])]) -> Lists {
        lists.iter().map(|(cell, list)| (*cell, list.to_vec())).collect()
    }

    const ALL: (i64, i64) = (0, i64::MAX);

    #[test]
    fn a_serial_history_is_none() {
        let now = Instant::now();
        let history = [
            done(now, &[(0, ALL, &[])], &[(0, 1)]),
            done(now, &[(0, (0, 9), &[1]), (1, ALL, &[])], &[(1, 2)]),
            done(now, &[(0, (5, 9), &[]), (1, ALL, &[2])], &[]),
        ];
        assert_eq!(contradiction(&history, &lists(&[(0, &[1]), (1, &[2])])), None);
    }

    #[test]
    fn a_write_skew_seen_through_an_index_is_one() {
        let now = Instant::now();
        let nothing: [(u8, (i64, i64), &[i64]); 2] = [(0, (0, 9), &[]), (1, (0, 9), &[])];
        let history = [done(now, &nothing, &[(0, 1)]), done(now, &nothing, &[(1, 2)])];
        let lists = lists(&[(0, &[1]), (1, &[2])]);
        assert!(contradiction(&history, &lists).unwrap().contains("wait for each other"));
        // Numbers outside of the range do not count.
        let elsewhere: [(u8, (i64, i64), &[i64]); 2] = [(0, (5, 9), &[]), (1, (5, 9), &[])];
        let history = [done(now, &elsewhere, &[(0, 1)]), done(now, &elsewhere, &[(1, 2)])];
        assert_eq!(contradiction(&history, &lists), None);
    }

    #[test]
    fn the_anomaly_of_a_read_only_transaction_is_one() {
        let now = Instant::now();
        let history = [
            done(now, &[(0, ALL, &[]), (1, ALL, &[])], &[(0, 1)]),
            done(now, &[(1, ALL, &[])], &[(1, 2)]),
            done(now, &[(0, ALL, &[]), (1, ALL, &[2])], &[]),
        ];
        let lists = lists(&[(0, &[1]), (1, &[2])]);
        assert!(contradiction(&history, &lists).is_some());
        assert_eq!(contradiction(&history[..2], &lists), None);
    }

    #[test]
    fn lost_and_repeated_numbers_are_one() {
        let now = Instant::now();
        let history = [done(now, &[], &[(0, 1)]), done(now, &[(0, ALL, &[7])], &[])];
        assert!(contradiction(&history[..1], &lists(&[(0, &[])])).is_some());
        assert!(contradiction(&history, &lists(&[(0, &[1])])).is_some());
        assert!(contradiction(&[], &lists(&[(0, &[1])])).is_some());
    }
}
