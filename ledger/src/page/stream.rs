//! Writes values in parts (streams), and attaches them to commits.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use permazen_kv::__internal::check_can_begin;
use permazen_kv::{KvError, KvWrite, TxOptions};

use super::Page;
use super::retries::Retries;
use super::shared::Shared;
use crate::error::{LedgerError, Result};
use crate::ids::CommitId;
use crate::node::items::{Payload, Priority, REFERENCE};
use crate::process::streams::{Streamed, StreamedContent};
use crate::random::random;
use crate::rows::counts::Counts;
use crate::rows::process::{StreamId, StreamState, lease};
use crate::rows::statuses::StatusWriter;
use crate::value::reference::MAX_VALUE_LEN;
use crate::value::split::{NewPiece, Splitter};

/// The most bytes of pieces that a transaction writes.
const TRANSACTION: usize = 1 << 20;

/// The bit in the number of a reference that makes the value lazy.
const LAZY_BIT: u64 = 1 << 63;

/// The most bytes that one call of `write` takes.
const PORTION: usize = 1 << 18;

/// How long a transaction waits for the write lock of the host.
const WAIT: Duration = Duration::from_secs(30);

/// The first bytes of all references of the process. They are random, so no value begins with them
/// by chance.
static MARK: OnceLock<[u8; 16]> = OnceLock::new();

fn mark() -> Result<[u8; 16]> {
    match MARK.get() {
        Some(mark) => Ok(*mark),
        None => {
            let new = random()?;
            Ok(*MARK.get_or_init(|| new))
        }
    }
}

/// A reference to a value that was written in parts, for transactions to put.
///
/// [`as_bytes`](ValueRef::as_bytes) is put in place of the value. The value is kept while a clone
/// of this exists, and for an hour after that.
#[derive(Clone)]
pub struct ValueRef {
    bytes: [u8; 40],
    len: u64,
    _held: Arc<()>,
}

impl fmt::Debug for ValueRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValueRef").field("len", &self.len).finish_non_exhaustive()
    }
}

impl ValueRef {
    /// The bytes that a transaction on a branch of the page puts. The commit has the value in their
    /// place, under each key with these bytes; until then, the transaction itself reads these
    /// bytes.
    ///
    /// They mean something in this process only, and to this handle of the repository. On another
    /// page, the commit is [`LedgerError::WrongPage`]; in any other store, they are stored as they
    /// are.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The same value as a [lazy](Priority::Lazy) one, which copies of the page need not have. A
    /// transaction that puts any value under the key again makes it eager.
    ///
    /// ```
    /// use std::io::Write;
    ///
    /// use permazen_kv::{KvDatabase, KvWrite, TxOptions, memory::MemoryStore};
    /// use permazen_ledger::{MAIN, PageId, Priority, Repository};
    ///
    /// let page = Repository::open_or_create(MemoryStore::new())?.create_page("films", PageId::ROOT)?;
    /// let mut film = page.write_value(None)?;
    /// film.write_all(&[7; 100_000])?;
    /// let film = film.finish()?;
    /// let db = page.database(MAIN)?;
    /// let mut tx = db.begin(&TxOptions::writing())?;
    /// tx.put(b"film", film.lazy().as_bytes())?;
    /// tx.commit()?;
    /// let snapshot = page.snapshot(&page.head(MAIN)?)?;
    /// assert_eq!(snapshot.priority(b"film")?, Some(Priority::Lazy));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn lazy(&self) -> ValueRef {
        let mut lazy = self.clone();
        lazy.bytes[32] |= (LAZY_BIT >> 56) as u8;
        lazy
    }

    /// The length of the value in bytes.
    pub fn value_len(&self) -> u64 {
        self.len
    }
}

