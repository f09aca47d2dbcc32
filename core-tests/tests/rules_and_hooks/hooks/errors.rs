//! The errors of hooks undo the operations that caused their calls.

use std::fmt;

use permazen::kv::KvError;
use permazen::object;
use permazen::{Error, Obj, PermazenObject, Ref, Result};

use crate::hooks::builder;

#[derive(Debug, PartialEq)]
struct No(&'static str);

impl fmt::Display for No {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no {}", self.0)
    }
}

impl std::error::Error for No {}

#[derive(PermazenObject, Default, Clone, PartialEq, Debug)]
#[permazen(hooks)]
struct Account {
    #[permazen(indexed)]
    balance: i32,
    entries: Vec<i32>,
    frozen: bool,
    #[permazen(inverse_delete = "delete")]
    parent: Option<Ref<Account>>,
    log: Vec<i32>,
    hook_calls: i32,
}

#[permazen::hooks]
impl Account {
    #[on_create]
    fn created(this: Obj<'_, Self>) -> Result<()> {
        this.log()?.push(-1)
    }

    #[on_change(fields(balance))]
    fn first(this: Obj<'_, Self>) -> Result<()> {
        this.set_hook_calls(this.hook_calls()? + 1)?;
        this.log()?.push(this.balance()?)
    }

    #[on_change(fields(balance))]
    fn not_negative(this: Obj<'_, Self>) -> Result<(), No> {
        if this.balance().unwrap() < 0 { Err(No("debts")) } else { Ok(()) }
    }

    #[on_change(fields(balance))]
    fn book(this: Obj<'_, Self>) -> Result<()> {
        this.entries()?.push(this.balance()?)
    }

    #[on_change(fields(entries))]
    fn entered(this: Obj<'_, Self>) -> Result<()> {
        if this.frozen()? { Err(Error::other(No("entry"))) } else { Ok(()) }
    }

    #[on_delete]
    fn keep(this: Obj<'_, Self>) -> Result<()> {
        this.set_hook_calls(100)?;
        match this.balance()? {
            0 => Ok(()),
            _ => Err(Error::other(No("deletion"))),
        }
    }
}

fn source(error: &Error) -> (&str, permazen::ObjId, &No) {
    let Error::Hook { hook, object, source, .. } = error else { panic!("{error:?}") };
    let own = source.downcast_ref::<No>().or_else(|| match source.downcast_ref::<Error>() {
        Some(Error::Other(other)) => other.downcast_ref(),
        _ => None,
    });
    (hook, *object, own.unwrap())
}

#[test]
fn an_error_undoes_the_change_and_what_hooks_did() {
    let db = builder().model::<Account>().build().unwrap();
    db.write(|tx| {
        let account = tx.create(Account { balance: 5, ..Account::default() })?;
        let before = account.load()?;
        assert_eq!(
            (&before.log[..], &before.entries[..], before.hook_calls),
            (&[5][..], &[5][..], 1)
        );
        let error = account.set_balance(-1).unwrap_err();
        assert_eq!(source(&error), ("Account::not_negative", account.id(), &No("debts")));
        let message = format!("Account::not_negative of object {} failed: no debts", account.id());
        assert_eq!(error.to_string(), message);
        assert!(!error.is_retryable());
        assert_eq!(account.load()?, before);
        assert_eq!(tx.index(Account::BALANCE)?.get(-1)?.count()?, 0);
        assert_eq!(tx.index(Account::BALANCE)?.get(5)?.count()?, 1);
        // The transaction continues.
        account.set_balance(6)?;
        assert_eq!(account.entries()?.load::<Vec<_>>()?, [5, 6]);
        Ok(())
    })
    .unwrap();
}

#[test]
fn the_error_of_a_hook_for_the_change_of_a_hook_undoes_the_outermost_operation() {
    let db = builder().model::<Account>().build().unwrap();
    db.write(|tx| {
        let account = tx.create(Account { balance: 5, ..Account::default() })?;
        account.set_frozen(true)?;
        let before = account.load()?;
        let error = account.set_balance(7).unwrap_err();
        assert_eq!(source(&error), ("Account::entered", account.id(), &No("entry")));
        let Error::Hook { calls, .. } = &error else { panic!("{error}") };
        assert_eq!(
            calls.iter().map(|call| (&*call.hook, call.object)).collect::<Vec<_>>(),
            [("Account::book", account.id())]
        );
        let id = account.id();
        let message = format!(
            "Account::entered of object {id} failed (for what Account::book of {id} did): no entry"
        );
        assert_eq!(error.to_string(), message);
        assert_eq!(account.load()?, before);
        Ok(())
    })
    .unwrap();
}

