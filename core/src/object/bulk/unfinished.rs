//! The store while it is loaded: how it is marked, and how a load is taken back.

use std::cell::Cell;
use std::io;
use std::sync::Arc;

use permazen_kv::{KeySpan, KvDatabase, KvRead, KvTransaction, KvWrite, Retry, TxOptions};
use rand::TryRng;
use rand::rngs::SysRng;

use crate::encoding::uint;
use crate::layout::{
    self, FORMAT_VERSION, FORMAT_VERSION_KEY, LOADING, META_DATA_SPAN, OBJECT_SCHEMA_INDEX_SPAN,
};
use crate::object::store::Undo;
use crate::object::{Error, Result, Transaction};
use crate::schema::Schema;

/// A load that writes to a store. Unless it [ends](UnfinishedLoad::ended), the pairs that it has
/// written are removed when this is dropped, because a function of the caller may have panicked.
pub(crate) struct UnfinishedLoad {
    kv: Arc<dyn KvDatabase>,
    options: TxOptions,
    retry: Retry,
    /// The value that the store has in place of the format version. No other load has the same, so
    /// that one which was begun after the store was emptied is not taken for this one.
    mark: Vec<u8>,
    /// Whether the store may have pairs of this load.
    has_pairs: Cell<bool>,
    is_over: bool,
}

impl UnfinishedLoad {
    /// Writes nothing.
    pub(crate) fn new(kv: &Arc<dyn KvDatabase>, options: &TxOptions, retry: Retry) -> Result<Self> {
        // A random mark cannot be guessed or met by chance.
        let mut identity = [0; 16];
        let drawn = SysRng.try_fill_bytes(&mut identity).map_err(io::Error::other);
        drawn.map_err(Error::Random)?;
        Ok(UnfinishedLoad {
            kv: Arc::clone(kv),
            options: options.clone(),
            retry,
            mark: [LOADING, &identity].concat(),
            has_pairs: Cell::new(false),
            is_over: false,
        })
    }

    /// Begins a transaction after `failed` failures and runs `attempt` in it, which commits it.
    /// After a failure that may pass, this happens again.
    pub(super) fn retrying(
        &self,
        mut attempt: impl FnMut(Box<dyn KvTransaction + Send>) -> Result<()>,
    ) -> Result<()> {
        self.retry.run(
            Ok,
            // The store is told how often it failed, so that it can wait or lock.
            |failed| attempt(self.kv.begin(&self.options.after_failures(failed))?),
            Error::is_retryable,
        )
    }

    /// To be called in each transaction that writes pairs. Refuses a store that is not marked as
    /// this load has marked it, and the first time one that has objects.
    pub(super) fn check(&self, kv: &dyn KvRead) -> Result<()> {
        // Only the first transaction looks for objects: later ones find those of this load.
        if !self.is_marked(kv)? || !self.has_pairs.get() && !is_empty(kv)? {
            return Err(changed());
        }
        Ok(())
    }

    /// To be called before pairs are committed.
    pub(super) fn will_have_pairs(&self) {
        self.has_pairs.set(true);
    }

    fn is_marked(&self, kv: &dyn KvRead) -> permazen_kv::Result<bool> {
        Ok(kv.get(FORMAT_VERSION_KEY)?.as_deref() == Some(&*self.mark))
    }

    /// Makes a database of the store.
    pub(crate) fn end(&self, kv: &mut dyn KvWrite) -> Result<()> {
        if !self.is_marked(kv)? {
            return Err(changed());
        }
        Ok(put_version(kv)?)
    }

    /// The loaded objects stay.
    pub(crate) fn ended(mut self) {
        self.is_over = true;
    }

    /// Removes the loaded objects. Then this is the empty database again that it was. Does nothing
    /// if the store is not marked: then nothing was written, or the load was complete.
    pub(crate) fn undo(mut self) -> permazen_kv::Result<()> {
        self.take_back()
    }

    fn take_back(&mut self) -> permazen_kv::Result<()> {
        // Also if this fails, it must not begin again when the load is dropped.
        self.is_over = true;
        self.retry.run(
            Ok,
            |failed| {
                let mut tx = self.kv.begin(&self.options.after_failures(failed))?;
                // The mark of another load, or a finished database, must not be touched.
                if !self.is_marked(&*tx)? {
                    return Ok(());
                }
                // Without pairs, only the mark is taken back.
                if self.has_pairs.get() {
                    remove_objects(&mut *tx)?;
                }
                // The version comes in the same transaction, so the database is whole or still
                // marked.
                put_version(&mut *tx)?;
                tx.commit()
            },
            // If it was committed, there is nothing to do the second time.
            |error| error.is_retryable() || error.is_outcome_unknown(),
        )
    }
}

impl Drop for UnfinishedLoad {
    fn drop(&mut self) {
        if !self.is_over
            // A drop has no caller to give the error to.
            && let Err(error) = self.take_back()
        {
            tracing::warn!(%error, "what was loaded could not be taken back");
        }
    }
}

/// Removes everything but the recorded schemas and meta-data of others.
fn remove_objects(kv: &mut dyn KvWrite) -> permazen_kv::Result<()> {
    let mut meta_data = Vec::new();
    // The meta-data is kept in memory while everything is removed.
    layout::each_meta_data(kv, |key, value| {
        meta_data.push((key.to_vec(), value.to_vec()));
        Ok(())
    })?;
    // A store removes everything faster than a range.
    kv.remove_span(KeySpan::FULL)?;
    for (key, value) in &meta_data {
        kv.put(key, value)?;
    }
    Ok(())
}

fn put_version(kv: &mut dyn KvWrite) -> permazen_kv::Result<()> {
    let mut version = Vec::new();
    uint::write(FORMAT_VERSION, &mut version);
    kv.put(FORMAT_VERSION_KEY, &version)
}

/// Whether there are no objects.
fn is_empty(kv: &dyn KvRead) -> permazen_kv::Result<bool> {
    let objects = OBJECT_SCHEMA_INDEX_SPAN;
    let after = META_DATA_SPAN.max.unwrap_or_default();
    let has_object = kv.at_least(objects.min, objects.max)?.is_some();
    // Behind the meta-data are the objects and the indexes.
    Ok(!has_object && kv.at_least(after, None)?.is_none())
}

fn changed() -> Error {
    let what = "others have changed the database while it was loaded, and another load of it may still be running: load \
                a new one, which no other program uses";
    Error::invalid_argument(what)
}

impl Transaction {
    /// Refuses a database that has objects, or another schema than that of the loaded objects. Then
    /// marks the store, so that it is no database until [`UnfinishedLoad::end`] has been called.
    pub(crate) fn begin_load(&self, load: &UnfinishedLoad, schema: &Schema) -> Result<()> {
        let own = self.schema();
        // The records were made for a schema, whose numbers are in their keys.
        if (own.index, own.id) != (schema.index, schema.id) {
            return Err(changed());
        }
        self.check_empty()?;
        self.store.put(FORMAT_VERSION_KEY, &load.mark, Undo::Unread)
    }

    /// The length of the longest key that the store can hold.
    pub(crate) fn max_key_len(&self) -> usize {
        self.store.max_key_len()
    }

    /// Refuses a database that has objects.
    pub(crate) fn check_empty(&self) -> Result<()> {
        if self.store.read(|kv| Ok(is_empty(kv)?))? {
            return Ok(());
        }
        Err(Error::invalid_argument("the database has objects, and a loader fills a new one"))
    }
}
