//! How the benchmarks take times, and how they summarize many measurements.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// The cost of one piece of work.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// How many items it was.
    pub items: usize,
    pub wall: Duration,
    /// The CPU time that all threads of the process used.
    pub cpu: Duration,
}

/// Times `body`, which works on `items` items.
pub fn timed(items: usize, body: impl FnOnce()) -> Cost {
    let cpu = cpu_time();
    let start = Instant::now();
    body();
    let wall = start.elapsed();
    Cost { items, wall, cpu: cpu_time() - cpu }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The costs of one side in all rounds, as nanoseconds an item.
#[derive(Clone, Debug, Default)]
pub struct Series {
    wall: Vec<f64>,
    cpu: Vec<f64>,
}

/// The values of a series that a table shows.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    pub median: f64,
    /// A quarter of the rounds took less.
    pub low: f64,
    /// A quarter of the rounds took more.
    pub high: f64,
    pub cpu: f64,
}

impl Series {
    pub fn add(&mut self, cost: Cost) {
        let each = |time: Duration| time.as_nanos() as f64 / cost.items.max(1) as f64;
        self.wall.push(each(cost.wall));
        self.cpu.push(each(cost.cpu));
    }

    /// Nothing if there was no round.
    pub fn spread(&self) -> Option<Spread> {
        let at = |values: &[f64], part: f64| {
            let mut values = values.to_vec();
            values.sort_by(f64::total_cmp);
            let last = values.len().checked_sub(1)?;
            values.get((last as f64 * part).round() as usize).copied()
        };
        Some(Spread {
            median: at(&self.wall, 0.5)?,
            low: at(&self.wall, 0.25)?,
            high: at(&self.wall, 0.75)?,
            cpu: at(&self.cpu, 0.5)?,
        })
    }
}

/// Runs all sides once a round. Another side is the first in each round.
pub fn rounds(
    count: usize,
    sides: usize,
    mut run: impl FnMut(usize, usize) -> Option<Cost>,
) -> Vec<Series> {
    let mut all = vec![Series::default(); sides];
    for round in 0..count {
        for turn in 0..sides {
            let side = (round + turn) % sides;
            if let Some(cost) = run(round, side) {
                all[side].add(cost);
            }
        }
    }
    all
}

/// Shows each item to the optimizer, as a loop of a program does. Returns how many there were.
pub fn walk<T, E: std::fmt::Debug>(items: impl Iterator<Item = Result<T, E>>) -> usize {
    let mut count = 0;
    for item in items {
        black_box(item.unwrap());
        count += 1;
    }
    count
}
