//! Rows, and where they go.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use permazen::ObjId;
use permazen::schema::SchemaId;

use super::Cell;

/// Takes what a reading statement finds.
///
/// Each method returns `Break` if no more is wanted. The methods are called while the pairs of the
/// transaction are lent, so they may read in it, but not change it.
pub trait Rows {
    /// The columns of the rows. Called once, before the first row, also if there is none. Not
    /// called if the statement gives objects.
    fn columns(&mut self, columns: &[Column]) -> ControlFlow<()>;

    /// One row, with a cell for each column. The row is used again for the next one.
    fn row(&mut self, row: &Row) -> ControlFlow<()>;

    /// One object with all its fields, for `show` and `export`. It is used again for the next one.
    fn object(&mut self, object: &ObjectRow) -> ControlFlow<()>;
}

/// A column of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Column {
    /// The value that it shows, as a path of the language: `name`, `boss.name`. Names in it are
    /// quoted and escaped where they must be.
    pub name: String,
    /// The same for programs: names in it are as they are recorded, not in backticks and not
    /// escaped. It is the same as `name` if two columns would have the same.
    pub plain: String,
    /// Whether all its values are numbers.
    pub numeric: bool,
}

impl Column {
    /// A column, for callers that show rows of their own.
    pub fn new(name: impl Into<String>, numeric: bool) -> Self {
        let name = name.into();
        Column { plain: name.clone(), name, numeric }
    }

    /// Columns with their names, the plain ones, and whether all their values are numbers.
    pub(crate) fn all(columns: impl Iterator<Item = (String, String, bool)>) -> Vec<Self> {
        let mut columns: Vec<Column> =
            columns.map(|(name, plain, numeric)| Column { name, plain, numeric }).collect();
        let mut seen: HashMap<String, usize> = HashMap::new();
        for column in &columns {
            *seen.entry(column.plain.clone()).or_default() += 1;
        }
        for column in &mut columns {
            if seen.get(&column.plain).is_some_and(|count| *count > 1) {
                column.plain.clone_from(&column.name);
            }
        }
        columns
    }
}

/// A row.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Row {
    /// The object that it is about, if it is about one.
    pub id: Option<ObjId>,
    /// A cell for each column.
    pub cells: Vec<Cell>,
}

/// An object with all its fields.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ObjectRow {
    /// Its ID.
    pub id: ObjId,
    /// The name of its type.
    pub type_name: Arc<str>,
    /// The schema it is in. [`Cell::Number`], or [`Cell::Damaged`] if it is unknown; then there are
    /// no fields.
    pub schema: Cell,
    /// The ID of that schema, which is the same in each database that records it; `None` if it is
    /// unknown.
    pub schema_id: Option<SchemaId>,
    /// The names and values of its fields, in the order of their storage IDs.
    pub fields: Vec<(Arc<str>, Cell)>,
}
