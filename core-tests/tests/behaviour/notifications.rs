//! Notifications: behaviours 101 to 111.

use std::sync::{Arc, Mutex};

use permazen::__internal::object::ListenerSet;
use permazen::ObjId;
use permazen::encoding::Value;
use permazen::object::{ChangeKind, Error, IdFilter, Migrate, PathStep, Transaction, Watch};
use permazen::schema::SchemaModel;

use crate::support::*;

/// The schema of the reference tests: two types that refer to each other.
const TWO: &str = r#"<Schema>
<ObjectType name="Foo" storageId="100">
  <SimpleField name="i" encoding="urn:fdc:permazen.io:2020:int" storageId="102"/>
  <ReferenceField name="r" storageId="109" inverseDelete="NULLIFY"/>
  <SetField name="set" storageId="120"><ReferenceField storageId="121" inverseDelete="NULLIFY"/></SetField>
</ObjectType>
<ObjectType name="Bar" storageId="200"><SimpleField name="i" encoding="urn:fdc:permazen.io:2020:int" storageId="102"/></ObjectType>
</Schema>"#;

/// Three plain fields, in the order of their storage IDs, and a list of references.
const XYZ: &str = r#"<Schema><ObjectType name="A" storageId="10">
  <SimpleField name="x" encoding="urn:fdc:permazen.io:2020:int" storageId="11"/>
  <SimpleField name="y" encoding="urn:fdc:permazen.io:2020:int" storageId="12"/>
  <SimpleField name="z" encoding="urn:fdc:permazen.io:2020:int" storageId="13"/>
  <CounterField name="c" storageId="14"/>
  <ListField name="list" storageId="22"><ReferenceField storageId="23" inverseDelete="NULLIFY"/></ListField>
</ObjectType></Schema>"#;

fn foo(n: u8) -> ObjId {
    ObjId::from_bytes([0x64, 0, 0, 0, 0, 0, 0, n]).unwrap()
}

fn bar(n: u8) -> ObjId {
    ObjId::from_bytes([0xc8, 0, 0, 0, 0, 0, 0, n]).unwrap()
}

/// Records which listener is called for which object.
fn watch(tx: &Transaction, field: u32, watch: Watch) -> Log<(ObjId, Vec<ObjId>)> {
    let (told, listener) = Log::pair();
    tx.on_change(
        sid(field),
        watch,
        Arc::new(move |_, change, referrers| listener.add((change.id(), referrers.to_vec()))),
    )
    .unwrap();
    told
}

#[test]
fn t101_t102_t103_paths_and_filters() {
    let world = World::new();
    let tx = world.begin(TWO);
    for n in 1..=4 {
        create(&tx, foo(n));
    }
    create(&tx, bar(1));
    let set_of = |n| tx.set_view(foo(n), "set", Migrate::No).unwrap();
    set(&tx, foo(1), "r", Value::Ref(foo(2)));
    set(&tx, foo(3), "r", Value::Ref(foo(2)));
    set_of(2).add(&Value::Ref(foo(4))).unwrap();
    set_of(2).add(&Value::Ref(bar(1))).unwrap();
    let path = vec![PathStep::Forward(sid(109)), PathStep::Forward(sid(121))];
    let two_steps = watch(&tx, 102, Watch::along(path.clone()));
    let only_bars = Some(IdFilter::of_types([sid(200)]));
    let filtered = Watch::filtered(path.clone(), vec![None, None, only_bars]).unwrap();
    let bars = watch(&tx, 102, filtered);
    let exactly = Some(IdFilter::of_ids([foo(3)]));
    let first = Watch::filtered(path, vec![exactly, None, None]).unwrap();
    let from_three = watch(&tx, 102, first);
    set(&tx, foo(4), "i", int(1));
    assert_eq!(two_steps.take(), [(foo(4), vec![foo(1), foo(3)])]);
    assert_eq!(bars.take(), []);
    assert_eq!(from_three.take(), [(foo(4), vec![foo(3)])]);
    set(&tx, bar(1), "i", int(1));
    assert_eq!(two_steps.take(), [(bar(1), vec![foo(1), foo(3)])]);
    assert_eq!(bars.take(), [(bar(1), vec![foo(1), foo(3)])]);
    set(&tx, foo(3), "i", int(1));
    assert_eq!(two_steps.take(), [], "nobody holds it");
}

