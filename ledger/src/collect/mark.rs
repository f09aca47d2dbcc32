//! Marks the pieces that are reachable from commits.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use bytes::Bytes;
use permazen_kv::KvRead;
use roaring::RoaringTreemap;

use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::node::items::{Priority, REFERENCE};
use crate::node::view::Node;
use crate::process::open_page::OpenPage;
use crate::rows::page::Rows;
use crate::rows::statuses::Remote;
use crate::rows::streams::StreamedRow;
use crate::value::index::{Index, Part};
use crate::value::reference::Reference;

/// How many commits are read in one slice.
const COMMITS: usize = 256;

/// A slice ends after this number of pieces, or after this time.
const PIECES: usize = 4_096;
const SLICE: Duration = Duration::from_millis(4);

/// A reachable piece that is still to be visited.
#[derive(Debug)]
enum Ahead {
    Node(Digest),
    /// A part of a value.
    Value {
        digest: Digest,
        /// The levels of index pieces.
        levels: u8,
        len: u64,
        /// It may be at the remote only.
        can_be_absent: bool,
    },
}

/// How far the pieces of streams were read.
#[derive(Debug, Default)]
enum Streamed {
    #[default]
    Begin,
    Reached(StreamedRow),
    All,
}

/// The numbers of the reachable pieces that were found so far.
#[derive(Debug, Default)]
pub(super) struct Mark {
    pub(super) marks: RoaringTreemap,
    /// The last commit that was read.
    reached: Option<CommitId>,
    /// The commit that was read, or the piece that was marked, last. Each is only once, so this
    /// changes as long as the round gets on.
    pub(super) progress: Option<Digest>,
    streamed: Streamed,
    ahead: Vec<Ahead>,
}

impl Mark {
    /// Reads the next pieces. `true` once all are read.
    pub(super) fn step(&mut self, page: &OpenPage) -> Result<bool> {
        self.go_on(page).map_err(|error| error.needed(|by| by.page = page.rows.number))
    }

    fn go_on(&mut self, page: &OpenPage) -> Result<bool> {
        let (tx, begin) = (page.read()?, Instant::now());
        // On an attached page, pieces of lazy values may be absent.
        let is_attached = page.rows.remote(&tx)? == Remote::Attached;
        if !matches!(self.streamed, Streamed::All) {
            self.add_streamed(&page.rows, &tx)?;
            return Ok(false);
        }
        for _ in 0..PIECES {
            if self.ahead.is_empty() && !self.add_commits(&page.rows, &tx)? {
                self.marks.optimize();
                return Ok(true);
            }
            if let Some(ahead) = self.ahead.pop()
                && let Err(error) = self.enter(&page.rows, &tx, &ahead, is_attached)
            {
                // The error may be retryable, so the piece is visited again.
                self.ahead.push(ahead);
                return Err(error);
            }
            if begin.elapsed() >= SLICE {
                break;
            }
        }
        Ok(false)
    }

