//! Hooks and observers of objects to which a reference path leads.

use std::collections::BTreeMap;

use permazen::model::{Change, Changed, Path, SetChanged, along, changes};
use permazen::{Error, Obj, Permazen, PermazenObject, Ref, Result};

use crate::hooks::{assert_log, builder, log};

#[derive(PermazenObject, Default)]
struct Account {
    balance: i64,
    tags: std::collections::BTreeSet<String>,
}

#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Person {
    name: String,
    #[permazen(inverse_delete = "nullify")]
    account: Option<Ref<Account>>,
    #[permazen(element(inverse_delete = "remove"))]
    friends: Vec<Ref<Person>>,
    #[permazen(value(inverse_delete = "remove"))]
    accounts: BTreeMap<i32, Ref<Account>>,
    seen: i64,
}

impl Person {
    fn say(this: Obj<'_, Self>, what: &str) -> Result<()> {
        log(format!("{}: {what}", this.name()?));
        Ok(())
    }
}

#[permazen::hooks]
impl Person {
    #[on_change(of = Account::BALANCE, path = Path::of::<Self>().to(Self::ACCOUNT))]
    fn moved(this: Obj<'_, Self>, balance: &Changed<'_, Account, i64>) -> Result<()> {
        let account = balance.object()?.to_ref();
        assert_eq!(this.account()?.map(|it| it.to_ref()), Some(account));
        if balance.new()? < 0 {
            return Err(Error::other("debts"));
        }
        this.set_seen(balance.new()?)?;
        Self::say(this, &format!("balance {}", balance.new()?))
    }

    #[on_change(of = [Account::TAGS], path = Path::of::<Self>().to(Self::ACCOUNTS.value()))]
    fn tagged(this: Obj<'_, Self>, tags: &SetChanged<'_, Account, String>) -> Result<()> {
        Self::say(this, &format!("{:?}", tags.what()?))
    }

    /// Of friends of friends, in both directions of the reference.
    #[on_change(of = Person::NAME, path = Path::of::<Self>().to(Self::FRIENDS).from(Self::FRIENDS))]
    fn renamed(this: Obj<'_, Self>, name: &Changed<'_, Self, String>) -> Result<()> {
        Self::say(this, &format!("is now {}", name.new()?))
    }

    #[on_delete(path = Path::of::<Self>().to(Self::ACCOUNT))]
    fn closed(this: Obj<'_, Self>, gone: Obj<'_, Account>) -> Result<()> {
        Self::say(this, &format!("lost {}", gone.balance()?))
    }
}

fn database() -> Permazen {
    builder().model::<Person>().model::<Account>().build().unwrap()
}

fn person(name: &str, account: Option<Ref<Account>>) -> Person {
    Person { name: name.into(), account, ..Person::default() }
}

#[test]
fn each_object_that_leads_to_a_change_is_told_once() {
    let db = database();
    db.write(|tx| {
        let account = tx.create(Account { balance: 1, ..Account::default() })?;
        let other = tx.create(Account::default())?;
        tx.create(person("Eve", Some(other.to_ref())))?;
        account.set_balance(2)?;
        assert_log([]);
        let ann = tx.create(person("Ann", Some(account.to_ref())))?;
        account.set_balance(3)?;
        assert_log(["Ann: balance 3"]);
        assert_eq!(ann.seen()?, 3);
        let bob = tx.create(person("Bob", Some(account.to_ref())))?;
        account.set_balance(4)?;
        let mut told = crate::hooks::taken();
        told.sort_unstable();
        assert_eq!(told, ["Ann: balance 4", "Bob: balance 4"]);
        // The path is that of the moment.
        bob.set_account(None)?;
        ann.set_account(Some(other.to_ref()))?;
        account.set_balance(5)?;
        assert_log([]);
        // Through a map; both ways count as one.
        ann.accounts()?.insert(1, account.to_ref())?;
        ann.accounts()?.insert(2, account.to_ref())?;
        account.tags()?.add("x")?;
        assert_log(["Ann: Add(\"x\")"]);
        Ok(())
    })
    .unwrap();
}

