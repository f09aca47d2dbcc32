//! The lines of a trace.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::outcome::{Outcome, Stop, fail};

/// The first line: what the steps refer to by name.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    pub format: String,
    pub version: u32,
    pub steps: usize,
    /// Schema XML by name.
    pub schemas: BTreeMap<String, String>,
    /// Schema ID by name.
    pub schema_ids: BTreeMap<String, String>,
}

impl Header {
    /// The name of the schema with this ID. The ID itself if the trace does not name it.
    pub fn schema_name<'h>(&'h self, schema_id: &'h str) -> &'h str {
        let found = self.schema_ids.iter().find(|(_, id)| *id == schema_id);
        found.map_or(schema_id, |(name, _)| name)
    }
}

/// A bound of a range: the value, as text or null, and whether it belongs to the range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    pub value: Value,
    pub inclusive: bool,
}

/// Lower and upper bound of a range.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bounds {
    pub min: Option<Bound>,
    pub max: Option<Bound>,
}

/// One operation, with its arguments and the recorded answer.
#[derive(Debug, Clone)]
pub struct Step(Map<String, Value>);

impl Step {
    pub fn new(members: Value) -> Outcome<Step> {
        match members {
            Value::Object(members) => Ok(Step(members)),
            other => Err(fail(format!("a step is an object, not {other}"))),
        }
    }

    pub fn parse(line: &str) -> Outcome<Step> {
        Step::new(serde_json::from_str(line)?)
    }

    /// The step in its original form.
    pub fn members(&self) -> Value {
        self.0.clone().into()
    }

    /// Its place in the trace, from 1. Steps that listeners execute have no number.
    pub fn number(&self) -> u64 {
        self.0.get("n").and_then(Value::as_u64).unwrap_or_default()
    }

    pub fn op(&self) -> &str {
        self.0.get("op").and_then(Value::as_str).unwrap_or_default()
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A flag; absent is false.
    pub fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    pub fn text(&self, name: &str) -> Outcome<&str> {
        self.0.get(name).and_then(Value::as_str).ok_or_else(|| self.lacks(name, "a text"))
    }

    /// A text that may be null or absent.
    pub fn optional_text(&self, name: &str) -> Outcome<Option<&str>> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.lacks(name, "a text or null")),
        }
    }

    pub fn integer(&self, name: &str) -> Outcome<i64> {
        self.0.get(name).and_then(Value::as_i64).ok_or_else(|| self.lacks(name, "an integer"))
    }

    /// `limit` results, or all.
    pub fn limit(&self) -> usize {
        self.0.get("limit").and_then(Value::as_u64).map_or(usize::MAX, |limit| limit as usize)
    }

    pub fn list(&self, name: &str) -> Outcome<&[Value]> {
        let list = self.0.get(name).and_then(Value::as_array);
        list.map(Vec::as_slice).ok_or_else(|| self.lacks(name, "a list"))
    }

    /// The bounds `min` and `max` of the step itself.
    pub fn bounds(&self) -> Outcome<Bounds> {
        bounds(&self.0)
    }

    /// The bounds of each column of an index. Empty if no column has bounds.
    pub fn column_bounds(&self) -> Outcome<Vec<Bounds>> {
        if !self.has("bounds") {
            return Ok(Vec::new());
        }
        let column = |column: &Value| match column {
            Value::Null => Ok(Bounds::default()),
            Value::Object(members) => bounds(members),
            _ => Err(self.lacks("bounds", "a list of bounds")),
        };
        self.list("bounds")?.iter().map(column).collect()
    }

    /// The type filters of a path, one for each position: null, or names of types.
    pub fn types(&self) -> Outcome<Option<Vec<Option<Vec<String>>>>> {
        if !self.has("types") {
            return Ok(None);
        }
        let position = |types: &Value| -> Outcome<Option<Vec<String>>> {
            Ok(serde_json::from_value(types.clone())?)
        };
        self.list("types")?.iter().map(position).collect::<Outcome<_>>().map(Some)
    }

    fn lacks(&self, name: &str, what: &str) -> Stop {
        fail(format!(
            "the step is misread: {name} should be {what} in {}",
            Value::from(self.0.clone())
        ))
    }
}

fn bounds(members: &Map<String, Value>) -> Outcome<Bounds> {
    let one = |name: &str| match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(parts)) => match &parts[..] {
            [value, Value::Bool(inclusive)] => {
                Ok(Some(Bound { value: value.clone(), inclusive: *inclusive }))
            }
            _ => Err(fail(format!("a bound is a value and a flag, not {parts:?}"))),
        },
        Some(other) => Err(fail(format!("a bound is a list, not {other}"))),
    };
    Ok(Bounds { min: one("min")?, max: one("max")? })
}
