//! A file with the schema of a program, so that its tests notice when the schema changes.
//!
//! [`assert_schema!`](crate::assert_schema) does everything in one line. [`check`] is for programs
//! that register their models in a function of their own:
//!
//! ```
//! # use permazen::{Permazen, PermazenObject, kv::memory::MemoryStore, schema_file};
//! #[derive(PermazenObject)]
//! struct Person {
//!     name: String,
//! }
//!
//! # let dir = std::env::temp_dir().join(format!("permazen-schema-{}", std::process::id()));
//! # std::fs::create_dir_all(&dir)?;
//! # let file = dir.join("schema.xml");
//! let schema = Permazen::builder(MemoryStore::new()).model::<Person>().schema()?;
//! schema_file::write(&file, &schema)?;
//! schema_file::check(&file, &schema)?;
//! # std::fs::remove_dir_all(&dir)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::io;
use std::path::{Path, PathBuf};

use permazen_kv::__internal::WithCauses;

use crate::schema::{
    Difference, FieldEffect, IndexEffect, ObjectType, SchemaComparison, SchemaError, SchemaModel,
    TypeDifference, TypeEffect, XmlForm,
};

/// The environment variable that makes [`check`] write the file instead of comparing it, if its
/// value is `1`.
pub const ACCEPT: &str = "PERMAZEN_ACCEPT_SCHEMA";

/// Why a schema is not the one of its file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaFileError {
    /// There is no such file.
    #[error("there is no {}; run the test with {ACCEPT}=1 to write it", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file has another schema.
    #[error(
        "the schema differs from {}:\n{differences}\nIf this is on purpose, run the test with {ACCEPT}=1 to \
         write the file. `Permazen::evolution_report` says what it means for a given database.",
        path.display()
    )]
    Differs {
        /// The file.
        path: PathBuf,
        /// The differences, a line each, and their effects on objects that are stored already.
        differences: String,
    },
    /// The file does not contain a schema.
    #[error(
        "{} contains no schema: {}; run the test with {ACCEPT}=1 to write it anew",
        path.display(),
        WithCauses(source)
    )]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The problem with it.
        r#source: SchemaError,
    },
    /// The file could not be read or written.
    #[error("cannot access {}: {}", path.display(), WithCauses(source))]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        r#source: io::Error,
    },
}

/// Compares a schema with the one in a file. If the environment variable [`ACCEPT`] is `1`, writes
/// the file instead, unless it has this schema already.
///
/// # Errors
/// [`SchemaFileError::Differs`] with the differences in words; [`SchemaFileError::Missing`];
/// [`SchemaFileError::Invalid`]; [`SchemaFileError::Io`].
pub fn check(path: impl AsRef<Path>, schema: &SchemaModel) -> Result<(), SchemaFileError> {
    let path = path.as_ref();
    let compared = compare(path, schema);
    match compared {
        // A file that cannot be accessed is an error in any case. One with this schema is left
        // alone.
        Err(SchemaFileError::Io { .. }) | Ok(()) => compared,
        Err(_) if std::env::var_os(ACCEPT).is_some_and(|value| value == "1") => write(path, schema),
        Err(_) => compared,
    }
}

/// Writes a schema to a file, as [`check`] reads it: indented, and with the storage IDs that the
/// schema asks for.
///
/// # Errors
/// [`SchemaFileError::Io`].
pub fn write(path: impl AsRef<Path>, schema: &SchemaModel) -> Result<(), SchemaFileError> {
    let path = path.as_ref();
    let xml = schema.to_xml(XmlForm { storage_ids: true, pretty: true });
    std::fs::write(path, xml).map_err(|source| SchemaFileError::Io { path: path.into(), source })
}

fn compare(path: &Path, schema: &SchemaModel) -> Result<(), SchemaFileError> {
    let xml = std::fs::read(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => SchemaFileError::Missing { path: path.into() },
        _ => SchemaFileError::Io { path: path.into(), source },
    })?;
    let known = SchemaModel::from_xml(&xml)
        .map_err(|source| SchemaFileError::Invalid { path: path.into(), source })?;
    if known == *schema {
        return Ok(());
    }
    Err(SchemaFileError::Differs { path: path.into(), differences: differences(&known, schema) })
}

/// The differences between two schemas, in words, and their effects on stored objects.
fn differences(old: &SchemaModel, new: &SchemaModel) -> String {
    let mut lines = Vec::new();
    for difference in new.differences_from(old).list() {
        let text = &difference.text;
        lines.push(format!("-> {text}"));
        let named = |of: &&ObjectType| *text == format!("changed object type {:?}", of.name());
        let (old, new) =
            (old.object_types().iter().find(named), new.object_types().iter().find(named));
        let kinds = old.zip(new).map(|(old, new)| other_kinds(old, new)).unwrap_or_default();
        add_lines(&difference.details, 1, &kinds, &mut lines);
    }
    // The differences in Java's words leave out storage IDs.
    if lines.is_empty() {
        lines.push("-> changed storage IDs".to_owned());
    }
    let comparison = SchemaComparison::new(old, new);
    let meaning = comparison.types.iter().flat_map(meaning_of_type);
    let refusals = comparison.refusals.iter();
    let meaning: Vec<String> = meaning
        .chain(refusals.map(|why| format!("a database with them cannot be opened: {why}")))
        .collect();
    if !meaning.is_empty() {
        lines.push("For objects that are stored already:".to_owned());
        lines.extend(meaning.into_iter().map(|line| format!("  {line}")));
    }
    lines.join("\n")
}

