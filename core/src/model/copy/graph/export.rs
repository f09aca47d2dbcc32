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
use crate::schema::{ResolvedField, ResolvedKind};

impl Tx {
    /// Objects as plain data, for JSON and the like. Every value is there exactly as it is stored.
    /// `objects` are handles, references or IDs: those of a [`Cascade`](crate::model::Cascade)
    /// (`artist.cascade("music").ids()?`), of a set (`tx.all::<Artist>()?.to_vec()?`), or all
    /// (`tx.everything()?.to_vec()?`). Each is there once, where it comes first. References to other
    /// objects are kept.
    ///
    /// An object has the fields of its own schema. If that is not the schema of the transaction, it
    /// is named, and an import needs it too. [`Obj::migrate`](crate::Obj::migrate) moves objects to
    /// the schema of the transaction.
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
        let mut seen = BTreeSet::new();
        let mut graph = Graph::default();
        for object in objects {
            let id: ObjId = object.into();
            if !seen.insert(id) {
                continue;
            }
            let data = self.core.load(id, Migrate::No)?;
            let object_type = data.object_type();
            let fields = fields(&data).map_err(|wrong| wrong.of(id, &object_type.name))?;
            graph.objects.push(GraphObject {
                id,
                type_name: object_type.name.to_string(),
                schema: Some(object_type.schema_of).filter(|schema| *schema != own),
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
