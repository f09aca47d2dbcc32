//! A function of a model can get an error of the library, for example because another object is of
//! another version of the program. That is no verdict of the function: the error stays what it is.

mod plain_functions;

use std::cell::Cell;
use std::error::Error as StdError;
use std::fmt;
use std::sync::{Arc, LazyLock};

use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::kv::{KvDatabase, KvError};
use permazen::model::{Builder, Rule};
use permazen::{
    CommitError, Counter, Error, Obj, ObjId, Permazen, PermazenObject, Ref, Result, Tx, Validation,
};

use crate::support::violations;

/// The program of another version. Each type has one object, which `now` cannot use.
mod before {
    use permazen::PermazenObject;

    #[derive(PermazenObject)]
    pub(super) struct Large {
        pub(super) size: i64,
        pub(super) title: String,
    }

    #[derive(PermazenObject)]
    pub(super) struct Lacking {
        pub(super) age: i32,
    }

    #[derive(PermazenObject)]
    pub(super) struct Ranked {
        pub(super) rank: String,
    }

    #[derive(PermazenObject)]
    pub(super) struct Listed {
        pub(super) name: String,
    }
}

mod now {
    use permazen::{Error, OldValues, PermazenObject, Result};

    #[derive(PermazenObject)]
    #[permazen(validate = any)]
    pub(super) struct Large {
        /// The stored value is larger.
        pub(super) size: i32,
        pub(super) title: String,
    }

    fn any(_: &Large) -> Result<(), String> {
        Ok(())
    }

    #[derive(PermazenObject)]
    pub(super) struct Lacking {
        pub(super) age: i32,
        pub(super) name: String,
    }

    #[derive(PermazenObject)]
    pub(super) struct Ranked {
        #[permazen(upgrade_with = ranked)]
        pub(super) rank: i32,
    }

    fn ranked(_: &OldValues<'_>) -> Result<i32> {
        Err(Error::other("no rank"))
    }

    #[derive(PermazenObject)]
    pub(super) struct Listed {
        #[permazen(indexed)]
        pub(super) name: String,
    }
}

/// The failure of a function.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    Refused,
    Missing,
    Upgrade,
    PartialIndex,
    /// Once, then no more.
    Retry,
    /// The same: another transaction has changed objects that this one has read.
    Conflict,
    Stale,
    OutcomeUnknown,
    /// The function says no itself.
    Verdict,
}

const OF_VERSIONS: [Fault; 4] =
    [Fault::Refused, Fault::Missing, Fault::Upgrade, Fault::PartialIndex];

impl Fault {
    fn happen(self, tx: &Tx) -> Result<()> {
        match self {
            Fault::Refused => {
                tx.all::<now::Large>()?.first()?.map(|it| it.size()).transpose().map(drop)
            }
            Fault::Missing => {
                tx.all::<now::Lacking>()?.first()?.map(|it| it.name()).transpose().map(drop)
            }
            Fault::Upgrade => {
                tx.all::<now::Ranked>()?.first()?.map(|it| it.rank()).transpose().map(drop)
            }
            Fault::PartialIndex => tx.index(now::Listed::NAME)?.get("x")?.count().map(drop),
            Fault::Retry => {
                PLAN.set(None);
                Err(KvError::Retry("on purpose".into()).into())
            }
            Fault::Conflict => Ok(note_in_another_database()?),
            Fault::Stale => Err(KvError::Stale("on purpose".into()).into()),
            Fault::OutcomeUnknown => Err(KvError::OutcomeUnknown("on purpose".into()).into()),
            Fault::Verdict => Err(Error::other("no")),
        }
    }

    /// Whether an error is still that of the library.
    fn is(self, error: &Error) -> bool {
        let mut causes = error.causes();
        match self {
            Fault::Retry | Fault::Conflict | Fault::Stale | Fault::OutcomeUnknown => {
                causes.any(|it| it.is::<KvError>())
            }
            _ => causes.filter_map(|it| it.downcast_ref::<Error>()).any(|it| match self {
                Fault::Refused => matches!(it, Error::Refused(_)),
                Fault::Missing => matches!(it, Error::Missing { is_null: false, .. }),
                Fault::Upgrade => matches!(it, Error::Upgrade { .. }),
                Fault::PartialIndex => matches!(it, Error::PartialIndex { missing: 1, .. }),
                _ => false,
            }),
        }
    }
}

#[derive(PermazenObject, Default)]
#[permazen(singleton)]
struct Audit {
    notes: i32,
}

