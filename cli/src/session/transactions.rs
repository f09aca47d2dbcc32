//! Beginning and ending transactions. They record no schema and remove none.

use std::rc::Rc;
use std::time::{Duration, Instant};

use permazen::__internal::schema::UsableSchemas;
use permazen::kv::{KvDatabase, KvTransaction, TxOptions};
use permazen::object::{self, Transaction, TransactionConfig};
use permazen::open::OpenStore;
use permazen::schema::{SchemaError, SchemaRemoval};

use super::{Counted, Damage, Session, in_the_way};
use crate::failure::Failure;
use crate::output;

/// The message about an edit of a database whose recorded schemas are damaged.
const WHAT_WORKS: &str = "nothing can be changed until this is repaired; commands that only read, \
     `check`, `kv`, `copy` and `backup` work";

/// The message about a database whose recorded schemas are damaged.
const HOW_TO_REPAIR: &str = "objects of a damaged schema cannot be read, and nothing can be changed, \
     until this is repaired; `check`, `kv`, `copy` and `backup` work on all that is stored";

impl Session {
    /// Begins a transaction that sees one state and does not block other programs. Writes in it are
    /// lost. If recorded schemas are damaged, it sees the ones that are left, and the others are
    /// named.
    pub(crate) fn begin_reading(&self) -> Result<Transaction, Failure> {
        self.begin_with(&TxOptions::reading(), |config| match self.database.begin(config) {
            Err(error) if is_damage(&error) => {
                self.remaining(&error, self.database.begin_on_damaged(config.kv())?)
            }
            begun => self.without_damage(begun),
        })
    }

    /// Does the same as [`begin_reading`](Self::begin_reading). The operations on the store are
    /// counted.
    pub(crate) fn begin_counted(&self) -> Result<Transaction, Failure> {
        self.begin_with(&TxOptions::reading(), |config| match self.counted.begin(config) {
            Err(error) if is_damage(&error) => {
                self.remaining(&error, self.counted.begin_on_damaged(config.kv())?)
            }
            begun => self.without_damage(begun),
        })
    }

    /// Forgets damage that is repaired.
    fn without_damage<T>(&self, begun: object::Result<T>) -> object::Result<T> {
        if begun.is_ok() {
            self.damage.take();
        }
        begun
    }

    /// Says what is damaged, once as long as it stays the same.
    fn remaining(
        &self,
        error: &object::Error,
        (transaction, usable): (Transaction, UsableSchemas),
    ) -> object::Result<Transaction> {
        let mut problems: Vec<_> = usable.problems.iter().map(ToString::to_string).collect();
        // The missing parts may be known from elsewhere, so that all schemas can be used.
        if problems.is_empty() {
            problems.push(error.to_string());
        }
        let damage = Some(Rc::new(Damage { schemas: usable.unusable, problems }));
        let known = self.damage.replace(damage.clone());
        if known != damage
            && let Some(damage) = damage
        {
            damage.problems.iter().for_each(output::note);
            output::note(HOW_TO_REPAIR);
        }
        Ok(transaction)
    }

    /// Begins a transaction that writes; if changes are only tried, one whose changes are lost. Its
    /// operations on the store are counted.
    ///
    /// # Errors
    /// Also if changes are not allowed.
    pub(crate) fn begin(&self) -> Result<Transaction, Failure> {
        self.begin_with(&self.writing()?, |config| self.counted.begin(config))
    }

    /// The same database with optimistic transactions, for changes that wait for a person.
    pub(crate) fn optimistic(&self) -> Counted {
        let store = OpenStore::clone(&self.store).optimistic();
        Counted::over(store, self.database.encodings().clone())
    }

    /// Begins a transaction of [`optimistic`](Self::optimistic) that writes. That needs no
    /// `--write`: only its commit does.
    pub(crate) fn begin_optimistic(&self, database: &Counted) -> Result<Transaction, Failure> {
        let options = TxOptions::writing().with_wait(self.options.wait);
        Ok(database.begin(&config().kv_options(options))?)
    }

    fn begin_with(
        &self,
        options: &TxOptions,
        begin: impl Fn(&TransactionConfig) -> object::Result<Transaction>,
    ) -> Result<Transaction, Failure> {
        self.patiently(|slice| {
            let options = options.clone().with_wait(slice);
            match begin(&config().kv_options(options)) {
                Err(error) if is_damage(&error) => {
                    Err::<_, Failure>(Failure::from(error).but(WHAT_WORKS))
                }
                begun => Ok(begun?),
            }
        })
    }

    /// Begins a transaction of the key/value store, as [`begin_reading`](Self::begin_reading) does.
    pub(crate) fn begin_reading_pairs(&self) -> Result<Box<dyn KvTransaction + Send>, Failure> {
        self.begin_pairs_with(&TxOptions::reading())
    }

