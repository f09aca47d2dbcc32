use std::sync::Arc;

use permazen::__internal::object::{NetChange, NetChanges};
use permazen::encoding::Value;
use permazen::kv::fault::FaultStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::kv::{KeySpan, KvDatabase, KvError, KvWrite, TxOptions, Writes};
use permazen::object::{Database, Error, Migrate, Transaction};

use crate::net_changes::naive::lines;
use crate::net_changes::world::{World, a, config};

#[test]
fn each_kind_of_field() {
    let mut world = World::new();
    world.edit(1, |tx| {
        for n in 1..=3 {
            tx.create_with_id(a(n)).unwrap();
        }
        tx.set(a(1), "s", &Value::from("x"), Migrate::No).unwrap();
        tx.list_view(a(1), "list", Migrate::No).unwrap().push(&Value::from("b")).unwrap();
        let map = tx.map_view(a(1), "map", Migrate::No).unwrap();
        map.put(&Value::Int(1), &Value::from("x")).unwrap();
        map.put(&Value::Int(2), &Value::from("x")).unwrap();
        map.put(&Value::Int(3), &Value::from("x")).unwrap();
        tx.set_counter(a(1), "c", i64::MAX, Migrate::No).unwrap();
    });
    world.commit();
    assert!(world.changes().is_empty());
    world.edit(1, |tx| {
        tx.set(a(1), "i", &Value::Int(5), Migrate::No).unwrap();
        tx.set(a(1), "s", &Value::Null, Migrate::No).unwrap();
        tx.adjust_counter(a(1), "c", 1, Migrate::No).unwrap();
        tx.set_view(a(1), "set", Migrate::No).unwrap().add(&Value::Int(7)).unwrap();
        let list = tx.list_view(a(1), "list", Migrate::No).unwrap();
        list.insert(0, &Value::from("a")).unwrap();
        let map = tx.map_view(a(1), "map", Migrate::No).unwrap();
        map.remove(&Value::Int(1)).unwrap();
        map.put(&Value::Int(2), &Value::from("y")).unwrap();
        map.put(&Value::Int(4), &Value::from("z")).unwrap();
        // A field that is set and set back does not count.
        tx.set(a(2), "i", &Value::Int(5), Migrate::No).unwrap();
        tx.set(a(2), "i", &Value::Int(0), Migrate::No).unwrap();
        tx.delete(a(3)).unwrap();
        tx.create_with_id(a(4)).unwrap();
    });
    assert_eq!(
        lines(&world.changes()),
        [
            "0a00000000000001 Some(1) -> Some(1)",
            "  c#14 -> c#14 9223372036854775807 -> -9223372036854775808",
            "  i#11 -> i#11 7f -> 84",
            "  list#22 -> list#22 6200 -> 6100,6200",
            "  map#24 -> map#24 80=7800->-,81=7800->7900,83=-->7a00",
            "  s#12 -> s#12 7800 -> ff",
            "  set#20 -> set#20 removed  added 86",
            "0a00000000000003 Some(1) -> None",
            "0a00000000000004 None -> Some(1)",
        ]
    );
    let changes = world.changes();
    let NetChange::Object(object) = &changes[0] else { panic!("{changes:?}") };
    assert_eq!(object.fields[0].content.counted(), Some(1));
    let is = |at: usize| {
        let NetChange::Object(object) = &changes[at] else { panic!("{changes:?}") };
        (object.is_created(), object.is_deleted(), object.is_moved())
    };
    assert_eq!(
        [is(0), is(1), is(2)],
        [(false, false, false), (false, true, false), (true, false, false)]
    );
}

#[test]
fn an_object_that_moves() {
    let mut world = World::new();
    world.edit(1, |tx| {
        tx.create_with_id(a(1)).unwrap();
        tx.set(a(1), "i", &Value::Int(5), Migrate::No).unwrap();
        tx.set(a(1), "s", &Value::from("x"), Migrate::No).unwrap();
        tx.set_view(a(1), "set", Migrate::No).unwrap().add(&Value::Int(7)).unwrap();
    });
    world.commit();
    world.edit(2, |tx| {
        tx.migrate(a(1)).unwrap();
        tx.set(a(1), "i", &Value::from("5"), Migrate::No).unwrap();
    });
    let changes = world.changes();
    assert_eq!(
        lines(&changes),
        [
            "0a00000000000001 Some(1) -> Some(2)",
            "  i#11 -> i#51 84 -> 3500",
            "  set#20 -> set#60 removed 86 added ",
        ]
    );
    let NetChange::Object(object) = &changes[0] else { panic!("{changes:?}") };
    assert!(object.is_moved() && !object.is_created() && !object.is_deleted());
    // Back where it was, with its old content.
    world.edit(1, |tx| {
        tx.migrate(a(1)).unwrap();
        tx.set(a(1), "i", &Value::Int(5), Migrate::No).unwrap();
        tx.set_view(a(1), "set", Migrate::No).unwrap().add(&Value::Int(7)).unwrap();
    });
    assert!(world.changes().is_empty(), "{:?}", lines(&world.changes()));
}

