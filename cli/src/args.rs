//! The command line.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use permazen::open::StoreKind;
use permazen_query::parse::begins_statement;

use crate::commands::{Command, Line};
use crate::failure::{Exit, Failure};
use crate::output::{self, Format};

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

/// What the command line says.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// An LMDB environment, an SQLite file or a raw XML dump: a path, or lmdb:PATH, sqlite:PATH,
    /// xml:PATH; write ./ before a path that has a colon; memory: is an empty database in memory
    #[arg(value_name = "DB", required_unless_present = "generate")]
    pub(crate) database: Option<OsString>,
    /// Run these statements or commands; may be repeated
    #[arg(short = 'c', long = "command", value_name = "STATEMENT", allow_hyphen_values = true)]
    pub(crate) statements: Vec<String>,
    /// Run the statements and commands of this file; - is standard input
    #[arg(short = 'f', long, value_name = "FILE", conflicts_with = "statements")]
    pub(crate) file: Option<PathBuf>,
    /// Use VALUE, written as in a statement, for $NAME; may be repeated
    #[arg(long = "param", value_name = "NAME=VALUE", global = true)]
    pub(crate) parameters: Vec<String>,
    /// Use TEXT, exactly as it is, for $NAME; may be repeated
    #[arg(long = "text", value_name = "NAME=TEXT", global = true)]
    pub(crate) texts: Vec<String>,
    /// Allow changes of the database
    #[arg(long, global = true)]
    pub(crate) write: bool,
    /// Create DB if it is missing, and allow changes; its name must say what it is, as lmdb:PATH does
    #[arg(long)]
    pub(crate) create: bool,
    /// How to show what is found
    #[arg(long, value_name = "FORMAT", global = true, conflicts_with_all = ["json", "raw"])]
    format: Option<Format>,
    /// One JSON object a line, for errors too
    #[arg(long, global = true)]
    json: bool,
    /// Values as they are, with tabs between them and nothing else
    #[arg(long, global = true, conflicts_with = "json")]
    raw: bool,
    /// What kind of store DB is; found out by itself if not given
    #[arg(long)]
    pub(crate) kind: Option<Kind>,
    /// Do not ask before changes
    #[arg(long, global = true)]
    pub(crate) yes: bool,
    /// Each statement of a script is a transaction of its own
    #[arg(long)]
    pub(crate) each: bool,
    /// Run everything, and commit nothing
    #[arg(long, global = true)]
    pub(crate) dry_run: bool,
    /// How long to wait for others who use the database
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration, global = true)]
    pub(crate) wait: Duration,
    /// At the prompt: how old a transaction may become before it must be replayed
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration)]
    pub(crate) max_age: Duration,
    /// Read lines as at the prompt although standard input is no terminal
    #[arg(long, conflicts_with_all = ["statements", "file"])]
    pub(crate) prompt: bool,
    /// At the prompt: do not keep what is typed
    #[arg(long)]
    pub(crate) no_history: bool,
    /// The schema of objects that are created: its number or its ID [default: the newest one that
    /// has the type]
    #[arg(long, value_name = "SCHEMA")]
    pub(crate) schema: Option<String>,
    /// Print a shell completion script, the manual page or the JSON schema of what --json prints, and
    /// nothing else
    #[arg(long, value_name = "WHAT")]
    pub(crate) generate: Option<Generate>,
    #[arg(skip)]
    pub(crate) command: Option<Command>,
}

/// What comes after the options.
#[derive(Debug, Subcommand)]
enum Word {
    #[command(flatten)]
    Command(Command),
    /// A statement of the query language
    #[command(external_subcommand)]
    Statement(Vec<OsString>),
}

/// Kinds of stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    Lmdb,
    #[cfg(feature = "sqlite")]
    Sqlite,
    Xml,
}

impl Kind {
    pub(crate) fn of_store(self) -> StoreKind {
        match self {
            Kind::Lmdb => StoreKind::Lmdb,
            #[cfg(feature = "sqlite")]
            Kind::Sqlite => StoreKind::Sqlite,
            Kind::Xml => StoreKind::Xml,
        }
    }
}

/// What to generate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Generate {
    Bash,
    Elvish,
    Fish,
    /// The JSON schema of a line that --json prints
    JsonSchema,
    Man,
    Powershell,
    Zsh,
}

impl Generate {
    pub(crate) fn shell(self) -> Option<clap_complete::Shell> {
        use clap_complete::Shell;
        Some(match self {
            Generate::Bash => Shell::Bash,
            Generate::Elvish => Shell::Elvish,
            Generate::Fish => Shell::Fish,
            Generate::Powershell => Shell::PowerShell,
            Generate::Zsh => Shell::Zsh,
            Generate::JsonSchema | Generate::Man => return None,
        })
    }
}

impl Args {
    /// How to show what is found, if the command line says.
    pub(crate) fn format(&self) -> Option<Format> {
        match self.format {
            _ if self.json => Some(Format::Json),
            _ if self.raw => Some(Format::Raw),
            format => format,
        }
    }
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
pub(crate) fn parse(arguments: &[OsString]) -> Result<Args, Usage> {
    let json = arguments.iter().any(|argument| argument == "--json" || argument == "--format=json")
        || arguments.windows(2).any(|two| two == ["--format", "json"]);
    parse_words(arguments).map_err(|error| Usage { error: with_near_names(error), json })
}

/// Proposes only names that begin as what was written does.
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

fn parse_words(arguments: &[OsString]) -> Result<Args, clap::Error> {
    let arguments = &help_without_database(arguments);
    let Parsed { mut args, command } =
        Parsed::try_parse_from(arguments).map_err(|error| without_database(arguments, error))?;
    match command {
        None => Ok(args),
        Some(Word::Command(_))
            if !args.statements.is_empty() || args.file.is_some() || args.prompt =>
        {
            let what = "-c, -f and --prompt do not go with a command after DB, because only the command \
                        would run: run the command with -c too, or leave them out";
            Err(definition().error(clap::error::ErrorKind::ArgumentConflict, what))
        }
        Some(Word::Command(command)) => {
            args.command = Some(command);
            Ok(args)
        }
        // The statement is one argument; the options after it are read as those before it.
        Some(Word::Statement(words)) => statement(arguments, &words),
    }
}

/// Where the first argument is that does not only say how to show what is found.
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

/// Says that a command stands where the database is expected, if that is what is wrong.
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

/// Reads a command line in which the statement `words` is, with what comes after it.
fn statement(arguments: &[OsString], words: &[OsString]) -> Result<Args, clap::Error> {
    let at = arguments.len().saturating_sub(words.len());
    let mut replaced = arguments.to_vec();
    if let (Some(word), Some(statement)) = (replaced.get_mut(at), words.first()) {
        let mut option = OsString::from("--command=");
        option.push(statement);
        *word = option;
    }
    let Parsed { args, command } = Parsed::try_parse_from(&replaced)?;
    if command.is_none() {
        return Ok(args);
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

/// A time such as `500ms`, `5s`, `10m`, `2h`.
fn duration(text: &str) -> Result<Duration, String> {
    let form = "a time is written as 500ms, 5s, 10m or 2h";
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| form.to_owned())?;
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(form.to_owned()),
    };
    let milliseconds = number.checked_mul(milliseconds).ok_or_else(|| form.to_owned())?;
    Ok(Duration::from_millis(milliseconds))
}
