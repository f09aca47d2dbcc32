//! One transaction: the pairs that it has read, with its own writes over them.

use std::cell::Cell;
use std::collections::{BTreeSet, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::engine::{Changes, Engine};
use super::reader::Reader;
use super::shared::SharedEngine;
use crate::contract::pass_on::pass_on;
use crate::overlay::MutableView;
use crate::store_parts::deadline::Deadline;
use crate::{
    KeySpan, KeyWatch, KvError, KvRead, KvTransaction, KvWrite, Pending, Result, SharedRead,
    TxOptions, key,
};

/// Own writes that take more bytes than this go to the store before the commit, if the engine can
/// do that.
const MOST_WRITTEN: usize = 64 << 20;

/// At most this many of the keys that were written are remembered, which takes 72 MiB. If there are
/// more, the store is asked.
const MOST_FLUSHED: usize = 4 << 20;

pub(super) struct RemoteTransaction<E> {
    view: MutableView<Arc<Reader>>,
    /// Keys that must be absent when this commits.
    absent: BTreeSet<Vec<u8>>,
    /// About how many bytes of writes the view holds.
    written: usize,
    /// Whether writes can go to the store before the commit.
    can_flush: bool,
    /// Which writes the store has taken. Once it has taken some, the state before them cannot be
    /// read any more.
    flushed: Flushed,
    is_read_only: bool,
    /// Its caller runs it again after a retryable error.
    runs_again: bool,
    /// Whether it was asked for a snapshot that only a certain transaction can make.
    wants_certainty: AtomicBool,
    deadline: Deadline,
    /// Dropped last: it may be the last that keeps the engine.
    shared: Arc<SharedEngine<E>>,
}

thread_local! {
    /// Whether an attempt of this thread could not continue because its transaction was not
    /// certain.
    static WANTS_CERTAINTY: Cell<bool> = const { Cell::new(false) };
}

/// Which keys the store has taken before the commit.
struct Flushed {
    is_any: bool,
    /// Numbers made of the keys that were put, until there are too many of them.
    numbers: HashSet<u64>,
    /// How many are too many.
    most: usize,
    /// Makes these numbers.
    hasher: RandomState,
}

impl Flushed {
    fn new(most: usize) -> Self {
        Flushed { is_any: false, numbers: HashSet::new(), most, hasher: RandomState::new() }
    }

    fn note<'k>(&mut self, keys: impl Iterator<Item = &'k Vec<u8>>) {
        self.is_any = true;
        for key in keys {
            // A set that is full may lack some of the keys.
            if self.numbers.len() >= self.most {
                break;
            }
            self.numbers.insert(self.hasher.hash_one(&key[..]));
        }
    }

    /// False if the store has not taken this key.
    fn may_have(&self, key: &[u8]) -> bool {
        self.is_any
            && (self.numbers.len() >= self.most
                || self.numbers.contains(&self.hasher.hash_one(key)))
    }
}

impl<E: Engine> RemoteTransaction<E> {
    pub(super) fn begin(shared: &Arc<SharedEngine<E>>, options: &TxOptions) -> Result<Self> {
        let SharedEngine { engine, counts, .. } = &**shared;
        let mut options = options.clone();
        if options.in_group && options.read_only && WANTS_CERTAINTY.take() {
            options.certain |= options.failed > 0;
        }
        let session = engine.begin(&options)?;
        let reader = Arc::new(Reader::new(session, engine.max_key_len(), counts));
        let is_tracked = engine.checks_reads() && !options.read_only;
        Ok(RemoteTransaction {
            view: if is_tracked {
                MutableView::new(reader)
            } else {
                MutableView::untracked(reader)
            },
            absent: BTreeSet::new(),
            written: 0,
            can_flush: !options.read_only && !is_tracked,
            flushed: Flushed::new(MOST_FLUSHED),
            is_read_only: options.read_only,
            runs_again: options.in_group,
            wants_certainty: AtomicBool::new(false),
            deadline: Deadline::new(options.timeout),
            shared: Arc::clone(shared),
        })
    }

