//! Counting the objects of a type in a schema, up to a limit.

use permazen_kv::{Direction, KeySpan};

use super::report::ObjectCount;
use crate::layout;
use crate::model::error::Result;
use crate::object::Transaction;
use crate::schema::ResolvedType;

/// How many objects of a type are in a schema.
pub(super) fn count(tx: &Transaction, object_type: &ResolvedType) -> Result<ObjectCount> {
    let mut min = layout::object_schema_prefix(object_type.schema);
    min.extend_from_slice(&object_type.key);
    let max = layout::prefix_end(&min);
    let counted = tx.read_pairs(|kv| {
        let mut counted = 0;
        for pair in kv.scan(KeySpan::new(&min, max.as_deref()), Direction::Forward)? {
            pair?;
            counted += 1;
            // A report should not read a large database only to say that there are many objects.
            if counted == ObjectCount::LIMIT {
                break;
            }
        }
        Ok(counted)
    })?;
    Ok(ObjectCount { counted, or_more: counted == ObjectCount::LIMIT })
}
