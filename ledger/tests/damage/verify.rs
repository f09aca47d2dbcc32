//! `verify` finds nothing in the rows that the crate writes, and finds all damage that can be
//! recognized.

use permazen_kv::memory::MemoryStore;
use permazen_kv::{AtomicKvStore, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{LastWriterWins, LedgerError, MAIN, PageId, Repository, Verification};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::faults;
use crate::support::page::{Map, pairs, write};

/// The beginning of the rows of the first page.
const PAGE: [u8; 2] = [0x10, 1];

fn verify(rows: &Map) -> permazen_ledger::Result<Verification> {
    let host = MemoryStore::new();
    let mut tx = host.begin(&TxOptions::writing()).unwrap();
    rows.iter().for_each(|(key, value)| tx.put(key, value).unwrap());
    tx.commit().unwrap();
    Repository::open(host)?.verify()
}

/// The findings, as texts. A repository that does not open is a finding, too.
fn found(rows: &Map) -> Vec<String> {
    match verify(rows) {
        Ok(report) => report.findings.iter().map(ToString::to_string).collect(),
        Err(error) => vec![error.to_string()],
    }
}

#[test]
fn nothing_is_found_in_what_was_written() {
    let host = MemoryStore::new();
    let repository = Repository::open_or_create(host.clone()).unwrap();
    assert_eq!(repository.verify().unwrap(), Verification::default());
    let page = repository.create_page("a\0b", PageId([7; 16])).unwrap();
    assert_eq!(repository.verify().unwrap(), Verification::default());
    assert!(page.verify().unwrap().is_clean());
    for seed in 0..12 {
        let mut random = StdRng::seed_from_u64(seed);
        let page = repository.create_page(&format!("{seed}"), PageId::ROOT).unwrap();
        let base = write(&page, MAIN, |tx| {
            (0..seed as u32 * 200).for_each(|n| tx.put(&n.to_be_bytes(), &[9; 30]).unwrap());
        });
        page.create_branch("b", &base).unwrap();
        page.create_branch("c", &base).unwrap();
        let branches = [MAIN, "b", "c"];
        for round in 0..25 {
            let [branch, other] = [(); 2].map(|()| branches[random.random_range(0..3)]);
            match random.random_range(0..12) {
                0..3 => {
                    let from = page.head(other).unwrap();
                    page.merge(branch, &from, &mut LastWriterWins).unwrap();
                }
                3 => page.set_tag(&format!("t{round}"), &page.head(branch).unwrap()).unwrap(),
                4 => page.reset(branch, &page.head(other).unwrap()).unwrap(),
                5 => {
                    write(&page, branch, |tx| {
                        let len = random.random_range(0..90_000);
                        let mut value = vec![0; len];
                        rand::Rng::fill_bytes(&mut random, &mut value);
                        tx.put(b"long", &value).unwrap();
                    });
                }
                6 => {
                    let from: u32 = random.random_range(0..2_000);
                    let span = (from.to_be_bytes(), (from + 300).to_be_bytes());
                    write(&page, branch, |tx| {
                        tx.remove_span(KeySpan::new(&span.0, Some(&span.1))).unwrap();
                    });
                }
                _ => {
                    write(&page, branch, |tx| {
                        for _ in 0..random.random_range(0..20) {
                            let key = random.random_range(0..2_000_u32).to_be_bytes();
                            tx.put(&key, &random.random::<[u8; 16]>()).unwrap();
                        }
                    });
                }
            }
        }
        assert_eq!(page.verify().unwrap().findings, [], "seed {seed}");
        assert_eq!(
            page.database(MAIN).unwrap().store().verify_store().unwrap(),
            Vec::<String>::new()
        );
    }
    let report = repository.verify().unwrap();
    assert!(report.is_clean() && report.commits > 100 && report.unreachable_pieces == 0);
    repository.delete_page("3", PageId::ROOT).unwrap();
    assert_eq!(found(&pairs(&host.snapshot())), Vec::<String>::new());
}

/// A page with some of everything.
fn sample() -> Map {
    let host = MemoryStore::new();
    let repository = Repository::open_or_create(host.clone()).unwrap();
    let page = repository.create_page("a", PageId::ROOT).unwrap();
    let mut random = StdRng::seed_from_u64(4);
    let mut value = vec![0; 40_000];
    rand::Rng::fill_bytes(&mut random, &mut value);
    let base = write(&page, MAIN, |tx| {
        (0..400_u32).for_each(|n| tx.put(&n.to_be_bytes(), &[9; 30]).unwrap());
        tx.put(b"long", &value).unwrap();
    });
    page.create_branch("other", &base).unwrap();
    write(&page, MAIN, |tx| tx.put(b"a", b"1").unwrap());
    write(&page, "other", |tx| tx.put(b"b", b"2").unwrap());
    let other = write(&page, "other", |tx| tx.remove(&[0, 0, 0, 7]).unwrap());
    page.merge(MAIN, &other, &mut LastWriterWins).unwrap();
    write(&page, MAIN, |tx| tx.put(b"a", b"3").unwrap());
    page.set_tag("tag", &base).unwrap();
    page.create_branch("gone", &base).unwrap();
    page.remove_branch("gone").unwrap();
    let remote = page.remote();
    remote.attach().unwrap();
    let pieces = remote.local_pieces(None, 5).unwrap();
    let pieces: Vec<_> = pieces.iter().map(|piece| piece.digest).collect();
    remote.mark_synced(&[base], &pieces, &[(b"note", b"of sync")]).unwrap();
    drop((remote, page, repository));
    pairs(&host.snapshot())
}

/// The number of the page and the key that the checksum of a row is made of.
fn place(key: &[u8]) -> (u64, &[u8]) {
    key.strip_prefix(&PAGE).map_or((0, key), |rest| (1, rest))
}

fn checksum(key: &[u8], value: &[u8]) -> [u8; 4] {
    let (page, key) = place(key);
    let mut hasher = blake3::Hasher::new_derive_key("permazen ledger 1: row");
    hasher.update(&page.to_be_bytes()).update(key).update(value);
    hasher.finalize().as_bytes()[..4].try_into().unwrap()
}

fn is_piece(key: &[u8]) -> bool {
    place(key).0 == 1 && place(key).1.first() == Some(&0x23)
}

/// Makes the checksum of a row right.
fn seal(key: &[u8], row: &mut [u8]) {
    let at = if is_piece(key) && row.len() >= 12 { 8 } else { row.len() - 4 };
    let checksum = checksum(key, &row[..at]);
    row[at..at + 4].copy_from_slice(&checksum);
}

#[test]
fn a_row_that_is_gone_is_found() {
    let sample = sample();
    assert_eq!(found(&sample), Vec::<String>::new());
    for key in sample.keys() {
        let mut rows = sample.clone();
        rows.remove(key);
        // That there was a branch, tag or note, and how often a branch was reset, is said nowhere
        // else.
        let is_main = place(key).1.starts_with(b"\x20main\0");
        let is_said_once = matches!(place(key), (1, [0x20 | 0x29 | 0x2c | 0x2e, ..])) && !is_main;
        assert_eq!(found(&rows).is_empty(), is_said_once, "{key:02x?}");
    }
}

/// Whether a row can have other bytes at this place that no other row speaks against. The row was
/// changed there, and its checksum is right.
fn is_free(key: &[u8], (old, new): (&[u8], &[u8]), at: usize) -> bool {
    match place(key) {
        // IDs, and page numbers that were never used.
        (0, [1, ..]) => at < 16,
        (0, [2, ..]) => true,
        (0, [3, ..]) => old[..8] < new[..8],
        // When the page was closed.
        (0, [6, ..]) => true,
        // Another device, or an earlier epoch of this one.
        (1, [0x2b]) => at < 16 || new[16..24] < old[16..24],
        // How many pieces were new.
        (1, [0x22, ..]) => at >= old.len() - 8,
        (1, [0x28 | 0x29, ..]) => true,
        (1, [0x2c, ..]) => (1..1 << 24).contains(&u64::from_be_bytes(new[..8].try_into().unwrap())),
        // Numbers of pieces that were never used.
        (1, [0x32]) if at < 6 => old[..6] < new[..6],
        // Reference rows that are to be built.
        (1, [0x32]) if at == 46 => new[at] == 1,
        // Pieces that may be garbage, the number of the round, and which pieces it kept.
        (1, [0x32]) => matches!(at, 14..22 | 38..46 | 64..70),
        // Another retention.
        (1, [0x2f]) => (37..46).contains(&at),
        _ => false,
    }
}

#[test]
fn a_byte_that_differs_is_found() {
    let sample = sample();
    let mut random = StdRng::seed_from_u64(9);
    // With a wrong checksum, and in long keys, some of the bytes; with each row other ones.
    let [wrong, in_keys] = [4, 3].map(|usual| faults::distance(usual) as usize);
    for (number, (key, row)) in sample.iter().enumerate() {
        let is_long = row.len() > 200;
        for at in 0..row.len() {
            if is_long && at >= 12 && random.random_range(0..row.len()) > 4 {
                continue;
            }
            let mut damaged = row.clone();
            damaged[at] ^= 1 << random.random_range(0..8);
            let mut rows = sample.clone();
            if (number + at).is_multiple_of(wrong) {
                rows.insert(key.clone(), damaged.clone());
                assert!(!found(&rows).is_empty(), "{key:02x?}, byte {at}");
            }
            seal(key, &mut damaged);
            if damaged == *row {
                continue;
            }
            rows.insert(key.clone(), damaged.clone());
            let is_found = !found(&rows).is_empty();
            assert!(is_found || is_free(key, (row, &damaged), at), "{key:02x?}, byte {at}");
        }
        // In the key, with the checksum of the new one.
        for at in 0..key.len() {
            let bit: i32 = random.random_range(0..8);
            if key.len() > 20 && !(number + at).is_multiple_of(in_keys) {
                continue;
            }
            let mut other = key.clone();
            other[at] ^= 1 << bit;
            let mut rows = sample.clone();
            let mut row = rows.remove(key).unwrap();
            seal(&other, &mut row);
            if rows.insert(other.clone(), row).is_some() {
                continue;
            }
            // A branch, a tag, a note or a branch that was reset with another name.
            let name = match place(key) {
                (1, [0x20, name @ ..]) => 3..3 + name.len() - 33,
                (1, [0x29 | 0x2c | 0x2e, name @ ..]) => 3..3 + name.len(),
                _ => 0..0,
            };
            let is_found = !found(&rows).is_empty();
            assert!(is_found || name.contains(&at), "{key:02x?}, byte {at} of the key");
        }
    }
}

#[test]
fn statuses_that_contradict_others_are_found() {
    let sample = sample();
    let is = |key: &[u8], first: u8| place(key).0 == 1 && place(key).1.first() == Some(&first);
    let commits = sample.keys().filter(|key| is(key, 0x25)).cloned().collect::<Vec<_>>();
    let counts = [&PAGE[..], &[0x32]].concat();
    let with = |change: &dyn Fn(&mut Map)| {
        let mut rows = sample.clone();
        change(&mut rows);
        found(&rows)
    };
    // One row less, and the count is right. The last commit leads to all others.
    let found = commits.iter().map(|key| {
        with(&|rows| {
            rows.remove(key);
            let row = rows.get_mut(&counts).unwrap();
            row[29] -= 1;
            seal(&counts, row);
        })
    });
    let told = found.filter(|found| !found.is_empty()).collect::<Vec<_>>();
    assert!(told.len() + 2 >= commits.len() && !told.is_empty(), "{told:?}");
    assert!(told.iter().flatten().all(|text| text.contains("its child")), "{told:?}");
    // A piece that is not there, with a count that is right.
    let found = with(&|rows| {
        let key = [&PAGE[..], &[0x27], &[7; 32]].concat();
        let mut row = vec![0; 4];
        seal(&key, &mut row);
        rows.insert(key, row);
        let row = rows.get_mut(&counts).unwrap();
        row[37] += 1;
        seal(&counts, row);
    });
    assert!(found.len() == 1 && found[0].contains("a piece with a row"), "{found:?}");
    // While the page is being attached, some have no rows yet.
    let key = [&PAGE[..], &[0x2a]].concat();
    let found = with(&|rows| {
        let mut row = [&[1][..], &[9; 32], &[0; 4]].concat();
        seal(&key, &mut row);
        rows.insert(key.clone(), row);
    });
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn rows_in_the_place_of_others_are_found() {
    let sample = sample();
    let keys: Vec<_> = sample.keys().filter(|key| is_piece(key)).cloned().collect();
    for pair in keys.windows(2) {
        let mut rows = sample.clone();
        for (key, other) in [(&pair[0], &pair[1]), (&pair[1], &pair[0])] {
            let mut row = sample[other].clone();
            seal(key, &mut row);
            rows.insert(key.clone(), row);
        }
        assert!(found(&rows).len() >= 2, "{pair:02x?}");
    }
    // Rows that this version does not write.
    for key in [&[0x09, 1][..], &[0x11], &[0x10], &[0x10, 1, 0x24], &[0x10, 1], &[0x10, 2, 0x20]] {
        let mut rows = sample.clone();
        let mut row = vec![0; 12];
        seal(key, &mut row);
        rows.insert(key.to_vec(), row);
        assert!(!found(&rows).is_empty(), "{key:02x?}");
    }
}

/// A page whose rows are made here, after the text of the format.
struct Made {
    rows: Map,
    time: u64,
}

/// An item of a node: key, its marks, the bytes after it.
type Item = (Vec<u8>, u16, Vec<u8>);

const REFERENCE: u16 = 1 << 14;

impl Made {
    fn new() -> Self {
        let host = MemoryStore::new();
        let repository = Repository::open_or_create(host.clone()).unwrap();
        repository.create_page("a", PageId::ROOT).unwrap();
        Made { rows: pairs(&host.snapshot()), time: 1 << 40 }
    }

    fn put(&mut self, key: &[u8], value: &[u8]) {
        let key = [&PAGE, key].concat();
        let mut row = [value, &[0; 4]].concat();
        seal(&key, &mut row);
        self.rows.insert(key, row);
    }

    fn piece(&mut self, kind: u8, bytes: &[u8]) -> [u8; 32] {
        let context = ["node", "chunk", "index"][usize::from(kind) - 1];
        let digest = blake3::derive_key(&format!("permazen ledger 1: {context}"), bytes);
        let key = [&PAGE[..], &[0x23], &digest].concat();
        let mut counts = self.rows[&[&PAGE[..], &[0x32]].concat()].clone();
        let number = counts[..6].to_vec();
        // The next number, and how many there are: less than 65,535.
        for at in [4..6, 12..14] {
            let more = u16::from_be_bytes(counts[at.clone()].try_into().unwrap()) + 1;
            counts[at].copy_from_slice(&more.to_be_bytes());
        }
        self.put(&[0x32], &counts[..counts.len() - 4]);
        let mut row = [&[kind, 0][..], &number, &[0; 4], bytes].concat();
        seal(&key, &mut row);
        self.rows.insert(key, row);
        digest
    }

    fn node(&mut self, level: u8, items: &[Item]) -> [u8; 32] {
        let (first, last) = (&items[0].0, &items[items.len() - 1].0);
        let prefix = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        let (mut offsets, mut all) = (Vec::new(), Vec::new());
        for (key, marks, payload) in items {
            all.extend_from_slice(&(marks | (key.len() - prefix) as u16).to_be_bytes());
            all.extend_from_slice(&key[prefix..]);
            all.extend_from_slice(payload);
            offsets.extend_from_slice(&u16::try_from(all.len()).unwrap().to_be_bytes());
        }
        let mut bytes = vec![level];
        bytes.extend_from_slice(&(items.len() as u32).to_be_bytes());
        bytes.extend_from_slice(&(prefix as u16).to_be_bytes());
        bytes.push(0);
        bytes.extend_from_slice(&first[..prefix]);
        self.piece(1, &[bytes, offsets, all].concat())
    }

    fn child(&mut self, level: u8, items: &[Item], entries: u64) -> Item {
        let digest = self.node(level, items);
        (items[items.len() - 1].0.clone(), 0, [&digest[..], &entries.to_be_bytes()].concat())
    }

    /// A change of `parent` as the only head.
    fn commit(&mut self, root: &[u8; 32], parent: &[u8; 32], generation: u64) -> [u8; 32] {
        let mut bytes = vec![1, 1];
        bytes.extend_from_slice(&self.time.to_be_bytes());
        bytes.extend_from_slice(&generation.to_be_bytes());
        bytes.extend_from_slice(root);
        bytes.push(1);
        bytes.extend_from_slice(parent);
        bytes.extend_from_slice(&[0; 36]);
        self.end(&bytes)
    }

    fn merge(&mut self, root: &[u8; 32], parents: [&[u8; 32]; 2], generation: u64) -> [u8; 32] {
        let mut bytes = vec![1, 0];
        bytes.extend_from_slice(&self.time.to_be_bytes());
        bytes.extend_from_slice(&generation.to_be_bytes());
        bytes.extend_from_slice(root);
        bytes.push(2);
        bytes.extend_from_slice(&parents.map(|parent| *parent).concat());
        let id = self.end(&bytes);
        self.put(&[&[0x21][..], parents[0], parents[1], &id].concat(), b"");
        id
    }

    fn end(&mut self, bytes: &[u8]) -> [u8; 32] {
        let id = blake3::derive_key("permazen ledger 1: commit", bytes);
        self.put(&[&[0x22][..], &id].concat(), &[bytes, &[0; 4]].concat());
        self.rows.retain(|key, _| !key.starts_with(&[0x10, 1, 0x20]));
        self.head(&id, self.time);
        id
    }

    fn head(&mut self, id: &[u8; 32], time: u64) {
        self.put(&[&b"\x20main\0"[..], id].concat(), &time.to_be_bytes());
    }

    #[track_caller]
    fn is_found(&self, text: &str) {
        let found = found(&self.rows);
        assert!(found.iter().any(|found| found.contains(text)), "{text}: {found:#?}");
    }
}

fn entries(keys: std::ops::Range<u32>) -> Vec<Item> {
    keys.map(|key| (key.to_be_bytes().to_vec(), 0, vec![5; 20])).collect()
}

const FIRST: [u8; 32] = [0; 32];

/// The findings in a page with this tree.
fn tree(make: impl FnOnce(&mut Made) -> [u8; 32]) -> Made {
    let mut made = Made::new();
    let root = make(&mut made);
    made.commit(&root, &FIRST, 1);
    made
}

#[test]
fn trees_of_another_shape_are_found() {
    let good = tree(|made| made.node(0, &entries(0..3)));
    assert_eq!(found(&good.rows), Vec::<String>::new());
    let two = |second: std::ops::Range<u32>, counts: (u64, u64), level| {
        tree(move |made| {
            let items = [
                made.child(0, &entries(0..3), counts.0),
                made.child(0, &entries(second), counts.1),
            ];
            made.node(level, &items)
        })
    };
    two(3..6, (3, 3), 1).is_found("a cut of the rule at its end");
    two(3..6, (3, 4), 1).is_found("expected 4 entries");
    two(3..6, (3, 3), 2).is_found("expected level 1");
    two(2..6, (3, 4), 1).is_found("the last key before it; found first key 00000002");
    tree(|made| made.node(0, &entries(0..1_000))).is_found("where the rule cuts");
    let one = tree(|made| {
        let child = made.child(0, &entries(0..3), 3);
        made.node(1, &[child])
    });
    one.is_found("a root with two items");
    let other_key = tree(|made| {
        let mut items = [made.child(0, &entries(0..3), 3), made.child(0, &entries(4..6), 2)];
        items[0].0 = vec![0, 0, 0, 3];
        made.node(1, &items)
    });
    other_key.is_found("expected last key 00000003");
    tree(|_| [7; 32]).is_found("the node that commit");
}

#[test]
fn a_chain_of_nodes_of_one_level_ends_with_the_first() {
    let mut made = tree(|made| {
        let (key, mut below) = (b"key".to_vec(), made.node(0, &[(b"key".to_vec(), 0, vec![])]));
        for _ in 0..10_000 {
            let item = [&below[..], &1_u64.to_be_bytes()].concat();
            below = made.node(1, &[(key.clone(), 0, item)]);
        }
        below
    });
    made.is_found("expected level 0, below piece");
    let findings = found(&made.rows).len();
    assert_eq!(findings, 2, "this, and a root with one item");
    // A commit of a generation that cannot be, which is not kept any more.
    made.put(&[&[0x30][..], &[9; 32]].concat(), &[0xff; 16]);
    let empty = blake3::derive_key("permazen ledger 1: node", &[0; 8]);
    made.commit(&empty, &[9; 32], 7);
    made.is_found("a generation and a time");
}

#[test]
fn values_in_other_parts_are_found() {
    let value = |parts: &[usize], levels: u8, len: u64| {
        let parts = parts.to_vec();
        tree(move |made| {
            let mut index = vec![0];
            let mut top = [0; 32];
            for (at, part) in parts.iter().enumerate() {
                top = made.piece(2, &vec![at as u8; *part]);
                index.extend_from_slice(&(*part as u64).to_be_bytes());
                index.extend_from_slice(&top);
            }
            if levels > 0 {
                top = made.piece(3, &index);
            }
            let mut reference = [&top[..], &len.to_be_bytes()].concat();
            reference[32] = levels;
            made.node(0, &[(b"key".to_vec(), REFERENCE, reference)])
        })
    };
    assert_eq!(found(&value(&[3_000], 0, 3_000).rows), Vec::<String>::new());
    value(&[3_000, 3_000], 1, 6_000).is_found("the cuts of the rule");
    value(&[3_000, 3_000], 1, 6_001).is_found("level 0 and 6001 bytes");
    value(&[6_000], 1, 6_000).is_found("a top piece with several parts");
    value(&[3_000], 0, 3_001).is_found("expected 3001 bytes");
    value(&[3_000, 3_000], 2, 6_000).is_found("an index piece of level 1");
}

/// A row of the first page with this key, which has the right checksum.
fn put_row(rows: &mut Map, key: &[u8], value: &[u8]) {
    let key = [&PAGE, key].concat();
    let mut row = [value, &[0; 4]].concat();
    seal(&key, &mut row);
    rows.insert(key, row);
}

#[test]
fn the_loss_of_the_main_branch_is_found_and_nothing_is_removed_for_it() {
    for is_attached in [false, true] {
        let host = MemoryStore::new();
        let repository = Repository::builder(host.clone())
            .exclusive()
            .manual_maintenance()
            .open_or_create()
            .unwrap();
        let page = repository.create_page("a", PageId::ROOT).unwrap();
        let head = write(&page, MAIN, |tx| tx.put(b"key", b"1").unwrap());
        if is_attached {
            let remote = page.remote();
            remote.attach().unwrap();
            let pieces = remote.local_pieces(None, 9).unwrap();
            let pieces: Vec<_> = pieces.iter().map(|piece| piece.digest).collect();
            remote.mark_synced(&[], &pieces, &[]).unwrap();
        }
        let key = [&PAGE[..], b"\x20main\0", &head.0.0].concat();
        let mut tx = host.begin(&TxOptions::writing()).unwrap();
        let row = tx.get(&key).unwrap().unwrap().into_owned();
        tx.remove(&key).unwrap();
        tx.commit().unwrap();
        let [finding] = &page.verify().unwrap().findings[..] else { panic!("one finding") };
        assert_eq!(finding.row, b"\x20main\0");
        assert!(finding.expected.contains("the branch main"), "{finding}");
        let damaged = |error: LedgerError| {
            assert!(matches!(error, LedgerError::DamagedRow { .. }), "{error}");
        };
        damaged(page.collect().unwrap_err());
        assert!(page.commit(&head).unwrap().is_some());
        drop(page);
        repository.maintain().unwrap();
        if is_attached {
            damaged(repository.evict("a", PageId::ROOT).unwrap_err());
        }
        // It can be put back.
        let mut tx = host.begin(&TxOptions::writing()).unwrap();
        tx.put(&key, &row).unwrap();
        tx.commit().unwrap();
        let page = repository.page("a", PageId::ROOT).unwrap();
        page.collect().unwrap();
        assert_eq!(page.head(MAIN).unwrap(), head);
        // A branch that was removed is not missed.
        page.create_branch("other", &head).unwrap();
        page.remove_branch(MAIN).unwrap();
        assert_eq!(page.verify().unwrap().findings, []);
        page.collect().unwrap();
    }
}

#[test]
fn marks_that_a_sweep_cannot_go_by_are_found() {
    let host = MemoryStore::new();
    let repository = Repository::builder(host.clone())
        .exclusive()
        .manual_maintenance()
        .open_or_create()
        .unwrap();
    let page = repository.create_page("a", PageId::ROOT).unwrap();
    for value in 0..3 {
        write(&page, MAIN, |tx| {
            (0..2_000_u32).for_each(|n| tx.put(&n.to_be_bytes(), &[value; 30]).unwrap());
        });
    }
    page.set_retention(permazen_ledger::Retention::Heads).unwrap();
    let is_sweeping = |rows: &Map| rows[&[&PAGE[..], &[0x32]].concat()][47] == 2;
    while !is_sweeping(&pairs(&host.snapshot())) {
        assert!(page.collect_slice().unwrap());
    }
    let good = pairs(&host.snapshot());
    assert_eq!(found(&good), Vec::<String>::new());
    let key: Vec<u8> = good.keys().find(|key| place(key).1.first() == Some(&0x33)).unwrap().clone();
    let marks = good[&key][..good[&key].len() - 4].to_vec();
    let found_with = |change: &dyn Fn(&mut Map), text: &str| {
        let mut rows = good.clone();
        change(&mut rows);
        let found = found(&rows);
        assert!(found.iter().any(|found| found.contains(text)), "{text}: {found:?}");
    };
    let key = place(&key).1;
    let second = [&key[..9], &[0, 0, 0, 1]].concat();
    found_with(&|rows| drop(rows.remove(&[&PAGE, key].concat())), "a bitmap");
    found_with(&|rows| put_row(rows, key, &marks[..marks.len() - 1]), "a bitmap");
    found_with(&|rows| put_row(rows, key, &[&marks[..], &[0]].concat()), "a bitmap");
    found_with(&|rows| put_row(rows, key, b""), "1 to 65,536 bytes");
    found_with(&|rows| put_row(rows, key, &[0; 65_537]), "1 to 65,536 bytes");
    found_with(&|rows| put_row(rows, &second, b"1"), "after full ones");
    found_with(
        &|rows| {
            rows.remove(&[&PAGE, key].concat());
            put_row(rows, &second, &marks);
        },
        "part 0 of the marks",
    );
    // The marks of rounds that were given up are not read.
    let mut rows = good.clone();
    put_row(&mut rows, &[&[0x33][..], &[0; 12]].concat(), b"1");
    assert_eq!(found(&rows), Vec::<String>::new());
}

#[test]
fn numbers_of_resets_that_cannot_be_are_found() {
    let mut rows = sample();
    put_row(&mut rows, b"\x2cmain", &((1_u64 << 24) - 1).to_be_bytes());
    assert_eq!(found(&rows), Vec::<String>::new());
    for count in [0, 1 << 24, u64::MAX] {
        put_row(&mut rows, b"\x2cmain", &count.to_be_bytes());
        assert_eq!(found(&rows).len(), 1, "{count}");
    }
}

#[test]
fn a_piece_that_is_missing_at_many_places_is_said_once() {
    let mut made = tree(|made| {
        let chunk = made.piece(2, &[7; 65_536]);
        let child = [&65_536_u64.to_be_bytes()[..], &chunk].concat();
        let below = made.piece(3, &[&[0][..], &child.repeat(1_024)].concat());
        let child = [&(1_u64 << 26).to_be_bytes()[..], &below].concat();
        let top = made.piece(3, &[&[1][..], &child.repeat(1_000)].concat());
        let mut reference = [&top[..], &(1_000_u64 << 26).to_be_bytes()].concat();
        reference[32] = 2;
        made.node(0, &[(b"key".to_vec(), REFERENCE, reference)])
    });
    // Such a value can be, with most secrets.
    let cuts = found(&made.rows).len();
    assert!(cuts <= 1, "{:?}", found(&made.rows));
    made.rows.retain(|key, row| key.get(2) != Some(&0x23) || row[0] != 2);
    let found = found(&made.rows);
    let missing = found.iter().filter(|found| found.contains("expected the chunk that")).count();
    assert_eq!((missing, found.len()), (1, 2), "{found:?}");
}

#[test]
fn commits_that_contradict_each_other_are_found() {
    let empty = blake3::derive_key("permazen ledger 1: node", &[0; 8]);
    let begin = || {
        let mut made = Made::new();
        let first = made.commit(&empty, &FIRST, 1);
        made.time += 1;
        (made, first)
    };
    let (mut made, first) = begin();
    let second = made.commit(&empty, &first, 2);
    assert_eq!(found(&made.rows), Vec::<String>::new());
    made.head(&second, made.time + 1);
    made.is_found(", of its commit");
    made.head(&second, made.time);
    made.head(&first, made.time - 1);
    made.is_found("no ancestor of another head of its branch");

    let (mut made, first) = begin();
    made.commit(&empty, &first, 3);
    made.is_found("expected generation 2; found generation 3");

    let (mut made, first) = begin();
    made.time -= 1;
    made.commit(&empty, &first, 2);
    made.is_found("that of its parent");

    let (mut made, _) = begin();
    made.commit(&empty, &[9; 32], 2);
    made.is_found("the commit that is a parent of");

    // Two commits with one parent, and their merge.
    let (mut made, first) = begin();
    let left = made.commit(&empty, &first, 2);
    made.time += 1;
    let right = made.commit(&empty, &first, 2);
    let parents = [left.min(right), left.max(right)];
    let mut good = Made { rows: made.rows.clone(), time: made.time };
    let merge = good.merge(&empty, [&parents[0], &parents[1]], 3);
    assert_eq!(found(&good.rows), Vec::<String>::new());
    good.put(&[&[0x21][..], &first.min(left), &first.max(left), &merge].concat(), b"");
    good.is_found("the parents of the merge");
    made.time += 1;
    made.merge(&empty, [&parents[0], &parents[1]], 3);
    made.is_found("of its later parent");

    let (mut made, first) = begin();
    let second = made.commit(&empty, &first, 2);
    made.merge(&empty, [&first.min(second), &first.max(second)], 3);
    made.is_found("parents of which none is an ancestor of the other");

    let (mut made, first) = begin();
    made.put(b"\x2etag", &first);
    made.is_found("1 or more, for as many branches and tags");
    made.put(&[0x28], &1_u64.to_be_bytes());
    assert_eq!(found(&made.rows), Vec::<String>::new());
    made.put(b"\x2etag", &[9; 32]);
    made.is_found("expected a commit with a row");
}

#[test]
fn pieces_that_nothing_leads_to_are_counted() {
    let mut made = Made::new();
    made.piece(2, &[1; 700]);
    let report = verify(&made.rows).unwrap();
    assert!(report.is_clean());
    assert_eq!((report.unreachable_pieces, report.unreachable_bytes, report.pieces), (1, 700, 1));
    // They are checked all the same.
    made.piece(1, &[1; 8]);
    made.is_found("the one encoding of a node");
    let mut made = Made::new();
    made.piece(1, &[0; 8]);
    made.is_found("no row for the empty node");
}
