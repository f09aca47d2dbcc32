//! Several processes with several threads each on one database: whatever they do at the same time,
//! it is as if each had been alone.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use permazen::kv::{KvDatabase, Retry};
use permazen::{Counter, Permazen, PermazenObject, Ref};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::Open;
use super::bank::health;
use super::process::{Process, say};

const PROCESSES: usize = 4;
const THREADS: u64 = 4;

const ACCOUNTS: i64 = 50;
const BALANCE: i64 = 100;

/// How many transactions each thread makes at least, however slow the machine is.
const LEAST: u32 = 10;

/// How many hours there are to book, and how many one booking takes at most.
const HOURS: i64 = 300;
const LONGEST: i64 = 10;

#[derive(PermazenObject, Debug, Clone, Default)]
struct Purse {
    #[permazen(indexed)]
    number: i64,
    #[permazen(indexed)]
    balance: i64,
    uses: Counter,
}

#[derive(PermazenObject, Debug, Clone)]
struct Booking {
    #[permazen(indexed)]
    start: i64,
    hours: i64,
}

#[derive(PermazenObject, Debug, Clone)]
struct Folder {
    #[permazen(indexed)]
    number: i64,
}

#[derive(PermazenObject, Debug, Clone)]
struct Paper {
    #[permazen(indexed, inverse_delete = "delete")]
    folder: Ref<Folder>,
    #[permazen(indexed)]
    title: String,
}

fn database<S: KvDatabase + Clone + 'static>(store: &S) -> Permazen {
    let builder = Permazen::builder(store.clone()).model::<Purse>().model::<Booking>();
    // On so few objects, all are in the way of all.
    let retry = Retry { times: 10_000, ..Retry::default() };
    builder.model::<Folder>().model::<Paper>().retry(retry).build().unwrap()
}

/// How many transactions of each kind were committed, and how many attempts they took.
#[derive(Debug, Default)]
struct Done {
    transactions: AtomicI64,
    attempts: AtomicI64,
    transfers: AtomicI64,
    bookings: AtomicI64,
}

/// The work of a process, for this many seconds, and longer if a thread has done too little by
/// then. In the end it says how much it has done.
pub(super) fn work<S: KvDatabase + Clone + 'static>(
    open: Open<S>,
    url: &str,
    number: u64,
    seconds: u64,
) {
    let db = database(&open(url));
    let done = Done::default();
    let until = Instant::now() + Duration::from_secs(seconds);
    thread::scope(|scope| {
        for at in 0..THREADS {
            let (db, done) = (&db, &done);
            scope.spawn(move || {
                let mut rng = StdRng::seed_from_u64(number * THREADS + at);
                let mut made = 0;
                while made < LEAST || Instant::now() < until {
                    act(db, &mut rng, done);
                    made += 1;
                }
            });
        }
    });
    let Done { transactions, attempts, transfers, bookings } = done;
    let counts =
        [transactions, attempts, transfers, bookings].map(|count| count.into_inner().to_string());
    say(&format!("done {}", counts.join(" ")));
}

/// One transaction.
fn act(db: &Permazen, rng: &mut StdRng, done: &Done) {
    let add = |count: &AtomicI64, by: i64| count.fetch_add(by, Ordering::Relaxed);
    let kind = rng.random_range(0..6);
    let numbers: [i64; 4] = std::array::from_fn(|_| rng.random_range(0..1 << 30));
    let (mut moved, mut booked) = (0, 0);
    db.write(|tx| {
        (moved, booked) = (0, 0);
        add(&done.attempts, 1);
        match kind {
            0 | 1 => {
                moved = 1;
                transfer(tx, numbers)
            }
            2 => {
                booked = i64::from(book(tx, numbers)?);
                Ok(())
            }
            3 => {
                booked = -i64::from(cancel(tx, numbers)?);
                Ok(())
            }
            4 => file(tx, numbers),
            _ => shred(tx, numbers),
        }
    })
    .unwrap();
    add(&done.transactions, 1);
    add(&done.transfers, moved);
    add(&done.bookings, booked);
}

/// Moves money, unless the purse would be empty, and counts the use of both purses.
fn transfer(tx: &permazen::Tx, [from, to, amount, _]: [i64; 4]) -> permazen::Result<()> {
    let purses = tx.index(Purse::NUMBER)?;
    let purse = |number: i64| purses.get(number % ACCOUNTS)?.iter().next().transpose();
    let (Some(from), Some(to)) = (purse(from)?, purse(to)?) else { panic!("a purse is missing") };
    let amount = (amount % 9).min(from.balance()?);
    from.set_balance(from.balance()? - amount)?;
    to.set_balance(to.balance()? + amount)?;
    from.uses().add(1)?;
    to.uses().add(1)
}

