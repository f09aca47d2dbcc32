//! Writes schema XML, byte for byte as Java does.

use std::fmt::Write;

use crate::id::StorageId;
use crate::schema::SchemaId;
use crate::schema::item::{Item, Part};
use crate::schema::model::{
    CompositeIndex, DeleteAction, Field, FieldKind, ObjectType, SchemaModel, Simple, SimpleKind,
};
use crate::xml::escape;

/// The form of a schema document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XmlForm {
    /// Include the storage IDs that the model has.
    pub storage_ids: bool,
    /// Indent, and add the schema ID of each item as a comment.
    pub pretty: bool,
}

impl XmlForm {
    /// The form that is recorded in databases.
    pub const STORED: XmlForm = XmlForm { storage_ids: true, pretty: false };
    /// The form for people.
    pub const PRETTY: XmlForm = XmlForm { storage_ids: false, pretty: true };
}

impl SchemaModel {
    /// This schema as an XML document.
    pub fn to_xml(&self, form: XmlForm) -> String {
        let mut out = Writer { out: String::with_capacity(1024), form, depth: 0 };
        out.out.push_str(r#"<?xml version="1.0" encoding="UTF-8"?>"#);
        out.schema(self);
        out.out.push('\n');
        out.out
    }

    /// The element of this schema for a document, indented by `depth` levels. In the pretty form,
    /// it starts with a new line.
    pub(crate) fn to_xml_element(&self, form: XmlForm, depth: usize) -> String {
        let mut out = Writer { out: String::with_capacity(1024), form, depth };
        out.schema(self);
        out.out
    }
}

struct Writer {
    out: String,
    form: XmlForm,
    depth: usize,
}

impl Writer {
    fn schema(&mut self, schema: &SchemaModel) {
        self.open("Schema");
        self.out.push('>');
        self.comment(|| schema.schema_id());
        self.depth += 1;
        for object_type in schema.object_types() {
            self.object_type(object_type);
        }
        self.depth -= 1;
        self.close("Schema");
    }

    /// Starts a new line in the pretty form.
    fn line(&mut self) {
        if self.form.pretty {
            self.out.push('\n');
            for _ in 0..self.depth {
                self.out.push_str("    ");
            }
        }
    }

    /// The end of an opening tag, and the comment after it.
    fn end_tag(&mut self, end: &str, id: impl FnOnce() -> SchemaId) {
        self.out.push_str(end);
        self.comment(id);
    }

    fn comment(&mut self, id: impl FnOnce() -> SchemaId) {
        if self.form.pretty {
            // Writing to a string cannot fail.
            let _ = write!(self.out, "<!-- \"{}\" -->", id());
        }
    }

    fn open(&mut self, element: &str) {
        self.line();
        self.out.push('<');
        self.out.push_str(element);
    }

    fn close(&mut self, element: &str) {
        self.line();
        self.close_inline(element);
    }

    fn close_inline(&mut self, element: &str) {
        self.out.push_str("</");
        self.out.push_str(element);
        self.out.push('>');
    }

    fn attribute(&mut self, name: &str, value: &str) {
        self.out.push(' ');
        self.out.push_str(name);
        self.out.push_str("=\"");
        for c in value.chars() {
            match c {
                // Java escapes quotes in attributes only.
                '"' => self.out.push_str("&quot;"),
                _ => escape(c, &mut self.out),
            }
        }
        self.out.push('"');
    }

    fn storage_id(&mut self, id: Option<StorageId>) {
        if let Some(id) = id
            && self.form.storage_ids
        {
            self.attribute("storageId", &id.to_string());
        }
    }

    fn object_type(&mut self, object_type: &ObjectType) {
        let item = |part| Item { object_type, part };
        self.open("ObjectType");
        self.storage_id(object_type.storage_id());
        self.attribute("name", object_type.name());
        let id = || item(Part::ObjectType).schema_id();
        // Java closes an element without content in its start tag.
        if object_type.fields().is_empty() && object_type.indexes().is_empty() {
            self.end_tag("/>", id);
            return;
        }
        self.end_tag(">", id);
        self.depth += 1;
        for field in object_type.fields() {
            self.field(object_type, field);
        }
        for index in object_type.indexes() {
            self.index(index, || item(Part::Index(index)).schema_id());
        }
        self.depth -= 1;
        self.close("ObjectType");
    }

