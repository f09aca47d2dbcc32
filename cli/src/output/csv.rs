//! Comma separated values, and values with tabs between them. In pipes they are exact, on a
//! terminal they are escaped.

use std::borrow::Cow;

use permazen::encoding::Value;
use permazen_query::text::escaped;
use permazen_query::{Cell, Column, ObjectRow, Row};

use super::sink::Sink;
use super::writer::Writer;

/// Writes one row a line.
pub(super) struct Csv {
    /// Without quotes and a header, with tabs.
    raw: bool,
    exact: bool,
    line: String,
    /// The field that is being added.
    field: String,
}

impl Csv {
    /// With commas and a header. The form is that of RFC 4180, but lines end with a line feed
    /// alone. Null is an empty field, the empty text is `""`.
    pub(super) fn new(exact: bool) -> Csv {
        Csv { raw: false, exact, line: String::new(), field: String::new() }
    }

    /// With tabs, without a header and without any quotes.
    pub(super) fn raw(exact: bool) -> Csv {
        Csv { raw: true, exact, line: String::new(), field: String::new() }
    }

    fn add(&mut self, first: bool, is_null: bool, push: impl FnOnce(&mut String)) {
        self.field.clear();
        push(&mut self.field);
        let field = if self.exact { Cow::Borrowed(&*self.field) } else { escaped(&self.field) };
        if !first {
            self.line.push(if self.raw { '\t' } else { ',' });
        }
        let quoted =
            !self.raw && (field.contains([',', '"', '\n', '\r']) || (field.is_empty() && !is_null));
        if quoted {
            self.line.push('"');
            self.line.push_str(&field.replace('"', "\"\""));
            self.line.push('"');
        } else {
            self.line.push_str(&field);
        }
    }

    fn end_line(&mut self, sink: &mut Sink) {
        self.line.push('\n');
        sink.push(self.line.as_bytes());
        self.line.clear();
    }
}

impl Writer for Csv {
    fn columns(&mut self, columns: &[Column], sink: &mut Sink) {
        if self.raw {
            return;
        }
        for (at, column) in columns.iter().enumerate() {
            self.add(at == 0, false, |out| out.push_str(&column.plain));
        }
        self.end_line(sink);
    }

    fn row(&mut self, row: &Row, sink: &mut Sink) {
        for (at, cell) in row.cells.iter().enumerate() {
            let is_null = matches!(cell, Cell::Value(Value::Null, _) | Cell::Absent);
            self.add(at == 0, is_null, |out| cell.push_raw(out));
        }
        self.end_line(sink);
    }

    /// Statements that give objects, which have no columns, are refused before.
    fn object(&mut self, object: &ObjectRow, sink: &mut Sink) {
        self.add(true, false, |out| Cell::Id(object.id).push_raw(out));
        self.end_line(sink);
    }
}
