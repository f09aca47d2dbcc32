//! The long values of commits that come from elsewhere.

use std::collections::HashSet;

use bytes::Bytes;

use super::receive_tree::{Arriving, OTHER_CUTS};
use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::secret::Secret;
use crate::value::cuts::{CutCheck, Parts};
use crate::value::index::{Index, Part};
use crate::value::read::{Pieces, check_chunk, index};
use crate::value::reference::Reference;
use crate::value::split::Piece as NewPiece;

/// A piece of a value: an index piece with its level, or a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Piece {
    part: Part,
    level: Option<u8>,
    is_top: bool,
}

impl Piece {
    pub(super) fn top(value: &Reference) -> Self {
        let part = Part { len: value.len, digest: value.top };
        Piece { part, level: value.levels.checked_sub(1), is_top: true }
    }

    pub(super) fn digest(&self) -> Digest {
        self.part.digest
    }

    pub(super) fn kind(&self) -> Kind {
        if self.level.is_some() { Kind::Index } else { Kind::Chunk }
    }

    /// The parts of an index piece.
    pub(super) fn below(&self, bytes: Bytes) -> Result<Vec<Piece>> {
        let Some(level) = self.level else { return Ok(Vec::new()) };
        let index = index(&self.part, bytes, level, self.is_top)?;
        let parts = (0..index.len()).filter_map(|at| index.part(at));
        let piece = |part| Piece { part, level: level.checked_sub(1), is_top: false };
        Ok(parts.map(piece).collect())
    }
}

/// The pieces of values that were visited. A value can have one of them more often than there are bytes in
/// memory, and each is visited once for what refers to it.
#[derive(Debug, Default)]
pub(super) struct Visited(HashSet<Piece>);

impl Visited {
    /// `false` if it was visited.
    pub(super) fn insert(&mut self, piece: &Piece) -> bool {
        self.0.insert(*piece)
    }
}

/// The pieces of values that a commit needs, each once.
pub(super) struct NewPieces<'a> {
    from: Arriving<'a>,
    cuts: CutCheck,
    visited: Visited,
    pub(super) pieces: Vec<NewPiece>,
    digests: HashSet<Digest>,
}

impl<'a> NewPieces<'a> {
    pub(super) fn new(from: Arriving<'a>, secret: &Secret) -> Self {
        let (pieces, digests) = (Vec::new(), HashSet::new());
        let cuts = CutCheck::new(Some(secret));
        NewPieces { from, cuts, visited: Visited::default(), pieces, digests }
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
        let mut cuts = std::mem::replace(&mut self.cuts, CutCheck::new(None));
        let result = cuts.check(&mut OfValue { new: self, value }, value, &value.top);
        self.cuts = cuts;
        result
    }

    /// Adds the pieces of a value that have come.
    pub(super) fn add_what_came(&mut self, value: &Reference) -> Result<()> {
        let mut ahead = vec![Piece::top(value)];
        while let Some(piece) = ahead.pop() {
            if !self.visited.insert(&piece) {
                continue;
            }
            let (part, kind) = (piece.part, piece.kind());
            let bytes = match self.from.parts.get(&part.digest) {
                Some((of, bytes)) if *of == kind => bytes.clone(),
                // An index piece may be here already.
                _ if kind == Kind::Index => match self.from.piece(kind, &part.digest) {
                    Ok(bytes) => bytes,
                    Err(LedgerError::Missing { .. }) => continue,
                    Err(error) => return Err(error),
                },
                _ => continue,
            };
            if kind == Kind::Chunk {
                check_chunk(&part, &bytes)?;
            }
            ahead.extend(piece.below(bytes.clone())?);
            self.add(kind, part, &bytes);
        }
        Ok(())
    }
}

/// Adds what a check of the cuts of a value asks for.
struct OfValue<'n, 'a> {
    new: &'n mut NewPieces<'a>,
    value: &'n Reference,
}

impl Parts for OfValue<'_, '_> {
    fn index(&mut self, part: &Part, level: u8, _: &Digest, is_top: bool) -> Result<Option<Index>> {
        let bytes = self.new.from.piece(Kind::Index, &part.digest)?;
        let index = index(part, bytes.clone(), level, is_top)?;
        self.new.add(Kind::Index, *part, &bytes);
        Ok(Some(index))
    }

    fn chunk(&mut self, part: &Part, _: &Digest) -> Result<Option<Bytes>> {
        let bytes = self.new.from.piece(Kind::Chunk, &part.digest)?;
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
