//! Checking piece by piece while the database is in use.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use permazen::kv::key::parse_hex;
use permazen_jsck::{OnlineCheck, Options, Report};

use crate::args::Args;
use crate::database::Database;
use crate::progress::Bar;
use crate::terminal::{self, path_text};
use crate::{End, Failure, Presenter, files};

/// Pairs in a slice: a transaction stays open for some milliseconds.
const SLICE: u64 = 5_000;
/// How often a slow check looks whether to stop.
const BEAT: Duration = Duration::from_millis(50);

pub(crate) fn run(
    args: &Args,
    options: &Options,
    database: &Database,
    output: &mut Presenter,
) -> Result<Report, Failure> {
    let start = Instant::now();
    let bar = Bar::of_pairs(database.pairs());
    let mut report = Report::default();
    let mut position = match &args.position {
        Some(file) => read_position(file)?,
        None => Vec::new(),
    };
    // A slow check takes small slices, so that it can be stopped and goes on where it was.
    let pairs = args.rate.map_or(SLICE, |rate| (rate / 10).clamp(1, SLICE));
    loop {
        let mut rest = options.clone();
        rest.max_findings = options.max_findings.saturating_sub(report.findings);
        let kv = database.begin(false)?;
        let slice = OnlineCheck::new(rest).slice(&*kv, &position, pairs, &mut |finding| {
            bar.suspend(|| output.finding(finding));
        });
        kv.rollback();
        let slice = slice.map_err(|e| format!("{}: {e}", path_text(database.path())))?;
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
        position = next;
        if let Some(file) = &args.position {
            write_position(file, &position)?;
        }
        let stopped = || options.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        if let Some(rate) = args.rate {
            let due = Duration::from_secs_f64(report.pairs as f64 / rate as f64);
            while start.elapsed() < due && !stopped() {
                std::thread::sleep(due.saturating_sub(start.elapsed()).min(BEAT));
            }
        }
        if stopped() || terminal::is_broken() || !slice.complete {
            break;
        }
    }
    if report.complete
        && let Some(file) = args.position.as_deref().filter(|file| file.exists())
    {
        std::fs::remove_file(file).map_err(|e| format!("{}: {e}", path_text(file)))?;
    }
    bar.finish();
    output.summary(
        &report,
        &End {
            seconds: start.elapsed().as_secs_f64(),
            position: (!report.complete).then_some(&position),
            ..End::default()
        },
    );
    Ok(report)
}

/// The key to go on from, in hex on one line; the beginning if there is no such file.
fn read_position(file: &Path) -> Result<Vec<u8>, Failure> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    let mut text = String::new();
    let read = files::open(file)?.read_to_string(&mut text);
    read.map_err(|e| format!("{}: {e}", path_text(file)))?;
    parse_hex(text.trim()).map_err(|_| format!("{}: not a position in hex", path_text(file)).into())
}

/// Replaces the file in one step: whenever the program ends, it has one whole position.
fn write_position(file: &Path, position: &[u8]) -> Result<(), Failure> {
    files::replace(file, |new| Ok(writeln!(new, "{}", permazen::kv::Hex(position))?))
}
