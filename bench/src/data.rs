//! The data of all benchmarks, the same in each run.

use rand::rngs::StdRng;
use rand::seq::index;
use rand::{RngExt, SeedableRng};

/// A person as plain data: five fields, of which the age and the name are indexed.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Person {
    pub age: i32,
    pub email: String,
    pub name: String,
    pub score: i64,
    pub visits: i64,
}

/// Ages are below this number.
pub const AGES: i32 = 100_000;

impl Person {
    pub fn random(random: &mut StdRng) -> Person {
        let number: u32 = random.random();
        Person {
            age: random.random_range(1..AGES),
            email: format!("user{number}@example.org"),
            name: format!("Person {number}"),
            score: i64::from(number) * 1000,
            visits: 3,
        }
    }
}

pub fn people(count: usize, seed: u64) -> Vec<Person> {
    let mut random = StdRng::seed_from_u64(seed);
    (0..count).map(|_| Person::random(&mut random)).collect()
}

/// Different numbers below `of` in random order; fewer than `count` if there are not as many.
pub fn sample(of: usize, count: usize, seed: u64) -> Vec<usize> {
    let mut random = StdRng::seed_from_u64(seed ^ 0x5eed);
    index::sample(&mut random, of, count.min(of)).into_vec()
}

/// The eight bytes of an ID of a person that does not exist yet.
pub fn new_id(random: &mut StdRng) -> [u8; 8] {
    let mut bytes: [u8; 8] = random.random();
    bytes[0] = crate::model::PERSON;
    bytes
}

/// The range of ages that about `count` of `people` have.
pub fn ages(people: usize, count: usize) -> (i32, i32) {
    let width = i64::from(AGES) * count as i64 / people.max(1) as i64;
    (20_000, 20_000 + (width as i32).clamp(1, AGES - 20_000))
}
