//! Processes, and the time that they take.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The time that a process took.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Taken {
    /// Time of processors, in the program and in the system for it.
    pub(crate) cpu: Duration,
    pub(crate) wall: Duration,
}

/// The shell with these arguments.
pub(crate) fn shell(db: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_permazen"));
    command.arg(db).args(arguments).stdin(Stdio::null()).stderr(Stdio::null());
    command
}

/// This program again, for work by hand.
pub(crate) fn by_hand(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("by-hand").args(arguments).stdin(Stdio::null());
    command
}

/// Runs a process to its end. Its output goes nowhere.
pub(crate) fn run(mut command: Command) -> Taken {
    let before = processors();
    let start = Instant::now();
    let status = command.stdout(Stdio::null()).status().unwrap();
    let wall = start.elapsed();
    assert!(status.success(), "{command:?}: {status}");
    Taken { cpu: processors() - before, wall }
}

/// The time of processors that all processes have taken that this one has waited for.
fn processors() -> Duration {
    // SAFETY: An all-zero `rusage` is a valid one, and the call fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage), 0);
        usage
    };
    [usage.ru_utime, usage.ru_stime]
        .iter()
        .map(|time| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000))
        .sum()
}

/// Fails unless two processes write the same bytes. Gives how many.
pub(crate) fn same_output(mut one: Command, mut other: Command) -> u64 {
    let [mut one, mut other] =
        [&mut one, &mut other].map(|command| command.stdout(Stdio::piped()).spawn().unwrap());
    let [mut a, mut b] = [&mut one, &mut other]
        .map(|child| BufReader::with_capacity(1 << 16, child.stdout.take().unwrap()));
    let mut bytes = 0;
    loop {
        let (x, y) = (a.fill_buf().unwrap(), b.fill_buf().unwrap());
        let both = x.len().min(y.len());
        if let Some(at) = x.iter().zip(y).position(|(x, y)| x != y) {
            let near = |text: &[u8]| {
                let end = text.len().min(at + 100);
                String::from_utf8_lossy(&text[at.saturating_sub(100)..end]).into_owned()
            };
            panic!("they differ after {} bytes:\n{}\n{}", bytes + at as u64, near(x), near(y));
        }
        assert_eq!(x.is_empty(), y.is_empty(), "one has {bytes} bytes, the other more");
        if both == 0 {
            break;
        }
        a.consume(both);
        b.consume(both);
        bytes += both as u64;
    }
    assert!(one.wait().unwrap().success() && other.wait().unwrap().success());
    bytes
}

/// The time from the start of a process until it has written this many lines. Then the pipe is
/// closed, and the process finds that its output is not read any more.
pub(crate) fn first_lines(mut command: Command, lines: usize) -> Duration {
    let start = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let (mut seen, mut chunk) = (0, [0; 1 << 16]);
    while seen < lines {
        let count = out.read(&mut chunk).unwrap();
        assert!(count > 0, "the output has ended");
        seen += chunk[..count].iter().filter(|byte| **byte == b'\n').count();
    }
    let time = start.elapsed();
    drop(out);
    assert!(child.wait().unwrap().success());
    time
}

/// The most memory of its own that a process has had, and of all that is mapped, in megabytes.
pub(crate) fn peaks(mut command: Command) -> (f64, f64) {
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let (mut own, mut all) = (0, 0);
    loop {
        if let Ok(text) = std::fs::read_to_string(&status) {
            own = own.max(kilobytes(&text, "RssAnon:"));
            all = all.max(kilobytes(&text, "VmHWM:"));
        }
        if let Some(ended) = child.try_wait().unwrap() {
            assert!(ended.success());
            return (own as f64 / 1024.0, all as f64 / 1024.0);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn kilobytes(status: &str, name: &str) -> u64 {
    let line = status.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

/// The time of processors that a process has taken so far.
pub(crate) fn on_processors(id: u32) -> Duration {
    let threads = std::fs::read_dir(format!("/proc/{id}/task")).unwrap();
    let taken = |thread: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
    };
    threads.filter_map(taken).sum()
}