/// Adds a line for each difference and its details. A field of another kind, which the differences
/// in Java's words call removed, is changed.
fn add_lines(
    differences: &[Difference],
    depth: usize,
    kinds: &[(String, String)],
    lines: &mut Vec<String>,
) {
    for difference in differences {
        let text = &difference.text;
        let is_kind = |(field, _): &&(String, String)| {
            text.starts_with("removed ") && text.contains(&format!("field {field:?}"))
        };
        let text = match kinds.iter().find(is_kind) {
            Some((_, change)) => change,
            None => text,
        };
        lines.push(format!("{:1$}-> {text}", "", 2 * depth));
        add_lines(&difference.details, depth + 1, &[], lines);
    }
}

/// The names of the fields of another kind, each with its change.
fn other_kinds(old: &ObjectType, new: &ObjectType) -> Vec<(String, String)> {
    let mut kinds = Vec::new();
    for field in old.fields() {
        let Some(now) = new.fields().iter().find(|now| now.name() == field.name()) else {
            continue;
        };
        if field.kind().item_kind() != now.kind().item_kind() {
            let (name, was, is) = (field.name(), field.kind().describe(), now.kind().describe());
            kinds.push((name.to_owned(), format!("changed field {name:?} from {was} to {is}")));
        }
    }
    kinds
}

/// The effects of the change of a type on its objects, a line for each field and index.
fn meaning_of_type(change: &TypeDifference) -> Vec<String> {
    let name = &change.name;
    match change.effect {
        TypeEffect::Added => Vec::new(),
        TypeEffect::Removed => {
            vec![format!("{name}: its objects stay as they are; `Tx::untyped` finds them")]
        }
        TypeEffect::Changed => {
            let fields = change.fields.iter().flat_map(|field| {
                let meaning = meaning_of_field(&field.name, &field.effect);
                meaning.into_iter().map(move |text| format!("{name}.{}: {text}", field.name))
            });
            let indexes =
                // No query of the new program uses an index that is gone.
                change.indexes.iter().filter(|index| index.effect != IndexEffect::Removed);
            let indexes =
                indexes.map(|index| format!("{name}, index {}: {INCOMPLETE}", index.name));
            fields.chain(indexes).collect()
        }
    }
}

const INCOMPLETE: &str =
    "queries are incomplete, and refused, until `build_indexes` has moved the objects";

fn meaning_of_field(name: &str, effect: &FieldEffect) -> Vec<String> {
    match effect {
        FieldEffect::Added => vec![
            "they have its default; a field that requires a value needs `default = …`, unless \
             `was = \"…\"` or code of your own gives one"
                .to_owned(),
        ],
        FieldEffect::Removed => vec![format!(
            "an object with a value there does not move, unless the model says `removed({name:?})` \
             or carries the value over"
        )],
        FieldEffect::Converted { from, to } | FieldEffect::Reset { from, to } => vec![format!(
            "when an object moves, its value is converted from {from} to {to}; an object whose value \
             has no exact counterpart does not move"
        )],
        FieldEffect::Kept { indexes_added, narrowed, options_changed, .. } => {
            let mut lines = Vec::new();
            for index in indexes_added {
                lines.push(format!("index on {index}: {INCOMPLETE}"));
            }
            if !narrowed.is_empty() {
                lines.push(
                    "an object does not move if it refers to a type that is no longer allowed"
                        .to_owned(),
                );
            } else if *options_changed {
                lines.push("each object has the new options when it has moved".to_owned());
            }
            lines
        }
    }
}

/// Fails a test if the schema of models differs from the one in a file, and says what differs. So a
/// schema only changes on purpose.
///
/// The file is named relative to the directory of the package (`CARGO_MANIFEST_DIR`). List all
/// models that the program registers. Run the test with `PERMAZEN_ACCEPT_SCHEMA=1` to write the
/// file: the first time, and whenever a change is on purpose.
///
/// ```no_run
/// #[derive(permazen::PermazenObject)]
/// struct Person {
///     name: String,
/// }
///
/// #[derive(permazen::PermazenObject)]
/// struct Team {
///     members: Vec<Option<permazen::Ref<Person>>>,
/// }
///
/// # #[allow(clippy::test_attr_in_doctest)]
/// #[test]
/// fn the_schema_changes_only_on_purpose() {
///     permazen::assert_schema!("schema.xml", Person, Team);
/// }
/// ```
///
/// # Panics
/// With the message of [`SchemaFileError`](crate::schema_file::SchemaFileError), or with what is
/// wrong with the models.
#[macro_export]
macro_rules! assert_schema {
    ($file:expr, $($model:ty),+ $(,)?) => {{
        let file = ::std::path::Path::new(::std::env!("CARGO_MANIFEST_DIR")).join($file);
        let models = $crate::Permazen::builder($crate::kv::memory::MemoryStore::new());
        let schema = models$(.model::<$model>())+.schema();
        match schema.map(|schema| $crate::schema_file::check(&file, &schema)) {
            ::std::result::Result::Ok(::std::result::Result::Ok(())) => {}
            ::std::result::Result::Ok(::std::result::Result::Err(error)) => {
                ::std::panic!("{error}")
            }
            ::std::result::Result::Err(error) => ::std::panic!("{error}"),
        }
    }};
}
