//! Checking and repairing an open database.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use permazen::kv::key::next_key;
use permazen::kv::{KvRead, Writes};
use permazen_jsck::{Finding, Options, Progress, Report};

use crate::args::Args;
use crate::database::{Database, dump};
use crate::progress::Bar;
use crate::undo::UndoFile;
use crate::{End, Failure, Presenter};

/// How often to look whether an answer is still wanted.
const BEAT: Duration = Duration::from_millis(50);

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

/// What becomes of a pair in a repair.
pub(crate) struct Change {
    pub(crate) key: Vec<u8>,
    pub(crate) old: Option<Vec<u8>>,
    pub(crate) new: Option<Vec<u8>>,
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
    let watch = Watch::new(database, output);
    let report = permazen_jsck::check_database(
        database.store(),
        options,
        &mut |finding| watch.finding(finding),
        &mut |progress| watch.progress(progress),
    );
    watch.bar.finish();
    let report = report.map_err(|e| format!("{}: {e}", database.path().display()))?;
    let seconds = start.elapsed().as_secs_f64();
    output.summary(&report, &End { seconds, ..End::default() });
    Ok(report)
}

/// Shows findings and progress as they come.
struct Watch<'w> {
    bar: Bar,
    output: RefCell<&'w mut Presenter>,
    phase: Cell<&'static str>,
}

impl<'w> Watch<'w> {
    fn new(database: &Database, output: &'w mut Presenter) -> Self {
        let bar = Bar::new(database.entries());
        Watch { bar, output: RefCell::new(output), phase: Cell::new("") }
    }

    fn finding(&self, finding: &Finding) {
        self.bar.suspend(|| self.output.borrow_mut().finding(finding));
    }

    fn progress(&self, progress: &Progress) {
        if self.phase.replace(progress.phase) != progress.phase {
            self.bar.suspend(|| self.output.borrow_mut().phase(progress.phase));
        }
        self.bar.show(progress);
    }
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
    let mut kv = database.begin(!args.dry_run)?;
    let mut undo = UndoFile::new(args.undo_file.clone().unwrap_or_else(|| undo_path(&database)));
    let backup = args.backup.as_deref();
    if let Some(backup) = backup.filter(|_| !args.dry_run) {
        if backup.exists() {
            return Err(format!("{}: the file exists already", backup.display()).into());
        }
        dump(&*kv, backup)?;
    }
    let mut replaced = BTreeMap::new();
    let watch = Watch::new(&database, output);
    let repaired = permazen_jsck::repair(
        &mut *kv,
        options,
        &mut |finding| watch.finding(finding),
        &mut |progress| watch.progress(progress),
        &mut |writes| match args.dry_run {
            true => {
                note_replaced(writes, &mut replaced);
                Ok(())
            }
            false => undo.add(writes),
        },
    );
    watch.bar.finish();
    let repaired = match repaired {
        Ok(repaired) => repaired,
        Err(e) => {
            undo.discard()?;
            return Err(format!("{}: {e}; nothing was changed", database.path().display()).into());
        }
    };
    for (key, old) in replaced {
        let new = kv.get(&key)?.map(|value| value.into_owned());
        if old != new {
            output.change(&Change { key, old, new });
        }
    }
    let stopped = || options.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
    let agreed = repaired.changes > 0
        && !args.dry_run
        && !stopped()
        && (!asks || confirm(repaired.changes, &stopped)?)
        && !stopped();
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
    let seconds = start.elapsed().as_secs_f64();
    output.summary(&repaired.found, &End { seconds, mended: Some(&mended), ..End::default() });
    Ok(repaired.found)
}

/// Notes what a pass of a repair replaces, unless an earlier one has replaced it before.
fn note_replaced(inverse: &Writes, replaced: &mut BTreeMap<Vec<u8>, Option<Vec<u8>>>) {
    for (key, value) in &inverse.puts {
        replaced.entry(key.to_vec()).or_insert_with(|| Some(value.to_vec()));
    }
    for span in inverse.removes.iter() {
        // Single keys; where one follows right behind another, they have become one span.
        let mut key = span.min.to_vec();
        loop {
            replaced.entry(key.clone()).or_insert(None);
            key = next_key(&key);
            if span.max.is_none_or(|max| &*key >= max) {
                break;
            }
        }
    }
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

/// Asks; an interrupt is a no.
fn confirm(changes: u64, stopped: &dyn Fn() -> bool) -> Result<bool, Failure> {
    eprint!("Make {changes} changes? [y/N] ");
    std::io::stderr().flush()?;
    // Reading a line goes on after a signal, so somebody else does it.
    let (sender, answers) = channel();
    std::thread::spawn(move || {
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer);
        let _ = sender.send(read.map(|_| answer));
    });
    while !stopped() {
        match answers.recv_timeout(BEAT) {
            Ok(answer) => return Ok(matches!(answer?.trim(), "y" | "Y" | "yes")),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    eprintln!();
    Ok(false)
}
