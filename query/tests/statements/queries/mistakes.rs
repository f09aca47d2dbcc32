//! Mistakes are found before anything is read, and shown where they are.

use permazen_query::{Limits, Parameters, QueryError, parse_literal};

use super::database::people;

/// A statement, the part of it that is marked, and what is wrong with it.
const MISTAKES: [(&str, &str, &str); 37] = [
    ("find Persn", "Persn", "there is no object type `Persn` (did you mean `Person`?)"),
    ("find Person where nmae = 1", "nmae", "Person has no field `nmae` (did you mean `name`?)"),
    ("find Person columns nam", "nam", "Person has no field `nam` (did you mean `name`?)"),
    ("find Person where name#5 = \"x\"", "name#5", "Person has no field `name` with storage ID 5"),
    (
        "find Person where age = \"x\"",
        "\"x\"",
        "a text is no value of type Integer; expected a number",
    ),
    (
        "find Person where age = 3000000000",
        "3000000000",
        "3000000000 is out of range for type Integer",
    ),
    (
        "find Person where age < null",
        "null",
        "nothing is less or greater than null, and no range has it; null is found by `is null`",
    ),
    ("find Person where visits = null", "null", "null is no value of type long"),
    (
        "find @2200000000000001",
        "@2200000000000001",
        "no object type has storage ID 34, as @2200000000000001 says",
    ),
    (
        "find Person where age.x = 1",
        "x",
        "`age` is no reference, so nothing can be read through it",
    ),
    (
        "find Person where scores = 1",
        "scores",
        "`scores` is a map: say which part, `scores.key` or `scores.value`",
    ),
    ("find Person where tags[0] = \"x\"", "0", "`tags` has no values for keys or positions"),
    ("find Person where friends[-1] is null", "-1", "a position in a list is a number from 0"),
    (
        "find Person where scores[1] = 1",
        "1",
        "a number is no value of type String; expected a text in double quotes",
    ),
    ("find Person where name has \"x\"", "name", "`name` has no elements; compare it with `=`"),
    (
        "find Person where age starts \"x\"",
        "\"x\"",
        "`starts` is for strings, not for values of type Integer",
    ),
    ("find Person where id.name = 1", "id.name", "nothing can be read of the id of an object"),
    (
        "find Person where type = Persn",
        "Persn",
        "there is no object type `Persn` (did you mean `Person`?)",
    ),
    ("find Person where name = $x", "$x", "the parameter `$x` has no value"),
    ("find $x", "$x", "the parameter `$x` has no value"),
    ("find Person order by tags", "tags", "`tags` can have several values, so it gives no order"),
    (
        "find Person using Person.name",
        "Person.name",
        "Person.name serves no condition and no order of this query",
    ),
    (
        "find Person where age = 1 using Pet.name",
        "Pet.name",
        "Pet.name serves no condition and no order of this query",
    ),
    (
        "find Person where age = 1 using Person.agee",
        "agee",
        "`Person` has no index `agee` (did you mean `age`?)",
    ),
    (
        "find (Person union Pet) using Pet.name",
        "Pet.name",
        "`using` with an index is for the objects of one type",
    ),
    (
        "find @0100000000000001<-boss",
        "<-boss",
        "a step back needs the type whose objects refer, as in <-Person.boss",
    ),
    ("find Pet<-Pet.owner", "<-Pet.owner", "Pet.owner refers to Person, not to Pet"),
    (
        "find Person->scores",
        "scores",
        "`scores` is a map: say which part, `scores.key` or `scores.value`",
    ),
    ("find Person->name", "name", "`name` is no reference"),
    ("find Person->Pet.owner", "Pet", "this is no step from Person"),
    ("index Person.born", "born", "`born` of `Person` has no index (did you mean `boss`?)"),
    ("index Person", "Person", "`Person` is a type; an index is a field of it, as in Person.name"),
    ("index Person.name (\"a\", 2)", "2", "the index has 1 value"),
    (
        "delete Person",
        "Person",
        "this changes every Person; say `delete all`, or which ones with `where`",
    ),
    (
        "create Person agee = 1",
        "agee",
        "`Person` in schema 2 has no field `agee` (did you mean `age`?)",
    ),
    ("create Person friends = {1}", "{1}", "`friends` is a list, such as [1, 2]"),
    ("create Person name = \"a\", name = \"b\"", "name", "`name` has its value already"),
];

#[test]
fn mistakes_are_shown_where_they_are() {
    let fixture = people();
    for (statement, marked, message) in MISTAKES {
        let mistake = fixture.mistake(statement);
        assert_eq!(mistake.to_string(), message, "{statement}");
        assert_eq!(&statement[mistake.span.start..mistake.span.end], marked, "{statement}");
        let carets = "^".repeat(marked.len());
        assert!(mistake.shown_in(statement).ends_with(&carets), "{statement}");
    }
}

