//! Recorded operations as calls of the object layer. They take and return names, IDs and texts.

use std::collections::BTreeMap;
use std::ops::Bound as End;
use std::sync::{Arc, Mutex};

use permazen::__internal::schema::ResolvedKind;
use permazen::encoding::Value;
use permazen::object::{
    CopyOptions, Error, IdMap, ListView, ListenerId, MapView, Migrate, SetView, Transaction,
    TransactionConfig,
};
use permazen::schema::{ResolvedField, SchemaModel, SchemaRemoval};
use permazen::{ObjId, StorageId};

use super::event_log::EventLog;
use super::refusal::{Answer, Refusal};
use super::step::{Bound, Bounds, Header, Step};
use super::text::{Text, encoding_of, field_text, value_of};

/// The values that the steps of one transaction share.
#[derive(Debug)]
pub struct Context {
    pub header: Arc<Header>,
    pub log: EventLog,
    /// The listeners registered, by name.
    pub listeners: Mutex<BTreeMap<String, ListenerId>>,
}

/// A field of an object, by name.
#[derive(Debug, Clone, Copy)]
pub struct ObjectField<'s> {
    pub id: &'s str,
    pub field: &'s str,
    /// Whether the object first moves to the schema of the transaction.
    pub migrate: bool,
}

/// Which neighbour of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Lower,
    Floor,
    Ceiling,
    Higher,
}

/// A part of a field that holds values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The field itself, or the elements of a set or list, or the values of a map.
    Value,
    /// The keys of a map.
    Key,
}

/// The object with this ID.
pub fn obj_id(text: &str) -> Answer<ObjId> {
    text.parse().map_err(|_| Refusal::new("test error", format!("{text} is no object id")))
}

/// The storage ID that a step names as `sid`.
pub fn storage_id(step: &Step) -> Answer<StorageId> {
    let number = step.integer("sid")?;
    u32::try_from(number)
        .ok()
        .and_then(StorageId::new)
        .ok_or_else(|| Refusal::new("test error", format!("{number} is no storage id")))
}

/// An open transaction that speaks in recorded texts.
#[derive(Debug)]
pub struct Tx<'t> {
    pub tx: &'t Transaction,
    pub context: Arc<Context>,
}

impl<'t> Tx<'t> {
    pub fn new(tx: &'t Transaction, context: &Arc<Context>) -> Self {
        Tx { tx, context: Arc::clone(context) }
    }

    // ------------------------------------------------------------------ schemas

    /// The schema that the trace calls by this name.
    pub fn model(&self, name: &str) -> Answer<SchemaModel> {
        model(&self.context.header, name)
    }

    pub fn add_schema(&self, name: &str) -> Answer<bool> {
        Ok(self.tx.add_schema(&self.model(name)?)?)
    }

    pub fn remove_schema(&self, name: &str) -> Answer<bool> {
        Ok(self.tx.remove_schema(self.model(name)?.schema_id())?)
    }

    pub fn type_id(&self, name: &str) -> Answer<StorageId> {
        Ok(self.tx.type_storage_id(name)?)
    }

    fn schema_name(&self, id: impl ToString) -> String {
        self.context.header.schema_name(&id.to_string()).to_owned()
    }

    // ------------------------------------------------------------------ objects

    pub fn create(&self, id: &str, schema: Option<&str>) -> Answer<bool> {
        let id = obj_id(id)?;
        Ok(match schema {
            None => self.tx.create_with_id(id)?,
            Some(name) => self.tx.create_with_id_in(id, self.model(name)?.schema_id())?,
        })
    }

    pub fn delete(&self, id: &str) -> Answer<bool> {
        Ok(self.tx.delete(obj_id(id)?)?)
    }

    pub fn exists(&self, id: &str) -> Answer<bool> {
        Ok(self.tx.exists(obj_id(id)?)?)
    }

    pub fn type_of(&self, id: &str) -> Answer<String> {
        Ok(self.tx.object_type(obj_id(id)?)?.name.to_string())
    }

    pub fn schema_of(&self, id: &str) -> Answer<String> {
        Ok(self.schema_name(self.tx.object_schema(obj_id(id)?)?.id))
    }

    pub fn migrate(&self, id: &str) -> Answer<bool> {
        Ok(self.tx.migrate(obj_id(id)?)?)
    }

