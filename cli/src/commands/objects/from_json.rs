//! Objects from JSON Lines, as this program prints them.

use std::collections::{HashMap, HashSet};
use std::io::{BufReader, Read};
use std::sync::Arc;

use permazen::__internal::object_xml::GeneratedIds;
use permazen::__internal::schema::{Item, Part, ResolvedKind};
use permazen::ObjId;
use permazen::encoding::JavaString;
use permazen::object::{self, CopyOptions, MissingTargets, ObjectBuilder, Transaction};
use permazen::schema::{
    ResolvedField, ResolvedType, Schema, SchemaError, SchemaId, SchemaIndex, SchemaModel,
};
use permazen_query::syntax::{Literal, LiteralKind};
use permazen_query::text;

use super::json::Json;
use super::texts::{Stop, Text, Texts};
use crate::failure::Failure;
use crate::session::Session;

/// Reads objects, and returns how many there were, and which objects they refer to that are not
/// there. They may refer to others further down. `is_array`: they are the elements of an array, not
/// lines.
pub(super) fn read(
    transaction: &Transaction,
    input: impl Read,
    is_array: bool,
    ids: &mut GeneratedIds,
    session: &Session,
) -> Result<(u64, MissingTargets), Failure> {
    let mut texts = Texts::new(BufReader::with_capacity(64 << 10, input), is_array);
    let mut missing = MissingTargets::new();
    let (mut text, mut count) = (Text::default(), 0);
    loop {
        session.interrupt.check()?;
        match texts.next(&mut text) {
            Ok(Some(())) => {}
            Ok(None) => break,
            Err(Stop::Io(error)) => return Err(error.into()),
            Err(Stop::Mistake(line, column, what)) => {
                return Err(Failure::new(format!("JSON line {line}: column {column}: {what}")));
            }
        }
        let at = |line, failure: Failure| {
            let message = format!("JSON line {line}: {}", failure.message);
            Failure { message, ..failure }
        };
        // Only a whole text can be checked: a character can lie across two reads.
        let Ok(line) = std::str::from_utf8(&text.bytes) else {
            return Err(at(text.line, Failure::new("it is not UTF-8")));
        };
        let json = Json::parse(line).map_err(|mistake| {
            let (line, column) = text.place_of(&mistake);
            at(line, Failure::new(format!("column {column}: {mistake}")))
        })?;
        if let Json::Object(parts) = &json
            && let Some(name) = twice(parts)
        {
            return Err(at(text.line, Failure::new(format!("{name:?} is there twice"))));
        }
        let done = match json {
            // `export` prints the recorded schemas first, for databases that lack them.
            Json::Object(parts) if is(&parts, "schema") => record(transaction, &parts),
            Json::Object(parts) => {
                count += 1;
                object(transaction, &parts, count, ids, &mut missing)
            }
            _ => Err(Failure::new("it is no object")),
        };
        done.map_err(|failure| at(text.line, failure))?;
    }
    let mut unresolved = MissingTargets::new();
    // An object can come after those that refer to it, so only the end shows what is missing.
    for (target, field) in missing {
        if !transaction.exists(target)? {
            unresolved.insert(target, field);
        }
    }
    Ok((count, unresolved))
}

/// A name that has two values. One of them would be ignored without a word.
fn twice(parts: &[(JavaString, Json)]) -> Option<&JavaString> {
    let mut names = HashSet::new();
    parts.iter().map(|(name, _)| name).find(|name| !names.insert(*name))
}

/// The value of this name.
fn part<'j>(parts: &'j [(JavaString, Json)], name: &str) -> Option<&'j Json> {
    parts.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value)
}

/// Whether a line is of this type.
fn is(parts: &[(JavaString, Json)], wanted: &str) -> bool {
    matches!(part(parts, "type"), Some(Json::Text(kind)) if kind.as_str() == Some(wanted))
}

/// Records a schema if it is not recorded yet. If its storage IDs are taken here, only types ask
/// for theirs, with which the IDs of objects begin.
fn record(transaction: &Transaction, parts: &[(JavaString, Json)]) -> Result<(), Failure> {
    let document = match part(parts, "xml") {
        Some(Json::Text(document)) => document.to_string_lossy(),
        _ => return Err(Failure::new("the schema has no \"xml\"")),
    };
    let model = SchemaModel::from_xml(document.as_bytes())
        .map_err(|error| Failure::new(format!("the schema: {error}")))?;
    let of_types = |item: &Item<'_>| match item.part {
        Part::ObjectType => item.storage_id(),
        _ => None,
    };
    match transaction.add_schema(&model) {
        // Fields are found by name, so they may get other storage IDs here. Those of types are in
        // all IDs of objects.
        Err(object::Error::Schema(SchemaError::StorageIdConflict { .. })) => {
            transaction.add_schema(&model.with_storage_ids(of_types))?;
        }
        added => _ = added?,
    }
    Ok(())
}

