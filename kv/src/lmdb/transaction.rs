//! The transaction that writes to an environment.

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use heed::PutFlags;

use super::env::{Pairs, SharedEnv};
use super::error::{READING, failed};
use super::key::{MAX_KEY, StoredKey, StoredSpan};
use super::open_write::OpenWrite;
use super::own_thread::{OwnThread, end_abandoned};
use super::read::{Reader, stripped};
use crate::contract::pass_on::pass_on;
use crate::group::{self, Leader, Member};
use crate::store_parts::deadline::Deadline;
use crate::store_parts::earlier_failure::EarlierFailure;
use crate::store_parts::on_disk;
use crate::store_parts::write_lock::{Turn, WritePermit};
use crate::{KeySpan, KvError, KvRead, KvTransaction, KvWrite, Near, Result, TxOptions, Verdict};

/// A transaction that writes. There is only one at a time.
pub(super) struct WriteTransaction {
    /// Taken out when the transaction ends, or when an operation fails in it.
    open: Option<OpenWrite>,
    /// The operation that has failed in it, and the transaction, which can only be ended.
    failed: Option<(EarlierFailure, OpenWrite)>,
    pairs: Pairs,
    /// Whether something was put or removed.
    has_written: bool,
    /// Whether `commit` must roll back.
    discard: bool,
    deadline: Deadline,
    /// Whether others can commit together with it.
    leads: bool,
    /// Present if the thread that began the transaction ends it. Otherwise the writer thread does.
    own: Option<OwnThread>,
    env: Arc<SharedEnv>,
    /// Given back last, after the transaction has ended or its end was requested. Taken out only
    /// when it is rolled back.
    permit: Option<WritePermit>,
}

impl WriteTransaction {
    /// Begins a transaction that writes, or gets a turn in the group of another one, if there are
    /// `groups`.
    pub(super) fn begin(
        shared: &Arc<SharedEnv>,
        options: &TxOptions,
        groups: bool,
    ) -> Result<Box<dyn KvTransaction + Send>> {
        let start = std::time::Instant::now();
        let wait = options.writer_wait();
        let read_only = || on_disk::read_only(shared.path());
        let writer = shared.writer.as_ref().ok_or_else(read_only)?;
        let pairs = shared.pairs()?.ok_or_else(read_only)?;
        end_abandoned();
        let joins = groups && shared.flushes() && group::joins(options);
        let permit = match shared.right_to_write.turn(options, joins)? {
            Turn::Right(permit) => permit,
            Turn::Member(seat) => return Ok(Box::new(Member::begin(seat, options))),
        };
        shared.env.make_room(wait.saturating_sub(start.elapsed()))?;
        let begin = || -> Result<_> {
            let here = if options.ends_here { OwnThread::begin(shared, writer)? } else { None };
            Ok(match here {
                Some((txn, own)) => (txn, Some(own)),
                None => (writer.begin(shared, wait.saturating_sub(start.elapsed()))?, None),
            })
        };
        let (txn, own) = match begin() {
            Err(_) if shared.env.follow_others()? => begin()?,
            begun => begun?,
        };
        let begun = WriteTransaction {
            open: Some(OpenWrite::new(txn)),
            failed: None,
            pairs,
            has_written: false,
            discard: false,
            deadline: Deadline::new(options.timeout),
            leads: joins,
            own,
            env: Arc::clone(shared),
            permit: Some(permit),
        };
        // Checked now, when no other process can write. If it fails, dropping the transaction gives
        // back the lock. A transaction that ends on this thread is short, so its files are checked
        // only when it commits.
        if begun.own.is_none() {
            begun.env.env.check_files()?;
        }
        begun.check_numbers()?;
        Ok(Box::new(begun))
    }

    /// Why nothing more can be done in it.
    fn ended(failed: &Option<(EarlierFailure, OpenWrite)>) -> KvError {
        match failed {
            Some((failure, _)) => failure.error(),
            None => KvError::Stale("it has ended".to_owned()),
        }
    }

