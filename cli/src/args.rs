//! The options of the program.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use permazen::open::StoreKind;

use crate::output::Format;

/// The options of the command line, without the command.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// An LMDB environment, an SQLite file, a raw XML dump or a store on a server: a path, or
    /// lmdb:PATH, sqlite:PATH, xml:PATH, postgres://USER@HOST/DATABASE or etcd://HOST/PREFIX; write
    /// ./ before a path that has a colon; memory: is an empty database in memory
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
    /// Create DB if it is missing, and allow changes; its name must say what it is, as lmdb:PATH
    /// does
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
    /// How long to wait for other programs that use the database
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
    /// Print a shell completion script, the manual page or the JSON schema of what --json prints,
    /// and nothing else
    #[arg(long, value_name = "WHAT")]
    pub(crate) generate: Option<Generate>,
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

/// A file that can be generated.
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
