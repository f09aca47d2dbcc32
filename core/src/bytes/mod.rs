//! What keys and values are read and written with: a cursor over bytes, the code of unsigned
//! numbers, and the error of both.
//!
//! `id`, `layout` and `encoding` stand on this; [`encoding`](crate::encoding) shows it to users.
#![deny(clippy::indexing_slicing)]

mod error;
mod reader;
pub mod uint;

pub(crate) use error::invalid;
pub use error::{EncodingError, Result};
pub use reader::Reader;
