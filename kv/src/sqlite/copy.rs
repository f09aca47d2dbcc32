//! Copies of databases, and new databases with the pairs of another store.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::connection::Statements;
use super::error::{cannot_open, failed};
use super::log_files::{INDEX, LOG, beside};
use super::shared::SharedDatabase;
use super::transaction::SqliteView;
use super::writers::check_this_thread;
use crate::copy::{Compacted, Copied, Readers, Watch, each_pair};
use crate::store_parts::new_file::{NewFile, new_file};
use crate::{KvError, KvRead, Result};

/// How many pages are copied before the watch is asked: a quarter of a megabyte, unless pages have
/// another size than usual.
const PAGES: i32 = 64;

/// The pause when another connection to the source holds a lock for a moment.
const PAUSE: Duration = Duration::from_millis(1);

/// A connection to a new file, which no other code knows. If the process ends before the file is
/// complete and synced, it is not used: so there is no journal, and SQLite need not sync.
fn connect(file: &NewFile<'_>) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file.part(), flags)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update_and_check(None, "journal_mode", "OFF", |_| Ok(()))?;
    Ok(connection)
}

/// Lets `write` write a new database into the file `target`, for `readers`. Without success,
/// nothing remains.
fn create<T>(
    target: &Path,
    readers: Readers,
    write: impl FnOnce(&mut Connection) -> Result<T>,
) -> Result<T> {
    let file = new_file(target, readers)?;
    let failed = |error| failed(target, "cannot copy into it", error);
    let mut connection = connect(&file).map_err(failed)?;
    let written = write(&mut connection);
    let closed = connection.close().map_err(|(_, error)| failed(error));
    // SQLite has removed them, unless it could not.
    let logs = [LOG, INDEX].map(|suffix| beside(file.part(), suffix));
    let left = logs.iter().any(|log| log.exists());
    logs.iter().for_each(|log| drop(std::fs::remove_file(log)));
    let written = written?;
    closed?;
    if left {
        let reason = "SQLite has left a log beside the copy".into();
        return Err(KvError::Open { path: target.into(), reason });
    }
    file.publish()?;
    Ok(written)
}

/// Makes a copy of a database, page by page. The source stays in one read transaction, so commits
/// of others meanwhile are not in the copy, and do not make SQLite begin again.
pub(super) fn copy_database(
    shared: &Arc<SharedDatabase>,
    target: &Path,
    watch: &mut Watch<'_>,
) -> Result<Copied> {
    let view = SqliteView::open(Arc::clone(shared))?;
    create(target, Readers::of(&shared.database.path), |to| {
        view.with(|session| {
            let failed = |error| failed(target, "cannot copy into it", error);
            let size = |name: &str| -> Result<u64> {
                let asked = session.connection.pragma_query_value(None, name, |row| row.get(0));
                asked.map(|number: i64| number.unsigned_abs()).map_err(failed)
            };
            let (page, pages) = (size("page_size")?, size("page_count")?);
            watch.begin(Some(page * pages))?;
            let backup = Backup::new(session.connection, to).map_err(failed)?;
            let mut before = 0;
            loop {
                let step = backup.step(PAGES).map_err(failed)?;
                let progress = backup.progress();
                let done = progress.pagecount.saturating_sub(progress.remaining).unsigned_abs();
                watch.copied(0, u64::from(done.saturating_sub(before)) * page)?;
                before = done;
                match step {
                    StepResult::Done => return Ok(watch.end()),
                    StepResult::Busy | StepResult::Locked => thread::sleep(PAUSE),
                    _ => {}
                }
            }
        })
    })
}

/// Makes a database with the pairs of another store.
pub(super) fn create_from(
    table: &str,
    target: &Path,
    from: &dyn KvRead,
    watch: &mut Watch<'_>,
) -> Result<Copied> {
    let statements = Statements::new(table);
    create(target, watch.readers_of_pairs(), |to| {
        let failed = |error| failed(target, "cannot copy into it", error);
        // Written once, in the order of the keys, so each page is full.
        to.execute_batch("BEGIN").map_err(failed)?;
        to.execute(&statements.create, []).map_err(failed)?;
        let mut put = to.prepare(&statements.put).map_err(failed)?;
        let copied = each_pair(from, watch, |key, value| {
            put.execute((key, value)).map(drop).map_err(failed)
        })?;
        drop(put);
        to.execute_batch("COMMIT").map_err(failed)?;
        // In this mode it is opened later.
        to.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).map_err(failed)?;
        Ok(copied)
    })
}

/// How often to check whether to stop.
const BEAT: Duration = Duration::from_millis(20);

/// Makes a database compact in its place.
pub(super) fn compact(
    shared: &Arc<SharedDatabase>,
    wait: Duration,
    watch: &mut Watch<'_>,
) -> Result<Compacted> {
    let path = &shared.database.path;
    let failed = |error| failed(path, "cannot make it compact", error);
    let length = || {
        let found = std::fs::metadata(path);
        found.map(|found| found.len()).map_err(|error| cannot_open(path, error.to_string()))
    };
    check_this_thread(&shared.database)?;
    watch.begin(None)?;
    let pooled = shared.take()?;
    let connection = &pooled.connection;
    connection.busy_timeout(wait).map_err(failed)?;
    // Earlier commits in the log count as well.
    let empty_log =
        || connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(failed);
    empty_log()?;
    let before = length()?;
    let vacuumed = thread::scope(|scope| {
        let (running, ended) = std::sync::mpsc::channel::<()>();
        if let Some(stop) = watch.stop_flag() {
            let handle = connection.get_interrupt_handle();
            scope.spawn(move || {
                use std::sync::mpsc::RecvTimeoutError::Timeout;
                while ended.recv_timeout(BEAT) == Err(Timeout) {
                    if stop.load(std::sync::atomic::Ordering::Relaxed) {
                        handle.interrupt();
                    }
                }
            });
        }
        let done = connection.execute_batch("VACUUM");
        drop(running);
        done
    });
    if vacuumed.is_err() {
        watch.check()?;
    }
    vacuumed.map_err(failed)?;
    empty_log()?;
    watch.end();
    Ok(Compacted { before, after: length()? })
}
