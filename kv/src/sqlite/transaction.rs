//! Transactions on a database, and the fixed states that read-only transactions see.

use std::cell::{Cell, OnceCell};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::connection::{PagedScan, ROW_HEADER, Session};
use super::error::failed;
use super::shared::SharedDatabase;
use super::versions::{Pooled, Seen};
use super::writers::{Writing, check_this_thread};
use crate::group::{self, Leader, Member};
use crate::store_parts;
use crate::store_parts::deadline::Deadline;
use crate::store_parts::earlier_failure::EarlierFailure;
use crate::store_parts::lock::lock;
use crate::store_parts::write_lock::{Turn, WritePermit, note_wait_in_vain};
use crate::{
    Blob, Direction, KeySpan, KvError, KvRead, KvTransaction, KvWrite, Pair, Result, Scan,
    TxOptions,
};

/// How long a transaction that takes the right to write late waits for it, if its options do not
/// say. The other transaction may itself be waiting for this thread.
const LATE_WAIT: Duration = Duration::from_secs(3);

/// The longest time SQLite can wait: about 24 days.
const LONGEST_WAIT: Duration = Duration::from_millis(i32::MAX as u64);

/// The longest key, and the longest pair: what the limit of this build of SQLite for a row leaves.
const MAX_KEY: usize = 1_000_000_000 - ROW_HEADER;

/// The reads of a type whose method `with` runs an operation.
macro_rules! reads {
    () => {
        fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
            self.with(|session| session.get(key))
        }

        fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
            // The scan itself reads only when it is used.
            self.with(|_| Ok(()))?;
            Ok(Box::new(PagedScan::new(span, direction, |span, direction, limit| {
                self.with(|session| session.page(span, direction, limit))
            })?))
        }

        fn at_least(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
            self.with(|session| session.end(min, max, Direction::Forward))
        }

        fn at_most(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
            self.with(|session| session.end(min, max, Direction::Reverse))
        }

        fn max_key_len(&self) -> usize {
            MAX_KEY
        }
    };
}

/// One state of the database. A transaction of SQLite that only reads holds it.
pub(super) struct SqliteView {
    pooled: Mutex<Option<Pooled>>,
    version: u64,
    shared: Arc<SharedDatabase>,
}

impl SqliteView {
    /// Opens the current state.
    pub(super) fn open(shared: Arc<SharedDatabase>) -> Result<Self> {
        let mut pooled = shared.take()?;
        let version = shared.versions.begin(&shared.database, &mut pooled, "BEGIN")?.number;
        Ok(SqliteView { pooled: Mutex::new(Some(pooled)), version, shared })
    }

    fn pooled(&self) -> MutexGuard<'_, Option<Pooled>> {
        lock(&self.pooled)
    }

    /// Reads this state.
    pub(super) fn with<R>(&self, read: impl FnOnce(Session<'_>) -> Result<R>) -> Result<R> {
        self.shared.database.check_process()?;
        match self.pooled().as_ref() {
            Some(pooled) => read(self.shared.database.session(&pooled.connection)),
            None => Err(KvError::Stale("it has ended".to_owned())),
        }
    }
}

impl store_parts::read_transaction::StateView for SqliteView {
    fn version(&self) -> Option<u64> {
        Some(self.version)
    }
}

impl Drop for SqliteView {
    fn drop(&mut self) {
        if let Some(pooled) = self.pooled().take() {
            end(&self.shared, pooled);
        }
    }
}

impl KvRead for SqliteView {
    reads!();
}

/// Rolls back the open transaction of the connection and gives the connection back.
fn end(shared: &Arc<SharedDatabase>, pooled: Pooled) {
    if !shared.database.is_of_this_process() {
        // It is a transaction of the parent, which closing would roll back. As long as the
        // connection is there, the file counts as open, because SQLite takes the locks of the
        // parent for locks of this process.
        std::mem::forget((Arc::clone(shared), pooled));
        return;
    }
    if !pooled.connection.is_autocommit() {
        // If this fails, the connection is not kept; closing it rolls back.
        let _ =
            shared.database.session(&pooled.connection).execute("cannot roll back", "ROLLBACK", []);
    }
    shared.keep(pooled);
}

/// A transaction that writes.
pub(super) struct WriteTransaction {
    /// Taken out only when the transaction ends.
    pooled: Option<Pooled>,
    /// The state on which it began.
    base: Seen,
    shared: Arc<SharedDatabase>,
    /// The operation that has failed, so that no other can follow.
    failed: OnceCell<EarlierFailure>,
    /// Whether something was put or removed.
    has_written: Cell<bool>,
    /// Whether `commit` must roll back.
    discard: bool,
    deadline: Deadline,
    /// Whether others can commit together with it.
    leads: bool,
    /// Whether it ends on the thread that began it.
    stays: bool,
    /// Present once it has SQLite's right to write, if it ends on the thread that began it.
    writing: OnceCell<Writing>,
    /// Given back last, after the end of the transaction.
    permit: Option<WritePermit>,
}

