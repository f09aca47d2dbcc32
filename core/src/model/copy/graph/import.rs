//! From plain data to stored objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::error::{GraphError, Wrong, shortened};
use super::value::to_encoded;
use super::{Graph, GraphObject, GraphValue};
use crate::encoding::{EncodingError, EncodingKind, ReferenceEncoding};
use crate::id::ObjId;
use crate::model::earlier_schemas::record;
use crate::model::error::{Error, KEEP_IDS, Result};
use crate::model::tx::Tx;
use crate::object::{self, CopyOptions, MAX_LIST_LEN, MissingTargets, ObjectBuilder, ObjectData};
use crate::schema::{ResolvedField, ResolvedKind, ResolvedType, SchemaModel};

/// How [`Tx::import_graph`] makes objects.
#[derive(Debug, Clone, Copy, Default)]
#[must_use = "these are options for `import_graph`"]
pub struct Import {
    new_ids: bool,
    replacing: bool,
    silent: bool,
}

impl Import {
    /// Objects get the IDs of the graph, and none of them may exist.
    pub fn new() -> Self {
        Import::default()
    }

    /// Gives every object a new ID. References among the objects of the graph refer to the new
    /// objects; other references stay.
    pub fn new_ids(mut self) -> Self {
        self.new_ids = true;
        self
    }

    /// Replaces objects that exist.
    pub fn replacing(mut self) -> Self {
        self.replacing = true;
        self
    }

    /// Calls no hooks and listeners to creation and changes.
    pub fn silent(mut self) -> Self {
        self.silent = true;
        self
    }
}

impl Tx {
    /// Makes objects of a graph: one of [`export_graph`](Tx::export_graph), or written by hand.
    /// Returns the ID of each object by its ID in the graph.
    ///
    /// Records the schemas that the graph has, if an object names one that is not recorded here.
    ///
    /// Everything is imported or nothing. Objects may refer to each other in any order. The rules
    /// of the models are checked as for other changes.
    ///
    /// Cost for each object: one get, and that of creating or storing it whole.
    ///
    /// # Errors
    /// Errors of schemas for a schema of the graph that is invalid, or contradicts what is recorded
    /// here. [`Error::GraphIds`] if its objects cannot have their IDs here: import with new IDs, or
    /// into a new database that was opened with
    /// [`Builder::schemas_of`](crate::Builder::schemas_of). [`Error::Graph`], which names object,
    /// field and value: for a type, field or schema that is not recorded here, a value that the
    /// field cannot hold, elements or keys that occur twice, an object that occurs twice or exists,
    /// and a reference that may not dangle to an object that neither the graph nor the database
    /// has. Errors of hooks and listeners; if a hook deletes a new object.
    pub fn import_graph(&self, graph: &Graph, how: Import) -> Result<BTreeMap<ObjId, ObjId>> {
        let schemas = self.new_schemas(graph, how)?;
        if schemas.is_empty() {
            return self.import_objects(graph, how);
        }
        // If an object is refused, the schemas must not stay either.
        self.core.atomic(|core| {
            record(core, &schemas)?;
            self.import_objects(graph, how)
        })
    }

    /// The schemas of the graph that an object names and that are not recorded. Types get storage
    /// IDs that are free here, unless the objects keep their IDs, which begin with them.
    fn new_schemas(&self, graph: &Graph, how: Import) -> Result<Vec<SchemaModel>> {
        let bundle = self.core.bundle();
        let new = graph.named_schemas()?.into_iter();
        let new = new.filter(|model| bundle.schema_by_id(model.schema_id()).is_none());
        Ok(match how.new_ids {
            // With new IDs, the storage IDs of the graph mean nothing here.
            true => new.map(|model| model.with_storage_ids(|_| None)).collect(),
            false => new.collect(),
        })
    }

