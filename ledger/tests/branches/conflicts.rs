//! Trees of conflicts. A program that merges objects writes them; here they are made by hand. They
//! are received, kept, collected, squashed and checked as the trees of contents are.

use std::collections::BTreeSet;

use permazen_kv::memory::MemoryStore;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{
    CommitId, Digest, Kind, LedgerError, MAIN, Page, PageId, Repository, Secret, Status,
};

use crate::support::page::{assert_clean, noise, write};

/// A copy of the page in a host of its own. No commit says where it was made: commits that are
/// known to come from another copy cannot be squashed.
fn copy() -> (MemoryStore, Page) {
    let host = MemoryStore::new();
    let builder =
        Repository::builder(host.clone()).exclusive().manual_maintenance().without_device();
    let repository = builder.open_or_create().unwrap();
    let page = repository.create_page_with("a", PageId::ROOT, Secret::new([5; 32])).unwrap();
    (host, page)
}

/// The origin of the commits that arrive: a page with the contents, and one whose contents are the
/// conflicts.
struct Elsewhere {
    contents: Page,
    conflicts: Page,
}

/// A commit with a tree of conflicts.
struct Made {
    id: CommitId,
    bytes: Vec<u8>,
    conflicts: Digest,
}

impl Elsewhere {
    fn new() -> Self {
        Elsewhere { contents: copy().1, conflicts: copy().1 }
    }

    /// The tree of conflicts with these changes, and its root.
    fn conflicts(&self, change: impl FnOnce(&mut dyn KvWrite)) -> Digest {
        let id = write(&self.conflicts, MAIN, change);
        self.conflicts.snapshot(&id).unwrap().root()
    }

    /// A change of `parent` with the content of this commit, and with a tree of conflicts.
    fn commit(&self, like: &CommitId, parent: &CommitId, conflicts: Digest) -> Made {
        let like = self.contents.remote().commit_bytes(like).unwrap().unwrap();
        // Version and flags; time, generation and root; the number of parents and the parent.
        let (before, rest) = like.split_at(2 + 8 + 8 + 32);
        let mut bytes = before.to_vec();
        bytes[1] |= 2;
        bytes.extend_from_slice(&conflicts.0);
        bytes.push(rest[0]);
        bytes.extend_from_slice(&parent.0.0);
        bytes.extend_from_slice(&rest[33..]);
        let id = CommitId(Kind::Commit.digest(&bytes));
        Made { id, bytes, conflicts }
    }

    fn piece(&self, digest: &Digest) -> Vec<u8> {
        let bytes = |page: &Page| page.remote().piece_bytes(digest).unwrap();
        bytes(&self.contents).or_else(|| bytes(&self.conflicts)).unwrap()
    }

    /// Adds a commit to a page. How many pieces it wanted.
    fn bring(&self, to: &Page, (id, bytes): (&CommitId, &[u8])) -> usize {
        let (mut receiver, mut count) = (to.receive(), 0);
        loop {
            let wanted = receiver.wanted(bytes).unwrap();
            if wanted.is_empty() {
                break;
            }
            count += wanted.len();
            for (kind, digest) in wanted {
                assert_eq!(receiver.add_piece(kind, self.piece(&digest)).unwrap(), digest);
            }
        }
        receiver.add_commit(id, bytes).unwrap();
        receiver.add_head(MAIN, id).unwrap();
        count
    }
}

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

/// A content, and two changes of it with conflicts; the second has a few more.
fn sample() -> (Elsewhere, (CommitId, Vec<u8>), [Made; 2]) {
    let elsewhere = Elsewhere::new();
    let first = write(&elsewhere.contents, MAIN, |tx| {
        (0..100).for_each(|n| tx.put(&key(n), &[5; 30]).unwrap());
    });
    let second = write(&elsewhere.contents, MAIN, |tx| tx.put(b"a", b"1").unwrap());
    let third = write(&elsewhere.contents, MAIN, |tx| tx.put(b"a", b"2").unwrap());
    let some = elsewhere.conflicts(|tx| {
        (0..2_000).for_each(|n| tx.put(&key(n), &[6; 30]).unwrap());
        tx.put(b"long", &noise(40_000, 3)).unwrap();
    });
    let more = elsewhere.conflicts(|tx| tx.put(b"one more", b"conflict").unwrap());
    let second = elsewhere.commit(&second, &first, some);
    let third = elsewhere.commit(&third, &second.id, more);
    let bytes = elsewhere.contents.remote().commit_bytes(&first).unwrap().unwrap();
    (elsewhere, (first, bytes), [second, third])
}

/// A page that has got the sample.
fn here(references: bool) -> (MemoryStore, Page, Elsewhere, CommitId, [Made; 2]) {
    let (elsewhere, (first, bytes), made) = sample();
    let (host, page) = copy();
    if references {
        page.set_reference_rows(true).unwrap();
    }
    elsewhere.bring(&page, (&first, &bytes));
    let counts = made.each_ref().map(|made| elsewhere.bring(&page, (&made.id, &made.bytes)));
    // The second one wants only pieces that the first one does not have.
    assert!(counts[0] > 15 && counts[1] < 8, "{counts:?}");
    (host, page, elsewhere, first, made)
}

