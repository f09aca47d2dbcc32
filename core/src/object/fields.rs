//! Simple fields and references (docs/src/objects.md).

use std::sync::Arc;

use super::describe::{damaged, describe, unknown_default, unknown_field};
use super::info::{Migrate, ObjectInfo};
use super::notify::ChangeKind;
use super::reference::check_reference_type;
use super::store::Undo;
use super::transaction::Buffer;
use super::{Encoded, Error, Result, Transaction};
use crate::encoding::Value;
use crate::id::ObjId;
use crate::layout::{self, FieldKey};
use crate::schema::{ResolvedField, ResolvedKind, ResolvedSimple, ResolvedType};

fn simple_field<'a>(
    object_type: &'a ResolvedType,
    name: &str,
) -> Result<(&'a Arc<ResolvedField>, &'a ResolvedSimple)> {
    object_type
        .field(name)
        .and_then(|field| Some((field, field.simple()?)))
        .ok_or_else(|| unknown_field(object_type, name))
}

/// The simple field as the object's own schema defines it. `field` may come from another schema.
fn own_simple_field<'a>(
    object_type: &'a ResolvedType,
    field: &ResolvedField,
) -> Result<(&'a Arc<ResolvedField>, &'a ResolvedSimple)> {
    object_type
        .field_by_storage_id(field.storage_id)
        .and_then(|own| Some((own, own.simple()?)))
        .ok_or_else(|| unknown_field(object_type, &field.full_name))
}

/// The stored value of a field, or its default value.
fn or_default<'v>(
    id: ObjId,
    field: &ResolvedField,
    simple: &'v ResolvedSimple,
    value: Option<&'v [u8]>,
) -> Result<&'v [u8]> {
    value.or(simple.default.as_deref()).ok_or_else(|| unknown_default(id, field, simple))
}

/// The value of a field that was read together with its object's own pair, before the field is set.
struct ReadAhead<'t> {
    /// The number of changes then. If there are more now, the value may be another one.
    changes: u64,
    /// `None` if it has no pair.
    value: Option<Buffer<'t>>,
}

/// Where two entries of a composite index end in a buffer: first the entry with the old value of a
/// field, then the entry with its new value.
struct Exchanged {
    old_end: usize,
    new_end: usize,
}

/// Simple fields and references. The costs are those for an object that is known in this
/// transaction; for another object, each is one get more.
impl Transaction {
    /// The value of a simple field. Cost: one get.
    ///
    /// # Errors
    /// [`Error::UnknownType`], [`Error::DeletedObject`]; [`Error::UnknownField`], also if the field
    /// is of another kind; [`Error::TypeNotInSchema`] with [`Migrate::Yes`];
    /// [`Error::Inconsistent`] if the stored bytes are not a value of the field;
    /// [`Error::UnknownEncoding`] if the field has its default value, and the encoding that defines
    /// it is not known.
    pub fn get(&self, id: ObjId, field: &str, migrate: Migrate) -> Result<Value> {
        let object_type = self.type_for_reading(id, migrate)?;
        let (field, simple) = simple_field(&object_type, field)?;
        self.read_value(id, field, simple, |value| {
            simple.encoding.decode_all(value).map_err(|reason| {
                damaged(id, field, &FieldKey::new(id, &field.key), value, &reason)
            })
        })?
    }

    /// Whether an object need not move before it is read.
    #[inline]
    fn may_stay(&self, info: &ObjectInfo, migrate: Migrate) -> bool {
        migrate == Migrate::No || info.schema == self.schema_index()
    }

    /// Whether the object need not move first, and `field` is the definition of the field in the
    /// object's own schema.
    #[inline]
    fn has_field(&self, info: &ObjectInfo, field: &ResolvedField, migrate: Migrate) -> bool {
        let own = info.object_type.as_ref();
        let own = own.and_then(|own| own.field_by_storage_id(field.storage_id));
        self.may_stay(info, migrate) && own.is_some_and(|own| std::ptr::eq(&**own, field))
    }

