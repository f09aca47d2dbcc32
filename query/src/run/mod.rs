//! Running statements that read.
//!
//! A statement reads the pairs of its transaction as its plan says, and gives its results to a
//! [`Rows`](crate::Rows) at once. The pairs of an object are read where they lie, and a value is
//! decoded only to be shown.

mod cells;
mod combined;
mod entries;
mod fail;
mod id_sorter;
mod index;
mod meets;
mod order;
mod query;
mod reader;
mod sets;
mod sort;
mod spill;
mod statement;
mod subject;
mod values;
mod wanted;

use std::ops::ControlFlow;

use permazen::ObjId;
use permazen::object::Transaction;

use crate::check::{Checked, CheckedKind, CheckedQuery};
use crate::error::QueryError;
use crate::limits::Limits;
use crate::plan::{check_schemas, plan, query_plan};
use crate::rows::{Cell, Column, Row, Rows};
use fail::Fail;
use query::{Needs, Query};
use reader::Reader;

/// The result of a statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ran {
    /// How many rows or objects were given.
    pub rows: u64,
    /// How many damaged values, objects and index entries were met.
    pub damaged: u64,
    /// Whether it was stopped: [`Limits::stop`] was set. Its results so far are right, but not
    /// complete. It is not set if [`Rows`] wanted no more.
    pub stopped: bool,
    /// If all objects of a type were read for lack of an index: why, as a sentence without a full
    /// stop. That is so for each set of which the objects of the statement consist.
    pub scanned_without_index: Option<String>,
}

/// Runs a statement that reads, and gives what it finds to `rows`. An explanation gives the lines
/// of its plan; the explained statement is not run.
///
/// # Errors
/// [`QueryError::Object`] if the store fails, [`QueryError::Temporary`] if a temporary file is
/// needed and cannot be used, [`QueryError::SchemasChanged`], and [`QueryError::WrongKind`] if the
/// statement changes objects.
///
/// ```
/// use std::ops::ControlFlow;
/// use permazen::kv::memory::MemoryStore;
/// use permazen::object::{Database, TransactionConfig};
/// use permazen::schema::{Field, ObjectType, SchemaModel, Simple};
/// use permazen_query::{Catalog, Column, Limits, ObjectRow, Parameters, Row, Rows, check, parse, run};
///
/// #[derive(Default)]
/// struct Lines(Vec<String>);
///
/// impl Rows for Lines {
///     fn columns(&mut self, _: &[Column]) -> ControlFlow<()> {
///         ControlFlow::Continue(())
///     }
///     fn row(&mut self, row: &Row) -> ControlFlow<()> {
///         self.0.push(row.cells.iter().map(|cell| cell.shown()).collect::<Vec<_>>().join(" "));
///         ControlFlow::Continue(())
///     }
///     fn object(&mut self, _: &ObjectRow) -> ControlFlow<()> {
///         ControlFlow::Continue(())
///     }
/// }
///
/// let string = "urn:fdc:permazen.io:2020:String".parse()?;
/// let person = ObjectType::new("Person").field(Field::new("name", Simple::of(string).indexed()));
/// let config = TransactionConfig::new(SchemaModel::new().object_type(person))?;
/// let db = Database::new(std::sync::Arc::new(MemoryStore::new()));
/// let tx = db.begin(&config)?;
/// for name in ["Bob", "Ann"] {
///     tx.set(tx.create("Person")?, "name", &name.into(), Default::default())?;
/// }
///
/// let statement = parse("find Person order by name columns name")?;
/// let checked = check(&statement, &Catalog::of(&tx), &Parameters::new())?;
/// let mut lines = Lines::default();
/// let ran = run(&tx, &checked, &Limits::default(), &mut lines)?;
/// assert_eq!((ran.rows, lines.0), (2, vec!["Ann".to_owned(), "Bob".to_owned()]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(
    tx: &Transaction,
    checked: &Checked,
    limits: &Limits,
    rows: &mut dyn Rows,
) -> Result<Ran, QueryError> {
    if let Some((statement, _)) = checked.explained() {
        // An explanation reads only what the planner asks, and gives lines in place of objects.
        return explain(tx, statement, rows);
    }
    // The statement was checked with the schemas of then; storage IDs can mean something else now.
    check_schemas(tx, checked)?;
    let mut ran = Ran::default();
    lent(tx, checked, limits, &mut ran, |query, ran| {
        let made = |of: &CheckedQuery| query_plan(query.reader.kv, checked, of);
        ran.rows = match &checked.kind {
            CheckedKind::Find(of, columns) => {
                let plan = made(of)?;
                ran.scanned_without_index = plan.scanned_without_index();
                query.find(&plan, columns, rows)?
            }
            CheckedKind::Show(of) | CheckedKind::Export(of) => {
                let plan = made(of)?;
                ran.scanned_without_index = plan.scanned_without_index();
                query.show(&plan, of, rows)?
            }
            CheckedKind::Count(of) => {
                let plan = made(of)?;
                ran.scanned_without_index = plan.scanned_without_index();
                query.count(&plan, rows)?
            }
            CheckedKind::Index(index) => query.index(index, rows)?,
            // Statements that change objects are run elsewhere, since they need more than the
            // pairs.
            CheckedKind::Create(_)
            | CheckedKind::Set(_)
            | CheckedKind::Delete(_)
            | CheckedKind::Migrate(_)
            | CheckedKind::Explain { .. } => {
                return Err(Fail::Error(QueryError::WrongKind(
                    "a statement that changes objects cannot be run as one that reads",
                )));
            }
        };
        Ok(())
    })?;
    Ok(ran)
}

