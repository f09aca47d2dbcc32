//! Lists the commits and pieces that are not at the remote yet, and marks those that were uploaded.

use permazen_kv::{KvRead, TxOptions};

use super::remote::{PageRemote, WAIT};
use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::rows::statuses::check_note;

/// A commit that is not at the remote yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnsyncedCommit {
    /// Its ID.
    pub id: CommitId,
    /// Its generation: larger than those of its parents.
    pub generation: u64,
}

/// A piece that is not at the remote yet: a node, or a part of a long value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LocalPiece {
    /// Its digest.
    pub digest: Digest,
    /// Its kind.
    pub kind: Kind,
}

impl PageRemote {
    /// The commits that are not at the remote yet and are reachable from a head or a tag, by
    /// generation: each after its parents. Unreachable ones are garbage, or merges that can be the
    /// base of others.
    ///
    /// Gets two rows for each of them; 40 bytes of memory for each.
    ///
    /// # Errors
    /// [`LedgerError::InvalidArgument`] if the page is not attached to a remote, or the host fails.
    pub fn unsynced_commits(&self) -> Result<Vec<UnsyncedCommit>> {
        let (rows, tx) = (&self.page.open.rows, self.page.read()?);
        self.check_attached(&*tx)?;
        let found = rows.reachable_unsynced(&*tx)?;
        Ok(found.into_iter().map(|(generation, id)| UnsyncedCommit { id, generation }).collect())
    }

    /// The pieces that are not at the remote yet, by their digests: at most `at_most` after this
    /// one. Pieces of values that no commit has are not among them; garbage is, until it is
    /// collected.
    ///
    /// Gets two rows for each.
    ///
    /// # Errors
    /// [`LedgerError::InvalidArgument`] if the page is not attached to a remote, or the host fails.
    pub fn local_pieces(&self, after: Option<&Digest>, at_most: usize) -> Result<Vec<LocalPiece>> {
        let (rows, tx) = (&self.page.open.rows, self.page.read()?);
        self.check_attached(&*tx)?;
        let mut found = Vec::new();
        if at_most == 0 {
            return Ok(found);
        }
        rows.visit_local(&*tx, after, |digest| {
            if !rows.is_transient(&*tx, &digest)?
                && let Some(kind) = rows.kind_of(&*tx, &digest)?
            {
                found.push(LocalPiece { digest, kind });
            }
            Ok(found.len() < at_most)
        })?;
        Ok(found)
    }

    /// The bytes of a piece, which have its digest ([`Kind::digest`]). `None` if it is not stored
    /// here.
    ///
    /// # Errors
    /// If other bytes are in its place, the page is gone, or the host fails.
    pub fn piece_bytes(&self, digest: &Digest) -> Result<Option<Vec<u8>>> {
        let (rows, tx) = (&self.page.open.rows, self.page.read()?);
        let Some(kind) = rows.kind_of(&*tx, digest)? else {
            rows.check_exists(&*tx)?;
            return Ok(None);
        };
        let Some(bytes) = rows.piece(&*tx, kind, digest)? else { return Ok(None) };
        match kind.digest(&bytes) {
            found if found == *digest => Ok(Some(bytes)),
            found => {
                let error = LedgerError::other_digest(kind, digest, &found);
                Err(error.needed(|by| by.page = self.page.number()))
            }
        }
    }

    /// The bytes of a commit, whose digest is its ID. `None` if it is not stored here, or is the
    /// first one.
    ///
    /// # Errors
    /// If other bytes are in its place, the page is gone, or the host fails.
    pub fn commit_bytes(&self, id: &CommitId) -> Result<Option<Vec<u8>>> {
        let (rows, tx) = (&self.page.open.rows, self.page.read()?);
        rows.check_exists(&*tx)?;
        let commit = rows.commit(&*tx, id)?;
        // A commit has one encoding.
        Ok(commit.map(|commit| commit.to_bytes()))
    }

