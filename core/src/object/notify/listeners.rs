//! The listeners, and the events for which each is called (docs/src/listeners.md).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::change::FieldChange;
use crate::id::{ObjId, StorageId};
use crate::object::reference::{IdFilter, PathStep};
use crate::object::whole_object::ObjectData;
use crate::object::{Error, Result, Transaction};
use crate::schema::{ItemKind, ResolvedType, SchemaBundle, SchemaId};

/// Called after an object was created, before `create` returns.
pub type CreateListener = Arc<dyn Fn(&Transaction, ObjId) -> Result<()> + Send + Sync>;
/// Called before an object is deleted, while it still exists. The last argument lists the objects
/// from which the path leads to it, in ascending order. The list is never empty.
pub type DeleteListener = Arc<dyn Fn(&Transaction, ObjId, &[ObjId]) -> Result<()> + Send + Sync>;
/// Called after an object was moved to another schema. If the object moved for a change that is
/// then refused, the move is undone, and listeners are called again when the object moves the next
/// time.
pub type SchemaChangeListener =
    Arc<dyn Fn(&Transaction, &SchemaChange) -> Result<()> + Send + Sync>;
/// Called after a field was changed. The last argument lists the objects from which the path leads
/// to the changed one, in ascending order. The list is never empty.
pub type FieldListener =
    Arc<dyn Fn(&Transaction, &FieldChange, &[ObjId]) -> Result<()> + Send + Sync>;

/// A move of an object to another schema, as listeners to schema changes get it.
#[derive(Debug)]
#[non_exhaustive]
pub struct SchemaChange {
    /// The object.
    pub id: ObjId,
    /// The schema that it had.
    pub old_schema: SchemaId,
    /// The schema that it has now.
    pub new_schema: SchemaId,
    /// The old values of all its fields, as the old schema defines them. References are included as
    /// IDs.
    pub old: ObjectData,
    /// Its type in the new schema.
    pub new_type: Arc<ResolvedType>,
}

/// The name of a registration, with which you can remove it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ListenerId(u64);

/// Which objects are watched, and which objects observe them.
///
/// Without steps, objects observe themselves. With steps, the path leads from the observing objects
/// to the watched ones. Objects that are not at the end of such a path are not watched. After each
/// watched change, the transaction walks the path backwards. Cost: one get for each object on the
/// way, or one seek and a step per object.
///
/// ```
/// use permazen::StorageId;
/// use permazen::object::{IdFilter, PathStep, Watch};
///
/// // members of the teams of one department
/// fn members(department: permazen::ObjId, teams: StorageId, members: StorageId) -> Watch {
///     let path = vec![PathStep::Forward(teams), PathStep::Forward(members)];
///     let filters = vec![Some(IdFilter::of_ids([department])), None, None];
///     Watch::filtered(path, filters).expect("one more filter than steps")
/// }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watch {
    path: Vec<PathStep>,
    filters: Vec<Option<IdFilter>>,
}

impl Watch {
    /// Objects observe themselves.
    pub fn itself() -> Self {
        Watch { path: Vec::new(), filters: vec![None] }
    }

    /// Objects at the beginning of this path observe those at its end.
    pub fn along(path: impl IntoIterator<Item = PathStep>) -> Self {
        let path: Vec<_> = path.into_iter().collect();
        let filters = vec![None; path.len() + 1];
        Watch { path, filters }
    }

    /// Objects at the beginning of this path observe those at its end. Each position on the path
    /// has a filter, which may be `None`: before the first step, after the first step, and so on.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is not exactly one more filter than steps.
    pub fn filtered(path: Vec<PathStep>, filters: Vec<Option<IdFilter>>) -> Result<Self> {
        if filters.len() != path.len() + 1 {
            return Err(Error::invalid_argument(format!(
                "a path of {} steps takes {} filters, not {}",
                path.len(),
                path.len() + 1,
                filters.len()
            )));
        }
        Ok(Watch { path, filters })
    }

    /// The steps from the observing objects to the watched ones.
    pub fn path(&self) -> &[PathStep] {
        &self.path
    }