/// A database of its own, in which a function counts its calls.
static AUDIT: LazyLock<Permazen> = LazyLock::new(|| {
    let store = OptimisticDatabase::new(MemoryStore::new());
    let db = Permazen::builder(store).model::<Audit>().build().unwrap();
    db.write(|tx| tx.singleton::<Audit>().map(drop)).unwrap();
    db
});

/// Conflicts with another transaction, once.
fn note_in_another_database() -> Result<(), CommitError> {
    let tx = AUDIT.begin().unwrap();
    let audit = tx.singleton::<Audit>().unwrap();
    let notes = audit.notes().unwrap();
    PLAN.set(None);
    AUDIT.write(|tx| tx.singleton::<Audit>()?.set_notes(notes + 10)).unwrap();
    audit.set_notes(notes + 1).unwrap();
    tx.commit()
}

/// An error type of the program.
#[derive(Debug)]
struct Own(Error);

impl fmt::Display for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing was found out")
    }
}

impl StdError for Own {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}

/// How a function returns an error of the library.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    AsItIs,
    /// As the source of an error of the program.
    InOwn,
    /// The same, in `Error::other`.
    InOther,
}

const WAYS: [Way; 3] = [Way::AsItIs, Way::InOwn, Way::InOther];

type Boxed = Box<dyn StdError + Send + Sync>;

impl Way {
    fn returned(self, error: Error) -> Boxed {
        match self {
            Way::AsItIs => error.into(),
            Way::InOwn => Own(error).into(),
            Way::InOther => Error::other(Own(error)).into(),
        }
    }
}

/// Which function fails.
#[derive(Debug, Clone, Copy, PartialEq)]
enum At {
    Rule,
    RuleWithAnyhow,
    Creation,
    Change,
    ChangeWithAnyhow,
    Deletion,
    Observer,
}

const RULES: &[At] = &[At::Rule, At::RuleWithAnyhow];
const HOOKS: &[At] = &[At::Creation, At::Change, At::ChangeWithAnyhow, At::Deletion, At::Observer];

thread_local! {
    static PLAN: Cell<Option<(At, Fault, Way)>> = const { Cell::new(None) };
}

/// Fails if that is planned for this function.
fn call(at: At, tx: &Tx) -> Result<(), Boxed> {
    match PLAN.get() {
        Some((planned, fault, way)) if planned == at => {
            fault.happen(tx).map_err(|error| way.returned(error))
        }
        _ => Ok(()),
    }
}

fn call_with_anyhow(at: At, tx: &Tx) -> anyhow::Result<()> {
    use anyhow::Context;

    match PLAN.get() {
        Some((planned, fault, way)) if planned == at => match way {
            Way::AsItIs => Ok(fault.happen(tx)?),
            Way::InOwn => Ok(fault.happen(tx).map_err(Own)?),
            Way::InOther => fault.happen(tx).context("nothing was found out"),
        },
        _ => Ok(()),
    }
}

#[derive(PermazenObject, Default)]
#[permazen(hooks, storage_id = 1000)]
struct Player {
    name: String,
}

#[permazen::hooks]
impl Player {
    #[on_validate]
    fn rule(this: Obj<'_, Self>) -> Result<(), Boxed> {
        call(At::Rule, this.tx())
    }

    #[on_validate]
    fn rule_with_anyhow(this: Obj<'_, Self>) -> anyhow::Result<()> {
        call_with_anyhow(At::RuleWithAnyhow, this.tx())
    }

    #[on_create]
    fn created(this: Obj<'_, Self>) -> Result<(), Boxed> {
        call(At::Creation, this.tx())
    }

    #[on_change]
    fn changed(this: Obj<'_, Self>) -> Result<(), Boxed> {
        call(At::Change, this.tx())
    }

    #[on_change(fields(name))]
    fn changed_with_anyhow(this: Obj<'_, Self>) -> anyhow::Result<()> {
        call_with_anyhow(At::ChangeWithAnyhow, this.tx())
    }

    #[on_delete]
    fn goes(this: Obj<'_, Self>) -> Result<(), Boxed> {
        call(At::Deletion, this.tx())
    }
}

/// An object whose check is after those of players, and moves the values that other versions have
/// stored.
#[derive(PermazenObject, Default)]
#[permazen(hooks, storage_id = 2000)]
struct Mender {
    count: Counter,
}

#[permazen::hooks]
impl Mender {
    #[on_validate]
    fn move_all(this: Obj<'_, Self>) -> Result<()> {
        for listed in this.tx().all::<now::Listed>()?.iter() {
            listed?.migrate()?;
        }
        Ok(())
    }
}

