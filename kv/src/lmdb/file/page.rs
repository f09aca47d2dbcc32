//! Parses one page of a data file, without trusting its content.

use super::super::page::{BIG as NODE_BIG, BRANCH, LEAF, NODE_HEAD};
pub(super) use super::super::page::{HEAD, overflow_count};

/// The longest key that LMDB stores.
const MAX_STORED_KEY: usize = 511;

/// The value is the record of a database.
const NODE_DATABASE: u16 = 0x02;

/// A page of a tree. All its parts are within the page.
pub(super) struct Page<'p> {
    pub(super) is_leaf: bool,
    pub(super) nodes: Vec<Node<'p>>,
    /// How many bytes the nodes take, each rounded up to an even number, and how many bytes there are for them.
    filled: (usize, usize),
}

/// An entry of a page: in a branch, a key and the page below it; in a leaf, a pair.
pub(super) struct Node<'p> {
    pub(super) key: &'p [u8],
    flags: u16,
    /// The length of the value, which may be on other pages.
    pub(super) len: u64,
    /// In a leaf, the bytes in this page that represent the value.
    pub(super) data: &'p [u8],
    child: u64,
}

impl Node<'_> {
    /// The page below.
    pub(super) fn child(&self) -> u64 {
        self.child
    }

    /// The first page of a value that is not in the leaf.
    pub(super) fn overflow(&self) -> Option<u64> {
        (self.flags & NODE_BIG != 0).then(|| u64_at(self.data, 0))
    }

    pub(super) fn is_database(&self) -> bool {
        self.flags & NODE_DATABASE != 0
    }
}

impl<'p> Page<'p> {
    /// Parses page `number` of a tree. The error says what is wrong with the page.
    pub(super) fn parse(bytes: &'p [u8], number: u64) -> Result<Self, String> {
        let wrong = |what: &str| Err(format!("page {number} {what}"));
        if u64_at(bytes, 0) != number {
            return wrong("says that it is another page");
        }
        let is_leaf = match u16_at(bytes, 10) {
            LEAF => true,
            BRANCH => false,
            _ => return wrong("is no page of a tree"),
        };
        let (lower, upper) = (usize::from(u16_at(bytes, 12)), usize::from(u16_at(bytes, 14)));
        if lower < HEAD || lower > upper || upper > bytes.len() || !lower.is_multiple_of(2) {
            return wrong("has impossible bounds");
        }
        let count = (lower - HEAD) / 2;
        if count == 0 {
            return wrong("has no entries");
        }
        let mut nodes = Vec::with_capacity(count);
        let mut places = Vec::with_capacity(count);
        for entry in 0..count {
            let at = usize::from(u16_at(bytes, HEAD + 2 * entry));
            let parsed = bytes.get(at..).filter(|_| at >= upper && at.is_multiple_of(2));
            let Some((node, len)) = parsed.and_then(|rest| Node::parse(rest, is_leaf)) else {
                return wrong("has an entry that is not within it");
            };
            places.push((at, at + len));
            nodes.push(node);
        }
        places.sort_unstable();
        if places.windows(2).any(|pair| pair[0].1 > pair[1].0) {
            return wrong("has entries that overlap");
        }
        let taken = places.iter().map(|(from, to)| (to - from).next_multiple_of(2)).sum();
        Ok(Page { is_leaf, nodes, filled: (taken, bytes.len() - upper) })
    }

    /// What is wrong with this page of the tree of pairs, besides what [`parse`](Page::parse) finds.
    fn problem(&self) -> Option<&'static str> {
        // The first key of a branch is not used.
        let keys = || self.nodes.iter().map(|node| node.key).skip(usize::from(!self.is_leaf));
        if self.nodes.iter().any(Node::is_database) {
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

/// What is wrong with page `number` of the tree of pairs; `None` if LMDB could have written it.
pub(super) fn problem_of_page(bytes: &[u8], number: u64) -> Option<String> {
    match Page::parse(bytes, number) {
        Ok(page) => page.problem().map(|what| format!("page {number} {what}")),
        Err(problem) => Some(problem),
    }
}

impl<'p> Node<'p> {
    /// The node at the start of `bytes`, and its length there.
    fn parse(bytes: &'p [u8], is_leaf: bool) -> Option<(Self, usize)> {
        let (head, rest) = bytes.split_at_checked(NODE_HEAD)?;
        let low = u64::from(u16_at(head, 0)) | u64::from(u16_at(head, 2)) << 16;
        let flags = u16_at(head, 4);
        let (key, rest) = rest.split_at_checked(usize::from(u16_at(head, 6)))?;
        if !is_leaf {
            let child = low | u64::from(flags) << 32;
            let node = Node { key, flags: 0, len: 0, data: &[], child };
            return Some((node, NODE_HEAD + key.len()));
        }
        let here = match flags {
            NODE_BIG => 8,
            0 | NODE_DATABASE => usize::try_from(low).ok()?,
            _ => return None,
        };
        let node = Node { key, flags, len: low, data: rest.get(..here)?, child: 0 };
        Some((node, NODE_HEAD + key.len() + here))
    }
}

/// How many pages a value of `len` bytes needs.
pub(super) fn overflow_pages(len: u64, page_len: u64) -> u64 {
    (HEAD as u64 + len).div_ceil(page_len)
}

// Numbers have the byte order of the machine. A number outside the page is read as zero.

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes(array_at(bytes, at))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(array_at(bytes, at))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(array_at(bytes, at))
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}
