//! Reads the fields of one object.

use std::io::Read;

use permazen_kv::key::parse_hex;

use super::error::ObjectXmlError;
use super::generated;
use super::read_state::{Import, Step};
use super::spelling::ENCODED;
use crate::encoding::{Encoding, EncodingError, Value};
use crate::id::StorageId;
use crate::object::{MAX_LIST_LEN, ObjectBuilder};
use crate::schema::{ResolvedField, ResolvedKind, SchemaId};
use crate::xml::{Start, Tag};

/// Reads fields up to the end tag of their object.
pub(super) fn read_content<R: Read>(
    import: &mut Import<'_, R>,
    object: &mut ObjectBuilder,
    schema: SchemaId,
) -> Step<()> {
    let mut reader = FieldReader { import, object, lengths: Vec::new(), text: String::new() };
    while let Some(start) = reader.import.next_start()? {
        reader.field(&start, schema)?;
    }
    Ok(())
}

struct FieldReader<'c, 'a, R: Read> {
    import: &'c mut Import<'a, R>,
    object: &'c mut ObjectBuilder,
    /// The lengths of the lists read so far. A document may give a list in several parts.
    lengths: Vec<(StorageId, u32)>,
    /// The text of the value that was read last.
    text: String,
}

impl<R: Read> FieldReader<'_, '_, R> {
    fn field(&mut self, start: &Start, schema: SchemaId) -> Step<()> {
        let name = match start.attribute("name") {
            // Names that are no XML names are in the attribute of a <field>. Under another element,
            // one of the two names would be ignored.
            Some(name) if start.name != "field" && start.name != name => {
                return Err(format!(
                    "element <{}> does not match field name {name:?} (should be <{name}> or <field>)",
                    start.name
                )
                .into());
            }
            Some(name) => name,
            None => &start.name,
        };
        let object_type = self.object.object_type();
        let Some(field) = object_type.field(name).cloned() else {
            return Err(format!(
                "unknown field {name:?} in object type {:?} in schema {schema}",
                &*object_type.name
            )
            .into());
        };
        match &field.kind {
            ResolvedKind::Simple(_) => {
                let value = self.value(start, &field)?;
                self.object.write_simple(&field, as_given(&value))?;
            }
            ResolvedKind::Counter => {
                // The place is taken before the text is read, so that an error points to the
                // value's tag.
                let at = self.import.xml.tag_at();
                self.read_text(&field.name)?;
                let value = self.text.parse().map_err(|error| {
                    let message =
                        format!("invalid counter value for field {:?}: {error}", &*field.name);
                    ObjectXmlError::document(at, message)
                })?;
                self.object.write_counter(&field, value);
            }
            ResolvedKind::Set { element } => {
                while let Some(value) = self.element(element)? {
                    self.object.write_set_element(&field, as_given(&value))?;
                }
            }
            ResolvedKind::List { element } => {
                while let Some(value) = self.element(element)? {
                    // The document has no positions: the order of the elements gives them, without
                    // gaps.
                    let position = self.next_position(&field)?;
                    self.object.write_list_element(&field, position, as_given(&value))?;
                }
            }
            ResolvedKind::Map { key: keys, value: values } => {
                while let Some((key, value)) = self.entry(keys, values)? {
                    self.object.write_map_entry(&field, as_given(&key), as_given(&value))?;
                }
            }
        }
        Ok(())
    }

    /// Reads an element of a set or list; `None` at the end of the collection.
    fn element(&mut self, part: &ResolvedField) -> Step<Option<Vec<u8>>> {
        match self.import.next_start()? {
            None => Ok(None),
            Some(start) if start.name == "element" => self.value(&start, part).map(Some),
            Some(start) => Err(format!(
                "invalid field element; expected <element> but found opening <{}>",
                start.name
            )
            .into()),
        }
    }

    fn next_position(&mut self, list: &ResolvedField) -> Step<u32> {
        let known = self.lengths.iter_mut().find(|(field, _)| *field == list.storage_id);
        let length = match known {
            Some((_, length)) => length,
            None => {
                self.lengths.push((list.storage_id, 0));
                match self.lengths.last_mut() {
                    Some((_, length)) => length,
                    // The entry was pushed just now, so this is never reached.
                    None => return Ok(0),
                }
            }
        };
        // The length of a list is an `int` of Java, so no list is longer.
        if *length == MAX_LIST_LEN {
            let name = &*list.name;
            return Err(format!("list {name:?} has more than {MAX_LIST_LEN} elements").into());
        }
        *length += 1;
        Ok(*length - 1)
    }

    /// Reads an entry of a map; `None` at the end of the map.
    fn entry(
        &mut self,
        keys: &ResolvedField,
        values: &ResolvedField,
    ) -> Step<Option<(Vec<u8>, Vec<u8>)>> {
        let Some(start) = self.import.next_start()? else { return Ok(None) };
        if start.name != "entry" {
            return Err(format!(
                "invalid map field entry; expected <entry> but found opening <{}>",
                start.name
            )
            .into());
        }
        let key = self.part("key", keys)?;
        let value = self.part("value", values)?;
        match self.import.next_start()? {
            None => Ok(Some((key, value))),
            Some(more) => Err(format!(
                "invalid map field entry; expected closing <entry> but found opening <{}>",
                more.name
            )
            .into()),
        }
    }

