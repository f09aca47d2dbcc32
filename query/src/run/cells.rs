//! Cells of rows, from stored bytes.

use std::sync::Arc;

use permazen::__internal::schema::ResolvedKind;
use permazen::encoding::{Encoding, long};
use permazen::schema::ResolvedField;

use super::fail::Result;
use super::reader::{Lookup, Reader};
use super::subject::{Flow, Subject};
use super::values::{Got, field_values, list_element, walk};
use crate::check::{Access, CheckedPath, Origin, Read};
use crate::rows::Cell;
use crate::syntax::Special;

/// Puts what a path shows of an object into a cell.
pub(crate) fn fill(
    reader: &Reader<'_>,
    path: &CheckedPath,
    subject: &Subject<'_>,
    cell: &mut Cell,
) -> Result<()> {
    // A path with many values makes a list, even if an object has only one or none.
    if path.many {
        let mut cells = Vec::new();
        walk(reader, path, subject, &mut |subject, access| {
            each_cell(reader, path, subject, access, &mut |next| {
                cells.push(next);
            })
        })?;
        *cell = Cell::List(cells);
        return Ok(());
    }
    let mut found = false;
    walk(reader, path, subject, &mut |subject, access| {
        // A row is used again for the next object, so a value is put where the last one was.
        if let Some(access) = access.filter(|access| access.read != Read::Whole) {
            return field_values(reader, subject, access, &mut |got| {
                found = true;
                set(reader, path, access.kind, got, cell);
                // A path without collections has one value at most, so the rest need not be read.
                Ok(Flow::Enough)
            });
        }
        each_cell(reader, path, subject, access, &mut |next| {
            found = true;
            *cell = next;
        })
    })?;
    // A cell keeps the value of the row before, so a missing value must be stated.
    if !found {
        *cell = Cell::Absent;
    }
    Ok(())
}

/// The cells that a path shows of an object at its end.
fn each_cell(
    reader: &Reader<'_>,
    path: &CheckedPath,
    subject: &Subject<'_>,
    access: Option<&Access>,
    found: &mut dyn FnMut(Cell),
) -> Result<Flow> {
    match (access, path.special) {
        (Some(access), _) if access.read == Read::Whole => {
            found(whole(reader, &access.field, access.stored, subject)?);
            Ok(Flow::More)
        }
        (Some(access), _) => field_values(reader, subject, access, &mut |got| {
            let mut cell = Cell::Absent;
            set(reader, path, access.kind, got, &mut cell);
            found(cell);
            Ok(Flow::More)
        }),
        (None, Some(special)) => {
            // Of the object itself, it is noted where it is read.
            let is_own = path.hops.is_empty();
            if let Some(cell) = special_cell(reader, special, subject, is_own)? {
                found(cell);
            }
            Ok(Flow::More)
        }
        (None, None) => Ok(Flow::More),
    }
}

fn special_cell(
    reader: &Reader<'_>,
    special: Special,
    subject: &Subject<'_>,
    is_own: bool,
) -> Result<Option<Cell>> {
    Ok(match special {
        Special::Id => Some(Cell::Id(subject.id)),
        Special::Type => {
            // The type of a damaged object can be unknown, and then there is nothing to show.
            let name = reader.bundle.type_name(subject.id.storage_id());
            name.map(|name| Cell::Text(Arc::clone(name)))
        }
        Special::Schema => match subject.version(reader)? {
            Lookup::Of((_, schema)) => Some(Cell::Number(schema.get().into())),
            Lookup::Damaged => {
                // The damage of the object itself is counted once, where the object is read.
                if !is_own {
                    reader.note_damage();
                }
                Some(unknown_version(reader, subject)?)
            }
            // A reference to an object that does not exist shows nothing.
            Lookup::Missing => None,
        },
    })
}

/// The cell for the schema of an object whose schema or type is not known.
pub(crate) fn unknown_version(reader: &Reader<'_>, subject: &Subject<'_>) -> Result<Cell> {
    let bytes = reader.kv.get(subject.id.as_bytes())?.map(|bytes| bytes.into_owned());
    let reason = "the object's schema is not recorded, or does not have its type".to_owned();
    Ok(Cell::Damaged { bytes: bytes.unwrap_or_default(), reason })
}

