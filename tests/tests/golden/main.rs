//! Compares this implementation with answers recorded from Permazen for Java.
//!
//! ```text
//! cargo test -p permazen-tests --test golden [-- FILTER…]
//! PERMAZEN_GOLDEN=<dir> cargo test -p permazen-tests --test golden
//! ```
//!
//! These commands run every case found below `<dir>/vectors`, `<dir>/databases`, `<dir>/traces` and
//! `<dir>/corruptions`; without the variable, below `tests/data`. `FILTER` restricts the cases to
//! those whose name contains it. Without the variable, the tests also check that damage to such a
//! directory is noticed. A file or folder of an unexpected kind is a failure, and so is a skipped
//! case. The files may be plain or gzipped. `tests/data/README.md` describes their content.
#![allow(clippy::print_stdout, clippy::print_stderr, unreachable_pub)]

mod corruptions;
mod databases;
mod options;
mod report;
mod strictness;
mod traces;
mod vectors;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use options::Options;
use report::{Report, Run};

/// The kinds of cases, each in the folder of its name.
const KINDS: &[(&str, Run)] = &[
    ("vectors", vectors::run),
    ("databases", databases::run),
    ("traces", traces::run),
    ("corruptions", corruptions::run),
];

fn main() -> ExitCode {
    let dir = match golden_dir() {
        Ok(dir) => dir,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::FAILURE;
        }
    };
    let mut report = Report::new(Options::from_args(std::env::args().skip(1)));
    report.note(&format!("recorded answers: {}", dir.display()));
    let mut folders: Vec<(PathBuf, Run)> = Vec::new();
    for (kind, run) in KINDS {
        let folder = dir.join(kind);
        if folder.is_dir() {
            folders.push((folder, *run));
        } else {
            report.note(&format!("{kind}: no such folder here"));
        }
    }
    if dir == permazen_tests::files::data_dir() {
        folders.push((dir, strictness::run));
    }
    thread::scope(|scope| {
        let parts: Vec<_> = folders
            .iter()
            .map(|(folder, run)| {
                let mut part = report.part();
                scope.spawn(move || {
                    part.run(folder, *run);
                    part
                })
            })
            .collect();
        for part in parts {
            // `run` catches panics.
            report.add(part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
    });
    report.finish()
}

/// The directory to read: `PERMAZEN_GOLDEN`, or the repository's own. Tests run in their package's
/// folder, so a relative path is also tried from the directory of the command and from the root.
fn golden_dir() -> Result<PathBuf, String> {
    let Some(given) = std::env::var_os("PERMAZEN_GOLDEN").filter(|given| !given.is_empty()) else {
        return Ok(permazen_tests::files::data_dir());
    };
    let given = PathBuf::from(given);
    let shell = std::env::var_os("PWD").map(PathBuf::from).unwrap_or_default();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    [given.clone(), shell.join(&given), root.join(&given)]
        .into_iter()
        .find(|dir| dir.is_dir())
        .ok_or_else(|| format!("PERMAZEN_GOLDEN: there is no directory {}", given.display()))
}
