//! Checking and repairing an open database.

use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use permazen_jsck::{Finding, Options, Report};

use crate::args::Args;
use crate::database::{Database, dump};
use crate::progress::Bar;
use crate::undo::UndoFile;
use crate::{Failure, Presenter};

/// What a repair did.
pub(crate) struct Mended {
    /// How many pairs were put or removed.
    pub(crate) changes: u64,
    pub(crate) passes: u32,
    /// What is still wrong.
    pub(crate) left: u64,
    pub(crate) undo: Option<PathBuf>,
    pub(crate) dry_run: bool,
}

/// Looks at the structure of the store below, where it can be looked at; tells whether it is
/// damaged.
pub(crate) fn check_store(database: &Database, output: &mut Presenter) -> Result<bool, Failure> {
    let problems = database.verify()?;
    for problem in &problems {
        output.store_damage(problem);
    }
    Ok(!problems.is_empty())
}

/// Checks without changing anything.
pub(crate) fn check(
    options: &Options,
    database: &Database,
    output: &mut Presenter,
) -> Result<Report, Failure> {
    let start = Instant::now();
    let bar = Bar::new(database.entries());
    let report = permazen_jsck::check_database(
        database.store(),
        options,
        &mut |finding| bar.suspend(|| output.finding(finding)),
        &mut |progress| bar.show(progress),
    )
    .map_err(|e| format!("{}: {e}", database.path().display()))?;
    bar.finish();
    output.summary(&report, start.elapsed().as_secs_f64(), None);
    Ok(report)
}

/// Checks and mends.
pub(crate) fn run(
    args: &Args,
    options: &Options,
    database: Database,
    output: &mut Presenter,
) -> Result<Report, Failure> {
    let start = Instant::now();
    let asks = !args.yes && !args.dry_run && std::io::stdin().is_terminal();
    if !args.yes && !args.dry_run && !asks {
        return Err(
            "repair changes the database: confirm with --yes, or look with --dry-run".into()
        );
    }
    let mut kv = database.begin(true)?;
    let mut undo = UndoFile::new(args.undo_file.clone().unwrap_or_else(|| undo_path(&database)));
    let mut findings: Vec<Finding> = Vec::new();
    let bar = Bar::new(database.entries());
    let backup = args.backup.as_deref();
    if let Some(backup) = backup.filter(|_| !args.dry_run) {
        dump(&*kv, backup)?;
    }
    let repaired = permazen_jsck::repair(
        &mut *kv,
        options,
        &mut |finding| {
            bar.suspend(|| output.finding(finding));
            if args.json {
                findings.push(finding.clone());
            }
        },
        &mut |progress| bar.show(progress),
        &mut |writes| if args.dry_run { Ok(()) } else { undo.add(writes) },
    );
    bar.finish();
    let repaired = match repaired {
        Ok(repaired) => repaired,
        Err(e) => {
            undo.discard()?;
            return Err(format!("{}: {e}; nothing was changed", database.path().display()).into());
        }
    };
    let stopped =
        options.stop.as_ref().is_some_and(|stop| stop.load(std::sync::atomic::Ordering::Relaxed));
    let agreed =
        repaired.changes > 0 && !args.dry_run && !stopped && (!asks || confirm(repaired.changes)?);
    if agreed {
        database.commit(kv)?;
    } else {
        kv.rollback();
        undo.discard()?;
    }
    let mended = Mended {
        changes: if agreed || args.dry_run { repaired.changes } else { 0 },
        passes: repaired.passes,
        left: if agreed { repaired.left.findings } else { repaired.found.findings },
        undo: undo.written().map(PathBuf::from),
        dry_run: args.dry_run,
    };
    output.summary(&repaired.found, start.elapsed().as_secs_f64(), Some(&mended));
    Ok(repaired.found)
}

fn undo_path(database: &Database) -> PathBuf {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    // Beside the database, also if the path of a directory was given with a slash at its end.
    let path: PathBuf = database.path().components().collect();
    let named = |number: u32| {
        let mut name = path.as_os_str().to_os_string();
        name.push(format!(".undo-{seconds}"));
        if number > 0 {
            name.push(format!("-{number}"));
        }
        PathBuf::from(name)
    };
    (0..).map(named).find(|path| !path.exists()).unwrap_or_else(|| named(0))
}

fn confirm(changes: u64) -> Result<bool, Failure> {
    eprint!("Make {changes} changes? [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
