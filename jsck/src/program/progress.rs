//! A progress bar on a terminal; nothing if the output is not a terminal.

use std::fmt::Write;
use std::io::IsTerminal;
use std::time::Duration;

use crate::Progress;
use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};

/// Shows the progress of a check.
pub(super) struct Bar(ProgressBar);

impl Bar {
    /// Shows how often pairs were read. `pairs` is the number of pairs of the database, if known.
    /// The pairs of objects are read twice, so the end is only estimated.
    pub(super) fn of_reads(pairs: Option<u64>) -> Bar {
        Bar::new("reads", pairs.map(|pairs| pairs.saturating_add(pairs / 2)))
    }

    /// Shows how many pairs were checked; `pairs` is the number of all pairs, if known.
    pub(super) fn of_pairs(pairs: Option<u64>) -> Bar {
        Bar::new("pairs", pairs)
    }

    fn new(unit: &str, end: Option<u64>) -> Bar {
        if !std::io::stderr().is_terminal() {
            return Bar(ProgressBar::hidden());
        }
        let done = format!("{{human_pos}} {unit}, {{rate}}");
        let (bar, template) = match end {
            Some(end) => {
                (ProgressBar::new(end), format!("{{msg:20}} {{bar:30}} {done}, {{eta}} left"))
            }
            None => (ProgressBar::new_spinner(), format!("{{msg:20}} {{spinner}} {done}")),
        };
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style.with_key("rate", |state: &ProgressState, out: &mut dyn Write| {
                #[allow(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "the rate is shown to people, and is neither negative nor that large"
                )]
                let rate = state.per_sec() as u64;
                let _ = write!(out, "{}/s", HumanCount(rate));
            }));
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Bar(bar)
    }

    pub(super) fn show(&self, progress: &Progress) {
        self.position(progress.phase, progress.reads);
    }

    pub(super) fn position(&self, phase: &'static str, done: u64) {
        if !self.0.is_hidden() {
            // Where something is wrong, pairs are read again, and the estimate is too low.
            if let Some(length) = self.0.length().filter(|&length| done > length) {
                self.0.set_length(length.saturating_mul(2).max(done));
            }
            self.0.set_position(done);
            self.0.set_message(phase);
        }
    }

    /// Prints without disturbing the bar.
    pub(super) fn suspend(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }

    pub(super) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
