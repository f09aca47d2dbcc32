//! A deletion does the same whether it takes many referrers together, tells each step, or calls
//! listeners.

use std::sync::Arc;

use permazen::ObjId;
use permazen::encoding::Value;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::kv::prefix::Prefixed;
use permazen::kv::{Durability, KeySpan, KvDatabase, KvDatabaseExt};
use permazen::object::{Error, Migrate, Result, Transaction};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::deletion_rule::graphs;
use crate::support::*;

/// Two types with the same reference fields. In another version, one has an index more.
fn schema(last: &str, more: bool) -> String {
    let more = match more {
        true => {
            r#"<SimpleField name="more" encoding="urn:fdc:permazen.io:2020:int" storageId="18" indexed="true"/>
<CompositeIndex name="both" storageId="42"><Field name="first"/><Field name="n"/></CompositeIndex>"#
        }
        false => "",
    };
    let fields = format!(
        r#"<SimpleField name="n" encoding="urn:fdc:permazen.io:2020:int" storageId="19" indexed="true"/>
<ReferenceField name="first" storageId="20" inverseDelete="NULLIFY"/>
<ReferenceField name="second" storageId="21" inverseDelete="DELETE"/>
<SetField name="set" storageId="23"><ReferenceField storageId="24" inverseDelete="REMOVE"/></SetField>
<ListField name="list" storageId="25"><ReferenceField storageId="26" inverseDelete="DELETE"/></ListField>
<MapField name="removed" storageId="30"><ReferenceField storageId="31" inverseDelete="REMOVE"/><ReferenceField storageId="32" inverseDelete="DELETE"/></MapField>
<MapField name="nullified" storageId="33"><ReferenceField storageId="34" inverseDelete="NULLIFY"/><ReferenceField storageId="35" inverseDelete="DELETE"/></MapField>
<MapField name="deleted" storageId="36"><ReferenceField storageId="37" inverseDelete="DELETE"/><ReferenceField storageId="38" inverseDelete="REMOVE"/></MapField>
<ReferenceField name="forward" storageId="27" inverseDelete="NULLIFY" forwardDelete="true"/>
<ReferenceField name="last" storageId="28" inverseDelete="{last}"/>"#
    );
    format!(
        r#"<Schema><ObjectType name="A" storageId="10">{fields}{more}</ObjectType>
<ObjectType name="B" storageId="11">{fields}</ObjectType></Schema>"#
    )
}

/// Objects 0 to 11 are of type A, the others of type B. Their IDs lie beside each other or apart.
fn object(n: u8) -> ObjId {
    let kind = if n < 12 { 10 } else { 11 };
    let far = if n.is_multiple_of(3) { n } else { 0 };
    ObjId::from_bytes([kind, far, 0, 0, 0, 0, 0, n]).unwrap()
}

const OBJECTS: u8 = 20;

#[derive(Debug, Clone)]
struct Given {
    forbids: bool,
    /// Which objects are of the other version.
    more: Vec<bool>,
    /// Holder, field, target.
    references: Vec<(u8, u8, u8)>,
    /// Index entries that are put, of field 20 or 21 or 24 or 26, and of a target and a holder.
    stray: Vec<(u8, u8, u8)>,
    /// Pairs that are removed: fields of objects.
    lost: Vec<(u8, u8)>,
    /// An object with a damaged own pair.
    damaged: Option<u8>,
    delete: u8,
}

fn given() -> impl Strategy<Value = Given> {
    let object = || 0..OBJECTS;
    let few = |most| prop::collection::vec((0..OBJECTS, 0..OBJECTS, 0..OBJECTS), 0..most);
    // A few objects are referred to often.
    let target = prop_oneof![3 => 0..3_u8, 1 => 0..OBJECTS];
    (
        prop::bool::weighted(0.2),
        prop::collection::vec(prop::bool::weighted(0.3), usize::from(OBJECTS)),
        prop::collection::vec((object(), 0..14_u8, target), 0..60),
        few(3),
        prop::collection::vec((object(), object()), 0..3),
        prop::option::weighted(0.1, object()),
        prop_oneof![3 => 0..3_u8, 1 => 0..OBJECTS],
    )
        .prop_map(|(forbids, more, references, stray, lost, damaged, delete)| Given {
            forbids,
            more,
            references,
            stray,
            lost,
            damaged,
            delete,
        })
}