/// Reads one object, the `number`-th.
fn object(
    transaction: &Transaction,
    parts: &[(JavaString, Json)],
    number: u64,
    ids: &mut GeneratedIds,
    missing: &mut MissingTargets,
) -> Result<(), Failure> {
    let part = |name: &str| part(parts, name);
    // Rows of `find` have values too, but not all of an object. It would lose the others.
    if !is(parts, "object") {
        let what = "it is no whole object, as `show` and `export` print them with --json";
        return Err(Failure::new(what));
    }
    let id: Option<ObjId> = match part("id") {
        Some(Json::Text(id)) => {
            let id = id.to_string_lossy();
            // An ID may be written as in a statement.
            let id = id.strip_prefix('@').unwrap_or(&id);
            Some(id.parse().map_err(|_| Failure::new(format!("{id} is no ID of an object")))?)
        }
        Some(_) => return Err(Failure::new("the \"id\" is no text")),
        None => None,
    };
    let at = |failure: Failure| match id {
        Some(id) => Failure { message: format!("object {id}: {}", failure.message), ..failure },
        None => failure,
    };
    let schema = schema(transaction, part("schema_id"), part("schema")).map_err(at)?;
    let object_type = object_type(&schema, part("object_type")).map_err(at)?;
    let mut builder = ObjectBuilder::new(Arc::clone(&object_type));
    let Some(Json::Object(fields)) = part("fields") else {
        return Err(at(Failure::new("there are no \"fields\"")));
    };
    let mut seen = HashSet::new();
    for (name, value) in fields {
        let name = name.to_string_lossy();
        let at = |what: String| at(Failure::new(format!("field {name}: {what}")));
        let Some(field) = object_type.field(&name) else {
            let what = format!("type {} has no such field in its schema", object_type.name);
            return Err(at(what));
        };
        // Elements would be joined and values replaced without a word.
        if !seen.insert(field.storage_id) {
            return Err(at("it is there twice".to_owned()));
        }
        content(&mut builder, field, value).map_err(at)?;
    }
    let id = match id {
        Some(id) => id,
        None => new_id(transaction, &object_type, number, ids)?,
    };
    // An object with another storage ID in its ID would not be found among those of its type.
    if id.storage_id() != object_type.storage_id {
        let what = format!(
            "in this database, IDs of {} begin with storage ID {}, and not {}; objects of other databases are loaded \
             from what `save` has written without --storage-ids",
            object_type.name,
            object_type.storage_id,
            id.storage_id()
        );
        return Err(at(Failure::new(what)));
    }
    let mut options = CopyOptions::new().noting_missing(missing);
    let stored = transaction.replace_object(id, &builder.finish(), &mut options);
    stored.map_err(|error| at(error.into()))?;
    // It may have been noted while it was missing, and it is there now.
    missing.remove(&id);
    Ok(())
}

/// The ID of an object without one. If the same objects are read again, it is the same.
fn new_id(
    transaction: &Transaction,
    object_type: &ResolvedType,
    number: u64,
    ids: &mut GeneratedIds,
) -> Result<ObjId, Failure> {
    let name = number.to_string();
    let known = ids.get(&object_type.name, &name);
    // A type can have another storage ID by now. Then the ID made for it is of no use.
    if let Some(id) = known.filter(|id| id.storage_id() == object_type.storage_id) {
        return Ok(id);
    }
    let id = transaction.generate_id(&object_type.name)?;
    ids.insert(&object_type.name, &name, id);
    Ok(id)
}

/// The schema of an object: by its ID, which is the same in each database, or else by its number in
/// this one.
fn schema(
    transaction: &Transaction,
    id: Option<&Json>,
    number: Option<&Json>,
) -> Result<Arc<Schema>, Failure> {
    let bundle = transaction.bundle();
    let (found, name) = match (id, number) {
        // The ID wins, because the number can be that of another schema in this database.
        (Some(Json::Text(id)), _) => {
            let id = id.to_string_lossy();
            let parsed: SchemaId =
                id.parse().map_err(|_| Failure::new(format!("{id} is no ID of a schema")))?;
            (bundle.schema_by_id(parsed), id.into_owned())
        }
        (Some(_), _) => return Err(Failure::new("the \"schema_id\" is no text")),
        (None, Some(Json::Number(number))) => {
            let index = number.parse().ok().and_then(SchemaIndex::new);
            (index.and_then(|index| bundle.schema(index)), number.to_string())
        }
        (None, _) => return Err(Failure::new("the \"schema\" is no number")),
    };
    found.cloned().ok_or_else(|| {
        let what = format!("no schema {name} is recorded in this database; see `schema add`");
        Failure::new(what)
    })
}

