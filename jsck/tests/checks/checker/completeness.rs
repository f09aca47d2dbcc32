//! Does the checker find all damage, and nothing else? A healthy database is changed in one place,
//! in every place in turn. The findings of the checker are compared with a simple model.
//!
//! `PERMAZEN_MUTANTS=all` tries every mutant. Otherwise `PERMAZEN_MUTANTS` (default 40) of each
//! kind are tried, spread evenly. A mutant of the larger music database takes much longer, so only
//! `PERMAZEN_MUSIC_MUTANTS` (default 2) of these are tried.

use permazen::kv::memory::MemoryStore;
use permazen::kv::{KvDatabase, KvRead, KvTransaction, TxOptions};
use permazen_jsck::{Finding, OnlineCheck, Options, check, repair};

use super::naive::is_healthy;
use crate::support::{Pairs, load, pairs};

#[test]
fn reference_database_every_pair_deleted_and_every_byte_changed() {
    mutate("reference/R.kv.xml", mutants("PERMAZEN_MUTANTS", 40));
}

#[test]
fn music_pairs_deleted_and_bytes_changed() {
    mutate("databases/music/kv.xml.gz", mutants("PERMAZEN_MUSIC_MUTANTS", 2));
}

#[derive(Default)]
struct Tally {
    found: u64,
    legal: u64,
    missed: u64,
}

/// How many mutants of a kind to try. The environment says a number or `all`.
fn mutants(variable: &str, default: u64) -> u64 {
    match std::env::var(variable).as_deref() {
        Ok("all") => u64::MAX,
        Ok(number) => number.parse().expect("the number of mutants: a number, or all"),
        Err(_) => default,
    }
}

/// `limit` is the number of mutants with a deleted pair. Three times as many have a changed byte.
fn mutate(file: &str, limit: u64) {
    let store = load(file);
    let pairs = all(&store);
    assert!(is_healthy(&pairs), "the naive model finds fault with {file}");
    let list: Vec<_> = pairs.iter().collect();

    let mut deleted = Tally::default();
    for at in spread(list.len() as u64, limit) {
        let (key, _) = list[at as usize];
        judge(&store, &pairs, |mutant| drop(mutant.remove(key)), &mut deleted);
    }
    let lens: Vec<u64> = list.iter().map(|(k, v)| (k.len() + v.len()) as u64).collect();
    let bytes: u64 = lens.iter().sum();
    let mut changed = Tally::default();
    for number in spread(bytes * 255, limit.saturating_mul(3)) {
        let (mut place, by) = (number / 255, (number % 255 + 1) as u8);
        let at = lens.iter().position(|&len| {
            let here = place < len;
            if !here {
                place -= len;
            }
            here
        });
        let (key, value) = list[at.expect("the place is inside")];
        judge(
            &store,
            &pairs,
            |mutant| {
                let (mut new_key, mut new_value) = (key.clone(), value.clone());
                let place = place as usize;
                match place.checked_sub(key.len()) {
                    None => new_key[place] ^= by,
                    Some(place) => new_value[place] ^= by,
                }
                mutant.remove(key);
                mutant.insert(new_key, new_value);
            },
            &mut changed,
        );
    }
    println!(
        "{file}: {} pairs, {bytes} bytes; pairs deleted: {} found, {} legal, {} missed; \
         bytes changed: {} found, {} legal, {} missed",
        list.len(),
        deleted.found,
        deleted.legal,
        deleted.missed,
        changed.found,
        changed.legal,
        changed.missed
    );
    assert!(deleted.found > 0 && changed.found > 0);
    assert_eq!(deleted.missed + changed.missed, 0, "damage was missed in {file}");
}

/// Up to `limit` numbers below `count`. They are spread evenly, but without a simple period.
fn spread(count: u64, limit: u64) -> impl Iterator<Item = u64> {
    let step = (count / limit.max(1)).max(1);
    (0..count.div_ceil(step)).map(move |n| {
        let jitter = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        (n * step + jitter % step).min(count - 1)
    })
}

fn judge(store: &MemoryStore, pairs: &Pairs, change: impl FnOnce(&mut Pairs), tally: &mut Tally) {
    let mut mutant = pairs.clone();
    change(&mut mutant);
    let mut kv = store.begin(&TxOptions::writing()).expect("begin");
    let mut touched = Vec::new();
    for (key, _) in pairs.iter().filter(|(key, _)| !mutant.contains_key(*key)) {
        kv.remove(key).expect("remove");
        touched.push(key);
    }
    for (key, value) in mutant.iter().filter(|(key, value)| pairs.get(*key) != Some(value)) {
        kv.put(key, value).expect("put");
        touched.push(key);
    }
    let healthy = is_healthy(&mutant);
    let mut findings = Vec::new();
    let report = check(&*kv, &Options::default(), &mut |f| findings.push(f.to_string()));
    let report = report.expect("damage is no error");
    let mut online = Vec::new();
    let complete = check_online(&*kv, pairs.len() as u64 / 3, &mut online);
    let at: Vec<_> = touched.iter().map(|key| hex(key)).collect();
    if healthy {
        assert!(report.is_clean(), "healthy, but (at {at:?}): {findings:#?}");
        assert!(complete && online.is_empty(), "healthy, but online (at {at:?}): {online:#?}");
        tally.legal += 1;
    } else {
        if report.findings == 0 || online.is_empty() {
            println!("missed: at {at:?}, online findings: {online:#?}");
            tally.missed += 1;
        } else {
            tally.found += 1;
            mend(&mut *kv, &at);
        }
    }
    kv.rollback();
}

/// Collects the findings of an online check in slices of this many entries. Returns whether it
/// reached the end.
fn check_online(kv: &dyn KvRead, entries: u64, findings: &mut Vec<String>) -> bool {
    let check = OnlineCheck::new(Options::default());
    let mut sink = |finding: &Finding| {
        if !finding.class.is_warning() {
            findings.push(finding.to_string());
        }
    };
    let mut position = Vec::new();
    loop {
        let slice = check.slice(kv, &position, entries, &mut sink).expect("damage is no error");
        match slice.next {
            Some(next) if slice.complete => position = next,
            _ => return slice.complete,
        }
    }
}

/// Repair either refuses and changes nothing, or leaves a healthy database.
fn mend(kv: &mut (dyn KvTransaction + Send), at: &[String]) {
    let before = pairs(kv);
    let repaired =
        repair(kv, &Options::default(), &mut |_| {}, &mut |_| {}, &mut |_| Ok(())).expect("repair");
    let after = pairs(kv);
    if repaired.left.unrepairable > 0 {
        assert_eq!(before, after, "refused, but changed at {at:?}");
    } else {
        assert!(is_healthy(&after), "repaired, but not healthy: at {at:?}");
    }
}

fn all(store: &MemoryStore) -> Pairs {
    let kv = store.begin(&TxOptions::reading()).expect("begin");
    pairs(&*kv)
}

fn hex(bytes: &[u8]) -> String {
    permazen::kv::Hex(bytes).to_string()
}
