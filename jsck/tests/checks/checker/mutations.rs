//! Many random changes at once. A check ends and changes nothing. Repair ends with a database in
//! which nothing is found, or refuses. The changes that repair announces before it makes any bring
//! the old pairs back. Repair of derived data leaves objects unchanged.
//!
//! `PERMAZEN_MUTATIONS` sets the number of rounds (120 for the small database).

use std::collections::BTreeMap;

use permazen::kv::{KvDatabase, KvTransaction, TxOptions};
use permazen_jsck::{Intent, Options, RepairScope, check, repair};

use super::naive::{self, is_healthy};
use crate::support::{Pairs, load, pairs};

#[test]
fn the_reference_database() {
    mutate("reference/R.kv.xml", 1);
}

#[test]
fn the_music_database() {
    mutate("databases/music/kv.xml.gz", 50);
}

#[test]
fn the_database_of_several_schemas() {
    mutate("databases/evolution/kv.xml.gz", 6);
}

/// A small generator of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

fn mutate(file: &str, costly: u64) {
    let store = load(file);
    let pairs = pairs(&*store.begin(&TxOptions::reading()).expect("begin"));
    let keys: Vec<&Vec<u8>> = pairs.keys().collect();
    let rounds: u64 = match std::env::var("PERMAZEN_MUTATIONS") {
        Ok(number) => number.parse().expect("PERMAZEN_MUTATIONS: a number"),
        Err(_) => 120,
    };
    let mut mended = 0;
    for round in 0..(rounds / costly).max(4) {
        let mut random = Random(round);
        let mut kv = store.begin(&TxOptions::writing()).expect("begin");
        for _ in 0..=random.below(20) {
            change(&mut *kv, &keys, &mut random);
        }
        mended += u64::from(judge(&mut *kv, round));
        kv.rollback();
    }
    assert!(mended > 0, "nothing was ever repaired");
}

/// One change: a pair is removed, or gets another value, or a changed copy of it is added.
fn change(kv: &mut (dyn KvTransaction + Send), keys: &[&Vec<u8>], random: &mut Random) {
    let key = keys[random.below(keys.len())];
    let value = kv.get(key).expect("get").map_or_else(Vec::new, |value| value.into_owned());
    let spoil = |bytes: &[u8], random: &mut Random| {
        let mut bytes = bytes.to_vec();
        let at = random.below(bytes.len() + 1);
        let byte = match random.below(4) {
            0 => 0,
            1 => 0xff,
            _ => random.next() as u8,
        };
        match random.below(3) {
            0 => bytes.insert(at, byte),
            1 => bytes.truncate(at),
            _ => {
                if let Some(old) = bytes.get_mut(at) {
                    *old = byte;
                }
            }
        }
        bytes
    };
    match random.below(6) {
        0 | 1 => kv.remove(key),
        2 => kv.put(key, &spoil(&value, random)),
        3 => kv.put(&spoil(key, random), &value),
        4 => {
            let other = keys[random.below(keys.len())].clone();
            let other = kv.get(&other).expect("get").map_or_else(Vec::new, |v| v.into_owned());
            kv.put(key, &other)
        }
        _ => {
            kv.remove(key).expect("remove");
            kv.put(&spoil(key, random), &spoil(&value, random))
        }
    }
    .expect("change");
}

/// The changes that repair announces before it makes them: for each key, the old and the new value.
#[derive(Default)]
struct Undo(BTreeMap<Vec<u8>, [Option<Vec<u8>>; 2]>);

impl Undo {
    fn note(&mut self, intent: &Intent<'_>) -> std::io::Result<()> {
        if let Intent::Change { key, old, new } = *intent {
            let [old, new] = [old, new].map(|value| value.map(<[u8]>::to_vec));
            self.0.entry(key.to_vec()).or_insert([old, None])[1] = new;
        }
        Ok(())
    }

    /// Brings back the old values. The present values must be those that were announced.
    fn apply(&self, kv: &mut (dyn KvTransaction + Send), now: &Pairs) {
        for (key, [old, new]) in &self.0 {
            assert_eq!(now.get(key), new.as_ref(), "what repair says it leaves");
            match old {
                Some(old) => kv.put(key, old).expect("undo"),
                None => kv.remove(key).expect("undo"),
            }
        }
    }
}

/// Returns whether something was repaired.
fn judge(kv: &mut (dyn KvTransaction + Send), round: u64) -> bool {
    let before = pairs(kv);
    let options = Options::default();
    let mut findings = Vec::new();
    let sink = &mut |finding: &permazen_jsck::Finding| findings.push(finding.to_string());
    let report = check(&*kv, &options, sink).expect("damage is no error");
    assert_eq!(pairs(kv), before, "round {round}: a check changed something");
    assert_eq!(report.is_clean(), is_healthy(&before), "round {round}: {findings:#?}");

    derived_only(kv, &before, round);

    let mut undo = Undo::default();
    let keep = &mut |intent: &Intent<'_>| undo.note(intent);
    let repaired = repair(kv, &options, &mut |_| {}, &mut |_| {}, keep).expect("repair ends");
    assert_eq!(repaired.found, report, "round {round}");
    let after = pairs(kv);
    if repaired.left.unrepairable > 0 {
        assert_eq!(after, before, "round {round}: refused, but changed");
        return false;
    }
    assert!(is_healthy(&after), "round {round}: repaired, but not healthy: {findings:#?}");
    let again = check(&*kv, &options, &mut |_| {}).expect("damage is no error");
    assert!(again.is_clean(), "round {round}: something was left: {findings:#?}");
    undo.apply(kv, &after);
    assert_eq!(pairs(kv), before, "round {round}: undone, but not as before");
    repaired.changes > 0
}

/// Repairs derived data only, looks at what that changed, and undoes it.
fn derived_only(kv: &mut (dyn KvTransaction + Send), before: &Pairs, round: u64) {
    let mut options = Options::default();
    options.repair = RepairScope::Derived;
    let mut undo = Undo::default();
    let keep = &mut |intent: &Intent<'_>| undo.note(intent);
    repair(kv, &options, &mut |_| {}, &mut |_| {}, keep).expect("repair ends");
    let after = pairs(kv);
    let objects = naive::object_pairs(before);
    assert_eq!(naive::object_pairs(&after), objects, "round {round}: objects were changed");
    undo.apply(kv, &after);
    assert_eq!(pairs(kv), *before, "round {round}: undone, but not as before");
}
