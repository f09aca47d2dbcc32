//! The secret of a page, from which the cuts of trees and values are derived.

use std::fmt;
use std::hash::Hasher;

use siphasher::sip::SipHasher24;

use crate::digest::Digest;

/// The secret of a page: 32 bytes. Copies of a page share it, so that equal contents have equal
/// roots.
///
/// An attacker with the secret can choose keys that give the tree a bad shape. `{:?}` does not show
/// the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 32]);

impl Secret {
    /// The secret with these bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Secret(bytes)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The hash that cuts levels.
    pub(crate) fn boundary_hash(&self) -> BoundaryHash {
        let key = self.derive::<16>("permazen ledger 1: boundaries");
        let (k0, k1) = key.split_at(8);
        let number =
            |half: &[u8]| half.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        BoundaryHash(SipHasher24::new_with_keys(number(k0), number(k1)))
    }

    /// The Gear table that cuts values.
    pub(crate) fn gear(&self) -> Gear {
        let bytes = self.derive::<2_048>("permazen ledger 1: gear");
        let mut table = [0; 256];
        for (number, bytes) in table.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *number = u64::from_be_bytes(*bytes);
        }
        Gear { table, shifted: table.map(|number| number << 1) }
    }

    fn derive<const N: usize>(&self, context: &str) -> [u8; N] {
        let mut output = [0; N];
        let mut hasher = blake3::Hasher::new_derive_key(context);
        hasher.update(&self.0).finalize_xof().fill(&mut output);
        output
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The Gear table of a page.
#[derive(Clone)]
pub(crate) struct Gear {
    pub(crate) table: [u64; 256],
    /// Each number shifted left by one.
    pub(crate) shifted: [u64; 256],
}

impl fmt::Debug for Gear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gear(…)")
    }
}

/// SipHash-2-4 with the key of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BoundaryHash(SipHasher24);

impl BoundaryHash {
    /// The hash of a level and a key, which is given in parts.
    pub(crate) fn of(&self, level: u8, key: &[&[u8]]) -> u64 {
        let mut hasher = self.0;
        hasher.write(&[level]);
        for part in key {
            hasher.write(part);
        }
        hasher.finish()
    }

    /// The hash that cuts a level of index pieces. No level of a tree has the number 255.
    pub(crate) fn of_part(&self, level: u8, digest: &Digest) -> u64 {
        self.of(u8::MAX, &[&[level], &digest.0])
    }
}
