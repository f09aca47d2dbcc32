//! A page of entries: those after a position in the index, or before it.

use std::ops::Bound;

use permazen_kv::Direction;

use super::column::borrowed;
use super::view::{IndexView, intersect_tuples};
use super::walk::{IndexEntryRef, IndexScan};
use crate::object::error::Result;

/// How many keys are read with one seek, at most.
const LARGEST_BATCH: usize = 4096;

/// Some entries of a view, one after the other.
pub(crate) struct EntryPage<T> {
    /// The values that were read, one for each entry.
    pub(crate) read: Vec<T>,
    /// The position of the first and of the last of them. A position is the rest of the key after
    /// the prefix of the index, without the columns that the view does not return.
    pub(crate) ends: Option<(Vec<u8>, Vec<u8>)>,
    /// Whether there are more.
    pub(crate) more: bool,
}

impl<'t> IndexView<'t> {
    /// The part of the view after a position, or before it when going backward. There need not be
    /// an entry at the position.
    pub(crate) fn beyond(&self, position: &[u8], direction: Direction) -> Self {
        let key = [self.selection.shape.prefix(), position].concat();
        let (lower, upper) = match direction {
            Direction::Forward => (Bound::Excluded(key), Bound::Unbounded),
            Direction::Reverse => (Bound::Unbounded, Bound::Excluded(key)),
        };
        self.changed(|selection| intersect_tuples(selection, borrowed(&lower), borrowed(&upper)))
    }

    /// The first `limit` entries in a direction. Cost: one seek, then one step per entry and one to
    /// see whether there are more; more seeks for pages of thousands.
    pub(crate) fn read_page<T>(
        &self,
        limit: usize,
        direction: Direction,
        mut read: impl FnMut(IndexEntryRef<'_, 't>) -> Result<T>,
    ) -> Result<EntryPage<T>> {
        let mut page = EntryPage { read: Vec::new(), ends: None, more: false };
        // One more than the page, to see without another seek whether there are more.
        let batch = limit.saturating_add(1).min(LARGEST_BATCH);
        let mut scan = IndexScan::new(self.source, self.selection.clone(), direction);
        scan.read_at_once(batch);
        let prefix = self.selection.shape.prefix().len();
        while let Some(entry) = scan.next()? {
            if page.read.len() >= limit {
                page.more = true;
                break;
            }
            let returned = entry.returned();
            let position = returned.get(prefix..).unwrap_or_default();
            match &mut page.ends {
                None => page.ends = Some((position.to_vec(), position.to_vec())),
                Some((_, last)) => {
                    last.clear();
                    last.extend_from_slice(position);
                }
            }
            page.read.push(read(entry)?);
        }
        Ok(page)
    }
}
