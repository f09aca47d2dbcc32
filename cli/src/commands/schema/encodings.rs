//! Encodings of a schema that may be unknown everywhere.

use permazen::__internal::schema::Part;
use permazen::encoding::{EncodingId, EncodingRegistry};
use permazen::schema::{FieldKind, SchemaModel, Simple, SimpleKind};
use permazen_query::nearest;

use crate::failure::Failure;

/// Refuses a schema with an encoding that is not registered.
pub(super) fn check(model: &SchemaModel, known: &EncodingRegistry) -> Result<(), Failure> {
    for item in model.items() {
        let simple = match item.part {
            Part::Field(field) => match field.kind() {
                FieldKind::Simple(simple) => simple,
                _ => continue,
            },
            Part::SubField { sub_field, .. } => sub_field.simple(),
            Part::ObjectType | Part::Index(_) => continue,
        };
        let SimpleKind::Plain(id) = Simple::kind(simple) else { continue };
        if matches!(known.find(id), Ok(Some(_))) {
            continue;
        }
        let near = near(id, known);
        let meant = near.as_ref().map(|near| format!(" (did you mean {near}?)"));
        let message = format!(
            "{}: neither Java nor this program knows the encoding {id}{}; if it is one of your own, add \
             --custom-encodings",
            item.location(),
            meant.unwrap_or_default()
        );
        return Err(Failure { nearest: near, ..Failure::new(message) });
    }
    Ok(())
}

/// The known encoding whose name is nearest.
fn near(id: &EncodingId, known: &EncodingRegistry) -> Option<String> {
    let ids = known.ids();
    let base = id.base();
    let alias = nearest(base.alias(), ids.iter().map(EncodingId::alias))?;
    let near = EncodingId::from_alias(&alias).ok()?;
    Some(format!("{near}{}", "[]".repeat(id.dimensions())))
}
