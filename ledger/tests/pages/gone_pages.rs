//! A page that others have deleted, because they took the process for dead that has it open.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use permazen_kv::memory::MemoryStore;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{
    Clock, CommitId, LastWriterWins, LedgerError, MAIN, PageId, Repository, Result, Retention,
};

use crate::support::clock::TestClock;

#[test]
fn whatever_is_asked_of_it_the_page_is_gone() {
    let (host, clock) = (MemoryStore::new(), TestClock::at(1 << 40));
    let open = || {
        let clock: Arc<dyn Clock> = Arc::clone(&clock) as _;
        // Nothing stays in memory.
        let builder = Repository::builder(host.clone()).cache_bytes(1).manual_maintenance();
        builder.clock(clock).open_or_create().unwrap()
    };
    let (dead, other) = (open(), open());
    let page = dead.create_page("test", PageId::ROOT).unwrap();
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.put(b"long", &[1; 100_000]).unwrap();
    tx.commit().unwrap();
    let head = page.head(MAIN).unwrap();
    page.create_branch("branch", &head).unwrap();
    page.set_tag("tag", &head).unwrap();
    let snapshot = page.snapshot(&head).unwrap();
    let branching = page.branching_database(MAIN).unwrap();
    let mut open_tx = db.begin(&TxOptions::writing()).unwrap();
    open_tx.put(b"key", b"1").unwrap();
    let mut branching_tx = branching.begin(&TxOptions::writing()).unwrap();
    branching_tx.put(b"key", b"1").unwrap();
    let mut watcher = page.watch(MAIN, b"").unwrap();
    let mut value = page.write_value(None).unwrap();
    let (remote, mut receiver) = (page.remote(), page.receive());
    let commit = remote.commit_bytes(&head).unwrap().unwrap();
    let root = snapshot.root();
    for _ in 0..4 {
        clock.advance(Duration::from_millis(60 * 60 * 1_000));
        other.maintain().unwrap();
        if other.delete_page("test", PageId::ROOT).is_ok() {
            break;
        }
    }
    assert!(other.pages().unwrap().is_empty());
    let writing = || db.begin(&TxOptions::writing()).map(drop).map_err(LedgerError::from);
    let beginning = || branching.begin(&TxOptions::writing()).map(drop).map_err(LedgerError::from);
    let first = &CommitId::FIRST;
    let asked: Vec<(&str, Result<()>)> = vec![
        ("get", snapshot.get(b"long").map(drop).map_err(LedgerError::from)),
        ("get_partial", snapshot.get_partial(b"long", 0, -1).map(drop)),
        ("has", snapshot.has(b"long").map(drop)),
        (
            "scan",
            snapshot
                .scan(KeySpan::FULL, Direction::Forward)
                .and_then(|mut pairs| pairs.next().transpose().map(drop))
                .map_err(LedgerError::from),
        ),
        ("head", page.head(MAIN).map(drop)),
        ("heads", page.heads(MAIN).map(drop)),
        ("branches", page.branches().map(drop)),
        ("tags", page.tags().map(drop)),
        ("tag", page.tag("tag").map(drop)),
        ("commit", page.commit(&head).map(drop)),
        ("log", page.log(head).map(drop)),
        ("is_ancestor", page.is_ancestor(first, &head).map(drop)),
        ("snapshot", page.snapshot(&head).map(drop)),
        ("database", page.database(MAIN).map(drop)),
        ("branching_database", page.branching_database(MAIN).map(drop)),
        ("begin", writing()),
        ("commit of a transaction", open_tx.commit().map_err(LedgerError::from)),
        ("commit in branching mode", branching_tx.commit().map_err(LedgerError::from)),
        ("begin in branching mode", beginning()),
        ("watcher", watcher.next(Duration::ZERO).map(drop)),
        ("watch", page.watch(MAIN, b"").map(drop)),
        ("create_branch", page.create_branch("more", &head)),
        ("reset", page.reset(MAIN, first)),
        ("remove_branch", page.remove_branch("branch")),
        ("set_tag", page.set_tag("more", &head)),
        ("remove_tag", page.remove_tag("tag")),
        ("merge", page.merge(MAIN, &head, &mut LastWriterWins).map(drop)),
        ("merge_heads", page.merge_heads(MAIN, &mut LastWriterWins).map(drop)),
        ("squash", page.squash(MAIN, first, None).map(drop)),
        ("kept", page.keep_reasons(first).map(drop)),
        ("kept, of another commit", page.keep_reasons(&head).map(drop)),
        ("set_retention", page.set_retention(Retention::Heads)),
        ("collect", page.collect().map(drop)),
        ("attach", page.remote().attach()),
        ("set_reference_rows", page.set_reference_rows(true)),
        (
            "write",
            value.write_all(&[1; 3_000_000]).map_err(|error| {
                let inner = error.into_inner().and_then(|error| error.downcast().ok());
                inner.map_or(LedgerError::ValueTooLong, |error: Box<LedgerError>| *error)
            }),
        ),
        ("diff", page.diff(first, &head, KeySpan::FULL, Direction::Forward).map(drop)),
        ("wanted", receiver.wanted(&commit).map(drop)),
        ("add_commit", receiver.add_commit(&head, &commit)),
        ("add_head", receiver.add_head(MAIN, &head)),
        ("pruned_commit", page.pruned_commit(&head).map(drop)),
        ("restore", page.restore(MAIN, &head).map(drop)),
        ("fetch", snapshot.fetch(b"long").map(drop)),
        ("retention", page.retention().map(drop)),
        ("piece_count", page.piece_count().map(drop)),
        ("has_reference_rows", page.has_reference_rows().map(drop)),
        ("collect_slice", page.collect_slice().map(drop)),
        ("piece_status", page.piece_status(&root).map(drop)),
        ("commit_status", page.commit_status(&head).map(drop)),
        ("state of the remote", remote.state().map(drop)),
        ("unsynced_commits", remote.unsynced_commits().map(drop)),
        ("local_pieces", remote.local_pieces(None, 1).map(drop)),
        ("piece_bytes", remote.piece_bytes(&root).map(drop)),
        ("commit_bytes", remote.commit_bytes(&head).map(drop)),
        ("mark_synced", remote.mark_synced(&[head], &[root], &[])),
        ("note", remote.note(b"note").map(drop)),
        ("detach", remote.detach()),
        ("has_unfinished_merges", page.has_unfinished_merges().map(drop)),
    ];
    let wrong: Vec<_> = asked
        .iter()
        .filter(|(_, result)| !matches!(result, Err(LedgerError::PageGone { .. })))
        .map(|(what, result)| {
            let said = result.as_ref().map_or_else(ToString::to_string, |()| "nothing".to_owned());
            format!("{what}: {said}")
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    dead.maintain().unwrap();
}
