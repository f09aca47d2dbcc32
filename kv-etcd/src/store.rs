//! The store and how it is opened.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use permazen_kv::remote::{
    DEFAULT_WAIT, Engine, LONGEST_WAIT, RemoteDatabase, Session, WatchListener,
};
use permazen_kv::{
    Capabilities, Counters, KeyWatch, KvDatabase, KvError, KvTransaction, Result, Statistics,
    TxOptions,
};

use crate::address::Address;
use crate::client::Client;
use crate::error::Failure;
use crate::layout::{Horizon, Layout};
use crate::session::EtcdSession;
use crate::shared::Shared;
use crate::sweep;
use crate::watches::Puts;
use crate::wire::{Compare, Op, Status, Txn};

/// The longest key.
const MAX_KEY: usize = 1 << 16;

/// How many pairs a commit may compare.
const MOST_CHECKED: usize = 100_000;

/// How many revisions lie between two horizons.
const DISTANCE: i64 = 20_000;

/// The keys under a prefix in an etcd cluster. Clones share the connections.
#[derive(Clone)]
pub struct EtcdStore {
    db: RemoteDatabase<Etcd>,
}

/// How to open an [`EtcdStore`].
#[derive(Debug, Clone)]
pub struct EtcdBuilder {
    wait: Duration,
    create: bool,
    most_checked: usize,
    distance: i64,
}

impl Default for EtcdBuilder {
    fn default() -> Self {
        EtcdBuilder {
            wait: DEFAULT_WAIT,
            create: true,
            most_checked: MOST_CHECKED,
            distance: DISTANCE,
        }
    }
}

impl EtcdBuilder {
    /// How long to wait for a member that answers, if the options of a transaction do not say; 30
    /// seconds unless set, which is longer than an election of a leader takes.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait.min(LONGEST_WAIT);
        self
    }

    /// Whether to begin a store if there is no store under the prefix; on unless set.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// How many pairs a transaction that writes may have read; 100,000 unless set. Removed pairs
    /// count until they are [swept](EtcdStore::sweep). When it commits, etcd compares each of them,
    /// and no member does anything else meanwhile. A transaction with more gets an error
    /// ([`TooLarge`](crate::TooLarge)).
    ///
    /// ```no_run
    /// use permazen_kv_etcd::EtcdStore;
    ///
    /// let store = EtcdStore::builder().most_checked(500_000).open("etcd://localhost/music")?;
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    #[must_use]
    pub fn most_checked(mut self, pairs: usize) -> Self {
        self.most_checked = pairs;
        self
    }

    /// How many revisions of the cluster lie at least between two horizons; 20,000 unless set. The
    /// horizon does not keep a transaction that writes from its commit if others commit less often
    /// than this while it is open. In return, that many tokens and tombstones are kept.
    ///
    /// ```no_run
    /// use permazen_kv_etcd::EtcdStore;
    ///
    /// let store = EtcdStore::builder().horizon_distance(100_000).open("etcd://localhost/music")?;
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    #[must_use]
    pub fn horizon_distance(mut self, revisions: u32) -> Self {
        self.distance = i64::from(revisions.max(1));
        self
    }

    /// Opens the store that a URL names.
    ///
    /// # Errors
    /// [`KvError::InvalidArgument`] if the URL is wrong; [`KvError::Open`] if the cluster refuses
    /// the user, or if there is no host of any name in the URL; [`KvError::NoStore`] if there is no
    /// store and none may be begun; retryable if no member answers in time.
    pub fn open(self, url: &str) -> Result<EtcdStore> {
        let client = Client::new(Address::parse(url)?, self.wait)?;
        let layout = Layout::new(&client.address.prefix);
        let (most_checked, distance) = (self.most_checked, self.distance);
        let shared = Arc::new(Shared { client, layout, most_checked, distance });
        let is_there = find_horizon(&shared, self.create, Instant::now() + self.wait);
        if !is_there.map_err(|failure| shared.error("cannot open the store", &failure))? {
            let reason = "there is no store under this prefix";
            return Err(KvError::NoStore {
                path: shared.client.path().into(),
                reason: reason.into(),
            });
        }
        let watching = Arc::new(WatchListener::new(Puts(Arc::clone(&shared)), self.wait));
        let db = RemoteDatabase::new(Etcd { shared, wait: self.wait, watching });
        Ok(EtcdStore { db })
    }
}