#[test]
fn an_error_undoes_the_change_of_the_other_object() {
    let db = database();
    db.write(|tx| {
        let account = tx.create(Account { balance: 1, ..Account::default() })?;
        let ann = tx.create(person("Ann", Some(account.to_ref())))?;
        let error = account.set_balance(-1).unwrap_err();
        let Error::Hook { hook, object, .. } = &error else { panic!("{error}") };
        assert_eq!((&**hook, *object), ("Person::moved", ann.id()));
        assert_eq!(account.balance()?, 1);
        Ok(())
    })
    .unwrap();
}

#[test]
fn steps_back_and_cycles() {
    let db = database();
    db.write(|tx| {
        let ann = tx.create(person("Ann", None))?;
        let bob = tx.create(person("Bob", None))?;
        let eve = tx.create(person("Eve", None))?;
        crate::hooks::taken();
        ann.friends()?.push(eve)?;
        bob.friends()?.push(eve)?;
        bob.friends()?.push(bob)?;
        // Ann and Bob have a common friend, and each has one in common with himself.
        ann.set_name("Anna")?;
        let mut told = crate::hooks::taken();
        told.sort_unstable();
        assert_eq!(told, ["Anna: is now Anna", "Bob: is now Anna"]);
        eve.set_name("Eva")?;
        assert_log([]);
        Ok(())
    })
    .unwrap();
}

#[test]
fn deletions_of_what_a_path_leads_to() {
    let db = database();
    db.write(|tx| {
        let account = tx.create(Account { balance: 9, ..Account::default() })?;
        let ann = tx.create(person("Ann", Some(account.to_ref())))?;
        let bob = tx.create(person("Bob", Some(account.to_ref())))?;
        crate::hooks::taken();
        bob.delete()?;
        account.delete()?;
        assert_log(["Ann: lost 9"]);
        assert!(ann.account()?.is_none());
        Ok(())
    })
    .unwrap();
}

#[test]
fn observers_along_paths() {
    let db = database();
    let accounts = Path::of::<Person>().to(Person::ACCOUNT);
    let observer = db.observe(along(&accounts, changes::<Account>()), |person, change| {
        let change: &Change<'_, Account> = change;
        log(format!("{} sees {}", person.name()?, change.field()));
        Ok(())
    });
    let observer = observer.unwrap();
    let account = db.write(|tx| {
        let account = tx.create(Account::default())?;
        tx.create(person("Ann", Some(account.to_ref())))?;
        tx.observe(along(&accounts, Account::BALANCE), |person, balance| {
            log(format!("{} {}", person.name()?, balance.new()?));
            Ok(())
        })?;
        account.set_balance(1)?;
        assert_log(["Ann: balance 1", "Ann sees balance", "Ann 1"]);
        account.tags()?.add("x")?;
        assert_log(["Ann sees tags"]);
        Ok(account.to_ref())
    });
    let account = account.unwrap();
    db.stop_observing(observer);
    db.write(|tx| tx.get(account)?.set_balance(2)).unwrap();
    assert_log(["Ann: balance 2"]);
}

#[derive(permazen::PermazenKind)]
enum Holder<'t> {
    Person(Obj<'t, Person>),
    Account(Obj<'t, Account>),
}

#[derive(PermazenObject, Default)]
#[permazen(hooks)]
struct Watcher {
    #[permazen(inverse_delete = "nullify")]
    watched: Option<Ref<HolderKind>>,
}

#[permazen::hooks]
impl Watcher {
    /// `of` cannot name a field that only one of the models has.
    #[on_change(path = Path::of::<Self>().to(Self::WATCHED))]
    fn told(_: Obj<'_, Self>, change: &Change<'_, HolderKind>) -> Result<()> {
        if let (Holder::Account(account), "balance") = (change.object()?, change.field()) {
            log(format!("balance {}", account.balance()?));
        }
        Ok(())
    }
}

#[test]
fn a_field_of_one_model_of_a_kind() {
    let db = builder().kind::<HolderKind>().model::<Watcher>().build().unwrap();
    db.write(|tx| {
        let account = tx.create(Account::default())?;
        let ann = tx.create(person("Ann", None))?;
        tx.create(Watcher { watched: Some(account.into()) })?;
        tx.create(Watcher { watched: Some(ann.into()) })?;
        account.set_balance(3)?;
        account.tags()?.add("x")?;
        ann.set_seen(1)?;
        assert_log(["balance 3"]);
        Ok(())
    })
    .unwrap();
}
