use permazen_query::{Parameters, parse_literal};

use super::world::*;

#[test]
fn fields_get_values_or_defaults() {
    let world = World::new();
    let on = world.begin();
    let ann = on.create("Person");
    assert_eq!(on.schema_of(ann), 2, "the newest schema with the type");
    assert_eq!([on.get(ann, "name"), on.get(ann, "age"), on.get(ann, "tags")], ["null", "0", "{}"]);
    let bob = on.create(&format!(
        r#"Person name = "Bob", age = 41, tags = {{"x", "y", "x"}}, scores = {{"a": 1, "b": 2}},
           friends = [@{ann}, @{ann}], boss = @{ann}, mail = "b@example.org""#
    ));
    assert_eq!(on.get(bob, "name"), r#""Bob""#);
    assert_eq!(on.get(bob, "age"), "41");
    assert_eq!(on.get(bob, "tags"), r#"{"x", "y"}"#);
    assert_eq!(on.get(bob, "scores"), r#"{"a": 1, "b": 2}"#);
    assert_eq!(on.get(bob, "friends"), format!("[@{ann}, @{ann}]"));
    assert_eq!(on.get(bob, "boss"), format!("@{ann}"));
    on.assert_clean();
    assert_eq!(on.run("create Pet").to_string().len(), "@1000000000000001 created".len());
}

#[test]
fn the_schema_can_be_given() {
    let world = World::new();
    let mut on = world.begin();
    on.parameters = Parameters::new().creating_in(schema_index(1));
    let ann = on.create("Person visits = 5");
    assert_eq!((on.schema_of(ann), on.get(ann, "visits")), (1, "5".to_owned()));
    on.refused("create Person mail = \"x\"", &["schema 1", "no field `mail`"]);
    on.parameters = Parameters::new().creating_in(schema_index(2));
    on.refused("create Sums", &["schema 2", "Sums"]);
    on.parameters = Parameters::new();
    // The newest schema that has the type.
    let sums = on.create("Sums");
    assert_eq!(on.schema_of(sums), 1);
    on.assert_clean();
}

#[test]
fn values_of_all_kinds() {
    let world = World::new();
    let mut on = world.begin();
    on.parameters = Parameters::new().with("x", parse_literal("[3, 4]").unwrap());
    let sums = on.create(
        "Sums b = -128, s = 32767, l = -9223372036854775808, f = 1.5, d = \"NaN\", n = null, bi = 123456789012345678901234567890, bd = 1.50, list = $x, t = \"\\u{9b}31m\", day = \"2024-02-29\", e = GREEN",
    );
    let all = ["b", "s", "l", "f", "d", "n", "bi", "bd", "list", "t", "day", "e"];
    assert_eq!(
        all.map(|field| on.get(sums, field)).join(" "),
        "-128 32767 -9223372036854775808 1.5 \"NaN\" null 123456789012345678901234567890 1.50 \
         [3, 4] \"\\u{9b}31m\" \"2024-02-29\" GREEN"
    );
}

#[test]
fn what_is_refused() {
    let world = World::new();
    let on = world.begin();
    let ann = on.create("Person");
    let pet = on.create("Pet");
    on.run(&format!("delete @{ann}"));
    on.refused(&format!("create Person boss = @{ann}"), &["does not exist"]);
    on.refused(&format!("create Person friends = [@{ann}]"), &["does not exist"]);
    on.refused(&format!("create Person boss = @{pet}"), &["type `Pet`"]);
    on.refused("create Nobody", &["Nobody"]);
    on.refused("create Person name = \"a\", name = \"b\"", &["already"]);
    on.refused("create Person tags = [\"a\"]", &["set"]);
    on.refused("create Person scores = {\"a\": 1, \"a\": 2}", &["twice"]);
    on.refused("create Sums b = 128", &["128"]);
}
