//! Pages and plots of the measurements.

mod by_hand;
mod libraries;
mod load;
mod plot;
mod space;
mod start;

use std::fs;
use std::path::Path;

use crate::measure::Spread;

pub use by_hand::Floor;

/// All that a run measured. Parts that did not run are absent.
#[derive(Default)]
pub struct Results {
    pub floor: Option<Floor>,
    pub peers: Option<crate::peers::Tables>,
    pub published: Option<crate::published::Published>,
    pub growth: Option<crate::peers::Growth>,
    pub space: Option<crate::space::Space>,
    pub load: Option<Vec<crate::load::Load>>,
    pub start: Option<crate::start::Start>,
    /// Lines of a list: the machine and the versions.
    pub about: Vec<String>,
    pub command: String,
}

/// Writes the pages whose parts have run.
pub fn write(results: &Results, folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    let save = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    if let Some(floor) = &results.floor {
        by_hand::write(floor, results, &save);
    }
    if let Some(peers) = &results.peers {
        libraries::write(peers, results, &save);
    }
    if let Some(space) = &results.space {
        space::write(space, results, &save);
    }
    if let Some(load) = &results.load {
        load::write(load, results, &save);
    }
    if let Some(start) = &results.start {
        start::write(start, results, &save);
    }
}

/// The beginning of all pages.
fn about(results: &Results) -> String {
    let mut text = format!(
        "This page is written by a program: `{}`. All sides do the same work on the same data, in the same \
         random order, in one run: in each round they take turns, and another side comes first. Figures are medians of the \
         rounds.\n\n",
        results.command
    );
    for line in &results.about {
        text += &format!("- {line}\n");
    }
    text
}

/// A time in nanoseconds as people read it.
fn time(nanos: f64) -> String {
    let (value, unit) = match nanos {
        ..1e3 => (nanos, "ns"),
        1e3..1e6 => (nanos / 1e3, "µs"),
        1e6..1e9 => (nanos / 1e6, "ms"),
        _ => (nanos / 1e9, "s"),
    };
    let digits = match value {
        ..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.digits$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

fn quartiles(spread: &Spread) -> String {
    format!("{} to {}", time(spread.low), time(spread.high))
}

/// A number with commas.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn row(cells: impl IntoIterator<Item = String>) -> String {
    format!("| {} |\n", cells.into_iter().collect::<Vec<_>>().join(" | "))
}

/// A table with its first column to the left and the others to the right.
fn head(columns: &[&str]) -> String {
    let names = row(columns.iter().map(|name| (*name).to_owned()));
    let marks = columns.iter().enumerate().map(|(at, _)| if at == 0 { "---" } else { "--:" });
    names + &format!("|{}|\n", marks.collect::<Vec<_>>().join("|"))
}