    /// Reads a field without a search in the object's own schema, if `field` comes from there, as
    /// is usual; otherwise gives `read` back. If the object is not known yet, the field is read
    /// together with the object's own pair, which names its schema.
    #[inline]
    fn read_own<R, F: FnOnce(&[u8]) -> R>(
        &self,
        id: ObjId,
        field: &ResolvedField,
        migrate: Migrate,
        read: F,
    ) -> Result<Result<R, F>> {
        // Only simple fields have one pair. Fields of other kinds take the general way, which
        // refuses them.
        let Some(simple) = field.simple() else { return Ok(Err(read)) };
        match self.known_info(id, |info| self.has_field(info, field, migrate)) {
            Some(true) => self.read_value(id, field, simple, read).map(Ok),
            None if field.near && self.is_object_type(id.storage_id()) => {
                // The field has the same key in each schema.
                let key = FieldKey::new(id, &field.key);
                self.with_own_pair(id, &key, |info, value| {
                    // The schema of the object is known only now, so it decides here whether the
                    // object must move.
                    let own = info.object_type.as_deref().filter(|_| self.may_stay(info, migrate));
                    let own = own.and_then(|own| own_simple_field(own, field).ok());
                    let Some((own, simple)) = own else { return Ok(Err(read)) };
                    Ok(Ok(read(or_default(id, own, simple, value)?)))
                })
                .map_err(|error| error.about(|| describe(id, field)))
            }
            _ => Ok(Err(read)),
        }
    }

    fn read_value<R>(
        &self,
        id: ObjId,
        field: &ResolvedField,
        simple: &ResolvedSimple,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R> {
        let key = FieldKey::new(id, &field.key);
        let value = self.store.get(&key, |value| or_default(id, field, simple, value).map(read));
        value.map_err(|error| error.about(|| describe(id, field)))?
    }

    /// Sets a simple field.
    ///
    /// Cost if the field is neither indexed, nor part of a composite index, nor watched: one put
    /// (one delete for the default value). Otherwise one get and, if the value differs: one put or
    /// delete; one delete and one put for the index; for each composite index one get per other
    /// field, one delete and one put. For a reference that may not dangle: one more get, unless its
    /// target is known in this transaction.
    ///
    /// # Errors
    /// In this order: [`Error::DeletedObject`] (also for an ID of unknown type);
    /// [`Error::TypeNotInSchema`] with [`Migrate::Yes`]; [`Error::UnknownField`];
    /// [`Error::DeletedObject`] for a reference to a missing object; [`Error::InvalidValue`];
    /// [`Error::UnknownEncoding`] if the field is indexed or watched, had its default value, and
    /// the encoding that defines it is not known; [`Error::KeyTooLong`]. Errors of listeners: then
    /// the change stays.
    pub fn set(&self, id: ObjId, field: &str, value: &Value, migrate: Migrate) -> Result<()> {
        self.mutate(|| {
            let encode = |object_type: &ResolvedType, bytes: &mut Vec<u8>| {
                let (field, simple) = simple_field(object_type, field)?;
                // As in Java, a missing target is reported before a value that cannot be encoded.
                if let Value::Ref(target) = value {
                    self.check_reference_exists(id, field, target.as_bytes())?;
                }
                simple
                    .encoding
                    .encode(value, bytes)
                    .map_err(|source| Error::InvalidValue { field: describe(id, field), source })?;
                check_reference_type(id, field, bytes)
            };
            // A move checks the value first: an object must not move for a value that is refused
            // anyway.
            let object_type = self.type_for_setting(id, migrate, |object_type| {
                let mut bytes = Vec::new();
                encode(object_type, &mut bytes)?;
                Ok((simple_field(object_type, field)?.0.storage_id, bytes))
            })?;
            let mut bytes = self.buffer();
            encode(&object_type, &mut bytes)?;
            let (field, simple) = simple_field(&object_type, field)?;
            self.write_simple(id, &object_type, field, simple, None, &bytes)
        })
        .map_err(|error| error.about(|| format!("field {field} of {}", self.named(id))))
    }

    /// Reads the value of a field that will be set, if it will be needed and its object is not
    /// known yet: both are read together.
    fn read_ahead(&self, id: ObjId, field: &ResolvedField) -> Result<Option<ReadAhead<'_>>> {
        let is_indexed =
            field.simple().is_some_and(|simple| simple.indexed) || !field.indexes.is_empty();
        let is_known = || self.known_info(id, |_| ()).is_some();
        // With a known object the two gets would not become one, so there is nothing to read ahead.
        if !is_indexed || !field.near || is_known() || !self.is_object_type(id.storage_id()) {
            return Ok(None);
        }
        let key = FieldKey::new(id, &field.key);
        let value = self.with_own_pair_to_put(id, &key, |value| {
            value.map(|value| {
                let mut bytes = self.buffer();
                bytes.extend_from_slice(value);
                bytes
            })
        });
        let value = value.map_err(|error| error.about(|| self.named(id)))?;
        // The count is taken after the read, so that any later write makes the value that was read
        // stale.
        Ok(Some(ReadAhead { changes: self.store.changes().get(), value }))
    }