    fn import_objects(&self, graph: &Graph, how: Import) -> Result<BTreeMap<ObjId, ObjId>> {
        let types = graph.objects.iter().map(|object| {
            self.type_of(object)
                .map_err(|wrong| Error::from(wrong.of(object.id, &object.type_name)))
        });
        let types: Vec<_> = types.collect::<Result<_>>()?;
        // All contents are made before the first write, so that a mistake in the graph changes
        // nothing.
        let ids = self.ids_of(graph, &types, how)?;
        let contents = graph.objects.iter().zip(&types).map(|(object, object_type)| {
            let data = content(object, object_type, &ids);
            let data = data.map_err(|wrong| wrong.of(object.id, &object.type_name))?;
            Ok((object.id, ids.get(&object.id).copied().unwrap_or(object.id), data))
        });
        let contents: Vec<_> = contents.collect::<Result<_>>()?;
        let mut refused = None;
        let import = || {
            self.core.mutate(|| {
                let (created, missing) = store_all(self, &contents, how)?;
                // Dangling references are only known when all objects are there. The error of the
                // object layer undoes them; the caller gets the one that knows the graph.
                match dangling(&contents, &missing)? {
                    None => Ok(created),
                    Some((error, target)) => {
                        refused = Some(error);
                        Err(self.core.deleted(target))
                    }
                }
            })
        };
        let stored = self.core.creating(import, Clone::clone);
        match (refused, stored) {
            (Some(refused), Err(_)) => Err(refused.into()),
            (_, stored) => {
                stored?;
                Ok(ids)
            }
        }
    }

    /// The type that an object of a graph has here.
    fn type_of(&self, object: &GraphObject) -> Result<Arc<ResolvedType>, Wrong> {
        let schema = match object.schema {
            None => self.core.schema(),
            Some(id) => {
                let bundle = self.core.bundle();
                let schema = bundle.schema_by_id(id).map(Arc::clone);
                schema.ok_or_else(|| {
                    Wrong::object(format!(
                        "schema {id} is not recorded here, nor in the graph: export the objects with their \
                         schemas, or move the object to the schema of the models before"
                    ))
                })?
            }
        };
        match schema.object_type(&object.type_name) {
            Some(object_type) => Ok(Arc::clone(object_type)),
            None => {
                let names = schema.model.object_types().iter().take(20);
                let names =
                    names.map(|it| format!("{:?}", it.name())).collect::<Vec<_>>().join(", ");
                Err(Wrong::object(format!("there is no such object type; there are {names}")))
            }
        }
    }

    /// The ID of each object by its ID in the graph.
    fn ids_of(
        &self,
        graph: &Graph,
        types: &[Arc<ResolvedType>],
        how: Import,
    ) -> Result<BTreeMap<ObjId, ObjId>> {
        let mut taken = BTreeSet::new();
        let mut ids = BTreeMap::new();
        for (object, object_type) in graph.objects.iter().zip(types) {
            let refused =
                |reason: String| Err(Wrong::object(reason).of(object.id, &object.type_name).into());
            let id = match how.new_ids {
                // All IDs are known before the first object is stored, because objects may refer to
                // each other in a circle.
                true => loop {
                    let id = self.core.generate_id(&object_type.name)?;
                    if taken.insert(id) {
                        break id;
                    }
                },
                false => object.id,
            };
            // The second object would replace the first one without a word.
            if ids.insert(object.id, id).is_some() {
                return refused("the graph has two objects with this ID".into());
            }
            if how.new_ids {
                continue;
            }
            // Objects with such an ID are not found among those of their type.
            if !id.is_shortest() {
                return refused("no object can have this ID: import with new IDs".into());
            }
            if id.storage_id() != object_type.storage_id {
                return refused(format!(
                    "its ID begins with storage ID {}, and those of its type in this database with {}; {KEEP_IDS}",
                    id.storage_id(),
                    object_type.storage_id
                ));
            }
            if !how.replacing && self.core.exists(id)? {
                return refused(
                    "an object with this ID exists: import with new IDs, or replace it".into(),
                );
            }
        }
        Ok(ids)
    }
}

