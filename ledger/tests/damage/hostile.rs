//! Data of a source that breaks the rules: it is refused, or does no harm.

use std::collections::HashMap;
use std::io::Read;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use permazen_kv::memory::MemoryStore;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, KvTransaction, TxOptions};
use permazen_ledger::{
    CommitId, CommitTime, Digest, Kind, LedgerError, MAIN, MergeSides, Merger, Page, PageId,
    PieceSource, Receiver, Repository, Result, Secret, SideChange,
};

use crate::support::page::put;

type Pieces = Vec<(Kind, Vec<u8>)>;

const EAGER: u16 = 0x4000;
const LAZY: u16 = 0xc000;

fn page() -> (Repository, Page) {
    let builder = Repository::builder(MemoryStore::new()).manual_maintenance().exclusive();
    let repository = builder.open_or_create().unwrap();
    let page = repository.create_page_with("test", PageId::ROOT, Secret::new([7; 32])).unwrap();
    (repository, page)
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    (now.as_millis() as u64) << 16
}

/// A commit as its bytes, and its ID.
fn commit(parents: &[CommitId], root: &Digest, time: u64, generation: u64) -> (CommitId, Vec<u8>) {
    let is_change = parents.len() == 1;
    let mut bytes = vec![1, u8::from(is_change)];
    bytes.extend(time.to_be_bytes());
    bytes.extend(generation.to_be_bytes());
    bytes.extend(root.0);
    bytes.push(parents.len() as u8);
    let mut parents = parents.to_vec();
    parents.sort();
    parents.iter().for_each(|parent| bytes.extend(parent.0.0));
    if is_change {
        bytes.extend([9; 36]);
        let len = bytes.len();
        bytes[len - 4..].fill(0);
    }
    (CommitId(Kind::Commit.digest(&bytes)), bytes)
}

/// A leaf with one entry.
fn leaf(key: &[u8], flags: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0];
    bytes.extend(1_u32.to_be_bytes());
    bytes.extend((key.len() as u16).to_be_bytes());
    bytes.push(0);
    bytes.extend(key);
    bytes.extend((2 + value.len() as u16).to_be_bytes());
    bytes.extend(flags.to_be_bytes());
    bytes.extend(value);
    bytes
}

fn reference(top: &Digest, levels: u64, len: u64) -> Vec<u8> {
    [&top.0[..], &(levels << 56 | len).to_be_bytes()].concat()
}

fn index(level: u8, parts: &[(u64, Digest)]) -> Vec<u8> {
    let mut bytes = vec![level];
    for (len, digest) in parts {
        bytes.extend(len.to_be_bytes());
        bytes.extend(digest.0);
    }
    bytes
}

/// 2⁴⁶ zeros in five pieces, as the page itself would cut them: the entry, and its length.
fn bomb(flags: u16) -> (Pieces, Vec<u8>, u64) {
    let chunk = vec![0; 65_536];
    let (mut len, mut top) = (65_536, Kind::Chunk.digest(&chunk));
    let mut pieces = vec![(Kind::Chunk, chunk)];
    for level in 0..3 {
        let bytes = index(level, &vec![(len, top); 1_024]);
        (len, top) = (len * 1_024, Kind::Index.digest(&bytes));
        pieces.push((Kind::Index, bytes));
    }
    let leaf = leaf(b"bomb", flags, &reference(&top, 3, len));
    pieces.push((Kind::Node, leaf.clone()));
    (pieces, leaf, len)
}

fn send(receiver: &mut Receiver, pieces: &Pieces, id: &CommitId, commit: &[u8]) -> Result<()> {
    let known: HashMap<_, _> =
        pieces.iter().map(|(kind, bytes)| (kind.digest(bytes), (*kind, bytes))).collect();
    loop {
        let wanted = receiver.wanted(commit)?;
        let wanted: Vec<_> = wanted.iter().filter_map(|(_, digest)| known.get(digest)).collect();
        if wanted.is_empty() {
            return receiver.add_commit(id, commit);
        }
        for (kind, bytes) in wanted {
            receiver.add_piece(*kind, bytes.to_vec())?;
        }
    }
}

