//! Objects on a store that several programs use at the same time: the same tests for each server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use permazen::kv::{KvDatabase, TxOptions};
use permazen::{Counter, Permazen, PermazenObject, Ref};

#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
struct Account {
    #[permazen(indexed, unique)]
    name: String,
    #[permazen(indexed)]
    balance: i64,
    tags: Vec<String>,
    transfers: Counter,
}

#[derive(PermazenObject, Debug, Clone)]
struct Note {
    #[permazen(inverse_delete = "delete")]
    account: Ref<Account>,
    #[permazen(indexed)]
    text: String,
}

/// A program of its own: nothing is shared with the others.
fn program<S: KvDatabase + Clone + 'static>(open: impl Fn() -> S) -> (S, Permazen) {
    let store = open();
    let builder = Permazen::builder(store.clone()).model::<Account>().model::<Note>();
    // On so few objects, all are in the way of all.
    let retry = permazen::kv::Retry { times: 1_000, ..permazen::kv::Retry::default() };
    (store, builder.retry(retry).build().unwrap())
}

fn check(store: &dyn KvDatabase) {
    let tx = store.begin(&TxOptions::reading()).unwrap();
    let mut findings = Vec::new();
    let options = permazen_jsck::Options::default();
    permazen_jsck::check(&*tx, &options, &mut |finding| findings.push(finding.to_string()))
        .unwrap();
    assert!(findings.is_empty(), "{findings:?}");
}

/// Two programs use one new database of objects. Each call of `open` opens the same store.
///
/// # Panics
/// If something is not as in any other store.
pub fn one_after_the_other<S: KvDatabase + Clone + 'static>(open: impl Fn() -> S) {
    let (store, db) = program(&open);
    let ann = db
        .write(|tx| {
            let tags = vec!["a".to_owned(), "b".to_owned()];
            let ann =
                tx.create(Account { name: "Ann".into(), balance: 5, tags, ..<_>::default() })?;
            for number in 0..300 {
                tx.create(Note { account: ann.to_ref(), text: format!("note {number:03}") })?;
            }
            Ok(ann.to_ref())
        })
        .unwrap();
    check(&store);
    // Another program sees it, and changes it.
    let (other_store, other) = program(&open);
    other
        .write(|tx| {
            let account = tx.get(ann)?;
            assert_eq!(account.load()?.tags, ["a", "b"]);
            account.tags()?.insert(0, "first")?;
            account.transfers().add(3)?;
            let notes =
                tx.index(Note::TEXT)?.range("note 100".to_owned().."note 103".to_owned())?;
            assert_eq!(notes.iter().count(), 3);
            Ok(())
        })
        .unwrap();
    let loaded = db.read(|tx| tx.get(ann)?.load()).unwrap();
    assert_eq!((loaded.tags.len(), &loaded.tags[0][..]), (3, "first"));
    assert_eq!(db.read(|tx| tx.get(ann)?.transfers().get()).unwrap(), 3);
    // A second account of that name is refused, and nothing is left of it.
    let twice =
        other.write(|tx| tx.create(Account { name: "Ann".into(), ..<_>::default() }).map(drop));
    assert!(twice.is_err() && !twice.unwrap_err().is_retryable());
    assert_eq!(db.read(|tx| tx.all::<Account>()?.count()).unwrap(), 1);
    assert!(db.write(|tx| tx.get(ann)?.delete().map(drop)).is_ok());
    assert_eq!(db.read(|tx| tx.all::<Note>()?.count()).unwrap(), 0);
    check(&other_store);
}

