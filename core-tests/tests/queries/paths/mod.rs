//! Typed reference paths and referrers.

mod costs;
mod evolution;
mod kinds;
mod random;
mod table;

use permazen::kv::memory::MemoryStore;
use permazen::{Any, Model, Permazen, PermazenObject, Ref};

use std::collections::{BTreeMap, BTreeSet};

#[derive(PermazenObject, Default, Debug)]
pub(crate) struct Elephant {
    pub(crate) parent: Option<Ref<Elephant>>,
    pub(crate) friend: Option<Ref<Elephant>>,
    pub(crate) enemies: BTreeSet<Ref<Any>>,
}

#[derive(PermazenObject, Default, Debug)]
pub(crate) struct Giraffe {
    pub(crate) parent: Option<Ref<Giraffe>>,
    pub(crate) friend: Option<Ref<Giraffe>>,
    pub(crate) enemies: BTreeSet<Ref<Any>>,
    pub(crate) m: BTreeMap<Ref<Elephant>, Ref<Giraffe>>,
    #[permazen(element(allow_deleted))]
    pub(crate) queue: Vec<Option<Ref<Elephant>>>,
    #[permazen(allow_deleted, inverse_delete = "ignore")]
    pub(crate) lost: Option<Ref<Giraffe>>,
}

pub(crate) fn animals() -> Permazen {
    Permazen::builder(MemoryStore::new()).model::<Elephant>().model::<Giraffe>().build().unwrap()
}

/// The storage ID of a type.
pub(crate) fn type_id<M: Model>(tx: &permazen::Tx) -> permazen::StorageId {
    tx.schema().object_type(M::TYPE_NAME).unwrap().storage_id
}
