//! Every public operation that changes a database, on objects with content in every kind of field.
//!
//! The name of each begins with the method it tests: `ListView::insert at the front`.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use permazen::encoding::Value;
use permazen::object::{
    CopyOptions, IdMap, ListView, MapView, Migrate, ObjectBuilder, ObjectData, Result, SetView,
    Transaction,
};
use permazen::schema::{ResolvedField, SchemaModel};

use crate::support::*;

/// The example schema with references of all kinds, and a second type that they can refer to.
pub(crate) fn schema() -> String {
    FOO.replace(
        r#"<CompositeIndex name="is""#,
        r#"<ReferenceField name="owner" storageId="40" inverseDelete="DELETE"/>
  <ListField name="refs" storageId="41"><ReferenceField storageId="42" inverseDelete="REMOVE"/></ListField>
  <ReferenceField name="part" storageId="43" forwardDelete="true"/>
  <SetField name="friends" storageId="44"><ReferenceField storageId="45" inverseDelete="NULLIFY"/></SetField>
  <MapField name="links" storageId="46"><ReferenceField storageId="47" inverseDelete="REMOVE"/>
                                        <ReferenceField storageId="48" inverseDelete="NULLIFY"/></MapField>
  <SimpleField name="note" encoding="urn:fdc:permazen.io:2020:String" storageId="51"/>
  <ListField name="plain" storageId="49"><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="50"/></ListField>
  <CompositeIndex name="is""#,
    )
    .replace("</Schema>", r#"<ObjectType name="Bar" storageId="60"/></Schema>"#)
}

/// Another version of [`schema`]: some indexes are removed, others added, a field has another
/// encoding, and the lists of references no longer allow objects of the type `Foo`.
pub(crate) fn newer_schema() -> String {
    schema()
        .replace(
            r#"name="s" encoding="urn:fdc:permazen.io:2020:String" storageId="12""#,
            r#"name="s" encoding="urn:fdc:permazen.io:2020:String" storageId="12" indexed="true""#,
        )
        .replace(r#"storageId="11" indexed="true""#, r#"storageId="11""#)
        .replace(r#"int" storageId="21" indexed="true""#, r#"long""#)
        .replace(r#"<SetField name="set" storageId="20">"#, r#"<SetField name="set">"#)
        .replace(
            r#"<ReferenceField storageId="42" inverseDelete="REMOVE"/>"#,
            r#"<ReferenceField storageId="42" inverseDelete="REMOVE"><ObjectTypes><ObjectType name="Bar"/></ObjectTypes></ReferenceField>"#,
        )
}

/// The fields that can be watched.
pub(crate) const WATCHABLE: [u32; 14] = [11, 12, 13, 15, 20, 22, 24, 40, 41, 43, 44, 46, 49, 51];

pub(crate) fn fill(tx: &Transaction) {
    for n in 1..=6 {
        create(tx, foo_id(n));
        set(tx, foo_id(n), "i", int(i32::from(n)));
        set(tx, foo_id(n), "s", text("abc"));
        list(tx, n).unwrap().extend(&texts(&["p", "q", "p"])).unwrap();
        set_of(tx, n).unwrap().add(&int(7)).unwrap();
        set_of(tx, n).unwrap().add(&int(9)).unwrap();
        map(tx, n).unwrap().put(&int(1), &text("x")).unwrap();
        map(tx, n).unwrap().put(&int(2), &text("y")).unwrap();
        plain(tx, n).unwrap().extend(&ints(&[4, 5, 6])).unwrap();
    }
    set(tx, foo_id(2), "owner", to(1));
    set(tx, foo_id(3), "r", to(1));
    set(tx, foo_id(4), "owner", to(2));
    set(tx, foo_id(1), "part", to(6));
    tx.list_view(foo_id(5), "refs", Migrate::No).unwrap().extend(&[1, 1, 2, 3, 4].map(to)).unwrap();
    tx.set_view(foo_id(5), "friends", Migrate::No).unwrap().add(&to(1)).unwrap();
    let links = tx.map_view(foo_id(5), "links", Migrate::No).unwrap();
    for (key, value) in [(1, 3), (3, 1), (4, 4)] {
        links.put(&to(key), &to(value)).unwrap();
    }
}

pub(crate) fn to(n: u8) -> Value {
    Value::Ref(foo_id(n))
}

type View<V> = Result<V>;

pub(crate) fn list<'t>(tx: &'t Transaction, n: u8) -> View<ListView<'t>> {
    tx.list_view(foo_id(n), "list", Migrate::No)
}

pub(crate) fn plain<'t>(tx: &'t Transaction, n: u8) -> View<ListView<'t>> {
    tx.list_view(foo_id(n), "plain", Migrate::No)
}

