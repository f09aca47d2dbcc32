//! The row with the counts of a page and the state of its collector, and the rows with marks.

use permazen_kv::{KvRead, KvWrite};

use super::page::Rows;
use super::references::References;
use crate::digest::Digest;
use crate::error::Result;
use crate::ids::ProcessId;

pub(super) const COUNTS: u8 = 0x32;
pub(super) const MARKS: u8 = 0x33;

/// The bytes of `reached` at the beginning.
const NOWHERE: Digest = Digest([0; 32]);

/// The most bytes of marks in one row.
pub(crate) const MARKS_LEN: usize = 65_536;

/// The number of the next piece is at most this: six bytes.
pub(super) const MAX_NUMBER: u64 = (1 << 48) - 1;

/// How many pieces there are, and the state of the collector.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// The number of the next piece.
    pub(crate) next: u64,
    /// How many pieces are stored.
    pub(crate) pieces: u64,
    /// About how many pieces may be garbage; not counted while reference rows are written. Without
    /// them, 0 means: since the last round began, or since they were turned off, no commit was
    /// removed and no stream left a piece, and the round was not ended early.
    pub(crate) suspects: u64,
    /// How many commits are not at the remote yet.
    pub(crate) unsynced: u64,
    /// How many pieces are not at the remote yet.
    pub(crate) local: u64,
    pub(crate) references: References,
    pub(crate) round: Round,
}

/// The state of the collector.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Round {
    /// 0 before the first round.
    pub(crate) number: u64,
    pub(crate) phase: Phase,
    /// The process that runs the round; zeros in phase [`Phase::Idle`].
    pub(crate) process: ProcessId,
    /// The first number of a piece that was written after the round began, and is not swept.
    pub(crate) new_from: u64,
    /// Where the collector is, or, in phase [`Phase::Idle`], up to which piece reference rows are
    /// built. `None` at the beginning.
    pub(crate) reached: Option<Digest>,
}

/// The phase of the collector; `Idle` without a round. The order gives the numbers in row `32`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    #[default]
    Idle,
    Marking,
    Sweeping,
    Clearing,
}

impl Round {
    /// Whether the round with this number is over; also if it is 0, which is no round.
    pub(crate) fn is_after(&self, round: u64) -> bool {
        self.phase == Phase::Idle || self.number != round
    }

    /// Whether a round runs that can still remove unmarked pieces.
    pub(crate) fn can_remove(&self) -> bool {
        matches!(self.phase, Phase::Marking | Phase::Sweeping)
    }

    /// The number of the round that runs; 0 if no round runs.
    pub(crate) fn running(&self) -> u64 {
        if self.phase == Phase::Idle { 0 } else { self.number }
    }
}

impl Counts {
    /// Whether a piece with this number must be written again when it is needed again: it is older
    /// than a round that runs, which may sweep it. (While the round clears, it sweeps no more, and
    /// writing the piece again does no harm.)
    pub(crate) fn renews(&self, number: u64) -> bool {
        self.round.phase != Phase::Idle && number < self.round.new_from
    }

    /// Whether the last round would have removed an unreachable piece with this number: one that is
    /// still there is a fault, unless a stream has it.
    pub(crate) fn has_collected(&self, number: u64) -> bool {
        self.round.phase == Phase::Idle && self.suspects == 0 && number < self.round.new_from
    }

    /// Ends a round before it has swept everything.
    pub(crate) fn end_round(&mut self) {
        self.round.phase = Phase::Idle;
        self.round.process = ProcessId::default();
        self.round.reached = None;
        // At least one suspect, or no further round would begin for the garbage of this one.
        self.suspects = self.suspects.max(1);
    }

    /// The contradiction in this row, if there is one.
    pub(crate) fn contradiction(&self) -> Option<&'static str> {
        let Round { phase, process, new_from, reached, .. } = self.round;
        let has_no_process = process == ProcessId::default();
        match phase {
            _ if new_from > self.next => Some("its round begins at a number that no piece has"),
            Phase::Marking | Phase::Sweeping | Phase::Clearing if self.references.are_written() => {
                Some("a round of a page that keeps reference rows")
            }
            Phase::Idle if !has_no_process => Some("a process without a round"),
            Phase::Idle if reached.is_some() && self.references != References::Building => {
                Some("progress without a round")
            }
            Phase::Marking | Phase::Sweeping | Phase::Clearing if has_no_process => {
                Some("a round without a process")
            }
            _ => None,
        }
    }

    fn to_bytes(self) -> Vec<u8> {
        let Counts { next, pieces, suspects, unsynced, local, references, round } = self;
        let mut bytes = next.to_be_bytes()[2..].to_vec();
        for number in [pieces, suspects, unsynced, local, round.number] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        bytes.push(references as u8);
        bytes.push(round.phase as u8);
        bytes.extend_from_slice(&round.process.0);
        bytes.extend_from_slice(&round.new_from.to_be_bytes()[2..]);
        bytes.extend_from_slice(&round.reached.unwrap_or(NOWHERE).0);
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (next, rest) = bytes.split_first_chunk::<6>()?;
        let (numbers, rest) = rest.split_first_chunk::<40>()?;
        let number = |at: usize| {
            numbers[8 * at..][..8].iter().fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte))
        };
        let (references, rest) = rest.split_first()?;
        let references = References::parse(*references)?;
        let (phase, rest) = rest.split_first()?;
        let phase = [Phase::Idle, Phase::Marking, Phase::Sweeping, Phase::Clearing]
            .into_iter()
            .find(|known| *known as u8 == *phase)?;
        let (process, rest) = rest.split_first_chunk::<16>()?;
        let (new_from, reached) = rest.split_first_chunk::<6>()?;
        let round = Round {
            number: number(4),
            phase,
            process: ProcessId(*process),
            new_from: u48(new_from),
            reached: Some(Digest::from_slice(reached)?).filter(|reached| *reached != NOWHERE),
        };
        Some(Counts {
            next: u48(next),
            pieces: number(0),
            suspects: number(1),
            unsynced: number(2),
            local: number(3),
            references,
            round,
        })
    }
}