/// The type of an object in its schema.
fn object_type(schema: &Schema, name: Option<&Json>) -> Result<Arc<ResolvedType>, Failure> {
    let Some(Json::Text(name)) = name else {
        return Err(Failure::new("there is no \"object_type\""));
    };
    let name = name.to_string_lossy();
    let found = schema.object_type(&name).cloned();
    found.ok_or_else(|| Failure::new(format!("schema {} has no type {name}", schema.index)))
}

/// Sets a field.
fn content(builder: &mut ObjectBuilder, field: &ResolvedField, json: &Json) -> Result<(), String> {
    let list = || match json {
        Json::Array(values) => Ok(values),
        other => Err(format!("{} where a list is expected", what(other))),
    };
    match &field.kind {
        ResolvedKind::Simple(_) => {
            let bytes = value(field, json)?;
            builder.write_simple(field, as_given(&bytes)).map_err(|error| error.to_string())
        }
        ResolvedKind::Counter => {
            let count = match json {
                Json::Number(number) => text::whole_number(number),
                _ => None,
            };
            let count = count.ok_or_else(|| {
                let given = match json {
                    Json::Number(number) => number.to_string(),
                    other => what(other).to_owned(),
                };
                format!("{given} where a whole number of 64 bits is expected")
            })?;
            builder.write_counter(field, count);
            Ok(())
        }
        ResolvedKind::Set { element } => {
            let mut seen = HashMap::new();
            for (number, json) in (1_u64..).zip(list()?) {
                let bytes = value(element, json)?;
                // The set would have fewer elements than the line says. Compared encoded, because
                // `1` and `1.0` can be the same element.
                if let Some(first) = seen.insert(bytes.clone(), number) {
                    return Err(format!("elements {first} and {number} are the same"));
                }
                let written = builder.write_set_element(field, as_given(&bytes));
                written.map_err(|error| error.to_string())?;
            }
            Ok(())
        }
        ResolvedKind::List { element } => {
            for (position, json) in (0..).zip(list()?) {
                let bytes = value(element, json)?;
                let written = builder.write_list_element(field, position, as_given(&bytes));
                written.map_err(|error| error.to_string())?;
            }
            Ok(())
        }
        ResolvedKind::Map { key: keys, value: values } => {
            let mut seen = HashMap::new();
            for (number, json) in (1_u64..).zip(list()?) {
                let pair = match json {
                    Json::Object(parts) => match &parts[..] {
                        // Exactly these two, in this order, as they are printed: a third part would
                        // be lost.
                        [(one, key), (two, value)]
                            if one.as_str() == Some("key") && two.as_str() == Some("value") =>
                        {
                            Some((key, value))
                        }
                        _ => None,
                    },
                    _ => None,
                };
                let (key, mapped) =
                    pair.ok_or("an entry of a map is {\"key\": …, \"value\": …}")?;
                let (key, mapped) = (value(keys, key)?, value(values, mapped)?);
                // The last one would win without a word. Compared encoded, because `1` and `1.0`
                // can be the same key.
                if let Some(first) = seen.insert(key.clone(), number) {
                    return Err(format!("entries {first} and {number} have the same key"));
                }
                let written = builder.write_map_entry(field, as_given(&key), as_given(&mapped));
                written.map_err(|error| error.to_string())?;
            }
            Ok(())
        }
    }
}

/// The encoded value of a simple field.
fn value(field: &ResolvedField, json: &Json) -> Result<Vec<u8>, String> {
    let Some(simple) = field.simple() else { return Err("it has no values".to_owned()) };
    let literal = literal(json)?;
    text::encoded(&literal, &*simple.encoding).map_err(|mismatch| mismatch.to_string())
}

/// The literal of this value in a statement.
fn literal(json: &Json) -> Result<Literal, String> {
    Ok(Literal::of(match json {
        Json::Null => LiteralKind::Null,
        Json::Bool(value) => LiteralKind::Bool(*value),
        Json::Number(number) => LiteralKind::Number(number.clone()),
        Json::Text(text) => LiteralKind::Text(text.clone()),
        Json::Array(values) => {
            LiteralKind::List(values.iter().map(literal).collect::<Result<_, _>>()?)
        }
        Json::Object(parts) => {
            // An export shows damaged values like this, so the reader is told about the remedy.
            let damaged = parts.iter().any(|(name, _)| *name == JavaString::from("damaged"));
            return Err(match damaged {
                true => "its value was damaged; give it another one, or leave the field out",
                false => "a JSON object is no value",
            }
            .to_owned());
        }
    }))
}

fn what(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::Text(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "a JSON object",
    }
}

/// Appends a value that is encoded already.
fn as_given(
    bytes: &[u8],
) -> impl FnOnce(&mut Vec<u8>) -> Result<(), permazen::encoding::EncodingError> {
    |out| {
        out.extend_from_slice(bytes);
        Ok(())
    }
}
