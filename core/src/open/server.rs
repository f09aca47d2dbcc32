//! Stores on servers.

use std::ffi::OsStr;

use permazen_kv::{
    Capabilities, Counters, KvDatabase, KvError, KvTransaction, Statistics, TxOptions, Warning,
};

use super::error::OpenError;
use super::kind::StoreKind;
use super::opening::Opening;

/// A store on servers, which may be open for reading only.
#[derive(Debug)]
pub(super) struct Server<S> {
    store: S,
    pub(super) name: String,
    pub(super) warnings: Vec<Warning>,
    read_only: bool,
}

impl<S> Server<S> {
    fn new(store: S, name: String, warnings: Vec<Warning>, opening: &Opening) -> Self {
        Server { store, name, warnings, read_only: !(opening.write || opening.create) }
    }
}

/// The URL as text.
fn text(url: &OsStr, kind: StoreKind) -> Result<&str, OpenError> {
    let form = kind.entry().form;
    url.to_str().ok_or(OpenError::Url { form, reason: "the URL is not Unicode" })
}

/// Opens the table that a URL names. A missing table is only created if `opening` says so.
#[cfg(feature = "postgres")]
pub(super) fn postgres(
    url: &OsStr,
    opening: &Opening,
) -> Result<Server<permazen_kv_postgres::PostgresStore>, OpenError> {
    let mut builder = permazen_kv_postgres::PostgresStore::builder().create(opening.create);
    if let Some(wait) = opening.wait {
        builder = builder.wait(wait);
    }
    for (name, value) in &opening.postgres {
        builder = builder.setting(name, value);
    }
    let store = builder.open(text(url, StoreKind::Postgres)?)?;
    let (name, warnings) = (store.name(), store.warnings().to_vec());
    Ok(Server::new(store, name, warnings, opening))
}

/// Opens the prefix of an etcd cluster that a URL names. A store is only begun if `opening` says
/// so.
#[cfg(feature = "etcd")]
pub(super) fn etcd(
    url: &OsStr,
    opening: &Opening,
) -> Result<Server<permazen_kv_etcd::EtcdStore>, OpenError> {
    let mut builder = permazen_kv_etcd::EtcdStore::builder().create(opening.create);
    if let Some(wait) = opening.wait {
        builder = builder.wait(wait);
    }
    let store = builder.open(text(url, StoreKind::Etcd)?)?;
    let name = store.name();
    Ok(Server::new(store, name, Vec::new(), opening))
}

impl<S: KvDatabase> KvDatabase for Server<S> {
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>, KvError> {
        if self.read_only && !options.read_only {
            let name = &self.name;
            return Err(KvError::IllegalState(format!(
                "{name}: open for reading only, so only read-only transactions can begin"
            )));
        }
        self.store.begin(options)
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    fn verify(&self) -> Result<Vec<String>, KvError> {
        self.store.verify()
    }

    fn statistics(&self) -> Result<Statistics, KvError> {
        self.store.statistics()
    }

    fn counters(&self) -> Counters {
        self.store.counters()
    }
}
