//! From rows to text.

use permazen_query::{Column, ObjectRow, Row};

use super::sink::Sink;

/// Writes rows, or objects, in one format.
pub(super) trait Writer: Send {
    /// The columns of the rows that come.
    fn columns(&mut self, columns: &[Column], sink: &mut Sink);

    /// One row.
    fn row(&mut self, row: &Row, sink: &mut Sink);

    /// One object. A statement gives either rows or objects.
    fn object(&mut self, object: &ObjectRow, sink: &mut Sink);

    /// No row has come for a while: the rows that were held back are written.
    fn overdue(&mut self, _sink: &mut Sink) {}

    /// No more comes.
    fn end(&mut self, _sink: &mut Sink) {}
}
