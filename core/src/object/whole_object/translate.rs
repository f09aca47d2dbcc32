//! The content of an object, converted to the same type in another database.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::builder::ObjectBuilder;
use super::data::ObjectData;
use crate::id::ObjId;
use crate::object::describe::describe;
use crate::object::error::hex;
use crate::object::reference::target_of;
use crate::object::{Error, Result, Transaction};
use crate::schema::{ResolvedField, ResolvedKind, ResolvedType};

/// Which IDs objects get at the destination of a copy. An object mapped to `None` gets a new ID
/// when it is copied, and the new ID is entered into the map. Other objects keep their IDs.
/// References are replaced accordingly.
pub type IdMap = BTreeMap<ObjId, Option<ObjId>>;

impl Transaction {
    /// The content of an object, with the type as this database has it. The type of `data` may come
    /// from another database, or from a schema that was removed and recorded again. The schema
    /// decides what its fields are, but neither their storage IDs nor the schema index. Counters
    /// that are missing, which is damage, become 0.
    pub(in crate::object) fn as_recorded<'d>(
        &self,
        data: &'d ObjectData,
    ) -> Result<Cow<'d, ObjectData>> {
        let given = data.object_type();
        let bundle = self.bundle();
        let known = bundle
            .schema_by_id(given.schema_of)
            .and_then(|schema| schema.object_type(&given.name))
            .ok_or_else(|| Error::UnknownType {
                name: format!("{:?} (as given)", &*given.name),
                schema: Some(given.schema_of),
            })?;
        let counts = |field: &Arc<ResolvedField>| {
            !matches!(field.kind, ResolvedKind::Counter) || data.stored(field).is_some()
        };
        // A counter without a pair gets one by the translation, since a counter always has one.
        if Arc::ptr_eq(known, given) && given.fields.iter().all(counts) {
            return Ok(Cow::Borrowed(data));
        }
        translate(data, known, data.id(), None).map(Cow::Owned)
    }
}

/// Converts the content of `source` to the type of another database, and replaces references.
pub(super) fn translate(
    data: &ObjectData,
    to: &Arc<ResolvedType>,
    source: Option<ObjId>,
    ids: Option<&IdMap>,
) -> Result<ObjectData> {
    let mut new = ObjectBuilder::new(Arc::clone(to));
    // Fields are matched by name: in the other database they may have other storage IDs.
    for field in &to.fields {
        let from = data.field(&field.name)?;
        let map = |part: &ResolvedField, bytes: &[u8]| exchange(source, part, bytes, ids);
        match &field.kind {
            ResolvedKind::Simple(_) => {
                for (key, value) in data.pairs(from) {
                    new.push_pair(field.storage_id, key, map(field, value)?.as_bytes(value));
                }
            }
            ResolvedKind::Counter => {
                for (key, value) in data.pairs(from) {
                    new.push_pair(field.storage_id, key, value);
                }
            }
            ResolvedKind::Set { element } => {
                for (key, value) in data.pairs(from) {
                    new.push_pair(field.storage_id, map(element, key)?.as_bytes(key), value);
                }
            }
            ResolvedKind::List { element } => {
                for (key, value) in data.pairs(from) {
                    new.push_pair(field.storage_id, key, map(element, value)?.as_bytes(value));
                }
            }
            ResolvedKind::Map { key: keys, value: values } => {
                for (key, value) in data.pairs(from) {
                    let (new_key, new_value) = (map(keys, key)?, map(values, value)?);
                    new.push_pair(
                        field.storage_id,
                        new_key.as_bytes(key),
                        new_value.as_bytes(value),
                    );
                }
            }
        }
    }
    Ok(new.finish())
}

/// The replacement for an encoded value.
enum Exchanged {
    Same,
    By([u8; 8]),
}

impl Exchanged {
    fn as_bytes<'a>(&'a self, same: &'a [u8]) -> &'a [u8] {
        match self {
            Exchanged::Same => same,
            Exchanged::By(bytes) => bytes,
        }
    }
}

fn exchange(
    source: Option<ObjId>,
    part: &ResolvedField,
    bytes: &[u8],
    ids: Option<&IdMap>,
) -> Result<Exchanged> {
    // Only references are replaced.
    if !part.is_reference() {
        return Ok(Exchanged::Same);
    }
    let place = || match source {
        Some(id) => describe(id, part),
        None => format!("field {}", part.full_name),
    };
    // A damaged reference would be copied to another database, where nothing knows of the damage.
    let target = target_of(bytes).map_err(|reason| {
        Error::inconsistent(format!("{}: stored reference {}: {reason}", place(), hex(bytes, 64)))
    })?;
    match target.and_then(|target| ids?.get(&target).map(|mapped| (target, mapped))) {
        None => Ok(Exchanged::Same),
        Some((_, Some(mapped))) => Ok(Exchanged::By(mapped.to_bytes())),
        // The object was to be copied before those that refer to it.
        Some((target, None)) => Err(Error::invalid_argument(format!(
            "{} refers to {target}, for which the id map has no id",
            place()
        ))),
    }
}