    /// The same for a copy: a server must not refuse at the end the values that were read. It waits
    /// for transactions that write there at that moment.
    pub(crate) fn begin_certain(&self) -> Result<Box<dyn KvTransaction + Send>, Failure> {
        self.begin_pairs_with(&TxOptions::reading().with_certainty())
    }

    /// Begins a transaction of the key/value store, as [`begin`](Self::begin) does.
    ///
    /// # Errors
    /// Also if changes are not allowed.
    pub(crate) fn begin_pairs(&self) -> Result<Box<dyn KvTransaction + Send>, Failure> {
        self.begin_pairs_with(&self.writing()?)
    }

    fn begin_pairs_with(
        &self,
        options: &TxOptions,
    ) -> Result<Box<dyn KvTransaction + Send>, Failure> {
        self.patiently(|slice| self.kv.begin(&options.clone().with_wait(slice)))
    }

    /// Runs `attempt` until no other program is in the way, the time to wait is over, or Ctrl-C
    /// comes. `attempt` gets the time for which it may wait itself.
    pub(crate) fn patiently<T, E: Into<Failure>>(
        &self,
        attempt: impl FnMut(Duration) -> Result<T, E>,
    ) -> Result<T, Failure> {
        self.patiently_with(&self.kv, attempt)
    }

    /// The same for attempts on another store.
    pub(crate) fn patiently_with<T, E: Into<Failure>>(
        &self,
        store: &dyn KvDatabase,
        attempt: impl FnMut(Duration) -> Result<T, E>,
    ) -> Result<T, Failure> {
        let wait = self.options.wait;
        // A store on a server does not wait when a transaction begins, but may have to ask later
        // how a commit ended.
        let slice = if store.capabilities().lazy_begin { wait } else { in_the_way::SLICE };
        in_the_way::patiently(&self.interrupt, wait, slice, attempt)
    }

    /// Waits until no other program writes. A commit after that need not wait, unless another
    /// program is very quick; while it waits, Ctrl-C could not stop it.
    pub(crate) fn wait_for_others(&self) -> Result<(), Failure> {
        self.interrupt.check()?;
        if self.options.dry_run {
            return Ok(());
        }
        self.patiently(|slice| {
            let transaction = self.kv.begin(&TxOptions::writing().with_wait(slice))?;
            transaction.rollback();
            Ok::<_, permazen::kv::KvError>(())
        })
    }

    fn writing(&self) -> Result<TxOptions, Failure> {
        match (self.options.dry_run, self.options.write) {
            (true, _) => Ok(TxOptions::reading()),
            (false, true) => Ok(TxOptions::writing()),
            (false, false) => Err(Failure::new("this changes the database, which needs --write")),
        }
    }

    /// Commits, unless Ctrl-C has come or changes are only tried.
    pub(crate) fn commit(&self, transaction: Transaction) -> Result<(), Failure> {
        if self.options.dry_run {
            return Ok(());
        }
        self.interrupt.commit(|| Ok(transaction.commit()?))
    }

    /// Commits a transaction of the key/value store, unless Ctrl-C has come or changes are only
    /// tried.
    pub(crate) fn commit_pairs(
        &self,
        transaction: Box<dyn KvTransaction + Send>,
    ) -> Result<(), Failure> {
        if self.options.dry_run {
            return Ok(());
        }
        self.interrupt.commit(|| Ok(transaction.commit()?))
    }

    /// Runs `action` in a transaction of its own, which is committed. In a conflict, it is run
    /// again until the time to wait is over. `action` must print nothing.
    pub(crate) fn write<T>(
        &self,
        mut action: impl FnMut(&Transaction) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let begun = Instant::now();
        loop {
            let transaction = self.begin()?;
            let done = action(&transaction);
            let done = done.and_then(|done| self.commit(transaction).map(|()| done));
            match done {
                Err(failure) if self.is_run_again(&failure, begun) => {}
                done => return done,
            }
        }
    }

    /// The same with a transaction of the key/value store.
    pub(crate) fn write_pairs<T>(
        &self,
        mut action: impl FnMut(&mut dyn KvTransaction) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let begun = Instant::now();
        loop {
            let mut transaction = self.begin_pairs()?;
            let done = action(&mut *transaction);
            let done = done.and_then(|done| self.commit_pairs(transaction).map(|()| done));
            match done {
                Err(failure) if self.is_run_again(&failure, begun) => {}
                done => return done,
            }
        }
    }
}

/// Whether recorded schemas are damaged.
fn is_damage(error: &object::Error) -> bool {
    use SchemaError::{Inconsistent, Invalid};
    matches!(error, object::Error::Schema(Inconsistent { .. } | Invalid(_)))
}

/// Transactions over all objects, each in its own schema.
fn config() -> TransactionConfig {
    TransactionConfig::without_schema().schema_removal(SchemaRemoval::Never)
}
