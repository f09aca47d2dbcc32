//! Stores on servers.

use std::ffi::OsStr;

use permazen_kv::{Capabilities, KvDatabase, KvError, KvTransaction, Statistics, TxOptions};
use permazen_kv_postgres::PostgresStore;

use super::kind::StoreKind;
use super::{OpenError, Opening};

/// A table of a server.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) store: PostgresStore,
    pub(super) read_only: bool,
}

impl Server {
    /// Opens the table that a URL names. What is missing is only created if `opening` says so.
    pub(super) fn open(url: &OsStr, opening: &Opening) -> Result<Server, OpenError> {
        let form = StoreKind::Postgres.entry().form;
        let url = url.to_str().ok_or(OpenError::Url { form, reason: "the URL is not Unicode" })?;
        let mut builder = PostgresStore::builder().create(opening.create);
        if let Some(wait) = opening.wait {
            builder = builder.wait(wait);
        }
        let store = builder.open(url)?;
        Ok(Server { store, read_only: !(opening.write || opening.create) })
    }
}

impl KvDatabase for Server {
    fn begin<'db>(
        &'db self,
        options: &TxOptions,
    ) -> Result<Box<dyn KvTransaction + Send + 'db>, KvError> {
        if self.read_only && !options.read_only {
            let name = self.store.name();
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
}
