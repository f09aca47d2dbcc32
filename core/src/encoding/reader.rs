//! A cursor over encoded bytes.

use super::{EncodingError, Result};

/// Reads encoded values one after the other from a byte slice, without allocation.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    /// What has not been read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether everything has been read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte without reading it.
    pub fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Reads one byte.
    ///
    /// # Errors
    /// [`EncodingError::Truncated`] at the end of the input.
    pub fn byte(&mut self) -> Result<u8> {
        let (&first, rest) = self.rest.split_first().ok_or(EncodingError::Truncated)?;
        self.rest = rest;
        Ok(first)
    }

    /// Reads `count` bytes.
    ///
    /// # Errors
    /// [`EncodingError::Truncated`] if fewer are left.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(count).ok_or(EncodingError::Truncated)?;
        self.rest = rest;
        Ok(head)
    }
}
