//! Which parameters of the format are best, on object databases: sizes, bytes written, cold reads.
//!
//! `cargo bench -p permazen-ledger --bench parameters` prints tables. `PERMAZEN_BENCH_OBJECTS` sets
//! the number of objects (100000). `PERMAZEN_BENCH_DATABASE` is the folder of an LMDB database
//! whose pairs are taken instead. `PERMAZEN_BENCH_MEANS=4096,8192` sets the mean sizes of nodes
//! that are tried.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::time::Instant;

use permazen::{Counter, Permazen, PermazenObject, Ref};
use permazen_kv::lmdb::LmdbStore;
use permazen_kv::{Direction, Durability, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::parameters::{Tree, read};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

#[derive(PermazenObject, Debug, Default)]
struct Person {
    #[permazen(indexed)]
    age: i32,
    email: String,
    #[permazen(indexed)]
    name: String,
    score: i64,
    visits: Counter,
    #[permazen(element(indexed))]
    tags: Vec<String>,
    boss: Option<Ref<Person>>,
}

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

fn pairs_of(db: &dyn KvDatabase) -> Pairs {
    let tx = db.begin(&TxOptions::reading()).unwrap();
    let all = KeySpan::new(b"", None);
    let pairs = tx.scan(all, Direction::Forward).unwrap();
    pairs.map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap()).collect()
}

fn open(path: &std::path::Path) -> LmdbStore {
    let durability = Durability::MayLoseEverything;
    LmdbStore::builder().create(true).map_size(16 << 30).durability(durability).open(path).unwrap()
}

fn objects(count: usize) -> Pairs {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let db = Permazen::builder(store.clone()).model::<Person>().build().unwrap();
    let mut random = StdRng::seed_from_u64(1);
    let names = ["Ann", "Bob", "Cleo", "Dan", "Eve", "Fred"];
    let (mut last, mut at) = (None, 0);
    while at < count {
        // In portions, so that LMDB need not keep all changed pages in memory.
        let end = count.min(at + 20_000);
        let first = last;
        last = db
            .write(|tx| {
                let mut last = first;
                for at in at..end {
                    let name = format!("{} {at}", names.choose(&mut random).unwrap());
                    let tags = random.random_range(0..3);
                    let tags = (0..tags).map(|tag| format!("tag {tag}")).collect();
                    let person = Person {
                        age: random.random_range(0..90),
                        email: format!("{name}@example.org"),
                        name,
                        score: random.random_range(0..1_000_000),
                        visits: Counter(random.random_range(0..1_000)),
                        tags,
                        boss: last,
                    };
                    last = Some(tx.create(person)?.to_ref());
                }
                Ok(last)
            })
            .unwrap();
        at = end;
    }
    pairs_of(&store)
}

/// Bytes that this process has given to system calls that write.
fn written() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = io.lines().find_map(|line| line.strip_prefix("wchar: "));
    line.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// A row of a node: four bytes of a page, kind, form, number and checksum before its bytes.
fn row(digest: &[u8], node: &[u8], compress: bool) -> (Vec<u8>, Vec<u8>) {
    let key = [b"\x10\x01\x23", digest].concat();
    let mut value = vec![0; 12];
    let packed = compress.then(|| lz4_flex::block::compress_prepend_size(node));
    match packed.filter(|packed| packed.len() < node.len() / 8 * 7) {
        Some(packed) => value.extend_from_slice(&packed),
        None => value.extend_from_slice(node),
    }
    (key, value)
}

fn store_rows(store: &LmdbStore, rows: &[(Vec<u8>, Vec<u8>)]) -> u64 {
    let before = written();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    for (key, value) in rows {
        tx.put(key, value).unwrap();
    }
    tx.commit().unwrap();
    written() - before
}

fn file_size(path: &std::path::Path) -> u64 {
    std::fs::metadata(path.join("data.mdb")).unwrap().len()
}