#[test]
fn pairs_that_belong_to_nothing() {
    let mut world = World::new();
    world.edit(1, |tx| tx.create_with_id(a(1)).unwrap());
    world.commit();
    let key = |rest: &[u8]| [&a(1).as_bytes()[..], rest].concat();
    for (key, value) in [
        (&[0, 0xff, 1][..], &b"mine"[..]),
        // An item that is in no index, and items that no schema knows.
        (&[14, 1], b""),
        (&[99], b""),
        (&[0xff], b""),
        // No field, a simple field with a byte after its key, a counter with a value that is no
        // counter.
        (&key(&[99]), b"x"),
        (&key(&[11, 0]), b"x"),
        (&key(&[14]), b"x"),
        // An index entry follows from objects, whether it is right or not.
        (&[11, 0x80, 1], b""),
    ] {
        world.branch().put(key, value).unwrap();
    }
    assert_eq!(
        lines(&world.changes()),
        [
            "pair 00ff01 - -> 6d696e65",
            "pair 0a000000000000010b00 - -> 78",
            "pair 0a000000000000010e 0000000000000000 -> 78",
            "pair 0a0000000000000163 - -> 78",
            "pair 0e01 - -> ",
            "pair 63 - -> ",
            "pair ff - -> ",
        ]
    );
}

#[test]
fn objects_without_a_known_schema_are_pairs() {
    let mut world = World::new();
    world.branch().put(a(1).as_bytes(), &[77]).unwrap();
    world.branch().put(&[a(1).as_bytes(), &[11][..]].concat(), &[0x84]).unwrap();
    world.branch().put(&[a(2).as_bytes(), &[11][..]].concat(), &[0x84]).unwrap();
    assert_eq!(
        lines(&world.changes()),
        [
            "pair 0a00000000000001 - -> 4d",
            "pair 0a000000000000010b - -> 84",
            "pair 0a000000000000020b - -> 84",
        ]
    );
}

#[test]
fn a_schema_that_goes_with_its_objects() {
    let mut world = World::new();
    world.edit(1, |tx| tx.create_with_id(a(1)).unwrap());
    world.commit();
    let former = world.schemas();
    let now = world.edit(2, |tx| {
        tx.delete(a(1)).unwrap();
        let gone = former.schemas().iter().find(|schema| schema.index.get() == 1).unwrap().id;
        assert!(tx.remove_schema(gone).unwrap());
        tx.bundle()
    });
    let before = world.snapshot();
    let changes = NetChanges::new(world.writes(), &*before, &now).with_former_schemas(&former);
    let lines = lines(&changes.collect::<Result<Vec<_>, _>>().unwrap());
    let objects: Vec<_> = lines.iter().filter(|line| !line.starts_with("pair 000")).collect();
    assert_eq!(objects, ["0a00000000000001 Some(1) -> None"]);
    assert!(lines.iter().any(|line| line.starts_with("pair 000101 ")), "{lines:?}");
}

#[test]
fn everything_removed_at_once() {
    let mut world = World::new();
    world.edit(1, |tx| {
        for n in 1..=3 {
            tx.create_with_id(a(n)).unwrap();
            tx.set(a(n), "i", &Value::Int(5), Migrate::No).unwrap();
        }
    });
    world.commit();
    world.branch().remove_span(KeySpan::new(&[1], None)).unwrap();
    world.branch().remove_span(KeySpan::new(&[0, 0x80], Some(&[0, 0x81]))).unwrap();
    world.edit(3, |tx| tx.create_with_id(a(2)).unwrap());
    assert_eq!(
        lines(&world.changes()),
        [
            "0a00000000000001 Some(1) -> None",
            "  i#11 -> - 84 -> -",
            "0a00000000000002 Some(1) -> Some(3)",
            "  i#11 -> i#11 84 -> 7f",
            "0a00000000000003 Some(1) -> None",
            "  i#11 -> - 84 -> -",
        ]
    );
}