impl WriteTransaction {
    /// Begins a transaction that writes, or gets a turn in the group of another one.
    pub(super) fn begin(
        shared: &Arc<SharedDatabase>,
        options: &TxOptions,
    ) -> Result<Box<dyn KvTransaction + Send>> {
        let start = Instant::now();
        // After a fork, a thread of the parent may have the right to write, and would never give it
        // back here.
        shared.database.check_process()?;
        // A transaction that others have overtaken again and again takes the right to write before
        // it reads.
        let late = shared.database.options.late_lock && !options.has_turn();
        let joins = !late && shared.database.options.makes_groups() && group::joins(options);
        if !late {
            check_this_thread(&shared.database)?;
        }
        let (permit, wait) = if late {
            (None, options.wait.unwrap_or(LATE_WAIT))
        } else {
            let wait = options.writer_wait();
            match shared.right_to_write.turn(options, joins)? {
                Turn::Right(permit) => (Some(permit), wait.saturating_sub(start.elapsed())),
                Turn::Member(seat) => return Ok(Box::new(Member::begin(seat, options))),
            }
        };
        let mut pooled = shared.take()?;
        pooled
            .connection
            .busy_timeout(wait.min(LONGEST_WAIT))
            .map_err(|error| failed(&shared.database.path, "cannot begin", error))?;
        let base = if late {
            shared.versions.begin(&shared.database, &mut pooled, "BEGIN DEFERRED")?
        } else {
            let session = shared.database.session(&pooled.connection);
            session.execute("cannot begin", "BEGIN IMMEDIATE", []).inspect_err(|error| {
                if error.is_retryable() {
                    note_wait_in_vain();
                }
            })?;
            shared.versions.of_writer(&shared.database, &mut pooled)?
        };
        let begun = WriteTransaction {
            pooled: Some(pooled),
            base,
            shared: Arc::clone(shared),
            failed: OnceCell::new(),
            has_written: Cell::new(false),
            discard: false,
            deadline: Deadline::new(options.timeout),
            leads: joins,
            stays: options.stays_here(),
            writing: OnceCell::new(),
            permit,
        };
        if !late {
            begun.note_writing();
        }
        if let Some(pooled) = &begun.pooled {
            shared.database.file.check(&pooled.connection)?;
        }
        Ok(Box::new(begun))
    }

    /// Runs an operation. If it fails and the caller made no mistake, no other operation can
    /// follow.
    fn with<R>(&self, operation: impl FnOnce(Session<'_>) -> Result<R>) -> Result<R> {
        self.deadline.check()?;
        self.shared.database.check_process()?;
        if let Some(failed) = self.failed.get() {
            return Err(failed.error());
        }
        let Some(pooled) = &self.pooled else {
            return Err(KvError::Stale("it has ended".to_owned()));
        };
        operation(self.shared.database.session(&pooled.connection)).inspect_err(|error| {
            if !error.is_caller_error() {
                self.failed.get_or_init(|| EarlierFailure::of(error));
            }
        })
    }

    /// Runs an operation that needs the right to write.
    fn writing<R>(&self, operation: impl FnOnce(Session<'_>) -> Result<R>) -> Result<R> {
        self.with(|session| {
            // Without the right to write, SQLite would wait for a transaction that this thread
            // itself may hold.
            if self.permit.is_none() && self.writing.get().is_none() {
                self.shared.right_to_write.check_holder()?;
                check_this_thread(&self.shared.database)?;
            }
            let done = operation(session).inspect_err(|error| {
                if error.conflict().is_some() {
                    self.shared.right_to_write.counts().note_failure(error);
                }
            })?;
            self.has_written.set(true);
            self.note_writing();
            Ok(done)
        })
    }

    /// Notes that it has SQLite's right to write.
    fn note_writing(&self) {
        if self.stays && self.writing.get().is_none() {
            let place = self.shared.database.file.place();
            let _ = place.map(|place| self.writing.set(Writing::new(place)));
        }
    }
}

impl Drop for WriteTransaction {
    fn drop(&mut self) {
        if let Some(pooled) = self.pooled.take() {
            end(&self.shared, pooled);
        }
    }
}

impl KvRead for WriteTransaction {
    reads!();
}

impl KvWrite for WriteTransaction {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if key.len() > MAX_KEY {
            self.with(|_| Ok(()))?;
            return Err(KvError::key_too_long(key, MAX_KEY));
        }
        self.writing(|session| session.put(key, value))
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.writing(|session| session.remove(key))
    }

    fn remove_span(&mut self, span: KeySpan<'_>) -> Result<()> {
        self.writing(|session| {
            span.check()?;
            if span.is_empty() { Ok(()) } else { session.remove_span(span) }
        })
    }
}

impl KvTransaction for WriteTransaction {
    fn is_read_only(&self) -> bool {
        self.discard
    }

    /// Possible at any time. If the transaction has the right to write, it keeps it to its end. A
    /// transaction that begins as read-only never takes it.
    fn set_read_only(&mut self) -> Result<()> {
        self.with(|_| Ok(()))?;
        self.discard = true;
        Ok(())
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        self.deadline.set(timeout)
    }

    fn version(&self) -> Option<u64> {
        Some(self.base.number)
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        if self.discard {
            return self.with(|_| Ok(()));
        }
        let has_written = self.has_written.get();
        let lock = Arc::clone(&self.shared.right_to_write);
        let done = if self.leads && self.permit.is_some() {
            self.with(|_| Ok(()))?;
            // Its time does not run out while it waits for others.
            self.deadline.lift();
            group::commit(&lock, self)
        } else {
            self.finish()
        };
        if has_written { lock.counts().committed(done) } else { done }
    }

    fn rollback(self: Box<Self>) {}
}

impl Leader for WriteTransaction {
    fn finish(mut self: Box<Self>) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        self.with(|session| shared.database.file.check(session.connection))?;
        let commit = shared.versions.committing(&shared.database);
        let committed = self.with(|session| session.commit());
        let base = self.base;
        if let Some(pooled) = &mut self.pooled {
            // The state that the commit makes is known only after it was counted.
            pooled.last = None;
            if committed.is_ok() {
                commit.made(pooled, base);
            }
        }
        match committed {
            Err(error) => Err(error),
            // If the file was replaced before this, no reader would ever see the commit.
            Ok(()) => self
                .pooled
                .as_ref()
                .map_or(Ok(()), |pooled| shared.database.file.check_committed(&pooled.connection)),
        }
    }
}
