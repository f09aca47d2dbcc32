//! Parsing inverts printing.

use permazen_query::text::is_hidden;
use permazen_query::{parse, parse_literal, parse_script};

use super::random::Random;

#[test]
fn random_statements_are_parsed_as_they_are_printed() {
    for seed in 0..3000 {
        let statement = Random::new(seed).statement(true);
        let text = statement.to_string();
        let parsed = parse(&text).unwrap_or_else(|mistake| panic!("{}", mistake.shown_in(&text)));
        assert_eq!(parsed, statement, "{text}");
        assert_eq!(parsed.to_string(), text);
        assert!(!text.contains(is_hidden), "{text:?}");
    }
}

#[test]
fn scripts_are_statements_with_semicolons() {
    let statements: Vec<_> = (0..50).map(|seed| Random::new(seed).statement(true)).collect();
    let lines: Vec<_> = statements.iter().map(|s| format!("{s}; -- a comment; \"\n")).collect();
    assert_eq!(parse_script(&lines.concat()).unwrap(), statements);
    assert_eq!(parse_script("").unwrap(), []);
    assert_eq!(parse_script(" ; ;\n-- nothing").unwrap(), []);
}

#[test]
fn examples_print_in_one_form() {
    for (written, printed) in [
        ("find Person", ""),
        (
            "find Person where name in \"A\"..\"C\" and age >= 30 order by name desc limit 20 columns id, name, boss.name",
            "",
        ),
        (
            "find Person where \"x\" in tags or scores[\"a\"] > 3",
            "find Person where tags has \"x\" or scores[\"a\"] > 3",
        ),
        ("find @1000000000000001->friends<-Person.spouse", ""),
        ("index Person.nameAge (\"Ann\", 30..) reverse limit 5", ""),
        (
            "create Person name = \"Eve\", tags = {\"x\"}, friends = [@1000000000000002], scores = {\"a\": 1}",
            "",
        ),
        ("set Person where age < 0 to age = 0", ""),
        ("delete Pet where name starts \"R\"", ""),
        ("find Person where name is null", "find Person where name = null"),
        ("find Person where name is not null", "find Person where name != null"),
        ("find Person where age <-1", "find Person where age < -1"),
        ("find (Person)", "find Person"),
        (
            "find Person union Pet intersect $x minus @1000000000000001",
            "find Person union (Pet intersect $x) minus @1000000000000001",
        ),
        ("find ( Person where age=3 )->friends", "find (Person where age = 3)->friends"),
        (
            "find Person where not (a = 1 or b = 2) and (c = 3)",
            "find Person where not (a = 1 or b = 2) and c = 3",
        ),
        ("find Person where `id` = 3 and id = @1000000000000001", ""),
        (
            "find Person where #17 = 3 order by name#17 asc, age using none",
            "find Person where #17 = 3 order by name#17, age using none",
        ),
        ("find Person where name = \"\\u0041\\u{1F600}\\/\"", "find Person where name = \"A😀/\""),
        ("explain run delete all Pet;", "explain run delete all Pet"),
        (
            "set @1000000000000001 to tags add \"x\", scores put \"a\": 1, friends insert null at 0, scores[\"b\"] = 2, visits += 1",
            "",
        ),
    ] {
        let statement = parse(written).unwrap_or_else(|m| panic!("{}", m.shown_in(written)));
        let printed = if printed.is_empty() { written } else { printed };
        assert_eq!(statement.to_string(), printed);
    }
}

#[test]
fn json_values_are_literals() {
    for text in ["null", "true", "-1.5e3", "\"a\\u00e9\\ud83d\\ude00\"", "[1,[],[\"x\"]]", "{}"] {
        parse_literal(text).unwrap_or_else(|mistake| panic!("{}", mistake.shown_in(text)));
    }
    assert_eq!(parse_literal("\"\\ud83d\\ude00\"").unwrap(), parse_literal("\"😀\"").unwrap(),);
}
