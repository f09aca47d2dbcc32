//! The crates that each feature of `permazen` and `permazen-kv` needs are those listed in `tests/tests/features/`. So no
//! feature pulls what it does not need, and a program that has few of them builds few crates.
//!
//! `PERMAZEN_FEATURES=write cargo test -p permazen-tests --test features` writes the lists again.
#![allow(clippy::expect_used, clippy::panic)]

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

/// The features that a manifest declares, without the one that is on by default.
fn features(manifest: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(manifest).expect("a manifest");
    let section = text.split_once("[features]\n").expect("features").1;
    let section = section.split("\n[").next().unwrap_or(section);
    let names = section.lines().filter(|line| !line.starts_with('#'));
    let names = names.filter_map(|line| line.split_once(" = ")).map(|(name, _)| name.to_owned());
    names.filter(|name| name != "default").collect()
}

#[test]
fn each_feature_needs_the_crates_that_are_listed() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let lists = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/features"));
    for (package, folder) in [("permazen-kv", "kv"), ("permazen", "core")] {
        let alone = crates(root, package, "");
        let mut list = String::new();
        for name in &alone {
            list += &format!("{name}\n");
        }
        for feature in features(&root.join(folder).join("Cargo.toml")) {
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
