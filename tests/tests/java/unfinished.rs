//! A store that was only loaded in part, because the loading process was killed. Java must not take
//! it for a database, and must not change it.

use std::sync::Arc;

use permazen::kv::memory::MemoryStore;
use permazen::kv::{Direction, KeySpan, KvDatabase, KvDatabaseExt as _, KvRead};
use permazen::{Permazen, PermazenObject};
use permazen_tests::outcome::{Outcome, fail};
use serde_json::{Value as Json, json};

use crate::driver::Driver;
use crate::stores::{Kind, Store};

#[derive(PermazenObject)]
struct Town {
    #[permazen(indexed)]
    name: String,
}

/// The pairs that are there in the middle of a load.
fn half() -> Outcome<Vec<(Vec<u8>, Vec<u8>)>> {
    let store = MemoryStore::new();
    let snapshots = store.clone();
    let db = Permazen::builder(store).model::<Town>().build()?;
    let mut half = Vec::new();
    let mut loader = db.loader()?.memory(0).progress(|so_far| {
        if so_far.written > 0 && so_far.written < so_far.pairs {
            let pairs = snapshots.snapshot();
            let pairs = pairs.scan(KeySpan::FULL, Direction::Forward).into_iter().flatten();
            half = pairs
                .flatten()
                .map(|(key, value)| (key.into_owned(), value.into_owned()))
                .collect();
        }
    });
    for number in 0..20_000 {
        loader.add(Town { name: format!("town {number}") })?;
    }
    loader.finish()?;
    if half.is_empty() { Err(fail("the load was not seen in part")) } else { Ok(half) }
}

pub fn compare(java: &mut Driver) -> Outcome {
    let half = half()?;
    let dir = tempfile::tempdir()?;
    for kind in Kind::ALL {
        let store = Store::open(kind, &dir.path().join(kind.name()))?;
        let kv: &Arc<dyn KvDatabase> = store.kv();
        kv.write(|tx| half.iter().try_for_each(|(key, value)| tx.put(key, value)))?;
        let path = store.close()?;
        java.must(json!({ "op": "reset" }))?;
        java.must(json!({ "op": "load", "kind": kind.name(), "path": path }))?;
        let before = java.must(json!({ "op": "digest" }))?;
        for removal in ["NEVER", "ALWAYS"] {
            let open =
                json!({ "op": "open", "schema": Json::Null, "allowNew": true, "removal": removal });
            let answer = java.ask(&[open])?.remove(0);
            if answer["error"] != "inconsistent-database" {
                return Err(fail(format!("Java opens a store that was loaded in part: {answer}")));
            }
        }
        if java.must(json!({ "op": "digest" }))? != before {
            return Err(fail("Java changes a store that was loaded in part"));
        }
    }
    Ok(())
}
