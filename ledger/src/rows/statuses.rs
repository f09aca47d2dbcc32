//! The rows of commits and pieces that are not at the remote yet, and of the remote itself.

use std::collections::BTreeSet;

use permazen_kv::{KvRead, KvWrite};

use super::counts::Counts;
use super::page::Rows;
use crate::digest::Digest;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;

pub(super) const UNSYNCED: u8 = 0x25;
pub(super) const LOCAL: u8 = 0x27;
pub(super) const NOTE: u8 = 0x29;
pub(super) const REMOTE: u8 = 0x2a;

/// Whether a page has a remote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Remote {
    #[default]
    None,
    /// Commits and pieces that are older than the remote get their rows, up to this digest so far;
    /// `None` at the beginning. Or the page is being detached, and the rows go; then it is `None`.
    Attaching(Option<Digest>),
    /// Commits and pieces without a row are at the remote.
    Attached,
}

impl Remote {
    pub(super) fn parse(value: &[u8]) -> Option<Self> {
        match value {
            [1, reached @ ..] => {
                let reached = Digest::from_slice(reached)?;
                // Zeros stand for the beginning. No piece has this digest.
                Some(Remote::Attaching(Some(reached).filter(|reached| reached.0 != [0; 32])))
            }
            [2] => Some(Remote::Attached),
            _ => None,
        }
    }

    fn to_bytes(self) -> Vec<u8> {
        match self {
            Remote::None => Vec::new(),
            Remote::Attaching(reached) => {
                let reached = reached.map_or([0; 32], |reached| reached.0);
                [&[1][..], &reached].concat()
            }
            Remote::Attached => vec![2],
        }
    }
}

/// Refuses an invalid name of a note.
pub(crate) fn check_note(name: &[u8]) -> Result<()> {
    match name.len() {
        1..=255 => Ok(()),
        len => {
            let what = format!("the name of a note has 1 to 255 bytes, and not {len}");
            Err(LedgerError::InvalidArgument(what))
        }
    }
}

/// Writes the statuses of the commits and pieces of one transaction.
#[derive(Debug)]
pub(crate) struct StatusWriter {
    /// Commits and new pieces get a row.
    has_remote: bool,
    /// Whether streams have pieces. `None` until this is asked.
    has_streamed: Option<bool>,
}

impl StatusWriter {
    pub(crate) fn begin(rows: &Rows, tx: &dyn KvRead) -> Result<Self> {
        Ok(StatusWriter { has_remote: rows.remote(tx)? != Remote::None, has_streamed: None })
    }

    /// For commits and pieces that come from the remote.
    pub(crate) fn from_remote() -> Self {
        StatusWriter { has_remote: false, has_streamed: None }
    }

    /// A piece of a commit. If it was stored before, a stream may have put it: it is not transient
    /// any more once a commit has it.
    pub(crate) fn piece(
        &mut self,
        (rows, tx): (&Rows, &mut dyn KvWrite),
        digest: &Digest,
        is_new: bool,
        counts: &mut Counts,
    ) -> Result<()> {
        if is_new {
            return self.new_piece((rows, tx), digest, counts);
        }
        let has_streamed = match self.has_streamed {
            Some(known) => known,
            // Asked once for each transaction: most pages have no streams.
            None => *self.has_streamed.insert(rows.has_streamed(tx)?),
        };
        if has_streamed { rows.settle_streamed(tx, digest) } else { Ok(()) }
    }

    /// A piece that was not stored before.
    pub(crate) fn new_piece(
        &self,
        (rows, tx): (&Rows, &mut dyn KvWrite),
        digest: &Digest,
        counts: &mut Counts,
    ) -> Result<()> {
        if self.has_remote { rows.put_local(tx, digest, counts) } else { Ok(()) }
    }

    /// A commit that was not stored before.
    pub(crate) fn commit(
        &self,
        (rows, tx): (&Rows, &mut dyn KvWrite),
        (id, generation): (&CommitId, u64),
        counts: &mut Counts,
    ) -> Result<()> {
        if self.has_remote { rows.put_unsynced(tx, id, generation, counts) } else { Ok(()) }
    }
}

