//! Mending what a check finds.

use permazen::kv::{KvWrite, Writes};

use crate::finding::Finding;
use crate::output::Change;
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
    /// How many pairs were put or removed.
    pub changes: u64,
    /// How many passes changed something.
    pub passes: u32,
    /// What is left: the report of the last pass, which changed nothing.
    pub left: Report,
}

/// Checks a database and mends what it finds, pass after pass until nothing more is found.
///
/// Nothing is changed when the meta-data has damage that cannot be mended: then the objects
/// cannot be judged. `before` is called with the inverse of the changes before each pass makes
/// them: applying those [`Writes`] brings the pairs back; if it fails nothing is changed.
///
/// Everything happens in the caller's transaction: commit it to keep the result. If
/// [`Options::stop`] ends a pass early, that pass changes nothing, and the report of what is left is
/// not complete. With [`Options::max_findings`], so many findings are mended in one pass; what one
/// of them moves on is mended with it.
///
/// Memory holds the changes of a pass, each with its inverse, and what the transaction keeps of
/// them: it grows with what there is to mend.
///
/// # Errors
/// If the store or `before` fails, an option is impossible, or repairing does not come to an end.
/// Passes before the error have been made then: roll the transaction back.
pub fn repair(
    kv: &mut dyn KvWrite,
    options: &Options,
    sink: &mut dyn FnMut(&Finding),
    progress: &mut dyn FnMut(&Progress),
    before: &mut dyn FnMut(&Writes) -> std::io::Result<()>,
) -> Result<RepairReport> {
    let mut result = RepairReport::default();
    let mut options = options.clone();
    for pass in 0..=MAX_PASSES {
        let mut ignore = |_: &Finding| {};
        let sink: &mut dyn FnMut(&Finding) = if pass == 0 { &mut *sink } else { &mut ignore };
        let (report, changes) =
            check::run(Readers::one(&*kv), &options, sink, progress, Some(Vec::new()))?;
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
        before(&inverse(&*kv, &changes)?)?;
        result.changes += changes.len() as u64;
        result.passes += 1;
        for Change { key, value } in changes {
            match value {
                Some(value) => kv.put(&key, &value)?,
                None => kv.remove(&key)?,
            }
        }
        // What was asked for by hand has been done, and the findings asked for were delivered.
        options.schemas.clear();
        options.storage_ids.clear();
        if report.findings >= options.max_findings {
            return Ok(result);
        }
    }
    Ok(result)
}

/// The writes that bring back what the changes replace.
fn inverse(kv: &dyn permazen::kv::KvRead, changes: &[Change]) -> Result<Writes> {
    let mut writes = Writes::default();
    for Change { key, .. } in changes {
        match kv.get(key)? {
            Some(old) => {
                writes.puts.insert(key.clone(), old.into_owned());
            }
            None => writes.removes.add_key(key),
        }
    }
    Ok(writes)
}
