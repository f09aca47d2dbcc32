//! Candidates for the next word: commands, words of the language, names, IDs and values.
//!
//! `tokens.rs` cuts what is typed into pieces, `statement.rs` says what could follow in a
//! statement, and `values.rs` reads a few IDs and values, in a transaction of its own. The table of
//! commands (`commands/table.rs`) says what could follow in a command.

mod statement;
mod tokens;
mod values;

use permazen_query::parse::begins_statement;
use permazen_query::text::is_hidden;

use crate::commands;
use crate::session::Session;

use tokens::tokens;

/// The candidates for the end of a text.
#[derive(Debug, Default)]
pub(super) struct Completion {
    /// Where the part begins that would be replaced.
    pub(super) start: usize,
    /// The texts that could replace that part.
    pub(super) candidates: Vec<String>,
}

/// The candidates for the end of `text`.
pub(super) fn complete(text: &str, session: &Session) -> Completion {
    let mut before = tokens(text);
    let is_at_end = |token: &tokens::Token<'_>| token.start + token.text.len() == text.len();
    let last = before.last().copied().filter(|token| is_at_end(token) && token.can_grow());
    if last.is_some() {
        before.pop();
    }
    let mut start = last.map_or(text.len(), |token| token.start);
    let candidates = match before.first() {
        None => statement::statements().chain(commands::names()).map(str::to_owned).collect(),
        Some(first) if begins_statement(first.text) => {
            // A Ctrl-C from before is not for this.
            let _working = session.interrupt.work();
            let typed = text.get(start..).unwrap_or_default();
            let found = session.begin_reading().map(|transaction| {
                statement::candidates(&before, typed, &session.catalog(&transaction), &transaction)
            });
            found.unwrap_or_default()
        }
        Some(first) => {
            let blank = text.rfind(char::is_whitespace).map_or(0, |at| at + 1);
            start = blank.max(first.start);
            let words = text.get(first.start..start).unwrap_or_default();
            commands::candidates(words, text.get(start..).unwrap_or_default(), session)
        }
    };
    let typed = text.get(start..).unwrap_or_default();
    let mut candidates = fitting(candidates, typed);
    candidates.sort();
    candidates.dedup();
    Completion { start, candidates }
}

/// The candidates that begin with the typed text; if no candidate does, those that do so if small
/// and large letters count as the same.
fn fitting(mut candidates: Vec<String>, typed: &str) -> Vec<String> {
    candidates.retain(|candidate| candidate != typed && !candidate.contains(is_hidden));
    if candidates.iter().any(|candidate| candidate.starts_with(typed)) {
        candidates.retain(|candidate| candidate.starts_with(typed));
    } else {
        let typed = typed.to_lowercase();
        candidates.retain(|candidate| candidate.to_lowercase().starts_with(&typed));
    }
    candidates
}
