//! The same work done in two ways, in turns, so that both meet the same machine in the same state;
//! what is compared are the medians.
#![allow(dead_code, clippy::print_stdout)]

use std::time::{Duration, Instant};

/// How often each side takes its turn.
const ROUNDS: usize = 41;

/// Prints the line above the rows.
pub(crate) fn header(title: &str, ours: &str, other: &str) {
    println!("\n{title}; medians of {ROUNDS} interleaved rounds, time per item");
    println!("{:40} {ours:>12} {other:>12} {:>8} {:>8}", "", "ratio", "aim");
}

/// Lets both sides take turns and prints their medians per item. Each returns the time it took.
///
/// `aim` is what the ratio ought not to exceed.
pub(crate) fn row(
    name: &str,
    items: u64,
    aim: Option<f64>,
    mut ours: impl FnMut() -> Duration,
    mut other: impl FnMut() -> Duration,
) {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        // Whoever comes second finds the caches warmer.
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

/// Times `body`, but not what comes before and after.
pub(crate) fn timed(body: impl FnOnce()) -> Duration {
    let start = Instant::now();
    body();
    start.elapsed()
}

/// The one in the middle.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
