//! Checks reference rows.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use permazen_kv::KvRead;

use super::commits::Graph;
use super::report::Verification;
use crate::digest::{Digest, Kind};
use crate::error::Result;
use crate::ids::CommitId;
use crate::rows::inspect::{PieceRow, commit_key, piece_key};
use crate::rows::page::Rows;
use crate::rows::references::{ReferenceKind, ReferenceRow, References, children};

/// Compares the reference rows of a page with its pieces and commits: each of these must have its
/// rows, and there must be no others.
pub(super) struct CheckReferences<'h> {
    tx: &'h dyn KvRead,
    rows: &'h Rows,
    state: References,
    /// How many of the expected rows were found.
    found: u64,
    /// The same for each commit and piece that refers to others.
    of_source: HashMap<ReferenceSource, i64>,
}

/// The first bytes of the piece or commit that refers to a piece, and whether it is a commit.
type ReferenceSource = ([u8; 8], bool);

fn reference_source(row: &ReferenceRow) -> ReferenceSource {
    let [start, ..] = row.from.0.as_chunks().0 else { return ReferenceSource::default() };
    (*start, row.kind == ReferenceKind::Commit)
}

impl<'h> CheckReferences<'h> {
    pub(super) fn new(tx: &'h dyn KvRead, rows: &'h Rows, state: References) -> Self {
        CheckReferences { tx, rows, state, found: 0, of_source: HashMap::new() }
    }

    /// Looks for an expected row.
    fn expect(&mut self, row: &ReferenceRow, report: &mut Verification) -> Result<()> {
        let (page, key) = (self.rows.number, row.key());
        let read = self.rows.has_reference(self.tx, row);
        match report.readable((page, &key), "a reference row", read)? {
            Some(true) => {
                self.found += 1;
                *self.of_source.entry(reference_source(row)).or_default() += 1;
            }
            Some(false) if self.state == References::Complete => {
                report.add(page, &key, "the row of a reference to a piece", "no row");
            }
            // A damaged row is reported already; while rows are built, a missing one may come
            // later.
            Some(false) | None => {}
        }
        Ok(())
    }

    /// Checks the rows of a commit, which has each root once.
    pub(super) fn root(
        &mut self,
        commit: &CommitId,
        root: &Digest,
        report: &mut Verification,
    ) -> Result<()> {
        if self.state == References::Off || *root == crate::node::view::Node::empty().0 {
            return Ok(());
        }
        let row = ReferenceRow { to: *root, kind: ReferenceKind::Commit, from: commit.0 };
        self.expect(&row, report)
    }

    /// Checks the rows of a piece, which is reachable or not.
    pub(super) fn piece(
        &mut self,
        digest: &Digest,
        piece: &PieceRow<'_>,
        is_reached: bool,
        report: &mut Verification,
    ) -> Result<()> {
        if self.state == References::Off {
            return Ok(());
        }
        if self.state == References::Complete
            && !is_reached
            && !self.rows.is_needed(self.tx, digest)?
            && !self.rows.is_suspect(self.tx, digest).unwrap_or(true)
        {
            let expected = "a row 24, 26 or 36 of an unreachable piece";
            report.add(self.rows.number, &piece_key(digest), expected, "none");
        }
        if piece.kind == Kind::Chunk {
            return Ok(());
        }
        // A damaged piece is reported by its own check.
        let children = children(piece.kind, digest, piece.bytes.to_vec()).unwrap_or_default();
        children.iter().try_for_each(|row| self.expect(row, report))
    }

    /// Whether the source that a row names does refer to the piece. Children of sources are cached.
    fn is_right(
        &self,
        row: &ReferenceRow,
        graph: &Graph,
        known: &mut HashMap<Digest, Option<Vec<ReferenceRow>>>,
    ) -> Result<bool> {
        if row.kind == ReferenceKind::Commit {
            return Ok(graph.has_root(&CommitId(row.from), &row.to));
        }
        let rows = match known.entry(row.from) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let rows = match self.rows.children_of(self.tx, &row.from) {
                    Ok(children) => Some(children.unwrap_or_default()),
                    // The source is damaged, which is reported by its own check, and its children
                    // are not known.
                    Err(error) if error.is_unreadable() => None,
                    Err(error) => return Err(error),
                };
                unknown.insert(rows)
            }
        };
        Ok(rows.as_ref().is_none_or(|rows| rows.binary_search(row).is_ok()))
    }

    /// Checks that there are no other rows than those that were found, if `there` rows exist.
    pub(super) fn end(
        mut self,
        there: u64,
        graph: &Graph,
        report: &mut Verification,
    ) -> Result<()> {
        if self.state == References::Off || there == self.found {
            return Ok(());
        }
        // Only sources with more rows than were found are examined.
        let mut left = std::mem::take(&mut self.of_source);
        self.rows.visit_references(self.tx, |row| {
            *left.entry(reference_source(&row)).or_default() -= 1;
            Ok(())
        })?;
        left.retain(|_, left| *left < 0);
        let (mut other, mut known) = (Vec::new(), HashMap::new());
        self.rows.visit_references(self.tx, |row| {
            if left.contains_key(&reference_source(&row))
                && !self.is_right(&row, graph, &mut known)?
            {
                other.push(row);
            }
            Ok(())
        })?;
        for row in other {
            let from = match row.kind {
                ReferenceKind::Commit => commit_key(&CommitId(row.from)),
                _ => piece_key(&row.from),
            };
            let expected = format!("row {} to refer to this piece", permazen_kv::Hex(&from));
            report.add(self.rows.number, &row.key(), expected, "it does not");
        }
        Ok(())
    }
}
