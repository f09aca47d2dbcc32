//! Reading schema XML (schema §3.6).
//!
//! A DOCTYPE is refused and only the five predefined entities are known, so a document cannot
//! grow while it is read; elements nest no deeper than the grammar says.

use std::borrow::Cow;

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;

use super::document;
use crate::encoding::EncodingId;
use crate::id::StorageId;
use crate::schema::error::SchemaError;
use crate::schema::model::{
    CompositeIndex, DeleteAction, ELEMENT, Field, FieldKind, KEY, ObjectType, SchemaModel, Simple,
    SubField, VALUE,
};

impl SchemaModel {
    /// Reads a schema document.
    ///
    /// As Java does, unknown attributes and text between elements are ignored, and so is what
    /// follows the schema element. The model may break rules of
    /// [`validate`](SchemaModel::validate) that are not about the document's form.
    ///
    /// # Errors
    /// [`SchemaError::Xml`] with line and column: not well-formed, a DOCTYPE, an unknown or
    /// misplaced element, a missing or malformed attribute, a duplicate name.
    pub fn from_xml(document: &[u8]) -> std::result::Result<SchemaModel, SchemaError> {
        let text = document::decode(document).map_err(|message| SchemaError::Xml {
            line: 1,
            column: 1,
            message,
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut parser = Parser::new(text);
        let model = parser.schema().map_err(|error| parser.locate(error))?;
        parser.check_characters()?;
        Ok(model)
    }
}

/// More attributes than any element has, namespace declarations and the like included. Attributes
/// are compared with each other, so their number must be bounded.
const MAX_ATTRIBUTES: usize = 256;

/// What is wrong, and at which byte of the text; `None` where the last tag began.
struct Fault {
    at: Option<usize>,
    message: String,
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Fault { at: None, message }
    }
}

impl From<&str> for Fault {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}

type Result<T> = std::result::Result<T, Fault>;

/// A start tag without namespace, or the end of the element around.
enum Tag<'x> {
    Start(Start<'x>),
    End,
}

/// A start tag: its name and its attributes without namespace.
struct Start<'x> {
    name: String,
    attributes: Vec<(Cow<'x, str>, String)>,
}

impl Start<'_> {
    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    fn required(&self, name: &str) -> Result<&str> {
        let missing = || format!("<{}> lacks attribute {name:?}", self.name).into();
        self.attribute(name).ok_or_else(missing)
    }

    fn boolean(&self, name: &str, default: bool) -> Result<bool> {
        match self.attribute(name) {
            None => Ok(default),
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            Some(text) => Err(self.malformed(name, text, "\"true\" or \"false\"")),
        }
    }

    fn integer(&self, name: &str) -> Result<Option<i32>> {
        self.attribute(name)
            .map(|text| {
                text.parse().map_err(|_| self.malformed(name, text, "a 32-bit decimal number"))
            })
            .transpose()
    }

    fn storage_id(&self) -> Result<Option<StorageId>> {
        let id = self.integer("storageId")?.unwrap_or(0);
        if id == 0 {
            return Ok(None);
        }
        match u32::try_from(id).ok().and_then(StorageId::new) {
            Some(id) => Ok(Some(id)),
            None => Err(self.malformed("storageId", &id.to_string(), "zero or positive")),
        }
    }

    fn malformed(&self, name: &str, text: &str, wanted: &str) -> Fault {
        format!("attribute {name:?} of <{}> is {text:?}, not {wanted}", self.name).into()
    }
}

struct Parser<'x> {
    text: &'x str,
    reader: NsReader<&'x [u8]>,
    /// Where the last tag began.
    tag_at: usize,
}

impl<'x> Parser<'x> {
    fn new(text: &'x str) -> Self {
        let mut reader = NsReader::from_str(text);
        let config = reader.config_mut();
        config.expand_empty_elements = true;
        config.check_comments = true;
        Parser { text, reader, tag_at: 0 }
    }

