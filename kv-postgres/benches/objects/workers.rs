//! Several workers at the same time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::Postgres;

use crate::by_hand::{ByHand, Content, Id};
use crate::{filled, id, median, open, person};

const PEOPLE: u32 = 20_000;
const TIME: Duration = Duration::from_secs(2);
const TURNS: usize = 5;

/// Transactions in a second, and how many percent ran again. A worker makes one transaction in some
/// attempts.
fn run<W>(
    count: usize,
    begin: impl Fn() -> W + Sync,
    one: impl Fn(&mut W, usize) -> u64 + Sync,
) -> (f64, f64) {
    let (attempts, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let all_ready = std::sync::Barrier::new(count);
    let times = thread::scope(|scope| {
        let workers: Vec<_> = (0..count)
            .map(|worker| {
                let (attempts, done, all_ready) = (&attempts, &done, &all_ready);
                let (begin, one) = (&begin, &one);
                scope.spawn(move || {
                    let mut own = begin();
                    let mut number = worker * 1_000_000 + rand::random::<u16>() as usize;
                    all_ready.wait();
                    let begun = Instant::now();
                    while begun.elapsed() < TIME {
                        number += 1;
                        attempts.fetch_add(one(&mut own, number), Ordering::Relaxed);
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                    begun.elapsed()
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).max().unwrap()
    });
    let (attempts, done) = (attempts.into_inner() as f64, done.into_inner() as f64);
    (done / times.as_secs_f64(), 100.0 * (attempts - done) / attempts)
}

/// Until it works. Returns how many attempts it took.
fn attempts(
    by_hand: &mut ByHand,
    mut one: impl FnMut(&mut ByHand) -> Result<(), crate::error::Failure>,
) -> u64 {
    for attempt in 1.. {
        match one(by_hand) {
            Ok(()) => return attempt,
            Err(failure) => {
                assert!(failure.is_of("40001"), "{failure}");
                by_hand.roll_back();
            }
        }
    }
    0
}

fn line(what: &str, mut ours: impl FnMut() -> (f64, f64), mut by_hand: impl FnMut() -> (f64, f64)) {
    let mut figures = [Vec::new(), Vec::new()];
    for turn in 0..TURNS {
        for at in 0..2 {
            let side = (turn + at) % 2;
            figures[side].push(if side == 0 { ours() } else { by_hand() });
        }
    }
    let [ours, by_hand] = figures.map(|figures| {
        let (speed, again): (Vec<f64>, Vec<f64>) = figures.into_iter().unzip();
        (median(speed), median(again))
    });
    println!(
        "| {what} | {:.0} | {:.0} | {:.0} % | {:.1} % | {:.1} % |",
        ours.0,
        by_hand.0,
        100.0 * ours.0 / by_hand.0,
        ours.1,
        by_hand.1
    );
}

pub(crate) fn table(server: &Postgres) {
    println!("| workers | objects, a second | by hand | share | ran again | by hand |");
    println!("|---|---|---|---|---|---|");
    let url = server.new_table();
    let people = filled(&url, PEOPLE);
    let ids: Vec<Id> = people.iter().map(|one| id(*one)).collect();
    let content = Content::of(&PostgresStore::open(&url).unwrap(), &ids);
    server.sql("VACUUM ANALYZE");
    let creates = |url: &str, count: usize| {
        run(
            count,
            || open(url),
            |db, n| {
                let mut attempts = 0;
                db.write(|tx| {
                    attempts += 1;
                    tx.create(person((n % 10_000_000) as u32)).map(drop)
                })
                .unwrap();
                attempts
            },
        )
    };
    let creates_by_hand = |count: usize, has_tokens: bool| {
        let begin = || {
            let mut by_hand = ByHand::open(&url);
            by_hand.has_tokens = has_tokens;
            by_hand
        };
        run(count, begin, |by_hand, n| {
            let model = ids[n * 7_919 % ids.len()];
            let mut new: Id = rand::random();
            new[0] = model[0];
            let rows = content.like(&model, &new);
            attempts(by_hand, |by_hand| by_hand.create(&rows))
        })
    };
    for count in [1, 4, 16] {
        let what = format!("{count} create");
        line(&what, || creates(&url, count), || creates_by_hand(count, false));
    }
    line("16 create, with tokens by hand", || creates(&url, 16), || creates_by_hand(16, true));
    let watched = format!("{}&watches=on", server.new_table());
    filled(&watched, PEOPLE);
    for count in [1, 16] {
        let what = format!("{count} create, with watches");
        line(&what, || creates(&watched, count), || creates_by_hand(count, false));
    }
    let choose = |n: usize| (n * 7_919 + rand::random::<u16>() as usize) % ids.len();
    line(
        "16 update random objects among 20,000",
        || {
            run(
                16,
                || open(&url),
                |db, n| {
                    let (one, mut attempts) = (people[choose(n)], 0);
                    db.write(|tx| {
                        attempts += 1;
                        tx.get(one)?.set_height(n as f64)
                    })
                    .unwrap();
                    attempts
                },
            )
        },
        || {
            run(
                16,
                || ByHand::open(&url),
                |by_hand, n| {
                    let one = ids[choose(n)];
                    // The field whose value has eight bytes.
                    let rows = &content.objects[&one];
                    let field =
                        rows.iter().find(|(key, value)| key.starts_with(&one) && value.len() == 8);
                    let put = vec![(field.unwrap().0.clone(), (n as f64).to_be_bytes().to_vec())];
                    attempts(by_hand, |by_hand| by_hand.change(&one, &[], &put))
                },
            )
        },
    );
    println!();
}
