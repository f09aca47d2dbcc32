//! JSON Lines: one JSON object a line. `output.schema.json` says what they are.

use permazen_query::text::json_string;
use permazen_query::{Cell, Column, ObjectRow, Row};

use super::sink::Sink;
use super::writer::Writer;

/// The JSON schema of a line.
pub(crate) const SCHEMA: &str = include_str!("output.schema.json");

/// Writes rows and objects as JSON.
pub(super) struct Json {
    /// The names of the columns, as JSON strings. The second of two that are the same is left out.
    columns: Vec<Option<String>>,
    line: String,
}

impl Json {
    pub(super) fn new() -> Json {
        Json { columns: Vec::new(), line: String::new() }
    }

    /// Adds `"name":value` pairs in braces. What an object does not have is left out.
    fn fields<'f>(&mut self, fields: impl Iterator<Item = (&'f str, &'f Cell)>) {
        let mut separator = '{';
        for (name, cell) in fields.filter(|(_, cell)| !matches!(cell, Cell::Absent)) {
            self.line.push(separator);
            self.line.push_str(name);
            self.line.push(':');
            self.line.push_str(&cell.json());
            separator = ',';
        }
        self.line.push_str(if separator == '{' { "{}" } else { "}" });
    }
}

impl Writer for Json {
    fn columns(&mut self, columns: &[Column], _sink: &mut Sink) {
        let mut names: Vec<Option<String>> = Vec::new();
        for column in columns {
            let name = Some(json_string(&column.name.as_str().into()));
            names.push(name.filter(|name| !names.contains(&Some(name.clone()))));
        }
        self.columns = names;
    }

    fn row(&mut self, row: &Row, sink: &mut Sink) {
        self.line.clear();
        self.line.push_str("{\"type\":\"row\",\"values\":");
        let columns = std::mem::take(&mut self.columns);
        let named = columns.iter().zip(&row.cells);
        self.fields(named.filter_map(|(name, cell)| Some((name.as_deref()?, cell))));
        self.columns = columns;
        self.line.push_str("}\n");
        sink.push(self.line.as_bytes());
    }

    fn object(&mut self, object: &ObjectRow, sink: &mut Sink) {
        self.line.clear();
        let type_name = json_string(&(&*object.type_name).into());
        self.line.push_str(&format!(
            "{{\"type\":\"object\",\"id\":\"{}\",\"object_type\":{type_name},\"schema\":{},\"fields\":",
            object.id,
            object.schema.json(),
        ));
        let names: Vec<_> =
            object.fields.iter().map(|(name, _)| json_string(&(&**name).into())).collect();
        let cells = object.fields.iter().map(|(_, cell)| cell);
        self.fields(names.iter().map(String::as_str).zip(cells));
        self.line.push_str("}\n");
        sink.push(self.line.as_bytes());
    }
}
