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

use args::{Args, Generate};
use commands::{Command, Compact, Context};
use failure::{Answer, Exit, Failure};
use interrupt::Interrupt;
use output::{Format, Output};
use script::{Ids, Script};
use session::Session;

/// What is said at the end of a dry run.
const ONLY_TRIED: &str = "this was only tried: nothing is changed";

/// Runs the shell with the arguments of this process, and says how the process should end. Fields
/// whose encodings are not in `encodings` are shown as bytes.
pub fn run(encodings: Arc<EncodingRegistry>) -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let exit = match args::parse(&arguments) {
        Ok(args) => run_with(&args, encodings),
        Err(usage) => usage.print(),
    };
    exit.into()
}

fn run_with(args: &Args, encodings: Arc<EncodingRegistry>) -> Exit {
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
    let answer = answer(args, encodings, interrupt, &mut out);
    out.end(answer)
}

fn answer(
    args: &Args,
    encodings: Arc<EncodingRegistry>,
    interrupt: Interrupt,
    out: &mut Output,
) -> Result<Answer, Failure> {
    if let Some(what) = args.generate {
        return generate(what, out);
    }
    if let (Some(Command::Check(check)), Some(database)) = (&args.command, &args.database) {
        return check.run_alone(database, args, encodings, &interrupt, out);
    }
    if let (Some(Command::Compact(_)), Some(database)) = (&args.command, &args.database) {
        return Compact::run_alone(database, args, &interrupt, out);
    }
    if let Some(command) = &args.command {
        return run_command(command, &Session::open(args, encodings, interrupt)?, out);
    }
    if args.prompt {
        let session = Session::open(args, encodings, interrupt)?;
        return prompt::run(args, &session, out);
    }
    match script::sources(args)? {
        Some(sources) => {
            // The form of everything is looked at before the database is opened.
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

fn run_command(command: &Command, session: &Session, out: &mut Output) -> Result<Answer, Failure> {
    let _working = session.interrupt.work();
    let ids = &mut Ids::default();
    let answer = command.run(&mut Context { session, out, transaction: None, ids })?;
    session.interrupt.check_unless_done()?;
    if session.options.dry_run && command.place().edits() {
        output::note(ONLY_TRIED);
    }
    Ok(answer)
}

/// Prints what is made from the definition of the command line.
fn generate(what: Generate, out: &mut Output) -> Result<Answer, Failure> {
    let mut command = args::definition();
    let mut text = Vec::new();
    match what.shell() {
        Some(shell) => clap_complete::generate(shell, &mut command, "permazen", &mut text),
        None if what == Generate::JsonSchema => text.extend_from_slice(output::SCHEMA.as_bytes()),
        None => clap_mangen::Man::new(command).render(&mut text)?,
    }
    out.exactly(&text);
    Ok(Answer::Yes)
}
