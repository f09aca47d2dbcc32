//! How long operations on objects take on a PostgreSQL server of the loopback device, and how often transactions of
//! several workers run again: `cargo bench -p permazen-kv-postgres --bench objects`. Medians.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use permazen::kv::Retry;
use permazen::{Permazen, PermazenObject, Ref};
use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::{Postgres, Proxy};

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

const PEOPLE: u32 = 20_000;

fn person(number: u32) -> Person {
    let name = format!("person {number:06}");
    Person { name, age: number / 100, city: "Rome".into(), height: 1.7, is_member: true }
}

fn open(url: &str) -> Permazen {
    let retry = Retry { times: 1_000, ..Retry::default() };
    Permazen::builder(PostgresStore::open(url).unwrap())
        .model::<Person>()
        .retry(retry)
        .build()
        .unwrap()
}

/// The median of some rounds, in microseconds.
fn median(rounds: usize, mut round: impl FnMut(usize)) -> f64 {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|at| {
            let begun = Instant::now();
            round(at);
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[rounds / 2].as_secs_f64() * 1e6
}

/// The first of these people are deleted.
fn one_by_one(db: &Permazen, people: &[Ref<Person>]) {
    let at = |number: usize| people[100 + number * 7_919 % (people.len() - 100)];
    let line = |what: &str, time: f64| println!("{what:44} {time:10.0} µs");
    line("load by ID", median(300, |n| drop(db.read(|tx| tx.get(at(n))?.load()).unwrap())));
    line(
        "create one",
        median(200, |n| {
            db.write(|tx| tx.create(person(900_000 + n as u32)).map(drop)).unwrap();
        }),
    );
    line(
        "create 1,000",
        median(9, |n| {
            let first = 1_000_000 + 1_000 * n as u32;
            db.write(|tx| (first..first + 1_000).try_for_each(|n| tx.create(person(n)).map(drop)))
                .unwrap();
        }),
    );
    line(
        "update an indexed field",
        median(200, |n| {
            db.write(|tx| tx.get(at(n))?.set_age(500 + n as u32)).unwrap();
        }),
    );
    line(
        "100 objects by index",
        median(50, |n| {
            let age = 1 + n as u32;
            db.read(|tx| {
                tx.index(Person::AGE)?.get(age)?.iter().try_for_each(|one| one?.load().map(drop))
            })
            .unwrap();
        }),
    );
    line("delete", median(100, |n| assert!(db.write(|tx| tx.get(people[n])?.delete()).unwrap())));
}

/// How many transactions a second so many workers make, and how many percent ran again.
fn workers(
    url: &str,
    count: usize,
    body: impl Fn(&permazen::Tx, usize) -> permazen::Result<()> + Sync,
) -> (f64, f64) {
    let (attempts, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let begun = Instant::now();
    thread::scope(|scope| {
        for worker in 0..count {
            let (attempts, done, body) = (&attempts, &done, &body);
            scope.spawn(move || {
                let db = open(url);
                let mut number = worker * 1_000_000;
                while begun.elapsed() < Duration::from_secs(4) {
                    number += 1;
                    db.write(|tx| {
                        attempts.fetch_add(1, Ordering::Relaxed);
                        body(tx, number)
                    })
                    .unwrap();
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let (attempts, done) = (attempts.into_inner() as f64, done.into_inner() as f64);
    (done / begun.elapsed().as_secs_f64(), 100.0 * (attempts - done) / attempts)
}

fn main() {
    let Some(server) = Postgres::start(&["max_pred_locks_per_transaction=1024"]) else { return };
    let url = server.new_table();
    let db = open(&url);
    let mut people = Vec::new();
    for first in (0..PEOPLE).step_by(1_000) {
        let made = db.write(|tx| {
            (first..first + 1_000)
                .map(|n| Ok(tx.create(person(n))?.to_ref()))
                .collect::<permazen::Result<Vec<_>>>()
        });
        people.extend(made.unwrap());
    }
    println!("{PEOPLE} objects, loopback");
    one_by_one(&db, &people);
    people.drain(..100);
    let proxy = Proxy::new(server.port());
    proxy.set_delay(Duration::from_micros(500));
    let far = url.replace(&format!(":{}/", server.port()), &format!(":{}/", proxy.port()));
    println!("the same with 1 ms of delay for each round trip");
    one_by_one(&open(&far), &people);
    people.drain(..100);
    for count in [1, 4, 16] {
        let (speed, again) =
            workers(&url, count, |tx, n| tx.create(person(2_000_000 + n as u32)).map(drop));
        println!("{count:2} workers create: {speed:6.0} a second, {again:.1} % ran again");
    }
    let (speed, again) = workers(&url, 16, |tx, n| {
        tx.get(people[n * 7_919 % people.len()])?.set_height(n as f64).or(Ok(()))
    });
    println!("16 workers update random objects: {speed:6.0} a second, {again:.1} % ran again");
}
