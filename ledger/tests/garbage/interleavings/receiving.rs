//! Commits that come from elsewhere beside a collection: on commits that are about to be removed,
//! on commits that are here, and commits that are here already.

use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvWrite, TxOptions};
use permazen_ledger::{CommitId, LedgerError, MAIN, Origin, Receiver, Result};

use super::{Begin, Process, TestClock, content, process, put_on, try_all, try_beside_a_remote};

/// A copy of the page that has made commits of its own.
pub(crate) struct Elsewhere {
    there: Process,
    /// Its contents are garbage here.
    on_what_goes: CommitId,
    /// On the one before.
    further: CommitId,
    on_head: CommitId,
}

impl Elsewhere {
    /// The copy, as the page is.
    pub(crate) fn new(rows: &[(Vec<u8>, Vec<u8>)], time: u64, commits: &[CommitId]) -> Self {
        let (host, clock) = (MemoryStore::new(), TestClock::at(time));
        let mut tx = host.begin(&TxOptions::writing()).unwrap();
        rows.iter().for_each(|(key, row)| tx.put(key, row).unwrap());
        tx.commit().unwrap();
        let there = process(host, &clock);
        there.page.create_branch("on what goes", &commits[0]).unwrap();
        let on_what_goes = put_on(&there.page, "on what goes", &content(0)).unwrap();
        let further = put_on(&there.page, "on what goes", &content(2)).unwrap();
        let on_head = put_on(&there.page, MAIN, &content(0)).unwrap();
        Elsewhere { there, on_what_goes, further, on_head }
    }
}

/// Brings a commit, whose parent is here or was brought before, or is not kept elsewhere.
fn bring(process: &Process, begin: &Begin, id: &CommitId, to: &mut Receiver) -> Result<()> {
    let there = &begin.elsewhere.there.page;
    let remote = there.remote();
    let commit = remote.commit_bytes(id)?.unwrap();
    if let Some(Origin::Change { parent, .. }) = there.commit(id)?.map(|commit| commit.origin)
        && let Some((generation, time)) = there.pruned_commit(&parent)?
    {
        to.add_pruned(&parent, generation, time)?;
    }
    loop {
        for (kind, digest) in to.wanted(&commit)? {
            let bytes = remote.piece_bytes(&digest)?.unwrap();
            assert_eq!(to.add_piece(kind, bytes)?, digest);
        }
        if !to.wanted(&commit)?.is_empty() {
            continue;
        }
        match to.add_commit(id, &commit) {
            // A piece that was not wanted, because it was here, has been removed since.
            Err(LedgerError::Missing { .. }) => {}
            result => {
                result?;
                assert!(process.page.commit(id)?.is_some());
                return Ok(());
            }
        }
    }
}

/// Brings commits one after the other. The commits that came stay until the receiver is dropped.
fn bring_all(process: &Process, begin: &Begin, ids: &[CommitId], remote: bool) -> Result<Receiver> {
    let page = &process.page;
    let mut receiver = if remote { page.remote().receive() } else { page.receive() };
    ids.iter().try_for_each(|id| bring(process, begin, id, &mut receiver))?;
    Ok(receiver)
}

/// A commit that is here and about to be removed.
fn here(process: &Process, begin: &Begin) -> Result<()> {
    let _receiver = bring_all(process, begin, &begin.commits[..1], false)?;
    process.page.create_branch("new", &begin.commits[0])
}

fn on_what_goes(process: &Process, begin: &Begin) -> Result<()> {
    let Elsewhere { on_what_goes, .. } = begin.elsewhere;
    let _receiver = bring_all(process, begin, &[begin.commits[0], on_what_goes], false)?;
    process.page.create_branch("new", &on_what_goes)
}

fn on_head(process: &Process, begin: &Begin) -> Result<()> {
    let Elsewhere { on_head, .. } = begin.elsewhere;
    bring_all(process, begin, &[on_head], false)?.add_head(MAIN, &on_head)
}

/// A longer history, up to a commit that is about to be removed.
fn from_the_remote(process: &Process, begin: &Begin) -> Result<()> {
    let Elsewhere { on_what_goes, further, .. } = begin.elsewhere;
    let ids = [begin.commits[0], on_what_goes, further];
    let _receiver = bring_all(process, begin, &ids, true)?;
    process.page.create_branch("new", &further)?;
    let log = process.page.log(further)?.collect::<Result<Vec<_>>>()?;
    assert_eq!(log.len(), ids.len());
    Ok(())
}

#[test]
fn what_is_received_and_is_here_stays() {
    let seen = try_all("receive what goes", here);
    assert_eq!(seen.kept[0], seen.runs, "{seen:?}");
}

#[test]
fn what_is_received_is_complete() {
    try_all("receive on what goes", on_what_goes);
    try_all("receive on the head", on_head);
}

#[test]
fn what_is_received_from_the_remote_is_complete() {
    try_beside_a_remote("receive from the remote", from_the_remote);
}
