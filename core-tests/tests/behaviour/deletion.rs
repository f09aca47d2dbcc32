//! Deletion: behaviours 84 to 100.

use std::sync::{Arc, Mutex};

use permazen::ObjId;
use permazen::encoding::Value;
use permazen::kv::memory::MemoryStore;
use permazen::object::{
    Database, Error, IdFilter, Migrate, ObjectBuilder, PathStep, Transaction, TransactionConfig,
    Watch,
};
use permazen::schema::SchemaModel;

use crate::support::*;

/// Puts A2 into every container of the holders.
fn fill(tx: &Transaction, holders: &[u8]) {
    for &holder in holders {
        let id = a(holder);
        set(tx, id, "ref", to_a(2));
        let list = tx.list_view(id, "list", Migrate::No).unwrap();
        list.extend(&[to_a(2), to_a(1), to_a(2)]).unwrap();
        tx.set_view(id, "set", Migrate::No).unwrap().add(&to_a(2)).unwrap();
        let by_key = tx.map_view(id, "byKey", Migrate::No).unwrap();
        by_key.put(&Value::Null, &int(8)).unwrap();
        by_key.put(&to_a(2), &int(7)).unwrap();
        let by_value = tx.map_view(id, "byValue", Migrate::No).unwrap();
        by_value.put(&int(1), &to_a(2)).unwrap();
        by_value.put(&int(2), &to_a(2)).unwrap();
    }
}

/// The content of all containers as text.
fn content(tx: &Transaction, id: ObjId) -> String {
    let pairs = |name| {
        let map = tx.map_view(id, name, Migrate::No).unwrap().to_vec().unwrap();
        map.iter()
            .map(|(key, value)| format!("{}={}", show(key), show(value)))
            .collect::<Vec<_>>()
            .join(",")
    };
    format!(
        "{} [{}] {{{}}} {{{}}} {{{}}}",
        show(&tx.get(id, "ref", Migrate::No).unwrap()),
        show_all(&tx.list_view(id, "list", Migrate::No).unwrap().to_vec().unwrap()),
        show_all(&tx.set_view(id, "set", Migrate::No).unwrap().to_vec().unwrap()),
        pairs("byKey"),
        pairs("byValue"),
    )
}

#[test]
fn t084_everything_of_a_deleted_object_goes() {
    let world = World::new();
    let tx = world.foo();
    let id = create(&tx, foo_id(1));
    set(&tx, id, "i", int(5));
    set(&tx, id, "s", text("abc"));
    tx.list_view(id, "list", Migrate::No).unwrap().extend(&texts(&["q", "q"])).unwrap();
    tx.set_view(id, "set", Migrate::No).unwrap().add(&int(7)).unwrap();
    tx.map_view(id, "map", Migrate::No).unwrap().put(&int(2), &Value::Null).unwrap();
    let (deleted, cost) = world.cost(|| tx.delete(id).unwrap());
    assert!(deleted);
    assert!(cost.seeks <= 2 && cost.span_removes == 1 && cost.gets == 0, "{cost:?}");
    assert!(!tx.delete(id).unwrap());
    assert!(!tx.exists(id).unwrap());
    tx.commit().unwrap();
    assert!(world.pairs().is_empty(), "{:?}", world.pairs());
}

#[test]
fn t085_t086_exception_refuses_unless_the_object_refers_to_itself() {
    let world = World::new();
    let tx = world.begin(&containers("EXCEPTION", "EXCEPTION"));
    create(&tx, a(1));
    create(&tx, a(2));
    tx.set_view(a(1), "set", Migrate::No).unwrap().add(&to_a(2)).unwrap();
    set(&tx, a(2), "ref", to_a(2));
    match tx.delete(a(2)) {
        Err(Error::ReferencedObject { id, referrer, field, full_name, .. }) => {
            assert_eq!((id, referrer), (a(2), a(1)));
            assert_eq!((&field[..], &full_name[..]), ("element", "set.element"));
        }
        other => panic!("{other:?}"),
    }
    assert!(tx.exists(a(2)).unwrap());
    tx.set_view(a(1), "set", Migrate::No).unwrap().clear().unwrap();
    assert!(tx.delete(a(2)).unwrap());
}

