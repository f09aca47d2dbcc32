//! Hooks that check objects when the rules are checked.

use std::ops::ControlFlow;

use permazen::kv::KvError;
use permazen::kv::fault::FaultStore;
use permazen::kv::memory::MemoryStore;
use permazen::{Error, Obj, Permazen, PermazenFields, PermazenObject, Ref, Result, Tx, Validation};

use crate::hooks::{assert_log, builder, log};
use crate::support::{messages, violations};

#[derive(PermazenFields, Default, Clone)]
struct Limited {
    limit: i32,
}

/// The parts of a total are at most its limit.
#[derive(PermazenObject, Default, Clone)]
#[permazen(hooks)]
struct Total {
    #[permazen(flatten)]
    limited: Limited,
    sum: i32,
    note: String,
    hits: permazen::Counter,
}

#[derive(PermazenObject, Default, Clone)]
#[permazen(hooks)]
struct Item {
    #[permazen(indexed)]
    total: Option<Ref<Total>>,
    size: i32,
}

#[permazen::hooks]
impl Total {
    #[on_validate(fields(limited.limit, sum))]
    fn within_limit(this: Obj<'_, Self>) -> Result<(), String> {
        log("limit");
        let (sum, limit) = (this.sum().unwrap(), this.limit().unwrap());
        if sum > limit { Err(format!("{sum} of {limit}")) } else { Ok(()) }
    }

    #[on_validate(fields(sum, hits))]
    fn sum_is_right(this: Obj<'_, Self>) -> Result<()> {
        let mut sum = 0;
        for item in this.tx().index(Item::TOTAL)?.get(this)?.iter() {
            sum += item?.size()?;
        }
        if sum == this.sum()? { Ok(()) } else { Err(Error::other(format!("sum is {sum}"))) }
    }

