//! Digests of pieces.

use std::fmt;
use std::sync::LazyLock;

use permazen_kv::Hex;

/// The BLAKE3 digest of a piece: 32 bytes, made with the context of its [`Kind`].
///
/// Equal digests mean equal bytes of the same kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; Digest::LEN]);

impl Digest {
    /// How many bytes a digest has.
    pub const LEN: usize = 32;

    /// The digest with these bytes; `None` if there are not 32 of them.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Digest)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(&self.0).fmt(f)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The kind of a piece. Pieces of different kinds never have the same digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A node of a tree.
    Node,
    /// A part of a long value.
    Chunk,
    /// A list of the parts of a long value.
    Index,
    /// A commit.
    Commit,
}

impl Kind {
    /// The byte that stands for the kind in rows.
    pub const fn byte(self) -> u8 {
        match self {
            Kind::Node => 1,
            Kind::Chunk => 2,
            Kind::Index => 3,
            Kind::Commit => 4,
        }
    }

    /// The kind with this byte.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Kind::Node,
            2 => Kind::Chunk,
            3 => Kind::Index,
            4 => Kind::Commit,
            _ => return None,
        })
    }

    /// The digest of a piece of this kind.
    pub fn digest(self, bytes: &[u8]) -> Digest {
        static HASHERS: LazyLock<[blake3::Hasher; 4]> = LazyLock::new(|| {
            ["node", "chunk", "index", "commit"]
                .map(|kind| blake3::Hasher::new_derive_key(&format!("permazen ledger 1: {kind}")))
        });
        let mut hasher = HASHERS[usize::from(self.byte()) - 1].clone();
        Digest(*hasher.update(bytes).finalize().as_bytes())
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Node => "node",
            Kind::Chunk => "chunk",
            Kind::Index => "index piece",
            Kind::Commit => "commit",
        })
    }
}