/// A page with the bomb on `bomb`.
fn with_bomb() -> (Repository, Page, CommitId, u64) {
    let (repository, page) = page();
    let (pieces, leaf, len) = bomb(EAGER);
    let (id, bytes) = commit(&[CommitId::FIRST], &Kind::Node.digest(&leaf), now(), 1);
    send(&mut page.receive(), &pieces, &id, &bytes).unwrap();
    page.create_branch("bomb", &id).unwrap();
    (repository, page, id, len)
}

fn is_too_long(error: LedgerError, len: u64) {
    assert!(
        matches!(error, LedgerError::WholeValueTooLong { len: found, .. } if found == len),
        "{error}"
    );
    assert!(error.to_string().contains("get_partial"), "{error}");
    // A caller that has scanned a page must know which entry to leave out.
    assert!(matches!(error, LedgerError::WholeValueTooLong { key, .. } if !key.is_empty()));
}

struct ReadsValues;

impl Merger for ReadsValues {}

#[test]
fn a_few_pieces_that_are_a_huge_value_are_not_read_in_one_piece() {
    let (_repository, page, id, len) = with_bomb();
    let snapshot = page.snapshot(&id).unwrap();
    is_too_long(snapshot.get(b"bomb").map(drop).unwrap_err().into(), len);
    is_too_long(snapshot.fetch(b"bomb").map(drop).unwrap_err(), len);
    is_too_long(snapshot.get_partial(b"bomb", 0, -1).map(drop).unwrap_err(), len);
    let mut pairs = snapshot.scan(KeySpan::FULL, Direction::Forward).unwrap();
    is_too_long(pairs.next().unwrap().map(drop).unwrap_err().into(), len);
    put(&page, MAIN, b"bomb", b"other");
    is_too_long(page.merge(MAIN, &id, &mut ReadsValues).unwrap_err(), len);
    // A merger that does not need values reads nothing of it.
    page.merge(MAIN, &id, &mut permazen_ledger::LastWriterWins).unwrap();
    let last = snapshot.get_partial(b"bomb", -3, -1).unwrap();
    assert_eq!(last.as_deref(), Some(&[0; 3][..]));
    let mut begin = [1; 10];
    snapshot.read_value(b"bomb").unwrap().unwrap().read_exact(&mut begin).unwrap();
    assert_eq!(begin, [0; 10]);
}

#[test]
fn whether_a_value_is_here_depends_on_its_distinct_pieces() {
    let (_repository, page, id, _) = with_bomb();
    assert!(page.snapshot(&id).unwrap().has(b"bomb").unwrap());
}

#[test]
fn the_longest_value_in_one_piece_can_be_set() {
    let builder = Repository::builder(MemoryStore::new()).manual_maintenance();
    let repository = builder.longest_whole_value(100_000).open_or_create().unwrap();
    let page = repository.create_page("test", PageId::ROOT).unwrap();
    put(&page, MAIN, b"short", &[1; 100_000]);
    let id = put(&page, MAIN, b"long", &[1; 100_001]);
    let snapshot = page.snapshot(&id).unwrap();
    assert_eq!(snapshot.get(b"short").unwrap().unwrap().len(), 100_000);
    is_too_long(snapshot.get(b"long").map(drop).unwrap_err().into(), 100_001);
    assert_eq!(snapshot.get_partial(b"long", 1, -1).unwrap().unwrap().len(), 100_000);
    // It does not stop a listing of entries.
    let entries = snapshot.entries(KeySpan::FULL, Direction::Forward).unwrap();
    let entries: Vec<_> = entries.map(Result::unwrap).collect();
    let found: Vec<_> = entries.iter().map(|entry| (&*entry.key, entry.value.len)).collect();
    assert_eq!(found, [(&b"long"[..], 100_001), (b"short", 100_000)]);
    assert!(entries[0].value.bytes.is_none() && entries[0].value.digest.is_some());
    assert!(entries[1].value.bytes.is_some());
}

/// Looks at all changes.
struct Sees(Vec<SideChange>);

impl Merger for Sees {
    fn begin(&mut self, sides: &MergeSides<'_>) -> Result<()> {
        self.0 = sides.changes(KeySpan::FULL)?.collect::<Result<_>>()?;
        Ok(())
    }

    fn needs_values(&self) -> bool {
        false
    }
}

