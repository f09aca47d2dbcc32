//! Makes commits.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use permazen_kv::{Hex, KvError, KvTransaction, KvWrite, TxOptions, Writes};

use super::author_and_message::{AuthorAndMessage, author_and_message};
use super::retries::Retries;
use super::shared::{BranchState, Shared};
use crate::commit::encoding::{Commit, GENERATIONS, Origin};
use crate::commit::time::CommitTime;
use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::node::items::{Items, LAZY, MAX_INLINE_LEN, MAX_KEY_LEN, Payload, Priority, REFERENCE};
use crate::process::streams::Streamed;
use crate::random::random;
use crate::rows::page::Head;
use crate::rows::references::roots;
use crate::rows::statuses::StatusWriter;
use crate::tree::edit::{Edited, Edits, End, RemovedRange, edit};
use crate::tree::lookup::find;
use crate::tree::nodes::{NewNode, NodeStore, root};
use crate::value::split::{NewPiece, Splitter};

/// How long it is tried to find out whether a commit with an unknown outcome was made.
const LOOK: Duration = Duration::from_secs(2);

/// A content that is not stored yet.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) root: Digest,
    pub(crate) nodes: Vec<NewNode>,
    pub(crate) pieces: Vec<NewPiece>,
    /// Values that were written in parts, by their numbers.
    pub(crate) streamed: BTreeMap<u64, Arc<Streamed>>,
}

impl Draft {
    /// A content that was edited, with these pieces of values.
    pub(crate) fn new(edited: Edited, pieces: Vec<NewPiece>) -> Self {
        let Edited { root, nodes } = edited;
        Draft { root, nodes, pieces, streamed: BTreeMap::new() }
    }

    /// A content that is there already.
    pub(crate) fn unchanged(root: Digest) -> Self {
        Draft::new(Edited::unchanged(root), Vec::new())
    }
}

/// The result of an attempt to commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    Committed(CommitId),
    /// The branch was changed meanwhile. Nothing was written.
    Moved,
}

fn check_key(key: &[u8]) -> Result<()> {
    if key.len() > MAX_KEY_LEN {
        let start = Hex(&key[..32]).to_string().into();
        return Err(LedgerError::KeyTooLong { len: key.len(), max: MAX_KEY_LEN, start });
    }
    Ok(())
}

impl Shared {
    /// A draft: the content with this root and these changes. Nothing is written.
    ///
    /// # Errors
    /// A missing piece of the base is [`LedgerError::Missing`], for whichever reason it is missing.
    pub(crate) fn draft(&self, base: &Digest, writes: &Writes) -> Result<Draft> {
        self.draft_on(self, base, writes)
    }

    /// The same with other nodes than those of the page.
    ///
    /// # Errors
    /// Those of the nodes, and if a key or value is invalid.
    pub(crate) fn draft_on<N: NodeStore>(
        &self,
        nodes: &N,
        base: &Digest,
        writes: &Writes,
    ) -> Result<Draft> {
        let mut edits = Edits::default();
        for span in writes.removes.iter() {
            let to = span.max.map_or(End::Unbounded, |max| End::Excluded(max.to_vec()));
            edits.drops.push(RemovedRange { from: span.min.to_vec(), to });
        }
        let (mut pieces, mut streamed) = (Vec::new(), BTreeMap::new());
        let mut put = |key: &[u8], value: &[u8]| {
            let value = (value, Priority::Eager);
            self.put_new(&mut edits.puts, key, value, &mut pieces, &mut streamed)
        };
        // In the order of their keys. A counter that was put and then adjusted has the adjusted
        // value.
        let mut adjusted = self.adjusted(nodes, base, writes)?.into_iter().peekable();
        for (key, value) in &writes.puts {
            while let Some((before, new)) = adjusted.next_if(|(adjusted, _)| adjusted < key) {
                put(&before, &new)?;
            }
            match adjusted.next_if(|(adjusted, _)| adjusted == key) {
                Some((_, new)) => put(key, &new)?,
                None => put(key, value)?,
            }
        }
        for (key, new) in adjusted {
            put(&key, &new)?;
        }
        let edited = edit(nodes, &self.boundaries, base, edits)?;
        Ok(Draft { streamed, ..Draft::new(edited, pieces) })
    }

