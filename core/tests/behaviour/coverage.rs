//! Every behaviour of the table (transactions §17) has a test, or says why not.

use std::collections::BTreeSet;
use std::path::Path;

/// How many behaviours the table has.
const BEHAVIOURS: u32 = 138;
/// Those that `docs/deviations.md` explains: they cannot be written down.
const EXPLAINED: [u32; 2] = [22, 83];

/// The numbers in names like `t101_t102_what_is_tested`.
fn numbers(line: &str) -> impl Iterator<Item = u32> {
    let name = line.trim_start().strip_prefix("fn ").unwrap_or_default();
    name.split('_').map_while(|part| part.strip_prefix('t')?.parse().ok())
}

#[test]
fn every_behaviour_has_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tested = BTreeSet::new();
    for file in std::fs::read_dir(root.join("tests/behaviour")).unwrap() {
        let source = std::fs::read_to_string(file.unwrap().path()).unwrap();
        tested.extend(source.lines().flat_map(numbers));
    }
    let deviations = std::fs::read_to_string(root.join("../docs/deviations.md")).unwrap();
    for number in EXPLAINED {
        assert!(deviations.contains(&number.to_string()), "behaviour {number} is not explained");
    }
    let missing: Vec<u32> = (1..=BEHAVIOURS)
        .filter(|number| !tested.contains(number) && !EXPLAINED.contains(number))
        .collect();
    assert!(missing.is_empty(), "no test for the behaviours {missing:?}");
    assert!(tested.iter().all(|number| (1..=BEHAVIOURS).contains(number)), "{tested:?}");
}
