//! Writes a document: the writer, schemas and objects. `write_tags.rs` writes the tags.

use std::borrow::Cow;
use std::io::Write;

use permazen_kv::Hex;

use super::error::{ObjectXmlError, Result};
use super::names::is_element_name;
use super::spelling::{ENCODED, text_that_reads_back};
use super::write_tags::{Output, find_invalid};
use crate::encoding::Value;
use crate::id::ObjId;
use crate::object::{self, Migrate, ObjectData, Transaction};
use crate::schema::{ResolvedField, ResolvedKind, SchemaError, SchemaId, SchemaModel, XmlForm};

/// How objects are written as XML.
///
/// By default, the document has all schemas and all objects, but no storage IDs. Elements have the
/// names of types and fields and are indented. Fields that have their default value are left out.
#[derive(Debug, Clone)]
pub struct ObjectXmlWriter {
    names_as_elements: bool,
    storage_ids: bool,
    indented: bool,
    omit_defaults: bool,
    encoded_values: bool,
    truncation: Option<usize>,
    schemas: Schemas,
    default_schema: Option<SchemaId>,
}

#[derive(Debug, Clone)]
enum Schemas {
    All,
    These(Vec<SchemaId>),
}

impl Default for ObjectXmlWriter {
    fn default() -> Self {
        ObjectXmlWriter {
            names_as_elements: true,
            storage_ids: false,
            indented: true,
            omit_defaults: true,
            encoded_values: false,
            truncation: None,
            schemas: Schemas::All,
            default_schema: None,
        }
    }
}

impl ObjectXmlWriter {
    /// The default.
    pub fn new() -> Self {
        ObjectXmlWriter::default()
    }

    /// Writes `<object type="…">` and `<field name="…">` instead of elements that have the names of
    /// types and fields. Names that XML does not allow are always written this way.
    #[must_use]
    pub fn plain(mut self) -> Self {
        self.names_as_elements = false;
        self
    }

    /// Writes storage IDs in schemas, and real object IDs. Such a document reproduces each pair if
    /// it is read into an empty store or into the same database. It fits no other database.
    ///
    /// Otherwise objects are called `generated:TYPE:ID`. References to objects that do not exist
    /// are always written as raw IDs.
    #[must_use]
    pub fn with_storage_ids(mut self) -> Self {
        self.storage_ids = true;
        self
    }

    /// Writes everything in one line, without the comments that give schema IDs.
    #[must_use]
    pub fn compact(mut self) -> Self {
        self.indented = false;
        self
    }

    /// Also writes fields that have their default value, counters that are 0, and empty
    /// collections.
    #[must_use]
    pub fn with_defaults(mut self) -> Self {
        self.omit_defaults = false;
        self
    }

    /// Writes the values that have no text that is read back as the same value: as
    /// `<encoded>fe7fff…</encoded>`, the hex digits of the encoded value, inside the element of the
    /// value. [`ObjectXmlReader`](super::ObjectXmlReader) reads them; Permazen for Java refuses
    /// such a document. Otherwise these values are errors. All other values are written as always.
    #[must_use]
    pub fn with_encoded_values(mut self) -> Self {
        self.encoded_values = true;
        self
    }

    /// Cuts the text of simple values after this many characters and adds `...[truncated]`. With 0,
    /// values other than null become empty tags. This is for people: such a document cannot be read
    /// back.
    #[must_use]
    pub fn truncated(mut self, characters: usize) -> Self {
        self.truncation = Some(characters);
        self
    }

    /// Writes these recorded schemas, in this order, instead of all schemas by ascending index. A
    /// database that has recorded them already needs none of them.
    #[must_use]
    pub fn schemas(mut self, schemas: impl IntoIterator<Item = SchemaId>) -> Self {
        self.schemas = Schemas::These(schemas.into_iter().collect());
        self
    }

    /// Names this schema in the element of all objects, so that its own objects need not.
    /// Otherwise, that is the schema of the transaction, unless it is empty.
    #[must_use]
    pub fn default_schema(mut self, schema: SchemaId) -> Self {
        self.default_schema = Some(schema);
        self
    }

    /// Writes all objects by ascending ID and returns their number. Migrates nothing.
    ///
    /// Costs one [`load`](Transaction::load) for each object; without storage IDs, also at most one
    /// get for each reference. The output is buffered here and flushed at the end.
    ///
    /// # Errors
    /// The errors of the transaction and of writing to `out`; [`SchemaError::UnknownSchema`] for a
    /// schema that is not recorded; [`ObjectXmlError::NoText`] and [`ObjectXmlError::Character`].
    pub fn write(&self, tx: &Transaction, out: impl Write) -> Result<u64> {
        self.write_objects(tx, tx.all_objects()?.iter(), out)
    }

