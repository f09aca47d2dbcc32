//! The cost of objects on a PostgreSQL server, compared with SQL written by hand that reads and
//! writes the same rows in the same transactions:
//! `cargo bench -p permazen-kv-postgres --bench objects`. Prints tables of medians; the two sides
//! take turns. Names of tables after `--` print only those: `single`, `workers`, `cpu`, `check`.
#![allow(dead_code, unused_imports, unreachable_pub, clippy::unwrap_used, clippy::print_stdout)]

#[path = "../../src/address.rs"]
mod address;
mod by_hand;
mod check;
#[path = "../../src/connection.rs"]
mod connection;
mod cpu;
#[path = "../../src/dialect.rs"]
mod dialect;
#[path = "../../src/error.rs"]
mod error;
#[path = "../../src/given.rs"]
mod given;
#[path = "../../src/host.rs"]
mod host;
#[path = "../../src/names.rs"]
mod names;
#[path = "../../src/passwords.rs"]
mod passwords;
mod single;
#[path = "../../src/socket.rs"]
mod socket;
#[path = "../../src/sql.rs"]
mod sql;
#[path = "../../src/statement.rs"]
mod statement;
mod workers;

use std::time::{Duration, Instant};

use permazen::kv::Retry;
use permazen::{Permazen, PermazenObject, Ref};
use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::Postgres;

use crate::by_hand::Id;

#[derive(PermazenObject, Debug, Clone, Default)]
struct Person {
    #[permazen(indexed)]
    name: String,
    #[permazen(indexed)]
    age: u32,
    city: String,
    height: f64,
    is_member: bool,
}

fn person(number: u32) -> Person {
    let name = format!("person {number:07}");
    Person { name, age: number / 100, city: "Rome".into(), height: 1.7, is_member: true }
}

fn open(url: &str) -> Permazen {
    let retry = Retry { times: 1_000, ..Retry::default() };
    let store = PostgresStore::open(url).unwrap();
    Permazen::builder(store).model::<Person>().retry(retry).build().unwrap()
}

/// A table with `count` people.
fn filled(url: &str, count: u32) -> Vec<Ref<Person>> {
    let db = open(url);
    let mut people = Vec::new();
    for first in (0..count).step_by(1_000) {
        let made = db.write(|tx| {
            (first..first + 1_000)
                .map(|n| Ok(tx.create(person(n))?.to_ref()))
                .collect::<permazen::Result<Vec<_>>>()
        });
        people.extend(made.unwrap());
    }
    people
}

fn id(one: Ref<Person>) -> Id {
    *one.id().as_bytes()
}

fn median<T: PartialOrd + Copy>(mut figures: Vec<T>) -> T {
    figures.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap());
    figures[figures.len() / 2]
}

/// How long something takes.
fn timed(act: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    act();
    begun.elapsed()
}

fn main() {
    let names: Vec<String> =
        std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    let is_asked = |name: &str| names.is_empty() || names.iter().any(|asked| asked == name);
    let settings = ["max_pred_locks_per_transaction=1024"];
    let Some(server) = Postgres::start(&settings) else { return };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let version = server.sql("SHOW server_version");
    println!(
        "PostgreSQL {version}, {}, {cores} cores, the loopback device, medians\n",
        settings[0]
    );
    if is_asked("single") {
        single::table(&server);
    }
    if is_asked("workers") {
        workers::table(&server);
    }
    if is_asked("cpu") {
        cpu::table(&server);
    }
    if is_asked("check") {
        check::table(&server);
    }
}
