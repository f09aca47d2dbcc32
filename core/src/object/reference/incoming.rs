//! Incoming references of an object: the fields that can refer to it, the objects that do, and
//! their delete actions.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use permazen_kv::{Direction, KeySpan};

use super::check::field_or_part;
use super::types::{Going, GoingTypes};
use crate::id::{ObjId, StorageId};
use crate::layout::{self, index_key, index_prefix};
use crate::object::error::hex;
use crate::object::id_set::{IdSet, any_id};
use crate::object::store::LiveScan;
use crate::object::{Error, Result, Transaction};
use crate::schema::{
    BundleItem, DeleteAction, ItemKind, ReferenceInfo, ResolvedField, ResolvedPart, ResolvedType,
    SchemaBundle, SubFieldRole,
};

/// A reference field or sub-field, in all the types and schemas that have it.
#[derive(Debug)]
pub(crate) struct Incoming {
    /// Its storage ID.
    pub(crate) field: StorageId,
    places: Vec<ReferenceInfo>,
    /// Whether it is one half of the entries of a map whose other half is a reference too,
    /// anywhere.
    pub(super) shares_entries: bool,
}

impl Incoming {
    /// Whether an object with such a field may demand this action when an object of that type is
    /// deleted.
    pub(super) fn may_ask(&self, action: DeleteAction, target: StorageId) -> bool {
        self.places.iter().any(|place| asks(place, action, target))
    }

    /// Whether all objects with such a field demand this action.
    fn always_asks(&self, action: DeleteAction, target: StorageId) -> bool {
        self.places.iter().all(|place| asks(place, action, target))
    }
}

fn asks(place: &ReferenceInfo, action: DeleteAction, target: StorageId) -> bool {
    place.inverse_delete == action && place.allows(target)
}

/// Recorded schemas, with their reference fields and the delete actions of these.
#[derive(Debug)]
struct Collected {
    bundle: Arc<SchemaBundle>,
    incoming: Arc<[Incoming]>,
    going: Arc<OnceLock<GoingTypes>>,
}

/// The reference fields of a database by ascending storage ID, for the schemas that were used last.
#[derive(Debug, Default)]
pub(in crate::object) struct IncomingCache(Mutex<Option<Collected>>);

impl IncomingCache {
    fn with<R>(&self, bundle: &Arc<SchemaBundle>, read: impl FnOnce(&Collected) -> R) -> R {
        // The content is replaced as a whole, so a panic elsewhere cannot damage it.
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = cached.as_ref().filter(|known| Arc::ptr_eq(&known.bundle, bundle)) {
            return read(known);
        }
        read(cached.insert(Collected {
            bundle: Arc::clone(bundle),
            incoming: collect(bundle).into(),
            going: Arc::default(),
        }))
    }
}

fn collect(bundle: &SchemaBundle) -> Vec<Incoming> {
    let references = bundle.items().iter().filter(|item| item.kind() == ItemKind::ReferenceField);
    let incoming = |item: &Arc<BundleItem>| {
        let fields = || {
            // Each schema and type can have its own rule for the field, so all of them are
            // collected.
            item.occurrences.iter().filter_map(|occurrence| match &occurrence.part {
                ResolvedPart::Field(field) => Some(field),
                _ => None,
            })
        };
        Incoming {
            field: item.storage_id,
            places: fields().filter_map(|field| field.reference().cloned()).collect(),
            shares_entries: item.occurrences.iter().any(|it| match &it.part {
                ResolvedPart::Field(field) => is_beside_a_reference(&it.object_type, field),
                _ => false,
            }),
        }
    };
    references.map(incoming).collect()
}

/// Whether a field is one half of the entries of a map whose other half is a reference too.
fn is_beside_a_reference(object_type: &ResolvedType, field: &ResolvedField) -> bool {
    let parent = field.parent.as_ref();
    let map = parent.and_then(|parent| object_type.field_by_storage_id(parent.storage_id));
    map.is_some_and(|map| map.sub_fields().filter(|half| half.is_reference()).count() > 1)
}

/// The object ID in the key of an index entry, after the value.
fn holder_in(key: &[u8], prefix_len: usize) -> Result<ObjId> {
    layout::object_after(key, prefix_len)
        .ok_or_else(|| Error::inconsistent(format!("key {} is no index entry", hex(key, 64))))
}