    pub fn copy(&self, from: &str, to: &str, migrate: bool) -> Answer<bool> {
        let (from, to) = (obj_id(from)?, obj_id(to)?);
        let mut ids = IdMap::from([(from, Some(to))]);
        let migrate = if migrate { Migrate::Yes } else { Migrate::No };
        let mut options = CopyOptions::new().migrating(migrate).mapping_ids(&mut ids);
        Ok(self.tx.copy_to(from, self.tx, &mut options)?)
    }

    pub fn all(
        &self,
        type_name: Option<&str>,
        bounds: &Bounds,
        reverse: bool,
    ) -> Answer<Vec<String>> {
        let objects = match type_name {
            None => self.tx.all_objects()?,
            Some(name) => self.tx.objects(name)?,
        };
        let end = |bound: &Option<Bound>| -> Answer<End<ObjId>> {
            let Some(bound) = bound else { return Ok(End::Unbounded) };
            let id = obj_id(bound.value.as_str().unwrap_or_default())?;
            Ok(if bound.inclusive { End::Included(id) } else { End::Excluded(id) })
        };
        let objects = objects.range((end(&bounds.min)?, end(&bounds.max)?));
        let ids: Result<Vec<ObjId>, Error> =
            if reverse { objects.iter().rev().collect() } else { objects.iter().collect() };
        Ok(id_texts(&ids?))
    }

    /// Schema index, schema name and objects of the schemas that have objects, or of one schema.
    pub fn by_schema(&self, wanted: Option<&str>) -> Answer<Vec<(u32, String, Vec<String>)>> {
        let bundle = self.tx.bundle();
        let mut groups = Vec::new();
        for index in self.tx.schemas_in_use()? {
            let name =
                bundle.schema(index).map_or(String::new(), |schema| self.schema_name(schema.id));
            if wanted.is_none_or(|wanted| wanted == name) {
                let ids = self.tx.objects_in_schema(index)?.to_vec()?;
                groups.push((index.get(), name, id_texts(&ids)));
            }
        }
        Ok(groups)
    }

    // ------------------------------------------------------------------ values

    /// The resolved field, if it exists.
    pub fn field(&self, object_field: &ObjectField<'_>) -> Option<Arc<ResolvedField>> {
        let object_type = self.tx.object_type(obj_id(object_field.id).ok()?).ok()?;
        let object_type = if object_field.migrate {
            Arc::clone(self.tx.schema().type_by_storage_id(object_type.storage_id)?)
        } else {
            object_type
        };
        object_type.field(object_field.field).map(Arc::clone)
    }

    /// The value of a text for a field. Null if there is no such field: the operation itself then
    /// has to report the error.
    fn value(
        &self,
        object_field: &ObjectField<'_>,
        part: Part,
        text: Option<&str>,
    ) -> Answer<Value> {
        let Some(field) = self.field(object_field) else { return Ok(Value::Null) };
        let Some(encoding) = part_of(&field, part).and_then(encoding_of) else {
            return Ok(Value::Null);
        };
        value_of(encoding, text).map_err(|error| Refusal::new("invalid-value", error.to_string()))
    }

    fn bounds(
        &self,
        object_field: &ObjectField<'_>,
        part: Part,
        bounds: &Bounds,
    ) -> Answer<(End<Value>, End<Value>)> {
        let end = |bound: &Option<Bound>| -> Answer<End<Value>> {
            let Some(bound) = bound else { return Ok(End::Unbounded) };
            let value = self.value(object_field, part, bound.value.as_str())?;
            Ok(if bound.inclusive { End::Included(value) } else { End::Excluded(value) })
        };
        Ok((end(&bounds.min)?, end(&bounds.max)?))
    }

    // ------------------------------------------------------------------ simple fields and counters

    pub fn get(&self, object_field: &ObjectField<'_>) -> Answer<Text> {
        let value =
            self.tx.get(obj_id(object_field.id)?, object_field.field, migrate(object_field))?;
        match self.field(object_field) {
            Some(field) => Ok(field_text(&field, &value)?),
            None => Err(Refusal::new("test error", "a value was read from no field")),
        }
    }

    pub fn set(&self, object_field: &ObjectField<'_>, text: Option<&str>) -> Answer<()> {
        let value = self.value(object_field, Part::Value, text)?;
        Ok(self.tx.set(
            obj_id(object_field.id)?,
            object_field.field,
            &value,
            migrate(object_field),
        )?)
    }

    pub fn is_default(&self, object_field: &ObjectField<'_>) -> Answer<bool> {
        Ok(self.tx.is_default(obj_id(object_field.id)?, object_field.field)?)
    }

