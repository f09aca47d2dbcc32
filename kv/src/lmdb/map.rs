//! The memory map of an open environment: its uses, and how it grows.
//!
//! To make a larger map, LMDB first gives up the one it has. So nothing may use the map at that
//! time. All uses in this process are counted.
//!
//! If no size was asked for, the map grows by itself before a transaction writes: when it is half
//! full, if nothing uses it at that moment; when it was used up, after a wait for its uses to end.
//! Uses that begin meanwhile wait too, so that the wait ends. A thread that has a reader open
//! neither waits nor makes others wait, because it would wait for itself. After a wait in vain,
//! there is another wait only when the readers and other uses that it waited for have ended.
//!
//! It also grows before a transaction reads, if nothing uses it at that moment. An optimistic
//! transaction reads until it has committed, so for its commit the map cannot grow.

use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::error::cannot_open;
use super::reserve::{self, Reserved, halved, next_size, rounded};
use crate::store_parts::lock::lock;
use crate::{KvError, Result};

/// How long to wait for uses that are just ending.
const ENDING: Duration = Duration::from_millis(100);

/// How long a map that must grow waits for its uses to end.
const READERS: Duration = Duration::from_secs(1);

/// The map and its uses.
pub(super) struct Map {
    uses: Mutex<Uses>,
    ended: Condvar,
    /// Whether it grows by itself.
    grows: bool,
    /// Whether it should grow before the next transaction; a [`Need`].
    need: AtomicU8,
    /// A map of which more than this many bytes are used should grow.
    enough: AtomicUsize,
    /// How long it waits for its uses to end, when it must grow.
    patience: Duration,
}

/// Why a map should grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Need {
    No,
    /// It is half full.
    Soon,
    /// It is used up.
    Now,
    /// It is used up, and a wait for its uses to end was in vain.
    InVain,
}

impl Need {
    const ALL: [Need; 4] = [Need::No, Need::Soon, Need::Now, Need::InVain];
}

struct Uses {
    /// The size of the map, and the size that was last asked for.
    size: usize,
    asked: usize,
    /// The open readers. Nearly always, there are one or two of each thread.
    readers: Vec<Readers>,
    /// How many other uses of the map there are.
    others: usize,
    /// Whether a thread waits for the last use to end.
    awaited: bool,
    /// Until when new uses wait for that too.
    kept_free: Option<Instant>,
    /// The uses for which the map has waited in vain.
    in_the_way: InTheWay,
    reserved: Reserved,
    /// Whether there is no map any more.
    lost: bool,
}

/// The readers that one thread has begun and that see the same version. They may have moved to
/// other threads since.
#[derive(Debug, Clone, Copy)]
struct Readers {
    version: usize,
    thread: Thread,
    count: usize,
}

impl Readers {
    fn are(&self, version: usize, thread: Thread) -> bool {
        self.version == version && self.thread == thread
    }
}

/// A number that no other thread has. To ask for the `ThreadId` of this thread costs more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Thread(u64);

impl Thread {
    #[inline]
    fn this() -> Self {
        static LATEST: AtomicU64 = AtomicU64::new(0);
        thread_local! { static OWN: Cell<u64> = const { Cell::new(0) } }
        OWN.with(|own| {
            if own.get() == 0 {
                own.set(LATEST.fetch_add(1, Ordering::Relaxed) + 1);
            }
            Thread(own.get())
        })
    }
}

/// A reader that is counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    pub(super) version: usize,
    thread: Thread,
}

#[derive(Debug, Default)]
struct InTheWay {
    readers: Vec<Readers>,
    others: bool,
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
    /// A map of `size` bytes; `asked` is the size that was asked for; `grows` says whether it grows
    /// by itself.
    pub(super) fn new(size: usize, asked: usize, grows: bool) -> Self {
        let uses = Uses {
            size,
            asked,
            readers: Vec::new(),
            others: 0,
            awaited: false,
            kept_free: None,
            in_the_way: InTheWay::default(),
            reserved: Reserved::new(size),
            lost: false,
        };
        let need = AtomicU8::new(Need::No as u8);
        let (uses, enough) = (Mutex::new(uses), AtomicUsize::new(0));
        Map { uses, ended: Condvar::new(), grows, need, enough, patience: READERS }
    }