    /// The error of an operation. LMDB does nothing more in a transaction in which one has failed,
    /// unless the caller made the mistake.
    #[cold]
    fn failed(&mut self, what: &'static str, error: heed::Error) -> KvError {
        let error = self.env.env.failed(what, error);
        if !error.is_caller_error()
            && let Some(open) = self.open.take()
        {
            self.failed = Some((EarlierFailure::of(&error), open));
        }
        error
    }

    /// Fails if the transaction cannot be used any more, whatever was done in it.
    #[inline]
    fn check_usable(&self) -> Result<()> {
        self.deadline.check()?;
        self.env.check_process()?;
        self.own.as_ref().map_or(Ok(()), OwnThread::check)
    }

    fn reader(&self) -> Result<Reader<'_>> {
        self.check_usable()?;
        let open = self.open.as_ref().ok_or_else(|| Self::ended(&self.failed))?;
        let thread = self.own.as_ref().map(OwnThread::at_each_step);
        Ok(Reader { pairs: self.pairs, txn: open.txn(), path: self.env.path(), thread })
    }

    fn write(&mut self) -> Result<(Pairs, &mut OpenWrite, &SharedEnv)> {
        self.check_usable()?;
        let open = self.open.as_mut().ok_or_else(|| Self::ended(&self.failed))?;
        self.has_written = true;
        Ok((self.pairs, open, &self.env))
    }

    /// Fails if the transaction did not begin with the last commit.
    fn check_numbers(&self) -> Result<()> {
        let open = self.open.as_ref().ok_or_else(|| Self::ended(&self.failed))?;
        self.env.env.check_writing(open.txn())
    }
}

impl Drop for WriteTransaction {
    fn drop(&mut self) {
        if !self.env.env.process().is_this() {
            // It is the transaction of the parent.
            std::mem::forget((self.open.take(), self.failed.take()));
            return;
        }
        let failed = self.failed.take().map(|(_, open)| open);
        let Some(txn) = self.open.take().or(failed).map(OpenWrite::into_txn) else { return };
        match (self.own.take(), self.permit.take(), &self.env.writer) {
            (Some(own), Some(permit), _) => own.abort(txn, permit),
            (_, permit, Some(writer)) => {
                writer.abort(txn);
                drop(permit);
            }
            _ => {}
        }
    }
}

impl KvRead for WriteTransaction {
    pass_on!(self => self.reader()?; READS);

    fn max_key_len(&self) -> usize {
        MAX_KEY
    }
}