    /// Adds an entry with a value that is no reference.
    pub(crate) fn put(
        &self,
        puts: &mut Items,
        key: &[u8],
        value: &[u8],
        pieces: &mut Vec<NewPiece>,
    ) -> Result<()> {
        if self.streamed(value)?.is_some() {
            let what = "a merger takes no value that was written in parts".to_owned();
            return Err(LedgerError::InvalidArgument(what));
        }
        self.put_bytes(puts, key, (value, Priority::Eager), pieces)
    }

    /// Adds an entry. Its value is lazy if `priority` or the reference says so.
    pub(crate) fn put_new(
        &self,
        puts: &mut Items,
        key: &[u8],
        (value, priority): (&[u8], Priority),
        pieces: &mut Vec<NewPiece>,
        streamed: &mut BTreeMap<u64, Arc<Streamed>>,
    ) -> Result<()> {
        let Some((value, of_reference)) = self.streamed(value)? else {
            return self.put_bytes(puts, key, (value, priority), pieces);
        };
        check_key(key)?;
        value.with_payload(priority.max(of_reference), |payload| puts.push(key, payload));
        streamed.insert(value.number, value);
        Ok(())
    }

    fn put_bytes(
        &self,
        puts: &mut Items,
        key: &[u8],
        (value, priority): (&[u8], Priority),
        pieces: &mut Vec<NewPiece>,
    ) -> Result<()> {
        check_key(key)?;
        let lazy = if priority == Priority::Lazy { LAZY } else { 0 };
        if value.len() <= MAX_INLINE_LEN {
            puts.push(key, Payload { flags: lazy, bytes: value });
            return Ok(());
        }
        let mut splitter = Splitter::new(&self.secret);
        let mut add = |piece| {
            pieces.push(piece);
            Ok(())
        };
        splitter.push(value, &mut add)?;
        let reference = splitter.finish(&mut add)?;
        puts.push(key, Payload { flags: REFERENCE | lazy, bytes: &reference.to_bytes() });
        Ok(())
    }

    /// The counters that the changes adjust, with their new values.
    fn adjusted<N: NodeStore>(
        &self,
        nodes: &N,
        base: &Digest,
        writes: &Writes,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        if writes.adjusts.is_empty() {
            return Ok(Vec::new());
        }
        let root = root(nodes, base)?;
        let mut adjusted = Vec::new();
        for (key, by) in &writes.adjusts {
            let old = match writes.puts.get(key) {
                Some(put) => Some(put.clone()),
                None if writes.removes.contains(key) => None,
                None => match find(nodes, &root, key)? {
                    // A long value is no counter.
                    Some((leaf, at)) if leaf.payload(at).flags & REFERENCE != 0 => None,
                    Some((leaf, at)) => Some(leaf.payload(at).bytes.to_vec()),
                    None => None,
                },
            };
            // An entry that does not exist, or is no counter, stays as it is.
            if let Some(Ok(old)) = old.map(<[u8; 8]>::try_from) {
                let new = i64::from_be_bytes(old).wrapping_add(*by);
                adjusted.push((key.clone(), new.to_be_bytes().to_vec()));
            }
        }
        Ok(adjusted)
    }

    /// A commit of a change, with the author and message of this thread.
    pub(crate) fn change(&self, base: &BranchState, root: Digest) -> Result<Commit> {
        let AuthorAndMessage { author, message } = author_and_message(&self.name());
        let last = |what| LedgerError::LastCommit { page: self.number(), commit: base.head, what };
        let time = self.open.process.time_after(base.time);
        Ok(Commit {
            time: time.ok_or_else(|| last("time"))?,
            generation: self.generation_after(base.generation, &base.head)?,
            root,
            conflicts: None,
            origin: Origin::Change {
                parent: base.head,
                salt: random()?,
                device: self.open.process.device,
                author,
                message,
            },
        })
    }

    /// The generation of a commit on one with this generation.
    pub(crate) fn generation_after(&self, generation: u64, base: &CommitId) -> Result<u64> {
        let (page, commit, what) = (self.number(), *base, "generation");
        match generation + 1 {
            next if next < GENERATIONS => Ok(next),
            _ => Err(LedgerError::LastCommit { page, commit, what }),
        }
    }

