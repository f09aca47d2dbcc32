//! Values that remember the loaded content, so that storing them writes the changes
//! (docs/src/evolution.md).

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::base::Base;
use super::conflict::{ChangedField, ChangedSince};
use crate::id::ObjId;
use crate::model::binding::Binding;
use crate::model::error::{Error, Result};
use crate::model::evolution::{Seen, pairs_of};
use crate::model::handle::Handle;
use crate::model::load::{ObjectReader, ObjectWriter};
use crate::model::obj::Obj;
use crate::model::object_type::Model;
use crate::model::reference::Ref;
use crate::model::tx::Tx;
use crate::object::{self, Migrate, ObjectBuilder, ObjectData, value_text};
use crate::schema::{ResolvedField, ResolvedKind, SchemaId};

/// A value of a model with the content that its object had when it was loaded.
///
/// [`store`](Versioned::store) writes the changes in the value, and nothing else. So it does not
/// undo the changes that other transactions have written in the meantime, as
/// [`Obj::store`](crate::model::Obj::store) does. If they have changed the same field, nothing is
/// written, and the error says which field.
///
/// ```
/// # use permazen::{PermazenObject, Permazen, Counter, Error, kv::memory::MemoryStore};
/// # #[derive(PermazenObject, Debug, Default, PartialEq)]
/// # struct Person { name: String, age: i32, visits: Counter }
/// # let db = Permazen::builder(MemoryStore::new()).model::<Person>().build()?;
/// # let ann = db.write(|tx| Ok(tx.create(Person { name: "Ann".into(), ..Person::default() })?.to_ref()))?;
/// let mut mine = db.read(|tx| tx.get(ann)?.load_versioned())?;
/// let mut theirs = db.read(|tx| tx.get(ann)?.load_versioned())?;
/// mine.name = "Anna".into();
/// mine.visits.0 += 1;
/// theirs.age = 30;
/// theirs.visits.0 += 2;
/// db.write(|tx| theirs.store(tx))?;
/// let mut stored = db.write(|tx| mine.store(tx))?;
/// // Both changes were made, and both were counted.
/// assert_eq!((&*stored.name, stored.age, stored.visits.0), ("Anna", 30, 3));
///
/// // The second one to change the same field gets an error.
/// theirs.name = "Annie".into();
/// let error = db.write(|tx| theirs.store(tx)).unwrap_err();
/// assert!(matches!(error, Error::ChangedSince(_)));
///
/// // What `store` returned can be changed and stored again.
/// stored.age = 31;
/// db.write(|tx| stored.store(tx))?;
/// # Ok::<(), permazen::Error>(())
/// ```
#[derive(Clone)]
pub struct Versioned<M> {
    value: M,
    base: Base,
}

impl<M> Deref for Versioned<M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.value
    }
}

impl<M> DerefMut for Versioned<M> {
    fn deref_mut(&mut self) -> &mut M {
        &mut self.value
    }
}

impl<M: fmt::Debug> fmt::Debug for Versioned<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Versioned").field("value", &self.value).field("base", &self.base).finish()
    }
}

impl<M: Model> Obj<'_, M> {
    /// Reads all fields, and remembers their content. Costs the same as [`Obj::load`], and memory
    /// for a second copy of the values.
    ///
    /// # Errors
    /// The errors of [`Obj::load`].
    pub fn load_versioned(&self) -> Result<Versioned<M>> {
        let handle = self.handle();
        let (data, schema) = handle.content()?;
        Versioned::of(handle.id, handle.binding, schema, &data)
    }
}

impl<M: Model> Versioned<M> {
    /// A value with a base of the same object, which was kept apart from it.
    pub fn new(value: M, base: Base) -> Self {
        Versioned { value, base }
    }

