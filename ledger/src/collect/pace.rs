//! How many rows a slice changes.

use std::time::Duration;

/// A slice, with its commit, should hold the write lock of the host for less than 5 ms.
const LONG: Duration = Duration::from_millis(3);

/// After a slice that takes less, the next one may change more.
const SHORT: Duration = Duration::from_micros(1_500);

const LEAST: usize = 32;
const MOST: usize = 1_024;

/// How many rows a slice may change. Each row lies at a random place, so the commit writes a page
/// of the host for it. How long that takes depends on the host, so it is learned from earlier
/// slices.
#[derive(Debug)]
pub(super) struct Pace {
    rows: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Pace { rows: 256 }
    }
}

impl Pace {
    /// The number of rows after which a slice ends.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Learns from a slice: how many rows it has changed, and how long it took with its commit.
    pub(super) fn note(&mut self, changed: usize, took: Duration) {
        if took > LONG {
            self.rows = (self.rows / 2).max(LEAST);
        } else if took < SHORT && changed >= self.rows {
            self.rows = (self.rows + self.rows / 4).min(MOST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_get_smaller_and_larger_within_bounds() {
        let mut pace = Pace::default();
        for _ in 0..10 {
            pace.note(pace.rows(), Duration::from_millis(20));
        }
        assert_eq!(pace.rows(), LEAST);
        pace.note(pace.rows() - 1, Duration::ZERO);
        assert_eq!(pace.rows(), LEAST, "what was left says nothing");
        pace.note(pace.rows(), Duration::from_millis(2));
        assert_eq!(pace.rows(), LEAST);
        for _ in 0..20 {
            pace.note(pace.rows(), Duration::ZERO);
        }
        assert_eq!(pace.rows(), MOST);
    }
}