    /// Marks commits and pieces as being at the remote, and puts notes, all in one transaction. A
    /// note with an empty value is removed. Commits and pieces that are not stored any more, or are
    /// marked already, are skipped.
    ///
    /// The parents of a commit must be at the remote before it, which is checked, and so must its
    /// pieces, which is not checked.
    ///
    /// Gets two rows for each commit that is not at the remote yet, if a branch was ever squashed,
    /// reset or removed: then mark many commits at once.
    ///
    /// # Errors
    /// [`LedgerError::LeftBehind`] if one of the commits that were not marked yet is reachable from
    /// no branch or tag, because a branch was squashed, reset or removed while they were uploaded.
    /// Everything is marked then, as without the error, and the same call again succeeds. After a
    /// squash, merge the commit into the branch ([`Page::merge`](crate::Page::merge)), and receive
    /// it before if it is not stored any more. A tag at the newest commit, until it is marked,
    /// prevents a squash in between.
    ///
    /// [`LedgerError::InvalidArgument`] if the page is not attached to a remote, if a parent of a
    /// commit is not at the remote, or if the name of a note is empty or longer than 255 bytes. If
    /// the page is gone, or the host fails. Nothing is changed after these.
    pub fn mark_synced(
        &self,
        commits: &[CommitId],
        pieces: &[Digest],
        notes: &[(&[u8], &[u8])],
    ) -> Result<()> {
        let rows = &self.page.open.rows;
        let mut tx = self.page.begin(&TxOptions::writing().with_wait(WAIT))?;
        rows.check_exists(&tx)?;
        self.check_attached(&tx)?;
        let (mut counts, mut marked) = (rows.counts(&tx)?, Vec::new());
        let left_behind = self.left_behind(&tx, commits)?;
        for id in commits {
            if rows.remove_unsynced(&mut tx, id, &mut counts)? {
                marked.push(*id);
            }
        }
        // Checked after all of them are marked, so that their order does not matter.
        for id in &marked {
            let parents = rows.commit(&tx, id)?;
            for parent in parents.iter().flat_map(|commit| commit.parents()) {
                if rows.unsynced(&tx, parent)?.is_some() {
                    let what = format!("parent {parent} of commit {id} is not at the remote yet");
                    return Err(LedgerError::InvalidArgument(what));
                }
            }
        }
        for digest in pieces {
            rows.remove_local(&mut tx, digest, &mut counts)?;
        }
        for (name, note) in notes {
            check_note(name)?;
            match note {
                [] => rows.remove_note(&mut tx, name)?,
                note => rows.put_note(&mut tx, name, note)?,
            }
        }
        rows.put_counts(&mut tx, &counts)?;
        if !marked.is_empty() {
            // Synced commits need not be kept, and cannot be squashed.
            rows.raise_keep_version(&mut tx)?;
        }
        tx.commit()?;
        match left_behind {
            None => Ok(()),
            Some(commit) => Err(LedgerError::LeftBehind { page: self.page.number(), commit }),
        }
    }

    /// The newest of these commits that is not marked and is reachable from no head or tag.
    fn left_behind(&self, tx: &dyn KvRead, commits: &[CommitId]) -> Result<Option<CommitId>> {
        let rows = &self.page.open.rows;
        // Without a reset, each commit is reachable from a ref.
        if commits.is_empty() || !rows.has_resets(tx)? {
            return Ok(None);
        }
        let named = rows.reachable_unsynced(tx)?;
        let mut newest = None;
        for id in commits {
            if let Some(generation) = rows.unsynced(tx, id)?
                && !named.contains(&(generation, *id))
            {
                newest = newest.max(Some((generation, *id)));
            }
        }
        Ok(newest.map(|(_, id)| id))
    }

    /// The note that [`mark_synced`](PageRemote::mark_synced) has put last under this name.
    ///
    /// # Errors
    /// If the page is gone, or the host fails.
    pub fn note(&self, name: &[u8]) -> Result<Option<Vec<u8>>> {
        check_note(name)?;
        let (rows, tx) = (&self.page.open.rows, self.page.read()?);
        rows.check_exists(&*tx)?;
        rows.note(&*tx, name)
    }
}