#[test]
fn watchers_of_one_field_have_filters_of_their_own() {
    let world = World::new();
    let tx = world.begin(TWO);
    create(&tx, foo(1));
    create(&tx, foo(2));
    set(&tx, foo(1), "r", Value::Ref(foo(2)));
    set(&tx, foo(2), "r", Value::Ref(foo(2)));
    let path = vec![PathStep::Forward(sid(109))];
    let one = Some(IdFilter::of_ids([foo(1)]));
    let filtered = watch(&tx, 102, Watch::filtered(path.clone(), vec![one, None]).unwrap());
    let target = Some(IdFilter::of_ids([foo(2)]));
    let at_end = watch(&tx, 102, Watch::filtered(path.clone(), vec![None, target]).unwrap());
    let all = watch(&tx, 102, Watch::along(path));
    set(&tx, foo(2), "i", int(1));
    assert_eq!(filtered.take(), [(foo(2), vec![foo(1)])]);
    assert_eq!(at_end.take(), [(foo(2), vec![foo(1), foo(2)])], "a filter of single ids");
    assert_eq!(all.take(), [(foo(2), vec![foo(1), foo(2)])]);
}

#[test]
fn inverse_steps() {
    let world = World::new();
    let tx = world.begin(XYZ);
    create_all(&tx, 1..=3);
    let list = |n| tx.list_view(a(n), "list", Migrate::No).unwrap();
    list(1).extend(&[Value::Ref(a(2)), Value::Ref(a(2)), Value::Ref(a(3))]).unwrap();
    list(2).extend(&[Value::Ref(a(3))]).unwrap();
    let (forward, inverse) = (PathStep::Forward(sid(23)), PathStep::Inverse(sid(23)));
    let one = watch(&tx, 11, Watch::along([forward]));
    let two = watch(&tx, 11, Watch::along([forward, forward]));
    let back = watch(&tx, 11, Watch::along([inverse]));
    let both = watch(&tx, 11, Watch::along([forward, inverse]));
    set(&tx, a(3), "x", int(1));
    assert_eq!(one.take(), [(a(3), vec![a(1), a(2)])]);
    assert_eq!(two.take(), [(a(3), vec![a(1)])]);
    assert_eq!((back.take(), both.take()), (vec![], vec![]));
    set(&tx, a(2), "x", int(1));
    assert_eq!(back.take(), [(a(2), vec![a(3)])]);
    assert_eq!(both.take(), [(a(2), vec![a(1), a(2)])]);
    let world = World::new();
    let tx = world.begin(TWO);
    create(&tx, bar(1));
    let none = watch(&tx, 102, Watch::along([PathStep::Inverse(sid(109))]));
    set(&tx, bar(1), "i", int(1));
    assert_eq!(none.take(), [], "an object without the field leads nowhere");
}

#[test]
fn t104_changes_by_listeners_are_told_before_the_outer_call_returns() {
    let world = World::new();
    let tx = world.begin(XYZ);
    create(&tx, a(1));
    let (told, log) = Log::pair();
    for (field, name) in [(11, "x"), (12, "y"), (13, "z")] {
        let log = log.clone();
        on_change(&tx, field, move |tx, change, _| {
            let ChangeKind::Simple { old, new } = change.decode()? else { return Ok(()) };
            log.add(format!("{name} {}→{}", show(&old), show(&new)))?;
            let Value::Int(y) = new else { return Ok(()) };
            if name == "y" {
                let write = |field, value| tx.set(a(1), field, &int(value), Migrate::No);
                write("z", 1)?;
                write("x", 1)?;
                write("z", 2)?;
                if y < 3 {
                    write("y", y + 1)?;
                }
            }
            Ok(())
        });
    }
    set(&tx, a(1), "y", int(1));
    assert_eq!(
        told.all(),
        ["y 0→1", "x 0→1", "y 1→2", "y 2→3", "z 0→1", "z 1→2", "z 2→1", "z 1→2", "z 2→1", "z 1→2"]
    );
}

