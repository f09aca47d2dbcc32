//! Plans in words, and what is read.

use permazen::encoding::{EnumValue, Value};
use permazen::object::Migrate;
use permazen::schema::{CompositeIndex, Field, ObjectType, SchemaModel, Simple};

use super::database::{Answer, Fixture, encoding, id, people};

fn plan(statement: &str) -> String {
    let plan = people().plan(statement);
    let (first, rest) = plan.split_once('\n').unwrap_or((&plan, ""));
    assert!(first.starts_with(statement.split(' ').next().unwrap()), "{plan}");
    rest.to_owned()
}

#[test]
fn an_index_by_its_values() {
    assert_eq!(
        plan("find Person where name = \"Ann\" and visits > 3 columns id"),
        "  index Person.name
    storage ID 6: entries (\"Ann\"): 1 seek and a step for each entry
  filter: visits > 3
  each object: 2 gets"
    );
    assert_eq!(
        plan("delete Pet where name starts \"R\""),
        "  index Pet.name
    storage ID 6: entries (starts \"R\"): 1 seek and a step for each entry
    entries of other types are passed over
    in its order"
    );
    assert_eq!(
        plan("count Person where name in {\"Ann\", \"Bob\"}"),
        "  index Person.name
    storage ID 6: entries ({\"Ann\", \"Bob\"}): 2 seeks and a step for each entry
    in its order"
    );
}

/// The entries can be of other keys or positions.
#[test]
fn an_index_that_has_the_value_somewhere() {
    assert_eq!(
        plan("count Person where scores[\"a\"] = 2"),
        "  index Person.scores.value
    storage ID 9: entries (2): 1 seek and a step for each entry
  filter: scores[\"a\"] = 2
  each object: 1 get"
    );
    assert_eq!(
        plan("count Person where friends[0] = @0100000000000001"),
        "  index Person.friends.element
    storage ID 5: entries (@0100000000000001): 1 seek and a step for each entry
  filter: friends[0] = @0100000000000001
  each object: 1 get"
    );
    // Not through a reference.
    let shown = plan("count Person where boss.name = \"Ann\"");
    assert!(shown.contains("scan all objects of Person"), "{shown}");
    let shown = plan("count (Person where name = \"Ann\")<-Person.boss");
    assert!(!shown.contains("scan") && shown.contains("index Person.name"), "{shown}");
}

#[test]
fn an_index_that_lacks_objects() {
    assert_eq!(
        plan("count Person where age = 20"),
        "  index Person.age
    storage ID 15: entries (20): 1 seek and a step for each entry
    the objects of schema 1 are not in it: each of them is read
    in its order"
    );

    assert_eq!(
        plan("find Person order by age columns id"),
        "  scan all objects of Person: 1 seek and a step for each pair
  sort by age
  note: index Person.age has the order, but not the objects of schema 1"
    );
}

#[test]
fn an_index_in_its_order() {
    assert_eq!(
        plan("find Pet order by name desc limit 1 columns id, name"),
        "  index Pet.name
    storage ID 6: all entries: 1 seek and a step for each entry
    entries of other types are passed over
    in its order, from the end
  at most 1"
    );
}

#[test]
fn branches_with_an_index_each() {
    assert_eq!(
        plan("count Person where \"x\" in tags or name = \"Ann\""),
        "  any of
    index Person.tags.element
      storage ID 11: entries (\"x\"): 1 seek and a step for each entry
    index Person.name
      storage ID 6: entries (\"Ann\"): 1 seek and a step for each entry
  sort the IDs, each once"
    );
}

#[test]
fn no_index() {
    let scan = "  scan all objects of Person: 1 seek and a step for each pair
  filter: visits > 3";
    let note = "\n  note: all objects of Person are read, because no index serves the condition";
    assert_eq!(plan("count Person where visits > 3"), format!("{scan}{note}"));
    assert_eq!(plan("count Person where visits > 3 using none"), scan);
    assert_eq!(
        plan("count Person"),
        "  scan the IDs of all objects of Person: a step for each object"
    );
    let ran = people().ask("count Person where visits > 3").ran;
    let why = "all objects of Person are read, because no index serves the condition";
    assert_eq!(ran.scanned_without_index.as_deref(), Some(why));
    assert_eq!(people().ask("count Person").ran.scanned_without_index, None);
    // So it is with the sets of which a set consists.
    let rows = [
        ("count (Person where visits > 3) union @0100000000000001", why),
        ("count (Person where visits > 3)<-Pet.owner", why),
        ("find (Person where visits > 3) minus (Person where visits > 4)", why),
    ];
    for (statement, why) in rows {
        let ran = people().ask(statement).ran;
        assert_eq!(ran.scanned_without_index.as_deref(), Some(why), "{statement}");
    }
    let ran = people().ask("count (Person where name = \"Ann\") union Pet").ran;
    assert_eq!(ran.scanned_without_index, None);
}

#[test]
fn explain_gives_the_lines_of_the_plan() {
    let fixture = people();
    let statement = "count Pet where name = \"Rex\"";
    assert_eq!(
        fixture.ask(&format!("explain {statement}")).lines().join("\n"),
        fixture.plan(statement)
    );
}

/// A value is found by reading its entries only.
#[test]
fn what_an_index_costs() {
    let fixture = people();
    let costs = |statement: &str| {
        let done = fixture.ask(statement).operations;
        (done.gets, done.seeks, done.steps)
    };
    assert_eq!(costs("count Pet where name = \"Rex\""), (0, 1, 1));
    assert_eq!(costs("find Pet where name = \"Rex\" columns id, name, type"), (0, 1, 1));
    assert_eq!(costs("find Pet where name = \"Rex\" columns owner"), (1, 1, 1));
    assert_eq!(costs("find @0100000000000002 columns id"), (1, 0, 0));
    assert_eq!(costs("index Pet.name (\"Rex\")"), (0, 1, 1));
    assert_eq!(costs("find Pet order by name limit 1 columns name").0, 0);
    assert_eq!(costs("count Pet"), (0, 2, 2));
}

/// Without `order by`, rows come as an index has them. So the first ones come at once.
#[test]
fn the_first_rows_of_an_index() {
    let fixture = people();
    assert_eq!(fixture.ask("find Pet where name >= \"A\" columns name").line(), "Rex, Rover");
    let all = fixture.ask("find Person where name >= \"A\" columns name, id");
    assert_eq!(
        all.lines().iter().map(|line| line.split(' ').next().unwrap()).collect::<Vec<_>>(),
        ["Ann", "Ann", "Bert", "Bob", "Cid", "Dora"]
    );
    let two = fixture.ask("find Person where name >= \"A\" limit 2 columns name, id");
    assert_eq!(two.lines(), all.lines()[..2]);
    // One of the seeks is for the plan.
    assert_eq!((two.operations.seeks, two.operations.steps), (2, 2));
}

#[test]
fn the_last_objects_by_their_ids() {
    let fixture = people();
    assert_eq!(
        fixture.plan("find Person order by id desc limit 2 columns id"),
        "find Person order by id desc limit 2 columns id
  scan the IDs of all objects of Person, from the end: a step for each object
  at most 2"
    );
    let answer = fixture.ask("find Person order by id desc limit 2 columns id, name");
    assert_eq!(answer.line(), "0100000000000013 Dora, 0100000000000012 Cid");
    assert_eq!(answer.ran.scanned_without_index, None);
    assert!(answer.operations.steps <= 4, "{:?}", answer.operations);
    let answer = fixture.ask("find Person where age = 20 order by id desc using none");
    let ids: Vec<_> = answer.rows.iter().map(|row| row.id.unwrap().to_string()).collect();
    assert_eq!(ids, ["0100000000000013", "0100000000000002"]);
}

/// A condition through references is shown the other way round if indexes serve it so.
#[test]
fn how_indexes_would_serve_it() {
    let rows = [
        ("Person where boss.name = \"Ann\"", Some("(Person where name = \"Ann\")<-Person.boss")),
        (
            "Pet where owner.boss.name starts \"A\"",
            Some("(Person where name starts \"A\")<-Person.boss<-Pet.owner"),
        ),
        (
            "Person where visits > 3 and boss.name in \"A\"..\"C\" and (visits = 7 or visits > 8)",
            Some(
                "(Person where name in \"A\"..\"C\")<-Person.boss where visits > 3 and (visits = 7 or visits > 8)",
            ),
        ),
        (
            "(Person union Pet) where name = \"Ann\"",
            Some("(Person where name = \"Ann\") union (Pet where name = \"Ann\")"),
        ),
        // No index has it, or not in this way.
        ("Person where boss.visits = 3", None),
        ("Person where boss.name != \"Ann\"", None),
        ("Person where boss.name is null", None),
        ("Person where friends.name = \"Ann\"", None),
        ("Person where not boss.name = \"Ann\"", None),
        ("Person where boss.name = \"Ann\" or visits = 3", None),
    ];
    let fixture = people();
    for (objects, other) in rows {
        let answer = fixture.ask(&format!("find {objects}"));
        let said = answer.ran.scanned_without_index.clone().unwrap();
        let shown = said.split_once("; with indexes: ").map(|(_, shown)| shown);
        assert_eq!(shown, other, "{objects}");
        let Some(other) = other else { continue };
        let other = fixture.ask(&format!("find {other}"));
        let ids = |answer: &Answer| answer.rows.iter().map(|row| row.id).collect::<Vec<_>>();
        assert_eq!(ids(&other), ids(&answer), "{objects}");
        assert_eq!(other.ran.scanned_without_index, None, "{objects}");
    }
    let answer = fixture.ask("find (Person union Pet) where name = \"Ann\" using none");
    assert_eq!(answer.ran.scanned_without_index, None);
}

/// An order in a shop, in a schema in which its state is one of these.
fn order(states: &[&str]) -> SchemaModel {
    let order = ObjectType::new("Order")
        .field(Field::new("state", Simple::enumeration(states.iter().copied()).indexed()))
        .field(Field::new("opened", encoding("int")))
        .composite_index(CompositeIndex::new("byStateOpened", ["state", "opened"]));
    SchemaModel::new().object_type(order)
}

/// Orders 01 to 04 of one schema, and 11 to 14 of another one that has one more state. Orders with
/// an even number are done. Each was opened at ten times the last digit of its number.
fn orders() -> Fixture {
    let fixture = Fixture::new();
    let models = [order(&["OPEN", "DONE"]), order(&["OPEN", "DONE", "LOST"])];
    for (start, model) in [0, 0x10].into_iter().zip(models) {
        fixture.with(model, |tx| {
            for number in 1..=4_u8 {
                let id = id(tx, "Order", start + number);
                tx.create_with_id(id).unwrap();
                let state = if number % 2 == 0 { ("DONE", 1) } else { ("OPEN", 0) };
                let state = Value::Enum(EnumValue::new(state.0, state.1));
                tx.set(id, "state", &state, Migrate::No).unwrap();
                tx.set(id, "opened", &Value::Int(i32::from(number) * 10), Migrate::No).unwrap();
            }
        });
    }
    fixture
}

/// An enum that has got a constant is another field, and so are the indexes on it.
#[test]
fn a_composite_index_of_two_schemas() {
    let fixture = orders();
    let both = "  index Order.byStateOpened
    storage ID 4: entries (DONE, 0..30): 1 seek and a step for each entry
    storage ID 6: entries (DONE, 0..30): 1 seek and a step for each entry
    in its order";
    for using in ["", " using Order.byStateOpened"] {
        let statement =
            format!("find Order where state = DONE and opened in 0..30{using} columns id");
        assert_eq!(fixture.plan(&statement), format!("{statement}\n{both}"));
        let found = fixture.ask(&statement);
        assert_eq!(found.line(), "0100000000000002, 0100000000000012");
        assert_eq!((found.operations.gets, found.operations.steps), (0, 2));
    }
    let sorted =
        fixture.ask("find Order where state = OPEN and opened > 0 order by opened columns opened");
    assert_eq!(sorted.line(), "10, 10, 30, 30");
    // Only the newer schema knows it.
    let statement = "find Order where state in {DONE, LOST} and opened > 20 columns id";
    let shown = fixture.plan(statement);
    assert!(
        shown.contains("index Order.byStateOpened") && !shown.contains("each of them"),
        "{shown}"
    );
    assert_eq!(fixture.ask(statement).line(), "0100000000000004, 0100000000000014");
}

/// Two indexes have no common order. A schema without objects does not count.
#[test]
fn the_order_of_a_composite_index_of_two_schemas() {
    let fixture = orders();
    let statement = "find Order where state = DONE order by opened limit 1 columns id";
    assert!(fixture.plan(statement).contains("sort by opened"), "{}", fixture.plan(statement));
    assert_eq!(fixture.ask(statement).line(), "0100000000000002");
    fixture.with(order(&["OPEN", "DONE", "LOST"]), |tx| {
        for number in 1..=4 {
            assert!(tx.delete(id(tx, "Order", number)).unwrap());
        }
    });
    let shown = fixture.plan(statement);
    assert!(shown.contains("index Order.byStateOpened") && !shown.contains("sort by"), "{shown}");
    assert_eq!(fixture.ask(statement).line(), "0100000000000012");
}
