//! The facts about objects that a transaction caches: schema and type.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use permazen_kv::KeySpan;

use super::error::hex;
use super::{Error, Result, Transaction};
use crate::id::{ObjId, StorageId};
use crate::layout::{self, SchemaIndex};
use crate::schema::{ResolvedType, Schema};

/// Whether an operation first moves the object to the transaction's schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Migrate {
    /// The object stays in its schema. That schema's definition of the field applies.
    #[default]
    No,
    /// The object is moved to the transaction's schema if it is in another one.
    Yes,
}

/// The schema and type of an object.
#[derive(Debug, Clone)]
pub(crate) struct ObjectInfo {
    pub(crate) schema: SchemaIndex,
    /// `None` if the schema is not recorded or does not have the type.
    pub(crate) object_type: Option<Arc<ResolvedType>>,
}

/// Remembers the infos of up to 2048 objects, four in each bucket. If a bucket is full, a new
/// object replaces the oldest one.
#[derive(Debug, Default)]
struct InfoCache {
    buckets: Vec<[Option<(ObjId, ObjectInfo)>; WAYS]>,
    used: usize,
}

const WAYS: usize = 4;
const FIRST_BUCKETS: usize = 4;
const MOST_BUCKETS: usize = 512;

fn bucket(id: ObjId, buckets: usize) -> usize {
    let number = u64::from_be_bytes(id.to_bytes());
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize & (buckets - 1)
}

fn is_of(entry: &Option<(ObjId, ObjectInfo)>, id: ObjId) -> bool {
    matches!(entry, Some((known, _)) if *known == id)
}

impl InfoCache {
    #[inline]
    fn peek(&self, id: ObjId) -> Option<&ObjectInfo> {
        let buckets = self.buckets.len();
        if buckets == 0 {
            return None;
        }
        let entries = self.buckets.get(bucket(id, buckets))?;
        entries.iter().flatten().find(|(known, _)| *known == id).map(|(_, info)| info)
    }

    fn insert(&mut self, id: ObjId, info: ObjectInfo) {
        let buckets = self.buckets.len();
        // The table grows when it is half full, up to its largest size.
        if 2 * self.used >= WAYS * buckets && buckets < MOST_BUCKETS {
            let old = std::mem::take(&mut self.buckets);
            let more = (4 * buckets).clamp(FIRST_BUCKETS, MOST_BUCKETS);
            self.buckets.resize_with(more, Default::default);
            self.used = 0;
            for (id, info) in old.into_iter().flatten().flatten() {
                self.put(id, info);
            }
        }
        self.put(id, info);
    }

    fn put(&mut self, id: ObjId, info: ObjectInfo) {
        let at = bucket(id, self.buckets.len());
        let Some(entries) = self.buckets.get_mut(at) else { return };
        if let Some(entry) = entries.iter_mut().find(|entry| is_of(entry, id)) {
            *entry = Some((id, info));
            return;
        }
        // The newest entry is the first one. If there is no room, the last one is dropped.
        let place = entries.iter().position(Option::is_none);
        self.used += usize::from(place.is_some());
        if let Some(newer) = entries.get_mut(..=place.unwrap_or(WAYS - 1)) {
            newer.rotate_right(1);
        }
        if let Some(first) = entries.first_mut() {
            *first = Some((id, info));
        }
    }

    fn remove(&mut self, id: ObjId) {
        let buckets = self.buckets.len();
        if buckets > 0
            && let Some(entries) = self.buckets.get_mut(bucket(id, buckets))
            && let Some(entry) = entries.iter_mut().find(|entry| is_of(entry, id))
        {
            // The place is free again, so it must not count as used.
            *entry = None;
            self.used -= 1;
        }
    }

    fn clear(&mut self) {
        self.buckets.iter_mut().flatten().for_each(|entry| *entry = None);
        self.used = 0;
    }
}

/// The cached facts about objects.
#[derive(Default)]
pub(super) struct Infos {
    cache: RefCell<InfoCache>,
    /// How many operations had been undone at the last look-up.
    as_of: Cell<u64>,
}

