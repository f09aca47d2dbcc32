//! The store and how it is opened.

use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use permazen_kv::remote::{
    DEFAULT_WAIT, Engine, LONGEST_WAIT, RemoteDatabase, Session, WatchListener,
};
use permazen_kv::{
    Capabilities, Counters, KeyWatch, KvDatabase, KvError, KvTransaction, Result, Statistics,
    TxOptions, Warning,
};

use crate::address::Address;
use crate::dialect::{Dialect, Server};
use crate::pool::{ATTEMPT, Pool};
use crate::session::PostgresSession;
use crate::watches::Notifications;
use crate::{settings, tables};

/// The longest key. A longer one does not fit into a page of the index, unless it can be
/// compressed.
const MAX_KEY: usize = 2_692;

/// The longest value. A column, a parameter and a message each have less than 1 GiB, and a
/// parameter has the values of several pairs.
const MAX_VALUE: usize = 1_000 << 20;

/// How many connections a store has.
const CONNECTIONS: usize = 16;

/// A table on a PostgreSQL server. Clones share the connections.
#[derive(Clone)]
pub struct PostgresStore {
    db: RemoteDatabase<Postgres>,
    warnings: Arc<[Warning]>,
}

/// How to open a [`PostgresStore`].
#[derive(Debug, Clone)]
pub struct PostgresBuilder {
    settings: Vec<(String, String)>,
    wait: Duration,
    create: bool,
}

impl Default for PostgresBuilder {
    fn default() -> Self {
        PostgresBuilder { settings: Vec::new(), wait: DEFAULT_WAIT, create: true }
    }
}

impl PostgresBuilder {
    /// How many connections the store has at most; 16 unless set. At least 1. The same as
    /// `connections=N` in the URL, which counts more.
    #[must_use]
    pub fn connections(self, connections: usize) -> Self {
        self.setting("connections", connections.max(1).to_string())
    }

    /// A parameter as in the URL: `setting("sslcert", "ann.crt")` is the same as `sslcert=ann.crt`
    /// there, without the escapes of a URL. A parameter in the URL itself counts more, and the
    /// environment counts less.
    ///
    /// ```no_run
    /// use permazen_kv_postgres::PostgresStore;
    ///
    /// let builder = PostgresStore::builder()
    ///     .setting("application_name", "music: import")
    ///     .setting("schema", "music")
    ///     .setting("connect_timeout", "5");
    /// let store = builder.open("postgres://ann@localhost/shop")?;
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// After this time, a connection is replaced by another one when no transaction uses it; zero,
    /// unless set, is never. So programs come to servers that were added, and memory of the server
    /// is freed. The same as `connection_life=SECONDS` in the URL; parts of a second count as a
    /// whole one. Opening fails if it is more than 4,294,967,295 seconds.
    #[must_use]
    pub fn connection_life(self, life: Duration) -> Self {
        // The longest one is refused with or without its parts of a second.
        let seconds = life.as_secs().saturating_add((life.subsec_nanos() > 0).into());
        self.setting("connection_life", seconds.to_string())
    }

