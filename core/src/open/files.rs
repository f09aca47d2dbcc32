//! The files of an open store.

use std::sync::Arc;

use super::xml_dump::XmlDump;

/// The source for a copy of the files.
#[derive(Clone)]
pub(super) enum Files {
    #[cfg(feature = "lmdb")]
    Lmdb(permazen_kv::lmdb::LmdbStore),
    #[cfg(feature = "sqlite")]
    Sqlite(permazen_kv::sqlite::SqliteStore),
    Xml(Arc<XmlDump>),
    None,
}
