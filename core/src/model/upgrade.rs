//! What happens to values when the types of their fields change. See `docs/src/schemas.md`.

use std::sync::Arc;

use super::binding::Models;
use super::declare::{FieldDecl, Upgrade};
use super::error::{Error, Result};
use crate::encoding::{Encoding, EncodingError, EncodingRegistry, Value, ids};
use crate::id::ObjId;
use crate::object::{self, ListenerSet, Narrowing, ObjectBuilder, ObjectData, Transaction};
use crate::schema::{ResolvedKind, ResolvedType, SchemaBundle};

/// Listeners that carry values over when objects move to the schema of the models.
pub(super) fn listeners(
    models: &Models,
    bundle: &Arc<SchemaBundle>,
    encodings: &EncodingRegistry,
) -> Arc<ListenerSet> {
    let mut listeners = ListenerSet::new(Arc::clone(bundle));
    let Some(long) = encodings.get(&ids::LONG) else { return Arc::new(listeners) };
    for binding in models.iter() {
        let (fields, long) = (binding.info.fields, Arc::clone(&long));
        let carry = move |tx: &Transaction<'_>, moving: &object::Moving<'_>| {
            upgrade(tx, moving, fields, &*long).map_err(|error| match error {
                Error::Object(error) => error,
                error => object::Error::listener(error),
            })
        };
        listeners.carry(binding.storage_id(), Arc::new(carry));
    }
    Arc::new(listeners)
}

/// The content of an object that moves, with converted values; `None` if no value is converted.
fn upgrade(
    tx: &Transaction<'_>,
    moving: &object::Moving<'_>,
    fields: &[FieldDecl],
    long: &dyn Encoding,
) -> Result<Option<ObjectData>> {
    let (bundle, new_type) = (tx.bundle(), moving.kept.object_type());
    let mut builder: Option<ObjectBuilder> = None;
    for field in fields {
        let Some(to) = new_type.field(field.name) else { continue };
        // The caller gives this field another value, so the old one need not be converted.
        if moving.given == Some(to.storage_id) {
            continue;
        }
        let carried = carried(&bundle, moving.old, new_type, field, long);
        let written = carried.and_then(|carried| {
            let Some(carried) = carried else { return Ok(()) };
            let builder = builder.get_or_insert_with(|| ObjectBuilder::of(moving.kept));
            match carried {
                Carried::Count(count) => {
                    builder.write_counter(to, count);
                    Ok(())
                }
                Carried::Value(value) => builder
                    .write_simple(to, |out| {
                        to.simple().map_or(Ok(()), |to| to.encoding.encode(&value, out))
                    })
                    .map_err(Refused::Value),
            }
        });
        match written {
            Ok(()) => {}
            // The field keeps the default value of its new type.
            Err(Refused::Value(_)) if field.upgrade == Upgrade::Lossy => {}
            Err(Refused::Value(source)) => {
                let field = format!("{}.{}", new_type.name, field.name);
                return Err(Error::Upgrade { field, id: moving.id, source });
            }
            Err(Refused::Object(error)) => return Err(error.into()),
        }
    }
    Ok(builder.map(ObjectBuilder::finish))
}

/// What is written to a field to carry its value over.
enum Carried {
    Value(Value),
    Count(i64),
}

/// Why a value was not carried over.
enum Refused {
    /// The new type has no such value.
    Value(EncodingError),
    /// The store or the object refused.
    Object(object::Error),
}

impl From<object::Error> for Refused {
    fn from(error: object::Error) -> Self {
        match error {
            // These errors are about the value, so the field's rule for upgrades applies.
            object::Error::InvalidValue { source, .. } => Refused::Value(source),
            unknown @ object::Error::UnknownEncoding { .. } => {
                Refused::Value(EncodingError::Invalid(unknown.to_string()))
            }
            error => Refused::Object(error),
        }
    }
}

/// The value of an old field in the field's new type. `None` if nothing is converted.
fn carried(
    bundle: &SchemaBundle,
    old_data: &ObjectData,
    new_type: &ResolvedType,
    field: &FieldDecl,
    long: &dyn Encoding,
) -> std::result::Result<Option<Carried>, Refused> {
    let name = field.name;
    let (Some(old), Some(new)) = (old_data.object_type().field(name), new_type.field(name)) else {
        return Ok(None);
    };
    if field.upgrade == Upgrade::Reset {
        return Ok(None);
    }
    match (&old.kind, &new.kind) {
        (ResolvedKind::Simple(from), ResolvedKind::Simple(to)) => {
            if from.encoding.is_same(&*to.encoding) {
                // The object keeps the bytes as it moves. Only a reference can be lost, if the
                // field no longer allows its target's type.
                if to.reference.is_none() {
                    return Ok(None);
                }
                let lost = Narrowing::new(bundle, old, new).refused(old_data.simple(old)?);
                return lost.map_or(Ok(None), |target| Err(lost_reference(target)));
            }
            let value = decoded(&*from.encoding, old_data.simple(old)?)?;
            let value = to.encoding.convert(&*from.encoding, &value).map_err(Refused::Value)?;
            Ok(Some(Carried::Value(value)))
        }
        (ResolvedKind::Counter, ResolvedKind::Simple(to)) => {
            let count = Value::Long(old_data.counter(old)?);
            let value = to.encoding.convert(long, &count).map_err(Refused::Value)?;
            Ok(Some(Carried::Value(value)))
        }
        (ResolvedKind::Simple(from), ResolvedKind::Counter) => {
            let value = decoded(&*from.encoding, old_data.simple(old)?)?;
            let count = value.to_counter().ok_or_else(|| no_count("the value"))?;
            Ok(Some(Carried::Count(count)))
        }
        (ResolvedKind::Counter, ResolvedKind::Counter) => Ok(None),
        (_, ResolvedKind::Counter) => Err(no_count("a collection")),
        // Fields with one schema ID keep their content when an object moves.
        _ if old.schema_id == new.schema_id || old_data.pairs(old).len() == 0 => Ok(None),
        _ => Err(Refused::Value(EncodingError::Invalid(
            "the elements of collections are not converted".to_owned(),
        ))),
    }
}

fn no_count(what: &str) -> Refused {
    Refused::Value(EncodingError::Invalid(format!("{what} is no number that a counter could have")))
}

fn decoded(encoding: &dyn Encoding, bytes: &[u8]) -> std::result::Result<Value, Refused> {
    encoding.decode_all(bytes).map_err(Refused::Value)
}

fn lost_reference(target: ObjId) -> Refused {
    Refused::Value(EncodingError::Invalid(format!(
        "the field does not allow references to objects of the type of {target}"
    )))
}
