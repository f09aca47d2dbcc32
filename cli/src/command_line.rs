//! The command line: the options, and the command or statement after them.

use std::ffi::OsString;
use std::io::Write;

use clap::{CommandFactory, Parser, Subcommand};
use permazen_query::parse::begins_statement;

use crate::args::Args;
use crate::commands::{Command, Line, Named};
use crate::failure::{Exit, Failure};
use crate::output;

/// The command line.
#[derive(Debug)]
pub(crate) struct CommandLine {
    pub(crate) args: Args,
    pub(crate) command: Option<Box<dyn Command>>,
}

/// Read, query and change any Permazen database.
///
/// Exit code 0: done. 1: done, and the answer is no. 2: failed, nothing changed. 3: busy or in
/// conflict with others, nothing changed, try again. 4: it is not known whether the changes were
/// committed. 130: Ctrl-C.
#[derive(Debug, Parser)]
#[command(
    name = "permazen",
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    subcommand_value_name = "COMMAND|STATEMENT",
    subcommand_help_heading = "Commands",
    args_conflicts_with_subcommands = false
)]
struct Parsed {
    #[command(flatten)]
    args: Args,
    #[command(subcommand)]
    command: Option<Word>,
}

/// The words after the options.
#[derive(Debug, Subcommand)]
enum Word {
    #[command(flatten)]
    Command(Named),
    /// A statement of the query language
    #[command(external_subcommand)]
    Statement(Vec<OsString>),
}

/// The definition of the command line.
pub(crate) fn definition() -> clap::Command {
    Parsed::command()
}

/// A command line that cannot be used, or a request for help.
#[derive(Debug)]
pub(crate) struct Usage {
    error: clap::Error,
    /// Whether errors are JSON.
    json: bool,
}

/// Reads the command line.
pub(crate) fn parse(arguments: &[OsString]) -> Result<CommandLine, Usage> {
    let json = arguments.iter().any(|argument| argument == "--json" || argument == "--format=json")
        || arguments.windows(2).any(|two| two == ["--format", "json"]);
    parse_words(arguments).map_err(|error| Usage { error: with_near_names(error), json })
}

/// Proposes only names that begin as the written word does.
fn with_near_names(mut error: clap::Error) -> clap::Error {
    use clap::error::{ContextKind, ContextValue};

    for (written, proposed) in [
        (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        (ContextKind::InvalidValue, ContextKind::SuggestedValue),
    ] {
        let Some(ContextValue::String(written)) = error.get(written) else { continue };
        let first = |name: &str| name.trim_start_matches('-').chars().next();
        let is_near = |name: &String| first(name) == first(written);
        let near = match error.get(proposed) {
            Some(ContextValue::Strings(names)) => {
                names.iter().filter(|name| is_near(name)).cloned().collect()
            }
            Some(ContextValue::String(name)) if !is_near(name) => Vec::new(),
            _ => continue,
        };
        let near = if near.is_empty() { ContextValue::None } else { ContextValue::Strings(near) };
        error.insert(proposed, near);
    }
    error
}

fn parse_words(arguments: &[OsString]) -> Result<CommandLine, clap::Error> {
    let arguments = &help_without_database(arguments);
    let Parsed { args, command } =
        Parsed::try_parse_from(arguments).map_err(|error| without_database(arguments, error))?;
    match command {
        None => Ok(CommandLine { args, command: None }),
        Some(Word::Command(_))
            if !args.statements.is_empty() || args.file.is_some() || args.prompt =>
        {
            let what = "-c, -f and --prompt do not go with a command after DB, because only the command \
                        would run: run the command with -c too, or leave them out";
            Err(definition().error(clap::error::ErrorKind::ArgumentConflict, what))
        }
        Some(Word::Command(Named(command))) => Ok(CommandLine { args, command: Some(command) }),
        // The statement is one argument; the options after it are read as those before it.
        Some(Word::Statement(words)) => statement(arguments, &words),
    }
}

/// The position of the first argument that is not only a choice of the output format.
fn first(arguments: &[OsString]) -> Option<(usize, &str)> {
    let mut words = arguments.iter().enumerate().skip(1);
    let (at, word) = words.find(|(_, word)| *word != "--json" && *word != "--raw")?;
    Some((at, word.to_str()?))
}

/// `permazen help …` needs no database.
fn help_without_database(arguments: &[OsString]) -> Vec<OsString> {
    let mut arguments = arguments.to_vec();
    if let Some((at, "help")) = first(&arguments) {
        arguments.insert(at, "memory:".into());
    }
    arguments
}

/// If a command stands where the database is expected, replaces the error by one that says so.
fn without_database(arguments: &[OsString], error: clap::Error) -> clap::Error {
    match first(arguments) {
        Some((_, word)) if error.use_stderr() && definition().find_subcommand(word).is_some() => {
            let what = format!(
                "`{word}` is a command, and there is no DB before it: permazen DB {word}; write \
                 ./{word} for a database of that name"
            );
            definition().error(clap::error::ErrorKind::MissingRequiredArgument, what)
        }
        _ => error,
    }
}

/// Reads a command line that has the statement `words` and further arguments after it.
fn statement(arguments: &[OsString], words: &[OsString]) -> Result<CommandLine, clap::Error> {
    let at = arguments.len().saturating_sub(words.len());
    let mut replaced = arguments.to_vec();
    if let (Some(word), Some(statement)) = (replaced.get_mut(at), words.first()) {
        let mut option = OsString::from("--command=");
        option.push(statement);
        *word = option;
    }
    let Parsed { args, command } = Parsed::try_parse_from(&replaced)?;
    if command.is_none() {
        return Ok(CommandLine { args, command: None });
    }
    let first = words.first().and_then(|word| word.to_str()).unwrap_or_default();
    let end = first.find(|c: char| !c.is_alphanumeric()).unwrap_or(first.len());
    let is_statement = first.get(..end).is_some_and(begins_statement);
    match Line::try_parse_from(words) {
        // It is meant to be a command.
        Err(error) if !is_statement => Err(error),
        _ => {
            let what = "a statement is one argument: write it in quotes, as in \
                        permazen DB 'find Person'";
            Err(definition().error(clap::error::ErrorKind::UnknownArgument, what))
        }
    }
}

impl Usage {
    /// Prints the error or the help.
    pub(crate) fn print(&self) -> Exit {
        if self.error.use_stderr() {
            let text = self.error.render().to_string();
            let text = text.trim_end();
            if self.json {
                output::use_json();
            }
            output::failure(&Failure::new(text.strip_prefix("error: ").unwrap_or(text)));
            return Exit::Failed;
        }
        // Help is made of constants.
        match self.error.print().and_then(|()| std::io::stdout().flush()) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Exit::Failed,
            _ => Exit::Done,
        }
    }
}
