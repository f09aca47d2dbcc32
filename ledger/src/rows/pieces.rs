//! The rows of pieces.

use std::ops::ControlFlow;

use permazen_kv::{KvRead, KvWrite};

use super::counts::{COUNTS, Counts, MAX_NUMBER, u48};
use super::page::Rows;
use super::references::children;
use super::sealed;
use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};

pub(super) const PIECE: u8 = 0x23;

/// The length of the head of a piece: kind, form and number. Its checksum follows.
const HEAD_LEN: usize = 8;

/// The key of the row of a piece, without the prefix of the page.
pub(crate) fn piece_key(digest: &Digest) -> Vec<u8> {
    [&[PIECE][..], &digest.0].concat()
}

/// The result of a look-up of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceLookup {
    Absent,
    /// The piece, with this number.
    Same(u64),
    /// Other bytes, or another kind: damage.
    Different,
}

impl Rows {
    /// The head of the row of a piece, whose checksum is right, and the bytes after it.
    fn opened<'r>(&self, key: &[u8], row: &'r [u8]) -> Result<(&'r [u8; HEAD_LEN], &'r [u8])> {
        let Some((head, rest)) = row.split_first_chunk::<HEAD_LEN>() else {
            return Err(self.damaged(key, "it is too short"));
        };
        match rest.split_first_chunk() {
            Some((found, bytes)) if *found == sealed::checksum(self.number, key, head) => {
                Ok((head, bytes))
            }
            _ => Err(self.damaged(key, "its checksum is wrong")),
        }
    }

    /// The bytes of a piece, which are not compared with its digest. `None` if it is not stored.
    pub(crate) fn piece(
        &self,
        tx: &dyn KvRead,
        kind: Kind,
        digest: &Digest,
    ) -> Result<Option<Vec<u8>>> {
        let key = piece_key(digest);
        let Some(row) = tx.get(&self.stored(&key))? else { return Ok(None) };
        let ([of, form, ..], bytes) = self.opened(&key, &row)?;
        if *of != kind.byte() {
            return Err(self.other_kind(digest, *of, kind));
        }
        match *form {
            PLAIN => Ok(Some(bytes.to_vec())),
            PACKED => unpacked(bytes).map(Some).map_err(|found| self.damaged(&key, found)),
            form => Err(sealed::unknown((self.number, &key), "form", form, "0 and 1")),
        }
    }

    /// The number of a piece of this kind. `None` if it is not stored.
    pub(crate) fn piece_number(
        &self,
        tx: &dyn KvRead,
        kind: Kind,
        digest: &Digest,
    ) -> Result<Option<u64>> {
        match self.kind_and_number(tx, digest)? {
            Some((of, number)) if of == kind.byte() => Ok(Some(number)),
            None => Ok(None),
            Some((of, _)) => Err(self.other_kind(digest, of, kind)),
        }
    }

    /// The number of a piece of any kind. `None` if it is not stored.
    pub(crate) fn number_of(&self, tx: &dyn KvRead, digest: &Digest) -> Result<Option<u64>> {
        Ok(self.kind_and_number(tx, digest)?.map(|(_, number)| number))
    }

    /// The kind of a piece. `None` if it is not stored.
    pub(crate) fn kind_of(&self, tx: &dyn KvRead, digest: &Digest) -> Result<Option<Kind>> {
        let Some((kind, _)) = self.kind_and_number(tx, digest)? else { return Ok(None) };
        match known_kind(kind) {
            Some(kind) => Ok(Some(kind)),
            None => Err(self.unknown_kind(&piece_key(digest), kind)),
        }
    }

    fn unknown_kind(&self, key: &[u8], kind: u8) -> LedgerError {
        sealed::unknown((self.number, key), "kind", kind, "1 to 3")
    }

    /// The error about a piece of another kind than this one. The head of its row has a checksum,
    /// so the reference is wrong.
    fn other_kind(&self, digest: &Digest, found: u8, kind: Kind) -> LedgerError {
        match known_kind(found) {
            Some(found) => {
                LedgerError::integrity(kind, digest, format!("a {kind}"), format!("a {found}"))
                    .needed(|by| by.page = self.number)
            }
            None => self.unknown_kind(&piece_key(digest), found),
        }
    }

    fn kind_and_number(&self, tx: &dyn KvRead, digest: &Digest) -> Result<Option<(u8, u64)>> {
        let key = piece_key(digest);
        let Some(row) = tx.get(&self.stored(&key))? else { return Ok(None) };
        let ([kind, _, number @ ..], _) = self.opened(&key, &row)?;
        Ok(Some((*kind, u48(number))))
    }

    /// Calls `each` with the pieces after this digest, by their digests, until it breaks: with the
    /// digest and the number.
    pub(crate) fn visit_pieces(
        &self,
        tx: &dyn KvRead,
        after: Option<&Digest>,
        mut each: impl FnMut(Digest, u64) -> ControlFlow<()>,
    ) -> Result<()> {
        self.visit_digests(tx, PIECE, after, |digest, key, row| {
            let ([_, _, number @ ..], _) = self.opened(key, row)?;
            Ok(each(digest, u48(number)))
        })
    }

    /// Writes a piece with the next number, unless it has a row that no round will sweep. Returns
    /// whether it had no row. A row with other bytes is damaged, and is replaced.
    pub(crate) fn add_piece(
        &self,
        tx: &mut dyn KvWrite,
        (kind, digest): (Kind, &Digest),
        bytes: &[u8],
        counts: &mut Counts,
    ) -> Result<bool> {
        match self.look_up_piece(tx, (kind, digest), bytes)? {
            PieceLookup::Absent => {
                self.put_new_piece(tx, (kind, digest), bytes, counts)?;
                return Ok(true);
            }
            PieceLookup::Same(number) if !counts.renews(number) => {}
            PieceLookup::Same(_) | PieceLookup::Different => {
                self.put_piece(tx, (kind, digest), bytes, counts)?
            }
        }
        Ok(false)
    }

    /// Looks up a piece, and compares its bytes, which the checksum of the row does not cover.
    pub(super) fn look_up_piece(
        &self,
        tx: &dyn KvRead,
        (kind, digest): (Kind, &Digest),
        bytes: &[u8],
    ) -> Result<PieceLookup> {
        let key = piece_key(digest);
        let Some(row) = tx.get(&self.stored(&key))? else { return Ok(PieceLookup::Absent) };
        let ([of, form, number @ ..], found) = self.opened(&key, &row)?;
        let is_this = match *form {
            PLAIN => found == bytes,
            PACKED => unpacked(found).is_ok_and(|found| found == bytes),
            form => return Err(sealed::unknown((self.number, &key), "form", form, "0 and 1")),
        };
        let is_this = is_this && *of == kind.byte();
        Ok(if is_this { PieceLookup::Same(u48(number)) } else { PieceLookup::Different })
    }

    /// Writes a piece that has no row, and its reference rows if the page keeps them.
    pub(super) fn put_new_piece(
        &self,
        tx: &mut dyn KvWrite,
        (kind, digest): (Kind, &Digest),
        bytes: &[u8],
        counts: &mut Counts,
    ) -> Result<()> {
        self.put_piece(tx, (kind, digest), bytes, counts)?;
        counts.pieces = counts.pieces.saturating_add(1);
        if counts.references.are_written() {
            self.put_references(tx, &children(kind, digest, bytes.to_vec())?)?;
        }
        Ok(())
    }

    /// Writes a piece with the next number, in place of its row if it has one.
    pub(super) fn put_piece(
        &self,
        tx: &mut dyn KvWrite,
        (kind, digest): (Kind, &Digest),
        bytes: &[u8],
        counts: &mut Counts,
    ) -> Result<()> {
        if counts.next >= MAX_NUMBER {
            return Err(self.damaged(&[COUNTS], "the next piece number is above the limit"));
        }
        let key = piece_key(digest);
        let mut row = Vec::with_capacity(HEAD_LEN + sealed::LEN + bytes.len());
        row.extend_from_slice(&[kind.byte(), PLAIN]);
        row.extend_from_slice(&counts.next.to_be_bytes()[2..]);
        let checksum = sealed::checksum(self.number, &key, &row);
        row.extend_from_slice(&checksum);
        row.extend_from_slice(bytes);
        tx.put(&self.stored(&key), &row)?;
        counts.next += 1;
        Ok(())
    }

    /// Removes a piece.
    pub(crate) fn remove_piece(&self, tx: &mut dyn KvWrite, digest: &Digest) -> Result<()> {
        self.remove(tx, &piece_key(digest))
    }
}

