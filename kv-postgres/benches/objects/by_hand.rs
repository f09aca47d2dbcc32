//! The same transactions in SQL written by hand: the same rows are read and written through the
//! same client, in as few batches.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, TxOptions, key};

use crate::address::Address;
use crate::connection::Connection;
use crate::dialect::Dialect;
use crate::error::Failure;
use crate::sql::{BEGIN, BEGIN_READING, COMMIT};
use crate::statement::{Answer, Parameter, Statement};

type Done<T> = Result<T, Failure>;
pub(crate) type Id = [u8; 8];
pub(crate) type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// The rows of each object, with its entries in indexes.
pub(crate) struct Content {
    pub(crate) objects: HashMap<Id, Rows>,
}

impl Content {
    /// Reads the rows of these objects.
    pub(crate) fn of(store: &dyn KvDatabase, ids: &[Id]) -> Self {
        let mut objects: HashMap<Id, Rows> = ids.iter().map(|id| (*id, Rows::new())).collect();
        let tx = store.begin(&TxOptions::reading()).unwrap();
        for pair in tx.scan(KeySpan::FULL, Direction::Forward).unwrap() {
            let (key, value) = pair.unwrap();
            let id = |part: Option<&[u8]>| part.and_then(|part| Id::try_from(part).ok());
            let ends =
                [id(key.get(..8)), id(key.len().checked_sub(8).and_then(|at| key.get(at..)))];
            if let Some(id) = ends.into_iter().flatten().find(|id| objects.contains_key(id)) {
                objects.entry(id).or_default().push((key.into_owned(), value.into_owned()));
            }
        }
        Content { objects }
    }

    /// The rows of a new object that is like another one.
    pub(crate) fn like(&self, model: &Id, id: &Id) -> Rows {
        let rows = self.objects[model].iter().cloned();
        rows.map(|(mut key, value)| {
            let at = key.windows(8).position(|part| part == model).unwrap();
            key[at..at + 8].copy_from_slice(id);
            (key, value)
        })
        .collect()
    }
}

/// A session of a user.
pub(crate) struct ByHand {
    connection: Connection,
    sql: Sql,
    /// Whether each commit inserts a token, as a commit of the store does.
    pub(crate) has_tokens: bool,
}

struct Sql {
    range: String,
    limited: String,
    insert: String,
    update: String,
    delete: String,
    token: String,
}

/// Where the format and the schemas are recorded. The index of objects by schema comes after it.
const META: (&[u8], &[u8]) = (&[0], &[0, 0x80]);

