//! How a statement is run: which indexes it reads, what it filters and sorts.

mod build;
mod candidate;
mod choose;
mod describe;
mod known;
mod other_way;
mod physical;
mod reads;
mod shown;
mod spans;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

use permazen::__internal::layout::{object_schema_prefix, prefix_end};
use permazen::StorageId;
use permazen::kv::KvRead;
use permazen::object::Transaction;
use permazen::schema::SchemaIndex;

pub(crate) use physical::{
    EntryShape, IndexScan, Ordering, QueryPlan, SetPlan, Source, Span, TypeScan, comes_by_id,
    repeats,
};
pub(crate) use reads::{Reads, reads};
pub(crate) use spans::{all as whole_span, index_span};

use crate::check::{Checked, CheckedKind, CheckedQuery};
use crate::error::QueryError;
use crate::mistake::Mistake;
use choose::Chooser;

/// How a statement is run. It displays as lines.
#[derive(Debug, Clone)]
pub struct Plan {
    root: describe::Node,
    scanned_without_index: Option<String>,
}

impl Plan {
    /// The plan as JSON: an object with `what`, and `parts` that are such objects. The guide
    /// describes the other members of an object (docs/src/query-language.md#explain).
    pub fn json(&self) -> String {
        self.root.json()
    }

    /// If all objects of a type are read for lack of an index: why, as a sentence without a full
    /// stop. [`Ran`](crate::Ran) says the same when the statement has run.
    pub fn scanned_without_index(&self) -> Option<&str> {
        self.scanned_without_index.as_deref()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.root.lines())
    }
}

/// How a statement would be run. For `explain`, the plan of the explained statement. Cost: at most
/// one seek for each schema that has a type of the query.
///
/// # Errors
/// [`QueryError::Object`] if the store fails; [`QueryError::SchemasChanged`].
pub fn plan(tx: &Transaction, checked: &Checked) -> Result<Plan, QueryError> {
    // `explain` shows the plan of the statement in it, and runs nothing.
    let checked = checked.explained().map_or(checked, |(statement, _)| statement);
    check_schemas(tx, checked)?;
    // The pairs are lent for the length of the call, so the result leaves it in a variable.
    let mut made = None;
    tx.read_pairs(|kv| {
        made = Some(described(kv, checked));
        Ok(())
    })?;
    made.unwrap_or(Err(QueryError::SchemasChanged))
}

/// The plan of a statement without a query.
fn only(root: describe::Node) -> Plan {
    Plan { root, scanned_without_index: None }
}

fn described(kv: &dyn KvRead, checked: &Checked) -> Result<Plan, QueryError> {
    let (query, columns): (_, Option<Vec<_>>) = match &checked.kind {
        // The columns decide what is read of each object; without them all of it is.
        CheckedKind::Find(query, columns) => {
            (query, Some(columns.iter().map(|column| &column.path).collect()))
        }
        CheckedKind::Show(query) | CheckedKind::Export(query) => (query, None),
        // A count needs only the IDs.
        CheckedKind::Count(query) => (query, Some(Vec::new())),
        CheckedKind::Set(set) => (&set.query, Some(Vec::new())),
        CheckedKind::Delete(delete) => (&delete.query, Some(Vec::new())),
        CheckedKind::Migrate(migrate) => (&migrate.query, Some(Vec::new())),
        CheckedKind::Index(index) => return Ok(only(describe::index(index))),
        CheckedKind::Create(create) => return Ok(only(describe::create(&create.object_type))),
        CheckedKind::Explain { statement, .. } => return described(kv, statement),
    };
    let plan = query_plan(kv, checked, query)?;
    Ok(Plan {
        root: describe::statement(&checked.text, &plan, columns.as_deref()),
        scanned_without_index: plan.scanned_without_index(),
    })
}

/// The plan of a query, which is part of a checked statement.
pub(crate) fn query_plan(
    kv: &dyn KvRead,
    checked: &Checked,
    query: &CheckedQuery,
) -> Result<QueryPlan, QueryError> {
    // Each schema is asked for once, even if many candidates want to know.
    let seen: RefCell<HashMap<(StorageId, SchemaIndex), bool>> = RefCell::default();
    // The planner asks while it compares candidates, so the function must be a shared borrow.
    let occupied = |object_type: StorageId, schema: SchemaIndex| {
        if let Some(known) = seen.borrow().get(&(object_type, schema)) {
            return Ok(*known);
        }
        // The object schema index tells with one seek whether a schema has objects of a type.
        let prefix = [object_schema_prefix(schema), object_type.prefix()].concat();
        let found = kv.at_least(&prefix, prefix_end(&prefix).as_deref())?.is_some();
        seen.borrow_mut().insert((object_type, schema), found);
        Ok(found)
    };
    Chooser { catalog: &checked.catalog, occupied: &occupied }.query(query)
}

/// Sees whether the index that a statement wants to use can be used. Reads nothing: an index may
/// still lack the objects of some schemas.
///
/// # Errors
/// If it cannot.
pub(crate) fn check_using(checked: &Checked) -> Result<(), Mistake> {
    let query = match &checked.kind {
        CheckedKind::Find(query, _)
        | CheckedKind::Show(query)
        | CheckedKind::Export(query)
        | CheckedKind::Count(query) => query,
        CheckedKind::Set(set) => &set.query,
        CheckedKind::Delete(delete) => &delete.query,
        CheckedKind::Migrate(migrate) => &migrate.query,
        CheckedKind::Explain { statement, .. } => return check_using(statement),
        CheckedKind::Index(_) | CheckedKind::Create(_) => return Ok(()),
    };
    // No schema counts as occupied, since there is no transaction to read from.
    let chooser = Chooser { catalog: &checked.catalog, occupied: &|_, _| Ok(false) };
    match chooser.query(query) {
        Err(QueryError::Mistake(mistake)) => Err(mistake),
        // Whether the schemas have changed is seen when the statement runs.
        _ => Ok(()),
    }
}

/// Refuses a statement that was checked with other schemas.
pub(crate) fn check_schemas(tx: &Transaction, checked: &Checked) -> Result<(), QueryError> {
    let (now, then) = (tx.bundle(), checked.catalog.schemas());
    // Another transaction may have decoded the same schemas.
    if std::sync::Arc::ptr_eq(&now, then) || now.tables() == then.tables() {
        return Ok(());
    }
    Err(QueryError::SchemasChanged)
}