    /// The filter at a position. Position 0 is that of the observing objects; the last position,
    /// whose number is the number of steps, is that of the watched ones.
    pub fn filter(&self, position: usize) -> Option<&IdFilter> {
        self.filters.get(position).and_then(Option::as_ref)
    }

    /// Whether objects of this type can be watched.
    fn watches_type(&self, storage_id: StorageId) -> bool {
        self.filter(self.path.len()).is_none_or(|filter| filter.allows_some_of(storage_id))
    }

    /// Whether this object can be watched.
    pub(crate) fn watches(&self, id: ObjId) -> bool {
        self.filter(self.path.len()).is_none_or(|filter| filter.allows(id))
    }

    fn check(&self, bundle: &SchemaBundle) -> Result<()> {
        // The path is checked when it is registered, not when it is walked in the middle of a
        // change.
        for step in &self.path {
            let item = bundle.item(step.storage_id());
            if item.is_none_or(|item| item.kind() != ItemKind::ReferenceField) {
                return Err(Error::UnknownField {
                    type_name: None,
                    field: format!("#{} (as a step of a reference path)", step.storage_id()),
                });
            }
        }
        Ok(())
    }

    /// The same watch in a database that gives items other storage IDs. `now` returns the storage
    /// ID of an item there, or `None` if the item is not there. Returns `None` if the path has a
    /// step that is not there.
    fn renumbered(&self, now: impl Fn(StorageId) -> Option<StorageId>) -> Option<Watch> {
        let step = |step: &PathStep| match *step {
            PathStep::Forward(id) => now(id).map(PathStep::Forward),
            PathStep::Inverse(id) => now(id).map(PathStep::Inverse),
        };
        let filter = |filter: &IdFilter| filter.renumbered(&now);
        Some(Watch {
            // A path with a step that is not there cannot lead to any object.
            path: self.path.iter().map(step).collect::<Option<_>>()?,
            filters: self.filters.iter().map(|found| found.as_ref().map(filter)).collect(),
        })
    }
}

/// One registration of a listener to fields or deletions.
pub(crate) struct Monitor<L: ?Sized> {
    id: ListenerId,
    pub(crate) watch: Watch,
    pub(crate) listener: Arc<L>,
}

impl<L: ?Sized> Clone for Monitor<L> {
    fn clone(&self) -> Self {
        Monitor { id: self.id, watch: self.watch.clone(), listener: Arc::clone(&self.listener) }
    }
}

type Create = dyn Fn(&Transaction, ObjId) -> Result<()> + Send + Sync;
pub(crate) type Delete = dyn Fn(&Transaction, ObjId, &[ObjId]) -> Result<()> + Send + Sync;
type Schema = dyn Fn(&Transaction, &SchemaChange) -> Result<()> + Send + Sync;
type Field = dyn Fn(&Transaction, &FieldChange, &[ObjId]) -> Result<()> + Send + Sync;

/// A listener, and the events for which it is called.
#[derive(Clone)]
enum Registered {
    Created(StorageId, Arc<Create>),
    SchemaChanged(StorageId, Arc<Schema>),
    Deleted(Watch, Arc<Delete>),
    Field(StorageId, Watch, Arc<Field>),
}

impl Registered {
    /// The same registration in a database that gives items other storage IDs. `now` returns the
    /// storage ID of an item there, or `None` if the item is not there. Returns `None` if nothing
    /// there can call the listener.
    fn renumbered(&self, now: impl Fn(StorageId) -> Option<StorageId>) -> Option<Registered> {
        Some(match self {
            Registered::Created(id, listener) => {
                Registered::Created(now(*id)?, Arc::clone(listener))
            }
            Registered::SchemaChanged(id, listener) => {
                Registered::SchemaChanged(now(*id)?, Arc::clone(listener))
            }
            Registered::Deleted(watch, listener) => {
                Registered::Deleted(watch.renumbered(now)?, Arc::clone(listener))
            }
            Registered::Field(id, watch, listener) => {
                Registered::Field(now(*id)?, watch.renumbered(&now)?, Arc::clone(listener))
            }
        })
    }
}

