//! Lists that commands show: rows in every format, like the rows of statements.

use permazen_query::{Cell, Column, Row, Rows};

use crate::failure::Failure;
use crate::output::{Format, Output};

/// Shows rows under these columns; columns whose names begin with `#` have numbers.
pub(crate) fn show(
    columns: &[&str],
    out: &mut Output,
    rows: impl IntoIterator<Item = Vec<Cell>>,
) -> Result<(), Failure> {
    let format = out.format().unwrap_or(Format::Table);
    if format == Format::Xml {
        return Err(not_as(format, "a list", "only objects can be written as XML"));
    }
    out.rows(format, |to| {
        if begin(columns, to) {
            for cells in rows {
                if !row(cells, to) {
                    break;
                }
            }
        }
        Ok(())
    })
}

/// Refuses a format.
pub(crate) fn not_as(format: Format, what: &str, why: &str) -> Failure {
    Failure::new(format!("{}: {what} cannot be shown so: {why}", format.option()))
}

/// Gives the columns. Returns whether rows are wanted.
pub(crate) fn begin(columns: &[&str], to: &mut dyn Rows) -> bool {
    let columns: Vec<_> = columns
        .iter()
        .map(|name| match name.strip_prefix('#') {
            Some(name) => Column::new(name, true),
            None => Column::new(*name, false),
        })
        .collect();
    to.columns(&columns).is_continue()
}

/// Gives a row. Returns whether more are wanted.
pub(crate) fn row(cells: Vec<Cell>, to: &mut dyn Rows) -> bool {
    let mut row = Row::default();
    row.cells = cells;
    to.row(&row).is_continue()
}

pub(crate) fn text(text: impl AsRef<str>) -> Cell {
    Cell::Text(text.as_ref().into())
}

/// A number; nothing if there is none.
pub(crate) fn number(number: impl Into<Option<u64>>) -> Cell {
    number.into().map_or(Cell::Absent, Cell::Number)
}
