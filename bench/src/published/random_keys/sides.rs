//! The libraries, each with its table of pairs.

use std::path::{Path, PathBuf};

use permazen::encoding::ByteArray;
use permazen::kv::copy::Watch;
use permazen::kv::lmdb::LmdbStore;
use permazen::{Permazen, PermazenObject};
use redb::{
    Database, ReadOnlyTable, ReadableDatabase, ReadableTable, ReadableTableMetadata,
    TableDefinition,
};
use rusqlite::Connection;

use super::Pair;
use super::lines::SCAN;
use crate::sides::{Flush, folder_size, sqlite_settings};

/// A database of pairs, whose commits are on the disk when they return.
pub trait Side: Sync {
    fn name(&self) -> &'static str;

    /// The part of a side that one thread uses.
    fn session(&self) -> Box<dyn Session + '_>;

    /// How many bytes its files take.
    fn size(&self) -> u64;

    /// Makes its files as small as the library can.
    fn pack(&mut self);
}

/// Each method is a transaction.
pub trait Session {
    fn put(&mut self, new: &[Pair]);

    /// Removes the pairs with the keys of these, which must be there.
    fn remove(&mut self, old: &[Pair]);

    fn len(&mut self) -> usize;

    /// Finds the keys of these pairs. Returns the sum of the first bytes of their values.
    fn read(&mut self, pairs: &[&Pair]) -> u64;

    /// Reads up to [`SCAN`] values from each of these keys on. Returns the same.
    fn read_from(&mut self, pairs: &[&Pair]) -> u64;

    /// All pairs in the order of their keys.
    fn content(&mut self) -> Vec<Pair>;
}

#[derive(PermazenObject, Debug)]
struct Entry {
    #[permazen(indexed)]
    key: ByteArray,
    value: ByteArray,
}

/// Bytes of the encoding sort as signed numbers. With another sign they sort as they do on the
/// other sides.
fn key(bytes: &[u8]) -> ByteArray {
    ByteArray(bytes.iter().map(|byte| byte ^ 0x80).collect())
}

pub struct Ours {
    /// Nothing while it is packed.
    db: Option<Permazen>,
    dir: PathBuf,
}

impl Ours {
    pub fn open(dir: &Path) -> Ours {
        let store = LmdbStore::open_or_create(dir).unwrap();
        let db = Permazen::builder(store).model::<Entry>().build().unwrap();
        Ours { db: Some(db), dir: dir.to_owned() }
    }
}

impl Side for Ours {
    fn name(&self) -> &'static str {
        "permazen"
    }

    fn session(&self) -> Box<dyn Session + '_> {
        Box::new(self.db.as_ref().unwrap())
    }

    fn size(&self) -> u64 {
        folder_size(&self.dir)
    }

    fn pack(&mut self) {
        drop(self.db.take());
        LmdbStore::builder().compact(&self.dir, &mut Watch::new()).unwrap();
        *self = Ours::open(&self.dir);
    }
}

impl Session for &Permazen {
    fn put(&mut self, new: &[Pair]) {
        let entry =
            |pair: &Pair| Entry { key: key(&pair.key), value: pair.value.as_slice().into() };
        self.write(|tx| tx.create_many(new.iter().map(entry)).map(drop)).unwrap();
    }

    fn remove(&mut self, old: &[Pair]) {
        let remove = self.write(|tx| {
            let index = tx.index(Entry::KEY)?;
            for pair in old {
                index.get(key(&pair.key))?.first()?.unwrap().delete()?;
            }
            Ok(())
        });
        remove.unwrap();
    }

    fn len(&mut self) -> usize {
        Permazen::read(self, |tx| tx.all::<Entry>()?.count()).unwrap()
    }

    fn read(&mut self, pairs: &[&Pair]) -> u64 {
        let read = Permazen::read(self, |tx| {
            let index = tx.index(Entry::KEY)?;
            let mut sum = 0;
            for pair in pairs {
                let entry = index.get(key(&pair.key))?.first()?.unwrap();
                sum += u64::from(entry.value()?[0]);
            }
            Ok(sum)
        });
        read.unwrap()
    }

    fn read_from(&mut self, pairs: &[&Pair]) -> u64 {
        let read = Permazen::read(self, |tx| {
            let index = tx.index(Entry::KEY)?;
            let mut sum = 0;
            for pair in pairs {
                for entry in index.range(key(&pair.key)..)?.objects().take(SCAN) {
                    sum += u64::from(entry?.value()?[0]);
                }
            }
            Ok(sum)
        });
        read.unwrap()
    }

    fn content(&mut self) -> Vec<Pair> {
        let pair = |(found, entry): (ByteArray, permazen::Obj<'_, Entry>)| {
            let bytes = key(&found);
            Ok(Pair { key: (*bytes).try_into().unwrap(), value: entry.value()?.0 })
        };
        let read = Permazen::read(self, |tx| {
            tx.index(Entry::KEY)?.iter().map(|found| found.and_then(pair)).collect()
        });
        read.unwrap()
    }
}

/// The table of redb's benchmark.
const X: TableDefinition<&[u8], &[u8]> = TableDefinition::new("x");

pub struct Redb {
    db: Database,
    dir: PathBuf,
}

impl Redb {
    pub fn open(dir: &Path) -> Redb {
        Redb { db: Database::create(dir.join("db.redb")).unwrap(), dir: dir.to_owned() }
    }
}