    /// Sets a simple field to an encoded value that was checked. Call it inside
    /// [`Transaction::mutate`].
    fn write_simple(
        &self,
        id: ObjId,
        object_type: &Arc<ResolvedType>,
        field: &Arc<ResolvedField>,
        simple: &ResolvedSimple,
        ahead: Option<ReadAhead<'_>>,
        new: &[u8],
    ) -> Result<()> {
        let monitored = self.is_monitored(object_type, field);
        let needs_old = simple.indexed || monitored || self.dirty_set.needs_difference();
        // Without index entries and listeners the old value is not needed, so it is not read.
        if !needs_old && field.indexes.is_empty() {
            self.store_simple(&FieldKey::new(id, &field.key), simple, new, Undo::Unread)?;
            self.dirty_set.field(id, field.storage_id, Some(new));
            return Ok(());
        }
        let key = FieldKey::new(id, &field.key);
        let mut old = self.buffer();
        // The object may have moved since, or a listener to the move may have set the field.
        let ahead = ahead.filter(|ahead| ahead.changes == self.store.changes().get());
        let stored = match ahead {
            Some(ReadAhead { value, .. }) => {
                old.extend_from_slice(or_default(
                    id,
                    field,
                    simple,
                    value.as_ref().map(|value| &value[..]),
                )?);
                value.is_some()
            }
            None => self.read_old(id, &key, field, simple, &mut old)?,
        };
        self.exchange(id, object_type, (field, simple), &key, (&old, stored), new)
    }

    /// Appends the value of a field to `old`. Returns whether it has a pair.
    fn read_old(
        &self,
        id: ObjId,
        key: &[u8],
        field: &ResolvedField,
        simple: &ResolvedSimple,
        old: &mut Vec<u8>,
    ) -> Result<bool> {
        self.store.get(key, |value| {
            old.extend_from_slice(or_default(id, field, simple, value)?);
            Ok(value.is_some())
        })?
    }

    /// Sets a simple field to an encoded value that was checked, if it has the value `only`. Call
    /// it inside [`Transaction::mutate`].
    pub(crate) fn exchange_simple(
        &self,
        id: ObjId,
        object_type: &Arc<ResolvedType>,
        field: &Arc<ResolvedField>,
        simple: &ResolvedSimple,
        only: &[u8],
        new: &[u8],
    ) -> Result<()> {
        let key = FieldKey::new(id, &field.key);
        let mut old = self.buffer();
        let stored = self.read_old(id, &key, field, simple, &mut old)?;
        // The content decides, not the index entry that led here: the entry may be damage.
        if old[..] != *only {
            return Ok(());
        }
        self.exchange(id, object_type, (field, simple), &key, (&old, stored), new)
    }

    /// Sets a simple field that has the value `old`, which may have a pair or not.
    fn exchange(
        &self,
        id: ObjId,
        object_type: &Arc<ResolvedType>,
        (field, simple): (&Arc<ResolvedField>, &ResolvedSimple),
        key: &[u8],
        (old, stored): (&[u8], bool),
        new: &[u8],
    ) -> Result<()> {
        // Nothing changes, so nothing is written and listeners are not called.
        if old == new {
            return Ok(());
        }
        let monitored = self.is_monitored(object_type, field);
        let mut entries = self.buffer();
        let mut ends = Vec::new();
        // Finds the old and new entries of composite indexes before the first write, like the
        // entries of the field's own index below.
        if !field.indexes.is_empty() {
            self.composite_entries(id, object_type, field, old, new, &mut entries, &mut ends)?;
        }
        let mut old_entry = self.buffer();
        let mut new_entry = self.buffer();
        if simple.indexed {
            for (entry, value) in [(&mut old_entry, old), (&mut new_entry, new)] {
                layout::append_index_key(&field.key, value, id, &[], entry);
            }
            // Before the first write, so that a value that is too long for the index changes
            // nothing.
            self.store
                .check_key(&new_entry)
                .map_err(|error| error.about(|| describe(id, field)))?;
        }
        // The old value is known here, so the journal need not read it again.
        self.store_simple(key, simple, new, if stored { Undo::Old(old) } else { Undo::Absent })?;
        if simple.indexed {
            self.store.remove_entry(&old_entry)?;
            self.store.put_entry(&new_entry)?;
        }
        let mut start = 0;
        for Exchanged { old_end, new_end } in ends {
            self.store.remove_entry(entries.get(start..old_end).unwrap_or_default())?;
            self.store.put_entry(entries.get(old_end..new_end).unwrap_or_default())?;
            start = new_end;
        }
        self.dirty_set.field(id, field.storage_id, Some(new));
        // `is_monitored` was asked before the writes: nothing in between can add a listener.
        if monitored {
            let kind = ChangeKind::Simple { old: old.into(), new: new.into() };
            self.queue_change(id, object_type, field, kind);
        }
        Ok(())
    }

