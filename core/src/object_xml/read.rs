//! Reads a document: the reader, schemas and objects. `read_fields.rs` reads the fields of an
//! object.

use std::io::Read;
use std::sync::Arc;

use super::error::{ObjectXmlError, Result};
use super::generated::{self, GeneratedIds};
use super::read_fields::read_content;
use super::read_state::{Import, Step, Stop};
use crate::id::ObjId;
use crate::object::{CopyOptions, MissingTargets, ObjectBuilder, Transaction};
use crate::schema::{ResolvedType, Schema, SchemaError, SchemaId, read_schema};
use crate::xml::{Fault, Parser, Position, Start, Tag};

/// How objects are read from XML.
#[derive(Debug, Default)]
pub struct ObjectXmlReader<'a> {
    allow_unresolved: bool,
    silent: bool,
    ids: Option<&'a mut GeneratedIds>,
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// How many objects the document has.
    pub count: u64,
    /// Objects that do not exist although a field that forbids this refers to them; each with the
    /// full name of such a field. Empty unless unresolved references were allowed.
    pub unresolved: MissingTargets,
}

impl<'a> ObjectXmlReader<'a> {
    /// The default: references must be resolved, listeners are notified, `generated:` names get new
    /// IDs.
    pub fn new() -> Self {
        ObjectXmlReader::default()
    }

    /// Accepts references to objects that are neither in the document nor in the database, even
    /// from fields that forbid this. Create these objects before the transaction ends: until then
    /// the database is inconsistent.
    #[must_use]
    pub fn allow_unresolved(mut self) -> Self {
        self.allow_unresolved = true;
        self
    }

    /// Does not notify listeners.
    #[must_use]
    pub fn silent(mut self) -> Self {
        self.silent = true;
        self
    }

    /// Takes the IDs of `generated:TYPE:SUFFIX` from here, and adds the IDs that reading makes.
    #[must_use]
    #[doc(hidden)]
    pub fn sharing_ids(mut self, ids: &'a mut GeneratedIds) -> Self {
        self.ids = Some(ids);
        self
    }

    /// Reads a document into the database: records its schemas and creates its objects. An object
    /// that exists is replaced completely, and moved to the schema that the document says. Reading
    /// ends with the objects: it does not look at the text after them.
    ///
    /// `input` is buffered here. Costs what [`Transaction::replace_object`] costs for each object.
    ///
    /// # Errors
    /// All of [`ObjectXmlError`] except [`Character`](ObjectXmlError::Character) and
    /// [`NoText`](ObjectXmlError::NoText). The transaction then contains the objects that were read
    /// before the error. Roll it back, or read inside [`Transaction::atomic`], which undoes it but
    /// needs memory for everything that is read:
    ///
    /// ```
    /// # use permazen::object::Transaction;
    /// # use permazen::object_xml::{Imported, ObjectXmlError, ObjectXmlReader};
    /// # fn import(tx: &Transaction, file: std::fs::File) -> Result<Imported, ObjectXmlError> {
    /// tx.atomic(|tx| ObjectXmlReader::new().read(tx, file))
    /// # }
    /// ```
    pub fn read(self, tx: &Transaction, input: impl Read) -> Result<Imported> {
        let mut own_ids = GeneratedIds::new();
        let mut import = Import {
            tx,
            xml: Parser::new(input),
            ids: self.ids.unwrap_or(&mut own_ids),
            silent: self.silent,
            missing: MissingTargets::new(),
            count: 0,
        };
        if let Err(stop) = import.document() {
            return Err(match stop {
                Stop::Fault(fault) => ObjectXmlError::from_fault(fault, import.xml.tag_at()),
                Stop::Error(error) => error,
            });
        }
        let Import { count, missing, .. } = import;
        let mut unresolved = MissingTargets::new();
        for (target, field) in missing {
            // A listener may have created it.
            if !tx.exists(target)? {
                unresolved.insert(target, field);
            }
        }
        if !unresolved.is_empty() && !self.allow_unresolved {
            return Err(ObjectXmlError::Unresolved { targets: unresolved });
        }
        Ok(Imported { count, unresolved })
    }
}

