//! The pairs of a store as XML text, and back. The rest of the crate does not use this folder;
//! everything public is for other crates.
//!
//! The document is that of Permazen for Java: [`dump`] writes the same bytes for the same pairs,
//! and [`load`] reads every document that Java reads. Both stream: for a document of any size, they
//! need memory only for its longest pair (or its longest comment or run of text, which no writer
//! produces).
//!
//! ```
//! use permazen_kv::{KeySpan, KvDatabase, KvRead, TxOptions, memory::MemoryStore, xml};
//!
//! let text = "<entries><entry><key>0123</key><value>4567</value></entry></entries>";
//! let store = MemoryStore::new();
//! let mut tx = store.begin(&TxOptions::writing())?;
//! assert_eq!(xml::load(&mut *tx, text.as_bytes())?, 1);
//! assert_eq!(tx.get(&[0x01, 0x23])?.as_deref(), Some(&[0x45, 0x67][..]));
//!
//! let mut out = Vec::new();
//! xml::dump(&tx, KeySpan::FULL, xml::Style::Indented, &mut out)?;
//! assert!(String::from_utf8(out)?.contains("\n        <key>0123</key>\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod read;
mod source;
mod watched;
mod write;

pub use read::{Entries, load};
pub use source::Source;
pub use write::{Style, create_from, dump};

use crate::KvError;
use crate::contract::with_causes::WithCauses;

/// An error while pairs are written to XML or read from it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum XmlError {
    /// The document is not well-formed, or is not a document of pairs.
    #[error("XML line {line}, column {column}: {message}")]
    Document {
        /// The line, starting with 1.
        line: u64,
        /// The column in characters, starting with 1.
        column: u64,
        /// The mistake there.
        message: String,
    },
    /// The text could not be read or written.
    #[error("XML could not be transferred: {}", WithCauses(.0))]
    Io(std::io::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] KvError),
}

impl From<std::io::Error> for XmlError {
    fn from(error: std::io::Error) -> Self {
        XmlError::Io(error)
    }
}
