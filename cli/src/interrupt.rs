//! Ctrl-C. Its effect depends on the state of the program.
//!
//! | while | the first | a second one |
//! |---|---|---|
//! | there is nothing to undo | ends the program | |
//! | a person types at the prompt | drops the line, as the terminal says; as a signal it does nothing | |
//! | something works | asks it to stop, which undoes what it did | ends the program; what is open is rolled back |
//! | a transaction commits | says that the outcome is awaited | ends the program, with the outcome unknown |
//! | rows go to a pager | is for the pager, and asks what finds them to stop | the same |
//! | a pager shows what was found | is for the pager | the same |

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::failure::{Exit, Failure};
use crate::{keyboard, output, temporary};

/// Waits for Ctrl-C. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    /// Set by the first Ctrl-C while something works.
    stop: Arc<AtomicBool>,
    /// Whether the running statement or command has had its effect, so that Ctrl-C comes too late
    /// to undo it.
    done: Arc<AtomicBool>,
    /// Locked while a Ctrl-C is dealt with, so that the program does not end in the middle of a
    /// step to another state.
    doing: Arc<Mutex<Doing>>,
}

/// The state of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    Nothing,
    /// A person types, and the terminal says what Ctrl-C means.
    Prompt,
    Work,
    Commit {
        /// Whether Ctrl-C has come meanwhile.
        hurried: bool,
    },
    Paging {
        /// Whether the pager has everything.
        written: bool,
    },
}

impl Interrupt {
    /// Begins to wait. Only one can in a process.
    pub(crate) fn listen() -> Result<Interrupt, Failure> {
        let interrupt = Interrupt::deaf();
        let handler = interrupt.clone();
        ctrlc::set_handler(move || handler.ctrl_c())
            .map_err(|error| Failure::new(format!("Ctrl-C cannot be waited for: {error}")))?;
        // Without this, a file that is larger than the system allows would end the program without
        // a word.
        #[cfg(unix)]
        signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default())?;
        Ok(interrupt)
    }

    /// One that waits for nothing.
    pub(crate) fn deaf() -> Interrupt {
        let doing = Arc::new(Mutex::new(Doing::Nothing));
        Interrupt { stop: Arc::default(), done: Arc::default(), doing }
    }

    /// Does what Ctrl-C does.
    pub(crate) fn ctrl_c(&self) {
        let mut doing = self.doing();
        match &mut *doing {
            Doing::Work if !self.stop.swap(true, Ordering::Relaxed) => {}
            Doing::Nothing | Doing::Work => end(Exit::Interrupted),
            Doing::Commit { hurried: true } => end(Exit::Unknown),
            Doing::Commit { hurried } => {
                *hurried = true;
                output::note_now(
                    "the commit is under way, and its outcome is awaited; after another \
                     Ctrl-C it would be unknown",
                );
            }
            Doing::Paging { written: false } => self.stop.store(true, Ordering::Relaxed),
            Doing::Paging { written: true } | Doing::Prompt => {}
        }
    }

    fn doing(&self) -> MutexGuard<'_, Doing> {
        self.doing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until the end of the result, something works that looks at the [flag](Self::flag).
    pub(crate) fn work(&self) -> Working<'_> {
        let mut doing = self.doing();
        self.stop.store(false, Ordering::Relaxed);
        self.done.store(false, Ordering::Relaxed);
        let before = std::mem::replace(&mut *doing, Doing::Work);
        Working(self, before)
    }

    /// Until the end of the result, a person types while nothing works. The terminal says what
    /// Ctrl-C means; between two lines, it does nothing.
    pub(crate) fn at_prompt(&self) -> Working<'_> {
        let before = std::mem::replace(&mut *self.doing(), Doing::Prompt);
        Working(self, before)
    }

    /// A pager gets the output until the returned value is dropped.
    pub(crate) fn paging(&self) -> Paging {
        let before = std::mem::replace(&mut *self.doing(), Doing::Paging { written: false });
        Paging { interrupt: self.clone(), before }
    }

    /// The running statement or command has had its effect: Ctrl-C comes too late to undo it, and
    /// is for the next one.
    pub(crate) fn is_done(&self) {
        self.done.store(true, Ordering::Relaxed);
    }

    /// Fails if Ctrl-C has come, unless the running statement or command [is done](Self::is_done)
    /// all the same.
    pub(crate) fn check_unless_done(&self) -> Result<(), Failure> {
        if self.done.load(Ordering::Relaxed) { Ok(()) } else { self.check() }
    }

    /// Set by Ctrl-C: running code checks it at least every few milliseconds, and stops.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Fails if Ctrl-C has come.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.stop.load(Ordering::Relaxed) { Err(Failure::interrupted()) } else { Ok(()) }
    }

    /// Runs `commit` unless Ctrl-C has come. If it comes meanwhile, the commit is awaited, and its
    /// outcome is said.
    pub(crate) fn commit<T>(
        &self,
        commit: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let before = {
            let mut doing = self.doing();
            self.check()?;
            std::mem::replace(&mut *doing, Doing::Commit { hurried: false })
        };
        let committed = commit();
        if committed.is_ok() {
            self.is_done();
        }
        let mut doing = self.doing();
        if let Doing::Commit { hurried: true } = *doing {
            match &committed {
                Ok(_) => output::note_now("the changes are committed"),
                // Says more when it is shown.
                Err(failure) if failure.exit == Exit::Unknown => {}
                Err(_) => output::note_now("nothing is committed"),
            }
            // The rest stops: further pieces of the line or script, or batches of `migrate`.
            self.stop.store(true, Ordering::Relaxed);
        }
        *doing = before;
        committed
    }
}