fn measure(name: &str, pairs: &Pairs) {
    let bytes: usize = pairs.iter().map(|(key, value)| key.len() + value.len()).sum();
    let dir = tempfile::tempdir().unwrap();
    let bare = open(dir.path());
    store_rows(&bare, pairs);
    let bare_size = file_size(dir.path());
    println!("\n{name}: {} pairs of {bytes} bytes; bare file {bare_size} bytes\n", pairs.len());
    let mut bare_written = Vec::new();
    for changes in [1, 10, 1_000] {
        let mut random = StdRng::seed_from_u64(7);
        let sum: u64 = (0..10)
            .map(|_| {
                let mut some: Pairs = pairs.sample(&mut random, changes).cloned().collect();
                some.sort();
                some.iter_mut().for_each(|(_, value)| value.push(1));
                store_rows(&bare, &some)
            })
            .sum();
        bare_written.push(sum / 10);
    }
    println!("bare: written to the file by commits of 1, 10, 1,000: {bare_written:?}");
    println!(
        "| T | LZ4 | nodes by level | mean leaf | bytes of nodes | file | commit of 1, 10, 1,000: nodes \
         | their bytes | written to the file | cold read, µs |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let means = std::env::var("PERMAZEN_BENCH_MEANS");
    let means = means.unwrap_or_else(|_| "2048,3584,4096,8192".to_owned());
    let means = means.split(',').map(|mean| mean.trim().parse::<u64>().unwrap());
    for (mean, compress) in means.flat_map(|mean| [(mean, false), (mean, true)]) {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let mut tree = Tree::new(mean);
        let all = pairs.iter().map(|(key, value)| (&key[..], &value[..value.len().min(512)]));
        let mut new = tree.put(all, true).unwrap();
        new.sort();
        let node_bytes: usize = new.iter().map(|(_, node)| node.len()).sum();
        // In portions, as a bulk load that does not fit in memory.
        for new in new.chunks(2_000) {
            let rows = new.iter().map(|(digest, node)| row(&digest.0, node, compress));
            store_rows(&store, &rows.collect::<Vec<_>>());
        }
        drop(new);
        let (levels, size) = (tree.levels(), file_size(dir.path()));
        let (mut nodes, mut node_sizes, mut file) = (Vec::new(), Vec::new(), Vec::new());
        for changes in [1, 10, 1_000] {
            let mut random = StdRng::seed_from_u64(7);
            let (mut count, mut bytes, mut out) = (0, 0, 0);
            for _ in 0..10 {
                let mut some: Pairs = pairs.sample(&mut random, changes).cloned().collect();
                some.sort();
                for (_, value) in &mut some {
                    value.truncate(500);
                    value.push(random.random());
                }
                let some = some.iter().map(|(key, value)| (&key[..], &value[..]));
                let new = tree.put(some, false).unwrap();
                count += new.len();
                bytes += new.iter().map(|(_, node)| node.len()).sum::<usize>();
                let mut rows: Vec<_> =
                    new.iter().map(|(digest, node)| row(&digest.0, node, compress)).collect();
                rows.sort();
                rows.push((b"\x10\x01\x20main".to_vec(), vec![0; 12]));
                rows.push((
                    [&b"\x10\x01\x22"[..], &random.random::<[u8; 32]>()].concat(),
                    vec![0; 150],
                ));
                rows.push((b"\x10\x01\x32".to_vec(), vec![0; 90]));
                out += store_rows(&store, &rows);
            }
            nodes.push(count / 10);
            node_sizes.push(bytes / 10);
            file.push(out / 10);
        }
        let tx = store.begin(&TxOptions::reading()).unwrap();
        let load = |digest: &permazen_ledger::Digest| {
            let value = tx.get(&[b"\x10\x01\x23", &digest.0[..]].concat()).unwrap().unwrap();
            match value.get(12..16).map(|len| u32::from_le_bytes(len.try_into().unwrap())) {
                // A node begins with its level, and a packed one with its length.
                Some(len) if compress && value.len() < len as usize && len < 100_000 => {
                    lz4_flex::block::decompress_size_prepended(&value[12..]).unwrap()
                }
                _ => value[12..].to_vec(),
            }
        };
        let mut random = StdRng::seed_from_u64(9);
        let root = tree.root();
        let begin = Instant::now();
        for _ in 0..2_000 {
            let (key, _) = pairs.choose(&mut random).unwrap();
            assert!(read(load, &root, key).unwrap());
        }
        let micros = begin.elapsed().as_secs_f64() * 1e6 / 2_000.0;
        println!(
            "| {mean} | {compress} | {levels:?} | {} | {node_bytes} | {:.2} | {nodes:?} | {node_sizes:?} | {file:?} \
             | {micros:.1} |",
            node_bytes / levels[0],
            size as f64 / bare_size as f64,
        );
    }
}

fn main() {
    if let Some(path) = std::env::var_os("PERMAZEN_BENCH_DATABASE") {
        let store = LmdbStore::builder().open(&path).unwrap();
        measure(&path.to_string_lossy(), &pairs_of(&store));
        return;
    }
    let count = std::env::var("PERMAZEN_BENCH_OBJECTS").ok().and_then(|count| count.parse().ok());
    measure("typed objects", &objects(count.unwrap_or(100_000)));
}
