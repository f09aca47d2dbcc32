//! `create_many` beside hooks, rules and values that fail.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use permazen::kv::memory::MemoryStore;
use permazen::model::{Change, Model, PlainData};
use permazen::{
    Error, Obj, ObjIdGenerator, Permazen, PermazenObject, Ref, Result, Tx, Validation, object,
};
use proptest::prelude::*;

use crate::creating::models::{Pairs, pairs};

/// No hook is called for these.
#[derive(PermazenObject)]
struct Job {
    #[permazen(indexed, validate = positive)]
    number: i32,
    timeout: Duration,
    after: Option<Ref<Job>>,
}

/// Of these, hooks are.
#[derive(PermazenObject)]
#[permazen(hooks)]
struct Watched {
    #[permazen(indexed)]
    number: i32,
    timeout: Duration,
    after: Option<Ref<Watched>>,
}

fn positive(number: &i32) -> std::result::Result<(), String> {
    if *number >= 0 { Ok(()) } else { Err("it is negative".to_owned()) }
}

thread_local! {
    static TOLD: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    /// The object that the hook of number 3 deletes.
    static VICTIM: Cell<Option<i32>> = const { Cell::new(None) };
}

#[permazen::hooks]
impl Watched {
    #[on_create]
    fn created(this: Obj<'_, Self>) -> Result<()> {
        TOLD.with_borrow_mut(|told| told.push(format!("created {}", this.id())));
        Ok(())
    }

    #[on_change(fields(number))]
    fn numbered(this: Obj<'_, Self>, _: &Change<'_, Self>) -> Result<()> {
        let number = this.number()?;
        TOLD.with_borrow_mut(|told| told.push(format!("numbered {number}")));
        match (number, VICTIM.get()) {
            (REFUSED, _) => Err(Error::other("refused by the hook")),
            (3, Some(victim)) => {
                let victim = this.tx().index(Self::NUMBER)?.get(victim)?.first()?;
                victim.map_or(Ok(()), |victim| victim.delete().map(drop))
            }
            _ => Ok(()),
        }
    }
}

const REFUSED: i32 = 99;

/// The mistake in a value.
#[derive(Debug, Clone, Copy)]
enum Fault {
    No,
    /// It refers to an object that is gone.
    Missing,
    /// A duration that Java has no room for.
    TooLong,
    /// A hook refuses it.
    Refused,
}

fn fault() -> impl Strategy<Value = Fault> {
    use Fault::{Missing, No, Refused, TooLong};
    prop_oneof![4 => Just(No), 1 => Just(Missing), 1 => Just(TooLong), 1 => Just(Refused)]
}

type Make<M> = fn(i32, Duration, Option<Ref<M>>) -> M;

fn job(number: i32, timeout: Duration, after: Option<Ref<Job>>) -> Job {
    Job { number, timeout, after }
}

fn watched(number: i32, timeout: Duration, after: Option<Ref<Watched>>) -> Watched {
    Watched { number, timeout, after }
}

fn database() -> (Arc<MemoryStore>, Permazen) {
    let store = Arc::new(MemoryStore::new());
    let db = Permazen::builder_shared(store.clone()).model::<Job>().model::<Watched>();
    (store, db.build().unwrap())
}

/// The error, the events that hooks got, and the content of the store after a commit.
type Outcome = (Option<String>, Vec<String>, Pairs);

