//! Whether `rows.txt` is complete, and whether the tests that it names are there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const ROWS: &str = include_str!("rows.txt");

const MODULES: [&str; 10] = [
    include_str!("commits.rs"),
    include_str!("connections.rs"),
    include_str!("history.rs"),
    include_str!("merging.rs"),
    include_str!("references.rs"),
    include_str!("statuses.rs"),
    include_str!("streams.rs"),
    include_str!("transactions.rs"),
    include_str!("tree.rs"),
    include_str!("values.rs"),
];

/// The rows that this suite is about.
fn all() -> BTreeSet<u32> {
    (1..=119).chain(138..=141).chain(146..=148).collect()
}

fn rows() -> Vec<(u32, String)> {
    let lines = ROWS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let row = |line: &str| {
        let [number, words, answer] = line.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("three columns: {line}")
        };
        assert!(!words.trim().is_empty(), "{line}");
        (number.parse().unwrap(), answer.to_owned())
    };
    lines.map(row).collect()
}

/// The rows that have a test here.
fn tested() -> BTreeSet<u32> {
    let mut tested = BTreeSet::new();
    for module in MODULES {
        for line in module.lines() {
            let Some(name) = line.strip_prefix("fn t") else { continue };
            let words: Vec<&str> = name.split('_').collect();
            tested.insert(words[0].parse().unwrap());
            if words[1] == "and" {
                tested.insert(words[2].parse().unwrap());
            }
        }
    }
    tested
}

#[test]
fn every_row_is_listed_once() {
    let rows: Vec<u32> = rows().into_iter().map(|(number, _)| number).collect();
    assert!(rows.windows(2).all(|two| two[0] < two[1]), "{rows:?}");
    assert_eq!(rows.into_iter().collect::<BTreeSet<_>>(), all());
}

#[test]
fn what_the_rows_name_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut here = BTreeSet::new();
    for (number, answer) in rows() {
        for part in answer.split(" and fn ").enumerate() {
            let part = if part.0 == 0 { part.1.to_owned() } else { format!("fn {}", part.1) };
            let (what, reason) = part.split_once(": ").unwrap_or((&part, ""));
            match what {
                "here" => {
                    here.insert(number);
                }
                "differs" | "not built" => assert!(!reason.is_empty(), "row {number}"),
                named => {
                    let (text, path) = named.rsplit_once(" in ").unwrap();
                    let text = match text.strip_prefix("text ") {
                        Some(text) => text.trim_matches('"').to_owned(),
                        None => format!("{text}("),
                    };
                    let found = fs::read_to_string(root.join(path)).unwrap();
                    assert!(found.contains(&text), "row {number}: {text}");
                }
            }
        }
    }
    assert_eq!(here, tested());
}
