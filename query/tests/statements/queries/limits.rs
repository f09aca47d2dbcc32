//! Sorting in files, stopping, and damaged databases.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use permazen::__internal::layout;
use permazen::encoding::Value;
use permazen::kv::{KvDatabase, KvWrite, TxOptions};
use permazen::object::Migrate;
use permazen_query::{Cell, Limits, Parameters, QueryError};

use super::database::{id, people, second};

#[test]
fn a_sort_that_needs_files() {
    let fixture = people();
    let statement = "find Person order by boss.name, age desc columns id, name, tags";
    let expected = fixture.ask(statement).lines();
    let folder = tempfile::tempdir().unwrap();
    let mut limits = Limits::default();
    limits.sort_memory = 1;
    limits.temporary = Some(folder.path().to_owned());
    let ask = |limits: &Limits| fixture.try_ask_with(statement, &Parameters::new(), limits, None);
    assert_eq!(ask(&limits).unwrap().lines(), expected);
    // The files have no names.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    limits.temporary = Some(folder.path().join("nowhere"));
    assert!(matches!(ask(&limits), Err(QueryError::Temporary(_))));
}

/// The flag is checked every few hundred pairs.
#[test]
fn a_statement_can_be_stopped() {
    let fixture = people();
    let mut limits = Limits::default();
    limits.stop = Some(Arc::new(AtomicBool::new(true)));
    let statement = "find (Person union Pet) where name != \"q\"";
    let many = format!("find {}", vec!["Person where visits >= 0"; 40].join(" union "));
    for statement in [statement, &many] {
        let answer = fixture.try_ask_with(statement, &Parameters::new(), &limits, None).unwrap();
        // Few pairs are read before the first look.
        assert_eq!(answer.ran.stopped, answer.operations.reads() > 256, "{statement}");
    }
    assert!(fixture.try_ask_with(&many, &Parameters::new(), &limits, None).unwrap().ran.stopped);
}

/// Each hop doubles the number of ways, but not that of objects.
#[test]
fn many_ways_lead_to_few_objects() {
    let fixture = people();
    fixture.with(second(), |tx| {
        let both = [1, 2].map(|number| Value::Ref(id(tx, "Person", number)));
        for number in [1, 2] {
            let person = id(tx, "Person", number);
            let friends = tx.list_view(person, "friends", Migrate::No).unwrap();
            friends.clear().unwrap();
            both.iter().for_each(|friend| friends.push(friend).unwrap());
        }
    });
    let path = format!("{}name", "friends.".repeat(14));
    let path2 = format!("{}id", "friends.".repeat(14));
    let answer = fixture.ask(&format!("count Person where {path} = \"nobody\""));
    assert_eq!(answer.line(), "0");
    assert!(answer.operations.reads() < 2000, "{:?}", answer.operations);
    let (ann, bob) = ("@0100000000000001", "@0100000000000002");
    let ids = format!("[{ann}, {bob}, {ann}, {bob}]");
    let answer = fixture.ask(&format!("find @0100000000000011 columns {path}, {path2}"));
    assert_eq!(answer.lines(), [format!("[\"Ann\", \"Bob\", \"Ann\", \"Bob\"] {ids}")]);
    assert!(answer.operations.reads() < 2000, "{:?}", answer.operations);
}

#[test]
fn no_more_is_wanted() {
    let fixture = people();
    for statement in ["find Person", "find Person order by age", "index Person.name", "show Person"]
    {
        let answer = fixture
            .try_ask_with(statement, &Parameters::new(), &Limits::default(), Some(2))
            .unwrap();
        assert_eq!((answer.ran.rows, answer.ran.stopped), (2, false), "{statement}");
        assert_eq!(answer.rows.len() + answer.objects.len(), 2);
    }
}

/// A damaged value is shown with its bytes and matches nothing; the rest of the object is shown.
#[test]
fn damaged_values() {
    let fixture = people();
    let id = fixture.ask("find Person where name = \"Bob\"").rows[0].id.unwrap();
    let tx = fixture.reading();
    let age = tx.object_type(id).unwrap().field("age").unwrap().storage_id;
    drop(tx);
    let put = |key: &[u8], value: &[u8]| {
        let mut tx = fixture.store.begin(&TxOptions::writing()).unwrap();
        tx.put(key, value).unwrap();
        tx.commit().unwrap();
    };
    put(&layout::content_key(id, age, &[]), &[0]);
    let answer = fixture.ask("find @0100000000000002 columns name, age, tags");
    assert_eq!(answer.ran.damaged, 1);
    let cells = &answer.rows[0].cells;
    assert!(matches!(&cells[1], Cell::Damaged { bytes, .. } if *bytes == [0]), "{cells:?}");
    assert_eq!((cells[0].shown(), cells[2].shown()), ("Bob".into(), "{\"x\"}".into()));
    assert_eq!(fixture.ask("count Person where age < 1000").line(), "4");
    assert_eq!(fixture.ask("count Person where not age < 1000").line(), "2");
    assert_eq!(fixture.ask("count Person where age != 7").line(), "5");
    let last = fixture.ask("find Person order by age columns id").rows.last().unwrap().id;
    assert_eq!(last, Some(id));
    let shown = fixture.ask("show @0100000000000002");
    assert_eq!((shown.ran.damaged, shown.objects[0].fields.len()), (1, 7));

    // An entry that cannot be taken apart, and one whose value cannot be decoded.
    let name = name_of_person(&fixture);
    put(&[&name.prefix()[..], &[0xfa]].concat(), b"");
    let answer = fixture.ask("index Person.name");
    assert_eq!(answer.ran.damaged, 1);
    assert_eq!(answer.rows.iter().filter(|row| row.cells[0].is_damaged()).count(), 1);
    assert_eq!(fixture.ask("find Person order by name").rows.len(), 6);

    // An object whose schema is not recorded.
    put(id.as_bytes(), &[99]);
    let shown = fixture.ask("show @0100000000000002");
    assert!(shown.objects[0].schema.is_damaged() && shown.objects[0].fields.is_empty());
    let scanned = fixture.ask("count Person where visits >= 0 using none");
    assert_eq!((scanned.line().as_str(), scanned.ran.damaged), ("5", 1));
    // It is counted once, however it is read.
    for statement in [
        "show @0100000000000002",
        "find Person",
        "find @0100000000000002",
        "find @0100000000000002 columns schema",
        "find Person order by boss.name, age",
        "find Person order by boss.name, age limit 3",
        "find Person where id in {@0100000000000002}",
        "find Person where name = \"Bob\" or name = \"Cid\"",
        "find Person where name in {\"Bob\", \"Cid\"} order by age limit 2",
        "show Person where name in \"A\"..\"C\"",
    ] {
        assert_eq!(fixture.ask(statement).ran.damaged, 1, "{statement}");
    }
}

fn name_of_person(fixture: &super::database::Fixture) -> permazen::StorageId {
    fixture.reading().field_storage_id("Person", "name").unwrap()
}
