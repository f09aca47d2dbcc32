//! Reference rows say which pieces and commits refer to a piece; suspect rows name pieces that may
//! be garbage. Only pages that keep reference rows have them.

use permazen_kv::{Direction, KeySpan, KvRead, KvWrite};

use super::page::Rows;
use super::sealed;
use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::node::items::{Priority, REFERENCE as LONG_VALUE};
use crate::node::view::Node;
use crate::value::index::Index;
use crate::value::reference::Reference;

pub(super) const REFERENCE: u8 = 0x24;
pub(super) const SUSPECT: u8 = 0x36;

/// Whether a page keeps reference rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum References {
    /// It does not. Existing rows are left over.
    #[default]
    Off,
    /// New pieces get their rows when they are written, older ones in slices. Nothing is removed
    /// meanwhile.
    Building,
    /// Each piece and each commit has its rows.
    Complete,
}

impl References {
    pub(super) fn parse(byte: u8) -> Option<Self> {
        [References::Off, References::Building, References::Complete]
            .into_iter()
            .find(|known| *known as u8 == byte)
    }

    /// Whether new pieces get their rows.
    pub(crate) fn are_written(self) -> bool {
        self != References::Off
    }
}

/// The kind of a reference to a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ReferenceKind {
    /// The piece above it, or a leaf with an eager value.
    Eager,
    /// A leaf with a lazy value.
    Lazy,
    /// A commit.
    Commit,
}

/// One reference row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ReferenceRow {
    pub(crate) to: Digest,
    pub(crate) kind: ReferenceKind,
    /// The digest of the piece, or the ID of the commit.
    pub(crate) from: Digest,
}

impl ReferenceRow {
    /// The row with this key, without its first byte.
    pub(super) fn parse(key: &[u8]) -> Option<Self> {
        let (to, rest) = key.split_at_checked(Digest::LEN)?;
        let (kind, from) = rest.split_first()?;
        let kind = [ReferenceKind::Eager, ReferenceKind::Lazy, ReferenceKind::Commit]
            .into_iter()
            .find(|known| *known as u8 == *kind)?;
        Some(ReferenceRow { to: Digest::from_slice(to)?, kind, from: Digest::from_slice(from)? })
    }

    /// The key of the row, without the prefix of the page.
    pub(crate) fn key(&self) -> Vec<u8> {
        [&[REFERENCE][..], &self.to.0, &[self.kind as u8], &self.from.0].concat()
    }
}

/// The key of the row of a piece that may be garbage, without the prefix of the page.
pub(crate) fn suspect_key(digest: &Digest) -> Vec<u8> {
    [&[SUSPECT][..], &digest.0].concat()
}

/// The children of a piece, each once. Its bytes are not compared with its digest.
///
/// # Errors
/// [`LedgerError::Integrity`] if the bytes are not those of such a piece.
pub(crate) fn children(
    kind: Kind,
    from: &Digest,
    bytes: impl Into<bytes::Bytes>,
) -> Result<Vec<ReferenceRow>> {
    let refused = |found: &str| LedgerError::refused(kind, from, found);
    let row = |to, kind| ReferenceRow { to, kind, from: *from };
    let mut rows = Vec::new();
    match kind {
        Kind::Node => {
            let node = Node::parse(bytes.into()).map_err(refused)?;
            for at in 0..node.len() {
                if let Some(child) = node.child(at) {
                    rows.push(row(child.digest, ReferenceKind::Eager));
                    continue;
                }
                let payload = node.payload(at);
                if payload.flags & LONG_VALUE != 0 {
                    let top = Reference::parse(payload.bytes).map_err(refused)?.top;
                    let kind = match payload.priority() {
                        Priority::Lazy => ReferenceKind::Lazy,
                        _ => ReferenceKind::Eager,
                    };
                    rows.push(row(top, kind));
                }
            }
        }
        Kind::Index => {
            let index = Index::parse(bytes.into()).map_err(refused)?;
            let parts = (0..index.len()).filter_map(|at| index.part(at));
            rows.extend(parts.map(|part| row(part.digest, ReferenceKind::Eager)));
        }
        _ => {}
    }
    rows.sort_unstable();
    rows.dedup();
    Ok(rows)
}

/// The rows of a commit with these roots.
pub(crate) fn roots(id: &CommitId, root: &Digest, conflicts: Option<&Digest>) -> Vec<ReferenceRow> {
    let roots = std::iter::once(root).chain(conflicts);
    // The empty node has no row.
    let roots = roots.filter(|root| **root != Node::empty().0);
    let row = |to: &Digest| ReferenceRow { to: *to, kind: ReferenceKind::Commit, from: id.0 };
    let mut rows: Vec<_> = roots.map(row).collect();
    rows.dedup();
    rows
}

