//! All output of the program. What comes from a database, a path or an argument is escaped, so that
//! it cannot control the terminal.

use std::fmt::{Display, Write as _};
use std::io::{self, Write};

use clap::ValueEnum;
use permazen::escape::Escaping;

use crate::failure::{Answer, Exit, Failure};

/// How to show what is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Columns, for people
    Table,
    /// One field a line, for people
    Lines,
    /// One JSON object a line
    Json,
    /// Comma separated values
    Csv,
    /// Objects as Permazen's XML
    Xml,
    /// Values as they are, with tabs between them
    #[value(skip)]
    Raw,
}

/// Where answers go.
pub(crate) struct Output {
    format: Option<Format>,
    /// Why something could not be written.
    broken: Option<io::Error>,
}

impl Output {
    /// Standard output, in this format if one was chosen.
    pub(crate) fn new(format: Option<Format>) -> Output {
        Output { format, broken: None }
    }

    /// Whether JSON was asked for.
    pub(crate) fn is_json(&self) -> bool {
        self.format == Some(Format::Json)
    }

    /// Prints a line for people, escaped.
    pub(crate) fn say(&mut self, text: impl Display) {
        let line = line(text);
        self.exactly(line.as_bytes());
    }

    /// Prints bytes as they are.
    pub(crate) fn exactly(&mut self, bytes: &[u8]) {
        if self.broken.is_none() {
            self.broken = io::stdout().write_all(bytes).err();
        }
    }

    /// The end of the program: makes sure that everything was written, and says why it failed.
    pub(crate) fn end(mut self, answer: Result<Answer, Failure>) -> Exit {
        if self.broken.is_none() {
            self.broken = io::stdout().flush().err();
        }
        let unwritten = self.broken.filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
        let answer = match unwritten {
            Some(error) if answer.is_ok() => {
                Err(Failure::new(format!("standard output: {error}; the output is not complete")))
            }
            _ => answer,
        };
        match answer {
            Ok(Answer::Yes) => Exit::Done,
            Ok(Answer::No) => Exit::No,
            Err(failure) => {
                complain(format_args!("permazen: {}", failure.message));
                failure.exit
            }
        }
    }
}

fn line(text: impl Display) -> String {
    let mut line = String::new();
    // Writing to a string does not fail.
    let _ = write!(Escaping(&mut line), "{text}");
    line.push('\n');
    line
}

/// Prints a line on standard error. If that fails, only the exit code is left to tell.
pub(crate) fn complain(text: impl Display) {
    let _ = io::stderr().write_all(line(text).as_bytes());
}
