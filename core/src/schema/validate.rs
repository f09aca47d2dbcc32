//! The rules that a schema model must follow (docs/src/schemas.md#models).

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::error::{Problem, Problems, SchemaError, note};
use super::item::{Item, Part, shown};
use super::model::{
    CompositeIndex, DeleteAction, FieldKind, ObjectType, SchemaModel, Simple, SimpleKind,
};
use super::names::{identifier_can_be_stored, is_enum_identifier, is_name};

/// The longest text, in bytes of modified UTF-8, that can be part of a schema ID.
const MAX_TEXT_BYTES: usize = 65_535;
const INDEX_FIELDS: std::ops::RangeInclusive<usize> = 2..=4;

impl SchemaModel {
    /// Checks all rules that can be checked without a database and an encoding registry.
    ///
    /// # Errors
    /// [`SchemaError::Invalid`] with every problem and its place.
    pub fn validate(&self) -> Result<(), SchemaError> {
        let mut problems = Vec::new();
        let mut previous = None;
        for object_type in self.object_types() {
            let mut report =
                Report { problems: &mut problems, item: item(object_type, Part::ObjectType) };
            report.check_own_name("object type", object_type.name(), &mut previous);
            check_type(self, object_type, &mut problems);
        }
        check_storage_ids(self, &mut problems);
        if problems.is_empty() { Ok(()) } else { Err(SchemaError::Invalid(Problems(problems))) }
    }
}

fn item<'m>(object_type: &'m ObjectType, part: Part<'m>) -> Item<'m> {
    Item { object_type, part }
}

/// Collects the problems of one item.
struct Report<'p, 'm> {
    problems: &'p mut Vec<Problem>,
    item: Item<'m>,
}

impl Report<'_, '_> {
    fn add(&mut self, message: impl Into<String>) {
        let item = self.item;
        note(self.problems, || Problem { location: item.location(), message: message.into() });
    }

    /// Checks the name of the item. `previous` is the name before it, in the order of names.
    fn check_own_name<'n>(&mut self, kind: &str, name: &'n str, previous: &mut Option<&'n str>) {
        if previous.replace(name) == Some(name) {
            self.add(format!("there is another {kind} of this name"));
        }
        self.check_name(name);
    }

    fn check_name(&mut self, name: &str) {
        if !is_name(name) {
            self.add(format!("{} is not a valid name", shown(name)));
        }
        self.check_length("name", name);
    }

    fn check_length(&mut self, what: &str, text: &str) {
        // Modified UTF-8 takes at most twice as many bytes as UTF-8, so shorter texts need no
        // count.
        if text.len() <= MAX_TEXT_BYTES / 3 {
            return;
        }
        let len: usize = text
            .encode_utf16()
            .map(|unit| match unit {
                1..=0x7f => 1,
                0 | 0x80..=0x7ff => 2,
                _ => 3,
            })
            .sum();
        if len > MAX_TEXT_BYTES {
            self.add(format!("the {what} is too long: {len} bytes, at most {MAX_TEXT_BYTES}"));
        }
    }
}

fn check_type(model: &SchemaModel, object_type: &ObjectType, problems: &mut Vec<Problem>) {
    let mut previous = None;
    for field in object_type.fields() {
        let mut report = Report { problems, item: item(object_type, Part::Field(field)) };
        report.check_own_name("field", field.name(), &mut previous);
        if let FieldKind::Simple(simple) = field.kind() {
            check_simple(model, simple, false, &mut report);
        }
        for (name, sub_field) in field.sub_fields() {
            let part = Part::SubField { parent: field, name, sub_field };
            let mut report = Report { problems, item: item(object_type, part) };
            check_simple(model, sub_field.simple(), true, &mut report);
        }
    }
    let mut previous = None;
    for index in object_type.indexes() {
        let mut report = Report { problems, item: item(object_type, Part::Index(index)) };
        report.check_own_name("composite index", index.name(), &mut previous);
        check_index(object_type, index, &mut report);
    }
    check_index_prefixes(object_type, problems);
}

