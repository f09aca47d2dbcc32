//! Permazen for Java in a process of its own.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use permazen_tests::outcome::{Outcome, Stop, fail, skip};
use serde_json::Value as Json;

/// How long an answer may take. Only an endless loop in Java takes longer.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where the driver is built.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("java")
}

/// Says what is missing, and how to get everything that is needed.
fn missing(what: &str) -> Stop {
    skip(format!(
        "{what}. Permazen for Java needs a JDK 17 (Debian and Ubuntu: `apt-get install \
         openjdk-17-jdk-headless maven`; others: https://adoptium.net/temurin/releases/?version=17) \
         with its `java` on the PATH; then `mvn -q -B package -f {}` gets it",
        folder().display()
    ))
}

/// The running driver: one JVM that performs lists of steps.
#[derive(Debug)]
pub struct Driver {
    process: Child,
    input: ChildStdin,
    answers: Receiver<String>,
}

impl Driver {
    /// Starts it. If something is missing, the case is skipped for this reason.
    pub fn start() -> Outcome<Driver> {
        let target = folder().join("target");
        let libraries = std::fs::read_to_string(target.join("classpath.txt"))
            .map_err(|_| missing("the driver has not been built"))?;
        let mut class_path = target.join("classes").into_os_string();
        class_path.push(":");
        class_path.push(libraries.trim());
        let mut process = Command::new("java")
            // A large young generation: the LMDB binding may free buffers that are in use.
            .args(["-Xmn512m", "-XX:+UseSerialGC"])
            .args(["--add-opens", "java.base/java.nio=ALL-UNNAMED"])
            .args(["--add-opens", "java.base/sun.nio.ch=ALL-UNNAMED", "-cp"])
            .arg(class_path)
            .arg("interop.Driver")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| match error.kind() {
                ErrorKind::NotFound => missing("there is no program `java` on the PATH"),
                _ => fail(format!("java cannot be started: {error}")),
            })?;
        let input = process.stdin.take().ok_or_else(|| fail("no standard input"))?;
        let output = process.stdout.take().ok_or_else(|| fail("no standard output"))?;
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Driver { process, input, answers })
    }

    /// Lets Java perform the steps. Returns the answer to each.
    pub fn ask(&mut self, steps: &[Json]) -> Outcome<Vec<Json>> {
        let last = steps.last().map(Json::to_string).unwrap_or_default();
        writeln!(self.input, "{}", serde_json::to_string(steps)?)?;
        self.input.flush()?;
        let line = self.answers.recv_timeout(PATIENCE).map_err(|error| match error {
            RecvTimeoutError::Timeout => {
                fail(format!("Java gives no answer to {} steps up to {last}", steps.len()))
            }
            RecvTimeoutError::Disconnected => {
                fail(format!("the JVM ended, at the latest at {last}"))
            }
        })?;
        let answers: Vec<Json> = serde_json::from_str(&line)?;
        if answers.len() != steps.len() {
            return Err(fail(format!("{} answers to {} steps", answers.len(), steps.len())));
        }
        Ok(answers)
    }

    /// Lets Java perform one step, which must succeed.
    pub fn must(&mut self, step: Json) -> Outcome<Json> {
        let mut answers = self.ask(std::slice::from_ref(&step))?;
        match answers.pop().as_mut().and_then(|answer| answer.get_mut("expect")) {
            Some(answer) => Ok(answer.take()),
            None => Err(fail(format!("Java fails at {step}"))),
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
