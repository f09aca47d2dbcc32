//! Sets of object IDs that are not read in order.

use permazen::ObjId;

use super::fail::Result;
use super::spill::{Merge, Spill};
use crate::limits::Limits;

/// Collects IDs and gives them in order, each once. While they fit into memory, an ID takes at most
/// 16 bytes.
pub(crate) struct IdSorter<'l> {
    limits: &'l Limits,
    ids: Vec<ObjId>,
    /// How many of the first IDs are in order, each once.
    sorted: usize,
    /// How many of the first IDs are wanted.
    most: usize,
    /// More of them, each run in order.
    more: Option<Spill>,
}

impl<'l> IdSorter<'l> {
    pub(crate) fn new(limits: &'l Limits) -> Self {
        IdSorter { limits, ids: Vec::new(), sorted: 0, most: usize::MAX, more: None }
    }

    /// Keeps only this many of the first IDs.
    pub(crate) fn keeping(mut self, most: Option<u64>) -> Self {
        // So many IDs that their number is no `usize` are never kept.
        self.most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
        self
    }

    pub(crate) fn push(&mut self, id: ObjId) -> Result<()> {
        // The entries of one object often follow each other.
        if self.ids.last() == Some(&id) {
            return Ok(());
        }
        // The vector is full: sorting it first can free room, since an ID can be in it several
        // times.
        if self.ids.len() == self.ids.capacity() {
            self.make_room()?;
        }
        // IDs often come in order.
        let is_sorted = self.sorted == self.ids.len();
        let in_order = is_sorted && self.ids.last().is_none_or(|last| *last < id);
        self.ids.push(id);
        if in_order {
            self.sorted = self.ids.len();
        }
        Ok(())
    }

    /// Sorts the IDs, and makes room for as many more, in memory or by writing these to a file.
    fn make_room(&mut self) -> Result<()> {
        // IDs that came in order need no sort, which is the usual case for one index.
        if self.sorted < self.ids.len() {
            self.ids.sort_unstable();
            self.ids.dedup();
        }
        // Only the least IDs are wanted, and those that are cut off are greater than all of them.
        self.ids.truncate(self.most);
        self.sorted = self.ids.len();
        // Half of the room must be free, or the IDs would be sorted again after a few more.
        if self.ids.len() * 2 <= self.ids.capacity() && !self.ids.is_empty() {
            return Ok(());
        }
        // While a vector grows, the old one and the new one are there.
        if self.ids.len() * 3 * size_of::<ObjId>() <= self.limits.sort_memory {
            self.ids.reserve_exact(self.ids.len().max(64));
            return Ok(());
        }
        let more = match &mut self.more {
            Some(more) => more,
            none => none.insert(Spill::new(self.limits)?),
        };
        // A run must be sorted, since the runs are merged.
        more.write_run(self.ids.iter().map(|id| &id.as_bytes()[..]))?;
        self.ids.clear();
        self.sorted = 0;
        Ok(())
    }

    /// How many runs are in files.
    #[cfg(test)]
    pub(super) fn runs(&self) -> usize {
        self.more.as_ref().map_or(0, Spill::runs)
    }

    /// The IDs in order.
    pub(crate) fn finish(mut self) -> Result<SortedIds> {
        if self.sorted < self.ids.len() {
            self.ids.sort_unstable();
            self.ids.dedup();
        }
        // IDs can have come after the last sort, so the limit is applied once more.
        self.ids.truncate(self.most);
        let Some(mut more) = self.more else { return Ok(SortedIds::Memory(self.ids.into_iter())) };
        // The rest becomes a run too, so that memory is free for the merge.
        more.write_run(self.ids.iter().map(|id| &id.as_bytes()[..]))?;
        drop(self.ids);
        Ok(SortedIds::Sorted { records: more.merge(self.limits)?, record: Vec::new(), last: None })
    }
}

/// IDs in order, each once.
pub(crate) enum SortedIds {
    Memory(std::vec::IntoIter<ObjId>),
    Sorted { records: Merge, record: Vec<u8>, last: Option<ObjId> },
}

impl Iterator for SortedIds {
    type Item = Result<ObjId>;

    fn next(&mut self) -> Option<Result<ObjId>> {
        match self {
            SortedIds::Memory(ids) => ids.next().map(Ok),
            SortedIds::Sorted { records, record, last } => loop {
                match records.next(record) {
                    Ok(true) => {}
                    Ok(false) => return None,
                    Err(fail) => return Some(Err(fail)),
                }
                // A record that is no ID cannot be in a file that this process wrote.
                let Ok(id) = ObjId::from_slice(record) else { continue };
                // An ID can be in several runs.
                if *last != Some(id) {
                    *last = Some(id);
                    return Some(Ok(id));
                }
            },
        }
    }
}
