//! For which changes listeners are called if an operation is part of a larger one, fails, is
//! silent, or belongs to a copy or a migration.

use std::sync::{Arc, Mutex};

use permazen::encoding::Value;
use permazen::object::{
    CopyOptions, Database, Error, IdFilter, IdMap, Migrate, MissingTargets, ObjectBuilder,
    PathStep, Result, Transaction, TransactionConfig, Watch,
};
use permazen::schema::SchemaModel;

use crate::peculiar_store::PeculiarStore;
use crate::support::*;

/// A type with a field of every kind, and a type that its references can refer to.
const ALL: &str = r#"<Schema><ObjectType name="B" storageId="11"/><ObjectType name="A" storageId="10">
<SimpleField name="x" encoding="urn:fdc:permazen.io:2020:int" storageId="20"/>
<SimpleField name="y" encoding="urn:fdc:permazen.io:2020:int" storageId="21"/>
<SimpleField name="z" encoding="urn:fdc:permazen.io:2020:int" storageId="22"/>
<ReferenceField name="r" storageId="23" inverseDelete="NULLIFY"/>
<ReferenceField name="s" storageId="24" inverseDelete="NULLIFY"><ObjectTypes><ObjectType name="A"/></ObjectTypes></ReferenceField>
<SetField name="refs" storageId="30"><ReferenceField storageId="31" inverseDelete="NULLIFY"/></SetField>
<SetField name="ints" storageId="32"><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="33"/></SetField>
<ListField name="list" storageId="34"><ReferenceField storageId="35" inverseDelete="NULLIFY"/></ListField>
<MapField name="map" storageId="36"><ReferenceField storageId="37" inverseDelete="NULLIFY"/><ReferenceField storageId="38" inverseDelete="NULLIFY"/></MapField>
<MapField name="names" storageId="39"><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="40"/><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="41"/></MapField>
</ObjectType></Schema>"#;

/// [`ALL`] with a list that does not allow objects of the type B.
fn narrow() -> String {
    ALL.replace(
        r#"<ReferenceField storageId="35" inverseDelete="NULLIFY"/>"#,
        r#"<ReferenceField storageId="35" inverseDelete="NULLIFY"><ObjectTypes><ObjectType name="A"/></ObjectTypes></ReferenceField>"#,
    )
}

const NOTHING: [&str; 0] = [];

fn put(tx: &Transaction, n: u8, field: &str, value: i32) -> Result<()> {
    tx.set(a(n), field, &int(value), Migrate::No)
}

/// Sets `y` to 5. Then sets `y` and `z` to 6 in an operation that fails.
fn set_y_and_fail_to_set_z(tx: &Transaction) {
    put(tx, 1, "y", 5).unwrap();
    let failed = tx.atomic(|tx| {
        put(tx, 1, "y", 6)?;
        put(tx, 1, "z", 6)?;
        Err::<(), _>(Error::listener("no"))
    });
    assert!(failed.is_err());
}

#[test]
fn listeners_are_not_called_for_a_part_of_an_operation_that_failed() {
    let world = World::new();
    let tx = world.begin(ALL);
    create_all(&tx, 1..=2);
    on_change(&tx, 20, |tx, _, _| {
        set_y_and_fail_to_set_z(tx);
        Ok(())
    });
    let (y, z) = (Events::on(&tx, 21), Events::on(&tx, 22));
    set(&tx, a(1), "x", int(1));
    assert_eq!((y.take(), z.take()), (vec!["0 -> 5".to_owned()], vec![]));
    // The same within a deletion, which calls listeners when all its changes are made.
    on_delete(&tx, |tx, _, _| {
        put(tx, 1, "y", 0)?;
        set_y_and_fail_to_set_z(tx);
        Ok(())
    });
    tx.delete(a(2)).unwrap();
    assert_eq!(y.take(), ["5 -> 0", "0 -> 5"]);
    assert_eq!(z.take(), NOTHING);
    assert_eq!(tx.get(a(1), "y", Migrate::No).unwrap(), int(5));
}