pub(crate) fn set_of<'t>(tx: &'t Transaction, n: u8) -> View<SetView<'t>> {
    tx.set_view(foo_id(n), "set", Migrate::No)
}

pub(crate) fn map<'t>(tx: &'t Transaction, n: u8) -> View<MapView<'t>> {
    tx.map_view(foo_id(n), "map", Migrate::No)
}

pub(crate) fn field(tx: &Transaction, name: &str) -> Arc<ResolvedField> {
    tx.schema().object_type("Foo").unwrap().field(name).unwrap().clone()
}

fn put_bytes(bytes: &'static [u8]) -> impl FnOnce(&mut Vec<u8>) -> permazen::encoding::Result<()> {
    move |out| {
        out.extend_from_slice(bytes);
        Ok(())
    }
}

/// An object with a few values.
pub(crate) fn data(tx: &Transaction) -> ObjectData {
    let object_type = tx.schema().object_type("Foo").unwrap().clone();
    let field = |name| object_type.field(name).unwrap();
    let mut object = ObjectBuilder::new(object_type.clone());
    object.write_simple(field("i"), put_bytes(&[0x84])).unwrap();
    object.write_simple(field("r"), |out| put_bytes(&[0xff])(out)).unwrap();
    object.write_counter(field("c"), 3);
    object.write_list_element(field("list"), 0, put_bytes(b"z\0")).unwrap();
    object.write_set_element(field("set"), put_bytes(&[0x84])).unwrap();
    object.write_map_entry(field("map"), put_bytes(&[0x84]), put_bytes(b"z\0")).unwrap();
    object.finish()
}