#[test]
fn t105_a_failing_listener_leaves_the_change_and_ends_the_telling() {
    let world = World::new();
    let tx = world.begin(XYZ);
    create(&tx, a(1));
    on_change(&tx, 11, |tx, _, _| {
        tx.set(a(1), "y", &int(1), Migrate::No)?;
        Err(Error::listener("no"))
    });
    let y = watch(&tx, 12, Watch::itself());
    assert!(matches!(tx.set(a(1), "x", &int(5), Migrate::No), Err(Error::Listener(_))));
    assert_eq!(tx.get(a(1), "x", Migrate::No).unwrap(), int(5));
    assert_eq!(tx.get(a(1), "y", Migrate::No).unwrap(), int(1));
    assert_eq!(y.take(), []);
    set(&tx, a(1), "y", int(2));
    assert_eq!(y.take().len(), 1, "the transaction continues");
    tx.commit().unwrap();
}

#[test]
fn a_refused_change_tells_nothing() {
    let world = World::new();
    let tx = world.begin(XYZ);
    create(&tx, a(1));
    let told = watch(&tx, 22, Watch::itself());
    let list = tx.list_view(a(1), "list", Migrate::No).unwrap();
    assert!(list.extend(&[Value::Ref(a(1)), Value::Ref(a(9))]).is_err());
    assert_eq!(told.take(), []);
}

#[test]
fn t106_the_same_registration_counts_once() {
    let world = World::new();
    let tx = world.begin(XYZ);
    create(&tx, a(1));
    let count = Arc::new(Mutex::new(0));
    let counter = Arc::clone(&count);
    let listener: permazen::__internal::object::FieldListener = Arc::new(move |_, _, _| {
        *counter.lock().unwrap() += 1;
        Ok(())
    });
    let first = tx.on_change(sid(11), Watch::itself(), listener.clone()).unwrap();
    let again = tx.on_change(sid(11), Watch::itself(), listener.clone()).unwrap();
    assert_eq!(first, again);
    set(&tx, a(1), "x", int(1));
    assert_eq!(*count.lock().unwrap(), 1);
    let filtered = Watch::filtered(vec![], vec![Some(IdFilter::of_types([sid(10)]))]).unwrap();
    let other = tx.on_change(sid(11), filtered, listener).unwrap();
    assert_ne!(first, other);
    set(&tx, a(1), "x", int(2));
    assert_eq!(*count.lock().unwrap(), 3);
    tx.remove_listener(first).unwrap();
    tx.remove_listener(first).unwrap();
    tx.remove_listener(other).unwrap();
    set(&tx, a(1), "x", int(3));
    assert_eq!(*count.lock().unwrap(), 3);
}

#[test]
fn t107_paths_are_checked_when_registering() {
    let world = World::new();
    let tx = world.begin(XYZ);
    let add = |field, path: Vec<PathStep>| {
        tx.on_change(sid(field), Watch::along(path), Arc::new(|_, _, _| Ok(())))
    };
    assert_unknown_field(add(11, vec![PathStep::Forward(sid(99))]));
    assert_unknown_field(add(11, vec![PathStep::Inverse(sid(11))]));
    assert_unknown_field(add(11, vec![PathStep::Forward(sid(22))]));
    add(99, vec![PathStep::Forward(sid(23))]).unwrap();
    assert_invalid_argument(Watch::filtered(vec![], vec![None, None]));
    let create = tx.on_create(sid(99), Arc::new(|_, _| Ok(())));
    assert!(matches!(create, Err(Error::UnknownType { .. })));
    let schema = tx.on_schema_change(sid(11), Arc::new(|_, _| Ok(())));
    assert!(matches!(schema, Err(Error::UnknownType { .. })));
}