#[test]
fn a_huge_value_holds_up_no_merge() {
    let (_repository, page, id, len) = with_bomb();
    put(&page, MAIN, b"z", b"other");
    let mut sees = Sees(Vec::new());
    page.merge(MAIN, &id, &mut sees).unwrap();
    let [bomb, other] = &sees.0[..] else { unreachable!("{:?}", sees.0) };
    let side = bomb.newer.as_ref().or(bomb.older.as_ref()).unwrap();
    assert_eq!((&*bomb.key, side.len, &side.bytes), (&b"bomb"[..], len, &None));
    assert_eq!(other.key, b"z");
}

/// Lies about pieces that are here: the name, the top piece, its levels, the length.
fn lies(page: &Page) -> Vec<(&'static str, Digest, u64, u64)> {
    let mut value = vec![0; 100_000];
    value.iter_mut().enumerate().for_each(|(at, byte)| *byte = ((at * at) >> 3) as u8);
    put(page, MAIN, b"long", &value);
    let head = put(page, MAIN, b"mid", &value[..3_000]);
    let root = page.snapshot(&head).unwrap().root();
    let was_attached = page.remote().attach().is_ok();
    assert!(was_attached);
    let all = page.remote().local_pieces(None, 1_000).unwrap();
    let index = all.iter().find(|piece| piece.kind == Kind::Index).unwrap().digest;
    let chunk = Kind::Chunk.digest(&value[..3_000]);
    vec![
        ("a chunk that is a node", root, 0, 3_000),
        ("an index piece that is a node", root, 1, 100_000),
        ("an index piece with another length", index, 1, 100_001),
        ("a chunk that is an index piece", index, 0, 3_000),
        ("an index piece that is a chunk", chunk, 1, 100_000),
        ("a chunk with another length", chunk, 0, 3_001),
    ]
}

#[test]
fn lies_about_pieces_that_are_here_are_refused() {
    let (_repository, page) = page();
    for (what, top, levels, len) in lies(&page) {
        for flags in [LAZY, EAGER] {
            let leaf = leaf(b"film", flags, &reference(&top, levels, len));
            let (id, bytes) = commit(&[CommitId::FIRST], &Kind::Node.digest(&leaf), now(), 1);
            let mut receiver = page.remote().receive();
            let error = send(&mut receiver, &vec![(Kind::Node, leaf)], &id, &bytes).unwrap_err();
            assert!(matches!(error, LedgerError::Integrity { .. }), "{what}, {flags:x}: {error}");
        }
    }
    page.collect().unwrap();
    assert!(page.verify().unwrap().findings.is_empty());
}

#[test]
fn a_tree_that_names_other_pieces_is_refused_and_nothing_is_called_damaged() {
    let (_repository, page) = page();
    let head = put(&page, MAIN, b"mid", &[5; 3_000]);
    let chunk = Kind::Chunk.digest(&[5; 3_000]);
    let (id, bytes) = commit(&[head], &chunk, now() + (1 << 30), 2);
    let error = send(&mut page.receive(), &Vec::new(), &id, &bytes).unwrap_err();
    assert!(matches!(error, LedgerError::Integrity { .. }), "{error}");
}

#[test]
fn lies_about_pieces_that_come_later_do_not_stop_a_collection() {
    let lies = lies(&page().1);
    for (what, top, levels, len) in lies {
        let (_repository, page) = page();
        page.remote().attach().unwrap();
        let leaf = leaf(b"film", LAZY, &reference(&top, levels, len));
        let (id, bytes) = commit(&[CommitId::FIRST], &Kind::Node.digest(&leaf), now(), 1);
        let mut receiver = page.remote().receive();
        send(&mut receiver, &vec![(Kind::Node, leaf)], &id, &bytes).unwrap();
        page.create_branch("lie", &id).unwrap();
        drop(receiver);
        // The pieces come.
        let mut value = vec![0; 100_000];
        value.iter_mut().enumerate().for_each(|(at, byte)| *byte = ((at * at) >> 3) as u8);
        put(&page, MAIN, b"long", &value);
        put(&page, MAIN, b"mid", &value[..3_000]);
        let collected = page.collect();
        assert!(collected.is_ok(), "{what}: {collected:?}");
        let snapshot = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
        assert_eq!(snapshot.get(b"long").unwrap().as_deref(), Some(&value[..]), "{what}");
        assert!(page.snapshot(&id).unwrap().get(b"film").is_err(), "{what}");
    }
}

