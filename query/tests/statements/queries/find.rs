//! The objects that statements find.

use super::database::people;

/// The last two digits of the IDs of what is found.
fn found(statement: &str) -> String {
    let fixture = people();
    let ids: Vec<_> = fixture
        .ask(&format!("{statement} columns id"))
        .rows
        .iter()
        .map(|row| row.id.unwrap().to_string()[14..].to_owned())
        .collect();
    ids.join(" ")
}

/// Each condition on people, and the people that it finds, with an index and without.
#[test]
fn conditions() {
    let rows = [
        ("name = \"Ann\"", "01 11"),
        ("name != \"Ann\"", "02 03 12 13"),
        ("name in \"A\"..\"C\"", "01 02 03 11"),
        ("name in \"Ann\"..=\"Bert\"", "01 03 11"),
        ("name in {\"Bob\", \"Cid\"}", "02 12"),
        ("name in {}", ""),
        ("name starts \"B\"", "02 03"),
        ("name starts \"\"", "01 02 03 11 12 13"),
        // The two schemas have different encodings for the age.
        ("age = 20", "02 13"),
        ("age >= 30", "01 03 11"),
        ("age > 30 and age < 40", "11"),
        ("age < 30", "02 13"),
        ("age in 20..35", "01 02 13"),
        // Null is found by `= null` only; a range has no null.
        ("age is null", "12"),
        ("age = null", "12"),
        ("age is not null", "01 02 03 11 13"),
        ("age != 20", "01 03 11 12"),
        ("age in ..", "01 02 03 11 13"),
        ("age < 100", "01 02 03 11 13"),
        // `not` is true of what the condition is not true of, also of null.
        ("not age > 20", "02 12 13"),
        // A condition on a collection means any element.
        ("\"x\" in tags", "01 02 13"),
        ("tags has \"x\"", "01 02 13"),
        ("tags = \"x\"", "01 02 13"),
        ("tags != \"x\"", "01 11 13"),
        ("not tags has \"x\"", "03 11 12"),
        // Each of the two can be met by another element.
        ("tags > \"x\" and tags < \"y\"", "01 13"),
        ("friends = @0100000000000001", "02 11"),
        ("scores.key = \"b\"", "01 13"),
        ("scores.value >= 5", "01 11 13"),
        ("scores[\"a\"] > 2", "03 11"),
        ("scores[\"q\"] > 2", ""),
        ("friends[1] = @0100000000000003", "11"),
        ("friends[7] is not null", ""),
        // A reference that leads to nothing leads to no value, but is a value.
        ("boss = @0100000000000099", "12"),
        ("boss.name = \"Ann\"", "02 13"),
        ("boss.name != \"Ann\"", "03 11"),
        ("boss.name = null", ""),
        ("boss.boss.name = \"Bob\"", "11"),
        ("friends.name = \"Ann\"", "02 11 13"),
        ("boss.id = @0100000000000099", ""),
        // A field that a version lacks reads as its default.
        ("visits = 0", "01 03 11 12 13"),
        ("visits >= 7", "02"),
        ("born is null", "01 02 03 11 12 13"),
        ("schema = 2", "11 12 13"),
        ("type = Person", "01 02 03 11 12 13"),
        ("id = @0100000000000011", "11"),
        ("id in {@0100000000000011, @0100000000000098}", "11"),
        ("id > @0100000000000011", "12 13"),
        ("name = \"Ann\" or age = 20", "01 02 11 13"),
        ("name = \"Ann\" and (age = 30 or age = 31)", "01"),
    ];
    for (condition, ids) in rows {
        let indexed = found(&format!("find Person where {condition} order by id"));
        assert_eq!(indexed, ids, "{condition}");
        let scanned = found(&format!("find Person where {condition} using none"));
        assert_eq!(scanned, ids, "{condition} using none");
    }
}

#[test]
fn paths_and_sets() {
    let rows = [
        ("Person", "01 02 03 11 12 13"),
        ("@0100000000000002", "02"),
        ("@0100000000000098", ""),
        ("@0100000000000002->boss", "01"),
        ("@0100000000000011->friends", "01 03"),
        ("@0100000000000011->friends.element->boss", "02"),
        ("@0100000000000012->boss", ""),
        ("@0100000000000001<-Person.boss", "02"),
        ("@0100000000000001<-Person.friends", "02 11"),
        ("(Person where age > 34)<-Person.boss", "11 13"),
        ("Pet->owner", "02 13"),
        ("Pet->Pet.owner<-Person.boss", "03"),
        ("@0100000000000002<-Pet.owner", "01"),
        ("Person where age = 20 union Person where name = \"Ann\"", "01 02 11 13"),
        ("Person minus Person where name = \"Ann\"", "02 03 12 13"),
        ("Person where age = 20 intersect Pet->owner", "02 13"),
    ];
    for (objects, ids) in rows {
        assert_eq!(found(&format!("find {objects}")), ids, "{objects}");
    }
}

