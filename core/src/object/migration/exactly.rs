//! Moving one object to another schema by the names of its fields, without losing anything.

use std::sync::Arc;

use super::field_conversion::{
    FieldConversion, LossPolicy, Lost, Narrows, NewContent, stored_text, value_text,
};
use super::would_lose::{LostValue, WouldLose};
use crate::id::ObjId;
use crate::layout::SchemaIndex;
use crate::object::whole_object::{LateEntries, ObjectBuilder, ObjectData};
use crate::object::{Error, Result, Transaction};
use crate::schema::{ResolvedField, ResolvedType, Schema, SchemaError, SchemaId};

impl Transaction {
    /// The recorded schema with this ID.
    pub(super) fn recorded(&self, id: SchemaId) -> Result<Arc<Schema>> {
        let bundle = self.bundle();
        let schema = bundle.schema_by_id(id).map(Arc::clone);
        schema.ok_or_else(|| SchemaError::UnknownSchema(id.to_string()).into())
    }

    /// Moves an object that was found in the schema `from`, if it loses nothing or that is
    /// accepted. Returns how many bytes of content it had; `None` if it is no longer there, or no
    /// longer in that schema. Index entries are added to `late`, if it is given.
    pub(super) fn migrate_by_rule(
        &self,
        id: ObjId,
        from: SchemaIndex,
        to: &Arc<Schema>,
        late: Option<&mut LateEntries>,
        losses: &mut Losses,
    ) -> Result<Option<usize>> {
        let old = match self.load_to_move(id) {
            Ok(old) => old,
            // Nothing can be read any more, and this is why.
            Err(error) if error.ends_transaction() => return Err(error),
            // Others may have deleted the object since it was found, which is no error.
            Err(error) => return self.find_info(id)?.map_or(Ok(None), |_| Err(error)),
        };
        // Another program has moved the object, so the plan for it does not hold.
        if old.object_type().schema != from {
            return Ok(None);
        }
        let new_type = self.type_in(id, to)?;
        let new = content(self, id, &old, new_type, losses)?;
        self.migrate_with(id, old, to, &new, late).map(Some)
    }
}

/// Items for the project's own crates: they change without notice.
#[doc(hidden)]
impl Transaction {
    /// Moves an object to a recorded schema, which may be older or newer, if it loses nothing.
    /// Returns `false` if the object already has that schema.
    ///
    /// Fields with the same name and schema ID keep their content. The values of a field with
    /// another definition become those of the field with the same name, if each has an exact
    /// counterpart there ([`Conversion::exact`](crate::encoding::Conversion::exact)); the guide
    /// lists what becomes what (docs/src/evolution.md#what-a-move-may-lose). Fields that are new
    /// get the default value or are empty. Listeners are called as for any other change.
    ///
    /// [`Transaction::migrate`] moves an object by Java's rules, which lose values that have no
    /// place.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use permazen::encoding::{Value, ids};
    /// use permazen::kv::memory::MemoryStore;
    /// use permazen::object::{Database, Migrate, TransactionConfig};
    /// use permazen::schema::{Field, ObjectType, SchemaModel, SchemaRemoval, Simple};
    ///
    /// let schema = |age| {
    ///     let person = ObjectType::new("Person").field(Field::new("age", Simple::of(age)));
    ///     SchemaModel::new().object_type(person)
    /// };
    /// let (long, int) = (schema(ids::LONG), schema(ids::INT));
    /// let db = Database::new(Arc::new(MemoryStore::new()));
    /// let tx = db.begin(&TransactionConfig::new(long)?)?;
    /// tx.add_schema(&int)?;
    /// let [ann, old] = [tx.create("Person")?, tx.create("Person")?];
    /// tx.set(ann, "age", &Value::Long(41), Migrate::No)?;
    /// tx.set(old, "age", &Value::Long(5_000_000_000), Migrate::No)?;
    ///
    /// assert!(tx.migrate_exactly(ann, int.schema_id())?);
    /// assert_eq!(tx.get(ann, "age", Migrate::No)?, Value::Int(41));
    /// let refused = tx.migrate_exactly(old, int.schema_id()).unwrap_err();
    /// assert!(refused.to_string().contains("5000000000 does not fit int"));
    /// # Ok::<(), permazen::object::Error>(())
    /// ```
    ///
    /// Cost: that of [`Transaction::migrate`].
    ///
    /// # Errors
    /// [`Error::MoveRefused`] with [`WouldLose`] if the object would lose something;
    /// [`SchemaError::UnknownSchema`]; [`Error::TypeNotInSchema`]; the other errors of
    /// [`Transaction::migrate`]. The object then stays where it is.
    pub fn migrate_exactly(&self, id: ObjId, schema: SchemaId) -> Result<bool> {
        let schema = self.recorded(schema)?;
        let from = self.object_type(id)?.schema;
        // An object that is there already must not be read and written again.
        if from == schema.index {
            return Ok(false);
        }
        let moved = self.migrate_by_rule(id, from, &schema, None, &mut Losses::Refused)?;
        Ok(moved.is_some())
    }

