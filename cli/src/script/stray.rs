//! Options of the program that stand in a statement, where `--` begins a comment.

use super::split::{PieceKind, Script, Source};
use crate::command_line;

/// How many places are checked: at each, the text up to there is read.
const MOST: usize = 16;

/// The note if a comment after a statement is an option of the program.
pub(crate) fn option_in_comment(text: &str) -> Option<String> {
    // Where the text before it can be run, it is in no quotes: there the first comment begins.
    let ends_with_statement = |before: &str| {
        let script = Script::read(vec![Source { name: None, text: before.to_owned() }]).ok()?;
        Some(matches!(script.pieces().last()?.kind, PieceKind::Statement(_)))
    };
    let mut dashes = text.match_indices(" --").map(|(at, _)| at).take(MOST);
    let at = dashes.find(|at| text.get(..*at).and_then(ends_with_statement).unwrap_or(false))?;
    let comment = text.get(at + " --".len()..)?;
    let end = comment.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let word = comment.get(..end.unwrap_or(comment.len()))?;
    let definition = command_line::definition();
    definition.get_arguments().find(|option| option.get_long() == Some(word))?;
    Some(format!(
        "`--{word}` begins a comment here; as an option it belongs to the call of the program, outside of \
         the statement: permazen DB --{word}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_options_after_statements() {
        for text in
            ["find Pet --json", "count Pet; find Pet limit 1 --format csv", "find Pet --yes;"]
        {
            assert!(option_in_comment(text).is_some(), "{text}");
        }
        for text in [
            "find Pet",
            "find Pet -- json",
            "find Pet --nosuch",
            "find Pet -- as with --json",
            "find Pet where name = \" --json\"",
            "info --json",
            "find Pet; info --json",
            " --json",
        ] {
            assert_eq!(option_in_comment(text), None, "{text}");
        }
    }
}