/// Null is the greatest, an absent value is greater, and equals are in the order of their IDs both
/// ways.
#[test]
fn order_and_limit() {
    let rows = [
        ("order by age", "02 13 01 11 03 12"),
        ("order by age desc", "12 03 11 01 02 13"),
        ("order by name", "01 11 03 02 12 13"),
        ("order by name desc", "13 12 02 03 01 11"),
        ("order by name, age desc", "11 01 03 02 12 13"),
        ("order by boss.name", "02 13 11 03 01 12"),
        ("order by id desc limit 2", "13 12"),
        ("order by age limit 3", "02 13 01"),
        ("limit 2", "01 02"),
        ("limit 0", ""),
    ];
    for (order, ids) in rows {
        assert_eq!(found(&format!("find Person {order}")), ids, "{order}");
    }
}

#[test]
fn columns() {
    let fixture = people();
    let answer = fixture.ask("find Person where id = @0100000000000011");
    let names = ["id", "name", "age", "tags", "scores", "friends", "boss", "born", "visits"];
    let mut columns = answer.column_names();
    columns.sort_unstable();
    let mut expected = names;
    expected.sort_unstable();
    assert_eq!(columns, expected);
    let answer = fixture.ask("find Person columns name, boss.name, friends.name, visits, type");
    assert_eq!(
        answer.lines(),
        [
            "Ann - [] 0 Person",
            "Bob Ann [\"Ann\", \"Ann\"] 7 Person",
            "Bert Bob [\"Bob\"] 0 Person",
            "Ann Bert [\"Ann\", \"Bert\"] 0 Person",
            "Cid - [] 0 Person",
            "Dora Ann [\"Ann\"] 0 Person",
        ]
    );
    assert_eq!(fixture.ask("count Person where age = 20").line(), "2");
    let shown = fixture.ask("show @0100000000000002");
    let fields: Vec<_> = shown.objects[0].fields.iter().map(|(name, _)| &**name).collect();
    assert!(fields.contains(&"visits") && !fields.contains(&"born"), "{fields:?}");
    assert_eq!(fixture.ask("export Pet").objects.len(), 2);
}

/// Entries of pets have the same storage ID as those of people.
#[test]
fn index_entries() {
    let fixture = people();
    let answer = fixture.ask("index Pet.name");
    assert_eq!(answer.column_names(), ["name", "id"]);
    assert_eq!(answer.rows.len(), 2);
    let names = |statement: &str| -> Vec<String> {
        let answer = fixture.ask(statement);
        answer.rows.iter().map(|row| row.cells[0].shown()).collect()
    };
    assert_eq!(names("index Person.name (\"B\"..\"C\")"), ["Bert", "Bob"]);
    assert_eq!(names("index Person.name reverse limit 2"), ["Dora", "Cid"]);
    assert_eq!(names("index Person.nameAge (\"Ann\", 30..)"), ["Ann"]);
    assert_eq!(names("index Person.nameAge (.., 20)"), ["Dora"]);
    let answer = fixture.ask("index Person.scores.value (5..)");
    assert_eq!(answer.column_names(), ["scores.value", "id", "key"]);
    let keys: Vec<_> = answer.rows.iter().map(|row| row.cells[2].shown()).collect();
    assert_eq!(keys, ["b", "b", "a"]);
    let answer = fixture.ask("index Person.friends (@0100000000000001)");
    assert_eq!(answer.column_names(), ["friends.element", "id", "position"]);
    assert_eq!(answer.rows.len(), 3);
}

/// A name that is a word of the language is in backticks for people only.
#[test]
fn names_of_columns() {
    use permazen::schema::{Field, ObjectType, SchemaModel};

    use super::database::{Fixture, encoding};

    let fixture = Fixture::new();
    let mut of = ObjectType::new("T");
    for name in ["count", "set", "id"] {
        of = of.field(Field::new(name, encoding("int").indexed()));
    }
    fixture.with(SchemaModel::new().object_type(of), |_| ());
    let names = |statement: &str| {
        let columns = fixture.ask(statement).columns;
        let join = |names: Vec<&str>| names.join(", ");
        (
            join(columns.iter().map(|column| &*column.name).collect()),
            join(columns.iter().map(|column| &*column.plain).collect()),
        )
    };
    let both = |one: &str, other: &str| (one.to_owned(), other.to_owned());
    assert_eq!(names("find T"), both("id, `count`, `id`, `set`", "id, count, `id`, set"));
    assert_eq!(names("find T columns `count`, `set`"), both("`count`, `set`", "count, set"));
    assert_eq!(names("index T.`count`"), both("`count`, id", "count, id"));
    assert_eq!(names("index T.`id`"), both("`id`, id", "`id`, id"));
}

/// A position that no list has, however large it is, has no element.
#[test]
fn positions_that_no_list_has() {
    for condition in ["friends[_] is null", "friends[_] != null", "not friends[_] = null"] {
        let at = |position: &str| {
            found(&format!("find Person where {}", condition.replace('_', position)))
        };
        let none = at("1000");
        for position in ["4294967294", "4294967295", "4294967296", "1e18", "1e999"] {
            assert_eq!(at(position), none, "{condition} {position}");
        }
    }
    assert_eq!(
        found("find Person where friends[0.0] != null"),
        found("find Person where friends[0] != null")
    );
}