/// The kind of a piece with this byte.
fn known_kind(byte: u8) -> Option<Kind> {
    Kind::from_byte(byte).filter(|kind| *kind != Kind::Commit)
}

/// The forms of the bytes of a piece in its row: plain,
pub(super) const PLAIN: u8 = 0;
/// or an LZ4 block after their length. This version reads it and does not write it.
pub(super) const PACKED: u8 = 1;

/// The longest piece.
pub(crate) const MAX_PIECE: usize = 81_920;

/// Unpacks a piece, or returns its defect.
pub(super) fn unpacked(bytes: &[u8]) -> std::result::Result<Vec<u8>, &'static str> {
    let (len, block) = bytes.split_first_chunk().ok_or("a packed piece without a length")?;
    let len = u32::from_be_bytes(*len) as usize;
    // Checked before the memory is allocated.
    if len > MAX_PIECE {
        return Err("a packed piece of more than 81,920 bytes");
    }
    let unpacked = lz4_flex::block::decompress(block, len);
    let unpacked = unpacked.map_err(|_| "a packed piece that cannot be unpacked")?;
    if unpacked.len() != len {
        return Err("a packed piece of another length than it says");
    }
    Ok(unpacked)
}

#[cfg(test)]
mod tests {
    use permazen_kv::memory::MemoryStore;
    use permazen_kv::{KvDatabase, TxOptions};

