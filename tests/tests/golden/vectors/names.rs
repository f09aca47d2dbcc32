//! `names.json`: names of schema items, encoding IDs, schema IDs.

use permazen::encoding::{EncodingId, EncodingRegistry};
use permazen::schema::{
    Field, ObjectType, SchemaId, SchemaModel, Simple, XmlForm, identifier_can_be_stored,
    is_enum_identifier, is_name,
};
use permazen_tests::hex;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value as Json;

use crate::report::{Outcome, Report, fail, same};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    names: Vec<Name>,
    code_points: Json,
    encoding_ids: Vec<Json>,
    encoding_aliases: Vec<Json>,
    encoding_lookups: Vec<Json>,
    schema_ids: Vec<Json>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Name {
    name: Option<String>,
    name16: Option<String>,
    r#type: bool,
    field: bool,
    index: bool,
    enum_identifier: bool,
    type_can_be_stored: bool,
    enum_identifier_can_be_stored: bool,
    /// About XML of objects.
    #[serde(rename = "xml_name")]
    _xml_name: IgnoredAny,
}

/// Checks one row of a list.
type CheckRow = fn(&Json) -> Outcome;

pub fn run(group: &str, text: &str, report: &mut Report) {
    let file: File = match serde_json::from_str(text) {
        Ok(file) => file,
        Err(error) => return report.case(group, "file", || Err(error.into())),
    };
    for row in &file.names {
        let shown = row.name.as_deref().or(row.name16.as_deref()).unwrap_or_default();
        report.case(group, &format!("name {}", shown.escape_debug()), || name(row));
    }
    let code_points = &file.code_points;
    for kind in ["name_first", "name_next", "enum_identifier_first", "enum_identifier_next"] {
        report.case(group, &format!("code points, {kind}"), || every_code_point(code_points, kind));
    }
    let rows: [(&str, &[Json], CheckRow); 4] = [
        ("encoding id", &file.encoding_ids, encoding_id),
        ("encoding alias", &file.encoding_aliases, encoding_alias),
        ("encoding lookup", &file.encoding_lookups, encoding_lookup),
        ("schema id", &file.schema_ids, schema_id),
    ];
    for (what, rows, check) in rows {
        for row in rows {
            let key =
                if row.get("id").is_some() && row.get("alias").is_none() { "id" } else { "alias" };
            let text = row.get("id").filter(|_| what.ends_with("id")).unwrap_or(&row[key]);
            let name = format!("{what} {}", text.as_str().unwrap_or_default().escape_debug());
            report.case(group, &name, || check(row));
        }
    }
}

