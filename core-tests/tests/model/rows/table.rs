//! Whether `rows.txt` is complete, and whether what it names is there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const ROWS: &str = include_str!("rows.txt");

/// All modules of this suite that have tests of rows.
const MODULES: &[&str] = &[
    include_str!("composite.rs"),
    include_str!("copies.rs"),
    include_str!("errors.rs"),
    include_str!("fields.rs"),
    include_str!("names.rs"),
    include_str!("notifications.rs"),
    include_str!("objects.rs"),
    include_str!("paths.rs"),
    include_str!("queries.rs"),
    include_str!("recording.rs"),
    include_str!("references.rs"),
    include_str!("schema_change.rs"),
    include_str!("schemas.rs"),
    include_str!("transactions.rs"),
    include_str!("uniqueness.rs"),
    include_str!("untyped.rs"),
    include_str!("validation.rs"),
];

struct Row {
    section: String,
    number: u32,
    answers: Vec<String>,
}

fn rows() -> Vec<Row> {
    let lines = ROWS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(row).collect()
}

fn row(line: &str) -> Row {
    let cells: Vec<&str> = line.split(" | ").collect();
    let [section, number, words, answers] = cells[..] else { panic!("four columns: {line}") };
    assert!(!words.trim().is_empty(), "{line}");
    let answers = answers.split("; ").map(|answer| answer.trim().to_owned()).collect();
    Row { section: section.to_owned(), number: number.parse().unwrap(), answers }
}

/// The names of all tests of rows in this suite.
fn tests() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for module in MODULES {
        let mut is_test = false;
        for line in module.lines() {
            let name = line.strip_prefix("fn m").and_then(|rest| rest.split_once('('));
            if let Some((name, _)) = name.filter(|_| is_test) {
                assert!(names.insert(format!("m{name}")), "m{name} is there twice");
            }
            is_test = line == "#[test]";
        }
    }
    names
}

/// The section and the rows that the name of a test says: `m05_3_02_to_04_words`,
/// `m05_3_02_and_07_words`.
fn told_by(name: &str) -> Vec<(String, u32)> {
    let parts: Vec<&str> = name.strip_prefix('m').unwrap().split('_').collect();
    let [chapter, part, first, rest @ ..] = &parts[..] else { panic!("{name}") };
    let section = if *part == "0" { (*chapter).to_owned() } else { format!("{chapter}.{part}") };
    let first: u32 = first.parse().unwrap();
    let second = rest.get(1).and_then(|part| part.parse().ok());
    let numbers = match (rest.first(), second) {
        (Some(&"to"), Some(last)) => (first..=last).collect(),
        (Some(&"and"), Some(second)) => vec![first, second],
        _ => vec![first],
    };
    numbers.into_iter().map(|number| (section.clone(), number)).collect()
}

#[test]
fn rows_of_each_section_are_numbered_one_by_one() {
    let mut last: BTreeMap<String, u32> = BTreeMap::new();
    let mut sections = Vec::new();
    for row in rows() {
        let before = last.entry(row.section.clone()).or_insert(0);
        assert_eq!(row.number, *before + 1, "section {}", row.section);
        *before = row.number;
        if sections.last() != Some(&row.section) {
            sections.push(row.section);
        }
    }
    let number = |section: &String| -> Vec<u32> {
        section.split('.').map(|part| part.parse().unwrap()).collect()
    };
    let numbers: Vec<_> = sections.iter().map(number).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "sections in their order, each once: {sections:?}");
}

#[test]
fn each_row_has_a_test_or_a_reason() {
    let tests = tests();
    let mut unnamed: BTreeSet<_> = tests
        .iter()
        .flat_map(|test| told_by(test).into_iter().map(move |(of, row)| (of, row, test.clone())))
        .collect();
    let mut wrong = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let contains = |file: &str, text: &str| {
        fs::read_to_string(root.join(file)).is_ok_and(|content| content.contains(text))
    };
    for Row { section, number, answers } in rows() {
        for answer in &answers {
            let is_right = match answer.split_once(' ') {
                None => {
                    unnamed.remove(&(section.clone(), number, answer.clone()));
                    tests.contains(answer)
                }
                Some(("fn", rest)) => rest
                    .split_once(" in ")
                    .is_some_and(|(name, file)| contains(file, &format!("fn {name}("))),
                Some(("text", rest)) => rest.rsplit_once(" in ").is_some_and(|(text, file)| {
                    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                    text.is_some_and(|text| contains(file, text))
                }),
                Some(("java:" | "differs:", reason)) => !reason.trim().is_empty(),
                Some(_) => false,
            };
            if !is_right {
                wrong.push(format!("section {section}, row {number}: {answer}"));
            }
        }
    }
    let of_no_row = |(section, row, test)| format!("section {section}, row {row}, lacks {test}");
    wrong.extend(unnamed.into_iter().map(of_no_row));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