fn rows(host: &MemoryStore, first: u8) -> BTreeSet<Vec<u8>> {
    let tx = host.begin(&TxOptions::reading()).unwrap();
    let (min, max) = ([0x10, 1, first], [0x10, 1, first + 1]);
    let pairs = tx.scan(KeySpan::new(&min, Some(&max)), Direction::Forward).unwrap();
    pairs.map(|pair| pair.unwrap().0[3..].to_vec()).collect()
}

/// The nodes that are here of a tree, root included.
fn nodes(page: &Page, root: &Digest) -> usize {
    let Some(bytes) = page.remote().piece_bytes(root).unwrap() else { return 0 };
    // The children of an inner node are at the ends of its items, each with 8 bytes after it.
    let level = bytes[0];
    if level == 0 {
        return 1;
    }
    let count = u32::from_be_bytes(bytes[1..5].try_into().unwrap()) as usize;
    let prefix = u16::from_be_bytes(bytes[5..7].try_into().unwrap()) as usize;
    let begin = 8 + prefix;
    let items = begin + 2 * count;
    let end = |at: usize| {
        items + u16::from_be_bytes(bytes[begin + 2 * at..][..2].try_into().unwrap()) as usize
    };
    let child = |at: usize| Digest::from_slice(&bytes[end(at) - 40..end(at) - 8]).unwrap();
    1 + (0..count).map(|at| nodes(page, &child(at))).sum::<usize>()
}

#[test]
fn conflicts_are_received_and_kept_as_long_as_their_commits() {
    for references in [false, true] {
        let (host, page, elsewhere, first, [second, third]) = here(references);
        assert_clean(&page);
        assert_eq!(page.commit(&second.id).unwrap().unwrap().conflicts, Some(second.conflicts));
        let all = nodes(&elsewhere.conflicts, &third.conflicts);
        assert!(all > 10, "{all}");
        assert_eq!(nodes(&page, &third.conflicts), all);
        let before = rows(&host, 0x23);
        page.collect().unwrap();
        assert_eq!(rows(&host, 0x23), before);
        // A commit that is made here says nothing of conflicts.
        let own = write(&page, MAIN, |tx| tx.put(b"a", b"3").unwrap());
        assert_eq!(page.commit(&own).unwrap().unwrap().conflicts, None);

        // Only the second commit.
        page.create_branch("second", &second.id).unwrap();
        page.reset(MAIN, &first).unwrap();
        page.collect().unwrap();
        assert_clean(&page);
        assert_eq!(nodes(&page, &second.conflicts), nodes(&elsewhere.conflicts, &second.conflicts));
        assert_eq!(nodes(&page, &third.conflicts), 0);
        let report = page.verify().unwrap();
        assert_eq!(report.unreachable_pieces, 0);

        // Nothing of conflicts is left after it.
        page.remove_branch("second").unwrap();
        page.collect().unwrap();
        assert_clean(&page);
        assert_eq!(nodes(&page, &second.conflicts), 0);
        let of_first = rows(&host, 0x23).len();
        assert_eq!(of_first, nodes(&page, &page.snapshot(&first).unwrap().root()));
        assert!(rows(&host, 0x24).len() == if references { of_first } else { 0 });
    }
}

#[test]
fn reference_rows_that_come_later_have_them_too() {
    let (host, page, _, first, [second, _]) = here(false);
    page.set_reference_rows(true).unwrap();
    page.collect().unwrap();
    assert_clean(&page);
    // Row 24 of kind 2: the root of the conflicts, and the commit.
    let key = [&second.conflicts.0[..], &[2], &second.id.0.0].concat();
    assert!(rows(&host, 0x24).contains(&key));
    page.reset(MAIN, &first).unwrap();
    page.collect().unwrap();
    assert_clean(&page);
    assert_eq!(nodes(&page, &second.conflicts), 0);
}

#[test]
fn what_is_lost_of_them_is_found_and_stops_the_collector() {
    let (host, page, _, _, [_, third]) = here(false);
    let key = [&[0x10, 1, 0x23], &third.conflicts.0[..]].concat();
    let mut tx = host.begin(&TxOptions::writing()).unwrap();
    tx.remove(&key).unwrap();
    tx.commit().unwrap();
    let found = page.verify().unwrap().findings;
    let text = format!("the node that commit {} refers to", third.id);
    assert!(found.iter().any(|finding| finding.expected == text), "{found:#?}");
    page.create_branch("garbage", &third.id).unwrap();
    write(&page, "garbage", |tx| tx.put(b"a", b"4").unwrap());
    page.remove_branch("garbage").unwrap();
    let pieces = rows(&host, 0x23);
    let error = page.collect().unwrap_err();
    assert!(matches!(error, LedgerError::Missing { digest, .. } if digest == third.conflicts));
    assert_eq!(rows(&host, 0x23), pieces);
}

