//! The program `jsck`, as a function that other programs can call: [`check`] opens a database,
//! checks and repairs it, and writes its findings as text or JSON. The command `check` of the shell
//! is the same function.
//!
//! The caller is the [`Host`]: it has the name that messages begin with, knows when to stop, asks
//! questions, and knows the encodings. [`Process`] is the host for a process that does nothing
//! else.

mod args;
mod check_and_repair;
mod database;
mod files;
mod host;
mod json;
mod online;
mod plan;
mod presenter;
mod process;
mod progress;
mod terminal;
mod text;
mod undo;

use std::io::Write;
use std::path::Path;

use permazen::__internal::escape::{PASSWORD_REFUSED, password_in, without_password_in_url};
use permazen::kv::KvError;
use permazen::open::OpenError;

use self::host::{Busy, Failure};
use self::presenter::Presenter;
use self::terminal::{Terminal, path_text};

pub use self::args::CheckArgs;
pub use self::host::{Committed, Host, Subject};
pub use self::json::SCHEMA as JSON_SCHEMA;
pub use self::process::Process;
pub use self::terminal::json_line;

/// Exit code if nothing is wrong with the database.
pub const CLEAN: u8 = 0;
/// Exit code if something is wrong with the database, repaired or not.
pub const FINDINGS: u8 = 1;
/// Exit code if the database could not be checked, or the report could not be written.
pub const FAILED: u8 = 2;

/// Exit code if other programs were in the way: they change the database, or have it open in a way
/// that cannot be shared. Nothing was changed, and the same may succeed later.
pub const BUSY: u8 = 3;

/// Runs the program: opens the database, checks it, repairs it if asked to, and prints the report
/// to `out`. Returns the exit code: [`CLEAN`], [`FINDINGS`], [`FAILED`] or [`BUSY`]. Standard error
/// says why it failed.
///
/// ```
/// use clap::Parser;
/// use permazen_jsck::program::{CheckArgs, Process, Subject, check};
///
/// #[derive(Parser)]
/// struct Args {
///     #[command(flatten)]
///     check: CheckArgs,
/// }
///
/// # let dir = tempfile::tempdir()?;
/// # let dump = dir.path().join("dump.xml");
/// # std::fs::write(&dump, "<entries/>")?;
/// let args = Args::parse_from(["my-check", "--no-store-check"]);
/// let host = Process::listen("my-check")?;
/// let mut report = Vec::new();
/// let code = check(&args.check, Subject::Named(dump.as_os_str()), &host, &mut report);
/// assert_eq!(code, 1); // an empty store is no database yet
/// assert!(String::from_utf8(report)?.contains("missing-format-version"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(
    args: &CheckArgs,
    subject: Subject<'_>,
    host: &dyn Host,
    out: &mut (dyn Write + '_),
) -> u8 {
    let terminal = Terminal::new(host, out);
    match run(args, subject, &terminal).and_then(|code| terminal.written().map(|()| code)) {
        Ok(code) => code,
        Err(failure) => {
            let message = without_numbers(&failure.to_string());
            // `run` refuses a password in a URL.
            terminal.complain(without_password_in_url(&message));
            if is_busy(&failure) { BUSY } else { FAILED }
        }
    }
}

/// Whether it failed because other programs use the database.
fn is_busy(failure: &Failure) -> bool {
    let store = match failure.downcast_ref::<OpenError>() {
        Some(OpenError::Store(error)) => Some(error),
        _ => failure.downcast_ref::<KvError>(),
    };
    let store =
        store.is_some_and(|error| error.is_retryable() || matches!(error, KvError::InUse { .. }));
    store || failure.is::<Busy>()
}

/// A message of the operating system without its number, ` (os error 2)`, which tells users
/// nothing.
///
/// ```
/// use permazen_jsck::program::without_numbers;
///
/// assert_eq!(without_numbers("a (os error 2): b (os error x)"), "a: b (os error x)");
/// ```
pub fn without_numbers(message: &str) -> String {
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

fn run(args: &CheckArgs, subject: Subject<'_>, terminal: &Terminal<'_>) -> Result<u8, Failure> {
    let host = terminal.host;
    let options = args.options(host)?;
    if let Subject::Named(name) = subject
        && password_in(name.as_encoded_bytes()).is_some()
    {
        return Err(PASSWORD_REFUSED.into());
    }
    let path = subject.path();
    let open = |write| database::open(subject, args.kind, write, terminal);
    if let Some(file) = &args.apply_undo {
        // The command line of `jsck` refuses the two together, but the shell sets `dry_run` later.
        if args.dry_run {
            return Err(
                "--apply-undo cannot be tried with --dry-run: the undo file lists what it \
                        would change; leave out --dry-run to apply it; nothing was undone"
                    .into(),
            );
        }
        let database = open(true)?;
        let mut output = presenter(args, terminal);
        if !args.no_store_check && check_and_repair::check_store(&database, &mut *output, host)? {
            return not_checked(path, terminal);
        }
        undo::apply(&database, file, &args.force, terminal)?;
        return Ok(CLEAN);
    }
    let files = check_and_repair::Files::of(args, &subject.place(), host)?;
    let mut output = presenter(args, terminal);
    let database = match open(args.repairs()) {
        Ok(database) => database,
        Err(failure) => return not_opened(path, failure, &mut *output, terminal),
    };
    output.start(&database);
    terminal.written()?;
    let damaged =
        !args.no_store_check && check_and_repair::check_store(&database, &mut *output, host)?;
    if damaged && !database.can_be_read_damaged() {
        output.failed();
        return not_checked(path, terminal);
    }
    // Read this before the program waits for Ctrl-C: a pipe may never deliver anything, and then
    // Ctrl-C must end the program at once.
    let position = args.position.as_deref().map(online::Position::read).transpose();
    let position = position.inspect_err(|_| output.failed())?.unwrap_or_default();
    host.stop_is_checked();
    let report = if args.online {
        online::run(args, &options, position, &database, &mut *output, terminal)
    } else if args.repair.is_some() {
        check_and_repair::run(args, &options, &database, &files, &mut *output, terminal)
    } else {
        check_and_repair::check(&options, &database, &mut *output, terminal)
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
    path: &Path,
    failure: Failure,
    output: &mut dyn Presenter,
    terminal: &Terminal<'_>,
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
    terminal.complain(format_args!("{path}: cannot be opened; restore a backup"));
    Ok(FINDINGS)
}

/// Ends the program with the reason why a damaged store is not checked further.
fn not_checked(path: &Path, terminal: &Terminal<'_>) -> Result<u8, Failure> {
    terminal.complain(format_args!(
        "{}: the objects are not checked, since reading damaged pages can end the program; \
         restore a backup, or try with --no-store-check on a copy",
        path_text(path)
    ));
    Ok(FINDINGS)
}

fn presenter<'t>(args: &CheckArgs, terminal: &'t Terminal<'_>) -> Box<dyn Presenter + 't> {
    match args.json {
        true => Box::new(json::Json::new(args, terminal)),
        false => Box::new(text::Text::new(args, terminal)),
    }
}
