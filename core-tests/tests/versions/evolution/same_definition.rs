//! A field whose name and type stay, although the program means another value by it: the library
//! cannot distinguish old values from new ones, so the conversion that the model states for it is
//! reported, and never called.

use std::fmt::Write;
use std::sync::{LazyLock, Mutex};

use permazen::{NewValues, OldValues, Result};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

use super::*;

versions! {
    euros {
        pub struct Account {
            #[permazen(indexed)]
            pub price: i32,
            pub notes: Vec<String>,
        }
    }
    cents {
        pub struct Account {
            #[permazen(indexed, upgrade_with = super::to_cents)]
            pub price: i32,
            #[permazen(upgrade = "reset")]
            pub notes: Vec<String>,
        }
    }
    more {
        pub struct Account {
            #[permazen(indexed, upgrade_with = super::to_cents)]
            pub price: i32,
            #[permazen(upgrade_with = super::no_notes)]
            pub notes: Vec<String>,
            pub owner: Option<String>,
        }
    }
    renamed {
        pub struct Account {
            #[permazen(indexed, upgrade_with = super::to_cents)]
            pub cents: i32,
            pub notes: Vec<String>,
        }
    }
    of_type {
        #[permazen(on_schema_change = super::of_type_to_cents)]
        pub struct Account {
            #[permazen(indexed)]
            pub price: i32,
            pub notes: Vec<String>,
            pub owner: Option<String>,
        }
    }
    reset_all {
        #[permazen(default_upgrade = "reset")]
        pub struct Account {
            #[permazen(indexed)]
            pub price: i32,
            pub notes: Vec<String>,
        }
    }
    text {
        pub struct Account {
            #[permazen(indexed)]
            pub price: String,
            pub notes: Vec<String>,
        }
    }
}

fn to_cents(old: &OldValues<'_>) -> Result<i32> {
    match old.take::<i32>("price") {
        Ok(euros) => Ok(euros * 100),
        Err(_) => old.take::<String>("price")?.parse().map_err(Error::other),
    }
}

fn no_notes(_: &OldValues<'_>) -> Result<Vec<String>> {
    Ok(Vec::new())
}

/// Sets the price unless the owner is called so; sets the same price for another.
fn of_type_to_cents(
    old: &OldValues<'_>,
    new: &mut NewValues<'_, '_, of_type::Account>,
) -> Result<()> {
    let price: i32 = old.get("price")?;
    let factor = if price == 7 { 1 } else { 100 };
    new.set(of_type::Account::PRICE, price * factor)?;
    new.set(of_type::Account::OWNER, "of the type")
}

/// The warnings that a function makes in this thread.
fn warnings(body: impl FnOnce()) -> Vec<String> {
    // As long as there is one subscriber alone, `tracing` asks only the thread that comes to a
    // place of the code first whether that place is heard. This may be a thread of another test.
    static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Warnings(Arc::default())));
    LazyLock::force(&ANOTHER);
    let heard = Arc::new(Mutex::new(Vec::new()));
    tracing::subscriber::with_default(Warnings(Arc::clone(&heard)), body);
    std::mem::take(&mut heard.lock().unwrap())
}

struct Warnings(Arc<Mutex<Vec<String>>>);

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        self.0.lock().unwrap().push(message.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            write!(self.0, "{value:?}").unwrap();
        }
    }
}

fn never_called(report: &[permazen::model::NeverCalled]) -> Vec<String> {
    report.iter().map(|it| it.to_string().split(": same").next().unwrap().to_owned()).collect()
}

#[test]
fn what_the_same_schema_cannot_obey_is_said() {
    on_each_store(|store| {
        let db = open::<euros::Account>(store);
        assert_eq!(warnings(|| drop(open::<cents::Account>(store))), [""; 0]);
        let id = create(&db, &euros::Account { price: 5, notes: vec!["a".into()] });
        let said = [
            "Account.price: `upgrade_with` is never called for schema 1 (1 object)",
            "Account.notes: `upgrade = \"reset\"` is never called for schema 1 (1 object)",
        ];
        let mut new = None;
        let heard = warnings(|| new = Some(open::<cents::Account>(store)));
        assert_eq!(heard.len(), 2, "{heard:?}");
        assert!(heard.iter().zip(said).all(|(heard, said)| heard.starts_with(said)), "{heard:?}");
        let new = new.unwrap();
        let report = new.evolution_report().unwrap();
        assert_eq!(never_called(&report.never_called), said);
        assert!(report.to_string().contains(said[0]), "{report}");
        let run = new.upgrade_all().run().unwrap();
        assert_eq!(
            (run.moved, never_called(&run.never_called)),
            (0, said.map(str::to_owned).into())
        );
        assert_eq!(load::<cents::Account>(&new, id).unwrap().price, 5);
        // Without a conversion, nothing is said, and nothing is counted.
        assert_eq!(warnings(|| drop(open::<euros::Account>(store))), [""; 0]);
        assert_eq!(warnings(|| drop(open::<reset_all::Account>(store))), [""; 0]);
    });
}

