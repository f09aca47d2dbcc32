//! The schemas with which this process has databases open. Until these are closed, its
//! transactions on them do not drop an unused one of them, unless the program asks for that.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use permazen_kv::__internal::StoreId;

use super::schema_id::SchemaId;

/// How many databases are open with each schema on each store; `None` for stores that cannot be
/// told from others.
static USED: Mutex<BTreeMap<(SchemaId, Option<StoreId>), usize>> = Mutex::new(BTreeMap::new());

fn used() -> MutexGuard<'static, BTreeMap<(SchemaId, Option<StoreId>), usize>> {
    // Each change is a single step, so a panic elsewhere leaves the map complete.
    USED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One use of a schema by this process. It ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct UsedByProcess {
    schema: SchemaId,
    store: Option<StoreId>,
}

impl UsedByProcess {
    /// The use of a schema in a store, whose identity is `None` if it is not known.
    pub(crate) fn new(schema: SchemaId, store: Option<StoreId>) -> Self {
        *used().entry((schema, store)).or_default() += 1;
        UsedByProcess { schema, store }
    }
}

impl Drop for UsedByProcess {
    fn drop(&mut self) {
        let (mut used, key) = (used(), (self.schema, self.store));
        if let Some(count) = used.get_mut(&key) {
            *count -= 1;
            // An entry with the count 0 would make the schema look as if it were in use.
            if *count == 0 {
                used.remove(&key);
            }
        }
    }
}

/// Whether this process has a database open with that schema on `store`, or on one that may be the
/// same.
pub(super) fn is_used_by_process(schema: SchemaId, store: Option<StoreId>) -> bool {
    let used = used();
    let with_schema = used.range((schema, None::<StoreId>)..);
    let mut stores = with_schema.map(|(key, _)| *key).take_while(|(other, _)| *other == schema);
    stores.any(|(_, other)| other.is_none() || store.is_none() || other == store)
}