/// A registration as it was made.
#[derive(Clone)]
struct Registration {
    id: ListenerId,
    /// The recorded schemas that give its storage IDs their meaning.
    bundle: Arc<SchemaBundle>,
    registered: Registered,
}

impl Registration {
    /// The registration with the storage IDs that these recorded schemas give to its items; `None`
    /// if they lack the items.
    fn among(&self, bundle: &Arc<SchemaBundle>) -> Option<Registered> {
        // Usually these are the schemas for which it was made.
        if Arc::ptr_eq(&self.bundle, bundle) {
            return Some(self.registered.clone());
        }
        self.registered.renumbered(|id| match self.bundle.item(id) {
            Some(item) => bundle.storage_id(item.schema_id),
            // This storage ID had no item, so it stays the same number.
            None => Some(id),
        })
    }
}

/// Listeners that can be installed in any number of transactions.
///
/// A registration is for items: the types and fields that have its storage IDs in the recorded
/// schemas for which the set was made. In a transaction with other recorded schemas, the set uses
/// the storage IDs that the same items have there; they are nearly always the same. If an item is
/// not recorded there, its listeners are not called.
///
/// Cost: cloning takes time proportional to the number of registrations. A transaction takes a
/// shared set for free ([`Transaction::set_listeners`]), but the first one that has other recorded
/// schemas makes a clone.
#[derive(Clone)]
pub struct ListenerSet {
    registrations: Vec<Registration>,
    /// The recorded schemas whose storage IDs are the keys of the following maps.
    bundle: Arc<SchemaBundle>,
    created: BTreeMap<StorageId, Vec<(ListenerId, Arc<Create>)>>,
    schema_changed: BTreeMap<StorageId, Vec<(ListenerId, Arc<Schema>)>>,
    deleted: Vec<Monitor<Delete>>,
    fields: BTreeMap<StorageId, Vec<Monitor<Field>>>,
    elsewhere: Elsewhere,
}

/// The set with the storage IDs of other recorded schemas: the last ones with which it was
/// installed.
#[derive(Default)]
struct Elsewhere(Mutex<Option<Arc<ListenerSet>>>);

impl Clone for Elsewhere {
    /// A clone is made to be changed, so it begins without one.
    fn clone(&self) -> Self {
        Elsewhere::default()
    }
}

impl fmt::Debug for ListenerSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListenerSet")
            .field("created", &self.created.len())
            .field("schema_changed", &self.schema_changed.len())
            .field("deleted", &self.deleted.len())
            .field("fields", &self.fields.len())
            .finish_non_exhaustive()
    }
}

/// An ID that no listener of any set has, so that the ID of one set means nothing to another.
fn next_id() -> ListenerId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    ListenerId(NEXT.fetch_add(1, Ordering::Relaxed))
}

impl ListenerSet {
    /// An empty set, for transactions that see these recorded schemas.
    #[doc(hidden)]
    pub fn new(bundle: Arc<SchemaBundle>) -> Self {
        ListenerSet {
            registrations: Vec::new(),
            bundle,
            created: BTreeMap::new(),
            schema_changed: BTreeMap::new(),
            deleted: Vec::new(),
            fields: BTreeMap::new(),
            elsewhere: Elsewhere::default(),
        }
    }

    /// Watches the creation of objects of a type. Adding the same `Arc` again has no effect.
    ///
    /// # Errors
    /// [`Error::UnknownType`] if no recorded schema has the type.
    #[doc(hidden)]
    pub fn on_create(
        &mut self,
        object_type: StorageId,
        listener: CreateListener,
    ) -> Result<ListenerId> {
        self.check_type(object_type)?;
        Ok(self.add(Registered::Created(object_type, listener)))
    }

    /// Watches moves of objects of a type to another schema. Adding the same `Arc` again has no
    /// effect.
    ///
    /// # Errors
    /// [`Error::UnknownType`] if no recorded schema has the type.
    #[doc(hidden)]
    pub fn on_schema_change(
        &mut self,
        object_type: StorageId,
        listener: SchemaChangeListener,
    ) -> Result<ListenerId> {
        self.check_type(object_type)?;
        Ok(self.add(Registered::SchemaChanged(object_type, listener)))
    }