#[test]
fn what_a_field_of_another_schema_cannot_obey_is_said() {
    on_each_store(|store| {
        let old = open::<euros::Account>(store);
        let id = create(&old, &euros::Account { price: 5, notes: vec!["a".into()] });
        let heard = warnings(|| drop(open::<more::Account>(store)));
        assert_eq!(heard.len(), 2, "{heard:?}");
        let db = open::<more::Account>(store);
        let run = db.upgrade_all().run().unwrap();
        let said = [
            "Account.price: `upgrade_with` is never called for schema 1 (1 object)",
            "Account.notes: `upgrade_with` is never called for schema 1 (1 object)",
        ];
        assert_eq!(
            (run.moved, never_called(&run.never_called)),
            (1, said.map(str::to_owned).into())
        );
        db.read(|tx| {
            let account = tx.get::<more::Account>(id)?;
            assert_eq!((account.price()?, account.load()?.price), (5, 5));
            assert_eq!(tx.index(more::Account::PRICE)?.get(5)?.count()?, 1);
            assert_eq!(account.load()?.notes, ["a"]);
            Ok(())
        })
        .unwrap();
    });
}

/// A conversion that some recorded schema needs is listed for the others, but no reason to warn.
#[test]
fn a_conversion_that_is_called_for_one_schema_is_not_warned_of() {
    on_each_store(|store| {
        let first = open::<text::Account>(store);
        create(&first, &text::Account { price: "9".into(), notes: Vec::new() });
        let second = open::<cents::Account>(store);
        create(&second, &cents::Account { price: 5, notes: Vec::new() });
        let heard = warnings(|| drop(open::<more::Account>(store)));
        assert_eq!(heard.len(), 2, "{heard:?}");
        assert!(heard.iter().all(|it| it.starts_with("Account.notes: ")), "{heard:?}");
        let report = open::<more::Account>(store).evolution_report().unwrap();
        let price: Vec<_> = report.never_called.iter().filter(|it| it.field == "price").collect();
        assert_eq!(price.len(), 1, "{report}");
        assert_eq!((price[0].number, price[0].called_for_others), (2, true));
    });
}

/// The way that the guide shows.
#[test]
fn a_new_name_converts() {
    on_each_store(|store| {
        let old = open::<euros::Account>(store);
        let id = create(&old, &euros::Account { price: 5, notes: Vec::new() });
        let mut db = None;
        assert_eq!(warnings(|| db = Some(open::<renamed::Account>(store))), [""; 0]);
        let db = db.unwrap();
        assert_eq!(db.evolution_report().unwrap().never_called, []);
        db.upgrade_all().run().unwrap();
        db.read(|tx| {
            let account = tx.get::<renamed::Account>(id)?;
            assert_eq!((account.cents()?, account.load()?.cents), (500, 500));
            assert_eq!(tx.index(renamed::Account::CENTS)?.get(500)?.count()?, 1);
            assert_eq!(tx.index(renamed::Account::CENTS)?.get(5)?.count()?, 0);
            Ok(())
        })
        .unwrap();
    });
}

/// Otherwise a read of the field, loading and the index would tell different values.
#[test]
fn the_conversion_of_a_type_may_not_change_a_field_of_the_same_definition() {
    on_each_store(|store| {
        let old = open::<euros::Account>(store);
        let id = create(&old, &euros::Account { price: 5, notes: Vec::new() });
        let same = create(&old, &euros::Account { price: 7, notes: Vec::new() });
        let db = open::<of_type::Account>(store);
        db.write(|tx| {
            let account = tx.get::<of_type::Account>(id)?;
            assert_eq!(account.price()?, 5);
            assert_eq!(tx.index(of_type::Account::PRICE)?.get(5)?.count()?, 1);
            for result in [
                account.load().map(drop),
                account.owner().map(drop),
                account.migrate().map(drop),
                account.set_owner("x"),
            ] {
                let error = result.unwrap_err().to_string();
                assert!(error.contains("Account.price"), "{error}");
                assert!(error.contains("set a field with a new name"), "{error}");
            }
            assert_eq!(account.price()?, 5);
            // Setting the same value is no change.
            let account = tx.get::<of_type::Account>(same)?;
            assert_eq!((account.price()?, account.load()?.price), (7, 7));
            assert_eq!(account.load()?.owner.as_deref(), Some("of the type"));
            Ok(())
        })
        .unwrap();
        let run = db.upgrade_all().run().unwrap();
        assert_eq!((run.moved, run.refused), (0, 1));
        // A caller that gives the field its value may do so.
        let all = of_type::Account { price: 500, notes: Vec::new(), owner: None };
        db.write(|tx| tx.get::<of_type::Account>(id)?.store(&all)).unwrap();
        assert_eq!(load::<of_type::Account>(&db, id).unwrap(), all);
    });
}
