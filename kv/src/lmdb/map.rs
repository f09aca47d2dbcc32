//! The memory map of an open environment: who uses it, and how it grows.
//!
//! To make a larger map, LMDB first gives up the one it has. So nothing may use the map at that
//! time. All uses in this process are counted.

use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::error::cannot_open;
use crate::Result;
use crate::store_parts::lock::lock;

/// The size of a map is a multiple of this, and so of every page size.
const STEP: usize = 1 << 16;

/// How long to wait for uses that are just ending.
const ENDING: Duration = Duration::from_millis(100);

/// `bytes` as the size of a map.
pub(super) fn rounded(bytes: usize) -> usize {
    bytes.max(1).checked_next_multiple_of(STEP).unwrap_or(usize::MAX - (STEP - 1))
}

/// The size to try next when the system refuses a map of `size`.
pub(super) fn halved(size: usize) -> usize {
    (size / 2 / STEP).max(1) * STEP
}

/// The map and its uses.
pub(super) struct Map {
    uses: Mutex<Uses>,
    ended: Condvar,
}

struct Uses {
    /// The size of the map, and the size that was last asked for.
    size: usize,
    asked: usize,
    /// The versions that open readers see, with the number of readers of each. Nearly always, there are
    /// one or two.
    readers: Vec<(usize, usize)>,
    /// How many other uses of the map there are.
    others: usize,
    /// Whether a thread waits for the last use to end.
    awaited: bool,
    /// Whether there is no map any more.
    lost: bool,
}

/// A use of the map, as long as this exists.
pub(super) struct MapUse<'m> {
    map: &'m Map,
}

impl Drop for MapUse<'_> {
    fn drop(&mut self) {
        self.map.end_use();
    }
}

impl Map {
    /// A map of `size` bytes; `asked` is the size that was asked for.
    pub(super) fn new(size: usize, asked: usize) -> Self {
        let (readers, others) = (Vec::new(), 0);
        let uses = Uses { size, asked, readers, others, awaited: false, lost: false };
        Map { uses: Mutex::new(uses), ended: Condvar::new() }
    }

