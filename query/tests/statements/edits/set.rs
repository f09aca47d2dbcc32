use super::world::*;

/// A person of each schema, with some content.
fn two() -> (World, [permazen::ObjId; 2]) {
    let world = World::new();
    let ids = {
        let on = world.begin();
        let create = |schema| {
            let text =
                r#"Person name = "Ann", age = 30, tags = {"x", "y"}, scores = {"a": 1, "b": 5}"#;
            on.create_in(schema, text)
        };
        let ids = [create(1), create(2)];
        let friends = format!("[@{}, @{}, @{}]", ids[0], ids[1], ids[0]);
        on.run(&format!("set all Person to friends = {friends}"));
        on.tx.commit().unwrap();
        ids
    };
    (world, ids)
}

/// The content of a field of both after a change.
#[track_caller]
fn after(change: &str, field: &str) -> String {
    let (world, ids) = two();
    let on = world.begin();
    let change =
        change.replace("$1", &format!("@{}", ids[0])).replace("$2", &format!("@{}", ids[1]));
    let edited = on.run(&format!("set all Person to {change}"));
    assert_eq!(edited.set, 2);
    on.assert_clean();
    let [a, b] = ids.map(|id| {
        let content = on.get(id, field);
        content.replace(&format!("@{}", ids[0]), "$1").replace(&format!("@{}", ids[1]), "$2")
    });
    assert_eq!(a, b);
    a
}

#[test]
fn whole_values() {
    assert_eq!(after("name = \"Eve\"", "name"), "\"Eve\"");
    assert_eq!(after("name = null", "name"), "null");
    assert_eq!(after("age = 31", "age"), "31");
    assert_eq!(after("tags = {\"y\", \"z\"}", "tags"), "{\"y\", \"z\"}");
    assert_eq!(after("tags = {}", "tags"), "{}");
    assert_eq!(after("scores = {\"b\": 5, \"c\": 7}", "scores"), "{\"b\": 5, \"c\": 7}");
    assert_eq!(after("scores = {}", "scores"), "{}");
    assert_eq!(after("boss = $1", "boss"), "$1");
    for list in [
        "[]",
        "[$1]",
        "[$1, $2]",
        "[$2, $1]",
        "[$1, $1, $2, $1]",
        "[$1, $2, $1, $2, $2]",
        "[$2, $2, $2]",
    ] {
        assert_eq!(after(&format!("friends = {list}"), "friends"), list);
    }
}

#[test]
fn parts_of_collections() {
    assert_eq!(after("tags add \"z\"", "tags"), "{\"x\", \"y\", \"z\"}");
    assert_eq!(after("tags add \"x\"", "tags"), "{\"x\", \"y\"}");
    assert_eq!(after("tags remove \"x\"", "tags"), "{\"y\"}");
    assert_eq!(after("tags remove \"q\"", "tags"), "{\"x\", \"y\"}");
    assert_eq!(after("scores[\"b\"] = 9", "scores"), "{\"a\": 1, \"b\": 9}");
    assert_eq!(after("scores put \"c\": 9", "scores"), "{\"a\": 1, \"b\": 5, \"c\": 9}");
    assert_eq!(after("scores remove \"a\"", "scores"), "{\"b\": 5}");
    assert_eq!(after("friends add $2", "friends"), "[$1, $2, $1, $2]");
    assert_eq!(after("friends[1] = $1", "friends"), "[$1, $1, $1]");
    assert_eq!(after("friends insert $2 at 0", "friends"), "[$2, $1, $2, $1]");
    assert_eq!(after("friends insert $2 at 3", "friends"), "[$1, $2, $1, $2]");
    assert_eq!(after("friends remove $1", "friends"), "[$2]");
    // One after the other.
    assert_eq!(after("tags add \"z\", tags remove \"z\"", "tags"), "{\"x\", \"y\"}");
    assert_eq!(after("age = 5, age += 2, age -= 1", "age"), "6");
}

