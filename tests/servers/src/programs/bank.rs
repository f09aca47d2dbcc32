//! Accounts between which programs move money, and each program's own record of the answer that it
//! got for each commit.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::thread;

use permazen::kv::{KvDatabase, Retry, TxOptions};
use permazen::{Counter, Permazen, PermazenObject, Ref};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{Open, process};

const ACCOUNTS: usize = 200;
const BALANCE: i64 = 1_000;

#[derive(PermazenObject, Debug, Clone, Default)]
pub struct Account {
    #[permazen(indexed)]
    number: i64,
    #[permazen(indexed)]
    balance: i64,
    transfers: Counter,
}

#[derive(PermazenObject, Debug, Clone)]
struct Transfer {
    /// The program, its thread and a number.
    #[permazen(indexed)]
    name: String,
    from: Ref<Account>,
    to: Ref<Account>,
    amount: i64,
}

/// The answer that a program got for a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It took place.
    Committed,
    /// It did not take place.
    Failed,
    /// It is not known.
    Unknown,
}

/// # Panics
/// At an error that says neither.
fn outcome(done: Result<(), permazen::Error>) -> Outcome {
    let error = match done {
        Ok(()) => return Outcome::Committed,
        Err(error) if error.is_retryable() => return Outcome::Failed,
        Err(error) if error.is_outcome_unknown() => return Outcome::Unknown,
        Err(error) => error,
    };
    panic!("{error}");
}

/// A program's view of the bank. Each transaction runs once.
///
/// # Panics
/// If it cannot be opened.
pub fn bank<S: KvDatabase + Clone + 'static>(store: &S) -> Permazen {
    database(store, Retry { times: 0, ..Retry::default() })
}

fn database<S: KvDatabase + Clone + 'static>(store: &S, retry: Retry) -> Permazen {
    let builder = Permazen::builder(store.clone()).model::<Account>().model::<Transfer>();
    builder.retry(retry).build().unwrap()
}

/// Makes the accounts, a few at a time, as stores with small transactions need it.
///
/// # Panics
/// If that is not possible.
pub fn found<S: KvDatabase + Clone + 'static>(store: &S) {
    // What is to be made again was not made.
    let db = database(store, Retry { times: 1_000, ..Retry::default() });
    let account = |number| Account { number, balance: BALANCE, ..<_>::default() };
    for first in (0..ACCOUNTS).step_by(10) {
        let some = first..(first + 10).min(ACCOUNTS);
        db.write(|tx| {
            some.clone().try_for_each(|number| tx.create(account(number as i64)).map(drop))
        })
        .unwrap();
    }
}

/// The accounts, in any order.
///
/// # Errors
/// The errors of the store.
pub fn accounts(db: &Permazen) -> Result<Vec<Ref<Account>>, permazen::Error> {
    db.read(|tx| (&tx.all::<Account>()?).into_iter().map(|found| Ok(found?.to_ref())).collect())
}

/// Moves money under a name.
///
/// # Panics
/// At an error that does not say what became of it.
pub fn transfer(db: &Permazen, accounts: &[Ref<Account>], name: &str, rng: &mut StdRng) -> Outcome {
    let from = accounts[rng.random_range(0..accounts.len())];
    let to = accounts[rng.random_range(0..accounts.len())];
    let amount = rng.random_range(1..10);
    outcome(db.write(|tx| {
        let (payer, payee) = (tx.get(from)?, tx.get(to)?);
        payer.set_balance(payer.balance()? - amount)?;
        payee.set_balance(payee.balance()? + amount)?;
        payee.transfers().add(1)?;
        tx.create(Transfer { name: name.to_owned(), from, to, amount }).map(drop)
    }))
}

/// The work of a process: its threads make transfers, one after another, and record how each has
/// ended, until it gets the order to stop.
pub(super) fn work<S: KvDatabase + Clone + 'static>(
    open: Open<S>,
    url: &str,
    directory: &Path,
    name: &str,
    threads: u64,
) {
    let stopped = process::stopped();
    let db = bank(&open(url));
    let records = Outcome::ALL.map(|outcome| outcome.record(directory, name));
    thread::scope(|scope| {
        for at in 0..threads {
            let (db, stopped, records) = (&db, &stopped, &records);
            scope.spawn(move || {
                let mut rng = StdRng::seed_from_u64(at);
                // A server can be away for longer than one attempt takes.
                let accounts = loop {
                    match accounts(db) {
                        Ok(accounts) => break accounts,
                        Err(error) => assert!(error.is_retryable(), "{error}"),
                    }
                };
                for number in 0_u64.. {
                    if stopped.load(Ordering::Relaxed) {
                        break;
                    }
                    let name = format!("{name}.{at}.{number}");
                    let outcome = transfer(db, &accounts, &name, &mut rng);
                    append(&records[outcome as usize], &name);
                }
            });
        }
    });
}

impl Outcome {
    const ALL: [Outcome; 3] = [Outcome::Committed, Outcome::Failed, Outcome::Unknown];

