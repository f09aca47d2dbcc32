//! The long values of commits that come from elsewhere.

use bytes::Bytes;

use super::receive_tree::Arriving;
use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::secret::Secret;
use crate::value::index::Part;
use crate::value::read::{Pieces, ValueReader, check_chunk, index};
use crate::value::reference::Reference;
use crate::value::split::{Piece, Splitter};

/// A piece of a value that is ahead: an index piece with its level, or a chunk.
type Ahead = (Part, Option<u8>, bool);

fn top(value: &Reference) -> Ahead {
    let part = Part { len: value.len, digest: value.top };
    (part, value.levels.checked_sub(1), true)
}

/// The parts of an index piece.
fn below((part, level, is_top): Ahead, bytes: Bytes) -> Result<Vec<Ahead>> {
    let Some(level) = level else { return Ok(Vec::new()) };
    let index = index(&part, bytes, level, is_top)?;
    let parts = (0..index.len()).filter_map(|at| index.part(at));
    Ok(parts.map(|part| (part, level.checked_sub(1), false)).collect())
}

/// Calls `missing` with the pieces of a value that are not here, until it is `false`. Says whether it never
/// was.
pub(super) fn visit_missing(
    from: &Arriving<'_>,
    value: &Reference,
    missing: &mut dyn FnMut(Kind, Digest) -> bool,
) -> Result<bool> {
    let mut ahead = vec![top(value)];
    while let Some(piece) = ahead.pop() {
        let (Part { digest, .. }, level, _) = piece;
        let is_here = match level {
            None => from.has(&digest)?,
            Some(_) => match from.piece(Kind::Index, &digest) {
                Ok(bytes) => {
                    ahead.extend(below(piece, bytes)?);
                    true
                }
                Err(LedgerError::Missing { .. }) => false,
                Err(error) => return Err(error),
            },
        };
        let kind = if level.is_some() { Kind::Index } else { Kind::Chunk };
        if !is_here && !missing(kind, digest) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// All pieces of a value, which is cut anew.
///
/// # Errors
/// If one of them is not here, or the value is cut in another way.
pub(super) fn all_pieces(
    from: &Arriving<'_>,
    secret: &Secret,
    value: &Reference,
) -> Result<Vec<Piece>> {
    let (mut pieces, mut splitter) = (Vec::new(), Splitter::new(secret));
    let mut add = |piece| {
        pieces.push(piece);
        Ok(())
    };
    let mut chunks = ValueReader::new(from, value, 0)?;
    while let Some(bytes) = chunks.next()? {
        splitter.push(&bytes, &mut add)?;
    }
    if splitter.finish(&mut add)? != *value {
        let kind = if value.levels == 0 { Kind::Chunk } else { Kind::Index };
        let found = "its value is not cut as the secret of this page says";
        return Err(LedgerError::integrity(kind, &value.top, found));
    }
    Ok(pieces)
}

/// The pieces of a value that have come.
pub(super) fn pieces_that_came(from: &Arriving<'_>, value: &Reference) -> Result<Vec<Piece>> {
    let (mut ahead, mut pieces) = (vec![top(value)], Vec::new());
    while let Some(piece) = ahead.pop() {
        let (part, level, _) = piece;
        let kind = if level.is_some() { Kind::Index } else { Kind::Chunk };
        let bytes = match from.parts.get(&part.digest) {
            Some((of, bytes)) if *of == kind => bytes.clone(),
            // An index piece may be here already.
            _ if kind == Kind::Index => match from.piece(kind, &part.digest) {
                Ok(bytes) => bytes,
                Err(LedgerError::Missing { .. }) => continue,
                Err(error) => return Err(error),
            },
            _ => continue,
        };
        if level.is_none() {
            check_chunk(&part, &bytes)?;
        }
        ahead.extend(below(piece, bytes.clone())?);
        pieces.push(Piece { kind, part, bytes });
    }
    Ok(pieces)
}
