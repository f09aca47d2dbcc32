//! The positions of list elements.

use crate::encoding::EncodingError;
use crate::layout::parse_list_position;

/// The largest number of elements a list can have.
pub const MAX_LIST_LEN: u32 = i32::MAX as u32;

/// The position that the key of a list element ends with. There is one form of each only: an element under any
/// other would count, but not be found at its position.
pub(in crate::object) fn position_in(suffix: &[u8]) -> Result<u32, EncodingError> {
    match parse_list_position(suffix) {
        Ok(position) if position >= MAX_LIST_LEN => {
            let reason = format!("position {position}, and lists end at {MAX_LIST_LEN}");
            Err(EncodingError::Invalid(reason))
        }
        position => position,
    }
}