    #[on_validate]
    fn has_note(this: Obj<'_, Self>) -> Result<(), &'static str> {
        log("note");
        if this.note().unwrap().is_empty() { Err("no note") } else { Ok(()) }
    }
}

#[permazen::hooks]
impl Item {
    /// Keeps the sum of the total right.
    #[on_validate]
    fn add_up(this: Obj<'_, Self>) -> Result<()> {
        let Some(total) = this.total()? else { return Ok(()) };
        let mut sum = 0;
        for item in this.tx().index(Item::TOTAL)?.get(total)?.iter() {
            sum += item?.size()?;
        }
        total.set_sum(sum)?;
        if this.size()? < 0 { Err(Error::other("negative")) } else { Ok(()) }
    }
}

fn database(validation: Validation) -> Permazen {
    builder().model::<Total>().model::<Item>().validation(validation).build().unwrap()
}

fn total(limit: i32, sum: i32) -> Total {
    Total { limited: Limited { limit }, sum, note: "x".into(), ..Total::default() }
}

#[test]
fn all_that_hooks_find_wrong_is_in_one_error() {
    let db = database(Validation::AtCommit);
    let mut ids = Vec::new();
    let refused = violations(db.write(|tx| {
        let first = tx.create(Total { note: String::new(), ..total(3, 5) })?;
        ids = vec![first.id(), tx.create(total(3, 4))?.id()];
        Ok(())
    }));
    let all: Vec<_> = refused.iter().map(|it| it.object).collect();
    ids.sort_unstable();
    assert_eq!(refused.len(), 5);
    assert!(all.iter().all(|id| ids.contains(id)), "{refused}");
    let mut messages = messages(&refused);
    messages.sort_unstable();
    assert_eq!(
        messages,
        [
            ("Total::has_note", "no note"),
            ("Total::sum_is_right", "sum is 0"),
            ("Total::sum_is_right", "sum is 0"),
            ("Total::within_limit", "4 of 3"),
            ("Total::within_limit", "5 of 3"),
        ]
    );
    let text = refused.to_string();
    assert!(text.contains("Total::has_note of object "), "{text}");
    assert_eq!(db.read(|tx| tx.all::<Total>()?.count()).unwrap(), 0);
}

#[test]
fn a_hook_is_called_if_one_of_its_fields_has_changed() {
    let db = database(Validation::AtCommit);
    let id = db.write(|tx| Ok(tx.create(total(9, 0))?.to_ref())).unwrap();
    assert_log(["limit", "note"]);
    db.write(|tx| tx.get(id)?.set_note("y")).unwrap();
    assert_log(["note"]);
    db.write(|tx| tx.get(id)?.set_limit(8)).unwrap();
    assert_log(["limit", "note"]);
    db.write(|tx| tx.get(id)?.hits().add(1)).unwrap();
    assert_log(["note"]);
    db.write(|tx| tx.get(id)?.revalidate()).unwrap();
    assert_log(["limit", "note"]);
    db.write(|tx| {
        let total = tx.get(id)?;
        total.set_limit(7)?;
        tx.validate()?;
        assert_log(["limit", "note"]);
        tx.validate()?;
        total.delete().map(drop)
    })
    .unwrap();
    assert_log([]);
}

/// Changes by a hook are checked too, and objects that broke rules before are checked again.
#[test]
fn hooks_may_change_objects() {
    let db = database(Validation::AtCommit);
    let totals = db.write(|tx| {
        // Wrong until the hook of the items has set the sum.
        let totals = [tx.create(total(10, 1))?, tx.create(total(10, 1))?];
        for total in totals {
            tx.create(Item { total: Some(total.to_ref()), size: 4 })?;
        }
        Ok(totals.map(|total| total.to_ref()))
    });
    let [first, second] = totals.unwrap();
    db.read(|tx| {
        assert_eq!((tx.get(first)?.sum()?, tx.get(second)?.sum()?), (4, 4));
        Ok(())
    })
    .unwrap();
    let refused = violations(
        db.write(|tx| tx.create(Item { total: Some(first), size: 7 }).map(|item| item.id())),
    );
    assert_eq!(messages(&refused), [("Total::within_limit", "11 of 10")]);
    assert_eq!(db.read(|tx| tx.get(first)?.sum()).unwrap(), 4);
}

/// A hook that finds something wrong has changed nothing.
#[test]
fn what_a_hook_has_done_that_fails_is_undone() {
    let db = database(Validation::AtCommit);
    let first = db.write(|tx| Ok(tx.create(total(10, 0))?.to_ref())).unwrap();
    let tx = db.begin().unwrap();
    let item = tx.create(Item { total: Some(first), size: -1 }).unwrap().to_ref();
    let refused = tx.commit().unwrap_err();
    let Error::Invalid(found) = refused.error() else { panic!("{refused}") };
    assert_eq!(messages(found), [("Item::add_up", "negative")]);
    let tx = refused.into_transaction().unwrap();
    assert_eq!(tx.get(first).unwrap().sum().unwrap(), 0);
    tx.get(item).unwrap().set_size(1).unwrap();
    tx.commit().unwrap();
    assert_eq!(db.read(|tx| tx.get(first)?.sum()).unwrap(), 1);
}

#[test]
fn early_an_operation_is_undone_with_what_hooks_did() {
    let db = database(Validation::Early);
    db.write(|tx| {
        let total = tx.create(total(10, 0))?;
        let item = tx.create(Item { total: Some(total.to_ref()), size: 6 })?;
        assert_eq!(total.sum()?, 6);
        let refused = violations(item.set_size(11));
        assert_eq!(messages(&refused), [("Total::within_limit", "11 of 10")]);
        assert_eq!((item.size()?, total.sum()?), (6, 6));
        item.set_size(10)?;
        assert_eq!(total.sum()?, 10);
        Ok(())
    })
    .unwrap();
}

/// `check_rules` calls the hooks and keeps nothing of what they do.
#[test]
fn the_whole_database_is_checked_and_stays_as_it_is() {
    let store = std::sync::Arc::new(MemoryStore::new());
    let build = |validation| {
        let builder = Permazen::builder_shared(std::sync::Arc::clone(&store) as _);
        builder.model::<Total>().model::<Item>().validation(validation).build().unwrap()
    };
    let off = build(Validation::Off);
    let first = off.write(|tx| {
        let first = tx.create(total(10, 11))?;
        tx.create(Item { total: Some(first.to_ref()), size: 7 })?;
        tx.create(Item { total: Some(first.to_ref()), size: -7 })?;
        Ok(first.to_ref())
    });
    let first = first.unwrap();
    let db = build(Validation::AtCommit);
    let report = db.check_rules().unwrap();
    let mut found = messages(&report.violations);
    found.sort_unstable();
    let expected = [
        ("Item::add_up", "negative"),
        ("Total::sum_is_right", "sum is 0"),
        ("Total::within_limit", "11 of 10"),
    ];
    assert_eq!(found, expected);
    let mut one_by_one = Vec::new();
    db.check_rules_with(|violation| {
        one_by_one.push(violation.path);
        if one_by_one.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    assert_eq!(one_by_one.len(), 2);
    assert_eq!(db.read(|tx| tx.get(first)?.sum()).unwrap(), 11);
    // Nothing has changed, so nothing is checked.
    db.write(|tx| tx.get(first)?.sum().map(drop)).unwrap();
}

#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Endless {
    n: i32,
    other: Option<Ref<Endless>>,
}

#[permazen::hooks]
impl Endless {
    #[on_validate]
    fn count(this: Obj<'_, Self>) -> Result<()> {
        match this.n()? {
            // Ends: the second call assigns what is there.
            0 => this.set_n(0),
            n @ 1..5 => this.set_n(n + 1),
            // Does not end.
            n if n > 5 => this.set_n(n + 1),
            _ => Ok(()),
        }
    }

    /// Checks in a check.
    #[on_validate(fields(other))]
    fn again(this: Obj<'_, Self>) -> Result<()> {
        if this.n()? == -1 {
            this.set_n(0)?;
            this.revalidate()?;
            this.tx().validate()?;
        }
        if this.n()? == -2 {
            this.revalidate()?;
            this.tx().validate()?;
        }
        Ok(())
    }
}

#[test]
fn a_hook_that_changes_its_object_must_come_to_an_end() {
    let db = builder().model::<Endless>().build().unwrap();
    let create = |n| db.write(|tx| Ok(tx.create(Endless { n, other: None })?.to_ref()));
    create(0).unwrap();
    create(-1).unwrap();
    let five = create(1).unwrap();
    assert_eq!(db.read(|tx| tx.get(five)?.n()).unwrap(), 5);
    let endless = create(6).unwrap_err().to_string();
    assert!(
        endless.contains("hooks that validate have changed objects in 100 rounds"),
        "{endless}"
    );
    let nested = create(-2).unwrap_err();
    let Error::Hook { hook, calls, .. } = &nested else { panic!("{nested}") };
    assert_eq!((&**hook, calls.len()), ("Endless::count", 32));
    assert!(nested.to_string().contains("hooks ran inside each other"), "{nested}");
}

#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Multiplying {
    #[permazen(indexed, unique)]
    k: i32,
    copies: bool,
    checks: i32,
}

#[permazen::hooks]
impl Multiplying {
    #[on_validate]
    fn multiply(this: Obj<'_, Self>) -> Result<()> {
        match this.copies()? {
            true => {
                let next = Multiplying { k: this.k()? + 1, copies: true, checks: 0 };
                this.tx().create(next).map(drop)
            }
            false => Ok(()),
        }
    }

