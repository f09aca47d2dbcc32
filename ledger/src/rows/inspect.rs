//! Decodes any row of a page, for checks that trust no row.

use std::borrow::Cow;

use permazen_kv::{KvRead, key::after_prefix};

pub(crate) use super::counts::MARKS_LEN;
use super::counts::{COUNTS, MARKS, u48};
use super::opened::FIRST_OPENED;
use super::page::{
    COMMIT, HEAD, Head, KEEP_VERSION, MAX_RESETS, MERGE, RESETS, Rows, TAG, check_name,
};
use super::parameters::PARAMETERS;
use super::pieces::{PACKED, PIECE, PLAIN, unpacked};
use super::process::{HOLD, Hold, hold};
use super::references::{REFERENCE, ReferenceRow, SUSPECT};
use super::retention::{EXPIRING, PRUNED, Pruned};
use super::sealed;
use super::statuses::{LOCAL, NOTE, REMOTE, Remote, UNSYNCED};
use super::streams::{STREAMED, StreamedRow};
use crate::commit::time::CommitTime;
use crate::digest::{Digest, Kind};
use crate::error::Result;
use crate::ids::CommitId;

pub(crate) use super::page::{commit_key, head_key, heads_key, merge_key, resets_key};
pub(crate) use super::pieces::piece_key;
pub(crate) use super::retention::pruned_key;
pub(crate) use super::statuses::unsynced_key;

/// A defect of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) expected: &'static str,
    pub(crate) found: String,
}

pub(super) fn wrong<T>(expected: &'static str, found: impl Into<String>) -> Inspected<T> {
    Err(Wrong { expected, found: found.into() })
}

/// A part of a row, or its defect.
pub(crate) type Inspected<T> = std::result::Result<T, Wrong>;

/// A row of a page, by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DecodedPageRow<'r> {
    Head {
        branch: &'r str,
        head: Head,
    },
    Merge {
        parents: [CommitId; 2],
        merge: CommitId,
    },
    Commit {
        id: CommitId,
        bytes: &'r [u8],
        pieces: u32,
    },
    Piece {
        digest: Digest,
        piece: PieceRow<'r>,
    },
    KeepVersion(u64),
    Resets,
    Tag {
        commit: CommitId,
    },
    Pruned {
        id: CommitId,
        pruned: Pruned,
    },
    Hold(Hold),
    Streamed(StreamedRow),
    Marks {
        round: u64,
        /// The number of the part.
        part: u32,
        bytes: &'r [u8],
    },
    Expiring {
        id: CommitId,
    },
    Reference(ReferenceRow),
    /// A piece that may be garbage.
    Suspect {
        digest: Digest,
    },
    /// A commit that is not at the remote yet.
    Unsynced {
        id: CommitId,
        generation: u64,
    },
    /// A piece that is not at the remote yet.
    Local {
        digest: Digest,
    },
    /// Kept for sync.
    Note,
    /// Its value is read by [`Rows::remote`].
    Remote,
    /// The device and its epoch.
    FirstOpened([u8; 24]),
    /// Its value is read by [`Rows::parameters`].
    Parameters,
    /// Its value is read by [`Rows::counts`].
    Counts,
}

/// A piece in its row. Its bytes are not compared with its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PieceRow<'r> {
    pub(crate) kind: Kind,
    pub(crate) number: u64,
    pub(crate) bytes: Cow<'r, [u8]>,
}

/// The rest of a key after its first byte.
struct Key<'k>(&'k [u8]);

impl<'k> Key<'k> {
    fn digests<const N: usize>(&self) -> Inspected<[CommitId; N]> {
        let (digests, rest) = self.0.as_chunks::<{ Digest::LEN }>();
        let ids: Vec<_> = digests.iter().map(|id| CommitId(Digest(*id))).collect();
        match (ids.try_into(), rest) {
            // Exactly this number, without a rest: a longer key is no row that this version writes.
            (Ok(ids), []) => Ok(ids),
            _ => wrong("digests of 32 bytes in the key", format!("{} bytes", self.0.len())),
        }
    }

    fn name(&self) -> Inspected<&'k str> {
        name(self.0)
    }

    fn nothing(&self) -> Inspected<()> {
        match self.0 {
            [] => Ok(()),
            more => wrong("a key of one byte", format!("{} more", more.len())),
        }
    }
}

fn name(bytes: &[u8]) -> Inspected<&str> {
    match str::from_utf8(bytes) {
        // No name has a zero, which ends the name of a branch in a key.
        Ok(name) if check_name(name).is_ok() => Ok(name),
        _ => wrong("a name of 1 to 255 bytes of UTF-8 without zero", format!("{bytes:02x?}")),
    }
}

pub(super) fn number(value: &[u8]) -> Inspected<u64> {
    match value.try_into() {
        Ok(bytes) => Ok(u64::from_be_bytes(bytes)),
        Err(_) => wrong("a value of eight bytes", format!("{} bytes", value.len())),
    }
}