#[test]
fn an_error_while_an_object_is_created_undoes_the_creation() {
    let db = builder().model::<Account>().build().unwrap();
    db.write(|tx| {
        let error = tx.create(Account { balance: -5, ..Account::default() }).unwrap_err();
        assert_eq!(source(&error).0, "Account::not_negative");
        assert_eq!(tx.all::<Account>()?.count()?, 0);
        assert_eq!(tx.index(Account::BALANCE)?.count()?, 0);
        Ok(())
    })
    .unwrap();
    db.read(|tx| {
        assert!(tx.everything()?.is_empty()?);
        Ok(())
    })
    .unwrap();
}

#[test]
fn an_error_of_a_deletion_undoes_all_deletions_of_the_cascade() {
    let db = builder().model::<Account>().build().unwrap();
    db.write(|tx| {
        let parent = tx.create_default::<Account>()?;
        let child =
            tx.create(Account { parent: Some(parent.to_ref()), balance: 1, ..Account::default() })?;
        let (parent_before, child_before) = (parent.load()?, child.load()?);
        let error = parent.delete().unwrap_err();
        assert_eq!(source(&error), ("Account::keep", child.id(), &No("deletion")));
        assert_eq!((parent.load()?, child.load()?), (parent_before, child_before));
        child.set_balance(0)?;
        assert!(parent.delete()?);
        assert!(tx.everything()?.is_empty()?);
        Ok(())
    })
    .unwrap();
}

#[test]
fn an_atomic_step_may_go_on_after_an_error() {
    let db = builder().model::<Account>().build().unwrap();
    db.write(|tx| {
        let account = tx.create(Account { balance: 5, ..Account::default() })?;
        let step = tx.core().atomic(|_| {
            account.set_balance(6)?;
            assert!(account.set_balance(-1).is_err());
            assert_eq!(account.balance()?, 6);
            account.set_balance(8)
        });
        step?;
        assert_eq!(account.entries()?.load::<Vec<_>>()?, [5, 6, 8]);
        Ok(())
    })
    .unwrap();
}

#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Unlucky {
    n: i32,
    created: bool,
}

#[permazen::hooks]
impl Unlucky {
    #[on_change(fields(n))]
    fn conflict(this: Obj<'_, Self>) -> Result<()> {
        match this.n()? {
            1 => Err(KvError::Retry("on purpose".into()).into()),
            2 => Err(Error::Object(object::Error::listener(KvError::Retry("below".into())))),
            _ => Err(KvError::InvalidArgument("no".into()).into()),
        }
    }

    #[on_create]
    fn create_in_vain(this: Obj<'_, Self>) -> Result<()> {
        // The error is of a hook, and this hook decides what becomes of it.
        if this.tx().all::<Account>()?.is_empty()? {
            assert!(this.tx().create(Account { balance: -1, ..Account::default() }).is_err());
            assert!(this.tx().all::<Account>()?.is_empty()?);
        }
        Ok(())
    }
}

#[test]
fn retryable_errors_stay_retryable_and_through_the_object_layer_too() {
    let db = builder().model::<Unlucky>().model::<Account>().build().unwrap();
    db.write(|tx| {
        let it = tx.create_default::<Unlucky>()?;
        for (n, retryable) in [(1, true), (2, true), (3, false)] {
            let error = it.set_n(n).unwrap_err();
            assert!(matches!(error, Error::Hook { .. }), "{error:?}");
            assert_eq!(error.is_retryable(), retryable, "{error}");
        }
        let value = permazen::encoding::Value::Int(1);
        let error = tx.core().set(it.id(), "n", &value, object::Migrate::No).unwrap_err();
        assert!(matches!(error, object::Error::Hook(_)), "{error:?}");
        assert!(error.is_retryable() && Error::from(error).is_retryable());
        assert_eq!(it.n()?, 0);
        Ok(())
    })
    .unwrap();
}

#[derive(PermazenObject)]
#[permazen(hooks)]
struct Hasty {
    name: String,
}

#[permazen::hooks]
impl Hasty {
    #[on_create]
    fn greet(this: Obj<'_, Self>) -> Result<()> {
        if !crate::hooks::taken().is_empty() {
            this.load()?;
        }
        this.name().map(drop)
    }
}

#[test]
fn a_new_object_has_no_values_yet() {
    let db = builder().model::<Hasty>().build().unwrap();
    for whole in [false, true] {
        if whole {
            crate::hooks::log("load");
        }
        let error = db.write(|tx| tx.create(Hasty { name: "Ann".into() }).map(drop)).unwrap_err();
        let Error::Hook { hook, source, .. } = &error else { panic!("{error}") };
        assert_eq!(hook, "Hasty::greet");
        let missing = source.downcast_ref::<Error>();
        assert!(matches!(missing, Some(Error::Missing { is_new: true, .. })), "{source}");
        let end = "the values of a new object follow as changes after its `#[on_create]`: see them in `#[on_change]`";
        assert!(error.to_string().ends_with(end), "{error}");
    }
}