    /// The file in which a program records the transfers that have ended in this way.
    fn record(self, directory: &Path, program: &str) -> File {
        let kind = ["committed", "failed", "unknown"][self as usize];
        let file = directory.join(format!("{program}.{kind}"));
        OpenOptions::new().create(true).append(true).open(file).unwrap()
    }
}

/// One call, so that a kill leaves whole lines.
fn append(mut record: &File, transfer: &str) {
    record.write_all(format!("{transfer}\n").as_bytes()).unwrap();
}

/// Records how a transfer has ended.
pub(super) fn record(directory: &Path, program: &str, transfer: &str, outcome: Outcome) {
    append(&outcome.record(directory, program), transfer);
}

/// The records of the programs.
#[derive(Debug, Default)]
pub struct Records {
    /// The transfers that were acknowledged.
    pub committed: BTreeSet<String>,
    /// The transfers that did not take place.
    pub failed: BTreeSet<String>,
    /// The transfers of which the outcome was not known.
    pub unknown: BTreeSet<String>,
}

impl Records {
    pub(super) fn read(directory: &Path) -> Records {
        let mut records = Records::default();
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let into = match path.extension().and_then(|kind| kind.to_str()) {
                Some("committed") => &mut records.committed,
                Some("failed") => &mut records.failed,
                _ => &mut records.unknown,
            };
            into.extend(fs::read_to_string(&path).unwrap().lines().map(str::to_owned));
        }
        records
    }

    /// How many bytes of acknowledged commits a program has recorded.
    pub(super) fn acknowledged(directory: &Path, name: &str) -> u64 {
        fs::metadata(directory.join(format!("{name}.committed"))).map_or(0, |file| file.len())
    }

    /// Adds the answer that a program got for a transfer.
    pub fn add(&mut self, name: &str, outcome: Outcome) {
        let into = match outcome {
            Outcome::Committed => &mut self.committed,
            Outcome::Failed => &mut self.failed,
            Outcome::Unknown => &mut self.unknown,
        };
        into.insert(name.to_owned());
    }

    /// Adds the records of another bank, which has this name.
    pub fn join(&mut self, bank: &str, other: Records) {
        let Records { committed, failed, unknown } = other;
        for (into, names) in [
            (&mut self.committed, committed),
            (&mut self.failed, failed),
            (&mut self.unknown, unknown),
        ] {
            into.extend(names.into_iter().map(|name| format!("{bank}: {name}")));
        }
    }

    /// Checks that the records are true, and that the database is healthy. Programs can be at work.
    /// Returns the transfers that are there and of which nothing was recorded.
    ///
    /// # Panics
    /// If something is wrong.
    pub fn check<S: KvDatabase + Clone + 'static>(&self, store: &S) -> Vec<String> {
        let db = database(store, Retry::default());
        let (there, unlike) = db
            .read(|tx| {
                let (mut there, mut expected, mut found) =
                    (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
                for transfer in &tx.all::<Transfer>()? {
                    let transfer = transfer?.load()?;
                    let start = (BALANCE, 0);
                    expected.entry(transfer.from).or_insert(start).0 -= transfer.amount;
                    let payee = expected.entry(transfer.to).or_insert(start);
                    *payee = (payee.0 + transfer.amount, payee.1 + 1);
                    assert!(there.insert(transfer.name), "a transfer is there twice");
                }
                for account in &tx.all::<Account>()? {
                    let account = account?;
                    found
                        .insert(account.to_ref(), (account.balance()?, account.transfers().get()?));
                }
                assert_eq!(found.len(), ACCOUNTS);
                found.retain(|account, found| {
                    *found != expected.get(account).copied().unwrap_or((BALANCE, 0))
                });
                Ok((there, found))
            })
            .unwrap();
        assert!(unlike.is_empty(), "{unlike:?}");
        let lost: Vec<_> = self.committed.difference(&there).collect();
        assert!(lost.is_empty(), "acknowledged, and not there: {lost:?}");
        let made: Vec<_> = self.failed.intersection(&there).collect();
        assert!(made.is_empty(), "said to have failed, and there: {made:?}");
        health(store);
        let told = |name: &String| self.committed.contains(name) || self.unknown.contains(name);
        there.into_iter().filter(|name| !told(name)).collect()
    }

    /// A summary of the run, in a line.
    pub fn summary(&self) -> String {
        let (committed, failed) = (self.committed.len(), self.failed.len());
        let unknown = self.unknown.len();
        format!("{committed} commits acknowledged, {failed} to be retried, {unknown} unknown")
    }
}

/// Checks a database of objects as `jsck` does, again while a server has no time to answer.
pub(crate) fn health(store: &dyn KvDatabase) {
    for attempt in 0.. {
        let tx = store.begin(&TxOptions::reading()).unwrap();
        let mut findings = Vec::new();
        let options = permazen_jsck::Options::default();
        let mut note = |finding: &permazen_jsck::Finding| findings.push(finding.to_string());
        match permazen_jsck::check(&*tx, &options, &mut note) {
            Err(permazen_jsck::Error::Store(error)) if error.is_retryable() && attempt < 5 => {}
            done => {
                done.unwrap();
                assert!(findings.is_empty(), "{findings:?}");
                return;
            }
        }
    }
}
