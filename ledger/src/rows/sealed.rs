//! The checksum of a row: a flipped bit in its key or its value is an error.

use std::sync::LazyLock;

use permazen_kv::Hex;

use crate::error::{LedgerError, Result};

/// How many bytes a checksum has.
pub(crate) const LEN: usize = 4;

/// The checksum of a row: of its page (0 for a row of the repository), its key without the prefix of
/// the page, and its value.
pub(crate) fn checksum(page: u64, key: &[u8], value: &[u8]) -> [u8; LEN] {
    static HASHER: LazyLock<blake3::Hasher> =
        LazyLock::new(|| blake3::Hasher::new_derive_key("permazen ledger 1: row"));
    let mut hasher = HASHER.clone();
    hasher.update(&page.to_be_bytes()).update(key).update(value);
    let digest = hasher.finalize();
    let mut checksum = [0; LEN];
    checksum.copy_from_slice(&digest.as_bytes()[..LEN]);
    checksum
}

/// The value with its checksum at the end.
pub(crate) fn seal(page: u64, key: &[u8], mut value: Vec<u8>) -> Vec<u8> {
    let checksum = checksum(page, key, &value);
    value.extend_from_slice(&checksum);
    value
}

/// The value before the checksum.
///
/// # Errors
/// If the checksum is wrong.
pub(crate) fn open<'v>(page: u64, key: &[u8], row: &'v [u8]) -> Result<&'v [u8]> {
    match row.split_last_chunk::<LEN>() {
        Some((value, found)) if *found == checksum(page, key, value) => Ok(value),
        _ => Err(damaged(page, key, "its checksum is wrong")),
    }
}

/// The error about a row.
pub(crate) fn damaged(page: u64, key: &[u8], found: impl Into<Box<str>>) -> LedgerError {
    LedgerError::DamagedRow { page, row: Hex(key).to_string().into(), found: found.into() }
}