/// Writes a value in parts. [`finish`](ValueWriter::finish) completes it; otherwise the value is
/// given up when this is dropped, and the collector removes its stored pieces.
///
/// Holds at most about 3 MiB for a value of any length. A thread stores each MiB in a transaction
/// of the host of its own, while the next MiB is written here; other writers come in between. An
/// error of the thread is returned by a later write, or at the end. `flush` does nothing. Errors of
/// the page are inside of those of [`std::io`]; after one that is
/// [retryable](LedgerError::is_retryable), the same bytes can be written again. Dropping this waits
/// for the thread.
///
/// Within a `write` closure of the host, a write that needs the host fails with
/// [`KvError::WithinWrite`] at once; the same bytes can be written again after the closure.
/// Dropping this does not wait there. In a child of a fork every call fails with
/// [`KvError::Forked`].
pub struct ValueWriter {
    page: Arc<Shared>,
    guard: Arc<StreamGuard>,
    splitter: Splitter,
    declared: Option<u64>,
    len: u64,
    /// The pieces that are not yet sent to a thread, and how many bytes they have.
    pending: (Vec<NewPiece>, usize),
    stored: StoredSoFar,
    sent: Option<Sent>,
    is_broken: bool,
}

/// A value that is being written. It is given up when the writer and its thread have dropped this,
/// unless it is complete then.
struct StreamGuard {
    page: Arc<Shared>,
    number: u64,
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        let open = &self.page.open;
        // In a child of a fork, the value belongs to the parent.
        if !open.process.is_forked() {
            open.process.streams.give_up(open.rows.number, self.number);
        }
    }
}

/// How much of a value is stored.
#[derive(Clone, Copy, Default)]
struct StoredSoFar {
    /// `None` until something is stored.
    stream: Option<StreamId>,
    /// How many pieces were new.
    pieces: u32,
}

/// Pieces that a thread is storing.
struct Sent {
    pieces: Arc<Vec<NewPiece>>,
    thread: JoinHandle<Result<StoredSoFar>>,
}

impl fmt::Debug for ValueWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValueWriter").field("len", &self.len).finish_non_exhaustive()
    }
}

impl Page {
    /// Begins to write a value in parts, of this length if it is known.
    ///
    /// When it is finished, transactions on branches of the page can put it, also together with
    /// other changes, also under several keys. The result is the same as if they had put the whole
    /// value. Write the value before the transaction that puts it begins.
    ///
    /// ```
    /// use std::io::{Read, Write};
    ///
    /// use permazen_kv::{KvDatabase, KvWrite, TxOptions, memory::MemoryStore};
    /// use permazen_ledger::{MAIN, PageId, Repository};
    ///
    /// let page = Repository::open_or_create(MemoryStore::new())?.create_page("films", PageId::ROOT)?;
    /// let mut film = page.write_value(None)?;
    /// for scene in 0..100 {
    ///     film.write_all(&[scene; 10_000])?;
    /// }
    /// let film = film.finish()?;
    ///
    /// let db = page.database(MAIN)?;
    /// let mut tx = db.begin(&TxOptions::writing())?;
    /// tx.put(b"film", film.as_bytes())?;
    /// tx.put(b"title", b"One hundred scenes")?;
    /// tx.commit()?;
    ///
    /// let snapshot = page.snapshot(&page.head(MAIN)?)?;
    /// assert_eq!(snapshot.value_len(b"film")?, Some(1_000_000));
    /// # let mut all = Vec::new();
    /// # snapshot.read_value(b"film")?.unwrap().read_to_end(&mut all)?;
    /// # assert!(all[990_000..] == [99; 10_000]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`LedgerError::ValueTooLong`] if `len` is 2⁴⁸ or more; [`LedgerError::Random`] if there are
    /// no random bytes; [`KvError::Forked`] in a child of a fork. The host is not used yet.
    pub fn write_value(&self, len: Option<u64>) -> Result<ValueWriter> {
        if len.is_some_and(|len| len > MAX_VALUE_LEN) {
            return Err(LedgerError::ValueTooLong);
        }
        let page = Arc::clone(&self.shared);
        page.check_not_forked()?;
        mark()?;
        let number = page.open.process.streams.begin(page.open.rows.number);
        Ok(ValueWriter {
            splitter: Splitter::new(&page.secret),
            guard: Arc::new(StreamGuard { page: Arc::clone(&page), number }),
            page,
            declared: len,
            len: 0,
            pending: (Vec::new(), 0),
            stored: StoredSoFar::default(),
            sent: None,
            is_broken: false,
        })
    }
}

