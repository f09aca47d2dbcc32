//! The byte that stands for null, and the byte before other values if they may start with it.

use crate::bytes::{EncodingError, Reader, Result, invalid};

/// The byte that stands for null.
pub(crate) const NULL: u8 = 0xff;
/// The byte before a value that is not null, if values may start with [`NULL`].
pub(crate) const NOT_NULL: u8 = 0x01;

/// Reads the byte before a value that may be null, if there is one. Returns true for null, which is
/// then read completely.
#[inline]
pub(crate) fn starts_null(prefixed: bool, reader: &mut Reader<'_>) -> Result<bool> {
    let first = reader.peek().ok_or(EncodingError::Truncated)?;
    match first {
        NULL => reader.byte().map(|_| true),
        NOT_NULL if prefixed => reader.byte().map(|_| false),
        _ if prefixed => {
            invalid(format!("0x{first:02x} where 0x01 or 0xff must stand before a value"))
        }
        _ => Ok(false),
    }
}
