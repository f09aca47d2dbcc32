//! native_db: structs with secondary keys.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use native_db::transaction::RwTransaction;
use native_db::{Builder, Database, Models, ToKey, native_db};
use native_model::{Model, native_model};
use serde::{Deserialize, Serialize};

use super::{Flush, Key, Session, Side, folder_size};
use crate::data;
use crate::measure::walk;

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[native_model(id = 1, version = 1)]
#[native_db]
struct Person {
    #[primary_key]
    id: u64,
    #[secondary_key]
    age: i32,
    email: String,
    #[secondary_key]
    name: String,
    score: i64,
    visits: i64,
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[native_model(id = 2, version = 1)]
#[native_db]
struct Message {
    #[primary_key]
    id: u64,
    #[secondary_key]
    author: u64,
    text: String,
}

static MODELS: LazyLock<Models> = LazyLock::new(|| {
    let mut models = Models::new();
    models.define::<Person>().unwrap();
    models.define::<Message>().unwrap();
    models
});

pub struct NativeDb {
    db: Database<'static>,
    dir: PathBuf,
    /// The program gives out the keys.
    next: AtomicU64,
    _in_memory: Option<tempfile::TempDir>,
}

impl NativeDb {
    /// Its commits always flush. So one that does not flush is in a file system in memory.
    pub fn open(dir: &Path, flush: Flush) -> NativeDb {
        let in_memory = match flush {
            Flush::EachCommit => None,
            Flush::Never => Some(tempfile::tempdir_in("/dev/shm").unwrap()),
        };
        let dir = in_memory.as_ref().map_or(dir, tempfile::TempDir::path).to_owned();
        std::fs::create_dir_all(&dir).unwrap();
        let db = Builder::new().create(&MODELS, dir.join("db.native")).unwrap();
        NativeDb { db, dir, next: AtomicU64::new(1), _in_memory: in_memory }
    }
}

impl Side for NativeDb {
    fn name(&self) -> &'static str {
        "native_db"
    }

    fn session(&self) -> Box<dyn Session + '_> {
        Box::new(Working { db: &self.db, next: &self.next })
    }

    fn size(&self) -> u64 {
        folder_size(&self.dir)
    }
}

struct Working<'d> {
    db: &'d Database<'static>,
    next: &'d AtomicU64,
}

impl Working<'_> {
    fn next(&self) -> Key {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn write<T>(&self, body: impl FnOnce(&RwTransaction<'_>) -> T) -> T {
        let txn = self.db.rw_transaction().unwrap();
        let value = body(&txn);
        txn.commit().unwrap();
        value
    }
}

fn get(txn: &RwTransaction<'_>, key: Key) -> Person {
    txn.get().primary(key).unwrap().unwrap()
}

impl Session for Working<'_> {
    fn create(&mut self, people: &[data::Person], each: usize) -> Vec<Key> {
        let mut keys = Vec::with_capacity(people.len());
        for people in people.chunks(each) {
            self.write(|txn| {
                for person in people {
                    let data::Person { age, email, name, score, visits } = person.clone();
                    let id = self.next();
                    txn.insert(Person { id, age, email, name, score, visits }).unwrap();
                    keys.push(id);
                }
            });
        }
        keys
    }

    fn write_messages(&mut self, messages: &[(Key, String)]) -> Vec<Key> {
        self.write(|txn| {
            let write = |(author, text): &(Key, String)| {
                let id = self.next();
                txn.insert(Message { id, author: *author, text: text.clone() }).unwrap();
                id
            };
            messages.iter().map(write).collect()
        })
    }

    fn load(&mut self, keys: &[Key]) {
        let txn = self.db.r_transaction().unwrap();
        for key in keys {
            black_box(txn.get().primary::<Person>(*key).unwrap().unwrap());
        }
    }

    fn scores(&mut self, keys: &[Key]) {
        let txn = self.db.r_transaction().unwrap();
        for key in keys {
            black_box(txn.get().primary::<Person>(*key).unwrap().unwrap().score);
        }
    }

    fn find(&mut self, names: &[String]) {
        let txn = self.db.r_transaction().unwrap();
        for name in names {
            let scan = txn.scan().secondary::<Person>(PersonKey::name).unwrap();
            let name = name.as_str();
            black_box(scan.range(name..=name).unwrap().next().unwrap().unwrap());
        }
    }

    fn scan(&mut self, low: i32, high: i32) -> usize {
        let txn = self.db.r_transaction().unwrap();
        let scan = txn.scan().secondary::<Person>(PersonKey::age).unwrap();
        walk(scan.range(low..high).unwrap())
    }

    fn load_from(&mut self, low: i32, limit: usize) -> usize {
        let txn = self.db.r_transaction().unwrap();
        let scan = txn.scan().secondary::<Person>(PersonKey::age).unwrap();
        // A range reads the keys of all that are in it, so it must not be open. Ranges grow until
        // they have enough.
        let mut width = 100;
        loop {
            let people = scan.range(low..low.saturating_add(width)).unwrap().take(limit);
            let count = walk(people);
            if count == limit || low.saturating_add(width) >= data::AGES {
                return count;
            }
            width *= 8;
        }
    }

    fn follow(&mut self, messages: &[Key]) {
        let txn = self.db.r_transaction().unwrap();
        for key in messages {
            let message = txn.get().primary::<Message>(*key).unwrap().unwrap();
            black_box(txn.get().primary::<Person>(message.author).unwrap().unwrap().score);
        }
    }

    fn fan_out(&mut self, authors: &[Key]) -> usize {
        let txn = self.db.r_transaction().unwrap();
        let mut count = 0;
        for author in authors {
            let scan = txn.scan().secondary::<Message>(MessageKey::author).unwrap();
            for message in scan.range(*author..=*author).unwrap() {
                black_box(message.unwrap().text);
                count += 1;
            }
        }
        count
    }

    fn set_ages(&mut self, keys: &[Key], ages: &[i32], each: usize) {
        for (keys, ages) in keys.chunks(each).zip(ages.chunks(each)) {
            self.write(|txn| {
                for (key, age) in keys.iter().zip(ages) {
                    let old = get(txn, *key);
                    let new = Person { age: *age, ..old.clone() };
                    txn.update(old, new).unwrap();
                }
            });
        }
    }

    fn set_score(&mut self, key: Key, score: i64) {
        self.write(|txn| {
            let old = get(txn, key);
            let new = Person { score, ..old.clone() };
            txn.update(old, new).unwrap();
        });
    }

    fn modify(&mut self, key: Key) {
        self.write(|txn| {
            let old = get(txn, key);
            let new = Person { score: old.score + 1, ..old.clone() };
            txn.update(old, new).unwrap();
        });
    }

    fn delete(&mut self, keys: &[Key]) {
        self.write(|txn| {
            for key in keys {
                let person = get(txn, *key);
                txn.remove(person).unwrap();
            }
        });
    }

    fn person(&mut self, key: Key) -> Option<data::Person> {
        let txn = self.db.r_transaction().unwrap();
        let found: Option<Person> = txn.get().primary(key).unwrap();
        let Person { age, email, name, score, visits, .. } = found?;
        Some(data::Person { age, email, name, score, visits })
    }
}