/// Objects with these faults, all or none.
fn outcome<M: Model + PlainData<M>>(
    faults: &[Fault],
    make: Make<M>,
    create: impl Fn(&Tx, &[M]) -> Result<()>,
) -> Outcome {
    let (store, db) = database();
    db.database().set_id_generator(ObjIdGenerator::from_seed(5));
    let tx = db.begin().unwrap();
    let gone = tx.create(make(-1, Duration::ZERO, None)).unwrap();
    let missing = Ref::from(gone);
    gone.delete().unwrap();
    TOLD.take();
    let value = |(number, fault): (i32, &Fault)| match fault {
        Fault::No => make(number, Duration::from_secs(1), None),
        Fault::Missing => make(number, Duration::ZERO, Some(missing)),
        Fault::TooLong => make(number, Duration::MAX, None),
        Fault::Refused => make(REFUSED, Duration::ZERO, None),
    };
    let values: Vec<M> = (0..).zip(faults).map(value).collect();
    let error = tx.core().atomic(|_| create(&tx, &values)).err().map(|error| error.to_string());
    tx.commit().unwrap();
    (error, TOLD.take(), pairs(&*store))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn the_first_error_is_that_of_one_after_the_other(
        faults in proptest::collection::vec(fault(), 0..8),
    ) {
        let at_once = outcome(&faults, job, |tx, jobs| tx.create_many(jobs).map(drop));
        let singly = outcome(&faults, job, |tx, jobs| {
            jobs.iter().try_for_each(|job| tx.create(job).map(drop))
        });
        prop_assert_eq!(at_once, singly);
        let at_once = outcome(&faults, watched, |tx, jobs| tx.create_many(jobs).map(drop));
        let singly = outcome(&faults, watched, |tx, jobs| {
            jobs.iter().try_for_each(|job| tx.create(job).map(drop))
        });
        prop_assert_eq!(at_once, singly);
    }
}

#[test]
fn an_error_of_a_value_leaves_what_was_there_before() {
    let (store, db) = database();
    db.write(|tx| tx.create(job(1, Duration::ZERO, None)).map(drop)).unwrap();
    let before = pairs(&*store);
    let tx = db.begin().unwrap();
    let jobs = [Duration::ZERO, Duration::MAX].map(|timeout| job(2, timeout, None));
    let error = tx.create_many(&jobs).unwrap_err();
    assert!(matches!(error, Error::Encode { .. }), "{error}");
    tx.commit().unwrap();
    assert_eq!(pairs(&*store), before);
}

#[test]
fn a_hook_that_deletes_another_one_of_them_fails_the_call() {
    let values = || [1, 2, 3, 4].map(|number| watched(number, Duration::ZERO, None));
    let (store, db) = database();
    let before = pairs(&*store);
    VICTIM.set(Some(1));
    let tx = db.begin().unwrap();
    let error = tx.create_many(values()).unwrap_err();
    assert!(
        matches!(error, Error::Object(object::Error::DeletedObject { .. })),
        "the caller would get a handle of an object that is gone: {error}"
    );
    tx.commit().unwrap();
    assert_eq!(pairs(&*store), before);
    // One after the other, each is there when its own creation ends.
    db.write(|tx| values().iter().try_for_each(|value| tx.create(value).map(drop))).unwrap();
    let left = db.read(|tx| {
        let all = tx.all::<Watched>()?;
        all.iter().map(|it| it?.number()).collect::<Result<std::collections::BTreeSet<_>>>()
    });
    assert_eq!(left.unwrap(), [2, 3, 4].into());
    VICTIM.set(None);
}

#[test]
fn early_rules_are_checked_after_the_last_object() {
    let (store, db) = database();
    let before = pairs(&*store);
    let tx = db.begin().unwrap();
    tx.set_validation(Validation::Early).unwrap();
    let gone = tx.create(job(1, Duration::ZERO, None)).unwrap();
    let missing = Ref::from(gone);
    gone.delete().unwrap();
    let negative = || job(-1, Duration::ZERO, None);
    let error = tx.create_many([negative(), job(1, Duration::ZERO, Some(missing))]).unwrap_err();
    assert!(matches!(error, Error::Object(object::Error::DeletedObject { .. })), "{error}");
    let error = tx.create_many([negative(), job(1, Duration::ZERO, None)]).unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error}");
    // The values up to one that no field can hold are created together too.
    let error = tx.create_many([negative(), job(1, Duration::MAX, None)]).unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error}");
    tx.commit().unwrap();
    assert_eq!(pairs(&*store), before);
}
