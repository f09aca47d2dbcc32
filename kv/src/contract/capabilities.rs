//! The abilities of a store, and how much it holds.

/// The operations that a store offers. If a program calls a method that the store does not offer,
/// the method returns an error, or `None` if its documentation says so. Seven fields only describe
/// how the store behaves: `serializable`, `concurrent_writers`, `coarse_conflicts`,
/// `reorders_commits`, `conflict_free_counters`, `lazy_begin` and `small_transactions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Transactions are strictly serializable: no dirty reads, no repeated read with another
    /// result, no phantoms, no lost updates, no write skew.
    pub serializable: bool,
    /// Several transactions can write at the same time. Without this they take turns.
    pub concurrent_writers: bool,
    /// [`KvTransaction::snapshot`](crate::KvTransaction::snapshot) also works on transactions that
    /// write. Without this, read-only transactions may still have snapshots, as on LMDB and SQLite.
    pub snapshots: bool,
    /// Keys can be watched for changes.
    pub watches: bool,
    /// [`KvTransaction::set_timeout`](crate::KvTransaction::set_timeout) works.
    pub timeouts: bool,
    /// Conflicts are also found between transactions that have nothing in common, for example
    /// because their keys lie in one page of an index. Such a transaction succeeds when it is run
    /// again.
    pub coarse_conflicts: bool,
    /// Transactions that are open at the same time may take place in another order than that of
    /// their commits. A key that one of them removes without reading it can be there afterwards,
    /// because the other one, which takes place later, has put it.
    pub reorders_commits: bool,
    /// Two transactions that only adjust the same counter do not conflict.
    pub conflict_free_counters: bool,
    /// [`KvTransaction::set_read_only`](crate::KvTransaction::set_read_only) works after the first
    /// access.
    pub read_only_switch: bool,
    /// Reads can be exempt from the detection of conflicts; see
    /// [`KvTransaction::untracked`](crate::KvTransaction::untracked).
    pub untracked_reads: bool,
    /// Transactions that write show their writes so far; see
    /// [`KvTransaction::pending`](crate::KvTransaction::pending). Without this, read-only
    /// transactions may still show them, as on LMDB and SQLite.
    pub pending_writes: bool,
    /// The first read of a transaction fixes the state that it sees, not its beginning: it sees
    /// commits of others before that.
    pub lazy_begin: bool,
    /// A transaction can write only some hundred keys unless the server is started with higher
    /// limits. Many changes must be committed in many transactions.
    pub small_transactions: bool,
    /// Committed data survives the process.
    pub persistent: bool,
}

impl Capabilities {
    /// A store that offers none of these.
    pub const fn none() -> Self {
        Capabilities {
            serializable: false,
            concurrent_writers: false,
            snapshots: false,
            watches: false,
            timeouts: false,
            coarse_conflicts: false,
            reorders_commits: false,
            conflict_free_counters: false,
            read_only_switch: false,
            untracked_reads: false,
            pending_writes: false,
            lazy_begin: false,
            small_transactions: false,
            persistent: false,
        }
    }
}

/// Figures about a store. A figure that the store does not know is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Number of pairs.
    pub entries: Option<u64>,
    /// Bytes in use for pairs and the structure that holds them.
    pub used_bytes: Option<u64>,
    /// Bytes inside the file that the newest state does not use. Old readers may still need a part
    /// of them; that part cannot be used again before those readers end.
    pub free_bytes: Option<u64>,
    /// Size of the file.
    pub file_bytes: Option<u64>,
    /// The size the file can grow to.
    pub limit_bytes: Option<u64>,
    /// Size of a page of the file.
    pub page_bytes: Option<u64>,
    /// The largest number of slots for readers (read-only transactions and snapshots) that have
    /// been in use, in all processes. It does not become smaller when readers end.
    pub readers: Option<u64>,
    /// How many slots for readers there are.
    pub max_readers: Option<u64>,
    /// How many commits were made since the oldest open reader of this process began. Space that
    /// was freed since then cannot be used again before that reader ends, so the file grows. A
    /// reader in another process has the same effect, but does not count here.
    pub oldest_reader_lag: Option<u64>,
}
