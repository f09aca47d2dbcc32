//! Commits that come from elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use permazen_kv::fault::FaultStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvError, KvRead, KvWrite, TxOptions};
use permazen_ledger::{
    Clock, CommitId, Digest, Kind, LastWriterWins, LedgerError, MAIN, Page, PageId, Receiver,
    Repository, Retention, Secret, Status,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::setting::{
    assert_clean, attached, bring, bring_pieces, content, copy, copy_in, count_rows, each_host,
    follow, noise, put_lazy, value, write,
};
use crate::support::faults;

/// Makes a random change on one of two branches, or merges them.
fn change(page: &Page, random: &mut StdRng) {
    let branch = [MAIN, "other"][random.random_range(0..2)];
    if random.random_range(0..5) == 0 {
        let from = page.head(if branch == MAIN { "other" } else { MAIN }).unwrap();
        page.merge(branch, &from, &mut LastWriterWins).unwrap();
        return;
    }
    let seed = random.random_range(0..6);
    let long = value(page, &noise(600 + 30_000 * seed as usize, seed));
    write(page, branch, |tx| {
        for _ in 0..random.random_range(1..200) {
            let key = random.random_range(0..2_000_u32).to_be_bytes();
            match random.random_range(0..40) {
                0 => tx.put(&key, long.lazy().as_bytes()).unwrap(),
                1 => tx.put(&key, long.as_bytes()).unwrap(),
                2..10 => tx.remove(&key).unwrap(),
                _ => tx.put(&key, &noise(random.random_range(0..60), 9)).unwrap(),
            }
        }
        if random.random_range(0..6) == 0 {
            let from = random.random_range(0..2_000_u32);
            let (min, max) = (from.to_be_bytes(), (from + 300).to_be_bytes());
            tx.remove_span(permazen_kv::KeySpan::new(&min, Some(&max))).unwrap();
        }
    });
}

#[test]
fn histories_that_are_received_are_the_same() {
    let mut absent = 0;
    let count = std::env::var("PERMAZEN_RECEIVED").map_or(5, |count| count.parse().unwrap());
    for seed in 0..count {
        let (there, mut random) = (copy(), StdRng::seed_from_u64(seed));
        there.create_branch("other", &CommitId::FIRST).unwrap();
        let complete = copy();
        let lazy = attached(Arc::new(MemoryStore::new()));
        for here in [&complete, &lazy] {
            here.create_branch("other", &CommitId::FIRST).unwrap();
        }
        for _ in 0..6 {
            (0..random.random_range(1..5)).for_each(|_| change(&there, &mut random));
            for (here, mut receiver) in
                [(&complete, complete.receive()), (&lazy, lazy.remote().receive())]
            {
                for branch in [MAIN, "other"] {
                    let head = there.head(branch).unwrap();
                    bring(&there, &mut receiver, &head);
                    receiver.add_head(branch, &head).unwrap();
                }
                drop(receiver);
                here.collect().unwrap();
                assert_clean(here);
                assert_eq!(here.branches().unwrap(), there.branches().unwrap());
            }
            for branch in [MAIN, "other"] {
                for commit in there.log(there.head(branch).unwrap()).unwrap() {
                    let (id, commit) = commit.unwrap();
                    assert!(content(&complete, &id) == content(&there, &id), "seed {seed}");
                    assert_eq!(lazy.commit(&id).unwrap(), Some(commit));
                }
            }
        }
        assert!(lazy.remote().local_pieces(None, 1).unwrap().is_empty());
        // Pieces of lazy values only are not there.
        absent += complete.verify().unwrap().pieces - lazy.verify().unwrap().pieces;
    }
    assert!(absent > 0);
}

#[test]
fn only_what_is_new_is_wanted() {
    each_host(|host| {
        let (there, here) = (copy(), copy_in(host));
        write(&there, MAIN, |tx| {
            for key in 0..3_000_u32 {
                tx.put(&key.to_be_bytes(), &noise(30, key.into())).unwrap();
            }
            tx.put(b"long", &noise(500_000, 1)).unwrap();
        });
        let mut receiver = here.receive();
        bring(&there, &mut receiver, &there.head(MAIN).unwrap());
        // One leaf and the nodes above it are other ones; the long value is not in the part that
        // changes.
        let head = write(&there, MAIN, |tx| tx.put(b"longer", b"").unwrap());
        let commit = there.remote().commit_bytes(&head).unwrap().unwrap();
        let (mut count, before) = (0, here.remote());
        loop {
            let wanted = receiver.wanted(&commit).unwrap();
            if wanted.is_empty() {
                break;
            }
            for (kind, digest) in wanted {
                assert_eq!((kind, before.piece_bytes(&digest).unwrap()), (Kind::Node, None));
                let bytes = there.remote().piece_bytes(&digest).unwrap().unwrap();
                receiver.add_piece(kind, bytes).unwrap();
                count += 1;
            }
        }
        assert!((2..=6).contains(&count), "{count} nodes");
        receiver.add_commit(&head, &commit).unwrap();
        receiver.add_head(MAIN, &head).unwrap();
        assert!(content(&here, &head) == content(&there, &head));
        assert_clean(&here);
    });
}

#[test]
fn what_is_needed_again_and_may_be_swept_is_written_again() {
    // The content of the third commit is that of the first, which is no longer kept.
    for slices in 0.. {
        let there = copy();
        let put = |bytes: &[u8]| write(&there, MAIN, |tx| tx.put(b"key", bytes).unwrap());
        let ids = [put(&noise(50_000, 1)), put(b"short"), put(&noise(50_000, 1))];
        let here = copy();
        let mut receiver = here.receive();
        bring(&there, &mut receiver, &ids[1]);
        receiver.add_head(MAIN, &ids[1]).unwrap();
        drop(receiver);
        here.set_retention(Retention::Last(1)).unwrap();
        let mut is_running = true;
        for _ in 0..slices {
            is_running = here.collect_slice().unwrap();
        }
        let mut receiver = here.receive();
        let commit = bring_pieces(&there, &mut receiver, &ids[2]);
        let mut added = receiver.add_commit(&ids[2], &commit);
        if matches!(added, Err(LedgerError::Missing { .. })) {
            // It was swept after nothing was wanted.
            bring_pieces(&there, &mut receiver, &ids[2]);
            added = receiver.add_commit(&ids[2], &commit);
        }
        added.unwrap();
        receiver.add_head(MAIN, &ids[2]).unwrap();
        while here.collect_slice().unwrap() {}
        drop(receiver);
        here.collect().unwrap();
        assert!(content(&here, &ids[2]) == content(&there, &ids[2]), "{slices} slices");
        assert_clean(&here);
        if !is_running {
            assert!(slices > 3, "{slices} slices");
            break;
        }
    }
}

#[test]
fn t049_what_cannot_be_is_refused_and_changes_nothing() {
    let (there, host) = (copy(), Arc::new(MemoryStore::new()));
    let first = write(&there, MAIN, |tx| tx.put(b"key", &noise(2_000, 1)).unwrap());
    let second = write(&there, MAIN, |tx| tx.put(b"other", b"1").unwrap());
    let here = copy_in(host.clone());
    let before = permazen_kv::KvDatabase::statistics(&*host).unwrap().entries;
    let mut receiver = here.receive();
    let bytes = |id: &CommitId| there.remote().commit_bytes(id).unwrap().unwrap();
    // Without its parent, and without its pieces.
    let error = receiver.add_commit(&second, &bytes(&second)).unwrap_err();
    assert!(matches!(error, LedgerError::NoCommit { commit, .. } if commit == first), "{error}");
    let error = receiver.wanted(&bytes(&second)).unwrap_err();
    assert!(matches!(error, LedgerError::NoCommit { commit, .. } if commit == first), "{error}");
    let error = receiver.add_commit(&first, &bytes(&first)).unwrap_err();
    assert!(matches!(error, LedgerError::Missing { kind: Kind::Node, .. }), "{error}");
    let root = there.commit(&first).unwrap().unwrap().root;
    receiver.add_piece(Kind::Node, there.remote().piece_bytes(&root).unwrap().unwrap()).unwrap();
    let error = receiver.add_commit(&first, &bytes(&first)).unwrap_err();
    assert!(matches!(error, LedgerError::Missing { kind: Kind::Chunk, .. }), "{error}");
    bring_pieces(&there, &mut receiver, &first);
    // With another ID, and with impossible flags, time and generation.
    let error = receiver.add_commit(&second, &bytes(&first)).unwrap_err();
    assert!(matches!(error, LedgerError::Integrity { kind: Kind::Commit, .. }), "{error}");
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = bytes(&first);
        change(&mut bytes);
        (CommitId(Kind::Commit.digest(&bytes)), bytes)
    };
    let (id, other) = changed(&|bytes| bytes[1] = 0);
    let error = receiver.add_commit(&id, &other).unwrap_err();
    assert!(matches!(error, LedgerError::Integrity { kind: Kind::Commit, .. }), "{error}");
    let (id, other) = changed(&|bytes| bytes[1] = 4);
    let error = receiver.add_commit(&id, &other).unwrap_err();
    assert!(matches!(error, LedgerError::UnknownFormat { found: 4, .. }), "{error}");
    let (id, other) = changed(&|bytes| bytes[17] = 2);
    let error = receiver.add_commit(&id, &other).unwrap_err();
    assert!(error.to_string().contains("generation 2"), "{error}");
    let (id, other) = changed(&|bytes| bytes[2] = 0x7f);
    let error = receiver.add_commit(&id, &other).unwrap_err();
    assert!(matches!(error, LedgerError::ClockAhead { .. }) && error.is_retryable(), "{error}");
    // No pieces.
    for (kind, bytes) in [
        (Kind::Node, vec![0; 8]),
        (Kind::Node, b"node".to_vec()),
        (Kind::Index, vec![0; 40]),
        (Kind::Chunk, Vec::new()),
        (Kind::Chunk, vec![0; 65_537]),
        (Kind::Chunk, vec![0; 100_000]),
    ] {
        let added = receiver.add_piece(kind, bytes.clone());
        if bytes != [0; 8] {
            assert!(matches!(added, Err(LedgerError::Integrity { .. })), "{kind}");
        }
    }
    assert!(receiver.add_piece(Kind::Commit, bytes(&first)).is_err());
    let after = permazen_kv::KvDatabase::statistics(&*host).unwrap().entries;
    assert_eq!(after, before);
    // It still works.
    bring(&there, &mut receiver, &second);
    receiver.add_head(MAIN, &second).unwrap();
    assert!(content(&here, &second) == content(&there, &second));
    assert_clean(&here);
}