/// Whether the store has a horizon, which it has from its beginning on.
fn find_horizon(
    shared: &Shared,
    create: bool,
    until: Instant,
) -> std::result::Result<bool, Failure> {
    let get = || vec![shared.horizon()];
    let txn = Txn { success: get(), ..Txn::default() };
    let (_, done) = shared.client.txn(&txn, until)?;
    let revision = done.header.revision;
    let is_there = done.found().next().is_some_and(|found| !found.kvs.is_empty());
    if is_there || !create {
        return Ok(is_there);
    }
    let key = shared.layout.horizon();
    // A store that was here may have been removed, which transactions under way would not notice.
    let first = Horizon { revision, next: revision };
    let txn = Txn {
        compare: vec![Compare::absent(key.clone())],
        success: vec![Op::put(key, first.to_bytes())],
        failure: get(),
    };
    shared.client.txn(&txn, until)?;
    Ok(true)
}

impl EtcdStore {
    /// Opens the store that a URL names, and begins it if it is not there.
    ///
    /// # Errors
    /// See [`EtcdBuilder::open`].
    pub fn open(url: &str) -> Result<Self> {
        EtcdBuilder::default().open(url)
    }

    /// How to open a store.
    pub fn builder() -> EtcdBuilder {
        EtcdBuilder::default()
    }

    /// Its name in messages: its URL without the password and the parameters.
    pub fn name(&self) -> String {
        self.db.engine().shared.client.address.to_string()
    }

    /// Removes the records of commits that no transaction needs any more: tombstones of removed
    /// keys, and tokens. Returns how many records it has removed.
    ///
    /// Moves the horizon to the revision of the call before this one, and removes older records. A
    /// transaction that has begun before the horizon and writes is retried when it commits. Commits
    /// do the same now and then by themselves, if more was committed since than
    /// [`EtcdBuilder::horizon_distance`] says. Call it twice where much was removed and little will
    /// be committed.
    ///
    /// Costs a request for each 100 records.
    ///
    /// ```no_run
    /// use permazen_kv_etcd::EtcdStore;
    ///
    /// let store = EtcdStore::open("etcd://localhost/music")?;
    /// store.sweep()?;
    /// # Ok::<(), permazen_kv::KvError>(())
    /// ```
    ///
    /// # Errors
    /// Retryable if no member answers in time.
    pub fn sweep(&self) -> Result<u64> {
        let engine = self.db.engine();
        sweep::sweep(&engine.shared, engine.wait)
    }
}

impl fmt::Debug for EtcdStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EtcdStore").field(&self.db.engine().shared.client.address).finish()
    }
}

impl KvDatabase for EtcdStore {
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
struct Etcd {
    shared: Arc<Shared>,
    wait: Duration,
    watching: Arc<WatchListener<Puts>>,
}

impl Engine for Etcd {
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn Session>> {
        let wait = options.wait.unwrap_or(self.wait).min(LONGEST_WAIT);
        Ok(Box::new(EtcdSession::new(Arc::clone(&self.shared), options.read_only, wait)))
    }

    fn capabilities(&self) -> Capabilities {
        let mut offered = Capabilities::none();
        (offered.serializable, offered.concurrent_writers) = (true, true);
        // If more ranges were read than etcd can compare one by one, it compares fewer, larger
        // ones.
        offered.coarse_conflicts = true;
        offered.small_transactions = true;
        (offered.persistent, offered.watches) = (true, true);
        offered
    }

    fn name(&self) -> String {
        self.shared.client.address.to_string()
    }

    fn counters(&self) -> Counters {
        self.shared.client.counters()
    }

    fn max_key_len(&self) -> usize {
        MAX_KEY
    }

    fn checks_reads(&self) -> bool {
        true
    }

    fn watch(&self, key: &[u8]) -> Result<KeyWatch> {
        self.watching.watch(key)
    }

    /// Figures of the whole cluster, as one of its members has them.
    fn statistics(&self) -> Result<Statistics> {
        let status = self.shared.client.status::<Status>(Instant::now() + self.wait);
        let status =
            status.map_err(|failure| self.shared.error("cannot ask for figures", &failure))?;
        let bytes = |bytes: i64| u64::try_from(bytes).ok();
        let mut figures = Statistics::default();
        figures.file_bytes = bytes(status.db_size);
        figures.used_bytes = bytes(status.db_size_in_use);
        figures.free_bytes = bytes(status.db_size.saturating_sub(status.db_size_in_use));
        Ok(figures)
    }
}
