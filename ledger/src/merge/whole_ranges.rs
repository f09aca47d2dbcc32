//! A merger that takes some ranges of keys from one side as a whole.

use permazen_kv::{KeySpan, KvWrite};

use super::merger::{Conflict, KeyClass, Merger, Resolution};
use super::sides::MergeSides;
use crate::error::{LedgerError, Result};

/// Lets another merger decide, and refuses a merge that would mix changes of both sides in some
/// ranges of keys: in the merge, these ranges are as on one of the two sides. It needs to know
/// nothing of their content.
///
/// So a merge of an object database does not mix the tables of schemas of two devices that have
/// recorded different ones:
///
/// ```
/// use permazen::schema::TABLES_SPAN;
/// use permazen_ledger::{LastWriterWins, WholeRanges};
///
/// let merger = WholeRanges::new(
///     LastWriterWins,
///     &[TABLES_SPAN],
///     "both have recorded other schemas: record a new schema on one side, and merge it before others record it",
/// );
/// # drop(merger);
/// ```
///
/// Entries that both sides have changed in the same way are allowed. If one side has all changes of
/// the other one, and more, its ranges are taken.
#[derive(Debug, Clone)]
pub struct WholeRanges<M> {
    merger: M,
    spans: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    reason: String,
}

impl<M: Merger> WholeRanges<M> {
    /// `merger` decides outside of these ranges. `reason` is for the error: why the merge is
    /// refused, and what to do.
    pub fn new(merger: M, ranges: &[KeySpan<'_>], reason: impl Into<String>) -> Self {
        let owned = |span: &KeySpan<'_>| (span.min.to_vec(), span.max.map(<[u8]>::to_vec));
        WholeRanges { merger, spans: ranges.iter().map(owned).collect(), reason: reason.into() }
    }

    fn has(&self, key: &[u8]) -> bool {
        let within = |(min, max): &(Vec<u8>, Option<Vec<u8>>)| {
            key >= &**min && max.as_ref().is_none_or(|max| key < &**max)
        };
        self.spans.iter().any(within)
    }
}

impl<M: Merger> Merger for WholeRanges<M> {
    fn begin(&mut self, sides: &MergeSides<'_>) -> Result<()> {
        let mut changed = [false; 2];
        for (min, max) in &self.spans {
            for change in sides.changes(KeySpan::new(min, max.as_deref()))? {
                let change = change?;
                if change.newer == change.older {
                    continue;
                }
                changed[0] |= change.newer != change.base;
                changed[1] |= change.older != change.base;
                if changed == [true; 2] {
                    return Err(LedgerError::CannotMerge {
                        page: sides.page(),
                        commits: sides.commits().to_vec(),
                        key: change.key.into(),
                        reason: self.reason.clone(),
                    });
                }
            }
        }
        self.merger.begin(sides)
    }

    fn class(&self, key: &[u8]) -> KeyClass {
        if self.has(key) { KeyClass::Value } else { self.merger.class(key) }
    }

    fn resolve(&mut self, conflict: &Conflict<'_>) -> Result<Resolution> {
        self.merger.resolve(conflict)
    }

    fn needs_values(&self) -> bool {
        self.merger.needs_values()
    }

    fn has_derived(&self) -> bool {
        self.merger.has_derived()
    }

    fn finish(&mut self, merged: &mut dyn KvWrite) -> Result<()> {
        self.merger.finish(merged)
    }

    fn finish_with(&mut self, merged: &mut dyn KvWrite, sides: &MergeSides<'_>) -> Result<()> {
        self.merger.finish_with(merged, sides)
    }
}
