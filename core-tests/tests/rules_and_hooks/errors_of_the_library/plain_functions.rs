//! Functions that check plain data, and those that cannot be called.

use std::cell::Cell;
use std::error::Error as StdError;

use permazen::kv::KvError;
use permazen::model::Violation;
use permazen::{Error, PermazenObject};

use super::{Boxed, Fault, Own, now, program, stored};
use crate::support::violations;

/// A struct with functions that get plain data.
#[derive(PermazenObject, Default)]
struct Plain {
    #[permazen(validate = own)]
    own: i32,
    #[permazen(validate = boxed)]
    boxed: i32,
    #[permazen(validate = here)]
    here: i32,
    #[permazen(validate = other)]
    other: i32,
}

thread_local! {
    /// The error that the functions return.
    static GIVEN: Cell<Option<Error>> = const { Cell::new(None) };
}

fn given(asked: i32) -> Result<(), Error> {
    match asked {
        0 => Ok(()),
        _ => GIVEN.take().map_or(Ok(()), Err),
    }
}

fn own(asked: &i32) -> Result<(), Error> {
    given(*asked)
}

fn boxed(asked: &i32) -> Result<(), Boxed> {
    Ok(given(*asked).map_err(Own)?)
}

/// A box that stays in its thread.
fn here(asked: &i32) -> Result<(), Box<dyn StdError>> {
    Ok(given(*asked)?)
}

fn other(asked: &i32) -> anyhow::Result<()> {
    Ok(given(*asked)?)
}

/// The function cannot be called, because its own object is of another version.
#[test]
fn an_object_that_cannot_be_loaded_for_its_rule_is_told_with_the_cause() {
    let (store, large) = stored();
    let db = program(&store).build().unwrap();
    let tx = db.begin().unwrap();
    tx.get::<now::Large>(large).unwrap().set_title("y").unwrap();
    let refused = tx.commit().unwrap_err();
    let Error::Invalid(found) = refused.error() else { panic!("{refused:?}") };
    let [violation] = found.iter().as_slice() else { panic!("{found}") };
    let cause = violation.cause.as_deref();
    assert!(matches!(cause, Some(Error::Refused(it)) if it.id == large), "{violation:?}");
    let tx = refused.into_transaction().unwrap();
    tx.any(large).set("size", &permazen::encoding::Value::Long(7)).unwrap();
    tx.commit().unwrap();
    assert_eq!(db.read(|tx| tx.get::<now::Large>(large)?.size()).unwrap(), 7);
}

#[test]
fn an_error_of_the_library_from_a_function_on_a_field_is_no_violation() {
    let db = program(&stored().0).model::<Plain>().build().unwrap();
    let of_version = || db.read(|tx| Fault::Refused.happen(tx)).unwrap_err();
    let field = |asked: usize| {
        let [own, boxed, here, other] = [0, 1, 2, 3].map(|it| i32::from(it == asked));
        Plain { own, boxed, here, other }
    };
    for (asked, name) in ["own", "boxed", "here", "other"].into_iter().enumerate() {
        let create = || db.write(|tx| tx.create(field(asked)).map(drop));
        GIVEN.set(Some(of_version()));
        let error = create().unwrap_err();
        let Error::Hook { hook, .. } = &error else { panic!("{name}: {error:?}") };
        assert_eq!(*hook, format!("Plain.{name}"));
        assert!(Fault::Refused.is(&error), "{name}: {error:?}");
        // It is returned once, so the transaction succeeds when it runs again.
        GIVEN.set(Some(KvError::Retry("on purpose".into()).into()));
        create().unwrap();
        GIVEN.set(Some(Error::other("no")));
        let refused = violations(create());
        assert_eq!(refused.len(), 1, "{name}: {refused}");
        // A check of everything lists the object with the cause.
        GIVEN.set(Some(of_version()));
        let report = db.check_rules().unwrap();
        let of_field = |it: &&Violation| it.path == format!("Plain.{name}");
        let violation = report.violations.iter().find(of_field).unwrap();
        assert!(violation.cause.as_deref().is_some_and(|it| Fault::Refused.is(it)), "{violation}");
        db.write(|tx| {
            for plain in tx.all::<Plain>()?.iter() {
                plain?.delete()?;
            }
            Ok(())
        })
        .unwrap();
    }
}