    /// Makes a commit the head of a branch in place of `base`.
    pub(crate) fn commit_draft(
        &self,
        branch: &str,
        base: &BranchState,
        commit: &Commit,
        draft: &Draft,
        options: &TxOptions,
    ) -> Result<Attempt> {
        self.commit_draft_in(self.begin(options)?, (branch, base), commit, draft)
    }

    /// The same in a given transaction of the host.
    pub(crate) fn commit_draft_in(
        &self,
        mut tx: Box<dyn KvTransaction + Send>,
        (branch, base): (&str, &BranchState),
        commit: &Commit,
        draft: &Draft,
    ) -> Result<Attempt> {
        let id = Commit::id(&commit.to_bytes());
        self.open.rows.check_exists(&tx)?;
        let heads = self.open.rows.heads(&tx, branch)?;
        if heads.iter().map(|head| head.id).ne([base.head])
            || self.open.rows.resets(&tx, branch)? != base.resets
        {
            tx.rollback();
            return Ok(Attempt::Moved);
        }
        self.open.rows.remove_head(&mut tx, branch, &base.head)?;
        self.open.rows.put_head(&mut tx, branch, &Head { id, time: commit.time })?;
        if commit.parents() != [base.head] {
            // The other parent may be an expiring commit.
            for parent in commit.parents() {
                self.open.rows.keep(&mut tx, parent)?;
            }
        }
        // The merge can exist already, made by another process or as the base of another merge.
        if matches!(commit.origin, Origin::Change { .. }) || !self.open.rows.has_commit(&tx, &id)? {
            self.put_draft(&mut tx, (&id, commit), draft)?;
            self.finish_commit(tx, &id)?;
            self.note_commit(draft, &id);
        } else {
            self.finish_without_commit(tx, &id)?;
        }
        self.head_poller.wake();
        Ok(Attempt::Committed(id))
    }

    /// Fast-forwards a branch from `base` to a later commit. Returns `false` if the branch was
    /// changed meanwhile.
    pub(crate) fn forward(&self, branch: &str, base: &BranchState, to: &CommitId) -> Result<bool> {
        let mut tx = self.begin(&TxOptions::writing())?;
        self.open.rows.check_exists(&tx)?;
        let heads = self.open.rows.heads(&tx, branch)?;
        if heads.iter().map(|head| head.id).ne([base.head])
            || self.open.rows.resets(&tx, branch)? != base.resets
        {
            tx.rollback();
            return Ok(false);
        }
        let time = self.commit_in(&tx, to)?.map_or(CommitTime::default(), |commit| commit.time);
        self.open.rows.remove_head(&mut tx, branch, &base.head)?;
        self.open.rows.put_head(&mut tx, branch, &Head { id: *to, time })?;
        self.open.rows.keep(&mut tx, to)?;
        tx.commit()?;
        self.head_poller.wake();
        Ok(true)
    }

    /// Adds a commit that is no head.
    pub(crate) fn add_draft(&self, commit: &Commit, draft: &Draft) -> Result<CommitId> {
        let id = Commit::id(&commit.to_bytes());
        let mut tx = self.begin(&TxOptions::writing())?;
        self.open.rows.check_exists(&tx)?;
        if !self.open.rows.has_commit(&tx, &id)? {
            self.open.rows.raise_keep_version(&mut tx)?;
            self.put_draft(&mut tx, (&id, commit), draft)?;
            self.finish_commit(tx, &id)?;
            self.note_commit(draft, &id);
        }
        Ok(id)
    }

    /// Writes a commit with its new pieces.
    pub(crate) fn put_draft(
        &self,
        tx: &mut dyn KvWrite,
        (id, commit): (&CommitId, &Commit),
        draft: &Draft,
    ) -> Result<()> {
        for parent in commit.parents() {
            if !self.open.rows.has_commit(tx, parent)? {
                return Err(self.expired(parent));
            }
        }
        let statuses = StatusWriter::begin(&self.open.rows, tx)?;
        self.put_content(tx, (id, commit), draft, statuses)
    }