    /// How long to wait for a server that does not answer, and for a free connection, if the
    /// options of a transaction do not say; 30 seconds unless set. When the store is opened, the
    /// answers about its tables may each take three seconds, even if this is shorter.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait.min(LONGEST_WAIT);
        self
    }

    /// Whether to create the tables if they are not there; on unless set.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Whether each read-only transaction is [certain](TxOptions::certain), also if its options do
    /// not ask for it; off unless set. The same as `deferrable=on` in the URL, which counts more.
    ///
    /// ```no_run
    /// use permazen_kv_postgres::PostgresStore;
    ///
    /// let store = PostgresStore::builder().deferrable(true).open("postgres://ann@localhost/music")?;
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    #[must_use]
    pub fn deferrable(self, deferrable: bool) -> Self {
        self.setting("deferrable", if deferrable { "on" } else { "off" })
    }

    /// Whether keys can be watched; off unless set. The same as `watches=on` in the URL, which
    /// counts more.
    ///
    /// Each commit then notifies its changes, which makes the commits of the whole server take
    /// turns. All programs that write to the table must have it on: a commit of a program without
    /// it ends no watch. With the first watch, the store takes one more connection, which listens.
    /// If that is lost, all watches end as if their keys had been written. So they do after a
    /// commit whose keys do not fit into a notification of 8,000 bytes.
    ///
    /// ```no_run
    /// use permazen_kv::{KvDatabase, TxOptions};
    /// use permazen_kv_postgres::PostgresStore;
    ///
    /// let store = PostgresStore::builder().watches(true).open("postgres://ann@localhost/music")?;
    /// let watch = store.begin(&TxOptions::reading())?.watch(b"key")?;
    /// watch.wait()?;
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    #[must_use]
    pub fn watches(self, watches: bool) -> Self {
        self.setting("watches", if watches { "on" } else { "off" })
    }

    /// Whether to send the server only statements that similar servers understand too: no watches,
    /// no certain transactions, no snapshots, and no settings of the planner. Off unless set, but
    /// CockroachDB and YugabyteDB are recognized by the names that they announce. The same as
    /// `dialect=portable` in the URL; `dialect=postgres` there forbids it.
    ///
    /// ```no_run
    /// use permazen_kv_postgres::PostgresStore;
    ///
    /// let store = PostgresStore::builder().portable(true).open("postgres://ann@localhost/music")?;
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    #[must_use]
    pub fn portable(mut self, portable: bool) -> Self {
        match portable {
            true => self.setting("dialect", "portable"),
            // The dialect is that of the server again, or another one that was named.
            false => {
                let is_portable = ("dialect", "portable");
                self.settings.retain(|(name, value)| (&name[..], &value[..]) != is_portable);
                self
            }
        }
    }

    /// Whether a pooler stands before the server that gives each transaction any connection, such
    /// as PgBouncer with `pool_mode = transaction`. Off unless set. The same as
    /// `pooling=transaction` in the URL, which counts more.
    ///
    /// Statements then have no names, so the server plans each of them anew, and each transaction
    /// makes the settings that a connection would keep. Watches are refused. Without this,
    /// statements fail at such a pooler, with an error that names it; nothing is read from or
    /// written to another table.
    ///
    /// ```no_run
    /// use permazen_kv_postgres::PostgresStore;
    ///
    /// let builder = PostgresStore::builder().transaction_pooling(true);
    /// let store = builder.open("postgres://ann@localhost:6432/music")?;
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    #[must_use]
    pub fn transaction_pooling(self, pooled: bool) -> Self {
        self.setting("pooling", if pooled { "transaction" } else { "session" })
    }

    /// The address that is opened with a URL in an environment.
    pub(crate) fn address(
        &self,
        url: &str,
        environment: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Address> {
        Address::read(url, &self.settings, environment)
    }

    /// Opens the table that a URL names.
    ///
    /// # Errors
    /// [`KvError::InvalidArgument`](permazen_kv::KvError::InvalidArgument) if the URL is wrong;
    /// [`KvError::Open`](permazen_kv::KvError::Open) if the server refuses the user, or if there is
    /// no host of any name in the URL; [`KvError::NoStore`] if there are no tables and none may be
    /// created; retryable if no server answers in time.
    pub fn open(self, url: &str) -> Result<PostgresStore> {
        let address = self.address(url, |name| std::env::var_os(name))?;
        let connections = address.connections.unwrap_or(CONNECTIONS);
        let (pool, mut checked) = Pool::new(address, connections, self.wait)?;
        let (pool, connection) = (Arc::new(pool), &mut checked.connection);
        check_options(&pool)?;
        // A server that answers as usual is not given up, even if transactions wait only shortly.
        connection.set_limit(self.wait.max(ATTEMPT));
        let opened = tables::open(connection, &pool, self.create);
        let warnings = opened.and_then(|()| {
            let warnings = match pool.dialect {
                Dialect::Postgres if pool.address.warnings => settings::warnings(connection),
                Dialect::Postgres | Dialect::Portable => Ok(Vec::new()),
            };
            warnings.map_err(|error| error.to_kv("cannot look at the settings", &pool.path()))
        });
        pool.give_back(checked);
        let warnings = warnings?;
        for warning in &warnings {
            tracing::warn!(server = %pool.address, kind = warning.kind().name(), "{warning}");
        }
        let watching = WatchListener::new(Notifications(Arc::clone(&pool)), self.wait);
        let watching = pool.address.watches.then(|| Arc::new(watching));
        let db = RemoteDatabase::new(Postgres { pool, wait: self.wait, watching });
        Ok(PostgresStore { db, warnings: warnings.into() })
    }
}

