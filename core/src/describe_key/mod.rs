//! Keys in words: what each part of a key of the store means, by the recorded schemas.
//!
//! [`pieces`] cuts a key into pieces, each with its meaning, in the words of Permazen for Java.
//! [`line()`] says in one line what a key stands for. Both take any bytes and any schemas: on a
//! damaged database, give them the schemas that can still be read
//! ([`read_usable_schemas`](crate::schema::read_usable_schemas)). Names and values are escaped
//! ([`escape`](crate::escape)), so that they are safe to show.
//!
//! ```
//! use permazen::__internal::describe_key::{Lines, pieces};
//! use permazen::encoding::EncodingRegistry;
//! use permazen::kv::{KvDatabase, TxOptions, memory::MemoryStore};
//! use permazen::__internal::schema::read_usable_schemas;
//!
//! let store = MemoryStore::new();
//! let tx = store.begin(&TxOptions::reading())?;
//! let usable = read_usable_schemas(&*tx, &EncodingRegistry::new())?;
//! let pieces = pieces(&[0x00, 0x01, 0x01], &usable.schemas, None);
//! assert_eq!(pieces[2].words, "Schema index #1");
//! let expected = "\
//! 00 : Meta-data key prefix
//! 01 : Schema table prefix
//! 01 : Schema index #1
//! ";
//! assert_eq!(Lines(&pieces).to_string(), expected);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cut;
mod java_type;
mod line;
mod part_text;

use std::fmt;

use permazen_kv::Hex;

use crate::escape::Escaped;
use crate::schema::{ResolvedType, SchemaBundle};

pub use self::line::{line, meta_data};

/// A piece of a key, and what it means.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Piece<'k> {
    /// The bytes of the piece.
    pub bytes: &'k [u8],
    /// The meaning. Names and values in it are escaped; a long value is cut off.
    pub words: String,
}

/// The pieces of a key, in order. Together they have all its bytes; bytes that cannot be decoded
/// are `Trailing garbage`.
///
/// `object_type` is the type of the object that the key belongs to, in the schema of the object. If
/// it is not known, give `None`: then the highest schema that has the type counts. This makes a
/// difference only for the words about the type and about fields that not all schemas have.
///
/// Costs one look-up among the items of the schemas for each storage ID in the key.
pub fn pieces<'k>(
    key: &'k [u8],
    schemas: &SchemaBundle,
    object_type: Option<&ResolvedType>,
) -> Vec<Piece<'k>> {
    let parts = cut::cut(key, schemas, object_type);
    let in_text = |part: &cut::KeyPart<'_>| Escaped(part_text::of(part, schemas)).to_string();
    parts.iter().map(|(bytes, part)| Piece { bytes, words: in_text(part) }).collect()
}

/// Shows pieces as lines: the bytes in hex, then the words. Of a long piece, only the first 32
/// bytes are shown. Without pieces, it is the line `Empty byte array`, without an end of the line.
#[derive(Debug, Clone, Copy)]
pub struct Lines<'p>(pub &'p [Piece<'p>]);

/// How many bytes of a piece are shown.
const SHOWN: usize = 32;

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("Empty byte array");
        }
        let hex = |piece: &Piece<'_>| match piece.bytes.get(..SHOWN) {
            Some(start) if piece.bytes.len() > SHOWN => format!("{}...", Hex(start)),
            _ => Hex(piece.bytes).to_string(),
        };
        let width = self.0.iter().map(|piece| hex(piece).len()).max().unwrap_or_default();
        for piece in self.0 {
            writeln!(f, "{:>width$} : {}", hex(piece), piece.words)?;
        }
        Ok(())
    }
}
