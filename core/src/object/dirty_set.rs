//! The objects of a transaction that have changed in a way that the rules of the layer above must
//! be checked for.
//!
//! The layer above says once what it wants to know ([`WatchedFields`]). The operations of this
//! layer then note each creation and each change of a watched field here. An operation that is
//! undone leaves its notes: then an object is checked once too often, which does no harm. For the
//! same reason, a check within an operation leaves the notes.

use std::cell::{Cell, Ref, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::whole_object::ObjectData;
use crate::id::{ObjId, StorageId};

/// Which changes are noted, by the storage ID of the type.
#[derive(Debug, Default)]
pub(crate) struct WatchedFields(pub(crate) BTreeMap<StorageId, WatchedType>);

/// Which changes of the objects of a type are noted.
#[derive(Debug, Default)]
pub(crate) struct WatchedType {
    /// Creations, and what counts as one.
    pub(crate) created: bool,
    /// Changes of any field.
    pub(crate) any: bool,
    /// Changes of these fields.
    pub(crate) fields: BTreeSet<StorageId>,
    /// Simple fields that get null.
    pub(crate) required: Vec<NullAs>,
    /// Collections that get pairs with a null.
    pub(crate) required_in: Vec<NullIn>,
}

impl WatchedType {
    /// The fields that are null in an object with this content, or have a null, but may not.
    pub(crate) fn nulls_in(&self, content: &ObjectData) -> impl Iterator<Item = StorageId> {
        let simple = self.required.iter();
        let simple = simple.filter(|it| it.is_null_in(content) == Some(true));
        let simple = simple.map(|it| it.field);
        let collections = self.required_in.iter();
        let collections = collections.filter(|null| null.is_in_any(content));
        simple.chain(collections.map(|null| null.field))
    }

    /// The fields that have null in `new`, and had values in `old`, which is in another schema.
    fn lost(&self, old: &ObjectData, new: &ObjectData) -> impl Iterator<Item = StorageId> {
        let simple = self.required.iter().filter(|to| to.is_null_in(new) == Some(true));
        let simple = simple.map(|to| to.field).filter(|field| {
            let mut before = self.required.iter().filter(|from| from.field == *field);
            before.any(|from| from.is_null_in(old) == Some(false))
        });
        let collections = self.required_in.iter().filter(|to| to.is_in_any(new));
        let collections = collections.map(|to| to.field).filter(|field| {
            let mut before = self.required_in.iter().filter(|from| from.field == *field);
            !before.any(|from| from.is_in_any(old))
        });
        simple.chain(collections)
    }
}

/// How a simple field that may not be null can be null in the database.
#[derive(Debug, Clone)]
pub(crate) struct NullAs {
    /// The field that is null. In another schema, it may be another one, of another kind.
    pub(crate) stored: StorageId,
    /// The bytes of null; `None` if the field cannot be null there.
    pub(crate) null: Option<Vec<u8>>,
    /// The field that is noted.
    pub(crate) field: StorageId,
}

impl NullAs {
    /// Whether this is null.
    fn is(&self, value: &[u8]) -> bool {
        self.null.as_deref() == Some(value)
    }

    /// Whether the field is null, or an empty collection; `None` if the object lacks it.
    fn is_null_in(&self, content: &ObjectData) -> Option<bool> {
        let field = content.object_type().field_by_storage_id(self.stored)?;
        Some(match content.simple_or_default(field) {
            Some(value) => self.is(value),
            None => !field.is_counter() && content.pairs(field).len() == 0,
        })
    }
}

/// The bytes of null in the pairs of a collection, where it may not have any.
#[derive(Debug, Clone)]
pub(crate) struct NullIn {
    /// The set, list or map that gets them. In another schema, it may be another one.
    pub(crate) stored: StorageId,
    /// The field that is noted.
    pub(crate) field: StorageId,
    /// In the key, after the field: an element of a set, or a key of a map.
    pub(crate) key: Option<Vec<u8>>,
    /// In the value: an element of a list, or a value of a map.
    pub(crate) value: Option<Vec<u8>>,
}

impl NullIn {
    /// Whether there is one in this pair.
    #[inline]
    pub(crate) fn is_in(&self, (key, value): (&[u8], &[u8])) -> bool {
        self.key.as_deref() == Some(key) || self.value.as_deref() == Some(value)
    }

    /// Whether there is one in the collection.
    fn is_in_any(&self, content: &ObjectData) -> bool {
        content.pairs_of(self.stored).any(|pair| self.is_in(pair))
    }
}

/// The changes of an object.
#[derive(Debug, Default, Clone)]
pub(crate) struct Touched {
    /// Everything: it was created, or is to be checked anew.
    pub(crate) whole: bool,
    /// These watched fields.
    pub(crate) fields: BTreeSet<StorageId>,
    /// These fields became null, or got a pair with a null.
    pub(crate) nulls: BTreeSet<StorageId>,
}

impl Touched {
    /// Adds the changes of `other`.
    pub(crate) fn add(&mut self, other: Touched) {
        self.whole |= other.whole;
        self.fields.extend(other.fields);
        self.nulls.extend(other.nulls);
    }
}

/// Changed objects, in the order of their IDs.
pub(crate) type TouchedObjects = BTreeMap<ObjId, Touched>;

/// The changes that a transaction notes.
#[derive(Debug, Default)]
pub(crate) struct DirtySet {
    watched: RefCell<Option<Arc<WatchedFields>>>,
    /// Whether nothing is noted by itself.
    paused: Cell<bool>,
    /// Whether each operation is checked at its end.
    early: Cell<bool>,
    /// Whether an operation runs that will be checked, or a check.
    checking: Cell<bool>,
    /// Whether an assignment of the same value is no change.
    exact: Cell<bool>,
    objects: RefCell<TouchedObjects>,
}

impl DirtySet {
    /// From now on, notes these changes.
    pub(crate) fn watch(&self, watched: &Arc<WatchedFields>) {
        // If nothing is watched, a change need not look anything up.
        let watched = (!watched.0.is_empty()).then(|| Arc::clone(watched));
        self.watched.replace(watched);
    }

    /// Sets whether changes are noted, and whether each operation is checked at its end.
    pub(crate) fn set(&self, paused: bool, early: bool) {
        self.paused.set(paused);
        self.early.set(early);
    }

    /// The watched parts of an object.
    #[inline]
    fn watched(&self, id: ObjId) -> Option<Ref<'_, WatchedType>> {
        if self.paused.get() { None } else { self.always_watched(id) }
    }

    /// The watched parts of an object while changes are noted.
    #[inline]
    fn always_watched(&self, id: ObjId) -> Option<Ref<'_, WatchedType>> {
        Ref::filter_map(self.watched.borrow(), |all| all.as_ref()?.0.get(&id.storage_id())).ok()
    }

    /// Whether changes of an object may be noted.
    #[inline]
    pub(crate) fn watches(&self, id: ObjId) -> bool {
        self.watched(id).is_some()
    }

    /// Notes that a field has changed. A simple field has the value `new`.
    #[inline]
    pub(crate) fn field(&self, id: ObjId, field: StorageId, new: Option<&[u8]>) {
        // Most transactions watch nothing of a type, so this comes first.
        let Some(watched) = self.watched(id) else { return };
        let is_watched = watched.any || watched.fields.contains(&field);
        let null = new.and_then(|new| {
            let null = watched.required.iter().find(|it| it.stored == field && it.is(new));
            null.map(|it| it.field)
        });
        if is_watched || null.is_some() {
            let mut objects = self.objects.borrow_mut();
            let touched = objects.entry(id).or_default();
            touched.fields.extend(is_watched.then_some(field));
            touched.nulls.extend(null);
        }
    }

    /// Notes that a collection has got these pairs.
    #[inline]
    pub(crate) fn pairs<'p>(
        &self,
        id: ObjId,
        field: StorageId,
        mut pairs: impl Iterator<Item = (&'p [u8], &'p [u8])>,
    ) {
        let Some(watched) = self.watched(id) else { return };
        // Only pairs that hold a null can break a rule about collections.
        let Some(null) = watched.required_in.iter().find(|null| null.stored == field) else {
            return;
        };
        if pairs.any(|pair| null.is_in(pair)) {
            self.objects.borrow_mut().entry(id).or_default().nulls.insert(null.field);
        }
    }

    /// Notes that an object was created with this content, or is to be treated like that.
    pub(crate) fn created(&self, id: ObjId, content: &ObjectData) {
        let Some(watched) = self.watched(id) else { return };
        let mut nulls = watched.nulls_in(content).peekable();
        if watched.created || nulls.peek().is_some() {
            let mut objects = self.objects.borrow_mut();
            let touched = objects.entry(id).or_default();
            touched.whole |= watched.created;
            touched.nulls.extend(nulls);
        }
    }

    /// Notes that an object has moved to another schema to be changed. Its content was `old` and is
    /// `new`. Values that it lacked before are not the fault of the change.
    pub(crate) fn moved(&self, id: ObjId, old: &ObjectData, new: &ObjectData) {
        let Some(watched) = self.watched(id) else { return };
        let touched = Touched {
            whole: watched.created,
            fields: BTreeSet::new(),
            nulls: watched.lost(old, new).collect(),
        };
        // An entry without content would make a check look the object up for nothing.
        if touched.whole || !touched.nulls.is_empty() {
            self.add(id, touched);
        }
    }

    /// Notes that everything about an object is to be checked, even while nothing is noted by
    /// itself.
    pub(crate) fn everything(&self, id: ObjId) {
        let Some(watched) = self.always_watched(id) else { return };
        let simple = watched.required.iter().map(|it| it.field);
        let nulls = simple.chain(watched.required_in.iter().map(|null| null.field)).collect();
        let touched = Touched { whole: true, fields: BTreeSet::new(), nulls };
        self.add(id, touched);
    }

    /// Until the returned guard is dropped, an assignment of the same value is no change.
    pub(super) fn only_differences(&self) -> OnlyDifferences<'_> {
        OnlyDifferences { exact: &self.exact, before: self.exact.replace(true) }
    }

    /// Whether an assignment of the same value is no change. Otherwise it may be noted as one, so
    /// that the old value need not be read.
    #[inline]
    pub(super) fn needs_difference(&self) -> bool {
        self.exact.get()
    }

    /// Whether nothing is noted.
    pub(crate) fn is_empty(&self) -> bool {
        self.objects.borrow().is_empty()
    }

    /// How many objects are noted.
    pub(crate) fn len(&self) -> usize {
        self.objects.borrow().len()
    }

    /// The first object that is noted.
    pub(crate) fn first(&self) -> Option<ObjId> {
        self.objects.borrow().keys().next().copied()
    }

    /// A copy of the noted changes.
    pub(super) fn noted(&self) -> TouchedObjects {
        self.objects.borrow().clone()
    }

    /// Takes the noted changes.
    pub(crate) fn take(&self) -> TouchedObjects {
        self.objects.take()
    }

    /// Adds changes that were taken earlier. Hooks that check can create many objects, each of
    /// which is noted, so the smaller of the two is moved.
    pub(crate) fn put_back(&self, mut objects: TouchedObjects) {
        let mut all = self.objects.borrow_mut();
        if all.len() < objects.len() {
            std::mem::swap(&mut *all, &mut objects);
        }
        for (id, touched) in objects {
            all.entry(id).or_default().add(touched);
        }
    }

    /// Adds one object.
    pub(crate) fn add(&self, id: ObjId, touched: Touched) {
        self.objects.borrow_mut().entry(id).or_default().add(touched);
    }

    /// Whether each operation is checked at its end.
    pub(super) fn checks_early(&self) -> bool {
        self.early.get()
    }

    /// Begins a check, or an operation that ends with one. Until the returned guard is dropped, no
    /// other begins. `None` if one has begun.
    pub(super) fn begin_check(&self) -> Option<Checking<'_>> {
        // Checks change objects too. Their operations are part of the check and are not checked
        // apart.
        (!self.checking.replace(true)).then(|| Checking(self))
    }

    /// Begins an operation that is checked at its end; `None` if this one is not. Until the
    /// returned guard is dropped, only the changes of the operation are noted.
    #[inline]
    pub(super) fn begin_early(&self) -> Option<EarlyCheck<'_>> {
        if !self.early.get() {
            return None;
        }
        let checking = self.begin_check()?;
        Some(EarlyCheck { before: self.take(), checking })
    }
}

/// A check, or an operation that ends with one.
pub(super) struct Checking<'n>(&'n DirtySet);

impl Drop for Checking<'_> {
    fn drop(&mut self) {
        self.0.checking.set(false);
    }
}

/// Lets the same value count as a change again when dropped.
pub(super) struct OnlyDifferences<'n> {
    exact: &'n Cell<bool>,
    before: bool,
}

impl Drop for OnlyDifferences<'_> {
    fn drop(&mut self) {
        self.exact.set(self.before);
    }
}

/// An operation that is checked at its end.
pub(super) struct EarlyCheck<'n> {
    /// The changes noted before it.
    before: TouchedObjects,
    checking: Checking<'n>,
}

impl Drop for EarlyCheck<'_> {
    /// The operation was checked, or undone.
    fn drop(&mut self) {
        self.checking.0.objects.replace(std::mem::take(&mut self.before));
    }
}
