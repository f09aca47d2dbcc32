//! A terminal, and a person at it.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::support::{Fixture, without_terminal};

/// The seconds after which a terminal ends.
const LONGEST: &str = "300";

/// A terminal, which the program `script` makes.
pub(crate) struct Terminal {
    child: Child,
    pub(crate) input: ChildStdin,
    pub(crate) output: ChildStdout,
    /// The output that was not compared yet.
    pub(crate) shown: String,
}

impl Terminal {
    /// The prompt on a terminal; `None` if there is no such program.
    pub(crate) fn new(db: &Fixture, options: &str) -> Option<Terminal> {
        Terminal::on(db, &db.path(), options, "cat")
    }

    pub(crate) fn with_pager(db: &Fixture, options: &str, pager: &str) -> Option<Terminal> {
        Terminal::on(db, &db.path(), options, pager)
    }

    /// The same with another store; the history is beside the database.
    pub(crate) fn on(db: &Fixture, store: &Path, options: &str, pager: &str) -> Option<Terminal> {
        let program = assert_cmd::cargo::cargo_bin!("permazen").display().to_string();
        // Without `exec`, some shells stay beside the program: Ctrl-C kills them too, and their
        // exit code hides that of the program.
        Terminal::runs(db, &format!("exec '{program}' '{}' {options}", store.display()), pager)
    }

    /// A terminal on which a line of a shell runs.
    pub(crate) fn runs(db: &Fixture, line: &str, pager: &str) -> Option<Terminal> {
        if Command::new("script").arg("--version").output().is_err() {
            without_terminal();
            return None;
        }
        // `nohup` and shells without jobs let the tests ignore signals, which the program would
        // inherit.
        let mut command = Command::new("env");
        // A test that waits for a text that is never shown fails with the output.
        command.args(["--default-signal", "timeout", "--foreground", LONGEST]);
        command.args(["script", "-qec", line, "/dev/null"]);
        command.env("SHELL", "/bin/sh");
        command.env("TERM", "xterm").env("PAGER", pager);
        command.env("XDG_STATE_HOME", db.file("state"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = child.stdout.take().unwrap();
        Some(Terminal { child, input, output, shown: String::new() })
    }

    /// Waits until this is shown, and returns the output before it.
    pub(crate) fn waits_for(&mut self, text: &str) -> String {
        wait_for(text, &mut self.output, &mut self.shown)
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.input.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn ends(mut self) -> Option<i32> {
        let mut rest = Vec::new();
        self.output.read_to_end(&mut rest).unwrap();
        self.child.wait().unwrap().code()
    }
}

/// The same with the parts of a terminal, so that another thread can type meanwhile.
pub(crate) fn wait_for(text: &str, output: &mut ChildStdout, shown: &mut String) -> String {
    let mut bytes = [0; 4096];
    loop {
        if let Some(at) = shown.find(text) {
            let after = shown.split_off(at + text.len());
            return std::mem::replace(shown, after);
        }
        let read = output.read(&mut bytes).unwrap();
        assert!(read > 0, "it has ended: {shown}");
        shown.push_str(&String::from_utf8_lossy(&bytes[..read]));
    }
}
