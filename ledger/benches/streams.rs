//! A value of 1 GiB into a page on LMDB and out again, beside the same chunks in bare LMDB, in one run.
//!
//! `cargo bench -p permazen-ledger --bench streams` prints a table; with `-- --quick` the value has 256 MiB.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{Digest, Kind, MAIN, Page, PageId, Repository};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: Passes everything on to the system's allocator, which keeps the contract.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: The caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: `pointer` came from `alloc` above with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How long it takes, and how much more memory is in use meanwhile than before.
fn measured<T>(body: impl FnOnce() -> T) -> (T, Duration, usize) {
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let begin = Instant::now();
    let result = body();
    (result, begin.elapsed(), MOST.load(Ordering::Relaxed) - before)
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

fn open(path: &std::path::Path) -> LmdbStore {
    LmdbStore::builder().create(true).map_size(8 << 30).open(path).unwrap()
}

fn write(page: &Page, mib: usize) {
    let (mut noise, mut portion) = (Noise::new(), vec![0; 1 << 20]);
    let mut writer = page.write_value(Some((mib << 20) as u64)).unwrap();
    for _ in 0..mib {
        noise.next(&mut portion);
        writer.write_all(&portion).unwrap();
    }
    let value = writer.finish().unwrap();
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.put(b"value", value.as_bytes()).unwrap();
    tx.commit().unwrap();
}

/// Reads the value, and calls a function with each chunk.
fn read(page: &Page, mut each: impl FnMut(&[u8])) {
    let snapshot = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
    let mut reader = snapshot.read_value(b"value").unwrap().unwrap();
    let mut chunk = vec![0; 65_536];
    loop {
        match reader.read(&mut chunk).unwrap() {
            0 => return,
            len => each(&chunk[..len]),
        }
    }
}

/// Writes the same chunks, each MiB of them in a transaction.
fn write_bare(host: &LmdbStore, chunks: &[(Digest, usize)]) {
    let (mut noise, mut portion) = (Noise::new(), vec![0; 1 << 20]);
    let (mut bytes, mut next) = (Vec::new(), 0);
    while next < chunks.len() {
        let mut batch = Vec::new();
        let mut end = 0;
        while next < chunks.len() && end + chunks[next].1 <= 1 << 20 {
            batch.push((chunks[next].0, end..end + chunks[next].1));
            end += chunks[next].1;
            next += 1;
        }
        while bytes.len() < end {
            noise.next(&mut portion);
            bytes.extend_from_slice(&portion);
        }
        batch.sort_unstable_by_key(|(digest, _)| *digest);
        let mut tx = host.begin(&TxOptions::writing()).unwrap();
        for (digest, range) in batch {
            tx.put(&digest.0, &bytes[range]).unwrap();
        }
        tx.commit().unwrap();
        bytes.drain(..end);
    }
}

fn read_bare(host: &LmdbStore, chunks: &[(Digest, usize)]) {
    let mut chunk = vec![0; 65_536];
    for (digest, len) in chunks {
        let tx = host.begin(&TxOptions::reading()).unwrap();
        let found = tx.get(&digest.0).unwrap().unwrap();
        chunk[..*len].copy_from_slice(&found);
    }
}

fn main() {
    let mib = if std::env::args().any(|arg| arg == "--quick") { 256 } else { 1_024 };
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let repository = Repository::builder(open(dirs[0].path())).alone().create().unwrap();
    let page = repository.create_page("bench", PageId::ROOT).unwrap();
    let ((), page_in, memory_in) = measured(|| write(&page, mib));
    let mut chunks = Vec::new();
    read(&page, |chunk| chunks.push((Kind::Chunk.digest(chunk), chunk.len())));
    let bare = open(dirs[1].path());
    let ((), bare_in, _) = measured(|| write_bare(&bare, &chunks));
    let mut len = 0;
    let ((), page_out, memory_out) = measured(|| read(&page, |chunk| len += chunk.len()));
    assert_eq!(len, mib << 20);
    let ((), bare_out, _) = measured(|| read_bare(&bare, &chunks));

    let rate = |time: Duration| mib as f64 / time.as_secs_f64();
    println!("{mib} MiB, {} chunks\n", chunks.len());
    println!("| | page, MiB/s | bare LMDB, MiB/s | ratio | memory of the page, MiB |");
    println!("|---|---|---|---|---|");
    for (what, page, bare, memory) in
        [("in", page_in, bare_in, memory_in), ("out", page_out, bare_out, memory_out)]
    {
        let (page, bare, memory) = (rate(page), rate(bare), memory as f64 / (1 << 20) as f64);
        println!("| {what} | {page:.0} | {bare:.0} | {:.2} | {memory:.1} |", page / bare);
    }
    assert!(memory_in < 16 << 20 && memory_out < 16 << 20);
}