#[test]
fn listeners_to_fields_are_called_although_a_listener_to_the_move_failed() {
    let world = World::new();
    let tx = world.begin(ALL);
    create_all(&tx, 1..=2);
    tx.commit().unwrap();
    let tx = world.begin(&ALL.replace(
        r#"name="z" encoding="urn:fdc:permazen.io:2020:int" storageId="22""#,
        r#"name="zz" encoding="urn:fdc:permazen.io:2020:int" storageId="25""#,
    ));
    let y = Events::on(&tx, 21);
    on_schema_change(&tx, |tx, change| {
        tx.set(change.id, "y", &int(4), Migrate::No)?;
        Err(Error::listener("no"))
    });
    assert!(matches!(tx.migrate(a(1)), Err(Error::Listener(_))));
    assert_eq!(y.take(), ["0 -> 4"]);
}

#[test]
fn a_deletion_within_a_deletion_calls_listeners_in_the_order_of_the_changes() {
    let world = World::new();
    let tx = world.begin(ALL);
    create_all(&tx, 1..=4);
    set(&tx, a(1), "r", to_a(3));
    set(&tx, a(4), "r", to_a(2));
    let (exists, seen) = Log::pair();
    on_change(&tx, 23, move |tx, change, _| {
        let both = [2, 3].map(|n| tx.exists(a(n)).unwrap());
        seen.add((change.id(), both))
    });
    let first = Watch::filtered(vec![], vec![Some(IdFilter::of_ids([a(2)]))]).unwrap();
    tx.on_delete(first, Arc::new(|tx, _, _| tx.delete(a(3)).map(drop))).unwrap();
    assert!(tx.delete(a(2)).unwrap());
    let seen = exists.all();
    assert_eq!(
        seen,
        [(a(1), [false, false]), (a(4), [false, false])],
        "listeners to fields are called after the whole deletion"
    );
}

#[test]
fn silence_ends_with_the_copy() {
    let world = World::new();
    let tx = world.begin(ALL);
    create_all(&tx, [1]);
    set(&tx, a(1), "x", int(3));
    let other = tx.detached().unwrap();
    let (created, listener) = Log::pair();
    on_create(&other, move |_, id| listener.add(id));
    let x = Events::on(&other, 20);
    assert!(tx.copy_to(a(1), &other, &mut CopyOptions::new().silent()).unwrap());
    assert_eq!(created.all(), [], "no listener to creation was called");
    assert_eq!(x.take(), NOTHING, "no listener to content was called");
    set(&other, a(1), "x", int(4));
    assert!(!tx.copy_to(a(1), &other, &mut CopyOptions::new().silent()).unwrap());
    assert_eq!(x.take(), ["3 -> 4"]);
    set(&other, a(1), "x", int(5));
    assert_eq!(x.take(), ["3 -> 5"]);
    create(&other, a(2));
    assert_eq!(created.all(), [a(2)]);
}

/// A silent copy moves an object to another schema. Schema-change listeners still run, and their
/// changes call other listeners.
#[test]
fn what_listeners_change_during_a_silent_copy_calls_listeners() {
    let world = World::new();
    let tx = world.begin(ALL);
    create_all(&tx, [1]);
    let gone = create(&tx, b(1));
    tx.list_view(a(1), "list", Migrate::No).unwrap().push(&Value::Ref(gone)).unwrap();
    tx.commit().unwrap();
    let tx = world.begin(&narrow().replace(
        r#"name="z" encoding="urn:fdc:permazen.io:2020:int" storageId="22""#,
        r#"name="zz" encoding="urn:fdc:permazen.io:2020:int" storageId="25""#,
    ));
    create_all(&tx, [2]);
    set(&tx, a(2), "x", int(8));
    on_schema_change(&tx, |tx, change| tx.set(change.id, "y", &int(4), Migrate::No));
    let (x, y, list) = (Events::on(&tx, 20), Events::on(&tx, 21), Events::on(&tx, 34));
    let mut ids = IdMap::from([(a(2), Some(a(1)))]);
    let options = &mut CopyOptions::new().silent().mapping_ids(&mut ids);
    assert!(!tx.copy_to(a(2), &tx, options).unwrap());
    assert_eq!(y.take(), ["0 -> 4"]);
    assert_eq!((x.take(), list.take()), (vec![], vec![]));
    assert!(tx.list_view(a(1), "list", Migrate::No).unwrap().is_empty().unwrap());
}

