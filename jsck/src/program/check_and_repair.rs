//! Checks and repairs an open database.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::{Finding, Intent, Options, Progress, RepairReport, Report};
use permazen::kv::overlay::MutableView;
use permazen::kv::xml::XmlError;
use permazen::kv::{KvError, KvRead, KvTransaction, KvWrite, TxOptions};

use super::args::CheckArgs;
use super::database::{Database, NotCommitted, dump};
use super::files::NewFile;
use super::host::{Failure, Host};
use super::plan::{Change, Plan};
use super::presenter::{End, Mended, Presenter};
use super::progress::Bar;
use super::terminal::{Terminal, path_text};
use super::undo::{UndoFile, default_path};

/// Checks the structure of the underlying store, if it can be checked. Returns whether it is
/// damaged.
pub(super) fn check_store(
    database: &Database,
    output: &mut dyn Presenter,
    host: &dyn Host,
) -> Result<bool, Failure> {
    let problems = database.verify(host)?;
    for problem in &problems {
        output.store_damage(problem);
    }
    Ok(!problems.is_empty())
}

/// Checks without changing anything.
pub(super) fn check(
    options: &Options,
    database: &Database,
    output: &mut dyn Presenter,
    terminal: &Terminal<'_>,
) -> Result<Report, Failure> {
    let start = Instant::now();
    let watch = Watch::new(database, options, output, terminal);
    let report = crate::check_database(
        database.store(),
        options,
        &mut |finding| watch.finding(finding),
        &mut |progress| watch.progress(progress),
    );
    watch.bar.finish();
    let report = report.map_err(|e| database.failure(&e))?;
    let seconds = start.elapsed().as_secs_f64();
    output.summary(&report, &End { seconds, ..End::default() });
    Ok(report)
}

/// Shows findings and progress as they come.
struct Watch<'w, 'o> {
    bar: Bar,
    output: RefCell<&'w mut dyn Presenter>,
    options: &'w Options,
    terminal: &'w Terminal<'o>,
    phase: Cell<&'static str>,
}

impl<'w, 'o> Watch<'w, 'o> {
    fn new(
        database: &Database,
        options: &'w Options,
        output: &'w mut dyn Presenter,
        terminal: &'w Terminal<'o>,
    ) -> Self {
        let bar = Bar::of_reads(database.pairs());
        Watch { bar, output: RefCell::new(output), options, terminal, phase: Cell::new("") }
    }

    fn finding(&self, finding: &Finding) {
        self.bar.suspend(|| self.output.borrow_mut().finding(finding));
        // The rest of the report cannot be printed: stop, and repair nothing unseen.
        if let Some(stop) = self.options.stop.as_ref().filter(|_| self.terminal.is_broken()) {
            stop.store(true, Ordering::Relaxed);
        }
    }

    fn progress(&self, progress: &Progress) {
        if self.phase.replace(progress.phase) != progress.phase {
            self.bar.suspend(|| self.output.borrow_mut().phase(progress.phase));
        }
        self.bar.show(progress);
    }
}

/// The files that a repair writes.
pub(super) struct Files {
    undo: PathBuf,
    backup: Option<PathBuf>,
}

impl Files {
    /// The paths of the files. Makes sure first that they can be written, and that a user can
    /// answer if a question will be asked: otherwise the user would wait for a check in vain.
    pub(super) fn of(args: &CheckArgs, database: &Path, host: &dyn Host) -> Result<Files, Failure> {
        if args.asks() && !host.can_ask() {
            return Err(
                "repair changes the database: confirm with --yes, or look with --dry-run".into()
            );
        }
        let undo = args.undo_file.clone().unwrap_or_else(|| default_path(database));
        let files = Files { undo, backup: args.backup.clone() };
        if args.repairs() {
            drop(NewFile::create(&files.undo)?);
            if let Some(backup) = &files.backup {
                drop(NewFile::create(backup)?);
            }
        }
        Ok(files)
    }
}