/// Fills an empty database.
fn fill(world: World, given: &Given) -> World {
    let last = if given.forbids { "EXCEPTION" } else { "IGNORE" };
    for more in [false, true] {
        let tx = world.begin(&schema(last, more));
        for n in (0..OBJECTS).filter(|n| given.more[usize::from(*n)] == more) {
            create(&tx, object(n));
            set(&tx, object(n), "n", int(n.into()));
        }
        tx.commit().unwrap();
    }
    let tx = world.begin(&schema(last, false));
    for &(holder, field, target) in &given.references {
        let (id, value) = (object(holder), Value::Ref(object(target)));
        match field {
            0 | 1 => set(&tx, id, "first", value),
            2 | 3 => set(&tx, id, "second", value),
            4 => drop(tx.set_view(id, "set", Migrate::No).unwrap().add(&value).unwrap()),
            5 => tx.list_view(id, "list", Migrate::No).unwrap().push(&value).unwrap(),
            6 => set(&tx, id, "forward", value),
            8.. => {
                let map = ["removed", "nullified", "deleted"][usize::from(field % 3)];
                let map = tx.map_view(id, map, Migrate::No).unwrap();
                // A reference to the holder's neighbour, or null, is the other half.
                let other = match holder % 4 {
                    0 => Value::Null,
                    n => Value::Ref(object((holder + n) % OBJECTS)),
                };
                let (key, value) = if field < 11 { (value, other) } else { (other, value) };
                map.put(&key, &value).unwrap();
            }
            _ => set(&tx, id, "last", value),
        }
    }
    tx.commit().unwrap();
    let key = |n| object(n).to_bytes();
    for &(field, target, holder) in &given.stray {
        let field = [20, 21, 24, 26][usize::from(field % 4)];
        world.raw(&hex(&[&[field], &key(target)[..], &key(holder)].concat()), Some(""));
    }
    for &(holder, field) in &given.lost {
        let field = [20, 21, 27][usize::from(field % 3)];
        world.raw(&hex(&[&key(holder)[..], &[field]].concat()), None);
    }
    if let Some(n) = given.damaged {
        world.raw(&hex(&key(n)), Some("7f"));
    }
    world
}

/// The result of a deletion, and the content of the store after it.
fn after(
    empty: World,
    given: &Given,
    fails_later: bool,
    delete: impl Fn(&Transaction, ObjId) -> Result<bool>,
) -> (Option<bool>, Vec<String>) {
    let world = fill(empty, given);
    let before = world.pairs();
    let tx = world.begin(&schema(if given.forbids { "EXCEPTION" } else { "IGNORE" }, false));
    let mut deleted = None;
    let failed: Result<(), Error> = tx.atomic(|tx| {
        deleted = delete(tx, object(given.delete)).ok();
        match deleted {
            Some(_) if !fails_later => Ok(()),
            _ => Err(Error::Busy),
        }
    });
    tx.commit().unwrap();
    if failed.is_err() && given.stray.is_empty() && given.lost.is_empty() {
        assert_eq!(world.pairs(), before);
    }
    (deleted, world.pairs())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(graphs(80)))]

    #[test]
    fn deletions_agree(given in given(), fails_later in prop::bool::weighted(0.2)) {
        let told = after(World::new(), &given, fails_later, |tx, id| {
            tx.delete_telling(id, &mut |_| Ok(()))
        });
        let together = after(World::new(), &given, fails_later, |tx, id| tx.delete(id));
        prop_assert_eq!(&together.0, &told.0);
        let healthy = given.stray.is_empty() && given.lost.is_empty();
        // An undo repairs the damaged entries that were touched, and not all ways touch the same.
        if healthy || (told.0.is_some() && !fails_later) {
            prop_assert_eq!(&together.1, &told.1);
        }
        let heard = after(World::new(), &given, fails_later, |tx, id| {
            on_delete(tx, |_, _, _| Ok(()));
            tx.delete(id)
        });
        prop_assert_eq!(&heard.0, &told.0);
        if healthy || (told.0.is_some() && !fails_later) {
            prop_assert_eq!(&heard.1, &told.1);
        }
    }
}

