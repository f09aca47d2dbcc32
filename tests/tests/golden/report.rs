//! Running cases and telling what came of them.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::time::{Duration, Instant};

pub use permazen_tests::outcome::{Outcome, Stop, fail, same, same_text, skip};

use crate::options::Options;

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
