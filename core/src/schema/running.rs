//! The schemas that this process works with. While it does, its transactions do not drop them,
//! unless the program asks for that schema to be removed.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::schema_id::SchemaId;

/// How many databases are open with each schema.
static RUNNING: Mutex<BTreeMap<SchemaId, usize>> = Mutex::new(BTreeMap::new());

fn running() -> MutexGuard<'static, BTreeMap<SchemaId, usize>> {
    // Each change is a single step, so a panic elsewhere leaves the map complete.
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A schema in use. Dropping this value ends the use.
#[derive(Debug)]
pub(crate) struct Running(SchemaId);

impl Running {
    pub(crate) fn new(schema: SchemaId) -> Self {
        *running().entry(schema).or_default() += 1;
        Running(schema)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut running = running();
        if let Some(count) = running.get_mut(&self.0) {
            *count -= 1;
            if *count == 0 {
                running.remove(&self.0);
            }
        }
    }
}

/// Whether this process has a database open with that schema.
pub(super) fn is_running(schema: SchemaId) -> bool {
    running().contains_key(&schema)
}