    /// Watches deletions. Adding the same `Arc` with an equal watch again has no effect.
    ///
    /// # Errors
    /// [`Error::UnknownField`] if a step of the path does not name a reference field of a recorded
    /// schema.
    #[doc(hidden)]
    pub fn on_delete(&mut self, watch: Watch, listener: DeleteListener) -> Result<ListenerId> {
        watch.check(&self.bundle)?;
        Ok(self.add(Registered::Deleted(watch, listener)))
    }

    /// Watches changes of the field with this storage ID: a simple field, set, list or map.
    /// Listeners are not called for counters, nor under the storage ID of a sub-field. The field
    /// need not exist. Adding the same `Arc` with an equal watch again has no effect.
    ///
    /// # Errors
    /// [`Error::UnknownField`] if a step of the path does not name a reference field of a recorded
    /// schema.
    #[doc(hidden)]
    pub fn on_change(
        &mut self,
        field: StorageId,
        watch: Watch,
        listener: FieldListener,
    ) -> Result<ListenerId> {
        watch.check(&self.bundle)?;
        Ok(self.add(Registered::Field(field, watch, listener)))
    }

    fn add(&mut self, registered: Registered) -> ListenerId {
        // Adding the same listener again has no effect.
        if let Some(known) = self.known(&registered) {
            return known;
        }
        let (id, bundle) = (next_id(), Arc::clone(&self.bundle));
        self.insert(id, &registered);
        self.registrations.push(Registration { id, bundle, registered });
        // The set that was made for other schemas lacks the new listener.
        self.elsewhere = Elsewhere::default();
        id
    }

    /// The same registration, if there is one.
    fn known(&self, registered: &Registered) -> Option<ListenerId> {
        fn plain<L: ?Sized>(
            list: Option<&Vec<(ListenerId, Arc<L>)>>,
            listener: &Arc<L>,
        ) -> Option<ListenerId> {
            let mut list = list?.iter();
            list.find(|(_, other)| Arc::ptr_eq(other, listener)).map(|(id, _)| *id)
        }
        fn monitor<L: ?Sized>(
            list: Option<&Vec<Monitor<L>>>,
            watch: &Watch,
            listener: &Arc<L>,
        ) -> Option<ListenerId> {
            // The same listener may watch along several paths, and is called for each of them.
            let is_known = |other: &&Monitor<L>| {
                other.watch == *watch && Arc::ptr_eq(&other.listener, listener)
            };
            list?.iter().find(is_known).map(|other| other.id)
        }
        match registered {
            Registered::Created(id, listener) => plain(self.created.get(id), listener),
            Registered::SchemaChanged(id, listener) => plain(self.schema_changed.get(id), listener),
            Registered::Deleted(watch, listener) => monitor(Some(&self.deleted), watch, listener),
            Registered::Field(id, watch, listener) => monitor(self.fields.get(id), watch, listener),
        }
    }

    fn insert(&mut self, id: ListenerId, registered: &Registered) {
        match registered.clone() {
            Registered::Created(of, listener) => {
                self.created.entry(of).or_default().push((id, listener));
            }
            Registered::SchemaChanged(of, listener) => {
                self.schema_changed.entry(of).or_default().push((id, listener));
            }
            Registered::Deleted(watch, listener) => {
                self.deleted.push(Monitor { id, watch, listener });
            }
            Registered::Field(of, watch, listener) => {
                self.fields.entry(of).or_default().push(Monitor { id, watch, listener });
            }
        }
    }

    /// Removes a registration. Does nothing if there is no such registration.
    #[doc(hidden)]
    pub fn remove(&mut self, id: ListenerId) {
        self.registrations.retain(|registration| registration.id != id);
        self.elsewhere = Elsewhere::default();
        self.created.values_mut().for_each(|list| list.retain(|(other, _)| *other != id));
        self.created.retain(|_, list| !list.is_empty());
        self.schema_changed.values_mut().for_each(|list| list.retain(|(other, _)| *other != id));
        self.schema_changed.retain(|_, list| !list.is_empty());
        self.deleted.retain(|monitor| monitor.id != id);
        self.fields.values_mut().for_each(|list| list.retain(|monitor| monitor.id != id));
        self.fields.retain(|_, list| !list.is_empty());
    }