#[test]
fn t087_ignore_leaves_the_reference() {
    let world = World::new();
    let tx = world.begin(&containers("IGNORE", "IGNORE"));
    create(&tx, a(1));
    create(&tx, a(2));
    fill(&tx, &[1]);
    let before = content(&tx, a(1));
    assert!(tx.delete(a(2)).unwrap());
    assert_eq!(content(&tx, a(1)), before);
    tx.commit().unwrap();
    assert!(world.pairs().contains(&"140a000000000000020a00000000000001=".to_owned()));
}

#[test]
fn t088_t089_nullify_with_one_and_with_several_holders() {
    let world = World::new();
    let tx = world.begin(&containers("NULLIFY", "NULLIFY"));
    create_all(&tx, 1..=4);
    fill(&tx, &[1, 3, 4]);
    let events: Vec<_> = [20, 21, 23, 25, 28].map(|field| Events::on(&tx, field)).into();
    assert!(tx.delete(a(2)).unwrap());
    for n in [1, 3, 4] {
        assert_eq!(
            content(&tx, a(n)),
            "null [null,0a00000000000001,null] {null} {null=7} {1=null,2=null}"
        );
    }
    let two = "0a00000000000002";
    let each =
        |events: &[&str]| events.repeat(3).iter().map(|e| (*e).to_owned()).collect::<Vec<_>>();
    assert_eq!(events[0].take(), each(&[&format!("{two} -> null")]));
    assert_eq!(
        events[1].take(),
        each(&[&format!("replace 0:{two}->null"), &format!("replace 2:{two}->null")])
    );
    assert_eq!(events[2].take(), each(&[&format!("remove {two}"), "add null"]));
    assert_eq!(events[3].take(), each(&[&format!("remove {two}=7"), "replace null=8->7"]));
    assert_eq!(
        events[4].take(),
        each(&[&format!("replace 1={two}->null"), &format!("replace 2={two}->null")])
    );
}

#[test]
fn t090_remove_with_one_and_with_several_holders() {
    let world = World::new();
    let tx = world.begin(&containers("NULLIFY", "REMOVE"));
    create_all(&tx, 1..=4);
    fill(&tx, &[1, 3, 4]);
    assert!(tx.delete(a(2)).unwrap());
    for n in [1, 3, 4] {
        assert_eq!(content(&tx, a(n)), "null [0a00000000000001] {} {null=8} {}");
    }
}

#[test]
fn adjacent_duplicates_in_a_list_all_go() {
    for watched in [false, true] {
        let world = World::new();
        let tx = world.begin(&containers("NULLIFY", "REMOVE"));
        create(&tx, a(1));
        create(&tx, a(2));
        let events = watched.then(|| Events::on(&tx, 21));
        let list = tx.list_view(a(1), "list", Migrate::No).unwrap();
        list.extend(&[to_a(2), to_a(2), to_a(2), to_a(1), to_a(2)]).unwrap();
        if let Some(events) = &events {
            events.take();
        }
        assert!(tx.delete(a(2)).unwrap());
        assert_eq!(list.to_vec().unwrap(), [to_a(1)]);
        if let Some(events) = events {
            let two = "0a00000000000002";
            let removed = [0, 0, 0, 1].map(|at| format!("remove {at}:{two}"));
            assert_eq!(events.take(), removed);
        }
    }
}