/// A store in which the program of another version has stored an object of each type. Also returns
/// the ID of the one that has a value that is too large.
fn stored() -> (Arc<dyn KvDatabase>, ObjId) {
    let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let builder = Permazen::builder_shared(Arc::clone(&store));
    let builder = builder.model::<before::Large>().model::<before::Lacking>();
    let db = builder.model::<before::Ranked>().model::<before::Listed>().build().unwrap();
    let large = db.write(|tx| {
        tx.create(before::Lacking { age: 1 })?;
        tx.create(before::Ranked { rank: "first".into() })?;
        tx.create(before::Listed { name: "x".into() })?;
        Ok(tx.create(before::Large { size: 5_000_000_000, title: "x".into() })?.id())
    });
    (store, large.unwrap())
}

fn program(store: &Arc<dyn KvDatabase>) -> Builder {
    let builder = Permazen::builder_shared(Arc::clone(store));
    let builder = builder.model::<now::Large>().model::<now::Lacking>().model::<now::Ranked>();
    builder.model::<now::Listed>().model::<Player>().model::<Mender>()
}

fn open() -> Permazen {
    let db = program(&stored().0).build().unwrap();
    db.observe(Player::NAME, |player, _| match call(At::Observer, player.tx()) {
        Ok(()) => Ok(()),
        Err(error) => Err(Error::other(error)),
    })
    .unwrap();
    db
}

fn player() -> Player {
    Player { name: "Ann".into() }
}

/// Lets each of these functions fail in each way.
fn each(functions: &[At], faults: &[Fault], test: impl Fn(At, Fault, &str)) {
    for &at in functions {
        for &fault in faults {
            for way in WAYS {
                PLAN.set(Some((at, fault, way)));
                test(at, fault, &format!("{fault:?} {way:?} at {at:?}"));
                PLAN.set(None);
            }
        }
    }
}

/// The error of a hook or rule, and not a violation.
#[track_caller]
fn is_of_hook(error: &Error, fault: Fault, what: &str) {
    let Error::Hook { hook, .. } = error else { panic!("{what}: {error:?}") };
    assert!(hook.starts_with("Player::") || hook.starts_with("observer of"), "{what}: {hook}");
    assert!(fault.is(error), "{what}: {error:?}");
    assert_eq!(error.is_about_versions(), OF_VERSIONS.contains(&fault), "{what}");
}

#[test]
fn what_a_rule_cannot_read_of_another_version_is_no_violation() {
    each(RULES, &OF_VERSIONS, |_, fault, what| {
        let db = open();
        let mut calls = 0;
        let refused = db.write(|tx| {
            calls += 1;
            tx.create(player()).map(drop)
        });
        is_of_hook(&refused.unwrap_err(), fault, what);
        assert_eq!(calls, 1, "{what}: running it again has the same result");
        // The transaction can mend it, and so it comes back.
        let tx = db.begin().unwrap();
        tx.create(player()).unwrap();
        is_of_hook(&tx.validate().unwrap_err(), fault, what);
        let refused = tx.commit().unwrap_err();
        is_of_hook(refused.error(), fault, what);
        assert!(!refused.is_retryable() && !refused.is_outcome_unknown(), "{what}");
        let tx = refused.into_transaction().unwrap();
        PLAN.set(None);
        tx.commit().unwrap();
        assert_eq!(db.read(|tx| tx.all::<Player>()?.count()).unwrap(), 1, "{what}");
    });
}

#[test]
fn what_a_rule_cannot_read_of_another_version_undoes_an_operation_that_is_checked_early() {
    each(RULES, &OF_VERSIONS, |_, fault, what| {
        let db = open();
        db.write(|tx| {
            tx.set_validation(Validation::Early)?;
            is_of_hook(&tx.create(player()).map(drop).unwrap_err(), fault, what);
            assert!(tx.all::<Player>()?.is_empty()?, "{what}");
            PLAN.set(None);
            tx.create(player()).map(drop)
        })
        .unwrap();
    });
}

#[test]
fn what_another_rule_of_the_same_check_mends_is_no_error() {
    each(RULES, &[Fault::PartialIndex], |_, _, what| {
        let db = open();
        let done = db.write(|tx| {
            tx.create(player())?;
            tx.create(Mender::default()).map(drop)
        });
        assert!(done.is_ok(), "{what}: {done:?}");
    });
}

#[test]
fn a_rule_that_says_no_itself_is_broken() {
    each(RULES, &[Fault::Verdict], |_, _, what| {
        let refused = violations(open().write(|tx| tx.create(player()).map(drop)));
        let [violation] = refused.iter().as_slice() else { panic!("{what}: {refused}") };
        assert!(violation.cause.is_none() && violation.message.is_some(), "{what}: {violation}");
    });
}

#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Named {
    name: String,
    friend: Option<Ref<Named>>,
}

