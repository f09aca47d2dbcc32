//! `check`: what the program `jsck` does, on the open database.

use std::cell::{Cell, RefCell};
use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use permazen::encoding::EncodingRegistry;
use permazen::kv::KvError;
use permazen_jsck::program::{self, CheckArgs, Committed, Host, Subject};

use super::{Asks, Command, Context, Scope, Unopened};
use crate::failure::{Answer, Exit, Failure};
use crate::interrupt::Interrupt;
use crate::output::{self, Output};
use crate::secrets;

/// Check the database for consistency, and repair it.
///
/// The program jsck does the same. Exit code 0: nothing is wrong. 1: something is, whether it was
/// repaired or not. 2: the database could not be checked, or the report not be written. 3, 4 and
/// 130: as for all commands. To change something, it needs --write.
#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    #[command(flatten)]
    args: Box<CheckArgs>,
}

impl Command for Check {
    fn scope(&self) -> Scope {
        Scope::OwnTransactions { edits: self.args.changes() }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let session = context.session;
        if self.args.changes() && !session.options.dry_run && !session.options.write {
            return Err(Failure::new("this changes the database, which needs --write"));
        }
        let args = self.with(session.options.yes, session.options.dry_run, context.out.is_json());
        let out = RefCell::new(&mut *context.out);
        let host = Shell {
            encodings: Arc::clone(session.database().encodings()),
            wait: session.options.wait,
            interrupt: session.interrupt.clone(),
            asks: context.asks.as_deref_mut().map(RefCell::new),
            is_unknown: Cell::new(false),
            out: &out,
        };
        let subject = Subject::Open(session.store());
        host.answer(program::check(&args, subject, &host, &mut Report(&out)))
    }

    /// So it can also be said why a database cannot be opened.
    fn run_unopened(&self, unopened: &mut Unopened<'_>) -> Option<Result<Answer, Failure>> {
        Some(self.open_and_check(unopened))
    }

    fn asks(&self) -> bool {
        true
    }

    fn reads_with_certainty(&self) -> bool {
        self.args.reads_with_certainty()
    }
}

impl Check {
    fn open_and_check(&self, unopened: &mut Unopened<'_>) -> Result<Answer, Failure> {
        let args = unopened.args;
        if self.args.changes() && !args.dry_run && !args.write {
            return Err(Failure::new("this changes the database, which needs --write"));
        }
        secrets::refuse(unopened.database)?;
        let mut check = self.with(args.yes, args.dry_run, unopened.out.is_json());
        if let Some(kind) = args.kind {
            check.be_of_kind(kind.of_store());
        }
        let out = RefCell::new(&mut *unopened.out);
        let host = Shell {
            encodings: Arc::clone(&unopened.encodings),
            wait: args.wait,
            interrupt: unopened.interrupt.clone(),
            asks: None,
            is_unknown: Cell::new(false),
            out: &out,
        };
        let _working = host.interrupt.work();
        let subject = Subject::Named(unopened.database);
        host.answer(program::check(&check, subject, &host, &mut Report(&out)))
    }

    /// The options, with those that stand before the command.
    fn with(&self, yes: bool, dry_run: bool, json: bool) -> CheckArgs {
        let mut args = CheckArgs::clone(&self.args);
        args.yes |= yes;
        args.dry_run |= dry_run;
        args.json |= json;
        args
    }
}

/// The shell as the host of a check.
struct Shell<'s, 'o, 'a> {
    encodings: Arc<EncodingRegistry>,
    wait: Duration,
    interrupt: Interrupt,
    asks: Option<RefCell<&'s mut Asks<'a>>>,
    /// Whether the outcome of the commit of a repair is unknown.
    is_unknown: Cell<bool>,
    out: &'s RefCell<&'o mut Output>,
}

impl Shell<'_, '_, '_> {
    /// How the command ends. The checker has said already why it failed.
    fn answer(&self, code: u8) -> Result<Answer, Failure> {
        if self.is_unknown.get() {
            return Err(Failure::with(Exit::Unknown, ""));
        }
        // The summary is of a part only, unless a repair was made before.
        self.interrupt.check_unless_done()?;
        match code {
            program::CLEAN => Ok(Answer::Yes),
            program::FINDINGS => Ok(Answer::No),
            program::BUSY => Err(Failure::with(Exit::Busy, "")),
            _ => Err(Failure::said()),
        }
    }
}

