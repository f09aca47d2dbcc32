//! Work done twice, by this crate and by hand, and a comparison of the two.

use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};

/// The number of rounds that make the table of ratios.
const ROUNDS: usize = 41;

/// The same work twice. Each side times the part that matters.
pub(crate) struct Case<'w> {
    pub(crate) name: &'static str,
    /// How many items one call works on.
    pub(crate) items: usize,
    pub(crate) ours: Box<dyn Fn() -> Duration + 'w>,
    pub(crate) by_hand: Box<dyn Fn() -> Duration + 'w>,
    /// The same work by names and dynamic values, if a benchmark compares with that.
    pub(crate) dynamic: Option<Box<dyn Fn() -> Duration + 'w>>,
}

impl<'w> Case<'w> {
    pub(crate) fn new(
        name: &'static str,
        items: usize,
        ours: impl Fn() -> Duration + 'w,
        by_hand: impl Fn() -> Duration + 'w,
    ) -> Self {
        Case { name, items, ours: Box::new(ours), by_hand: Box::new(by_hand), dynamic: None }
    }
}

/// Times `body`, but not what comes before and after.
pub(crate) fn timed(body: impl FnOnce()) -> Duration {
    let start = Instant::now();
    body();
    start.elapsed()
}

/// The number of objects of a benchmark: `PERMAZEN_BENCH_OBJECTS`, or 100000.
pub(crate) fn objects() -> usize {
    let objects = std::env::var("PERMAZEN_BENCH_OBJECTS").ok();
    objects.and_then(|number| number.parse().ok()).unwrap_or(100_000)
}

/// Runs every case as Criterion does. Then runs all of them in interleaved rounds and prints a
/// table of ratios. `ours` is the name of the first side.
pub(crate) fn run(ours: &str, cases: &[Case<'_>]) {
    let mut criterion = Criterion::default().sample_size(20).configure_from_args();
    for case in cases {
        let mut group = criterion.benchmark_group(format!("{ours}: {}", case.name));
        group.throughput(Throughput::Elements(case.items as u64));
        let sides = [(ours, &case.ours), ("by hand", &case.by_hand)].into_iter();
        for (side, run) in sides.chain(case.dynamic.iter().map(|run| ("dynamic", run))) {
            group.bench_function(side, |bencher| {
                bencher.iter_custom(|rounds| (0..rounds).map(|_| run()).sum());
            });
        }
        group.finish();
    }
    criterion.final_summary();
    println!("\n{} objects; medians of {ROUNDS} interleaved rounds, time per item", objects());
    println!(
        "{:32} {ours:>12} {:>12} {:>8} {:>12} {:>8}",
        "", "by hand", "ratio", "dynamic", "ratio"
    );
    for case in cases {
        let (mut ours, mut by_hand, mut dynamic) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push((case.ours)());
            by_hand.push((case.by_hand)());
            dynamic.extend(case.dynamic.as_ref().map(|run| run()));
        }
        let each = |times| median(times).as_nanos() as f64 / case.items as f64;
        let (ours, by_hand) = (each(ours), each(by_hand));
        print!("{:32} {ours:>9.1} ns {by_hand:>9.1} ns {:>8.2}", case.name, ours / by_hand);
        if !dynamic.is_empty() {
            let dynamic = each(dynamic);
            print!(" {dynamic:>9.1} ns {:>8.2}", ours / dynamic);
        }
        println!();
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