    fn schema(&mut self) -> Result<SchemaModel> {
        let Tag::Start(schema) = self.next_tag()? else {
            return Err("there is no <Schema> element".into());
        };
        if schema.name != "Schema" {
            return Err(unexpected(&schema, "<Schema>"));
        }
        if let Some(version) = schema.integer("formatVersion")?
            && version != 0
        {
            return Err(format!("format version {version} is unknown, only 0 is").into());
        }
        let mut model = SchemaModel::new();
        while let Tag::Start(start) = self.next_tag()? {
            if start.name != "ObjectType" {
                return Err(unexpected(&start, "<ObjectType>"));
            }
            let at = self.tag_at;
            if model.find_type(start.required("name")?).is_some() {
                return Err(duplicate("object type", start.required("name")?, at));
            }
            let object_type = self.object_type(&start)?;
            model = model.object_type(object_type);
        }
        Ok(model)
    }

    fn object_type(&mut self, start: &Start<'_>) -> Result<ObjectType> {
        let mut object_type =
            ObjectType::new(start.required("name")?).with_storage_id(start.storage_id()?);
        while let Tag::Start(start) = self.next_tag()? {
            let name = start.required("name")?;
            if start.name == "CompositeIndex" {
                if object_type.find_index(name).is_some() {
                    return Err(duplicate("composite index", name, self.tag_at));
                }
                let id = start.storage_id()?;
                let fields = self.names("Field")?;
                let index = CompositeIndex::new(name, fields).with_storage_id(id);
                object_type = object_type.composite_index(index);
            } else if !object_type.indexes().is_empty() {
                return Err(unexpected(&start, "<CompositeIndex>, as fields come before indexes"));
            } else {
                if object_type.find_field(name).is_some() {
                    return Err(duplicate("field", name, self.tag_at));
                }
                let field = self.field(&start, name)?;
                object_type = object_type.field(field);
            }
        }
        Ok(object_type)
    }

    fn field(&mut self, start: &Start<'_>, name: &str) -> Result<Field> {
        let id = start.storage_id()?;
        let kind = match start.name.as_str() {
            "CounterField" => {
                self.end_of(start)?;
                FieldKind::Counter
            }
            "SetField" => FieldKind::Set(self.only_sub_field(start)?),
            "ListField" => FieldKind::List(self.only_sub_field(start)?),
            "MapField" => {
                let key = self.sub_field(start, KEY)?;
                let value = self.sub_field(start, VALUE)?;
                self.end_of(start)?;
                FieldKind::Map { key, value }
            }
            _ => match self.simple(start)? {
                Some(simple) => FieldKind::Simple(simple),
                None => return Err(unexpected(start, "a field or a composite index")),
            },
        };
        Ok(Field::new(name, kind).with_storage_id(id))
    }

    fn only_sub_field(&mut self, parent: &Start<'_>) -> Result<SubField> {
        let element = self.sub_field(parent, ELEMENT)?;
        self.end_of(parent)?;
        Ok(element)
    }

    fn sub_field(&mut self, parent: &Start<'_>, name: &str) -> Result<SubField> {
        let Tag::Start(start) = self.next_tag()? else {
            return Err(format!("<{}> lacks its {name} sub-field", parent.name).into());
        };
        let given = start.attribute("name").unwrap_or(name);
        if given != name {
            return Err(format!("the {name} sub-field is named {given:?}").into());
        }
        let id = start.storage_id()?;
        match self.simple(&start)? {
            Some(simple) => Ok(SubField::new(simple).with_storage_id(id)),
            None => Err(unexpected(&start, "a simple field")),
        }
    }

