//! Listeners that read, change, delete and move the objects of the operation that called them. The
//! operation does not rely on its reads before the listeners ran, and the committed database passes
//! the checker.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use permazen::__internal::object::ListenerSet;
use permazen::ObjId;
use permazen::encoding::Value;
use permazen::object::{
    CopyOptions, Error, IdMap, Migrate, MissingTargets, ObjectData, Result, SchemaChange,
    Transaction,
};
use permazen::object_xml::{ObjectXmlReader, ObjectXmlWriter};
use permazen::schema::SchemaModel;

use crate::support::*;

/// A type with the fields in `more` besides its own, and a type it refers to.
fn schema(more: &str) -> String {
    format!(
        r#"<Schema><ObjectType name="B" storageId="11"/><ObjectType name="A" storageId="10">
<SimpleField name="n" encoding="urn:fdc:permazen.io:2020:int" storageId="20" indexed="true"/>
<ReferenceField name="ref" storageId="21" inverseDelete="NULLIFY"/>
<ReferenceField name="owner" storageId="22" inverseDelete="DELETE"/>
<ListField name="list" storageId="23"><ReferenceField storageId="24" inverseDelete="REMOVE"/></ListField>
<SetField name="set" storageId="25"><ReferenceField storageId="26" inverseDelete="NULLIFY"/></SetField>
<MapField name="map" storageId="27"><ReferenceField storageId="28" inverseDelete="REMOVE"/><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="29" indexed="true"/></MapField>
<CounterField name="count" storageId="30"/>
{more}</ObjectType></Schema>"#
    )
}

/// The schema of A1 and A4. A2 and A3 have the schema [`new`].
fn old() -> String {
    schema(
        r#"<SimpleField name="was" encoding="urn:fdc:permazen.io:2020:String" storageId="40" indexed="true"/>
<ListField name="words" storageId="41"><SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="42" indexed="true"/></ListField>
<CounterField name="hits" storageId="43"/>
<CompositeIndex name="both" storageId="44"><Field name="n"/><Field name="was"/></CompositeIndex>"#,
    )
}

/// The schema of the transactions.
fn new() -> String {
    schema(
        r#"<SimpleField name="is" encoding="urn:fdc:permazen.io:2020:int" storageId="50" indexed="true"/>
<ReferenceField name="extra" storageId="51" inverseDelete="NULLIFY"/>
<SetField name="numbers" storageId="52"><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="53" indexed="true"/></SetField>
<CompositeIndex name="both" storageId="54"><Field name="n"/><Field name="is"/></CompositeIndex>"#,
    )
}

/// Content in every field of an object that both schemas have. It refers to B1 to B4.
fn fill(tx: &Transaction, id: ObjId, n: i32) {
    set(tx, id, "n", int(n));
    set(tx, id, "ref", Value::Ref(b(1)));
    tx.set_counter(id, "count", n.into(), Migrate::No).unwrap();
    let refs = [b(2), b(3), b(2)].map(Value::Ref);
    tx.list_view(id, "list", Migrate::No).unwrap().extend(&refs).unwrap();
    for target in [b(2), b(4)] {
        tx.set_view(id, "set", Migrate::No).unwrap().add(&Value::Ref(target)).unwrap();
        let map = tx.map_view(id, "map", Migrate::No).unwrap();
        map.put(&Value::Ref(target), &int(n)).unwrap();
    }
}

