//! Does the same work in two ways, in turns, so that both meet the same machine in the same state.
//! Compares the medians.
#![allow(dead_code, clippy::print_stdout)]

use std::time::{Duration, Instant};

/// How many turns each side has.
const ROUNDS: usize = 41;

/// Prints the line above the rows.
pub(crate) fn header(title: &str, ours: &str, other: &str) {
    println!("\n{title}; medians of {ROUNDS} interleaved rounds, time per item");
    println!("{:40} {ours:>12} {other:>12} {:>8} {:>8}", "", "ratio", "aim");
}

/// Lets both sides take turns, and prints their medians for each item. Each side returns the time
/// it took.
///
/// `aim` is the limit of the ratio.
pub(crate) fn row(
    name: &str,
    items: u64,
    aim: Option<f64>,
    mut ours: impl FnMut() -> Duration,
    mut other: impl FnMut() -> Duration,
) {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        // The side that comes second finds warmer caches.
        if round % 2 == 0 {
            first.push(ours());
            second.push(other());
        } else {
            second.push(other());
            first.push(ours());
        }
    }
    let each = |times| median(times).as_nanos() as f64 / items as f64;
    let (ours, other) = (each(first), each(second));
    let aim = aim.map_or_else(String::new, |aim| format!("{aim:.2}"));
    println!("{name:40} {ours:>9.1} ns {other:>9.1} ns {:>8.3} {aim:>8}", ours / other);
}

/// Times `body`, but not the code before and after it.
pub(crate) fn timed(body: impl FnOnce()) -> Duration {
    let start = Instant::now();
    body();
    start.elapsed()
}

/// The median.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
