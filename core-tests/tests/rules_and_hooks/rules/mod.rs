//! The rules of models: uniqueness, singletons, required values, own validation.

mod commit;
mod costs;
mod early;
mod lost_values;
mod nulls_inside;
mod other_schemas;
mod random;
mod serde_forms;
mod singletons;
mod two_transactions;
mod uniqueness;
mod unreadable;
mod validation;

use std::sync::Arc;

use permazen::kv::memory::MemoryStore;
use permazen::model::{Builder, Rule};
use permazen::{Error, Model, ObjId, Permazen, Result, Violations};

use crate::support::{messages, open, violations};

/// A database in memory with one model.
fn database<M: Model>() -> Permazen {
    builder::<M>().build().unwrap()
}

fn builder<M: Model>() -> Builder {
    Permazen::builder_shared(Arc::new(MemoryStore::new())).model::<M>()
}

/// Path, rule, value and others of each violation.
type Found = (String, Rule, Option<String>, Vec<ObjId>);

fn found(violations: &Violations) -> Vec<Found> {
    let parts = violations.iter();
    parts.map(|it| (it.path.clone(), it.rule, it.value.clone(), it.others.clone())).collect()
}