impl Side for Redb {
    fn name(&self) -> &'static str {
        "redb"
    }

    fn session(&self) -> Box<dyn Session + '_> {
        Box::new(&self.db)
    }

    fn size(&self) -> u64 {
        folder_size(&self.dir)
    }

    fn pack(&mut self) {
        self.db.compact().unwrap();
    }
}

fn table(db: &Database) -> ReadOnlyTable<&'static [u8], &'static [u8]> {
    db.begin_read().unwrap().open_table(X).unwrap()
}

impl Session for &Database {
    fn put(&mut self, new: &[Pair]) {
        let txn = self.begin_write().unwrap();
        let mut table = txn.open_table(X).unwrap();
        for pair in new {
            table.insert(pair.key.as_slice(), pair.value.as_slice()).unwrap();
        }
        drop(table);
        txn.commit().unwrap();
    }

    fn remove(&mut self, old: &[Pair]) {
        let txn = self.begin_write().unwrap();
        let mut table = txn.open_table(X).unwrap();
        for pair in old {
            assert!(table.remove(pair.key.as_slice()).unwrap().is_some());
        }
        drop(table);
        txn.commit().unwrap();
    }

    fn len(&mut self) -> usize {
        usize::try_from(table(self).len().unwrap()).unwrap()
    }

    fn read(&mut self, pairs: &[&Pair]) -> u64 {
        let table = table(self);
        let first = |pair: &&Pair| {
            let value = ReadableTable::get(&table, pair.key.as_slice()).unwrap().unwrap();
            u64::from(value.value()[0])
        };
        pairs.iter().map(first).sum()
    }

    fn read_from(&mut self, pairs: &[&Pair]) -> u64 {
        let table = table(self);
        let mut sum = 0;
        for pair in pairs {
            let range = ReadableTable::range(&table, pair.key.as_slice()..).unwrap();
            for entry in range.take(SCAN) {
                sum += u64::from(entry.unwrap().1.value()[0]);
            }
        }
        sum
    }

    fn content(&mut self) -> Vec<Pair> {
        let table = table(self);
        let pairs = table.iter().unwrap().map(|entry| {
            let (key, value) = entry.unwrap();
            Pair { key: key.value().try_into().unwrap(), value: value.value().to_vec() }
        });
        pairs.collect()
    }
}

pub struct Rusqlite {
    dir: PathBuf,
}

impl Rusqlite {
    pub fn open(dir: &Path) -> Rusqlite {
        let side = Rusqlite { dir: dir.to_owned() };
        // As in redb's benchmark.
        let create = "CREATE TABLE IF NOT EXISTS kv (key BLOB PRIMARY KEY, value BLOB)";
        side.connect().execute_batch(create).unwrap();
        side
    }

    fn connect(&self) -> Connection {
        let connection = Connection::open(self.dir.join("db.sqlite")).unwrap();
        connection.execute_batch(&sqlite_settings(Flush::EachCommit)).unwrap();
        connection
    }
}

impl Side for Rusqlite {
    fn name(&self) -> &'static str {
        "SQLite (rusqlite)"
    }

    fn session(&self) -> Box<dyn Session + '_> {
        Box::new(self.connect())
    }

    fn size(&self) -> u64 {
        folder_size(&self.dir)
    }

    fn pack(&mut self) {
        self.connect().execute_batch("VACUUM").unwrap();
    }
}

impl Session for Connection {
    fn put(&mut self, new: &[Pair]) {
        let tx = self.transaction().unwrap();
        let mut insert = tx.prepare_cached("INSERT OR REPLACE INTO kv VALUES (?1, ?2)").unwrap();
        for pair in new {
            insert.execute((pair.key, &pair.value)).unwrap();
        }
        drop(insert);
        tx.commit().unwrap();
    }

    fn remove(&mut self, old: &[Pair]) {
        let tx = self.transaction().unwrap();
        let mut delete = tx.prepare_cached("DELETE FROM kv WHERE key = ?1").unwrap();
        for pair in old {
            assert_eq!(delete.execute([pair.key]).unwrap(), 1);
        }
        drop(delete);
        tx.commit().unwrap();
    }

    fn len(&mut self) -> usize {
        let count = self.query_row("SELECT COUNT(*) FROM kv", [], |row| row.get::<_, i64>(0));
        usize::try_from(count.unwrap()).unwrap()
    }

    fn read(&mut self, pairs: &[&Pair]) -> u64 {
        let tx = self.transaction().unwrap();
        let mut select = tx.prepare_cached("SELECT value FROM kv WHERE key = ?1").unwrap();
        let first = |pair: &&Pair| {
            let value: Vec<u8> = select.query_row([pair.key], |row| row.get(0)).unwrap();
            u64::from(value[0])
        };
        pairs.iter().map(first).sum()
    }

    fn read_from(&mut self, pairs: &[&Pair]) -> u64 {
        let tx = self.transaction().unwrap();
        let text = "SELECT key, value FROM kv WHERE key >= ?1 ORDER BY key";
        let mut select = tx.prepare_cached(text).unwrap();
        let mut sum = 0;
        for pair in pairs {
            let values = select.query_map([pair.key], |row| row.get::<_, Vec<u8>>(1)).unwrap();
            sum += values.take(SCAN).map(|value| u64::from(value.unwrap()[0])).sum::<u64>();
        }
        sum
    }

    fn content(&mut self) -> Vec<Pair> {
        let mut select = self.prepare("SELECT key, value FROM kv ORDER BY key").unwrap();
        let pair = |row: &rusqlite::Row<'_>| Ok(Pair { key: row.get(0)?, value: row.get(1)? });
        let pairs = select.query_map([], pair).unwrap();
        pairs.map(Result::unwrap).collect()
    }
}