    fn store_simple(
        &self,
        key: &[u8],
        simple: &ResolvedSimple,
        new: &[u8],
        undo: Undo<'_>,
    ) -> Result<()> {
        // The default value has no pair.
        if simple.is_default(new) {
            self.store.remove(key, undo)
        } else {
            self.store.put(key, new, undo)
        }
    }

    /// Appends two entries for each composite index with `field`: one with its old value, one with
    /// its new value.
    #[allow(clippy::too_many_arguments, reason = "the parts of one computation")]
    fn composite_entries(
        &self,
        id: ObjId,
        object_type: &ResolvedType,
        field: &ResolvedField,
        old: &[u8],
        new: &[u8],
        entries: &mut Vec<u8>,
        ends: &mut Vec<Exchanged>,
    ) -> Result<()> {
        for index in object_type.indexes_of(field) {
            let mut values = self.buffer();
            let mut own = 0;
            for member in &index.fields {
                // The old value of this field is known, so it is not read.
                if member.storage_id == field.storage_id {
                    own = values.len();
                    values.extend_from_slice(old);
                } else {
                    self.append_value(id, member, &mut values)?;
                }
            }
            layout::append_index_key(&index.key, &values, id, &[], entries);
            let old_end = entries.len();
            // Splices the new value into its place, so that the values of other members are read
            // only once.
            values.splice(own..own + old.len(), new.iter().copied());
            layout::append_index_key(&index.key, &values, id, &[], entries);
            self.store.check_key(entries.get(old_end..).unwrap_or_default()).map_err(|error| {
                error.about(|| format!("{} in index {:?}", describe(id, field), &*index.name))
            })?;
            ends.push(Exchanged { old_end, new_end: entries.len() });
        }
        Ok(())
    }

    /// Appends the encoded value of a simple field, which may be the default. Cost: one get.
    fn append_value(&self, id: ObjId, field: &ResolvedField, out: &mut Vec<u8>) -> Result<()> {
        let simple = field.simple().ok_or_else(|| {
            Error::inconsistent(format!("{} has an index but no values", describe(id, field)))
        })?;
        self.read_value(id, field, simple, |value| out.extend_from_slice(value))
    }
}

/// Items for the project's own crates: they change without notice.
#[doc(hidden)]
impl Transaction {
    /// The methods for resolved fields and encoded values. Reads nothing.
    ///
    /// ```
    /// # use permazen::ObjId;
    /// # use permazen::object::{Migrate, Result, Transaction};
    /// # use permazen::schema::ResolvedField;
    /// /// Copies a simple field, without decoding it, from one object to another.
    /// fn copy(tx: &Transaction, field: &ResolvedField, from: ObjId, to: ObjId) -> Result<()> {
    ///     let value = tx.encoded().get(from, field, Migrate::No, |bytes| bytes.to_vec())?;
    ///     tx.encoded().set(to, field, &value, Migrate::No)
    /// }
    /// ```
    pub fn encoded(&self) -> Encoded<'_, Self> {
        Encoded(self)
    }

    /// Whether a field has its default value. That is the default of a simple field, 0 for a
    /// counter, no elements for a collection. Cost: one get or seek.
    ///
    /// # Errors
    /// The errors of [`Transaction::get`], for fields of all kinds. A sub-field is an unknown field
    /// here.
    pub fn is_default(&self, id: ObjId, field: &str) -> Result<bool> {
        let object_type = self.type_for_reading(id, Migrate::No)?;
        let field = object_type.field(field).ok_or_else(|| unknown_field(&object_type, field))?;
        let key = FieldKey::new(id, &field.key);
        let result = match &field.kind {
            ResolvedKind::Simple(simple) => {
                self.store.get(&key, |value| value.is_none_or(|value| simple.is_default(value)))
            }
            ResolvedKind::Counter => self.read_counter(id, field).map(|count| count == 0),
            _ => {
                // A collection has no pair of its own, so it is empty if no key begins with its
                // prefix.
                let end = layout::prefix_end(&key);
                let any = self.store.any(permazen_kv::KeySpan::new(&key, end.as_deref()));
                any.map(|any| !any)
            }
        };
        result.map_err(|error| error.about(|| describe(id, field)))
    }
}