/// Four programs transfer between accounts of one new database, while a reader checks the sum. Each
/// call of `open` opens the same store.
///
/// # Panics
/// If something was lost.
pub fn side_by_side<S: KvDatabase + Clone + 'static>(open: impl Fn() -> S + Sync) {
    let (store, db) = program(&open);
    let accounts: Vec<Ref<Account>> = db
        .write(|tx| {
            let account =
                |number| Account { name: format!("{number}"), balance: 100, ..<_>::default() };
            (0..20).map(|number| Ok(tx.create(account(number))?.to_ref())).collect()
        })
        .unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..4_usize)
            .map(|worker| {
                let (open, accounts) = (&open, &accounts);
                scope.spawn(move || {
                    let (_, db) = program(open);
                    for round in 0..25_usize {
                        let (from, to) =
                            (accounts[(worker * 7 + round) % 20], accounts[(round * 3) % 20]);
                        db.write(|tx| {
                            let (from, to) = (tx.get(from)?, tx.get(to)?);
                            from.set_balance(from.balance()? - 1)?;
                            to.set_balance(to.balance()? + 1)?;
                            to.transfers().add(1)?;
                            let text = format!("{worker} {round}");
                            tx.create(Note { account: to.to_ref(), text })?;
                            Ok(())
                        })
                        .unwrap();
                    }
                })
            })
            .collect();
        // A reader always finds the same sum.
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let sum = db.read(|tx| {
                    let mut sum = 0;
                    for account in &tx.all::<Account>()? {
                        sum += account?.balance()?;
                    }
                    Ok(sum)
                });
                assert_eq!(sum.unwrap(), 2_000);
            }
        });
        let results: Vec<_> = workers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::Relaxed);
        results.into_iter().for_each(|result| result.unwrap());
    });
    let (notes, transfers) = db
        .read(|tx| {
            let mut transfers = 0;
            for account in &accounts {
                transfers += tx.get(*account)?.transfers().get()?;
            }
            Ok((tx.all::<Note>()?.count()?, transfers))
        })
        .unwrap();
    assert_eq!((notes, transfers), (100, 100));
    check(&store);
}

/// Known references are asked for 64 at a time, in transactions that read and that write. Each call
/// of `open` opens the same new store; it is used by nothing else.
///
/// # Panics
/// If that takes more requests, or something is not loaded as it is.
pub fn known_references_are_asked_for_together<S: KvDatabase + Clone + 'static>(
    open: impl Fn() -> S,
) {
    let (store, db) = program(&open);
    let people = db
        .write(|tx| {
            let create = |number: i64| {
                let (name, tags) = (format!("p{number:03}"), vec!["a".to_owned()]);
                let account = Account { name, balance: number, tags, ..<_>::default() };
                Ok(tx.create(account)?.to_ref())
            };
            (0..200).map(create).collect::<permazen::Result<Vec<_>>>()
        })
        .unwrap();
    // Not in their order, and one of them twice.
    let wanted: Vec<Ref<Account>> =
        (0..130).map(|at| people[at * 7 % 200]).chain([people[0]]).collect();
    let names: Vec<String> =
        (0..130).map(|at| format!("p{:03}", at * 7 % 200)).chain(["p000".to_owned()]).collect();
    let requests = || store.counters().requests.unwrap();
    // How many requests a closure makes in a transaction that reads, and in one that writes, from
    // when it has begun to its end.
    let both = |body: &dyn Fn(&permazen::Tx) -> permazen::Result<()>| {
        let count = std::cell::Cell::new(0);
        let counted = |tx: &permazen::Tx| {
            let before = requests();
            body(tx)?;
            count.set(requests() - before);
            Ok(())
        };
        db.read(counted).unwrap();
        let reading = count.get();
        db.write(counted).unwrap();
        [reading, count.get()]
    };
    let loaded = both(&|tx| {
        let all: Vec<Account> = tx.load_all(&wanted)?;
        assert!(all.iter().map(|account| &account.name).eq(&names));
        assert!(all.iter().all(|account| account.tags == ["a"]));
        Ok(())
    });
    assert_eq!(loaded, [3, 3]);
    let used = both(&|tx| {
        tx.prefetch(&wanted)?;
        for (account, name) in wanted.iter().zip(&names) {
            let account = tx.get(*account)?;
            assert_eq!((account.name()?, account.load()?.tags), (name.clone(), vec!["a".into()]));
        }
        // Known objects are not requested again.
        tx.prefetch(&wanted)
    });
    assert_eq!(used, [3, 3]);
    // One by one, each is a round trip.
    let singly = both(&|tx| wanted[..20].iter().try_for_each(|it| tx.get(*it)?.load().map(drop)));
    assert_eq!(singly, [20, 20]);
}
