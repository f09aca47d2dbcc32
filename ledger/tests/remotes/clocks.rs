//! Copies whose clocks are wrong.

use std::sync::Arc;

use permazen_kv::KvRead;
use permazen_kv::memory::MemoryStore;
use permazen_ledger::{
    Clock, CommitId, CommitTime, Digest, Kind, LastWriterWins, LedgerError, MAIN, Page, PageId,
    Receiver, Repository, Secret,
};

use super::setting::{bring_pieces, write};
use crate::support::clock::TestClock;

const DAY: u64 = 24 * 60 * 60 * 1_000;

/// The present, in milliseconds.
const NOW: u64 = 1_800_000_000_000;

/// How many ticks a millisecond has.
const TICKS: u64 = 1 << 16;

/// A copy of the page with a second page beside it, under this clock.
fn copy(clock: &Arc<TestClock>) -> [Page; 2] {
    let clock: Arc<dyn Clock> = Arc::clone(clock) as _;
    let builder =
        Repository::builder(MemoryStore::new()).exclusive().manual_maintenance().clock(clock);
    let repository = builder.open_or_create().unwrap();
    ["test", "other"]
        .map(|name| repository.create_page_with(name, PageId::ROOT, Secret::new([5; 32])).unwrap())
}

fn put(page: &Page, branch: &str, key: &[u8]) -> CommitId {
    write(page, branch, |tx| tx.put(key, b"").unwrap())
}

fn time(page: &Page, id: &CommitId) -> u64 {
    page.commit(id).unwrap().unwrap().time.to_bits()
}

/// Brings the commits that lead to one and that are not there; the receiver takes those that are
/// ahead if told to.
fn bring(
    from: &Page,
    to: &Page,
    id: &CommitId,
    takes_ahead: bool,
) -> Result<Vec<CommitId>, LedgerError> {
    let mut receiver = to.receive();
    if takes_ahead {
        receiver = receiver.accepting_future_commits();
    }
    let mut log: Vec<_> = from.log(*id).unwrap().map(|found| found.unwrap().0).collect();
    log.reverse();
    for id in log.into_iter().filter(|id| to.commit(id).is_err()) {
        let bytes = bring_pieces(from, &mut receiver, &id);
        receiver.add_commit(&id, &bytes)?;
    }
    receiver.add_head(MAIN, id).unwrap();
    Ok(receiver.future_commits().to_vec())
}

/// A copy with two commits, the second of which was made 400 days ahead; its clock, which is right
/// again; and another copy with the first one.
fn ahead() -> (Arc<TestClock>, [Page; 2], [CommitId; 2], [Page; 2]) {
    let of_there = TestClock::at(NOW);
    let there = copy(&of_there);
    let before = put(&there[0], MAIN, b"before");
    of_there.set(NOW + 400 * DAY);
    let wrong = put(&there[0], MAIN, b"wrong");
    of_there.set(NOW + 1);
    let here = copy(&TestClock::at(NOW));
    bring(&there[0], &here[0], &before, false).unwrap();
    (of_there, there, [before, wrong], here)
}

#[test]
fn a_commit_far_ahead_is_taken_if_the_program_says_so() {
    let (_, [there, _], [before, wrong], [here, other]) = ahead();
    let error = bring(&there, &here, &wrong, false).unwrap_err();
    assert!(matches!(error, LedgerError::ClockAhead { commit, .. } if commit == wrong), "{error}");
    assert!(error.to_string().contains("Receiver::accepting_future_commits"), "{error}");
    assert_eq!(here.head(MAIN).unwrap(), before);
    // A commit that is not ahead is not reported.
    let [early, _] = copy(&TestClock::at(NOW));
    assert_eq!(bring(&there, &early, &before, true).unwrap(), []);
    assert_eq!(bring(&there, &here, &wrong, true).unwrap(), [wrong]);
    assert_eq!(here.head(MAIN).unwrap(), wrong);
    // A commit made on it is one tick later.
    let child = put(&here, MAIN, b"child");
    assert_eq!(time(&here, &child), time(&here, &wrong) + 1);
    // Other branches and pages are taken ahead by no more than five minutes.
    here.create_branch("branch", &before).unwrap();
    let of_branch = put(&here, "branch", b"branch");
    let of_page = put(&other, MAIN, b"page");
    let most = (NOW + 5 * 60 * 1_000) * TICKS;
    assert!(time(&here, &of_branch) > NOW * TICKS && time(&here, &of_branch) <= most + 1);
    assert!(time(&other, &of_page) > time(&here, &of_branch));
    assert!(time(&other, &of_page) <= most + 2);
    // Both copies continue with each other, as long as the program says so.
    assert!(matches!(bring(&here, &there, &child, false), Err(LedgerError::ClockAhead { .. })));
    assert_eq!(bring(&here, &there, &child, true).unwrap(), [child]);
    let beside = put(&there, MAIN, b"beside");
    assert_eq!(bring(&there, &here, &beside, true).unwrap(), [beside]);
    for page in [&here, &there] {
        assert!(page.verify().unwrap().findings.is_empty());
        let content = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
        for key in [&b"before"[..], b"wrong", b"child", b"beside"] {
            assert!(content.get(key).unwrap().is_some());
        }
    }
}

