//! `set`

use std::sync::Arc;

use permazen::__internal::schema::ResolvedKind;
use permazen::ObjId;
use permazen::encoding::Value;
use permazen::object::{self, ListView, Migrate, Transaction};
use permazen::schema::{ResolvedField, ResolvedType};

use super::Edited;
use super::content::assign;
use super::failed::{Result, go_on};
use super::number::changed;
use crate::check::{ChangeTo, CheckedAssignment, CheckedSet};
use crate::limits::Limits;
use crate::not_taken::NotTaken;
use crate::text::quoted_name;

pub(super) fn set(
    tx: &Transaction,
    change: &CheckedSet,
    found: &[ObjId],
    limits: &Limits,
) -> Result<Edited> {
    for &id in found {
        go_on(limits)?;
        let object_type = tx.object_type(id)?;
        for assignment in &change.assignments {
            let object = Object { tx, id, object_type: &object_type, assignment };
            object.apply()?;
        }
    }
    Ok(Edited { set: found.len() as u64, ..Edited::default() })
}

/// An object that a change is made in.
struct Object<'a> {
    tx: &'a Transaction,
    id: ObjId,
    object_type: &'a ResolvedType,
    assignment: &'a CheckedAssignment,
}

impl Object<'_> {
    /// Why it does not take the change.
    fn not_taken(&self, what: String) -> NotTaken {
        NotTaken {
            id: self.id,
            type_name: Arc::clone(&self.object_type.name),
            schema: self.object_type.schema,
            span: self.assignment.span,
            what,
        }
    }

    fn apply(&self) -> Result<()> {
        let version = (self.object_type.storage_id, self.object_type.schema);
        match self.assignment.of(version.0, version.1) {
            None => {
                let name = quoted_name(&self.assignment.field);
                Err(self.not_taken(format!("it has no field {name}")).into())
            }
            Some(Err(mistake)) => Err(self.not_taken(mistake.to_string()).into()),
            Some(Ok(change)) => self.change(&change.field, &change.change),
        }
    }

    fn change(&self, field: &Arc<ResolvedField>, change: &ChangeTo) -> Result<()> {
        let (tx, id) = (self.tx, self.id);
        let encoded = tx.encoded();
        let list = || encoded.list_view(id, field);
        match (change, &field.kind) {
            (ChangeTo::Assign(content), _) => assign(tx, id, field, content)?,
            (ChangeTo::PutKey { key, value }, _) => {
                encoded.map_view(id, field)?.encoded().put(key, value)?;
            }
            (ChangeTo::ReplaceAt { position, element }, _) => {
                list()?.encoded().set(*position, element)?;
            }
            (ChangeTo::Count(by), _) => encoded.adjust_counter(id, field, *by, Migrate::No)?,
            (ChangeTo::Increase(by), _) => self.calculate(field, by, true)?,
            (ChangeTo::Decrease(by), _) => self.calculate(field, by, false)?,
            (ChangeTo::Add(element), ResolvedKind::Set { .. }) => {
                encoded.set_view(id, field)?.encoded().add(element)?;
            }
            (ChangeTo::Add(element), _) => list()?.encoded().push(element)?,
            (ChangeTo::Remove(element), ResolvedKind::Set { .. }) => {
                encoded.set_view(id, field)?.encoded().remove(element)?;
            }
            (ChangeTo::Remove(key), ResolvedKind::Map { .. }) => {
                encoded.map_view(id, field)?.encoded().remove(key)?;
            }
            (ChangeTo::Remove(element), _) => remove_all(&list()?, element)?,
            (ChangeTo::InsertAt { position, element }, _) => {
                list()?.encoded().insert(*position, element)?;
            }
        }
        Ok(())
    }

    /// Adds to a number, or takes away from it.
    fn calculate(&self, field: &Arc<ResolvedField>, by: &Value, adds: bool) -> Result<()> {
        let Some(simple) = field.simple() else {
            return Err(self.not_taken("it is no number".to_owned()).into());
        };
        let (encoded, encoding) = (self.tx.encoded(), &*simple.encoding);
        let old = encoded.get(self.id, field, Migrate::No, |bytes| encoding.decode_all(bytes))?;
        let new = old
            .map_err(|error| error.to_string())
            .and_then(|old| changed(encoding, &old, by, adds))
            .and_then(|new| encoding.encode_all(&new).map_err(|error| error.to_string()))
            .map_err(|what| self.not_taken(format!("{}: {what}", quoted_name(&field.name))))?;
        Ok(encoded.set(self.id, field, &new, Migrate::No)?)
    }
}

/// Removes all equal elements of a list.
fn remove_all(list: &ListView<'_>, element: &[u8]) -> object::Result<()> {
    let ResolvedKind::List { element: part } = &list.field().kind else { return Ok(()) };
    let Some(simple) = part.simple() else { return Ok(()) };
    let encode = |value: &Value| simple.encoding.encode_all(value);
    list.retain(|value| encode(value).map_or(true, |bytes| bytes != element)).map(drop)
}