    fn reading(&self) -> Result<&MutableView<Arc<Reader>>> {
        self.deadline.check()?;
        Ok(&self.view)
    }

    /// The view, to which the caller adds about this many bytes.
    fn writing(&mut self, bytes: usize) -> Result<&mut MutableView<Arc<Reader>>> {
        self.deadline.check()?;
        self.view.base().check()?;
        if self.can_flush && self.written > MOST_WRITTEN {
            self.flush()?;
        }
        self.written += bytes;
        Ok(&mut self.view)
    }

    /// Sends the writes to the store.
    fn flush(&mut self) -> Result<()> {
        self.add_up()?;
        let reader = Arc::clone(self.view.base());
        let emptied = MutableView::untracked(Arc::clone(&reader));
        let writes = std::mem::replace(&mut self.view, emptied).into_writes();
        let absent = std::mem::take(&mut self.absent);
        let changes = Changes { writes, absent, reads: None };
        self.written = 0;
        reader.forget()?;
        self.can_flush = reader.with_session(|session| session.flush(&changes))?;
        if self.can_flush {
            self.flushed.note(changes.writes.puts.keys());
        } else {
            self.view.apply(&changes.writes)?;
            self.absent = changes.absent;
        }
        Ok(())
    }

    /// Makes puts of the adjusts of counters. Asks for all of their values at once.
    fn add_up(&mut self) -> Result<()> {
        let keys: Vec<Vec<u8>> = self.view.writes().adjusts.keys().cloned().collect();
        let ends: Vec<Vec<u8>> = keys.iter().map(|key| key::next_key(key)).collect();
        let spans = keys.iter().zip(&ends).map(|(key, end)| KeySpan::new(key, Some(end)));
        self.view.prefetch(&spans.collect::<Vec<_>>());
        for key in &keys {
            let value = self.view.get(key)?.map(|value| value.into_owned());
            match value {
                // A value that is not a counter stays as it is; its sum is forgotten with the
                // others.
                Some(value) if self.view.decode_counter(&value).is_ok() => {
                    self.view.put(key, &value)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn is_put(&self, key: &[u8]) -> bool {
        self.view.writes().puts.contains_key(key)
    }

    /// The reader, and the changes to commit.
    fn into_parts(self) -> (Arc<Reader>, Changes) {
        let tracks = self.shared.engine.checks_reads() && !self.is_read_only;
        let (reader, reads, mut writes) = self.view.into_parts();
        writes.adjusts.clear();
        let changes = Changes { writes, absent: self.absent, reads: tracks.then_some(reads) };
        (reader, changes)
    }
}

impl<E: Engine> KvRead for RemoteTransaction<E> {
    pass_on!(self => self.reading()?; READS);
    pass_on!(self => self.view; LIMITS);
}

impl<E: Engine> KvWrite for RemoteTransaction<E> {
    pass_on!(self => self.writing(64)?; remove, remove_span, adjust_counter);

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let max = self.shared.engine.max_value_len();
        if value.len() > max {
            return Err(KvError::value_too_long(key, value.len(), max));
        }
        self.writing(key.len() + value.len() + 64)?.put(key, value)
    }

    /// Does not ask the store, which finds out when the transaction commits. Only if the store may
    /// have taken the key already is it asked, because it would then find the key there in each
    /// attempt.
    fn put_new(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.reading()?;
        let is_removed = self.view.writes().removes.contains(key);
        if !is_removed && self.flushed.may_have(key) {
            self.view.get(key)?;
        }
        let known = self.view.base().knows(key);
        if self.is_put(key) || (!is_removed && known == Some(true)) {
            return Ok(false);
        }
        self.put(key, value)?;
        if !is_removed {
            self.absent.insert(key.to_vec());
            if known.is_none() {
                self.view.base().learn_gap(key);
            }
        }
        Ok(true)
    }
}

impl<E: Engine> KvTransaction for RemoteTransaction<E> {
    fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Not possible once the store has taken writes before the commit.
    fn set_read_only(&mut self) -> Result<()> {
        self.deadline.check()?;
        self.view.base().check()?;
        if self.flushed.is_any {
            return Err(KvError::IllegalState(format!(
                "cannot make the transaction read-only: it has written more than {} MiB, and the store has taken them \
                 already; roll it back instead",
                MOST_WRITTEN >> 20
            )));
        }
        (self.is_read_only, self.can_flush) = (true, false);
        self.view.disable_read_tracking();
        Ok(())
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        self.deadline.set(timeout)
    }

    /// Only for read-only transactions that the engine can [share](Session::share). If it can share
    /// only certain ones, a closure runs again in a certain transaction.
    fn snapshot(&self) -> Result<SharedRead> {
        self.deadline.check()?;
        if !self.is_read_only {
            return Err(KvError::Unsupported("a snapshot of a transaction that writes"));
        }
        let reader = self.view.base();
        if self.runs_again && reader.lacks_certainty() {
            self.wants_certainty.store(true, Ordering::Relaxed);
            return Err(run_again_as_certain());
        }
        reader.share()?;
        Ok(match self.view.writes().is_empty() {
            true => Arc::clone(reader) as SharedRead,
            false => Arc::new(self.view.copy_changes()),
        })
    }

    fn pending(&self) -> Option<Pending<'_>> {
        (!self.is_read_only && !self.flushed.is_any).then(|| Pending {
            writes: self.view.writes(),
            base: Arc::clone(self.view.base()) as SharedRead,
        })
    }

    fn watch(&mut self, key: &[u8]) -> Result<KeyWatch> {
        self.reading()?.base().check()?;
        self.shared.engine.watch(key)
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        self.deadline.check()?;
        self.view.base().check()?;
        // Kept until the commit is done: this may be the last that keeps the engine.
        let shared = Arc::clone(&self.shared);
        let counts = &shared.counts;
        if self.is_read_only {
            // The closure has not returned the error, so it runs again because of this one.
            if self.wants_certainty.load(Ordering::Relaxed) {
                return Err(run_again_as_certain());
            }
            let is_begun = self.view.base().is_begun();
            // A shared state cannot be in conflict, and ends with its last holder.
            return match Arc::into_inner(self.into_parts().0) {
                Some(reader) if is_begun => {
                    let done = reader.end().commit(Changes::default());
                    done.inspect_err(|error| counts.note_failure(error))
                }
                _ => Ok(()),
            };
        }
        // A failure to read was counted already.
        self.add_up().inspect_err(|error| counts.tell_failed_commit(error))?;
        let is_begun = self.view.base().is_begun();
        let is_flushed = self.flushed.is_any;
        let (reader, changes) = self.into_parts();
        let has_written = is_flushed || !changes.is_empty();
        // Others may still hold the state that the transaction saw before its writes. It ends for
        // them as well.
        match (has_written, is_begun) {
            (true, _) => counts.committed(reader.end().commit(changes)),
            (false, true) => {
                let done = reader.end().commit(changes);
                done.inspect_err(|error| counts.note_failure(error))
            }
            (false, false) => Ok(()),
        }
    }

    fn rollback(self: Box<Self>) {}
}

/// Makes the next transaction of a closure on this thread a certain one.
fn run_again_as_certain() -> KvError {
    WANTS_CERTAINTY.set(true);
    KvError::Retry(
        "cannot make a snapshot: the transaction has read a state in which the server may still find a conflict, \
         so it must be begun again as a certain one (TxOptions::with_certainty)"
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_put_again_leave_room_for_others() {
        let keys: Vec<Vec<u8>> = (0..4).map(|n| vec![n]).collect();
        let mut flushed = Flushed::new(4);
        flushed.note(keys[..2].iter());
        flushed.note(keys[..3].iter());
        assert!(keys[..3].iter().all(|key| flushed.may_have(key)));
        assert!(!flushed.may_have(b"other"));
        flushed.note(keys.iter());
        // There may be more keys than the remembered ones.
        assert!(flushed.may_have(b"other"));
    }
}
