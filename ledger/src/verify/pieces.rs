//! Loads pieces, and remembers which are reachable.

use std::collections::HashSet;

use bytes::Bytes;
use permazen_kv::KvRead;

use super::report::Verification;
use crate::digest::{Digest, Kind};
use crate::error::Result;
use crate::rows::inspect::piece_key;
use crate::rows::page::Rows;

/// The pieces of a page, in one transaction of the host.
pub(super) struct PieceChecker<'h> {
    tx: &'h dyn KvRead,
    pub(super) rows: &'h Rows,
    pub(super) report: &'h mut Verification,
    pub(super) reached: HashSet<Digest>,
    /// Those of them that must be stored.
    pub(super) needed: HashSet<Digest>,
    /// Pieces with a finding, so that each gets only one.
    said: HashSet<Digest>,
}

impl<'h> PieceChecker<'h> {
    pub(super) fn new(
        tx: &'h dyn KvRead,
        rows: &'h Rows,
        report: &'h mut Verification,
    ) -> PieceChecker<'h> {
        let (reached, needed, said) = (HashSet::new(), HashSet::new(), HashSet::new());
        PieceChecker { tx, rows, report, reached, needed, said }
    }

    /// Adds a finding about the row of a piece.
    pub(super) fn add(
        &mut self,
        digest: &Digest,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) {
        self.report.add(self.rows.number, &piece_key(digest), expected, found);
    }

    fn say(&mut self, digest: &Digest, expected: String, found: String) {
        if self.said.insert(*digest) {
            self.add(digest, expected, found);
        }
    }

    /// The bytes of a piece, which have its digest. `None` if there are no such bytes; that is
    /// reported here or by the check of the row.
    pub(super) fn load(
        &mut self,
        kind: Kind,
        digest: &Digest,
        from: impl FnOnce() -> String,
    ) -> Result<Option<Bytes>> {
        self.reached.insert(*digest);
        self.needed.insert(*digest);
        let row = match self.rows.inspect_piece(self.tx, digest)? {
            Some(Ok(row)) => row,
            // A damaged row is reported by its own check.
            Some(Err(_)) => return Ok(None),
            None => {
                let expected = format!("the {kind} that {} refers to", from());
                self.say(digest, expected, "no row".to_owned());
                return Ok(None);
            }
        };
        if row.kind != kind {
            let expected = format!("the {kind} that {} refers to", from());
            self.say(digest, expected, format!("kind {}, {}", row.kind.byte(), row.kind));
            return Ok(None);
        }
        let found = kind.digest(&row.bytes);
        if found != *digest {
            self.say(digest, format!("a {kind} with this digest"), format!("digest {found}"));
            return Ok(None);
        }
        Ok(Some(Bytes::from(row.bytes.into_owned())))
    }

    /// The same for a piece of a value that may be absent. `None` without a finding if it is.
    pub(super) fn load_if_here(
        &mut self,
        kind: Kind,
        digest: &Digest,
        from: impl FnOnce() -> String,
    ) -> Result<Option<Bytes>> {
        let is_needed = self.needed.contains(digest);
        let bytes = match self.rows.inspect_piece(self.tx, digest)? {
            Some(_) => self.load(kind, digest, from)?,
            None => None,
        };
        if !is_needed {
            self.needed.remove(digest);
        }
        Ok(bytes)
    }
}
