//! Values in rows.

use std::fmt::Write;
use std::sync::Arc;

use permazen::ObjId;
use permazen::encoding::{Encoding, Value};

use crate::text;

/// A value in a row.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Cell {
    /// The value of a simple field, with its encoding.
    Value(Value, Arc<dyn Encoding>),
    /// The value of a counter.
    Counter(i64),
    /// The ID of an object.
    Id(ObjId),
    /// A number that is not stored: of objects, of a schema.
    Number(u64),
    /// A text that is not stored: the name of a type.
    Text(Arc<str>),
    /// A set.
    Set(Vec<Cell>),
    /// A list, or the several values of a path.
    List(Vec<Cell>),
    /// A map.
    Map(Vec<(Cell, Cell)>),
    /// There is no value: the object's type has nothing of that name, or a reference on the way
    /// leads to no object.
    Absent,
    /// The stored bytes are no value.
    Damaged {
        /// The stored bytes.
        bytes: Vec<u8>,
        /// Why they are no value.
        reason: String,
    },
}

impl Cell {
    /// The value as it is typed in a statement; see [`text::literal`]. Empty if it is absent.
    /// Damaged bytes are written like bytes.
    pub fn literal(&self) -> String {
        let list = |cells: &[Cell]| cells.iter().map(Cell::literal).collect::<Vec<_>>().join(", ");
        match self {
            Cell::Value(value, encoding) => text::literal(value, &**encoding),
            Cell::Counter(count) => count.to_string(),
            Cell::Id(id) => format!("@{id}"),
            Cell::Number(number) => number.to_string(),
            Cell::Text(text) => text::quoted(&(&**text).into()),
            Cell::Set(cells) => format!("{{{}}}", list(cells)),
            Cell::List(cells) => format!("[{}]", list(cells)),
            Cell::Map(pairs) => {
                let pair =
                    |(key, value): &(Cell, Cell)| format!("{}: {}", key.literal(), value.literal());
                format!("{{{}}}", pairs.iter().map(pair).collect::<Vec<_>>().join(", "))
            }
            Cell::Absent => String::new(),
            Cell::Damaged { bytes, .. } => text::hex(bytes.iter().copied()),
        }
    }

    /// The value for tables and messages, safe to print; see [`text::shown`]. Strings within
    /// collections are in quotes.
    pub fn shown(&self) -> String {
        match self {
            Cell::Value(value, encoding) => text::shown(value, &**encoding),
            Cell::Text(text) => text::escaped(text).into_owned(),
            Cell::Id(id) => id.to_string(),
            Cell::Damaged { bytes, .. } => format!("damaged: {}", text::hex(bytes.iter().copied())),
            cell => cell.literal(),
        }
    }

    /// The value for CSV and pipes, not safe to print; see [`text::raw`]. Collections are
    /// [literals](Cell::literal).
    pub fn raw(&self) -> String {
        let mut out = String::new();
        self.push_raw(&mut out);
        out
    }

    /// Appends the value as [`raw`](Cell::raw) gives it.
    pub fn push_raw(&self, out: &mut String) {
        match self {
            Cell::Value(value, encoding) => text::push_raw(value, &**encoding, out),
            Cell::Text(text) => out.push_str(text),
            // Writing to a string does not fail.
            Cell::Id(id) => drop(write!(out, "{id}")),
            cell => out.push_str(&cell.literal()),
        }
    }

    /// The value as JSON; see [`text::json`]. Sets and lists are arrays. A map is an array of
    /// pairs, `{"key":…,"value":…}`. Damaged bytes are `{"damaged":"x'00ff'","reason":…}`. An
    /// absent value is `null`; usually it is left out.
    pub fn json(&self) -> String {
        let mut out = String::new();
        self.push_json(&mut out);
        out
    }

    /// Appends the value as [`json`](Cell::json) gives it.
    pub fn push_json(&self, out: &mut String) {
        match self {
            Cell::Value(value, encoding) => text::push_json(value, &**encoding, out),
            Cell::Counter(count) => drop(write!(out, "{count}")),
            Cell::Id(id) => drop(write!(out, "\"{id}\"")),
            Cell::Number(number) => drop(write!(out, "{number}")),
            Cell::Text(text) => text::push_json_text(text, out),
            Cell::Set(cells) | Cell::List(cells) => {
                json_list(cells, out, |cell, out| cell.push_json(out));
            }
            Cell::Map(pairs) => json_list(pairs, out, |(key, value), out| {
                out.push_str("{\"key\":");
                key.push_json(out);
                out.push_str(",\"value\":");
                value.push_json(out);
                out.push('}');
            }),
            Cell::Absent => out.push_str("null"),
            Cell::Damaged { bytes, reason } => {
                let bytes = text::hex(bytes.iter().copied());
                out.push_str(&format!("{{\"damaged\":\"{bytes}\",\"reason\":"));
                text::push_json_text(reason, out);
                out.push('}');
            }
        }
    }

    /// Whether it is damaged, or holds something that is.
    pub fn is_damaged(&self) -> bool {
        match self {
            Cell::Damaged { .. } => true,
            Cell::Set(cells) | Cell::List(cells) => cells.iter().any(Cell::is_damaged),
            Cell::Map(pairs) => {
                pairs.iter().any(|(key, value)| key.is_damaged() || value.is_damaged())
            }
            _ => false,
        }
    }
}

fn json_list<T>(items: &[T], out: &mut String, push: impl Fn(&T, &mut String)) {
    out.push('[');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        push(item, out);
    }
    out.push(']');
}
