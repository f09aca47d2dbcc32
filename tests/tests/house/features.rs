//! The crates that each feature of `permazen` and `permazen-kv` needs are those listed in
//! `tests/tests/house/features/`. So no feature pulls what it does not need, and a program that has
//! few of them builds few crates.
//!
//! `PERMAZEN_FEATURES=write cargo test -p permazen-tests --test house features` writes the lists
//! again.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The names of the crates that `package` needs on this platform, to be built and to run.
fn crates(root: &Path, package: &str, features: &str) -> BTreeSet<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root).args(["tree", "--offline", "--locked", "--package", package]);
    cargo.args(["--no-default-features", "--features", features]);
    cargo.args(["--edges", "normal,build", "--prefix", "none", "--format", "{p}"]);
    cargo.args(["--target", "x86_64-unknown-linux-gnu"]);
    let output = cargo.output().expect("cargo can be run");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo tree of {package} with {features:?}: {error}");
    let text = String::from_utf8(output.stdout).expect("names");
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// The features of a package, without the one that is on by default.
fn features(root: &Path, package: &str) -> Vec<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root).args(["metadata", "--offline", "--locked", "--no-deps"]);
    let output = cargo.args(["--format-version", "1"]).output().expect("cargo can be run");
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("metadata");
    let mut packages = found["packages"].as_array().expect("packages").iter();
    let package = packages.find(|found| found["name"] == package).expect("the package");
    let names = package["features"].as_object().expect("features").keys();
    let mut names: Vec<_> = names.filter(|name| *name != "default").cloned().collect();
    names.sort();
    names
}

#[test]
fn each_feature_needs_the_crates_that_are_listed() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let lists = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/house/features"));
    for package in ["permazen-kv", "permazen"] {
        let alone = crates(root, package, "");
        let mut list = String::new();
        for name in &alone {
            list += &format!("{name}\n");
        }
        for feature in features(root, package) {
            list += &format!("\n# {feature}\n");
            for name in crates(root, package, &feature).difference(&alone) {
                list += &format!("{name}\n");
            }
        }
        let path = lists.join(format!("{package}.txt"));
        if std::env::var_os("PERMAZEN_FEATURES").is_some_and(|what| what == "write") {
            std::fs::write(&path, &list).expect("a list can be written");
        }
        let known = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            list == known,
            "the crates that {package} needs differ from {}; write it again if that is intended:\n{list}",
            path.display()
        );
    }
}