impl ValueWriter {
    /// Completes the value, and stores the rest of it; a value of up to 512 bytes is not stored
    /// before a commit. Waits for the write lock of the host for up to 30 seconds.
    ///
    /// # Errors
    /// [`LedgerError::InvalidArgument`] if it has another length than was declared,
    /// [`LedgerError::ValueGone`] if it could not be written, or the host fails. The value is given
    /// up then.
    pub fn finish(mut self) -> Result<ValueRef> {
        self.check()?;
        if let Some(declared) = self.declared
            && declared != self.len
        {
            return Err(wrong_len(declared, &self.len.to_string()));
        }
        let content = match self.splitter.inline() {
            Some(value) => StreamedContent::Short(value.to_vec()),
            None => self.content()?,
        };
        let (process, page) = (&self.page.open.process, self.page.open.rows.number);
        let held = process.streams.written(page, self.guard.number, content);
        let mut bytes = [0; 40];
        bytes[..16].copy_from_slice(&mark()?);
        bytes[16..32].copy_from_slice(&self.page.name());
        bytes[32..].copy_from_slice(&self.guard.number.to_be_bytes());
        Ok(ValueRef { bytes, len: self.len, _held: held })
    }

    /// Stores the rest of a value that does not lie in a leaf.
    fn content(&mut self) -> Result<StreamedContent> {
        let splitter = std::mem::replace(&mut self.splitter, Splitter::new(&self.page.secret));
        let (pieces, bytes) = &mut self.pending;
        let value = splitter.finish(&mut |piece| {
            *bytes += piece.bytes.len();
            pieces.push(piece);
            Ok(())
        })?;
        self.arrive()?;
        while let Some(pieces) = self.next_portion() {
            self.stored = self.page.store_when_free(self.guard.number, self.stored, &pieces)?;
        }
        match self.stored {
            StoredSoFar { stream: Some(stream), pieces } => {
                Ok(StreamedContent::Long { stream, value, pieces })
            }
            StoredSoFar { stream: None, .. } => Err(self.page.value_gone()),
        }
    }

    fn check(&self) -> Result<()> {
        self.page.check_not_forked()?;
        if self.is_broken { Err(self.page.value_gone()) } else { Ok(()) }
    }

    fn add(&mut self, bytes: &[u8]) -> Result<()> {
        self.check()?;
        let len = self.len + bytes.len() as u64;
        if let Some(declared) = self.declared.filter(|declared| len > *declared) {
            return Err(wrong_len(declared, "more"));
        }
        if len > MAX_VALUE_LEN {
            return Err(LedgerError::ValueTooLong);
        }
        // Sent before any of the new bytes are taken, so that after an error the caller can write
        // the same bytes again.
        while self.pending.1 >= TRANSACTION {
            self.send()?;
        }
        let (pieces, size) = &mut self.pending;
        self.splitter.push(bytes, &mut |piece| {
            *size += piece.bytes.len();
            pieces.push(piece);
            Ok(())
        })?;
        self.len = len;
        Ok(())
    }

    /// Waits for the thread, and sends it the next pieces.
    fn send(&mut self) -> Result<()> {
        self.arrive()?;
        // The new thread would wait for the write that this thread is within.
        check_can_begin(&*self.page.open.host)?;
        let Some(pieces) = self.next_portion() else { return Ok(()) };
        let pieces = Arc::new(pieces);
        let (guard, stored) = (Arc::clone(&self.guard), self.stored);
        let its_pieces = Arc::clone(&pieces);
        let store = move || guard.page.store_when_free(guard.number, stored, &its_pieces);
        match thread::Builder::new().name("permazen-value".to_owned()).spawn(store) {
            Ok(thread) => {
                self.sent = Some(Sent { pieces, thread });
                Ok(())
            }
            // No thread can be started, so this one stores the pieces itself.
            Err(_) => {
                self.is_broken = true;
                let result = self.page.store_when_free(self.guard.number, stored, &pieces);
                self.note(result, pieces)
            }
        }
    }

