//! Processes that a test starts of itself: each is killed, or ends by itself. None may panic, on
//! any of its threads.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The variable with the task of a process that a test starts.
const TASK: &str = "PERMAZEN_LEDGER_CHILD";

/// The task of this process, if a test has started it.
pub(crate) fn task() -> Option<String> {
    std::env::var(TASK).ok()
}

/// A process that runs one test of this program.
pub(crate) struct Worker {
    child: Child,
    output: BufReader<ChildStdout>,
    errors: File,
    /// Whether it has said that it runs its test.
    has_begun: bool,
}

impl Worker {
    /// Starts a process that runs this test, whose path begins with the name of the program, as
    /// `module_path!` has it. There `task` returns its task.
    pub(crate) fn start(test: &str, task: &str) -> Self {
        let (_, test) = test.split_once("::").unwrap();
        let errors = tempfile::tempfile().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(TASK, task)
            .stdout(Stdio::piped())
            .stderr(errors.try_clone().unwrap())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Worker { child, output, errors, has_begun: false }
    }

    /// The next line that it says. `None` if it has ended, also in the middle of a line.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert_ne!(line, "running 0 tests\n", "the process found no test of that name");
        self.has_begun |= line == "running 1 test\n";
        line.strip_suffix('\n').map(str::to_owned)
    }

    /// Reads until it says a line that begins in this way. Returns all lines until then.
    pub(crate) fn wait_for(&mut self, start: &str) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(line) = self.line() {
            lines.push(line);
            if lines.last().is_some_and(|line| line.starts_with(start)) {
                return lines;
            }
        }
        self.child.wait().unwrap();
        panic!("the process has ended by itself: {}", self.complaints());
    }

    /// Kills it, and returns the lines that it has said and that were not read.
    pub(crate) fn kill(mut self) -> Vec<String> {
        let ended = self.child.try_wait().unwrap();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let complaints = self.complaints();
        assert!(ended.is_none(), "the process has ended by itself: {complaints}");
        assert!(!complaints.contains("panicked"), "{complaints}");
        std::iter::from_fn(|| self.line()).collect()
    }

    /// Waits until it ends by itself, which is without an error, and returns the lines that were
    /// not read.
    pub(crate) fn end(mut self) -> Vec<String> {
        let lines = std::iter::from_fn(|| self.line()).collect();
        let status = self.child.wait().unwrap();
        let complaints = self.complaints();
        assert!(status.success() && !complaints.contains("panicked"), "{status}: {complaints}");
        assert!(self.has_begun, "the process did not say that it runs its test");
        lines
    }

    /// The text that it has written to its standard error.
    fn complaints(&mut self) -> String {
        let mut complaints = Vec::new();
        self.errors.rewind().unwrap();
        self.errors.read_to_end(&mut complaints).unwrap();
        String::from_utf8_lossy(&complaints).into_owned()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // After a test that has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
