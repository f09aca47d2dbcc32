//! The databases of the benchmarks.

use std::path::Path;

use permazen::kv::Durability;
use permazen::kv::lmdb::LmdbStore;
use permazen::object::{Database, TransactionConfig};
use permazen::schema::SchemaModel;
use permazen::{Counter, ObjIdGenerator, Permazen, PermazenObject};

/// A person: five fields, two indexes, nine pairs.
#[derive(PermazenObject, Default)]
#[permazen(storage_id = 10)]
pub(crate) struct Person {
    #[permazen(indexed, storage_id = 11)]
    pub(crate) age: i32,
    #[permazen(storage_id = 12)]
    pub(crate) email: String,
    #[permazen(indexed, storage_id = 13)]
    pub(crate) name: String,
    #[permazen(storage_id = 14)]
    pub(crate) score: i64,
    #[permazen(storage_id = 15)]
    pub(crate) visits: Counter,
}

/// From this number of objects on, IDs and indexed values ascend, because a database of random ones
/// takes too long to make.
const ORDERED: u32 = 2_000_000;

/// The name of the person with this number.
pub(crate) fn name(number: u32, objects: u32) -> String {
    match objects < ORDERED {
        true => format!("Person {}", number.wrapping_mul(2_654_435_761)),
        false => format!("Person {number:010}"),
    }
}

/// Makes a database of people.
pub(crate) fn fill(path: &Path, objects: u32) {
    let store = LmdbStore::builder()
        .create(true)
        .durability(Durability::MayLoseEverything)
        .open(path)
        .unwrap();
    let db = Permazen::builder(store).model::<Person>().build().unwrap();
    if objects >= ORDERED {
        db.database().set_id_generator(ObjIdGenerator::ordered().unwrap());
    }
    for first in (0..objects).step_by(50_000) {
        db.write(|tx| {
            for number in first..objects.min(first + 50_000) {
                let email = format!("user{number}@example.org");
                let age = match objects < ORDERED {
                    true => number % 100,
                    false => number / objects.div_ceil(100),
                };
                let (age, score) = (age as i32, i64::from(number) * 1000);
                let name = name(number, objects);
                let person = Person { age, email, name, score, visits: Counter(3) };
                tx.create(person)?;
            }
            Ok(())
        })
        .unwrap();
    }
}

/// Makes a database without objects that has this many types, `Type0` and so on, of five fields
/// each.
pub(crate) fn many_types(path: &Path, types: u32) {
    let store = LmdbStore::open_or_create(path).unwrap();
    let fields: String = (0..5)
        .map(|field| {
            format!(
                r#"<SimpleField name="field{field}" encoding="urn:fdc:permazen.io:2020:String" indexed="true"/>"#
            )
        })
        .collect();
    let types: String = (0..types)
        .map(|n| format!(r#"<ObjectType name="Type{n}">{fields}</ObjectType>"#))
        .collect();
    let model = SchemaModel::from_xml(format!("<Schema>{types}</Schema>").as_bytes()).unwrap();
    let config = TransactionConfig::new(model).unwrap();
    let database = Database::new(std::sync::Arc::new(store));
    database.begin(&config).unwrap().commit().unwrap();
}