    /// Waits for the thread. After an error, its pieces are stored again next.
    fn arrive(&mut self) -> Result<()> {
        if self.sent.as_ref().is_some_and(|sent| !sent.thread.is_finished()) {
            check_can_begin(&*self.page.open.host)?;
        }
        let Some(Sent { pieces, thread }) = self.sent.take() else { return Ok(()) };
        // The pieces are lost if the host has panicked.
        self.is_broken = true;
        let result = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        self.note(result, pieces)
    }

    fn note(&mut self, result: Result<StoredSoFar>, pieces: Arc<Vec<NewPiece>>) -> Result<()> {
        match result {
            Ok(stored) => {
                (self.stored, self.is_broken) = (stored, false);
                Ok(())
            }
            Err(error) => {
                let mut pieces = Arc::unwrap_or_clone(pieces);
                let len = pieces.iter().map(|piece| piece.bytes.len()).sum::<usize>();
                pieces.append(&mut self.pending.0);
                self.pending = (pieces, self.pending.1 + len);
                self.is_broken = !error.is_retryable();
                Err(error)
            }
        }
    }

    /// Takes the first pieces of those that are not stored, as many as one transaction writes.
    fn next_portion(&mut self) -> Option<Vec<NewPiece>> {
        let (mut count, mut len) = (0, 0);
        for piece in &self.pending.0 {
            if count > 0 && len + piece.bytes.len() > TRANSACTION {
                break;
            }
            (count, len) = (count + 1, len + piece.bytes.len());
        }
        let rest = self.pending.0.split_off(count);
        let portion = std::mem::replace(&mut self.pending.0, rest);
        self.pending.1 -= len;
        (count > 0).then_some(portion)
    }
}

impl Shared {
    /// Stores further pieces of a value. Tries again while the host is busy.
    fn store_when_free(
        &self,
        number: u64,
        stored: StoredSoFar,
        pieces: &[NewPiece],
    ) -> Result<StoredSoFar> {
        let mut retries = Retries::new(WAIT);
        loop {
            match self.store(number, stored, pieces, retries.left()) {
                Err(error) if error.is_retryable() && retries.pause(&*self.open.host)? => {}
                result => return result,
            }
        }
    }

    /// Stores pieces of a value in one transaction.
    fn store(
        &self,
        number: u64,
        stored: StoredSoFar,
        pieces: &[NewPiece],
        wait: Duration,
    ) -> Result<StoredSoFar> {
        let open = &self.open;
        let mut pieces: Vec<&NewPiece> = pieces.iter().collect();
        // In the order of their keys, which a B+tree writes fastest.
        pieces.sort_unstable_by_key(|piece| piece.part.digest);
        let mut tx = open.host.begin(&TxOptions::writing().with_wait(wait))?;
        open.rows.check_exists(&tx)?;
        let stream = match stored.stream {
            None => {
                let process = open.process.ensure_lease(&mut tx)?;
                let stream = StreamId { process, number };
                open.rows.put_stream(&mut tx, &stream, StreamState::Open)?;
                stream
            }
            Some(stream) => {
                if lease(&tx, &stream.process)?.is_none()
                    || open.rows.stream(&tx, &stream)? != Some(StreamState::Open)
                {
                    return Err(self.value_gone());
                }
                stream
            }
        };
        let (mut counts, mut new_pieces) = (open.rows.counts(&tx)?, stored.pieces);
        let statuses = StatusWriter::begin(&open.rows, &tx)?;
        for NewPiece { kind, part, bytes } in pieces {
            let piece = (*kind, &part.digest);
            let is_new = open.rows.add_streamed(&mut tx, &stream, piece, bytes, &mut counts)?;
            if is_new {
                statuses.new_piece((&open.rows, &mut tx), &part.digest, &mut counts)?;
            }
            new_pieces = new_pieces.saturating_add(u32::from(is_new));
        }
        open.rows.put_counts(&mut tx, &counts)?;
        tx.commit()?;
        Ok(StoredSoFar { stream: Some(stream), pieces: new_pieces })
    }
}

