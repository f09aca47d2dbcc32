//! The texts of errors, and the errors of stores that they become.

use permazen_kv::{ErrorFamily, KvError};

use super::*;

fn all() -> Vec<LedgerError> {
    let (kind, digest, name) = (Kind::Node, Digest([7; 32]), "films".to_owned());
    let (page, commit) = (3, CommitId(Digest([8; 32])));
    let note = |by: &mut NeededBy| {
        (by.page, by.commits, by.key) = (page, vec![commit], Some(vec![0xab; 40]));
    };
    vec![
        LedgerError::integrity(kind, &digest, "a root", "a node with one item").needed(note),
        LedgerError::DamagedRow {
            page,
            row: "20".into(),
            expected: "a head of a branch",
            found: "its checksum is wrong".into(),
        },
        LedgerError::missing(kind, &digest).needed(note),
        LedgerError::NeedsFetch { page, commit, key: [0xab; 40].into(), len: 9_000, digest },
        LedgerError::Network { page, name: name.clone(), reason: "too late".to_owned() },
        LedgerError::NotAtSource { page, name: name.clone(), kind, digest },
        LedgerError::ClockAhead { page, commit, millis: 1 },
        LedgerError::LastCommit { page, commit, what: "time" },
        LedgerError::NoCommit { page, commit },
        LedgerError::SnapshotExpired { page, commit },
        LedgerError::BaseMissing { page, commit },
        LedgerError::Busy { what: name.clone() },
        LedgerError::no_branch(page, &name),
        LedgerError::PageGone { page },
        LedgerError::PageInUse { page },
        LedgerError::Exists { page, what: "tag", name: name.clone() },
        LedgerError::ManyHeads { page, branch: name.clone(), count: 2 },
        LedgerError::moved(page, &name),
        LedgerError::BranchGone { page, branch: name.clone() },
        LedgerError::Resolver { page, commits: vec![commit; 2], reason: name.clone() },
        LedgerError::TransactionInProgress { page, branch: name.clone() },
        LedgerError::MergeEnded { page, commits: vec![commit; 2], reason: name.clone() },
        LedgerError::CannotSquash { page, commit, reason: name.clone(), onto: Some(commit) },
        LedgerError::LeftBehind { page, commit },
        LedgerError::CannotMerge {
            page,
            commits: vec![commit; 2],
            key: [0xab; 40].into(),
            reason: name.clone(),
        },
        LedgerError::other(&*name),
        LedgerError::other_retryable(&*name),
        LedgerError::InvalidArgument(name.clone()),
        LedgerError::KeyTooLong { len: 9_000, max: 8_192, start: "6162".into() },
        LedgerError::ValueTooLong,
        LedgerError::WholeValueTooLong { page, commit, key: [0xab; 40].into(), len: 9, max: 8 },
        LedgerError::WrongPage { page },
        LedgerError::ValueGone { page },
        LedgerError::Random(name.clone()),
        LedgerError::Thread(name),
        LedgerError::NoRepository { is_empty: true },
        LedgerError::unknown((page, "2f".to_owned()), "format", 9_u32, "1"),
        LedgerError::Host(KvError::Timeout("10 s".to_owned())),
        LedgerError::Host(KvError::Other {
            family: ErrorFamily::Retry,
            source: "another layer below".into(),
        }),
    ]
}

#[test]
fn there_and_back_is_the_same_error() {
    for error in all() {
        let (debug, retryable) = (format!("{error:?}"), error.is_retryable());
        let outside = KvError::from(error);
        assert_eq!(outside.is_retryable(), retryable, "{debug}");
        assert_eq!(format!("{:?}", LedgerError::from(outside)), debug);
    }
}

/// A message names the page, the commit, the piece and the key.
#[test]
fn messages_say_where() {
    let (commit, digest) = (CommitId(Digest([8; 32])).to_string(), Digest([7; 32]).to_string());
    let mut counts = [0; 4];
    for error in all() {
        let (debug, display) = (format!("{error:?}"), error.to_string());
        let has = [
            debug.contains("page: 3"),
            debug.contains(&commit),
            debug.contains(&digest),
            debug.contains("key: "),
        ];
        let key = "ab".repeat(32) + "…";
        let said = ["page 3", &commit, &digest, &key];
        for (at, (has, said)) in has.into_iter().zip(said).enumerate() {
            assert!(!has || display.contains(said), "{debug}: {display}");
            counts[at] += usize::from(has);
        }
    }
    assert_eq!(counts, [28, 14, 4, 5]);
    let display = |at: usize| all()[at].to_string();
    assert_eq!(
        display(0),
        format!(
            "damaged node {digest} of page 3, needed by commit {commit}, for key {}…, row 23{digest}: \
             expected a root, found a node with one item; get it from a copy of the page",
            "ab".repeat(32)
        )
    );
    assert_eq!(
        display(1),
        "damaged row 20 of page 3: expected a head of a branch, found: its checksum is wrong; \
         restore the repository from a backup"
    );
    let of_repository = LedgerError::unknown((0, "00".to_owned()), "format", 2_u32, "1");
    assert_eq!(
        of_repository.to_string(),
        "row 00 of the repository has format 2, and this version knows 1: use a later version"
    );
}

#[test]
fn the_families_are_those_of_the_store() {
    let of = |asked: fn(&KvError) -> bool| {
        let display = |error: LedgerError| Some(KvError::from(error)).filter(asked);
        let found = all().into_iter().filter_map(display);
        found.map(|error| error.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(of(KvError::is_retryable).len(), 7);
    assert_eq!(of(KvError::is_stale).len(), 2);
    assert_eq!(of(KvError::is_caller_error).len(), 10);
    assert_eq!(of(KvError::is_damage).len(), 3);
}
