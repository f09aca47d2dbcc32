//! Numbers that the type of a field cannot have.

use permazen::encoding::{EnumValue, Value};
use permazen::object::Migrate;
use permazen::schema::{Field, ObjectType, SchemaModel, Simple};

use super::database::{Fixture, encoding, id};

/// Objects of one type in several schemas, each with another type of number. The number at the end
/// of an ID is that of the schema.
fn several(values: &[(&str, Value)]) -> Fixture {
    let fixture = Fixture::new();
    for (number, (of, value)) in (1..).zip(values) {
        let object_type = ObjectType::new("P").field(Field::new("n", encoding(of).indexed()));
        fixture.with(SchemaModel::new().object_type(object_type), |tx| {
            let id = id(tx, "P", number);
            tx.create_with_id(id).unwrap();
            tx.set(id, "n", value, Migrate::No).unwrap();
        });
    }
    fixture
}

fn found(fixture: &Fixture, condition: &str) -> String {
    let ask = |using: &str| {
        let answer = fixture.ask(&format!("find P where {condition}{using}"));
        let ids = answer.rows.iter().map(|row| row.id.unwrap().to_string()[15..].to_owned());
        let mut ids: Vec<_> = ids.collect();
        ids.sort();
        ids.join(" ")
    };
    let ids = ask("");
    assert_eq!(ask(" using none"), ids, "{condition} using none");
    ids
}

#[test]
fn out_of_the_range_of_one_schema() {
    let five = [
        ("byte", Value::Byte(5)),
        ("Short", Value::Short(5)),
        ("int", Value::Int(5)),
        ("long", Value::Long(5)),
    ];
    let fixture = several(&five);
    let rows = [
        ("n < 3000000000", "1 2 3 4"),
        ("n <= 40000", "1 2 3 4"),
        ("n > 3000000000", ""),
        ("n >= -3000000000", "1 2 3 4"),
        ("n < -3000000000", ""),
        ("not n < 3000000000", ""),
        ("n = 3000000000", ""),
        ("n != 3000000000", "1 2 3 4"),
        ("n in 0..3000000000", "1 2 3 4"),
        ("n in -3000000000..=5", "1 2 3 4"),
        ("n in 3000000000..4000000000", ""),
        ("n in ..3000000000", "1 2 3 4"),
        ("n in {5, 3000000000}", "1 2 3 4"),
        ("n in {3000000000}", ""),
        // Only three of the types have null.
        ("n != null", "1 2 3 4"),
    ];
    for (condition, ids) in rows {
        assert_eq!(found(&fixture, condition), ids, "{condition}");
    }
}

/// Each schema has a type of its own, whose values compare only with each other.
#[test]
fn values_of_many_types_are_sorted_type_by_type() {
    const SCHEMAS: u64 = 300;
    let fixture = Fixture::new();
    for number in 0..SCHEMAS {
        let names = [format!("A{number}"), format!("B{number}")];
        let kind = Simple::enumeration(names.clone());
        let object_type = ObjectType::new("P").field(Field::new("n", kind));
        fixture.with(SchemaModel::new().object_type(object_type), |tx| {
            for (ordinal, name) in (0..).zip(names) {
                let id = tx.create("P").unwrap();
                let value = Value::Enum(EnumValue::new(name, ordinal));
                tx.set(id, "n", &value, Migrate::No).unwrap();
            }
        });
    }
    for (order, first, second) in [("n", "A", "B"), ("n desc", "B", "A")] {
        let values = fixture.ask(&format!("find P order by {order} columns n")).lines();
        assert_eq!(values.len() as u64, 2 * SCHEMAS);
        for two in values.chunks(2) {
            let number = two[0].trim_start_matches(first);
            assert_eq!(two[1], format!("{second}{number}"), "{order}");
        }
    }
}

#[test]
fn fractions_and_large_numbers() {
    let fixture = several(&[
        ("int", Value::Int(2)),
        ("double", Value::Double(2.5)),
        ("float", Value::Float(0.1)),
        ("BigInteger", Value::BigInteger("3".parse().unwrap())),
    ]);
    let rows = [
        ("n < 2.5", "1 3"),
        ("n <= 2.5", "1 2 3"),
        ("n >= 2.5", "2 4"),
        ("n > 2.5", "4"),
        ("n > -2.5", "1 2 3 4"),
        ("n != 2.5", "1 3 4"),
        ("n in 1.5..2.5", "1"),
        ("n < 1e300", "1 2 3 4"),
        ("n > -1e300", "1 2 3 4"),
        ("n = 2e0", "1"),
        // The nearest number of each type is meant.
        ("n = 0.1", "3"),
        ("n <= 0.1", "3"),
        ("n < 0.1", ""),
    ];
    for (condition, ids) in rows {
        assert_eq!(found(&fixture, condition), ids, "{condition}");
    }
    // No type has it.
    let fixture = several(&[("int", Value::Int(2))]);
    assert!(fixture.mistake("find P where n < 3000000000").what.contains("out of range"));
    assert!(fixture.mistake("find P where n < 2.5").what.contains("no whole number"));
}

#[test]
fn a_value_of_another_type_is_another_one() {
    let fixture = several(&[("String", "x".into()), ("int", Value::Int(5))]);
    assert_eq!(found(&fixture, "n != \"x\""), "2");
    assert_eq!(found(&fixture, "n != 5"), "1");
    assert_eq!(found(&fixture, "not n = 5"), "1");
}
