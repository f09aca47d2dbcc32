//! One connection to a database, and its statements.

use std::borrow::Cow;
use std::path::Path;

use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, Params, Row};

use super::error::{commit_failed, failed};
use crate::{Blob, Direction, KeySpan, KvError, Pair, Result};

/// The most bytes that SQLite adds to a key and a value in a row, or to a key in its index.
pub(super) const ROW_HEADER: usize = 32;

/// The text of each statement (docs/src/format.md#sqlite).
#[derive(Debug)]
pub(super) struct Statements {
    pub(super) create: String,
    get: String,
    pub(super) put: String,
    remove: String,
    /// Select a page. Indexed by direction, whether there is a lower bound, and whether there is an
    /// upper bound.
    select: [[[String; 2]; 2]; 2],
    /// Delete a span. Indexed by whether there is a lower bound, and whether there is an upper
    /// bound.
    delete: [[String; 2]; 2],
}

impl Statements {
    pub(super) fn new(table: &str) -> Self {
        let table = format!("\"{}\"", table.replace('"', "\"\""));
        let condition = |min: bool, max: bool| match (min, max) {
            (false, false) => "",
            (true, false) => " WHERE \"kv_key\" >= ?1",
            (false, true) => " WHERE \"kv_key\" < ?1",
            (true, true) => " WHERE \"kv_key\" >= ?1 AND \"kv_key\" < ?2",
        };
        let select = |order: &str, min: bool, max: bool| {
            let limit = 1 + usize::from(min) + usize::from(max);
            format!(
                "SELECT \"kv_key\", \"kv_value\" FROM {table}{} ORDER BY \"kv_key\" {order} LIMIT ?{limit}",
                condition(min, max)
            )
        };
        let flags = [false, true];
        Statements {
            // Byte for byte the statement of Permazen for Java.
            create: format!(
                "CREATE TABLE IF NOT EXISTS {table}(\n  \"kv_key\" BLOB\n    CONSTRAINT \"kv_key_null\" NOT NULL\n    \
                 CONSTRAINT \"kv_key_pkey\" PRIMARY KEY,\n  \"kv_value\" BLOB\n    CONSTRAINT \"kv_value_null\" NOT NULL\n)"
            ),
            get: format!("SELECT \"kv_value\" FROM {table} WHERE \"kv_key\" = ?1"),
            put: format!(
                "INSERT OR REPLACE INTO {table} (\"kv_key\", \"kv_value\") VALUES (?1, ?2)"
            ),
            remove: format!("DELETE FROM {table} WHERE \"kv_key\" = ?1"),
            select: ["ASC", "DESC"]
                .map(|order| flags.map(|min| flags.map(|max| select(order, min, max)))),
            delete: flags
                .map(|min| flags.map(|max| format!("DELETE FROM {table}{}", condition(min, max)))),
        }
    }

    /// The statement that selects a page of `span`.
    fn page(&self, span: KeySpan<'_>, direction: Direction) -> &str {
        let [forward, reverse] = &self.select;
        let by_direction = match direction {
            Direction::Forward => forward,
            Direction::Reverse => reverse,
        };
        by_bounds(by_direction, span)
    }
}

fn by_bounds<'s>(statements: &'s [[String; 2]; 2], span: KeySpan<'_>) -> &'s str {
    let [from_start, from_min] = statements;
    let [to_end, to_max] = if span.min.is_empty() { from_start } else { from_min };
    if span.max.is_none() { to_end } else { to_max }
}

/// The pairs as a connection sees them in its current transaction.
#[derive(Clone, Copy)]
pub(super) struct Session<'c> {
    pub(super) connection: &'c Connection,
    pub(super) statements: &'c Statements,
    pub(super) path: &'c Path,
}

