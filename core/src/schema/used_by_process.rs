//! The schemas with which this process has databases open. Until these are closed, its
//! transactions do not drop an unused one of them, unless the program asks for that.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::schema_id::SchemaId;

/// How many databases are open with each schema.
static USED: Mutex<BTreeMap<SchemaId, usize>> = Mutex::new(BTreeMap::new());

fn used() -> MutexGuard<'static, BTreeMap<SchemaId, usize>> {
    // Each change is a single step, so a panic elsewhere leaves the map complete.
    USED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One use of a schema by this process. It ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct UsedByProcess(SchemaId);

impl UsedByProcess {
    pub(crate) fn new(schema: SchemaId) -> Self {
        *used().entry(schema).or_default() += 1;
        UsedByProcess(schema)
    }
}

impl Drop for UsedByProcess {
    fn drop(&mut self) {
        let mut used = used();
        if let Some(count) = used.get_mut(&self.0) {
            *count -= 1;
            // An entry with the count 0 would make the schema look as if it were in use.
            if *count == 0 {
                used.remove(&self.0);
            }
        }
    }
}

/// Whether this process has a database open with that schema.
pub(super) fn is_used_by_process(schema: SchemaId) -> bool {
    used().contains_key(&schema)
}