const CHAIN: &str = r#"<Schema><ObjectType name="N" storageId="10">
<ReferenceField name="next" storageId="11" inverseDelete="DELETE"/>
<ReferenceField name="owned" storageId="12" inverseDelete="NULLIFY" forwardDelete="true" allowDeleted="true"/>
<ReferenceField name="strict" storageId="13" inverseDelete="EXCEPTION"/>
<SetField name="all" storageId="14"><ReferenceField storageId="15" inverseDelete="NULLIFY" forwardDelete="true"/></SetField>
</ObjectType></Schema>"#;

/// Records the deletions for which listeners are called.
fn deletions(tx: &Transaction) -> Log<ObjId> {
    let (told, listener) = Log::pair();
    on_delete(tx, move |tx, id, _| {
        assert!(tx.exists(id)?, "told before it goes");
        listener.add(id)
    });
    told
}

#[test]
fn t091_a_cycle_of_cascades_goes_as_a_whole() {
    let world = World::new();
    let tx = world.begin(CHAIN);
    create_all(&tx, 1..=4);
    for (from, target) in [(1, 2), (2, 3), (3, 1)] {
        set(&tx, a(from), "next", to_a(target));
    }
    let told = deletions(&tx);
    assert!(tx.delete(a(2)).unwrap());
    let mut told = told.all();
    told.sort();
    assert_eq!(told, [a(1), a(2), a(3)]);
    assert_eq!([1, 2, 3, 4].map(|n| tx.exists(a(n)).unwrap()), [false, false, false, true]);
}

#[test]
fn t092_t095_forward_deletion() {
    let world = World::new();
    let tx = world.begin(CHAIN);
    create_all(&tx, 1..=4);
    set(&tx, a(1), "owned", to_a(2));
    set(&tx, a(2), "owned", to_a(9));
    let all = tx.set_view(a(1), "all", Migrate::No).unwrap();
    for value in [to_a(3), to_a(4), to_a(1), Value::Null] {
        all.add(&value).unwrap();
    }
    assert!(tx.delete(a(1)).unwrap());
    assert_eq!([1, 2, 3, 4].map(|n| tx.exists(a(n)).unwrap()), [false; 4]);
}

#[test]
fn t093_a_refusal_in_a_cascade_undoes_all_of_it() {
    let world = World::new();
    let tx = world.begin(CHAIN);
    create_all(&tx, 1..=5);
    set(&tx, a(1), "owned", to_a(2));
    set(&tx, a(2), "owned", to_a(3));
    set(&tx, a(4), "strict", to_a(3));
    set(&tx, a(5), "owned", to_a(1));
    tx.commit().unwrap();
    let before = world.pairs();
    let tx = world.begin(CHAIN);
    let refused = tx.delete(a(1));
    assert!(matches!(refused, Err(Error::ReferencedObject { .. })), "{refused:?}");
    assert_eq!([1, 2, 3, 4, 5].map(|n| tx.exists(a(n)).unwrap()), [true; 5]);
    assert_eq!(tx.get(a(5), "owned", Migrate::No).unwrap(), to_a(1));
    tx.commit().unwrap();
    assert_eq!(world.pairs(), before);
}

#[test]
fn t094_each_holder_reacts_by_its_own_schema() {
    let xml = |action: &str| {
        format!(
            r#"<Schema><ObjectType name="H" storageId="10"><ReferenceField name="r" storageId="20" inverseDelete="{action}"/></ObjectType></Schema>"#
        )
    };
    let world = World::new();
    let tx = world.begin(&xml("NULLIFY"));
    create_all(&tx, 1..=2);
    set(&tx, a(1), "r", to_a(2));
    tx.commit().unwrap();
    let tx = world.begin(&xml("DELETE"));
    create(&tx, a(3));
    set(&tx, a(3), "r", to_a(2));
    assert!(tx.delete(a(2)).unwrap());
    assert!(tx.exists(a(1)).unwrap());
    assert_eq!(tx.get(a(1), "r", Migrate::No).unwrap(), Value::Null);
    assert!(!tx.exists(a(3)).unwrap());
}