/// Checks and repairs.
pub(super) fn run(
    args: &CheckArgs,
    options: &Options,
    database: &Database,
    files: &Files,
    output: &mut dyn Presenter,
    terminal: &Terminal<'_>,
) -> Result<Report, Failure> {
    let start = Instant::now();
    let repair = Repair {
        options,
        database,
        files,
        terminal,
        left_alone: Cell::new(0),
        reads: Cell::new(0),
        asked: Cell::default(),
    };
    let (mut found, mut mended) = if args.dry_run {
        repair.dry_run(output)?
    } else if args.asks() {
        repair.after_asking(output)?
    } else {
        repair.at_once(output)?
    };
    mended.left_alone = repair.left_alone.get();
    found.reads = repair.reads.get();
    let seconds = start.elapsed().saturating_sub(repair.asked.get()).as_secs_f64();
    output.summary(&found, &End { seconds, mended: Some(&mended), ..End::default() });
    terminal.written().map_err(|e| match &mended.undo {
        Some(undo) => {
            format!("{e}; the repair is made, and what it replaced is in {}", path_text(undo))
        }
        None => format!("{e}; nothing was changed"),
    })?;
    Ok(found)
}

/// A repair of a database.
struct Repair<'r, 'o> {
    options: &'r Options,
    database: &'r Database,
    files: &'r Files,
    terminal: &'r Terminal<'o>,
    /// How many findings are not to be repaired.
    left_alone: Cell<u64>,
    /// How often pairs were read, in all passes.
    reads: Cell<u64>,
    /// How long the program waited for answers.
    asked: Cell<Duration>,
}

/// The result of a check that could repair the database.
struct Look {
    repair: RepairReport,
    plan: Plan,
    /// The version of the store that was checked, if the store has versions.
    version: Option<u64>,
}

