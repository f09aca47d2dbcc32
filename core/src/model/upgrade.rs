//! What becomes of values when the types of their fields change (model §13.3).

use std::sync::Arc;

use super::declare::{FieldDecl, Upgrade};
use super::error::{Error, Result};
use super::target::ModelInfo;
use crate::encoding::{Encoding, EncodingError, EncodingRegistry, Value, ids};
use crate::id::ObjId;
use crate::object::{self, ListenerSet, Migrate, Narrowing, SchemaChange, Transaction};
use crate::schema::{ResolvedKind, Schema, SchemaBundle};

/// Listeners that carry the values of objects over when these move to the schema of the models.
pub(super) fn listeners(
    models: &[ModelInfo],
    schema: &Schema,
    bundle: &Arc<SchemaBundle>,
    encodings: &EncodingRegistry,
) -> Result<Arc<ListenerSet>> {
    let mut listeners = ListenerSet::new(Arc::clone(bundle));
    let Some(long) = encodings.get(&ids::LONG) else { return Ok(Arc::new(listeners)) };
    for model in models {
        let Some(object_type) = schema.object_type(model.name) else { continue };
        let (fields, long) = (model.fields, Arc::clone(&long));
        let carry = move |tx: &Transaction<'_>, change: &SchemaChange| {
            fields.iter().try_for_each(|field| upgrade(tx, change, field, &*long))
        };
        listeners.on_schema_change(object_type.storage_id, Arc::new(carry))?;
    }
    Ok(Arc::new(listeners))
}

/// Carries over the value of one field, as it is declared to be.
fn upgrade(
    tx: &Transaction<'_>,
    change: &SchemaChange,
    field: &FieldDecl,
    long: &dyn Encoding,
) -> object::Result<()> {
    if field.upgrade == Upgrade::Reset {
        return Ok(());
    }
    match carry(tx, change, field.name, long) {
        Ok(()) => Ok(()),
        Err(Refused::Value(_)) if field.upgrade == Upgrade::Attempt => Ok(()),
        Err(Refused::Value(source)) => {
            // The object has moved; nothing would convert the value again.
            tx.set_rollback_only();
            let field = format!("{}.{}", change.new_type.name, field.name);
            Err(object::Error::listener(Error::Upgrade { field, id: change.id, source }))
        }
        Err(Refused::Object(error)) => Err(error),
    }
}

/// Why a value was not carried over.
enum Refused {
    /// No value of the new type corresponds to it.
    Value(EncodingError),
    /// The store or the object refused.
    Object(object::Error),
}

impl From<object::Error> for Refused {
    fn from(error: object::Error) -> Self {
        match error {
            object::Error::InvalidValue { source, .. } => Refused::Value(source),
            unknown @ object::Error::UnknownEncoding { .. } => {
                Refused::Value(EncodingError::Invalid(unknown.to_string()))
            }
            error => Refused::Object(error),
        }
    }
}

fn carry(
    tx: &Transaction<'_>,
    change: &SchemaChange,
    name: &str,
    long: &dyn Encoding,
) -> std::result::Result<(), Refused> {
    let (old_type, new_type) = (change.old.object_type(), &change.new_type);
    let (Some(old), Some(new)) = (old_type.field(name), new_type.field(name)) else {
        return Ok(());
    };
    let (id, current) = (change.id, Migrate::No);
    match (&old.kind, &new.kind) {
        (ResolvedKind::Simple(from), ResolvedKind::Simple(to)) => {
            if from.encoding.is_same(&*to.encoding) {
                if to.reference.is_none() {
                    return Ok(());
                }
                let lost = Narrowing::new(&tx.bundle(), old, new).refused(change.old.simple(old)?);
                return lost.map_or(Ok(()), |target| Err(lost_reference(target)));
            }
            let value = decoded(&*from.encoding, change.old.simple(old)?)?;
            let value = to.encoding.convert(&*from.encoding, &value).map_err(Refused::Value)?;
            Ok(tx.set(id, name, &value, current)?)
        }
        (ResolvedKind::Counter, ResolvedKind::Simple(to)) => {
            let count = Value::Long(change.old.counter(old)?);
            let value = to.encoding.convert(long, &count).map_err(Refused::Value)?;
            Ok(tx.set(id, name, &value, current)?)
        }
        (ResolvedKind::Simple(from), ResolvedKind::Counter) => {
            let value = decoded(&*from.encoding, change.old.simple(old)?)?;
            let count = value.to_counter().ok_or_else(|| no_count("the value"))?;
            Ok(tx.set_counter(id, name, count, current)?)
        }
        (ResolvedKind::Counter, ResolvedKind::Counter) => Ok(()),
        (_, ResolvedKind::Counter) => Err(no_count("a collection")),
        // Fields with one schema id keep their content when an object moves.
        _ if old.schema_id == new.schema_id || change.old.pairs(old).len() == 0 => Ok(()),
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
