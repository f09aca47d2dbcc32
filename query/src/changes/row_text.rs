//! A change as a line and as JSON.

use std::fmt;

use super::row::{ChangeRow, Changed};
use crate::rows::Cell;
use crate::text::{escaped, hex, json_string, quoted_name};

/// By how much a counter has changed; the difference wraps around.
fn counted(old: &Cell, new: &Cell) -> Option<i64> {
    match (old, new) {
        (Cell::Counter(old), Cell::Counter(new)) => Some(new.wrapping_sub(*old)),
        _ => None,
    }
}

fn bytes(bytes: &[u8]) -> String {
    hex(bytes.iter().copied())
}

impl fmt::Display for ChangeRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((id, type_name)) = &self.object {
            write!(f, "{} @{id} ", escaped(type_name))?;
        }
        match &self.changed {
            Changed::Created { schema } => write!(f, "created in schema {schema}"),
            Changed::Deleted { schema } => write!(f, "deleted, was in schema {schema}"),
            Changed::Moved { from, to } => write!(f, "moved from schema {from} to schema {to}"),
            Changed::Value { field, old, new } => {
                f.write_str(&quoted_name(field))?;
                from_to(f, &old.literal(), &new.literal())?;
                match counted(old, new) {
                    Some(by) => write!(f, " ({by:+})"),
                    None => Ok(()),
                }
            }
            Changed::Added { field, element } => {
                write!(f, "{}: add {}", quoted_name(field), element.literal())
            }
            Changed::Removed { field, element } => {
                write!(f, "{}: remove {}", quoted_name(field), element.literal())
            }
            Changed::Entry { field, key, old, new } => {
                write!(f, "{}[{}]", quoted_name(field), key.literal())?;
                from_to(f, &old.literal(), &new.literal())
            }
            Changed::Pair { key, old, new } => {
                write!(f, "pair {}", bytes(key))?;
                let value = |value: &Option<Box<[u8]>>| value.as_deref().map(bytes);
                from_to(f, &value(old).unwrap_or_default(), &value(new).unwrap_or_default())
            }
        }
    }
}

/// `: 1 -> 2`, without what is empty.
fn from_to(f: &mut fmt::Formatter<'_>, old: &str, new: &str) -> fmt::Result {
    f.write_str(":")?;
    for part in [old, "->", new].into_iter().filter(|part| !part.is_empty()) {
        write!(f, " {part}")?;
    }
    Ok(())
}

impl ChangeRow {
    /// The change as JSON: an object with `change`, and with `id` and `type` if it is about an
    /// object.
    ///
    /// | `change` | also has |
    /// |---|---|
    /// | `created`, `deleted` | `schema` |
    /// | `moved` | `from`, `to` |
    /// | `set` | `field`; `old` and `new`, if they are there; for a counter also `by` |
    /// | `add`, `remove` of a set | `field`, `value` |
    /// | `put` of a map | `field`, `key`, `new`; `old` if it was there |
    /// | `remove` of a map | `field`, `key`, `old` |
    /// | `pair` | `key`; `old` and `new`, if they are there |
    pub fn json(&self) -> String {
        let change = match &self.changed {
            Changed::Created { .. } => "created",
            Changed::Deleted { .. } => "deleted",
            Changed::Moved { .. } => "moved",
            Changed::Value { .. } => "set",
            Changed::Added { .. } => "add",
            Changed::Entry { new: Cell::Absent, .. } | Changed::Removed { .. } => "remove",
            Changed::Entry { .. } => "put",
            Changed::Pair { .. } => "pair",
        };
        let mut json = Object(format!("{{\"change\":\"{change}\""));
        if let Some((id, type_name)) = &self.object {
            json.add("id", format_args!("\"{id}\""));
            json.text("type", type_name);
        }
        match &self.changed {
            Changed::Created { schema } | Changed::Deleted { schema } => json.add("schema", schema),
            Changed::Moved { from, to } => {
                json.add("from", from);
                json.add("to", to);
            }
            Changed::Value { field, old, new } => {
                json.text("field", field);
                json.cell("old", old);
                json.cell("new", new);
                if let Some(by) = counted(old, new) {
                    json.add("by", by);
                }
            }
            Changed::Added { field, element } | Changed::Removed { field, element } => {
                json.text("field", field);
                json.cell("value", element);
            }
            Changed::Entry { field, key, old, new } => {
                json.text("field", field);
                json.cell("key", key);
                json.cell("old", old);
                json.cell("new", new);
            }
            Changed::Pair { key, old, new } => {
                json.add("key", format_args!("\"{}\"", bytes(key)));
                for (name, value) in [("old", old), ("new", new)] {
                    if let Some(value) = value {
                        json.add(name, format_args!("\"{}\"", bytes(value)));
                    }
                }
            }
        }
        json.0 + "}"
    }
}

/// An object of JSON that is not complete.
struct Object(String);

impl Object {
    fn add(&mut self, name: &str, json: impl fmt::Display) {
        self.0 += &format!(",\"{name}\":{json}");
    }

    fn text(&mut self, name: &str, text: &str) {
        self.add(name, json_string(&text.into()));
    }

    fn cell(&mut self, name: &str, cell: &Cell) {
        if !matches!(cell, Cell::Absent) {
            self.add(name, cell.json());
        }
    }
}
