//! A value of 1 GiB into a page on LMDB and out again, beside the same chunks in bare LMDB; both
//! sides take turns.
//!
//! `cargo bench -p permazen-ledger --bench streams` prints a table; with `-- --quick` the value has
//! 256 MiB.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/memory/counting.rs"]
mod memory;

use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{
    Digest, Kind, MAIN, Page, PageId, Repository, Secret, ValueReader, ValueWriter,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Times of one side, and how much more memory was in use meanwhile than before.
#[derive(Default)]
struct Side {
    time: Duration,
    memory: usize,
}

impl Side {
    fn run<T>(&mut self, body: impl FnOnce() -> T) -> T {
        let begin = Instant::now();
        let (result, memory) = memory::memory_of(body);
        self.time += begin.elapsed();
        self.memory = self.memory.max(memory);
        result
    }
}

/// Bytes without order, a MiB at a time, of which no two are the same.
struct Noise {
    base: Vec<u64>,
    number: u64,
}

impl Noise {
    fn new() -> Self {
        let mut random = StdRng::seed_from_u64(1);
        Noise { base: (0..1 << 17).map(|_| random.next_u64()).collect(), number: 0 }
    }

    fn next(&mut self, portion: &mut [u8]) {
        self.number += 1;
        let by = self.number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for (bytes, base) in portion.as_chunks_mut::<8>().0.iter_mut().zip(&self.base) {
            *bytes = (base ^ by).to_le_bytes();
        }
    }
}

fn open(path: &Path) -> LmdbStore {
    LmdbStore::builder().create(true).map_size(8 << 30).open(path).unwrap()
}

fn finish(page: &Page, writer: ValueWriter) {
    let value = writer.finish().unwrap();
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.put(b"value", value.as_bytes()).unwrap();
    tx.commit().unwrap();
}

/// Reads at most this many bytes of the value, and calls a function with each chunk.
fn read(reader: &mut ValueReader, most: usize, mut each: impl FnMut(&[u8])) {
    let (mut chunk, mut done) = (vec![0; 65_536], 0);
    while done < most {
        match reader.read(&mut chunk).unwrap() {
            0 => return,
            len => each(&chunk[..len]),
        }
        done += 65_536;
    }
}

fn reader(page: &Page) -> ValueReader {
    let snapshot = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
    snapshot.read_value(b"value").unwrap().unwrap()
}

/// The same chunks in bare LMDB.
struct Bare {
    host: LmdbStore,
    chunks: Vec<(Digest, usize)>,
    next: usize,
    noise: Noise,
    /// The bytes that are not yet written.
    bytes: Vec<u8>,
}

impl Bare {
    /// Writes the chunks of the next bytes.
    fn write(&mut self, mib: usize) {
        let mut portion = vec![0; 1 << 20];
        for _ in 0..mib {
            self.noise.next(&mut portion);
            self.bytes.extend_from_slice(&portion);
            while self.bytes.len() >= 1 << 20 {
                self.store();
            }
        }
    }

    /// Writes at most a MiB of chunks in a transaction.
    fn store(&mut self) {
        let (mut batch, mut end) = (Vec::new(), 0);
        while let Some((digest, len)) = self.chunks.get(self.next)
            && end + len <= self.bytes.len().min(1 << 20)
        {
            batch.push((*digest, end..end + len));
            (end, self.next) = (end + len, self.next + 1);
        }
        batch.sort_unstable_by_key(|(digest, _)| *digest);
        let mut tx = self.host.begin(&TxOptions::writing()).unwrap();
        for (digest, range) in batch {
            tx.put(&digest.0, &self.bytes[range]).unwrap();
        }
        tx.commit().unwrap();
        self.bytes.drain(..end);
    }

    /// Reads chunks until this many bytes are read.
    fn read(&mut self, most: usize) {
        let (mut chunk, mut done) = (vec![0; 65_536], 0);
        while let Some((digest, len)) = self.chunks.get(self.next)
            && done < most
        {
            let tx = self.host.begin(&TxOptions::reading()).unwrap();
            chunk[..*len].copy_from_slice(&tx.get(&digest.0).unwrap().unwrap());
            std::hint::black_box(&mut chunk);
            (done, self.next) = (done + len, self.next + 1);
        }
    }
}

fn new_page(path: &Path) -> Page {
    let repository = Repository::builder(open(path)).exclusive().open_or_create().unwrap();
    repository.create_page_with("bench", PageId::ROOT, Secret::new([1; 32])).unwrap()
}

/// The chunks of the value, which a page finds out.
fn chunks(mib: usize) -> Vec<(Digest, usize)> {
    let dir = tempfile::tempdir().unwrap();
    let page = new_page(dir.path());
    let (mut noise, mut portion) = (Noise::new(), vec![0; 1 << 20]);
    let mut writer = page.write_value(None).unwrap();
    for _ in 0..mib {
        noise.next(&mut portion);
        writer.write_all(&portion).unwrap();
    }
    finish(&page, writer);
    let mut chunks = Vec::new();
    read(&mut reader(&page), usize::MAX, |chunk| {
        chunks.push((Kind::Chunk.digest(chunk), chunk.len()));
    });
    chunks
}

/// This number of MiB is written or read on one side, then on the other.
const TURN: usize = 8;

fn main() {
    let mib = if std::env::args().any(|arg| arg == "--quick") { 256 } else { 1_024 };
    let chunks = chunks(mib);
    println!("{mib} MiB, {} chunks\n", chunks.len());
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let page = new_page(dirs[0].path());
    let (host, noise) = (open(dirs[1].path()), Noise::new());
    let mut bare = Bare { host, chunks, next: 0, noise, bytes: Vec::new() };

    let [mut page_in, mut bare_in, mut page_out, mut bare_out] = [(); 4].map(|()| Side::default());
    let (mut noise, mut portion) = (Noise::new(), vec![0; 1 << 20]);
    let mut writer = page.write_value(Some((mib << 20) as u64)).unwrap();
    for _ in 0..mib / TURN {
        page_in.run(|| {
            for _ in 0..TURN {
                noise.next(&mut portion);
                writer.write_all(&portion).unwrap();
            }
        });
        bare_in.run(|| bare.write(TURN));
    }
    page_in.run(|| finish(&page, writer));
    bare_in.run(|| bare.store());
    assert!(bare.bytes.is_empty());
    bare.next = 0;
    let (mut reader, mut len) = (reader(&page), 0);
    for _ in 0..2 * mib {
        let each = |chunk: &[u8]| len += std::hint::black_box(chunk).len();
        page_out.run(|| read(&mut reader, TURN << 20, each));
        bare_out.run(|| bare.read(TURN << 20));
    }
    assert_eq!((len, bare.next), (mib << 20, bare.chunks.len()));

    let rate = |side: &Side| mib as f64 / side.time.as_secs_f64();
    println!("| | page, MiB/s | bare LMDB, MiB/s | ratio | memory of the page, MiB |");
    println!("|---|---|---|---|---|");
    for (what, page, bare) in [("in", &page_in, &bare_in), ("out", &page_out, &bare_out)] {
        let (ratio, memory) = (rate(page) / rate(bare), page.memory as f64 / (1 << 20) as f64);
        println!("| {what} | {:.0} | {:.0} | {ratio:.2} | {memory:.1} |", rate(page), rate(bare));
    }
    assert!(page_in.memory < 16 << 20 && page_out.memory < 16 << 20);
}