    use super::*;

    /// Otherwise it would be one of the first again, and a round would take the piece for an old
    /// one.
    #[test]
    fn a_number_is_used_once() {
        let host = MemoryStore::new();
        let mut tx = host.begin(&TxOptions::writing()).unwrap();
        let rows = Rows::under_prefix(1);
        let mut counts = Counts { next: MAX_NUMBER - 1, ..Counts::default() };
        for (byte, fits) in [(1, true), (2, false)] {
            let digest = Kind::Chunk.digest(&[byte]);
            let added = rows.add_piece(&mut *tx, (Kind::Chunk, &digest), &[byte], &mut counts);
            assert_eq!(added.is_ok(), fits);
        }
        rows.put_counts(&mut *tx, &counts).unwrap();
        assert_eq!(rows.counts(&*tx).unwrap().next, MAX_NUMBER);
        counts.next -= 1;
        counts.round.new_from = counts.next + 1;
        rows.put_counts(&mut *tx, &counts).unwrap();
        assert!(matches!(rows.counts(&*tx), Err(LedgerError::DamagedRow { .. })));
    }

    #[test]
    fn packed_pieces_are_read() {
        let piece = vec![7; 5_000];
        let mut packed = 5_000_u32.to_be_bytes().to_vec();
        packed.extend_from_slice(&lz4_flex::block::compress(&piece));
        assert_eq!(unpacked(&packed), Ok(piece));
        packed[3] += 1;
        assert!(unpacked(&packed).is_err());
        packed[3] -= 2;
        assert!(unpacked(&packed).is_err());
        assert!(unpacked(&[0xff; 40]).is_err() && unpacked(b"abc").is_err());
    }
}
