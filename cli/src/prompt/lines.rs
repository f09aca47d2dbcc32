//! Where lines come from.

use crate::failure::Failure;
use crate::output::Output;

/// A source of typed lines.
pub(super) trait Lines {
    /// Reads the next text: one line, or several if it continues.
    fn read(&mut self, prompt: &str, out: &mut Output) -> Result<Typed, Failure>;

    /// Asks a question; `None` if the input ends.
    fn agrees(&mut self, question: &str, out: &mut Output) -> Result<Option<bool>, Failure>;

    /// Drops the lines that came with the last one, if they are kept here.
    fn drop_waiting(&mut self) {}
}

/// A typed input.
#[derive(Debug)]
pub(super) enum Typed {
    /// A text.
    Text(String),
    /// Ctrl-C: a line that was dropped.
    Dropped,
    /// Bytes that are not UTF-8, and what to say about it.
    Unreadable(&'static str),
    /// Ctrl-D: nothing more comes.
    End,
}

/// The message about [`Typed::Unreadable`].
pub(super) const UNREADABLE: &str = "the line is not UTF-8, so it is passed over; type it again";

/// The same where more may be lost.
pub(super) const UNREADABLE_AND_MORE: &str =
    "the line is not UTF-8, so it is passed over, with what came with it; type it again";

/// Whether an answer means yes.
pub(super) fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}
