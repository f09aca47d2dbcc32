//! The check of a whole database, beside fetching all of it.

use std::num::NonZeroUsize;
use std::time::Duration;

use permazen_jsck::{Options, check_database};
use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::Postgres;

use crate::by_hand::ByHand;
use crate::{filled, median, timed};

/// They have a million pairs.
const PEOPLE: u32 = 112_000;
const ROUNDS: usize = 5;

pub(crate) fn table(server: &Postgres) {
    let url = server.new_table();
    filled(&url, PEOPLE);
    server.sql("VACUUM ANALYZE");
    let store = PostgresStore::open(&url).unwrap();
    let check = |threads: usize| {
        timed(|| {
            let mut options = Options::default();
            options.threads = NonZeroUsize::new(threads).unwrap();
            let mut sink = |finding: &permazen_jsck::Finding| assert_eq!(finding.to_string(), "");
            let report = check_database(&store, &options, &mut sink, &mut |_| {}).unwrap();
            assert_eq!(report.objects, u64::from(PEOPLE));
        })
    };
    let mut pairs = 0;
    let mut times: [Vec<Duration>; 3] = Default::default();
    for _ in 0..ROUNDS {
        times[0].push(timed(|| pairs = ByHand::open(&url).fetch().unwrap()));
        times[1].push(check(1));
        times[2].push(check(2));
    }
    let [fetched, one, two] = times.map(|times| median(times).as_secs_f64());
    println!("| {pairs} pairs | time | ratio |\n|---|---|---|");
    println!("| fetched by hand | {fetched:.2} s | 1 |");
    println!("| checked by one thread | {one:.2} s | {:.2} |", one / fetched);
    println!("| checked by two threads | {two:.2} s | {:.2} |\n", two / fetched);
}