    /// Removes all registrations after the first `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        let added: Vec<_> = self.registrations.iter().skip(len).map(|it| it.id).collect();
        added.into_iter().for_each(|id| self.remove(id));
    }

    /// The number of registrations.
    pub(super) fn len(&self) -> usize {
        self.registrations.len()
    }

    /// Whether there are no listeners.
    #[doc(hidden)]
    pub fn is_empty(&self) -> bool {
        self.registrations.is_empty()
    }

    fn check_type(&self, object_type: StorageId) -> Result<()> {
        match self.bundle.item(object_type) {
            Some(item) if item.kind() == ItemKind::ObjectType => Ok(()),
            _ => Err(Error::UnknownType { name: format!("#{object_type}"), schema: None }),
        }
    }

    /// The set with the storage IDs of these recorded schemas.
    pub(crate) fn among(&self, bundle: &Arc<SchemaBundle>) -> ListenerSet {
        let mut set = ListenerSet::new(Arc::clone(bundle));
        for registration in &self.registrations {
            if let Some(registered) = registration.among(bundle) {
                set.insert(registration.id, &registered);
            }
        }
        // Registrations of items that are not here are kept: later schemas may have these items.
        set.registrations.clone_from(&self.registrations);
        set
    }

    /// Does the same as [`ListenerSet::among`], but keeps the result for the next call with the
    /// same recorded schemas.
    pub(crate) fn shared_among(self: Arc<Self>, bundle: &Arc<SchemaBundle>) -> Arc<Self> {
        // Nearly always, nothing has to change.
        if self.is_for(bundle) {
            return self;
        }
        // The lock is held while the set is made, so that other threads wait for it and do not make
        // it too.
        let mut elsewhere = self.elsewhere.0.lock().unwrap_or_else(PoisonError::into_inner);
        match elsewhere.as_ref().filter(|set| set.is_for(bundle)) {
            Some(set) => Arc::clone(set),
            None => Arc::clone(elsewhere.insert(Arc::new(self.among(bundle)))),
        }
    }

    fn is_for(&self, bundle: &Arc<SchemaBundle>) -> bool {
        // The same schemas may have been decoded twice. Their storage IDs are equal then.
        Arc::ptr_eq(&self.bundle, bundle) || self.bundle.tables() == bundle.tables()
    }

    /// Whether changes of this field in objects of this type are watched.
    pub(crate) fn watches_field(&self, field: StorageId, object_type: StorageId) -> bool {
        !self.fields.is_empty()
            && self
                .fields
                .get(&field)
                .is_some_and(|list| list.iter().any(|m| m.watch.watches_type(object_type)))
    }

    /// Whether changes of any field in objects of this type are watched.
    pub(crate) fn watches_any_field(&self, object_type: &ResolvedType) -> bool {
        !self.fields.is_empty()
            && object_type
                .fields
                .iter()
                .any(|field| self.watches_field(field.storage_id, object_type.storage_id))
    }

    /// Whether deletions of objects of this type are watched.
    pub(crate) fn watches_deletion(&self, object_type: StorageId) -> bool {
        self.deleted.iter().any(|monitor| monitor.watch.watches_type(object_type))
    }

    pub(crate) fn watches_creation(&self, object_type: StorageId) -> bool {
        !self.of_creation(object_type).is_empty()
    }

    pub(crate) fn of_creation(&self, object_type: StorageId) -> &[(ListenerId, Arc<Create>)] {
        self.created.get(&object_type).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn of_schema_change(&self, object_type: StorageId) -> &[(ListenerId, Arc<Schema>)] {
        self.schema_changed.get(&object_type).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn of_deletion(&self) -> &[Monitor<Delete>] {
        &self.deleted
    }

    pub(crate) fn of_field(&self, field: StorageId) -> &[Monitor<Field>] {
        self.fields.get(&field).map_or(&[], Vec::as_slice)
    }
}