    fn uses(&self, path: &Path) -> Result<MutexGuard<'_, Uses>> {
        let uses = lock(&self.uses);
        if uses.lost {
            return Err(cannot_open(
                path,
                "mapping it into memory anew has failed, because the system refused it; close it in \
                 this process and open it again",
            ));
        }
        Ok(uses)
    }

    /// The same for a new use of the map. Waits while the map is kept free, unless this thread has
    /// a reader open.
    fn coming(&self, path: &Path) -> Result<MutexGuard<'_, Uses>> {
        let mut uses = self.uses(path)?;
        while let Some(until) = uses.kept_free {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || uses.has_reader_of(Thread::this()) {
                break;
            }
            drop(self.ended.wait_timeout(uses, left).unwrap_or_else(PoisonError::into_inner));
            uses = self.uses(path)?;
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
        self.coming(path)?.others += 1;
        Ok(())
    }

    /// Ends a use that [`begin_use`](Map::begin_use) began.
    pub(super) fn end_use(&self) {
        self.end(|uses| uses.others -= 1);
    }

    /// Counts the reader that `begin` returns, with the version it sees.
    pub(super) fn begin_read<T>(
        &self,
        path: &Path,
        begin: impl FnOnce() -> heed::Result<(T, usize)>,
    ) -> Result<heed::Result<(T, Counted)>> {
        let mut uses = self.coming(path)?;
        Ok(begin().map(|(reader, version)| {
            let thread = Thread::this();
            match uses.readers.iter_mut().rfind(|other| other.are(version, thread)) {
                Some(known) => known.count += 1,
                None => uses.readers.push(Readers { version, thread, count: 1 }),
            }
            (reader, Counted { version, thread })
        }))
    }

    /// Notes that a reader has ended.
    pub(super) fn end_read(&self, Counted { version, thread }: Counted) {
        self.end(|uses| {
            let at = uses.readers.iter().rposition(|other| other.are(version, thread));
            if let Some((at, known)) = at.and_then(|at| Some((at, uses.readers.get_mut(at)?))) {
                known.count -= 1;
                if known.count == 0 {
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
        (uses.open_readers(), uses.readers.iter().map(|readers| readers.version).min())
    }

    /// Makes the map as large as `asked`, or as large as the system allows, by calling `resize`.
    /// Does nothing if it has that size already. Fails while the map is in use.
    pub(super) fn grow(
        &self,
        path: &Path,
        asked: usize,
        resize: impl FnOnce(usize) -> heed::Result<()>,
    ) -> Result<()> {
        match self.grow_within(path, asked, ENDING, false, resize)? {
            Grown::Yes => Ok(()),
            Grown::InUse => Err(lock(&self.uses).cannot_grow(path)),
        }
    }

    /// Does the same, and waits up to `wait` for the uses of the map to end. If the map is to be
    /// `kept_free`, uses that begin meanwhile wait too.
    fn grow_within(
        &self,
        path: &Path,
        asked: usize,
        wait: Duration,
        kept_free: bool,
        resize: impl FnOnce(usize) -> heed::Result<()>,
    ) -> Result<Grown> {
        let mut uses = self.uses(path)?;
        if asked <= uses.size {
            return Ok(Grown::Yes);
        }
        // A reader that this thread has open does not end while the thread waits.
        let is_in_vain = wait.is_zero() || uses.has_reader_of(Thread::this());
        let is_taken = uses.any() || uses.kept_free.is_some();
        if is_in_vain && is_taken || kept_free && uses.is_still_in_the_way() {
            return Ok(Grown::InUse);
        }
        if uses.growth(asked).is_none() {
            uses.asked = asked;
            return Ok(Grown::Yes);
        }
        let start = Instant::now();
        if kept_free && uses.any() {
            uses.kept_free = Some(start + wait);
        }
        let mut in_time = true;
        while in_time && uses.any() {
            let left = wait.saturating_sub(start.elapsed());
            in_time = !left.is_zero();
            if in_time {
                uses.awaited = true;
                let woken = self.ended.wait_timeout(uses, left);
                uses = woken.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        if uses.kept_free.take().is_some() {
            self.ended.notify_all();
        }
        uses.awaited = false;
        if !in_time {
            if kept_free {
                uses.in_the_way =
                    InTheWay { readers: uses.readers.clone(), others: uses.others > 0 };
            }
            return Ok(Grown::InUse);
        }
        uses.asked = asked;
        // In the meantime others may have used up the addresses.
        let Some(size) = uses.growth(asked) else { return Ok(Grown::Yes) };
        if let Err(error) = resize(size) {
            uses.lost = true;
            return Err(cannot_open(path, format!("cannot map it into memory anew: {error}")));
        }
        uses.size = size;
        uses.reserved.change(size);
        Ok(Grown::Yes)
    }

    /// Whether the map should grow before a transaction begins.
    #[inline]
    pub(super) fn is_to_grow(&self) -> bool {
        self.need.load(Ordering::Relaxed) != Need::No as u8
    }

    fn need(&self) -> Need {
        let need = self.need.load(Ordering::Relaxed);
        Need::ALL.into_iter().find(|it| *it as u8 == need).unwrap_or(Need::No)
    }

    fn set_need(&self, need: Need) {
        self.need.store(need as u8, Ordering::Relaxed);
    }

    /// Notes how much of the map is used.
    #[inline]
    pub(super) fn note_used(&self, used: usize, size: usize) {
        if self.grows && used > size / 2 && !self.is_to_grow() {
            self.note_half_full(used, size);
        }
    }

    /// A size that the system has refused is asked for again when half of the rest is used.
    #[cold]
    fn note_half_full(&self, used: usize, size: usize) {
        if used > self.enough.load(Ordering::Relaxed) && next_size(size, used).is_some() {
            self.enough.store(used + size.saturating_sub(used) / 2, Ordering::Relaxed);
            self.set_need(Need::Soon);
        }
    }

    /// Makes the map larger, if it should grow and its uses end in time. If it is half full, they
    /// must have ended already. If it is used up, this waits for them, for at most `wait`.
    pub(super) fn make_room(
        &self,
        path: &Path,
        wait: Duration,
        resize: impl FnOnce(usize) -> heed::Result<()>,
    ) -> Result<()> {
        let (need, size) = (self.need(), self.size());
        let Some(next) = next_size(size, size) else {
            self.set_need(Need::No);
            return Ok(());
        };
        let wait = match need {
            Need::No => return Ok(()),
            // The transaction that waited in vain needed the space; later ones may not.
            Need::Soon | Need::InVain => Duration::ZERO,
            Need::Now => self.patience.min(wait).max(ENDING),
        };
        match self.grow_within(path, next, wait, need == Need::Now, resize)? {
            Grown::Yes => self.set_need(Need::No),
            Grown::InUse if need == Need::Now => self.set_need(Need::InVain),
            Grown::InUse => {}
        }
        Ok(())
    }

    /// Makes the map larger, if nothing uses it at this moment.
    pub(super) fn make_room_at_once(
        &self,
        path: &Path,
        resize: impl FnOnce(usize) -> heed::Result<()>,
    ) -> Result<()> {
        let size = self.size();
        let is_done = match next_size(size, size) {
            Some(next) => {
                matches!(self.grow_within(path, next, Duration::ZERO, false, resize)?, Grown::Yes)
            }
            None => true,
        };
        if is_done {
            self.set_need(Need::No);
        }
        Ok(())
    }

    /// Makes the map as large as the file that another process has made larger, of which `used`
    /// bytes are used, and larger if the map grows by itself.
    pub(super) fn follow(
        &self,
        path: &Path,
        used: usize,
        resize: impl FnOnce(usize) -> heed::Result<()>,
    ) -> Result<()> {
        let size = self.size();
        let next = if self.grows { next_size(size, used) } else { Some(rounded(used)) };
        let Some(next) = next else { return Ok(()) };
        match self.grow_within(path, next, self.patience, true, resize)? {
            Grown::Yes => Ok(()),
            Grown::InUse => Err(KvError::Retry(format!(
                "{}: another process has made it larger than the memory map of {size} bytes that this \
                 process has for it, and this map cannot grow while it is in use, now by {}: end them, then \
                 begin again",
                path.display(),
                lock(&self.uses).in_words()
            ))),
        }
    }

    /// The error of a transaction that has used up the map.
    pub(super) fn used_up(&self, path: &Path) -> KvError {
        let size = self.size();
        let full = |reason: String| KvError::Full { path: path.into(), reason: reason.into() };
        if !self.grows || next_size(size, size).is_none() || lock(&self.uses).is_refused() {
            return full(format!("its memory map of {size} bytes is used up; {}", self.advice()));
        }
        let in_vain = self.need() == Need::InVain;
        self.set_need(Need::Now);
        if in_vain {
            return full(format!(
                "its memory map of {size} bytes is used up, and cannot grow while others use it in this \
                 process, now by {} in all; end read-only transactions and snapshots of it that have been \
                 open for long",
                lock(&self.uses).in_words()
            ));
        }
        KvError::Retry(format!(
            "{}: its memory map of {size} bytes is used up; it grows when another transaction begins to \
             write",
            path.display()
        ))
    }

    /// The size to which the file can grow, if its map has `size` bytes.
    pub(super) fn limit(&self, size: usize) -> usize {
        if self.grows { size.max(reserve::MOST) } else { size }
    }

    /// Advice for a map that is too small.
    pub(super) fn advice(&self) -> String {
        let uses = lock(&self.uses);
        if uses.is_refused() {
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

/// Whether a map has grown, as far as the system allows.
enum Grown {
    Yes,
    /// It is in use.
    InUse,
}

impl Uses {
    /// Whether the system has refused the size that was asked for.
    fn is_refused(&self) -> bool {
        self.size < self.asked
    }

    /// The uses of the map, for an error.
    fn in_words(&self) -> String {
        let readers = self.open_readers();
        format!(
            "{readers} read-only transactions and snapshots and {} others (a transaction that writes or waits \
             for that, a copy)",
            self.others
        )
    }

    /// The size that the map can grow to, at most `asked`; `None` if it cannot grow.
    fn growth(&self, asked: usize) -> Option<usize> {
        let mut size = asked;
        while size > self.size && !has_room(self.size, size) {
            size = halved(size);
        }
        Some(size).filter(|size| *size > self.size)
    }

    fn open_readers(&self) -> usize {
        self.readers.iter().map(|readers| readers.count).sum()
    }

    /// Whether a reader is open that this thread has begun.
    fn has_reader_of(&self, thread: Thread) -> bool {
        self.readers.iter().any(|readers| readers.thread == thread)
    }

    /// Whether any of the uses for which the map has waited in vain is still there.
    fn is_still_in_the_way(&self) -> bool {
        let is_there =
            |old: &Readers| self.readers.iter().any(|other| other.are(old.version, old.thread));
        self.in_the_way.others && self.others > 0 || self.in_the_way.readers.iter().any(is_there)
    }

    fn any(&self) -> bool {
        self.others > 0 || !self.readers.is_empty()
    }

    fn cannot_grow(&self, path: &Path) -> KvError {
        cannot_open(
            path,
            format!(
                "it is already open in this process with a map size of {} bytes, which cannot grow \
                 while it is in use, now by {}: end them first (opened without a map size it keeps the map it has)",
                self.size,
                self.in_words()
            ),
        )
    }
}

/// A map of up to this size finds room anywhere in the address space, if no limit forbids it.
#[cfg(unix)]
const PLENTY: usize = if usize::BITS >= 64 { 1 << 40 } else { 0 };

/// Whether there are addresses for a map of `size` bytes in place of one of `old` bytes.
#[cfg(unix)]
pub(super) fn has_room(old: usize, size: usize) -> bool {
    // The old map is given up before the new one is made, so only the difference counts towards a
    // limit. If addresses are few, the new map must fit in one piece, and it is unknown whether the
    // addresses next to the old map are free.
    let size = if size <= PLENTY { size - old } else { size };
    let (prot, flags) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANON);
    // SAFETY: The system chooses free addresses for the new map, and nothing uses it before it is
    // given back.
    #[allow(unsafe_code)]
    unsafe {
        let place = libc::mmap(std::ptr::null_mut(), size, prot, flags, -1, 0);
        place != libc::MAP_FAILED && libc::munmap(place, size) == 0
    }
}

/// There, LMDB says it when it maps the file.
#[cfg(not(unix))]
pub(super) fn has_room(_: usize, _: usize) -> bool {
    true
}

#[cfg(test)]
mod tests;