fn check_simple(
    model: &SchemaModel,
    simple: &Simple,
    is_sub_field: bool,
    report: &mut Report<'_, '_>,
) {
    match simple.kind() {
        SimpleKind::Plain(encoding) => report.check_length("encoding ID", encoding.as_str()),
        SimpleKind::Reference(reference) => {
            let action = reference.inverse_delete();
            // IGNORE leaves references to deleted objects behind, so the field must allow them.
            if action == DeleteAction::Ignore && !reference.allow_deleted() {
                report.add(
                    "delete action IGNORE requires that references to deleted objects are allowed",
                );
            }
            // A simple field has nothing that could be removed.
            if action == DeleteAction::Remove && !is_sub_field {
                report.add("delete action REMOVE is only possible inside a collection");
            }
            for name in reference.object_types().unwrap_or_default() {
                if model.find_type(name).is_none() {
                    report.add(format!(
                        "refers to object type {}, which does not exist",
                        shown(name)
                    ));
                }
            }
        }
        SimpleKind::Enum { identifiers } => check_identifiers(identifiers, report),
        SimpleKind::EnumArray { identifiers, dimensions } => {
            check_identifiers(identifiers, report);
            if *dimensions == 0 {
                report.add("an enum array has 1 to 255 dimensions, not 0");
            }
        }
    }
}

fn check_identifiers(identifiers: &[String], report: &mut Report<'_, '_>) {
    let mut seen = HashMap::with_capacity(identifiers.len());
    for (i, identifier) in identifiers.iter().enumerate() {
        if !is_enum_identifier(identifier) {
            report.add(format!("{} is not a valid enum identifier", shown(identifier)));
        } else if !identifier_can_be_stored(identifier) {
            report.add(format!(
                "enum identifier {} cannot be stored: it has control characters or characters \
                 above U+FFFF",
                shown(identifier)
            ));
        }
        report.check_length("enum identifier", identifier);
        if let Some(first) = seen.insert(identifier.as_str(), i) {
            report.add(format!(
                "enum identifier {} occurs twice, at positions {first} and {i}",
                shown(identifier)
            ));
        }
    }
}

fn check_index(object_type: &ObjectType, index: &CompositeIndex, report: &mut Report<'_, '_>) {
    let count = index.fields().len();
    if !INDEX_FIELDS.contains(&count) {
        report.add(format!("a composite index is on 2 to 4 fields, not {count}"));
    }
    let mut seen = HashSet::with_capacity(count);
    for name in index.fields() {
        if !seen.insert(name.as_str()) {
            report.add(format!("field {} is indexed twice", shown(name)));
            continue;
        }
        match object_type.find_field(name) {
            None => report.add(format!("indexes field {}, which does not exist", shown(name))),
            Some(field) if field.simple().is_none() => {
                report.add(format!("indexes field {}, which is no simple field", shown(name)));
            }
            Some(_) => {}
        }
    }
    // Queries find indexes by name, and a simple field may have one of its own.
    if object_type.find_field(index.name()).is_some_and(|field| field.simple().is_some()) {
        report.add("has the name of a simple field");
    }
}

fn check_index_prefixes(object_type: &ObjectType, problems: &mut Vec<Problem>) {
    let mut by_fields: Vec<&CompositeIndex> = object_type.indexes().iter().collect();
    by_fields.sort_by_key(|index| index.fields());
    // After sorting by fields, an index comes directly before one that starts with its fields.
    for (index, next) in by_fields.iter().zip(by_fields.iter().skip(1)) {
        if next.fields().starts_with(index.fields()) {
            note(problems, || Problem {
                location: item(object_type, Part::Index(index)).location(),
                message: format!(
                    "its fields are those of composite index {} or the first of them",
                    shown(next.name())
                ),
            });
        }
    }
}

fn check_storage_ids(model: &SchemaModel, problems: &mut Vec<Problem>) {
    let mut by_storage_id = HashMap::new();
    let mut by_schema_id = HashMap::new();
    for item in model.items() {
        let Some(storage_id) = item.storage_id() else { continue };
        // The wrong number of fields was reported already. Hashing such an index could take long.
        if matches!(item.part, Part::Index(index) if !INDEX_FIELDS.contains(&index.fields().len()))
        {
            continue;
        }
        let schema_id = item.schema_id();
        let mut report = Report { problems, item };
        match by_storage_id.entry(storage_id) {
            Entry::Vacant(free) => {
                free.insert((schema_id, item));
            }
            // Two items under one storage ID would mix their pairs.
            Entry::Occupied(taken) if taken.get().0 != schema_id => {
                let other = taken.get().1.location();
                report.add(format!("has the storage ID {storage_id} of {other}"));
            }
            Entry::Occupied(_) => {}
        }
        match by_schema_id.entry(schema_id) {
            Entry::Vacant(free) => {
                free.insert((storage_id, item));
            }
            // Equal items share their storage ID in all types and schemas.
            Entry::Occupied(known) if known.get().0 != storage_id => {
                let (other_id, other) = known.get();
                let other = other.location();
                report.add(format!(
                    "has storage ID {storage_id}, but its equal {other} has {other_id}"
                ));
            }
            Entry::Occupied(_) => {}
        }
    }
}