#[test]
fn a_squash_keeps_the_conflicts_of_the_head() {
    for references in [false, true] {
        let (_, page, elsewhere, first, [_, third]) = here(references);
        let squashed = page.squash(MAIN, &first, None).unwrap();
        let commit = page.commit(&squashed).unwrap().unwrap();
        assert_eq!(commit.conflicts, Some(third.conflicts));
        page.collect().unwrap();
        assert!(page.commit(&third.id).is_err());
        assert_eq!(nodes(&page, &third.conflicts), nodes(&elsewhere.conflicts, &third.conflicts));
        assert_clean(&page);
    }
    // The same content with other conflicts is something to say.
    let (_, page, elsewhere, _, [second, third]) = here(false);
    let same =
        elsewhere.commit(&elsewhere.contents.head(MAIN).unwrap(), &third.id, second.conflicts);
    // One generation and a moment later.
    let mut bytes = same.bytes.clone();
    bytes[9] += 1;
    bytes[17] += 1;
    let id = CommitId(Kind::Commit.digest(&bytes));
    elsewhere.bring(&page, (&id, &bytes));
    let squashed = page.squash(MAIN, &third.id, None).unwrap();
    assert!(squashed != third.id && squashed != id);
    assert_eq!(page.commit(&squashed).unwrap().unwrap().conflicts, Some(second.conflicts));
    // And with the same ones is nothing to say.
    let again =
        elsewhere.commit(&elsewhere.contents.head(MAIN).unwrap(), &third.id, third.conflicts);
    let mut bytes = again.bytes;
    bytes[9] += 1;
    bytes[17] += 1;
    let id = CommitId(Kind::Commit.digest(&bytes));
    page.reset(MAIN, &third.id).unwrap();
    elsewhere.bring(&page, (&id, &bytes));
    assert_eq!(page.squash(MAIN, &third.id, None).unwrap(), third.id);
}

#[test]
fn invalid_trees_of_conflicts_are_refused() {
    let (elsewhere, (first, bytes), [second, _]) = sample();
    let (_, page) = copy();
    elsewhere.bring(&page, (&first, &bytes));
    let with = |conflicts: &Digest| {
        let mut bytes = second.bytes.clone();
        bytes[50..82].copy_from_slice(&conflicts.0);
        (CommitId(Kind::Commit.digest(&bytes)), bytes)
    };
    // Without entries.
    let (id, bytes) = with(&Kind::Node.digest(&[0; 8]));
    let error = page.receive().add_commit(&id, &bytes).unwrap_err();
    assert!(error.to_string().contains("a tree of conflicts without entries"), "{error}");
    // Not there.
    let mut receiver = page.receive();
    let root = page.snapshot(&first).unwrap().root();
    let error = receiver.add_commit(&second.id, &second.bytes).unwrap_err();
    assert!(matches!(error, LedgerError::Missing { .. }), "{error}");
    // A root with one item, a leaf.
    let other = copy().1;
    let id = write(&other, MAIN, |tx| tx.put(b"one", b"1").unwrap());
    let leaf = other.snapshot(&id).unwrap().root();
    let leaf = other.remote().piece_bytes(&leaf).unwrap().unwrap();
    let entries = [&Kind::Node.digest(&leaf).0[..], &1_u64.to_be_bytes()].concat();
    let mut node = vec![1, 0, 0, 0, 1, 0, 3, 0];
    node.extend_from_slice(b"one");
    node.extend_from_slice(&42_u16.to_be_bytes());
    node.extend_from_slice(&[0, 0]);
    node.extend_from_slice(&entries);
    let digest = receiver.add_piece(Kind::Node, node).unwrap();
    receiver.add_piece(Kind::Node, leaf).unwrap();
    // The content is there, so another piece is missing.
    let content = page.commit(&first).unwrap().unwrap().root;
    let (_, mut bytes) = with(&digest);
    bytes[18..50].copy_from_slice(&content.0);
    let id = CommitId(Kind::Commit.digest(&bytes));
    let error = receiver.add_commit(&id, &bytes).unwrap_err();
    let LedgerError::Integrity { digest: of, expected, .. } = &error else { panic!("{error}") };
    assert_eq!((*of, &expected[..6]), (digest, "a root"), "{error}");
    assert_eq!(page.commit_status(&id).unwrap(), Status::Unknown);
    assert_eq!(page.snapshot(&page.head(MAIN).unwrap()).unwrap().root(), root);
    assert_clean(&page);
}

#[test]
fn conflicts_have_statuses_like_all_pieces() {
    let (host, page, _, _, [_, third]) = here(false);
    let remote = page.remote();
    remote.attach().unwrap();
    assert_clean(&page);
    assert_eq!(rows(&host, 0x27), rows(&host, 0x23));
    assert_eq!(page.piece_status(&third.conflicts).unwrap(), Status::Local);
    remote.mark_synced(&[], &[third.conflicts], &[]).unwrap();
    assert_eq!(page.piece_status(&third.conflicts).unwrap(), Status::Synced);
    assert_clean(&page);
    // Reads of the page see only its content.
    let snapshot = page.snapshot(&third.id).unwrap();
    assert_eq!(snapshot.count(KeySpan::FULL).unwrap(), 101);
    assert!(snapshot.get(b"one more").unwrap().is_none());
}