#[test]
fn filters_between_the_ends_of_a_path() {
    let world = World::new();
    let tx = world.begin(ALL);
    create_all(&tx, 1..=5);
    for (from, through) in [(1, 2), (3, 4)] {
        set(&tx, a(from), "r", to_a(through));
        tx.set_view(a(through), "refs", Migrate::No).unwrap().add(&to_a(5)).unwrap();
    }
    let path = vec![PathStep::Forward(sid(23)), PathStep::Forward(sid(31))];
    for (through, from) in [(2, 1), (4, 3)] {
        let filters = vec![None, Some(IdFilter::of_ids([a(through)])), None];
        let (found, listener) = Log::pair();
        let id = tx
            .on_change(
                sid(20),
                Watch::filtered(path.clone(), filters).unwrap(),
                Arc::new(move |_, _, referrers| listener.add_all(referrers)),
            )
            .unwrap();
        set(&tx, a(5), "x", int(i32::from(from)));
        assert_eq!(found.all(), [a(from)]);
        tx.remove_listener(id).unwrap();
    }
}

#[test]
fn inverse_steps_go_through_one_half_of_a_map() {
    let world = World::new();
    let tx = world.begin(ALL);
    create_all(&tx, 1..=3);
    tx.map_view(a(1), "map", Migrate::No).unwrap().put(&to_a(2), &to_a(3)).unwrap();
    for (half, end) in [(37, 2), (38, 3)] {
        let (found, listener) = Log::pair();
        let id = tx
            .on_change(
                sid(20),
                Watch::along([PathStep::Inverse(sid(half))]),
                Arc::new(move |_, _, referrers| listener.add_all(referrers)),
            )
            .unwrap();
        set(&tx, a(1), "x", int(i32::from(end)));
        assert_eq!(found.all(), [a(end)]);
        assert_eq!(tx.follow_path([a(1)], &[PathStep::Forward(sid(half))], &[]).unwrap(), [a(end)]);
        tx.remove_listener(id).unwrap();
    }
}

/// Content for all fields of A1, with references to A2 and A3.
fn fill(tx: &Transaction) {
    create_all(tx, 1..=3);
    set(tx, a(1), "x", int(1));
    set(tx, a(1), "r", to_a(2));
    let refs = tx.set_view(a(1), "refs", Migrate::No).unwrap();
    let ints = tx.set_view(a(1), "ints", Migrate::No).unwrap();
    for n in [2, 3] {
        refs.add(&to_a(n)).unwrap();
        ints.add(&int(i32::from(n))).unwrap();
    }
    tx.list_view(a(1), "list", Migrate::No).unwrap().extend(&[to_a(3), to_a(2)]).unwrap();
    tx.map_view(a(1), "map", Migrate::No).unwrap().put(&to_a(2), &to_a(3)).unwrap();
    tx.map_view(a(1), "names", Migrate::No).unwrap().put(&int(2), &int(3)).unwrap();
}

const FIELDS: [u32; 7] = [20, 23, 30, 32, 34, 36, 39];

/// The events that listeners to all fields got, in the order of the fields.
fn take(events: &[Events]) -> Vec<String> {
    events.iter().map(|events| events.take().join("; ")).collect()
}

#[test]
fn listeners_are_called_for_all_content_of_a_new_object() {
    let world = World::new();
    let tx = world.begin(ALL);
    fill(&tx);
    let data = tx.load(a(1), Migrate::No).unwrap();
    let [two, three] = [a(2), a(3)];
    let expected = [
        "0 -> 1".to_owned(),
        format!("null -> {two}"),
        format!("add {two}; add {three}"),
        "add 2; add 3".to_owned(),
        format!("add 0:{three}; add 1:{two}"),
        format!("add {two}={three}"),
        "add 2=3".to_owned(),
    ];
    let ways: [&dyn Fn(&Transaction); 3] = [
        &|other| assert!(tx.copy_to(a(1), other, &mut CopyOptions::new()).unwrap()),
        &|other| assert!(other.create_with(Some(a(1)), &data).unwrap().is_some()),
        &|other| assert!(other.replace_object(a(1), &data, &mut CopyOptions::new()).unwrap()),
    ];
    for (number, way) in ways.iter().enumerate() {
        let other = tx.detached().unwrap();
        let events: Vec<_> = FIELDS.map(|field| Events::on(&other, field)).into();
        way(&other);
        assert_eq!(take(&events), expected, "way {number}");
    }
}

