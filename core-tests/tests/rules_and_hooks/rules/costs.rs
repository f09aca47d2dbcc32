//! The costs of rules, in operations of the store.

use permazen::PermazenObject;
use permazen::kv::counting::{Counter, CountingStore};

use super::*;

#[derive(PermazenObject, Debug, Default, Clone)]
struct Plain {
    #[permazen(indexed)]
    name: String,
    age: i32,
}

#[derive(PermazenObject, Debug, Default, Clone)]
struct User {
    #[permazen(indexed, unique)]
    name: String,
    age: i32,
}

fn counted<M: Model>() -> (Permazen, Counter) {
    let store = CountingStore::new(MemoryStore::new());
    let counter = store.counter();
    (Permazen::builder(store).model::<M>().build().unwrap(), counter)
}

#[test]
fn rules_that_are_not_used_cost_nothing() {
    let (db, counter) = counted::<Plain>();
    let tx = db.begin().unwrap();
    let object = tx.create(Plain { name: "a".into(), age: 1 }).unwrap();
    object.set_age(2).unwrap();
    object.set_name("b").unwrap();
    counter.take();
    tx.validate().unwrap();
    tx.commit().unwrap();
    let read = counter.take();
    assert_eq!((read.reads(), read.writes()), (0, 0), "{read:?}");
}

#[test]
fn a_unique_field_costs_a_get_and_a_seek() {
    let (db, counter) = counted::<User>();
    let ids = db.write(|tx| {
        for n in 0..20 {
            tx.create(User { name: format!("{n}"), age: 1 })?;
        }
        Ok(tx.create(User { name: "a".into(), age: 1 })?.id())
    });
    let tx = db.begin().unwrap();
    let object = tx.get::<User>(ids.unwrap()).unwrap();
    object.set_age(3).unwrap();
    counter.take();
    tx.validate().unwrap();
    assert_eq!(counter.take().reads(), 0);
    object.set_name("b").unwrap();
    counter.take();
    tx.validate().unwrap();
    let cost = counter.take();
    assert_eq!((cost.gets, cost.seeks), (1, 1), "{cost:?}");
    assert!(cost.steps <= 1, "{cost:?}");
    assert_eq!(cost.writes(), 0, "{cost:?}");
    // Checked objects are not checked again.
    tx.commit().unwrap();
    assert_eq!(counter.take().reads(), 0);
}

/// Its hooks are about another field.
#[derive(PermazenObject, Debug, Default, Clone)]
#[permazen(hooks)]
struct Hooked {
    name: String,
    age: i32,
}

#[permazen::hooks]
impl Hooked {
    #[on_change(fields(name))]
    fn renamed(_: permazen::Obj<'_, Self>) -> Result<()> {
        Ok(())
    }

    #[on_validate(fields(name))]
    fn check(this: permazen::Obj<'_, Self>) -> Result<()> {
        this.name().map(drop)
    }
}

#[derive(PermazenObject, Debug, Default, Clone)]
struct Unhooked {
    name: String,
    age: i32,
}

#[test]
fn hooks_of_other_fields_cost_nothing() {
    let store = CountingStore::new(MemoryStore::new());
    let counter = store.counter();
    let db = Permazen::builder(store).model::<Hooked>().model::<Unhooked>().build().unwrap();
    let ids = db.write(|tx| {
        Ok((tx.create(Hooked::default())?.to_ref(), tx.create(Unhooked::default())?.to_ref()))
    });
    let (hooked, unhooked) = ids.unwrap();
    let cost = |change: &dyn Fn(&permazen::Tx) -> Result<()>| {
        let tx = db.begin().unwrap();
        counter.take();
        change(&tx).unwrap();
        tx.validate().unwrap();
        let cost = counter.take();
        (cost.gets, cost.seeks, cost.steps, cost.writes())
    };
    let with = cost(&|tx| tx.get(hooked)?.set_age(2));
    let without = cost(&|tx| tx.get(unhooked)?.set_age(2));
    assert_eq!(with, without);
    // The field with the hooks: its old value is read for one, and the other reads it.
    let watched = cost(&|tx| tx.get(hooked)?.set_name("b"));
    assert!(watched.0 > with.0, "{watched:?} {with:?}");
}