impl Infos {
    #[inline]
    fn peek<R>(&self, undone: u64, id: ObjId, read: impl FnOnce(&ObjectInfo) -> R) -> Option<R> {
        // When an operation is undone, the remembered facts may be wrong, so all of them are
        // dropped.
        if self.as_of.replace(undone) != undone {
            self.clear();
        }
        self.cache.borrow().peek(id).map(read)
    }

    pub(super) fn clear(&self) {
        self.cache.borrow_mut().clear();
    }
}

impl Transaction {
    /// Shows the schema and type of an object to `read` if this transaction knows them. Does not
    /// read the store.
    #[inline]
    pub(super) fn known_info<R>(
        &self,
        id: ObjId,
        read: impl FnOnce(&ObjectInfo) -> R,
    ) -> Option<R> {
        self.infos.peek(self.store.undone(), id, read)
    }

    /// The schema and type of an object; `None` if there is no such object. An ID of unknown type
    /// is not that of an object. Cost: nothing if the object is known in this transaction,
    /// otherwise one get.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] or [`Error::InvalidObjectVersion`] if the meta-data are damaged.
    pub(crate) fn find_info(&self, id: ObjId) -> Result<Option<ObjectInfo>> {
        match self.info_of_known_type(id) {
            // Only the caller knows whether an unknown type is an error.
            Err(Error::UnknownType { .. }) => Ok(None),
            found => found,
        }
    }

    /// Whether it helps to say which objects will be read soon.
    #[inline]
    pub(crate) fn prefetches(&self) -> bool {
        self.store.prefetches()
    }

    /// Says that all of these objects will be read soon. Cost: nothing.
    #[inline]
    pub(crate) fn prefetch_objects(&self, ids: &[ObjId]) {
        if !self.store.prefetches() {
            return;
        }
        let end =
            |id: &ObjId| u64::from_be_bytes(id.to_bytes()).checked_add(1).map(u64::to_be_bytes);
        let ends: Vec<Option<[u8; 8]>> = ids.iter().map(end).collect();
        let spans = ids.iter().zip(&ends);
        let span =
            spans.map(|(id, end)| KeySpan::new(id.as_bytes(), end.as_ref().map(|end| &end[..])));
        self.store.prefetch(&span.collect::<Vec<_>>());
    }

    /// Asks the store for these objects, which will be read soon. This does not decode them, so
    /// damaged ones are no error. Cost: one get for each object that is not known in this
    /// transaction.
    pub(crate) fn fetch_objects(&self, ids: &[ObjId]) -> Result<()> {
        self.check_open()?;
        self.prefetch_objects(ids);
        for &id in ids {
            if self.known_info(id, |_| ()).is_none() && self.is_object_type(id.storage_id()) {
                // The pair is asked for and not decoded, so damage is found when the object is
                // used.
                let found = self.store.contains(id.as_bytes());
                found.map_err(|error| error.about(|| self.named(id)))?;
            }
        }
        Ok(())
    }

    /// Does the same as [`Transaction::find_info`], but fails with [`Error::UnknownType`] if no
    /// recorded schema has a type for the ID.
    fn info_of_known_type(&self, id: ObjId) -> Result<Option<ObjectInfo>> {
        self.check_open()?;
        if let Some(info) = self.known_info(id, ObjectInfo::clone) {
            return Ok(Some(info));
        }
        let storage_id = id.storage_id();
        if !self.is_object_type(storage_id) {
            return Err(Error::UnknownType { name: format!("#{storage_id}"), schema: None });
        }
        // The first use of an object mostly reads its fields, which come after its own pair.
        self.prefetch_objects(&[id]);
        self.store
            .get(id.as_bytes(), |value| value.map(|value| self.info_from(id, value)))
            .map_err(|error| error.about(|| self.named(id)))?
            .transpose()
    }

    /// Whether a recorded schema has an object type with this storage ID.
    pub(super) fn is_object_type(&self, storage_id: StorageId) -> bool {
        self.with_bundle(|bundle| bundle.has_type(storage_id))
    }

