//! Makes a short failing history from a long one.

use crate::history::{History, Round};

/// How many shorter histories are tried at most.
const ATTEMPTS: usize = 500;

/// The shortest history found for which `fails` holds. It is found by leaving out rounds and steps.
pub fn shrink(history: History, mut fails: impl FnMut(&History) -> bool) -> History {
    let mut best = history;
    let mut left = ATTEMPTS;
    let mut attempt = |candidate: History, best: &mut History| -> bool {
        let better = left > 0 && fails(&candidate);
        left = left.saturating_sub(1);
        if better {
            *best = candidate;
        }
        better
    };
    loop {
        let before = size(&best);
        shorten(
            &mut best,
            |history| history.rounds.len(),
            |history, range| {
                history.rounds.drain(range);
            },
            &mut attempt,
        );
        for round in 0..best.rounds.len() {
            shorten(
                &mut best,
                |history| steps(history, round).map_or(0, |steps| steps.len()),
                |history, range| {
                    if let Some(steps) = steps_mut(history, round) {
                        steps.drain(range);
                    }
                },
                &mut attempt,
            );
        }
        if size(&best) == before {
            return best;
        }
    }
}

/// Leaves out runs of items, long ones first.
fn shorten(
    best: &mut History,
    count: impl Fn(&History) -> usize,
    remove: impl Fn(&mut History, std::ops::Range<usize>),
    attempt: &mut impl FnMut(History, &mut History) -> bool,
) {
    let mut run = count(best).next_power_of_two();
    while run > 0 {
        // This begins at the end, so that the parts that are left out do not move those that are
        // still to be tried.
        let mut end = count(best);
        while end > 0 {
            let start = end.saturating_sub(run);
            let mut candidate = best.clone();
            remove(&mut candidate, start..end);
            attempt(candidate, best);
            end = start;
        }
        run /= 2;
    }
}

fn steps(history: &History, round: usize) -> Option<&Vec<serde_json::Value>> {
    match history.rounds.get(round)? {
        Round::Transaction { steps, .. } => Some(steps),
        Round::HandOver(_) => None,
    }
}

fn steps_mut(history: &mut History, round: usize) -> Option<&mut Vec<serde_json::Value>> {
    match history.rounds.get_mut(round)? {
        Round::Transaction { steps, .. } => Some(steps),
        Round::HandOver(_) => None,
    }
}

fn size(history: &History) -> usize {
    (0..history.rounds.len()).map(|round| 1 + steps(history, round).map_or(0, Vec::len)).sum()
}