#[test]
fn a_put_that_is_adjusted() {
    let mut world = World::new();
    world.edit(1, |tx| tx.create_with_id(a(1)).unwrap());
    world.commit();
    let counter = [a(1).as_bytes(), &[14][..]].concat();
    let mut writes = Writes::default();
    writes.removes.add_key(&counter);
    writes.puts.insert(counter.clone(), 5_i64.to_be_bytes().to_vec());
    writes.adjusts.insert(counter, -7);
    let (schemas, before) = (world.schemas(), world.snapshot());
    let changes = NetChanges::new(&writes, &*before, &schemas);
    assert_eq!(
        lines(&changes.collect::<Result<Vec<_>, _>>().unwrap()),
        ["0a00000000000001 Some(1) -> Some(1)", "  c#14 -> c#14 0 -> -2"]
    );
}

#[test]
fn an_error_of_the_store_ends_it() {
    let mut world = World::new();
    world.edit(1, |tx| tx.create_with_id(a(1)).unwrap());
    world.commit();
    world.edit(1, |tx| {
        tx.create_with_id(a(2)).unwrap();
        tx.set(a(1), "i", &Value::Int(5), Migrate::No).unwrap();
        tx.list_view(a(1), "list", Migrate::No).unwrap().push(&Value::from("x")).unwrap();
        tx.set(a(1), "i", &Value::Int(0), Migrate::No).unwrap();
    });
    let (schemas, store) = (world.schemas(), FaultStore::new(&*world.store));
    let faults = store.faults();
    let all = lines(&world.changes());
    for n in 1.. {
        let before = store.begin(&TxOptions::reading()).unwrap();
        faults.fail_nth(n, || KvError::Retry("injected".to_owned()));
        let mut changes = NetChanges::new(world.writes(), &*before, &schemas);
        let found: Vec<_> = changes.by_ref().collect();
        if faults.hits() == 0 {
            let found = found.into_iter().collect::<Result<Vec<_>, _>>().unwrap();
            assert_eq!(lines(&found), all);
            assert!(n > 5, "{n}");
            break;
        }
        let (last, earlier) = found.split_last().unwrap();
        assert!(last.is_err() && earlier.iter().all(Result::is_ok), "{found:?}");
        assert!(changes.next().is_none());
    }
}

#[test]
fn of_a_transaction_that_keeps_its_writes() {
    let world = World::new();
    let pending = |tx: &Transaction| {
        tx.pending_changes(|changes| changes.collect::<Result<Vec<_>, _>>()).unwrap()
    };
    // The store in memory does not keep them, and a detached transaction has none.
    assert!(pending(&world.db.begin(&config(1)).unwrap()).is_none());
    assert!(pending(&world.db.begin(&config(1)).unwrap().detached().unwrap()).is_none());

    let db = Database::new(Arc::new(OptimisticDatabase::new(MemoryStore::new())));
    for version in 1..=2 {
        db.begin(&config(version)).unwrap().commit().unwrap();
    }
    let tx = db.begin(&config(1)).unwrap();
    assert!(pending(&tx).unwrap().is_empty());
    tx.create_with_id(a(1)).unwrap();
    assert_eq!(lines(&pending(&tx).unwrap()), ["0a00000000000001 None -> Some(1)"]);
    tx.commit().unwrap();

    // Other transactions may change the shown data.
    let tx = db.begin(&config(2)).unwrap();
    tx.create_with_id(a(2)).unwrap();
    tx.untracked(|tx| tx.exists(a(1))).unwrap();
    let other = db.begin(&config(1)).unwrap();
    other.delete(a(1)).unwrap();
    other.commit().unwrap();
    assert_eq!(lines(&pending(&tx).unwrap()), ["0a00000000000002 None -> Some(2)"]);
    tx.commit().unwrap();

    // A schema that goes.
    let tx = db.begin(&config(1)).unwrap();
    tx.delete(a(2)).unwrap();
    let second = tx.bundle().schemas().iter().find(|it| it.index.get() == 2).unwrap().id;
    assert!(tx.remove_schema(second).unwrap());
    let lines = lines(&pending(&tx).unwrap());
    assert!(lines.iter().any(|line| line == "0a00000000000002 Some(2) -> None"), "{lines:?}");
    assert!(matches!(
        tx.pending_changes::<()>(|_| Err(Error::listener("no"))),
        Err(Error::Listener(_))
    ));
}
