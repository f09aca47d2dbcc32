//! Brings commits and pieces from one repository to the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use permazen_ledger::{
    CommitId, Digest, Kind, LedgerError, MAIN, Page, PageId, PageSnapshot, PieceSource, Receiver,
    Result, Status,
};

use super::content::{content, number};
use crate::support::page::parents;

/// The remote as the source of pieces that are not here. Each ninth request fails.
pub(crate) struct There(pub(crate) Page, pub(crate) AtomicUsize);

impl PieceSource for There {
    fn name(&self) -> String {
        "there".to_owned()
    }

    fn fetch(
        &self,
        _page: PageId,
        wanted: &[(Kind, Digest)],
        _until: Instant,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        if self.1.fetch_add(1, Ordering::Relaxed) % 9 == 8 {
            return Err(LedgerError::InvalidArgument("the line is cut".to_owned()));
        }
        wanted.iter().map(|(_, digest)| self.0.remote().piece_bytes(digest)).collect()
    }
}

/// Lets a page get pieces from the remote that are not here.
pub(crate) fn set_source(here: &Page, there: &Page) {
    let source = There(there.clone(), AtomicUsize::new(0));
    here.set_source(Arc::new(source), Duration::from_secs(30));
}

/// Whether a page has a commit.
pub(crate) fn has(page: &Page, id: &CommitId) -> Result<bool> {
    match page.commit(id) {
        Err(LedgerError::NoCommit { .. }) => Ok(false),
        result => result.map(|_| true),
    }
}

/// Brings one commit, whose parents are there or pruned.
fn bring(from: &Page, to: &mut Receiver, id: &CommitId) -> Result<()> {
    let remote = from.remote();
    let commit = remote.commit_bytes(id)?.unwrap();
    for parent in from.commit(id)?.iter().flat_map(|commit| parents(&commit.origin)) {
        // While the page was detached, more was removed than is there.
        if let Some((generation, time)) = from.pruned_commit(&parent)? {
            to.add_pruned(&parent, generation, time).unwrap();
        }
    }
    loop {
        let wanted = to.wanted(&commit)?;
        for (kind, digest) in &wanted {
            let Some(bytes) = remote.piece_bytes(digest)? else {
                panic!("{kind} {digest} of commit {id} is on neither side");
            };
            assert_eq!(to.add_piece(*kind, bytes)?, *digest);
        }
        if wanted.is_empty() {
            match to.add_commit(id, &commit) {
                // A collection has removed a piece that was not wanted because it was there.
                Err(LedgerError::Missing { .. }) => {}
                result => return result,
            }
        }
    }
}

/// Receives a branch from the remote: the commits that are not here, or the last three commits if
/// nothing is here.
pub(crate) fn receive(here: &Page, there: &Page, branch: &str) -> Result<u64> {
    loop {
        match receive_once(here, there, branch) {
            // It came before, but no branch has got it, and a collection has just removed it.
            Err(LedgerError::NoCommit { .. }) => {}
            result => return result,
        }
    }
}

fn receive_once(here: &Page, there: &Page, branch: &str) -> Result<u64> {
    let (head, mut missing) = (there.head(branch)?, Vec::new());
    let is_empty = here.head(branch)? == CommitId::FIRST;
    let mut receiver = here.remote().receive();
    for commit in there.log(head)? {
        let (id, commit) = commit?;
        if has(here, &id)? {
            break;
        }
        if is_empty && missing.len() == 3 {
            receiver.add_pruned(&id, commit.generation, commit.time).unwrap();
            break;
        }
        missing.push(id);
    }
    for id in missing.iter().rev() {
        bring(there, &mut receiver, id)?;
    }
    loop {
        match receiver.add_head(branch, &head) {
            // The head came before, but no branch has got it, and a collection has removed a commit
            // below it.
            Err(LedgerError::BaseMissing { commit, .. }) => bring(there, &mut receiver, &commit)?,
            result => break result?,
        }
    }
    number(&there.snapshot(&head)?)
}

/// Brings all to the remote that is only here. `true` if nothing is left.
pub(crate) fn push(here: &Page, there: &Page) -> Result<bool> {
    let (remote, mut receiver) = (here.remote(), there.receive());
    let head = here.head(MAIN)?;
    let commits: Vec<_> = remote.unsynced_commits()?.iter().map(|commit| commit.id).collect();
    for id in &commits {
        bring(here, &mut receiver, id)?;
    }
    if has(there, &head)? {
        match receiver.add_head(MAIN, &head) {
            // Commits of a time at which the page was detached are nowhere any more.
            Err(LedgerError::BaseMissing { .. }) => there.reset(MAIN, &head)?,
            result => result?,
        }
    }
    let (mut pieces, local) = (Vec::new(), remote.local_pieces(None, 2_000)?);
    for piece in &local {
        if there.piece_status(&piece.digest)? == Status::Local {
            pieces.push(piece.digest);
        }
    }
    remote.mark_synced(&commits, &pieces, &[(b"at", &head.0.0)])?;
    Ok(pieces.len() == local.len())
}

/// The content of a commit, unless it was removed meanwhile.
fn snapshot(page: &Page, id: &CommitId) -> Result<Option<PageSnapshot>> {
    match page.snapshot(id) {
        Err(LedgerError::NoCommit { .. }) => Ok(None),
        result => result.map(Some),
    }
}

/// Fetches the lazy values of the commits of a branch.
pub(crate) fn fetch_all(page: &Page, branch: &str) -> Result<()> {
    for commit in page.log(page.head(branch)?)? {
        let Some(snapshot) = snapshot(page, &commit?.0)? else { continue };
        for (key, value) in content(number(&snapshot)?).1 {
            assert!(fetch_with_retries(|| snapshot.fetch(&key))? == Some(value));
        }
    }
    Ok(())
}

/// Fetches lazy values of the head of a branch, whole or in part.
pub(crate) fn fetch_some(page: &Page, branch: &str, turn: usize) -> Result<()> {
    let Some(snapshot) = snapshot(page, &page.head(branch)?)? else { return Ok(()) };
    let lazies = content(number(&snapshot)?).1;
    let Some((key, value)) = lazies.iter().nth(turn % lazies.len().max(1)) else { return Ok(()) };
    let (from, to) = (turn * 977 % 20_000, 25_000 + turn * 331 % 5_000);
    let part = fetch_with_retries(|| snapshot.fetch_partial(key, from as i64, (to - from) as i64))?;
    assert!(part.as_deref() == Some(&value[from..to]), "key {key:?}, bytes {from}..{to}");
    if turn.is_multiple_of(3) {
        assert!(fetch_with_retries(|| snapshot.fetch(key))?.as_ref() == Some(value));
    }
    Ok(())
}

/// Repeats fetches that the source has refused.
fn fetch_with_retries<T>(fetch: impl Fn() -> Result<T>) -> Result<T> {
    loop {
        match fetch() {
            Err(LedgerError::Network { .. }) => {}
            result => return result,
        }
    }
}
