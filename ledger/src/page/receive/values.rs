//! The long values of received commits.

use std::collections::HashSet;

use bytes::Bytes;

use super::tree::{Arriving, OTHER_CUTS};
use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::secret::Secret;
use crate::value::cuts::{CutCheck, Parts};
use crate::value::index::{Index, Part};
use crate::value::read::{PieceStore, check_chunk, index};
use crate::value::reference::Reference;
use crate::value::split::NewPiece;

/// A piece of a value: an index piece with its level, or a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ValuePiece {
    part: Part,
    level: Option<u8>,
    is_top: bool,
}

impl ValuePiece {
    pub(super) fn top(value: &Reference) -> Self {
        let part = Part { len: value.len, digest: value.top };
        ValuePiece { part, level: value.levels.checked_sub(1), is_top: true }
    }

    pub(super) fn digest(&self) -> Digest {
        self.part.digest
    }

    pub(super) fn kind(&self) -> Kind {
        if self.level.is_some() { Kind::Index } else { Kind::Chunk }
    }

    /// The parts of an index piece.
    pub(super) fn below(&self, bytes: Bytes) -> Result<Vec<ValuePiece>> {
        let Some(level) = self.level else { return Ok(Vec::new()) };
        let index = index(&self.part, bytes, level, self.is_top)?;
        let parts = (0..index.len()).filter_map(|at| index.part(at));
        let piece = |part| ValuePiece { part, level: level.checked_sub(1), is_top: false };
        Ok(parts.map(piece).collect())
    }
}

/// The pieces of values that were visited. A malicious value can contain a piece any number of
/// times, so a piece is visited once for each length, level and place (top or not) that a reference
/// gives it.
#[derive(Debug, Default)]
pub(super) struct Visited(HashSet<ValuePiece>);

impl Visited {
    /// Returns `false` if it was visited before.
    pub(super) fn insert(&mut self, piece: &ValuePiece) -> bool {
        self.0.insert(*piece)
    }
}

/// The pieces of values that a commit needs, each once.
pub(super) struct NewPieces<'a> {
    from: Arriving<'a>,
    cuts: CutCheck,
    pub(super) pieces: Vec<NewPiece>,
    digests: HashSet<Digest>,
}

impl<'a> NewPieces<'a> {
    pub(super) fn new(from: Arriving<'a>, secret: &Secret) -> Self {
        let (pieces, digests) = (Vec::new(), HashSet::new());
        let cuts = CutCheck::new(Some(secret));
        NewPieces { from, cuts, pieces, digests }
    }

    fn add(&mut self, kind: Kind, part: Part, bytes: &Bytes) {
        if self.digests.insert(part.digest) {
            self.pieces.push(NewPiece { kind, part, bytes: bytes.clone() });
        }
    }

    /// Adds all pieces of a value.
    ///
    /// # Errors
    /// If one of them is not here, or the value is not cut as the secret says.
    pub(super) fn add_all(&mut self, value: &Reference) -> Result<()> {
        self.go_through(value, false)
    }

    /// Adds the pieces of a value that were received or are stored here.
    ///
    /// # Errors
    /// If a stored or received piece does not match its reference, or is not cut as the secret
    /// says, as far as the present pieces tell.
    pub(super) fn add_present(&mut self, value: &Reference) -> Result<()> {
        self.go_through(value, true)
    }

    fn go_through(&mut self, value: &Reference, can_be_absent: bool) -> Result<()> {
        let mut cuts = std::mem::replace(&mut self.cuts, CutCheck::new(None));
        let result =
            cuts.check(&mut OfValue { new: self, value, can_be_absent }, value, &value.top);
        self.cuts = cuts;
        result
    }
}

/// Adds the pieces that a check of the cuts of a value reads.
struct OfValue<'n, 'a> {
    new: &'n mut NewPieces<'a>,
    value: &'n Reference,
    can_be_absent: bool,
}

impl OfValue<'_, '_> {
    /// The bytes of a piece. `None` if it is absent and may be.
    fn piece(&mut self, kind: Kind, part: &Part) -> Result<Option<Bytes>> {
        match self.new.from.piece(kind, &part.digest) {
            Err(LedgerError::Missing { .. }) if self.can_be_absent => Ok(None),
            bytes => bytes.map(Some),
        }
    }
}

impl Parts for OfValue<'_, '_> {
    fn index(&mut self, part: &Part, level: u8, _: &Digest, is_top: bool) -> Result<Option<Index>> {
        let Some(bytes) = self.piece(Kind::Index, part)? else { return Ok(None) };
        let index = index(part, bytes.clone(), level, is_top)?;
        self.new.add(Kind::Index, *part, &bytes);
        Ok(Some(index))
    }

    fn chunk(&mut self, part: &Part, _: &Digest) -> Result<Option<Bytes>> {
        let Some(bytes) = self.piece(Kind::Chunk, part)? else { return Ok(None) };
        check_chunk(part, &bytes)?;
        self.new.add(Kind::Chunk, *part, &bytes);
        Ok(Some(bytes))
    }

    fn wrong(&mut self, _: Kind, _: &Part) -> Result<()> {
        let kind = if self.value.levels == 0 { Kind::Chunk } else { Kind::Index };
        let expected = "a value that is cut as the secret of this page says";
        Err(LedgerError::integrity(kind, &self.value.top, expected, OTHER_CUTS))
    }
}
