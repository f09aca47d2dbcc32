//! Pages beside a remote, which is another repository: processes that commit, bring commits there, receive others,
//! fetch values, attach the pages, detach them, evict them and collect garbage. They are killed at random instants, or
//! do all of that at once.
//!
//! `PERMAZEN_KILLS` sets how often processes are killed with each store, `PERMAZEN_TOGETHER` for how many turns two
//! of them work at once.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod bring;
mod children;
mod content;
mod kills;
mod together;
mod work;

/// Whoever has this variable is a process that a test has started: what it does.
const CHILD: &str = "PERMAZEN_LEDGER_CHILD";

/// What a process does that a test starts. Without the variable there is nothing to do.
#[test]
fn child() {
    if let Ok(what) = std::env::var(CHILD) {
        match what.strip_prefix("together ") {
            Some(what) => together::work(what),
            None => work::work(&what),
        }
    }
}
