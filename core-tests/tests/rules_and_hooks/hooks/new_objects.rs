//! Objects that are deleted while they are created are not created.

use std::cell::Cell;

use permazen::model::Import;
use permazen::model::{Change, Copy, Validation, creations};
use permazen::object;
use permazen::{Error, Obj, ObjId, Permazen, PermazenObject, Ref, Result, Tx};

use crate::hooks::builder;

/// Which hook deletes its object.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Deletes {
    Nothing,
    OnCreate,
    OnChange,
    OnValidate,
}

thread_local! {
    static DELETES: Cell<Deletes> = const { Cell::new(Deletes::Nothing) };
}

#[derive(PermazenObject, Default, Clone)]
#[permazen(hooks)]
struct Fleeting {
    #[permazen(indexed, default = 7)]
    number: i32,
    list: Vec<i32>,
}

#[permazen::hooks]
impl Fleeting {
    #[on_create]
    fn created(this: Obj<'_, Self>) -> Result<()> {
        act(this, Deletes::OnCreate)
    }

    #[on_change]
    fn changed(this: Obj<'_, Self>, _: &Change<'_, Self>) -> Result<()> {
        act(this, Deletes::OnChange)
    }

    #[on_validate(fields(number))]
    fn valid(this: Obj<'_, Self>) -> Result<()> {
        act(this, Deletes::OnValidate)
    }
}

#[derive(PermazenObject)]
#[permazen(hooks, singleton)]
struct Single {
    #[permazen(default = 7)]
    number: i32,
}

#[permazen::hooks]
impl Single {
    #[on_change]
    fn changed(this: Obj<'_, Self>, _: &Change<'_, Self>) -> Result<()> {
        if DELETES.get() == Deletes::OnChange { this.delete().map(drop) } else { Ok(()) }
    }
}

#[derive(PermazenObject, Default)]
struct Trace {
    number: i32,
}

/// Deletes the object if this is the hook to do so, and leaves a trace.
fn act(this: Obj<'_, Fleeting>, me: Deletes) -> Result<()> {
    if DELETES.get() == me && this.number()? < 100 {
        this.tx().create(Trace { number: this.number()? })?;
        this.delete()?;
    }
    Ok(())
}

fn database() -> Permazen {
    builder().model::<Fleeting>().model::<Single>().model::<Trace>().build().unwrap()
}

/// All objects, with a value of each.
fn all(tx: &Tx) -> Vec<(ObjId, Option<i32>)> {
    let ids = tx.everything().unwrap().ids().to_vec().unwrap();
    let number = |id| tx.get(Ref::<Fleeting>::new(id)).and_then(|it| it.number()).ok();
    ids.into_iter().map(|id| (id, number(id))).collect()
}

/// A creation is refused because of the hook that deletes, and leaves nothing; without that hook,
/// it succeeds.
#[track_caller]
fn refused<T>(tx: &Tx, deletes: Deletes, create: impl Fn() -> Result<T>) {
    let before = all(tx);
    DELETES.set(deletes);
    let created = create();
    DELETES.set(Deletes::Nothing);
    match created {
        Err(Error::Object(error @ object::Error::DeletedObject { .. })) => {
            let error = error.to_string();
            let expected = "the new object was deleted while it was created";
            assert!(error.starts_with(expected), "{deletes:?}: {error}");
        }
        Err(Error::Hook { hook, source, .. }) if deletes == Deletes::OnCreate => {
            let source = source.to_string();
            assert!(source.starts_with("it has deleted the object"), "{source}");
            assert_eq!(hook, "Fleeting::created");
        }
        Err(error) => panic!("{deletes:?}: {error}"),
        Ok(_) => panic!("{deletes:?}: created"),
    }
    assert_eq!(all(tx), before, "{deletes:?}");
    tx.core().atomic(|_| create().map(drop)).unwrap();
}

