//! Pages of a tree, read where LMDB has mapped them. A step within a page then costs a few
//! instructions, where a call of LMDB costs a hundred.
//!
//! Whatever is in a page, reading it stays inside it. Bytes that LMDB does not write give `None`.
//! `file/page.rs` checks a page as a whole.

/// The head of a page, where a page number has 64 bits: number, padding, flags, bounds of the free
/// space. The places of its nodes follow.
pub(super) const HEAD: usize = 16;
/// Where the flags and the bounds are in the head.
pub(super) const KIND: usize = 10;
pub(super) const LOWER: usize = 12;
pub(super) const UPPER: usize = 14;
/// The flags of a branch and of a leaf that are no part of a transaction that writes.
const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;

/// In a leaf: size of the value, flags, size of the key. The key and the value follow. In a branch,
/// the number of the page below is in place of the first two.
pub(super) const NODE_HEAD: usize = 8;
/// The value is in this page.
const HERE: u16 = 0;
/// The value is on its own pages.
const BIG: u16 = 0x01;
/// The value is the record of a database.
const DATABASE: u16 = 0x02;
/// The flag of the first of the pages that a value has for itself.
const OVERFLOW: u16 = 0x04;

/// A page of the version that a read-only transaction sees.
#[derive(Clone, Copy)]
pub(super) struct LmdbPage<'t> {
    bytes: &'t [u8],
    /// The places of its nodes in the page; at least one.
    places: &'t [[u8; 2]],
    pub(super) is_leaf: bool,
}

/// Why bytes are no page that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoPage {
    /// It is no page of a tree.
    OfTree,
    /// The bounds of its free space are impossible.
    Bounds,
    /// It has no nodes.
    Empty,
}

/// A node of a page: in a branch, a key and the page below it; in a leaf, a pair.
#[derive(Clone, Copy)]
pub(super) struct Node<'t> {
    head: [u8; NODE_HEAD],
    /// The key as it is stored.
    pub(super) key: &'t [u8],
    /// The following bytes of the page.
    rest: &'t [u8],
}

/// A pair of a leaf.
pub(super) struct InLeaf<'t> {
    /// The key as it is stored.
    pub(super) stored: &'t [u8],
    /// Not given if it is on its own pages.
    pub(super) value: Option<&'t [u8]>,
}

/// `page_len`, if pages of this length look as described here and each of them lies at a multiple
/// of it in memory.
pub(super) fn readable_pages(page_len: usize) -> Option<usize> {
    let is_known = cfg!(target_pointer_width = "64") && page_len >= HEAD;
    (is_known && page_len.is_power_of_two() && page_len <= unit_of_maps()).then_some(page_len)
}

/// Memory maps begin at a multiple of this.
fn unit_of_maps() -> usize {
    #[cfg(unix)]
    {
        // SAFETY: it only asks for a number.
        #[allow(unsafe_code)]
        let unit = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        // A system that does not say it: no length of pages is readable then, and LMDB reads them.
        usize::try_from(unit).unwrap_or(0)
    }
    #[cfg(not(unix))]
    {
        4096
    }
}

impl<'t> LmdbPage<'t> {
    #[inline]
    pub(super) fn parse(bytes: &'t [u8]) -> Result<Self, NoPage> {
        let is_leaf = match u16_at(bytes, KIND) {
            Some(LEAF) => true,
            Some(BRANCH) => false,
            _ => return Err(NoPage::OfTree),
        };
        let bound = |at| u16_at(bytes, at).map(usize::from).ok_or(NoPage::Bounds);
        let (lower, upper) = (bound(LOWER)?, bound(UPPER)?);
        if lower > upper || upper > bytes.len() {
            return Err(NoPage::Bounds);
        }
        let (places, _) = bytes.get(HEAD..lower).ok_or(NoPage::Bounds)?.as_chunks();
        if places.is_empty() { Err(NoPage::Empty) } else { Ok(LmdbPage { bytes, places, is_leaf }) }
    }

