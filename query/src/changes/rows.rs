//! From changes to rows.

use std::collections::VecDeque;
use std::sync::Arc;

use permazen::__internal::object::{NetChange, NetChanges, NetContent, NetField, NetObject};
use permazen::__internal::schema::ResolvedKind;
use permazen::object::Result;
use permazen::schema::ResolvedField;

use super::row::{ChangeRow, Changed};
use crate::rows::Cell;

/// The changes of a transaction so far, row by row, in the order of the keys. The rows of an object
/// follow each other.
///
/// If an object was moved to another schema, a value that is written in the same way there is not
/// shown.
///
/// ```
/// use permazen::kv::memory::MemoryStore;
/// use permazen::kv::optimistic::OptimisticDatabase;
/// use permazen::object::{Database, TransactionConfig};
/// use permazen::schema::{Field, ObjectType, SchemaModel, Simple};
/// use permazen_query::{Catalog, Changes, Limits, NewIds, Parameters, check, edit, parse};
///
/// let string = "urn:fdc:permazen.io:2020:String".parse()?;
/// let person = ObjectType::new("Person").field(Field::new("name", Simple::of(string)));
/// let config = TransactionConfig::new(SchemaModel::new().object_type(person))?;
/// let store = OptimisticDatabase::new(MemoryStore::new());
/// let db = Database::new(std::sync::Arc::new(store));
/// db.begin(&config)?.commit()?;
///
/// let tx = db.begin(&config)?;
/// let statement = parse(r#"create Person name = "Eve""#)?;
/// let checked = check(&statement, &Catalog::of(&tx), &Parameters::new())?;
/// let eve = edit(&tx, &checked, &Limits::default(), &mut NewIds::new())?.created[0];
///
/// let lines = tx.pending_changes(|changes| {
///     Changes::new(changes).map(|row| Ok(row?.to_string())).collect::<Result<Vec<_>, _>>()
/// })?;
/// assert_eq!(lines.expect("the store keeps its writes"), [
///     format!("Person @{eve} created in schema 1"),
///     format!("Person @{eve} name: -> \"Eve\""),
/// ]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Changes<'a> {
    changes: NetChanges<'a>,
    /// The rows of the last change that were not given yet.
    rows: VecDeque<ChangeRow>,
}

impl<'a> Changes<'a> {
    /// The rows of these changes, which
    /// [`Transaction::pending_changes`](permazen::object::Transaction::pending_changes) gives.
    #[doc(hidden)]
    pub fn new(changes: NetChanges<'a>) -> Self {
        Changes { changes, rows: VecDeque::new() }
    }
}