    fn field(&mut self, object_type: &ObjectType, field: &Field) {
        let item = |part| Item { object_type, part };
        let id = || item(Part::Field(field)).schema_id();
        let element = field.kind().item_kind().as_str();
        self.open(element);
        self.storage_id(field.storage_id());
        self.attribute("name", field.name());
        match field.kind() {
            FieldKind::Simple(simple) => self.simple(element, simple, id),
            FieldKind::Counter => {
                self.end_tag("/>", id);
            }
            FieldKind::Set(_) | FieldKind::List(_) | FieldKind::Map { .. } => {
                self.end_tag(">", id);
                self.depth += 1;
                for (name, sub_field) in field.sub_fields() {
                    let simple = sub_field.simple();
                    let element = simple.kind().item_kind().as_str();
                    self.open(element);
                    self.storage_id(sub_field.storage_id());
                    self.simple(element, simple, || {
                        item(Part::SubField { parent: field, name, sub_field }).schema_id()
                    });
                }
                self.depth -= 1;
                self.close(element);
            }
        }
    }

    /// The rest of a simple field's element, after storage ID and name.
    fn simple(&mut self, element: &str, simple: &Simple, id: impl FnOnce() -> SchemaId) {
        match simple.kind() {
            SimpleKind::Plain(encoding) => {
                self.attribute("encoding", encoding.as_str());
                self.indexed(simple);
                self.end_tag("/>", id);
            }
            SimpleKind::Reference(reference) => {
                // As in Java, attributes with their default values are left out.
                if reference.forward_delete() {
                    self.attribute("forwardDelete", "true");
                }
                self.attribute("inverseDelete", reference.inverse_delete().as_str());
                let default = reference.inverse_delete() == DeleteAction::Ignore;
                // Written only where it differs from the default, which depends on the action.
                if reference.allow_deleted() != default {
                    self.attribute("allowDeleted", if default { "false" } else { "true" });
                }
                let Some(types) = reference.object_types() else {
                    self.end_tag("/>", id);
                    return;
                };
                self.end_tag(">", id);
                self.depth += 1;
                self.open("ObjectTypes");
                self.out.push('>');
                self.names("ObjectType", types);
                // In the pretty form, an empty list has its end tag in the same line.
                if types.is_empty() {
                    self.close_inline("ObjectTypes");
                } else {
                    self.close("ObjectTypes");
                }
                self.depth -= 1;
                self.close(element);
            }
            SimpleKind::Enum { identifiers } => {
                self.indexed(simple);
                self.identifiers(element, identifiers, id);
            }
            SimpleKind::EnumArray { identifiers, dimensions } => {
                self.attribute("dimensions", &dimensions.to_string());
                self.indexed(simple);
                self.identifiers(element, identifiers, id);
            }
        }
    }

    fn indexed(&mut self, simple: &Simple) {
        if simple.is_indexed() {
            self.attribute("indexed", "true");
        }
    }

    fn names(&mut self, element: &str, names: &[String]) {
        self.depth += 1;
        for name in names {
            self.open(element);
            self.attribute("name", name);
            self.out.push_str("/>");
        }
        self.depth -= 1;
    }

    fn identifiers(
        &mut self,
        element: &str,
        identifiers: &[String],
        id: impl FnOnce() -> SchemaId,
    ) {
        self.end_tag(">", id);
        self.depth += 1;
        for identifier in identifiers {
            self.open("Identifier");
            self.out.push('>');
            self.identifier(identifier);
            self.close_inline("Identifier");
        }
        self.depth -= 1;
        self.close(element);
    }

    /// Writes an identifier with its backslash escapes. Readers do not reverse them.
    fn identifier(&mut self, identifier: &str) {
        for c in identifier.chars() {
            match c {
                '\\' => self.out.push_str("\\\\"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{c}' => self.out.push_str("\\f"),
                '\t' | '\n' | '\r' | '\u{20}'..='\u{fffd}' => escape(c, &mut self.out),
                _ => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        let _ = write!(self.out, "\\u{unit:04x}");
                    }
                }
            }
        }
    }

    fn index(&mut self, index: &CompositeIndex, id: impl FnOnce() -> SchemaId) {
        self.open("CompositeIndex");
        self.storage_id(index.storage_id());
        self.attribute("name", index.name());
        self.end_tag(">", id);
        self.names("Field", index.fields());
        self.close("CompositeIndex");
    }
}