#[test]
fn a_commit_must_be_as_it_was_said_when_it_was_pruned() {
    let (_repository, page) = page();
    let root = page.snapshot(&CommitId::FIRST).unwrap().root();
    let time = now() - 1_000;
    let (parent, bytes) = commit(&[CommitId::FIRST], &root, time, 1);
    for (generation, said) in [(1_000, time), (1, time - 1)] {
        let mut receiver = page.receive();
        receiver.add_pruned(&parent, generation, CommitTime::from_bits(said)).unwrap();
        let (child, child_bytes) = commit(&[parent], &root, now(), generation + 1);
        receiver.add_commit(&child, &child_bytes).unwrap();
        let error = receiver.add_commit(&parent, &bytes).unwrap_err();
        assert!(matches!(error, LedgerError::Integrity { .. }), "{error}");
        drop(receiver);
        // Without its child, nothing says anything of it.
        page.collect().unwrap();
    }
    let mut receiver = page.receive();
    receiver.add_pruned(&parent, 1, CommitTime::from_bits(time)).unwrap();
    let (child, child_bytes) = commit(&[parent], &root, now(), 2);
    receiver.add_commit(&child, &child_bytes).unwrap();
    receiver.add_commit(&parent, &bytes).unwrap();
    assert!(page.verify().unwrap().findings.is_empty());
}

type Hook = Box<dyn FnOnce() + Send>;

/// A host in which something happens before the next transaction that writes.
#[derive(Clone, Default)]
struct Hooked {
    store: MemoryStore,
    before: Arc<Mutex<Option<Hook>>>,
}

impl KvDatabase for Hooked {
    fn begin(&self, options: &TxOptions) -> permazen_kv::Result<Box<dyn KvTransaction + Send>> {
        if !options.read_only {
            let hook = self.before.lock().unwrap().take();
            hook.into_iter().for_each(|hook| hook());
        }
        self.store.begin(options)
    }
}

/// Another process adds the commit between the check of the given data and the transaction.
#[test]
fn a_commit_must_be_as_it_was_said_whichever_comes_first() {
    for (generation, later) in [(1_000, 0), (1, 1)] {
        for child_waits in [true, false] {
            // Of a child that fits to the parent as it is, nothing is wrong.
            let is_refused = !child_waits || generation > 1;
            let host = Hooked::default();
            let builder = Repository::builder(host.clone()).manual_maintenance().exclusive();
            let page = builder.open_or_create().unwrap().create_page("test", PageId::ROOT).unwrap();
            let root = page.snapshot(&CommitId::FIRST).unwrap().root();
            let time = now() - 1_000;
            let (parent, bytes) = commit(&[CommitId::FIRST], &root, time, 1);
            let (child, child_bytes) = commit(&[parent], &root, now(), generation + 1);
            let (mut one, mut other) = (page.receive(), page.receive());
            let said = CommitTime::from_bits(time + later);
            one.add_pruned(&parent, generation, said).unwrap();
            let added = match child_waits {
                true => {
                    let add = move || other.add_commit(&parent, &bytes).unwrap();
                    *host.before.lock().unwrap() = Some(Box::new(add));
                    one.add_commit(&child, &child_bytes)
                }
                false => {
                    let add = move || one.add_commit(&child, &child_bytes).unwrap();
                    *host.before.lock().unwrap() = Some(Box::new(add));
                    other.add_commit(&parent, &bytes)
                }
            };
            match added {
                Err(LedgerError::Integrity { .. }) => assert!(is_refused),
                other => assert!(!is_refused && other.is_ok(), "{other:?}"),
            }
            assert!(page.verify().unwrap().findings.is_empty());
        }
    }
}