impl ByHand {
    pub(crate) fn open(url: &str) -> ByHand {
        let address = Address::parse(url).unwrap();
        let host = &address.hosts[0];
        let (limit, counts) = (Duration::from_secs(30), Arc::default());
        let mut connection = Connection::open(&address, host, limit, &counts).unwrap();
        connection.set_limit(Duration::from_secs(300));
        for sql in Dialect::Postgres.settings() {
            connection.run(Statement { name: "", sql }, &[]).unwrap();
        }
        let table = &address.table;
        let range = format!(
            r#"SELECT "kv_key", "kv_value" FROM "{table}" WHERE "kv_key" >= $1 AND "kv_key" < $2 ORDER BY "kv_key""#
        );
        let sql = Sql {
            limited: format!("{range} LIMIT $3"),
            range,
            insert: format!(
                r#"INSERT INTO "{table}" ("kv_key", "kv_value") SELECT * FROM unnest($1, $2)"#
            ),
            update: format!(
                r#"INSERT INTO "{table}" ("kv_key", "kv_value") SELECT * FROM unnest($1, $2) ON CONFLICT ("kv_key") DO UPDATE SET "kv_value" = EXCLUDED."kv_value""#
            ),
            delete: format!(r#"DELETE FROM "{table}" WHERE "kv_key" = ANY($1)"#),
            token: format!(
                r#"INSERT INTO "{table}_commit" ("token", "at") VALUES ($1, clock_timestamp())"#
            ),
        };
        ByHand { connection, sql, has_tokens: false }
    }

    fn send(&mut self) -> Done<Vec<Answer>> {
        self.connection.send_batch("by hand")?;
        self.connection.answers()
    }

    fn range(&mut self, min: &[u8], max: &[u8]) -> Done<()> {
        let statement = Statement { name: "range", sql: &self.sql.range };
        self.connection.add(statement, &[Parameter::Bytes(min), Parameter::Bytes(max)])
    }

    fn object(&mut self, id: &Id) -> Done<()> {
        let max = key::after_prefix(id).unwrap();
        self.range(id, &max)
    }

    /// Begins, and reads the recorded schemas. A program must do so if other programs may upgrade
    /// the schemas.
    fn begin(&mut self, reads_only: bool) -> Done<()> {
        self.connection.add(if reads_only { BEGIN_READING } else { BEGIN }, &[])?;
        self.range(META.0, META.1)?;
        let answers = self.send()?;
        assert!((1..64).contains(&answers[1].rows.len()));
        Ok(())
    }

    fn commit(&mut self) -> Done<()> {
        if self.has_tokens {
            let token: [u8; 16] = rand::random();
            let statement = Statement { name: "token", sql: &self.sql.token };
            self.connection.add(statement, &[Parameter::Bytes(&token)])?;
        }
        self.end()
    }

    fn end(&mut self) -> Done<()> {
        self.connection.add(COMMIT, &[])?;
        let answers = self.send()?;
        match answers.last() {
            Some(answer) if answer.tag == "COMMIT" => Ok(()),
            _ => Err(Failure::other("rolled back")),
        }
    }

    fn put(&mut self, rows: &Rows, is_new: bool) -> Done<()> {
        let keys: Vec<&[u8]> = rows.iter().map(|(key, _)| &key[..]).collect();
        let values: Vec<&[u8]> = rows.iter().map(|(_, value)| &value[..]).collect();
        let statement = match is_new {
            true => Statement { name: "insert", sql: &self.sql.insert },
            false => Statement { name: "update", sql: &self.sql.update },
        };
        self.connection.add(statement, &[Parameter::Many(&keys), Parameter::Many(&values)])
    }

    fn delete(&mut self, keys: &[&[u8]]) -> Done<()> {
        let statement = Statement { name: "delete", sql: &self.sql.delete };
        self.connection.add(statement, &[Parameter::Many(keys)])
    }

    pub(crate) fn load(&mut self, id: &Id) -> Done<usize> {
        self.begin(true)?;
        self.object(id)?;
        let answers = self.send()?;
        self.end()?;
        Ok(answers[0].rows.len())
    }

    /// The same for schemas that no program upgrades, where the whole transaction is known when it
    /// begins: one batch.
    pub(crate) fn load_at_once(&mut self, id: &Id) -> Done<usize> {
        self.connection.add(BEGIN_READING, &[])?;
        self.object(id)?;
        self.connection.add(COMMIT, &[])?;
        Ok(self.send()?[1].rows.len())
    }

    pub(crate) fn create(&mut self, rows: &Rows) -> Done<()> {
        self.begin(false)?;
        self.put(rows, true)?;
        self.commit()
    }

    /// Removes some rows of an object that was read, and puts others.
    pub(crate) fn change(&mut self, id: &Id, removed: &[&[u8]], put: &Rows) -> Done<()> {
        self.begin(false)?;
        self.object(id)?;
        self.send()?;
        if !removed.is_empty() {
            self.delete(removed)?;
        }
        if !put.is_empty() {
            self.put(put, false)?;
        }
        self.commit()
    }

    /// The objects of the entries with a prefix.
    pub(crate) fn by_index(&mut self, prefix: &[u8]) -> Done<usize> {
        self.begin(true)?;
        let max = key::after_prefix(prefix).unwrap();
        self.range(prefix, &max)?;
        let entries = self.send()?;
        let ids: Vec<Id> = entries[0]
            .rows
            .iter()
            .map(|row| Id::try_from(&row[0][row[0].len() - 8..]).unwrap())
            .collect();
        for some in ids.chunks(64) {
            some.iter().try_for_each(|id| self.object(id))?;
            self.send()?;
        }
        self.end()?;
        Ok(ids.len())
    }

    /// All rows, page by page; the next page is under way while one is counted. Returns how many
    /// there are.
    pub(crate) fn fetch(&mut self) -> Done<usize> {
        const PAGE: usize = 1 << 14;
        self.connection.add(BEGIN_READING, &[])?;
        let (mut count, mut from) = (0, Bytes::new());
        loop {
            let parameters = [
                Parameter::Bytes(&from),
                Parameter::Bytes(&[0xff]),
                Parameter::Number(PAGE as i64),
            ];
            let statement = Statement { name: "limited", sql: &self.sql.limited };
            self.connection.add(statement, &parameters)?;
            let answers = self.send()?;
            let rows = &answers.last().unwrap().rows;
            count += rows.len();
            match rows.last() {
                Some(row) if rows.len() == PAGE => from = key::next_key(&row[0]).into(),
                _ => break,
            }
        }
        self.end()?;
        Ok(count)
    }

    /// The transaction has failed.
    pub(crate) fn roll_back(&mut self) {
        self.connection.run(crate::sql::ROLL_BACK, &[]).unwrap();
    }
}
