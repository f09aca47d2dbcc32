//! Checks piece by piece while the database is in use.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::{OnlineCheck, Options, Report};
use permazen::kv::key::parse_hex;

use super::args::CheckArgs;
use super::database::Database;
use super::files;
use super::host::Failure;
use super::presenter::{End, Presenter};
use super::progress::Bar;
use super::terminal::{Terminal, path_text};

/// How many pairs a slice has: its transaction stays open for a few milliseconds.
const SLICE: u64 = 5_000;
/// How often a slow check checks whether to stop.
const BEAT: Duration = Duration::from_millis(50);

/// The position of a check, and the file that keeps it.
#[derive(Default)]
pub(super) struct Position {
    /// The key to continue from; empty at the beginning.
    key: Vec<u8>,
    /// The file that keeps it. `None` if it is only read, or if there is no such option.
    file: Option<PathBuf>,
}

impl Position {
    /// Reads the key, in hex on one line. Without such a file, the check starts at the beginning.
    pub(super) fn read(path: &Path) -> Result<Position, Failure> {
        // Replace the file that a link leads to, not the link. The end of an earlier check may have
        // removed that file.
        let file = (!files::is_stream(path)).then(|| files::after_links(path)).transpose()?;
        if file.as_ref().is_some_and(|file| !file.exists()) {
            return Ok(Position { key: Vec::new(), file });
        }
        let (mut text, name) = (String::new(), files::input_text(path));
        let read = files::open_input(path)?.read_to_string(&mut text);
        read.map_err(|e| format!("{name}: {e}"))?;
        let key = parse_hex(text.trim()).map_err(|_| format!("{name}: not a position in hex"))?;
        Ok(Position { key, file })
    }

    /// Replaces the file in one step: whenever the program ends, the file has one complete
    /// position.
    fn write(&self) -> Result<(), Failure> {
        let Some(file) = &self.file else { return Ok(()) };
        files::replace(file, |new| {
            let written = writeln!(new, "{}", permazen::kv::Hex(&self.key));
            Ok(written.map_err(|e| format!("{}: {e}", path_text(file)))?)
        })
    }

    /// Removes the file, because the check has reached the end.
    fn remove(&self) -> Result<(), Failure> {
        match self.file.as_ref().filter(|file| file.exists()) {
            Some(file) => {
                Ok(std::fs::remove_file(file).map_err(|e| format!("{}: {e}", path_text(file)))?)
            }
            None => Ok(()),
        }
    }
}

pub(super) fn run(
    args: &CheckArgs,
    options: &Options,
    mut position: Position,
    database: &Database,
    output: &mut dyn Presenter,
    terminal: &Terminal<'_>,
) -> Result<Report, Failure> {
    let start = Instant::now();
    let from = position.key.clone();
    let bar = Bar::of_pairs(database.pairs());
    let mut report = Report::default();
    // A slow check uses small slices, so that it can be stopped soon and continues at its exact
    // position.
    let pairs = args.rate.map_or(SLICE, |rate| (rate / 10).clamp(1, SLICE));
    loop {
        let mut rest = options.clone();
        // The limit counts over all slices.
        rest.max_findings = options.max_findings.saturating_sub(report.findings);
        let kv = database.begin(false)?;
        let slice = OnlineCheck::new(rest).slice(&*kv, &position.key, pairs, &mut |finding| {
            bar.suspend(|| output.finding(finding));
        });
        kv.rollback();
        let slice = slice.map_err(|e| database.failure(&e))?;
        report.findings += slice.findings;
        report.warnings += slice.warnings;
        report.unrepairable += slice.unrepairable;
        report.pairs += slice.pairs;
        report.reads += slice.reads;
        report.objects += slice.objects;
        bar.position("online", report.pairs);
        let Some(next) = slice.next else {
            report.complete = true;
            break;
        };
        position.key = next;
        position.write()?;
        let stopped = || options.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        if let Some(rate) = args.rate {
            let due = Duration::from_secs_f64(report.pairs as f64 / rate as f64);
            while start.elapsed() < due && !stopped() {
                std::thread::sleep(due.saturating_sub(start.elapsed()).min(BEAT));
            }
        }
        if stopped() || terminal.is_broken() || !slice.complete {
            break;
        }
    }
    if report.complete {
        position.remove()?;
    }
    bar.finish();
    output.summary(
        &report,
        &End {
            seconds: start.elapsed().as_secs_f64(),
            from: Some(&*from).filter(|from| !from.is_empty()),
            position: (!report.complete).then_some(&position.key),
            ..End::default()
        },
    );
    Ok(report)
}
