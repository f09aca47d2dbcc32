//! Hooks that would call each other without end.

use std::fmt::Debug;

use permazen::__internal::object::HookLimit;
use permazen::{Error, Obj, PermazenObject, Ref, Result};

use crate::hooks::builder;

#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Rabbit {
    #[permazen(inverse_delete = "ignore", allow_deleted)]
    parent: Option<Ref<Rabbit>>,
}

#[permazen::hooks]
impl Rabbit {
    #[on_create]
    fn multiply(this: Obj<'_, Self>) -> Result<()> {
        this.tx().create(Rabbit { parent: Some(this.to_ref()) }).map(drop)
    }
}

#[derive(PermazenObject, Default, Debug, PartialEq)]
#[permazen(hooks)]
struct Clock {
    ticks: i64,
    twice: i64,
    left: i64,
    right: i64,
    end: i64,
}

#[permazen::hooks]
impl Clock {
    #[on_change(fields(ticks))]
    fn tick(this: Obj<'_, Self>) -> Result<()> {
        match this.ticks()? {
            ticks if ticks == this.end()? => Ok(()),
            ticks => this.set_ticks(ticks + 1),
        }
    }

    #[on_change(fields(twice))]
    fn tick_twice(this: Obj<'_, Self>) -> Result<()> {
        this.set_twice(this.twice()? + 1)?;
        this.set_twice(this.twice()? + 1)
    }

    #[on_change(fields(left))]
    fn to_the_right(this: Obj<'_, Self>) -> Result<()> {
        this.set_right(this.left()? + 1)
    }

    #[on_change(fields(right))]
    fn to_the_left(this: Obj<'_, Self>) -> Result<()> {
        this.set_left(this.right()? + 1)
    }
}

/// The limit in the error of a hook, and how many calls led to it.
fn limit(result: Result<impl Debug>) -> (HookLimit, usize, String) {
    let error = result.unwrap_err();
    let message = error.to_string();
    let Error::Hook { calls, source, .. } = error else { panic!("{message}") };
    (*source.downcast().unwrap(), calls.len(), message)
}

/// Runs `test` with a stack of 2 MiB, as tests and threads have it by default.
fn with_small_stack(test: fn()) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(test).unwrap().join().unwrap();
}

#[test]
fn objects_that_create_objects_end_in_an_error() {
    with_small_stack(|| {
        let db = builder().model::<Rabbit>().build().unwrap();
        db.write(|tx| {
            let (limit, calls, message) = limit(tx.create(Rabbit::default()));
            assert_eq!((limit, calls), (HookLimit::Nested(32), 32));
            assert!(message.starts_with("Rabbit::multiply of object"), "{message}");
            assert!(message.contains(" → 24 more → Rabbit::multiply of "), "{message}");
            assert!(tx.everything()?.is_empty()?);
            Ok(())
        })
        .unwrap();
    });
}

#[test]
fn a_hook_that_changes_its_own_field_ends_in_an_error() {
    with_small_stack(|| {
        let db = builder().model::<Clock>().build().unwrap();
        db.write(|tx| {
            let clock = tx.create_default::<Clock>()?;
            let (limit, calls, message) = limit(clock.set_ticks(1));
            assert_eq!((limit, calls), (HookLimit::Chain(1000), 1000));
            assert!(message.contains("Clock::tick of"), "{message}");
            assert_eq!(clock.load()?, Clock::default());
            Ok(())
        })
        .unwrap();
    });
}

#[test]
fn hooks_that_change_each_others_fields_end_in_an_error() {
    let db = builder().model::<Clock>().build().unwrap();
    db.write(|tx| {
        let clock = tx.create_default::<Clock>()?;
        let (limit, calls, message) = limit(clock.set_left(1));
        assert_eq!((limit, calls), (HookLimit::Chain(1000), 1000));
        let path = format!(
            "Clock::to_the_right of {0} → Clock::to_the_left of {0} → Clock::to_the_right of {0}",
            clock.id()
        );
        assert!(message.contains(&path), "{message}");
        assert_eq!(clock.load()?, Clock::default());
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_hook_that_makes_two_changes_for_each_ends_in_an_error() {
    let db = builder().model::<Clock>().build().unwrap();
    db.write(|tx| {
        let clock = tx.create_default::<Clock>()?;
        assert_eq!(limit(clock.set_twice(1)).0, HookLimit::Following(100_000));
        assert_eq!(clock.load()?, Clock::default());
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_chain_that_ends_is_no_error() {
    with_small_stack(|| {
        let db = builder().model::<Clock>().build().unwrap();
        db.write(|tx| {
            let clock = tx.create_default::<Clock>()?;
            clock.set_end(1000)?;
            // Each operation counts for itself.
            for _ in 0..3 {
                clock.set_ticks(1)?;
                assert_eq!(clock.ticks()?, 1000);
            }
            Ok(())
        })
        .unwrap();
    });
}