    /// Reads the key or the value of a map entry.
    fn part(&mut self, name: &str, part: &ResolvedField) -> Step<Vec<u8>> {
        match self.import.next_start()? {
            Some(start) if start.name == name => self.value(&start, part),
            // Key and value have a fixed order, as in Java.
            _ => Err(format!("invalid map entry {name}; expected <{name}>").into()),
        }
    }

    /// Reads a simple value up to its end tag, and encodes it.
    fn value(&mut self, start: &Start, field: &ResolvedField) -> Step<Vec<u8>> {
        let at = self.import.xml.tag_at();
        let Some(simple) = field.simple() else {
            // Only simple fields and the parts of collections come here, so this is never reached.
            return Err(format!("field {:?} is of no simple kind", &*field.full_name).into());
        };
        let is_null = match start.attribute("null") {
            None | Some("false") => false,
            Some("true") => true,
            Some(other) => {
                return Err(format!(
                    "invalid value {other:?} for \"null\" attribute: value must be \"true\" or \
                     \"false\""
                )
                .into());
            }
        };
        let is_encoded = self.read_text_or_encoded(&field.full_name)?;
        let value = if is_encoded {
            // The bytes already say whether the value is null. Two statements could differ.
            if is_null {
                let message = "an encoded value has null=\"true\"";
                return Err(ObjectXmlError::document(at, message).into());
            }
            decoded(&*simple.encoding, &self.text)
        } else if is_null {
            // White space inside values counts, so it is refused here too.
            if !self.text.is_empty() {
                let message = "text content not allowed for values with null=\"true\"";
                return Err(ObjectXmlError::document(at, message).into());
            }
            Ok(Value::Null)
        } else if simple.reference.is_some()
            // Only a reference has generated IDs. A string with this text is a string.
            && let Some((type_name, suffix)) = generated::parse(&self.text)
        {
            let Import { tx, ids, .. } = &mut *self.import;
            // The type may be one of any recorded schema, not only of the object's own: an object
            // can refer to objects of other schemas.
            if tx.bundle().type_storage_id(type_name).is_none() {
                let message = format!(
                    "invalid object type {type_name:?}: no object type {type_name:?} exists"
                );
                return Err(ObjectXmlError::document(at, message).into());
            }
            Ok(Value::Ref(ids.get_or_make(tx, type_name, suffix)?))
        } else {
            simple.encoding.from_text(&self.text)
        };
        let encoded = value.and_then(|value| simple.encoding.encode_all(&value));
        encoded.map_err(|source| {
            let text = if is_null { "null".to_owned() } else { quoted(&self.text) };
            let (line, column) = at;
            let field = field.full_name.to_string();
            ObjectXmlError::Value { line, column, field, text, source }.into()
        })
    }

    /// Reads text up to the end tag of the element, or the hex digits of an encoded value, which
    /// are in an element of their own. True for these.
    fn read_text_or_encoded(&mut self, field: &str) -> Step<bool> {
        self.text.clear();
        match self.import.xml.next_own_tag_with(&mut self.text)? {
            Tag::End => return Ok(false),
            // Blanks before the element are indentation. Other text would be a second value.
            Tag::Start(child) if child.name == ENCODED && is_blank(&self.text) => {}
            Tag::Start(child) => return Err(no_text(field, &child.name).into()),
        }
        self.read_text(field)?;
        let mut after = String::new();
        match self.import.xml.next_own_tag_with(&mut after)? {
            // Indentation again. Other text would be ignored without a word.
            Tag::End if is_blank(&after) => Ok(true),
            Tag::End => {
                Err(format!("invalid value for field {field:?}: text after the encoded value")
                    .into())
            }
            Tag::Start(child) => Err(no_text(field, &child.name).into()),
        }
    }

    /// Reads text up to the end tag of the element.
    fn read_text(&mut self, field: &str) -> Step<()> {
        self.text.clear();
        match self.import.xml.next_own_tag_with(&mut self.text)? {
            Tag::End => Ok(()),
            Tag::Start(child) => Err(no_text(field, &child.name).into()),
        }
    }
}

fn no_text(field: &str, child: &str) -> String {
    format!("invalid value for field {field:?}: found <{child}> where text is expected")
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}

/// The value with these hex digits, which must be its only encoded form.
fn decoded(encoding: &dyn Encoding, digits: &str) -> Result<Value, EncodingError> {
    let bytes = parse_hex(digits).map_err(|error| EncodingError::Invalid(error.to_string()))?;
    // Another form of the same value would get an index entry of its own.
    encoding.check_canonical(&bytes)?;
    encoding.decode_all(&bytes)
}

/// Appends a value that is encoded already.
fn as_given(bytes: &[u8]) -> impl FnOnce(&mut Vec<u8>) -> Result<(), EncodingError> {
    |out| {
        out.extend_from_slice(bytes);
        Ok(())
    }
}

/// A text in quotes. A long text is shortened.
fn quoted(text: &str) -> String {
    const SHOWN: usize = 64;
    match text.char_indices().nth(SHOWN) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
    }
}
