//! SQLite through rusqlite, with statements that stay prepared.

use std::hint::black_box;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

use super::sqlite_schema::{TABLES, settings};
use super::{Flush, Key, Session, Side, folder_size};
use crate::data::Person;

pub struct Rusqlite {
    dir: PathBuf,
    flush: Flush,
}

impl Rusqlite {
    pub fn open(dir: &Path, flush: Flush) -> Rusqlite {
        std::fs::create_dir_all(dir).unwrap();
        let side = Rusqlite { dir: dir.to_owned(), flush };
        side.connect().execute_batch(TABLES).unwrap();
        side
    }

    fn connect(&self) -> Connection {
        let connection = Connection::open(self.dir.join("db.sqlite")).unwrap();
        connection.execute_batch(&settings(self.flush)).unwrap();
        connection.set_prepared_statement_cache_capacity(64);
        connection
    }
}

impl Side for Rusqlite {
    fn name(&self) -> &'static str {
        "SQLite (rusqlite)"
    }

    fn session(&self) -> Box<dyn Session + '_> {
        Box::new(Working { connection: self.connect() })
    }

    fn size(&self) -> u64 {
        folder_size(&self.dir)
    }
}

struct Working {
    connection: Connection,
}

impl Working {
    fn read<T>(&mut self, body: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> T {
        let tx = self.connection.transaction().unwrap();
        let value = body(&tx).unwrap();
        tx.commit().unwrap();
        value
    }

    fn write<T>(&mut self, body: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> T {
        let tx = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        let value = body(&tx).unwrap();
        tx.commit().unwrap();
        value
    }
}

const LOAD: &str = "SELECT age, email, name, score, visits FROM person WHERE id = ?1";

fn person(row: &Row<'_>) -> rusqlite::Result<Person> {
    Ok(Person {
        age: row.get(0)?,
        email: row.get(1)?,
        name: row.get(2)?,
        score: row.get(3)?,
        visits: row.get(4)?,
    })
}

/// SQLite's integers have a sign.
fn id(key: Key) -> i64 {
    key.cast_signed()
}

fn key(id: i64) -> Key {
    id.cast_unsigned()
}

impl Session for Working {
    fn create(&mut self, people: &[Person], each: usize) -> Vec<Key> {
        let mut keys = Vec::with_capacity(people.len());
        for people in people.chunks(each) {
            self.write(|tx| {
                let mut insert = tx.prepare_cached(
                    "INSERT INTO person (age, email, name, score, visits) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?;
                for person in people {
                    let Person { age, email, name, score, visits } = person;
                    keys.push(key(insert.insert(params![age, email, name, score, visits])?));
                }
                Ok(())
            });
        }
        keys
    }

    fn write_messages(&mut self, messages: &[(Key, String)]) -> Vec<Key> {
        self.write(|tx| {
            let mut insert =
                tx.prepare_cached("INSERT INTO message (author, text) VALUES (?1, ?2)")?;
            let insert = |(author, text): &(Key, String)| insert.insert(params![id(*author), text]);
            messages.iter().map(insert).map(|id| id.map(key)).collect()
        })
    }

    fn load(&mut self, keys: &[Key]) {
        self.read(|tx| {
            let mut select = tx.prepare_cached(LOAD)?;
            for key in keys {
                black_box(select.query_row([id(*key)], person)?);
            }
            Ok(())
        });
    }

    fn scores(&mut self, keys: &[Key]) {
        self.read(|tx| {
            let mut select = tx.prepare_cached("SELECT score FROM person WHERE id = ?1")?;
            for key in keys {
                black_box(select.query_row([id(*key)], |row| row.get::<_, i64>(0))?);
            }
            Ok(())
        });
    }

    fn find(&mut self, names: &[String]) {
        self.read(|tx| {
            let mut select = tx.prepare_cached("SELECT id FROM person WHERE name = ?1")?;
            for name in names {
                black_box(select.query_row([name], |row| row.get::<_, i64>(0))?);
            }
            Ok(())
        });
    }

    fn scan(&mut self, low: i32, high: i32) -> usize {
        self.read(|tx| {
            let mut select = tx.prepare_cached(
                "SELECT id FROM person WHERE age >= ?1 AND age < ?2 ORDER BY age",
            )?;
            let mut rows = select.query([low, high])?;
            let mut count = 0;
            while let Some(row) = rows.next()? {
                black_box(row.get::<_, i64>(0)?);
                count += 1;
            }
            Ok(count)
        })
    }

    fn load_from(&mut self, low: i32, limit: usize) -> usize {
        self.read(|tx| {
            let mut select = tx.prepare_cached(
                "SELECT age, email, name, score, visits FROM person WHERE age >= ?1 ORDER BY age LIMIT ?2",
            )?;
            let people = select.query_map(params![low, limit.cast_signed() as i64], person)?;
            let mut count = 0;
            for person in people {
                black_box(person?);
                count += 1;
            }
            Ok(count)
        })
    }

    fn follow(&mut self, messages: &[Key]) {
        self.read(|tx| {
            let mut select = tx.prepare_cached(
                "SELECT person.score FROM message JOIN person ON person.id = message.author
                 WHERE message.id = ?1",
            )?;
            for key in messages {
                black_box(select.query_row([id(*key)], |row| row.get::<_, i64>(0))?);
            }
            Ok(())
        });
    }

    fn fan_out(&mut self, authors: &[Key]) -> usize {
        self.read(|tx| {
            let mut select = tx.prepare_cached("SELECT text FROM message WHERE author = ?1")?;
            let mut count = 0;
            for key in authors {
                let mut rows = select.query([id(*key)])?;
                while let Some(row) = rows.next()? {
                    black_box(row.get::<_, String>(0)?);
                    count += 1;
                }
            }
            Ok(count)
        })
    }

    fn set_ages(&mut self, keys: &[Key], ages: &[i32], each: usize) {
        for (keys, ages) in keys.chunks(each).zip(ages.chunks(each)) {
            self.write(|tx| {
                let mut update = tx.prepare_cached("UPDATE person SET age = ?2 WHERE id = ?1")?;
                for (key, age) in keys.iter().zip(ages) {
                    assert_eq!(update.execute(params![id(*key), age])?, 1);
                }
                Ok(())
            });
        }
    }

    fn set_score(&mut self, key: Key, score: i64) {
        self.write(|tx| {
            let mut update = tx.prepare_cached("UPDATE person SET score = ?2 WHERE id = ?1")?;
            update.execute([id(key), score])
        });
    }

    fn modify(&mut self, key: Key) {
        self.write(|tx| {
            let read = tx.prepare_cached(LOAD)?.query_row([id(key)], person)?;
            let Person { age, email, name, score, visits } = read;
            let mut update = tx.prepare_cached(
                "UPDATE person SET age = ?2, email = ?3, name = ?4, score = ?5, visits = ?6 WHERE id = ?1",
            )?;
            update.execute(params![id(key), age, email, name, score + 1, visits])
        });
    }

    fn delete(&mut self, keys: &[Key]) {
        self.write(|tx| {
            let mut delete = tx.prepare_cached("DELETE FROM person WHERE id = ?1")?;
            for key in keys {
                assert_eq!(delete.execute([id(*key)])?, 1);
            }
            Ok(())
        });
    }

    fn person(&mut self, key: Key) -> Option<Person> {
        self.read(|tx| tx.prepare_cached(LOAD)?.query_row([id(key)], person).optional())
    }
}
