//! The tools to read and write keys and values: a cursor over bytes, the code of unsigned numbers,
//! and the error type of both.
//!
//! `id`, `layout` and `encoding` are built on this module. Users see it through
//! [`encoding`](crate::encoding).
#![deny(clippy::indexing_slicing)]

mod error;
mod reader;
pub mod uint;

pub(crate) use error::invalid;
pub use error::{EncodingError, Result};
pub use reader::Reader;