#[test]
fn an_object_that_a_hook_deletes_while_it_is_created_is_not_created() {
    let db = database();
    db.write(|tx| {
        let plain = Fleeting { number: 5, list: vec![1, 2] };
        let gone = tx.create(&plain)?;
        let graph = tx.export_graph([gone])?;
        let memory = tx.detached()?;
        let copied = gone.copy_to(&memory, Copy::new())?;
        gone.delete()?;
        tx.set_validation(Validation::Early)?;
        for deletes in [Deletes::OnCreate, Deletes::OnChange, Deletes::OnValidate] {
            refused(tx, deletes, || tx.create(&plain));
            refused(tx, deletes, || tx.create_default::<Fleeting>());
            refused(tx, deletes, || tx.create_with_id(ObjId::from(gone), &plain));
            gone.delete()?;
            refused(tx, deletes, || gone.recreate());
            gone.delete()?;
            refused(tx, deletes, || tx.import_graph(&graph, Import::new()));
            gone.delete()?;
            refused(tx, deletes, || tx.import_graph(&graph, Import::new().new_ids()));
            refused(tx, deletes, || copied.copy_to(tx, Copy::new()));
            gone.delete()?;
            refused(tx, deletes, || copied.copy_to(tx, Copy::new().clone_ids()));
            refused(tx, deletes, || {
                let core = memory.core();
                Ok(core.copy_to(copied.id(), tx.core(), &mut object::CopyOptions::new())?)
            });
            gone.delete()?;
        }
        // By name, nothing is changed after the creation.
        for deletes in [Deletes::OnCreate, Deletes::OnValidate] {
            refused(tx, deletes, || Ok(tx.core().create("Fleeting")?));
            refused(tx, deletes, || Ok(tx.core().create_with_id(gone.id())?));
            gone.delete()?;
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_singleton_that_a_hook_deletes_is_not_made() {
    let db = database();
    db.write(|tx| {
        refused(tx, Deletes::OnChange, || tx.singleton::<Single>());
        assert!(tx.find_singleton::<Single>()?.is_some());
        tx.singleton::<Single>()?.delete()?;
        refused(tx, Deletes::OnChange, || tx.singleton_or(|| Single { number: 3 }));
        assert_eq!(tx.singleton::<Single>()?.number()?, 3);
        Ok(())
    })
    .unwrap();
}

/// The creation by the hook fails, and with it the operation that caused the call of the hook.
#[test]
fn a_creation_by_a_hook_can_fail_too() {
    let db = builder().model::<Fleeting>().model::<Single>().model::<Trace>().build().unwrap();
    db.observe(creations::<Trace>(), |trace, _| {
        trace.tx().create(Fleeting { number: 1, list: vec![] }).map(drop)
    })
    .unwrap();
    db.write(|tx| {
        DELETES.set(Deletes::OnCreate);
        // The hook creates a trace, whose observer creates the next object.
        let error = tx.create(Trace { number: 1 }).map(drop).unwrap_err();
        DELETES.set(Deletes::Nothing);
        assert!(matches!(error, Error::Hook { .. }), "{error}");
        assert!(all(tx).is_empty());
        Ok(())
    })
    .unwrap();
}

/// An object that was there before may be deleted by a hook that is called for its new content.
#[test]
fn a_copy_over_an_object_may_delete_it() {
    let db = database();
    db.write(|tx| {
        let it = tx.create(Fleeting { number: 5, list: vec![1] })?;
        let memory = tx.detached()?;
        let copy = it.copy_to(&memory, Copy::new())?;
        copy.set_number(6)?;
        DELETES.set(Deletes::OnChange);
        copy.copy_to(tx, Copy::new())?;
        DELETES.set(Deletes::Nothing);
        assert!(!it.exists()?);
        assert_eq!(tx.all::<Trace>()?.count()?, 1);
        Ok(())
    })
    .unwrap();
}

/// If a hook deletes an object that another one has created before, that creation has succeeded.
#[test]
fn what_a_hook_has_created_can_be_deleted_after_that() {
    let db = database();
    db.write(|tx| {
        let kept = tx.create(Fleeting { number: 100, list: vec![] })?;
        tx.observe(Fleeting::NUMBER, |it, change| match change.new()? {
            101 => it.tx().create(Fleeting { number: 5, list: vec![] }).map(drop),
            _ => Ok(()),
        })?;
        DELETES.set(Deletes::OnChange);
        kept.set_number(101)?;
        DELETES.set(Deletes::Nothing);
        assert_eq!(tx.all::<Fleeting>()?.to_vec()?, [kept]);
        assert_eq!(tx.all::<Trace>()?.count()?, 1);
        Ok(())
    })
    .unwrap();
}