/// Books some hours if none of them is booked.
fn book(tx: &permazen::Tx, [start, hours, ..]: [i64; 4]) -> permazen::Result<bool> {
    let (start, hours) = (start % HOURS, 1 + hours % LONGEST);
    for found in &tx.index(Booking::START)?.range(start - LONGEST..start + hours)? {
        let (other, booking) = found?;
        if other + booking.hours()? > start {
            return Ok(false);
        }
    }
    tx.create(Booking { start, hours })?;
    Ok(true)
}

/// Cancels the first booking after an hour.
fn cancel(tx: &permazen::Tx, [start, ..]: [i64; 4]) -> permazen::Result<bool> {
    match tx.index(Booking::START)?.range(start % HOURS..)?.iter().next() {
        Some(found) => found?.1.delete(),
        None => Ok(false),
    }
}

/// Puts a paper into a folder, a new one if there is none of the number.
fn file(tx: &permazen::Tx, [number, title, ..]: [i64; 4]) -> permazen::Result<()> {
    let number = number % 10;
    let folder = match tx.index(Folder::NUMBER)?.get(number)?.iter().next() {
        Some(folder) => folder?.to_ref(),
        None => tx.create(Folder { number })?.to_ref(),
    };
    tx.create(Paper { folder, title: format!("{title}") }).map(drop)
}

/// Deletes a folder with all papers in it.
fn shred(tx: &permazen::Tx, [number, ..]: [i64; 4]) -> permazen::Result<()> {
    match tx.index(Folder::NUMBER)?.get(number % 10)?.iter().next() {
        Some(folder) => folder?.delete().map(drop),
        None => Ok(()),
    }
}

/// How long the processes work; `PERMAZEN_TOGETHER_SECONDS` makes it longer.
fn seconds() -> String {
    std::env::var("PERMAZEN_TOGETHER_SECONDS").unwrap_or_else(|_| "2".to_owned())
}

/// Checks what is true at any time.
fn look(db: &Permazen) {
    db.read(|tx| {
        let mut sum = 0;
        for purse in &tx.all::<Purse>()? {
            sum += purse?.balance()?;
        }
        assert_eq!(sum, ACCOUNTS * BALANCE);
        let mut free = 0;
        for found in &tx.index(Booking::START)? {
            let (start, booking) = found?;
            assert!(start >= free, "hour {start} is booked twice");
            free = start + booking.hours()?;
        }
        let mut last = -1;
        for found in &tx.index(Folder::NUMBER)? {
            let (number, _) = found?;
            assert!(number > last, "two folders have the number {number}");
            last = number;
        }
        Ok(())
    })
    .unwrap();
}

/// Processes with threads transfer, book, count and delete on one new store, which has this URL
/// too, while this one checks what is there. `PERMAZEN_TOGETHER_SECONDS` says how long.
///
/// # Panics
/// If they did not do as if each had been alone.
pub fn do_as_if_each_were_alone<S: KvDatabase + Clone + 'static>(store: &S, url: &str) {
    let db = database(store);
    db.write(|tx| {
        (0..ACCOUNTS).try_for_each(|number| {
            tx.create(Purse { number, balance: BALANCE, ..<_>::default() }).map(drop)
        })
    })
    .unwrap();
    let seconds = seconds();
    let start = |number: usize| Process::start(&["together", url, &number.to_string(), &seconds]);
    let processes: Vec<_> = (0..PROCESSES).map(start).collect();
    let is_over = AtomicBool::new(false);
    let (mut looks, mut counts) = (0, [0; 4]);
    thread::scope(|scope| {
        let ended = scope.spawn(|| {
            let hear = |mut process: Process| process.hear("done ");
            let said: Vec<String> = processes.into_iter().map(hear).collect();
            is_over.store(true, Ordering::Relaxed);
            said
        });
        loop {
            look(&db);
            looks += 1;
            if is_over.load(Ordering::Relaxed) {
                break;
            }
        }
        for said in ended.join().unwrap() {
            for (count, said) in counts.iter_mut().zip(said.split(' ')) {
                *count += said.parse::<i64>().unwrap();
            }
        }
    });
    look(&db);
    let (uses, bookings) = db
        .read(|tx| {
            let mut uses = 0;
            for purse in &tx.all::<Purse>()? {
                uses += purse?.uses().get()?;
            }
            for paper in &tx.all::<Paper>()? {
                let folder = paper?.load()?.folder;
                assert!(tx.get(folder)?.exists()?, "a paper without its folder");
            }
            Ok((uses, tx.all::<Booking>()?.count()? as i64))
        })
        .unwrap();
    let [transactions, attempts, transfers, booked] = counts;
    println!("{transactions} transactions in {attempts} attempts, checked {looks} times meanwhile");
    assert_eq!((uses, bookings), (2 * transfers, booked));
    let least = i64::from(LEAST) * THREADS as i64 * PROCESSES as i64;
    assert!(transactions >= least, "{transactions} of {least}");
    health(store);
}