impl<R: Read> Import<'_, R> {
    fn document(&mut self) -> Step<()> {
        self.expect("database", "the end of the document")?;
        self.expect("schemas", "closing <database> tag")?;
        self.schemas()?;
        let objects = self.expect("objects", "closing <database> tag")?;
        let default = schema_id(&objects)?;
        while let Some(start) = self.next_start()? {
            self.object(&start, default)?;
            self.count += 1;
        }
        Ok(())
    }

    /// Reads a start tag, which must have this name.
    fn expect(&mut self, name: &str, end: &str) -> Step<Start> {
        match self.xml.next_own_tag()? {
            Tag::Start(start) if start.name == name => Ok(start),
            Tag::Start(start) => {
                Err(format!("expected opening <{name}> tag but found <{}> instead", start.name)
                    .into())
            }
            Tag::End => {
                Err(format!("expected opening <{name}> tag but found {end} instead").into())
            }
        }
    }

    /// Reads the schemas and records them all.
    fn schemas(&mut self) -> Step<()> {
        let mut models = Vec::new();
        while let Tag::Start(start) = self.xml.next_own_tag()? {
            if start.name != "Schema" {
                let name = start.name;
                return Err(format!("expected <Schema> tag but found <{name}> instead").into());
            }
            let at = self.xml.tag_at();
            let model = read_schema(&mut self.xml, &start).map_err(|fault| match fault {
                Fault::Document { at, message } => {
                    Fault::Document { at, message: format!("invalid schema: {message}") }
                }
                other => other,
            })?;
            let valid = match model.is_empty() {
                true => Err(SchemaError::Empty),
                false => model.validate(),
            };
            valid.map_err(|source| schema_error(at, source))?;
            models.push(model);
        }
        if models.is_empty() {
            return Ok(());
        }
        let at = self.xml.tag_at();
        self.tx.add_schemas(&models).map_err(|error| match error {
            crate::object::Error::Schema(source) => schema_error(at, source),
            error => error.into(),
        })?;
        Ok(())
    }

    fn object(&mut self, start: &Start, default: Option<SchemaId>) -> Step<()> {
        let (line, column) = self.xml.tag_at();
        let schema = self.schema_of(start, default)?;
        // An `<object>` names its type in the attribute `type`. Any other element may only repeat
        // its own name there.
        let type_name = match start.attribute("type") {
            Some(name) if start.name != "object" && start.name != name => {
                return Err(format!(
                    "element <{}> does not match object type name {name:?} (should be <{name}> or \
                     <object>)",
                    start.name
                )
                .into());
            }
            Some(name) => name,
            None => &start.name,
        };
        let object_type = schema.object_type(type_name).ok_or_else(|| {
            format!(
                "invalid object type {type_name:?}: no object type {type_name:?} exists in schema \
                 \"{}\"",
                schema.id
            )
        })?;
        let id = match start.attribute("id") {
            Some(text) => Some(self.object_id(text, object_type)?),
            None => None,
        };
        let mut builder = ObjectBuilder::new(Arc::clone(object_type));
        read_content(self, &mut builder, schema.id)?;
        let id = match id {
            Some(id) => id,
            None => self.ids.nameless(self.tx, object_type)?,
        };
        let mut options = CopyOptions::new().noting_missing(&mut self.missing);
        if self.silent {
            options = options.silent();
        }
        self.tx
            .replace_object(id, &builder.finish(), &mut options)
            .map_err(|source| ObjectXmlError::Object { line, column, id, source })?;
        self.missing.remove(&id);
        Ok(())
    }

    fn schema_of(&self, start: &Start, default: Option<SchemaId>) -> Step<Arc<Schema>> {
        let Some(id) = schema_id(start)?.or(default) else { return Ok(self.tx.schema()) };
        match self.tx.bundle().schema_by_id(id) {
            Some(schema) => Ok(Arc::clone(schema)),
            None => {
                Err(format!("invalid schema \"{id}\": no schema exists with schema ID \"{id}\"")
                    .into())
            }
        }
    }

    fn object_id(&mut self, text: &str, object_type: &ResolvedType) -> Step<ObjId> {
        let wanted = &*object_type.name;
        if let Some((type_name, suffix)) = generated::parse(text) {
            if type_name != wanted {
                return Err(
                    format!("invalid object type {type_name:?}: expected {wanted:?}").into()
                );
            }
            return Ok(self.ids.get_or_make(self.tx, type_name, suffix)?);
        }
        let id: ObjId = text.parse().map_err(|_| format!("invalid object ID {text:?}"))?;
        if id.storage_id() != object_type.storage_id {
            return Err(format!(
                "invalid object ID {text:?}: its storage ID is {}, that of object type {wanted:?} {}",
                id.storage_id(),
                object_type.storage_id
            )
            .into());
        }
        Ok(id)
    }
}

fn schema_id(start: &Start) -> Step<Option<SchemaId>> {
    match start.attribute("schema") {
        None => Ok(None),
        Some(text) => match text.parse() {
            Ok(id) => Ok(Some(id)),
            Err(_) => Err(format!("invalid schema ID {text:?}").into()),
        },
    }
}

fn schema_error((line, column): Position, source: SchemaError) -> Stop {
    Stop::Error(ObjectXmlError::Schema { line, column, source })
}