fn other_schema() -> SchemaModel {
    SchemaModel::from_xml(br#"<Schema><ObjectType name="Other"/></Schema>"#).unwrap()
}

/// Copies one object onto another, or makes it a new one.
pub(crate) fn copy(tx: &Transaction, from: u8, onto: u8) -> Result<()> {
    let mut ids = IdMap::from([(foo_id(from), Some(foo_id(onto)))]);
    tx.copy_to(foo_id(from), tx, &mut CopyOptions::new().mapping_ids(&mut ids)).map(drop)
}

pub(crate) type Operation = fn(&Transaction) -> Result<()>;

pub(crate) const OF_OBJECTS: &[(&str, Operation)] = &[
    ("Transaction::create", |tx| tx.create("Foo").map(drop)),
    ("Transaction::create_in", |tx| tx.create_in("Foo", &tx.schema()).map(drop)),
    ("Transaction::create_with_id", |tx| tx.create_with_id(foo_id(9)).map(drop)),
    ("Transaction::create_with_id_in", |tx| {
        tx.create_with_id_in(foo_id(9), tx.schema().id).map(drop)
    }),
    ("Transaction::create_with", |tx| tx.create_with(Some(foo_id(9)), &data(tx)).map(drop)),
    ("Transaction::create_with a new id", |tx| tx.create_with(None, &data(tx)).map(drop)),
    ("Transaction::create_many", |tx| tx.create_many(&[data(tx), data(tx)]).map(drop)),
    ("Transaction::store_object", |tx| tx.store_object(foo_id(1), &data(tx), Migrate::No)),
    ("Transaction::replace_object", |tx| {
        tx.replace_object(foo_id(1), &data(tx), &mut CopyOptions::new()).map(drop)
    }),
    ("Transaction::replace_object that is new", |tx| {
        tx.replace_object(foo_id(9), &data(tx), &mut CopyOptions::new()).map(drop)
    }),
    ("Transaction::copy_to", |tx| copy(tx, 1, 9)),
    ("Transaction::copy_to another one", |tx| copy(tx, 2, 3)),
    ("Transaction::copy_to a new id", |tx| {
        let mut ids = IdMap::from([(foo_id(1), None)]);
        let copied = tx.copy_to(foo_id(1), tx, &mut CopyOptions::new().mapping_ids(&mut ids));
        assert_eq!(ids[&foo_id(1)].is_some(), copied.is_ok());
        copied.map(drop)
    }),
    ("Transaction::delete with all that depends on it", |tx| tx.delete(foo_id(1)).map(drop)),
    ("Transaction::delete of an object nobody refers to", |tx| tx.delete(foo_id(5)).map(drop)),
    ("Transaction::delete_telling with all that depends on it", |tx| {
        tx.delete_telling(foo_id(1), &mut |_| Ok(())).map(drop)
    }),
    ("Transaction::delete_together", |tx| {
        tx.delete_together(&[foo_id(1), foo_id(5)], &mut |_| Ok(()))
    }),
    ("Transaction::atomic", |tx| {
        tx.atomic(|tx| {
            tx.set_counter(foo_id(1), "c", 8, Migrate::No)?;
            tx.adjust_counter(foo_id(1), "c", 5, Migrate::No)?;
            tx.set(foo_id(2), "s", &text("new"), Migrate::No)?;
            tx.set_counter(foo_id(2), "c", 8, Migrate::No)
        })
    }),
    ("Transaction::add_schema", |tx| tx.add_schema(&other_schema()).map(drop)),
    ("Transaction::add_schemas", |tx| tx.add_schemas(&[other_schema()]).map(drop)),
    ("Transaction::remove_schema", |tx| {
        let (bundle, own) = (tx.bundle(), tx.schema().id);
        let unused = bundle.schemas().iter().find(|schema| schema.id != own).unwrap();
        tx.remove_schema(unused.id).map(drop)
    }),
];

pub(crate) const OF_FIELDS: &[(&str, Operation)] = &[
    ("Transaction::set", |tx| tx.set(foo_id(1), "i", &int(77), Migrate::No)),
    ("Transaction::set to the default", |tx| tx.set(foo_id(1), "i", &int(0), Migrate::No)),
    ("Transaction::set without an index", |tx| {
        tx.set(foo_id(1), "note", &text("new"), Migrate::No)
    }),
    ("Transaction::set a reference", |tx| tx.set(foo_id(1), "r", &to(3), Migrate::No)),
    ("Transaction::encoded().set", |tx| {
        tx.encoded().set(foo_id(1), &field(tx, "i"), &[0x84 + 9], Migrate::No)
    }),
    ("Transaction::set_counter", |tx| tx.set_counter(foo_id(1), "c", 8, Migrate::No)),
    ("Transaction::adjust_counter", |tx| tx.adjust_counter(foo_id(1), "c", 8, Migrate::No)),
    ("Transaction::encoded().set_counter", |tx| {
        tx.encoded().set_counter(foo_id(1), &field(tx, "c"), 8, Migrate::No)
    }),
    ("Transaction::encoded().adjust_counter", |tx| {
        tx.encoded().adjust_counter(foo_id(1), &field(tx, "c"), 8, Migrate::No)
    }),
];

pub(crate) const OF_LISTS: &[(&str, Operation)] = &[
    ("ListView::set", |tx| list(tx, 1)?.set(1, &text("z")).map(drop)),
    ("ListView::encoded().set", |tx| list(tx, 1)?.encoded().set(1, b"z\0").map(drop)),
    ("ListView::push", |tx| list(tx, 1)?.push(&text("z"))),
    ("ListView::encoded().push", |tx| list(tx, 1)?.encoded().push(b"z\0")),
    ("ListView::extend", |tx| list(tx, 1)?.extend(&texts(&["m", "n"])).map(drop)),
    ("ListView::extend without an index", |tx| plain(tx, 1)?.extend(&ints(&[1, 2])).map(drop)),
    ("ListView::insert", |tx| list(tx, 1)?.insert(1, &text("new"))),
    ("ListView::insert_all", |tx| list(tx, 1)?.insert_all(1, &texts(&["m", "n"])).map(drop)),
    ("ListView::encoded().insert_all", |tx| {
        list(tx, 1)?.encoded().insert_all(0, &[b"m\0", b"n\0"]).map(drop)
    }),
    ("ListView::encoded().insert", |tx| list(tx, 1)?.encoded().insert(1, b"m\0")),
    ("ListView::encoded().extend", |tx| list(tx, 1)?.encoded().extend(&[b"m\0", b"n\0"]).map(drop)),
    ("ListView::remove", |tx| list(tx, 1)?.remove(0).map(drop)),
    ("ListView::encoded().remove", |tx| list(tx, 1)?.encoded().remove(1).map(drop)),
    ("ListView::remove_value", |tx| list(tx, 1)?.remove_value(&text("q")).map(drop)),
    ("ListView::pop", |tx| list(tx, 1)?.pop().map(drop)),
    ("ListView::remove_range", |tx| list(tx, 1)?.remove_range(0, 2)),
    ("ListView::remove_range at the end", |tx| list(tx, 1)?.remove_range(1, 3)),
    ("ListView::retain", |tx| list(tx, 1)?.retain(|value| *value != text("p")).map(drop)),
    ("ListView::retain without an index", |tx| {
        plain(tx, 1)?.retain(|value| *value == int(5)).map(drop)
    }),
    ("ListView::retain nothing", |tx| list(tx, 1)?.retain(|_| false).map(drop)),
    ("ListView::clear", |tx| list(tx, 1)?.clear()),
    ("ListCursor::remove", |tx| {
        let mut cursor = list(tx, 1)?.cursor();
        cursor.step()?;
        cursor.remove().map(drop)
    }),
    ("ListCursor::set", |tx| {
        let mut cursor = list(tx, 1)?.cursor();
        cursor.step()?;
        cursor.set(&text("z")).map(drop)
    }),
    ("ListCursor::insert", |tx| {
        let mut cursor = list(tx, 1)?.cursor();
        cursor.step()?;
        cursor.insert(&text("z"))
    }),
];

pub(crate) const OF_SETS_AND_MAPS: &[(&str, Operation)] = &[
    ("SetView::add", |tx| set_of(tx, 1)?.add(&int(3)).map(drop)),
    ("SetView::encoded().add", |tx| set_of(tx, 1)?.encoded().add(&[0x84]).map(drop)),
    ("SetView::remove", |tx| set_of(tx, 1)?.remove(&int(7)).map(drop)),
    ("SetView::encoded().remove", |tx| set_of(tx, 1)?.encoded().remove(&[0x86]).map(drop)),
    ("SetView::pop_first", |tx| set_of(tx, 1)?.pop_first().map(drop)),
    ("SetView::pop_last", |tx| set_of(tx, 1)?.pop_last().map(drop)),
    ("SetView::retain", |tx| set_of(tx, 1)?.retain(|_| false).map(drop)),
    ("SetView::clear", |tx| set_of(tx, 1)?.clear()),
    ("SetView::clear of a range", |tx| {
        set_of(tx, 1)?.range(Bound::Included(&int(7)), Bound::Included(&int(9)))?.clear()
    }),
    ("MapView::put", |tx| map(tx, 1)?.put(&int(3), &text("z")).map(drop)),
    ("MapView::put another value", |tx| map(tx, 1)?.put(&int(1), &text("z")).map(drop)),
    ("MapView::encoded().put", |tx| map(tx, 1)?.encoded().put(&[0x84], b"z\0").map(drop)),
    ("MapView::remove", |tx| map(tx, 1)?.remove(&int(1)).map(drop)),
    ("MapView::encoded().remove", |tx| map(tx, 1)?.encoded().remove(&[0x80]).map(drop)),
    ("MapView::pop_first", |tx| map(tx, 1)?.pop_first().map(drop)),
    ("MapView::pop_last", |tx| map(tx, 1)?.pop_last().map(drop)),
    ("MapView::retain", |tx| map(tx, 1)?.retain(|_, _| false).map(drop)),
    ("MapView::clear", |tx| map(tx, 1)?.clear()),
    ("MapView::clear of a range", |tx| {
        map(tx, 1)?.range(Bound::Included(&int(1)), Bound::Included(&int(2)))?.clear()
    }),
];

/// For a transaction with the newer schema.
pub(crate) const MIGRATING: &[(&str, Operation)] = &[
    ("Transaction::migrate", |tx| tx.migrate(foo_id(1)).map(drop)),
    ("Transaction::migrate without some references", |tx| tx.migrate(foo_id(5)).map(drop)),
    ("Transaction::migrate_exactly", |tx| tx.migrate_exactly(foo_id(1), tx.schema().id).map(drop)),
    ("Transaction::migrate_losing", |tx| tx.migrate_losing(foo_id(1), tx.schema().id).map(drop)),
    ("Transaction::set with migration", |tx| tx.set(foo_id(1), "i", &int(77), Migrate::Yes)),
    ("Transaction::set_counter with migration", |tx| {
        tx.set_counter(foo_id(1), "c", 7, Migrate::Yes)
    }),
    ("Transaction::store_object with migration", |tx| {
        tx.store_object(foo_id(1), &data(tx), Migrate::Yes)
    }),
    ("Transaction::replace_object of another schema", |tx| {
        tx.replace_object(foo_id(1), &data(tx), &mut CopyOptions::new()).map(drop)
    }),
];

/// For a transaction with the newer schema: operations that move an object there before they read.
pub(crate) const READING_MOVED: &[(&str, Operation)] = &[
    ("Transaction::get", |tx| tx.get(foo_id(1), "i", Migrate::Yes).map(drop)),
    ("Transaction::counter", |tx| tx.counter(foo_id(1), "c", Migrate::Yes).map(drop)),
    ("Transaction::load", |tx| tx.load(foo_id(1), Migrate::Yes).map(drop)),
];

/// For a detached transaction.
pub(crate) const DETACHED: &[(&str, Operation)] = &[("Transaction::reset", |tx| tx.reset())];

/// Operations that change nothing in a database.
const HARMLESS: [(&str, &str); 5] = [
    (
        "Transaction",
        "schema bundle is_open is_detached into_store is_read_only set_read_only set_timeout set_rollback_only \
         is_rollback_only user_object set_user_object add_callback commit rollback generate_id \
         type_storage_id field_storage_id type_name object_key load visit encoded get encoded().get is_default counter \
         encoded().counter set_view list_view map_view encoded().set_view encoded().list_view \
         encoded().map_view objects objects_of \
         all_objects id_set objects_in_schema schemas_in_use exists object_type object_schema \
         follow_path invert_path detached snapshot index index_view simple_index list_element_index \
         map_value_index composite_index index_by_name on_create on_schema_change on_delete on_change \
         remove_listener listeners set_listeners read_pairs untracked watch_key watch_object \
         watch_field referrers each_refusal pending_changes",
    ),
    (
        "ListView",
        "id field encoded len is_empty get encoded().get iter encoded().iter to_vec position \
         encoded().position cursor_at iter_range encoded().iter_range cursor",
    ),
    ("ListCursor", "position step step_back"),
    (
        "SetView",
        "id field encoded range encoded().range contains encoded().contains iter encoded().iter to_vec \
         encoded().to_vec first encoded().first last encoded().last is_empty len",
    ),
    (
        "MapView",
        "id field encoded range encoded().range get encoded().get contains_key encoded().contains_key \
         iter encoded().iter keys encoded().keys to_vec first encoded().first last encoded().last \
         is_empty len",
    ),
];

/// The public methods of these types, as `Type::method`. The methods of their
/// [`Encoded`](permazen::__internal::object::Encoded) are named `Type::encoded().method`.
pub(crate) fn public_methods(types: &[&'static str]) -> BTreeSet<String> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src/object")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    let mut methods = BTreeSet::new();
    for file in files {
        let source = std::fs::read_to_string(file).unwrap();
        let mut of = None;
        for line in source.lines() {
            if line.starts_with("impl") {
                let is_of = |name: &str| {
                    [" ", "<", ">"].iter().any(|end| line.contains(&format!(" {name}{end}")))
                };
                of = types.iter().find(|name| is_of(name) && !line.contains(" for ")).map(|name| {
                    match line.contains(" Encoded<") {
                        true => format!("{name}::encoded()."),
                        false => format!("{name}::"),
                    }
                });
            }
            if let (Some(of), Some(method)) = (&of, line.strip_prefix("    pub fn ")) {
                let name: String =
                    method.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                methods.insert(format!("{of}{name}"));
            }
        }
    }
    methods
}

#[test]
fn every_operation_that_changes_something_is_here() {
    let tables = [OF_OBJECTS, OF_FIELDS, OF_LISTS, OF_SETS_AND_MAPS, MIGRATING, DETACHED];
    let method = |name: &str| name.split(' ').next().unwrap().to_owned();
    let mut known: BTreeSet<String> =
        tables.into_iter().flatten().map(|(name, _)| method(name)).collect();
    for (of, names) in HARMLESS {
        known.extend(names.split_whitespace().map(|name| format!("{of}::{name}")));
    }
    let public = public_methods(&HARMLESS.map(|(of, _)| of));
    let differences: Vec<&String> = public.symmetric_difference(&known).collect();
    assert!(differences.is_empty(), "in the source or in the tables only: {differences:?}");
}
