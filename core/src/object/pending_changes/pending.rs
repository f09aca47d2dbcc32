//! The changes of a transaction that is not committed yet.

use std::ops::Bound;

use permazen_kv::{KeySpan, Writes};

use super::walk::NetChanges;
use crate::layout::TABLES_SPAN;
use crate::object::{Result, Transaction};
use crate::schema::{SchemaBundle, SchemaTables};

/// Items for the project's own crates: they change without notice.
#[doc(hidden)]
impl Transaction {
    /// Shows the changes of this transaction so far to `body`; `None` if the store does not keep
    /// the written pairs apart from its content. It does in the transactions of the optimistic
    /// engine, and in read-only ones of LMDB and SQLite
    /// ([`KvTransaction::pending`](permazen_kv::KvTransaction::pending)).
    ///
    /// The reads are not tracked: changes that other transactions make to the shown data are no
    /// conflict. `body` cannot use the transaction. Cost: that of [`NetChanges`], as far as `body`
    /// asks for changes.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use permazen::kv::memory::MemoryStore;
    /// use permazen::kv::optimistic::OptimisticDatabase;
    /// use permazen::object::{Database, TransactionConfig};
    /// use permazen::__internal::object::NetChange;
    /// use permazen::schema::{ObjectType, SchemaModel};
    ///
    /// let db = Database::new(Arc::new(OptimisticDatabase::new(MemoryStore::new())));
    /// let model = SchemaModel::new().object_type(ObjectType::new("Person"));
    /// let config = TransactionConfig::new(model)?;
    /// db.begin(&config)?.commit()?;
    ///
    /// let tx = db.begin(&config)?;
    /// let ann = tx.create("Person")?;
    /// let first = tx.pending_changes(|mut changes| changes.next().transpose())?;
    /// let Some(Some(NetChange::Object(object))) = first else { panic!() };
    /// assert!(object.id == ann && object.is_created());
    /// # Ok::<(), permazen::object::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of `body`; [`Error::Ended`](crate::object::Error::Ended).
    pub fn pending_changes<R>(
        &self,
        body: impl FnOnce(NetChanges<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        self.check_open()?;
        // The store would answer with an error, but this promises `None`.
        if self.is_detached() {
            return Ok(None);
        }
        let schemas = self.bundle();
        // The writes are lent while the store waits, so `body` must not change the transaction.
        self.store.transaction("a detached transaction", |kv| {
            let Some(pending) = kv.pending() else { return Ok(None) };
            let (writes, before) = (pending.writes, &*pending.base);
            let changes = NetChanges::new(writes, before, &schemas);
            // The recorded schemas are as before, so they need not be read and decoded again.
            if !touches(writes, TABLES_SPAN) {
                return body(changes).map(Some);
            }
            let state = &self.shared.state;
            let (registry, unknown) = (state.registry(), state.answer_to_unknown());
            let former = SchemaBundle::decode(SchemaTables::read(before)?, registry, unknown)?;
            body(changes.with_former_schemas(&former)).map(Some)
        })
    }
}

fn touches(writes: &Writes, span: KeySpan<'_>) -> bool {
    let bounds = (Bound::Included(span.min), span.max.map_or(Bound::Unbounded, Bound::Excluded));
    // Schemas are put or removed, and never adjusted.
    writes.removes.intersects(span) || writes.puts.range::<[u8], _>(bounds).next().is_some()
}