/// The pairs are removed in another way on LMDB, and one by one where reads count in conflicts. The
/// outcome is that of the store in memory.
#[test]
fn deletions_agree_on_other_stores() {
    let dir = tempfile::tempdir().unwrap();
    let lmdb = LmdbStore::builder().create(true).durability(Durability::MayLoseEverything);
    let lmdb = Arc::new(lmdb.open(dir.path()).unwrap());
    let empty = |store: Arc<dyn KvDatabase>| {
        store.write(|tx| tx.remove_span(KeySpan::FULL)).unwrap();
        World::on(store)
    };
    let config = Config { source_file: Some(file!()), ..Config::with_cases(graphs(40)) };
    TestRunner::new(config)
        .run(&(given(), prop::bool::weighted(0.2)), |(given, fails_later)| {
            let delete = |tx: &Transaction, id| tx.delete(id);
            let expected = after(World::new(), &given, fails_later, delete);
            let direct = after(empty(lmdb.clone()), &given, fails_later, delete);
            prop_assert_eq!(&direct, &expected);
            // The other pairs in the file belong to no database here.
            let part = Arc::new(Prefixed::new(lmdb.clone(), &[0x0a, 0xff]));
            let prefixed = after(empty(part), &given, fails_later, delete);
            prop_assert_eq!(&prefixed, &expected);
            for is_prefixed in [false, true] {
                let tracking = OptimisticDatabase::new(MemoryStore::new());
                let tracking: Arc<dyn KvDatabase> = match is_prefixed {
                    false => Arc::new(tracking),
                    true => Arc::new(Prefixed::new(tracking, b"p")),
                };
                let tracked = after(World::on(tracking), &given, fails_later, delete);
                prop_assert_eq!(&tracked.0, &expected.0);
                // An undo repairs the damaged entries that were touched, and not all ways touch
                // the same.
                let healthy = given.stray.is_empty() && given.lost.is_empty();
                if healthy || (expected.0.is_some() && !fails_later) {
                    prop_assert_eq!(&tracked.1, &expected.1);
                }
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn more_referrers_than_are_taken_together() {
    let world = World::new();
    let tx = world.begin(&schema("IGNORE", false));
    let object = |n: u32| id(&format!("0a{n:014x}"));
    create(&tx, object(0));
    for n in 1..=2400 {
        create(&tx, object(n));
        let field = if n % 2 == 0 { "first" } else { "second" };
        set(&tx, object(n), field, Value::Ref(object(0)));
    }
    assert!(tx.delete(object(0)).unwrap());
    for n in 1..=2400 {
        assert_eq!(tx.exists(object(n)).unwrap(), n % 2 == 0, "{n}");
        if n % 2 == 0 {
            assert_eq!(tx.get(object(n), "first", Migrate::No).unwrap(), Value::Null);
        }
    }
    tx.commit().unwrap();
    // Each one that is left has its own pair, five entries of null and one of 0, and one of its
    // schema.
    assert_eq!(world.pairs().len(), 1200 * 7);
}

/// The second holder loses its entry, which refers to the target too, with the first one.
#[test]
fn who_referred_through_a_map_goes_too() {
    let world = World::new();
    let tx = world.begin(&schema("IGNORE", false));
    let [target, first, second] = [0, 1, 2].map(object);
    for id in [target, first, second] {
        create(&tx, id);
    }
    let map = |id| tx.map_view(id, "removed", Migrate::No).unwrap();
    map(first).put(&Value::Null, &Value::Ref(target)).unwrap();
    map(second).put(&Value::Ref(first), &Value::Ref(target)).unwrap();
    assert!(tx.delete(target).unwrap());
    assert!(![target, first, second].into_iter().any(|id| tx.exists(id).unwrap()));
}
