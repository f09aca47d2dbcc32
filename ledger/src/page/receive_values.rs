//! The long values of commits that come from elsewhere.

use std::collections::HashSet;

use bytes::Bytes;

use super::receive_tree::Arriving;
use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::secret::Secret;
use crate::value::cuts::{CutCheck, Parts};
use crate::value::index::{Index, Part};
use crate::value::read::{Pieces, check_chunk, index};
use crate::value::reference::Reference;
use crate::value::split::Piece;

/// A piece of a value that is ahead: an index piece with its level, or a chunk.
type Ahead = (Part, Option<u8>, bool);

fn top(value: &Reference) -> Ahead {
    let part = Part { len: value.len, digest: value.top };
    (part, value.levels.checked_sub(1), true)
}

fn kind((_, level, _): &Ahead) -> Kind {
    if level.is_some() { Kind::Index } else { Kind::Chunk }
}

/// The parts of an index piece.
fn below((part, level, is_top): Ahead, bytes: Bytes) -> Result<Vec<Ahead>> {
    let Some(level) = level else { return Ok(Vec::new()) };
    let index = index(&part, bytes, level, is_top)?;
    let parts = (0..index.len()).filter_map(|at| index.part(at));
    Ok(parts.map(|part| (part, level.checked_sub(1), false)).collect())
}

/// The pieces of values that were visited. A value can have one of them more often than there are bytes in
/// memory, and each is visited once for what refers to it.
#[derive(Debug, Default)]
pub(super) struct Visited(HashSet<(Digest, u64, Option<u8>, bool)>);

impl Visited {
    /// `false` if it was visited.
    fn insert(&mut self, (part, level, is_top): &Ahead) -> bool {
        self.0.insert((part.digest, part.len, *level, *is_top))
    }
}

/// Calls `missing` with the pieces of a value that are not here, until it is `false`. Says whether it never
/// was.
pub(super) fn visit_missing(
    from: &Arriving<'_>,
    value: &Reference,
    visited: &mut Visited,
    missing: &mut dyn FnMut(Kind, Digest) -> bool,
) -> Result<bool> {
    let mut ahead = vec![top(value)];
    while let Some(piece) = ahead.pop() {
        if !visited.insert(&piece) {
            continue;
        }
        let digest = piece.0.digest;
        let is_here = match kind(&piece) {
            Kind::Index => match from.piece(Kind::Index, &digest) {
                Ok(bytes) => {
                    ahead.extend(below(piece, bytes)?);
                    true
                }
                Err(LedgerError::Missing { .. }) => false,
                Err(error) => return Err(error),
            },
            _ => from.has(&digest)?,
        };
        if !is_here && !missing(kind(&piece), digest) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The pieces of values that a commit needs, each once.
pub(super) struct NewPieces<'a> {
    from: Arriving<'a>,
    cuts: CutCheck,
    visited: Visited,
    pub(super) pieces: Vec<Piece>,
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
            self.pieces.push(Piece { kind, part, bytes: bytes.clone() });
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
        let mut ahead = vec![top(value)];
        while let Some(piece) = ahead.pop() {
            if !self.visited.insert(&piece) {
                continue;
            }
            let (part, kind) = (piece.0, kind(&piece));
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
            ahead.extend(below(piece, bytes.clone())?);
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
        Err(LedgerError::integrity(kind, &self.value.top, expected, "other cuts"))
    }
}