    /// Marks the next pieces of streams. Each of their pieces has a row, so nothing is entered.
    fn add_streamed(&mut self, rows: &Rows, tx: &dyn KvRead) -> Result<()> {
        let after = match &self.streamed {
            Streamed::Reached(row) => Some(*row),
            _ => None,
        };
        let mut found = Vec::new();
        rows.visit_streamed(tx, after.as_ref(), |row| {
            found.push(row);
            match found.len() < PIECES {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        for StreamedRow { digest, .. } in &found {
            let missing = || LedgerError::missing(Kind::Chunk, digest);
            self.mark(rows.number_of(tx, digest)?.ok_or_else(missing)?, digest);
        }
        self.streamed = match found.last() {
            Some(last) if found.len() == PIECES => Streamed::Reached(*last),
            _ => Streamed::All,
        };
        Ok(())
    }

    /// Adds the roots of the next commits. `false` if there are no more.
    fn add_commits(&mut self, rows: &Rows, tx: &dyn KvRead) -> Result<bool> {
        let (mut count, mut last) = (0, self.reached);
        let ahead = &mut self.ahead;
        rows.visit_commits(tx, self.reached.as_ref(), |id, commit, _| {
            last = Some(id);
            count += 1;
            let roots = [Some(commit.root), commit.conflicts].into_iter().flatten();
            // The empty node has no row.
            let roots = roots.filter(|root| *root != Node::empty().0);
            ahead.extend(roots.map(Ahead::Node));
            match count < COMMITS {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        self.reached = last;
        if count > 0 {
            self.progress = last.map(|id| id.0);
        }
        Ok(count > 0)
    }

    fn mark(&mut self, number: u64, digest: &Digest) {
        if self.marks.insert(number) {
            self.progress = Some(*digest);
        }
    }

    /// Marks a piece, and adds its children, unless it is marked already.
    fn enter(
        &mut self,
        rows: &Rows,
        tx: &dyn KvRead,
        ahead: &Ahead,
        is_attached: bool,
    ) -> Result<()> {
        let (kind, digest) = match ahead {
            Ahead::Node(digest) => (Kind::Node, digest),
            Ahead::Value { digest, levels: 0, .. } => (Kind::Chunk, digest),
            Ahead::Value { digest, .. } => (Kind::Index, digest),
        };
        let missing = || LedgerError::missing(kind, digest);
        // A lazy value may be fetched later or never. Before a fetch, no check has compared it with
        // the leaf that names it, so a mismatch is no damage.
        let is_lazy = matches!(ahead, Ahead::Value { can_be_absent: true, .. });
        let is_mismatch_damage = !is_lazy || !is_attached;
        let number = match rows.piece_number(tx, kind, digest) {
            Err(LedgerError::Integrity { .. }) if !is_mismatch_damage => return Ok(()),
            number => match number? {
                Some(number) => number,
                // A piece that is not at the remote yet was stored here, so it is missing.
                None if !is_mismatch_damage && !rows.is_local(tx, digest)? => return Ok(()),
                None => return Err(missing()),
            },
        };
        if kind == Kind::Chunk || self.marks.contains(number) {
            self.mark(number, digest);
            return Ok(());
        }
        let bytes = Bytes::from(rows.piece(tx, kind, digest)?.ok_or_else(missing)?);
        match *ahead {
            Ahead::Node(digest) => self.add_children(&Node::checked(&digest, bytes)?, &digest)?,
            Ahead::Value { digest, levels, len, can_be_absent } => {
                let index = match Index::checked(&digest, bytes.clone(), levels - 1, len) {
                    // The piece is intact: the leaf names another piece than it should.
                    Err(_) if !is_mismatch_damage && kind.digest(&bytes) == digest => return Ok(()),
                    index => index?,
                };
                let parts = (0..index.len()).filter_map(|at| index.part(at));
                self.ahead.extend(parts.map(|Part { len, digest }| Ahead::Value {
                    digest,
                    levels: levels - 1,
                    len,
                    can_be_absent,
                }));
            }
        }
        // Marked last: a marked piece is not visited again, and an error before must change
        // nothing.
        self.mark(number, digest);
        Ok(())
    }

    fn add_children(&mut self, node: &Node, digest: &Digest) -> Result<()> {
        for at in 0..node.len() {
            if let Some(child) = node.child(at) {
                self.ahead.push(Ahead::Node(child.digest));
            } else if node.payload(at).flags & REFERENCE != 0 {
                let reference = Reference::parse(node.payload(at).bytes)
                    .map_err(|found| LedgerError::refused(Kind::Node, digest, found))?;
                let Reference { top: digest, levels, len } = reference;
                let can_be_absent = node.payload(at).priority() == Priority::Lazy;
                self.ahead.push(Ahead::Value { digest, levels, len, can_be_absent });
            }
        }
        Ok(())
    }
}