/// A1 and A4 in the old schema, A2 and A3 in the new one, and the B objects they refer to. A4
/// belongs to A1 and A3.
fn world() -> World {
    let world = World::new();
    let tx = world.begin(&old());
    (1..=5).for_each(|n| {
        create(&tx, b(n));
    });
    for n in [1, 4] {
        fill(&tx, create(&tx, a(n)), n.into());
        set(&tx, a(n), "was", text("then"));
        tx.set_counter(a(n), "hits", 3, Migrate::No).unwrap();
        let words = tx.list_view(a(n), "words", Migrate::No).unwrap();
        words.extend(&texts(&["p", "q"])).unwrap();
    }
    tx.commit().unwrap();
    let tx = world.begin(&new());
    for n in [2, 3] {
        fill(&tx, create(&tx, a(n)), n.into());
        set(&tx, a(n), "is", int(7));
        set(&tx, a(n), "extra", to_a(2));
        tx.set_view(a(n), "numbers", Migrate::No).unwrap().add(&int(5)).unwrap();
    }
    set(&tx, a(4), "owner", to_a(1));
    set(&tx, a(3), "owner", to_a(4));
    tx.commit().unwrap();
    world
}

/// The findings of the checker, including references to missing objects.
fn findings(tx: &Transaction) -> Vec<String> {
    tx.read_pairs(|kv| {
        let mut findings = Vec::new();
        let options = permazen_jsck::Options::default();
        permazen_jsck::check(kv, &options, &mut |finding| findings.push(finding.to_string()))
            .unwrap();
        Ok(findings)
    })
    .unwrap()
}

/// The content of an object as it is now.
fn content(tx: &Transaction, n: u8) -> ObjectData {
    tx.load(a(n), Migrate::No).unwrap()
}