#[test]
fn each_holder_reacts_by_its_own_type() {
    let xml = r#"<Schema>
<ObjectType name="A" storageId="10"><ReferenceField name="ref" storageId="20" inverseDelete="DELETE"/></ObjectType>
<ObjectType name="B" storageId="11"><ReferenceField name="ref" storageId="20" inverseDelete="NULLIFY"/></ObjectType>
<ObjectType name="X" storageId="12"><ReferenceField name="ref" storageId="20" inverseDelete="EXCEPTION"/></ObjectType>
<ObjectType name="T" storageId="13"/></Schema>"#;
    let world = World::new();
    let tx = world.begin(xml);
    let [holder_a, holder_b, holder_x, target] =
        ["A", "B", "X", "T"].map(|name| tx.create(name).unwrap());
    for holder in [holder_a, holder_b] {
        set(&tx, holder, "ref", Value::Ref(target));
    }
    set(&tx, holder_x, "ref", Value::Ref(holder_x));
    assert!(tx.delete(target).unwrap());
    assert!(!tx.exists(holder_a).unwrap());
    assert_eq!(tx.get(holder_b, "ref", Migrate::No).unwrap(), Value::Null);
    assert!(tx.exists(holder_x).unwrap());
}

#[test]
fn t096_t097_deletions_within_a_delete_listener() {
    let world = World::new();
    let tx = world.begin(CHAIN);
    create_all(&tx, 1..=3);
    let (told, listener) = Log::pair();
    on_delete(&tx, move |tx, id, _| {
        listener.add(id)?;
        assert!(!tx.delete(id)?, "it is being deleted already");
        if id == a(1) {
            assert!(tx.delete(a(2))?);
            assert!(!tx.exists(a(2))?);
            assert!(tx.exists(a(1))?);
        }
        Ok(())
    });
    assert!(tx.delete(a(1)).unwrap());
    assert_eq!(told.all(), [a(1), a(2)]);
    assert_eq!([1, 2, 3].map(|n| tx.exists(a(n)).unwrap()), [false, false, true]);
}

/// A1 refers to A2 and is deleted with it. A listener to the deletion of A1 deletes A2.
fn deleting_back(tx: &Transaction) {
    create_all(tx, 1..=2);
    set(tx, a(1), "next", to_a(2));
    on_delete(tx, move |tx, id, _| {
        if id == a(1) {
            tx.delete(a(2))?;
        }
        Ok(())
    });
}

#[test]
fn a_listener_whose_deletion_cascades_back_takes_the_object_away() {
    let world = World::new();
    let tx = world.begin(CHAIN);
    deleting_back(&tx);
    assert!(!tx.delete(a(1)).unwrap(), "deleted by the nested deletion");
    assert!(!tx.exists(a(1)).unwrap());
}

#[test]
fn t098_a_failing_delete_listener_keeps_the_object() {
    let world = World::new();
    let tx = world.begin(CHAIN);
    create(&tx, a(1));
    on_delete(&tx, |_, _, _| Err(Error::listener("no")));
    assert!(matches!(tx.delete(a(1)), Err(Error::Listener(_))));
    assert!(tx.exists(a(1)).unwrap());
    assert!(matches!(tx.delete(a(1)), Err(Error::Listener(_))), "told again");
}

#[test]
fn t099_references_made_by_a_delete_listener_count() {
    for (field, refused) in [("owned", false), ("strict", true)] {
        let world = World::new();
        let tx = world.begin(CHAIN);
        create(&tx, a(1));
        create(&tx, a(2));
        on_delete(&tx, move |tx, id, _| tx.set(a(2), field, &Value::Ref(id), Migrate::No));
        let result = tx.delete(a(1));
        assert_eq!(matches!(result, Err(Error::ReferencedObject { .. })), refused, "{result:?}");
        assert_eq!(tx.exists(a(1)).unwrap(), refused);
        assert_eq!(tx.get(a(2), field, Migrate::No).unwrap(), Value::Null);
    }
}

