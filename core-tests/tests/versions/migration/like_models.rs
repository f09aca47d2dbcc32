//! Moving by names gives the same pairs as moving to the schema of models that say nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use permazen::kv::memory::MemoryStore;
use permazen::kv::{KvDatabase, TxOptions};
use permazen::object::Database;
use permazen::{Counter, ObjId, Permazen, Ref};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::migration::world::*;

mod old {
    use super::*;

    #[derive(permazen::PermazenObject, Clone, Default)]
    pub(super) struct Item {
        pub(super) number: i64,
        pub(super) text: Option<String>,
        pub(super) gone: i32,
        pub(super) count: Counter,
        pub(super) tags: BTreeSet<i32>,
        pub(super) list: Vec<i64>,
        pub(super) map: BTreeMap<i32, String>,
        pub(super) next: Option<Ref<Item>>,
        pub(super) one: Vec<String>,
    }
}

mod new {
    use super::*;

    #[derive(permazen::PermazenObject, Default)]
    pub(super) struct Item {
        #[permazen(indexed)]
        pub(super) number: i32,
        pub(super) text: Option<i32>,
        pub(super) count: i32,
        pub(super) tags: Vec<String>,
        pub(super) list: BTreeSet<i32>,
        pub(super) map: BTreeMap<String, Option<i32>>,
        #[permazen(indexed)]
        pub(super) next: Option<Ref<Item>>,
        pub(super) one: Option<String>,
        pub(super) more: i32,
    }
}

fn item(random: &mut StdRng, ids: &[ObjId]) -> old::Item {
    let mut often = |at: f64| random.random_bool(at);
    let (large, odd, gone, unsorted, two) =
        (often(0.05), often(0.05), often(0.05), often(0.05), often(0.05));
    let mut number = || random.random_range(-3_i32..4);
    old::Item {
        number: if large { 1 << 40 } else { i64::from(number()) },
        text: match number() {
            -3..0 => None,
            n if odd => Some(format!("0{n}")),
            n => Some(n.to_string()),
        },
        gone: if gone { number() } else { 0 },
        count: Counter(i64::from(number())),
        tags: (0..number().max(0)).collect(),
        list: if unsorted { vec![3, 1] } else { (0..i64::from(number().max(0))).collect() },
        map: (0..number().max(0))
            .map(|n| (n, if odd { "x".into() } else { n.to_string() }))
            .collect(),
        next: ids.first().map(|id| Ref::new(*id)),
        one: (0..if two { 2 } else { number().clamp(0, 1) }).map(|n| n.to_string()).collect(),
    }
}

#[test]
fn the_same_pairs() {
    let (mut moved, mut refused) = (0, 0);
    for seed in 0..10 {
        let mut random = StdRng::seed_from_u64(seed);
        let stores: [Arc<dyn KvDatabase>; 2] =
            [Arc::new(MemoryStore::new()), Arc::new(MemoryStore::new())];
        let before =
            Permazen::builder_shared(Arc::clone(&stores[0])).model::<old::Item>().build().unwrap();
        let mut ids = Vec::new();
        for _ in 0..60 {
            let item = item(&mut random, &ids);
            ids.insert(0, before.write(|tx| Ok(tx.create(item.clone())?.id())).unwrap());
        }
        drop(before);
        let builder = |store: &Arc<dyn KvDatabase>| {
            Permazen::builder_shared(Arc::clone(store)).model::<new::Item>()
        };
        // Both schemas are recorded in both stores, which contain the same.
        builder(&stores[0]).build().unwrap();
        let [typed, by_name] = stores.clone().map(Database::new);
        let mut tx = stores[1].begin(&TxOptions::default()).unwrap();
        for (key, value) in pairs(&typed) {
            tx.put(&key, &value).unwrap();
        }
        tx.commit().unwrap();

        let db = builder(&stores[0]).build().unwrap();
        let of_models = db.upgrade_all().run().unwrap();
        let report = by_name
            .migrate_objects(builder(&stores[0]).schema().unwrap().schema_id())
            .run()
            .unwrap();
        assert_eq!(
            (report.moved, report.refused),
            (of_models.moved, of_models.refused),
            "seed {seed}"
        );
        assert_eq!(pairs(&typed), pairs(&by_name), "seed {seed}");
        assert_clean(&by_name);
        moved += report.moved;
        refused += report.refused;
    }
    assert!(moved > 100 && refused > 100, "{moved} {refused}");
}
