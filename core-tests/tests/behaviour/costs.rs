//! The cost of each public operation, in operations of the store.

use std::collections::BTreeSet;
use std::ops::{Bound, ControlFlow};

use permazen::encoding::Value;
use permazen::kv::counting::Operations;
use permazen::object::{CopyOptions, Error, IndexView, Migrate, PathStep, Transaction};

use permazen::schema::SchemaModel;

use crate::changes::*;
use crate::collection_costs::{OF_LISTS, OF_MAPS, OF_SETS};
use crate::support::*;

/// `1 get, 2 puts`.
pub(crate) fn told(cost: Operations) -> String {
    let kinds = [
        ("get", cost.gets),
        ("seek", cost.seeks),
        ("step", cost.steps),
        ("put", cost.puts),
        ("delete", cost.removes),
        ("range removal", cost.span_removes),
        ("adjustment", cost.adjusts),
        ("snapshot", cost.snapshots),
    ];
    let told: Vec<String> = kinds
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{count} {kind}{}", if count == 1 { "" } else { "s" }))
        .collect();
    if told.is_empty() { "nothing".to_owned() } else { told.join(", ") }
}

pub(crate) type Costs = &'static [(&'static str, fn(&Transaction), &'static str)];

/// Costs where the transaction already knows the objects.
pub(crate) fn check(costs: Costs) {
    let world = World::new();
    let tx = world.begin(&schema());
    fill(&tx);
    tx.commit().unwrap();
    let mut wrong = Vec::new();
    for (name, operation, expected) in costs {
        let tx = world.begin(&schema());
        for n in 1..=6 {
            assert!(tx.exists(foo_id(n)).unwrap());
        }
        let ((), cost) = world.cost(|| operation(&tx));
        if told(cost) != *expected {
            wrong.push(format!("{name}: {}; expected {expected}", told(cost)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

pub(crate) const NO: Migrate = Migrate::No;

const OF_OBJECTS: Costs = &[
    ("Transaction::generate_id", |tx| assert!(tx.generate_id("Foo").is_ok()), "1 get"),
    ("Transaction::create", |tx| assert!(tx.create("Foo").is_ok()), "10 puts"),
    ("Transaction::create_in", |tx| assert!(tx.create_in("Foo", &tx.schema()).is_ok()), "10 puts"),
    (
        "Transaction::create_with_id",
        |tx| assert!(tx.create_with_id(foo_id(9)).unwrap()),
        "1 get, 10 puts",
    ),
    (
        "Transaction::create_with_id of an object there is",
        |tx| assert!(!tx.create_with_id(foo_id(1)).unwrap()),
        "nothing",
    ),
    (
        "Transaction::create_with_id_in",
        |tx| assert!(tx.create_with_id_in(foo_id(9), tx.schema().id).unwrap()),
        "1 get, 10 puts",
    ),
    // The puts of `create`; a field; an element of list and of set, each with an index entry; an
    // entry of the map with two.
    (
        "Transaction::create_with",
        |tx| assert!(tx.create_with(Some(foo_id(9)), &data(tx)).unwrap().is_some()),
        "1 get, 18 puts",
    ),
    (
        "Transaction::create_many",
        |tx| assert_eq!(tx.create_many(&[data(tx), data(tx)]).unwrap().len(), 2),
        "36 puts",
    ),
    ("Transaction::exists", |tx| assert!(tx.exists(foo_id(1)).unwrap()), "nothing"),
    ("Transaction::exists no more", |tx| assert!(!tx.exists(foo_id(9)).unwrap()), "1 get"),
    ("Transaction::object_type", |tx| drop(tx.object_type(foo_id(1)).unwrap()), "nothing"),
    ("Transaction::object_schema", |tx| drop(tx.object_schema(foo_id(1)).unwrap()), "nothing"),
    ("Transaction::load", |tx| drop(tx.load(foo_id(2), NO).unwrap()), "1 seek, 15 steps"),
    (
        "Transaction::visit",
        |tx| tx.visit(foo_id(2), NO, |_, _| Ok(())).unwrap(),
        "1 seek, 15 steps",
    ),
    // Five pairs are put and ten deleted. Seven index entries are put and twelve deleted.
    (
        "Transaction::store_object",
        |tx| tx.store_object(foo_id(6), &data(tx), NO).unwrap(),
        "1 seek, 14 steps, 12 puts, 22 deletes",
    ),
    (
        "Transaction::store_object that is the same",
        |tx| tx.store_object(foo_id(1), &tx.load(foo_id(1), NO).unwrap(), NO).unwrap(),
        "2 seeks, 30 steps",
    ),
    (
        "Transaction::replace_object",
        |tx| {
            tx.replace_object(foo_id(6), &data(tx), &mut CopyOptions::new()).unwrap();
        },
        "1 seek, 14 steps, 12 puts, 22 deletes",
    ),
    // 14 pairs; an index entry for each of five fields; seven elements and entries, two of them
    // also by their values; two composite indexes; and the schema.
    ("Transaction::copy_to", |tx| copy(tx, 6, 9).unwrap(), "1 get, 1 seek, 14 steps, 31 puts"),
    (
        "Transaction::copy_to another one",
        |tx| copy(tx, 6, 3).unwrap(),
        "2 seeks, 29 steps, 5 puts, 5 deletes",
    ),
    // 23 pairs; an index entry for each of five fields; seven elements and entries, two of them
    // also by their values; twelve references in collections; two composite indexes; and the
    // schema. A seek for each of seven reference fields.
    (
        "Transaction::delete",
        |tx| assert!(tx.delete(foo_id(5)).unwrap()),
        "8 seeks, 23 steps, 29 deletes, 1 range removal",
    ),
    (
        "Transaction::delete_telling",
        |tx| assert!(tx.delete_telling(foo_id(5), &mut |_| Ok(())).unwrap()),
        "8 seeks, 23 steps, 29 deletes, 1 range removal",
    ),
    (
        "Transaction::delete_together",
        |tx| tx.delete_together(&[foo_id(5)], &mut |_| Ok(())).unwrap(),
        "8 seeks, 23 steps, 29 deletes, 1 range removal",
    ),
    (
        "Transaction::each_refusal",
        |tx| tx.each_refusal(foo_id(5), &mut |_, _| ControlFlow::Continue(())).unwrap(),
        "1 seek",
    ),
    (
        "Transaction::migrate_exactly to its own schema",
        |tx| assert!(!tx.migrate_exactly(foo_id(1), tx.schema().id).unwrap()),
        "nothing",
    ),
    (
        "Transaction::migrate_losing to its own schema",
        |tx| assert!(tx.migrate_losing(foo_id(1), tx.schema().id).unwrap().is_empty()),
        "nothing",
    ),
    (
        "Transaction::pending_changes that the store does not know",
        |tx| assert!(tx.pending_changes(|_| Ok(())).unwrap().is_none()),
        "nothing",
    ),
    ("Transaction::delete of nothing", |tx| assert!(!tx.delete(foo_id(9)).unwrap()), "1 get"),
    ("Transaction::migrate", |tx| assert!(!tx.migrate(foo_id(1)).unwrap()), "nothing"),
    ("Transaction::atomic", |tx| tx.atomic(|_| Ok::<_, Error>(())).unwrap(), "nothing"),
    (
        "Transaction::atomic setting a field that nobody has read",
        |tx| tx.atomic(|tx| tx.set(foo_id(1), "note", &text("a"), NO)).unwrap(),
        "1 get, 1 put",
    ),
    (
        "Transaction::schemas_in_use",
        |tx| assert_eq!(tx.schemas_in_use().unwrap().len(), 1),
        "2 seeks",
    ),
    ("Transaction::snapshot", |tx| drop(tx.snapshot().unwrap()), "1 snapshot"),
    ("Transaction::detached", |tx| drop(tx.detached().unwrap()), "2 seeks, 30 steps"),
    (
        "Transaction::add_schema",
        |tx| assert!(tx.add_schema(&SchemaModel::from_xml(FOO.as_bytes()).unwrap()).unwrap()),
        "1 put",
    ),
    (
        "Transaction::follow_path",
        |tx| drop(tx.follow_path([foo_id(3)], &[PathStep::Forward(sid(13))], &[]).unwrap()),
        "1 get",
    ),
    (
        "Transaction::follow_path through a list",
        |tx| drop(tx.follow_path([foo_id(5)], &[PathStep::Forward(sid(42))], &[]).unwrap()),
        "1 seek, 5 steps",
    ),
    (
        "Transaction::invert_path",
        |tx| drop(tx.invert_path(&[PathStep::Forward(sid(42))], &[], [foo_id(1)]).unwrap()),
        "1 seek, 2 steps",
    ),
];

const OF_FIELDS: Costs = &[
    ("Transaction::get", |tx| assert_eq!(tx.get(foo_id(1), "i", NO).unwrap(), int(1)), "1 get"),
    (
        "Transaction::encoded().get",
        |tx| tx.encoded().get(foo_id(1), &field(tx, "i"), NO, |_| ()).unwrap(),
        "1 get",
    ),
    ("Transaction::is_default", |tx| assert!(!tx.is_default(foo_id(1), "i").unwrap()), "1 get"),
    (
        "Transaction::is_default of a collection",
        |tx| assert!(!tx.is_default(foo_id(1), "list").unwrap()),
        "1 seek",
    ),
    ("Transaction::counter", |tx| assert_eq!(tx.counter(foo_id(1), "c", NO).unwrap(), 0), "1 get"),
    (
        "Transaction::encoded().counter",
        |tx| assert_eq!(tx.encoded().counter(foo_id(1), &field(tx, "c"), NO).unwrap(), 0),
        "1 get",
    ),
    (
        "Transaction::set without an index",
        |tx| tx.set(foo_id(1), "note", &text("new"), NO).unwrap(),
        "1 put",
    ),
    (
        "Transaction::set without an index to the default",
        |tx| tx.set(foo_id(1), "note", &Value::Null, NO).unwrap(),
        "1 delete",
    ),
    (
        "Transaction::set with an index",
        |tx| tx.set(foo_id(1), "owner", &to(3), NO).unwrap(),
        "1 get, 2 puts, 1 delete",
    ),
    (
        "Transaction::set with an index to the default",
        |tx| tx.set(foo_id(2), "owner", &Value::Null, NO).unwrap(),
        "1 get, 1 put, 2 deletes",
    ),
    (
        "Transaction::set with an index to what it is",
        |tx| tx.set(foo_id(2), "owner", &to(1), NO).unwrap(),
        "1 get",
    ),
    // The other fields of the composite indexes are s, r and e.
    (
        "Transaction::set with composite indexes",
        |tx| tx.set(foo_id(1), "i", &int(5), NO).unwrap(),
        "4 gets, 4 puts, 3 deletes",
    ),
    (
        "Transaction::encoded().set",
        |tx| tx.encoded().set(foo_id(1), &field(tx, "i"), &[0x84], NO).unwrap(),
        "4 gets, 4 puts, 3 deletes",
    ),
    ("Transaction::set_counter", |tx| tx.set_counter(foo_id(1), "c", 8, NO).unwrap(), "1 put"),
    (
        "Transaction::encoded().set_counter",
        |tx| tx.encoded().set_counter(foo_id(1), &field(tx, "c"), 8, NO).unwrap(),
        "1 put",
    ),
    (
        "Transaction::adjust_counter",
        |tx| tx.adjust_counter(foo_id(1), "c", 8, NO).unwrap(),
        "1 get, 1 adjustment",
    ),
    (
        "Transaction::encoded().adjust_counter",
        |tx| tx.encoded().adjust_counter(foo_id(1), &field(tx, "c"), 8, NO).unwrap(),
        "1 get, 1 adjustment",
    ),
];

fn index<'t>(tx: &'t Transaction) -> IndexView<'t> {
    tx.simple_index(sid(11)).unwrap()
}

const OF_QUERIES: Costs = &[
    ("Transaction::objects", |tx| drop(tx.objects("Foo").unwrap()), "nothing"),
    ("Transaction::objects_of", |tx| drop(tx.objects_of([sid(10)]).unwrap()), "nothing"),
    ("Transaction::all_objects", |tx| drop(tx.all_objects().unwrap()), "nothing"),
    (
        "Transaction::objects_in_schema",
        |tx| drop(tx.objects_in_schema(tx.schema().index).unwrap()),
        "nothing",
    ),
    (
        "Transaction::objects_in_schema read",
        |tx| assert_eq!(tx.objects_in_schema(tx.schema().index).unwrap().count().unwrap(), 6),
        "1 seek, 6 steps",
    ),
    ("Transaction::id_set", |tx| drop(tx.id_set([foo_id(1)]).unwrap()), "nothing"),
    ("Transaction::referrers", |tx| drop(tx.referrers(sid(42), foo_id(1))), "nothing"),
    (
        "Transaction::referrers read",
        |tx| assert_eq!(tx.referrers(sid(42), foo_id(1)).count().unwrap(), 1),
        "1 seek, 2 steps",
    ),
    ("Transaction::index", |tx| drop(tx.index(sid(11)).unwrap()), "nothing"),
    ("Transaction::simple_index", |tx| drop(index(tx)), "nothing"),
    (
        "Transaction::list_element_index",
        |tx| drop(tx.list_element_index(sid(23)).unwrap()),
        "nothing",
    ),
    ("Transaction::map_value_index", |tx| drop(tx.map_value_index(sid(26)).unwrap()), "nothing"),
    ("Transaction::composite_index", |tx| drop(tx.composite_index(sid(30), 2).unwrap()), "nothing"),
    ("Transaction::index_by_name", |tx| drop(tx.index_by_name("Foo", "is").unwrap()), "nothing"),
    ("IndexView::entries", |tx| assert_eq!(index(tx).entries().count(), 6), "1 seek, 6 steps"),
    (
        "IndexView::iter_with",
        |tx| assert_eq!(index(tx).iter_with(|_| Ok(())).count(), 6),
        "1 seek, 6 steps",
    ),
    ("IndexView::ids", |tx| assert_eq!(index(tx).ids().count(), 6), "1 seek, 6 steps"),
    ("IndexView::count", |tx| assert_eq!(index(tx).count().unwrap(), 6), "1 seek, 6 steps"),
    ("IndexView::first", |tx| drop(index(tx).first().unwrap()), "1 seek, 6 steps"),
    ("IndexView::last", |tx| drop(index(tx).last().unwrap()), "1 seek, 6 steps"),
    ("IndexView::is_empty", |tx| assert!(!index(tx).is_empty().unwrap()), "1 seek, 6 steps"),
    ("IndexView::get", |tx| drop(index(tx).get(&[int(1)]).unwrap()), "nothing"),
    (
        "IndexView::get read",
        |tx| assert_eq!(index(tx).get(&[int(1)]).unwrap().count().unwrap(), 1),
        "1 seek, 1 step",
    ),
    (
        "IndexView::id_set of one value",
        |tx| drop(index(tx).with_value(0, &int(1)).unwrap().id_set().unwrap()),
        "nothing",
    ),
    (
        "IndexView::id_set",
        |tx| assert_eq!(index(tx).id_set().unwrap().count().unwrap(), 6),
        "1 seek, 6 steps",
    ),
    (
        "IndexView::with_bounds",
        |tx| {
            let range =
                index(tx).with_bounds(0, Bound::Included(&int(2)), Bound::Excluded(&int(4)));
            assert_eq!(range.unwrap().ids().count(), 2);
        },
        "1 seek, 2 steps",
    ),
    (
        "IndexView::in_schema",
        |tx| assert_eq!(index(tx).in_schema(tx.schema().index).ids().count(), 6),
        "6 gets, 1 seek, 6 steps",
    ),
    (
        "IdSet::contains",
        |tx| assert!(tx.objects("Foo").unwrap().contains(foo_id(1)).unwrap()),
        "1 seek",
    ),
    ("IdSet::first", |tx| assert!(tx.objects("Foo").unwrap().first().unwrap().is_some()), "1 seek"),
    ("IdSet::last", |tx| assert!(tx.objects("Foo").unwrap().last().unwrap().is_some()), "1 seek"),
    ("IdSet::is_empty", |tx| assert!(!tx.objects("Foo").unwrap().is_empty().unwrap()), "1 seek"),
    (
        "IdSet::count",
        |tx| assert_eq!(tx.objects("Foo").unwrap().count().unwrap(), 6),
        "2 seeks, 91 steps",
    ),
    (
        "IdSet::to_vec",
        |tx| assert_eq!(tx.objects("Foo").unwrap().to_vec().unwrap().len(), 6),
        "3 seeks, 97 steps",
    ),
];

#[test]
fn of_objects() {
    check(OF_OBJECTS);
}

#[test]
fn of_fields() {
    check(OF_FIELDS);
}

#[test]
fn of_queries() {
    check(OF_QUERIES);
}

/// Methods that need no operation of the store, need some only at the beginning or end of the
/// transaction, or cost the same as another method, as their documentation says.
const NOT_HERE: &str = "\
    Transaction::schema Transaction::bundle Transaction::is_open Transaction::is_detached Transaction::into_store \
    Transaction::is_read_only Transaction::set_read_only Transaction::set_timeout \
    Transaction::set_rollback_only Transaction::is_rollback_only Transaction::user_object \
    Transaction::set_user_object Transaction::add_callback Transaction::commit Transaction::rollback \
    Transaction::type_storage_id Transaction::field_storage_id Transaction::type_name Transaction::object_key \
    Transaction::on_create Transaction::on_schema_change Transaction::on_delete \
    Transaction::on_change Transaction::remove_listener Transaction::listeners \
    Transaction::set_listeners Transaction::read_pairs Transaction::untracked Transaction::watch_key \
    Transaction::watch_object Transaction::watch_field Transaction::index_view \
    Transaction::add_schemas Transaction::remove_schema Transaction::reset \
    Transaction::encoded ListView::id ListView::field ListView::encoded SetView::id SetView::field \
    SetView::encoded SetView::encoded().range MapView::id MapView::field MapView::encoded \
    MapView::encoded().range ListCursor::position IndexView::encoded \
    IndexView::shape IndexView::columns IndexView::encoded().with_bounds IndexView::with_tuple_bounds \
    IndexView::with_value IndexView::encoded().with_value IndexView::with_prefix \
    IndexView::with_prefix_of IndexView::of_types IndexView::of_ids IndexView::with_references_to \
    IndexView::distinct IndexView::truncated IndexView::values \
    IndexView::in_schemas IdSet::union IdSet::union_all IdSet::intersection \
    IdSet::intersection_all IdSet::difference IdSet::range IdSet::of_types IdSet::iter";

#[test]
fn the_cost_of_every_operation_is_here() {
    let tables = [OF_OBJECTS, OF_FIELDS, OF_LISTS, OF_SETS, OF_MAPS, OF_QUERIES];
    let rows = tables.into_iter().flatten();
    let mut known: BTreeSet<String> =
        rows.map(|(name, ..)| name.split(' ').next().unwrap().to_owned()).collect();
    known.extend(NOT_HERE.split_whitespace().map(str::to_owned));
    let types =
        ["Transaction", "ListView", "ListCursor", "SetView", "MapView", "IndexView", "IdSet"];
    let public = public_methods(&types);
    let differences: Vec<&String> = public.symmetric_difference(&known).collect();
    assert!(differences.is_empty(), "in the source or in the tables only: {differences:?}");
}

#[test]
fn getting_to_know_an_object_costs_one_get_and_loading_it_none() {
    let world = World::new();
    let tx = world.begin(&schema());
    fill(&tx);
    tx.commit().unwrap();
    let costs: Costs = &[
        ("get", |tx| drop(tx.get(foo_id(1), "i", NO).unwrap()), "2 gets"),
        ("load", |tx| drop(tx.load(foo_id(2), NO).unwrap()), "1 seek, 15 steps"),
        (
            "get after load",
            |tx| {
                tx.load(foo_id(2), NO).unwrap();
                tx.get(foo_id(2), "i", NO).unwrap();
            },
            "1 get, 1 seek, 15 steps",
        ),
        ("set", |tx| tx.set(foo_id(1), "note", &text("a"), NO).unwrap(), "1 get, 1 put"),
        // two objects
        (
            "set a reference",
            |tx| tx.set(foo_id(1), "owner", &to(3), NO).unwrap(),
            "3 gets, 2 puts, 1 delete",
        ),
        ("push", |tx| plain(tx, 1).unwrap().push(&int(1)).unwrap(), "1 get, 1 seek, 1 put"),
        (
            "delete",
            |tx| assert!(tx.delete(foo_id(5)).unwrap()),
            "1 get, 8 seeks, 23 steps, 29 deletes, 1 range removal",
        ),
    ];
    for (name, operation, expected) in costs {
        let tx = world.begin(&schema());
        let ((), cost) = world.cost(|| operation(&tx));
        assert_eq!(told(cost), *expected, "{name}");
    }
}

/// Migrating costs the differences: the index entry of `s` is added, the one of `i` removed, two
/// elements of the set are removed with their entries. Then the object's own pair changes, and its
/// place in the index of schemas.
#[test]
fn migrating_costs_what_differs() {
    let world = World::new();
    let tx = world.begin(&schema());
    fill(&tx);
    tx.commit().unwrap();
    world.begin(&newer_schema()).commit().unwrap();
    let tx = world.begin(&newer_schema());
    assert!(tx.exists(foo_id(6)).unwrap());
    let (moved, cost) = world.cost(|| tx.migrate(foo_id(6)).unwrap());
    assert!(moved);
    assert_eq!(told(cost), "1 seek, 14 steps, 3 puts, 6 deletes");
}

/// Deleting an object costs the removals and the changes that it causes, however many other objects
/// there are.
#[test]
fn deleting_costs_what_goes() {
    let world = World::new();
    let tx = world.foo();
    let object = |n: u32| id(&format!("0a{n:014x}"));
    for n in 0..500 {
        create(&tx, object(n));
    }
    // 2 pairs; 3 simple and 2 composite index entries and the schema; one reference field
    let (_, cost) = world.cost(|| assert!(tx.delete(object(1)).unwrap()));
    assert_eq!(told(cost), "2 seeks, 2 steps, 6 deletes, 1 range removal");
    for n in 10..20 {
        set(&tx, object(n), "r", Value::Ref(object(2)));
    }
    // For each holder: the old value and the two other members of the composite index are read; the
    // pair is removed, two index entries are replaced.
    let (_, cost) = world.cost(|| assert!(tx.delete(object(2)).unwrap()));
    assert_eq!(told(cost), "30 gets, 2 seeks, 12 steps, 20 puts, 36 deletes, 1 range removal");
}
