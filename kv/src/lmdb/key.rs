//! Keys as they stand in the file: one zero byte, then the key. (kv §12.1)

use std::ops::Bound;

use crate::{KeySpan, KvError, Result};

/// The longest key the file can hold, without the zero byte before it.
pub(super) const MAX_KEY: usize = 510;

/// A key with its zero byte, on the stack.
pub(super) struct StoredKey {
    bytes: [u8; MAX_KEY + 2],
    len: usize,
}

impl StoredKey {
    /// The stored form of `key`.
    ///
    /// # Errors
    /// [`KvError::KeyTooLong`]
    pub(super) fn new(key: &[u8]) -> Result<Self> {
        StoredKey::fitting(key).ok_or_else(|| KvError::key_too_long(key, MAX_KEY))
    }

    /// The stored form of `key` if there can be one.
    #[inline]
    pub(super) fn fitting(key: &[u8]) -> Option<Self> {
        let mut stored = StoredKey { bytes: [0; MAX_KEY + 2], len: key.len() + 1 };
        if key.len() > MAX_KEY {
            return None;
        }
        stored.bytes.get_mut(1..stored.len)?.copy_from_slice(key);
        Some(stored)
    }

    /// The bytes to look for in the file.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&self.bytes)
    }
}

/// One end of a span in the file.
///
/// A key that is too long for the file has no stored form, yet it is a legal bound. No stored key
/// lies between it and its longest storable prefix, so that takes its place.
pub(super) struct StoredBound {
    key: StoredKey,
    /// Whether the bound was cut, which makes the remaining prefix less than the bound itself.
    cut: bool,
}

impl StoredBound {
    pub(super) fn new(bound: &[u8]) -> Self {
        let head = bound.get(..MAX_KEY).unwrap_or(bound);
        let key = StoredKey::fitting(head).unwrap_or(StoredKey { bytes: [0; MAX_KEY + 2], len: 1 });
        StoredBound { key, cut: head.len() < bound.len() }
    }

    /// As the inclusive lower end.
    pub(super) fn lower(&self) -> Bound<&[u8]> {
        if self.cut { Bound::Excluded(self.key.bytes()) } else { Bound::Included(self.key.bytes()) }
    }

    /// As the exclusive upper end.
    pub(super) fn upper(&self) -> Bound<&[u8]> {
        if self.cut { Bound::Included(self.key.bytes()) } else { Bound::Excluded(self.key.bytes()) }
    }
}

/// Both ends of a span in the file.
pub(super) struct StoredSpan {
    min: Option<StoredBound>,
    max: Option<StoredBound>,
}

impl StoredSpan {
    pub(super) fn new(span: KeySpan<'_>) -> Self {
        // Without a lower end a scan need not search for its beginning.
        let min = (!span.min.is_empty()).then(|| StoredBound::new(span.min));
        StoredSpan { min, max: span.max.map(StoredBound::new) }
    }

    pub(super) fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (
            self.min.as_ref().map_or(Bound::Unbounded, StoredBound::lower),
            self.max.as_ref().map_or(Bound::Unbounded, StoredBound::upper),
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn t098_a_zero_byte_stands_before_every_key() {
        assert_eq!(StoredKey::new(&[]).unwrap().bytes(), [0]);
        assert_eq!(StoredKey::new(&[0x80]).unwrap().bytes(), [0, 0x80]);
        assert_eq!(StoredKey::new(&[0xff, 0xff]).unwrap().bytes(), [0, 0xff, 0xff]);
        assert_eq!(StoredKey::new(&[7; 510]).unwrap().bytes().len(), 511);
        assert!(matches!(
            StoredKey::new(&[7; 511]),
            Err(KvError::KeyTooLong { len: 511, max: 510, .. })
        ));
    }

    #[test]
    fn a_bound_that_is_too_long_keeps_its_place() {
        let bound = StoredBound::new(&[7; 600]);
        assert!(matches!(bound.lower(), Bound::Excluded(key) if key.len() == 511));
        assert!(matches!(bound.upper(), Bound::Included(key) if key.len() == 511));
    }
}
