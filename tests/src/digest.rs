//! Digests of whole stores and results.

use permazen::__internal::schema::inflate;
use permazen::kv::{Direction, KeySpan, KvRead, Result};
use sha2::{Digest, Sha256};

use crate::hex;
use crate::outcome::Outcome;

/// Keys that start like this belong to the schema table. Its compressed values depend on the
/// compressor, so digests leave them out.
pub const SCHEMA_TABLE: [u8; 2] = [0x00, 0x01];

/// The content of a store, in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDigest {
    /// Number of pairs, the schema table included.
    pub pairs: u64,
    /// Number of pairs outside the schema table.
    pub pairs_in_digest: u64,
    /// SHA-256 in hex over a line `hex(key)=hex(value)` for each pair outside the schema table.
    pub sha256: String,
}

/// The state digest of `store`. One full scan.
pub fn state_digest(store: &dyn KvRead) -> Result<StateDigest> {
    let mut lines = Lines::default();
    let (mut pairs, mut pairs_in_digest) = (0, 0);
    for pair in store.scan(KeySpan::FULL, Direction::Forward)? {
        let (key, value) = pair?;
        pairs += 1;
        if !key.starts_with(&SCHEMA_TABLE) {
            pairs_in_digest += 1;
            lines.add(&format!("{}={}", hex::encode(&key), hex::encode(&value)));
        }
    }
    Ok(StateDigest { pairs, pairs_in_digest, sha256: lines.finish() })
}

/// The pairs of `store` as lines `hex(key)=hex(value)`. The schema table is given as
/// `hex(key): document`, because its compressed bytes depend on the compressor. One full scan.
pub fn pairs(store: &dyn KvRead) -> Outcome<Vec<String>> {
    let mut lines = Vec::new();
    for pair in store.scan(KeySpan::FULL, Direction::Forward)? {
        let (key, value) = pair?;
        lines.push(if key.starts_with(&SCHEMA_TABLE) {
            format!("{}: {}", hex::encode(&key), String::from_utf8(inflate(&value)?)?)
        } else {
            format!("{}={}", hex::encode(&key), hex::encode(&value))
        });
    }
    Ok(lines)
}

/// SHA-256 over lines of text, each ended by a line feed.
#[derive(Debug, Clone, Default)]
pub struct Lines(Sha256);

impl Lines {
    /// Adds `line` and a line feed.
    pub fn add(&mut self, line: &str) {
        self.0.update(line.as_bytes());
        self.0.update(b"\n");
    }

    /// The digest of all lines in hex.
    pub fn finish(self) -> String {
        hex::encode(&self.0.finalize())
    }
}
