//! A long value goes in and out with little memory.
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use permazen_kv::lmdb::LmdbStore;
use permazen_kv::{KvDatabase, KvWrite, TxOptions};
use permazen_ledger::{MAIN, PageId, Repository};

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

/// How much more memory was in use during `body` than before.
fn memory_of(body: impl FnOnce()) -> usize {
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    body();
    MOST.load(Ordering::Relaxed) - before
}

#[test]
fn a_long_value_needs_little_memory() {
    const LEN: usize = 48 << 20;
    let dir = tempfile::tempdir().unwrap();
    let host = LmdbStore::builder().create(true).map_size(1 << 30).open(dir.path()).unwrap();
    let page = Repository::builder(host).upkeep_by_hand().create().unwrap();
    let page = page.create_page("test", PageId::ROOT).unwrap();
    // The caller may come with much at once.
    let mut value: Vec<u8> = Vec::with_capacity(LEN);
    let mut state = 1_u64;
    while value.len() < LEN {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        value.extend_from_slice(&(state ^ state >> 29).to_be_bytes());
    }
    let written = memory_of(|| {
        let mut writer = page.write_value(None).unwrap();
        writer.write_all(&value).unwrap();
        let film = writer.finish().unwrap();
        let db = page.database(MAIN).unwrap();
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        tx.put(b"film", film.as_bytes()).unwrap();
        tx.commit().unwrap();
    });
    assert!(written < 4 << 20, "{written} bytes to write");
    let read = memory_of(|| {
        let snapshot = page.snapshot(&page.head(MAIN).unwrap()).unwrap();
        let mut reader = snapshot.read_value(b"film").unwrap().unwrap();
        let (mut part, mut at) = (vec![0; 10_000], 0);
        while at < LEN {
            let len = reader.read(&mut part).unwrap();
            assert!(part[..len] == value[at..at + len]);
            at += len;
        }
    });
    assert!(read < 1 << 20, "{read} bytes to read");
}
