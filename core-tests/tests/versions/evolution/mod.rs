//! Programs change, and nothing is lost: each change of a struct, with programs of the old and the
//! new version in turn on one database.

/// Declares the versions of a program, each with its models.
macro_rules! versions {
    ($($version:ident { $($item:item)* })*) => {
        $(pub mod $version {
            #[allow(unused_imports)]
            use std::collections::{BTreeMap, BTreeSet};
            #[allow(unused_imports)]
            use permazen::{Counter, PermazenObject, Ref};

            $(#[derive(PermazenObject, Debug, Clone, PartialEq)] $item)*
        })*
    };
}

mod all_views_agree;
mod as_java;
mod changes;
mod copies;
mod own_conversions;
mod same_definition;
mod side_by_side;
mod staying;

use std::collections::BTreeSet;
use std::sync::Arc;

use permazen::kv::KvDatabase;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::memory::MemoryStore;
use permazen::model::{Loss, Model, Refusal};
use permazen::{Counter, Error, Obj, ObjId, Permazen, Ref, Tx};

type Store = Arc<dyn KvDatabase>;

/// Runs a test on a store in memory and on LMDB. The checker must find nothing afterwards.
fn on_each_store(test: impl Fn(&Store)) {
    let dir = tempfile::tempdir().unwrap();
    let lmdb = LmdbStore::open_or_create(dir.path()).unwrap();
    for store in [Arc::new(MemoryStore::new()) as Store, Arc::new(lmdb)] {
        test(&store);
        check(&store);
    }
}

/// Runs a test on LMDB, which takes only keys of 510 bytes: an object with a longer value in an
/// index of the newer program cannot move.
fn on_lmdb(test: impl Fn(&Store)) {
    let dir = tempfile::tempdir().unwrap();
    let store: Store = Arc::new(LmdbStore::open_or_create(dir.path()).unwrap());
    test(&store);
    check(&store);
}

fn check(store: &Store) {
    let mut found = Vec::new();
    let options = permazen_jsck::Options::default();
    let mut sink = |finding: &permazen_jsck::Finding| found.push(finding.to_string());
    permazen_jsck::check_database(&**store, &options, &mut sink, &mut |_| {}).unwrap();
    assert!(found.is_empty(), "{found:?}");
}

/// Opens the database as a program with one model does.
fn open<M: Model>(store: &Store) -> Permazen {
    Permazen::builder_shared(store.clone()).model::<M>().build().unwrap()
}

fn open2<M: Model, N: Model>(store: &Store) -> Permazen {
    Permazen::builder_shared(store.clone()).model::<M>().model::<N>().build().unwrap()
}

fn create<M: Model + Clone>(db: &Permazen, value: &M) -> ObjId {
    db.write(|tx| Ok(tx.create(value.clone())?.id())).unwrap()
}

fn load<M: Model>(db: &Permazen, id: ObjId) -> permazen::Result<M> {
    db.read(|tx| tx.get::<M>(id)?.load())
}

/// Changes an object, and returns whether that moved it.
fn change<M: Model>(
    db: &Permazen,
    id: ObjId,
    change: impl Fn(Obj<'_, M>) -> permazen::Result<()>,
) -> permazen::Result<bool> {
    db.write(|tx| {
        let object = tx.get::<M>(id)?;
        let before = object.schema_id()?;
        change(object)?;
        Ok(object.schema_id()? != before)
    })
}

fn refused<T: std::fmt::Debug>(result: permazen::Result<T>) -> Refusal {
    match result {
        Err(Error::Refused(refusal)) => *refusal,
        other => panic!("{other:?}"),
    }
}

/// The fields that would be lost.
fn lost<T: std::fmt::Debug>(result: permazen::Result<T>) -> Vec<String> {
    refused(result).losses.into_iter().map(|loss| loss.field).collect()
}

fn schema_of(tx: &Tx, id: ObjId) -> permazen::schema::SchemaId {
    tx.any(id).schema_id().unwrap()
}
