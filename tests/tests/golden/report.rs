//! Runs cases and reports their results.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

pub use permazen_tests::outcome::{Outcome, Stop, fail, same, same_text};

use crate::options::Options;

#[derive(Debug, Default)]
struct Group {
    name: String,
    passed: usize,
    failed: usize,
    skipped: usize,
    took: Duration,
}

/// Finds the cases of a folder and runs them.
pub type Run = fn(&Path, &mut Report);

/// The cases that ran, by group.
#[derive(Debug)]
pub struct Report {
    options: Options,
    /// Whether nothing is printed.
    silent: bool,
    first_failure: Option<String>,
    remarks: Vec<String>,
    groups: Vec<Group>,
    seen: usize,
    started: Instant,
}

thread_local! {
    /// The text of the last panic, and its place.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

impl Report {
    pub fn new(options: Options) -> Report {
        panic::set_hook(Box::new(|info| {
            PANIC.with(|text| *text.borrow_mut() = format!("panic: {info}").replace('\n', " "));
        }));
        Report::with(options, false)
    }

    /// A report of all cases that prints nothing.
    pub fn silent() -> Report {
        Report::with(Options::default(), true)
    }

    fn with(options: Options, silent: bool) -> Report {
        Report {
            options,
            silent,
            first_failure: None,
            remarks: Vec::new(),
            groups: Vec::new(),
            seen: 0,
            started: Instant::now(),
        }
    }

    /// A report of some of the cases, for a thread of its own.
    pub fn part(&self) -> Report {
        Report::with(self.options.clone(), self.silent)
    }

    /// Finds and runs the cases of a folder. A panic outside of them counts as a case that failed.
    pub fn run(&mut self, folder: &Path, run: impl FnOnce(&Path, &mut Report)) {
        if panic::catch_unwind(AssertUnwindSafe(|| run(folder, self))).is_err() {
            let what = PANIC.with(|text| text.take());
            self.case("cases", &folder.display().to_string(), || Err(Stop::Fail(what)));
        }
    }

    /// Adds a part.
    pub fn add(&mut self, part: Report) {
        self.first_failure = self.first_failure.take().or(part.first_failure);
        self.remarks.extend(part.remarks);
        self.seen += part.seen;
        self.groups.extend(part.groups);
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
                self.went_wrong(format!("FAIL {full}: {text}"));
            }
            Err(Stop::Skip(reason)) => {
                group.skipped += 1;
                self.went_wrong(format!("SKIP {full}: {reason}"));
            }
        }
    }

    fn went_wrong(&mut self, line: String) {
        if !self.silent {
            println!("{line}");
        }
        self.first_failure.get_or_insert(line);
    }

    /// Whether there were cases and all of them passed.
    pub fn is_good(&self) -> bool {
        self.seen > 0 && self.first_failure.is_none()
    }

    /// The first case that did not pass, or nothing.
    pub fn first_failure(&self) -> &str {
        self.first_failure.as_deref().unwrap_or_default()
    }

    /// How many cases there were so far, whether they were asked for or not.
    pub fn seen(&self) -> usize {
        self.seen
    }

    /// A note that [`Report::remarks`] has too.
    pub fn remark(&mut self, text: String) {
        self.note(&text);
        self.remarks.push(text);
    }

    /// The remarks so far.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// A note for the reader of the output.
    pub fn note(&self, text: &str) {
        if !self.silent && !self.options.list && !self.options.quiet {
            println!("{text}");
        }
    }

    /// Prints the counts. Returns failure if a case failed, or if there was no case.
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
        if self.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
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
