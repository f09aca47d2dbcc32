//! Compares docs/src/costs.md with what operations cost. Each row of the page has a measurement of
//! the same name here, and each measurement has a row.

use std::collections::BTreeMap;

use crate::measured;
use crate::world::World;
use permazen::kv::counting::Operations;

/// The rows of the page: the operation, and its cost.
fn page() -> BTreeMap<String, String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/costs.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut rows = BTreeMap::new();
    for line in page.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [what, cost, ..] = cells[..] else { panic!("{line}") };
        if cost != "cost" {
            let before = rows.insert(what.to_owned(), cost.to_owned());
            assert_eq!(before, None, "{what} is there twice");
        }
    }
    rows
}

/// `1 get, 2 puts`.
fn told(cost: Operations) -> String {
    let kinds = [
        ("get", cost.gets),
        ("seek", cost.seeks),
        ("step", cost.steps),
        ("put", cost.puts),
        ("remove", cost.removes),
        ("range removal", cost.span_removes),
        ("adjustment", cost.adjusts),
        ("snapshot", cost.snapshots),
    ];
    let told: Vec<String> = kinds
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{count} {kind}{}", if count == 1 { "" } else { "s" }))
        .collect();
    if told.is_empty() { "nothing".to_owned() } else { told.join(", ") }
}

#[test]
fn the_page_says_what_operations_cost() {
    let mut page = page();
    let mut wrong = Vec::new();
    for (what, measure) in measured::ALL.iter().copied().flatten() {
        let cost = told(World::new().cost(*measure));
        match page.remove(*what) {
            Some(said) if said == cost => {}
            Some(said) => wrong.push(format!("| {what} | {cost} |, and the page says {said}")),
            None => wrong.push(format!("| {what} | {cost} |, and the page has no such row")),
        }
    }
    wrong.extend(page.keys().map(|what| format!("{what}: on the page, but not measured")));
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
