//! One statement as one step.

use std::ops::ControlFlow;

use permazen::object::Transaction;

use super::failed::{Failed, go_on};
use super::{Edited, NewIds, create, delete, migrate, set};
use crate::check::{Checked, CheckedKind};
use crate::error::QueryError;
use crate::limits::Limits;
use crate::plan::check_schemas;
use crate::run::each_match;

/// Runs a statement that changes objects: `create`, `set`, `delete`, `migrate`. The objects are
/// found before the first change. If the statement fails or is stopped, nothing is changed, and the
/// transaction can be used further.
///
/// Objects stay in the schema in which they are, except with `migrate`. If an object does not take
/// a change there, the statement fails.
///
/// The objects of one `delete` can be deleted in any order, so they do not forbid each other's
/// deletion unless they do so in a circle.
///
/// Cost: that of finding the objects, 8 bytes of memory for each, and that of each change, with
/// what [`Transaction::atomic`] needs to undo it.
///
/// # Errors
/// [`QueryError::NotTaken`] if an object does not take a change; [`QueryError::Object`] if an
/// operation is refused or the store fails; [`QueryError::SchemasChanged`];
/// [`QueryError::Temporary`]; [`QueryError::WrongKind`] if the statement changes nothing.
///
/// ```
/// use permazen::kv::memory::MemoryStore;
/// use permazen::object::{Database, TransactionConfig};
/// use permazen::schema::{Field, ObjectType, SchemaModel, Simple};
/// use permazen_query::{Catalog, Limits, NewIds, Parameters, check, edit, parse};
///
/// let string = "urn:fdc:permazen.io:2020:String".parse()?;
/// let person = ObjectType::new("Person").field(Field::new("name", Simple::of(string)));
/// let config = TransactionConfig::new(SchemaModel::new().object_type(person))?;
/// let db = Database::new(std::sync::Arc::new(MemoryStore::new()));
/// let tx = db.begin(&config)?;
///
/// let mut ids = NewIds::new();
/// let mut run = |text: &str| {
///     let checked = check(&parse(text)?, &Catalog::of(&tx), &Parameters::new())?;
///     edit(&tx, &checked, &Limits::default(), &mut ids)
/// };
/// let eve = run(r#"create Person name = "Eve""#)?.created;
/// assert_eq!(run(r#"set all Person to name = "Ann""#)?.to_string(), "1 object set");
/// assert_eq!(run(r#"delete Person where name starts "B""#)?.to_string(), "nothing to change");
/// assert!(tx.exists(eve[0])?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn edit(
    tx: &Transaction,
    checked: &Checked,
    limits: &Limits,
    ids: &mut NewIds,
) -> Result<Edited, QueryError> {
    check_schemas(tx, checked)?;
    if !checked.is_edit() {
        return Err(QueryError::WrongKind("a statement that only reads changes nothing"));
    }
    let used = ids.used();
    let done = tx.atomic(|tx| {
        if let CheckedKind::Create(new) = &checked.kind {
            return create::create(tx, new, ids);
        }
        let mut found = Vec::new();
        let ran = each_match(tx, checked, limits, &mut |id| {
            found.push(id);
            ControlFlow::Continue(())
        })?;
        // The objects that were found before a stop are not all.
        go_on(limits)?;
        let mut edited = match &checked.kind {
            CheckedKind::Set(change) => set::set(tx, change, &found, limits),
            CheckedKind::Delete(_) => delete::delete(tx, found, limits),
            CheckedKind::Migrate(to) => migrate::migrate(tx, to, &found, limits),
            _ => Ok(Edited::default()),
        }?;
        edited.scanned_without_index = ran.scanned_without_index;
        Ok(edited)
    });
    match done {
        Ok(edited) => Ok(edited),
        Err(failed) => {
            ids.take_back(used);
            match failed {
                Failed::Stopped => Ok(Edited { stopped: true, ..Edited::default() }),
                Failed::Error(error) => Err(error),
            }
        }
    }
}
