//! An issue tracker in three versions, whose object types change from one to the next as those of
//! real programs do: `v1`, `v2` and `v3`. All of them work on the same database, also when some of
//! its objects have been upgraded and others have not.
//!
//! ```text
//! cargo run -p permazen-examples --bin tracker    # all steps in turn, on a new database
//! cargo run --bin tracker fill v1 DIR 1000    # fills a new database with version 1
//! cargo run --bin tracker work v1 DIR 1       # what users do on day 1, with version 1
//! cargo run --bin tracker upgrade v2 DIR      # moves all objects to version 2, or v3
//! cargo run --bin tracker print v3 DIR        # everything that a version sees
//! cargo run --bin tracker check DIR           # looks for anything that is wrong
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints")]
#![allow(unreachable_pub, reason = "the modules are shared with tests")]

pub mod lines;
pub mod tour;
pub mod upgrade;
pub mod v1;
pub mod v2;
pub mod v3;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::{env, io};

use lines::Lines;
use permazen::Result;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::{KvDatabase, TxOptions};

const USAGE: &str = "usage: tracker [fill v1 DIR ISSUES | work v1 DIR DAY | upgrade v2|v3 DIR | \
                     print v1|v2|v3 DIR | check DIR]";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments, &mut io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one command.
pub fn run(arguments: &[&str], out: &mut dyn Write) -> Result<(), Box<dyn std::error::Error>> {
    match arguments {
        [] => tour::tour(out)?,
        ["fill", "v1", dir, issues] => v1::fill::fill(&v1::open(dir)?, issues.parse()?)?,
        ["work", "v1", dir, day] => v1::work::work(&v1::open(dir)?, day.parse()?)?,
        ["upgrade", "v2", dir] => upgrade::all(&v2::open(dir)?, out)?,
        ["upgrade", "v3", dir] => {
            let db = v3::open(dir)?;
            upgrade::all(&db, out)?;
            v3::watches::carry_over(&db)?;
        }
        ["print", version, dir] => write!(out, "{}", print(version, dir)?)?,
        ["check", dir] => check(dir, out)?,
        _ => return Err(USAGE.into()),
    }
    Ok(())
}

/// Everything that a version sees in a database.
pub fn print(version: &str, dir: &str) -> Result<Lines, Box<dyn std::error::Error>> {
    Ok(match version {
        "v1" => v1::open(dir)?.read(v1::print::everything)?,
        "v2" => v2::open(dir)?.read(v2::print::everything)?,
        "v3" => v3::open(dir)?.read(v3::print::everything)?,
        _ => return Err(USAGE.into()),
    })
}

/// Reads every pair of the database and reports the defects.
fn check(dir: &str, out: &mut dyn Write) -> Result<(), Box<dyn std::error::Error>> {
    let store = LmdbStore::open(Path::new(dir))?;
    let tx = store.begin(&TxOptions::reading())?;
    let mut findings = Vec::new();
    let options = permazen_jsck::Options::default();
    let report = permazen_jsck::check(&*tx, &options, &mut |finding| {
        findings.push(finding.to_string());
    })?;
    writeln!(out, "checked {} pairs, {} objects", report.pairs, report.objects)?;
    if report.is_clean() {
        return Ok(());
    }
    Err(format!("{} findings: {}", report.findings, findings.join("; ")).into())
}