#[test]
fn times_and_parents_of_a_commit_are_compared() {
    let there = copy();
    let first = write(&there, MAIN, |tx| tx.put(b"key", b"1").unwrap());
    there.create_branch("other", &first).unwrap();
    let second = write(&there, MAIN, |tx| tx.put(b"key", b"2").unwrap());
    let other = write(&there, "other", |tx| tx.put(b"other", b"3").unwrap());
    let merge = there.merge(MAIN, &other, &mut LastWriterWins).unwrap();
    let here = copy();
    let mut receiver = here.receive();
    bring(&there, &mut receiver, &second);
    bring(&there, &mut receiver, &other);
    let refused = |receiver: &mut permazen_ledger::Receiver, bytes: &[u8], text: &str| {
        let id = CommitId(Kind::Commit.digest(bytes));
        let error = receiver.add_commit(&id, bytes).unwrap_err();
        let is_wrong = matches!(error, LedgerError::Integrity { kind: Kind::Commit, .. });
        assert!(is_wrong && error.to_string().contains(text), "{error}");
    };
    // A change at the time of its parent, and a merge at another time.
    let of = |id: &CommitId| there.remote().commit_bytes(id).unwrap().unwrap();
    let mut bytes = of(&second);
    let time = of(&first)[2..10].to_vec();
    bytes[2..10].copy_from_slice(&time);
    refused(&mut receiver, &bytes, "time");
    let mut bytes = bring_pieces(&there, &mut receiver, &merge);
    bytes[9] ^= 1;
    refused(&mut receiver, &bytes, "time");
    // A merge of a commit with one that it leads to.
    let mut bytes = of(&merge);
    let mut parents = [first, second];
    parents.sort();
    bytes[51..83].copy_from_slice(&parents[0].0.0);
    bytes[83..115].copy_from_slice(&parents[1].0.0);
    bytes[2..10].copy_from_slice(&of(&second)[2..10]);
    refused(&mut receiver, &bytes, "an ancestor of");
    bring(&there, &mut receiver, &merge);
    assert_clean(&here);
}

