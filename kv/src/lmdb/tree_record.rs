//! The record of a tree, at which each walk through its pages starts.

use super::page::{number_at, u16_at};

/// The length of the record in bytes.
pub(super) const LEN: usize = 48;
/// The largest depth of a tree: LMDB follows it with a stack of this many pages.
pub(super) const MAX_DEPTH: u16 = 32;
/// A page number that means "no page".
const NO_PAGE: u64 = u64::MAX;

/// The record of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TreeRecord {
    pub(super) flags: u16,
    /// The level of the leaves; that of the root is 1.
    pub(super) depth: u16,
    /// How many pages of each kind there are.
    pub(super) branch: u64,
    pub(super) leaf: u64,
    pub(super) overflow: u64,
    /// How many pairs there are.
    pub(super) entries: u64,
    root: u64,
}

impl TreeRecord {
    /// The record that begins at `at`.
    #[inline]
    pub(super) fn read(bytes: &[u8], at: usize) -> Option<TreeRecord> {
        let record: &[u8; LEN] = bytes.get(at..)?.first_chunk()?;
        Some(TreeRecord {
            flags: u16_at(record, 4)?,
            depth: u16_at(record, 6)?,
            branch: number_at(record, 8)?,
            leaf: number_at(record, 16)?,
            overflow: number_at(record, 24)?,
            entries: number_at(record, 32)?,
            root: number_at(record, 40)?,
        })
    }

    /// Its first page, if it has any.
    #[inline]
    pub(super) fn root(self) -> Option<u64> {
        (self.root != NO_PAGE).then_some(self.root)
    }
}
