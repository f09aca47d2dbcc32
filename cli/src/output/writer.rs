//! From rows to text: one writer for each format.

use permazen_query::{Column, ObjectRow, Row};

use super::csv::Csv;
use super::format::Format;
use super::json::Json;
use super::lines::Lines;
use super::sink::Sink;
use super::table::Table;

/// Writes rows, or objects, in one format.
pub(super) trait Writer: Send {
    /// The columns of the rows that come.
    fn columns(&mut self, columns: &[Column], sink: &mut Sink);

    /// One row.
    fn row(&mut self, row: &Row, sink: &mut Sink);

    /// One object. A statement gives either rows or objects.
    fn object(&mut self, object: &ObjectRow, sink: &mut Sink);

    /// Nothing has come for a while: what was held back is written.
    fn overdue(&mut self, _sink: &mut Sink) {}

    /// No more comes.
    fn end(&mut self, _sink: &mut Sink) {}
}

/// The writer of a format. `exact`: nothing is escaped in formats that are exact in pipes.
pub(super) fn writer(format: Format, exact: bool) -> Box<dyn Writer> {
    match format {
        Format::Table => Box::new(Table::new()),
        // Statements whose objects are XML are not written as rows.
        Format::Lines | Format::Xml => Box::new(Lines::new()),
        Format::Json => Box::new(Json::new()),
        Format::Csv => Box::new(Csv::new(exact)),
        Format::Raw => Box::new(Csv::raw(exact)),
    }
}
