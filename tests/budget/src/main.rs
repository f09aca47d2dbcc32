//! The costs of operations, counted and not timed: instructions and allocations of each, on the
//! store in memory and on LMDB, beside some of the same work by hand with heed.
//!
//! The program runs itself under valgrind's `callgrind`, and compares what it counted with
//! `budget.txt`. `docs/src/testing.md` says how to use it.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout
)]

mod count;
mod file;
mod work;

#[path = "../../../core/benches/by_hand/mod.rs"]
mod by_hand;

use std::env;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: count::Counting = count::Counting;

fn main() -> ExitCode {
    if env::var_os(count::RUN).is_some() {
        work::run();
        return ExitCode::SUCCESS;
    }
    let counted = count::under_callgrind();
    if env::var("PERMAZEN_BUDGET").is_ok_and(|what| what == "write") {
        file::write(&counted);
        return ExitCode::SUCCESS;
    }
    if file::agrees(&counted) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