#[test]
fn trees_and_values_that_are_cut_in_another_way_are_refused() {
    let host: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let repository =
        Repository::shared_builder(host).manual_maintenance().open_or_create().unwrap();
    let elsewhere =
        repository.create_page_with("test", PageId::ROOT, Secret::new([6; 32])).unwrap();
    let refused = |change: &dyn Fn(&mut dyn KvWrite), kind: Kind| {
        elsewhere.reset(MAIN, &CommitId::FIRST).unwrap();
        let id = write(&elsewhere, MAIN, |tx| change(tx));
        let here = copy();
        let mut receiver = here.receive();
        let bytes = bring_pieces(&elsewhere, &mut receiver, &id);
        let error = receiver.add_commit(&id, &bytes).unwrap_err();
        match &error {
            LedgerError::Integrity { kind: of, found, .. } => {
                assert!(*of == kind && found.contains("cut"), "{error}");
            }
            _ => panic!("{error}"),
        }
        assert_eq!(here.verify().unwrap().commits, 0);
    };
    let many = |tx: &mut dyn KvWrite| {
        for key in 0..2_000_u32 {
            tx.put(&key.to_be_bytes(), &[7; 30]).unwrap();
        }
    };
    refused(&many, Kind::Node);
    refused(&|tx| tx.put(b"key", &noise(300_000, 1)).unwrap(), Kind::Index);
    // A tree of one leaf with a value of one chunk is the same with each secret.
    elsewhere.reset(MAIN, &CommitId::FIRST).unwrap();
    let id = write(&elsewhere, MAIN, |tx| tx.put(b"key", &noise(4_000, 1)).unwrap());
    let here = copy();
    bring(&elsewhere, &mut here.receive(), &id);
    assert_clean(&here);
}