/// Simple fields and references. A field may come from any schema. The object's own
/// schema decides whether the object has the field and how it is indexed.
impl Encoded<'_, Transaction> {
    /// Lends the value of a simple field, which may be the default. Cost: one get.
    ///
    /// # Errors
    /// The errors of [`Transaction::get`], except that damaged bytes are not noticed.
    pub fn get<R>(
        self,
        id: ObjId,
        field: &ResolvedField,
        migrate: Migrate,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R> {
        let tx = self.0;
        // A transaction that has ended still knows objects, so `read_own` could answer from memory.
        tx.check_open()?;
        let read = match tx.read_own(id, field, migrate, read)? {
            Ok(value) => return Ok(value),
            Err(read) => read,
        };
        let object_type = tx.type_for_reading(id, migrate)?;
        let (field, simple) = own_simple_field(&object_type, field)?;
        tx.read_value(id, field, simple, read)
    }

    /// Lends the value of a simple field; `None` if the object's own schema does not have the field
    /// as a simple one. Costs as much as [`get`](Encoded::get).
    pub(crate) fn find<R>(
        self,
        id: ObjId,
        field: &ResolvedField,
        migrate: Migrate,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>> {
        let tx = self.0;
        // A transaction that has ended still knows objects, so `read_own` could answer from memory.
        tx.check_open()?;
        let read = match tx.read_own(id, field, migrate, read)? {
            Ok(value) => return Ok(Some(value)),
            Err(read) => read,
        };
        let object_type = tx.type_for_reading(id, migrate)?;
        match own_simple_field(&object_type, field) {
            Ok((field, simple)) => tx.read_value(id, field, simple, read).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Whether the object's own schema has a field with this storage ID. Cost: nothing if the
    /// object is known in this transaction, otherwise one get.
    pub(crate) fn defines(self, id: ObjId, field: &ResolvedField) -> Result<bool> {
        let tx = self.0;
        // A transaction that has ended still knows objects, so it could answer from memory.
        tx.check_open()?;
        // Usually the field need not be looked up.
        if tx.known_info(id, |info| tx.has_field(info, field, Migrate::No)) == Some(true) {
            return Ok(true);
        }
        let object_type = tx.type_for_writing(id, Migrate::No)?;
        Ok(object_type.field_by_storage_id(field.storage_id).is_some())
    }

    /// Sets a simple field. Costs as much as [`Transaction::set`].
    ///
    /// # Errors
    /// The errors of [`Transaction::set`]; also [`Error::InvalidValue`] if the bytes are not the
    /// encoding of any value of the field.
    pub fn set(
        self,
        id: ObjId,
        field: &ResolvedField,
        value: &[u8],
        migrate: Migrate,
    ) -> Result<()> {
        self.set_where(id, field, value, migrate, false).map(drop)
    }

    /// Sets a simple field as [`set`](Encoded::set) does without moving the object, if the object's
    /// own schema has a field with this storage ID. Returns false if it has none.
    pub(crate) fn set_defined(
        self,
        id: ObjId,
        field: &ResolvedField,
        value: &[u8],
    ) -> Result<bool> {
        self.set_where(id, field, value, Migrate::No, true)
    }

    fn set_where(
        self,
        id: ObjId,
        field: &ResolvedField,
        value: &[u8],
        migrate: Migrate,
        only_defined: bool,
    ) -> Result<bool> {
        let tx = self.0;
        tx.mutate(|| {
            let check = |object_type: &ResolvedType| {
                let (field, simple) = own_simple_field(object_type, field)?;
                // Java checks references first. If several things are wrong, its error comes first.
                if simple.reference.is_some() {
                    tx.check_reference_exists(id, field, value)?;
                    check_reference_type(id, field, value)?;
                }
                simple
                    .encoding
                    .check_canonical(value)
                    .map_err(|source| Error::InvalidValue { field: describe(id, field), source })
            };
            // This comes before the checks, which may look up objects: it reads only if the object
            // is unknown.
            let ahead = tx.read_ahead(id, field)?;
            let object_type = tx.type_for_setting(id, migrate, |object_type| {
                check(object_type)?;
                Ok((field.storage_id, value.to_vec()))
            })?;
            // The caller moves the object first and tries again.
            if only_defined && object_type.field_by_storage_id(field.storage_id).is_none() {
                return Ok(false);
            }
            // The object may have moved, so the definition that counts may be another one than
            // before.
            check(&object_type)?;
            let (field, simple) = own_simple_field(&object_type, field)?;
            tx.write_simple(id, &object_type, field, simple, ahead, value)?;
            Ok(true)
        })
        .map_err(|error| error.about(|| describe(id, field)))
    }
}
