//! Value encodings: values to sortable bytes and back.

mod error;
mod reader;

pub use error::{EncodingError, Result};
pub use reader::Reader;