/// A node: its level, and the items with their keys, flags and payloads.
fn node(level: u8, items: &[(&[u8], Vec<u8>)]) -> Vec<u8> {
    let (mut ends, mut bytes) = (Vec::new(), Vec::new());
    for (key, payload) in items {
        bytes.extend_from_slice(&(key.len() as u16).to_be_bytes());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(payload);
        ends.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
    }
    let count = (items.len() as u32).to_be_bytes();
    [&[level][..], &count, &[0, 0, 0], &ends, &bytes].concat()
}

#[test]
fn keys_that_do_not_ascend_across_nodes_are_refused() {
    let there = copy();
    let id = write(&there, MAIN, |tx| tx.put(b"key", b"1").unwrap());
    let here = copy();
    let mut receiver = here.receive();
    // The second leaf begins before the end of the first.
    let leaves = [
        node(0, &[(b"a", vec![7; 500]), (b"m", vec![7; 500])]),
        node(0, &[(b"b", vec![7; 500]), (b"z", vec![7; 500])]),
    ];
    let child = |digest: Digest| [&digest.0[..], &2_u64.to_be_bytes()].concat();
    let digests = leaves.map(|leaf| receiver.add_piece(Kind::Node, leaf).unwrap());
    let root = node(1, &[(b"m", child(digests[0])), (b"z", child(digests[1]))]);
    let root = receiver.add_piece(Kind::Node, root).unwrap();
    let mut bytes = there.remote().commit_bytes(&id).unwrap().unwrap();
    bytes[18..50].copy_from_slice(&root.0);
    let id = CommitId(Kind::Commit.digest(&bytes));
    assert!(receiver.wanted(&bytes).unwrap().is_empty());
    let error = receiver.add_commit(&id, &bytes).unwrap_err();
    assert!(matches!(error, LedgerError::Integrity { kind: Kind::Node, .. }), "{error}");
}

