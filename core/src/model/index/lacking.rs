//! The description of an index that lacks entries.

use std::fmt;

use crate::schema::SchemaId;

/// How many missing objects are counted for an error.
pub(super) const COUNTED: usize = 1000;

/// The description of a partial index, for a query.
pub(in crate::model) fn described(
    index: &str,
    type_name: &str,
    missing: usize,
    schemas: &[SchemaId],
    immovable: Option<&impl fmt::Display>,
) -> String {
    let lacking = lacking(index, type_name, missing, schemas, immovable);
    format!(
        "{lacking}; query what is indexed with `allow_partial()`, or load the others in the query with \
         `complete_by_scan()`"
    )
}

/// Which objects have no entries in an index, and how they get them.
pub(in crate::model) fn lacking(
    index: &str,
    type_name: &str,
    missing: usize,
    schemas: &[SchemaId],
    immovable: Option<&impl fmt::Display>,
) -> String {
    let schemas: Vec<String> = schemas.iter().map(ToString::to_string).collect();
    let (at_least, objects) = match missing {
        COUNTED.. => ("at least ", "objects"),
        1 => ("", "object"),
        _ => ("", "objects"),
    };
    let move_them = match immovable {
        None => {
            "move them to the schema of the models with `db.build_indexes()` or `db.upgrade_all()`"
                .to_owned()
        }
        Some(reason) => format!(
            "the first of them cannot move ({reason}); `db.build_indexes()` and `db.upgrade_all()` move the others, \
             and list those that stay"
        ),
    };
    format!(
        "index {index} lacks entries of {at_least}{missing} {objects} of type {type_name} in schema {}: {move_them}",
        schemas.join(" and ")
    )
}
