//! The program in this process, and in a process of its own that can be killed.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};

use permazen_tests::child;
use tempfile::TempDir;

use crate::tracker::program;
use crate::tracker::program::lines::Lines;

/// A database of the tracker that vanishes when dropped.
pub(crate) struct Tracker {
    directory: TempDir,
}

const ENV: &str = "PERMAZEN_TRACKER";
const STOPS: &str = "PERMAZEN_TRACKER_STOPS";

/// The action of the process after it has moved the first objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterBatch {
    Continue,
    Stop,
}

/// The output of the process.
struct Output {
    stops: bool,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stdout().write(bytes)
    }

    /// Called after the line that says how many objects have moved.
    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()?;
        if self.stops {
            loop {
                std::thread::park();
            }
        }
        Ok(())
    }
}

impl Tracker {
    /// A place for a database.
    pub(crate) fn empty() -> Tracker {
        Tracker { directory: tempfile::tempdir().unwrap() }
    }

    /// A database that version 1 has filled with this many issues.
    pub(crate) fn filled(issues: u32) -> Tracker {
        let tracker = Tracker::empty();
        tracker.must(&["fill", "v1"], &[&issues.to_string()]);
        tracker
    }

    /// A copy, while no process uses the database.
    pub(crate) fn copy(&self) -> Tracker {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("db")).unwrap();
        let data = Path::new("db").join("data.mdb");
        fs::copy(self.directory.path().join(&data), directory.path().join(&data)).unwrap();
        Tracker { directory }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("db")
    }

    /// Runs a command, which must succeed. Returns its output.
    pub(crate) fn must(&self, command: &[&str], after: &[&str]) -> String {
        let path = self.path();
        let arguments = [command, &[path.to_str().unwrap()], after].concat();
        let mut out = Vec::new();
        if let Err(error) = program::run(&arguments, &mut out) {
            panic!("{arguments:?}: {error}");
        }
        String::from_utf8(out).unwrap()
    }

    pub(crate) fn upgrade(&self, version: &str) {
        self.must(&["upgrade", version], &[]);
    }

    pub(crate) fn work(&self, day: u32) {
        self.must(&["work", "v1"], &[&day.to_string()]);
    }

    /// Looks for anything that is wrong.
    pub(crate) fn check(&self) {
        self.must(&["check"], &[]);
    }

    /// Everything that a version sees.
    pub(crate) fn print(&self, version: &str) -> Lines {
        program::print(version, self.path().to_str().unwrap()).unwrap()
    }

    /// Starts to move all objects to a version, in a process of its own. It may stop after the
    /// first batch, until it is killed.
    pub(crate) fn start_upgrade(&self, version: &str, then: AfterBatch) -> Process {
        let mut child = child::this_program()
            .args(child::arguments(module_path!(), "child"))
            .args(["--nocapture", "--test-threads=1"])
            .env(ENV, version)
            .env("PERMAZEN_TRACKER_PATH", self.path())
            .env(STOPS, if then == AfterBatch::Stop { "1" } else { "0" })
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Process { child, out }
    }
}

/// A process that upgrades a database.
pub(crate) struct Process {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Process {
    /// Waits until it has moved some objects. Returns false if it has ended without.
    pub(crate) fn wait_for_a_batch(&mut self) -> bool {
        self.out.by_ref().lines().any(|line| line.unwrap().contains("moved"))
    }

    /// Kills it. Returns whether it had already ended its work.
    pub(crate) fn kill(mut self) -> bool {
        self.child.kill().unwrap();
        let status = self.child.wait().unwrap();
        // A process that was killed has no code. The others must have succeeded.
        assert!(matches!(status.code(), None | Some(0)), "{status}");
        status.success()
    }
}

/// The entry of the process.
#[test]
fn child() {
    let Ok(version) = std::env::var(ENV) else { return };
    let path = std::env::var("PERMAZEN_TRACKER_PATH").unwrap();
    let stops = std::env::var(STOPS).unwrap() == "1";
    program::run(&["upgrade", &version, &path], &mut Output { stops }).unwrap();
}