impl KvWrite for WriteTransaction {
    fn get_to_put(&mut self, key: &[u8], near: &[u8]) -> Result<Option<Near<'_>>> {
        let (pairs, open, env) = self.write()?;
        let mut room = StoredKey::room();
        let Some(stored) = room.fitting(key) else { return Ok(None) };
        let path = env.path();
        let (from_there, txn) =
            open.stay_at(pairs, stored).map_err(|error| failed(path, READING, error))?;
        Reader { pairs, txn, path, thread: None }.get_along(from_there, key, near)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let (pairs, open, _) = self.write()?;
        let mut room = StoredKey::room();
        let stored = room.of_pair(key, value.len())?;
        open.put(pairs, stored, value).map_err(|error| self.failed("cannot put", error))
    }

    fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        let (pairs, open, _) = self.write()?;
        let mut room = StoredKey::room();
        let stored = room.of_pair(key, value.len())?;
        open.put_if(pairs, PutFlags::NO_OVERWRITE, stored, value)
            .map_err(|error| self.failed("cannot put", error))
    }

    fn get_or_put(&mut self, key: &[u8], value: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.put_if_absent(key, value)? {
            true => Ok(None),
            false => Ok(self.get(key)?.map(Cow::into_owned)),
        }
    }

    fn append(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let (pairs, open, _) = self.write()?;
        let mut room = StoredKey::room();
        let stored = room.of_pair(key, value.len())?;
        let appended = open.put_if(pairs, PutFlags::APPEND, stored, value);
        match appended.map_err(|error| self.failed("cannot put", error))? {
            true => Ok(()),
            // It is not the last one.
            false => self.put(key, value),
        }
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        let (pairs, open, _) = self.write()?;
        let mut room = StoredKey::room();
        let Some(stored) = room.fitting(key) else { return Ok(()) };
        open.remove(pairs, stored).map(drop).map_err(|error| self.failed("cannot remove", error))
    }

    fn remove_span(&mut self, span: KeySpan<'_>) -> Result<()> {
        let (pairs, open, _) = self.write()?;
        span.check()?;
        if span.is_empty() {
            return Ok(());
        }
        let stored = StoredSpan::new(span);
        let bounds: (Bound<&[u8]>, Bound<&[u8]>) = stored.bounds();
        let removed = match span.is_full() {
            true => open.clear(pairs),
            false => open.remove_range(pairs, &bounds),
        };
        removed.map_err(|error| self.failed("cannot remove", error))
    }

    /// One cursor finds the pairs and removes them.
    fn remove_where(
        &mut self,
        span: KeySpan<'_>,
        judge: &mut dyn FnMut(&[u8], &[u8]) -> Verdict,
    ) -> Result<()> {
        let (pairs, open, env) = self.write()?;
        span.check()?;
        if span.is_empty() {
            return Ok(());
        }
        let stored = StoredSpan::new(span);
        let bounds: (Bound<&[u8]>, Bound<&[u8]>) = stored.bounds();
        let mut remove = || -> heed::Result<Result<()>> {
            let mut found = open.range_mut(pairs, &bounds)?;
            while let Some(pair) = found.next() {
                let (key, value) = match stripped(env.path(), pair?) {
                    Ok(pair) => pair,
                    Err(error) => return Ok(Err(error)),
                };
                match judge(key, value) {
                    // SAFETY: nothing is kept of the pair, which was lent to `judge` only.
                    #[allow(unsafe_code)]
                    Verdict::Remove => drop(unsafe { found.del_current() }?),
                    Verdict::Keep => {}
                    Verdict::Stop => break,
                }
            }
            Ok(Ok(()))
        };
        remove().map_err(|error| self.failed("cannot remove", error))?
    }
}

impl KvTransaction for WriteTransaction {
    fn is_read_only(&self) -> bool {
        self.discard
    }

    /// Possible at any time. The transaction keeps the right to write to its end. A transaction
    /// that begins as read-only never takes it.
    fn set_read_only(&mut self) -> Result<()> {
        self.deadline.check()?;
        if let Some((failure, _)) = &self.failed {
            return Err(failure.error());
        }
        self.discard = true;
        Ok(())
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        self.deadline.set(timeout)
    }

    fn version(&self) -> Option<u64> {
        // LMDB gives the number of the state that this transaction will make.
        let open = self.open.as_ref().or(self.failed.as_ref().map(|(_, open)| open))?;
        Some((open.txn().id() as u64).saturating_sub(1))
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        self.deadline.check()?;
        self.env.check_process()?;
        // Others that would commit together with it are not kept waiting for that.
        if let Some((failure, _)) = &self.failed {
            let failed = Err(failure.error());
            let counts = self.env.right_to_write.counts();
            return if self.discard { failed } else { counts.committed(failed) };
        }
        if self.discard {
            return Ok(());
        }
        let has_written = self.has_written;
        let lock = Arc::clone(&self.env.right_to_write);
        let done = if self.own.as_ref().is_some_and(|own| !own.is_here()) {
            Err(OwnThread::elsewhere())
        } else if self.leads {
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
        self.env.check_process()?;
        // Fails if others would not see the writes.
        self.env.env.check_files()?;
        self.check_numbers()?;
        let open = self.open.take().ok_or_else(|| Self::ended(&self.failed))?;
        let txn = open.into_txn();
        match (self.own.take(), &self.env.writer) {
            (Some(own), _) => {
                own.commit(txn).map_err(|error| self.env.env.commit_failed(error))?;
            }
            (None, Some(writer)) => writer.commit(txn)?,
            (None, None) => return Err(Self::ended(&None)),
        }
        // If the file was replaced just before this, no new reader would ever see the commit.
        self.env.env.files().check_committed(self.env.path())
    }
}