/// The objects of a statement with a query, in order: those that `set`, `delete` and `migrate`
/// change, and that `export` writes.
///
/// Returns fewer if it is stopped ([`Limits::is_stopped`]).
///
/// # Errors
/// The errors of [`run`]; [`QueryError::WrongKind`] if the statement has no query.
pub fn matches(
    tx: &Transaction,
    checked: &Checked,
    limits: &Limits,
) -> Result<Vec<ObjId>, QueryError> {
    let mut ids = Vec::new();
    each_match(tx, checked, limits, &mut |id| {
        ids.push(id);
        ControlFlow::Continue(())
    })?;
    Ok(ids)
}

/// Calls `found` with each object that [`matches`](matches()) would return, without collecting
/// them, until it breaks. It is called while the pairs of the transaction are lent, so it may read
/// in it, but not change it.
///
/// # Errors
/// The errors of [`matches`](matches()).
pub fn each_match(
    tx: &Transaction,
    checked: &Checked,
    limits: &Limits,
    found: &mut dyn FnMut(ObjId) -> ControlFlow<()>,
) -> Result<Ran, QueryError> {
    check_schemas(tx, checked)?;
    let of = match &checked.kind {
        CheckedKind::Find(query, _)
        | CheckedKind::Show(query)
        | CheckedKind::Count(query)
        | CheckedKind::Export(query) => query,
        CheckedKind::Set(set) => &set.query,
        CheckedKind::Delete(delete) => &delete.query,
        CheckedKind::Migrate(migrate) => &migrate.query,
        CheckedKind::Index(_) | CheckedKind::Create(_) | CheckedKind::Explain { .. } => {
            return Err(QueryError::WrongKind("this statement has no query for objects"));
        }
    };
    let mut ran = Ran::default();
    lent(tx, checked, limits, &mut ran, |query, ran| {
        // The plan is made with the lent pairs, so it sees the same data as the statement.
        let plan = query_plan(query.reader.kv, checked, of)?;
        ran.scanned_without_index = plan.scanned_without_index();
        // Only IDs are wanted, so no content is read beyond that of the filter and the order.
        query.objects(&plan, &Needs::nothing(), &mut |subject| {
            ran.rows += 1;
            Ok(found(subject.id).into())
        })?;
        Ok(())
    })?;
    Ok(ran)
}

/// Calls `body` with the pairs lent for reading.
fn lent(
    tx: &Transaction,
    checked: &Checked,
    limits: &Limits,
    ran: &mut Ran,
    body: impl FnOnce(&Query<'_>, &mut Ran) -> fail::Result<()>,
) -> Result<(), QueryError> {
    let bundle = tx.bundle();
    // An error of the statement is no error of the store, so it leaves the lent call beside its
    // result.
    let mut outcome = Ok(());
    tx.read_pairs(|kv| {
        let reader = Reader::new(kv, &bundle, limits.stop.as_ref());
        let query = Query { reader: &reader, limits, catalog: &checked.catalog };
        outcome = body(&query, ran);
        // The damage is counted even if the statement was stopped.
        ran.damaged = reader.damaged();
        Ok(())
    })?;
    match outcome {
        Ok(()) => Ok(()),
        Err(Fail::Stopped) => {
            // A stop keeps the results so far: the consumer has them already.
            ran.stopped = true;
            Ok(())
        }
        Err(Fail::Error(error)) => Err(error),
    }
}

fn explain(tx: &Transaction, statement: &Checked, rows: &mut dyn Rows) -> Result<Ran, QueryError> {
    let plan = plan(tx, statement)?;
    let mut ran = Ran::default();
    let mut flow = rows.columns(&[Column::new("plan", false)]);
    for line in plan.to_string().lines() {
        if flow.is_break() {
            break;
        }
        ran.rows += 1;
        flow = rows.row(&Row { id: None, cells: vec![Cell::Text(line.into())] });
    }
    Ok(ran)
}
