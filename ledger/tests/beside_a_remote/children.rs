//! Processes that a test starts of itself: each is killed, or ends by itself. None may panic, on any of its threads.
#![allow(dead_code, reason = "not each test that has this module uses all of it")]

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A process that runs the test `child` of this test.
pub(crate) struct Worker {
    child: Child,
    output: BufReader<ChildStdout>,
    errors: File,
}

impl Worker {
    /// Starts a process in which this variable says what it does.
    pub(crate) fn start(variable: &str, what: &str) -> Self {
        let errors = tempfile::tempfile().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture", "--test-threads=1"])
            .env(variable, what)
            .stdout(Stdio::piped())
            .stderr(errors.try_clone().unwrap())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Worker { child, output, errors }
    }

    /// The next line that it says. `None` if it has ended, also in the middle of a line.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.strip_suffix('\n').map(str::to_owned)
    }

    /// Reads until it says a line that begins in this way. Gives all lines until then.
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

    /// Kills it, and gives the lines that it has said and nobody has read.
    pub(crate) fn kill(mut self) -> Vec<String> {
        let ended = self.child.try_wait().unwrap();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let complaints = self.complaints();
        assert!(ended.is_none(), "the process has ended by itself: {complaints}");
        assert!(!complaints.contains("panicked"), "{complaints}");
        std::iter::from_fn(|| self.line()).collect()
    }

    /// Waits until it ends by itself, which is without an error, and gives the lines that nobody has read.
    pub(crate) fn end(mut self) -> Vec<String> {
        let lines = std::iter::from_fn(|| self.line()).collect();
        let status = self.child.wait().unwrap();
        let complaints = self.complaints();
        assert!(status.success() && !complaints.contains("panicked"), "{status}: {complaints}");
        lines
    }

    /// What it has written to its standard error.
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
