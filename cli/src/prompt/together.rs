//! Lines that the editor gives as one text, because a terminal marks pasted text.

use std::collections::VecDeque;

use super::continuation::is_complete;
use crate::script::{PieceKind, Script, Source};

/// Lines that came together, and wait to be run one after the other.
#[derive(Debug, Default)]
pub(super) struct Together(VecDeque<String>);

impl Together {
    pub(super) fn new(text: &str) -> Together {
        Together(text.split('\n').map(str::to_owned).collect())
    }

    /// The next line.
    pub(super) fn line(&mut self) -> Option<String> {
        self.0.pop_front()
    }

    /// The next text that can be run: one line, or several if it continues. The last one may lack
    /// its end.
    pub(super) fn text(&mut self) -> Option<String> {
        let mut text = self.line()?;
        while !is_complete(&text)
            && let Some(line) = self.line()
        {
            text.push('\n');
            text.push_str(&line);
        }
        while let Some((longer, lines)) = self.continued(&text) {
            text = longer;
            self.0.drain(..lines);
        }
        Some(text)
    }

    /// `text` with the next lines, and their number, if its statement continues there: a statement
    /// that was written on several lines may be complete at the end of each of them.
    fn continued(&self, text: &str) -> Option<(String, usize)> {
        let mut longer = text.to_owned();
        for (at, line) in self.0.iter().enumerate() {
            if line.trim().is_empty() {
                return None;
            }
            longer.push('\n');
            longer.push_str(line);
            if is_complete(&longer) {
                let goes_on = statements(text)? == statements(&longer)?;
                return goes_on.then_some((longer, at + 1));
            }
        }
        None
    }
}

/// Whether the typed text can be run up to its end; otherwise its last text continues in the next
/// line.
pub(super) fn are_whole(text: &str) -> bool {
    if !text.contains('\n') {
        return is_complete(text);
    }
    let mut lines = Together::new(text);
    let mut last = String::new();
    while let Some(next) = lines.text() {
        last = next;
    }
    is_complete(&last)
}

/// How many pieces `text` has; `None` if there is a mistake in it, or if it does not end with a
/// statement.
fn statements(text: &str) -> Option<usize> {
    let script = Script::read(vec![Source { name: None, text: text.to_owned() }]).ok()?;
    let last = script.pieces().last()?;
    matches!(last.kind, PieceKind::Statement(_)).then_some(script.pieces().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        let mut lines = Together::new(text);
        std::iter::from_fn(|| lines.text()).collect()
    }

    #[test]
    fn each_line_is_a_text() {
        assert_eq!(texts("count Pet\ncount Person"), ["count Pet", "count Person"]);
        assert_eq!(texts("info\n\ncreate Pet\ny"), ["info", "", "create Pet", "y"]);
        assert_eq!(texts("count Pet;\ninfo;"), ["count Pet;", "info;"]);
        assert_eq!(texts("find wher\ninfo"), ["find wher", "info"]);
        assert_eq!(texts("exit\nn"), ["exit", "n"]);
    }

    #[test]
    fn a_statement_goes_on() {
        for one in [
            "find Pet where\n  name = \"a\"",
            "find Pet\n  where name = \"a\"",
            "find Pet\nwhere (name = \"a\"\n or name = \"b\")\nlimit 3;",
            "find Pet where\n",
            "echo 'a\nb'",
        ] {
            assert_eq!(texts(&format!("{one}\ninfo")), [one, "info"]);
        }
        // An empty line ends it.
        assert_eq!(texts("find Pet\n\nlimit 3"), ["find Pet", "", "limit 3"]);
        assert_eq!(texts("count Pet;\nlimit 3"), ["count Pet;", "limit 3"]);
    }

    #[test]
    fn the_last_text_may_continue() {
        assert!(are_whole("count Pet\ncount Person") && are_whole("find\n") && are_whole("\n\n"));
        assert!(!are_whole("count Pet\ncount") && !are_whole("info\necho 'a"));
    }
}