    /// Passes to `read` the information about an object of a known type that this transaction does
    /// not know yet, and the value of one of its keys, which comes soon after its own. Cost: two
    /// gets, or one and a few steps.
    ///
    /// # Errors
    /// [`Error::DeletedObject`]; damaged meta-data.
    pub(super) fn with_own_pair<R>(
        &self,
        id: ObjId,
        near: &[u8],
        read: impl FnOnce(&ObjectInfo, Option<&[u8]>) -> Result<R>,
    ) -> Result<R> {
        self.prefetch_objects(&[id]);
        self.store.get_near(id.as_bytes(), near, |found| match found {
            Some((own, value)) => read(&self.info_from(id, own)?, value),
            None => Err(self.deleted(id)),
        })?
    }

    /// Does the same for an object that will be changed. `read` must not use the store.
    pub(super) fn with_own_pair_to_put<R>(
        &self,
        id: ObjId,
        near: &[u8],
        read: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R> {
        self.prefetch_objects(&[id]);
        self.store.get_to_put(id.as_bytes(), near, |found| match found {
            Some((own, value)) => self.info_from(id, own).map(|_| read(value)),
            None => Err(self.deleted(id)),
        })?
    }

    /// The schema and type of an object, from the value of its own pair. They are remembered.
    pub(super) fn info_from(&self, id: ObjId, value: &[u8]) -> Result<ObjectInfo> {
        let info = self.parse_info(id, value)?;
        self.remember(id, info.clone());
        Ok(info)
    }

    /// The schema and type of an object, from the value of its own pair.
    pub(super) fn parse_info(&self, id: ObjId, value: &[u8]) -> Result<ObjectInfo> {
        // Schema index 0 is the empty schema, which has no objects.
        if value.first() == Some(&0) {
            return Err(Error::InvalidObjectVersion { id, index: 0 });
        }
        let schema = layout::parse_object_info(value).map_err(|what| {
            Error::inconsistent(format!("{} (value {}): {what}", self.named(id), hex(value, 16)))
        })?;
        let object_type = self.with_bundle(|bundle| {
            let schema = bundle.schema(schema)?;
            schema.type_by_storage_id(id.storage_id()).map(Arc::clone)
        });
        Ok(ObjectInfo { schema, object_type })
    }

    pub(crate) fn remember(&self, id: ObjId, info: ObjectInfo) {
        // A read without conflict detection must not replace a later read that needs it.
        if self.store.reads_untracked() {
            return;
        }
        self.infos.cache.borrow_mut().insert(id, info);
    }

    pub(crate) fn forget(&self, id: ObjId) {
        self.infos.cache.borrow_mut().remove(id);
    }

    /// The schema and type of an object that must exist. Costs as much as
    /// [`Transaction::find_info`].
    ///
    /// # Errors
    /// [`Error::UnknownType`]; [`Error::DeletedObject`]; damaged meta-data.
    pub(crate) fn info(&self, id: ObjId) -> Result<ObjectInfo> {
        self.info_of_known_type(id)?.ok_or_else(|| self.deleted(id))
    }

    /// The type of an object in its own schema.
    pub(crate) fn type_of_info(&self, id: ObjId, info: ObjectInfo) -> Result<Arc<ResolvedType>> {
        if let Some(object_type) = info.object_type {
            return Ok(object_type);
        }
        Err(match self.bundle().schema(info.schema) {
            None => Error::InvalidObjectVersion { id, index: info.schema.get() },
            Some(schema) => Error::UnknownType {
                name: format!("#{} of object {id}", id.storage_id()),
                schema: Some(schema.id),
            },
        })
    }

    /// The type of an object for reading, as its own schema defines it. With [`Migrate::Yes`] the
    /// object is first moved to the transaction's schema.
    ///
    /// # Errors
    /// [`Error::UnknownType`], [`Error::DeletedObject`], [`Error::TypeNotInSchema`], damaged
    /// meta-data.
    pub(crate) fn type_for_reading(
        &self,
        id: ObjId,
        migrate: Migrate,
    ) -> Result<Arc<ResolvedType>> {
        let mut info = self.info(id)?;
        if migrate == Migrate::Yes && info.schema != self.schema_index() {
            self.migrate_for_good(id)?;
            // A listener to the move may have changed what is known.
            info = self.info(id)?;
        }
        self.type_of_info(id, info)
    }

    /// Moves an object to the transaction's schema and checks that it is still there afterwards.
    pub(crate) fn migrate_for_good(&self, id: ObjId) -> Result<()> {
        self.migrate(id)?;
        self.check_current(id)
    }

    /// Refuses an object that was moved to the transaction's schema, but that a listener to the
    /// move has deleted or moved to another schema.
    pub(in crate::object) fn check_current(&self, id: ObjId) -> Result<()> {
        if self.is_current(id)? {
            return Ok(());
        }
        Err(Error::SchemaMismatch {
            what: format!(
                "{} was moved to the schema of the transaction, and by a listener to that on to another one",
                self.named(id)
            ),
        })
    }

    /// The type of an object for changing it. An ID of unknown type counts as that of a deleted
    /// object.
    ///
    /// # Errors
    /// [`Error::DeletedObject`], [`Error::TypeNotInSchema`], damaged meta-data.
    pub(crate) fn type_for_writing(
        &self,
        id: ObjId,
        migrate: Migrate,
    ) -> Result<Arc<ResolvedType>> {
        let mut info = self.find_info(id)?.ok_or_else(|| self.deleted(id))?;
        if migrate == Migrate::Yes && info.schema != self.schema_index() {
            self.migrate_to_change(id)?;
            info = self.info(id)?;
        }
        self.type_of_info(id, info)
    }

    /// Moves an object to the transaction's schema if it has another one. The object must exist.
    /// Cost: no read if the object has the schema and is known in this transaction.
    pub(crate) fn require_current(&self, id: ObjId) -> Result<()> {
        if !self.is_current(id)? {
            self.migrate_for_good(id)?;
        }
        Ok(())
    }

    /// The type of an object that is changed through a view, as its own schema defines it.
    pub(crate) fn require_object_type(&self, id: ObjId) -> Result<Arc<ResolvedType>> {
        self.type_for_writing(id, Migrate::No)
    }

    /// Whether an object exists. An ID of no known type is not that of an object. Cost: nothing if
    /// the object is known in this transaction, otherwise one get.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] or [`Error::InvalidObjectVersion`] if the meta-data are damaged;
    /// [`Error::Ended`].
    pub fn exists(&self, id: ObjId) -> Result<bool> {
        Ok(self.find_info(id)?.is_some())
    }

    /// The type of an object, as the object's own schema defines it. Costs as much as
    /// [`Transaction::exists`].
    ///
    /// # Errors
    /// [`Error::DeletedObject`]; [`Error::UnknownType`]; [`Error::InvalidObjectVersion`] if its
    /// schema is not recorded; [`Error::Inconsistent`] if the meta-data are damaged.
    pub fn object_type(&self, id: ObjId) -> Result<Arc<ResolvedType>> {
        let info = self.info(id)?;
        self.type_of_info(id, info)
    }
}

/// Items for the project's own crates: they change without notice.
#[doc(hidden)]
impl Transaction {
    /// The schema of an object. Costs as much as [`Transaction::exists`].
    ///
    /// # Errors
    /// The errors of [`Transaction::object_type`].
    pub fn object_schema(&self, id: ObjId) -> Result<Arc<Schema>> {
        let info = self.info(id)?;
        self.bundle()
            .schema(info.schema)
            .map(Arc::clone)
            .ok_or(Error::InvalidObjectVersion { id, index: info.schema.get() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_grows_and_forgets() {
        let mut cache = InfoCache::default();
        let id = |n: u64| ObjId::from_bytes((0x0a00_0000_0000_0000 | n).to_be_bytes()).unwrap();
        let info = |n: u32| ObjectInfo { schema: SchemaIndex::new(n).unwrap(), object_type: None };
        for n in 0..5000 {
            cache.insert(id(n), info(n as u32));
            assert_eq!(cache.peek(id(n)).unwrap().schema.get(), n as u32);
        }
        assert_eq!(cache.buckets.len(), MOST_BUCKETS);
        assert!(cache.used <= WAYS * MOST_BUCKETS);
        let recent = (4000..5000).filter(|n| cache.peek(id(*n)).is_some()).count();
        assert!(recent > 900, "{recent} of the last 1000 are known");
        cache.remove(id(4999));
        assert!(cache.peek(id(4999)).is_none());
        cache.clear();
        assert_eq!(cache.used, 0);
        assert!((0..5000).all(|n| cache.peek(id(n)).is_none()));
    }
}