fn wrong_len(declared: u64, found: &str) -> LedgerError {
    let what = format!("a value was declared with {declared} bytes, and {found} were written");
    LedgerError::InvalidArgument(what)
}

impl Write for ValueWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = &bytes[..bytes.len().min(PORTION)];
        self.add(taken).map_err(io::Error::other)?;
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for ValueWriter {
    fn drop(&mut self) {
        let Some(Sent { thread, .. }) = self.sent.take() else { return };
        if self.page.open.process.is_forked() {
            // Only the parent has the thread.
            std::mem::forget(thread);
        } else if thread.is_finished() || check_can_begin(&*self.page.open.host).is_ok() {
            // Waits, because pieces that the thread stores after the value is given up would stay
            // until the next collection.
            let _ = thread.join();
        }
    }
}

impl Streamed {
    /// Calls a function with the payload of a leaf for this value and priority.
    pub(super) fn with_payload<T>(
        &self,
        priority: Priority,
        with: impl FnOnce(Payload<'_>) -> T,
    ) -> T {
        let flags = priority.flags();
        match &self.content {
            StreamedContent::Short(bytes) => with(Payload { flags, bytes }),
            StreamedContent::Long { value, .. } => {
                with(Payload { flags: flags | REFERENCE, bytes: &value.to_bytes() })
            }
        }
    }
}

impl Shared {
    /// Fails in a child of a fork.
    fn check_not_forked(&self) -> Result<()> {
        if !self.open.process.is_forked() {
            return Ok(());
        }
        Err(KvError::Forked { store: format!("page {}", self.number()).into() }.into())
    }

    fn value_gone(&self) -> LedgerError {
        LedgerError::ValueGone { page: self.number() }
    }

    /// The value that these bytes refer to, and its priority. `None` if they are no reference.
    pub(crate) fn streamed(&self, bytes: &[u8]) -> Result<Option<(Arc<Streamed>, Priority)>> {
        let Some(rest) = MARK.get().and_then(|mark| bytes.strip_prefix(mark)) else {
            return Ok(None);
        };
        let (Some((name, _)), Ok(reference)) =
            (rest.split_first_chunk::<16>(), <[u8; 24]>::try_from(rest))
        else {
            let what = "a reference to a value that was written in parts has 40 bytes";
            return Err(LedgerError::InvalidArgument(what.to_owned()));
        };
        if *name != self.name() {
            return Err(LedgerError::WrongPage { page: self.open.rows.number });
        }
        let number = reference[16..].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let priority = if number & LAZY_BIT == 0 { Priority::Eager } else { Priority::Lazy };
        let found = self.open.process.streams.get(self.open.rows.number, number & !LAZY_BIT);
        found.map(|found| Some((found, priority))).ok_or_else(|| self.value_gone())
    }

    /// Attaches a value to a commit. Returns how many of its pieces were new.
    pub(super) fn take(
        &self,
        tx: &mut dyn KvWrite,
        value: &Streamed,
        commit: &CommitId,
        counts: &Counts,
    ) -> Result<u64> {
        let StreamedContent::Long { stream, pieces, .. } = &value.content else { return Ok(0) };
        let rows = &self.open.rows;
        let before = match rows.stream(tx, stream)? {
            Some(StreamState::Open) => {
                let round = counts.round.running();
                let state = StreamState::Attached { commit: *commit, round };
                rows.put_stream(tx, stream, state)?;
                return Ok(u64::from(*pieces));
            }
            Some(StreamState::Attached { commit, .. }) => Some(commit),
            None => value.commit(),
        };
        // The value is attached to another commit, which keeps its pieces as long as it is stored
        // itself.
        match before {
            Some(before) if rows.has_commit(tx, &before)? => Ok(0),
            _ => Err(self.value_gone()),
        }
    }
}
