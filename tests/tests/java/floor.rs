//! The comparisons that a run must have made. Without this check, a generator that makes almost
//! nothing would go unnoticed, and so would a test that leaves almost everything out.

use permazen_tests::outcome::{Outcome, fail};

use crate::author::HAND_OVERS;
use crate::play::Counts;

/// With at least this many histories and steps, the shares below hold for any seed. They are half
/// (or twice) what 200 histories of 500 steps give.
const HISTORIES: usize = 50;
const STEPS: usize = 25_000;
/// With at least this many steps, every operation has also succeeded on both sides.
const STEPS_TO_SUCCEED: usize = 100_000;

/// Every operation that `author` and `queries` make up.
const OPERATIONS: [&str; 50] = [
    "addSchema",
    "all",
    "bySchema",
    "commit",
    "copy",
    "counter.adjust",
    "counter.get",
    "counter.set",
    "create",
    "delete",
    "exists",
    "follow",
    "get",
    "index",
    "invert",
    "isDefault",
    "list.append",
    "list.clear",
    "list.get",
    "list.indexOf",
    "list.insert",
    "list.insertAll",
    "list.list",
    "list.remove",
    "list.removeRange",
    "list.removeValue",
    "list.set",
    "list.size",
    "map.clear",
    "map.contains",
    "map.get",
    "map.list",
    "map.near",
    "map.put",
    "map.remove",
    "map.size",
    "migrate",
    "open",
    "removeSchema",
    "rollback",
    "schemaOf",
    "set",
    "set.add",
    "set.clear",
    "set.contains",
    "set.list",
    "set.near",
    "set.remove",
    "set.size",
    "typeOf",
];

/// Fails if histories with this many steps compared less than they must.
pub fn check(counts: &Counts, steps: usize) -> Outcome {
    let compared = counts.histories - counts.skipped;
    let performed: usize = counts.steps.values().map(|(all, _)| all).sum();
    let left_out: usize = counts.left_out.values().sum();
    must(counts.hand_overs == HAND_OVERS * compared, "changes of sides", counts.hand_overs)?;
    must(performed + left_out >= steps * compared, "steps", performed + left_out)?;
    for op in counts.steps.keys() {
        if !OPERATIONS.contains(&op.as_str()) {
            return Err(fail(format!("the list of operations lacks {op}")));
        }
    }
    if counts.histories < HISTORIES || steps * counts.histories < STEPS {
        return Ok(());
    }
    must(counts.skipped * 20 < counts.histories, "histories left out", counts.skipped)?;
    must(left_out * 100 <= performed * 3, "steps left out", left_out)?;
    must(counts.transactions >= performed / 50, "transactions", counts.transactions)?;
    must(counts.commits >= performed / 60, "commits", counts.commits)?;
    must(counts.checked >= compared, "stores seen by Java's checker", counts.checked)?;
    for op in OPERATIONS {
        let (all, refused) = counts.steps.get(op).copied().unwrap_or_default();
        must(all > 0, op, all)?;
        must(all > refused || steps * counts.histories < STEPS_TO_SUCCEED, op, all - refused)?;
    }
    Ok(())
}

fn must(holds: bool, what: &str, count: usize) -> Outcome {
    if holds { Ok(()) } else { Err(fail(format!("too little was compared: {what}: {count}"))) }
}
