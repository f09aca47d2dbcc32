//! From stored objects to plain data.

use std::collections::{BTreeMap, BTreeSet};

use permazen_kv::Hex;

use super::error::{Wrong, shortened};
use super::value::{to_plain, whole};
use super::{Graph, GraphObject, GraphValue};
use crate::id::ObjId;
use crate::model::error::Result;
use crate::model::tx::Tx;
use crate::object::{Migrate, ObjectData};
use crate::schema::item::{Item, Part};
use crate::schema::recorded_schemas::RecordedSchema;
use crate::schema::{ResolvedField, ResolvedKind, SchemaId, XmlForm};

impl Tx {
    /// Objects as plain data, for JSON and the like. Every value is there exactly as it is stored.
    /// `objects` are handles, references or IDs: those of a [`Cascade`](crate::model::Cascade)
    /// (`artist.cascade("music").ids()?`), of a set (`tx.all::<Artist>()?.to_vec()?`), or all
    /// (`tx.everything()?.to_vec()?`). Each is there once, where it comes first. References to
    /// other objects are kept.
    ///
    /// An object has the fields of its own schema. If that is not the schema of the transaction, it
    /// is named, and an import needs it too: export with
    /// [schemas](Tx::export_graph_with_schemas), or let [`Obj::migrate`](crate::Obj::migrate) move
    /// the objects to the schema of the transaction.
    ///
    /// Cost for each object: that of reading it whole.
    ///
    /// # Errors
    /// If an object does not exist; [`Error::Graph`](crate::Error::Graph) if a stored value is
    /// damaged.
    pub fn export_graph(
        &self,
        objects: impl IntoIterator<Item = impl Into<ObjId>>,
    ) -> Result<Graph> {
        let own = self.schema().id;
        // An import takes an object without a schema for one of the models.
        self.graph_of(objects, |schema| Some(schema).filter(|schema| *schema != own))
    }

    /// Does the same as [`export_graph`](Tx::export_graph), and adds the schemas of the objects,
    /// which all name theirs. So a program with other models can import them, and so can an empty
    /// database: it also records the schemas. This is the form for backups.
    ///
    /// ```
    /// # use permazen::{PermazenObject, Permazen, kv::memory::MemoryStore};
    /// # use permazen::model::{Graph, Import};
    /// mod old {
    ///     #[derive(permazen::PermazenObject)]
    ///     pub struct Note { pub text: String }
    /// }
    /// # #[derive(PermazenObject)]
    /// # struct Task { title: String }
    /// let db = Permazen::builder(MemoryStore::new()).model::<old::Note>().build()?;
    /// let json = db.write(|tx| {
    ///     tx.create(old::Note { text: "milk".into() })?;
    ///     let all = tx.export_graph_with_schemas(tx.everything()?.to_vec()?)?;
    ///     serde_json::to_string(&all).map_err(permazen::Error::other)
    /// })?;
    ///
    /// // The program of this database has no notes.
    /// let db = Permazen::builder(MemoryStore::new()).model::<Task>().build()?;
    /// db.write(|tx| {
    ///     let all: Graph = serde_json::from_str(&json).map_err(permazen::Error::other)?;
    ///     let note = tx.import_graph(&all, Import::new().new_ids())?.into_values().next().unwrap();
    ///     assert_eq!(tx.any(note).get("text")?, "milk".into());
    ///     Ok(())
    /// })?;
    /// # Ok::<(), permazen::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`export_graph`](Tx::export_graph).
    pub fn export_graph_with_schemas(
        &self,
        objects: impl IntoIterator<Item = impl Into<ObjId>>,
    ) -> Result<Graph> {
        let mut graph = self.graph_of(objects, Some)?;
        let named: BTreeSet<_> = graph.objects.iter().filter_map(|object| object.schema).collect();
        let bundle = self.core.bundle();
        let form = XmlForm { storage_ids: true, pretty: false };
        let schemas = bundle.recorded().schemas().iter();
        // Schemas that no object names are left out, since an import would record them for nothing.
        let schemas = schemas.filter(|schema| named.contains(&schema.model.schema_id()));
        // The IDs of objects have those of types. Those of fields may differ elsewhere.
        let of_types = |item: &Item<'_>| match item.part {
            Part::ObjectType => item.storage_id(),
            _ => None,
        };
        let document = |schema: &RecordedSchema| {
            schema.model_with_storage_ids().with_storage_ids(of_types).to_xml(form)
        };
        graph.schemas = schemas.map(document).collect();
        Ok(graph)
    }

    /// The objects, with the schemas that `shown` names for them.
    fn graph_of(
        &self,
        objects: impl IntoIterator<Item = impl Into<ObjId>>,
        shown: impl Fn(SchemaId) -> Option<SchemaId>,
    ) -> Result<Graph> {
        let mut seen = BTreeSet::new();
        let mut graph = Graph::default();
        for object in objects {
            let id: ObjId = object.into();
            // The caller may name an object twice, and an import refuses a second one.
            if !seen.insert(id) {
                continue;
            }
            let data = self.core.load(id, Migrate::No)?;
            let object_type = data.object_type();
            let fields = fields(&data).map_err(|wrong| wrong.of(id, &object_type.name))?;
            graph.objects.push(GraphObject {
                id,
                type_name: object_type.name.to_string(),
                schema: shown(object_type.schema_of),
                fields,
            });
        }
        Ok(graph)
    }
}

fn fields(data: &ObjectData) -> Result<BTreeMap<String, GraphValue>, Wrong> {
    let all = data.object_type().fields.iter();
    all.map(|field| Ok((field.name.to_string(), field_value(data, field)?))).collect()
}

fn field_value(data: &ObjectData, field: &ResolvedField) -> Result<GraphValue, Wrong> {
    let damaged = |error: crate::object::Error| Wrong::at(&*field.name, error.to_string());
    let plain = |part: &ResolvedField, bytes: &[u8]| {
        let simple = part.simple().ok_or_else(|| Wrong::at(&*field.name, "it has no values"))?;
        to_plain(&*simple.encoding, bytes).map_err(|reason| {
            Wrong::value(&*field.name, shortened(&Hex(bytes).to_string()), reason)
        })
    };
    let pairs = data.pairs(field);
    Ok(match &field.kind {
        ResolvedKind::Simple(_) => plain(field, data.simple(field).map_err(damaged)?)?,
        ResolvedKind::Counter => whole(data.counter(field).map_err(damaged)?),
        ResolvedKind::Set { element } => {
            GraphValue::List(pairs.map(|(key, _)| plain(element, key)).collect::<Result<_, _>>()?)
        }
        ResolvedKind::List { element } => {
            // A list with a gap would come back with other positions.
            data.check_list(field).map_err(damaged)?;
            let elements = pairs.map(|(_, value)| plain(element, value));
            GraphValue::List(elements.collect::<Result<_, _>>()?)
        }
        ResolvedKind::Map { key: keys, value: values } => {
            let entries = pairs.map(|(key, value)| {
                Ok(GraphValue::List(vec![plain(keys, key)?, plain(values, value)?]))
            });
            GraphValue::List(entries.collect::<Result<_, Wrong>>()?)
        }
    })
}
