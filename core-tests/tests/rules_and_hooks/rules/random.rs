//! Random transactions against a model of the rules, with a failure at every operation of the
//! store: nothing is half done, and no rule is broken by what commits.

use std::collections::BTreeMap;

use permazen::kv::KvError;
use permazen::kv::fault::FaultStore;
use permazen::{Permazen, PermazenObject, Tx};
use proptest::prelude::*;

use super::*;

#[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
#[permazen(composite(name = "nameRank", fields(name, rank), unique, exclude(rank(0))))]
#[permazen(validate = Member::check)]
struct Member {
    #[permazen(indexed, unique, exclude(nulls, "x"))]
    email: Option<String>,
    name: String,
    rank: i32,
}

impl Member {
    fn check(&self) -> Result<(), &'static str> {
        if self.rank == 2 && self.email.is_none() { Err("rank 2 has an address") } else { Ok(()) }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Create(Member),
    Store(usize, Member),
    SetEmail(usize, Option<String>),
    SetRank(usize, i32),
    Delete(usize),
    /// All of it, or nothing.
    Undone(Member),
    /// The same, after a check: what that finds right may be wrong again without the change.
    UndoneAfterCheck(usize, Option<String>),
}

fn member() -> impl Strategy<Value = Member> {
    let email = prop::option::of(prop::sample::select(vec!["a", "b", "x"]));
    let name = prop::sample::select(vec!["m", "n"]);
    (email, name, 0..3i32).prop_map(|(email, name, rank)| Member {
        email: email.map(str::to_owned),
        name: name.to_owned(),
        rank,
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => member().prop_map(Step::Create),
        1 => (0..5usize, member()).prop_map(|(at, member)| Step::Store(at, member)),
        2 => (0..5usize, member()).prop_map(|(at, member)| Step::SetEmail(at, member.email)),
        2 => (0..5usize, 0..3i32).prop_map(|(at, rank)| Step::SetRank(at, rank)),
        1 => (0..5usize).prop_map(Step::Delete),
        1 => member().prop_map(Step::Undone),
        1 => (0..5usize, member()).prop_map(|(at, it)| Step::UndoneAfterCheck(at, it.email)),
    ]
}

type Members = BTreeMap<ObjId, Member>;

/// Does a step in the database, then in the model.
fn run(tx: &Tx, members: &mut Members, step: &Step) -> Result<()> {
    let nth = |at: usize| members.keys().nth(at).copied();
    match step {
        Step::Create(member) => {
            let id = tx.create(member.clone())?.id();
            members.insert(id, member.clone());
        }
        Step::Store(at, member) => {
            let Some(id) = nth(*at) else { return Ok(()) };
            tx.get::<Member>(id)?.store(member)?;
            members.insert(id, member.clone());
        }
        Step::SetEmail(at, email) => {
            let Some(id) = nth(*at) else { return Ok(()) };
            tx.get::<Member>(id)?.set_email(email.clone())?;
            members.get_mut(&id).unwrap().email = email.clone();
        }
        Step::SetRank(at, rank) => {
            let Some(id) = nth(*at) else { return Ok(()) };
            tx.get::<Member>(id)?.set_rank(*rank)?;
            members.get_mut(&id).unwrap().rank = *rank;
        }
        Step::Delete(at) => {
            let Some(id) = nth(*at) else { return Ok(()) };
            tx.get::<Member>(id)?.delete()?;
            members.remove(&id);
        }
        Step::Undone(member) => {
            undone(tx, || tx.create(member.clone()).map(drop))?;
        }
        Step::UndoneAfterCheck(at, email) => {
            let Some(id) = nth(*at) else { return Ok(()) };
            undone(tx, || {
                tx.get::<Member>(id)?.set_email(email.clone())?;
                match tx.validate() {
                    // The verdict is about a state that is undone.
                    Err(Error::Invalid(_)) => Ok(()),
                    checked => checked,
                }
            })?;
        }
    }
    Ok(())
}

/// Does a step and undoes it.
fn undone(tx: &Tx, step: impl FnOnce() -> Result<()>) -> Result<()> {
    let undone: Result<()> = tx.core().atomic(|_| {
        step()?;
        Err(Error::other("undone"))
    });
    match undone.unwrap_err() {
        Error::Other(_) => Ok(()),
        error => Err(error),
    }
}

/// Which objects break a rule.
fn wrong(members: &Members) -> Vec<ObjId> {
    let is_wrong = |(id, it): (&ObjId, &Member)| {
        let others = || members.iter().filter(|(other, _)| *other != id).map(|(_, other)| other);
        let email = it.email.is_some()
            && it.email.as_deref() != Some("x")
            && others().any(|other| other.email == it.email);
        let same = |other: &Member| (&other.name, other.rank) == (&it.name, it.rank);
        let name = it.rank != 0 && others().any(same);
        (email || name || it.check().is_err()).then_some(*id)
    };
    members.iter().filter_map(is_wrong).collect()
}

fn stored(db: &Permazen) -> Members {
    let all = db.read(|tx| {
        tx.all::<Member>()?.iter().map(|it| it.and_then(|it| Ok((it.id(), it.load()?)))).collect()
    });
    all.unwrap()
}

/// Runs one transaction. Returns what the database then contains, if all went well.
fn transact(db: &Permazen, before: &Members, steps: &[Step]) -> Result<Members> {
    let tx = db.begin()?;
    let mut members = before.clone();
    for step in steps {
        run(&tx, &mut members, step)?;
    }
    tx.commit()?;
    Ok(members)
}

/// Runs transactions, and fails the `nth` operation of the store in the last one. Returns whether
/// there was such an operation.
fn with_failure(transactions: &[Vec<Step>], nth: u64) -> bool {
    let store = FaultStore::new(MemoryStore::new());
    let faults = store.faults();
    let db = Permazen::builder(store).model::<Member>().build().unwrap();
    let mut members = Members::new();
    let (last, earlier) = transactions.split_last().unwrap();
    for steps in earlier {
        members = one(&db, &members, steps);
    }
    faults.fail_nth(nth, || KvError::Retry("planned".to_owned()));
    let result = transact(&db, &members, last);
    let failed = faults.hits() > 0;
    faults.stop();
    match result {
        Ok(after) => {
            assert_eq!(wrong(&after), []);
            assert_eq!(stored(&db), after);
        }
        Err(_) => assert_eq!(stored(&db), members),
    }
    assert!(db.check_rules().unwrap().is_clean());
    failed
}

/// Runs a transaction without failures. Returns what the database then contains.
fn one(db: &Permazen, before: &Members, steps: &[Step]) -> Members {
    let tx = db.begin().unwrap();
    let mut members = before.clone();
    for step in steps {
        run(&tx, &mut members, step).unwrap();
    }
    let expected = wrong(&members);
    match tx.commit() {
        Ok(()) => assert_eq!(expected, [], "{members:?}"),
        Err(refused) => {
            let Error::Invalid(violations) = refused.error() else { panic!("{refused}") };
            let mut objects: Vec<_> = violations.iter().map(|it| it.object).collect();
            objects.dedup();
            // Of objects that break a rule together, at least the one that changed is named.
            assert!(!objects.is_empty() && objects.iter().all(|id| expected.contains(id)));
            members = before.clone();
        }
    }
    assert_eq!(stored(db), members);
    assert!(db.check_rules().unwrap().is_clean());
    members
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_commits_breaks_no_rule(
        transactions in prop::collection::vec(prop::collection::vec(step(), 1..6), 1..8)
    ) {
        let db = database::<Member>();
        let mut members = Members::new();
        for steps in &transactions {
            members = one(&db, &members, steps);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_failure_anywhere_leaves_nothing_half_done(
        transactions in prop::collection::vec(prop::collection::vec(step(), 1..4), 1..4)
    ) {
        let mut nth = 1;
        while with_failure(&transactions, nth) {
            nth += 1;
        }
        prop_assert!(nth > 1);
    }
}
