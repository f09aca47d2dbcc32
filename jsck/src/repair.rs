//! Repairing what a check finds.

use std::io;
use std::sync::atomic::Ordering;

use permazen::kv::KvWrite;

use crate::report::changes::Changes;
use crate::report::finding::Finding;
use crate::running::workers::Readers;
use crate::{Error, Options, Progress, Report, Result, check};

/// How many passes to make before giving up.
const MAX_PASSES: u32 = 10;

/// The result of a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RepairReport {
    /// The report of the first pass.
    pub found: Report,
    /// How many pairs were put or removed; a pair that changes in several passes is counted in
    /// each.
    pub changes: u64,
    /// How often pairs were read in all passes, including the last one.
    pub reads: u64,
    /// How many passes changed something.
    pub passes: u32,
    /// The report of the last pass, which changed nothing: the remaining findings.
    pub left: Report,
}

/// The next action of a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent<'c> {
    /// A pair will be added, removed or changed in the coming pass. The same key can occur several
    /// times: the `old` of the first time is the value before the repair, the `new` of the last
    /// time is the value after it.
    Change {
        /// The key.
        key: &'c [u8],
        /// Its value before the pass; `None` if there is no such pair.
        old: Option<&'c [u8]>,
        /// The value it gets; `None` if the pair is removed.
        new: Option<&'c [u8]>,
    },
    /// `before` has been called for all changes of the pass. They are made when this call returns.
    Pass,
}

/// Checks a database and repairs what it finds, pass after pass until it finds nothing more.
///
/// If the meta-data has damage that cannot be repaired, nothing is changed, because the objects
/// cannot be judged. `before` is called for every change of a pass before any of them is made; if
/// it fails, none of them is made. To undo a repair, give every key the `old` value of its first
/// call.
///
/// Everything happens in the caller's transaction: commit it to keep the result. If
/// [`Options::stop`] ends a pass early, that pass changes nothing, and the report of the remaining
/// findings is not complete. With [`Options::max_findings`], one pass repairs at most that many
/// findings, and the moves of pairs that these cause. The remaining findings are then counted
/// without a limit.
///
/// Memory is bounded as for a check. In addition, the transaction may keep what it changes.
///
/// # Errors
/// If the store or `before` fails, an option is impossible, or the repair does not come to an end.
/// Then earlier passes have made their changes: roll the transaction back.
pub fn repair(
    kv: &mut dyn KvWrite,
    options: &Options,
    sink: &mut dyn FnMut(&Finding),
    progress: &mut dyn FnMut(&Progress),
    before: &mut dyn FnMut(&Intent<'_>) -> io::Result<()>,
) -> Result<RepairReport> {
    let mut result = RepairReport::default();
    let mut options = options.clone();
    let mut ignore = |_: &Finding| {};
    for pass in 0..=MAX_PASSES {
        let sink: &mut dyn FnMut(&Finding) = if pass == 0 { &mut *sink } else { &mut ignore };
        let changes = Some(Changes::new(options.sort_memory));
        let (report, mut changes) =
            check::run(Readers::one(&*kv), &options, sink, progress, changes)?;
        result.reads += report.reads;
        if pass == 0 {
            result.found = report;
        }
        result.left = report;
        // Only meta-data can be unrepairable. Without it the objects cannot be judged: change
        // nothing.
        let refused = report.unrepairable > 0;
        if changes.is_empty() || refused {
            return Ok(result);
        }
        if pass == MAX_PASSES {
            return Err(Error::NotConverged { passes: MAX_PASSES, findings: report.findings });
        }
        changes.each(|key, new| {
            let old = kv.get(key)?;
            Ok(before(&Intent::Change { key, old: old.as_deref(), new })?)
        })?;
        before(&Intent::Pass)?;
        // The caller may have asked to stop while `before` ran: nothing is changed yet.
        if options.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            result.left.complete = false;
            return Ok(result);
        }
        changes.each(|key, value| match value {
            Some(value) => Ok(kv.put(key, value)?),
            None => Ok(kv.remove(key)?),
        })?;
        result.changes += changes.len();
        result.passes += 1;
        // The overrides have been written by this pass; the next pass must not report them again.
        options.schemas.clear();
        options.storage_ids.clear();
        // The pass ended at the limit. One more check, without the limit, counts the remaining
        // findings.
        if report.findings >= options.max_findings {
            options.max_findings = u64::MAX;
            let left = check::run(Readers::one(&*kv), &options, &mut ignore, progress, None);
            result.left = left?.0;
            result.reads += result.left.reads;
            return Ok(result);
        }
    }
    Ok(result)
}