type Operation = (&'static str, fn(&Transaction) -> Result<()>);

/// Operations that call listeners and then continue, on an object of another schema, a new object
/// and others.
const OPERATIONS: &[Operation] = &[
    ("copy_to over another schema", |tx| {
        let mut ids = IdMap::from([(a(1), Some(a(2)))]);
        tx.copy_to(a(1), tx, &mut CopyOptions::new().mapping_ids(&mut ids)).map(drop)
    }),
    ("silent copy_to over another schema", |tx| {
        let mut ids = IdMap::from([(a(1), Some(a(2)))]);
        tx.copy_to(a(1), tx, &mut CopyOptions::new().silent().mapping_ids(&mut ids)).map(drop)
    }),
    ("copy_to a new object", |tx| {
        let mut ids = IdMap::from([(a(1), None)]);
        tx.copy_to(a(1), tx, &mut CopyOptions::new().mapping_ids(&mut ids)).map(drop)
    }),
    ("replace_object by one of the old schema", |tx| {
        tx.replace_object(a(2), &content(tx, 1), &mut CopyOptions::new()).map(drop)
    }),
    ("replace_object by one of the new schema", |tx| {
        tx.replace_object(a(1), &content(tx, 2), &mut CopyOptions::new()).map(drop)
    }),
    ("replace_object that is new", |tx| {
        tx.replace_object(a(9), &content(tx, 1), &mut CopyOptions::new()).map(drop)
    }),
    ("create_with of the old schema", |tx| tx.create_with(Some(a(9)), &content(tx, 1)).map(drop)),
    ("create_with of the new schema", |tx| tx.create_with(Some(a(9)), &content(tx, 2)).map(drop)),
    ("create", |tx| tx.create("A").map(drop)),
    ("store_object", |tx| tx.store_object(a(2), &content(tx, 3), Migrate::No)),
    ("store_object that migrates", |tx| tx.store_object(a(1), &content(tx, 3), Migrate::Yes)),
    ("set that migrates", |tx| tx.set(a(1), "n", &int(40), Migrate::Yes)),
    ("set of a reference that migrates", |tx| {
        tx.set(a(1), "extra", &Value::Ref(b(1)), Migrate::Yes)
    }),
    ("encoded().set that migrates", |tx| {
        let schema = tx.schema();
        let field = schema.object_type("A").unwrap().field("extra").unwrap();
        tx.encoded().set(a(1), field, b(1).as_bytes(), Migrate::Yes)
    }),
    ("adjust_counter that migrates", |tx| tx.adjust_counter(a(1), "count", 2, Migrate::Yes)),
    ("migrate", |tx| tx.migrate(a(1)).map(drop)),
    ("clearing a watched list", |tx| tx.list_view(a(2), "list", Migrate::No)?.clear()),
    ("delete with cascades", |tx| tx.delete(a(1)).map(drop)),
    ("delete of what much refers to", |tx| tx.delete(b(2)).map(drop)),
    ("import over another schema", |tx| {
        let mut document = Vec::new();
        let writer = ObjectXmlWriter::new().with_storage_ids();
        writer.write_objects(tx, [Ok(a(1))], &mut document).map_err(Error::listener)?;
        let document =
            String::from_utf8(document).unwrap().replace(&a(1).to_string(), &a(2).to_string());
        tx.atomic(|tx| ObjectXmlReader::new().read(tx, document.as_bytes()))
            .map(drop)
            .map_err(Error::listener)
    }),
];

/// Operations that move an object to the schema of the transaction before they begin. A failure
/// does not take that move back.
const AFTER_A_MOVE: &[Operation] = &[
    ("copy_to that migrates the source", |tx| {
        let mut ids = IdMap::from([(a(1), Some(a(2)))]);
        let options = CopyOptions::new().migrating(Migrate::Yes);
        tx.copy_to(a(1), tx, &mut options.mapping_ids(&mut ids)).map(drop)
    }),
    ("load that migrates", |tx| tx.load(a(1), Migrate::Yes).map(drop)),
    ("a list that migrates", |tx| {
        let list = tx.list_view(a(1), "list", Migrate::Yes)?;
        list.extend(&[b(1), b(2)].map(Value::Ref)).map(drop)
    }),
    ("a map that migrates", |tx| {
        tx.map_view(a(1), "map", Migrate::Yes)?.put(&Value::Ref(b(1)), &int(1)).map(drop)
    }),
];

/// The action of a listener on the object for which it is called.
type Deed = (&'static str, fn(&Transaction, ObjId) -> Result<()>);

const DEEDS: &[Deed] = &[
    ("reads it", |tx, id| tx.get(id, "n", Migrate::Yes).map(drop)),
    ("reads it as it is", |tx, id| tx.load(id, Migrate::No).map(drop)),
    ("writes it", |tx, id| {
        tx.set(id, "is", &int(99), Migrate::Yes)?;
        tx.set(id, "n", &int(98), Migrate::Yes)
    }),
    ("writes it as it is", |tx, id| {
        tx.set(id, "n", &int(97), Migrate::No)?;
        tx.list_view(id, "list", Migrate::No)?.insert(0, &Value::Ref(b(5)))
    }),
    ("empties its collections", |tx, id| {
        tx.list_view(id, "list", Migrate::Yes)?.clear()?;
        tx.set_view(id, "set", Migrate::Yes)?.clear()?;
        tx.map_view(id, "map", Migrate::Yes)?.clear()
    }),
    ("deletes it", |tx, id| tx.delete(id).map(drop)),
    ("deletes it and makes it anew", |tx, id| {
        tx.delete(id)?;
        tx.create_with_id(id).map(drop)
    }),
    ("deletes what is referred to", |tx, _| (1..=4).try_for_each(|n| tx.delete(b(n)).map(drop))),
    ("deletes the others", |tx, id| {
        let others = (1..=4).map(a).filter(|other| *other != id);
        others.into_iter().try_for_each(|other| tx.delete(other).map(drop))
    }),
    ("migrates it", |tx, id| tx.migrate(id).map(drop)),
    ("migrates all", |tx, _| {
        for id in tx.objects("A")?.to_vec()? {
            tx.migrate(id)?;
        }
        Ok(())
    }),
    ("replaces it by one of another schema", |tx, id| {
        for n in [1, 2, 3, 4] {
            if tx.exists(a(n))? && a(n) != id {
                let data = tx.load(a(n), Migrate::No)?;
                tx.replace_object(id, &data, &mut CopyOptions::new())?;
            }
        }
        Ok(())
    }),
    ("records schemas", |tx, _| {
        let more = new().replace(r#"name="extra""#, r#"name="more""#).replace("51", "61");
        tx.add_schema(&SchemaModel::from_xml(more.as_bytes()).unwrap()).map(drop)
    }),
    ("migrates all and removes the old schema", |tx, _| {
        for id in tx.objects("A")?.to_vec()? {
            tx.migrate(id)?;
        }
        for id in (1..=5).map(b) {
            tx.migrate(id)?;
        }
        let id = SchemaModel::from_xml(old().as_bytes()).unwrap().schema_id();
        tx.remove_schema(id).map(drop)
    }),
    ("fails", |_, _| Err(Error::listener("no"))),
];

/// Makes all possible listeners do something, at most `times` times, as they may call each other.
fn listen(tx: &Transaction, deed: fn(&Transaction, ObjId) -> Result<()>, times: u32) {
    let left = Arc::new(AtomicU32::new(times));
    let act = move |tx: &Transaction, id: ObjId| {
        let more = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        // An object that refuses the change is left alone.
        match more.map(|_| tx.atomic(|tx| deed(tx, id))) {
            Ok(Err(error @ Error::Listener(_))) => Err(error),
            _ => Ok(()),
        }
    };
    let of_create = act.clone();
    on_create(tx, move |tx, id| of_create(tx, id));
    let of_move = act.clone();
    on_schema_change(tx, move |tx, change| of_move(tx, change.id));
    let of_delete = act.clone();
    on_delete(tx, move |tx, id, _| of_delete(tx, id));
    for field in [20, 21, 22, 23, 25, 27, 40, 41, 50, 51, 52] {
        let of_change = act.clone();
        let listener = move |tx: &Transaction,
                             change: &permazen::object::FieldChange,
                             _: &[ObjId]| { of_change(tx, change.id()) };
        on_change(tx, field, listener);
    }
}

fn all_pairs(tx: &Transaction) -> Vec<(Vec<u8>, Vec<u8>)> {
    tx.read_pairs(|kv| {
        let pairs = kv.scan(permazen::kv::KeySpan::FULL, permazen::kv::Direction::Forward)?;
        Ok(pairs
            .map(|pair| pair.map(|(key, value)| (key.into_owned(), value.into_owned())).unwrap())
            .collect())
    })
    .unwrap()
}

/// The mistakes after an operation, when a listener has done this up to `times` times.
fn wrong_after(
    tx: &Transaction,
    run: fn(&Transaction) -> Result<()>,
    moved_first: bool,
    deed: Deed,
    times: u32,
) -> Vec<String> {
    let before = all_pairs(tx);
    listen(tx, deed.1, times);
    let mut wrong = Vec::new();
    match run(tx) {
        Ok(()) | Err(Error::Listener(_)) => {}
        Err(error @ (Error::Inconsistent { .. } | Error::Broken)) => wrong.push(error.to_string()),
        Err(_) if moved_first || all_pairs(tx) == before => {}
        Err(error) => wrong.push(format!("something has changed: {error}")),
    }
    if tx.is_detached() {
        // These references may dangle, but the checker would report them. So the objects they refer
        // to are created.
        tx.set_listeners(Arc::new(ListenerSet::new(tx.bundle()))).unwrap();
        for id in (1..=5).flat_map(|n| [a(n), b(n)]) {
            tx.create_with_id(id).unwrap();
        }
    }
    wrong.extend(findings(tx));
    wrong
}

/// The mistakes after any combination of operation and deed, each with all of these numbers of
/// times if `PERMAZEN_ALL` is set, and otherwise with one of them.
fn wrong_after_any(begin: impl Fn() -> Transaction, times: &[u32]) -> Vec<String> {
    let mut failures = Vec::new();
    let operations = OPERATIONS.iter().map(|operation| (operation, false));
    let all = operations.chain(AFTER_A_MOVE.iter().map(|operation| (operation, true)));
    let all_times = std::env::var_os("PERMAZEN_ALL").is_some();
    for (row, ((name, run), moved_first)) in all.enumerate() {
        for (column, deed) in DEEDS.iter().enumerate() {
            let one = (row + column) % times.len();
            let times = if all_times { times } else { &times[one..=one] };
            for &times in times {
                let wrong = wrong_after(&begin(), *run, moved_first, *deed, times);
                if !wrong.is_empty() {
                    failures.push(format!("{name}, listener {}, {times}: {wrong:#?}", deed.0));
                }
            }
        }
    }
    failures
}

#[test]
fn without_interference_all_operations_succeed() {
    let world = world();
    for (name, run) in OPERATIONS.iter().chain(AFTER_A_MOVE) {
        let tx = world.begin(&new());
        let before = all_pairs(&tx);
        run(&tx).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_ne!(all_pairs(&tx), before, "{name}");
    }
}

#[test]
fn whatever_listeners_do_in_the_middle_the_database_is_consistent() {
    let world = world();
    let failures = wrong_after_any(|| world.begin(&new()), &[1, 5]);
    assert!(failures.is_empty(), "{} failures: {}", failures.len(), failures.join("\n"));
}

#[test]
fn whatever_listeners_do_in_the_middle_a_snapshot_is_consistent() {
    let world = world();
    let failures = wrong_after_any(|| world.begin(&new()).snapshot().unwrap(), &[2]);
    assert!(failures.is_empty(), "{} failures: {}", failures.len(), failures.join("\n"));
}

/// The events that listeners get for moves to another schema: for each schema, whether it is the
/// transaction's.
fn on_move(
    tx: &Transaction,
    deed: impl Fn(&Transaction, ObjId) -> Result<()> + Send + Sync + 'static,
) -> Log<(bool, bool)> {
    let (told, log) = Log::pair();
    let own = tx.schema().id;
    let listener = move |tx: &Transaction, change: &SchemaChange| {
        log.add((change.old_schema == own, change.new_schema == own))?;
        deed(tx, change.id)
    };
    on_schema_change(tx, listener);
    told
}

fn copy_over(tx: &Transaction) -> Result<()> {
    let mut ids = IdMap::from([(a(1), Some(a(2)))]);
    tx.copy_to(a(1), tx, &mut CopyOptions::new().mapping_ids(&mut ids)).map(drop)
}

#[test]
fn an_object_that_is_moved_on_while_it_is_replaced_is_moved_back_with_its_content() {
    let world = world();
    let tx = world.begin(&new());
    let told = on_move(&tx, |tx, id| {
        tx.set(id, "n", &int(50), Migrate::Yes)?;
        tx.get(id, "is", Migrate::Yes).map(drop)
    });
    let n = Events::on(&tx, 20);
    copy_over(&tx).unwrap();
    let (copied, copy) = (content(&tx, 1), content(&tx, 2));
    assert_eq!(copied.object_type().schema, copy.object_type().schema);
    for field in &copied.object_type().fields {
        assert!(copied.pairs(field).eq(copy.pairs(field)), "{}", field.name);
    }
    // The copy moves it back, the listener moves it on. There is no third move.
    assert_eq!(told.all(), [(true, false), (false, true)]);
    assert_eq!(n.take(), ["2 -> 50", "50 -> 1"]);
    tx.commit().unwrap();
    assert_eq!(findings(&world.begin(&new())), [""; 0]);
}

#[test]
fn a_copy_whose_references_a_listener_to_moves_breaks_is_refused() {
    let world = world();
    let tx = world.begin(&new());
    let before = all_pairs(&tx);
    on_move(&tx, |tx, _| tx.delete(b(3)).map(drop));
    assert_deleted(copy_over(&tx), b(3));
    assert_eq!(all_pairs(&tx), before);
}

#[test]
fn a_copy_over_an_object_that_a_listener_deletes_is_refused() {
    let world = world();
    let tx = world.begin(&new());
    let before = all_pairs(&tx);
    on_move(&tx, |tx, id| tx.delete(id).map(drop));
    assert_deleted(copy_over(&tx), a(2));
    assert_eq!(all_pairs(&tx), before);
}

#[test]
fn a_copy_in_which_a_listener_to_moves_fails_is_refused() {
    let world = world();
    let tx = world.begin(&new());
    let before = all_pairs(&tx);
    on_move(&tx, |_, _| Err(Error::listener("no")));
    assert!(matches!(copy_over(&tx), Err(Error::Listener(_))));
    assert_eq!(all_pairs(&tx), before);
}

/// References to objects that a listener creates do not count as dangling; references to objects
/// that it deletes do.
#[test]
fn what_a_copy_notes_as_missing_is_so_after_listeners_were_told() {
    for deletes in [false, true] {
        let world = world();
        let tx = world.begin(&new());
        let source = tx.snapshot().unwrap();
        if !deletes {
            assert!(tx.delete(b(3)).unwrap());
        }
        on_move(&tx, move |tx, _| match deletes {
            true => tx.delete(b(4)).map(drop),
            false => tx.create_with_id(b(3)).map(drop),
        });
        let mut missing = MissingTargets::new();
        let mut ids = IdMap::from([(a(1), Some(a(2)))]);
        let options = CopyOptions::new().noting_missing(&mut missing);
        source.copy_to(a(1), &tx, &mut options.mapping_ids(&mut ids)).unwrap();
        let expected = if deletes { vec![b(4)] } else { vec![] };
        assert!(missing.keys().eq(&expected), "{missing:?}");
    }
}

/// An operation that asks for an object in the schema of the transaction does not accept an object
/// of another schema.
#[test]
fn an_object_that_a_listener_moves_back_is_not_taken_for_one_of_the_transactions_schema() {
    type Use = fn(&Transaction) -> Result<()>;
    let uses: [(&str, Use); 4] = [
        ("get", |tx| tx.get(a(1), "n", Migrate::Yes).map(drop)),
        ("set", |tx| tx.set(a(1), "n", &int(3), Migrate::Yes)),
        ("load", |tx| tx.load(a(1), Migrate::Yes).map(drop)),
        ("list_view", |tx| tx.list_view(a(1), "list", Migrate::Yes).map(drop)),
    ];
    for (name, of) in uses {
        let world = world();
        let tx = world.begin(&new());
        let old = content(&tx, 1);
        let index = old.object_type().schema;
        on_move(&tx, move |tx, id| {
            if tx.object_type(id)?.schema == index {
                return Ok(());
            }
            tx.replace_object(id, &old, &mut CopyOptions::new()).map(drop)
        });
        let refused = of(&tx);
        assert!(matches!(refused, Err(Error::SchemaMismatch { .. })), "{name}: {refused:?}");
        assert_eq!(findings(&tx), [""; 0], "{name}");
    }
}

/// A listener to a deletion records a schema with one more reference to the deleted object.
#[test]
fn a_deletion_heeds_references_of_schemas_recorded_meanwhile() {
    let more = r#"<Schema><ObjectType name="C" storageId="12"><ReferenceField name="to" storageId="70" inverseDelete="NULLIFY"/></ObjectType></Schema>"#;
    let world = world();
    let tx = world.begin(&new());
    let c = id("0c00000000000001");
    let listener = move |tx: &Transaction, id: ObjId, _: &[ObjId]| {
        let model = SchemaModel::from_xml(more.as_bytes()).unwrap();
        tx.add_schema(&model)?;
        tx.create_with_id_in(c, model.schema_id())?;
        tx.set(c, "to", &Value::Ref(id), Migrate::No)
    };
    on_delete(&tx, listener);
    assert!(tx.delete(b(5)).unwrap());
    assert_eq!(tx.get(c, "to", Migrate::No).unwrap(), Value::Null);
    assert_eq!(findings(&tx), [""; 0]);
}
