//! `jsck`: checks a Permazen database and repairs it if asked to.

mod args;
mod check_and_repair;
mod database;
mod files;
mod interrupt;
mod json;
mod online;
mod plan;
mod progress;
mod terminal;
mod text;
mod undo;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use permazen::kv::KvError;
use permazen_jsck::{Finding, Report};

use args::{Args, Generate};
use interrupt::Interrupt;
use terminal::path_text;

/// Exit code if nothing is wrong with the database.
const CLEAN: u8 = 0;
/// Exit code if something is wrong with the database, repaired or not.
const FINDINGS: u8 = 1;
/// Exit code if the database could not be checked, or the report could not be written.
const FAILED: u8 = 2;

/// Why the program ends early: one line for the user.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return ExitCode::from(terminal::usage(&error)),
    };
    match run(&args).and_then(|code| terminal::written().map(|()| code)) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            let failure = failure.to_string();
            terminal::complain(format_args!("jsck: {}", without_numbers(&failure)));
            ExitCode::from(FAILED)
        }
    }
}

/// A message of the operating system without its number, ` (os error 2)`, which tells users nothing.
fn without_numbers(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, after)) = rest.split_once(" (os error ") {
        text.push_str(before);
        rest = match after.split_once(')') {
            Some((number, rest)) if number.parse::<i32>().is_ok() => rest,
            _ => {
                text.push_str(" (os error ");
                after
            }
        };
    }
    text + rest
}

fn run(args: &Args) -> Result<u8, Failure> {
    if let Some(what) = args.generate {
        generate(what)?;
        return Ok(CLEAN);
    }
    let path = args.database()?;
    let interrupt = Interrupt::listen()?;
    let options = args.options(interrupt.flag())?;
    if let Some(file) = &args.apply_undo {
        let database = database::open(path, args.kind, true)?;
        if !args.no_store_check && check_and_repair::check_store(&database, &mut *presenter(args))?
        {
            return not_looked_at(path);
        }
        undo::apply(&database, file, &args.force)?;
        return Ok(CLEAN);
    }
    let files = check_and_repair::Files::of(args)?;
    let mut output = presenter(args);
    let write = args.repair.is_some() && !args.dry_run;
    let database = match database::open(path, args.kind, write) {
        Ok(database) => database,
        Err(failure) => return not_opened(path, failure, &mut *output),
    };
    output.start(&database);
    terminal::written()?;
    let damaged = !args.no_store_check && check_and_repair::check_store(&database, &mut *output)?;
    if damaged && !database.can_be_read_damaged() {
        output.failed();
        return not_looked_at(path);
    }
    // Read this before the program waits for Ctrl-C: a pipe may never deliver anything, and then
    // Ctrl-C must end the program at once.
    let position = args.position.as_deref().map(online::Position::read).transpose();
    let position = position.inspect_err(|_| output.failed())?.unwrap_or_default();
    interrupt.is_awaited();
    let report = if args.online {
        online::run(args, &options, position, &database, &mut *output)
    } else if args.repair.is_some() {
        check_and_repair::run(args, &options, &database, &files, &mut *output)
    } else {
        check_and_repair::check(&options, &database, &mut *output)
    };
    let report = report.inspect_err(|_| output.failed())?;
    Ok(match report {
        report if !report.complete && report.findings == 0 => FAILED,
        report if report.findings > 0 || damaged => FINDINGS,
        _ => CLEAN,
    })
}

/// Ends the program if the database cannot be opened: with a finding if the store is too damaged to
/// be opened, otherwise with the reason.
fn not_opened(
    path: &std::path::Path,
    failure: Failure,
    output: &mut dyn Presenter,
) -> Result<u8, Failure> {
    let damage = match failure.downcast_ref::<KvError>() {
        Some(KvError::Damaged { reason, .. }) => Some(reason),
        _ => None,
    };
    if let Some(reason) = damage {
        output.store_damage(reason);
    }
    output.failed();
    if damage.is_none() {
        return Err(failure);
    }
    let path = path_text(path);
    terminal::complain(format_args!("jsck: {path}: cannot be opened; restore a backup"));
    Ok(FINDINGS)
}

/// Ends the program with the reason why a damaged store is not checked further.
fn not_looked_at(path: &std::path::Path) -> Result<u8, Failure> {
    terminal::complain(format_args!(
        "jsck: {}: the objects are not looked at, since reading damaged pages can end the program; \
         restore a backup, or try with --no-store-check on a copy",
        path_text(path)
    ));
    Ok(FINDINGS)
}

fn generate(what: Generate) -> Result<(), Failure> {
    let mut command = Args::command();
    let mut out = Vec::new();
    match what.shell() {
        Some(shell) => clap_complete::generate(shell, &mut command, "jsck", &mut out),
        None if what == Generate::JsonSchema => out.extend_from_slice(json::SCHEMA.as_bytes()),
        None => clap_mangen::Man::new(command).render(&mut out)?,
    }
    terminal::generated(&out);
    Ok(())
}

/// What else the end of the output says.
#[derive(Default)]
struct End<'e> {
    seconds: f64,
    mended: Option<&'e check_and_repair::Mended>,
    /// Where an online check continued; `None` if it started at the beginning.
    from: Option<&'e [u8]>,
    /// Where an online check stopped before its end.
    position: Option<&'e [u8]>,
}

/// Shows findings and results in the form that was asked for.
trait Presenter {
    fn start(&mut self, _database: &database::Database) {}

    fn store_damage(&mut self, problem: &str);

    fn finding(&mut self, finding: &Finding);

    /// Says what is being checked from now on.
    fn phase(&mut self, _phase: &str) {}

    /// A change that a repair would make.
    fn change(&mut self, change: &plan::Change);

    /// Everything said before is void: the database is checked again.
    fn again(&mut self);

    /// The end, if the check failed. `main` tells people why.
    fn failed(&mut self) {}

    fn summary(&mut self, report: &Report, end: &End<'_>);
}

fn presenter(args: &Args) -> Box<dyn Presenter> {
    if args.json { Box::new(json::Json::new(args)) } else { Box::new(text::Text::new(args)) }
}
