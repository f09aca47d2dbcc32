//! Names that accessors and methods of inverse cannot have, because a handle has methods of these
//! names. The compiler would call the method of the handle, and say nothing about the field or the
//! inverse.
//!
//! Adding a name here is a breaking change: models with such a field must name their accessor.

/// The public methods of `permazen::Obj`. `tests/tests/house/handle_methods.rs` compares them.
const OF_HANDLES: &[&str] = &[
    "any",
    "cascade",
    "copy_to",
    "counter",
    "delete",
    "exists",
    "fields",
    "follow",
    "get",
    "id",
    "list_of",
    "load",
    "load_versioned",
    "map_of",
    "migrate",
    "recreate",
    "referrers",
    "revalidate",
    "schema_id",
    "set",
    "set_of",
    "store",
    "to_ref",
    "tx",
];

/// The methods that a handle has from traits which are in scope everywhere.
const OF_TRAITS: &[&str] = &[
    "clamp",
    "clone",
    "clone_from",
    "clone_into",
    "cmp",
    "eq",
    "ge",
    "gt",
    "into",
    "le",
    "lt",
    "max",
    "min",
    "ne",
    "partial_cmp",
    "to_owned",
    "try_into",
];

/// Whether a handle has a method of this name.
pub(crate) fn is_method(name: &str) -> bool {
    OF_HANDLES.contains(&name) || OF_TRAITS.contains(&name)
}
