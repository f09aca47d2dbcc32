//! The imports of the crates are as `ARCHITECTURE.md` says.
#![allow(clippy::expect_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use permazen_tests::sources::Crate;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn map() -> String {
    std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the map")
}

#[test]
fn modules_of_core_use_only_those_below_them() {
    let map = map();
    let line = map.lines().find_map(|line| line.strip_prefix("core: ")).expect("the order of core");
    let order: Vec<Vec<&str>> =
        line.split('>').map(|rank| rank.split(',').map(str::trim).collect()).collect();
    let rank = |name: &str| order.iter().position(|rank| rank.contains(&name));
    let core = Crate::read(&root().join("core/src"));
    let mut wrong = Vec::new();
    for (from, needed) in core.arrows() {
        for to in needed {
            let (Some(a), Some(b)) = (from.first(), to.first()) else { continue };
            if a != b && rank(a).zip(rank(b)).is_none_or(|(a, b)| a > b) {
                wrong.push(format!("{} uses {}", from.join("::"), to.join("::")));
            }
        }
    }
    assert!(wrong.is_empty(), "ARCHITECTURE.md does not allow:\n{}", wrong.join("\n"));
}

#[test]
fn circles_between_files_are_those_the_map_names() {
    let map = map();
    let crates = [
        ("kv", "kv/src"),
        ("kv-postgres", "kv-postgres/src"),
        ("kv-etcd", "kv-etcd/src"),
        ("core", "core/src"),
        ("cli", "cli/src"),
        ("jsck", "jsck/src"),
        ("ledger", "ledger/src"),
        ("query", "query/src"),
    ];
    for (name, src) in crates {
        let named: BTreeSet<BTreeSet<String>> = map
            .lines()
            .filter_map(|line| line.strip_prefix(&format!("| {name}: ")))
            .map(|row| {
                let files = row.split('|').next().expect("a first column");
                files.split(',').map(|file| file.trim().trim_matches('`').to_string()).collect()
            })
            .collect();
        assert_eq!(Crate::read(&root().join(src)).circles(), named, "circles of {name}");
    }
}
