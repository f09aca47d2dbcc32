//! New IDs of a load.

use std::io;

use rand::rngs::{StdRng, SysRng};
use rand::{Rng, SeedableRng};

use crate::encoding::uint;
use crate::id::{ObjId, StorageId};

/// Draws IDs that ascend by random steps, for each type from a random place on.
///
/// So IDs of different databases are as rarely the same as random IDs, while the objects of a load
/// lie in the store in the order in which their IDs were drawn.
pub(super) struct Ids {
    random: StdRng,
    /// For each type, the number in its last ID, after the storage ID.
    last: Vec<(StorageId, u64)>,
}

/// The longest step is the numbers that are left, divided by 2 to the power of this.
///
/// At first, half of all numbers or more are left. So IDs with one byte for the type, which have 56
/// bits after it, begin with steps up to 2^15 or 2^16, and there are some for 2^40 objects and
/// more, as with 48 bits. Shorter ones have fewer to give away: with 40, 32 and 24 bits, the steps
/// are up to 32, 16 and 8, and there are more than 10^11, 10^9 and 6 million IDs.
fn left_by_steps(bits: u32) -> u32 {
    (bits * 7 / 8).min(40)
}

impl Ids {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Ids::of(StdRng::try_from_rng(&mut SysRng).map_err(io::Error::other)?))
    }

    fn of(random: StdRng) -> Self {
        Ids { random, last: Vec::new() }
    }

    /// The next ID of a type; `None` if there is none above the last.
    pub(super) fn draw(&mut self, storage_id: StorageId) -> Option<ObjId> {
        #[allow(clippy::cast_possible_truncation, reason = "an ID has 64 bits")]
        let bits = 8 * (ObjId::LEN - uint::len(storage_id.get())) as u32;
        let random = self.random.next_u64();
        // A load has few types, so a list is searched faster than a map.
        let at = match self.last.iter().position(|(id, _)| *id == storage_id) {
            Some(at) => at,
            None => {
                // In the lower half.
                self.last.push((storage_id, random >> (u64::BITS + 1 - bits)));
                return self.last.last().map(|(id, number)| ObjId::ending(*id, *number));
            }
        };
        let (_, last) = self.last.get_mut(at)?;
        let left = (1 << bits) - 1 - *last;
        // Steps are a small part of what is left, so that a type does not run out of IDs.
        let longest = (left >> left_by_steps(bits)).max(1);
        // Another step would change the bytes of the type.
        if left == 0 {
            return None;
        }
        *last += 1 + random % longest;
        Some(ObjId::ending(storage_id, *last))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Storage IDs of one byte to five, and how many bits are left.
    const WIDTHS: [(u32, u32); 5] =
        [(1, 56), (300, 48), (1_000, 40), (100_000, 32), (i32::MAX as u32, 24)];

    fn seeded(seed: u64) -> Ids {
        Ids::of(StdRng::seed_from_u64(seed))
    }

    fn storage_id(number: u32) -> StorageId {
        StorageId::new(number).unwrap()
    }

    /// The number in an ID, after the storage ID.
    fn number(id: ObjId, bits: u32) -> u64 {
        u64::from_be_bytes(*id.as_bytes()) & ((1 << bits) - 1)
    }

    #[test]
    fn ids_ascend_by_random_steps_from_a_random_place_in_the_lower_half() {
        for (number_of_type, bits) in WIDTHS {
            let storage_id = storage_id(number_of_type);
            assert_eq!(8 * (ObjId::LEN - storage_id.prefix().len()) as u32, bits);
            let mut starts = BTreeSet::new();
            let mut is_high = false;
            for seed in 0..20 {
                let mut ids = seeded(seed);
                let drawn: Vec<_> = (0..2000).map(|_| ids.draw(storage_id).unwrap()).collect();
                assert!(drawn.iter().all(|id| id.storage_id() == storage_id && id.is_shortest()));
                assert!(drawn.is_sorted_by(|one, other| one < other));
                let numbers: Vec<_> = drawn.iter().map(|id| number(*id, bits)).collect();
                assert!(numbers[0] < 1 << (bits - 1));
                is_high |= numbers[0] >= 1 << (bits - 2);
                assert!(starts.insert(numbers[0]));
                let steps: BTreeSet<_> = numbers.windows(2).map(|two| two[1] - two[0]).collect();
                assert!(steps.len() >= 3, "{bits}: {steps:?}");
                let longest = 1 << (bits - left_by_steps(bits));
                assert!(steps.last().is_some_and(|step| *step <= longest), "{bits}: {steps:?}");
            }
            assert!(is_high, "{bits}");
        }
    }

    #[test]
    fn loads_of_different_databases_have_no_ids_in_common() {
        let storage_id = storage_id(10);
        let mut all = BTreeSet::new();
        for seed in 0..10 {
            let mut ids = seeded(seed);
            all.extend((0..20_000).map(|_| ids.draw(storage_id).unwrap()));
        }
        assert_eq!(all.len(), 200_000);
    }

    #[test]
    fn types_have_numbers_of_their_own() {
        let mut ids = seeded(1);
        let mut all = BTreeSet::new();
        for _ in 0..100 {
            all.extend(WIDTHS.map(|(number, _)| ids.draw(storage_id(number)).unwrap()));
        }
        assert_eq!(all.len(), 500);
    }

    #[test]
    fn all_numbers_up_to_the_last_are_drawn_and_then_none() {
        for (number_of_type, bits) in WIDTHS {
            let storage_id = storage_id(number_of_type);
            let mut ids = seeded(2);
            ids.last.push((storage_id, (1 << bits) - 1000));
            for left in (0..999).rev() {
                let id = ids.draw(storage_id).unwrap();
                assert_eq!(
                    (id.storage_id(), number(id, bits)),
                    (storage_id, (1 << bits) - 1 - left)
                );
            }
            assert_eq!(ids.draw(storage_id), None);
            assert_eq!(ids.draw(storage_id), None);
        }
    }

    /// How many IDs there are at least, if all steps that can be up to some length are half of that
    /// on average.
    fn at_least(bits: u32) -> u64 {
        let same_length = 1 << left_by_steps(bits);
        let first = (1 << (bits - 1)) / same_length;
        let longer: u64 = (2..first).map(|longest| 2 * same_length / (longest + 1)).sum();
        2 * same_length + longer
    }

    #[test]
    fn there_are_enough_for_all_objects_of_a_load() {
        let counts = WIDTHS.map(|(_, bits)| at_least(bits));
        assert!(counts[0] > 1 << 40 && counts[1] > 1 << 40, "{counts:?}");
        assert!(counts[2] > 100_000_000_000, "{counts:?}");
        assert!(counts[3] > 1_000_000_000, "{counts:?}");
        assert!(counts[4] > 6_000_000, "{counts:?}");
    }
}
