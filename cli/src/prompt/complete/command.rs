//! What could follow in a command.

use clap::CommandFactory;

use super::statements;
use crate::commands::Line;
use crate::session::Session;

/// The names of all commands.
pub(super) fn names() -> impl Iterator<Item = String> {
    let names: Vec<_> =
        Line::command().get_subcommands().map(|c| c.get_name().to_owned()).collect();
    names.into_iter()
}

/// What could follow after these words of a command.
pub(super) fn candidates(words: &str, typed: &str, session: &Session) -> Vec<String> {
    let mut words = words.split_whitespace();
    match words.clone().next() {
        Some("help") => return statements().map(str::to_owned).chain(names()).collect(),
        Some("type") if !typed.starts_with('-') => {
            let _working = session.interrupt.work();
            let Ok(transaction) = session.begin_reading() else { return Vec::new() };
            let catalog = session.catalog(&transaction);
            // A name with a blank would have to be in quotes.
            let names = catalog.types().iter().map(|entry| entry.name.to_string());
            let is_plain = |name: &String| name.chars().all(|c| c.is_alphanumeric() || c == '_');
            return names.filter(is_plain).collect();
        }
        _ => {}
    }
    let mut command = Line::command();
    command.build();
    let mut command = &command;
    while let Some(inner) = words.next().and_then(|word| command.find_subcommand(word)) {
        command = inner;
    }
    match typed.starts_with('-') {
        true => {
            let options = command.get_arguments().filter_map(|argument| argument.get_long());
            options.map(|long| format!("--{long}")).collect()
        }
        false => command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect(),
    }
}
