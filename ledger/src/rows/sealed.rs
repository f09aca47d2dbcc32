//! The checksums of rows: a flipped bit in a key or value is an error.

use std::sync::LazyLock;

use permazen_kv::Hex;

use crate::error::{LedgerError, Result};

/// How many bytes a checksum has.
pub(crate) const LEN: usize = 4;

/// The checksum of a row: of its page (0 for a row of the repository), its key without the prefix
/// of the page, and its value.
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
    let (row, expected, found) = (Hex(key).to_string().into(), row_name(page, key), found.into());
    LedgerError::DamagedRow { page, row, expected, found }
}

/// The error about something in a row that this version does not know.
pub(crate) fn unknown(
    (page, key): (u64, &[u8]),
    what: &'static str,
    found: impl Into<u64>,
    known: &'static str,
) -> LedgerError {
    LedgerError::unknown((page, Hex(key).to_string()), what, found, known)
}

/// The name of the row with this key, for messages.
fn row_name(page: u64, key: &[u8]) -> &'static str {
    match (page, key.first()) {
        (_, Some(0x00)) => "the format",
        (0, Some(0x01)) => "the ID of the repository",
        (0, Some(0x02)) => "the device",
        (0, Some(0x03)) => "the next page number",
        (0, Some(0x04)) => "the number of a page",
        (0, Some(0x05)) => "a page",
        (0, Some(0x06)) => "when a page was closed",
        (_, Some(0x07)) => "the lease of a process",
        (0, Some(0x08)) => "an open page",
        (_, Some(0x20)) => "a head of a branch",
        (_, Some(0x21)) => "a merge",
        (_, Some(0x22)) => "a commit",
        (_, Some(0x23)) => "a piece",
        (_, Some(0x24)) => "a reference to a piece",
        (_, Some(0x25)) => "a commit that is not at the remote",
        (_, Some(0x26)) => "a piece of a stream",
        (_, Some(0x27)) => "a piece that is not at the remote",
        (_, Some(0x28)) => "the version of the keep set",
        (_, Some(0x29)) => "a note",
        (_, Some(0x2a)) => "the state of the remote",
        (_, Some(0x2b)) => "the device when the page was opened first",
        (_, Some(0x2c)) => "the resets of a branch",
        (_, Some(0x2e)) => "a tag",
        (_, Some(0x2f)) => "the parameters of the page",
        (_, Some(0x30)) => "a pruned commit",
        (_, Some(0x31)) => "a pin or a stream",
        (_, Some(0x32)) => "the counts of the page",
        (_, Some(0x33)) => "marks of the collector",
        (_, Some(0x34)) => "a commit that expires",
        (_, Some(0x36)) => "a piece that may be garbage",
        _ => "a row of format 1",
    }
}