    /// Writes a commit, whose parents were checked, with its new pieces.
    pub(super) fn put_content(
        &self,
        tx: &mut dyn KvWrite,
        (id, commit): (&CommitId, &Commit),
        draft: &Draft,
        mut statuses: StatusWriter,
    ) -> Result<()> {
        let mut counts = self.open.rows.counts(tx)?;
        let before = counts.pieces;
        let nodes = draft.nodes.iter().map(|node| (Kind::Node, node.digest, &node.bytes));
        let pieces = draft.pieces.iter().map(|piece| (piece.kind, piece.part.digest, &piece.bytes));
        let mut new: Vec<_> = nodes.chain(pieces).collect();
        // In the order of their keys, which a B+tree writes fastest.
        new.sort_unstable_by_key(|(_, digest, _)| *digest);
        for (kind, digest, bytes) in new {
            let is_new = self.open.rows.add_piece(tx, (kind, &digest), bytes, &mut counts)?;
            statuses.piece((&self.open.rows, tx), &digest, is_new, &mut counts)?;
        }
        let mut written = counts.pieces - before;
        for value in draft.streamed.values() {
            written += self.take(tx, value, id, &counts)?;
        }
        // The number only estimates garbage once the commit is removed, so it may be capped.
        let written = u32::try_from(written).unwrap_or(u32::MAX);
        self.open.rows.put_commit(tx, (id, commit), written)?;
        if counts.references.are_written() {
            let roots = roots(id, &commit.root, commit.conflicts.as_ref());
            self.open.rows.put_references(tx, &roots)?;
        }
        statuses.commit((&self.open.rows, tx), (id, commit.generation), &mut counts)?;
        self.open.rows.put_counts(tx, &counts)
    }

    /// Updates streams and cache after a commit was made.
    pub(super) fn note_commit(&self, draft: &Draft, commit: &CommitId) {
        draft.streamed.values().for_each(|value| value.taken(*commit));
        self.cache.insert_new(&draft.nodes);
    }

    /// Commits a transaction that only names an existing commit. If the outcome is unknown, it
    /// stays so: the row of the commit existed before.
    pub(crate) fn finish_without_commit(
        &self,
        tx: Box<dyn KvTransaction + Send>,
        id: &CommitId,
    ) -> Result<()> {
        tx.commit().map_err(|error| match error {
            KvError::OutcomeUnknown(why) => {
                KvError::OutcomeUnknown(format!("commit {id}: {why}")).into()
            }
            error => error.into(),
        })
    }

    /// Commits a transaction that makes a commit. If the outcome is unknown, the row of the commit
    /// tells it.
    pub(crate) fn finish_commit(
        &self,
        tx: Box<dyn KvTransaction + Send>,
        id: &CommitId,
    ) -> Result<()> {
        match tx.commit() {
            // A look that fails tells nothing. Its error must not replace the unknown outcome:
            // callers repeat after some errors, and the commit may be there.
            Err(KvError::OutcomeUnknown(why)) => match self.is_there_for_good(id) {
                Ok(true) => Ok(()),
                _ => Err(KvError::OutcomeUnknown(format!("commit {id}: {why}")).into()),
            },
            result => Ok(result?),
        }
    }

    /// Whether a commit is there and lasts. A server also shows commits that its replica does not
    /// have yet, and that would be lost with the server. So this writes the row again, as it is: a
    /// host that acknowledges a change also keeps those before it.
    fn is_there_for_good(&self, id: &CommitId) -> Result<bool> {
        let mut retries = Retries::new(LOOK);
        loop {
            let options = TxOptions::writing().with_wait(retries.left());
            let look = || -> Result<bool> {
                let mut tx = self.open.host.begin(&options)?;
                self.open.rows.check_exists(&tx)?;
                if !self.open.rows.write_commit_again(&mut tx, id)? {
                    return Ok(false);
                }
                tx.commit()?;
                Ok(true)
            };
            match look() {
                Err(LedgerError::Host(error))
                    if error.is_retryable() && retries.pause(&*self.open.host)? => {}
                result => return result,
            }
        }
    }
}
