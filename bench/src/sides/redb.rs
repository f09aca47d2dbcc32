//! redb with indexes that the program keeps itself: tables whose keys are a value and the object.

use std::hint::black_box;
use std::path::{Path, PathBuf};

use redb::{
    Database, Durability, ReadableDatabase, ReadableTable, Table, TableDefinition, WriteTransaction,
};

use super::{Flush, Key, Session, Side, folder_size};
use crate::data;

type Value<'a> = (i32, &'a str, &'a str, i64, i64);

const PEOPLE: TableDefinition<u64, Value> = TableDefinition::new("people");
const AGES: TableDefinition<(i32, u64), ()> = TableDefinition::new("ages");
const NAMES: TableDefinition<(&str, u64), ()> = TableDefinition::new("names");
/// The author and the text.
const MESSAGES: TableDefinition<u64, (u64, &str)> = TableDefinition::new("messages");
const AUTHORS: TableDefinition<(u64, u64), ()> = TableDefinition::new("authors");

pub struct Redb {
    db: Database,
    dir: PathBuf,
    flush: Flush,
}

impl Redb {
    pub fn open(dir: &Path, flush: Flush) -> Redb {
        std::fs::create_dir_all(dir).unwrap();
        let db = Database::create(dir.join("db.redb")).unwrap();
        let side = Redb { db, dir: dir.to_owned(), flush };
        let txn = side.db.begin_write().unwrap();
        txn.open_table(PEOPLE).unwrap();
        txn.open_table(AGES).unwrap();
        txn.open_table(NAMES).unwrap();
        txn.open_table(MESSAGES).unwrap();
        txn.open_table(AUTHORS).unwrap();
        txn.commit().unwrap();
        side
    }
}

impl Side for Redb {
    fn name(&self) -> &'static str {
        "redb"
    }

    fn session(&self) -> Box<dyn Session + '_> {
        Box::new(Working { db: &self.db, flush: self.flush })
    }

    fn size(&self) -> u64 {
        folder_size(&self.dir)
    }
}

struct Working<'d> {
    db: &'d Database,
    flush: Flush,
}

/// The tables of people in a transaction that writes.
struct People<'t> {
    people: Table<'t, u64, Value<'static>>,
    ages: Table<'t, (i32, u64), ()>,
    names: Table<'t, (&'static str, u64), ()>,
}

impl<'t> People<'t> {
    fn open(txn: &'t WriteTransaction) -> People<'t> {
        People {
            people: txn.open_table(PEOPLE).unwrap(),
            ages: txn.open_table(AGES).unwrap(),
            names: txn.open_table(NAMES).unwrap(),
        }
    }

    fn get(&self, key: Key) -> data::Person {
        person(self.people.get(key).unwrap().unwrap().value())
    }

    fn put(&mut self, key: Key, person: &data::Person) {
        let data::Person { age, email, name, score, visits } = person;
        self.people.insert(key, (*age, email.as_str(), name.as_str(), *score, *visits)).unwrap();
    }
}

fn person((age, email, name, score, visits): Value<'_>) -> data::Person {
    data::Person { age, email: email.to_owned(), name: name.to_owned(), score, visits }
}

fn next_key<V: redb::Value>(table: &Table<'_, u64, V>) -> Key {
    table.last().unwrap().map_or(1, |(last, _)| last.value() + 1)
}

impl Working<'_> {
    fn write<T>(&self, body: impl FnOnce(&WriteTransaction) -> T) -> T {
        let mut txn = self.db.begin_write().unwrap();
        if self.flush == Flush::Never {
            txn.set_durability(Durability::None).unwrap();
        }
        let value = body(&txn);
        txn.commit().unwrap();
        value
    }
}