#[test]
fn t108_installed_sets_cannot_be_added_to() {
    let world = World::new();
    let tx = world.begin(XYZ);
    let told = watch(&tx, 11, Watch::itself());
    let set = tx.listeners();
    tx.commit().unwrap();
    let tx = world.begin(XYZ);
    create(&tx, a(1));
    tx.set_listeners(Arc::clone(&set)).unwrap();
    crate::support::set(&tx, a(1), "x", int(1));
    assert_eq!(told.take(), [(a(1), vec![a(1)])]);
    let added = tx.on_create(sid(10), Arc::new(|_, _| Ok(())));
    assert!(matches!(added, Err(Error::ListenersInstalled)));
    tx.set_listeners(Arc::new(ListenerSet::new(tx.bundle()))).unwrap();
    crate::support::set(&tx, a(1), "x", int(2));
    assert_eq!(told.take(), []);
    tx.add_schema(&SchemaModel::from_xml(TWO.as_bytes()).unwrap()).unwrap();
    tx.set_listeners(set).unwrap();
    crate::support::set(&tx, a(1), "x", int(3));
    assert_eq!(told.take(), [(a(1), vec![a(1)])]);
}

#[test]
fn t109_t110_no_events_of_counters_and_of_deleted_objects() {
    let world = World::new();
    let tx = world.begin(XYZ);
    create(&tx, a(1));
    set(&tx, a(1), "x", int(1));
    let told: Vec<_> = [11, 14].map(|field| watch(&tx, field, Watch::itself())).into();
    tx.adjust_counter(a(1), "c", 3, Migrate::No).unwrap();
    tx.delete(a(1)).unwrap();
    assert!(told.iter().all(|told| told.take().is_empty()));
}

#[test]
fn t111_create_listeners_are_of_one_type() {
    let world = World::new();
    let tx = world.begin(TWO);
    let (told, listener) = Log::pair();
    tx.on_create(
        sid(100),
        Arc::new(move |tx, id| {
            assert!(tx.exists(id)?);
            listener.add(id)
        }),
    )
    .unwrap();
    create(&tx, bar(1));
    create(&tx, foo(1));
    assert!(!tx.create_with_id(foo(1)).unwrap());
    assert_eq!(told.all(), [foo(1)]);
    tx.on_create(sid(200), Arc::new(|_, _| Err(Error::listener("no")))).unwrap();
    assert!(matches!(tx.create_with_id(bar(2)), Err(Error::Listener(_))));
    assert!(tx.exists(bar(2)).unwrap(), "the object is there");
}

#[test]
fn an_id_of_a_listener_of_another_transaction_removes_nothing() {
    let world = World::new();
    let tx = world.begin(XYZ);
    let of_this = tx.on_create(sid(10), Arc::new(|_, _| Ok(()))).unwrap();
    let other = tx.detached().unwrap();
    let told = count_created(&other);
    other.remove_listener(of_this).unwrap();
    create(&other, a(1));
    assert_eq!(*told.lock().unwrap(), 1);
}

#[test]
fn whatever_a_listener_fails_with_is_not_taken_for_a_refusal() {
    let world = World::new();
    let tx = world.begin(XYZ);
    create(&tx, a(1));
    on_change(&tx, 11, |tx, _, _| tx.set(a(9), "y", &int(1), Migrate::No));
    match tx.set(a(1), "x", &int(5), Migrate::No) {
        Err(Error::Listener(cause)) => {
            let cause = cause.downcast::<Error>().unwrap();
            assert!(matches!(*cause, Error::DeletedObject { id, .. } if id == a(9)), "{cause}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(tx.get(a(1), "x", Migrate::No).unwrap(), int(5), "the change stays");
}

#[test]
fn listeners_cover_types_that_are_added_later() {
    let world = World::new();
    let tx = world.begin(XYZ);
    let (told, listener) = Log::pair();
    on_delete(&tx, move |_, id, _| listener.add(id));
    let two = SchemaModel::from_xml(TWO.as_bytes()).unwrap();
    assert!(tx.add_schema(&two).unwrap());
    assert!(tx.create_with_id_in(bar(1), two.schema_id()).unwrap());
    assert!(tx.delete(bar(1)).unwrap());
    assert_eq!(told.all(), [bar(1)]);
}
