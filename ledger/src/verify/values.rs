//! Checks long values.

use std::collections::HashSet;

use bytes::Bytes;

use super::pieces::PieceChecker;
use crate::digest::{Digest, Kind};
use crate::error::Result;
use crate::node::items::REFERENCE_LEN;
use crate::rows::inspect::piece_key;
use crate::secret::Secret;
use crate::value::cuts::{CutCheck, Parts};
use crate::value::index::{Index, Part};
use crate::value::reference::Reference;

/// Checks long values. An index piece is loaded once for each different continuation after it, and
/// a chunk once each time an index piece with it is loaded.
pub(super) struct Values {
    /// For values that must be stored, and for those that may be absent.
    needed: CutCheck,
    others: CutCheck,
    checked: HashSet<([u8; REFERENCE_LEN], bool)>,
}

impl Values {
    /// Without the secret, cuts are not checked.
    pub(super) fn new(secret: Option<&Secret>) -> Self {
        let (needed, others) = (CutCheck::new(secret), CutCheck::new(secret));
        Values { needed, others, checked: HashSet::new() }
    }

    /// Checks the value of a leaf.
    ///
    /// # Errors
    /// Those of the host.
    pub(super) fn check(
        &mut self,
        pieces: &mut PieceChecker<'_>,
        leaf: &Digest,
        value: &Reference,
        is_needed: bool,
    ) -> Result<()> {
        if !self.checked.insert((value.to_bytes(), is_needed)) {
            return Ok(());
        }
        let cuts = if is_needed { &mut self.needed } else { &mut self.others };
        cuts.check(&mut ReportingParts { pieces, is_needed }, value, leaf)
    }
}

/// Supplies the pieces of a value, and reports defects.
struct ReportingParts<'p, 'h> {
    pieces: &'p mut PieceChecker<'h>,
    /// They must be stored.
    is_needed: bool,
}

impl ReportingParts<'_, '_> {
    /// The bytes of a piece. `None` if it is absent, which is a finding if it must be stored.
    fn load(&mut self, kind: Kind, digest: &Digest, from: &Digest) -> Result<Option<Bytes>> {
        match self.is_needed {
            true => self.pieces.load(kind, digest, || piece(from)),
            false => self.pieces.load_if_here(kind, digest, || piece(from)),
        }
    }
}

impl Parts for ReportingParts<'_, '_> {
    fn index(
        &mut self,
        part: &Part,
        level: u8,
        from: &Digest,
        is_top: bool,
    ) -> Result<Option<Index>> {
        let Some(bytes) = self.load(Kind::Index, &part.digest, from)? else { return Ok(None) };
        let expected =
            format!("an index piece of level {level} and {} bytes, for {}", part.len, piece(from));
        let row = (self.pieces.rows.number, &piece_key(&part.digest)[..]);
        let read = Index::checked(&part.digest, bytes, level, part.len);
        let index = self.pieces.report.readable(row, &expected, read)?;
        if is_top && index.as_ref().is_some_and(|index| index.len() == 1) {
            self.pieces.add(&part.digest, "a top piece with several parts", "one part");
        }
        Ok(index)
    }

    fn chunk(&mut self, part: &Part, from: &Digest) -> Result<Option<Bytes>> {
        let bytes = self.load(Kind::Chunk, &part.digest, from)?;
        if let Some(bytes) = &bytes
            && bytes.len() as u64 != part.len
        {
            let expected = format!("{} bytes, as {} says", part.len, piece(from));
            self.pieces.add(&part.digest, expected, format!("{} bytes", bytes.len()));
            return Ok(None);
        }
        Ok(bytes)
    }

    fn wrong(&mut self, kind: Kind, part: &Part) -> Result<()> {
        let expected = format!("the {kind} of a value ends at one of the cuts of the rule");
        self.pieces.add(&part.digest, expected, "another end");
        Ok(())
    }
}

fn piece(digest: &Digest) -> String {
    format!("piece {digest}")
}
