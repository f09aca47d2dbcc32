//! Data from elsewhere: pieces and commits that are good, damaged or made up. Nothing panics, and
//! after any input, `verify` finds nothing on the page and all data that is here can be read.
//!
//! The first byte of the input says whether the page is attached to a remote. The rest is a list of
//! steps: a byte for the kind of step, then its arguments.
#![no_main]

use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use libfuzzer_sys::fuzz_target;
use permazen_kv::memory::MemoryStore;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvWrite, TxOptions};
use permazen_ledger::{
    Clock, CommitId, CommitTime, Digest, Kind, LedgerError, MAIN, Page, PageId, Receiver,
    Repository, Secret,
};

/// The pieces and commits of the page that this one is a copy of.
struct There {
    pieces: Vec<(Kind, Vec<u8>)>,
    /// Each after its parents.
    commits: Vec<Vec<u8>>,
    times: Vec<CommitTime>,
}

static THERE: LazyLock<There> = LazyLock::new(|| {
    let text = include_str!("../../ledger/tests/portable/rows.txt");
    let bytes = |hex: &str| -> Vec<u8> {
        let digit = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("a byte");
        (0..hex.len()).step_by(2).map(digit).collect()
    };
    let row = |line: &str| line.split_once(' ').map(|(key, value)| (bytes(key), bytes(value)));
    let rows: Vec<_> = text.lines().filter_map(row).collect();
    let store = MemoryStore::new();
    let mut tx = store.begin(&TxOptions::writing()).expect("a transaction");
    rows.iter().for_each(|(key, row)| tx.put(key, row).expect("a put"));
    tx.commit().expect("a commit");
    let repository = Repository::builder(store).clock(Arc::new(AlwaysTheSame)).manual_maintenance();
    let page = repository.open().and_then(|it| it.page("golden", PageId::ROOT)).expect("a page");
    let digests = |first: u8| {
        let of =
            move |key: &[u8]| Some(Digest(key.strip_prefix(&[0x10, 1, first])?.try_into().ok()?));
        rows.iter().filter_map(move |(key, _)| of(key))
    };
    let kinds = [Kind::Node, Kind::Index, Kind::Chunk];
    let piece = |digest: Digest| {
        let bytes = page.remote().piece_bytes(&digest).expect("a piece").expect("a piece");
        let kind = kinds.into_iter().find(|kind| kind.digest(&bytes) == digest);
        (kind.expect("a kind"), bytes)
    };
    let commit = |id: Digest| {
        let id = CommitId(id);
        let commit = page.commit(&id).expect("a commit").expect("a commit");
        let bytes = page.remote().commit_bytes(&id).expect("a commit").expect("a commit");
        (commit.generation, commit.time, bytes)
    };
    let mut commits: Vec<_> = digests(0x22).map(commit).collect();
    commits.sort();
    let times = commits.iter().map(|(_, time, _)| *time).collect();
    let commits = commits.into_iter().map(|(.., bytes)| bytes).collect();
    There { pieces: digests(0x23).map(piece).collect(), commits, times }
});

#[derive(Debug)]
struct AlwaysTheSame;

impl Clock for AlwaysTheSame {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_700_000_000)
    }
}

/// The bytes of the input.
struct Input<'i>(&'i [u8]);

impl<'i> Input<'i> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn bytes(&mut self) -> Option<&'i [u8]> {
        let len = usize::from(self.byte()?) << 8 | usize::from(self.byte()?);
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    fn one_of<'t, T>(&mut self, all: &'t [T]) -> Option<&'t T> {
        all.get(usize::from(self.byte()?).checked_rem(all.len())?)
    }

    /// Bytes with a change.
    fn changed(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let at = usize::from(self.byte()?) << 8 | usize::from(self.byte()?);
        let mut bytes = bytes.to_vec();
        let at = at.checked_rem(bytes.len())?;
        bytes[at] ^= self.byte()?;
        Some(bytes)
    }
}

/// Where a commit has its root.
const ROOT: std::ops::Range<usize> = 18..50;

struct Copy {
    page: Page,
    receiver: Receiver,
    /// The piece that came last.
    last: Option<Digest>,
}