/// The key of the row of a commit that is not at the remote yet, without the prefix of the page.
pub(crate) fn unsynced_key(id: &CommitId) -> Vec<u8> {
    [&[UNSYNCED][..], &id.0.0].concat()
}

fn local_key(digest: &Digest) -> Vec<u8> {
    [&[LOCAL][..], &digest.0].concat()
}

fn note_key(name: &[u8]) -> Vec<u8> {
    [&[NOTE][..], name].concat()
}

impl Rows {
    pub(crate) fn remote(&self, tx: &dyn KvRead) -> Result<Remote> {
        match self.get(tx, &[REMOTE])? {
            None => Ok(Remote::None),
            Some(value) => Remote::parse(&value)
                .ok_or_else(|| self.damaged(&[REMOTE], "it is no remote that is known")),
        }
    }

    pub(crate) fn put_remote(&self, tx: &mut dyn KvWrite, remote: Remote) -> Result<()> {
        match remote {
            // No row means no remote, so this state has one form.
            Remote::None => self.remove(tx, &[REMOTE]),
            remote => self.put(tx, &[REMOTE], remote.to_bytes()),
        }
    }

    /// The generation of a commit with a row that says that it is not at the remote yet. `None`
    /// without the row.
    pub(crate) fn unsynced(&self, tx: &dyn KvRead, id: &CommitId) -> Result<Option<u64>> {
        let key = unsynced_key(id);
        let Some(value) = self.get(tx, &key)? else { return Ok(None) };
        match <[u8; 8]>::try_from(&*value) {
            Ok(generation) => Ok(Some(u64::from_be_bytes(generation))),
            Err(_) => Err(self.damaged(&key, "it is no generation")),
        }
    }

    /// Writes that a commit is not at the remote yet.
    pub(crate) fn put_unsynced(
        &self,
        tx: &mut dyn KvWrite,
        id: &CommitId,
        generation: u64,
        counts: &mut Counts,
    ) -> Result<()> {
        // The rows are counted, so a row that is there must not count twice.
        if self.unsynced(tx, id)?.is_none() {
            self.put(tx, &unsynced_key(id), generation.to_be_bytes().to_vec())?;
            counts.unsynced = counts.unsynced.saturating_add(1);
        }
        Ok(())
    }

    /// Removes the row of an unsynced commit. Returns `false` if there was no row.
    pub(crate) fn remove_unsynced(
        &self,
        tx: &mut dyn KvWrite,
        id: &CommitId,
        counts: &mut Counts,
    ) -> Result<bool> {
        let is_there = self.unsynced(tx, id)?.is_some();
        if is_there {
            self.remove(tx, &unsynced_key(id))?;
            counts.unsynced = counts.unsynced.saturating_sub(1);
        }
        Ok(is_there)
    }

    /// The commits that are not at the remote yet, by their IDs.
    pub(crate) fn all_unsynced(&self, tx: &dyn KvRead) -> Result<Vec<CommitId>> {
        let mut all = Vec::new();
        self.visit(tx, &[UNSYNCED], |id, _| match Digest::from_slice(id) {
            Some(id) => {
                all.push(CommitId(id));
                Ok(())
            }
            None => Err(self.damaged(&[&[UNSYNCED][..], id].concat(), "it is no commit")),
        })?;
        Ok(all)
    }

