//! How far a long command has come, on standard error if that is a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Shows a number that grows.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Shows how many `things` were done.
    pub(crate) fn of(things: &str) -> Progress {
        if !std::io::stderr().is_terminal() {
            return Progress(ProgressBar::hidden());
        }
        let done = format!("{{human_pos}} {things}, {{elapsed}}");
        let (bar, template) = (ProgressBar::new_spinner(), format!("{{spinner}} {done}"));
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Progress(bar)
    }

    /// Adds this number to those that are done.
    pub(crate) fn add(&self, more: u64) {
        self.0.inc(more);
    }

    /// Sets the number of those that are done.
    pub(crate) fn at(&self, done: u64) {
        self.0.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
