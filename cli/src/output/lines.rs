//! Rows and objects with one field a line, for people. Values are as they are typed in statements.

use permazen_query::text::{escaped, quoted_name};
use permazen_query::{Cell, Column, ObjectRow, Row};

use super::sink::Sink;
use super::writer::Writer;

/// Writes one field a line, with an empty line between rows.
pub(super) struct Lines {
    columns: Vec<String>,
    first: bool,
}

impl Lines {
    pub(super) fn new() -> Lines {
        Lines { columns: Vec::new(), first: true }
    }

    /// Adds the gap between two rows.
    fn gap(&mut self, text: &mut String) {
        if !std::mem::take(&mut self.first) {
            text.push('\n');
        }
    }
}

/// Adds `name: value`, or nothing for a value that the object does not have.
fn field(indent: &str, name: &str, cell: &Cell, text: &mut String) {
    if matches!(cell, Cell::Absent) {
        return;
    }
    text.push_str(&format!("{indent}{name}: {}", cell.literal()));
    if let Some(reason) = damage(cell) {
        text.push_str(&format!("  -- damaged: {}", escaped(reason)));
    }
    text.push('\n');
}

/// Why a value, or the first such one in it, is damaged.
fn damage(cell: &Cell) -> Option<&str> {
    match cell {
        Cell::Damaged { reason, .. } => Some(reason),
        Cell::Set(cells) | Cell::List(cells) => cells.iter().find_map(damage),
        Cell::Map(pairs) => pairs.iter().find_map(|(key, value)| damage(key).or(damage(value))),
        _ => None,
    }
}

impl Writer for Lines {
    fn columns(&mut self, columns: &[Column], _sink: &mut Sink) {
        self.columns = columns.iter().map(|column| escaped(&column.name).into_owned()).collect();
    }

    fn row(&mut self, row: &Row, sink: &mut Sink) {
        let mut text = String::new();
        self.gap(&mut text);
        for (name, cell) in self.columns.iter().zip(&row.cells) {
            field("", name, cell, &mut text);
        }
        sink.push(text.as_bytes());
    }

    fn object(&mut self, object: &ObjectRow, sink: &mut Sink) {
        let mut text = String::new();
        self.gap(&mut text);
        let type_name = quoted_name(&object.type_name);
        text.push_str(&format!("@{}  {type_name}, schema ", object.id));
        text.push_str(&object.schema.shown());
        text.push('\n');
        for (name, cell) in &object.fields {
            field("  ", &quoted_name(name), cell, &mut text);
        }
        sink.push(text.as_bytes());
    }
}
