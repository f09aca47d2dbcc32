//! Checks the rows with the marks of a round of the collector.

use roaring::RoaringTreemap;

use super::report::Verification;
use crate::rows::counts::{Counts, MARKS_LEN, Phase};
use crate::rows::inspect::marks_key;

/// The marks of a running sweep, all of which must be stored.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// `None` if no sweep runs, or a part is missing.
    bytes: Option<Vec<u8>>,
    round: u64,
    parts: u32,
}

impl Marks {
    pub(super) fn new(counts: Option<&Counts>) -> Self {
        let sweeping = counts.filter(|counts| counts.round.phase == Phase::Sweeping);
        let round = sweeping.map(|counts| counts.round.number).unwrap_or_default();
        Marks { bytes: sweeping.map(|_| Vec::new()), round, parts: 0 }
    }

    /// Adds a row, in the order of the keys.
    pub(super) fn add(
        &mut self,
        (page, key): (u64, &[u8]),
        (round, part, bytes): (u64, u32, &[u8]),
        report: &mut Verification,
    ) {
        let Some(all) = self.bytes.as_mut().filter(|_| round == self.round) else { return };
        if part != self.parts || all.len() % MARKS_LEN != 0 {
            let expected = format!("part {} of the marks, after full ones", self.parts);
            report.add(page, key, expected, format!("part {part}"));
            self.bytes = None;
            return;
        }
        all.extend_from_slice(bytes);
        self.parts += 1;
    }

    pub(super) fn check(&self, page: u64, report: &mut Verification) {
        let Some(bytes) = &self.bytes else { return };
        let mut rest = &bytes[..];
        if RoaringTreemap::deserialize_from(&mut rest).is_err() || !rest.is_empty() {
            let expected = "a bitmap, in all rows of the round";
            report.add(page, &marks_key(self.round), expected, format!("{} bytes", bytes.len()));
        }
    }
}