impl<'c> Session<'c> {
    fn prepared(self, sql: &str) -> rusqlite::Result<CachedStatement<'c>> {
        self.connection.prepare_cached(sql)
    }

    pub(super) fn execute(self, what: &'static str, sql: &str, params: impl Params) -> Result<()> {
        let done = self.prepared(sql).and_then(|mut statement| statement.execute(params));
        done.map(drop).map_err(|error| failed(self.path, what, error))
    }

    /// Commits.
    pub(super) fn commit(self) -> Result<()> {
        let done = self.prepared("COMMIT").and_then(|mut statement| statement.execute([]));
        done.map(drop).map_err(|error| commit_failed(self.path, error))
    }

    /// A number that differs from the last one if others have committed since this connection asked
    /// last. Fixes the state that the connection sees.
    pub(super) fn data_version(self) -> Result<i64> {
        let told = self
            .prepared("PRAGMA data_version")
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)));
        told.map_err(|error| self.read_failed(error))
    }

    pub(super) fn get(self, key: &[u8]) -> Result<Option<Blob<'static>>> {
        let got = self.prepared(&self.statements.get).and_then(|mut statement| {
            let mut rows = statement.query([key])?;
            rows.next()?.map(|row| blob(row, 0)).transpose()
        });
        got.map(|value| value.map(Cow::Owned)).map_err(|error| self.read_failed(error))
    }

    /// Up to `limit` pairs of `span`.
    pub(super) fn page(
        self,
        span: KeySpan<'_>,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<Pair<'static>>> {
        let sql = self.statements.page(span, direction);
        // A database has fewer pairs than the largest limit, so a clamped one leaves none out.
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let read = |mut statement: CachedStatement<'_>| {
            let mut rows = match (span.min, span.max) {
                ([], None) => statement.query([limit]),
                ([], Some(max)) => statement.query((max, limit)),
                (min, None) => statement.query((min, limit)),
                (min, Some(max)) => statement.query((min, max, limit)),
            }?;
            let mut pairs = Vec::new();
            while let Some(row) = rows.next()? {
                pairs.push((Cow::Owned(blob(row, 0)?), Cow::Owned(blob(row, 1)?)));
            }
            Ok(pairs)
        };
        self.prepared(sql).and_then(read).map_err(|error| self.read_failed(error))
    }

    /// The first or last pair of `[min, max)`.
    pub(super) fn end(
        self,
        min: &[u8],
        max: Option<&[u8]>,
        direction: Direction,
    ) -> Result<Option<Pair<'static>>> {
        let span = KeySpan::new(min, max);
        if span.is_empty() { Ok(None) } else { Ok(self.page(span, direction, 1)?.pop()) }
    }

    pub(super) fn put(self, key: &[u8], value: &[u8]) -> Result<()> {
        let what = "cannot put";
        let limit = self.connection.limit(Limit::SQLITE_LIMIT_LENGTH);
        let limit = limit.map_err(|error| failed(self.path, what, error))?;
        // SQLite makes the row after it has removed that of the old pair. If the row is too long
        // then, the old pair is not put back. SQLite gives no negative limit; under such a one each
        // value is refused.
        let most = usize::try_from(limit).unwrap_or(0).saturating_sub(key.len() + ROW_HEADER);
        if value.len() > most {
            return Err(KvError::value_too_long(key, value.len(), most));
        }
        self.execute(what, &self.statements.put, (key, value))
    }

    pub(super) fn remove(self, key: &[u8]) -> Result<()> {
        self.execute("cannot remove", &self.statements.remove, [key])
    }

    pub(super) fn remove_span(self, span: KeySpan<'_>) -> Result<()> {
        let what = "cannot remove";
        let sql = by_bounds(&self.statements.delete, span);
        match (span.min, span.max) {
            ([], None) => self.execute(what, sql, []),
            ([], Some(max)) => self.execute(what, sql, [max]),
            (min, None) => self.execute(what, sql, [min]),
            (min, Some(max)) => self.execute(what, sql, [min, max]),
        }
    }

    fn read_failed(self, error: rusqlite::Error) -> KvError {
        failed(self.path, "cannot read", error)
    }
}

/// The bytes of a column. It must be a BLOB: text is a different key than its bytes.
fn blob(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<u8>> {
    match row.get_ref(column)? {
        ValueRef::Blob(bytes) => Ok(bytes.to_vec()),
        other => {
            let name = row.as_ref().column_name(column).unwrap_or("?").to_owned();
            Err(rusqlite::Error::InvalidColumnType(column, name, other.data_type()))
        }
    }
}

/// The number of pairs in the first page. Each further page is twice as large, up to [`LAST_PAGE`].
const FIRST_PAGE: usize = 16;
const LAST_PAGE: usize = 1024;

/// A scan that reads one page at a time, by calling `fetch`.
pub(super) struct PagedScan<'a, F> {
    min: Vec<u8>,
    max: Option<Vec<u8>>,
    direction: Direction,
    fetch: F,
    page: std::vec::IntoIter<Pair<'a>>,
    next_page: usize,
    ended: bool,
}

impl<'a, F> PagedScan<'a, F>
where
    F: Fn(KeySpan<'_>, Direction, usize) -> Result<Vec<Pair<'a>>>,
{
    pub(super) fn new(span: KeySpan<'_>, direction: Direction, fetch: F) -> Result<Self> {
        span.check()?;
        Ok(PagedScan {
            min: span.min.to_vec(),
            max: span.max.map(<[u8]>::to_vec),
            direction,
            fetch,
            page: Vec::new().into_iter(),
            next_page: FIRST_PAGE,
            ended: span.is_empty(),
        })
    }

    /// Reads the next page. The one after it will start after its last key.
    fn read(&mut self) -> Result<()> {
        let span = KeySpan::new(&self.min, self.max.as_deref());
        let page = (self.fetch)(span, self.direction, self.next_page)?;
        self.ended = page.len() < self.next_page;
        self.next_page = (self.next_page * 2).min(LAST_PAGE);
        if let Some((key, _)) = page.last() {
            match self.direction {
                Direction::Forward => {
                    self.min = key.to_vec();
                    self.min.push(0);
                }
                Direction::Reverse => self.max = Some(key.to_vec()),
            }
        }
        self.page = page.into_iter();
        Ok(())
    }
}

impl<'a, F> Iterator for PagedScan<'a, F>
where
    F: Fn(KeySpan<'_>, Direction, usize) -> Result<Vec<Pair<'a>>>,
{
    type Item = Result<Pair<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(pair) = self.page.next() {
                return Some(Ok(pair));
            }
            if self.ended {
                return None;
            }
            if let Err(error) = self.read() {
                self.ended = true;
                return Some(Err(error));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use crate::sqlite::SqliteStore;
    use crate::{Direction, KeySpan, KvDatabase, KvWrite, TxOptions};

    #[test]
    fn a_statement_for_pages_is_prepared_once() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open_or_create(dir.path().join("db")).unwrap();
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        (0..100u8).for_each(|key| tx.put(&[key], b"value").unwrap());
        tx.commit().unwrap();
        let database = store.database();
        let connection = database.connect().unwrap();
        let session = database.session(&connection);
        for limit in [1, 16, 32, 7] {
            for min in [3, 90] {
                let span = KeySpan::new(std::slice::from_ref(&min), Some(&[95]));
                let page = session.page(span, Direction::Forward, limit).unwrap();
                assert_eq!(page.len(), limit.min(95 - usize::from(min)));
            }
        }
        let span = KeySpan::new(&[3], Some(&[95]));
        let sql = session.statements.page(span, Direction::Forward);
        let statement = session.prepared(sql).unwrap();
        assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
        assert_eq!(statement.get_status(StatementStatus::Run), 8);
    }
}
