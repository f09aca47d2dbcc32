//! Pages beside a remote, which is another repository: processes that commit, bring commits there,
//! receive others, fetch values, attach the pages, detach them, evict them and collect garbage.
//! They are killed at random instants, or do all of that at once.
//!
//! `PERMAZEN_KILLS` sets how often processes are killed with each store, `PERMAZEN_TOGETHER` for
//! how many turns two of them work at once.

mod bring;
mod content;
mod kills;
mod together;
mod work;

use crate::support::children::task;

/// The test that a process runs which another one has started.
const CHILD: &str = concat!(module_path!(), "::child");

/// The work of a process that a test starts. Without the variable there is nothing to do.
#[test]
fn child() {
    if let Some(what) = task() {
        match what.strip_prefix("together ") {
            Some(what) => together::work(what),
            None => work::work(&what),
        }
    }
}