    #[on_validate(fields(k))]
    fn count(this: Obj<'_, Self>) -> Result<()> {
        this.set_checks(this.checks()? + 1)
    }
}

/// Each check of an object that breaks the rule makes one more such object.
#[test]
fn objects_that_hooks_create_cannot_multiply_for_ever() {
    let db = builder().model::<Multiplying>().build().unwrap();
    let refused = db.write(|tx| {
        tx.create(Multiplying { k: 1, copies: true, checks: 0 })?;
        tx.create(Multiplying { k: 20, copies: false, checks: 0 })?;
        Ok(())
    });
    let Err(Error::Invalid(violations)) = refused else { panic!("{refused:?}") };
    assert!(violations.iter().all(|it| it.path == "Multiplying.k"), "{violations}");
    assert_eq!(db.read(|tx| tx.all::<Multiplying>()?.count()).unwrap(), 0);
}

/// A hook that changes its object in each check does not hide what is wrong.
#[test]
fn violations_are_told_although_hooks_do_not_come_to_an_end() {
    let db = builder().model::<Multiplying>().build().unwrap();
    let create = |k| Multiplying { k, ..Default::default() };
    let refused = db.write(|tx| {
        tx.create(create(1))?;
        tx.create(create(1))?;
        Ok(())
    });
    let Err(Error::Invalid(violations)) = refused else { panic!("{refused:?}") };
    assert_eq!(violations.iter().len(), 2, "{violations}");
    db.write(|tx| Ok(tx.create(create(1))?.id())).unwrap();
}

#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Guarded {
    #[permazen(indexed)]
    name: String,
    seen: i32,
    checks: i32,
}

