//! The positions of list elements.

use crate::encoding::EncodingError;
use crate::layout::parse_list_position;

/// The largest number of elements a list can have.
pub const MAX_LIST_LEN: u32 = i32::MAX as u32;

/// The position at the end of a list element's key. Only one form of each position is accepted: an
/// element with another form would be counted, but not found at its position.
pub(in crate::object) fn position_in(suffix: &[u8]) -> Result<u32, EncodingError> {
    match parse_list_position(suffix) {
        // A list has at most this number of elements, as in Java, so its last position is one less.
        Ok(position) if position >= MAX_LIST_LEN => {
            let reason = format!("position {position}, and lists end at {MAX_LIST_LEN}");
            Err(EncodingError::Invalid(reason))
        }
        position => position,
    }
}