#[test]
fn a_merge_of_a_pruned_commit_and_what_it_leads_to_is_refused() {
    let (_repository, page) = page();
    let root = page.snapshot(&CommitId::FIRST).unwrap().root();
    let time = now();
    let (parent, _) = commit(&[CommitId::FIRST], &root, time - 1_000, 1);
    let (child, child_bytes) = commit(&[parent], &root, time - 500, 2);
    let (grandchild, grandchild_bytes) = commit(&[child], &root, time - 400, 3);
    let mut receiver = page.receive();
    receiver.add_pruned(&parent, 1, CommitTime::from_bits(time - 1_000)).unwrap();
    receiver.add_commit(&child, &child_bytes).unwrap();
    receiver.add_commit(&grandchild, &grandchild_bytes).unwrap();
    for (below, time, generation) in [(child, time - 500, 3), (grandchild, time - 400, 4)] {
        let (merge, bytes) = commit(&[parent, below], &root, time, generation);
        let error = receiver.add_commit(&merge, &bytes).unwrap_err();
        assert!(matches!(error, LedgerError::Integrity { .. }), "{error}");
    }
}

#[test]
fn no_commit_uses_up_the_generations() {
    let (_repository, page) = page();
    let root = page.snapshot(&CommitId::FIRST).unwrap().root();
    let mut receiver = page.receive();
    let mut add = |generation: u64| {
        let (parent, _) = commit(&[CommitId::FIRST], &root, now() - 1_000, generation - 1);
        let (child, bytes) = commit(&[parent], &root, now(), generation);
        let time = CommitTime::from_bits(now() - 1_000);
        receiver.add_pruned(&parent, generation - 1, time).unwrap();
        receiver.add_commit(&child, &bytes).map(|()| child)
    };
    assert!(add((1 << 40) - 1).is_err());
    assert!(add((1 << 40) - (1 << 32)).is_err());
    let far = add((1 << 40) - (1 << 32) - 1).unwrap();
    page.create_branch("far", &far).unwrap();
    put(&page, "far", b"key", b"1");
}

/// Has these pieces.
struct Source(HashMap<Digest, Vec<u8>>);

impl PieceSource for Source {
    fn name(&self) -> String {
        "test".to_owned()
    }

    fn fetch(
        &self,
        _: PageId,
        wanted: &[(Kind, Digest)],
        _: Instant,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        Ok(wanted.iter().map(|(_, digest)| self.0.get(digest).cloned()).collect())
    }
}

/// A lazy value of ten chunks of 700 bytes, which no page cuts so.
fn ten_chunks() -> (Pieces, Vec<u8>) {
    let chunks: Vec<_> = (0..10).map(|number| vec![number; 700]).collect();
    let parts: Vec<_> = chunks.iter().map(|chunk| (700, Kind::Chunk.digest(chunk))).collect();
    let index = index(0, &parts);
    let leaf = leaf(b"film", LAZY, &reference(&Kind::Index.digest(&index), 1, 7_000));
    let chunks = chunks.into_iter().map(|chunk| (Kind::Chunk, chunk));
    (chunks.chain([(Kind::Index, index)]).collect(), leaf)
}

#[test]
fn a_lazy_value_that_is_cut_otherwise_is_not_stored_when_it_comes() {
    let (pieces, leaf) = ten_chunks();
    let (id, bytes) = commit(&[CommitId::FIRST], &Kind::Node.digest(&leaf), now(), 1);
    // With the commit.
    let (_repository, with_commit) = page();
    with_commit.remote().attach().unwrap();
    let mut receiver = with_commit.remote().receive();
    receiver.add_piece(Kind::Node, leaf.clone()).unwrap();
    for (kind, piece) in &pieces {
        receiver.add_piece(*kind, piece.clone()).unwrap();
    }
    let error = receiver.add_commit(&id, &bytes).unwrap_err();
    assert!(matches!(error, LedgerError::Integrity { .. }), "{error}");
    // From the source.
    let (_repository, page) = page();
    page.remote().attach().unwrap();
    let mut receiver = page.remote().receive();
    send(&mut receiver, &vec![(Kind::Node, leaf)], &id, &bytes).unwrap();
    page.create_branch("film", &id).unwrap();
    drop(receiver);
    let source = pieces.iter().map(|(kind, bytes)| (kind.digest(bytes), bytes.clone()));
    page.set_source(Arc::new(Source(source.collect())), Duration::from_secs(60));
    let error = page.snapshot(&id).unwrap().fetch(b"film").unwrap_err();
    assert!(matches!(error, LedgerError::Integrity { .. }), "{error}");
    page.collect().unwrap();
    assert!(page.verify().unwrap().findings.is_empty());
}