#[permazen::hooks]
impl Guarded {
    #[on_change(fields(name))]
    fn renamed(this: Obj<'_, Self>) -> Result<()> {
        let name = this.name()?;
        log(format!("renamed {name}"));
        if name == "no" { Err(Error::other("not this")) } else { Ok(()) }
    }

    #[on_validate(fields(seen))]
    fn rename(this: Obj<'_, Self>) -> Result<()> {
        log("check");
        match this.seen()? {
            1 => this.set_name("one"),
            2 => this.set_name("no"),
            _ => this.tx().index(Guarded::NAME)?.get("x")?.count().map(drop),
        }
    }
}

/// Other hooks are called at once for the changes of a hook that checks; these changes return their
/// errors.
#[test]
fn hooks_are_told_of_what_hooks_do_that_check() {
    for validation in [Validation::AtCommit, Validation::Early] {
        let db = builder().model::<Guarded>().validation(validation).build().unwrap();
        let id = db.write(|tx| {
            let guarded = tx.create(Guarded::default())?;
            guarded.set_seen(1)?;
            tx.validate()?;
            assert_eq!(guarded.name()?, "one");
            Ok(guarded.to_ref())
        });
        let id = id.unwrap();
        let mut told = crate::hooks::taken();
        told.retain(|line| line.starts_with("renamed"));
        assert_eq!(told, ["renamed ", "renamed one"], "{validation:?}");
        let refused = violations(db.write(|tx| tx.get(id)?.set_seen(2)));
        let found = messages(&refused);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "Guarded::rename");
        assert!(found[0].1.starts_with("Guarded::renamed of object "), "{refused}");
        assert!(found[0].1.ends_with("did): not this"), "{refused}");
        crate::hooks::taken();
    }
}

/// An error of the store is no violation: the transaction fails, and may run again.
#[test]
fn errors_of_the_store_end_the_check() {
    for validation in [Validation::AtCommit, Validation::Early] {
        let store = FaultStore::new(MemoryStore::new());
        let faults = store.faults();
        let db = Permazen::builder(store).model::<Guarded>().validation(validation);
        let db = db.build().unwrap();
        let mut retried = 0;
        for nth in 1.. {
            faults.stop();
            let tx = db.begin().unwrap();
            faults.fail_nth(nth, || KvError::Retry("planned".to_owned()));
            let create = |tx: &Tx| tx.create(Guarded { seen: 3, ..Guarded::default() }).map(drop);
            let done = create(&tx).and_then(|()| Ok(tx.commit()?));
            faults.stop();
            let Err(error) = done else { break };
            assert!(error.is_retryable(), "{error}");
            retried += usize::from(matches!(error, Error::Hook { .. }));
        }
        assert!(retried > 0, "{validation:?}");
        crate::hooks::taken();
        // A transaction that is run again succeeds.
        faults.fail_nth(4, || KvError::Retry("planned".to_owned()));
        db.write(|tx| Ok(tx.create(Guarded { seen: 3, ..Guarded::default() })?.id())).unwrap();
        crate::hooks::taken();
    }
}

#[derive(PermazenObject)]
#[permazen(hooks)]
struct Fails {
    how: i32,
}

#[permazen::hooks]
impl Fails {
    #[on_validate]
    fn check(this: Obj<'_, Self>) -> Result<()> {
        match this.how()? {
            1 => Err(KvError::Retry("by hand".into()).into()),
            2 => Err(Error::other(KvError::Timeout("by hand".into()))),
            3 => this.tx().get(Ref::<Fails>::new(this.id()))?.delete().map(drop),
            4 => {
                this.delete()?;
                this.how().map(drop)
            }
            _ => Ok(()),
        }
    }
}