    /// Reads the rest of a simple field's element; `None` if it is another element.
    fn simple(&mut self, start: &Start<'_>) -> Result<Option<Simple>> {
        let simple = match start.name.as_str() {
            "SimpleField" => {
                let text = start.required("encoding")?;
                let encoding: EncodingId = text
                    .parse()
                    .map_err(|_| start.malformed("encoding", text, "an encoding ID"))?;
                let indexed = start.boolean("indexed", false)?;
                self.end_of(start)?;
                with_index(Simple::of(encoding), indexed)
            }
            "ReferenceField" => self.reference(start)?,
            "EnumField" => {
                let indexed = start.boolean("indexed", false)?;
                with_index(Simple::enumeration(self.identifiers()?), indexed)
            }
            "EnumArrayField" => {
                let indexed = start.boolean("indexed", false)?;
                let text = start.required("dimensions")?;
                let dimensions = start.integer("dimensions")?.unwrap_or(0);
                let dimensions = u8::try_from(dimensions)
                    .ok()
                    .filter(|&n| n > 0)
                    .ok_or_else(|| start.malformed("dimensions", text, "from 1 to 255"))?;
                with_index(Simple::enum_array(dimensions, self.identifiers()?), indexed)
            }
            _ => return Ok(None),
        };
        Ok(Some(simple))
    }

    fn reference(&mut self, start: &Start<'_>) -> Result<Simple> {
        if !start.boolean("indexed", true)? {
            return Err("references are always indexed".into());
        }
        let action = start.attribute("inverseDelete").unwrap_or("EXCEPTION");
        let action = DeleteAction::from_name(action)
            .ok_or_else(|| start.malformed("inverseDelete", action, "a delete action"))?;
        let allow_deleted = start.boolean("allowDeleted", action == DeleteAction::Ignore)?;
        let mut simple = Simple::reference().on_delete(action).allow_deleted(allow_deleted);
        if start.boolean("forwardDelete", false)? {
            simple = simple.forward_delete();
        }
        if let Tag::Start(types) = self.next_tag()? {
            if types.name != "ObjectTypes" {
                return Err(unexpected(&types, "<ObjectTypes>"));
            }
            simple = simple.to(self.names("ObjectType")?);
            self.end_of(start)?;
        }
        Ok(simple)
    }

    /// Reads empty elements with a name each, up to the end of the element around them.
    fn names(&mut self, element: &str) -> Result<Vec<String>> {
        let mut names = Vec::new();
        while let Tag::Start(start) = self.next_tag()? {
            if start.name != element {
                return Err(unexpected(&start, &format!("<{element}>")));
            }
            names.push(start.required("name")?.to_owned());
            self.end_of(&start)?;
        }
        Ok(names)
    }

    fn identifiers(&mut self) -> Result<Vec<String>> {
        let mut identifiers = Vec::new();
        while let Tag::Start(start) = self.next_tag()? {
            if start.name != "Identifier" {
                return Err(unexpected(&start, "<Identifier>"));
            }
            let mut text = String::new();
            match self.next_tag_with(&mut text)? {
                Tag::End => identifiers.push(text),
                Tag::Start(child) => return Err(unexpected(&child, "text")),
            }
        }
        Ok(identifiers)
    }

    fn end_of(&mut self, start: &Start<'_>) -> Result<()> {
        match self.next_tag()? {
            Tag::End => Ok(()),
            Tag::Start(child) => Err(unexpected(&child, &format!("</{}>", start.name))),
        }
    }