    fn uses(&self, path: &Path) -> Result<MutexGuard<'_, Uses>> {
        let uses = lock(&self.uses);
        if uses.lost {
            return Err(cannot_open(
                path,
                "it was to be mapped into memory anew, and the system has refused that; close it in \
                 this process and open it again",
            ));
        }
        Ok(uses)
    }

    /// Keeps the map where it is.
    pub(super) fn using(&self, path: &Path) -> Result<MapUse<'_>> {
        self.begin_use(path)?;
        Ok(MapUse { map: self })
    }

    /// Keeps the map where it is, until [`end_use`](Map::end_use).
    pub(super) fn begin_use(&self, path: &Path) -> Result<()> {
        self.uses(path)?.others += 1;
        Ok(())
    }

    /// Ends what [`begin_use`](Map::begin_use) began.
    pub(super) fn end_use(&self) {
        self.end(|uses| uses.others -= 1);
    }

    /// Counts the reader that `begin` returns, with the version it sees.
    pub(super) fn begin_read<T>(
        &self,
        path: &Path,
        begin: impl FnOnce() -> heed::Result<(T, usize)>,
    ) -> Result<heed::Result<T>> {
        let mut uses = self.uses(path)?;
        Ok(begin().map(|(reader, version)| {
            match uses.readers.iter_mut().rfind(|(other, _)| *other == version) {
                Some((_, count)) => *count += 1,
                None => uses.readers.push((version, 1)),
            }
            reader
        }))
    }

    /// Notes that a reader of `version` has ended.
    pub(super) fn end_read(&self, version: usize) {
        self.end(|uses| {
            let at = uses.readers.iter().rposition(|(other, _)| *other == version);
            if let Some((at, (_, count))) = at.and_then(|at| Some((at, uses.readers.get_mut(at)?)))
            {
                *count -= 1;
                if *count == 0 {
                    uses.readers.swap_remove(at);
                }
            }
        });
    }

    fn end(&self, note: impl FnOnce(&mut Uses)) {
        let mut uses = lock(&self.uses);
        note(&mut uses);
        if uses.awaited && !uses.any() {
            self.ended.notify_all();
        }
    }

    /// How many readers of this process are open, and the oldest version that they see.
    pub(super) fn readers(&self) -> (usize, Option<usize>) {
        let uses = lock(&self.uses);
        (uses.open_readers(), uses.readers.iter().map(|(version, _)| *version).min())
    }

    /// Makes the map as large as `asked`, or as large as the system allows, by calling `resize`.
    /// Does nothing if it has that size already. Fails while the map is in use.
    pub(super) fn grow(
        &self,
        path: &Path,
        asked: usize,
        resize: impl FnOnce(usize) -> heed::Result<()>,
    ) -> Result<()> {
        let mut uses = self.uses(path)?;
        if asked <= uses.size {
            return Ok(());
        }
        if uses.growth(asked).is_none() {
            uses.asked = asked;
            return Ok(());
        }
        let start = Instant::now();
        while uses.any() {
            let left = ENDING.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Err(uses.cannot_grow(path));
            }
            uses.awaited = true;
            uses = self.ended.wait_timeout(uses, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        uses.awaited = false;
        uses.asked = asked;
        // In the meantime others may have used up the addresses.
        let Some(size) = uses.growth(asked) else { return Ok(()) };
        if let Err(error) = resize(size) {
            uses.lost = true;
            return Err(cannot_open(path, format!("cannot map it into memory anew: {error}")));
        }
        uses.size = size;
        Ok(())
    }

    /// Advice for a map that is too small.
    pub(super) fn advice(&self) -> String {
        let uses = lock(&self.uses);
        if uses.size < uses.asked {
            return format!(
                "the system has refused the map size of {} bytes that was asked for; allow this \
                 process more address space to have a larger map size",
                uses.asked
            );
        }
        "open it with a larger map size; while it is open in this process that takes effect if no \
         transaction or snapshot of it is open here"
            .to_owned()
    }

    pub(super) fn size(&self) -> usize {
        lock(&self.uses).size
    }
}

impl Uses {
    /// The size that the map can grow to, at most `asked`; `None` if it cannot grow.
    fn growth(&self, asked: usize) -> Option<usize> {
        let mut size = asked;
        while size > self.size && !has_room(self.size, size) {
            size = halved(size);
        }
        Some(size).filter(|size| *size > self.size)
    }

    fn open_readers(&self) -> usize {
        self.readers.iter().map(|(_, count)| count).sum()
    }

    fn any(&self) -> bool {
        self.others > 0 || !self.readers.is_empty()
    }

    fn cannot_grow(&self, path: &Path) -> crate::KvError {
        let readers = self.open_readers();
        cannot_open(
            path,
            format!(
                "it is already open in this process with a map size of {} bytes, which cannot grow \
                 while it is in use, now by {readers} read-only transactions and snapshots and \
                 {} others (a transaction that writes or waits for that, a copy): end them first \
                 (opened without a map size it keeps the map it has)",
                self.size, self.others
            ),
        )
    }
}

/// A map of up to this size finds room anywhere in the address space, if no limit forbids it.
const PLENTY: usize = if usize::BITS >= 64 { 1 << 40 } else { 0 };

/// Whether there are addresses for a map of `size` bytes in place of one of `old` bytes.
#[cfg(unix)]
fn has_room(old: usize, size: usize) -> bool {
    // The old map is given up before the new one is made, so only the difference counts towards a
    // limit. If addresses are few, the new map must fit in one piece, and what is next to the old
    // map is unknown.
    let size = if size <= PLENTY { size - old } else { size };
    let (prot, flags) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANON);
    // SAFETY: The system chooses the place of the new map, which is in nobody's way and which
    // nobody uses before it is given back.
    #[allow(unsafe_code)]
    unsafe {
        let place = libc::mmap(std::ptr::null_mut(), size, prot, flags, -1, 0);
        place != libc::MAP_FAILED && libc::munmap(place, size) == 0
    }
}

#[cfg(not(unix))]
fn has_room(_: usize, _: usize) -> bool {
    true
}