/// The value of a row before its checksum.
pub(super) fn value<'r>(page: u64, key: &[u8], row: &'r [u8]) -> Inspected<&'r [u8]> {
    match sealed::open(page, key, row) {
        Ok(value) => Ok(value),
        Err(_) => wrong("the checksum of key and value", "another one"),
    }
}

/// The row of a page with this key, which is without the prefix of the page.
pub(crate) fn page_row<'r>(
    page: u64,
    key: &'r [u8],
    row: &'r [u8],
) -> Inspected<DecodedPageRow<'r>> {
    let Some((first, rest)) = key.split_first() else {
        return wrong("a row of a page", "an empty key");
    };
    let rest = Key(rest);
    match *first {
        // These rows are judged before the common checksum is read: the checksum of a piece is in
        // its middle, and the other two have readers that check it.
        PIECE => {
            let [digest] = rest.digests()?;
            return Ok(DecodedPageRow::Piece { digest: digest.0, piece: piece(page, key, row)? });
        }
        PARAMETERS => return rest.nothing().map(|()| DecodedPageRow::Parameters),
        COUNTS => return rest.nothing().map(|()| DecodedPageRow::Counts),
        _ => {}
    }
    let value = value(page, key, row)?;
    match *first {
        HEAD => {
            let Some((branch, [0, id @ ..])) = rest.0.split_last_chunk::<{ Digest::LEN + 1 }>()
            else {
                return wrong("the name of a branch, a zero and 32 bytes", "another key");
            };
            let (id, time) = (CommitId(Digest(*id)), CommitTime(number(value)?));
            Ok(DecodedPageRow::Head { branch: name(branch)?, head: Head { id, time } })
        }
        MERGE => {
            let [first, second, merge] = rest.digests()?;
            // The same two parents in both orders would be two rows for one merge.
            if first >= second {
                return wrong("parents that ascend", "parents that do not");
            }
            match value {
                [] => Ok(DecodedPageRow::Merge { parents: [first, second], merge }),
                _ => wrong("an empty value", format!("{} bytes", value.len())),
            }
        }
        COMMIT => {
            let [id] = rest.digests()?;
            match value.split_last_chunk() {
                Some((bytes, pieces)) => {
                    Ok(DecodedPageRow::Commit { id, bytes, pieces: u32::from_be_bytes(*pieces) })
                }
                None => wrong("a commit and four bytes", format!("{} bytes", value.len())),
            }
        }
        KEEP_VERSION => {
            rest.nothing().and_then(|()| number(value)).map(DecodedPageRow::KeepVersion)
        }
        RESETS => match rest.name().and_then(|_| number(value))? {
            // No row means 0. The version of a state has room for this number of resets.
            1..MAX_RESETS => Ok(DecodedPageRow::Resets),
            count => wrong("a number of resets, from 1 to 2²⁴ - 1", count.to_string()),
        },
        TAG => match Digest::from_slice(value) {
            Some(id) => rest.name().map(|_| DecodedPageRow::Tag { commit: CommitId(id) }),
            None => wrong("a commit ID of 32 bytes", format!("{} bytes", value.len())),
        },
        PRUNED => {
            let [id] = rest.digests()?;
            match Pruned::parse(value) {
                Some(pruned) => Ok(DecodedPageRow::Pruned { id, pruned }),
                None => wrong("a generation and a time", format!("{} bytes", value.len())),
            }
        }
        EXPIRING => {
            let [id] = rest.digests()?;
            number(value).map(|_| DecodedPageRow::Expiring { id })
        }
        REFERENCE => match (ReferenceRow::parse(rest.0), value) {
            (Some(row), []) => Ok(DecodedPageRow::Reference(row)),
            (Some(_), more) => wrong("an empty value", format!("{} bytes", more.len())),
            (None, _) => wrong("a digest, 0 to 2 and another digest in the key", "another key"),
        },
        SUSPECT => {
            let [digest] = rest.digests()?;
            match value {
                [] => Ok(DecodedPageRow::Suspect { digest: digest.0 }),
                _ => wrong("an empty value", format!("{} bytes", value.len())),
            }
        }
        UNSYNCED => {
            let [id] = rest.digests()?;
            number(value).map(|generation| DecodedPageRow::Unsynced { id, generation })
        }
        LOCAL => {
            let [digest] = rest.digests()?;
            match value {
                [] => Ok(DecodedPageRow::Local { digest: digest.0 }),
                _ => wrong("an empty value", format!("{} bytes", value.len())),
            }
        }
        NOTE => match rest.0.len() {
            1..=255 => Ok(DecodedPageRow::Note),
            len => wrong("a name of 1 to 255 bytes", format!("{len} bytes")),
        },
        REMOTE => match Remote::parse(value) {
            Some(_) => rest.nothing().map(|()| DecodedPageRow::Remote),
            None => wrong("1 and a digest, or 2", format!("{value:02x?}")),
        },
        FIRST_OPENED => match value.try_into() {
            Ok(life) => rest.nothing().map(|()| DecodedPageRow::FirstOpened(life)),
            Err(_) => wrong("24 bytes", format!("{} bytes", value.len())),
        },
        HOLD => match hold(rest.0, value) {
            Some(hold) => Ok(DecodedPageRow::Hold(hold)),
            None => wrong("a process ID and a number, with a pin or a stream", "another row"),
        },
        STREAMED => match StreamedRow::parse(rest.0, value) {
            Some(row) => Ok(DecodedPageRow::Streamed(row)),
            None => wrong("a digest, a process ID and a number, with 0 or 1", "another row"),
        },
        MARKS => match rest.0.split_first_chunk() {
            Some((round, &[a, b, c, d])) => match value.len() {
                // No part is empty, and a longer one than that is no part of this version.
                1..=MARKS_LEN => Ok(DecodedPageRow::Marks {
                    round: u64::from_be_bytes(*round),
                    part: u32::from_be_bytes([a, b, c, d]),
                    bytes: value,
                }),
                len => wrong("1 to 65,536 bytes", format!("{len} bytes")),
            },
            _ => wrong("a round and the number of a part in the key", "another key"),
        },
        first => wrong("a row that this version writes", format!("first byte {first:02x}")),
    }
}

