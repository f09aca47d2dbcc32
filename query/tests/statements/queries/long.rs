//! Statements with very many parts.

use super::database::people;

const PARTS: usize = 20_000;

fn chain(part: &str, word: &str) -> String {
    vec![part; PARTS].join(word)
}

/// Looking for an index for each branch of an `or` takes longer.
const CONDITIONS: usize = 2_000;

#[test]
fn sets_with_many_parts() {
    let fixture = people();
    let rows = [
        (chain("@0100000000000001", " union "), "1"),
        (chain("@0100000000000001", " intersect "), "1"),
        (format!("Person minus {}", chain("@0100000000000001", " minus ")), "5"),
        (chain("@0100000000000001 minus @0100000000000001", " union "), "0"),
        (chain("@0100000000000001 union @0100000000000001", " minus "), "1"),
        (format!("@0100000000000011{}", "->boss<-Person.boss".repeat(PARTS / 2)), "1"),
    ];
    for (objects, count) in rows {
        let statement = format!("count {objects}");
        assert_eq!(permazen_query::parse(&statement).unwrap().to_string(), statement);
        assert_eq!(fixture.ask(&statement).line(), count, "{}", &statement[..60]);
        assert!(fixture.plan(&statement).len() > PARTS);
    }
}

#[test]
fn conditions_with_many_parts() {
    let fixture = people();
    for word in [" or ", " and "] {
        for part in ["name = \"Ann\"", "name >= \"Ann\"", "age = 30"] {
            let statement = format!("count Person where {}", vec![part; CONDITIONS].join(word));
            let once = format!("count Person where {part}");
            assert_eq!(fixture.ask(&statement).line(), fixture.ask(&once).line(), "{part}{word}");
        }
    }
    let statement = format!("count Person where name in {{{}}}", chain("\"Ann\"", ", "));
    assert_eq!(fixture.ask(&statement).line(), "2");
}

#[test]
fn a_path_has_no_more_steps_than_objects_can_be_followed() {
    let fixture = people();
    let path = |parts: usize| format!("count Person where {}name = \"Ann\"", "boss.".repeat(parts));
    assert_eq!(fixture.ask(&path(60)).line(), "0");
    let mistake = permazen_query::parse(&path(PARTS)).unwrap_err();
    assert_eq!(mistake.what, "a path has at most 64 parts");
}
