//! The costs of rules: objects are created and committed without rules, with a unique field, and
//! with own validation.
//!
//! `cargo bench -p permazen --bench rules`
#![allow(clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use permazen::kv::memory::MemoryStore;
use permazen::{Model, Permazen, PermazenObject, Validation};

const OBJECTS: usize = 200;

#[derive(PermazenObject)]
struct Plain {
    #[permazen(indexed)]
    email: String,
    age: i32,
}

#[derive(PermazenObject)]
struct Unique {
    #[permazen(indexed, unique)]
    email: String,
    age: i32,
}

#[derive(PermazenObject)]
#[permazen(validate = Valid::check)]
struct Valid {
    #[permazen(indexed)]
    email: String,
    age: i32,
}

impl Valid {
    fn check(&self) -> Result<(), &'static str> {
        if self.age >= 0 { Ok(()) } else { Err("not born") }
    }
}

fn create<M: Model>(c: &mut Criterion, name: &str, when: Validation, make: fn(usize) -> M) {
    let db = Permazen::builder(MemoryStore::new()).model::<M>().validation(when).build().unwrap();
    let begin = || db.begin().unwrap();
    c.bench_function(&format!("rules/{name}"), |b| {
        b.iter_batched(
            begin,
            |tx| {
                for n in 0..OBJECTS {
                    black_box(tx.create(make(n)).unwrap().id());
                }
                tx.validate().unwrap();
                tx
            },
            BatchSize::PerIteration,
        );
    });
}

fn email(n: usize) -> String {
    format!("person{n}@example.com")
}

fn rules(c: &mut Criterion) {
    let at_commit = Validation::AtCommit;
    create(c, "none", at_commit, |n| Plain { email: email(n), age: 1 });
    create(c, "off", Validation::Off, |n| Unique { email: email(n), age: 1 });
    create(c, "unique", at_commit, |n| Unique { email: email(n), age: 1 });
    create(c, "validate", at_commit, |n| Valid { email: email(n), age: 1 });
}

criterion_group!(benches, rules);
criterion_main!(benches);