#[test]
fn a_squash_gives_the_right_time_to_what_was_made_under_a_wrong_clock() {
    let (_, [there, _], [before, wrong], [here, _]) = ahead();
    put(&there, MAIN, b"more");
    assert!(time(&there, &there.head(MAIN).unwrap()) > time(&there, &wrong));
    let right = there.squash(MAIN, &before, None).unwrap();
    let most = (NOW + 1 + 5 * 60 * 1_000) * TICKS;
    assert!(time(&there, &right) > NOW * TICKS && time(&there, &right) <= most + 1);
    assert_eq!(bring(&there, &here, &right, false).unwrap(), []);
    let content = here.snapshot(&here.head(MAIN).unwrap()).unwrap();
    assert!(content.get(b"wrong").unwrap().is_some() && content.get(b"more").unwrap().is_some());
}

/// A commit with another time, as if it had been made then.
fn at(page: &Page, id: &CommitId, parent: &CommitId, time: u64) -> (CommitId, Vec<u8>) {
    let mut bytes = page.remote().commit_bytes(id).unwrap().unwrap();
    bytes[2..10].copy_from_slice(&time.to_be_bytes());
    bytes[51..83].copy_from_slice(&parent.0.0);
    (CommitId(Kind::Commit.digest(&bytes)), bytes)
}

#[test]
fn no_commit_comes_after_which_no_change_is_possible() {
    const FAR: u64 = 1 << 62;
    let (_, [there, _], [before, wrong], [here, _]) = ahead();
    let last = put(&there, MAIN, b"last");
    let mut receiver = here.receive().accepting_future_commits();
    let mut add = |commit: &(CommitId, Vec<u8>)| {
        bring_pieces_of(&there, &mut receiver, &commit.1);
        receiver.add_commit(&commit.0, &commit.1)
    };
    for time in [FAR, FAR + 1, (1 << 63) - 1] {
        let error = add(&at(&there, &wrong, &before, time)).unwrap_err();
        assert!(matches!(error, LedgerError::InvalidArgument(_)), "{time}: {error}");
        assert!(error.to_string().contains("2⁶² ticks or more"), "{error}");
    }
    // The next tick after a parent is possible, and nothing else from there.
    let parent = at(&there, &wrong, &before, FAR - 1);
    add(&parent).unwrap();
    assert!(add(&at(&there, &last, &parent.0, FAR + 1)).is_err());
    let tick = at(&there, &last, &parent.0, FAR);
    add(&tick).unwrap();
    here.create_branch("far", &tick.0).unwrap();
    let next = put(&here, "far", b"next");
    assert_eq!(time(&here, &next), FAR + 1);
    let merge = here.merge(MAIN, &next, &mut LastWriterWins).unwrap();
    assert_eq!(time(&here, &merge), FAR + 1);
    // A pruned parent is no reason to take it: nothing tells the time of the parent.
    let pruned = CommitId(Digest([9; 32]));
    let mut receiver = here.receive().accepting_future_commits();
    let late = CommitTime::from_bits((1 << 63) - 3);
    receiver.add_pruned(&pruned, 1, late).unwrap();
    let (id, bytes) = at(&there, &wrong, &pruned, late.to_bits() + 1);
    bring_pieces_of(&there, &mut receiver, &bytes);
    let error = receiver.add_commit(&id, &bytes).unwrap_err();
    assert!(matches!(error, LedgerError::InvalidArgument(_)), "{error}");
}

/// A clock in the year 4199 or later is wrong, and copies take commits made under it all the same.
#[test]
fn copies_take_what_is_made_under_the_latest_clocks() {
    const FAR: u64 = 1 << 62;
    const LATEST: u64 = FAR / TICKS;
    for millis in [LATEST - 1, LATEST, 1 << 47, (1 << 47) + 1, u64::MAX] {
        let (of_there, [there, other], [before, wrong], [here, _]) = ahead();
        of_there.set(millis);
        let mut commits = vec![put(&there, MAIN, b"late"), put(&there, MAIN, b"later")];
        there.create_branch("branch", &before).unwrap();
        commits.push(put(&there, "branch", b"branch"));
        put(&other, MAIN, b"page");
        // The last time of a clock is used up, and another branch is beside it.
        let last = at(&there, &wrong, &before, FAR - 1);
        let mut receiver = there.receive().accepting_future_commits();
        bring_pieces_of(&there, &mut receiver, &last.1);
        receiver.add_commit(&last.0, &last.1).unwrap();
        there.create_branch("last", &last.0).unwrap();
        commits.push(put(&there, "last", b"tick"));
        assert_eq!(time(&there, &commits[3]), FAR);
        commits.push(put(&there, "branch", b"beside"));
        commits.push(put(&there, MAIN, b"beside"));
        commits.push(there.merge(MAIN, &commits[3], &mut LastWriterWins).unwrap());
        commits.push(put(&there, MAIN, b"after"));
        commits.push(there.squash("branch", &before, None).unwrap());
        for id in commits {
            if there.commit(&id).is_ok() {
                bring(&there, &here, &id, true).unwrap();
            }
        }
        assert!(here.verify().unwrap().findings.is_empty());
    }
}

/// Gives a receiver the pieces that it wants of a commit, although the other page has only the
/// pieces and not the commit.
fn bring_pieces_of(from: &Page, to: &mut Receiver, commit: &[u8]) {
    while let Ok(wanted) = to.wanted(commit) {
        if wanted.is_empty() {
            break;
        }
        for (kind, digest) in wanted {
            to.add_piece(kind, from.remote().piece_bytes(&digest).unwrap().unwrap()).unwrap();
        }
    }
}
