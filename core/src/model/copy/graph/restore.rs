//! The schemas of a graph, and a database in which they are recorded first.

use std::collections::BTreeSet;

use super::Graph;
use crate::model::error::{Error, Result};
use crate::model::permazen::builder::Builder;
use crate::schema::SchemaModel;

impl Graph {
    /// The schemas that objects name, in their order here, each once.
    pub(super) fn named_schemas(&self) -> Result<Vec<SchemaModel>> {
        let named: BTreeSet<_> = self.objects.iter().filter_map(|object| object.schema).collect();
        let mut seen = BTreeSet::new();
        let mut models = Vec::new();
        for document in &self.schemas {
            let model = SchemaModel::from_xml(document.as_bytes())?;
            let id = model.schema_id();
            // Schemas that no object names would be recorded for nothing.
            if named.contains(&id) && seen.insert(id) {
                models.push(model);
            }
        }
        Ok(models)
    }
}

impl Builder {
    /// Lets [`build`](Builder::build) record the schemas of a graph before that of the models, so
    /// that a backup in the graph can be imported with its IDs into a new database. IDs of objects
    /// begin with the storage IDs of their types. Without this, the database has given other ones
    /// to the types of the models, and some to their fields, before the graph is imported.
    ///
    /// The graph must be one of
    /// [`export_graph_with_schemas`](crate::Tx::export_graph_with_schemas). It may be from another
    /// version of the program: objects keep their schema until they move, and objects of types that
    /// the models lack stay as they are.
    ///
    /// ```
    /// # use permazen::{Permazen, Ref, kv::memory::MemoryStore};
    /// # use permazen::model::{Graph, Import};
    /// # mod before {
    /// #     #[derive(permazen::PermazenObject, Default)]
    /// #     pub struct Order { pub number: i32 }
    /// # }
    /// # mod now {
    /// #     #[derive(permazen::PermazenObject, Default)]
    /// #     pub struct Customer { pub name: String }
    /// #     #[derive(permazen::PermazenObject, Default)]
    /// #     pub struct Order { #[permazen(was = "number", indexed, unique)] pub order_number: i32 }
    /// # }
    /// # let db = Permazen::builder(MemoryStore::new()).model::<before::Order>().build()?;
    /// let (json, id) = db.write(|tx| {
    ///     let order = tx.create(before::Order { number: 7 })?;
    ///     let all = tx.export_graph_with_schemas(tx.everything()?.to_vec()?)?;
    ///     Ok((serde_json::to_string(&all).map_err(permazen::Error::other)?, order.id()))
    /// })?;
    ///
    /// // A newer program restores it in a new database.
    /// let graph: Graph = serde_json::from_str(&json).map_err(permazen::Error::other)?;
    /// let db = Permazen::builder(MemoryStore::new())
    ///     .model::<now::Customer>()
    ///     .model::<now::Order>()
    ///     .schemas_of(&graph)
    ///     .build()?;
    /// db.write(|tx| tx.import_graph(&graph, Import::new().silent()))?;
    /// let number = db.read(|tx| tx.get(Ref::<now::Order>::new(id))?.order_number())?;
    /// assert_eq!(number, 7);
    /// # Ok::<(), permazen::Error>(())
    /// ```
    ///
    /// All schemas are recorded in one transaction. If the database has them already, nothing is
    /// written. They are recorded even if new schemas are [not allowed](Builder::allow_new_schema),
    /// and stay until the returned `Permazen` is closed, also without objects. Schemas without
    /// objects that contradict them are removed first, unless
    /// [`schema_removal`](Builder::schema_removal) keeps them, or this process has a database open
    /// with one of them: this database or another one.
    ///
    /// # Errors
    /// `build` then also gives: [`Error::GraphIds`] if the database uses the storage IDs otherwise
    /// already, or the graph has no schemas; errors of schemas for a schema of the graph that is
    /// invalid.
    pub fn schemas_of(mut self, graph: &Graph) -> Self {
        let schemas = match graph.named_schemas() {
            // Objects without schemas would get the storage IDs that this database gives, and their
            // IDs would not fit.
            Ok(models) if models.is_empty() && !graph.objects.is_empty() => Err(Error::GraphIds {
                reason: "it has no schemas; `export_graph_with_schemas` adds them".into(),
            }),
            schemas => schemas,
        };
        self.earlier = match (self.earlier, schemas) {
            (Ok(mut earlier), Ok(schemas)) => {
                earlier.extend(schemas);
                Ok(earlier)
            }
            (Err(error), _) | (_, Err(error)) => Err(error),
        };
        self
    }
}
