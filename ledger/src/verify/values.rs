//! Checks long values.

use bytes::Bytes;

use super::pieces::Pieces;
use crate::digest::{Digest, Kind};
use crate::error::Result;
use crate::rows::inspect::piece_key;
use crate::secret::Secret;
use crate::value::index::{Index, Part};
use crate::value::reference::Reference;
use crate::value::split::Splitter;

/// Goes through one value, and cuts it again.
pub(super) struct ValueCheck<'p, 'h> {
    pieces: &'p mut Pieces<'h>,
    /// `None` if the value cannot be cut again: a part of it is missing, or the secret is.
    splitter: Option<Splitter>,
    /// Its pieces have to be here.
    is_needed: bool,
}

impl<'p, 'h> ValueCheck<'p, 'h> {
    pub(super) fn new(
        pieces: &'p mut Pieces<'h>,
        secret: Option<&Secret>,
        is_needed: bool,
    ) -> Self {
        ValueCheck { pieces, splitter: secret.map(Splitter::new), is_needed }
    }

    /// The bytes of a piece. `None` if it is not here, which is a finding if it has to be.
    fn load(&mut self, kind: Kind, digest: &Digest, from: &Digest) -> Result<Option<Bytes>> {
        match self.is_needed {
            true => self.pieces.load(kind, digest, || piece(from)),
            false => self.pieces.load_if_here(kind, digest, || piece(from)),
        }
    }

    /// Checks the value of a leaf.
    ///
    /// # Errors
    /// Those of the host.
    pub(super) fn check(mut self, leaf: &Digest, value: &Reference) -> Result<()> {
        let part = Part { len: value.len, digest: value.top };
        match value.levels.checked_sub(1) {
            None => self.chunk(&part, leaf)?,
            Some(level) => self.index(&part, level, leaf, true)?,
        }
        let Some(splitter) = self.splitter else { return Ok(()) };
        let expected = splitter.finish(&mut |_| Ok(()))?;
        if expected != *value {
            let words = |value: &Reference| {
                format!("top piece {} with {} levels below it", value.top, value.levels)
            };
            let expected = words(&expected);
            let expected = format!("the cuts of the rule, which give {expected}");
            self.pieces.add(&value.top, expected, words(value));
        }
        Ok(())
    }

    fn chunk(&mut self, part: &Part, from: &Digest) -> Result<()> {
        let Some(bytes) = self.load(Kind::Chunk, &part.digest, from)? else {
            self.splitter = None;
            return Ok(());
        };
        if bytes.len() as u64 != part.len {
            let expected = format!("{} bytes, as {} says", part.len, piece(from));
            self.pieces.add(&part.digest, expected, format!("{} bytes", bytes.len()));
            self.splitter = None;
        }
        match &mut self.splitter {
            Some(splitter) => splitter.push(&bytes, &mut |_| Ok(())),
            None => Ok(()),
        }
    }

    fn index(&mut self, part: &Part, level: u8, from: &Digest, is_top: bool) -> Result<()> {
        let Some(bytes) = self.load(Kind::Index, &part.digest, from)? else {
            self.splitter = None;
            return Ok(());
        };
        let expected =
            format!("an index piece of level {level} and {} bytes, for {}", part.len, piece(from));
        let row = (self.pieces.rows.page, &piece_key(&part.digest)[..]);
        let read = Index::checked(&part.digest, bytes, level, part.len);
        let Some(index) = self.pieces.report.readable(row, &expected, read)? else {
            self.splitter = None;
            return Ok(());
        };
        if is_top && index.len() == 1 {
            self.pieces.add(&part.digest, "a top piece with several parts", "one part");
        }
        for at in 0..index.len() {
            let Some(below) = index.part(at) else { break };
            match level.checked_sub(1) {
                None => self.chunk(&below, &part.digest)?,
                Some(level) => self.index(&below, level, &part.digest, false)?,
            }
        }
        Ok(())
    }
}

fn piece(digest: &Digest) -> String {
    format!("piece {digest}")
}
