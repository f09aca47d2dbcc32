//! All references that the objects of a transaction hold.

use std::sync::Arc;

use permazen::__internal::schema::{ReferenceInfo, ResolvedKind};
use permazen::ObjId;
use permazen::encoding::Value;
use permazen::object::{FieldValue, Migrate, Transaction};
use permazen::schema::ResolvedField;

use crate::outcome::Outcome;

/// A reference, in whichever field.
#[derive(Debug)]
pub struct Reference {
    pub holder: ObjId,
    pub target: ObjId,
    /// The field or sub-field, as defined by the holder's own schema.
    pub field: Arc<ResolvedField>,
}

impl Reference {
    pub fn options(&self) -> Option<&ReferenceInfo> {
        options(&self.field)
    }
}

/// A list of references.
#[derive(Debug)]
pub struct List {
    pub element: Arc<ResolvedField>,
    pub content: Vec<Option<ObjId>>,
}

/// An entry of a map that has references.
#[derive(Debug)]
pub struct Entry {
    pub holder: ObjId,
    pub map: Arc<ResolvedField>,
    pub key: Option<ObjId>,
    pub value: Option<ObjId>,
}

/// The references of the objects of a transaction.
#[derive(Debug, Default)]
pub struct References {
    pub all: Vec<Reference>,
    pub lists: Vec<List>,
    pub entries: Vec<Entry>,
}

impl References {
    /// Loads every object.
    pub fn read(tx: &Transaction) -> Outcome<References> {
        let mut references = References::default();
        for id in tx.all_objects()?.to_vec()? {
            let data = tx.load(id, Migrate::No)?;
            for field in &data.object_type().fields {
                let is_reference = |field: &Arc<ResolvedField>| options(field).is_some();
                if is_reference(field) || field.sub_fields().any(is_reference) {
                    references.add(id, field, data.decode_field(field)?);
                }
            }
        }
        Ok(references)
    }

    fn add(&mut self, holder: ObjId, field: &Arc<ResolvedField>, content: FieldValue) {
        let mut held = |field: &Arc<ResolvedField>, value: &Value| {
            let target = target(value)?;
            let field = Arc::clone(field);
            self.all.push(Reference { holder, target, field });
            Some(target)
        };
        match (&field.kind, content) {
            (_, FieldValue::Simple(value)) => {
                held(field, &value);
            }
            (ResolvedKind::Set { element }, FieldValue::Set(values)) => {
                values.iter().for_each(|value| {
                    held(element, value);
                });
            }
            (ResolvedKind::List { element }, FieldValue::List(values)) => {
                let content = values.iter().map(|value| held(element, value)).collect();
                self.lists.push(List { element: Arc::clone(element), content });
            }
            (ResolvedKind::Map { key, value }, FieldValue::Map(entries)) => {
                for (k, v) in &entries {
                    let entry = Entry {
                        holder,
                        map: Arc::clone(field),
                        key: held(key, k),
                        value: held(value, v),
                    };
                    self.entries.push(entry);
                }
            }
            _ => {}
        }
    }

    /// Whatever refers to an object.
    pub fn to(&self, target: ObjId) -> impl Iterator<Item = &Reference> {
        self.all.iter().filter(move |reference| reference.target == target)
    }
}

/// The options of a field of references.
pub fn options(field: &ResolvedField) -> Option<&ReferenceInfo> {
    field.simple()?.reference.as_ref()
}

/// The object that a value refers to.
pub fn target(value: &Value) -> Option<ObjId> {
    match value {
        Value::Ref(id) => Some(*id),
        _ => None,
    }
}
