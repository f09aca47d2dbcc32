//! The small reference database, for several tests.

use std::path::Path;
use std::sync::Arc;

use permazen::__internal::schema::{SchemaBundle, read_usable_schemas};
use permazen::encoding::EncodingRegistry;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{KvDatabase, KvRead, TxOptions, xml};

/// The small reference database.
pub(crate) fn reference() -> MemoryStore {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/reference/R.kv.xml");
    let store = MemoryStore::new();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    xml::load(&mut *tx, std::fs::File::open(path).unwrap()).unwrap();
    tx.commit().unwrap();
    store
}

pub(crate) fn schemas_of(kv: &dyn KvRead) -> Arc<SchemaBundle> {
    read_usable_schemas(kv, &EncodingRegistry::new()).unwrap().schemas
}
