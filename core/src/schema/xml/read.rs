//! Reads schema XML.
//!
//! Elements cannot nest deeper than the grammar allows.

use std::collections::HashSet;
use std::io::Read;

use super::MAX_XML_BYTES;
use crate::encoding::EncodingId;
use crate::id::StorageId;
use crate::schema::error::SchemaError;
use crate::schema::model::{
    CompositeIndex, DeleteAction, ELEMENT, Field, FieldKind, KEY, ObjectType, SchemaModel, Simple,
    SubField, VALUE,
};
use crate::xml::{Fault, Parser, Position, Start, Tag};

impl SchemaModel {
    /// Reads a schema document.
    ///
    /// As in Java, unknown attributes, text between elements, and everything after the schema
    /// element are ignored. The model may break rules of [`validate`](SchemaModel::validate) that
    /// do not concern the form of the document.
    ///
    /// # Errors
    /// [`SchemaError::Xml`] with line and column: the document is not well-formed or has a DOCTYPE,
    /// an element is unknown or misplaced, an attribute is missing or malformed, or a name occurs
    /// twice.
    pub fn from_xml(document: &[u8]) -> std::result::Result<SchemaModel, SchemaError> {
        // A hostile document must not take too much time.
        if document.len() > MAX_XML_BYTES {
            let length = document.len();
            return Err(SchemaError::Xml {
                line: 1,
                column: 1,
                message: format!(
                    "the document has {length} bytes, at most {MAX_XML_BYTES} are read"
                ),
            });
        }
        let mut parser = Parser::new(document);
        read_document(&mut parser).map_err(|fault| locate(fault, parser.tag_at()))
    }
}

fn locate(fault: Fault, tag_at: Position) -> SchemaError {
    let ((line, column), message) = match fault {
        Fault::Document { at, message } => (at.unwrap_or(tag_at), message),
        Fault::Io(error) => (tag_at, error.to_string()),
    };
    SchemaError::Xml { line, column, message }
}

fn read_document<R: Read>(parser: &mut Parser<R>) -> Result<SchemaModel> {
    let Tag::Start(schema) = parser.next_own_tag()? else {
        return Err("there is no <Schema> element".into());
    };
    if schema.name != "Schema" {
        return Err(unexpected(&schema, "<Schema>"));
    }
    read_schema(parser, &schema)
}

/// Reads a schema up to its end tag. Its start tag was read already.
pub(crate) fn read_schema<R: Read>(parser: &mut Parser<R>, start: &Start) -> Result<SchemaModel> {
    Reader { xml: parser }.schema(start)
}

type Result<T> = std::result::Result<T, Fault>;

impl Start {
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
        // As in Java, 0 means that the item asks for no storage ID.
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

struct Reader<'p, R: Read> {
    xml: &'p mut Parser<R>,
}