    /// The value that the object had according to a base, for changing it. Reads nothing.
    ///
    /// If the base is that of another schema, its values are converted, as those of an object are.
    /// A field that the schema lacked has the default of the model.
    ///
    /// # Errors
    /// [`Error::NotRegistered`]; [`Error::WrongType`] if the object has another type;
    /// [`Error::DamagedBase`] if the base does not say what a field was: its value has no exact
    /// counterpart, an own conversion makes it, or it had another definition and the schema of the
    /// base is no longer recorded; the errors of [`Obj::load`] for values that do not fit the
    /// struct.
    pub fn from_base(tx: &Tx, base: Base) -> Result<Self> {
        let binding = tx.get::<M>(base.id())?.handle().binding;
        let seen = base.seen(binding, &tx.core)?;
        if let Some(&position) = seen.unread.first() {
            let path = binding.path(binding.field(position)?);
            let reason = format!("{path} had another definition then, and its value is not known");
            return Err(Error::DamagedBase { reason });
        }
        let schema = base.schema_id();
        let value =
            M::read(&mut ObjectReader::new(&binding.fields, base.id(), schema, &seen.data))?;
        Ok(Versioned { value, base })
    }

    /// A value that was just loaded.
    fn of(id: ObjId, binding: &Binding, schema: SchemaId, data: &ObjectData) -> Result<Self> {
        let value = M::read(&mut ObjectReader::new(&binding.fields, id, schema, data))?;
        Ok(Versioned { value, base: Base::of(id, binding, data)? })
    }

    /// The object.
    pub fn to_ref(&self) -> Ref<M> {
        Ref::new(self.base.id())
    }

    /// The content that the object had when it was loaded.
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// The value alone.
    pub fn into_value(self) -> M {
        self.value
    }

    /// The value and the base.
    pub fn into_parts(self) -> (M, Base) {
        (self.value, self.base)
    }

    /// Writes the changes since the value was loaded, and returns the object as it is then, for
    /// further changes. This value stays as it is, so a transaction that runs again can store it
    /// again.
    ///
    /// * A simple field, reference or list is written if it was changed. If another transaction has
    ///   changed it too, to another value, that is a conflict.
    /// * Elements that were added to a set are added, and those that were removed are removed. This
    ///   causes no conflicts.
    /// * Entries that were added to a map, replaced or removed are written. If another transaction
    ///   has changed the entry of the same key in another way, that is a conflict.
    /// * The number that was added to a counter is added to its present number, which may wrap.
    ///
    /// An object of another schema is changed where it is, if the changed fields have the same
    /// definition there; otherwise it moves. It also moves if a field was changed that its schema
    /// lacks: the field reads as its default, but a newer program may have renamed it. So such a
    /// change is made or refused, also if it sets the default. If a field was not changed and
    /// cannot be read where the object is, the returned value has the same content in it as this
    /// one.
    ///
    /// Cost: that of [`Obj::load`] and [`Obj::store`](crate::model::Obj::store); for each changed
    /// counter that of [`CounterOf::add`](crate::model::CounterOf::add); if something was changed
    /// in a transaction with hooks or observers, that of `load` once more, because these may have
    /// changed the object too. If nothing was changed, nothing is written.
    ///
    /// # Errors
    /// [`Error::ChangedSince`] with all conflicts. [`DeletedObject`](object::Error::DeletedObject)
    /// if the object does not exist any more; [`Error::WrongType`] if the base is that of an object
    /// of another type; [`Error::DamagedBase`] if the base has a damaged counter; the errors of
    /// [`Obj::load`] and [`Obj::store`](crate::model::Obj::store). Nothing has then changed.
    pub fn store(&self, tx: &Tx) -> Result<Versioned<M>> {
        let handle = tx.get::<M>(self.base.id())?.handle();
        let base = self.base.seen(handle.binding, &tx.core)?;
        let wanted = ObjectWriter::content(&handle.binding.fields, &self.value)?;
        // If this fails, the object does not move either.
        tx.core.atomic(|_| {
            // By Java's rules the object moves before its content is compared. If it moved to be
            // read, a change would leave the move unchecked.
            let moves_first =
                handle.access() == Migrate::Yes && has_changes(handle.binding, &base, &wanted)?;
            let seen = if moves_first { handle.seen_to_change() } else { handle.seen() };
            let mut seen = seen.map_err(deleted)?;
            loop {
                if let Some(stored) = self.store_difference(&handle, &base, &seen, &wanted)? {
                    return Ok(stored);
                }
                // Afterwards the whole object is known.
                seen = handle.seen_to_change()?;
            }
        })
    }

