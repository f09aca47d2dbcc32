//! The space that ranges of keys take in a data file.

use std::io;

use super::page::WholePage;
use crate::lmdb::page::{HEAD, Node, overflow_count};
use crate::lmdb::tree_record::{MAX_DEPTH, TreeRecord};
use crate::{KeySpan, Space};

/// Counts the space of the pairs in the pages that it gets.
pub(super) struct Counting<'s> {
    spans: &'s [KeySpan<'s>],
    found: Vec<Space>,
    page_len: u64,
    /// How many pages there can be. More would be read only of a file in which a page is reached
    /// twice.
    pages: u64,
}

/// The bytes of a node in its page besides its key and the part of the value that is there: its
/// head, and its place in the list of nodes.
const NODE: u64 = 10;

impl<'s> Counting<'s> {
    pub(super) fn new(spans: &'s [KeySpan<'s>], page_len: u64, pages: u64) -> Self {
        Counting { spans, found: vec![Space::default(); spans.len()], page_len, pages }
    }

    pub(super) fn end(self) -> Vec<Space> {
        self.found
    }

    /// Reads all leaves of a tree with `read`, which reads some bytes of a page. The error names
    /// the defect of a page.
    pub(super) fn tree(
        &mut self,
        tree: TreeRecord,
        read: &dyn Fn(u64, u64) -> io::Result<Vec<u8>>,
    ) -> io::Result<Result<(), String>> {
        let Some(root) = tree.root() else { return Ok(Ok(())) };
        // Pages that are still to be read, with their level.
        let mut pages = vec![(root, 1)];
        let mut seen = 0;
        while let Some((number, level)) = pages.pop() {
            seen += 1;
            if seen > self.pages {
                return Ok(Err(format!("page {number} is used twice")));
            }
            let bytes = read(number, self.page_len)?;
            let page = match WholePage::read(&bytes, number) {
                Ok(page) => page,
                Err(problem) => return Ok(Err(problem)),
            };
            if page.is_leaf {
                self.leaf(&page, read)?;
            } else if level >= MAX_DEPTH {
                return Ok(Err(format!("page {number} is too deep in its tree")));
            } else {
                pages.extend(page.nodes.iter().rev().map(|node| (node.child(), level + 1)));
            }
        }
        Ok(Ok(()))
    }

    fn leaf(
        &mut self,
        page: &WholePage<'_>,
        read: &dyn Fn(u64, u64) -> io::Result<Vec<u8>>,
    ) -> io::Result<()> {
        let mut in_use = HEAD as u64;
        // For each span that has pairs here: its position, and the bytes that they take.
        let mut here: Vec<(usize, u64)> = Vec::new();
        for node in &page.nodes {
            let takes = NODE
                + (node.key.len() + node.data().map_or(0, <[u8]>::len)).next_multiple_of(2) as u64;
            in_use += takes;
            let Some(at) = self.span_of(node) else { continue };
            match here.last_mut() {
                Some((last, bytes)) if *last == at => *bytes += takes,
                _ => here.push((at, takes)),
            }
            let Some(found) = self.found.get_mut(at) else { continue };
            found.pairs += 1;
            // Each key has a byte before it.
            found.pair_bytes += node.key.len() as u64 - 1 + u64::from(node.value_len());
            if let Some(first) = node.overflow() {
                let head = read(first, HEAD as u64)?;
                let pages = overflow_count(&head, first).unwrap_or(0);
                found.page_bytes += pages * self.page_len;
                found.filled_bytes += HEAD as u64 + u64::from(node.value_len());
            }
        }
        for (at, bytes) in here {
            let Some(found) = self.found.get_mut(at) else { continue };
            // The head of the page counts by shares too.
            let share = |of: u64| of * bytes / (in_use - HEAD as u64);
            found.page_bytes += share(self.page_len);
            found.filled_bytes += share(in_use);
        }
        Ok(())
    }

    /// The position of the span that has the key of a pair.
    fn span_of(&self, node: &Node<'_>) -> Option<usize> {
        let key = node.key.get(1..)?;
        let at = self.spans.partition_point(|span| span.min <= key).checked_sub(1)?;
        self.spans.get(at)?.contains(key).then_some(at)
    }
}
