//! Sums that tell whether two sets of index entries are the same, without keeping the entries.
//!
//! Objects require entries in another order than the indexes have them. Sorting the entries to
//! compare them would cost more than the rest of a check. So each entry is hashed, with a key that
//! is random in every run. The hash is added to one of some thousand sums, chosen by a part of the
//! hash: once for each time an object requires the entry, and once where the entry is found. If two
//! sums agree, their sets of entries agree too; the chance that the sums agree although the sets
//! differ is 1 in 2⁶⁴ checks of a damaged database. Only entries whose sums disagree are compared
//! one by one.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many sums there are; a power of two.
const SUMS: usize = 1 << 12;

/// The fingerprint of a set of entries.
#[derive(Debug, Clone)]
pub(crate) struct Fingerprint {
    hash: EntryHash,
    sums: Vec<u64>,
    /// Sums that count as different even if they agree.
    suspect: Vec<bool>,
}

impl Fingerprint {
    /// The fingerprint of no entries.
    pub(crate) fn new(hash: EntryHash) -> Self {
        Fingerprint { hash, sums: vec![0; SUMS], suspect: vec![false; SUMS] }
    }

    /// Adds an entry.
    #[inline]
    pub(crate) fn add(&mut self, entry: &[u8]) {
        let hash = self.hash.of(entry);
        if let Some(sum) = self.sums.get_mut(place(hash)) {
            *sum = sum.wrapping_add(hash);
        }
    }

    /// Makes sure that this entry is compared.
    pub(crate) fn suspect(&mut self, entry: &[u8]) {
        if let Some(suspect) = self.suspect.get_mut(place(self.hash.of(entry))) {
            *suspect = true;
        }
    }

    /// Adds the entries of another fingerprint with the same hash.
    pub(crate) fn merge(&mut self, other: &Fingerprint) {
        for (sum, other) in self.sums.iter_mut().zip(&other.sums) {
            *sum = sum.wrapping_add(*other);
        }
        for (suspect, other) in self.suspect.iter_mut().zip(&other.suspect) {
            *suspect |= other;
        }
    }

    /// Where two sets of entries differ; `None` if they are the same.
    pub(crate) fn differences(&self, other: &Fingerprint) -> Option<Differences> {
        let differing: Vec<bool> = self
            .sums
            .iter()
            .zip(&other.sums)
            .zip(self.suspect.iter().zip(&other.suspect))
            .map(|((a, b), (c, d))| a != b || *c || *d)
            .collect();
        differing.contains(&true).then(|| Differences { hash: self.hash.clone(), differing })
    }
}

/// Fingerprints for several threads. A thread takes one at a time, so there are only as many as are
/// in use at once.
pub(crate) struct Pool {
    hash: EntryHash,
    idle: Mutex<Vec<Fingerprint>>,
}

impl Pool {
    pub(crate) fn new(hash: EntryHash) -> Self {
        Pool { hash, idle: Mutex::new(Vec::new()) }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Fingerprint>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A fingerprint to add to; it may have entries already.
    pub(crate) fn take(&self) -> Fingerprint {
        let idle = self.idle().pop();
        idle.unwrap_or_else(|| Fingerprint::new(self.hash.clone()))
    }

    pub(crate) fn give_back(&self, fingerprint: Fingerprint) {
        self.idle().push(fingerprint);
    }

    /// The sum of all fingerprints that were given back.
    pub(crate) fn sum(self) -> Fingerprint {
        let mut sum = Fingerprint::new(self.hash);
        for part in self.idle.into_inner().unwrap_or_else(PoisonError::into_inner) {
            sum.merge(&part);
        }
        sum
    }
}

/// The entries that must be compared one by one.
#[derive(Debug)]
pub(crate) struct Differences {
    hash: EntryHash,
    differing: Vec<bool>,
}

impl Differences {
    pub(crate) fn includes(&self, entry: &[u8]) -> bool {
        self.differing.get(place(self.hash.of(entry))).copied().unwrap_or(true)
    }
}

/// A hash with a secret key, so that entries with the same hash cannot be made on purpose.
#[derive(Debug, Clone, Default)]
pub(crate) struct EntryHash(RandomState);

impl EntryHash {
    #[inline]
    fn of(&self, entry: &[u8]) -> u64 {
        let mut hasher = self.0.build_hasher();
        hasher.write(entry);
        hasher.finish()
    }
}

/// The number of the sum that a hash is added to.
#[inline]
fn place(hash: u64) -> usize {
    #[allow(clippy::cast_possible_truncation, reason = "it is less than SUMS")]
    let place = (hash >> (u64::BITS - SUMS.trailing_zeros())) as usize;
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_does_not_matter_and_every_difference_is_noticed() {
        let hash = EntryHash::default();
        let entries: Vec<[u8; 4]> = (0u32..20_000).map(u32::to_be_bytes).collect();
        let of = |entries: &mut dyn Iterator<Item = &[u8; 4]>| {
            let mut fingerprint = Fingerprint::new(hash.clone());
            entries.for_each(|entry| fingerprint.add(entry));
            fingerprint
        };
        let all = of(&mut entries.iter());
        let mut halves = of(&mut entries.iter().rev().take(5_000));
        halves.merge(&of(&mut entries.iter().rev().skip(5_000)));
        assert!(all.differences(&halves).is_none());
        let less = of(&mut entries.iter().filter(|entry| **entry != entries[77]));
        let differences = all.differences(&less).expect("one is missing");
        assert!(differences.includes(&entries[77]));
        let others = entries.iter().filter(|entry| differences.includes(&entry[..])).count();
        assert!(others < 200, "{others} of 20000 have to be read for one");
        halves.suspect(&entries[5]);
        assert!(all.differences(&halves).expect("suspect").includes(&entries[5]));
    }

    #[test]
    fn a_pool_has_as_many_fingerprints_as_are_in_use_at_once() {
        let hash = EntryHash::default();
        let (pool, mut all) = (Pool::new(hash.clone()), Fingerprint::new(hash));
        for number in 0..1_000_u32 {
            let entry = number.to_be_bytes();
            let (mut one, other) = (pool.take(), pool.take());
            one.add(&entry);
            all.add(&entry);
            pool.give_back(other);
            pool.give_back(one);
        }
        assert_eq!(pool.idle().len(), 2);
        assert!(pool.sum().differences(&all).is_none());
    }
}
