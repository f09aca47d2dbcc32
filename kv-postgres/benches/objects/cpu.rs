//! The time that processors spend on a transaction, here and on the server. Unlike the time on the
//! clock, it does not depend on the other work of the machine.

use std::cell::Cell;

use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::Postgres;

use crate::by_hand::{ByHand, Content, Id, Rows};
use crate::single::{ages, new_id};
use crate::{filled, id, median, open};

const PEOPLE: u32 = 20_000;

/// How many turns each side has, and of how many transactions.
const TURNS: usize = 80;
const TRANSACTIONS: usize = 20;

/// How long a thread or process has run, in nanoseconds.
fn run_time(of: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{of}/schedstat")).unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

/// The processes of the server that serve stores and their like.
fn backends(server: &Postgres) -> Vec<String> {
    let all = "SELECT pid FROM pg_stat_activity WHERE application_name = 'permazen'";
    server.sql(all).split_whitespace().map(str::to_owned).collect()
}

/// Microseconds of a transaction: here, and on the server.
fn spent(backends: &[String], act: impl Fn(usize)) -> [f64; 2] {
    let now = || [run_time("thread-self"), backends.iter().map(|id| run_time(id)).sum()];
    let begun = now();
    (0..TRANSACTIONS).for_each(act);
    let ended = now();
    [0, 1].map(|at| (ended[at] - begun[at]) as f64 / (1_000 * TRANSACTIONS) as f64)
}

fn line(server: &Postgres, what: &str, ours: impl Fn(usize), by_hand: impl Fn(usize)) {
    let mut figures: [[Vec<f64>; 2]; 2] = Default::default();
    ours(0);
    by_hand(0);
    let backends = backends(server);
    for turn in 0..TURNS {
        let first = 1 + turn * TRANSACTIONS;
        let spent =
            [spent(&backends, |n| ours(first + n)), spent(&backends, |n| by_hand(first + n))];
        for (figures, spent) in figures.iter_mut().zip(spent) {
            (0..2).for_each(|at| figures[at].push(spent[at]));
        }
    }
    let [ours, by_hand] = figures.map(|side| side.map(median));
    let [sum, other] = [ours, by_hand].map(|side| side[0] + side[1]);
    println!(
        "| {what} | {:.0} | {:.0} | {sum:.0} | {:.0} | {:.0} | {other:.0} | {:.2} |",
        ours[0],
        ours[1],
        by_hand[0],
        by_hand[1],
        sum / other
    );
}

pub(crate) fn table(server: &Postgres) {
    let url = server.new_table();
    let people = filled(&url, PEOPLE);
    let ids: Vec<Id> = people.iter().map(|one| id(*one)).collect();
    let content = Content::of(&PostgresStore::open(&url).unwrap(), &ids);
    let ages = ages(&content);
    server.sql("VACUUM ANALYZE");
    let db = open(&url);
    let by_hand = Cell::new(Some(ByHand::open(&url)));
    let with = |act: &dyn Fn(&mut ByHand)| {
        let mut connection = by_hand.take().unwrap();
        act(&mut connection);
        by_hand.set(Some(connection));
    };
    let chosen = |n: usize| people[n * 7_919 % people.len()];
    println!("Microseconds of processors.\n");
    println!(
        "| transaction | objects: here | server | sum | by hand: here | server | sum | ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let person = |n: usize| crate::person(1_000_000 + n as u32);
    line(
        server,
        "load by ID",
        |n| drop(db.read(|tx| tx.get(chosen(n))?.load()).unwrap()),
        |n| with(&|by_hand| assert!(by_hand.load(&id(chosen(n))).unwrap() > 4)),
    );
    line(
        server,
        "100 objects by index",
        |n| {
            let age = (n % (PEOPLE as usize / 100)) as u32;
            db.read(|tx| {
                tx.index(crate::Person::AGE)?
                    .get(age)?
                    .iter()
                    .try_for_each(|one| one?.load().map(drop))
            })
            .unwrap();
        },
        |n| {
            let one = people[n * 100 % people.len()];
            with(&|by_hand| assert!(by_hand.by_index(&ages[&id(one)]).unwrap() >= 100));
        },
    );
    let create = |n: usize| db.write(|tx| tx.create(person(n)).map(drop)).unwrap();
    for has_tokens in [false, true] {
        with(&|by_hand| by_hand.has_tokens = has_tokens);
        line(
            server,
            if has_tokens { "the same, with a token by hand" } else { "create one" },
            create,
            |n| {
                let model = ids[n * 7_919 % ids.len()];
                let rows: Rows = content.like(&model, &new_id(&model));
                with(&|by_hand| by_hand.create(&rows).unwrap());
            },
        );
    }
    println!();
}