    /// Writes the difference between `base` and `wanted` to an object with this content. Returns
    /// `None` if the object must move for that and is not known as a whole.
    fn store_difference(
        &self,
        handle: &Handle<'_>,
        base: &Seen,
        seen: &Seen,
        wanted: &ObjectData,
    ) -> Result<Option<Versioned<M>>> {
        let binding = handle.binding;
        let mut merge = Merge { binding, base, present: seen, wanted, found: vec![] };
        let Merged { content, changed, counters } = merge.run()?;
        // Unknown content of an object cannot be given to it when it moves.
        let may_move = seen.unread.is_empty();
        let counted = counters.iter().map(|(position, _)| *position);
        if !may_move && !seen.takes(changed.iter().copied().chain(counted)) {
            return Ok(None);
        }
        let id = handle.id;
        if !merge.found.is_empty() {
            let type_name = binding.info.name.to_owned();
            let changed = ChangedSince { id, type_name, fields: merge.found };
            return Err(Error::ChangedSince(Box::new(changed)));
        }
        let mut after = ObjectBuilder::of(&content);
        for &(position, by) in &counters {
            let field = binding.field(position)?;
            let count = content.counter(field)?.wrapping_add(by);
            after.forget(field);
            after.write_counter(field, count);
        }
        let after = after.finish();
        // A value that does not fit the struct is refused before anything is written.
        let stored = Versioned::of(id, binding, seen.schema, &after)?;
        if !changed.is_empty() && !handle.store_in_place(&content, &changed, seen)? {
            if !may_move {
                return Ok(None);
            }
            handle.store_moving(&content)?;
        }
        for &(position, by) in &counters {
            handle.counter(position).add(by)?;
        }
        let is_written = !changed.is_empty() || !counters.is_empty();
        // Hooks and observers may have written to the object too, or have deleted it.
        if is_written && !handle.tx.core.has_no_listeners() && handle.tx.core.exists(handle.id)? {
            return self.as_it_is(handle, &after).map(Some);
        }
        Ok(Some(stored))
    }

    /// The object as it is after it was stored. A field that cannot be read where the object is has
    /// its content from `stored`.
    fn as_it_is(&self, handle: &Handle<'_>, stored: &ObjectData) -> Result<Versioned<M>> {
        let (seen, binding) = (handle.seen()?, handle.binding);
        if seen.unread.is_empty() {
            return Versioned::of(handle.id, binding, seen.schema, &seen.data);
        }
        let mut now = ObjectBuilder::new(Arc::clone(&binding.fields.object_type));
        for position in 0..binding.info.fields.len() {
            let field = binding.field(position)?;
            let from = if seen.unread.contains(&position) { stored } else { &seen.data };
            for (key, value) in pairs_of(from, field) {
                now.push_pair(field.storage_id, key, value);
            }
        }
        Versioned::of(handle.id, binding, seen.schema, &now.finish())
    }
}

/// Whether something was changed since the value was loaded.
fn has_changes(binding: &Binding, base: &Seen, wanted: &ObjectData) -> Result<bool> {
    let mut merge = Merge { binding, base, present: base, wanted, found: vec![] };
    let Merged { changed, counters, .. } = merge.run()?;
    Ok(!changed.is_empty() || !counters.is_empty())
}

