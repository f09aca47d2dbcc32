//! A test of this program as a process of its own, which can be killed or have other variables.
#![allow(clippy::expect_used, reason = "only tests use it")]

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Mutex;

/// The arguments with which this program runs one test. `module` is the `module_path!()` of the
/// test.
///
/// # Panics
/// If the program has no such test: it would run none and succeed.
pub fn arguments(module: &str, test: &str) -> [String; 2] {
    static FOUND: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    // The names of tests are without that of the program.
    let name = match module.split_once("::") {
        Some((_, module)) => format!("{module}::{test}"),
        None => test.to_owned(),
    };
    let found = || FOUND.lock().expect("nothing panics with it");
    if !found().contains(&name) {
        let mut list = this_program();
        let list = list.args(["--list", "--exact", &name]).output().expect("this program starts");
        let list = String::from_utf8(list.stdout).expect("a list of tests");
        assert!(list.lines().any(|line| line == format!("{name}: test")), "no test {name}: {list}");
        found().insert(name.clone());
    }
    ["--exact".to_owned(), name]
}

/// This program, to be started again.
pub fn this_program() -> Command {
    Command::new(std::env::current_exe().expect("the path of this program"))
}
