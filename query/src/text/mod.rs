//! Text for names and values, and values from text.
//!
//! | form | for | characters that cannot be seen |
//! |---|---|---|
//! | [literal](literal::literal) | statements, lists: a value is typed as it is shown | escaped |
//! | [`shown`] | tables and messages: strings without quotes | escaped |
//! | [JSON](json) | JSON Lines | escaped as JSON does |
//! | [`raw`] | CSV and pipes | as they are |

mod from_literal;
mod hidden;
mod json;
mod literal;
mod mismatch;
mod quote;
mod raw;
mod whole_number;

pub use from_literal::{encoded, value_of};
pub use hidden::{escaped, is_hidden};
pub use json::{json, json_string, push_json, push_json_text};
pub use literal::literal;
pub use mismatch::Mismatch;
pub(crate) use quote::hex;
pub use quote::{quoted, quoted_name};
pub use raw::{push_raw, raw, shown};
pub use whole_number::whole_number;
pub(crate) use whole_number::{MOST_DIGITS, whole};
