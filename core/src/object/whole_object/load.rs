//! Loading whole objects (docs/src/objects.md#creating-reading-changing).

use std::ops::ControlFlow;
use std::sync::Arc;

use permazen_kv::KeySpan;

use super::data::ObjectData;
use crate::id::ObjId;
use crate::object::info::{Migrate, ObjectInfo};
use crate::object::store::visit_pairs;
use crate::object::{Result, Transaction};
use crate::schema::{ResolvedField, ResolvedKind, ResolvedType};

/// Loading objects.
impl Transaction {
    /// Everything that an object contains. Cost: one seek and a forward scan of its pairs.
    ///
    /// # Errors
    /// [`UnknownType`](crate::object::Error::UnknownType);
    /// [`DeletedObject`](crate::object::Error::DeletedObject);
    /// [`TypeNotInSchema`](crate::object::Error::TypeNotInSchema) with [`Migrate::Yes`];
    /// [`Inconsistent`](crate::object::Error::Inconsistent) or
    /// [`InvalidObjectVersion`](crate::object::Error::InvalidObjectVersion) if the meta-data are
    /// damaged.
    pub fn load(&self, id: ObjId, migrate: Migrate) -> Result<ObjectData> {
        let mut data = None;
        self.visit(id, migrate, |object_type, pair| {
            match (&mut data, pair) {
                // The first call has no pair. It gives the type, which says how much room to make.
                (None, _) => data = Some(ObjectData::with_room(id, object_type)),
                (Some(data), Some((field, rest, value))) => {
                    data.push_pair(field.storage_id, rest, value);
                }
                (Some(_), None) => {}
            }
            Ok(())
        })?;
        data.ok_or_else(|| self.deleted(id))
    }

    /// Returns `false` if nothing was visited because the object must be migrated first.
    fn scan_object(
        &self,
        id: ObjId,
        migrate: Migrate,
        visit: &mut impl FnMut(
            &Arc<ResolvedType>,
            Option<(&Arc<ResolvedField>, &[u8], &[u8])>,
        ) -> Result<()>,
    ) -> Result<bool> {
        // No ID begins with ff, so there is a next one.
        let end = u64::from_be_bytes(id.to_bytes()).wrapping_add(1).to_be_bytes();
        let span = KeySpan::new(id.as_bytes(), Some(&end));
        // An object that is known need not have its own pair decoded.
        let mut known = self.known_info(id, ObjectInfo::clone);
        self.store
            .read(|kv| {
                let mut object: Option<Arc<ResolvedType>> = None;
                let mut outdated = false;
                let mut position = 0;
                visit_pairs(kv, span, |key, value| {
                    let Some(object_type) = &object else {
                        // The first key is the object's own pair. Without it there is no object.
                        if *key != *id.as_bytes() {
                            return Ok(ControlFlow::Break(()));
                        }
                        let info = known.take().map_or_else(|| self.info_from(id, value), Ok)?;
                        // The move cannot be made here, because the store is lent.
                        if migrate == Migrate::Yes && info.schema != self.schema_index() {
                            outdated = true;
                            return Ok(ControlFlow::Break(()));
                        }
                        let object_type = object.insert(self.type_of_info(id, info)?);
                        visit(object_type, None)?;
                        return Ok(ControlFlow::Continue(()));
                    };
                    let content = key.get(ObjId::LEN..).unwrap_or_default();
                    // Fields and keys are in the same order, so one pass finds the field of each
                    // key.
                    while let Some(field) = object_type.field_by_order(position) {
                        if let Some(rest) = content.strip_prefix(&field.key[..]) {
                            let kind = &field.kind;
                            let single =
                                matches!(kind, ResolvedKind::Simple(_) | ResolvedKind::Counter);
                            if single && !rest.is_empty() {
                                // This key is longer than the field's own key, so it is not part of
                                // the object.
                                break;
                            }
                            let count = match kind {
                                ResolvedKind::Counter => self.counter_out(field, value)?,
                                // A damaged counter is shown as it is stored, so that the caller
                                // can see the damage.
                                _ => None,
                            };
                            let value = count.as_ref().map_or(value, |count| &count[..]);
                            visit(object_type, Some((field, rest, value)))?;
                            break;
                        }
                        if content < &field.key[..] {
                            // This key belongs to no field, so it is not part of the object.
                            break;
                        }
                        position += 1;
                    }
                    Ok(ControlFlow::Continue(()))
                })?;
                if outdated {
                    return Ok(false);
                }
                if object.is_none() {
                    self.type_name(id.storage_id())?;
                    return Err(self.deleted(id));
                }
                Ok(true)
            })
            .map_err(|error| error.about(|| self.named(id)))
    }
}

/// Items for the project's own crates: they change without notice.
#[doc(hidden)]
impl Transaction {
    /// Visits everything that is stored for an object, while its bytes are borrowed. First comes
    /// its type, without a pair. Then comes each stored pair, by field storage ID and key: the
    /// field, the rest of the key after the field, and the value. The rest of the key after the
    /// field is the element of a set, the encoded position in a list, or the key of a map;
    /// otherwise it is empty.
    ///
    /// Fields with default values have no pair. Counters have eight bytes, most significant first,
    /// in every store. `visit` must not change anything. With [`Migrate::Yes`] an object in another
    /// schema is first moved to the transaction's schema. Cost: one seek and a forward scan.
    ///
    /// # Errors
    /// [`UnknownType`](crate::object::Error::UnknownType);
    /// [`DeletedObject`](crate::object::Error::DeletedObject);
    /// [`TypeNotInSchema`](crate::object::Error::TypeNotInSchema) with [`Migrate::Yes`];
    /// [`Inconsistent`](crate::object::Error::Inconsistent) or
    /// [`InvalidObjectVersion`](crate::object::Error::InvalidObjectVersion) if the
    /// meta-data are damaged; errors of `visit`.
    pub fn visit(
        &self,
        id: ObjId,
        migrate: Migrate,
        mut visit: impl FnMut(
            &Arc<ResolvedType>,
            Option<(&Arc<ResolvedField>, &[u8], &[u8])>,
        ) -> Result<()>,
    ) -> Result<()> {
        self.check_open()?;
        if migrate == Migrate::Yes {
            let known = self.known_info(id, |info| info.schema);
            // For an object that is not known yet, the scan below checks the schema.
            // Moving before the scan saves reading the pairs twice.
            if known.is_some_and(|schema| schema != self.schema_index()) {
                self.migrate_for_good(id)?;
            }
        }
        match self.scan_object(id, migrate, &mut visit)? {
            true => Ok(()),
            false => {
                self.migrate_for_good(id)?;
                // The object was moved just now, so it is not asked again for its schema.
                self.scan_object(id, Migrate::No, &mut visit).map(|_| ())
            }
        }
    }
}
