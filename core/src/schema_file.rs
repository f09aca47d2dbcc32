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

use crate::schema::{ObjectType, SchemaError, SchemaModel, XmlForm};

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
         write the file. Objects that are stored already keep their schema until they have to move: see \
         `Permazen::evolution_report`.",
        path.display()
    )]
    Differs {
        /// The file.
        path: PathBuf,
        /// What differs, a line each.
        differences: String,
    },
    /// The file does not contain a schema.
    #[error("{} contains no schema; run the test with {ACCEPT}=1 to write it anew", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: SchemaError,
    },
    /// The file could not be read or written.
    #[error("cannot access {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
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

/// What differs between two schemas that are not the same, in words.
fn differences(old: &SchemaModel, new: &SchemaModel) -> String {
    let found = new.differences_from(old);
    let mut lines: Vec<String> = Vec::new();
    if !found.is_empty() {
        lines.push(found.to_string());
    }
    for old in old.object_types() {
        let same_name = |new: &&ObjectType| new.name() == old.name();
        if let Some(new) = new.object_types().iter().find(same_name) {
            lines.extend(other_kinds(old, new));
        }
    }
    if lines.is_empty() {
        lines.push("-> changed storage IDs".to_owned());
    }
    lines.join("\n")
}

/// The fields of another kind. The differences in Java's words only say that they are removed.
fn other_kinds(old: &ObjectType, new: &ObjectType) -> Vec<String> {
    let mut lines = Vec::new();
    for field in old.fields() {
        let Some(now) = new.fields().iter().find(|now| now.name() == field.name()) else {
            continue;
        };
        if field.kind().item_kind() != now.kind().item_kind() {
            lines.push(format!(
                "-> field {:?} of object type {:?} is not removed but changed from {} to {}",
                field.name(),
                old.name(),
                field.kind().describe(),
                now.kind().describe()
            ));
        }
    }
    lines
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