pub(super) fn u48(bytes: &[u8; 6]) -> u64 {
    bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

impl Rows {
    pub(crate) fn counts(&self, tx: &dyn KvRead) -> Result<Counts> {
        let row = self.get(tx, &[COUNTS])?;
        if row.is_none() {
            // The row is removed only with the page.
            self.check_exists(tx)?;
        }
        match row.as_deref().and_then(Counts::parse) {
            // With such a row, a round would sweep pieces that are written now.
            Some(counts) if counts.round.new_from > counts.next => {
                Err(self.damaged(&[COUNTS], "its round begins at a number that no piece has"))
            }
            Some(counts) => Ok(counts),
            None => Err(self.damaged(&[COUNTS], "it is missing, or not of this version")),
        }
    }

    pub(crate) fn put_counts(&self, tx: &mut dyn KvWrite, counts: &Counts) -> Result<()> {
        self.put(tx, &[COUNTS], counts.to_bytes())
    }

    fn marks_key(round: u64, part: u32) -> Vec<u8> {
        [&[MARKS][..], &round.to_be_bytes(), &part.to_be_bytes()].concat()
    }

    /// Writes the marks of a round from part `from` on, at most `most` parts. Returns the next
    /// part, `None` after the last one.
    pub(crate) fn put_marks(
        &self,
        tx: &mut dyn KvWrite,
        round: u64,
        marks: &[u8],
        (from, most): (u32, usize),
    ) -> Result<Option<u32>> {
        let mut part = from;
        let mut rest = marks.chunks(MARKS_LEN).skip(from as usize);
        for bytes in rest.by_ref().take(most) {
            self.put(tx, &Self::marks_key(round, part), bytes.to_vec())?;
            part += 1;
        }
        Ok(rest.next().map(|_| part))
    }

    /// The marks of a round.
    pub(crate) fn marks(&self, tx: &dyn KvRead, round: u64) -> Result<Vec<u8>> {
        let begin = [&[MARKS][..], &round.to_be_bytes()].concat();
        let (mut marks, mut next) = (Vec::new(), 0_u32);
        self.visit(tx, &begin, |part, bytes| {
            if part != next.to_be_bytes() {
                return Err(
                    self.damaged(&[&begin[..], part].concat(), "a part before it is missing")
                );
            }
            next += 1;
            marks.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(marks)
    }

    /// Removes at most `most` rows with marks. Returns `false` if more are left.
    pub(crate) fn remove_marks(&self, tx: &mut dyn KvWrite, most: usize) -> Result<bool> {
        let (keys, is_all) = self.some_keys(tx, &[MARKS], most)?;
        keys.iter().try_for_each(|(_, key)| tx.remove(key))?;
        Ok(is_all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_come_back() {
        let round = Round {
            number: 7,
            phase: Phase::Sweeping,
            process: ProcessId([3; 16]),
            new_from: 1 << 40,
            reached: Some(Digest([9; 32])),
        };
        let counts = Counts {
            next: (1 << 48) - 1,
            pieces: 5,
            suspects: u64::MAX,
            unsynced: 1,
            local: 2,
            references: References::Complete,
            round,
        };
        for counts in [counts, Counts::default()] {
            let bytes = counts.to_bytes();
            assert_eq!(bytes.len(), 6 + 5 * 8 + 2 + 16 + 6 + 32);
            assert_eq!(Counts::parse(&bytes), Some(counts));
            assert_eq!(Counts::parse(&bytes[1..]), None);
            assert_eq!(Counts::parse(&[&bytes[..], &[0]].concat()), None);
        }
        for (at, wrong) in [(46, 3), (47, 4)] {
            let mut other = counts.to_bytes();
            other[at] = wrong;
            assert_eq!(Counts::parse(&other), None);
        }
    }
}
