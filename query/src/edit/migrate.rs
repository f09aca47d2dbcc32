//! `migrate`

use std::sync::Arc;

use permazen::__internal::object::{LostValue, MigrateObjects};
use permazen::__internal::schema::SchemaBundle;
use permazen::ObjId;
use permazen::object::{Database, Transaction};
use permazen::schema::Schema;

use super::Edited;
use super::failed::{Result, go_on};
use crate::check::{Checked, CheckedKind, CheckedMigrate, CheckedObjectsKind};
use crate::error::QueryError;
use crate::limits::Limits;
use crate::plan::check_schemas;
use crate::run::matches;

fn schema<'b>(
    bundle: &'b SchemaBundle,
    to: &CheckedMigrate,
) -> std::result::Result<&'b Arc<Schema>, QueryError> {
    bundle.schema(to.schema).ok_or(QueryError::SchemasChanged)
}

/// How many objects that have lost something are listed.
const LISTED: usize = 1000;

/// The losses of an object, as a sentence without a full stop.
#[doc(hidden)]
pub fn lost(id: ObjId, losses: &[LostValue]) -> String {
    let losses: Vec<_> = losses.iter().map(ToString::to_string).collect();
    format!("object {id} has lost {}", losses.join(", and "))
}

/// All in this transaction.
pub(super) fn migrate(
    tx: &Transaction,
    to: &CheckedMigrate,
    found: &[ObjId],
    limits: &Limits,
) -> Result<Edited> {
    let bundle = tx.bundle();
    let schema = schema(&bundle, to)?;
    let mut edited = Edited::default();
    for &id in found {
        go_on(limits)?;
        if to.lossy {
            // `migrate_losing` does not say whether the object was there already.
            let is_there = tx.object_type(id)?.schema == schema.index;
            edited.moved += u64::from(!is_there);
            let losses = tx.migrate_losing(id, schema.id)?;
            if !losses.is_empty() {
                edited.lossy += 1;
                if edited.losses.len() < LISTED {
                    edited.losses.push(lost(id, &losses));
                }
            }
        } else {
            edited.moved += u64::from(tx.migrate_exactly(id, schema.id)?);
        }
    }
    Ok(edited)
}

/// A run that moves the objects of a `migrate` statement in batches, each in a transaction of its
/// own. The objects are found in `tx`; if they are all of one type, those that are created
/// meanwhile are moved too.
///
/// Unlike with [`edit`](crate::edit()), objects that would lose something stay where they are,
/// unless the statement says `lossy`, and the others are moved. A run that was stopped is continued
/// by running the same statement again.
///
/// Cost: that of finding the objects, and 8 bytes of memory for each, unless they are all of one
/// type.
///
/// # Errors
/// The errors of [`matches`](crate::matches()); [`QueryError::WrongKind`] if the statement is not
/// `migrate`. Nothing is found if it is stopped.
#[doc(hidden)]
pub fn migration<'d>(
    db: &'d Database,
    tx: &Transaction,
    checked: &Checked,
    limits: &Limits,
) -> std::result::Result<MigrateObjects<'d>, QueryError> {
    let CheckedKind::Migrate(to) = &checked.kind else {
        return Err(QueryError::WrongKind("only `migrate` moves objects in batches"));
    };
    check_schemas(tx, checked)?;
    let mut run = db.migrate_objects(schema(&tx.bundle(), to)?.id);
    if to.lossy {
        run = run.accept_losses();
    }
    let query = &to.query;
    let is_whole =
        matches!(query.objects.kind, CheckedObjectsKind::Type(_)) && query.limit.is_none();
    if is_whole {
        return Ok(run.only_types(query.objects.types.iter().copied()));
    }
    let found = matches(tx, checked, limits)?;
    Ok(run.only_objects(if limits.is_stopped() { Vec::new() } else { found }))
}