    /// The key of a node, as it is stored.
    pub(super) fn stored_key(self, index: usize) -> Option<&'t [u8]> {
        Some(self.node(index)?.key)
    }

    /// How many nodes there are; at least one.
    #[inline]
    pub(super) fn count(self) -> usize {
        self.places.len()
    }

    /// The number that the page says it has.
    #[inline]
    pub(super) fn number(self) -> u64 {
        number_at(self.bytes, 0).unwrap_or(0)
    }

    /// Where a node is in the page.
    #[inline]
    pub(super) fn place(self, index: usize) -> Option<usize> {
        Some(usize::from(u16::from_ne_bytes(*self.places.get(index)?)))
    }

    #[inline]
    pub(super) fn node(self, index: usize) -> Option<Node<'t>> {
        let (head, rest) =
            self.bytes.get(self.place(index)?..)?.split_first_chunk::<NODE_HEAD>()?;
        let [.., a, b] = *head;
        let (key, rest) = rest.split_at_checked(usize::from(u16::from_ne_bytes([a, b])))?;
        Some(Node { head: *head, key, rest })
    }

    /// The index of the first node, from `from` on, whose key is not `before`; the number of nodes
    /// if there is no such node. `by_head` gets the first eight bytes of the key as a number, which
    /// mostly decide. If they do not, `before` gets the key as it is stored.
    #[inline]
    pub(super) fn partition(
        self,
        from: usize,
        by_head: impl Fn(u64) -> Option<bool>,
        before: impl Fn(&[u8]) -> bool,
    ) -> Option<usize> {
        let (mut low, mut high) = (from, self.count());
        while low < high {
            let middle = (low + high) / 2;
            let is_before = match self.key_head(middle).and_then(&by_head) {
                Some(is_before) => is_before,
                None => before(self.node(middle)?.key),
            };
            if is_before { low = middle + 1 } else { high = middle }
        }
        Some(low)
    }

    /// The first eight bytes of a key; `None` if it has less.
    #[inline]
    fn key_head(self, index: usize) -> Option<u64> {
        let place = self.place(index)?;
        let [.., x, y, a, b, c, d, e, f, g, h] = *self.bytes.get(place..)?.first_chunk::<16>()?;
        (u16::from_ne_bytes([x, y]) >= 8).then_some(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }

    /// In a branch, the number of the page below a node.
    #[inline]
    pub(super) fn child(self, index: usize) -> Option<u64> {
        Some(self.node(index)?.child())
    }

    /// In a leaf, a pair.
    #[inline]
    pub(super) fn pair(self, index: usize) -> Option<InLeaf<'t>> {
        let node = self.node(index)?;
        let value = match node.flags() {
            HERE => Some(node.rest.get(..node.value_len() as usize)?),
            BIG => None,
            _ => return None,
        };
        Some(InLeaf { stored: node.key, value })
    }
}

impl<'t> Node<'t> {
    /// In a branch, the number of the page below.
    #[inline]
    pub(super) fn child(&self) -> u64 {
        u64::from(self.value_len()) | u64::from(self.flags()) << 32
    }

    /// In a leaf, the length of the value, which may be on other pages.
    #[inline]
    pub(super) fn value_len(&self) -> u32 {
        let [a, b, c, d, ..] = self.head;
        u32::from_ne_bytes([a, b, c, d])
    }

    #[inline]
    fn flags(&self) -> u16 {
        let [_, _, _, _, e, f, ..] = self.head;
        u16::from_ne_bytes([e, f])
    }

    /// In a leaf, the bytes in the page that represent the value.
    pub(super) fn data(&self) -> Option<&'t [u8]> {
        match self.flags() {
            BIG => self.rest.get(..8),
            HERE | DATABASE => self.rest.get(..self.value_len() as usize),
            _ => None,
        }
    }

    /// In a leaf, the first page of a value that is not in the leaf.
    pub(super) fn overflow(&self) -> Option<u64> {
        if self.flags() == BIG { number_at(self.rest, 0) } else { None }
    }

    /// In a leaf, whether the value is the record of a database.
    pub(super) fn is_database(&self) -> bool {
        self.flags() == DATABASE
    }
}

/// The number of overflow pages of the value that begins on page `number`, whose first bytes are
/// `head`; `None` if no value begins there.
pub(super) fn overflow_count(head: &[u8], number: u64) -> Option<u64> {
    let fits = number_at(head, 0)? == number && u16_at(head, KIND)? == OVERFLOW;
    let count = u32_at(head, LOWER)?;
    fits.then_some(u64::from(count)).filter(|count| *count > 0)
}

#[inline]
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[inline]
pub(super) fn number_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)]

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever is in a page, reading it stays inside it.
        #[test]
        fn any_bytes_can_be_read(
            flags in prop_oneof![Just(LEAF), Just(BRANCH)],
            lower in prop_oneof![0..300u16, any::<u16>()],
            places in prop::collection::vec(prop_oneof![0..600u16, any::<u16>()], 120),
            nodes in prop::collection::vec(prop_oneof![4 => Just(0u8), 1 => Just(1), 1 => any::<u8>()], 240),
            head in any::<u64>(),
        ) {
            let mut bytes = vec![0; HEAD];
            bytes[10..12].copy_from_slice(&flags.to_ne_bytes());
            bytes[12..14].copy_from_slice(&lower.to_ne_bytes());
            bytes.extend(places.iter().flat_map(|place| place.to_ne_bytes()));
            bytes.extend(nodes);
            let range = bytes.as_ptr_range();
            if let Ok(page) = LmdbPage::parse(&bytes) {
                for index in 0..page.count() + 1 {
                    if let Some(InLeaf { stored, value }) = page.pair(index) {
                        let value = value.unwrap_or(stored).as_ptr_range();
                        prop_assert!(range.start <= value.start && value.end <= range.end);
                    }
                    page.child(index);
                }
                let by_head = |other: u64| (other != head).then_some(other < head);
                let before = |stored: &[u8]| stored < &head.to_be_bytes()[..];
                let found = page.partition(0, by_head, before);
                prop_assert!(found.is_none_or(|found| found <= page.count()));
            }
        }
    }
}
