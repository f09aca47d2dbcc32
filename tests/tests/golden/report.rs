//! Running cases and telling what came of them.

use std::any::Any;
use std::cell::RefCell;
use std::fmt::Debug;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::options::Options;

/// Why a case did not pass.
#[derive(Debug)]
pub enum Stop {
    /// It gave something else than recorded; the text shows the first difference.
    Fail(String),
    /// It cannot be run; the text says why.
    Skip(String),
}

/// How a case ended.
pub type Outcome<T = ()> = Result<T, Stop>;

impl<E: std::error::Error> From<E> for Stop {
    fn from(error: E) -> Stop {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        Stop::Fail(text)
    }
}

/// A failure with this text.
pub fn fail(text: impl Into<String>) -> Stop {
    Stop::Fail(text.into())
}

/// A skip with this reason.
pub fn skip(reason: impl Into<String>) -> Stop {
    Stop::Skip(reason.into())
}

/// Fails, showing both, unless `found` equals `expected`.
pub fn same<T: PartialEq<U> + Debug, U: Debug>(what: &str, found: T, expected: U) -> Outcome {
    if found == expected {
        return Ok(());
    }
    Err(fail(format!("{what}: {}", difference(&format!("{found:?}"), &format!("{expected:?}")))))
}

/// Fails, showing where they part, unless the text `found` equals `expected`.
pub fn same_text(what: &str, found: &str, expected: &str) -> Outcome {
    if found == expected {
        return Ok(());
    }
    Err(fail(format!("{what}: {}", difference(found, expected))))
}

/// Short texts in full, long ones from a little before the place where they part.
fn difference(found: &str, expected: &str) -> String {
    const SHORT: usize = 160;
    if found.len() <= SHORT && expected.len() <= SHORT {
        return format!("found {found}, expected {expected}");
    }
    let at = found.chars().zip(expected.chars()).take_while(|(a, b)| a == b).count();
    let window = |text: &str| -> String {
        text.chars().skip(at.saturating_sub(40)).take(SHORT).collect::<String>()
    };
    format!("at character {at}: found …{}…, expected …{}…", window(found), window(expected))
}

#[derive(Debug, Default)]
struct Group {
    name: String,
    passed: usize,
    failed: usize,
    skipped: usize,
    took: Duration,
}

/// The cases that ran, by group.
#[derive(Debug)]
pub struct Report {
    options: Options,
    groups: Vec<Group>,
    seen: usize,
    started: Instant,
}

thread_local! {
    /// What the last panic said, and where.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

impl Report {
    pub fn new(options: Options) -> Report {
        panic::set_hook(Box::new(|info| {
            PANIC.with(|text| *text.borrow_mut() = format!("panic: {info}").replace('\n', " "));
        }));
        Report { options, groups: Vec::new(), seen: 0, started: Instant::now() }
    }

    /// Runs one case, if it was asked for. Its full name is `group: name`; a panic is a failure.
    pub fn case(&mut self, group: &str, name: &str, run: impl FnOnce() -> Outcome) {
        self.seen += 1;
        let full = format!("{group}: {name}");
        if !self.options.wants(&full) {
            return;
        }
        if self.options.list {
            println!("{full}: test");
            return;
        }
        let started = Instant::now();
        let outcome = panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(caught);
        let took = started.elapsed();
        let group = self.group(group);
        group.took += took;
        match outcome {
            Ok(()) => group.passed += 1,
            Err(Stop::Fail(text)) => {
                group.failed += 1;
                println!("FAIL {full}: {text}");
            }
            Err(Stop::Skip(reason)) => {
                group.skipped += 1;
                println!("SKIP {full}: {reason}");
            }
        }
    }

    /// A remark for whoever reads the output.
    pub fn note(&self, text: &str) {
        if !self.options.list && !self.options.quiet {
            println!("{text}");
        }
    }

    /// Prints the counts; failure if a case failed or if there was none at all.
    pub fn finish(self) -> ExitCode {
        if self.options.list {
            return ExitCode::SUCCESS;
        }
        let (mut passed, mut failed, mut skipped) = (0, 0, 0);
        for group in &self.groups {
            passed += group.passed;
            failed += group.failed;
            skipped += group.skipped;
            let mut line = format!("{}: {} passed", group.name, group.passed);
            for (count, what) in [(group.failed, "failed"), (group.skipped, "skipped")] {
                if count > 0 {
                    line += &format!(", {count} {what}");
                }
            }
            self.note(&format!("{line} ({:.2} s)", group.took.as_secs_f64()));
        }
        self.note(&format!("took {:.1} s", self.started.elapsed().as_secs_f64()));
        if self.seen == 0 {
            println!("no recorded case was found");
        } else if passed + failed + skipped == 0 {
            println!("no case has a name that was asked for");
        }
        let skips = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
        println!("{passed} passed, {failed} failed{skips}");
        if failed > 0 || self.seen == 0 || (skipped > 0 && passed == 0) {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        }
    }

    fn group(&mut self, name: &str) -> &mut Group {
        let at = self.groups.iter().position(|group| group.name == name).unwrap_or_else(|| {
            self.groups.push(Group { name: name.to_owned(), ..Group::default() });
            self.groups.len() - 1
        });
        &mut self.groups[at]
    }
}

fn caught(_: Box<dyn Any + Send>) -> Outcome {
    Err(Stop::Fail(PANIC.with(|text| text.take())))
}
