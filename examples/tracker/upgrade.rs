//! Moves all objects to the version of the program.

use std::io::Write;
use std::ops::ControlFlow;

use permazen::model::MigrationEnd;
use permazen::{Permazen, Result};

/// How many objects are moved in one transaction. Other programs can write in between.
const BATCH: usize = 500;

/// Moves all objects of all types. If the program is stopped or killed, run it again: it continues
/// with the objects that are left.
pub fn all(db: &Permazen, out: &mut dyn Write) -> Result<(), Box<dyn std::error::Error>> {
    let mut written = Ok(());
    let report = db
        .upgrade_all()
        .batch(BATCH)
        .progress(|progress| {
            written = writeln!(out, "moved {}", progress.moved).and_then(|()| out.flush());
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .run()?;
    written?;
    if let Some(refusal) = report.refusals.first() {
        return Err(format!("{} objects do not move; the first: {refusal}", report.refused).into());
    }
    match report.end {
        MigrationEnd::Done => Ok(()),
        end => Err(format!("the upgrade has ended early: {end:?}").into()),
    }
}