impl Copy {
    fn add(&mut self, kind: Kind, bytes: Vec<u8>) {
        if let Ok(digest) = self.receiver.add_piece(kind, bytes) {
            self.last = Some(digest);
        }
    }

    /// Adds a commit, and makes it the head.
    fn add_commit(&mut self, bytes: &[u8]) {
        let _ = self.receiver.wanted(bytes);
        let id = CommitId(Kind::Commit.digest(bytes));
        if self.receiver.add_commit(&id, bytes).is_ok() {
            let _ = self.receiver.add_head(MAIN, &id);
        }
    }

    /// Gives the receiver the pieces that it wants.
    fn bring(&mut self, commit: &[u8]) {
        while let Ok(wanted) = self.receiver.wanted(commit) {
            let has = |(kind, digest): &(Kind, Digest)| {
                let mut all = THERE.pieces.iter();
                all.find(|(of, bytes)| of == kind && kind.digest(bytes) == *digest)
            };
            let found: Vec<_> = wanted.iter().filter_map(has).collect();
            for (kind, bytes) in &found {
                self.add(*kind, bytes.clone());
            }
            if found.len() < wanted.len() || wanted.is_empty() {
                return;
            }
        }
    }

    fn step(&mut self, input: &mut Input<'_>) -> Option<()> {
        let (there, what) = (&*THERE, input.byte()? % 9);
        match what {
            0 => {
                let (kind, bytes) = input.one_of(&there.pieces)?;
                self.add(*kind, bytes.clone());
            }
            1 => {
                let (kind, bytes) = input.one_of(&there.pieces)?;
                let bytes = input.changed(bytes)?;
                self.add(*kind, bytes);
            }
            2 => {
                let kind = *input.one_of(&[Kind::Node, Kind::Index, Kind::Chunk, Kind::Commit])?;
                self.add(kind, input.bytes()?.to_vec());
            }
            3 => {
                let commit = input.one_of(&there.commits)?;
                self.bring(commit);
                self.add_commit(commit);
            }
            4 => self.add_commit(input.one_of(&there.commits)?),
            5 => {
                let commit = input.one_of(&there.commits)?;
                let commit = input.changed(commit)?;
                self.bring(&commit);
                self.add_commit(&commit);
            }
            6 => {
                // A commit with another root.
                let mut commit = input.one_of(&there.commits)?.clone();
                commit[ROOT].copy_from_slice(&self.last?.0);
                self.bring(&commit);
                self.add_commit(&commit);
            }
            7 => self.add_commit(input.bytes()?),
            _ => {
                let commit = input.one_of(&there.commits)?;
                let id = CommitId(Kind::Commit.digest(commit));
                let generation = input.byte()?.into();
                let _ = self.receiver.add_pruned(&id, generation, *input.one_of(&there.times)?);
            }
        }
        Some(())
    }
}

fuzz_target!(|input: &[u8]| {
    let mut input = Input(input);
    let Some(first) = input.byte() else { return };
    let repository = Repository::builder(MemoryStore::new()).manual_maintenance().exclusive();
    let repository =
        repository.clock(Arc::new(AlwaysTheSame)).open_or_create().expect("a repository");
    let secret = Secret::new(std::array::from_fn(|at| at as u8));
    let page = repository.create_page_with("golden", PageId::ROOT, secret).expect("a page");
    if first % 2 == 1 {
        page.remote().attach().expect("attached");
    }
    let receiver = if first % 4 < 2 { page.receive() } else { page.remote().receive() };
    let mut copy = Copy { page, receiver, last: None };
    while copy.step(&mut input).is_some() {}
    let Copy { page, receiver, .. } = copy;
    drop(receiver);
    for head in page.heads(MAIN).expect("the heads") {
        let snapshot = page.snapshot(&head).expect("a snapshot");
        let entries = snapshot.entries(KeySpan::FULL, Direction::Forward).expect("entries");
        for entry in entries {
            match entry {
                Ok(_) | Err(LedgerError::NeedsFetch { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
    let found = page.verify().expect("what was found").findings;
    assert!(found.is_empty(), "{found:?}");
    page.collect().expect("collected");
    let found = page.verify().expect("what was found").findings;
    assert!(found.is_empty(), "{found:?}");
});