/// Says what was attempted on an object that was deleted.
fn deleted(error: Error) -> Error {
    match error {
        Error::Object(object::Error::DeletedObject { id, type_name, attempted })
            if attempted.is_empty() =>
        {
            let attempted = "storing a value that was loaded earlier".to_owned();
            Error::Object(object::Error::DeletedObject { id, type_name, attempted })
        }
        error => error,
    }
}

/// Merges the old, the present and the wanted content of an object.
struct Merge<'a> {
    binding: &'a Binding,
    base: &'a Seen,
    present: &'a Seen,
    wanted: &'a ObjectData,
    /// The fields that were changed in two ways.
    found: Vec<ChangedField>,
}

/// The changes to write.
struct Merged {
    /// The content of the object, with the counters it has.
    content: ObjectData,
    /// The positions of the fields whose content differs from that of the object, or that it may
    /// have under a name that this program does not know.
    changed: Vec<usize>,
    /// The numbers to add to counters, by position.
    counters: Vec<(usize, i64)>,
}

type Pairs<'a> = Vec<(&'a [u8], &'a [u8])>;

impl<'a> Merge<'a> {
    fn run(&mut self) -> Result<Merged> {
        let mut content = ObjectBuilder::new(Arc::clone(&self.binding.fields.object_type));
        let (mut changed, mut counters) = (Vec::new(), Vec::new());
        for position in 0..self.binding.info.fields.len() {
            let field = self.binding.field(position)?;
            let base =
                (!self.base.unread.contains(&position)).then(|| pairs_of(&self.base.data, field));
            let is_unread = self.present.unread.contains(&position);
            let present = match &base {
                // A field that cannot be read counts as unchanged.
                Some(base) if is_unread => base.clone(),
                _ => pairs_of(&self.present.data, field),
            };
            if is_unread && base.is_none() {
                // Only when the object has moved can the field be compared.
                changed.push(position);
                continue;
            }
            let mut must_be_set = false;
            let merged = match self.counted(field, base.as_ref())? {
                Some(by) => {
                    if by != 0 {
                        counters.push((position, by));
                    }
                    present.clone()
                }
                None => {
                    // The object may have the value under a newer name, so the default that is read
                    // here does not show that nothing needs to be changed.
                    must_be_set = self.present.lacks(self.binding, position)
                        && base.as_ref() != Some(&pairs_of(self.wanted, field));
                    self.field(field, base, &present)
                }
            };
            if merged != present || must_be_set {
                changed.push(position);
            }
            for (key, value) in merged {
                content.push_pair(field.storage_id, key, value);
            }
        }
        Ok(Merged { content: content.finish(), changed, counters })
    }

    /// The number that was added to a counter since it was loaded; `None` for other fields, and for
    /// a counter whose loaded number is not known.
    fn counted(&self, field: &ResolvedField, base: Option<&Pairs<'_>>) -> Result<Option<i64>> {
        let (ResolvedKind::Counter, Some(base)) = (&field.kind, base) else {
            return Ok(None);
        };
        let base = match base[..] {
            [] => 0,
            [(_, bytes)] => bytes.try_into().map(i64::from_be_bytes).map_err(|_| {
                let reason = format!("{} is no counter in it", self.binding.path(field));
                Error::DamagedBase { reason }
            })?,
            _ => {
                let reason = format!("{} has several numbers in it", self.binding.path(field));
                return Err(Error::DamagedBase { reason });
            }
        };
        Ok(Some(self.wanted.counter(field)?.wrapping_sub(base)))
    }

