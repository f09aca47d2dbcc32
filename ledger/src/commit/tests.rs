//! A commit has one encoding, and everything else is refused.

use std::time::{Duration, UNIX_EPOCH};

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::encoding::{Commit, Origin};
use super::time::CommitTime;
use crate::digest::{Digest, Kind};
use crate::error::LedgerError;
use crate::ids::CommitId;

fn commit(random: &mut StdRng) -> Commit {
    let mut digest = || Kind::Node.digest(&random.random::<[u8; 8]>());
    let (root, conflicts) = (digest(), digest());
    let mut parents = [CommitId(digest()), CommitId(digest())];
    parents.sort();
    let origin = if random.random() {
        Origin::Merge { parents }
    } else {
        let words = |random: &mut StdRng| "ä".repeat(random.random_range(0..9));
        Origin::Change {
            parent: if random.random() { parents[0] } else { CommitId::FIRST },
            salt: random.random(),
            device: random.random(),
            author: words(random),
            message: words(random),
        }
    };
    Commit {
        time: CommitTime(random.random_range(1..1 << 63)),
        generation: random.random_range(1..1 << 63),
        root,
        conflicts: random.random::<bool>().then_some(conflicts),
        origin,
    }
}

#[test]
fn commits_come_back() {
    let mut random = StdRng::seed_from_u64(1);
    for _ in 0..2_000 {
        let commit = commit(&mut random);
        let bytes = commit.to_bytes();
        let id = Commit::id(&bytes);
        assert_eq!(Commit::checked(1, &id, &bytes).unwrap(), commit);
        let error = Commit::checked(1, &CommitId::FIRST, &bytes).unwrap_err();
        assert!(matches!(error, LedgerError::Integrity { kind: Kind::Commit, .. }));
    }
}

#[test]
fn other_bytes_are_refused_or_are_another_commit() {
    let mut random = StdRng::seed_from_u64(2);
    let (mut refused, mut other) = (0, 0);
    for _ in 0..100_000 {
        let mut bytes = commit(&mut random).to_bytes();
        let at = random.random_range(0..bytes.len());
        match random.random_range(0..4) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, random.random()),
            2 => bytes[at] = random.random(),
            _ => bytes[at] ^= 1 << random.random_range(0..8),
        }
        match Commit::parse(&bytes) {
            Err(_) => refused += 1,
            Ok(commit) => {
                assert_eq!(commit.to_bytes(), bytes);
                other += 1;
            }
        }
    }
    assert!(refused > 10_000 && other > 10_000, "{refused} refused, {other} not");
}

#[test]
fn a_change_is_later_than_its_parent() {
    let now = UNIX_EPOCH + Duration::from_millis(1_700_000_000_000);
    let clock = CommitTime::at(now);
    let first = CommitTime::after(CommitTime::default(), clock).unwrap();
    assert_eq!((first.as_millis(), first.to_system_time()), (1_700_000_000_000, now));
    let second = CommitTime::after(first, clock).unwrap();
    assert!(second > first && second.as_millis() == first.as_millis());
    // A clock that went back changes nothing.
    assert!(CommitTime::after(second, CommitTime::at(UNIX_EPOCH)).unwrap() > second);
    let later = CommitTime::at(now + Duration::from_millis(1));
    assert_eq!(CommitTime::after(second, later).unwrap().as_millis(), 1_700_000_000_001);
}

#[test]
fn the_first_commit_has_an_id_of_zeros() {
    assert_eq!(CommitId::FIRST.0, Digest([0; 32]));
}