impl Iterator for Changes<'_> {
    type Item = Result<ChangeRow>;

    fn next(&mut self) -> Option<Result<ChangeRow>> {
        loop {
            if let Some(row) = self.rows.pop_front() {
                return Some(Ok(row));
            }
            match self.changes.next()? {
                Ok(NetChange::Object(object)) => self.rows = rows_of(&object),
                Ok(NetChange::Pair(pair)) => {
                    let changed = Changed::Pair { key: pair.key, old: pair.old, new: pair.new };
                    return Some(Ok(ChangeRow { object: None, changed }));
                }
                // Kinds of changes may be added. Those that are not known here have no rows.
                Ok(_) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

fn rows_of(object: &NetObject) -> VecDeque<ChangeRow> {
    let Some(object_type) = object.object_type() else { return VecDeque::new() };
    let of = (object.id, Arc::clone(&object_type.name));
    let mut rows = VecDeque::new();
    let whole = match (&object.before, &object.after) {
        (None, Some(after)) => Some(Changed::Created { schema: after.schema }),
        (Some(before), None) => Some(Changed::Deleted { schema: before.schema }),
        (Some(before), Some(after)) if object.is_moved() => {
            Some(Changed::Moved { from: before.schema, to: after.schema })
        }
        _ => None,
    };
    let row = |changed| ChangeRow { object: Some(of.clone()), changed };
    rows.extend(whole.map(row));
    for field in &object.fields {
        rows.extend(changed(field).into_iter().map(row));
    }
    rows
}

/// The changes in a field.
fn changed(net: &NetField) -> Vec<Changed> {
    let Some(field) = net.field() else { return Vec::new() };
    let name = || Arc::clone(&field.name);
    let (before, after) = (net.before.as_deref(), net.after.as_deref());
    let is_same = before.map(|field| field.storage_id) == after.map(|field| field.storage_id);
    match &net.content {
        NetContent::Simple { old, new } => {
            let old = one(before, old.as_deref());
            value(name(), old, one(after, new.as_deref()), is_same)
        }
        NetContent::Counter { old, new } => {
            let count =
                |field: Option<&_>, count| field.map_or(Cell::Absent, |_| Cell::Counter(count));
            value(name(), count(before, *old), count(after, *new), is_same)
        }
        NetContent::List { old, new } => {
            let list = |field: Option<&ResolvedField>, elements: &[Box<[u8]>]| match field {
                Some(field) => {
                    let part = parts(field).0;
                    Cell::List(elements.iter().map(|bytes| one(part, Some(bytes))).collect())
                }
                None => Cell::Absent,
            };
            value(name(), list(before, old), list(after, new), is_same)
        }
        NetContent::Set { removed, added } => {
            let cells = |field: Option<&ResolvedField>, elements: &[Box<[u8]>]| {
                let part = field.and_then(|field| parts(field).0);
                elements.iter().map(|bytes| one(part, Some(bytes))).collect::<Vec<_>>()
            };
            let (mut removed, mut added) = (cells(before, removed), cells(after, added));
            // The field has another storage ID in the new schema, so all its elements were removed
            // and added.
            if !is_same {
                cancel(&mut removed, &mut added, Cell::literal);
            }
            let removed = removed.into_iter();
            let removed = removed.map(|element| Changed::Removed { field: name(), element });
            let added = added.into_iter().map(|element| Changed::Added { field: name(), element });
            removed.chain(added).collect()
        }
        NetContent::Map { entries } => {
            let mut gone = Vec::new();
            let mut put = Vec::new();
            for entry in entries {
                // A key that is gone was written by the old definition of the field, the others by
                // the new one.
                let of = if entry.new.is_some() { after } else { before };
                let (keys, _) = of.map_or((None, None), parts);
                let values = |field: Option<&ResolvedField>, bytes: &Option<Box<[u8]>>| {
                    one(field.and_then(|field| parts(field).1), bytes.as_deref())
                };
                let key = one(keys, Some(&entry.key));
                let (old, new) = (values(before, &entry.old), values(after, &entry.new));
                let to = if entry.new.is_some() { &mut put } else { &mut gone };
                to.push((key, old, new));
            }
            if !is_same {
                let text = |(key, old, new): &(Cell, Cell, Cell)| {
                    format!("{}: {}{}", key.literal(), old.literal(), new.literal())
                };
                cancel(&mut gone, &mut put, text);
            }
            let all = gone.into_iter().chain(put);
            all.map(|(key, old, new)| Changed::Entry { field: name(), key, old, new }).collect()
        }
        _ => Vec::new(),
    }
}

/// A value, unless it is written as before in another definition of the field.
fn value(field: Arc<str>, old: Cell, new: Cell, is_same: bool) -> Vec<Changed> {
    let both = !matches!(old, Cell::Absent) && !matches!(new, Cell::Absent);
    // A move writes every value anew. Only those that read differently are changes for people.
    if !is_same && both && old.literal() == new.literal() {
        return Vec::new();
    }
    vec![Changed::Value { field, old, new }]
}

/// Takes out the elements that both have. Each has an item once.
fn cancel<T>(a: &mut Vec<T>, b: &mut Vec<T>, text: impl Fn(&T) -> String) {
    use std::collections::BTreeSet;
    let texts = |items: &[T]| items.iter().map(&text).collect::<BTreeSet<_>>();
    let both: BTreeSet<_> = texts(a).intersection(&texts(b)).cloned().collect();
    a.retain(|item| !both.contains(&text(item)));
    b.retain(|item| !both.contains(&text(item)));
}

type Part<'f> = Option<&'f ResolvedField>;

/// The elements or keys of a collection, and the values of a map.
fn parts(field: &ResolvedField) -> (Part<'_>, Part<'_>) {
    match &field.kind {
        ResolvedKind::Set { element } | ResolvedKind::List { element } => (Some(element), None),
        ResolvedKind::Map { key, value } => (Some(key), Some(value)),
        _ => (None, None),
    }
}

/// A value of a field or sub-field.
fn one(field: Option<&ResolvedField>, bytes: Option<&[u8]>) -> Cell {
    let (Some(bytes), Some(simple)) = (bytes, field.and_then(ResolvedField::simple)) else {
        return Cell::Absent;
    };
    match simple.encoding.decode_all(bytes) {
        Ok(value) => Cell::Value(value, Arc::clone(&simple.encoding)),
        Err(error) => Cell::Damaged { bytes: bytes.to_vec(), reason: error.to_string() },
    }
}