impl Rows {
    pub(crate) fn put_references(
        &self,
        tx: &mut dyn KvWrite,
        references: &[ReferenceRow],
    ) -> Result<()> {
        references.iter().try_for_each(|row| self.put(tx, &row.key(), Vec::new()))
    }

    /// Removes references. Pieces without a further reference become suspects.
    pub(crate) fn remove_references(
        &self,
        tx: &mut dyn KvWrite,
        references: &[ReferenceRow],
    ) -> Result<()> {
        for row in references {
            self.remove(tx, &row.key())?;
            // Most children of an old node are children of the node that has replaced it, too.
            // Looking for another reference is cheaper than a suspect row that is written and
            // removed.
            if !self.is_needed(tx, &row.to)? {
                self.put_suspect(tx, &row.to)?;
            }
        }
        Ok(())
    }

    /// The children of a piece, after its bytes were compared with its digest. `None` if it is not
    /// stored.
    ///
    /// # Errors
    /// If the piece is damaged, or the host fails.
    pub(crate) fn children_of(
        &self,
        tx: &dyn KvRead,
        digest: &Digest,
    ) -> Result<Option<Vec<ReferenceRow>>> {
        let Some(kind) = self.kind_of(tx, digest)? else { return Ok(None) };
        if kind == Kind::Chunk {
            return Ok(Some(Vec::new()));
        }
        let Some(bytes) = self.piece(tx, kind, digest)? else { return Ok(None) };
        let found = kind.digest(&bytes);
        if found != *digest {
            let error = LedgerError::other_digest(kind, digest, &found);
            return Err(error.needed(|by| by.page = self.number));
        }
        let children = children(kind, digest, bytes);
        children.map(Some).map_err(|error| error.needed(|by| by.page = self.number))
    }

    pub(crate) fn has_reference(&self, tx: &dyn KvRead, row: &ReferenceRow) -> Result<bool> {
        Ok(self.get(tx, &row.key())?.is_some())
    }

    /// Calls `each` with all reference rows that can be read.
    pub(crate) fn visit_references(
        &self,
        tx: &dyn KvRead,
        mut each: impl FnMut(ReferenceRow) -> Result<()>,
    ) -> Result<()> {
        let (min, max) = self.span(&[REFERENCE]);
        let begin = min.len();
        for pair in tx.scan(KeySpan::new(&min, max.as_deref()), Direction::Forward)? {
            let key = pair?.0;
            ReferenceRow::parse(key.get(begin..).unwrap_or_default()).map_or(Ok(()), &mut each)?;
        }
        Ok(())
    }

    /// Whether a commit, another piece or a stream refers to a piece.
    pub(crate) fn is_needed(&self, tx: &dyn KvRead, digest: &Digest) -> Result<bool> {
        let (min, max) = self.span(&[&[REFERENCE][..], &digest.0].concat());
        Ok(tx.at_least(&min, max.as_deref())?.is_some() || self.is_streamed(tx, digest)?)
    }

    /// Makes a piece a suspect: it may be garbage.
    pub(crate) fn put_suspect(&self, tx: &mut dyn KvWrite, digest: &Digest) -> Result<()> {
        self.put(tx, &suspect_key(digest), Vec::new())
    }

    pub(crate) fn remove_suspect(&self, tx: &mut dyn KvWrite, digest: &Digest) -> Result<()> {
        self.remove(tx, &suspect_key(digest))
    }

    pub(crate) fn is_suspect(&self, tx: &dyn KvRead, digest: &Digest) -> Result<bool> {
        Ok(self.get(tx, &suspect_key(digest))?.is_some())
    }

    /// The next suspects after this one, at most `most`.
    pub(crate) fn suspects(
        &self,
        tx: &dyn KvRead,
        after: Option<&Digest>,
        most: usize,
    ) -> Result<Vec<Digest>> {
        use std::ops::ControlFlow::{Break, Continue};
        let mut suspects = Vec::new();
        if most == 0 {
            return Ok(suspects);
        }
        self.visit_digests(tx, SUSPECT, after, |digest, key, row| {
            sealed::open(self.number, key, row)?;
            suspects.push(digest);
            Ok(if suspects.len() < most { Continue(()) } else { Break(()) })
        })?;
        Ok(suspects)
    }

    /// Whether there is any reference row or suspect row.
    pub(crate) fn has_reference_rows(&self, tx: &dyn KvRead) -> Result<bool> {
        for first in [REFERENCE, SUSPECT] {
            let (min, max) = self.span(&[first]);
            if tx.at_least(&min, max.as_deref())?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Removes at most `most` reference rows and suspect rows. Returns `false` if more are left.
    pub(crate) fn clear_references(&self, tx: &mut dyn KvWrite, most: usize) -> Result<bool> {
        let (keys, is_all) = self.some_keys(tx, &[REFERENCE, SUSPECT], most)?;
        keys.iter().try_for_each(|(_, key)| tx.remove(key))?;
        Ok(is_all)
    }
}