#[permazen::hooks]
impl Named {
    #[on_validate]
    fn read(this: Obj<'_, Self>) -> Result<()> {
        this.name()?;
        this.friend()?.map(|friend| friend.name()).transpose().map(drop)
    }
}

/// The transaction itself has left the value out, so its user can help it.
#[test]
fn a_required_value_that_a_rule_misses_is_the_violation() {
    let db = Permazen::builder(MemoryStore::new()).model::<Named>().build().unwrap();
    let refused = violations(db.write(|tx| {
        let friend = Some(tx.create_default::<Named>()?.to_ref());
        tx.create(Named { name: "Ann".into(), friend }).map(drop)
    }));
    let [violation] = refused.iter().as_slice() else { panic!("{refused}") };
    assert_eq!((&*violation.path, violation.rule), ("Named.name", Rule::Required));
}

#[test]
fn an_error_of_the_store_in_a_rule_is_no_violation() {
    each(RULES, &[Fault::Stale, Fault::OutcomeUnknown], |_, fault, what| {
        let db = open();
        let tx = db.begin().unwrap();
        tx.create(player()).unwrap();
        let refused = tx.commit().unwrap_err();
        is_of_hook(refused.error(), fault, what);
        assert_eq!(refused.is_outcome_unknown(), fault == Fault::OutcomeUnknown, "{what}");
        assert!(refused.into_transaction().is_none(), "{what}");
    });
}

#[test]
fn a_transaction_whose_rule_or_hook_meets_what_may_pass_runs_again() {
    let all = [RULES, HOOKS].concat();
    each(&all, &[Fault::Retry, Fault::Conflict], |at, _, what| {
        let db = open();
        let mut calls = 0;
        let done = db.write(|tx| {
            calls += 1;
            let player = tx.create(player())?;
            if at == At::Deletion { player.delete().map(drop) } else { Ok(()) }
        });
        assert!(done.is_ok(), "{what}: {done:?}");
        assert_eq!(calls, 2, "{what}");
    });
}

#[test]
fn what_a_hook_cannot_read_of_another_version_is_still_that_error() {
    each(HOOKS, &OF_VERSIONS, |at, fault, what| {
        open()
            .write(|tx| {
                let failed = match at {
                    At::Deletion => {
                        let player = tx.create(player())?;
                        player.delete().map(drop)
                    }
                    _ => tx.create(player()).map(drop),
                };
                let error = failed.unwrap_err();
                is_of_hook(&error, fault, what);
                assert!(!error.is_retryable(), "{what}");
                Ok(())
            })
            .unwrap();
    });
}

#[test]
fn a_check_of_everything_lists_what_a_rule_cannot_read_with_the_cause() {
    each(RULES, &OF_VERSIONS, |at, fault, what| {
        let plan = PLAN.take();
        let db = open();
        let players: Vec<ObjId> = db
            .write(|tx| (0..2).map(|_| Ok(tx.create(player())?.id())).collect::<Result<_>>())
            .unwrap();
        PLAN.set(plan);
        let report = db.check_rules().unwrap();
        let found: Vec<_> =
            report.violations.iter().filter(|it| players.contains(&it.object)).collect();
        assert_eq!(found.len(), 2, "{what}: {report}");
        let rule = if at == At::Rule { "Player::rule" } else { "Player::rule_with_anyhow" };
        for violation in found {
            assert_eq!((&*violation.path, violation.rule), (rule, Rule::Valid), "{what}");
            let cause = violation.cause.as_deref().unwrap();
            assert!(fault.is(cause) && violation.message.is_none(), "{what}: {violation:?}");
            let start = format!("{rule} of object {} cannot be checked: ", violation.object);
            assert!(violation.to_string().starts_with(&start), "{what}: {violation}");
            let named = violation.to_string().matches("Player::").count();
            assert_eq!(named, 1, "{what}: {violation}");
        }
    });
}

#[test]
fn a_check_of_everything_ends_with_an_error_of_the_store_in_a_rule() {
    each(RULES, &[Fault::Stale, Fault::Retry], |_, fault, what| {
        let plan = PLAN.take();
        let db = open();
        db.write(|tx| tx.create(player()).map(drop)).unwrap();
        PLAN.set(plan);
        let mut found = 0;
        let error = db.check_rules_with(|violation| {
            found += usize::from(violation.path.starts_with("Player"));
            std::ops::ControlFlow::Continue(())
        });
        let error = error.unwrap_err();
        assert!(fault.is(&error) && found == 0, "{what}: {error}");
        assert_eq!(error.is_retryable(), fault == Fault::Retry, "{what}");
    });
}
