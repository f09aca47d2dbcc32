//! Numbers for the states of a database, whichever program changes it.
//!
//! SQLite does not number states. It only tells a connection whether *others* have committed since
//! the connection last looked: then its `data_version` has changed. So there is one connection, the
//! observer, that never writes. It notices all commits, of this process and of others. The states
//! that it sees are counted.
//!
//! To find out which state a transaction sees, the observer looks before the transaction fixes its
//! state and again after. If there was no commit in between, the number is known. A transaction
//! that has the right to write needs only one look, because no other can commit.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::database::Database;
use crate::store_parts::lock::lock;
use crate::{KvError, Result};

/// How often a transaction begins again because others committed at that moment.
const ATTEMPTS: u32 = 100;

/// The number of a state, and the `data_version` by which a connection recognizes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    data_version: i64,
    pub(super) number: u64,
}

/// A connection, and the last state it saw, if that is known.
pub(super) struct Pooled {
    pub(super) connection: Connection,
    pub(super) last: Option<Seen>,
}

/// The states of a database, counted.
#[derive(Default)]
pub(super) struct Versions {
    count: Mutex<Count>,
    /// Signals that a commit of this process was counted.
    counted: Condvar,
}

#[derive(Default)]
struct Count {
    /// The connection that never writes. It is opened when it is first needed.
    observer: Option<Connection>,
    /// The `data_version` of the observer at its last look.
    seen: Option<i64>,
    /// The number of the state that it saw then.
    number: u64,
    /// Running commits of this process.
    committing: u32,
}

impl Count {
    fn look(&mut self, database: &Database) -> Result<i64> {
        let observer = match &mut self.observer {
            Some(observer) => observer,
            none => none.insert(database.connect()?),
        };
        database.session(observer).data_version()
    }
}

impl Versions {
    fn count(&self) -> MutexGuard<'_, Count> {
        lock(&self.count)
    }

    /// The number of the current state.
    ///
    /// Does not wait, with one exception: a commit of this process has just become visible. Until
    /// it is counted, it looks like a commit of others.
    fn current(&self, database: &Database) -> Result<u64> {
        let mut count = self.count();
        loop {
            let seen = Some(count.look(database)?);
            if count.seen == seen {
                return Ok(count.number);
            }
            if count.committing == 0 {
                count.number += 1;
                count.seen = seen;
                return Ok(count.number);
            }
            count = self.counted.wait(count).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Begins a transaction with the statement `begin`, which takes no right to write, and fixes
    /// the state that it sees.
    pub(super) fn begin(
        &self,
        database: &Database,
        pooled: &mut Pooled,
        begin: &'static str,
    ) -> Result<Seen> {
        let session = database.session(&pooled.connection);
        let fix = || {
            session.execute("cannot begin", begin, [])?;
            session.data_version()
        };
        // The connection itself can tell whether the state is still the one that it saw last. That
        // is not possible if another connection has already seen a later one, so this case needs no
        // attempt.
        if let Some(last) = pooled.last
            && last.number == self.count().number
        {
            if fix()? == last.data_version {
                return Ok(last);
            }
            session.execute("cannot begin anew", "ROLLBACK", [])?;
        }
        for _ in 0..ATTEMPTS {
            let before = self.current(database)?;
            let data_version = fix()?;
            if self.current(database)? == before {
                let seen = Seen { data_version, number: before };
                pooled.last = Some(seen);
                return Ok(seen);
            }
            session.execute("cannot begin anew", "ROLLBACK", [])?;
        }
        Err(KvError::Retry(format!(
            "{}: cannot begin to read: in {ATTEMPTS} attempts, another transaction has committed each time; try again",
            database.path.display()
        )))
    }

    /// The state that a transaction with the right to write sees.
    pub(super) fn of_writer(&self, database: &Database, pooled: &mut Pooled) -> Result<Seen> {
        let data_version = database.session(&pooled.connection).data_version()?;
        let seen = Seen { data_version, number: self.current(database)? };
        pooled.last = Some(seen);
        Ok(seen)
    }

    /// Call it before a commit, and [`Commit::made`] after it.
    pub(super) fn committing<'v>(&'v self, database: &'v Database) -> Commit<'v> {
        self.count().committing += 1;
        Commit { versions: self, database, counted: false }
    }
}

/// A running commit.
pub(super) struct Commit<'v> {
    versions: &'v Versions,
    database: &'v Database,
    counted: bool,
}

impl Commit<'_> {
    /// Counts the commit that the connection has made on the state `base`. If it changed something,
    /// its result has the next number.
    ///
    /// If others have committed meanwhile, that number is not used: no transaction has seen that
    /// state.
    pub(super) fn made(mut self, pooled: &mut Pooled, base: Seen) {
        let mut count = self.versions.count();
        // An early return leaves the commit uncounted; dropping `self` then skips a number.
        let Ok(seen) = count.look(self.database) else { return };
        // This follows the look of the observer. So it tells whether the observer saw our commit
        // and no other.
        let own = self.database.session(&pooled.connection).data_version();
        if !own.is_ok_and(|own| own == base.data_version) {
            return;
        }
        // A commit that changed nothing keeps the number.
        if count.seen != Some(seen) {
            count.number += 1;
            count.seen = Some(seen);
        }
        pooled.last = Some(Seen { number: count.number, ..base });
        self.counted = true;
    }
}

impl Drop for Commit<'_> {
    fn drop(&mut self) {
        let mut count = self.versions.count();
        // The state is not known. The next look gives it a number of its own.
        if !self.counted {
            count.number += 1;
            count.seen = None;
        }
        count.committing -= 1;
        drop(count);
        self.versions.counted.notify_all();
    }
}
