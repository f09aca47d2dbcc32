//! Accounts between which programs move money, and each program's own record of what it was told about each commit.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error as _;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::thread;

use permazen::kv::{KvDatabase, KvError, Retry, TxOptions};
use permazen::{Counter, Permazen, PermazenObject, Ref};
use permazen_kv_postgres::PostgresStore;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::child;

const ACCOUNTS: usize = 200;
const BALANCE: i64 = 1_000;

#[derive(PermazenObject, Debug, Clone, Default)]
pub(crate) struct Account {
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

/// What a program is told about a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Committed,
    /// It did not take place.
    Failed,
    Unknown,
}

/// # Panics
/// At an error that says neither.
pub(crate) fn outcome(done: Result<(), permazen::Error>) -> Outcome {
    let error = match done {
        Ok(()) => return Outcome::Committed,
        Err(error) if error.is_retryable() => return Outcome::Failed,
        Err(error) => error,
    };
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(error) = cause {
        if error.downcast_ref::<KvError>().is_some_and(KvError::is_outcome_unknown) {
            return Outcome::Unknown;
        }
        cause = error.source();
    }
    panic!("{error}: {:?}", error.source());
}

/// A program's view of the bank. Each transaction runs once.
pub(crate) fn open(url: &str) -> (PostgresStore, Permazen) {
    let store = PostgresStore::open(url).unwrap();
    let builder = Permazen::builder(store.clone()).model::<Account>().model::<Transfer>();
    let retry = Retry { times: 0, ..Retry::default() };
    (store, builder.retry(retry).build().unwrap())
}

/// Makes the accounts.
pub(crate) fn found(url: &str) {
    let (_, db) = open(url);
    let account = |number| Account { number, balance: BALANCE, ..<_>::default() };
    db.write(|tx| (0..ACCOUNTS as i64).try_for_each(|number| tx.create(account(number)).map(drop)))
        .unwrap();
}

/// The accounts, in any order.
pub(crate) fn accounts(db: &Permazen) -> Result<Vec<Ref<Account>>, permazen::Error> {
    db.read(|tx| (&tx.all::<Account>()?).into_iter().map(|found| Ok(found?.to_ref())).collect())
}

/// Moves money under a name.
pub(crate) fn transfer(
    db: &Permazen,
    accounts: &[Ref<Account>],
    name: &str,
    rng: &mut StdRng,
) -> Outcome {
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

/// The work of a process: its threads make transfers, one after another, and record how each has ended, until it is
/// told to stop.
pub(crate) fn work(url: &str, directory: &Path, name: &str, threads: u64) {
    let stopped = child::stopped();
    let (_, db) = open(url);
    let append = |kind: &str| {
        let file = directory.join(format!("{name}.{kind}"));
        OpenOptions::new().create(true).append(true).open(file).unwrap()
    };
    let records = ["committed", "failed", "unknown"].map(append);
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
                    let mut record: &File =
                        &records[transfer(db, &accounts, &name, &mut rng) as usize];
                    // One call, so that a kill leaves whole lines.
                    record.write_all(format!("{name}\n").as_bytes()).unwrap();
                }
            });
        }
    });
}

/// What the programs have recorded.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(crate) committed: BTreeSet<String>,
    pub(crate) failed: BTreeSet<String>,
    pub(crate) unknown: BTreeSet<String>,
}

impl Records {
    pub(crate) fn read(directory: &Path) -> Records {
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
    pub(crate) fn acknowledged(directory: &Path, name: &str) -> u64 {
        fs::metadata(directory.join(format!("{name}.committed"))).map_or(0, |file| file.len())
    }

    pub(crate) fn add(&mut self, name: &str, outcome: Outcome) {
        let into = match outcome {
            Outcome::Committed => &mut self.committed,
            Outcome::Failed => &mut self.failed,
            Outcome::Unknown => &mut self.unknown,
        };
        into.insert(name.to_owned());
    }

    /// Checks that what was recorded is true, and that the database is healthy. Programs can be at work. Returns the
    /// transfers that are there and of which nothing was recorded.
    pub(crate) fn check(&self, url: &str) -> Vec<String> {
        let joint = if url.contains('?') { '&' } else { '?' };
        let (store, db) = open(&format!("{url}{joint}deferrable=on"));
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
        self.check_health(&store);
        let told = |name: &String| self.committed.contains(name) || self.unknown.contains(name);
        there.into_iter().filter(|name| !told(name)).collect()
    }

    fn check_health(&self, store: &PostgresStore) {
        let tx = store.begin(&TxOptions::reading()).unwrap();
        let mut findings = Vec::new();
        let options = permazen_jsck::Options::default();
        permazen_jsck::check(&*tx, &options, &mut |finding| findings.push(finding.to_string()))
            .unwrap();
        assert!(findings.is_empty(), "{findings:?}");
    }

    /// What was run, in a line.
    pub(crate) fn summary(&self) -> String {
        let (committed, failed) = (self.committed.len(), self.failed.len());
        let unknown = self.unknown.len();
        format!("{committed} commits acknowledged, {failed} to be retried, {unknown} unknown")
    }
}