#[test]
fn pieces_that_name_others_again_and_again_are_visited_once() {
    let there = copy();
    let id = write(&there, MAIN, |tx| tx.put(b"key", b"1").unwrap());
    let commit_of = |root: &Digest| {
        let mut bytes = there.remote().commit_bytes(&id).unwrap().unwrap();
        bytes[18..50].copy_from_slice(&root.0);
        bytes
    };
    // Each node has a thousand times the one below it: a tree with more entries than could be
    // counted.
    let here = copy();
    let mut receiver = here.receive();
    let leaf = node(0, &[(b"a", vec![7; 500]), (b"m", vec![7; 500])]);
    let mut below = receiver.add_piece(Kind::Node, leaf).unwrap();
    for level in 1..7 {
        let names: Vec<_> = (0..1_000_u32).map(|n| (n << 22).to_be_bytes()).collect();
        let child = [&below.0[..], &2_u64.to_be_bytes()].concat();
        let items: Vec<_> = names.iter().map(|name| (&name[..], child.clone())).collect();
        below = receiver.add_piece(Kind::Node, node(level, &items)).unwrap();
    }
    let error = receiver.wanted(&commit_of(&below)).unwrap_err();
    assert!(matches!(error, LedgerError::Integrity { kind: Kind::Node, .. }), "{error}");

    // Each index piece has a thousand times the one below it.
    for (attached, lazy) in [(false, false), (true, false), (true, true)] {
        let here = copy();
        if attached {
            here.remote().attach().unwrap();
        }
        let mut receiver = here.remote().receive();
        let chunk = vec![7; 65_536];
        let mut below = Kind::Chunk.digest(&chunk);
        let mut len = 65_536_u64;
        let mut indexes = Vec::new();
        for level in 0..3_u8 {
            let child = [&len.to_be_bytes()[..], &below.0].concat();
            indexes.push([&[level][..], &child.repeat(1_024)].concat());
            below = Kind::Index.digest(&indexes[usize::from(level)]);
            len *= 1_024;
        }
        // A leaf of one entry, whose prefix is its key.
        let mut reference = [&below.0[..], &len.to_be_bytes()].concat();
        reference[32] = 3;
        let head = if lazy { 0xc0 } else { 0x40 };
        let leaf = [&[0, 0, 0, 0, 1, 0, 3, 0][..], b"key", &[0, 42, head, 0], &reference].concat();
        let commit = commit_of(&receiver.add_piece(Kind::Node, leaf).unwrap());
        if !lazy {
            for index in indexes.iter().rev() {
                let wanted = receiver.wanted(&commit).unwrap();
                assert_eq!(wanted, [(Kind::Index, Kind::Index.digest(index))]);
                receiver.add_piece(Kind::Index, index.clone()).unwrap();
            }
            let wanted = receiver.wanted(&commit).unwrap();
            assert_eq!(wanted, [(Kind::Chunk, Kind::Chunk.digest(&chunk))]);
        } else {
            indexes.iter().for_each(|index| {
                receiver.add_piece(Kind::Index, index.clone()).unwrap();
            });
        }
        receiver.add_piece(Kind::Chunk, chunk).unwrap();
        assert_eq!(receiver.wanted(&commit).unwrap(), []);
        // Such a value can be: of equal parts, 1,024 make a group, unless the secret says 16.
        let id = CommitId(Kind::Commit.digest(&commit));
        receiver.add_commit(&id, &commit).unwrap();
        let verification = here.verify().unwrap();
        assert!(verification.is_clean(), "{:?}", verification.findings);
        assert_eq!((verification.pieces, verification.unreachable_pieces), (5, 0));
        let snapshot = here.snapshot(&id).unwrap();
        assert_eq!(snapshot.value_len(b"key").unwrap(), Some(1 << 46));
        assert_eq!(snapshot.get_partial(b"key", 1 << 40, 2).unwrap(), Some(vec![7; 2]));
    }
}

#[test]
fn history_can_end_where_the_other_side_has_none() {
    let there = copy();
    let old = write(&there, MAIN, |tx| tx.put(b"key", b"1").unwrap());
    let parent = write(&there, MAIN, |tx| tx.put(b"key", b"2").unwrap());
    let head = write(&there, MAIN, |tx| tx.put(b"key", b"3").unwrap());
    let elsewhere = copy();
    bring(&there, &mut elsewhere.receive(), &head);
    there.set_retention(Retention::Last(1)).unwrap();
    there.collect().unwrap();
    assert!(there.pruned_commit(&parent).unwrap().is_some());
    assert!(there.pruned_commit(&old).unwrap().is_none());
    let here = copy();
    let mut receiver = here.receive();
    bring(&there, &mut receiver, &head);
    receiver.add_head(MAIN, &head).unwrap();
    assert_eq!(here.log(head).unwrap().count(), 1);
    assert!(here.pruned_commit(&parent).unwrap().is_some());
    assert_clean(&here);
    // Older commits can come later.
    bring(&elsewhere, &mut receiver, &parent);
    assert_eq!(here.log(head).unwrap().count(), 3);
    assert!(here.pruned_commit(&parent).unwrap().is_none());
    assert_clean(&here);
}