/// Refuses options that the server does not support.
fn check_options(pool: &Pool) -> Result<()> {
    let address = &pool.address;
    let refused = [(address.watches, "watches=on"), (address.deferrable, "deferrable=on")];
    if address.watches && address.pooled {
        return Err(KvError::Open {
            path: pool.path().into(),
            reason: "watches=on is not possible with pooling=transaction, because listening needs a connection of its own: \
                     leave one of them out, or connect to the server itself"
                .into(),
        });
    }
    match refused.into_iter().find(|(is_on, _)| *is_on) {
        Some((_, option)) if pool.dialect == Dialect::Portable => Err(KvError::Open {
            path: pool.path().into(),
            reason: format!(
                "{option} is not possible in the portable dialect of SQL: leave it out"
            )
            .into(),
        }),
        _ => Ok(()),
    }
}

impl PostgresStore {
    /// Opens the table that a URL names, and creates it if it is not there.
    ///
    /// # Errors
    /// See [`PostgresBuilder::open`].
    pub fn open(url: &str) -> Result<Self> {
        PostgresBuilder::default().open(url)
    }

    /// Which settings of the server should be changed, with what may happen otherwise and the
    /// values that are recommended; empty if all is well. They were checked when the store was
    /// opened, which also logged them as warnings of `tracing`. Free. With `warnings=off` in the
    /// URL, nothing is checked: for servers whose storage is safe all the same, such as servers
    /// that do not keep their pages in files.
    ///
    /// ```no_run
    /// use permazen_kv::WarningKind;
    /// use permazen_kv_postgres::PostgresStore;
    ///
    /// let store = PostgresStore::open("postgres://ann@localhost/music")?;
    /// store.warnings().iter().for_each(|warning| eprintln!("{warning}"));
    /// let loses = |warning: &permazen_kv::Warning| warning.kind() == WarningKind::Data;
    /// assert!(!store.warnings().iter().any(loses), "commits can be lost");
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Its name in messages: its URL without the password, and of the parameters only `table` and
    /// `schema`, if it has them.
    pub fn name(&self) -> String {
        self.db.engine().pool.address.to_string()
    }

    /// How to open a store.
    pub fn builder() -> PostgresBuilder {
        PostgresBuilder::default()
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PostgresStore").field(&self.db.engine().pool.address).finish()
    }
}

impl KvDatabase for PostgresStore {
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>> {
        self.db.begin(options)
    }

    fn capabilities(&self) -> Capabilities {
        self.db.capabilities()
    }

    fn statistics(&self) -> Result<Statistics> {
        self.db.statistics()
    }

    fn counters(&self) -> Counters {
        self.db.counters()
    }
}

/// The engine below the store.
#[derive(Debug, Clone)]
struct Postgres {
    pool: Arc<Pool>,
    wait: Duration,
    /// If keys can be watched.
    watching: Option<Arc<WatchListener<Notifications>>>,
}

impl Engine for Postgres {
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn Session>> {
        let wait = options.wait.unwrap_or(self.wait).min(LONGEST_WAIT);
        let is_certain = options.certain || self.pool.address.deferrable;
        let pool = Arc::clone(&self.pool);
        Ok(Box::new(PostgresSession::new(pool, options.read_only, is_certain, wait)))
    }

    fn capabilities(&self) -> Capabilities {
        let mut offered = Capabilities::none();
        // CockroachDB is serializable, but not strictly. YugabyteDB was not measured.
        offered.serializable = self.pool.server == Server::Postgres;
        offered.concurrent_writers = true;
        (offered.coarse_conflicts, offered.reorders_commits) = (true, true);
        (offered.persistent, offered.watches) = (true, self.watching.is_some());
        offered
    }

    fn name(&self) -> String {
        self.pool.address.to_string()
    }

    fn counters(&self) -> Counters {
        self.pool.counters()
    }

    fn max_key_len(&self) -> usize {
        MAX_KEY
    }

    fn max_value_len(&self) -> usize {
        MAX_VALUE
    }

    fn watch(&self, key: &[u8]) -> Result<KeyWatch> {
        match &self.watching {
            Some(watching) => watching.watch(key),
            None => Err(KvError::Unsupported("watching a key without watches=on in the URL")),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_life_of_a_connection_that_is_too_long_is_refused() {
        let too_long = [Duration::MAX, Duration::from_secs(u64::from(u32::MAX) + 1)];
        for life in too_long.into_iter().chain([Duration::new(u32::MAX.into(), 1)]) {
            let opened = PostgresStore::builder()
                .connection_life(life)
                .open("postgres://ann@localhost/shop");
            let error = opened.unwrap_err().to_string();
            assert!(error.contains("connection_life is a number of seconds, at most"), "{error}");
        }
    }
}