/// While it lives, something works that stops on Ctrl-C, or a person types.
pub(crate) struct Working<'i>(&'i Interrupt, Doing);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        *self.0.doing() = self.1;
    }
}

/// While it lives, Ctrl-C is for the pager.
pub(crate) struct Paging {
    interrupt: Interrupt,
    before: Doing,
}

impl Paging {
    /// The pager has everything: nothing is left that could stop.
    pub(crate) fn all_is_written(&self) {
        *self.interrupt.doing() = Doing::Paging { written: true };
    }
}

impl Drop for Paging {
    fn drop(&mut self) {
        *self.interrupt.doing() = self.before;
    }
}

/// Ends the program at once. Leaves no temporary file, a keyboard as it was, and an empty line and
/// a visible cursor where a progress bar was.
fn end(exit: Exit) -> ! {
    temporary::remove_all();
    keyboard::restore();
    let mut terminal = std::io::stderr();
    if terminal.is_terminal() {
        let _ = terminal.write_all(b"\r\x1b[K\x1b[0m\x1b[?25h");
        let _ = terminal.flush();
    }
    std::process::exit(exit.code().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_works_is_asked_to_stop() {
        let interrupt = Interrupt::deaf();
        let working = interrupt.work();
        assert!(interrupt.check().is_ok());
        interrupt.ctrl_c();
        assert!(interrupt.flag().load(Ordering::Relaxed));
        assert_eq!(interrupt.check().unwrap_err().exit, Exit::Interrupted);
        // A transaction that was asked to stop does not commit.
        let refused = interrupt.commit::<()>(|| panic!("it commits")).unwrap_err();
        assert_eq!(refused.exit, Exit::Interrupted);
        drop(working);
        // The next work is not asked to stop.
        let _working = interrupt.work();
        assert!(interrupt.check().is_ok());
    }

    #[test]
    fn a_commit_is_awaited() {
        let interrupt = Interrupt::deaf();
        let _working = interrupt.work();
        let committed = interrupt.commit(|| {
            interrupt.ctrl_c();
            assert!(interrupt.check().is_ok(), "the commit is not asked to stop");
            assert_eq!(*interrupt.doing(), Doing::Commit { hurried: true });
            Ok(5)
        });
        assert_eq!(committed.unwrap(), 5);
        assert_eq!(*interrupt.doing(), Doing::Work);
        // The work after the commit is stopped, but the commit has not failed.
        assert!(interrupt.check().is_err());
        assert!(interrupt.check_unless_done().is_ok());
        let _working = interrupt.work();
        interrupt.ctrl_c();
        assert!(interrupt.check_unless_done().is_err());
        assert!(interrupt.commit(|| Ok(())).is_err());
        assert!(interrupt.check_unless_done().is_err());
    }

    /// Runs this test in a process of its own. Its commit ends when its standard input does.
    #[cfg(unix)]
    fn process_that_commits() -> std::process::Child {
        use std::io::{BufRead, BufReader};
        use std::process::{Command, Stdio};
        let name = "interrupt::tests::a_commit_under_way_is_awaited_and_a_second_ctrl_c_ends_it";
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", name, "--nocapture"]).env(COMMITS, "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.ends_with("it commits\n") {
            line.clear();
            assert!(out.read_line(&mut line).unwrap() > 0, "it has ended");
        }
        child.stdout = Some(out.into_inner());
        child
    }

    #[cfg(unix)]
    const COMMITS: &str = "PERMAZEN_TEST_COMMITS";

    #[cfg(unix)]
    #[test]
    fn a_commit_under_way_is_awaited_and_a_second_ctrl_c_ends_it() {
        use std::io::{BufRead, BufReader, Read};
        use std::process::Command;
        if std::env::var_os(COMMITS).is_some() {
            let interrupt = Interrupt::listen().unwrap();
            let _working = interrupt.work();
            let committed = interrupt.commit(|| {
                std::io::stdout().write_all(b"it commits\n").unwrap();
                std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
                Ok(())
            });
            committed.unwrap();
            std::process::exit(interrupt.check().unwrap_err().exit.code().into());
        }
        for presses in [1, 2] {
            let mut child = process_that_commits();
            let id = child.id().to_string();
            let press =
                || assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
            press();
            let mut err = BufReader::new(child.stderr.take().unwrap());
            let mut line = String::new();
            err.read_line(&mut line).unwrap();
            assert!(line.contains("the commit is under way, and its outcome is awaited"), "{line}");
            let input = child.stdin.take();
            if presses == 2 {
                press();
                assert_eq!(child.wait().unwrap().code(), Some(4));
                continue;
            }
            drop(input);
            line.clear();
            err.read_line(&mut line).unwrap();
            assert_eq!(line, "permazen: the changes are committed\n");
            assert_eq!(child.wait().unwrap().code(), Some(130));
        }
    }

    #[test]
    fn a_pager_has_ctrl_c_for_itself() {
        let interrupt = Interrupt::deaf();
        let _working = interrupt.work();
        let paging = interrupt.paging();
        paging.all_is_written();
        interrupt.ctrl_c();
        interrupt.ctrl_c();
        drop(paging);
        assert!(interrupt.check().is_ok());
        assert_eq!(*interrupt.doing(), Doing::Work);
    }

    #[test]
    fn rows_for_a_pager_stop_and_the_program_does_not_end() {
        let interrupt = Interrupt::deaf();
        let _working = interrupt.work();
        let paging = interrupt.paging();
        interrupt.ctrl_c();
        interrupt.ctrl_c();
        paging.all_is_written();
        drop(paging);
        assert!(interrupt.check().is_err());
    }

    #[test]
    fn between_two_lines_nothing_ends() {
        let interrupt = Interrupt::deaf();
        let _prompt = interrupt.at_prompt();
        drop(interrupt.work());
        interrupt.ctrl_c();
        interrupt.ctrl_c();
        assert_eq!(*interrupt.doing(), Doing::Prompt);
    }
}
