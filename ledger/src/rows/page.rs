//! The rows of a page.

use std::ops::ControlFlow;

use permazen_kv::key::after_prefix;
use permazen_kv::{Direction, KeySpan, KvRead, KvWrite};

use super::{number, sealed};
use crate::commit::encoding::Commit;
use crate::commit::time::CommitTime;
use crate::digest::Digest;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;

pub(super) const HEAD: u8 = 0x20;
pub(super) const MERGE: u8 = 0x21;
pub(super) const COMMIT: u8 = 0x22;
pub(super) const KEEP_VERSION: u8 = 0x28;
pub(super) const RESETS: u8 = 0x2c;
pub(super) const TAG: u8 = 0x2e;

/// A branch can be reset or removed at most this number of times, less one.
pub(super) const MAX_RESETS: u64 = 1 << 24;

/// The branch that a page is made with.
pub(crate) const MAIN: &str = "main";

/// The first byte of the rows of all pages.
pub(super) const PAGES: u8 = 0x10;

/// The first byte of the key of a row, and the key as the host has it.
pub(super) type StoredKey = (u8, Vec<u8>);

/// The rows of one page in its host.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    /// The number of the page.
    pub(crate) number: u64,
    prefix: Vec<u8>,
}

/// Refuses an invalid name of a branch or tag.
pub(crate) fn check_name(name: &str) -> Result<()> {
    if name.is_empty() || name.len() > 255 || name.contains('\0') {
        let what = "the name of a branch or tag has 1 to 255 bytes, and none of them is zero";
        return Err(LedgerError::InvalidArgument(format!("{name:?}: {what}")));
    }
    Ok(())
}

// The keys of rows, without the prefix of the page.

/// The beginning of the keys of the heads of a branch.
pub(crate) fn heads_key(branch: &str) -> Vec<u8> {
    [&[HEAD][..], branch.as_bytes(), &[0]].concat()
}

/// The key of a head of a branch.
pub(crate) fn head_key(branch: &str, id: &CommitId) -> Vec<u8> {
    [&heads_key(branch)[..], &id.0.0].concat()
}

/// The key of the resets of a branch.
pub(crate) fn resets_key(branch: &str) -> Vec<u8> {
    [&[RESETS][..], branch.as_bytes()].concat()
}

/// The key of a commit.
pub(crate) fn commit_key(id: &CommitId) -> Vec<u8> {
    [&[COMMIT][..], &id.0.0].concat()
}

/// The key of a merge.
pub(crate) fn merge_key(parents: &[CommitId; 2], merge: &CommitId) -> Vec<u8> {
    [&[MERGE][..], &parents[0].0.0, &parents[1].0.0, &merge.0.0].concat()
}

impl Rows {
    /// The rows of a page that lies in the database of its repository.
    pub(crate) fn under_prefix(number: u64) -> Self {
        Rows { number, prefix: [&[PAGES][..], &number::encode(number)].concat() }
    }

    /// The rows of a page that has a database of its own.
    pub(crate) fn separate(number: u64) -> Self {
        Rows { number, prefix: Vec::new() }
    }

    /// Whether the page has a database of its own.
    pub(crate) fn is_separate(&self) -> bool {
        self.prefix.is_empty()
    }

    /// The span of all rows of the page.
    pub(crate) fn all(&self) -> (Vec<u8>, Option<Vec<u8>>) {
        (self.prefix.clone(), after_prefix(&self.prefix))
    }

    /// The span of the rows whose keys begin like this.
    pub(super) fn span(&self, begin: &[u8]) -> (Vec<u8>, Option<Vec<u8>>) {
        let min = [&self.prefix, begin].concat();
        let max = after_prefix(&min);
        (min, max)
    }

    /// The key of a row as the host has it.
    pub(super) fn stored(&self, key: &[u8]) -> Vec<u8> {
        [&self.prefix[..], key].concat()
    }

    pub(super) fn get(&self, tx: &dyn KvRead, key: &[u8]) -> Result<Option<Vec<u8>>> {
        match tx.get(&self.stored(key))? {
            None => Ok(None),
            Some(row) => Ok(Some(sealed::open(self.number, key, &row)?.to_vec())),
        }
    }

    pub(super) fn put(&self, tx: &mut dyn KvWrite, key: &[u8], value: Vec<u8>) -> Result<()> {
        let row = sealed::seal(self.number, key, value);
        Ok(tx.put(&self.stored(key), &row)?)
    }

    pub(super) fn remove(&self, tx: &mut dyn KvWrite, key: &[u8]) -> Result<()> {
        Ok(tx.remove(&self.stored(key))?)
    }

