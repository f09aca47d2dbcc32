//! SQLite through diesel.

use std::hint::black_box;
use std::path::{Path, PathBuf};

use diesel::connection::SimpleConnection;
use diesel::prelude::*;

use super::sqlite_schema::{TABLES, settings};
use super::{Flush, Key, Session, Side, folder_size};
use crate::data;

diesel::table! {
    person (id) {
        id -> BigInt,
        age -> Integer,
        email -> Text,
        name -> Text,
        score -> BigInt,
        visits -> BigInt,
    }
}

diesel::table! {
    message (id) {
        id -> BigInt,
        author -> BigInt,
        text -> Text,
    }
}

diesel::joinable!(message -> person (author));
diesel::allow_tables_to_appear_in_same_query!(person, message);

#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = person)]
struct Person {
    age: i32,
    email: String,
    name: String,
    score: i64,
    visits: i64,
}

#[derive(Insertable)]
#[diesel(table_name = person)]
struct NewPerson<'a> {
    age: i32,
    email: &'a str,
    name: &'a str,
    score: i64,
    visits: i64,
}

#[derive(Insertable)]
#[diesel(table_name = message)]
struct NewMessage<'a> {
    author: i64,
    text: &'a str,
}

pub struct Diesel {
    dir: PathBuf,
    flush: Flush,
}

impl Diesel {
    pub fn open(dir: &Path, flush: Flush) -> Diesel {
        std::fs::create_dir_all(dir).unwrap();
        let side = Diesel { dir: dir.to_owned(), flush };
        side.connect().batch_execute(TABLES).unwrap();
        side
    }

    fn connect(&self) -> SqliteConnection {
        let path = self.dir.join("db.sqlite");
        let mut connection = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
        connection.batch_execute(&settings(self.flush)).unwrap();
        connection
    }
}

impl Side for Diesel {
    fn name(&self) -> &'static str {
        "SQLite (diesel)"
    }

    fn session(&self) -> Box<dyn Session + '_> {
        Box::new(Working { connection: self.connect() })
    }

    fn size(&self) -> u64 {
        folder_size(&self.dir)
    }
}

struct Working {
    connection: SqliteConnection,
}

impl Working {
    fn read<T>(&mut self, body: impl FnOnce(&mut SqliteConnection) -> QueryResult<T>) -> T {
        self.connection.transaction(body).unwrap()
    }

    fn write<T>(&mut self, body: impl FnOnce(&mut SqliteConnection) -> QueryResult<T>) -> T {
        self.connection.immediate_transaction(body).unwrap()
    }
}

fn id(key: Key) -> i64 {
    key.cast_signed()
}

fn key(id: i64) -> Key {
    id.cast_unsigned()
}

impl Session for Working {
    fn create(&mut self, people: &[data::Person], each: usize) -> Vec<Key> {
        let mut keys = Vec::with_capacity(people.len());
        for people in people.chunks(each) {
            self.write(|tx| {
                for new in people {
                    let data::Person { age, email, name, score, visits } = new;
                    let (age, score, visits) = (*age, *score, *visits);
                    let new = NewPerson { age, email, name, score, visits };
                    let insert = diesel::insert_into(person::table).values(new);
                    keys.push(key(insert.returning(person::id).get_result(tx)?));
                }
                Ok(())
            });
        }
        keys
    }

    fn write_messages(&mut self, messages: &[(Key, String)]) -> Vec<Key> {
        self.write(|tx| {
            let mut keys = Vec::with_capacity(messages.len());
            for (author, text) in messages {
                let new = NewMessage { author: id(*author), text };
                let insert = diesel::insert_into(message::table).values(new);
                keys.push(key(insert.returning(message::id).get_result(tx)?));
            }
            Ok(keys)
        })
    }

    fn load(&mut self, keys: &[Key]) {
        self.read(|tx| {
            for key in keys {
                black_box(person::table.find(id(*key)).select(Person::as_select()).first(tx)?);
            }
            Ok(())
        });
    }

    fn scores(&mut self, keys: &[Key]) {
        self.read(|tx| {
            for key in keys {
                let score = person::table.find(id(*key)).select(person::score);
                black_box(score.first::<i64>(tx)?);
            }
            Ok(())
        });
    }

    fn find(&mut self, names: &[String]) {
        self.read(|tx| {
            for name in names {
                let found = person::table.filter(person::name.eq(name)).select(person::id);
                black_box(found.first::<i64>(tx)?);
            }
            Ok(())
        });
    }

    fn scan(&mut self, low: i32, high: i32) -> usize {
        self.read(|tx| {
            let range = person::table.filter(person::age.ge(low).and(person::age.lt(high)));
            let ids = range.order(person::age).select(person::id).load_iter::<i64, _>(tx)?;
            let mut count = 0;
            for id in ids {
                black_box(id?);
                count += 1;
            }
            Ok(count)
        })
    }

    fn load_from(&mut self, low: i32, limit: usize) -> usize {
        self.read(|tx| {
            let range = person::table.filter(person::age.ge(low)).order(person::age);
            let range = range.limit(limit.cast_signed() as i64).select(Person::as_select());
            Ok(black_box(range.load(tx)?).len())
        })
    }

    fn follow(&mut self, messages: &[Key]) {
        self.read(|tx| {
            for key in messages {
                let joined = message::table.inner_join(person::table);
                let score = joined.filter(message::id.eq(id(*key))).select(person::score);
                black_box(score.first::<i64>(tx)?);
            }
            Ok(())
        });
    }

    fn fan_out(&mut self, authors: &[Key]) -> usize {
        self.read(|tx| {
            let mut count = 0;
            for key in authors {
                let texts = message::table.filter(message::author.eq(id(*key)));
                count += black_box(texts.select(message::text).load::<String>(tx)?).len();
            }
            Ok(count)
        })
    }

    fn set_ages(&mut self, keys: &[Key], ages: &[i32], each: usize) {
        for (keys, ages) in keys.chunks(each).zip(ages.chunks(each)) {
            self.write(|tx| {
                for (key, age) in keys.iter().zip(ages) {
                    let update = diesel::update(person::table.find(id(*key)));
                    assert_eq!(update.set(person::age.eq(*age)).execute(tx)?, 1);
                }
                Ok(())
            });
        }
    }

    fn set_score(&mut self, key: Key, score: i64) {
        self.write(|tx| {
            diesel::update(person::table.find(id(key))).set(person::score.eq(score)).execute(tx)
        });
    }

    fn modify(&mut self, key: Key) {
        self.write(|tx| {
            let found = person::table.find(id(key));
            let mut value: Person = found.select(Person::as_select()).first(tx)?;
            value.score += 1;
            diesel::update(found).set(&value).execute(tx)
        });
    }

    fn delete(&mut self, keys: &[Key]) {
        self.write(|tx| {
            for key in keys {
                assert_eq!(diesel::delete(person::table.find(id(*key))).execute(tx)?, 1);
            }
            Ok(())
        });
    }

    fn person(&mut self, key: Key) -> Option<data::Person> {
        self.read(|tx| {
            let found = person::table.find(id(key)).select(Person::as_select());
            let found = found.first(tx).optional()?;
            Ok(found.map(|Person { age, email, name, score, visits }| data::Person {
                age,
                email,
                name,
                score,
                visits,
            }))
        })
    }
}
