//! Whether a line of JSON is as `--generate json-schema` says: as much of JSON Schema as that uses.

use std::sync::OnceLock;

use serde_json::Value;

use crate::fixture::run;

/// Fails if the line is none that the program says it prints.
pub(crate) fn check(line: &Value) {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    let schema = SCHEMA.get_or_init(|| {
        let text = run(&["--generate", "json-schema"], "").out(0);
        serde_json::from_str(&text).expect("JSON")
    });
    assert!(is_valid(line, schema, schema), "not as the JSON schema says: {line}");
}

fn is_valid(value: &Value, schema: &Value, root: &Value) -> bool {
    let Some(rules) = schema.as_object() else { return schema == &Value::Bool(true) };
    rules.iter().all(|(rule, is)| match rule.as_str() {
        "$schema" | "$defs" | "title" | "description" => true,
        "$ref" => {
            let path = is.as_str().and_then(|path| path.strip_prefix('#')).expect("a reference");
            is_valid(value, root.pointer(path).expect("a definition"), root)
        }
        "oneOf" => each(is).filter(|schema| is_valid(value, schema, root)).count() == 1,
        "anyOf" => each(is).any(|schema| is_valid(value, schema, root)),
        "type" if is.is_array() => each(is).any(|name| has_type(value, name)),
        "type" => has_type(value, is),
        "const" => value == is,
        "enum" => each(is).any(|known| known == value),
        "minimum" => value.as_f64().is_none_or(|value| value >= is.as_f64().expect("a number")),
        "pattern" => value.as_str().is_none_or(|text| matches(text, is.as_str().expect("text"))),
        "required" => each(is).all(|name| value.get(name.as_str().expect("a name")).is_some()),
        "items" => value.as_array().is_none_or(|all| all.iter().all(|v| is_valid(v, is, root))),
        "properties" => value.as_object().is_none_or(|fields| {
            fields.iter().all(|(name, v)| is.get(name).is_none_or(|is| is_valid(v, is, root)))
        }),
        "additionalProperties" => value.as_object().is_none_or(|fields| {
            let known = |name: &str| rules.get("properties").is_some_and(|p| p.get(name).is_some());
            fields.iter().all(|(name, v)| known(name) || is_valid(v, is, root))
        }),
        other => panic!("the test knows no {other}"),
    })
}

fn each(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().expect("a list").iter()
}

fn has_type(value: &Value, name: &Value) -> bool {
    match name.as_str().expect("the name of a type") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("there is no type {other}"),
    }
}

/// The patterns that the schema has.
fn matches(text: &str, pattern: &str) -> bool {
    let hex = |text: &str| text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    match pattern {
        "^[0-9a-f]{16}$" => text.len() == 16 && hex(text),
        "^([0-9a-f]{2})*$" => text.len().is_multiple_of(2) && hex(text),
        "^Schema_[0-9a-f]{32}$" => {
            text.strip_prefix("Schema_").is_some_and(|digits| digits.len() == 32 && hex(digits))
        }
        "^x'([0-9a-f]{2})*'$" => {
            let digits = text.strip_prefix("x'").and_then(|text| text.strip_suffix('\''));
            digits.is_some_and(|digits| digits.len().is_multiple_of(2) && hex(digits))
        }
        other => panic!("the test knows no pattern {other}"),
    }
}