fn name(row: &Name) -> Outcome {
    let Some(name) = &row.name else {
        // Rust text cannot hold unpaired surrogates, so such a name cannot be passed at all.
        let units = row.name16.as_deref().and_then(hex::decode).ok_or_else(|| fail("no name"))?;
        let units: Vec<u16> =
            units.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
        let accepted = row.r#type || row.field || row.index || row.enum_identifier;
        return same("a text or accepted", String::from_utf16(&units).is_err() && !accepted, true);
    };
    same("type", is_name(name), row.r#type)?;
    same("field", is_name(name), row.field)?;
    same("index", is_name(name), row.index)?;
    same("enum identifier", is_enum_identifier(name), row.enum_identifier)?;
    let storable = is_enum_identifier(name) && identifier_can_be_stored(name);
    same("storable identifier", storable, row.enum_identifier_can_be_stored)?;

    let int = EncodingId::builtin("int")?;
    let plain = || Field::new(name, Simple::of(int.clone()));
    let in_type = |object_type: ObjectType| SchemaModel::new().object_type(object_type);
    let two = || {
        let field = |n| Field::new(n, Simple::of(int.clone()));
        ObjectType::new("T").field(field("f1")).field(field("f2"))
    };
    let valid = |model: SchemaModel| model.validate().is_ok();
    same("valid as type", valid(in_type(ObjectType::new(name))), row.r#type)?;
    same("valid as field", valid(in_type(ObjectType::new("T").field(plain()))), row.field)?;
    let clash = name == "f1" || name == "f2";
    let index = in_type(two().index(name, ["f1", "f2"]));
    same("valid as index", valid(index), row.index && !clash)?;
    let enumeration = Field::new("e", Simple::enumeration([name]));
    let enumeration = in_type(ObjectType::new("T").field(enumeration));
    same("valid as identifier", valid(enumeration.clone()), row.enum_identifier_can_be_stored)?;

    same("stored type", survives(&in_type(ObjectType::new(name))), row.type_can_be_stored)?;
    same("stored identifier", survives(&enumeration), row.enum_identifier_can_be_stored)
}

/// Whether a model is valid and comes back from its recorded form.
fn survives(model: &SchemaModel) -> bool {
    let xml = model.to_xml(XmlForm::STORED);
    let read = SchemaModel::from_xml(xml.as_bytes());
    read.is_ok_and(|read| read.validate().is_ok() && read == *model)
}

/// The rows have the ranges of Java 17. The ranges of Java 25, with newer Unicode, are the ones
/// that count.
fn every_code_point(file: &Json, kind: &str) -> Outcome {
    let ranges = file["java25"].get(kind).unwrap_or(&file[kind]);
    let ranges: Vec<(u32, u32)> = serde_json::from_value(ranges.clone())?;
    let mut ranges = ranges.into_iter().peekable();
    for code in 0..=u32::from(char::MAX) {
        while ranges.peek().is_some_and(|&(_, last)| last < code) {
            ranges.next();
        }
        let expected = ranges.peek().is_some_and(|&(first, _)| first <= code);
        let Some(c) = char::from_u32(code) else {
            same(&format!("{code:x}"), expected, false)?;
            continue;
        };
        let found = match kind {
            "name_first" => is_name(c.encode_utf8(&mut [0; 4])),
            "name_next" => is_name(&format!("a{c}")),
            "enum_identifier_first" => is_enum_identifier(c.encode_utf8(&mut [0; 4])),
            _ => is_enum_identifier(&format!("a{c}")),
        };
        same(&format!("{code:x}"), found, expected)?;
    }
    Ok(())
}

fn encoding_id(row: &Json) -> Outcome {
    let text = row["id"].as_str().unwrap_or_default();
    let id = EncodingId::new(text);
    same("accepted", id.is_ok(), row["ok"] == true)?;
    let Ok(id) = id else { return Ok(()) };
    let optional = |id: Option<EncodingId>| id.map(|id| id.as_str().to_owned());
    same("dimensions", Some(id.dimensions() as u64), row["array_dimensions"].as_u64())?;
    same("base", Some(id.base().as_str()), row["base_id"].as_str())?;
    same("element", optional(id.element()).as_deref(), row["element_id"].as_str())?;
    same("array", optional(id.array().ok()).as_deref(), row["array_id"].as_str())?;
    same("alias", Some(id.alias()), row["alias"].as_str())
}

fn encoding_alias(row: &Json) -> Outcome {
    let id = EncodingId::from_alias(row["alias"].as_str().unwrap_or_default());
    same("id", id.as_ref().ok().map(EncodingId::as_str), row["id"].as_str())?;
    same("canonical", id.as_ref().ok().map(EncodingId::alias), row["canonical"].as_str())
}

fn encoding_lookup(row: &Json) -> Outcome {
    let found = EncodingRegistry::new().find_alias(row["alias"].as_str().unwrap_or_default());
    if row.get("error").is_some() {
        return same("refused", found.is_err(), true);
    }
    same("found", found?.is_some(), row["found"] == true)
}

fn schema_id(row: &Json) -> Outcome {
    let text = row["id"].as_str().unwrap_or_default();
    let id = text.parse::<SchemaId>();
    same("accepted", id.is_ok(), row["ok"] == true)?;
    id.map_or(Ok(()), |id| same("text", id.to_string().as_str(), text))
}