    pub fn counter(&self, object_field: &ObjectField<'_>) -> Answer<i64> {
        Ok(self.tx.counter(obj_id(object_field.id)?, object_field.field, migrate(object_field))?)
    }

    pub fn set_counter(&self, object_field: &ObjectField<'_>, count: i64) -> Answer<()> {
        Ok(self.tx.set_counter(
            obj_id(object_field.id)?,
            object_field.field,
            count,
            migrate(object_field),
        )?)
    }

    pub fn adjust_counter(&self, object_field: &ObjectField<'_>, by: i64) -> Answer<()> {
        Ok(self.tx.adjust_counter(
            obj_id(object_field.id)?,
            object_field.field,
            by,
            migrate(object_field),
        )?)
    }

    // ------------------------------------------------------------------ sets

    fn set_view(&self, object_field: &ObjectField<'_>) -> Answer<SetView<'t>> {
        Ok(self.tx.set_view(obj_id(object_field.id)?, object_field.field, migrate(object_field))?)
    }

    fn set_range(&self, object_field: &ObjectField<'_>, bounds: &Bounds) -> Answer<SetView<'t>> {
        let view = self.set_view(object_field)?;
        let (min, max) = self.bounds(object_field, Part::Value, bounds)?;
        Ok(view.range(min.as_ref(), max.as_ref())?)
    }

    pub fn set_add(&self, object_field: &ObjectField<'_>, text: Option<&str>) -> Answer<bool> {
        let view = self.set_view(object_field)?;
        Ok(view.add(&self.value(object_field, Part::Value, text)?)?)
    }

    pub fn set_remove(&self, object_field: &ObjectField<'_>, text: Option<&str>) -> Answer<bool> {
        let view = self.set_view(object_field)?;
        Ok(view.remove(&self.value(object_field, Part::Value, text)?)?)
    }

    pub fn set_contains(&self, object_field: &ObjectField<'_>, text: Option<&str>) -> Answer<bool> {
        let view = self.set_view(object_field)?;
        Ok(view.contains(&self.value(object_field, Part::Value, text)?)?)
    }

    pub fn set_size(&self, object_field: &ObjectField<'_>) -> Answer<usize> {
        Ok(self.set_view(object_field)?.len()?)
    }

    pub fn set_clear(&self, object_field: &ObjectField<'_>, bounds: &Bounds) -> Answer<()> {
        Ok(self.set_range(object_field, bounds)?.clear()?)
    }

    pub fn set_list(
        &self,
        object_field: &ObjectField<'_>,
        bounds: &Bounds,
        reverse: bool,
    ) -> Answer<Vec<Text>> {
        let view = self.set_range(object_field, bounds)?;
        let values: Result<Vec<Value>, Error> =
            if reverse { view.iter().rev().collect() } else { view.iter().collect() };
        texts(view.field(), Part::Value, &values?)
    }

    pub fn set_near(
        &self,
        object_field: &ObjectField<'_>,
        how: How,
        text: Option<&str>,
    ) -> Answer<Option<Text>> {
        let view = self.set_view(object_field)?;
        let value = self.value(object_field, Part::Value, text)?;
        let (min, max) = beside(how, &value);
        let view = view.range(min, max)?;
        let near = if is_before(how) { view.last()? } else { view.first()? };
        near.map(|value| text_of_part(view.field(), Part::Value, &value)).transpose()
    }

    // ------------------------------------------------------------------ lists

    fn list_view(&self, object_field: &ObjectField<'_>) -> Answer<ListView<'t>> {
        Ok(self.tx.list_view(
            obj_id(object_field.id)?,
            object_field.field,
            migrate(object_field),
        )?)
    }

    pub fn list_append(&self, object_field: &ObjectField<'_>, text: Option<&str>) -> Answer<()> {
        let view = self.list_view(object_field)?;
        Ok(view.push(&self.value(object_field, Part::Value, text)?)?)
    }

    pub fn list_insert(
        &self,
        object_field: &ObjectField<'_>,
        at: i64,
        texts: &[Text],
    ) -> Answer<bool> {
        let view = self.list_view(object_field)?;
        let values: Answer<Vec<Value>> = texts
            .iter()
            .map(|text| self.value(object_field, Part::Value, text.as_deref()))
            .collect();
        let values = values?;
        Ok(match &values[..] {
            [value] => view.insert(position(at)?, value).map(|()| true)?,
            values => view.insert_all(position(at)?, values)?,
        })
    }

    pub fn list_set(
        &self,
        object_field: &ObjectField<'_>,
        at: i64,
        text: Option<&str>,
    ) -> Answer<Text> {
        let view = self.list_view(object_field)?;
        let old = view.set(position(at)?, &self.value(object_field, Part::Value, text)?)?;
        text_of_part(view.field(), Part::Value, &old)
    }

    pub fn list_get(&self, object_field: &ObjectField<'_>, at: i64) -> Answer<Text> {
        let view = self.list_view(object_field)?;
        match view.get(position(at)?)? {
            Some(value) => text_of_part(view.field(), Part::Value, &value),
            None => Err(out_of_range(at)),
        }
    }

    pub fn list_remove(&self, object_field: &ObjectField<'_>, at: i64) -> Answer<Text> {
        let view = self.list_view(object_field)?;
        let old = view.remove(position(at)?)?;
        text_of_part(view.field(), Part::Value, &old)
    }

    pub fn list_remove_value(
        &self,
        object_field: &ObjectField<'_>,
        text: Option<&str>,
    ) -> Answer<bool> {
        let view = self.list_view(object_field)?;
        Ok(view.remove_value(&self.value(object_field, Part::Value, text)?)?)
    }

    pub fn list_remove_range(
        &self,
        object_field: &ObjectField<'_>,
        from: i64,
        to: i64,
    ) -> Answer<()> {
        Ok(self.list_view(object_field)?.remove_range(position(from)?, position(to)?)?)
    }

    pub fn list_index_of(
        &self,
        object_field: &ObjectField<'_>,
        text: Option<&str>,
    ) -> Answer<Option<u32>> {
        let view = self.list_view(object_field)?;
        Ok(view.position(&self.value(object_field, Part::Value, text)?)?)
    }

    pub fn list_size(&self, object_field: &ObjectField<'_>) -> Answer<u32> {
        Ok(self.list_view(object_field)?.len()?)
    }

    pub fn list_clear(&self, object_field: &ObjectField<'_>) -> Answer<()> {
        Ok(self.list_view(object_field)?.clear()?)
    }

    pub fn list_values(&self, object_field: &ObjectField<'_>) -> Answer<Vec<Text>> {
        let view = self.list_view(object_field)?;
        texts(view.field(), Part::Value, &view.to_vec()?)
    }

    // ------------------------------------------------------------------ maps

    fn map_view(&self, object_field: &ObjectField<'_>) -> Answer<MapView<'t>> {
        Ok(self.tx.map_view(obj_id(object_field.id)?, object_field.field, migrate(object_field))?)
    }

    fn map_range(&self, object_field: &ObjectField<'_>, bounds: &Bounds) -> Answer<MapView<'t>> {
        let view = self.map_view(object_field)?;
        let (min, max) = self.bounds(object_field, Part::Key, bounds)?;
        Ok(view.range(min.as_ref(), max.as_ref())?)
    }

    pub fn map_put(
        &self,
        object_field: &ObjectField<'_>,
        key: Option<&str>,
        value: Option<&str>,
    ) -> Answer<Text> {
        let view = self.map_view(object_field)?;
        let key = self.value(object_field, Part::Key, key)?;
        let old = view.put(&key, &self.value(object_field, Part::Value, value)?)?;
        match old {
            Some(old) => text_of_part(view.field(), Part::Value, &old),
            None => Ok(None),
        }
    }

    /// The value of an entry; `None` if there is no entry.
    pub fn map_get(
        &self,
        object_field: &ObjectField<'_>,
        key: Option<&str>,
    ) -> Answer<Option<Text>> {
        let view = self.map_view(object_field)?;
        let value = view.get(&self.value(object_field, Part::Key, key)?)?;
        value.map(|value| text_of_part(view.field(), Part::Value, &value)).transpose()
    }

    pub fn map_contains(&self, object_field: &ObjectField<'_>, key: Option<&str>) -> Answer<bool> {
        let view = self.map_view(object_field)?;
        Ok(view.contains_key(&self.value(object_field, Part::Key, key)?)?)
    }

    pub fn map_remove(&self, object_field: &ObjectField<'_>, key: Option<&str>) -> Answer<Text> {
        let view = self.map_view(object_field)?;
        match view.remove(&self.value(object_field, Part::Key, key)?)? {
            Some(old) => text_of_part(view.field(), Part::Value, &old),
            None => Ok(None),
        }
    }

    pub fn map_size(&self, object_field: &ObjectField<'_>) -> Answer<usize> {
        Ok(self.map_view(object_field)?.len()?)
    }

    pub fn map_clear(&self, object_field: &ObjectField<'_>, bounds: &Bounds) -> Answer<()> {
        Ok(self.map_range(object_field, bounds)?.clear()?)
    }

    pub fn map_list(
        &self,
        object_field: &ObjectField<'_>,
        bounds: &Bounds,
        reverse: bool,
    ) -> Answer<Vec<(Text, Text)>> {
        let view = self.map_range(object_field, bounds)?;
        let entries: Result<Vec<(Value, Value)>, Error> =
            if reverse { view.iter().rev().collect() } else { view.iter().collect() };
        entries?.iter().map(|entry| entry_texts(view.field(), entry)).collect()
    }

    pub fn map_near(
        &self,
        object_field: &ObjectField<'_>,
        how: How,
        key: Option<&str>,
    ) -> Answer<Option<(Text, Text)>> {
        let view = self.map_view(object_field)?;
        let key = self.value(object_field, Part::Key, key)?;
        let (min, max) = beside(how, &key);
        let view = view.range(min, max)?;
        let near = if is_before(how) { view.last()? } else { view.first()? };
        near.map(|entry| entry_texts(view.field(), &entry)).transpose()
    }
}

/// The schema that the trace calls by this name.
pub fn model(header: &Header, name: &str) -> Answer<SchemaModel> {
    let unnamed = || Refusal::new("test error", format!("the trace has no schema {name}"));
    let xml = header.schemas.get(name).ok_or_else(unnamed)?;
    Ok(SchemaModel::from_xml(xml.as_bytes()).map_err(Error::from)?)
}

/// How an `open` step asks for its transaction.
pub fn configuration(header: &Header, step: &Step) -> Answer<TransactionConfig> {
    let removal = match step.text("removal")? {
        "NEVER" => SchemaRemoval::Never,
        "ONCE" => SchemaRemoval::Once,
        "CONFIG_CHANGE" => SchemaRemoval::ConfigChange,
        "ALWAYS" => SchemaRemoval::Always,
        other => return Err(Refusal::new("test error", format!("no removal {other}"))),
    };
    let config = match step.optional_text("schema")? {
        None => TransactionConfig::without_schema(),
        Some(name) => TransactionConfig::new(model(header, name)?)?,
    };
    Ok(config.allow_new_schema(step.flag("allowNew")).schema_removal(removal))
}

fn migrate(object_field: &ObjectField<'_>) -> Migrate {
    if object_field.migrate { Migrate::Yes } else { Migrate::No }
}

fn position(at: i64) -> Answer<u32> {
    u32::try_from(at).map_err(|_| out_of_range(at))
}

fn out_of_range(at: i64) -> Refusal {
    Refusal::new("index-out-of-range", format!("there is no position {at}"))
}

fn is_before(how: How) -> bool {
    matches!(how, How::Lower | How::Floor)
}

/// The bounds of the values on that side of a value.
fn beside(how: How, value: &Value) -> (End<&Value>, End<&Value>) {
    match how {
        How::Lower => (End::Unbounded, End::Excluded(value)),
        How::Floor => (End::Unbounded, End::Included(value)),
        How::Ceiling => (End::Included(value), End::Unbounded),
        How::Higher => (End::Excluded(value), End::Unbounded),
    }
}

fn part_of(field: &ResolvedField, part: Part) -> Option<&ResolvedField> {
    match (&field.kind, part) {
        (ResolvedKind::Simple(_), Part::Value) => Some(field),
        (ResolvedKind::Set { element } | ResolvedKind::List { element }, Part::Value) => {
            Some(element)
        }
        (ResolvedKind::Map { value, .. }, Part::Value) => Some(value),
        (ResolvedKind::Map { key, .. }, Part::Key) => Some(key),
        _ => None,
    }
}

fn text_of_part(field: &ResolvedField, part: Part, value: &Value) -> Answer<Text> {
    match part_of(field, part) {
        Some(part) => Ok(field_text(part, value)?),
        None => Err(Refusal::new("test error", "the field has no such part")),
    }
}

fn texts(field: &ResolvedField, part: Part, values: &[Value]) -> Answer<Vec<Text>> {
    values.iter().map(|value| text_of_part(field, part, value)).collect()
}

fn entry_texts(field: &ResolvedField, (key, value): &(Value, Value)) -> Answer<(Text, Text)> {
    Ok((text_of_part(field, Part::Key, key)?, text_of_part(field, Part::Value, value)?))
}

fn id_texts(ids: &[ObjId]) -> Vec<String> {
    ids.iter().map(ObjId::to_string).collect()
}
