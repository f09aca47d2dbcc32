//! Every behaviour of the table has a test, or the test says why not.

use std::collections::BTreeSet;
use std::path::Path;

/// How many behaviours the table has.
const BEHAVIOURS: u32 = 138;
/// Behaviours that no test can show. A row of `docs/deviations.md` explains each, in these words.
const EXPLAINED: [u32; 2] = [22, 83];
const EXPLANATION: &str = "(behaviours 22 and 83)";

/// The numbers in the names of the tests of a file, like `t101_t102_what_is_tested`.
fn tested(source: &str) -> BTreeSet<u32> {
    let mut numbers = BTreeSet::new();
    let mut is_test = false;
    for line in source.lines().map(str::trim_start) {
        let name = line.strip_prefix("fn ").unwrap_or_default();
        let words = name.split('_').map_while(|part| part.strip_prefix('t')?.parse::<u32>().ok());
        numbers.extend(words.filter(|_| is_test));
        is_test =
            line == "#[test]" || is_test && (line.starts_with("#[") || line.starts_with("//"));
    }
    numbers
}

/// The rows of a table in Markdown whose cells say this.
fn rows_saying<'d>(document: &'d str, words: &str) -> Vec<&'d str> {
    document.lines().filter(|line| line.starts_with('|') && line.contains(words)).collect()
}

#[test]
fn every_behaviour_has_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeSet::new();
    for file in std::fs::read_dir(root.join("tests/behaviour")).unwrap() {
        found.extend(tested(&std::fs::read_to_string(file.unwrap().path()).unwrap()));
    }
    let deviations = std::fs::read_to_string(root.join("../docs/deviations.md")).unwrap();
    assert_eq!(rows_saying(&deviations, EXPLANATION).len(), 1, "not explained: {EXPLANATION}");
    let missing: Vec<u32> = (1..=BEHAVIOURS)
        .filter(|number| !found.contains(number) && !EXPLAINED.contains(number))
        .collect();
    assert!(missing.is_empty(), "no test for the behaviours {missing:?}");
    assert!(found.iter().all(|number| (1..=BEHAVIOURS).contains(number)), "{found:?}");
    assert!(EXPLAINED.iter().all(|number| !found.contains(number)), "explained and tested");
}

#[test]
fn only_tests_count() {
    let source = "
        #[test]
        #[should_panic]
        fn t001_t002_a() {
            fn t003_inside() {}
        }
        fn t004_helper() {}
        // #[test]
        fn t005_not_run() {}
    ";
    assert_eq!(tested(source), BTreeSet::from([1, 2]));
    let rows = "| behaviours 2 and 3 | x |\n| 22 and 83 |\nbehaviours 2 and 3";
    assert_eq!(rows_saying(rows, "behaviours 2 and 3"), ["| behaviours 2 and 3 | x |"]);
}