/// If a copy replaces references in a collection, listeners get the changes "cleared" and "added"
/// for each element. For all other fields they get the differences.
#[test]
fn a_copy_that_replaces_ids_clears_and_fills_collections_of_references() {
    let world = World::new();
    let tx = world.begin(ALL);
    fill(&tx);
    create_all(&tx, 4..=6);
    let events: Vec<_> = FIELDS.map(|field| Events::on(&tx, field)).into();
    let mut ids = IdMap::from([(a(1), Some(a(6))), (a(2), Some(a(4)))]);
    let mut copy = || {
        let options = &mut CopyOptions::new().mapping_ids(&mut ids);
        assert!(!tx.copy_to(a(1), &tx, options).unwrap());
        take(&events)
    };
    let [three, four] = [a(3), a(4)];
    let filled = [
        "0 -> 1".to_owned(),
        format!("null -> {four}"),
        format!("add {three}; add {four}"),
        "add 2; add 3".to_owned(),
        format!("add 0:{three}; add 1:{four}"),
        format!("add {four}={three}"),
        "add 2=3".to_owned(),
    ];
    assert_eq!(copy(), filled, "the collections were empty before");
    let nothing = String::new;
    let again = [
        nothing(),
        nothing(),
        format!("clear; add {three}; add {four}"),
        nothing(),
        nothing(),
        format!("clear; add {four}={three}"),
        nothing(),
    ];
    assert_eq!(copy(), again);
    let other = tx.snapshot().unwrap();
    let events: Vec<_> = FIELDS.map(|field| Events::on(&other, field)).into();
    for options in [&mut CopyOptions::new(), &mut CopyOptions::new().mapping_ids(&mut IdMap::new())]
    {
        assert!(!tx.copy_to(a(6), &other, options).unwrap());
        assert_eq!(take(&events), vec![String::new(); FIELDS.len()], "no id was replaced");
    }
}

#[test]
fn only_a_copy_that_succeeds_notes_missing_targets() {
    let world = World::new();
    let tx = world.begin(ALL);
    create_all(&tx, 1..=3);
    create(&tx, b(1));
    set(&tx, a(1), "r", to_a(2));
    set(&tx, a(1), "s", to_a(3));
    let other = World::new();
    let dest = other.begin(ALL);
    let mut missing = MissingTargets::from([(a(9), Arc::from("x"))]);
    // In the destination, `r` would refer to a missing object, and `s` to an object of a type that
    // it does not allow.
    let mut ids = IdMap::from([(a(3), Some(b(1)))]);
    let options = &mut CopyOptions::new().noting_missing(&mut missing).mapping_ids(&mut ids);
    let refused = tx.copy_to(a(1), &dest, options);
    assert_invalid_value(refused);
    assert!(missing.keys().eq([&a(9)]), "{missing:?}");
    create(&dest, a(3));
    let options = &mut CopyOptions::new().noting_missing(&mut missing);
    assert!(tx.copy_to(a(1), &dest, options).unwrap());
    assert!(missing.keys().eq([&a(2), &a(9)]), "{missing:?}");
}

/// If a list loses its last element in a migration, listeners get the change "cleared" (D14).
#[test]
fn a_list_that_a_migration_empties_is_cleared() {
    let world = World::new();
    let tx = world.begin(ALL);
    create_all(&tx, 1..=4);
    create(&tx, b(1));
    let gone = Value::Ref(b(1));
    let kept = to_a(1);
    for (n, content) in [
        (1, vec![gone.clone()]),
        (2, vec![gone.clone(), gone.clone()]),
        (3, vec![kept.clone(), gone.clone()]),
        (4, vec![gone.clone(), kept]),
    ] {
        tx.list_view(a(n), "list", Migrate::No).unwrap().extend(&content).unwrap();
    }
    tx.commit().unwrap();
    let tx = world.begin(&narrow());
    let list = Events::on(&tx, 34);
    let of = |at: u8| format!("remove {at}:{}", b(1));
    for (n, events) in [
        (1, vec!["clear".to_owned()]),
        (2, vec![of(0), "clear".to_owned()]),
        (3, vec![of(1)]),
        (4, vec![of(0)]),
    ] {
        assert!(tx.migrate(a(n)).unwrap());
        assert_eq!(list.take(), events, "list {n}");
    }
}

