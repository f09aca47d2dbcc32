//! Findings and results, as text and as JSON show them.

use std::path::PathBuf;

use super::database::Database;
use super::plan::Change;
use crate::{Finding, RepairReport, Report};

/// The result of a repair.
pub(super) struct Mended {
    /// How many pairs were put or removed.
    pub(super) changes: u64,
    pub(super) passes: u32,
    /// The findings that are left.
    pub(super) left: u64,
    /// How many findings are not about indexes, if only indexes are to be repaired.
    pub(super) left_alone: u64,
    pub(super) undo: Option<PathBuf>,
    pub(super) dry_run: bool,
}

impl Mended {
    /// The result of a repair that was made.
    pub(super) fn made(repair: &RepairReport, undo: Option<PathBuf>) -> Mended {
        Mended {
            changes: repair.changes,
            passes: repair.passes,
            left: repair.left.findings,
            left_alone: 0,
            undo,
            dry_run: false,
        }
    }

    /// The result of a repair that was not made.
    pub(super) fn nothing(repair: &RepairReport) -> Mended {
        Mended { changes: 0, left: repair.found.findings, ..Mended::made(repair, None) }
    }
}

/// The other figures at the end of the output.
#[derive(Default)]
pub(super) struct End<'e> {
    pub(super) seconds: f64,
    pub(super) mended: Option<&'e Mended>,
    /// Where an online check continued; `None` if it started at the beginning.
    pub(super) from: Option<&'e [u8]>,
    /// Where an online check stopped before its end.
    pub(super) position: Option<&'e [u8]>,
}

/// Shows findings and results in the form that was asked for.
pub(super) trait Presenter {
    fn start(&mut self, _database: &Database) {}

    fn store_damage(&mut self, problem: &str);

    fn finding(&mut self, finding: &Finding);

    /// Says what is being checked from now on.
    fn phase(&mut self, _phase: &str) {}

    /// A change that a repair would make.
    fn change(&mut self, change: &Change);

    /// Everything said before is void: the database is checked again.
    fn again(&mut self);

    /// The end, if the check failed. The reason is printed on standard error.
    fn failed(&mut self) {}

    fn summary(&mut self, report: &Report, end: &End<'_>);
}
