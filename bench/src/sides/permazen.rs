//! Our side: the typed layer on LMDB.

use std::hint::black_box;
use std::path::{Path, PathBuf};

use permazen::kv::Durability;
use permazen::kv::lmdb::LmdbStore;
use permazen::{Counter, ObjId, Permazen, Ref};

use super::{Flush, Key, Session, Side, folder_size};
use crate::data;
use crate::model::{Message, Person};

pub struct Ours {
    db: Permazen,
    dir: PathBuf,
}

impl Ours {
    pub fn open(dir: &Path, flush: Flush) -> Ours {
        let durability = match flush {
            Flush::EachCommit => Durability::Full,
            Flush::Never => Durability::MayLoseEverything,
        };
        let store = LmdbStore::builder().create(true).durability(durability).open(dir).unwrap();
        let db = Permazen::builder(store).model::<Person>().model::<Message>().build().unwrap();
        Ours { db, dir: dir.to_owned() }
    }
}

impl Side for Ours {
    fn name(&self) -> &'static str {
        "permazen"
    }

    fn session(&self) -> Box<dyn Session + '_> {
        Box::new(Working { db: &self.db })
    }

    fn size(&self) -> u64 {
        folder_size(&self.dir)
    }
}

struct Working<'d> {
    db: &'d Permazen,
}

fn key<M>(reference: Ref<M>) -> Key {
    Key::from_be_bytes(reference.id().to_bytes())
}

fn id(key: Key) -> ObjId {
    ObjId::from_bytes(key.to_be_bytes()).unwrap()
}

fn person(key: Key) -> Ref<Person> {
    Ref::from(id(key))
}

impl Session for Working<'_> {
    fn create(&mut self, people: &[data::Person], each: usize) -> Vec<Key> {
        let mut keys = Vec::with_capacity(people.len());
        for people in people.chunks(each) {
            let create = self.db.write(|tx| {
                let create = |person| Ok(key(tx.create(Person::from(person))?.to_ref()));
                people.iter().map(create).collect::<permazen::Result<Vec<_>>>()
            });
            keys.extend(create.unwrap());
        }
        keys
    }

    fn write_messages(&mut self, messages: &[(Key, String)]) -> Vec<Key> {
        let write = self.db.write(|tx| {
            let message = |(author, text): &(Key, String)| Message {
                author: person(*author),
                text: text.clone(),
            };
            messages.iter().map(|new| Ok(key(tx.create(message(new))?.to_ref()))).collect()
        });
        write.unwrap()
    }

    fn load(&mut self, keys: &[Key]) {
        let read = self.db.read(|tx| {
            for key in keys {
                black_box(tx.get(person(*key))?.load()?);
            }
            Ok(())
        });
        read.unwrap();
    }

    fn scores(&mut self, keys: &[Key]) {
        let read = self.db.read(|tx| {
            for key in keys {
                black_box(tx.get(person(*key))?.score()?);
            }
            Ok(())
        });
        read.unwrap();
    }

    fn find(&mut self, names: &[String]) {
        let read = self.db.read(|tx| {
            let index = tx.index(Person::NAME)?;
            for name in names {
                black_box(index.get(name)?.first()?.unwrap());
            }
            Ok(())
        });
        read.unwrap();
    }

    fn scan(&mut self, low: i32, high: i32) -> usize {
        let read = self.db.read(|tx| {
            let people = tx.index(Person::AGE)?.range(low..high)?;
            let mut count = 0;
            for person in people.objects() {
                black_box(person?);
                count += 1;
            }
            Ok(count)
        });
        read.unwrap()
    }

    fn load_from(&mut self, low: i32, limit: usize) -> usize {
        let read = self.db.read(|tx| {
            let mut count = 0;
            for person in tx.index(Person::AGE)?.range(low..)?.objects().take(limit) {
                black_box(person?.load()?);
                count += 1;
            }
            Ok(count)
        });
        read.unwrap()
    }

    fn follow(&mut self, messages: &[Key]) {
        let read = self.db.read(|tx| {
            for message in messages {
                let message = tx.get(Ref::<Message>::from(id(*message)))?;
                black_box(message.author()?.score()?);
            }
            Ok(())
        });
        read.unwrap();
    }

    fn fan_out(&mut self, authors: &[Key]) -> usize {
        let read = self.db.read(|tx| {
            let mut count = 0;
            for author in authors {
                for message in &tx.get(person(*author))?.referrers(Message::AUTHOR)? {
                    black_box(message?.text()?);
                    count += 1;
                }
            }
            Ok(count)
        });
        read.unwrap()
    }

    fn set_ages(&mut self, keys: &[Key], ages: &[i32], each: usize) {
        for (keys, ages) in keys.chunks(each).zip(ages.chunks(each)) {
            let write = self.db.write(|tx| {
                for (key, age) in keys.iter().zip(ages) {
                    tx.get(person(*key))?.set_age(*age)?;
                }
                Ok(())
            });
            write.unwrap();
        }
    }

    fn set_score(&mut self, key: Key, score: i64) {
        self.db.write(|tx| tx.get(person(key))?.set_score(score)).unwrap();
    }

    fn modify(&mut self, key: Key) {
        let write = self.db.write(|tx| {
            let person = tx.get(person(key))?;
            let mut value = person.load()?;
            value.score += 1;
            person.store(&value)
        });
        write.unwrap();
    }

    fn delete(&mut self, keys: &[Key]) {
        let write = self.db.write(|tx| {
            for key in keys {
                assert!(tx.get(person(*key))?.delete()?);
            }
            Ok(())
        });
        write.unwrap();
    }

    fn person(&mut self, key: Key) -> Option<data::Person> {
        let read = self.db.read(|tx| {
            let person = tx.get(person(key))?;
            if !person.exists()? {
                return Ok(None);
            }
            let Person { age, email, name, score, visits: Counter(visits) } = person.load()?;
            Ok(Some(data::Person { age, email, name, score, visits }))
        });
        read.unwrap()
    }
}
