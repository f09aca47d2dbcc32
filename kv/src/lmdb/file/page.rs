//! Checks one page of a data file as a whole.

use super::super::page::{
    HEAD, LOWER, LmdbPage, NODE_HEAD, NoPage, Node, UPPER, number_at, u16_at,
};

/// The longest key that LMDB stores.
const MAX_STORED_KEY: usize = 511;

/// A page of a tree. All its nodes are within the page, and do not overlap.
pub(super) struct WholePage<'p> {
    pub(super) is_leaf: bool,
    pub(super) nodes: Vec<Node<'p>>,
    /// How many bytes the nodes take, each rounded up to an even number, and how many bytes there
    /// are for them.
    filled: (usize, usize),
}

impl<'p> WholePage<'p> {
    /// Reads page `number` of a tree. The error names the defect of the page.
    pub(super) fn read(bytes: &'p [u8], number: u64) -> Result<Self, String> {
        let wrong = |what: &str| Err(format!("page {number} {what}"));
        if number_at(bytes, 0) != Some(number) {
            return wrong("says that it is another page");
        }
        let is_odd = u16_at(bytes, LOWER).is_some_and(|lower| !lower.is_multiple_of(2));
        let page = match LmdbPage::parse(bytes) {
            Err(NoPage::OfTree) => return wrong("is no page of a tree"),
            Err(NoPage::Empty) if !is_odd => return wrong("has no entries"),
            Ok(page) if !is_odd => page,
            Ok(_) | Err(NoPage::Bounds | NoPage::Empty) => return wrong("has impossible bounds"),
        };
        let is_leaf = page.is_leaf;
        let upper = usize::from(u16_at(bytes, UPPER).unwrap_or(0));
        let mut nodes = Vec::with_capacity(page.count());
        let mut places = Vec::with_capacity(page.count());
        for index in 0..page.count() {
            let place = page.place(index).filter(|at| *at >= upper && at.is_multiple_of(2));
            let found = place.zip(page.node(index)).and_then(|(at, node)| {
                let here = if is_leaf { node.data()?.len() } else { 0 };
                Some((node, (at, at + NODE_HEAD + node.key.len() + here)))
            });
            let Some((node, place)) = found else {
                return wrong("has an entry that is not within it");
            };
            places.push(place);
            nodes.push(node);
        }
        places.sort_unstable();
        if places.windows(2).any(|pair| pair[0].1 > pair[1].0) {
            return wrong("has entries that overlap");
        }
        let taken = places.iter().map(|(from, to)| (to - from).next_multiple_of(2)).sum();
        Ok(WholePage { is_leaf, nodes, filled: (taken, bytes.len() - upper) })
    }

    /// The defect of this page of the tree of pairs, besides those that [`read`](WholePage::read)
    /// finds.
    fn problem(&self) -> Option<&'static str> {
        // The first key of a branch is not used.
        let keys = || self.nodes.iter().map(|node| node.key).skip(usize::from(!self.is_leaf));
        if self.is_leaf && self.nodes.iter().any(Node::is_database) {
            Some("has a database where a value should be")
        } else if !keys().all(|key| (1..=MAX_STORED_KEY).contains(&key.len())) {
            Some("has an impossible key")
        } else if !keys().is_sorted_by(|one, next| one < next) {
            Some("has keys that are out of order")
        } else if self.filled.0 != self.filled.1 {
            // LMDB closes the gap when it removes an entry.
            Some("has bytes among its entries that belong to none")
        } else {
            None
        }
    }
}

/// The defect of page `number` of the tree of pairs; `None` if LMDB could have written it.
pub(super) fn problem_of_page(bytes: &[u8], number: u64) -> Option<String> {
    match WholePage::read(bytes, number) {
        Ok(page) => page.problem().map(|what| format!("page {number} {what}")),
        Err(problem) => Some(problem),
    }
}

/// How many pages a value of `len` bytes needs.
pub(super) fn overflow_pages(len: u64, page_len: u64) -> u64 {
    (HEAD as u64 + len).div_ceil(page_len)
}