    /// Does the same as [`write`](ObjectXmlWriter::write), but with these objects in this order.
    /// There may be none. `objects` is read while the document is written: if reading it changes
    /// objects, each object is written as it is when its turn comes.
    ///
    /// ```
    /// # fn export(tx: &permazen::object::Transaction) -> Result<(), permazen::object_xml::ObjectXmlError> {
    /// use permazen::object_xml::ObjectXmlWriter;
    /// let people = tx.objects("Person")?;
    /// ObjectXmlWriter::new().write_objects(tx, &people, std::io::stdout())?;
    /// ObjectXmlWriter::new().write_objects(tx, [], std::io::stdout())?; // schemas only
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The errors of [`write`](ObjectXmlWriter::write), and [`object::Error::DeletedObject`].
    pub fn write_objects(
        &self,
        tx: &Transaction,
        objects: impl IntoIterator<Item = object::Result<ObjId>>,
        out: impl Write,
    ) -> Result<u64> {
        self.write_each(tx, out, |write| objects.into_iter().try_for_each(|id| write(id?)))
    }

    /// Does the same as [`write_objects`](ObjectXmlWriter::write_objects), for a caller that finds
    /// the objects one by one: `each` gets a function that writes an object.
    ///
    /// ```
    /// # use permazen::ObjId;
    /// # fn export(tx: &permazen::object::Transaction, found: &[ObjId]) -> Result<(), permazen::object_xml::ObjectXmlError> {
    /// use permazen::object_xml::ObjectXmlWriter;
    /// ObjectXmlWriter::new().write_each(tx, std::io::stdout(), |write| {
    ///     found.iter().try_for_each(|id| write(*id))
    /// })?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The errors of [`write_objects`](ObjectXmlWriter::write_objects) and of `each`.
    pub fn write_each(
        &self,
        tx: &Transaction,
        out: impl Write,
        each: impl FnOnce(&mut dyn FnMut(ObjId) -> Result<()>) -> Result<()>,
    ) -> Result<u64> {
        let schemas = self.models(tx)?;
        let out = Output::new(out, self.indented)?;
        let schema = tx.schema();
        let schema = (!schema.index.is_empty_schema()).then_some(schema.id);
        let schema = self.default_schema.or(schema);
        let mut export = Export { options: self, tx, out, schema };
        export.out.start("database", &[])?;
        export.out.start("schemas", &[])?;
        let form = XmlForm { storage_ids: self.storage_ids, pretty: self.indented };
        for model in schemas {
            export.out.element(|depth| model.to_xml_element(form, depth))?;
        }
        export.out.end("schemas")?;
        match schema {
            Some(id) => export.out.start("objects", &[("schema", &id.to_string())])?,
            None => export.out.start("objects", &[])?,
        }
        let mut count = 0;
        each(&mut |id| {
            export.object(id)?;
            count += 1;
            Ok(())
        })?;
        export.out.end("objects")?;
        export.out.end("database")?;
        export.out.finish()?;
        Ok(count)
    }

    fn models(&self, tx: &Transaction) -> Result<Vec<SchemaModel>> {
        let bundle = tx.bundle();
        let recorded = bundle.recorded();
        match &self.schemas {
            Schemas::All => {
                Ok(recorded.schemas().iter().map(|s| s.model_with_storage_ids()).collect())
            }
            Schemas::These(ids) => ids
                .iter()
                .map(|&id| {
                    let schema = recorded
                        .find(id)
                        .ok_or_else(|| SchemaError::UnknownSchema(id.to_string()))
                        .map_err(object::Error::from)?;
                    Ok(schema.model_with_storage_ids())
                })
                .collect(),
        }
    }
}

/// A document that is being written.
struct Export<'a, W: Write> {
    options: &'a ObjectXmlWriter,
    tx: &'a Transaction,
    out: Output<W>,
    /// The schema of objects that do not name one.
    schema: Option<SchemaId>,
}

/// The element of an object or field.
struct Element<'n> {
    tag: &'n str,
    /// The name, if it is not the tag.
    name: Option<&'n str>,
}

