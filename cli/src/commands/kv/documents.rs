//! `kv dump` and `kv load`: pairs as XML.

use std::path::PathBuf;

use permazen::kv::KeySpan;
use permazen::kv::xml::{self, Style, XmlError};
use serde_json::json;

use super::{Range, read_pairs, remove_span};
use crate::commands::file::{self, file_text};
use crate::commands::{Command, Context, Scope};
use crate::failure::{Answer, Failure};

/// Write the pairs of a range to an XML file, in the format of `kvsave` of Permazen for Java.
#[derive(Debug, clap::Args)]
pub(crate) struct Dump {
    /// The file, which appears when it is complete; - is standard output
    file: PathBuf,
    #[command(flatten)]
    range: Range,
    /// Each element in a line of its own
    #[arg(long, short = 'i')]
    indent: bool,
}

impl Command for Dump {
    fn scope(&self) -> Scope {
        Scope::OwnTransactions { edits: false }
    }

    fn writes_file(&self) -> bool {
        !file::is_stream(&self.file)
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let bounds = self.range.bounds()?;
        let style = if self.indent { Style::Indented } else { Style::Plain };
        let Context { session, out, .. } = context;
        let count = read_pairs(session, |kv| {
            file::write(&self.file, session, out, |to| {
                xml::dump(kv, bounds.span(), style, to).map_err(failure)
            })
        })?;
        if self.writes_file() {
            let file = file_text(&self.file);
            out.done(
                format_args!("Wrote {count} key/value pairs to \"{file}\""),
                &json!({ "type": "written", "file": file, "pairs": count }),
            )?;
        }
        Ok(Answer::Yes)
    }
}

/// Read pairs from an XML file in the format of `kvload` of Permazen for Java.
///
/// Pairs that are there already get the values of the file. An error changes nothing.
#[derive(Debug, clap::Args)]
pub(crate) struct Load {
    /// The file; - is standard input
    file: PathBuf,
    /// First remove all pairs
    #[arg(long, short = 'R')]
    replace_all: bool,
}

impl Command for Load {
    fn scope(&self) -> Scope {
        Scope::OwnTransactions { edits: true }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let session = context.session;
        let count = session.write_pairs(|kv| {
            let input = file::read(&self.file, session)?;
            if self.replace_all {
                remove_span(kv, KeySpan::FULL, &session.interrupt)?;
            }
            xml::load(kv, input).map_err(|error| {
                // The reader says only that it was stopped.
                session.interrupt.check().err().unwrap_or_else(|| match error {
                    XmlError::Store(error) => error.into(),
                    error => Failure::new(format!("{}: {error}", file_text(&self.file))),
                })
            })
        })?;
        let file = file_text(&self.file);
        context.out.done(
            format_args!("Read {count} key/value pairs from \"{file}\""),
            &json!({ "type": "read", "file": file, "pairs": count }),
        )?;
        Ok(Answer::Yes)
    }
}

fn failure(error: XmlError) -> Failure {
    match error {
        XmlError::Store(error) => error.into(),
        XmlError::Io(error) => error.into(),
        error => Failure::new(error.to_string()),
    }
}