#[test]
fn sums_are_checked() {
    let world = World::new();
    let on = world.begin();
    let sums = on.create("Sums bi = 5, bd = 1.5, n = 1");
    let after = |change: &str, field: &str| {
        on.run(&format!("set all Sums to {change}"));
        on.get(sums, field)
    };
    assert_eq!(after("b += 127", "b"), "127");
    assert_eq!(after("b -= 100", "b"), "27");
    assert_eq!(after("s -= 32767, s -= 1", "s"), "-32768");
    assert_eq!(after("i += 2147483647", "i"), "2147483647");
    assert_eq!(after("l -= 9223372036854775807", "l"), "-9223372036854775807");
    assert_eq!(after("f += 0.5", "f"), "0.5");
    assert_eq!(after("d = 1E308", "d"), "1.0E308");
    assert_eq!(after("n += 1", "n"), "2");
    assert_eq!(after("bi += 99999999999999999999", "bi"), "100000000000000000004");
    assert_eq!(after("bi -= 200000000000000000000", "bi"), "-99999999999999999996");
    assert_eq!(after("bd += 0.25", "bd"), "1.75");
    assert_eq!(after("bd -= 2", "bd"), "-0.25");
    for (change, words) in [
        ("b += 101", "27 + 101 is out of the range of byte"),
        ("s -= 1", "-32768 - 1 is out of the range of short"),
        ("i += 1", "2147483647 + 1 is out of the range of int"),
        ("l -= 2", "is out of the range of long"),
        ("d += 1E308", "is out of the range of double"),
        ("n += 2147483646", "is out of the range of Integer"),
        ("bd += 1E+2000000000", "is out of the range of BigDecimal"),
        ("t += 1", "for numbers"),
        ("b += 128", "128"),
        ("n += null", "null is no number"),
    ] {
        on.refused(&format!("set all Sums to {change}"), &[words]);
    }
    on.run("set all Sums to n = null, d = \"Infinity\", d -= 1");
    assert_eq!(on.get(sums, "d"), "\"Infinity\"");
    on.refused("set all Sums to n += 1", &["n: it is null", &sums.to_string()]);
    on.assert_clean();
}

#[test]
fn counters_wrap() {
    let world = World::new();
    let on = world.begin();
    let ann = on.create_in(1, "Person");
    for (change, expected) in [
        ("visits += 5", "5"),
        ("visits -= 7", "-2"),
        ("visits = 9223372036854775807", "9223372036854775807"),
        ("visits += 1", "-9223372036854775808"),
        ("visits -= -9223372036854775808", "0"),
    ] {
        on.run(&format!("set @{ann} to {change}"));
        assert_eq!(on.get(ann, "visits"), expected, "{change}");
    }
    on.assert_clean();
}

#[test]
fn matches_are_fixed_before_the_first_change() {
    let world = World::new();
    let on = world.begin();
    for age in 0..10 {
        on.create(&format!("Person age = {age}"));
    }
    // Each object moves in the index that finds it.
    let edited = on.run("set Person where age >= 0 to age += 100");
    assert_eq!(edited.set, 10);
    assert_eq!(on.run("set Person where age >= 105 to age = 0").set, 5);
    assert_eq!(on.run("set Person where age = 0 limit 2 to age = 1").set, 2);
    assert_eq!(on.run("set Person where age = 7 to age = 0").to_string(), "nothing to change");
    on.assert_clean();
}

#[test]
fn objects_stay_in_their_schema() {
    let (world, ids) = two();
    let on = world.begin();
    on.run("set all Person to age = 5");
    assert_eq!(ids.map(|id| on.schema_of(id)), [1, 2]);
    // One of both has the field.
    let words = |id| [format!("Person @{id}"), "has no field".to_owned()];
    let error =
        on.refused("set all Person to visits += 1", &["in schema 2: it has no field visits"]);
    assert!(error.to_string().contains(&words(ids[1])[0]), "{error}");
    let error =
        on.refused("set all Person to mail = \"x\"", &["in schema 1: it has no field mail"]);
    assert!(error.to_string().contains(&words(ids[0])[0]), "{error}");
    // A value that the field of one of both can hold.
    on.refused("set all Person to age = 70000", &["in schema 2", "70000"]);
    on.run(&format!("set @{} to age = 70000, visits += 1", ids[0]));
    on.refused("set all Person to nothing = 1", &["no field"]);
    on.assert_clean();
}

#[test]
fn a_whole_type_needs_the_word_all() {
    let (world, _) = two();
    let on = world.begin();
    for statement in ["set Person to age = 1", "delete Person", "delete Person union Pet"] {
        on.refused(statement, &["all"]);
    }
    assert_eq!(on.run("set all Person to age = 1").set, 2);
    assert_eq!(on.run("delete all Person").deleted, 2);
}
