//! Hooks and objects that were stored with other models.

use std::sync::Arc;

use permazen::kv::memory::MemoryStore;
use permazen::{Error, Permazen};

use crate::hooks::{assert_log, log};

mod old {
    use permazen::PermazenObject;

    #[derive(PermazenObject, Default)]
    pub(super) struct Person {
        pub(super) name: String,
        pub(super) age: i32,
        pub(super) gone: i32,
    }
}

mod new {
    use permazen::model::{Change, Changed};
    use permazen::{NewValues, Obj, OldValues, PermazenObject, Result};

    use super::log;

    #[derive(PermazenObject, Default, Debug, PartialEq)]
    #[permazen(hooks, removed("gone"), on_schema_change = Person::of_struct)]
    pub(super) struct Person {
        pub(super) name: String,
        /// With another type, so that an object moves when this is read.
        pub(super) age: i64,
        pub(super) nick: Option<String>,
        pub(super) initial: Option<String>,
        pub(super) calls: i64,
    }

    impl Person {
        fn of_struct(_: &OldValues<'_>, _: &mut NewValues<'_, '_, Self>) -> Result<()> {
            log("function of the struct");
            Ok(())
        }
    }

    #[permazen::hooks]
    impl Person {
        #[on_schema_change]
        fn first(old: &OldValues<'_>, new: &mut NewValues<'_, '_, Self>) -> Result<()> {
            let name: String = old.get("name")?;
            log(format!("first {name}"));
            if name.starts_with("refused") {
                return Err(permazen::Error::other("refused"));
            }
            new.set(Self::INITIAL, name.chars().next().map(String::from))
        }

        #[on_schema_change]
        fn second(old: &OldValues<'_>, _: &mut NewValues<'_, '_, Self>) -> Result<()> {
            log(format!("second {}", old.get::<i32>("age")?));
            Ok(())
        }

        #[on_change(fields(age))]
        fn aged(_: Obj<'_, Self>, age: &Changed<'_, Self, i64>) -> Result<()> {
            log(format!("aged {} {}", age.old()?, age.new()?));
            Ok(())
        }

        #[on_change(except(age, calls))]
        fn changed(this: Obj<'_, Self>, change: &Change<'_, Self>) -> Result<()> {
            log(format!("changed {}", change.field()));
            this.set_calls(this.calls()? + 1)
        }

        #[on_delete]
        fn deleted(this: Obj<'_, Self>) -> Result<()> {
            log(format!("deleted {}", this.name()?));
            Ok(())
        }
    }
}

/// A database with objects of the old program, opened by the new one.
fn database(names: &[&str]) -> Permazen {
    let store = Arc::new(MemoryStore::new());
    let db = Permazen::builder_shared(store.clone()).model::<old::Person>().build().unwrap();
    db.write(|tx| {
        for name in names {
            tx.create(old::Person { name: (*name).to_owned(), age: 7, gone: 1 })?;
        }
        Ok(())
    })
    .unwrap();
    drop(db);
    Permazen::builder_shared(store).model::<new::Person>().build().unwrap()
}

#[test]
fn a_move_is_no_change_for_hooks() {
    let db = database(&["Ann"]);
    // Not even while it is moved in a transaction for reading, where the hook could not write.
    db.read(|tx| {
        let ann = tx.all::<new::Person>()?.first()?.unwrap();
        assert_eq!(ann.age()?, 7);
        Ok(())
    })
    .unwrap();
    assert_log(["function of the struct", "first Ann", "second 7"]);
    db.write(|tx| {
        let ann = tx.all::<new::Person>()?.first()?.unwrap();
        assert!(ann.migrate()?);
        assert_log(["function of the struct", "first Ann", "second 7"]);
        let initial = Some("A".to_owned());
        assert_eq!(
            ann.load()?,
            new::Person { name: "Ann".into(), age: 7, initial, ..Default::default() }
        );
        Ok(())
    })
    .unwrap();
}

#[test]
fn what_moves_an_object_is_told_and_what_the_move_converts_is_not() {
    let db = database(&["Ann"]);
    db.write(|tx| {
        let ann = tx.all::<new::Person>()?.first()?.unwrap();
        ann.set_age(8)?;
        let log = crate::hooks::LOG.take();
        // The old value is converted, as the accessor would have read it.
        assert_eq!(log.last().unwrap(), "aged 7 8");
        assert_eq!(log.iter().filter(|line| line.contains("chang")).count(), 0, "{log:?}");
        Ok(())
    })
    .unwrap();
    let db = database(&["Bob"]);
    db.write(|tx| {
        let bob = tx.all::<new::Person>()?.first()?.unwrap();
        bob.set_nick("b")?;
        let log = crate::hooks::LOG.take();
        let told: Vec<_> = log
            .iter()
            .filter(|line| {
                !line.contains("struct") && !line.contains("first") && !line.contains("second")
            })
            .collect();
        assert_eq!(told, ["changed nick"]);
        assert_eq!(bob.calls()?, 1);
        Ok(())
    })
    .unwrap();
}

#[test]
fn an_object_that_stays_in_its_schema_has_hooks_too() {
    let db = database(&["Ann", "refused"]);
    db.write(|tx| {
        let mut people = tx.all::<new::Person>()?.iter().map(Result::unwrap);
        let refused = people.find(|person| person.name().unwrap() == "refused").unwrap();
        assert!(matches!(refused.migrate(), Err(Error::Upgrade { .. })));
        assert_log(["function of the struct", "first refused"]);
        let schema = refused.schema_id()?;
        // The hook writes a field that the object's schema lacks, so it cannot be called, and the
        // change is undone.
        let error = refused.set_name("refused again").unwrap_err();
        assert!(matches!(&error, Error::Hook { hook, .. } if hook == "Person::changed"), "{error}");
        assert_eq!(refused.name()?, "refused");
        assert_eq!(refused.schema_id()?, schema);
        crate::hooks::LOG.take();
        assert!(refused.delete()?);
        assert_log(["deleted refused"]);
        Ok(())
    })
    .unwrap();
}