    fn next_tag(&mut self) -> Result<Tag<'x>> {
        self.next_tag_with(&mut String::new())
    }

    /// Reads up to and including the next tag; text on the way is appended to `text`.
    fn next_tag_with(&mut self, text: &mut String) -> Result<Tag<'x>> {
        loop {
            self.tag_at = self.reader.buffer_position() as usize;
            let event = self.reader.read_event().map_err(|error| Fault {
                at: Some(self.reader.error_position() as usize),
                message: format!("not well-formed: {error}"),
            })?;
            match event {
                Event::Start(start) => return self.start(&start).map(Tag::Start),
                Event::End(_) => return Ok(Tag::End),
                Event::Text(t) => text.push_str(&t.xml10_content()),
                Event::CData(t) => text.push_str(&t.xml10_content()),
                Event::GeneralRef(reference) => {
                    let name: &str = &reference;
                    let resolved = if reference.is_char_ref() {
                        reference.resolve_char_ref().ok().flatten().filter(|&c| is_xml_char(c))
                    } else {
                        predefined_entity(name)
                    };
                    let undefined = || format!("not well-formed: &{name}; is not defined");
                    text.push(resolved.ok_or_else(undefined)?);
                }
                Event::DocType(_) => return Err("a DOCTYPE is not allowed".into()),
                Event::Eof => return Err("not well-formed: the document ends too early".into()),
                Event::Comment(_) | Event::PI(_) | Event::Decl(_) => {}
                Event::Empty(_) => return Err("not well-formed".into()),
            }
        }
    }

    fn start(&self, start: &BytesStart<'x>) -> Result<Start<'x>> {
        let resolver = self.reader.resolver();
        let name = start.name();
        match resolver.resolve_element(name).0 {
            ResolveResult::Unbound => {}
            ResolveResult::Bound(namespace) if namespace.0.is_empty() => {}
            ResolveResult::Bound(namespace) => {
                let name = name.0;
                return Err(format!("<{name}> is in namespace {:?}", namespace.0).into());
            }
            ResolveResult::Unknown(_) => {
                return Err(
                    format!("not well-formed: the prefix of <{}> is not declared", name.0).into()
                );
            }
        }
        let mut attributes = Vec::new();
        for (count, attribute) in start.attributes().enumerate() {
            if count == MAX_ATTRIBUTES {
                let name = name.0;
                return Err(format!("<{name}> has more than {MAX_ATTRIBUTES} attributes").into());
            }
            let attribute = attribute.map_err(|error| format!("not well-formed: {error}"))?;
            if attribute.value.contains('<') {
                return Err(format!("not well-formed: < in attribute {:?}", attribute.key.0).into());
            }
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|error| format!("not well-formed: {error}"))?;
            if let Some(c) = value.chars().find(|&c| !is_xml_char(c)) {
                return Err(format!("not well-formed: character {c:?} is not allowed").into());
            }
            if attribute.key.as_namespace_binding().is_some() {
                continue;
            }
            match resolver.resolve_attribute(attribute.key).0 {
                ResolveResult::Unbound => {
                    let name = Cow::Owned(attribute.key.0.to_owned());
                    attributes.push((name, value.into_owned()));
                }
                ResolveResult::Bound(_) => {}
                ResolveResult::Unknown(_) => {
                    let name = attribute.key.0;
                    return Err(
                        format!("not well-formed: the prefix of {name:?} is not declared").into()
                    );
                }
            }
        }
        Ok(Start { name: name.0.to_owned(), attributes })
    }

    /// Refuses characters XML does not allow, in all that was read.
    fn check_characters(&self) -> std::result::Result<(), SchemaError> {
        let end = self.reader.buffer_position() as usize;
        let read = self.text.get(..end).unwrap_or(self.text);
        match read.char_indices().find(|&(_, c)| !is_xml_char(c)) {
            None => Ok(()),
            Some((at, c)) => Err(self.locate(Fault {
                at: Some(at),
                message: format!("not well-formed: character {c:?} is not allowed"),
            })),
        }
    }

    fn locate(&self, fault: Fault) -> SchemaError {
        let at = fault.at.unwrap_or(self.tag_at).min(self.text.len());
        let before = self.text.get(..at).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        SchemaError::Xml {
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
            message: fault.message,
        }
    }
}

fn with_index(simple: Simple, indexed: bool) -> Simple {
    if indexed { simple.indexed() } else { simple }
}

fn unexpected(found: &Start<'_>, expected: &str) -> Fault {
    format!("found <{}> where {expected} is expected", found.name).into()
}

fn duplicate(what: &str, name: &str, at: usize) -> Fault {
    Fault { at: Some(at), message: format!("there is another {what} named {name:?}") }
}

fn predefined_entity(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "apos" => Some('\''),
        "quot" => Some('"'),
        _ => None,
    }
}

fn is_xml_char(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{fffd}' | '\u{10000}'..)
}