#[test]
fn what_cannot_be_of_a_commit_that_is_not_kept_is_refused() {
    let there = copy();
    let parent = write(&there, MAIN, |tx| tx.put(b"key", b"1").unwrap());
    let head = write(&there, MAIN, |tx| tx.put(b"key", b"2").unwrap());
    let time = there.commit(&parent).unwrap().unwrap().time;
    let here = copy();
    let mut receiver = here.receive();
    let zero = Default::default();
    for (generation, time) in [(0, time), (1 << 63, time), (u64::MAX, time), (1, zero)] {
        let error = receiver.add_pruned(&parent, generation, time).unwrap_err();
        assert!(matches!(error, LedgerError::InvalidArgument(_)), "{error}");
    }
    // The greatest there is.
    receiver.add_pruned(&parent, (1 << 63) - 1, time).unwrap();
    let commit = bring_pieces(&there, &mut receiver, &head);
    let error = receiver.add_commit(&head, &commit).unwrap_err();
    assert!(matches!(error, LedgerError::Integrity { kind: Kind::Commit, .. }), "{error}");
    receiver.add_pruned(&parent, 1, time).unwrap();
    receiver.add_commit(&head, &commit).unwrap();
    receiver.add_head(MAIN, &head).unwrap();
    assert_clean(&here);
}

#[test]
fn what_comes_from_the_remote_is_there() {
    let there = copy();
    let first = write(&there, MAIN, |tx| tx.put(b"key", &noise(3_000, 1)).unwrap());
    let host: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let here = attached(Arc::clone(&host));
    follow(&there, &here);
    let status = |id: &CommitId| here.commit_status(id).unwrap();
    assert_eq!((status(&first), count_rows(&*host, 0x27)), (Status::Synced, 0));
    // A commit from another page is only here.
    let second = write(&there, MAIN, |tx| tx.put(b"key", &noise(3_000, 2)).unwrap());
    bring(&there, &mut here.receive(), &second);
    here.create_branch("second", &second).unwrap();
    assert_eq!((status(&second), count_rows(&*host, 0x27)), (Status::Local, 2));
    // A commit on it is not known to be at the remote either.
    let third = write(&there, MAIN, |tx| tx.put(b"key", b"3").unwrap());
    assert_eq!(follow(&there, &here), third);
    assert_eq!(status(&third), Status::Local);
    assert_eq!(here.remote().unsynced_commits().unwrap().len(), 2);
    assert_clean(&here);
}

#[test]
fn lazy_values_that_come_or_are_here_are_kept() {
    let there = copy();
    let head = put_lazy(&there, b"film", &noise(200_000, 1));
    let here = attached(Arc::new(MemoryStore::new()));
    let mut receiver = here.remote().receive();
    // All that a page without a remote would want.
    let complete = copy();
    bring(&there, &mut complete.receive(), &head);
    let leaf = there.commit(&head).unwrap().unwrap().root;
    let mut next = vec![leaf];
    let mut seen = BTreeSet::new();
    while let Some(digest) = next.pop() {
        let Some(bytes) = complete.remote().piece_bytes(&digest).unwrap() else { continue };
        for (at, _) in bytes.iter().enumerate().take(bytes.len().saturating_sub(31)) {
            let below = Digest::from_slice(&bytes[at..at + 32]).unwrap();
            if complete.piece_status(&below).unwrap() != Status::Unknown && seen.insert(below) {
                next.push(below);
            }
        }
        let kinds = [Kind::Node, Kind::Chunk, Kind::Index];
        let kind = kinds.into_iter().find(|kind| kind.digest(&bytes) == digest).unwrap();
        receiver.add_piece(kind, bytes).unwrap();
    }
    let bytes = bring_pieces(&there, &mut receiver, &head);
    receiver.add_commit(&head, &bytes).unwrap();
    receiver.add_head(MAIN, &head).unwrap();
    here.collect().unwrap();
    let snapshot = here.snapshot(&head).unwrap();
    assert!(snapshot.has(b"film").unwrap());
    assert_eq!(snapshot.get_partial(b"film", 0, -1).unwrap(), Some(noise(200_000, 1)));
    assert_clean(&here);
}

/// A clock that stands still.
#[derive(Debug)]
struct Stopped(SystemTime);

impl Clock for Stopped {
    fn now(&self) -> SystemTime {
        self.0
    }
}

