//! How many addresses the maps of environments reserve.
//!
//! A process has few addresses in proportion to the size that an environment may reach: 128 TiB on
//! most systems of 64 bits. So environments share them. Each takes a 64th of the rest of a budget,
//! so the first ones take a TiB, and however many follow, about half of the addresses stay free. A
//! map that is half full grows (`map.rs`).

use std::sync::atomic::{AtomicUsize, Ordering};

/// The size of a map is a multiple of this, and so of every page size.
const STEP: usize = 1 << 16;

const WIDE: bool = usize::BITS >= 64;

/// The size to which an environment can grow if no size was asked for.
pub(super) const MOST: usize = if WIDE { 1 << 40 } else { 1 << 30 };

/// The smallest size of a map if no size was asked for.
const LEAST: usize = if WIDE { 1 << 30 } else { MOST };

/// The budget for first sizes: half of the addresses.
pub(super) const BUDGET: usize = if WIDE { 1 << 46 } else { usize::MAX };

/// The number of shares into which the rest of the budget is divided.
const SHARES: usize = 64;

/// `bytes` as the size of a map.
pub(super) fn rounded(bytes: usize) -> usize {
    bytes.max(1).checked_next_multiple_of(STEP).unwrap_or(usize::MAX - (STEP - 1))
}

/// The size to try next when the system refuses a map of `size`.
pub(super) fn halved(size: usize) -> usize {
    (size / 2 / STEP).max(1) * STEP
}

/// The bytes that the maps of this process reserve.
static RESERVED: AtomicUsize = AtomicUsize::new(0);

/// Addresses that are counted as long as this exists.
#[derive(Debug)]
pub(super) struct Reserved(usize);

impl Reserved {
    pub(super) fn new(bytes: usize) -> Self {
        RESERVED.fetch_add(bytes, Ordering::Relaxed);
        Reserved(bytes)
    }

    /// Counts another number of addresses from here on.
    pub(super) fn change(&mut self, bytes: usize) {
        *self = Reserved::new(bytes);
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        RESERVED.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// The first size of the map of one more environment, whose file has `file` bytes.
pub(super) fn first_size(file: u64) -> usize {
    first_size_beside(RESERVED.load(Ordering::Relaxed), file)
}

fn first_size_beside(reserved: usize, file: u64) -> usize {
    let share = rounded(BUDGET.saturating_sub(reserved) / SHARES).clamp(LEAST, MOST);
    // There is room for later writes, so that the map need not grow at once. A file that has more
    // bytes than there are addresses gets the most there is, and is refused when it is mapped.
    let with_room = usize::try_from(file.saturating_mul(2)).unwrap_or(MOST);
    share.max(rounded(with_room.min(MOST)))
}

/// The size that a map of `size` bytes grows to, of which `used` are used; `None` if it is as large
/// as it can become without being asked for.
pub(super) fn next_size(size: usize, used: usize) -> Option<usize> {
    let next = size.max(used).saturating_mul(2).min(MOST).max(used);
    Some(rounded(next)).filter(|next| *next > size)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: usize = 1 << 30;
    const TIB: usize = 1 << 40;

    #[test]
    fn many_environments_leave_half_of_the_addresses_free() {
        let (mut reserved, mut sizes) = (0, Vec::new());
        for _ in 0..10_000 {
            let size = first_size_beside(reserved, 0);
            reserved += size;
            sizes.push(size);
        }
        assert_eq!(sizes[0], TIB);
        assert!(sizes.is_sorted_by(|one, next| one >= next));
        assert!(sizes[255] > 16 * GIB && sizes[9_999] == GIB);
        assert!(sizes[..256].iter().sum::<usize>() < 64 * TIB);
        assert!(reserved < 80 * TIB, "{reserved}");
        // Each of 256 has addresses to grow to 100 GiB.
        let grown: usize = sizes[..256].iter().map(|size| (*size).max(128 * GIB)).sum();
        assert!(grown < 96 * TIB, "{grown}");
    }

    #[test]
    fn a_large_file_has_room_at_once() {
        assert_eq!(first_size_beside(BUDGET, 300 * GIB as u64), 600 * GIB);
        assert_eq!(first_size_beside(BUDGET, 700 * GIB as u64), TIB);
        assert_eq!(first_size_beside(BUDGET, u64::MAX), TIB);
        assert_eq!(first_size_beside(usize::MAX, 0), GIB);
    }

    #[test]
    fn maps_double_up_to_the_most() {
        let (mut size, mut steps) = (LEAST, 0);
        while let Some(next) = next_size(size, size / 2) {
            assert!(next == 2 * size && steps < 20);
            (size, steps) = (next, steps + 1);
        }
        assert_eq!((size, steps), (MOST, 10));
        // A file that another process has made larger has room too, also beyond that.
        assert_eq!(next_size(GIB, 100 * GIB), Some(200 * GIB));
        assert_eq!(next_size(MOST, MOST + 1), Some(rounded(MOST + 1)));
        assert_eq!(next_size(2 * MOST, MOST), None);
    }

    #[test]
    fn what_is_dropped_is_not_counted() {
        // Other tests have environments open meanwhile, with less than this.
        const MUCH: usize = 1 << 62;
        let counted = || RESERVED.load(Ordering::Relaxed);
        let mut reserved = Reserved::new(1 << 16);
        assert!((1 << 16..MUCH).contains(&counted()));
        reserved.change(MUCH);
        assert!((MUCH..2 * MUCH).contains(&counted()));
        drop(reserved);
        assert!(counted() < MUCH);
    }
}