impl<W: Write> Export<'_, W> {
    fn element<'n>(&self, generic: &'n str, name: &'n str) -> Element<'n> {
        // Names that XML does not allow go into an attribute.
        if self.options.names_as_elements && is_element_name(name) {
            Element { tag: name, name: None }
        } else {
            Element { tag: generic, name: Some(name) }
        }
    }

    fn object(&mut self, id: ObjId) -> Result<()> {
        let data = self.tx.load(id, Migrate::No)?;
        let object_type = data.object_type();
        let mut fields = Vec::with_capacity(object_type.fields.len());
        for field in &object_type.fields {
            if !self.options.omit_defaults || !is_default(&data, field)? {
                fields.push(field);
            }
        }
        let element = self.element("object", &object_type.name);
        let id_text = if self.options.storage_ids {
            id.to_string()
        } else {
            format!("generated:{}:{id}", object_type.name)
        };
        let schema = self.tx.object_schema(id)?.id;
        let schema = (Some(schema) != self.schema).then(|| schema.to_string());
        let attributes: Vec<_> = element
            .name
            .map(|name| ("type", name))
            .into_iter()
            .chain([("id", id_text.as_str())])
            .chain(schema.as_deref().map(|schema| ("schema", schema)))
            .collect();
        if fields.is_empty() {
            return Ok(self.out.empty(element.tag, &attributes)?);
        }
        self.out.start(element.tag, &attributes)?;
        for field in fields {
            self.field(id, &data, field)?;
        }
        Ok(self.out.end(element.tag)?)
    }

    fn field(&mut self, id: ObjId, data: &ObjectData, field: &ResolvedField) -> Result<()> {
        let element = self.element("field", &field.name);
        let name: Vec<_> = element.name.map(|name| ("name", name)).into_iter().collect();
        let tag = element.tag;
        if let ResolvedKind::Simple(_) = &field.kind {
            return self.value(id, tag, &name, field, data.simple(field)?);
        }
        self.out.start(tag, &name)?;
        match &field.kind {
            ResolvedKind::Simple(_) => {}
            ResolvedKind::Counter => self.out.text(&data.counter(field)?.to_string())?,
            ResolvedKind::Set { element } => {
                for (value, _) in data.pairs(field) {
                    self.value(id, "element", &[], element, value)?;
                }
            }
            ResolvedKind::List { element } => {
                for value in data.elements(field) {
                    self.value(id, "element", &[], element, value?)?;
                }
            }
            ResolvedKind::Map { key: keys, value: values } => {
                for (key, value) in data.pairs(field) {
                    self.out.start("entry", &[])?;
                    self.value(id, "key", &[], keys, key)?;
                    self.value(id, "value", &[], values, value)?;
                    self.out.end("entry")?;
                }
            }
        }
        Ok(self.out.end(tag)?)
    }

    /// An element with a simple value.
    fn value(
        &mut self,
        id: ObjId,
        tag: &str,
        name: &[(&str, &str)],
        field: &ResolvedField,
        bytes: &[u8],
    ) -> Result<()> {
        let text = match self.text(id, field, bytes)? {
            Form::Text(text) => text,
            Form::Null => {
                let attributes = [name, &[("null", "true")]].concat();
                return Ok(self.out.empty(tag, &attributes)?);
            }
            Form::Encoded(bytes) => {
                self.out.start(tag, name)?;
                self.out.start(ENCODED, &[])?;
                self.out.text(&Hex(&bytes).to_string())?;
                self.out.end(ENCODED)?;
                return Ok(self.out.end(tag)?);
            }
        };
        let text = match self.options.truncation {
            Some(0) => return Ok(self.out.empty(tag, name)?),
            Some(limit) => match text.char_indices().nth(limit) {
                Some((end, _)) => {
                    let kept = text.get(..end).unwrap_or_default();
                    Cow::Owned(format!("{kept}...[truncated]"))
                }
                None => Cow::Borrowed(&*text),
            },
            None => Cow::Borrowed(&*text),
        };
        if let Some((offset, character)) = find_invalid(&text) {
            let field = field.full_name.to_string();
            let character = character.into();
            return Err(ObjectXmlError::Character { id, field, character, offset });
        }
        self.out.start(tag, name)?;
        self.out.text(&text)?;
        Ok(self.out.end(tag)?)
    }

    /// How an encoded value is written.
    fn text(&self, id: ObjId, field: &ResolvedField, bytes: &[u8]) -> Result<Form> {
        let damaged = |reason: &dyn std::fmt::Display| {
            object::Error::inconsistent(format!(
                "field {} of object {id}: value {}: {reason}",
                field.full_name,
                Hex(bytes)
            ))
        };
        let simple = field.simple().ok_or_else(|| damaged(&"the field is of no simple kind"))?;
        let encoding = &*simple.encoding;
        let value = encoding.decode_all(bytes).map_err(|reason| damaged(&reason))?;
        match &value {
            Value::Null => return Ok(Form::Null),
            Value::Ref(target) if !self.options.storage_ids && self.tx.exists(*target)? => {
                let type_name = self.tx.type_name(target.storage_id())?;
                return Ok(Form::Text(format!("generated:{type_name}:{target}")));
            }
            _ => {}
        }
        if self.options.truncation.is_some() {
            let text = encoding.to_text(&value).map_err(|reason| damaged(&reason))?;
            return Ok(Form::Text(text));
        }
        let text = text_that_reads_back(encoding, &value).map_err(|reason| damaged(&reason))?;
        if let Some(text) = text {
            return Ok(Form::Text(text));
        }
        let encoded = encoding.encode_all(&value).map_err(|reason| damaged(&reason))?;
        match self.options.encoded_values {
            true => Ok(Form::Encoded(encoded)),
            false => {
                let field = field.full_name.to_string();
                Err(ObjectXmlError::NoText { id, field, encoded: encoded.into() })
            }
        }
    }
}

/// How a value is written.
enum Form {
    Null,
    Text(String),
    /// The encoded value, for a value without a text.
    Encoded(Vec<u8>),
}

fn is_default(data: &ObjectData, field: &ResolvedField) -> Result<bool> {
    Ok(match &field.kind {
        ResolvedKind::Simple(simple) => {
            data.stored(field).is_none_or(|value| Some(value) == simple.default.as_deref())
        }
        ResolvedKind::Counter => data.counter(field)? == 0,
        _ => data.pairs(field).len() == 0,
    })
}
