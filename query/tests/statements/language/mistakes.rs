//! Mistakes, and their places.

use permazen_query::parse::{MAX_DEPTH, MAX_LENGTH};
use permazen_query::{parse, parse_script_bytes};

use super::random::Random;

fn shown(source: &str) -> String {
    parse(source).expect_err(source).shown_in(source)
}

#[test]
fn mistakes_say_where_and_what() {
    for (source, expected) in [
        ("", "line 1, column 1: the statement ends too early; expected `find`"),
        ("fnid Person", "line 1, column 1: `fnid` begins no statement (did you mean `find`?)"),
        ("FIND Person", "line 1, column 1: `FIND` begins no statement (did you mean `find`?)"),
        ("find", "line 1, column 5: the statement ends too early; expected a type, an ID or `(`"),
        (
            "find order",
            "line 1, column 6: `order` is a word of the language; as a name it is written in backticks",
        ),
        ("find Person where", "line 1, column 18: the statement ends too early; expected a field"),
        (
            "find Person wher age > 3",
            "line 1, column 13: `wher` is not expected here (did you mean `where`?)",
        ),
        (
            "find Person where age",
            "line 1, column 22: the statement ends too early; expected a comparison",
        ),
        ("find Person where age > 3 limit x", "line 1, column 33: `x` is not expected here"),
        ("find Person where name = 'x'", "line 1, column 26: a text stands in double quotes"),
        (
            "find Person where name = \"x",
            "line 1, column 26: the text that begins here has no \" at its end",
        ),
        ("find Person where name = \"\\q\"", "line 1, column 27: there is no such escape"),
        ("find `Person", "line 1, column 6: the name that begins here has no ` at its end"),
        ("find @12", "line 1, column 6: after @ come 16 hex digits, not 2"),
        (
            "find @ff00000000000000",
            "line 1, column 6: @ff00000000000000 is not the ID of an object",
        ),
        ("find #0", "line 1, column 6: after # comes a storage ID"),
        ("find Person where a = x'0'", "line 1, column 23: bytes need an even number of digits"),
        ("find Person where a = x'0g'", "line 1, column 23: bytes are pairs of hex digits"),
        (
            "find Person where a = 012",
            "line 1, column 23: a number does not begin with a needless 0",
        ),
        ("find Person where a = 12x", "line 1, column 23: a name does not begin with a digit"),
        ("find Person where a = 1e", "line 1, column 23: an exponent needs digits"),
        (
            "find Person where a in 3",
            "line 1, column 25: the statement ends too early; expected `..` or `..=`",
        ),
        (
            "find Person where a = 1->b",
            "line 1, column 24: before a step, objects with a condition stand in parentheses",
        ),
        ("find Person; find Pet", "line 1, column 14: `find` is not expected here"),
        (
            "find Person\nwhere\u{202e}",
            "line 2, column 6: the invisible character U+202E is not allowed here",
        ),
        ("find Person where a = ~", "line 1, column 23: `~` begins nothing"),
        ("create Person = 3", "line 1, column 15: `=` is not expected here"),
        ("create Person a", "line 1, column 16: the statement ends too early; expected `=`"),
        ("set Person to a", "line 1, column 16: the statement ends too early; expected `=`, `+=`"),
        ("delete", "line 1, column 7: the statement ends too early"),
        ("explain explain find Person", "line 1, column 9: an explanation is not explained"),
        ("create P a = {1: 2, 3}", "line 1, column 22: `}` is not expected here; expected `:`"),
        (
            "create P a = [1 2]",
            "line 1, column 17: a number is not expected here; expected `,` or `]`",
        ),
    ] {
        let shown = shown(source);
        assert!(shown.starts_with(expected), "{source}\n{shown}");
        let last = shown.lines().last().unwrap();
        assert!(last.trim_start().starts_with('^') && last.trim().chars().all(|c| c == '^'));
    }
}

#[test]
fn the_caret_is_below_the_mistake() {
    assert_eq!(
        shown("find Person\n  where nöme == 3"),
        "line 2, column 15: `=` is not expected here; expected a value\n    where nöme == 3\n                ^"
    );
    let long = format!("find Person where name = \"{}\" ~ and age > 3 and {0}", "x".repeat(500));
    let shown = shown(&long);
    let lines: Vec<_> = shown.lines().collect();
    assert!(lines[1].chars().count() < 100, "{shown}");
    assert_eq!(lines[1].chars().nth(lines[2].len() - 1), Some('~'), "{shown}");
}

#[test]
fn depth_and_length_are_limited() {
    let deep = |depth: usize| format!("find {}Person{}", "(".repeat(depth), ")".repeat(depth));
    parse(&deep(MAX_DEPTH)).unwrap();
    assert!(shown(&deep(MAX_DEPTH + 1)).contains("nested deeper than 64"));
    for (open, close) in [("(", ")"), ("not ", ""), ("not (", ")")] {
        let source = format!("find P where {}a = 1{}", open.repeat(9999), close.repeat(9999));
        assert!(shown(&source).contains("nested deeper than 64"));
    }
    for open in ["[", "{", "{1: ", "["] {
        let source = format!("create P a = {}", open.repeat(9999));
        assert!(shown(&source).contains("nested deeper than 64"));
    }
    let many = |count: usize| format!("find P where {}a = 1", "a = 1 and ".repeat(count));
    parse(&many(MAX_LENGTH / 10 - 4)).unwrap();
    assert!(shown(&many(MAX_LENGTH / 10)).contains("longer than 1048576 bytes"));
    // Repeated without nesting.
    for part in ["->a", " union P", ".a", "[1]"] {
        let source = format!("count P{}", part.repeat(200_000));
        let _ = parse(&source);
    }
    parse(&format!("count P{}", "->a".repeat(300_000))).unwrap();
}

#[test]
fn text_that_is_not_utf_8_is_refused_with_its_position() {
    let mistake = parse_script_bytes(b"find \xff").unwrap_err();
    assert_eq!(mistake.span.start, 5);
    assert!(mistake.to_string().contains("not UTF-8"));
}

#[test]
fn damaged_statements_do_not_panic() {
    for seed in 0..2000 {
        let mut random = Random::new(seed);
        let mut text: Vec<char> = random.statement(true).to_string().chars().collect();
        for _ in 0..=random.below(3) {
            let at = random.below(text.len().max(1) as u32) as usize;
            if text.is_empty() {
                break;
            }
            match random.below(3) {
                0 => drop(text.remove(at)),
                1 => text.insert(
                    at,
                    ['"', '`', '(', '}', ' ', '.', '<', '\\'][random.below(8) as usize],
                ),
                _ => text.truncate(at + 1),
            }
        }
        let text: String = text.into_iter().collect();
        match parse(&text) {
            Ok(statement) => assert_eq!(parse(&statement.to_string()).unwrap(), statement),
            Err(mistake) => {
                assert!(
                    !mistake
                        .shown_in(&text)
                        .replace('\n', "")
                        .contains(permazen_query::text::is_hidden)
                );
            }
        }
    }
}