/// Puts a value into a cell, which may hold the value of the row before.
fn set(reader: &Reader<'_>, path: &CheckedPath, kind: usize, got: Got<'_>, cell: &mut Cell) {
    let Some(kind) = path.kinds.get(kind) else { return };
    match (got, kind.origin) {
        (Got::Value(bytes), Origin::Counter) => set_count(reader, bytes, cell),
        (Got::Value(bytes), _) => set_value(reader, bytes, &kind.encoding, cell),
        (Got::Damaged(bytes, reason), _) => damaged(reader, bytes, reason, cell),
    }
}

/// Puts a value of an encoding into a cell, which may hold the value of the row before.
pub(crate) fn set_value(
    reader: &Reader<'_>,
    bytes: &[u8],
    encoding: &Arc<dyn Encoding>,
    cell: &mut Cell,
) {
    match (encoding.decode_all(bytes), &mut *cell) {
        // The encoding is shared by all objects, so its address tells whether it is the same.
        (Ok(value), Cell::Value(old, known)) if Arc::ptr_eq(known, encoding) => *old = value,
        (Ok(value), _) => *cell = Cell::Value(value, Arc::clone(encoding)),
        (Err(error), _) => damaged(reader, bytes, &error.to_string(), cell),
    }
}

/// Puts a count, encoded as type `long`, into a cell.
fn set_count(reader: &Reader<'_>, bytes: &[u8], cell: &mut Cell) {
    match long::decode(bytes) {
        Ok(count) => *cell = Cell::Counter(count),
        Err(error) => damaged(reader, bytes, &error.to_string(), cell),
    }
}

pub(crate) fn damaged(reader: &Reader<'_>, bytes: &[u8], reason: &str, cell: &mut Cell) {
    reader.note_damage();
    *cell = Cell::Damaged { bytes: bytes.to_vec(), reason: reason.to_owned() };
}

/// A whole collection.
fn whole(
    reader: &Reader<'_>,
    field: &ResolvedField,
    stored: bool,
    subject: &Subject<'_>,
) -> Result<Cell> {
    let part = |field: &ResolvedField, got: Got<'_>| {
        let mut cell = Cell::Absent;
        match (got, field.simple()) {
            (Got::Value(bytes), Some(simple)) => {
                set_value(reader, bytes, &simple.encoding, &mut cell);
            }
            (Got::Damaged(bytes, reason), _) => damaged(reader, bytes, reason, &mut cell),
            (Got::Value(_), None) => {}
        }
        cell
    };
    let mut pairs: Vec<Cell> = Vec::new();
    // A version without the collection shows it empty and reads nothing.
    let each = |one: &mut dyn FnMut(&[u8], &[u8])| match stored {
        true => subject.each_pair(reader, field, &mut |rest, value| {
            one(rest, value);
            Ok(Flow::More)
        }),
        false => Ok(Flow::More),
    };
    Ok(match &field.kind {
        ResolvedKind::Set { element } => {
            each(&mut |rest, _| pairs.push(part(element, Got::Value(rest))))?;
            Cell::Set(pairs)
        }
        ResolvedKind::List { element } => {
            each(&mut |rest, value| pairs.push(part(element, list_element(rest, value))))?;
            Cell::List(pairs)
        }
        ResolvedKind::Map { key, value } => {
            let mut map = Vec::new();
            each(&mut |rest, of_key| {
                map.push((part(key, Got::Value(rest)), part(value, Got::Value(of_key))));
            })?;
            Cell::Map(map)
        }
        ResolvedKind::Simple(_) | ResolvedKind::Counter => Cell::Absent,
    })
}

/// Puts a field of an object into a cell.
pub(crate) fn field(
    reader: &Reader<'_>,
    access: &Access,
    subject: &Subject<'_>,
    cell: &mut Cell,
) -> Result<()> {
    if access.read == Read::Whole {
        *cell = whole(reader, &access.field, access.stored, subject)?;
        return Ok(());
    }
    let encoding = access.of().and_then(|field| field.simple()).map(|simple| &simple.encoding);
    let mut found = false;
    // A missing value has a default, which counts as found.
    field_values(reader, subject, access, &mut |got| {
        found = true;
        match (got, encoding) {
            (Got::Value(bytes), Some(encoding)) => set_value(reader, bytes, encoding, cell),
            (Got::Value(bytes), None) => set_count(reader, bytes, cell),
            (Got::Damaged(bytes, reason), _) => damaged(reader, bytes, reason, cell),
        }
        Ok(Flow::Enough)
    })?;
    // The default value of an encoding that is not registered is not known.
    if !found {
        *cell = Cell::Absent;
    }
    Ok(())
}