/// An object: its ID in the graph, its ID here, and its content.
type ImportedObject = (ObjId, ObjId, ObjectData);

/// Stores the objects. Returns those that are new, and objects that did not exist when another was
/// stored that may not dangle.
fn store_all(
    tx: &Tx,
    contents: &[ImportedObject],
    how: Import,
) -> object::Result<(Vec<ObjId>, BTreeSet<ObjId>)> {
    let mut missing = MissingTargets::new();
    let mut created = Vec::new();
    for (_, id, data) in contents {
        // A later object of the graph may be the target, so missing ones are judged at the end.
        let mut options = CopyOptions::new().noting_missing(&mut missing);
        if how.silent {
            options = options.silent();
        }
        if tx.core.replace_object(*id, data, &mut options)? {
            created.push(*id);
        }
    }
    let mut still = BTreeSet::new();
    for id in missing.into_keys() {
        // Only those that no later object has become are still missing.
        if !tx.core.exists(id)? {
            still.insert(id);
        }
    }
    Ok((created, still))
}

/// The first reference to one of these objects that may not dangle.
fn dangling(
    contents: &[ImportedObject],
    missing: &BTreeSet<ObjId>,
) -> object::Result<Option<(GraphError, ObjId)>> {
    if missing.is_empty() {
        return Ok(None);
    }
    for (in_graph, _, data) in contents {
        let mut found = None;
        data.each_reference(|field, bytes| {
            let may = field.simple().and_then(|simple| simple.reference.as_ref());
            let target = ObjId::from_slice(bytes).ok();
            if let Some(target) = target
                && missing.contains(&target)
                && may.is_some_and(|reference| !reference.allow_deleted)
            {
                found.get_or_insert((field.full_name.to_string(), target));
            }
            Ok(())
        })?;
        if let Some((place, target)) = found {
            let reason = "this object is neither in the graph nor in the database, and the field may only refer to \
                          objects that exist";
            let wrong = Wrong::value(place, target, reason);
            return Ok(Some((wrong.of(*in_graph, &data.object_type().name), target)));
        }
    }
    Ok(None)
}

/// The content of an object.
fn content(
    object: &GraphObject,
    object_type: &Arc<ResolvedType>,
    ids: &BTreeMap<ObjId, ObjId>,
) -> Result<ObjectData, Wrong> {
    let mut builder = ObjectBuilder::new(Arc::clone(object_type));
    for (name, value) in &object.fields {
        let Some(field) = object_type.field(name) else {
            return Err(Wrong::at(shortened(name), "the type has no such field"));
        };
        add(&mut builder, field, value, ids)?;
    }
    Ok(builder.finish())
}