#[test]
fn a_commit_more_than_a_day_ahead_waits() {
    let there = copy();
    let id = write(&there, MAIN, |tx| tx.put(b"key", b"1").unwrap());
    let time = there.commit(&id).unwrap().unwrap().time.to_system_time();
    let day = Duration::from_secs(24 * 60 * 60);
    for (now, is_added) in [(time - day, true), (time - day - Duration::from_millis(1), false)] {
        let builder = Repository::builder(MemoryStore::new()).manual_maintenance();
        let repository = builder.clock(Arc::new(Stopped(now))).open_or_create().unwrap();
        let here = repository.create_page_with("test", PageId::ROOT, Secret::new([5; 32])).unwrap();
        let mut receiver = here.receive();
        let bytes = bring_pieces(&there, &mut receiver, &id);
        let added = receiver.add_commit(&id, &bytes);
        assert_eq!(added.is_ok(), is_added, "{added:?}");
        if let Err(error) = added {
            assert!(matches!(error, LedgerError::ClockAhead { .. }), "{error}");
        }
    }
}

#[test]
fn a_failure_of_the_host_adds_all_of_a_commit_or_nothing() {
    let there = copy();
    for number in 0..3 {
        write(&there, MAIN, |tx| {
            for key in 0..300_u32 {
                tx.put(&(key * 7 + number).to_be_bytes(), &[number as u8; 30]).unwrap();
            }
            tx.put(b"long", &noise(30_000, number.into())).unwrap();
        });
    }
    let head = there.head(MAIN).unwrap();
    let ids: Vec<_> = there.log(head).unwrap().map(|commit| commit.unwrap().0).collect();
    let kinds: [(fn() -> KvError, bool); 4] = [
        (|| KvError::Stale("broken".into()), false),
        (|| KvError::Retry("busy".into()), false),
        (|| KvError::OutcomeUnknown("cut".into()), false),
        (|| KvError::OutcomeUnknown("cut".into()), true),
    ];
    let expected: BTreeMap<_, _> = ids.iter().map(|id| (*id, content(&there, id))).collect();
    let commits: Vec<_> = ids
        .iter()
        .rev()
        .map(|id| (*id, there.remote().commit_bytes(id).unwrap().unwrap()))
        .collect();
    for (row, (kind, loses)) in (0..).zip(kinds) {
        for n in faults::failing(row, faults::distance(3)) {
            let failing = FaultStore::new(MemoryStore::new());
            let faults = failing.faults();
            let here = copy_in(Arc::new(failing));
            let mut receiver = here.receive();
            let mut acknowledged = Vec::new();
            faults.lose_commits(loses);
            faults.fail_nth(n, kind);
            for (id, commit) in &commits {
                let result = (|| {
                    loop {
                        let wanted = receiver.wanted(commit)?;
                        if wanted.is_empty() {
                            break receiver.add_commit(id, commit);
                        }
                        for (kind, digest) in wanted {
                            let bytes = there.remote().piece_bytes(&digest)?.unwrap();
                            receiver.add_piece(kind, bytes)?;
                        }
                    }
                })();
                if result.is_err() {
                    assert_eq!(faults.hits(), 1);
                    break;
                }
                acknowledged.push(*id);
            }
            let hits = faults.hits();
            faults.fail_nth(u64::MAX, kind);
            faults.lose_commits(false);
            assert_clean(&here);
            for id in &acknowledged {
                assert!(content(&here, id) == expected[id], "operation {n}");
            }
            bring(&there, &mut receiver, &head);
            receiver.add_head(MAIN, &head).unwrap();
            assert!(content(&here, &head) == expected[&head], "operation {n}");
            assert_clean(&here);
            if hits == 0 {
                assert_eq!(acknowledged.len(), commits.len());
                assert!(n > 30, "{n} operations");
                break;
            }
        }
    }
}

