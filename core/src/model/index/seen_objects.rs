//! Which types have objects in which other schemas, as far as a transaction has found out.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use crate::id::StorageId;
use crate::layout::SchemaIndex;
use crate::object::{self, Transaction};

/// Which types have objects in which other schemas, as a transaction remembers it.
#[derive(Debug, Default)]
pub(crate) struct SeenObjects {
    /// Where the counters of `put_elsewhere` were when `none` was filled.
    as_of: (u64, u64),
    /// The schemas in which a type has no objects. This stays true until one of these counters
    /// moves: they count everything that can put an object into another schema.
    none: HashSet<(SchemaIndex, StorageId)>,
    /// The schemas in which a type has objects, with the change counter of the store at that time.
    /// Any write since then may have deleted or moved the last of them.
    some: HashMap<(SchemaIndex, StorageId), u64>,
}

/// When a transaction that has seen objects in a schema relies on it that some are still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rely {
    /// As long as nothing was written. For a refusal, which would be wrong without such objects.
    UntilNextWrite,
    /// Always. For uses that do no harm if the objects are gone.
    Always,
}

impl SeenObjects {
    /// Whether a type has no objects in a schema. Cost: one seek, unless the transaction remembers
    /// it.
    pub(super) fn has_none(
        seen: &RefCell<SeenObjects>,
        core: &Transaction,
        (schema, of_type): (SchemaIndex, StorageId),
        rely: Rely,
    ) -> object::Result<bool> {
        let (put, changes) = (core.put_elsewhere(), core.changes());
        let key = (schema, of_type);
        // The borrow ends before the store is read.
        {
            let mut seen = seen.borrow_mut();
            // Something was put into another schema, so a type may have objects there now.
            if seen.as_of != put {
                seen.as_of = put;
                seen.none.clear();
            }
            if seen.none.contains(&key) {
                return Ok(true);
            }
            if seen.some.get(&key).is_some_and(|at| rely == Rely::Always || *at == changes) {
                return Ok(false);
            }
        }
        let any = core.has_objects_in(schema, of_type)?;
        // A read without conflict detection must not replace a later read that needs it.
        if core.reads_tracked() {
            let mut seen = seen.borrow_mut();
            match any {
                true => drop(seen.some.insert(key, changes)),
                false => drop(seen.none.insert(key)),
            }
        }
        Ok(!any)
    }
}