/// If a creation listener deletes an object to which the new object refers, the creation is
/// refused, and everything that the listener did is undone. The same holds within another listener.
#[test]
fn a_new_object_whose_references_a_listener_breaks_is_refused() {
    let world = World::new();
    let tx = world.begin(ALL);
    fill(&tx);
    let data = tx.load(a(1), Migrate::No).unwrap();
    on_create(&tx, |tx, _| tx.delete(a(2)).map(drop));
    let refused = move |tx: &Transaction| {
        assert_deleted(tx.create_with(Some(a(7)), &data), a(2));
        assert_eq!([2, 7].map(|n| tx.exists(a(n)).unwrap()), [true, false]);
        assert_eq!(tx.get(a(1), "r", Migrate::No).unwrap(), to_a(2));
    };
    refused(&tx);
    let times = Arc::new(Mutex::new(0));
    let count = Arc::clone(&times);
    on_change(&tx, 20, move |tx, _, _| {
        refused(tx);
        *count.lock().unwrap() += 1;
        Ok(())
    });
    let r = Events::on(&tx, 23);
    set(&tx, a(1), "x", int(7));
    assert_eq!(*times.lock().unwrap(), 1);
    assert_eq!(r.take(), NOTHING);
}

#[test]
fn content_that_does_not_fit_is_refused_before_listeners_to_creation_are_called() {
    let db = Database::new(Arc::new(PeculiarStore::with_short_keys(25)));
    let text_field = r#"<SetField name="set" storageId="12"><SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="13" indexed="true"/></SetField>"#;
    let xml = format!(
        r#"<Schema><ObjectType name="A" storageId="10">{text_field}</ObjectType></Schema>"#
    );
    let config = TransactionConfig::new(SchemaModel::from_xml(xml.as_bytes()).unwrap()).unwrap();
    let tx = db.begin(&config).unwrap();
    let calls = Arc::new(Mutex::new(0));
    let count = Arc::clone(&calls);
    on_create(&tx, move |_, _| {
        *count.lock().unwrap() += 1;
        Ok(())
    });
    let object_type = tx.schema().object_type("A").unwrap().clone();
    let mut content = ObjectBuilder::new(object_type.clone());
    content
        .write_set_element(object_type.field("set").unwrap(), |out| {
            out.extend_from_slice(b"01234567890123456789\0");
            Ok(())
        })
        .unwrap();
    let refused = tx.create_with(Some(a(1)), &content.finish());
    assert!(matches!(refused, Err(Error::KeyTooLong { .. })), "{refused:?}");
    assert_eq!(*calls.lock().unwrap(), 0);
}

/// A cascade deletes an object, and continues with others. A listener creates the object again, and
/// can delete it again.
#[test]
fn an_object_made_anew_during_a_deletion_can_be_deleted_again() {
    let world = World::new();
    let tx = world.begin(&ALL.replace(
        r#"storageId="23" inverseDelete="NULLIFY""#,
        r#"storageId="23" inverseDelete="DELETE""#,
    ));
    create_all(&tx, 1..=2);
    set(&tx, a(2), "r", to_a(1));
    let (again, results) = Log::pair();
    let watch = Watch::filtered(vec![], vec![Some(IdFilter::of_ids([a(2)]))]).unwrap();
    tx.on_delete(
        watch,
        Arc::new(move |tx, _, _| {
            create(tx, a(1));
            results.add(tx.delete(a(1))?)
        }),
    )
    .unwrap();
    assert!(tx.delete(a(1)).unwrap());
    assert_eq!(again.all(), [true]);
    assert_eq!([1, 2].map(|n| tx.exists(a(n)).unwrap()), [false, false]);
}

#[test]
fn listeners_are_called_for_content_that_is_replaced_by_no_content() {
    let world = World::new();
    let tx = world.begin(ALL);
    fill(&tx);
    let events: Vec<_> = FIELDS.map(|field| Events::on(&tx, field)).into();
    let empty = tx.load(a(2), Migrate::No).unwrap();
    tx.store_object(a(1), &empty, Migrate::No).unwrap();
    let [two, three] = [a(2), a(3)];
    assert_eq!(
        take(&events),
        [
            "1 -> 0".to_owned(),
            format!("{two} -> null"),
            format!("remove {two}; remove {three}"),
            "remove 2; remove 3".to_owned(),
            "clear".to_owned(),
            format!("remove {two}={three}"),
            "remove 2=3".to_owned(),
        ]
    );
}