#[test]
fn what_comes_while_a_page_is_being_attached_is_not_known_to_be_at_the_remote() {
    let host: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let (there, here) = (copy(), copy_in(Arc::clone(&host)));
    for number in 0..300_u32 {
        write(&there, MAIN, |tx| tx.put(b"key", &number.to_be_bytes()).unwrap());
    }
    follow(&there, &here);
    let remote = here.remote();
    assert!(remote.attach_slice().unwrap() && remote.attach_slice().unwrap());
    let reached = {
        let tx = host.begin(&TxOptions::reading()).unwrap();
        let row = tx.get(&[0x10, 1, 0x2a]).unwrap().unwrap();
        CommitId(Digest(row[1..33].try_into().unwrap()))
    };
    // The parent has no row yet, and the child would have one if it had been there.
    let all = there.log(there.head(MAIN).unwrap()).unwrap();
    let parent = all.map(|commit| commit.unwrap().0).find(|id| *id > reached).unwrap();
    let child = loop {
        there.reset(MAIN, &parent).unwrap();
        let child = write(&there, MAIN, |tx| tx.put(b"key", b"the child").unwrap());
        if child <= reached {
            break child;
        }
    };
    let mut receiver = remote.receive();
    bring(&there, &mut receiver, &child);
    receiver.add_head(MAIN, &child).unwrap();
    remote.attach().unwrap();
    assert_clean(&here);
    let unsynced = remote.unsynced_commits().unwrap();
    let unsynced: BTreeSet<_> = unsynced.iter().map(|commit| commit.id).collect();
    assert!(unsynced.contains(&child) && unsynced.contains(&parent));
    let heads = here.heads(MAIN).unwrap();
    let all = heads.iter().flat_map(|head| here.log(*head).unwrap());
    assert_eq!(unsynced, all.map(|commit| commit.unwrap().0).collect());
}

/// A commit with many pieces comes in many portions. The pieces that have come are not visited
/// again with each of them.
#[test]
fn what_has_come_is_not_read_again_with_each_portion() {
    let entries = 8_000_u32;
    let host = FaultStore::new(MemoryStore::new());
    // Without a cache, the host is asked for each node of the parent that something is compared
    // with.
    let repository =
        Repository::builder(host.clone()).exclusive().manual_maintenance().cache_bytes(1);
    let repository = repository.open_or_create().unwrap();
    let here = repository.create_page_with("test", PageId::ROOT, Secret::new([5; 32])).unwrap();
    let there = copy();
    let fill = |seed: u64| {
        write(&there, MAIN, |tx| {
            for key in 0..entries {
                tx.put(&key.to_be_bytes(), &noise(520, seed + u64::from(key))).unwrap();
            }
        })
    };
    fill(0);
    follow(&there, &here);
    let commit = fill(1 << 32);
    let bytes = there.remote().commit_bytes(&commit).unwrap().unwrap();
    let mut receiver = here.receive();
    host.faults().stop();
    let (mut portions, mut pieces) = (0, 0);
    loop {
        let wanted = receiver.wanted(&bytes).unwrap();
        if wanted.is_empty() {
            break;
        }
        for (kind, digest) in &wanted {
            let bytes = there.remote().piece_bytes(digest).unwrap().unwrap();
            receiver.add_piece(*kind, bytes).unwrap();
        }
        (portions, pieces) = (portions + 1, pieces + wanted.len());
    }
    let operations = host.faults().operations();
    assert!(portions > 8 && pieces > entries as usize, "{portions} portions, {pieces} pieces");
    assert!(operations < 12 * pieces as u64, "{operations} operations for {pieces} pieces");
    receiver.add_commit(&commit, &bytes).unwrap();
    assert_clean(&here);
}

/// A piece that the search found here can be gone before the rest has come.
#[test]
fn what_is_collected_meanwhile_is_wanted_again() {
    let (there, here) = (copy(), copy());
    let long = noise(100_000, 3);
    let commit = write(&there, MAIN, |tx| {
        tx.put(b"film", &long).unwrap();
        tx.put(b"other", &noise(100_000, 4)).unwrap();
    });
    // One of the values is here, in a commit that is known nowhere else.
    write(&here, MAIN, |tx| tx.put(b"film", &long).unwrap());
    let bytes = there.remote().commit_bytes(&commit).unwrap().unwrap();
    let mut receiver = here.receive();
    let bring = |receiver: &mut Receiver| {
        let wanted = receiver.wanted(&bytes).unwrap();
        for (kind, digest) in &wanted {
            let bytes = there.remote().piece_bytes(digest).unwrap().unwrap();
            receiver.add_piece(*kind, bytes).unwrap();
        }
        wanted.len()
    };
    assert!(bring(&mut receiver) > 0 && bring(&mut receiver) > 0);
    here.reset(MAIN, &CommitId::FIRST).unwrap();
    assert!(here.collect().unwrap().pieces > 0);
    while bring(&mut receiver) > 0 {}
    receiver.add_commit(&commit, &bytes).unwrap();
    receiver.add_head(MAIN, &commit).unwrap();
    assert_eq!(content(&here, &commit)[&b"film"[..]], long);
    assert_clean(&here);
}