    /// Calls `each` with the rest of the key and the value of each row whose key begins like this.
    pub(super) fn visit(
        &self,
        tx: &dyn KvRead,
        begin: &[u8],
        mut each: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        let (min, max) = self.span(begin);
        for pair in tx.scan(KeySpan::new(&min, max.as_deref()), Direction::Forward)? {
            let (key, row) = pair?;
            let key = key.get(self.prefix.len()..).unwrap_or_default();
            let value = sealed::open(self.number, key, &row)?;
            each(&key[begin.len()..], value)?;
        }
        Ok(())
    }

    /// Calls `each` with the rows that have this first byte and a digest after this one, until it
    /// breaks: with the digest, the key and the row as they are.
    pub(super) fn visit_digests(
        &self,
        tx: &dyn KvRead,
        first: u8,
        after: Option<&Digest>,
        mut each: impl FnMut(Digest, &[u8], &[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let (mut min, max) = self.span(&[first]);
        if let Some(after) = after {
            // The least key after that of the digest.
            min.extend_from_slice(&after.0);
            min.push(0);
        }
        for pair in tx.scan(KeySpan::new(&min, max.as_deref()), Direction::Forward)? {
            let (key, row) = pair?;
            let key = key.get(self.prefix.len()..).unwrap_or_default();
            let Some(digest) = Digest::from_slice(&key[1..]) else {
                return Err(self.damaged(key, "no digest in its key"));
            };
            if each(digest, key, &row)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The keys of at most `most` rows with these first bytes, as the host has them, each with its
    /// first byte. `false` if there are more.
    pub(super) fn some_keys(
        &self,
        tx: &dyn KvRead,
        firsts: &[u8],
        most: usize,
    ) -> Result<(Vec<StoredKey>, bool)> {
        let mut keys = Vec::new();
        for first in firsts {
            let (min, max) = self.span(&[*first]);
            for pair in tx.scan(KeySpan::new(&min, max.as_deref()), Direction::Forward)? {
                if keys.len() == most {
                    return Ok((keys, false));
                }
                keys.push((*first, pair?.0.into_owned()));
            }
        }
        Ok((keys, true))
    }

    pub(super) fn damaged(&self, key: &[u8], found: &str) -> LedgerError {
        sealed::damaged(self.number, key, found)
    }

    /// The heads of a branch, the oldest first. Empty if there is no such branch.
    pub(crate) fn heads(&self, tx: &dyn KvRead, branch: &str) -> Result<Vec<Head>> {
        let mut heads = Vec::new();
        let begin = heads_key(branch);
        self.visit(tx, &begin, |id, value| {
            heads.push(self.head(&begin, id, value)?);
            Ok(())
        })?;
        if heads.is_empty() {
            // Of a deleted page the error is another one.
            self.check_exists(tx)?;
        }
        heads.sort_by_key(|head| (head.time, head.id));
        Ok(heads)
    }

    /// Fails if branch `main` has lost its head without a reset: damage. A collection would remove
    /// all of its commits.
    pub(crate) fn check_main(&self, tx: &dyn KvRead) -> Result<()> {
        if self.heads(tx, MAIN)?.is_empty() && self.resets(tx, MAIN)? == 0 {
            let found = "there is no head of the branch main, which was never removed";
            return Err(self.damaged(&heads_key(MAIN), found));
        }
        Ok(())
    }

    fn head(&self, begin: &[u8], id: &[u8], value: &[u8]) -> Result<Head> {
        let time = value.try_into().map(u64::from_be_bytes);
        match (Digest::from_slice(id), time) {
            (Some(id), Ok(time)) => Ok(Head { id: CommitId(id), time: CommitTime(time) }),
            _ => Err(self.damaged(&[begin, id].concat(), "it is no head")),
        }
    }

    /// The branches with their heads.
    pub(crate) fn branches(&self, tx: &dyn KvRead) -> Result<Vec<(String, Vec<Head>)>> {
        let mut branches: Vec<(String, Vec<Head>)> = Vec::new();
        self.visit(tx, &[HEAD], |rest, value| {
            let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
            let (name, id) = rest.split_at(end);
            let key = || [&[HEAD][..], rest].concat();
            let Ok(name) = str::from_utf8(name) else {
                return Err(self.damaged(&key(), "the name of a branch that is not UTF-8"));
            };
            let head = self.head(
                &[&[HEAD][..], name.as_bytes(), &[0]].concat(),
                id.get(1..).unwrap_or_default(),
                value,
            )?;
            match branches.last_mut() {
                Some((last, heads)) if last == name => heads.push(head),
                _ => branches.push((name.to_owned(), vec![head])),
            }
            Ok(())
        })?;
        if branches.is_empty() {
            self.check_exists(tx)?;
        }
        for (_, heads) in &mut branches {
            heads.sort_by_key(|head| (head.time, head.id));
        }
        Ok(branches)
    }

    pub(crate) fn put_head(&self, tx: &mut dyn KvWrite, branch: &str, head: &Head) -> Result<()> {
        let key = head_key(branch, &head.id);
        self.put(tx, &key, head.time.0.to_be_bytes().to_vec())
    }

    pub(crate) fn remove_head(
        &self,
        tx: &mut dyn KvWrite,
        branch: &str,
        head: &CommitId,
    ) -> Result<()> {
        self.remove(tx, &head_key(branch, head))
    }

    /// How often a branch was reset, squashed or removed.
    pub(crate) fn resets(&self, tx: &dyn KvRead, branch: &str) -> Result<u64> {
        let key = resets_key(branch);
        match self.number_in(tx, &key)? {
            resets if resets < MAX_RESETS => Ok(resets),
            _ => Err(self.damaged(&key, "more resets than the limit")),
        }
    }

    /// The version of the keep set. It is raised when the set may get an older commit, when a
    /// commit is removed, and when the rule or the remote changes; a set that was computed before
    /// must be computed again.
    pub(crate) fn keep_version(&self, tx: &dyn KvRead) -> Result<u64> {
        self.number_in(tx, &[KEEP_VERSION])
    }

    /// Raises the version of the keep set: sets that were computed before are stale.
    pub(crate) fn raise_keep_version(&self, tx: &mut dyn KvWrite) -> Result<()> {
        let keep_version = self.keep_version(tx)?;
        // It is only compared for equality, so it may wrap.
        self.put(tx, &[KEEP_VERSION], keep_version.wrapping_add(1).to_be_bytes().to_vec())
    }

    /// The number in a row; 0 without the row.
    fn number_in(&self, tx: &dyn KvRead, key: &[u8]) -> Result<u64> {
        match self.get(tx, key)? {
            None => Ok(0),
            Some(value) => match <[u8; 8]>::try_from(&*value) {
                Ok(count) => Ok(u64::from_be_bytes(count)),
                Err(_) => Err(self.damaged(key, "it is no number")),
            },
        }
    }

    pub(crate) fn put_resets(&self, tx: &mut dyn KvWrite, branch: &str, resets: u64) -> Result<()> {
        if resets >= MAX_RESETS {
            let text = format!(
                "branch {branch:?} cannot be reset, squashed or removed any more: that was done {} times, which is \
                 the limit",
                resets - 1
            );
            return Err(LedgerError::InvalidArgument(text));
        }
        let key = resets_key(branch);
        self.put(tx, &key, resets.to_be_bytes().to_vec())
    }

    fn tag_key(name: &str) -> Vec<u8> {
        [&[TAG][..], name.as_bytes()].concat()
    }

    pub(crate) fn tag(&self, tx: &dyn KvRead, name: &str) -> Result<Option<CommitId>> {
        let key = Self::tag_key(name);
        let Some(value) = self.get(tx, &key)? else { return Ok(None) };
        match Digest::from_slice(&value) {
            Some(id) => Ok(Some(CommitId(id))),
            None => Err(self.damaged(&key, "it is no commit")),
        }
    }

    pub(crate) fn tags(&self, tx: &dyn KvRead) -> Result<Vec<(String, CommitId)>> {
        let mut tags = Vec::new();
        self.visit(tx, &[TAG], |name, value| {
            match (str::from_utf8(name), Digest::from_slice(value)) {
                (Ok(name), Some(id)) => tags.push((name.to_owned(), CommitId(id))),
                _ => return Err(self.damaged(&[&[TAG][..], name].concat(), "it is no tag")),
            }
            Ok(())
        })?;
        Ok(tags)
    }

    pub(crate) fn put_tag(&self, tx: &mut dyn KvWrite, name: &str, id: &CommitId) -> Result<()> {
        self.put(tx, &Self::tag_key(name), id.0.0.to_vec())
    }

    pub(crate) fn remove_tag(&self, tx: &mut dyn KvWrite, name: &str) -> Result<()> {
        self.remove(tx, &Self::tag_key(name))
    }

    /// A commit. `None` if it is not here, or is the first one.
    pub(crate) fn commit(&self, tx: &dyn KvRead, id: &CommitId) -> Result<Option<Commit>> {
        let key = commit_key(id);
        let Some(value) = self.get(tx, &key)? else { return Ok(None) };
        Ok(Some(self.parse_commit(id, &key, &value)?.0))
    }

    /// The commit in a row, and how many pieces it was the first to write.
    pub(super) fn parse_commit(
        &self,
        id: &CommitId,
        key: &[u8],
        value: &[u8],
    ) -> Result<(Commit, u32)> {
        let Some((bytes, pieces)) = value.split_last_chunk::<4>() else {
            return Err(self.damaged(key, "it is too short"));
        };
        Ok((Commit::checked(self.number, id, bytes)?, u32::from_be_bytes(*pieces)))
    }

    pub(crate) fn has_commit(&self, tx: &dyn KvRead, id: &CommitId) -> Result<bool> {
        Ok(*id == CommitId::FIRST || tx.get(&self.stored(&commit_key(id)))?.is_some())
    }

    /// Whether there is any commit.
    pub(crate) fn has_commits(&self, tx: &dyn KvRead) -> Result<bool> {
        let (min, max) = self.span(&[COMMIT]);
        Ok(tx.at_least(&min, max.as_deref())?.is_some())
    }

    /// Writes a commit that wrote `pieces` new pieces, and the row of a merge.
    pub(crate) fn put_commit(
        &self,
        tx: &mut dyn KvWrite,
        (id, commit): (&CommitId, &Commit),
        pieces: u32,
    ) -> Result<()> {
        let mut value = commit.to_bytes();
        value.extend_from_slice(&pieces.to_be_bytes());
        if let [first, second] = commit.parents() {
            self.put(tx, &merge_key(&[*first, *second], id), Vec::new())?;
        }
        self.put(tx, &commit_key(id), value)
    }

    /// Writes the row of a commit again, as it is. Returns `false` if it has none.
    pub(crate) fn write_commit_again(&self, tx: &mut dyn KvWrite, id: &CommitId) -> Result<bool> {
        let key = commit_key(id);
        let Some(value) = self.get(tx, &key)? else { return Ok(false) };
        self.put(tx, &key, value)?;
        Ok(true)
    }

    /// Adds fetched pieces to the number of pieces that a commit wrote. Returns `false` if it has
    /// no row.
    pub(crate) fn add_pieces_of(
        &self,
        tx: &mut dyn KvWrite,
        id: &CommitId,
        more: u64,
    ) -> Result<bool> {
        let key = commit_key(id);
        let Some(mut value) = self.get(tx, &key)? else { return Ok(false) };
        let (_, pieces) = self.parse_commit(id, &key, &value)?;
        if more > 0 {
            // The number only estimates garbage once the commit is removed, so it may be capped.
            let pieces = pieces.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
            value.truncate(value.len() - 4);
            value.extend_from_slice(&pieces.to_be_bytes());
            self.put(tx, &key, value)?;
        }
        Ok(true)
    }

    /// The merges of two commits.
    pub(crate) fn merges(&self, tx: &dyn KvRead, mut of: [CommitId; 2]) -> Result<Vec<CommitId>> {
        of.sort();
        let begin = [&[MERGE][..], &of[0].0.0, &of[1].0.0].concat();
        let mut merges = Vec::new();
        self.visit(tx, &begin, |id, _| match Digest::from_slice(id) {
            Some(id) => {
                merges.push(CommitId(id));
                Ok(())
            }
            None => Err(self.damaged(&[&begin, id].concat(), "it is no merge")),
        })?;
        Ok(merges)
    }
}

/// A head of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) id: CommitId,
    pub(crate) time: CommitTime,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use permazen_kv::memory::MemoryStore;
    use permazen_kv::{KvDatabase, TxOptions};

    use super::*;
    use crate::rows::parameters::PARAMETERS;

    #[test]
    fn the_error_about_the_last_reset_has_the_number_of_resets() {
        let host = MemoryStore::new();
        let (rows, mut tx) = (Rows::under_prefix(1), host.begin(&TxOptions::writing()).unwrap());
        rows.put_resets(&mut tx, "draft", MAX_RESETS - 1).unwrap();
        assert_eq!(rows.resets(&tx, "draft").unwrap(), MAX_RESETS - 1);
        let error = rows.put_resets(&mut tx, "draft", MAX_RESETS).unwrap_err().to_string();
        assert!(error.contains("\"draft\"") && error.contains(" 16777215 times"), "{error}");
    }

    #[test]
    fn a_page_is_marked_as_deleted_although_its_parameters_are_too_short() {
        let host = MemoryStore::new();
        let (rows, mut tx) = (Rows::under_prefix(1), host.begin(&TxOptions::writing()).unwrap());
        rows.put(&mut tx, &[PARAMETERS], vec![0; 3]).unwrap();
        assert!(rows.mark_deleted(&mut tx).unwrap_err().is_damage());
        rows.force_mark_deleted(&mut tx).unwrap();
        assert!(rows.is_marked_deleted(&tx).unwrap());
        assert!(matches!(rows.check_exists(&tx), Err(LedgerError::PageGone { .. })));
    }
}