/// Values that are pasted without their signs, and words that mean another one.
#[test]
fn what_is_meant() {
    let fixture = people();
    let at = "an ID is written with @ before it: @";
    let date = "a date is written in double quotes: \"2024-02-01\"";
    for (statement, marked, message) in [
        ("show 0100000000000001", "0100000000000001", format!("{at}0100000000000001")),
        ("show 1000000000000001", "1000000000000001", format!("{at}1000000000000001")),
        ("delete 3F00000000000001", "3F00000000000001", format!("{at}3f00000000000001")),
        ("find ab00000000000001<-Pet.owner", "ab00000000000001", format!("{at}ab00000000000001")),
        ("find Pet where owner = 1000000000000001", "1000000000000001", format!("{at}1000000000000001")),
        ("find Pet where owner = a000000000000001", "a000000000000001", format!("{at}a000000000000001")),
        ("find Pet where born = 2024-02-01", "2024-02-01", date.to_owned()),
        (
            "set all Person to friends += 1",
            "friends += 1",
            "`+=` and `-=` are for numbers, and `friends` is a list: friends add VALUE, friends remove VALUE".to_owned(),
        ),
        (
            "set all Person to scores -= 1",
            "scores -= 1",
            "`+=` and `-=` are for numbers, and `scores` is a map: scores put KEY: VALUE, scores remove KEY".to_owned(),
        ),
        ("find Gerson", "Gerson", "there is no object type `Gerson`".to_owned()),
    ] {
        let parsed = permazen_query::parse(statement);
        let mistake = parsed.map_or_else(|mistake| mistake, |_| fixture.mistake(statement));
        assert_eq!(mistake.to_string(), message, "{statement}");
        assert_eq!(&statement[mistake.span.start..mistake.span.end], marked, "{statement}");
    }
    // An ID in a text, and a number, are what they are.
    fixture.ask("find Person where name = \"1000000000000001\"");
    fixture.ask("count Person where visits = 1000000000000001");
}

/// An ID of a type to which a reference cannot refer is no value of it.
#[test]
fn references_to_other_types() {
    let fixture = people();
    let pet = fixture.ask("find Pet where name = \"Rex\"").rows[0].id.unwrap();
    for statement in
        [format!("find Person where boss = @{pet}"), format!("create Person boss = @{pet}")]
    {
        let mistake = fixture.mistake(&statement).to_string();
        assert!(mistake.starts_with(&format!("@{pet} is of type `Pet`, but ")), "{mistake}");
        assert!(mistake.ends_with("refers to Person"), "{mistake}");
    }
}

#[test]
fn parameters_have_the_type_of_the_field() {
    let fixture = people();
    let ask = |statement: &str, value: &str| {
        let parameters = Parameters::new().with("x", parse_literal(value).unwrap());
        fixture.try_ask_with(statement, &parameters, &Limits::default(), None)
    };
    assert_eq!(ask("count Person where name = $x", "\"Ann\"").unwrap().line(), "2");
    assert_eq!(ask("count Person where age in {$x, 40}", "20").unwrap().line(), "3");
    assert_eq!(ask("count $x", "@0100000000000001").unwrap().line(), "1");
    let rows = [
        ("count Person where age in $x", "{20, 40}"),
        ("count Person where age in $x..", "40"),
        ("count Person where $x in tags", "\"x\""),
        ("count Person where tags has $x", "\"x\""),
        ("count Person where name starts $x", "\"B\""),
        ("count Person where scores[$x] > 0", "\"a\""),
        ("count Person where friends[$x] = @0100000000000001", "0"),
        ("count Person limit $x", "2"),
        ("find Person where schema = $x limit 1 columns type", "1"),
        ("find Person columns scores[$x]", "\"a\""),
    ];
    for (statement, value) in rows {
        let found = ask(statement, value).unwrap_or_else(|error| panic!("{statement}: {error}"));
        let expected = fixture.ask(&statement.replace("$x", value));
        assert_eq!(found.lines(), expected.lines(), "{statement}");
        assert!(!found.rows.is_empty(), "{statement}");
    }
    assert_eq!(ask("count Person where age in $x", "[20]").unwrap().line(), "2");
    assert_eq!(ask("index Person.name limit $x", "3").unwrap().rows.len(), 3);
    assert_eq!(ask("index Person.name ($x)", "\"Ann\"").unwrap().rows.len(), 2);
    let mistakes = [
        ("count Person limit $x", "-1", "a limit is a whole number"),
        ("count Person limit $x", "\"2\"", "a limit is a whole number"),
        ("count Person limit $y", "1", "the parameter `$y` has no value"),
        ("count Person where age in $x", "20", "`in` needs a set, a list or a range"),
    ];
    for (statement, value, what) in mistakes {
        let error = ask(statement, value).unwrap_err().to_string();
        assert!(error.contains(what), "{statement}: {error}");
    }
    let statement = "count Person where age = $x";
    match ask(statement, "\"x\"").unwrap_err() {
        QueryError::Mistake(mistake) => {
            assert_eq!(&statement[mistake.span.start..mistake.span.end], "$x");
        }
        other => panic!("{other}"),
    }
    assert!(ask("count $x", "1").is_err());
}

#[test]
fn mistakes_cost_nothing() {
    let fixture = people();
    let tx = fixture.reading();
    let catalog = permazen_query::Catalog::of(&tx);
    let before = fixture.store.counter().read();
    for (statement, ..) in MISTAKES {
        let statement = permazen_query::parse(statement).unwrap();
        assert!(permazen_query::check(&statement, &catalog, &Parameters::new()).is_err());
    }
    assert_eq!(fixture.store.counter().read(), before);
}