impl Repair<'_, '_> {
    fn stopped(&self) -> bool {
        self.options.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Shows what a repair would change.
    fn dry_run(&self, output: &mut dyn Presenter) -> Result<(Report, Mended), Failure> {
        let Look { repair, plan, .. } = self.look(output)?;
        plan.changes().for_each(|change| output.change(&change));
        let changes = plan.changes().count() as u64;
        let mended = Mended { dry_run: true, changes, ..Mended::made(&repair, None) };
        Ok((repair.found, Mended { left: repair.found.findings, ..mended }))
    }

    /// Repairs in one transaction, without asking.
    fn at_once(&self, output: &mut dyn Presenter) -> Result<(Report, Mended), Failure> {
        let mut kv = self.database.begin_writing(self.terminal)?;
        let mut undo = UndoFile::create(&self.files.undo, self.database)?;
        let (mut backup, mut failed) = (None, None);
        let repaired = self.watched(output, |finding, progress| {
            crate::repair(&mut *kv, self.options, finding, progress, &mut |intent| {
                undo.add(intent)?;
                // Once is enough: in every pass, a reading transaction sees the state before the
                // repair.
                if matches!(intent, Intent::Pass) && backup.is_none() {
                    backup = Some(self.back_up_beside().map_err(|why| {
                        failed = Some(why);
                        io::Error::other("there is no backup")
                    })?);
                }
                Ok(())
            })
        });
        // As an I/O error, this would lose its exit code.
        if let Some(why) = failed {
            return Err(why);
        }
        let repaired = repaired?;
        self.has_read(&repaired);
        if repaired.changes == 0 || self.stopped() {
            kv.rollback();
            return Ok((repaired.found, Mended::nothing(&repaired)));
        }
        let undo = self.commit(kv, undo, backup.flatten())?;
        Ok((repaired.found, Mended::made(&repaired, Some(undo))))
    }

    /// Checks the database while others may write, asks, and makes exactly the changes that were
    /// agreed to.
    fn after_asking(&self, output: &mut dyn Presenter) -> Result<(Report, Mended), Failure> {
        loop {
            let Look { repair, plan, version } = self.look(output)?;
            let changes = plan.changes().count() as u64;
            // Ctrl-C may come before, during or after the question.
            let agreed =
                changes > 0 && !self.stopped() && self.confirm(changes)? && !self.stopped();
            if !agreed {
                return Ok((repair.found, Mended::nothing(&repair)));
            }
            let mut kv = self.database.begin_writing(self.terminal)?;
            let offered = self.database.store().capabilities();
            if offered.concurrent_writers || version.is_none() || kv.version() != version {
                let is_same = self.would_repeat(&plan, &*kv);
                if !is_same.map_err(|e| self.database.unchanged(&e))? && !self.stopped() {
                    kv.rollback();
                    output.again();
                    self.left_alone.set(0);
                    continue;
                }
            }
            let mut undo = UndoFile::create(&self.files.undo, self.database)?;
            for Change { key, old, new } in plan.changes() {
                let (old, new) = (old.as_deref(), new.as_deref());
                undo.add(&Intent::Change { key: &key, old, new })?;
            }
            let backup = match offered.small_transactions {
                // The commit would depend on all pairs, and be refused.
                true => self.back_up_beside()?,
                // A second transaction could wait in vain on PostgreSQL: for a second connection,
                // or until this one ends.
                false => self.back_up(&*kv)?,
            };
            if self.stopped() {
                kv.rollback();
                return Ok((repair.found, Mended::nothing(&repair)));
            }
            for Change { key, new, .. } in plan.changes() {
                match new {
                    Some(new) => kv.put(&key, &new)?,
                    None => kv.remove(&key)?,
                }
            }
            let undo = self.commit(kv, undo, backup)?;
            return Ok((repair.found, Mended { changes, ..Mended::made(&repair, Some(undo)) }));
        }
    }

    /// Whether a repair would still make these changes. `kv` is the transaction that makes them
    /// next. All changes are compared, not only the pairs of the changes agreed to: a change of
    /// other pairs may make other repairs necessary.
    fn would_repeat(&self, plan: &Plan, kv: &(dyn KvTransaction + Send)) -> crate::Result<bool> {
        let (mut ignore, mut quiet) = (|_: &Finding| {}, |_: &Progress| {});
        if !self.database.store().capabilities().small_transactions {
            // Where others can write now, the transaction that makes the changes must itself read
            // what they were made from, or it could overwrite a change of others without a
            // conflict.
            let view = &mut MutableView::untracked(kv);
            let (_, again) = self.try_on(view, &mut ignore, &mut quiet)?;
            return Ok(again == *plan);
        }
        // Such a store refuses a commit that depends on very many pairs. So this one depends only
        // on the pairs that it replaces: a later change of others to those is a conflict, a later
        // change to other pairs is not.
        if self.look_with(&mut ignore, &mut quiet)?.plan != *plan {
            return Ok(false);
        }
        for Change { key, old, .. } in plan.changes() {
            if kv.get(&key)?.as_deref() != old.as_deref() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Commits the changes. Before that, everything that is needed to undo them is on disk.
    fn commit(
        &self,
        kv: Box<dyn KvTransaction + Send>,
        undo: UndoFile,
        backup: Option<NewFile>,
    ) -> Result<PathBuf, Failure> {
        self.terminal.written().map_err(|e| format!("{e}; nothing was changed"))?;
        self.database.is_as_opened()?;
        if let Some(backup) = backup {
            let path = backup.path().to_path_buf();
            backup.keep().map_err(|e| format!("{}: {e}", path_text(&path)))?;
        }
        let undo = undo.keep()?;
        match self.database.commit_with(self.terminal.host, kv) {
            Ok(()) => Ok(undo),
            Err(NotCommitted::Unchanged(why)) => {
                // There is nothing to undo. A file that stays all the same does no harm.
                let _ = std::fs::remove_file(&undo);
                Err(why)
            }
            Err(NotCommitted::PerhapsChanged(why)) => {
                let undo = path_text(&undo);
                Err(format!("{why}; what was to be replaced is in {undo}").into())
            }
        }
    }

    /// Repairs a view of the database, which is then thrown away.
    fn look(&self, output: &mut dyn Presenter) -> Result<Look, Failure> {
        self.watched(output, |finding, progress| self.look_with(finding, progress))
    }

    fn look_with(
        &self,
        finding: &mut dyn FnMut(&Finding),
        progress: &mut dyn FnMut(&Progress),
    ) -> crate::Result<Look> {
        let mut kv = self.database.store().begin(&TxOptions::reading())?;
        let version = kv.version();
        let (repair, plan) = self.try_on(&mut *kv, finding, progress)?;
        kv.rollback();
        Ok(Look { repair, plan, version })
    }

    /// Repairs a view whose changes are thrown away. Returns the changes too.
    fn try_on(
        &self,
        view: &mut dyn KvWrite,
        finding: &mut dyn FnMut(&Finding),
        progress: &mut dyn FnMut(&Progress),
    ) -> crate::Result<(RepairReport, Plan)> {
        let mut plan = Plan::default();
        let repair = crate::repair(view, self.options, finding, progress, &mut |intent| {
            plan.note(intent);
            Ok(())
        })?;
        self.has_read(&repair);
        Ok((repair, plan))
    }

    fn has_read(&self, repair: &RepairReport) {
        self.reads.set(self.reads.get() + repair.reads);
    }

    fn confirm(&self, changes: u64) -> Result<bool, Failure> {
        self.terminal.written().map_err(|e| format!("{e}; nothing was changed"))?;
        let start = Instant::now();
        let answer = self.terminal.host.confirm(&format!("Make {changes} changes? [y/N] "));
        self.asked.set(self.asked.get() + start.elapsed());
        Ok(answer?)
    }

    /// Shows the findings and the progress of some work.
    fn watched<R>(
        &self,
        output: &mut dyn Presenter,
        work: impl FnOnce(&mut dyn FnMut(&Finding), &mut dyn FnMut(&Progress)) -> crate::Result<R>,
    ) -> Result<R, Failure> {
        let watch = Watch::new(self.database, self.options, output, self.terminal);
        let result = work(
            &mut |finding| {
                if !finding.is_in(self.options.repair) && !finding.class.is_warning() {
                    self.left_alone.set(self.left_alone.get() + 1);
                }
                watch.finding(finding);
            },
            &mut |progress| watch.progress(progress),
        );
        watch.bar.finish();
        result.map_err(|e| self.database.unchanged(&e))
    }

    /// Writes all pairs to the backup, if one was asked for. `None` if the program was stopped.
    fn back_up(&self, kv: &dyn KvRead) -> Result<Option<NewFile>, Failure> {
        let Some(path) = &self.files.backup else { return Ok(None) };
        let mut file = NewFile::create(path)?;
        let out = Stoppable { out: file.file(), stopped: &|| self.stopped() };
        let written = dump(kv, out);
        if self.stopped() {
            return Ok(None);
        }
        match written {
            Ok(()) => Ok(Some(file)),
            Err(XmlError::Store(error)) => Err(self.database.unchanged(&error.into())),
            Err(error) => Err(format!("{}: {error}; nothing was changed", path_text(path)).into()),
        }
    }

    /// Does the same in a transaction of its own, while the caller has one that writes and cannot
    /// be read here. On PostgreSQL this needs a second connection, and with `deferrable=on` it
    /// waits in vain for the end of that of the caller.
    fn back_up_beside(&self) -> Result<Option<NewFile>, Failure> {
        if self.files.backup.is_none() {
            return Ok(None);
        }
        let unchanged = |error: KvError| self.database.unchanged(&error.into());
        // Not a certain transaction: on a server, that waits until those that write have ended, and
        // one of them is the caller's. Instead, its commit says whether there was a conflict.
        let kv = self.database.store().begin(&TxOptions::reading()).map_err(unchanged)?;
        let file = self.back_up(&*kv)?;
        if file.is_some() {
            kv.commit().map_err(unchanged)?;
        }
        Ok(file)
    }
}

/// A file that refuses writes when the program is to stop.
struct Stoppable<'s> {
    out: &'s mut File,
    stopped: &'s dyn Fn() -> bool,
}

impl Write for Stoppable<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if (self.stopped)() {
            return Err(io::Error::other("interrupted"));
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
