//! The byte that stands for null, and the one before other values where both can begin alike.

use crate::bytes::{EncodingError, Reader, Result, invalid};

/// The byte that stands for null.
pub(crate) const NULL: u8 = 0xff;
/// The byte before a value, where values may start with [`NULL`].
pub(crate) const NOT_NULL: u8 = 0x01;

/// Reads what stands before a value that may be null: true if it is null, which then has been read.
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