/// Adds a field.
fn add(
    builder: &mut ObjectBuilder,
    field: &ResolvedField,
    value: &GraphValue,
    ids: &BTreeMap<ObjId, ObjId>,
) -> Result<(), Wrong> {
    let name = &*field.name;
    let given = |error: EncodingError| Wrong::value(name, value, error.to_string());
    match &field.kind {
        ResolvedKind::Counter => {
            let number = match value {
                GraphValue::Number(number) => Some(*number),
                // Numbers above 2^53 are text in some JSON, so both forms are taken.
                GraphValue::Text(text) => text.parse().ok(),
                _ => None,
            };
            let number = number.ok_or_else(|| {
                Wrong::value(name, value, "a counter is a whole number of 64 bits, also as text")
            })?;
            builder.write_counter(field, number);
        }
        ResolvedKind::Simple(_) => {
            let bytes = encode(field, value, ids, || name.to_owned())?;
            builder.write_simple(field, as_given(&bytes)).map_err(given)?;
        }
        ResolvedKind::Set { element } => {
            let mut seen = BTreeSet::new();
            for (at, value) in list(field, value)?.iter().enumerate() {
                let place = || format!("{name}[{at}]");
                let bytes = encode(element, value, ids, place)?;
                builder.write_set_element(field, as_given(&bytes)).map_err(given)?;
                // A second one would be dropped without a word, so it is taken for a mistake.
                if !seen.insert(bytes) {
                    return Err(Wrong::value(place(), value, "a set has each element once"));
                }
            }
        }
        ResolvedKind::List { element } => {
            for (at, value) in (0..MAX_LIST_LEN).zip(list(field, value)?) {
                let bytes = encode(element, value, ids, || format!("{name}[{at}]"))?;
                builder.write_list_element(field, at, as_given(&bytes)).map_err(given)?;
            }
        }
        ResolvedKind::Map { key: keys, value: values } => {
            let mut seen = BTreeSet::new();
            for (at, entry) in list(field, value)?.iter().enumerate() {
                let GraphValue::List(parts) = entry else {
                    let reason = "an entry of a map is a list of its key and its value";
                    return Err(Wrong::value(format!("{name}[{at}]"), entry, reason));
                };
                let [key, value] = &parts[..] else {
                    let reason = "an entry of a map has two parts, its key and its value";
                    return Err(Wrong::value(format!("{name}[{at}]"), entry, reason));
                };
                let place = || format!("{name}[{at}].key");
                let key_bytes = encode(keys, key, ids, place)?;
                let value = encode(values, value, ids, || format!("{name}[{at}].value"))?;
                let added = builder.write_map_entry(field, as_given(&key_bytes), as_given(&value));
                added.map_err(given)?;
                // The later entry would win without a word, so it is taken for a mistake.
                if !seen.insert(key_bytes) {
                    return Err(Wrong::value(place(), key, "a map has each key once"));
                }
            }
        }
    }
    Ok(())
}

/// The values of a collection.
fn list<'v>(field: &ResolvedField, value: &'v GraphValue) -> Result<&'v [GraphValue], Wrong> {
    let GraphValue::List(values) = value else {
        return Err(Wrong::value(&*field.name, value, "the field is a collection: write a list"));
    };
    if u32::try_from(values.len()).is_ok_and(|length| length <= MAX_LIST_LEN) {
        Ok(values)
    } else {
        Err(Wrong::value(&*field.name, value, format!("it has at most {MAX_LIST_LEN} values")))
    }
}

/// The encoded form of a value. References to objects of the graph refer to the new ones.
fn encode(
    part: &ResolvedField,
    value: &GraphValue,
    ids: &BTreeMap<ObjId, ObjId>,
    place: impl Fn() -> String,
) -> Result<Vec<u8>, Wrong> {
    let simple = part.simple().ok_or_else(|| Wrong::at(place(), "it has no values"))?;
    let bytes = to_encoded(&*simple.encoding, value);
    let bytes = bytes.map_err(|reason| Wrong::value(place(), value, reason))?;
    if !matches!(simple.encoding.kind(), EncodingKind::Reference(_)) {
        return Ok(bytes);
    }
    // Null has no target.
    let Ok(target) = ObjId::from_slice(&bytes) else { return Ok(bytes) };
    let target = ids.get(&target).copied().unwrap_or(target);
    if simple.reference.as_ref().is_some_and(|refers| !refers.allows(target.storage_id())) {
        let reason = format!(
            "the field may not refer to objects of this type (storage ID {})",
            target.storage_id()
        );
        return Err(Wrong::value(place(), value, reason));
    }
    let mut bytes = Vec::new();
    ReferenceEncoding::write(Some(target), &mut bytes);
    Ok(bytes)
}

/// Appends a value that is encoded already.
fn as_given(bytes: &[u8]) -> impl FnOnce(&mut Vec<u8>) -> Result<(), EncodingError> {
    |out| {
        out.extend_from_slice(bytes);
        Ok(())
    }
}
