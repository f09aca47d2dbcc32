//! Documents of any size are written and read in constant memory.
//!
//! Alone in its program, because it counts the allocations of the whole program.
#![cfg(feature = "xml")]
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::borrow::Cow;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use permazen_kv::{Blob, Direction, KeySpan, KvRead, KvWrite, Result, Scan, xml};

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

/// Has as many pairs as wanted, and discards puts.
struct Endless {
    pairs: u64,
    put: u64,
}

const VALUE: [u8; 2000] = [0xab; 2000];

impl KvRead for Endless {
    fn get(&self, _key: &[u8]) -> Result<Option<Blob<'_>>> {
        Ok(None)
    }

    fn scan<'a>(&'a self, _span: KeySpan<'_>, _direction: Direction) -> Result<Scan<'a>> {
        let pair = |n: u64| Ok((Cow::Owned(n.to_be_bytes().to_vec()), Cow::Borrowed(&VALUE[..])));
        Ok(Box::new((0..self.pairs).map(pair)))
    }
}

impl KvWrite for Endless {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        assert_eq!((key, value), (&self.put.to_be_bytes()[..], &VALUE[..]));
        self.put += 1;
        Ok(())
    }

    fn remove(&mut self, _key: &[u8]) -> Result<()> {
        Ok(())
    }

    fn remove_span(&mut self, _span: KeySpan<'_>) -> Result<()> {
        Ok(())
    }
}

/// Passes a document from its writer to its reader.
fn round_trip(pairs: u64) -> usize {
    memory_of(|| {
        let (reader, writer) = std::io::pipe().unwrap();
        std::thread::scope(|scope| {
            let written = scope.spawn(move || {
                let mut counting = Counted(writer, 0);
                let source = Endless { pairs, put: 0 };
                let style = xml::Style::Indented;
                xml::dump(&source, KeySpan::FULL, style, &mut counting).unwrap();
                counting.1
            });
            let mut target = Endless { pairs: 0, put: 0 };
            assert_eq!(xml::load(&mut target, reader).unwrap(), pairs);
            assert_eq!(target.put, pairs);
            assert!(written.join().unwrap() > pairs as usize * 4000);
        });
    })
}

struct Counted<W>(W, usize);

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        let written = self.0.write(buf)?;
        self.1 += written;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

#[test]
fn a_document_of_any_size_takes_the_same_memory() {
    round_trip(100);
    let small = round_trip(100);
    let large = round_trip(10_000);
    assert!(small < 1 << 20, "{small} bytes for 400 kB of text");
    assert!(large < small + (64 << 10), "{large} bytes for 40 MB of text, {small} for 400 kB");
}