    /// The commits that are not at the remote yet and are reachable from a head or a tag, by
    /// generation.
    pub(crate) fn reachable_unsynced(&self, tx: &dyn KvRead) -> Result<BTreeSet<(u64, CommitId)>> {
        let heads = self.branches(tx)?.into_iter().flat_map(|(_, heads)| heads);
        let mut ahead: Vec<CommitId> = heads.map(|head| head.id).collect();
        ahead.extend(self.tags(tx)?.into_iter().map(|(_, id)| id));
        let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::new());
        while let Some(id) = ahead.pop() {
            if !seen.insert(id) {
                continue;
            }
            // A synced commit has only synced parents.
            let Some(generation) = self.unsynced(tx, &id)? else { continue };
            found.insert((generation, id));
            ahead.extend(self.commit(tx, &id)?.iter().flat_map(|commit| commit.parents()));
        }
        Ok(found)
    }

    /// Whether a piece has a row that says that it is not at the remote yet.
    pub(crate) fn is_local(&self, tx: &dyn KvRead, digest: &Digest) -> Result<bool> {
        Ok(self.get(tx, &local_key(digest))?.is_some())
    }

    /// Writes that a piece is not at the remote yet.
    pub(crate) fn put_local(
        &self,
        tx: &mut dyn KvWrite,
        digest: &Digest,
        counts: &mut Counts,
    ) -> Result<()> {
        if !self.is_local(tx, digest)? {
            self.put(tx, &local_key(digest), Vec::new())?;
            counts.local = counts.local.saturating_add(1);
        }
        Ok(())
    }

    /// Removes the row of a local piece. Returns `false` if there was no row.
    pub(crate) fn remove_local(
        &self,
        tx: &mut dyn KvWrite,
        digest: &Digest,
        counts: &mut Counts,
    ) -> Result<bool> {
        let is_there = self.is_local(tx, digest)?;
        if is_there {
            self.remove(tx, &local_key(digest))?;
            counts.local = counts.local.saturating_sub(1);
        }
        Ok(is_there)
    }

    /// Calls `each` with the pieces after this one that are not at the remote yet, until it returns
    /// `false`.
    pub(crate) fn visit_local(
        &self,
        tx: &dyn KvRead,
        after: Option<&Digest>,
        mut each: impl FnMut(Digest) -> Result<bool>,
    ) -> Result<()> {
        use std::ops::ControlFlow::{Break, Continue};
        self.visit_digests(tx, LOCAL, after, |digest, key, row| {
            super::sealed::open(self.number, key, row)?;
            Ok(if each(digest)? { Continue(()) } else { Break(()) })
        })
    }

    /// Whether a stream has put the piece, and no commit has stored it yet. A commit can have it
    /// all the same, in a lazy value of which it was absent.
    pub(crate) fn is_transient(&self, tx: &dyn KvRead, digest: &Digest) -> Result<bool> {
        use super::process::StreamState;
        use super::streams::StreamedRow;
        let mut rows = Vec::new();
        self.visit(tx, &[&[super::streams::STREAMED][..], &digest.0].concat(), |rest, value| {
            let key = [&[super::streams::STREAMED][..], &digest.0, rest].concat();
            let row = StreamedRow::parse(&key[1..], value);
            rows.push(row.ok_or_else(|| self.damaged(&key, "it is no piece of a stream"))?);
            Ok(())
        })?;
        // No stream has written the piece, so it was there before them.
        if !rows.iter().any(|row| row.is_written) {
            return Ok(false);
        }
        for row in rows {
            // A commit has the value of this stream.
            if let Some(StreamState::Attached { .. }) = self.stream(tx, &row.stream)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Removes at most `most` rows of unsynced commits and local pieces. Returns `false` if more
    /// are left.
    pub(crate) fn remove_statuses(
        &self,
        tx: &mut dyn KvWrite,
        most: usize,
        counts: &mut Counts,
    ) -> Result<bool> {
        let (keys, is_all) = self.some_keys(tx, &[UNSYNCED, LOCAL], most)?;
        for (first, key) in keys {
            tx.remove(&key)?;
            let count = if first == LOCAL { &mut counts.local } else { &mut counts.unsynced };
            *count = count.saturating_sub(1);
        }
        Ok(is_all)
    }

    /// A note, which code that syncs has put.
    pub(crate) fn note(&self, tx: &dyn KvRead, name: &[u8]) -> Result<Option<Vec<u8>>> {
        self.get(tx, &note_key(name))
    }

    pub(crate) fn put_note(&self, tx: &mut dyn KvWrite, name: &[u8], note: &[u8]) -> Result<()> {
        self.put(tx, &note_key(name), note.to_vec())
    }

    pub(crate) fn remove_note(&self, tx: &mut dyn KvWrite, name: &[u8]) -> Result<()> {
        self.remove(tx, &note_key(name))
    }

    /// Whether a branch was ever reset, squashed or removed.
    pub(crate) fn has_resets(&self, tx: &dyn KvRead) -> Result<bool> {
        let (min, max) = self.span(&[super::page::RESETS]);
        Ok(tx.at_least(&min, max.as_deref())?.is_some())
    }
}
