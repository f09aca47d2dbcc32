//! Every row of the corruption catalogue has a case.
//! `cargo test -p permazen-tests --test golden corruptions` runs the cases.

use std::collections::BTreeSet;
use std::path::Path;

use flate2::read::GzDecoder;
use permazen_jsck::Class;
use serde_json::Value;

/// The number of rows.
const ROWS: u32 = 148;

fn cases() -> Vec<Value> {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/corruptions/cases.json.gz");
    let file = std::fs::File::open(file).expect("test data");
    serde_json::from_reader(GzDecoder::new(file)).expect("JSON")
}

#[test]
fn every_row_has_a_case() {
    let cases = cases();
    let rows: BTreeSet<&str> =
        cases.iter().filter_map(|case| case["catalogue_row"].as_str()).collect();
    let missing: Vec<String> =
        (1..=ROWS).map(|row| format!("C{row}")).filter(|row| !rows.contains(&row[..])).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The checker knows every class of damage in the cases.
#[test]
fn every_class_is_known() {
    for case in cases() {
        let class = case["class"].as_str().expect("a class");
        let known = class == "none" || Class::ALL.iter().any(|known| known.as_str() == class);
        assert!(known, "{}: {class}", case["id"]);
    }
}
