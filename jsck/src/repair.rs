//! Mending what a check finds.

use std::io;
use std::sync::atomic::Ordering;

use permazen::kv::KvWrite;

use crate::changes::Changes;
use crate::finding::Finding;
use crate::workers::Readers;
use crate::{Error, Options, Progress, Report, Result, check};

/// How often to look again before giving up.
const MAX_PASSES: u32 = 10;

/// What a repair came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RepairReport {
    /// What was found in the first pass.
    pub found: Report,
    /// How many pairs were put or removed; one that was in several passes is counted in each.
    pub changes: u64,
    /// How often a pair was read in all passes, the last one included.
    pub reads: u64,
    /// How many passes changed something.
    pub passes: u32,
    /// What is left: the report of a last pass, which changed nothing.
    pub left: Report,
}

/// What repair is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent<'c> {
    /// A pair is to come, to go or to get another value in the coming pass. A key can be told
    /// several times: what is there before a repair is the `old` of the first time, what is there
    /// after it the `new` of the last.
    Change {
        /// The key.
        key: &'c [u8],
        /// Its value before the pass; none if there is no such pair.
        old: Option<&'c [u8]>,
        /// The value it gets; none if the pair goes.
        new: Option<&'c [u8]>,
    },
    /// All changes of the pass have been told; they are made when this returns.
    Pass,
}

/// Checks a database and mends what it finds, pass after pass until nothing more is found.
///
/// Nothing is changed when the meta-data has damage that cannot be mended: then the objects
/// cannot be judged. `before` is told of every change of a pass before any of them is made; if it
/// fails none is. To bring back what was there, give every key told its first `old` again.
///
/// Everything happens in the caller's transaction: commit it to keep the result. If
/// [`Options::stop`] ends a pass early, that pass changes nothing, and the report of what is left is
/// not complete. With [`Options::max_findings`], so many findings are mended in one pass; what one
/// of them moves on is mended with it, and what is left is then counted without a limit.
///
/// Memory is bounded as that of a check; beside that, the transaction may keep what it changes.
///
/// # Errors
/// If the store or `before` fails, an option is impossible, or repairing does not come to an end.
/// Passes before the error have been made then: roll the transaction back.
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
        // What was asked for by hand has been done, and the findings asked for were delivered.
        options.schemas.clear();
        options.storage_ids.clear();
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