/// How often to look whether a question was interrupted.
const BEAT: Duration = Duration::from_millis(50);

impl Host for Shell<'_, '_, '_> {
    fn name(&self) -> &str {
        "permazen"
    }

    fn shows_colours(&self) -> bool {
        io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
    }

    fn encodings(&self) -> Arc<EncodingRegistry> {
        Arc::clone(&self.encodings)
    }

    fn wait(&self) -> Option<Duration> {
        Some(self.wait)
    }

    fn stop(&self) -> Arc<AtomicBool> {
        self.interrupt.flag()
    }

    fn can_ask(&self) -> bool {
        self.asks.is_some() || io::stdin().is_terminal()
    }

    fn confirm(&self, question: &str) -> io::Result<bool> {
        if let Some(asks) = &self.asks {
            let agreed = (*asks.borrow_mut())(question, &mut self.out.borrow_mut());
            return agreed.map_err(|failure| io::Error::other(failure.message));
        }
        output::ask(question)?;
        let stop = self.interrupt.flag();
        // A signal does not end the reading of a line, so another thread reads. After Ctrl-C no
        // other thread reads: the program ends.
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            let mut answer = String::new();
            let read = io::stdin().lock().read_line(&mut answer);
            let _ = sender.send(read.map(|_| answer));
        });
        while !stop.load(Ordering::Relaxed) {
            match answers.recv_timeout(BEAT) {
                Ok(answer) => return Ok(matches!(answer?.trim(), "y" | "Y" | "yes")),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(false)
    }

    fn commit(&self, commit: &mut dyn FnMut() -> Committed) -> Committed {
        let mut failed = None;
        let committed = self.interrupt.commit(|| {
            commit().map_err(|error| {
                let exit = match error.downcast_ref::<KvError>() {
                    Some(KvError::OutcomeUnknown(_)) => Exit::Unknown,
                    Some(error) if error.is_retryable() => Exit::Busy,
                    _ => Exit::Failed,
                };
                self.is_unknown.set(exit == Exit::Unknown);
                failed = Some(error);
                Failure::with(exit, "")
            })
        });
        match (failed, committed) {
            (Some(error), _) => Err(error),
            (None, Ok(())) => Ok(()),
            // Ctrl-C has come before.
            (None, Err(_)) => Err("interrupted; nothing was changed".into()),
        }
    }
}

/// Where the report goes. It is safe to show as it is.
struct Report<'r, 'o>(&'r RefCell<&'o mut Output>);

impl Write for Report<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().raw().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.borrow_mut().raw().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a check ends if its repair commits with this outcome.
    fn ends(committed: impl Fn() -> Committed, code: u8) -> Exit {
        let interrupt = Interrupt::deaf();
        let mut output = Output::to(Box::new(io::sink()), interrupt.clone());
        let host = Shell {
            encodings: Arc::default(),
            wait: Duration::ZERO,
            interrupt,
            asks: None,
            is_unknown: Cell::new(false),
            out: &RefCell::new(&mut output),
        };
        let _ = host.commit(&mut || committed());
        match host.answer(code) {
            Ok(_) => Exit::Done,
            Err(failure) => failure.exit,
        }
    }

    #[test]
    fn a_repair_whose_outcome_is_unknown_ends_with_its_own_code() {
        let unknown = || Err(KvError::OutcomeUnknown("gone".to_owned()).into());
        assert_eq!(ends(unknown, program::FAILED), Exit::Unknown);
        assert_eq!(ends(|| Err("no".into()), program::FAILED), Exit::Failed);
        let busy = || Err(KvError::Retry("others".to_owned()).into());
        assert_eq!(ends(busy, program::BUSY), Exit::Busy);
        assert_eq!(ends(|| Ok(()), program::FINDINGS), Exit::Done);
    }
}
