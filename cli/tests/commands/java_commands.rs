//! The guide's page `java-commands.md` has every row, and the tests that it names exist.

use std::path::Path;

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The rows whose first column is `letter` and a number: the number, and the last column.
fn rows(page: &str, letter: char) -> Vec<(u32, &str)> {
    let row = |line| {
        let cells: Vec<&str> = str::split(line, '|').map(str::trim).collect();
        let number = cells.get(1)?.strip_prefix(letter)?.parse().ok()?;
        Some((number, *cells.get(cells.len().checked_sub(2)?)?))
    };
    page.lines().filter_map(row).collect()
}

#[test]
fn every_row_has_a_test_or_a_reason() {
    let page = root().join("docs/src/java-commands.md");
    let page = std::fs::read_to_string(page).expect("the page");
    for (letter, last) in [('F', 49), ('E', 22)] {
        let rows = rows(&page, letter);
        let numbers: Vec<u32> = rows.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, (1..=last).collect::<Vec<_>>(), "rows of {letter}");
        for (number, shown_by) in rows {
            for part in shown_by.split("; ") {
                if part.strip_prefix("none: ").is_some_and(|reason| !reason.is_empty()) {
                    break;
                }
                check(part).unwrap_or_else(|why| panic!("{letter}{number}: {why}"));
            }
        }
    }
}

/// Whether there is a test as `` `name` in `file` ``.
fn check(part: &str) -> Result<(), String> {
    let names: Vec<&str> = part.split('`').collect();
    let ["", name, " in ", file, ""] = names[..] else {
        return Err(format!("{part} names no test and no reason"));
    };
    let text = std::fs::read_to_string(root().join(file)).map_err(|e| format!("{file}: {e}"))?;
    let is_test = text.match_indices(&format!("fn {name}()")).any(|(at, _)| {
        let before = text[..at].trim_end();
        before.ends_with(']')
            && before.rfind("#[test]").is_some_and(|test| before.len() - test < 200)
    });
    if is_test { Ok(()) } else { Err(format!("{file} has no test {name}")) }
}

#[test]
fn a_test_that_is_not_there_is_noticed() {
    check("`a_test_that_is_not_there_is_noticed` in `cli/tests/commands/java_commands.rs`")
        .expect("this test");
    check("`no_such_test` in `cli/tests/commands/java_commands.rs`").expect_err("no such test");
    check("`rows` in `cli/tests/commands/java_commands.rs`").expect_err("no test");
    check("some words").expect_err("no test");
}