impl Session for Working<'_> {
    fn create(&mut self, people: &[data::Person], each: usize) -> Vec<Key> {
        let mut keys = Vec::with_capacity(people.len());
        for people in people.chunks(each) {
            self.write(|txn| {
                let mut tables = People::open(txn);
                let first = next_key(&tables.people);
                for (key, person) in (first..).zip(people) {
                    tables.put(key, person);
                    tables.ages.insert((person.age, key), ()).unwrap();
                    tables.names.insert((person.name.as_str(), key), ()).unwrap();
                    keys.push(key);
                }
            });
        }
        keys
    }

    fn write_messages(&mut self, messages: &[(Key, String)]) -> Vec<Key> {
        self.write(|txn| {
            let mut table = txn.open_table(MESSAGES).unwrap();
            let mut authors = txn.open_table(AUTHORS).unwrap();
            let first = next_key(&table);
            let mut keys = Vec::with_capacity(messages.len());
            for (key, (author, text)) in (first..).zip(messages) {
                table.insert(key, (*author, text.as_str())).unwrap();
                authors.insert((*author, key), ()).unwrap();
                keys.push(key);
            }
            keys
        })
    }

    fn load(&mut self, keys: &[Key]) {
        let table = self.db.begin_read().unwrap().open_table(PEOPLE).unwrap();
        for key in keys {
            black_box(person(table.get(key).unwrap().unwrap().value()));
        }
    }

    fn scores(&mut self, keys: &[Key]) {
        let table = self.db.begin_read().unwrap().open_table(PEOPLE).unwrap();
        for key in keys {
            black_box(table.get(key).unwrap().unwrap().value().3);
        }
    }

    fn find(&mut self, names: &[String]) {
        let table = self.db.begin_read().unwrap().open_table(NAMES).unwrap();
        for name in names {
            let range = (name.as_str(), 0)..=(name.as_str(), u64::MAX);
            let (key, _) = table.range(range).unwrap().next().unwrap().unwrap();
            black_box(key.value().1);
        }
    }

    fn scan(&mut self, low: i32, high: i32) -> usize {
        let table = self.db.begin_read().unwrap().open_table(AGES).unwrap();
        let mut count = 0;
        for entry in table.range((low, 0)..(high, 0)).unwrap() {
            black_box(entry.unwrap().0.value().1);
            count += 1;
        }
        count
    }

    fn load_from(&mut self, low: i32, limit: usize) -> usize {
        let txn = self.db.begin_read().unwrap();
        let (ages, people) = (txn.open_table(AGES).unwrap(), txn.open_table(PEOPLE).unwrap());
        let mut count = 0;
        for entry in ages.range((low, 0)..).unwrap().take(limit) {
            let (_, key) = entry.unwrap().0.value();
            black_box(person(people.get(key).unwrap().unwrap().value()));
            count += 1;
        }
        count
    }

    fn follow(&mut self, messages: &[Key]) {
        let txn = self.db.begin_read().unwrap();
        let (table, people) = (txn.open_table(MESSAGES).unwrap(), txn.open_table(PEOPLE).unwrap());
        for key in messages {
            let (author, _) = table.get(key).unwrap().unwrap().value();
            black_box(people.get(author).unwrap().unwrap().value().3);
        }
    }

    fn fan_out(&mut self, authors: &[Key]) -> usize {
        let txn = self.db.begin_read().unwrap();
        let (index, table) = (txn.open_table(AUTHORS).unwrap(), txn.open_table(MESSAGES).unwrap());
        let mut count = 0;
        for author in authors {
            for entry in index.range((*author, 0)..=(*author, u64::MAX)).unwrap() {
                let (_, key) = entry.unwrap().0.value();
                black_box(table.get(key).unwrap().unwrap().value().1.to_owned());
                count += 1;
            }
        }
        count
    }

    fn set_ages(&mut self, keys: &[Key], ages: &[i32], each: usize) {
        for (keys, ages) in keys.chunks(each).zip(ages.chunks(each)) {
            self.write(|txn| {
                let mut tables = People::open(txn);
                for (key, age) in keys.iter().zip(ages) {
                    let mut person = tables.get(*key);
                    tables.ages.remove((person.age, *key)).unwrap();
                    tables.ages.insert((*age, *key), ()).unwrap();
                    person.age = *age;
                    tables.put(*key, &person);
                }
            });
        }
    }

    fn set_score(&mut self, key: Key, score: i64) {
        self.write(|txn| {
            let mut tables = People::open(txn);
            let person = data::Person { score, ..tables.get(key) };
            tables.put(key, &person);
        });
    }

    fn modify(&mut self, key: Key) {
        self.write(|txn| {
            let mut tables = People::open(txn);
            let mut person = tables.get(key);
            person.score += 1;
            tables.put(key, &person);
        });
    }

    fn delete(&mut self, keys: &[Key]) {
        self.write(|txn| {
            let mut tables = People::open(txn);
            let authors = txn.open_table(AUTHORS).unwrap();
            for key in keys {
                // Nothing may refer to a person that is deleted.
                let referrers = authors.range((*key, 0)..=(*key, u64::MAX)).unwrap().next();
                assert!(referrers.is_none());
                let removed = tables.people.remove(key).unwrap().unwrap();
                let (age, _, name, ..) = removed.value();
                tables.ages.remove((age, *key)).unwrap();
                tables.names.remove((name, *key)).unwrap();
            }
        });
    }

    fn person(&mut self, key: Key) -> Option<data::Person> {
        let table = self.db.begin_read().unwrap().open_table(PEOPLE).unwrap();
        table.get(key).unwrap().map(|found| person(found.value()))
    }
}
