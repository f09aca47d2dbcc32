//! A progress bar on a terminal, nothing elsewhere.

use std::fmt::Write;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};
use permazen_jsck::Progress;

/// Shows how far a check is.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// `entries`: how many pairs the database has, if known. Objects are read twice, so the end
    /// is only estimated.
    pub(crate) fn new(entries: Option<u64>) -> Bar {
        if !std::io::stderr().is_terminal() {
            return Bar(ProgressBar::hidden());
        }
        let (bar, template) = match entries {
            Some(entries) => (
                ProgressBar::new(entries.saturating_add(entries / 2)),
                "{msg:20} {bar:30} {human_pos} entries, {rate}, {eta} left",
            ),
            None => (ProgressBar::new_spinner(), "{msg:20} {spinner} {human_pos} entries, {rate}"),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.with_key("rate", |state: &ProgressState, out: &mut dyn Write| {
                let _ = write!(out, "{}/s", HumanCount(state.per_sec() as u64));
            }));
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Bar(bar)
    }

    pub(crate) fn show(&self, progress: &Progress) {
        self.position(progress.phase, progress.entries);
    }

    pub(crate) fn position(&self, phase: &'static str, entries: u64) {
        if !self.0.is_hidden() {
            // Where something is wrong, pairs are read again.
            if let Some(length) = self.0.length().filter(|&length| entries > length) {
                self.0.set_length(length.saturating_mul(2).max(entries));
            }
            self.0.set_position(entries);
            self.0.set_message(phase);
        }
    }

    /// Prints without disturbing the bar.
    pub(crate) fn suspend(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }

    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
