//! The command line shell for Permazen databases: the program `permazen`.
//!
//! A program with encodings of its own makes a shell that knows them:
//!
//! ```no_run
//! use std::process::ExitCode;
//! use std::sync::Arc;
//!
//! use permazen::encoding::EncodingRegistry;
//!
//! fn main() -> ExitCode {
//!     let encodings = EncodingRegistry::new();
//!     // encodings.register(…)
//!     permazen_cli::run(Arc::new(encodings))
//! }
//! ```
#![deny(missing_docs)]
#![cfg_attr(
    not(test),
    deny(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod args;
mod command_line;
mod commands;
mod failure;
#[cfg(test)]
mod faults;
mod interrupt;
mod keyboard;
mod output;
mod prompt;
mod script;
mod secrets;
mod session;
mod statement;
mod temporary;
mod xml_root;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use permazen::encoding::EncodingRegistry;

use args::Generate;
use command_line::CommandLine;
use commands::{Command, Context, Unopened};
use failure::{Answer, Exit, Failure};
use interrupt::Interrupt;
use output::{Format, Output};
use script::{Ids, Script};
use session::{ONLY_TRIED, Session};

/// Runs the shell with the arguments of this process, and says how the process should end. Fields
/// whose encodings are not in `encodings` are shown as bytes.
pub fn run(encodings: Arc<EncodingRegistry>) -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let exit = match command_line::parse(&arguments) {
        Ok(line) => run_with(&line, encodings),
        Err(usage) => usage.print(),
    };
    exit.into()
}

fn run_with(line: &CommandLine, encodings: Arc<EncodingRegistry>) -> Exit {
    let args = &line.args;
    if args.format() == Some(Format::Json) {
        output::use_json();
    }
    let interrupt = match Interrupt::listen() {
        Ok(interrupt) => interrupt,
        Err(failure) => {
            output::failure(&failure);
            return failure.exit;
        }
    };
    let mut out = Output::new(args.format(), interrupt.clone());
    let answer = answer(line, encodings, interrupt, &mut out);
    out.end(answer)
}

fn answer(
    line: &CommandLine,
    encodings: Arc<EncodingRegistry>,
    interrupt: Interrupt,
    out: &mut Output,
) -> Result<Answer, Failure> {
    let CommandLine { args, command } = line;
    if let Some(what) = args.generate {
        return generate(what, out);
    }
    if let Some(command) = command {
        if let Some(database) = &args.database {
            let (encodings, interrupt) = (encodings.clone(), &interrupt);
            let mut unopened = Unopened { database, args, encodings, interrupt, out };
            if let Some(answer) = command.run_unopened(&mut unopened) {
                return answer;
            }
        }
        return run_command(&**command, &Session::open(args, encodings, interrupt)?, out);
    }
    if args.prompt {
        let session = Session::open(args, encodings, interrupt)?;
        return prompt::run(args, &session, out);
    }
    match script::sources(args)? {
        Some(sources) => {
            // The form of everything is checked before the database is opened.
            let script = Script::read(sources)?;
            for note in args.statements.iter().filter_map(|text| script::option_in_comment(text)) {
                output::note(note);
            }
            let session = Session::open(args, encodings, interrupt)?;
            script::run(&script, args.each, &session, out)
        }
        None if out.is_terminal() => {
            let session = Session::open(args, encodings, interrupt)?;
            prompt::run(args, &session, out)
        }
        None => Err(Failure::usage(
            "there is nothing to do: give a command, a statement, -c, -f, or a script on standard \
             input",
        )),
    }
}

fn run_command(
    command: &dyn Command,
    session: &Session,
    out: &mut Output,
) -> Result<Answer, Failure> {
    let _working = session.interrupt.work();
    let ids = &mut Ids::default();
    let answer = command.run(&mut Context { session, out, transaction: None, ids, asks: None })?;
    session.interrupt.check_unless_done()?;
    if session.options.dry_run && command.scope().edits() {
        output::note(ONLY_TRIED);
    }
    Ok(answer)
}

/// Prints a text that is made from the definition of the command line.
fn generate(what: Generate, out: &mut Output) -> Result<Answer, Failure> {
    let mut command = command_line::definition();
    let mut text = Vec::new();
    match what.shell() {
        Some(shell) => clap_complete::generate(shell, &mut command, "permazen", &mut text),
        None if what == Generate::JsonSchema => text.extend_from_slice(output::SCHEMA.as_bytes()),
        None => clap_mangen::Man::new(command).render(&mut text)?,
    }
    out.exactly(&text);
    Ok(Answer::Yes)
}