#[test]
fn t100_a_delete_listener_along_a_path_gets_the_holders() {
    let world = World::new();
    let tx = world.begin(&containers("NULLIFY", "NULLIFY"));
    create_all(&tx, 1..=4);
    fill(&tx, &[3, 1]);
    let (told, listener) = Log::pair();
    tx.on_delete(
        Watch::along([PathStep::Forward(sid(22))]),
        Arc::new(move |_, id, referrers| listener.add((id, referrers.to_vec()))),
    )
    .unwrap();
    assert!(tx.delete(a(4)).unwrap());
    assert!(told.all().is_empty(), "nobody holds it");
    assert!(tx.delete(a(2)).unwrap());
    assert_eq!(told.all(), [(a(2), vec![a(1), a(3)])]);
}

#[test]
fn a_map_entry_whose_both_halves_go_is_nullified() {
    let xml = r#"<Schema><ObjectType name="M" storageId="10"><MapField name="m" storageId="20">
<ReferenceField storageId="21" inverseDelete="NULLIFY"/><ReferenceField storageId="22" inverseDelete="NULLIFY"/></MapField></ObjectType></Schema>"#;
    let world = World::new();
    let tx = world.begin(xml);
    create(&tx, a(1));
    create(&tx, a(2));
    let map = tx.map_view(a(1), "m", Migrate::No).unwrap();
    map.put(&to_a(2), &to_a(2)).unwrap();
    assert!(tx.delete(a(2)).unwrap());
    assert_eq!(map.to_vec().unwrap(), [(Value::Null, Value::Null)]);
}

#[test]
fn a_long_chain_needs_no_stack_and_no_square_time() {
    let world = World::new();
    let tx = world.begin(CHAIN);
    let ids: Vec<ObjId> = (1..=6000u32)
        .map(|n| {
            let mut bytes = [0; 8];
            bytes[0] = 0x0a;
            bytes[4..].copy_from_slice(&n.to_be_bytes());
            create(&tx, ObjId::from_bytes(bytes).unwrap())
        })
        .collect();
    for pair in ids.windows(2) {
        set(&tx, pair[1], "next", Value::Ref(pair[0]));
    }
    let (deleted, cost) = world.cost(|| tx.delete(ids[0]).unwrap());
    assert!(deleted);
    assert!(ids.iter().all(|id| !tx.exists(*id).unwrap()));
    let each = (cost.reads() + cost.writes()) / 6000;
    assert!(each <= 30, "{each} operations per object: {cost:?}");
}

/// Many objects, each with a reference to the one before: 20,000, unless `PERMAZEN_CHAIN` says
/// how many. The stack has room for a few calls only.
#[test]
fn a_chain_of_many_objects_is_deleted_without_recursion() {
    let objects = std::env::var("PERMAZEN_CHAIN").map_or(20_000, |n| n.parse().unwrap());
    const XML: &str = r#"<Schema><ObjectType name="N" storageId="10">
<ReferenceField name="next" storageId="11" inverseDelete="DELETE"/></ObjectType></Schema>"#;
    let work = move || {
        let db = Database::new(Arc::new(MemoryStore::new()));
        let config = TransactionConfig::new(SchemaModel::from_xml(XML.as_bytes()).unwrap());
        let tx = db.begin(&config.unwrap()).unwrap();
        let object_type = tx.schema().object_type("N").unwrap().clone();
        let next = object_type.field("next").unwrap();
        let id = |n: u64| ObjId::from_bytes((0x0a00_0000_0000_0000 | n).to_be_bytes()).unwrap();
        for n in 1..=objects {
            let mut object = ObjectBuilder::new(Arc::clone(&object_type));
            if n > 1 {
                let target = id(n - 1);
                let write = |out: &mut Vec<u8>| {
                    out.extend_from_slice(target.as_bytes());
                    Ok(())
                };
                object.write_simple(next, write).unwrap();
            }
            tx.create_with(Some(id(n)), &object.finish()).unwrap();
        }
        assert!(tx.delete(id(1)).unwrap());
        assert!(tx.all_objects().unwrap().is_empty().unwrap());
        let left = tx.read_pairs(|kv| Ok(kv.at_least(&[0, 0x80], None)?.is_none())).unwrap();
        assert!(left, "nothing is left of the objects");
    };
    std::thread::Builder::new().stack_size(256 * 1024).spawn(work).unwrap().join().unwrap();
}

