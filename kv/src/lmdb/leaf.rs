//! Leaf pages, read where LMDB has mapped them. A step within a page then costs a few instructions,
//! where a call of LMDB costs a hundred.
//!
//! LMDB finds each page; this only reads the pairs that lie beside the one that it found. What does
//! not look as expected is left to LMDB.

use std::{ptr, slice};

/// The head of a page, where a page number has 64 bits: number, padding, flags, bounds of the free space. The
/// places of its nodes follow.
const HEAD: usize = 16;
/// The flags of a leaf that is no part of a transaction that writes.
const LEAF: u16 = 0x02;

/// Size of the value, flags, size of the key. The key and the value follow.
const NODE_HEAD: usize = 8;
/// The value is in this page.
const HERE: u16 = 0;
/// The value is on its own pages.
const BIG: u16 = 0x01;

/// A leaf page of the version that a read-only transaction sees.
#[derive(Clone, Copy)]
pub(super) struct Leaf<'t> {
    bytes: &'t [u8],
    /// How many pairs there are; at least one.
    pub(super) count: usize,
}

/// A pair of a [`Leaf`].
pub(super) struct InLeaf<'t> {
    /// The key as it is stored.
    pub(super) stored: &'t [u8],
    /// Not given if it is on its own pages.
    pub(super) value: Option<&'t [u8]>,
}

/// The length of the pages of an environment whose pages are this long, if they look as described here and
/// each of them lies at a multiple of it in memory.
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
        usize::try_from(unit).unwrap_or(0)
    }
    #[cfg(not(unix))]
    {
        4096
    }
}

impl<'t> Leaf<'t> {
    /// The leaf that has a key, and which of its pairs that is. `None` if it does not look like one.
    ///
    /// # Safety
    /// A read-only transaction that is open during `'t` must have returned `stored`, and
    /// [`readable_pages`] must have returned `page_len` for its environment.
    #[allow(unsafe_code)]
    #[inline]
    pub(super) unsafe fn around(stored: &'t [u8], page_len: usize) -> Option<(Self, usize)> {
        let address = stored.as_ptr().expose_provenance();
        let in_page = address & (page_len - 1);
        // SAFETY: A read-only transaction returns keys as they are in the memory map. There, pages
        // begin at multiples of their length, and a page with keys of an open transaction does not
        // change.
        let bytes = unsafe {
            slice::from_raw_parts(ptr::with_exposed_provenance(address - in_page), page_len)
        };
        let leaf = Leaf::parse(bytes)?;
        Some((leaf, leaf.find(in_page.checked_sub(NODE_HEAD)?)?))
    }

    #[inline]
    fn parse(bytes: &'t [u8]) -> Option<Self> {
        let lower = usize::from(u16_at(bytes, 12)?);
        let count = lower.checked_sub(HEAD)? / 2;
        let fits = u16_at(bytes, 10)? == LEAF && count > 0 && lower <= bytes.len();
        fits.then_some(Leaf { bytes, count })
    }

    /// The places of the nodes in the page.
    #[inline]
    fn places(self) -> &'t [[u8; 2]] {
        let (places, _) = self.bytes.get(HEAD..).unwrap_or_default().as_chunks();
        places.get(..self.count).unwrap_or_default()
    }

    /// Which node is at a place.
    #[inline]
    fn find(self, place: usize) -> Option<usize> {
        let place = u16::try_from(place).ok()?.to_ne_bytes();
        let places = self.places();
        // Mostly, LMDB has just moved to this page from the one before or after it.
        if places.first() == Some(&place) {
            return Some(0);
        }
        places.iter().rposition(|other| *other == place)
    }

    /// A pair; `None` if the page is not as expected.
    #[inline]
    pub(super) fn pair(self, index: usize) -> Option<InLeaf<'t>> {
        let place = usize::from(u16::from_ne_bytes(*self.places().get(index)?));
        let (head, rest) = self.bytes.get(place..)?.split_first_chunk::<NODE_HEAD>()?;
        let [a, b, c, d, e, f, g, h] = *head;
        let (stored, rest) = rest.split_at_checked(usize::from(u16::from_ne_bytes([g, h])))?;
        let value = match u16::from_ne_bytes([e, f]) {
            HERE => Some(rest.get(..u32::from_ne_bytes([a, b, c, d]) as usize)?),
            BIG => None,
            _ => return None,
        };
        Some(InLeaf { stored, value })
    }
}

#[inline]
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
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
            lower in prop_oneof![0..300u16, any::<u16>()],
            places in prop::collection::vec(prop_oneof![0..600u16, any::<u16>()], 120),
            nodes in prop::collection::vec(prop_oneof![4 => Just(0u8), 1 => Just(1), 1 => any::<u8>()], 240),
        ) {
            let mut bytes = vec![0; HEAD];
            bytes[10..12].copy_from_slice(&LEAF.to_ne_bytes());
            bytes[12..14].copy_from_slice(&lower.to_ne_bytes());
            bytes.extend(places.iter().flat_map(|place| place.to_ne_bytes()));
            bytes.extend(nodes);
            let range = bytes.as_ptr_range();
            if let Some(leaf) = Leaf::parse(&bytes) {
                for (index, place) in places.iter().enumerate().take(leaf.count + 1) {
                    let InLeaf { stored, value } = match leaf.pair(index) {
                        Some(pair) => pair,
                        None => continue,
                    };
                    prop_assert!(leaf.find(usize::from(*place)).is_some());
                    let value = value.unwrap_or(stored).as_ptr_range();
                    prop_assert!(range.start <= value.start && value.end <= range.end);
                }
            }
        }
    }
}
