//! Numbers for the states of a database, whoever changes it.
//!
//! SQLite does not number states. It tells a connection whether *others* have committed since the
//! connection looked last: then its `data_version` is another one. So there is one connection that
//! never writes, and therefore notices all commits, of this process and of others; states are counted
//! as it comes to see them.
//!
//! Which of them a transaction sees is known if there was no commit between a look before the
//! transaction fixed its state and a look after it. A transaction that has the right to write
//! needs one look only: nobody else can commit.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::database::Database;
use crate::store_parts::lock::lock;
use crate::{KvError, Result};

/// How often a transaction is begun anew because others committed at just that time.
const ATTEMPTS: u32 = 100;

/// The number of a state, and by which `data_version` a connection that saw it will know it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    data_version: i64,
    pub(super) number: u64,
}

/// A connection, and what it saw last if that is known.
pub(super) struct Pooled {
    pub(super) connection: Connection,
    pub(super) last: Option<Seen>,
}

/// The states of a database, counted.
#[derive(Default)]
pub(super) struct Versions {
    count: Mutex<Count>,
    /// A commit of this process has been counted.
    counted: Condvar,
}

#[derive(Default)]
struct Count {
    /// The connection that never writes; opened when it is needed first.
    observer: Option<Connection>,
    /// The observer's `data_version` when it looked last.
    seen: Option<i64>,
    /// The number of the state it saw.
    number: u64,
    /// Commits of this process that are under way.
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

    /// The number of the state that is current now.
    ///
    /// Waits for nobody, except when a commit of this process has just become visible: until that is
    /// counted it cannot be told from one of others.
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

    /// Begins a transaction with the statement `begin`, which takes no right to write, and fixes the
    /// state it sees.
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
        // Whether there is still the state that was there when the connection was used last, it
        // knows by itself; there certainly is not if somebody else has seen a later one.
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
            "{}: cannot begin: others committed each of {ATTEMPTS} times just then",
            database.path.display()
        )))
    }

    /// The state seen by a transaction that has the right to write.
    pub(super) fn of_writer(&self, database: &Database, pooled: &mut Pooled) -> Result<Seen> {
        let data_version = database.session(&pooled.connection).data_version()?;
        let seen = Seen { data_version, number: self.current(database)? };
        pooled.last = Some(seen);
        Ok(seen)
    }

    /// To be called before a commit, which is to be followed by [`Commit::made`].
    pub(super) fn committing<'v>(&'v self, database: &'v Database) -> Commit<'v> {
        self.count().committing += 1;
        Commit { versions: self, database, counted: false }
    }
}

/// A commit under way.
pub(super) struct Commit<'v> {
    versions: &'v Versions,
    database: &'v Database,
    counted: bool,
}

impl Commit<'_> {
    /// Counts the commit that the connection has made to the state `base`: if it changed something the
    /// number of what it led to is the next one.
    ///
    /// If somebody else has committed meanwhile, that number is left out: nobody has seen the state.
    pub(super) fn made(mut self, pooled: &mut Pooled, base: Seen) {
        let mut count = self.versions.count();
        let Ok(seen) = count.look(self.database) else { return };
        // After the look of the observer, so that this tells whether it saw our commit and no other.
        let own = self.database.session(&pooled.connection).data_version();
        if !own.is_ok_and(|own| own == base.data_version) {
            return;
        }
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
        if !self.counted {
            count.number += 1;
            count.seen = None;
        }
        count.committing -= 1;
        drop(count);
        self.versions.counted.notify_all();
    }
}