const FORWARD: &str = r#"<Schema>
<ObjectType name="A" storageId="10"><ReferenceField name="f" storageId="13" inverseDelete="IGNORE" allowDeleted="true" forwardDelete="true"/></ObjectType>
<ObjectType name="B" storageId="11"/>
<ObjectType name="X" storageId="12"><ReferenceField name="n" storageId="14" inverseDelete="NULLIFY"/></ObjectType>
<ObjectType name="C" storageId="15"><ReferenceField name="e" storageId="16" inverseDelete="EXCEPTION"/></ObjectType>
</Schema>"#;

/// The first object of each type of [`FORWARD`]: A.f = B, X.n = A.
fn forward(tx: &Transaction) -> [ObjId; 4] {
    let ids @ [of_a, of_b, of_x, _] =
        [10, 11, 12, 15].map(|n| create(tx, ObjId::from_bytes([n, 0, 0, 0, 0, 0, 0, 1]).unwrap()));
    set(tx, of_a, "f", Value::Ref(of_b));
    set(tx, of_x, "n", Value::Ref(of_a));
    ids
}

#[test]
fn a_refused_deletion_tells_field_listeners_nothing() {
    let world = World::new();
    let tx = world.begin(FORWARD);
    let [of_a, of_b, of_x, of_c] = forward(&tx);
    set(&tx, of_c, "e", Value::Ref(of_b));
    let events = Events::on(&tx, 14);
    assert!(matches!(tx.delete(of_a), Err(Error::ReferencedObject { .. })));
    assert_eq!(tx.get(of_x, "n", Migrate::No).unwrap(), Value::Ref(of_a));
    assert_eq!(events.take(), Vec::<String>::new());
    set(&tx, of_c, "e", Value::Null);
    assert!(tx.delete(of_a).unwrap());
    assert_eq!(events.take(), [format!("{of_a} -> null")]);
}

#[test]
fn changes_of_a_delete_listener_are_told_once_the_deletion_stands() {
    for fails in [true, false] {
        let world = World::new();
        let tx = world.begin(FORWARD);
        let [of_a, of_b, of_x, of_c] = forward(&tx);
        let (on_n, on_e) = (Events::on(&tx, 14), Events::on(&tx, 16));
        on_delete(&tx, move |tx, id, _| {
            if id == of_b {
                assert_eq!(tx.get(of_x, "n", Migrate::No)?, Value::Null);
                tx.set(of_c, "e", &Value::Ref(of_c), Migrate::No)?;
                return if fails { Err(Error::listener("no")) } else { Ok(()) };
            }
            Ok(())
        });
        assert_eq!(tx.delete(of_a).is_err(), fails);
        assert_eq!(tx.exists(of_a).unwrap(), fails);
        let (on_n, on_e) = (on_n.take(), on_e.take());
        match fails {
            true => assert_eq!((on_n.len(), on_e.len()), (0, 0)),
            false => {
                assert_eq!(on_n, [format!("{of_a} -> null")]);
                assert_eq!(on_e, [format!("null -> {of_c}")]);
            }
        }
    }
}

