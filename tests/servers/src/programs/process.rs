//! This program, started again to be another one on the same store.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const ROLE: &str = "PERMAZEN_TEST_ROLE";

/// A running process. It ends with this.
#[derive(Debug)]
pub struct Process {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Process {
    /// Starts a process that plays a role: its name, and its arguments.
    pub fn start(role: &[&str]) -> Process {
        Self::start_with(Command::new(std::env::current_exe().unwrap()), role)
    }

    /// The same with a command that starts the program that is named after it.
    pub fn start_under(mut command: Command, role: &[&str]) -> Process {
        command.arg(std::env::current_exe().unwrap());
        Self::start_with(command, role)
    }

    fn start_with(mut command: Command, role: &[&str]) -> Process {
        let mut child = command
            .args(["--exact", "program", "--nocapture", "--test-threads=1"])
            .env(ROLE, role.join("\n"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut process = Process { child, out };
        // Without a test of that name the program runs nothing, and ends as if all were well.
        let tests = process.hear("running ");
        assert_eq!(tests, "1 test", "no test of this program is named `program`");
        process
    }

    /// Says something to it.
    pub fn tell(&mut self, what: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{what}").unwrap();
    }

    /// The rest of its next line that begins with `word`.
    pub fn hear(&mut self, word: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.out.read_line(&mut line).unwrap() > 0, "it ended without {word:?}");
            if let Some(rest) = line.strip_prefix(word) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Kills it at once.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Tells it to end, and waits until it has finished.
    pub fn stop(mut self) {
        drop(self.child.stdin.take());
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Tells the process that started this one.
pub fn say(what: &str) {
    let mut out = std::io::stdout().lock();
    // The name of the test is before the first line.
    writeln!(out, "\n{what}").unwrap();
    out.flush().unwrap();
}

/// Set when the process that started this one tells it to end, or has ended.
pub(super) fn stopped() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&flag);
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_line(&mut String::new());
        set.store(true, Ordering::Relaxed);
    });
    flag
}

/// The role for which this process was started, if another one has started it.
pub fn role() -> Option<Vec<String>> {
    let role = std::env::var(ROLE).ok()?;
    Some(role.split('\n').map(str::to_owned).collect())
}
