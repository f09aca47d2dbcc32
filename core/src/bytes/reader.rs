//! A cursor over encoded bytes.

use super::{EncodingError, Result, invalid};

/// Reads encoded values one after the other from a byte slice, without allocation.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    /// The bytes that have not been read yet.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether everything has been read.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte, which stays unread; `None` at the end.
    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Reads one byte.
    ///
    /// # Errors
    /// [`EncodingError::Truncated`] at the end of the input.
    #[inline]
    pub fn byte(&mut self) -> Result<u8> {
        let (&first, rest) = self.rest.split_first().ok_or(EncodingError::Truncated)?;
        self.rest = rest;
        Ok(first)
    }

    /// Reads `count` bytes.
    ///
    /// # Errors
    /// [`EncodingError::Truncated`] if fewer are left.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(count).ok_or(EncodingError::Truncated)?;
        self.rest = rest;
        Ok(head)
    }

    /// Reads `N` bytes.
    ///
    /// # Errors
    /// [`EncodingError::Truncated`] if fewer are left.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk().ok_or(EncodingError::Truncated)?;
        self.rest = rest;
        Ok(*head)
    }

    /// Checks that everything has been read.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`] if bytes are left over.
    #[inline]
    pub fn finish(&self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { left_over(self.rest.len()) }
    }
}

#[cold]
fn left_over(count: usize) -> Result<()> {
    invalid(format!("{count} bytes left over after the value"))
}
