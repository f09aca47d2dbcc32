//! The effects of `migrate` on objects that move from one schema to another.

use permazen::__internal::schema::{Item, Part};
use permazen::schema::{Field, FieldKind, ObjectType, Reference, SchemaModel, Simple};

/// The effects on the objects of each type that differs, as lines.
pub(super) fn effects(old: &SchemaModel, new: &SchemaModel) -> Vec<String> {
    let mut lines = Vec::new();
    for before in old.object_types() {
        let name = before.name();
        match new.object_types().iter().find(|after| after.name() == before.name()) {
            None => lines.push(format!(
                "object type {name:?}: the new schema lacks it; its objects stay where they are"
            )),
            Some(after) => {
                let fields = of_fields(before, after);
                if !fields.is_empty() {
                    lines.push(format!("object type {name:?}:"));
                    lines.extend(fields);
                }
            }
        }
    }
    if lines.is_empty() {
        lines.push("objects keep all that they have".to_owned());
    }
    lines
}

fn of_fields(before: &ObjectType, after: &ObjectType) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = |field: &Field, what: String| {
        lines.push(format!("  field \"{}\": {what}", field.name()));
    };
    for field in before.fields() {
        match after.fields().iter().find(|other| other.name() == field.name()) {
            None => line(
                field,
                "lost; an object with a value other than the default is refused, or loses it with \
                 `lossy`"
                    .to_owned(),
            ),
            Some(other) if id(before, field) == id(after, other) => {
                let parts = narrowed(field, other);
                if !parts.is_empty() {
                    let parts = parts.join(", ");
                    line(
                        field,
                        format!(
                            "kept; an object with a reference that {parts} no longer allows is \
                             refused, or loses it with `lossy`"
                        ),
                    );
                }
            }
            Some(other) if is_converted(field.kind(), other.kind()) => line(
                field,
                "converted; an object with a value that has no exact counterpart is refused, or gets \
                 the nearest one with `lossy`"
                    .to_owned(),
            ),
            Some(_) => line(
                field,
                "reset; an object with a value other than the default is refused, or loses it with \
                 `lossy`"
                    .to_owned(),
            ),
        }
    }
    let is_new = |field: &&Field| before.fields().iter().all(|old| old.name() != field.name());
    for field in after.fields().iter().filter(is_new) {
        line(field, "new, with its default".to_owned());
    }
    lines
}

fn id(object_type: &ObjectType, field: &Field) -> permazen::schema::SchemaId {
    Item { object_type, part: Part::Field(field) }.schema_id()
}

/// Whether values of one kind are converted to the other, one by one.
fn is_converted(old: &FieldKind, new: &FieldKind) -> bool {
    use FieldKind::{Counter, List, Map, Set, Simple};
    match (old, new) {
        (Simple(_) | Counter, Simple(_) | Counter)
        | (Simple(_), Set(_) | List(_))
        | (Set(_) | List(_), Simple(_) | Set(_) | List(_))
        | (Map { .. }, Map { .. }) => true,
        (Counter | Map { .. }, _) | (_, Counter | Map { .. }) => false,
    }
}

/// The parts of a field whose references may lead to fewer types.
fn narrowed(old: &Field, new: &Field) -> Vec<String> {
    let simples = |field: &Field| -> Vec<(String, Simple)> {
        match field.kind() {
            FieldKind::Simple(simple) => vec![(field.name().to_owned(), simple.clone())],
            _ => field
                .sub_fields()
                .map(|(part, sub)| (format!("{}.{part}", field.name()), sub.simple().clone()))
                .collect(),
        }
    };
    let allows_all = |before: &Reference, after: &Reference| match after.object_types() {
        None => true,
        Some(now) => before
            .object_types()
            .is_some_and(|before| before.iter().all(|of_type| now.contains(of_type))),
    };
    simples(old)
        .into_iter()
        .zip(simples(new))
        .filter_map(|((name, before), (_, after))| {
            let (before, after) = (before.as_reference()?, after.as_reference()?);
            (!allows_all(before, after)).then(|| format!("{name:?}"))
        })
        .collect()
}