#[test]
fn a_nested_deletion_that_is_refused_tells_nothing_and_can_be_tried_again() {
    let world = World::new();
    let tx = world.begin(FORWARD);
    let [of_a, of_b, of_x, of_c] = forward(&tx);
    set(&tx, of_x, "n", Value::Ref(of_b));
    let events = Events::on(&tx, 14);
    let (tries, results) = Log::pair();
    let refuse = Mutex::new(true);
    on_delete(&tx, move |tx, id, _| {
        if id == of_b && std::mem::take(&mut *refuse.lock().unwrap()) {
            tx.set(of_c, "e", &Value::Ref(of_b), Migrate::No)?;
        }
        if id == of_a {
            for _ in 0..3 {
                let result = tx.delete(of_b);
                results.add(result.ok())?;
            }
            assert_eq!(tx.get(of_x, "n", Migrate::No)?, Value::Null);
        }
        Ok(())
    });
    assert!(tx.delete(of_a).unwrap());
    assert_eq!(tries.all(), [None, Some(true), Some(false)]);
    assert_eq!(events.take(), [format!("{of_b} -> null")]);
}

#[test]
fn a_failing_field_listener_leaves_the_deletion() {
    let world = World::new();
    let tx = world.begin(FORWARD);
    let [of_a, of_b, of_x, _] = forward(&tx);
    on_change(&tx, 14, |_, _, _| Err(Error::listener("no")));
    assert!(matches!(tx.delete(of_a), Err(Error::Listener(_))));
    assert_eq!([of_a, of_b].map(|id| tx.exists(id).unwrap()), [false, false]);
    assert_eq!(tx.get(of_x, "n", Migrate::No).unwrap(), Value::Null);
}

/// The object exists whenever a listener is called.
#[test]
fn listeners_are_not_told_of_an_object_that_another_one_has_deleted() {
    let world = World::new();
    let tx = world.begin(CHAIN);
    deleting_back(&tx);
    let told = deletions(&tx);
    tx.delete(a(1)).unwrap();
    assert_eq!(told.all(), [a(2)]);
}

#[test]
fn a_refusal_is_found_without_reading_all_that_refer() {
    let world = World::new();
    let tx = world.begin(CHAIN);
    create(&tx, a(1));
    let object_type = Arc::clone(tx.schema().object_type("N").unwrap());
    let strict = object_type.field("strict").unwrap();
    for _ in 0..1000 {
        let mut data = ObjectBuilder::new(Arc::clone(&object_type));
        data.write_simple(strict, |out| {
            out.extend_from_slice(a(1).as_bytes());
            Ok(())
        })
        .unwrap();
        tx.create_with(None, &data.finish()).unwrap();
    }
    let (result, cost) = world.cost(|| tx.delete(a(1)));
    assert!(matches!(result, Err(Error::ReferencedObject { .. })));
    assert!(cost.reads() < 30, "{cost:?}");
}

#[test]
fn a_deletion_refused_within_a_field_listener_tells_nothing() {
    let world = World::new();
    let tx = world.begin(FORWARD);
    let [of_a, of_b, _, of_c] = forward(&tx);
    let events = Events::on(&tx, 14);
    on_change(&tx, 16, move |tx, _, _| {
        let result = tx.delete(of_a);
        assert!(matches!(result, Err(Error::ReferencedObject { .. })), "{result:?}");
        Ok(())
    });
    set(&tx, of_c, "e", Value::Ref(of_b));
    assert_eq!(events.take(), Vec::<String>::new());
}

#[test]
fn a_delete_listener_is_told_of_what_its_filter_lets_through() {
    let world = World::new();
    let tx = world.begin(FORWARD);
    let [of_a, of_b, ..] = forward(&tx);
    let (told, listener) = Log::pair();
    let only_b = Watch::filtered(vec![], vec![Some(IdFilter::of_ids([of_b]))]).unwrap();
    tx.on_delete(only_b, Arc::new(move |_, id, _| listener.add(id))).unwrap();
    assert!(tx.delete(of_a).unwrap());
    assert_eq!(told.all(), [of_b]);
}