#[test]
fn the_error_of_a_hook_decides_what_becomes_of_the_transaction() {
    let db = builder().model::<Fails>().build().unwrap();
    let commit = |how| {
        let tx = db.begin().unwrap();
        tx.create(Fails { how }).unwrap();
        tx.commit()
    };
    let retry = commit(1).unwrap_err();
    assert!(retry.is_retryable(), "{retry}");
    assert!(matches!(retry.error(), Error::Hook { hook, .. } if hook == "Fails::check"));
    assert!(retry.into_transaction().is_none());
    assert!(matches!(commit(2).unwrap_err().error(), Error::Hook { .. } | Error::Invalid(_)));
    // The object is gone, so nothing is wrong with it.
    commit(3).unwrap();
    assert_eq!(db.read(|tx| tx.all::<Fails>()?.count()).unwrap(), 0);
    // It is an error about an object, not about the transaction.
    let wrong = commit(4).unwrap_err();
    assert!(matches!(wrong.error(), Error::Invalid(_)), "{wrong}");
    let tx = wrong.into_transaction().unwrap();
    assert_eq!(tx.all::<Fails>().unwrap().count().unwrap(), 1);
}

mod old {
    #[derive(permazen::PermazenObject, Default)]
    pub(super) struct Person {
        pub(super) age: i32,
    }
}

mod new {
    use permazen::{Obj, PermazenObject, Result};

    #[derive(PermazenObject, Default)]
    #[permazen(hooks)]
    pub(super) struct Person {
        /// With another type, so that an object moves when this is read.
        pub(super) age: i64,
        #[permazen(default)]
        pub(super) name: String,
    }

    #[permazen::hooks]
    impl Person {
        #[on_validate(fields(age))]
        fn adult(this: Obj<'_, Self>) -> Result<(), String> {
            let age = this.age().unwrap();
            if age >= 18 { Ok(()) } else { Err(format!("{age} is too young")) }
        }
    }
}

#[test]
fn objects_of_other_schemas_are_checked() {
    let store = std::sync::Arc::new(MemoryStore::new());
    let db = Permazen::builder_shared(store.clone()).model::<old::Person>().build().unwrap();
    let id = db.write(|tx| Ok(tx.create(old::Person { age: 7 })?.id())).unwrap();
    drop(db);
    let db = Permazen::builder_shared(store).model::<new::Person>().build().unwrap();
    let has_moved = || {
        let schemas = db.read(|tx| Ok((tx.any(id).schema_id()?, tx.schema().id)));
        let (own, newest) = schemas.unwrap();
        own == newest
    };
    let report = db.check_rules().unwrap();
    assert_eq!(messages(&report.violations), [("Person::adult", "7 is too young")]);
    assert!(!has_moved());
    let refused = violations(db.write(|tx| tx.get::<new::Person>(id)?.revalidate()));
    assert_eq!(messages(&refused), [("Person::adult", "7 is too young")]);
    let refused = violations(db.write(|tx| tx.get::<new::Person>(id)?.set_age(8)));
    assert_eq!(messages(&refused), [("Person::adult", "8 is too young")]);
    db.write(|tx| tx.get::<new::Person>(id)?.set_age(18)).unwrap();
    assert!(has_moved());
}

/// A hook that tries something, which is refused.
#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Tries {
    number: i32,
    wrong: bool,
}

#[permazen::hooks]
impl Tries {
    #[on_change(fields(number))]
    fn small(this: Obj<'_, Self>) -> Result<()> {
        if this.number()? < 99 { Ok(()) } else { Err(Error::other("too large")) }
    }

    #[on_validate]
    fn tries(this: Obj<'_, Self>) -> Result<()> {
        assert!(this.set_number(99).is_err());
        let undone: Result<()> = this.tx().core().atomic(|_| {
            this.set_number(1)?;
            Err(Error::other("undo"))
        });
        assert!(undone.is_err());
        Ok(())
    }

    #[on_validate(fields(wrong))]
    fn is_right(this: Obj<'_, Self>) -> Result<()> {
        if this.wrong()? { Err(Error::other("wrong")) } else { Ok(()) }
    }
}

#[test]
fn what_is_undone_while_objects_are_checked_changes_nothing() {
    let db = Permazen::builder(MemoryStore::new()).model::<Tries>().build().unwrap();
    db.write(|tx| tx.create_default::<Tries>().map(drop)).unwrap();
    let refused = db.write(|tx| tx.create(Tries { number: 2, wrong: true }).map(drop));
    let Err(Error::Invalid(violations)) = refused else { panic!("{refused:?}") };
    assert_eq!(violations.len(), 1);
}
