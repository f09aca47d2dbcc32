//! `jsck`: checks a Permazen database and repairs it if asked to. All of it is in
//! `permazen_jsck::program`; here are the command line and what it generates.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, ValueEnum};
use permazen::__internal::escape::{Escaped, needs_escape};
use permazen_jsck::program::{CheckArgs, FAILED, JSON_SCHEMA, Process, Subject, check};

/// Check a Permazen database for consistency, and repair it.
///
/// Exit code 0: nothing is wrong. 1: something is, whether it was repaired or not. 2: the
/// database could not be checked, or the report not be written. 3: other programs were in the way;
/// nothing was changed, try again. 130: Ctrl-C came when there was nothing to sum up.
#[derive(Debug, Parser)]
#[command(name = "jsck", version, max_term_width = 100)]
struct Args {
    /// An LMDB environment, an SQLite file, a raw XML dump or a store on a server: a path, or
    /// lmdb:PATH, sqlite:PATH, xml:PATH, postgres://USER@HOST/DATABASE or etcd://HOST/PREFIX; write
    /// ./ before a path that has a colon
    #[arg(required_unless_present = "generate")]
    database: Option<PathBuf>,
    #[command(flatten)]
    check: CheckArgs,
    /// Print a shell completion script, the manual page or the JSON schema of a line that --json
    /// prints, and nothing else
    #[arg(long, value_name = "WHAT")]
    generate: Option<Generate>,
}

/// A file that can be generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Generate {
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
    fn shell(self) -> Option<clap_complete::Shell> {
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

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return ExitCode::from(usage(&error)),
    };
    let code = match (&args.database, args.generate) {
        (_, Some(what)) => told(generate(what)),
        (Some(database), None) => match Process::listen("jsck") {
            Ok(process) => {
                let subject = Subject::Named(database.as_os_str());
                check(&args.check, subject, &process, &mut io::stdout())
            }
            Err(error) => told(Err(error)),
        },
        // The parser refuses this.
        (None, None) => FAILED,
    };
    ExitCode::from(code)
}

/// Prints a line on standard error, escaped.
fn complain(text: impl std::fmt::Display) {
    let _ = writeln!(io::stderr(), "{}", Escaped(text));
}

/// Says why the program failed, if it did.
fn told(done: io::Result<()>) -> u8 {
    match done {
        // A reader that has gone away has seen what it wanted.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(format_args!("jsck: standard output: {error}; the report is not complete"));
            FAILED
        }
        _ => 0,
    }
}

fn generate(what: Generate) -> io::Result<()> {
    let mut command = Args::command();
    let mut out = Vec::new();
    match what.shell() {
        Some(shell) => clap_complete::generate(shell, &mut command, "jsck", &mut out),
        None if what == Generate::JsonSchema => out.extend_from_slice(JSON_SCHEMA.as_bytes()),
        None => clap_mangen::Man::new(command).render(&mut out)?,
    }
    let mut stdout = io::stdout();
    stdout.write_all(&out)?;
    stdout.flush()
}

/// Prints an error of the command line, or its help. Returns the exit code.
fn usage(error: &clap::Error) -> u8 {
    let text = error.render().to_string();
    // A number that is no exit code stands for a failure.
    let code = u8::try_from(error.exit_code()).unwrap_or(FAILED);
    // The error repeats arguments, which may contain control characters: print it escaped.
    if error.use_stderr() && text.chars().any(|c| c != '\n' && needs_escape(c)) {
        text.lines().for_each(complain);
        return code;
    }
    match told(error.print().and_then(|()| io::stdout().flush())) {
        0 => code,
        failed => failed,
    }
}
