//! Keys as they are stored in the file: one zero byte, then the key (docs/src/format.md#lmdb).

use std::ops::Bound;

use crate::{KeySpan, KvError, Result};

/// The longest key the file can hold, without the zero byte before it.
pub(super) const MAX_KEY: usize = 510;

/// The longest value. LMDB writes a long value and the 16 bytes before it in one call, rounded up
/// to whole pages of at most 64 KiB. Systems write at most 2 GiB in a call, less a page. Of a
/// longer value, a part would be written, which looks like a disk that is full.
const MAX_VALUE: usize = 0x7fff_0000 - 16;

/// Stored keys of up to this many bytes are on the stack. In a small environment, making more room
/// than most keys need would cost more than searching for them.
const SHORT: usize = 128;

/// Room for a key with its zero byte. It is filled where it is: to move the bytes just after they
/// were written would take the processor longer than to write them.
pub(super) struct StoredKey {
    bytes: [u8; SHORT],
    len: usize,
    /// The key, if it is too long for `bytes`.
    long: Option<Box<[u8]>>,
}

impl StoredKey {
    #[inline]
    pub(super) fn room() -> Self {
        StoredKey { bytes: [0; SHORT], len: 0, long: None }
    }

    /// The stored form of `key`, for a value of `len` bytes.
    ///
    /// # Errors
    /// If one of them does not fit in the file.
    #[inline]
    pub(super) fn of_pair(&mut self, key: &[u8], len: usize) -> Result<&[u8]> {
        if len > MAX_VALUE {
            return Err(KvError::value_too_long(key, len, MAX_VALUE));
        }
        self.of(key)
    }

    /// The stored form of `key`.
    ///
    /// # Errors
    /// [`KvError::KeyTooLong`] if `key` does not fit in the file.
    #[inline]
    fn of(&mut self, key: &[u8]) -> Result<&[u8]> {
        self.fitting(key).ok_or_else(|| KvError::key_too_long(key, MAX_KEY))
    }

    /// The stored form of `key`; `None` if it is too long.
    #[inline]
    pub(super) fn fitting(&mut self, key: &[u8]) -> Option<&[u8]> {
        if key.len() > MAX_KEY {
            return None;
        }
        self.cut(key);
        Some(self.bytes())
    }

    /// Holds the stored form of `key`, cut after the longest length.
    #[inline]
    fn cut(&mut self, key: &[u8]) {
        (self.len, self.long) = (key.len() + 1, None);
        match self.bytes.get_mut(1..self.len) {
            Some(room) => room.copy_from_slice(key),
            None => self.cut_long(key),
        }
    }

    #[cold]
    fn cut_long(&mut self, key: &[u8]) {
        self.long = Some([&[0], key.get(..MAX_KEY).unwrap_or(key)].concat().into());
    }

    /// The bytes to look for in the file.
    #[inline]
    fn bytes(&self) -> &[u8] {
        match &self.long {
            None => self.bytes.get(..self.len).unwrap_or(&self.bytes),
            Some(bytes) => bytes,
        }
    }
}

/// One end of a span in the file.
///
/// A key that is too long for the file has no stored form, but may be a bound. No stored key is
/// between it and its longest prefix that can be stored, so that prefix replaces it.
pub(super) struct StoredBound {
    key: StoredKey,
    /// Whether the bound was cut. If so, the remaining prefix is less than the bound.
    cut: bool,
}

impl StoredBound {
    pub(super) fn new(bound: &[u8]) -> Self {
        let mut key = StoredKey::room();
        key.cut(bound);
        StoredBound { key, cut: bound.len() > MAX_KEY }
    }

    /// The bound as the inclusive lower end.
    pub(super) fn lower(&self) -> Bound<&[u8]> {
        if self.cut { Bound::Excluded(self.key.bytes()) } else { Bound::Included(self.key.bytes()) }
    }

    /// The bound as the exclusive upper end.
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
        // Without a lower end, a scan need not search for its start.
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
        assert_eq!(StoredKey::room().of(&[]).unwrap(), [0]);
        assert_eq!(StoredKey::room().of(&[0x80]).unwrap(), [0, 0x80]);
        assert_eq!(StoredKey::room().of(&[0xff, 0xff]).unwrap(), [0, 0xff, 0xff]);
        for len in [126, 127, 128, 510] {
            let key: Vec<u8> = (0..len).map(|at| at as u8 ^ 0x55).collect();
            assert_eq!(StoredKey::room().of(&key).unwrap(), [&[0], &key[..]].concat());
        }
        assert!(matches!(
            StoredKey::room().of(&[7; 511]),
            Err(KvError::KeyTooLong { len: 511, max: 510, .. })
        ));
    }

    #[test]
    fn a_value_that_is_not_written_in_one_call_is_refused() {
        let mut room = StoredKey::room();
        assert_eq!(room.of_pair(&[7], 0x7fff_0000 - 16).unwrap(), [0, 7]);
        let error = room.of_pair(&[7], 0x7fff_0000 - 15).unwrap_err();
        assert!(error.is_caller_error(), "{error}");
        assert!(error.to_string().contains("the value of key 07 has 2147418097 bytes"), "{error}");
    }

    #[test]
    fn a_bound_that_is_too_long_keeps_its_place() {
        let bound = StoredBound::new(&[7; 600]);
        assert!(matches!(bound.lower(), Bound::Excluded(key) if key.len() == 511));
        assert!(matches!(bound.upper(), Bound::Included(key) if key.len() == 511));
    }
}