impl Transaction {
    /// The objects that refer to `target` through the reference field or sub-field with this
    /// storage ID, in ascending order. The set is live: it reads the index. It contains referring
    /// objects of all types and schemas. Nothing is read until the set is used. Cost then: one seek
    /// and a step per entry.
    pub fn referrers(&self, field: StorageId, target: ObjId) -> IdSet<'_> {
        let prefix = index_prefix(&field.into(), target.as_bytes());
        IdSet::of_keys(self.store(), prefix, any_id())
    }

    /// Visits the objects that refer to `target` through the reference field or sub-field with this
    /// storage ID, in ascending order, each once. They may have any type and schema. Cost: one seek
    /// and one step per entry.
    pub(crate) fn each_holder(
        &self,
        field: StorageId,
        target: ObjId,
        mut visit: impl FnMut(ObjId),
    ) -> Result<()> {
        let prefix = index_prefix(&field.into(), target.as_bytes());
        let end = layout::prefix_end(&prefix);
        let mut last = None;
        self.store.each(KeySpan::new(&prefix, end.as_deref()), |key, _| {
            let holder = holder_in(key, prefix.len())?;
            // A list or map may refer to one object several times. The entries of a holder follow
            // each other.
            if last != Some(holder) {
                last = Some(holder);
                visit(holder);
            }
            Ok(())
        })
    }

    /// Whether the content of `holder` refers to `target` through the reference field or sub-field
    /// with this storage ID. Cost: one get. For list elements and map values: one seek, and one get
    /// for each index entry until one matches the content.
    pub(in crate::object) fn refers(
        &self,
        holder: ObjId,
        field: StorageId,
        target: ObjId,
    ) -> Result<bool> {
        let object_type = self.find_info(holder)?.and_then(|info| info.object_type);
        // An object of a schema without its type has no known fields, so it refers to nothing.
        let Some(object_type) = object_type else { return Ok(false) };
        let Some((own, part)) = field_or_part(&object_type, field) else { return Ok(false) };
        let mut key = layout::field_key(holder, &own.key);
        let is_target = |value: Option<&[u8]>| value == Some(&target.as_bytes()[..]);
        match part.parent.as_ref().map(|parent| &parent.role) {
            None => self.store().get(&key, is_target),
            Some(SubFieldRole::SetElement | SubFieldRole::MapKey) => {
                key.extend_from_slice(target.as_bytes());
                self.store().contains(&key)
            }
            // Positions and map keys are only in the index entry, so each entry is compared with
            // its pair.
            Some(SubFieldRole::ListElement | SubFieldRole::MapValue) => {
                let prefix = index_key(&part.key, target.as_bytes(), holder, &[]);
                let len = key.len();
                let mut entries =
                    LiveScan::of_prefix(self.store(), &prefix, Direction::Forward, false);
                while let Some((entry, _)) = entries.next()? {
                    key.truncate(len);
                    key.extend_from_slice(entry.get(prefix.len()..).unwrap_or_default());
                    if self.store().get(&key, is_target)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }

    /// The reference fields of all recorded schemas, by ascending storage ID.
    pub(in crate::object) fn incoming(&self) -> Arc<[Incoming]> {
        self.shared.incoming.with(&self.bundle(), |known| Arc::clone(&known.incoming))
    }

    /// The types of objects that can go with one of this type, by all recorded schemas.
    pub(super) fn types_that_can_go_with(&self, object_type: StorageId) -> Going {
        let bundle = self.bundle();
        let going = self.shared.incoming.with(&bundle, |known| Arc::clone(&known.going));
        // This is found out without the lock, so that other threads need not wait for it.
        going.get_or_init(|| GoingTypes::of(&bundle)).going_with(object_type)
    }

    /// The objects that refer to `target` through this field and demand this action when it is
    /// deleted, in ascending order. The referring object's own schema and type decide. Cost: one
    /// seek and one step per referring object. If the schemas or types differ in the action, also
    /// one get for each referring object that is not known yet.
    pub(in crate::object) fn asking_holders(
        &self,
        incoming: &Incoming,
        target: ObjId,
        action: DeleteAction,
    ) -> Result<Vec<ObjId>> {
        let mut holders = Vec::new();
        let target_type = target.storage_id();
        // No schema asks for this, so the index is not read.
        if !incoming.may_ask(action, target_type) {
            return Ok(holders);
        }
        self.each_holder(incoming.field, target, |holder| holders.push(holder))?;
        // Where all schemas agree, the holders need not be looked up.
        if !holders.is_empty() && !incoming.always_asks(action, target_type) {
            let mut asking = Vec::with_capacity(holders.len());
            for holder in holders {
                if self.holder_asks(holder, incoming.field, action, target_type)? {
                    asking.push(holder);
                }
            }
            holders = asking;
        }
        Ok(holders)
    }

    /// The first object other than `target` that refers to it through this field and forbids its
    /// deletion. Cost: one seek; one step and up to two gets for each referring object, until one
    /// forbids the deletion.
    pub(in crate::object) fn refusing_holder(
        &self,
        incoming: &Incoming,
        target: ObjId,
    ) -> Result<Option<ObjId>> {
        let mut first = None;
        let _ = self.each_refusing_holder(incoming, target, &mut |holder| {
            first = Some(holder);
            ControlFlow::Break(())
        })?;
        Ok(first)
    }

    /// Shows `visit` the objects other than `target` that refer to it through this field and forbid
    /// its deletion, in ascending order, until it returns `Break`. Cost: one seek; one step and up
    /// to two gets for each referring object.
    pub(in crate::object) fn each_refusing_holder(
        &self,
        incoming: &Incoming,
        target: ObjId,
        visit: &mut dyn FnMut(ObjId) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let (action, target_type) = (DeleteAction::Exception, target.storage_id());
        // No schema asks for this, so the index is not read.
        if !incoming.may_ask(action, target_type) {
            return Ok(ControlFlow::Continue(()));
        }
        let prefix = index_prefix(&incoming.field.into(), target.as_bytes());
        let always = incoming.always_asks(action, target_type);
        let mut entries = LiveScan::of_prefix(self.store(), &prefix, Direction::Forward, false);
        let mut last = Some(target);
        while let Some((entry, _)) = entries.next()? {
            let holder = holder_in(entry, prefix.len())?;
            // An object may have several entries, and does not prevent its own deletion.
            if last == Some(holder) || holder == target {
                continue;
            }
            last = Some(holder);
            // An index entry without matching content is damage and does not count.
            // The schema of the holder is asked first: that is often known, and the content costs a
            // get.
            if (always || self.holder_asks(holder, incoming.field, action, target_type)?)
                && self.refers(holder, incoming.field, target)?
                && visit(holder).is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Whether an object demands this action, by its own schema and type.
    fn holder_asks(
        &self,
        holder: ObjId,
        field: StorageId,
        action: DeleteAction,
        target: StorageId,
    ) -> Result<bool> {
        let object_type = self.find_info(holder)?.and_then(|info| info.object_type);
        let place = object_type.as_deref().and_then(|object_type| {
            let (_, part) = field_or_part(object_type, field)?;
            part.reference()
        });
        Ok(place.is_some_and(|place| asks(place, action, target)))
    }
}
