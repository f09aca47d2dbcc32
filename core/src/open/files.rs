//! The files of an open store.

use std::sync::Arc;

use super::xml_dump::XmlDump;

/// What a copy of the files is made from.
#[derive(Clone)]
pub(super) enum Files {
    #[cfg(feature = "lmdb")]
    Lmdb(permazen_kv::lmdb::LmdbStore),
    #[cfg(feature = "sqlite")]
    Sqlite(permazen_kv::sqlite::SqliteStore),
    Xml(Arc<XmlDump>),
    None,
}