    /// Moves an object to a recorded schema as [`migrate_exactly`](Self::migrate_exactly) does, and
    /// accepts that it loses values that have no place there. Returns the losses; nothing if the
    /// object already has that schema.
    ///
    /// A value without an exact counterpart becomes what
    /// [`Conversion::lossy`](crate::encoding::Conversion::lossy) makes of it, or else the default;
    /// in a collection, it is left out. So is a reference to an object of a type that the field no
    /// longer allows.
    ///
    /// Cost: that of [`Transaction::migrate`].
    ///
    /// # Errors
    /// The errors of [`migrate_exactly`](Self::migrate_exactly); [`Error::MoveRefused`] only if the
    /// content is damaged. The object then stays where it is.
    pub fn migrate_losing(&self, id: ObjId, schema: SchemaId) -> Result<Vec<LostValue>> {
        let schema = self.recorded(schema)?;
        let from = self.object_type(id)?.schema;
        if from == schema.index {
            return Ok(Vec::new());
        }
        let mut losses = Losses::Accepted(None);
        self.migrate_by_rule(id, from, &schema, None, &mut losses)?;
        match losses {
            Losses::Accepted(Some(lost)) => Ok(lost.losses),
            _ => Ok(Vec::new()),
        }
    }
}

/// The policy for a move that would lose values.
pub(super) enum Losses {
    /// It is refused.
    Refused,
    /// It happens, with these losses.
    Accepted(Option<WouldLose>),
}

/// The content that an object gets as one of `new_type`.
fn content(
    tx: &Transaction,
    id: ObjId,
    old: &ObjectData,
    new_type: &Arc<ResolvedType>,
    accepted: &mut Losses,
) -> Result<ObjectData> {
    let old_type = old.object_type();
    let mut new = ObjectBuilder::new(Arc::clone(new_type));
    let mut losses = Vec::new();
    let mut is_refused = matches!(accepted, Losses::Refused);
    // In the order of the storage IDs, in which content is kept.
    for field in new_type.fields_by_storage_id() {
        // The same storage ID means the same encoding, so the bytes stay.
        if let Some(same) = old_type.field_by_storage_id(field.storage_id) {
            // Only the types of objects that a reference allows can differ.
            let lost = lost_references(tx, old, same, field);
            if lost.is_empty() {
                old.pairs(same)
                    .for_each(|(key, value)| new.push_pair(field.storage_id, key, value));
                continue;
            }
            losses.extend(lost);
        }
        // A new field without a namesake starts with its default.
        let Some(from) = old_type.field(&field.name) else { continue };
        let conversion = |policy| {
            FieldConversion { renamed: [&[], &[]], policy, old, from, to: field, tx }.content()
        };
        let mut converted = conversion(LossPolicy::Exact);
        if let Err(lost) = &converted {
            // Of a reference that is not allowed, this was said.
            if losses.last().is_none_or(|last: &LostValue| !last.is_of(&from.name)) {
                losses.push(loss(&from.name, lost.clone()));
            }
            // The caller accepts losses, so the nearest value takes the place of the exact one.
            if !is_refused {
                converted = conversion(LossPolicy::Lossy);
            }
        }
        match converted {
            Ok(NewContent::Pairs(pairs)) => {
                pairs.iter().for_each(|(key, value)| new.push_pair(field.storage_id, key, value))
            }
            Ok(NewContent::Default) => {}
            // Nothing can be made of it, not even the default.
            Err(_) => is_refused = true,
        }
    }
    let gone = old_type.fields.iter().filter(|field| new_type.field(&field.name).is_none());
    for field in gone {
        // A field with its default loses nothing.
        if let Some(value) = stored_text(old, field) {
            losses.push(loss(&field.name, (value, "there is no such field".to_owned())));
        }
    }
    if losses.is_empty() {
        return Ok(new.finish());
    }
    let lost = WouldLose {
        id,
        type_name: old_type.name.to_string(),
        from: old_type.schema_of,
        to: new_type.schema_of,
        losses,
    };
    match accepted {
        Losses::Accepted(accepted) if !is_refused => {
            // The losses are reported, and the object moves.
            *accepted = Some(lost);
            Ok(new.finish())
        }
        _ => Err(Error::MoveRefused(Box::new(lost))),
    }
}

fn loss(field: &str, (value, reason): Lost) -> LostValue {
    LostValue { field: field.to_owned(), value, reason }
}

/// The first reference of a field, or of each part of a collection, whose target the same field of
/// another schema does not allow.
fn lost_references(
    tx: &Transaction,
    old: &ObjectData,
    from: &Arc<ResolvedField>,
    to: &Arc<ResolvedField>,
) -> Vec<LostValue> {
    // A collection loses references of its parts, and a simple field its own.
    let parts = from.sub_fields().zip(to.sub_fields()).chain([(from, to)]);
    let references = parts.filter(|(part, _)| part.is_reference());
    let lost = references.filter_map(|(before, after)| {
        let bytes = old.values_of(from, before).find(|bytes| tx.lost(before, after, bytes))?;
        let value = value_text(before.simple(), bytes);
        let reason = "the field does not allow references to objects of this type".to_owned();
        Some(loss(&before.full_name, (value, reason)))
    });
    lost.collect()
}