fn piece<'r>(page: u64, key: &[u8], row: &'r [u8]) -> Inspected<PieceRow<'r>> {
    let Some((head, rest)) = row.split_first_chunk::<8>() else {
        return wrong("a head of eight bytes", format!("{} bytes", row.len()));
    };
    let bytes = match rest.split_first_chunk() {
        Some((found, bytes)) if *found == sealed::checksum(page, key, head) => bytes,
        _ => return wrong("the checksum of key and head", "another one"),
    };
    let [kind, form, digits @ ..] = head;
    let kind = match Kind::from_byte(*kind) {
        // A commit has a row of its own and is never a piece.
        Some(known) if known != Kind::Commit => known,
        _ => return wrong("kind 1 to 3", kind.to_string()),
    };
    let bytes = match *form {
        PLAIN => Cow::Borrowed(bytes),
        // This version writes no packed pieces, but reads them.
        PACKED => match unpacked(bytes) {
            Ok(bytes) => Cow::Owned(bytes),
            Err(found) => return wrong("a packed piece", found),
        },
        form => return wrong("form 0 or 1", form.to_string()),
    };
    Ok(PieceRow { kind, number: u48(digits), bytes })
}

/// Where the checksum of a row begins: after the head of a piece, otherwise at `end`.
pub(crate) fn checksum_at(key: &[u8], end: usize) -> usize {
    if key.first() == Some(&PIECE) { 8 } else { end }
}

/// The key of the first row of the marks of a round, without the prefix of the page.
pub(crate) fn marks_key(round: u64) -> Vec<u8> {
    [&[MARKS][..], &round.to_be_bytes(), &[0; 4]].concat()
}

/// The key of the row of the remote, without the prefix of the page.
pub(crate) const REMOTE_KEY: [u8; 1] = [REMOTE];

/// The key of the row of parameters, without the prefix of the page.
pub(crate) const PARAMETERS_KEY: [u8; 1] = [PARAMETERS];

/// The key of the row of counts, without the prefix of the page.
pub(crate) const COUNTS_KEY: [u8; 1] = [COUNTS];

/// The key of the row with the version of the keep set.
pub(crate) const KEEP_VERSION_KEY: [u8; 1] = [KEEP_VERSION];

/// The rows of a page, in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowRange {
    BeforePieces,
    Pieces,
    AfterPieces,
}

impl Rows {
    /// The span of a part of the rows.
    pub(crate) fn row_range(&self, range: RowRange) -> (Vec<u8>, Option<Vec<u8>>) {
        let (prefix, end) = self.all();
        let pieces = [&prefix[..], &[PIECE]].concat();
        let after = after_prefix(&pieces);
        match range {
            RowRange::BeforePieces => (prefix, Some(pieces)),
            RowRange::Pieces => (pieces, after),
            RowRange::AfterPieces => (after.unwrap_or_default(), end),
        }
    }

    /// A piece with its row. `None` without the row.
    pub(crate) fn inspect_piece(
        &self,
        tx: &dyn KvRead,
        digest: &Digest,
    ) -> Result<Option<Inspected<PieceRow<'static>>>> {
        let key = piece_key(digest);
        let Some(row) = tx.get(&[&self.all().0[..], &key].concat())? else { return Ok(None) };
        Ok(Some(piece(self.number, &key, &row).map(|piece| PieceRow {
            kind: piece.kind,
            number: piece.number,
            bytes: Cow::Owned(piece.bytes.into_owned()),
        })))
    }
}