    /// The new content of a field.
    fn field(
        &mut self,
        field: &'a ResolvedField,
        base: Option<Pairs<'a>>,
        present: &Pairs<'a>,
    ) -> Pairs<'a> {
        let wanted = pairs_of(self.wanted, field);
        if wanted == *present || base.as_ref() == Some(&wanted) {
            return present.clone();
        }
        if base.as_ref() == Some(present) {
            return wanted;
        }
        match (&field.kind, base) {
            (ResolvedKind::Set { .. } | ResolvedKind::Map { .. }, Some(base)) => {
                self.entries(field, &base, present, &wanted)
            }
            (_, base) => {
                let loaded = base.map(|base| text(field, &base));
                self.note(
                    field.full_name.to_string(),
                    loaded,
                    text(field, present),
                    text(field, &wanted),
                );
                present.clone()
            }
        }
    }

    /// The new content of a set or map.
    fn entries(
        &mut self,
        field: &ResolvedField,
        base: &Pairs<'a>,
        present: &Pairs<'a>,
        wanted: &Pairs<'a>,
    ) -> Pairs<'a> {
        let mut entries: BTreeMap<&[u8], [Option<&[u8]>; 3]> = BTreeMap::new();
        for (at, pairs) in [base, present, wanted].into_iter().enumerate() {
            for &(key, value) in pairs {
                if let Some(place) = entries.entry(key).or_default().get_mut(at) {
                    *place = Some(value);
                }
            }
        }
        let mut merged = Vec::new();
        for (key, [base, present, wanted]) in entries {
            let value = if wanted == base || wanted == present {
                present
            } else if base == present {
                wanted
            } else {
                let (name, value_of) = entry(field, key);
                self.note(name, Some(value_of(base)), value_of(present), value_of(wanted));
                present
            };
            merged.extend(value.map(|value| (key, value)));
        }
        merged
    }

    fn note(&mut self, field: String, loaded: Option<String>, present: String, wanted: String) {
        self.found.push(ChangedField { field, loaded, present, wanted });
    }
}

/// The name of an entry of a map, and what makes its values texts.
fn entry<'f>(
    field: &'f ResolvedField,
    key: &[u8],
) -> (String, impl Fn(Option<&[u8]>) -> String + use<'f>) {
    let parts = match &field.kind {
        ResolvedKind::Map { key, value } => Some((key.simple(), value.simple())),
        _ => None,
    };
    let (of_key, of_value) = parts.unwrap_or_default();
    let name = format!("{}[{}]", field.full_name, value_text(of_key, key));
    let text = move |value: Option<&[u8]>| match value {
        Some(value) => value_text(of_value, value),
        None => "absent".to_owned(),
    };
    (name, text)
}

/// The content of a field, for messages.
fn text(field: &ResolvedField, pairs: &Pairs<'_>) -> String {
    match &field.kind {
        ResolvedKind::Simple(simple) => {
            let stored = pairs.first().map(|(_, value)| *value);
            match stored.or(simple.default.as_deref()) {
                Some(value) => value_text(Some(simple), value),
                None => "its default".to_owned(),
            }
        }
        ResolvedKind::Counter => {
            match pairs.first().map(|(_, value)| <[u8; 8]>::try_from(*value)) {
                None => "0".to_owned(),
                Some(Ok(count)) => i64::from_be_bytes(count).to_string(),
                Some(Err(_)) => "damaged".to_owned(),
            }
        }
        ResolvedKind::List { element } => {
            let values = pairs.iter().map(|(_, value)| value_text(element.simple(), value));
            format!("[{}]", some_of(values))
        }
        ResolvedKind::Set { element } => {
            let values = pairs.iter().map(|(value, _)| value_text(element.simple(), value));
            format!("{{{}}}", some_of(values))
        }
        ResolvedKind::Map { key, value } => {
            let entries = pairs.iter().map(|(of_key, of_value)| {
                let key = value_text(key.simple(), of_key);
                format!("{key}: {}", value_text(value.simple(), of_value))
            });
            format!("{{{}}}", some_of(entries))
        }
    }
}

/// The first few of several texts, and how many there are.
fn some_of(texts: impl ExactSizeIterator<Item = String>) -> String {
    const SHOWN: usize = 3;
    let count = texts.len();
    let shown = texts.take(SHOWN).collect::<Vec<_>>().join(", ");
    if count > SHOWN { format!("{shown}, … {count} in all") } else { shown }
}