impl<R: Read> Reader<'_, R> {
    fn schema(&mut self, schema: &Start) -> Result<SchemaModel> {
        // Only one version exists. A document written by hand may leave it out.
        if let Some(version) = schema.integer("formatVersion")?
            && version != 0
        {
            return Err(format!("format version {version} is unknown, only 0 is").into());
        }
        let mut types = Vec::new();
        let mut names = HashSet::new();
        while let Tag::Start(start) = self.next_tag()? {
            if start.name != "ObjectType" {
                return Err(unexpected(&start, "<ObjectType>"));
            }
            let at = self.xml.tag_at();
            let name = start.required("name")?;
            // A later type of the same name would take the place of the first one without a word.
            if !names.insert(name.to_owned()) {
                return Err(duplicate("object type", name, at));
            }
            types.push(self.object_type(&start)?);
        }
        Ok(SchemaModel::of_types(types))
    }

    fn object_type(&mut self, start: &Start) -> Result<ObjectType> {
        let object_type =
            ObjectType::new(start.required("name")?).with_storage_id(start.storage_id()?);
        let (mut fields, mut field_names) = (Vec::new(), HashSet::new());
        let (mut indexes, mut index_names) = (Vec::new(), HashSet::new());
        while let Tag::Start(start) = self.next_tag()? {
            let name = start.required("name")?;
            if start.name == "CompositeIndex" {
                if !index_names.insert(name.to_owned()) {
                    return Err(duplicate("composite index", name, self.xml.tag_at()));
                }
                let id = start.storage_id()?;
                let indexed = self.names("Field")?;
                indexes.push(CompositeIndex::new(name, indexed).with_storage_id(id));
            // Java's grammar has all fields before the indexes.
            } else if !indexes.is_empty() {
                return Err(unexpected(&start, "<CompositeIndex>, as fields come before indexes"));
            } else {
                if !field_names.insert(name.to_owned()) {
                    return Err(duplicate("field", name, self.xml.tag_at()));
                }
                fields.push(self.field(&start, name)?);
            }
        }
        Ok(object_type.of_parts(fields, indexes))
    }

    fn field(&mut self, start: &Start, name: &str) -> Result<Field> {
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

    fn only_sub_field(&mut self, parent: &Start) -> Result<SubField> {
        let element = self.sub_field(parent, ELEMENT)?;
        self.end_of(parent)?;
        Ok(element)
    }

    fn sub_field(&mut self, parent: &Start, name: &str) -> Result<SubField> {
        let Tag::Start(start) = self.next_tag()? else {
            return Err(format!("<{}> lacks its {name} sub-field", parent.name).into());
        };
        // The name of a sub-field follows from its place, so it can only be confirmed.
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

    /// Reads the rest of a simple field's element; `None` if the element is of another kind.
    fn simple(&mut self, start: &Start) -> Result<Option<Simple>> {
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
            // The caller knows which other elements can be here, and says so.
            _ => return Ok(None),
        };
        Ok(Some(simple))
    }

    fn reference(&mut self, start: &Start) -> Result<Simple> {
        // A deletion finds the objects that refer by the index of the reference.
        if !start.boolean("indexed", true)? {
            return Err("references are always indexed".into());
        }
        let action = start.attribute("inverseDelete").unwrap_or("EXCEPTION");
        let action = DeleteAction::from_name(action)
            .ok_or_else(|| start.malformed("inverseDelete", action, "a delete action"))?;
        // As in Java, a field that ignores deletions may refer to deleted objects unless it says
        // otherwise.
        let allow_deleted = start.boolean("allowDeleted", action == DeleteAction::Ignore)?;
        let mut simple = Simple::reference().on_delete(action).allow_deleted(allow_deleted);
        if start.boolean("forwardDelete", false)? {
            simple = simple.forward_delete();
        }
        // Without the element, every type is allowed. An empty one allows none.
        if let Tag::Start(types) = self.next_tag()? {
            if types.name != "ObjectTypes" {
                return Err(unexpected(&types, "<ObjectTypes>"));
            }
            simple = simple.to(self.names("ObjectType")?);
            self.end_of(start)?;
        }
        Ok(simple)
    }

    /// Reads empty elements that each have a name, up to the end of the surrounding element.
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
            // As in Java, the text is taken as it is: escapes of the writer are not reversed.
            match self.xml.next_own_tag_with(&mut text)? {
                Tag::End => identifiers.push(text),
                Tag::Start(child) => return Err(unexpected(&child, "text")),
            }
        }
        Ok(identifiers)
    }

    fn end_of(&mut self, start: &Start) -> Result<()> {
        match self.next_tag()? {
            Tag::End => Ok(()),
            Tag::Start(child) => Err(unexpected(&child, &format!("</{}>", start.name))),
        }
    }

    fn next_tag(&mut self) -> Result<Tag> {
        self.xml.next_own_tag()
    }
}

fn with_index(simple: Simple, indexed: bool) -> Simple {
    if indexed { simple.indexed() } else { simple }
}

fn unexpected(found: &Start, expected: &str) -> Fault {
    format!("found <{}> where {expected} is expected", found.name).into()
}

fn duplicate(what: &str, name: &str, at: Position) -> Fault {
    Fault::at(at, format!("there is another {what} named {name:?}"))
}
