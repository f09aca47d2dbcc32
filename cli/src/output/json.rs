//! JSON Lines: one JSON object a line. `output.schema.json` says what they are.

use permazen_query::text::push_json_text;
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
}

/// Adds `"name":value` pairs in braces. Fields that an object does not have are left out.
fn fields<'f, N>(
    line: &mut String,
    fields: impl Iterator<Item = (N, &'f Cell)>,
    push_name: impl Fn(N, &mut String),
) {
    let mut separator = '{';
    for (name, cell) in fields.filter(|(_, cell)| !matches!(cell, Cell::Absent)) {
        line.push(separator);
        push_name(name, line);
        line.push(':');
        cell.push_json(line);
        separator = ',';
    }
    line.push_str(if separator == '{' { "{}" } else { "}" });
}

impl Writer for Json {
    fn columns(&mut self, columns: &[Column], _sink: &mut Sink) {
        let mut names: Vec<Option<String>> = Vec::new();
        for column in columns {
            let mut name = String::new();
            push_json_text(&column.plain, &mut name);
            names.push(Some(name).filter(|name| !names.contains(&Some(name.clone()))));
        }
        self.columns = names;
    }

    fn row(&mut self, row: &Row, sink: &mut Sink) {
        self.line.clear();
        self.line.push_str("{\"type\":\"row\",\"values\":");
        let named = self.columns.iter().zip(&row.cells);
        let named = named.filter_map(|(name, cell)| Some((name.as_deref()?, cell)));
        fields(&mut self.line, named, |name, line| line.push_str(name));
        self.line.push_str("}\n");
        sink.push(self.line.as_bytes());
    }

    fn object(&mut self, object: &ObjectRow, sink: &mut Sink) {
        self.line.clear();
        let line = &mut self.line;
        line.push_str("{\"type\":\"object\",\"id\":");
        Cell::Id(object.id).push_json(line);
        line.push_str(",\"object_type\":");
        push_json_text(&object.type_name, line);
        line.push_str(",\"schema\":");
        object.schema.push_json(line);
        if let Some(id) = object.schema_id {
            line.push_str(",\"schema_id\":\"");
            line.push_str(&id.to_string());
            line.push('"');
        }
        line.push_str(",\"fields\":");
        let named = object.fields.iter().map(|(name, cell)| (name, cell));
        fields(line, named, |name, line| push_json_text(name, line));
        self.line.push_str("}\n");
        sink.push(self.line.as_bytes());
    }
}
