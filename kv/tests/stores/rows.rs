//! Every row of the table of required behaviour has a test of its number, or a reason here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Rows without a test.
const NONE: [(u32, &str); 6] = [
    (30, "removing twice while iterating: iterators remove nothing, `KvWrite::remove` does"),
    (53, "using a transaction that has ended: ending it consumes it"),
    (54, "ending a transaction twice: as 53"),
    (89, "seeking in a set of keys: nothing skips by such sets"),
    (103, "keys on Microsoft SQL Server: there is no store on it (docs/deviations.md)"),
    (104, "array files: there is no store on them (docs/deviations.md)"),
];

/// The tests below `directory`, by the rows in their names: `t023_t024_scan_both_ways` is for two.
fn tests(directory: &Path, found: &mut BTreeMap<u32, BTreeSet<String>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests(&path, found);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for (at, _) in text.match_indices("fn t") {
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let name = text[at + 3..].split(|c| !word(c)).next().unwrap();
            for part in name.split('_') {
                let Some(row) = part.strip_prefix('t').filter(|row| row.len() == 3) else { break };
                let Ok(row) = row.parse() else { break };
                found.entry(row).or_default().insert(name.to_owned());
            }
        }
    }
}

#[test]
fn every_row_has_a_test_or_a_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeMap::new();
    tests(&root.join("src"), &mut found);
    tests(&root.join("tests"), &mut found);
    let with_test: BTreeSet<u32> = found.keys().copied().collect();
    let without: BTreeSet<u32> = NONE.iter().map(|(row, _)| *row).collect();
    let missing: Vec<u32> =
        (1..=105).filter(|row| !with_test.contains(row) && !without.contains(row)).collect();
    assert!(missing.is_empty(), "rows without a test or a reason: {missing:?}");
    let both: Vec<_> = with_test.intersection(&without).collect();
    assert!(both.is_empty(), "rows with a test and a reason why there is none: {both:?}");
    assert!(with_test.iter().all(|row| (1..=105).contains(row)));
}

/// `conformance!` runs every test that the suite has a function for.
#[test]
fn the_suite_runs_all_of_its_tests() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/testsuite");
    let list = fs::read_to_string(suite.join("mod.rs")).unwrap();
    let mut functions = 0;
    for entry in fs::read_dir(suite).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for part in text.split("\npub fn ").skip(1) {
            let (name, rest) = part.split_once('(').unwrap();
            if rest.starts_with("fixture: &mut Fixture)") {
                functions += 1;
                let listed =
                    list.split_whitespace().any(|word| word.trim_matches(['[', ']', ';']) == name);
                assert!(listed, "{name} is not in the list of `conformance!`");
            }
        }
    }
    assert!(functions > 80, "{functions}");
}
