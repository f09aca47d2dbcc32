//! Transactions whose operations on the store are counted, for `explain run`.

use std::sync::Arc;

use permazen::__internal::schema::UsableSchemas;
use permazen::encoding::EncodingRegistry;
use permazen::kv::counting::{Counter, CountingStore};
use permazen::kv::{KvDatabase, TxOptions};
use permazen::object::{self, Database, Transaction, TransactionConfig};
use permazen::schema::UnknownEncodings;

/// A database that counts.
pub(crate) struct Counted {
    database: Database,
    counter: Arc<Counter>,
}

impl Counted {
    pub(super) fn over(
        store: impl KvDatabase + 'static,
        encodings: Arc<EncodingRegistry>,
    ) -> Counted {
        let store = CountingStore::new(store);
        let counter = Arc::new(store.counter());
        let database = Database::with_encodings(Arc::new(store), encodings)
            .unknown_encodings(UnknownEncodings::Carry);
        Counted { database, counter }
    }

    /// Begins a transaction, which knows its counter.
    pub(super) fn begin(&self, config: &TransactionConfig) -> object::Result<Transaction> {
        let transaction = self.database.begin(config)?;
        transaction.set_user_object(Some(self.counter.clone()));
        Ok(transaction)
    }

    /// Does the same on a database whose recorded schemas are damaged.
    pub(super) fn begin_on_damaged(
        &self,
        options: &TxOptions,
    ) -> object::Result<(Transaction, UsableSchemas)> {
        let (transaction, usable) = self.database.begin_on_damaged(options)?;
        transaction.set_user_object(Some(self.counter.clone()));
        Ok((transaction, usable))
    }
}

/// The counter of a transaction; `None` if its operations are not counted.
pub(crate) fn counter_of(transaction: &Transaction) -> Option<Arc<Counter>> {
    transaction.user_object()?.downcast().ok()
}
