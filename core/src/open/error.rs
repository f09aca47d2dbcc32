//! Why a store could not be opened.

use std::io;
use std::path::Path;

use permazen_kv::__internal::WithCauses;
use permazen_kv::KvError;
use permazen_kv::xml::XmlError;

use super::kind::{StoreKind, kinds};
use crate::escape::path_text;

/// Why a store could not be opened. The messages show a path as
/// [`path_text`](crate::escape::path_text) does.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No kind of store has this name.
    #[error("{scheme}: is no kind of store: {}; write ./ before a path that has a colon", kinds())]
    UnknownScheme {
        /// The text before the colon.
        scheme: String,
    },
    /// The program was built without this kind of store.
    #[error("it is a store of the kind {}, for which this program was built without the feature `{feature}`", kind.scheme())]
    NotCompiledIn {
        /// The kind.
        kind: StoreKind,
        /// The feature of this crate that it needs.
        feature: &'static str,
    },
    /// A URL of a known kind cannot be read.
    #[error("{reason}: the form is {form}")]
    Url {
        /// How such a URL is written.
        form: &'static str,
        /// The problem.
        reason: &'static str,
    },
    /// Something is to be created, and the name does not say of which kind.
    #[error("{}: it does not exist; to create it, say of which kind: {}", path_text(path), kinds())]
    NoKind {
        /// The path.
        path: Box<Path>,
    },
    /// A file is no store.
    #[error("{} is no LMDB environment directory, no SQLite file and no XML dump", path_text(path))]
    Unrecognized {
        /// The file.
        path: Box<Path>,
    },
    /// A directory, named pipe or device stands where a file is expected.
    #[error("{}: {found}, where a file is expected", path_text(path))]
    NotAFile {
        /// The path.
        path: Box<Path>,
        /// The kind of file.
        found: &'static str,
    },
    /// The file could not be read.
    #[error("{}: {}", path_text(path), WithCauses(source))]
    Io {
        /// The file.
        path: Box<Path>,
        /// The error of the system.
        r#source: io::Error,
    },
    /// A file is no XML dump.
    #[error("{}: {}", path_text(path), WithCauses(&**source))]
    Xml {
        /// The file.
        path: Box<Path>,
        /// The problem with it.
        r#source: Box<XmlError>,
    },
    /// An XML dump was changed while it was read.
    #[error("{}: it was changed while it was read; open it again", path_text(path))]
    Changed {
        /// The file.
        path: Box<Path>,
    },
    /// An XML dump was to be written.
    #[error(
        "{}: an XML dump can only be read; copy it to another store to change it",
        path_text(path)
    )]
    NotWritable {
        /// The file.
        path: Box<Path>,
    },
    /// The store could not be opened.
    #[error(transparent)]
    Store(#[from] KvError),
}

impl OpenError {
    pub(super) fn io(path: &Path, source: io::Error) -> OpenError {
        OpenError::Io { path: path.into(), source }
    }
}

/// So that `?` opens a store in a function that returns [`permazen::Result`](crate::Result). The
/// text is the same.
impl From<OpenError> for crate::Error {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Store(error) => error.into(),
            error => crate::Error::other(error),
        }
    }
}
