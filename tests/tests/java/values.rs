//! Values to choose from: those whose text form and bytes were recorded from Java.

use std::collections::BTreeMap;

use permazen::__internal::encoding::EncodingKind;
use permazen::__internal::schema::ResolvedSimple;
use permazen::encoding::EncodingId;
use permazen::schema::Simple;
use permazen_tests::files;
use permazen_tests::outcome::Outcome;
use permazen_tests::trace::text::Text;
use serde_json::Value as Json;

use crate::random::{Random, mixed};

/// Longer values are left out: four values, an object ID and a map key must fit into a key of LMDB.
const MAX_BYTES: usize = 80;

/// How many different values of one encoding a history uses. They are few, so that equal ones meet.
const DIFFERENT: usize = 10;

/// The values of one encoding, enum or enum array.
#[derive(Debug)]
pub struct ValueKind {
    /// The declaration of a field of it.
    pub simple: Simple,
    /// Whether Java finds two copies of a value equal.
    pub equal_by_value: bool,
    texts: Vec<Text>,
    /// Texts that are no values.
    bad: Vec<String>,
}

/// All kinds of values but references.
#[derive(Debug)]
pub struct Values(BTreeMap<String, ValueKind>);

impl Values {
    /// Reads the recorded values.
    pub fn read() -> Outcome<Values> {
        let vectors: Json = files::json(&files::data_dir().join("vectors"), "encodings.json")?;
        let mut kinds = BTreeMap::new();
        for entry in vectors["encodings"].as_array().into_iter().flatten() {
            let Some((key, simple)) = declared(entry)? else { continue };
            let rows = |name: &str| entry[name].as_array().cloned().unwrap_or_default();
            let texts: Vec<Text> = rows("values")
                .iter()
                .chain(&rows("random"))
                .filter(|row| is_usable(entry, row))
                .map(|row| row["text"].as_str().map(str::to_owned))
                .collect();
            let bad = rows("bad_texts")
                .iter()
                // Java reports some texts that are no values in other ways (encodings D12).
                .filter(|row| row["error"] == "Invalid" && row.get("defect").is_none())
                .filter_map(|row| row["text"].as_str().map(str::to_owned))
                .filter(|text| !has_base64(text))
                .collect();
            let equal_by_value = entry["java_equals_by_value"] == true;
            kinds.insert(key, ValueKind { simple, equal_by_value, texts, bad });
        }
        Ok(Values(kinds))
    }

    /// The names of all kinds.
    pub fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    /// The kind of that name.
    pub fn kind(&self, name: &str) -> Option<&ValueKind> {
        self.0.get(name)
    }

    /// The kind of the values of a field.
    pub fn of(&self, field: &ResolvedSimple) -> Option<&ValueKind> {
        self.kind(&name_of(field))
    }

    /// A value of a field, one of the few that a history with this `salt` uses.
    pub fn some(&self, field: &ResolvedSimple, salt: u64, random: &mut Random) -> Text {
        let texts = self.of(field).map(|kind| &kind.texts[..]).unwrap_or_default();
        if texts.is_empty() {
            return None;
        }
        let first = name_of(field).bytes().fold(salt, |hash, byte| mixed(hash ^ u64::from(byte)));
        let nth = random.below(DIFFERENT) as u64;
        let at = mixed(first.wrapping_add(nth)) % texts.len() as u64;
        texts.get(at as usize).cloned().flatten()
    }

    /// A text that is no value of the field.
    pub fn bad(&self, field: &ResolvedSimple, random: &mut Random) -> Option<String> {
        random.of(self.of(field).map(|kind| &kind.bad[..]).unwrap_or_default()).cloned()
    }
}

/// The name and declaration of a recorded encoding; `None` if no field can have it.
fn declared(entry: &Json) -> Outcome<Option<(String, Simple)>> {
    let identifiers = || -> Vec<String> {
        let names = entry["identifiers"].as_array().into_iter().flatten();
        names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
    };
    Ok(match entry["kind"].as_str().unwrap_or_default() {
        "builtin" | "array" => {
            let id = entry["id"].as_str().unwrap_or_default();
            Some((id.to_owned(), Simple::of(EncodingId::new(id)?)))
        }
        "enum" => Some((enum_name(&identifiers(), 0), Simple::enumeration(identifiers()))),
        "enum_array" => {
            let dimensions = entry["dimensions"].as_u64().unwrap_or_default() as u8;
            let name = enum_name(&identifiers(), dimensions.into());
            Some((name, Simple::enum_array(dimensions, identifiers())))
        }
        _ => None,
    })
}

fn is_usable(entry: &Json, row: &Json) -> bool {
    // Texts that Java does not read back (encodings D4, D8, D9), and digits that Java before 19
    // prints in another way.
    if row["text_reads_back"] == false || row.get("defect").is_some() || row.get("java25").is_some()
    {
        return false;
    }
    // Java fails on decimals that are not positive when it skips them (encodings D1).
    let name = entry["name"].as_str().unwrap_or_default();
    let text = row["text"].as_str();
    if name.starts_with("BigDecimal") && text.is_some_and(|text| !is_positive(text)) {
        return false;
    }
    // The offset of a region in later years depends on the age of each side's zone rules.
    if name.starts_with("ZonedDateTime") && text.is_some_and(depends_on_rules) {
        return false;
    }
    row["hex"].as_str().is_some_and(|hex| hex.len() <= 2 * MAX_BYTES)
}

/// Whether the text may contain Base64. Java refuses some Base64 for its length (encodings D4).
fn has_base64(text: &str) -> bool {
    let mut words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '+' || c == '/'));
    words.any(|word| word.len() > 20 && word.contains(char::is_alphabetic))
}

/// Whether the text has a region, and a year from 2010 on.
pub fn depends_on_rules(text: &str) -> bool {
    let mut years = text.split(|c: char| !c.is_ascii_digit()).filter(|digits| digits.len() < 6);
    text.contains('/') && years.any(|year| year.parse().is_ok_and(|year: u32| year >= 2010))
}

/// Whether a decimal is positive. For an array, whether it has no elements.
fn is_positive(decimal: &str) -> bool {
    let digits = decimal.split('E').next().unwrap_or_default();
    decimal == "[]"
        || !decimal.starts_with(['-', '['])
            && digits.chars().any(|digit| digit.is_ascii_digit() && digit != '0')
}

fn name_of(field: &ResolvedSimple) -> String {
    match &field.identifiers {
        Some(identifiers) => {
            let (mut dimensions, mut encoding) = (0, &field.encoding);
            while let EncodingKind::Array(element) = encoding.kind() {
                (dimensions, encoding) = (dimensions + 1, element);
            }
            enum_name(identifiers, dimensions)
        }
        None => field.encoding.id().map(|id| id.as_str().to_owned()).unwrap_or_default(),
    }
}

fn enum_name(identifiers: &[String], dimensions: usize) -> String {
    let some: Vec<&str> = identifiers.iter().take(3).map(String::as_str).collect();
    format!("enum {} {}{}", identifiers.len(), some.join(","), "[]".repeat(dimensions))
}
