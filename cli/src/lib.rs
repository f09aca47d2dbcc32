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
#![allow(dead_code, reason = "parts of the shell that use it follow")]

mod args;
mod commands;
mod failure;
mod interrupt;
mod output;
mod session;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use permazen::encoding::EncodingRegistry;

use args::{Args, Generate};
use commands::Context;
use failure::{Answer, Failure};
use interrupt::Interrupt;
use output::Output;
use session::Session;

/// Runs the shell with the arguments of this process, and says how the process should end. Fields
/// whose encodings are not in `encodings` are shown as bytes.
pub fn run(encodings: Arc<EncodingRegistry>) -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let args = match args::parse(&arguments) {
        Ok(args) => args,
        Err(error) => return error.print(),
    };
    let mut out = Output::new(args.format());
    let answer = run_with(&args, encodings, &mut out);
    out.end(answer).into()
}

fn run_with(
    args: &Args,
    encodings: Arc<EncodingRegistry>,
    out: &mut Output,
) -> Result<Answer, Failure> {
    if let Some(what) = args.generate {
        return generate(what, out);
    }
    let interrupt = Interrupt::listen()?;
    let session = Session::open(args, encodings, interrupt)?;
    match &args.command {
        Some(command) => command.run(&mut Context::new(&session, out)),
        None => Err(Failure::usage("there is nothing to do: give a command")),
    }
}

/// Prints what is made from the definition of the command line.
fn generate(what: Generate, out: &mut Output) -> Result<Answer, Failure> {
    let mut command = args::definition();
    let mut text = Vec::new();
    match what.shell() {
        Some(shell) => clap_complete::generate(shell, &mut command, "permazen", &mut text),
        None => clap_mangen::Man::new(command).render(&mut text)?,
    }
    out.exactly(&text);
    Ok(Answer::Yes)
}
