//! The options with which a store is opened.

use std::time::Duration;

use super::kind::StoreKind;

/// How to open a store.
///
/// ```
/// use std::time::Duration;
///
/// use permazen::open::Opening;
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("db");
/// # let url = format!("lmdb:{}", path.display());
/// # if cfg!(feature = "lmdb") {
/// let opening = Opening::new().create(true).wait(Duration::from_secs(5));
/// let store = opening.open(&url)?;
/// assert_eq!(store.path(), Some(&*path));
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Opening {
    pub(super) write: bool,
    pub(super) create: bool,
    pub(super) kind: Option<StoreKind>,
    pub(super) wait: Option<Duration>,
    pub(super) checks: bool,
    pub(super) postgres: Vec<(String, String)>,
}

impl Opening {
    /// Opens for reading, and waits as long as each kind of store does by itself.
    pub fn new() -> Self {
        Opening::default()
    }

    /// Whether to open for writing too; off unless set. A store in memory can always be written.
    #[must_use]
    pub fn write(mut self, write: bool) -> Self {
        self.write = write;
        self
    }

    /// Whether to create a missing store, and open for writing; off unless set. A store that is
    /// created must have a kind: by its URL, or by [`kind`](Self::kind).
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Takes every name to be the path of a store of this kind, also one that looks like a URL.
    #[must_use]
    pub fn kind(mut self, kind: StoreKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// How long to wait for others: when opening, and in each transaction whose
    /// [`TxOptions::wait`](permazen_kv::TxOptions::wait) is not set.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }

    /// Whether the file of an LMDB environment may be damaged, as tools must expect; off unless
    /// set. A damaged file then never ends the process. See `LmdbBuilder::checks` of
    /// [`permazen_kv`](crate::kv) for what that costs. Other stores do without.
    #[must_use]
    pub fn checks(mut self, checks: bool) -> Self {
        self.checks = checks;
        self
    }

    /// A parameter for stores on PostgreSQL, as in their URLs: how many connections there are
    /// (`connections`), what the server calls this program (`application_name`), files with
    /// certificates, and all others of the guide's page about servers. A parameter in the URL
    /// itself takes precedence over this, and this takes precedence over the environment. Other
    /// stores do without.
    ///
    /// ```
    /// use permazen::open::Opening;
    ///
    /// let opening = Opening::new().write(true);
    /// let opening = opening.postgres_setting("connections", "4").postgres_setting("schema", "music");
    /// opening.open("memory:")?;
    /// # Ok::<(), permazen::open::OpenError>(())
    /// ```
    #[must_use]
    pub fn postgres_setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.postgres.push((name.into(), value.into()));
        self
    }
}
