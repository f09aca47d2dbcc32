//! Rules while objects are in the schemas of other programs.

use permazen::kv::KvDatabase;
use permazen::{Obj, PermazenObject};

use super::*;

/// The program before: nothing is indexed.
mod before {
    use super::*;

    #[derive(PermazenObject, Debug, Default, Clone)]
    pub(super) struct User {
        pub(super) email: String,
        pub(super) age: i32,
    }
}

/// The program now.
mod now {
    use super::*;

    #[derive(PermazenObject, Debug, Default, Clone)]
    pub(super) struct User {
        #[permazen(indexed, unique)]
        pub(super) email: String,
        pub(super) age: i32,
        pub(super) note: Option<String>,
    }
}

/// The next program: the index is the same.
mod later {
    use super::*;

    #[derive(PermazenObject, Debug, Default, Clone)]
    pub(super) struct User {
        #[permazen(indexed, unique)]
        pub(super) email: String,
        pub(super) age: i32,
    }
}

fn now_user(email: &str) -> now::User {
    now::User { email: email.into(), ..Default::default() }
}

/// A store with one object of the program before.
fn stored() -> (Arc<dyn KvDatabase>, ObjId) {
    let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let db = open::<before::User>(&store).build().unwrap();
    let id = db.write(|tx| Ok(tx.create(before::User { email: "a".into(), age: 1 })?.id()));
    (store, id.unwrap())
}

#[test]
fn while_the_index_is_partial_writes_of_the_field_are_refused() {
    let (store, old) = stored();
    let db = open::<now::User>(&store).build().unwrap();
    let refused = violations(db.write(|tx| Ok(tx.create(now_user("a"))?.id())));
    let [violation] = refused.iter().as_slice() else { panic!("{refused}") };
    assert!(matches!(violation.cause.as_deref(), Some(Error::PartialIndex { missing: 1, .. })));
    // The message says what helps a commit, and nothing about queries.
    let text = violation.to_string();
    assert!(text.contains(" cannot be checked: index "), "{text}");
    for helps in ["db.build_indexes()", "db.upgrade_all()", "Builder::unique_among_indexed"] {
        assert!(text.contains(helps), "{helps}: {text}");
    }
    assert!(!text.contains("query"), "{text}");
    let json = serde_json::to_value(violation).unwrap();
    assert!(text.ends_with(json["cause"].as_str().unwrap()), "{json}");
    // Other fields can be written, and an object that moves to be read causes no violation.
    db.write(|tx| tx.get::<now::User>(old)?.set_age(5)).unwrap();
    let db = open::<now::User>(&store).unique_among_indexed().build().unwrap();
    db.write(|tx| Ok(tx.create(now_user("a"))?.id())).unwrap();
    violations(db.write(|tx| Ok(tx.create(now_user("a"))?.id())));
    // A check of everything finds the object that is not indexed.
    let report = db.check_rules().unwrap();
    assert_eq!(report.violations.len(), 1);
    let violation = report.violations.iter().next().unwrap();
    let both = [violation.object, violation.others[0]];
    assert!(both.contains(&old), "{both:?}");
}

/// A newer program has renamed the field. Its object has no null that could be replaced.
#[test]
fn a_required_field_that_the_schema_of_an_object_lacks_is_told_as_such() {
    mod renamed {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone)]
        pub(super) struct User {
            #[permazen(was = "email")]
            pub(super) address: String,
            pub(super) age: i32,
        }
    }

    let (store, old) = stored();
    let newer = open::<renamed::User>(&store).build().unwrap();
    let new = newer.write(|tx| Ok(tx.create(renamed::User::default())?.id())).unwrap();
    let report = open::<before::User>(&store).build().unwrap().check_rules().unwrap();
    let [violation] = report.violations.iter().as_slice() else { panic!("{}", report.violations) };
    assert_eq!(
        (violation.object, &*violation.path, violation.rule),
        (new, "User.email", Rule::Required)
    );
    let text = violation.to_string();
    assert!(text.contains("the schema of the object lacks the field"), "{text}");
    assert!(text.contains("`was = ") && !text.contains("is null"), "{text}");
    assert_ne!(old, new);
}

#[test]
fn an_object_that_is_written_moves_and_is_checked() {
    let (store, old) = stored();
    let db = open::<now::User>(&store).build().unwrap();
    // It is the only one that is not indexed, so nothing is missing after it has moved.
    db.write(|tx| tx.get::<now::User>(old)?.set_email("b")).unwrap();
    let refused = violations(db.write(|tx| Ok(tx.create(now_user("b"))?.id())));
    assert_eq!(refused.iter().next().unwrap().others, [old]);
}

#[test]
fn a_move_by_a_read_is_not_checked() {
    let (store, old) = stored();
    let db = open::<now::User>(&store).unique_among_indexed().build().unwrap();
    db.write(|tx| Ok(tx.create(now_user("a"))?.id())).unwrap();
    db.write(|tx| {
        let user = tx.get::<now::User>(old)?;
        user.migrate()?;
        Ok(user.load()?.email)
    })
    .unwrap();
    let refused = db.write(|tx| tx.get::<now::User>(old)?.revalidate());
    assert_eq!(violations(refused).len(), 1);
    db.upgrade_all().run().unwrap();
    assert_eq!(db.check_rules().unwrap().violations.len(), 1);
}

#[test]
fn an_index_that_other_schemas_share_is_whole() {
    let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let db = open::<now::User>(&store).build().unwrap();
    let old = db.write(|tx| Ok(tx.create(now_user("a"))?.id())).unwrap();
    let later = open::<later::User>(&store).build().unwrap();
    let user = |email: &str| later::User { email: email.into(), age: 1 };
    let refused = violations(later.write(|tx| Ok(tx.create(user("a"))?.id())));
    assert_eq!(refused.iter().next().unwrap().others, [old]);
    later.write(|tx| Ok(tx.create(user("b"))?.id())).unwrap();
    // An object in the other schema is checked where it is.
    let refused = violations(later.write(|tx| tx.get::<later::User>(old)?.set_email("b")));
    assert_eq!(refused.iter().next().unwrap().object, old);
}

#[test]
fn objects_that_a_partial_index_kept_from_being_checked_are_checked_by_the_next_commit() {
    let (store, old) = stored();
    let db = open::<now::User>(&store).build().unwrap();
    let tx = db.begin().unwrap();
    let mut users: Vec<_> = (0..3).map(|_| tx.create(now_user("x")).unwrap()).collect();
    users.sort_by_key(permazen::Obj::id);
    users[0].set_email("w").unwrap();
    let refused = tx.commit().unwrap_err();
    let tx = refused.into_transaction().unwrap();
    assert!(tx.any(old).delete().unwrap());
    let refused = tx.commit().unwrap_err();
    let Error::Invalid(violations) = refused.error() else { panic!("{refused}") };
    assert!(violations.iter().any(|it| it.rule == Rule::Unique && !it.others.is_empty()));
    drop(refused);
    assert!(db.check_rules().unwrap().violations.is_empty());
}

#[test]
fn uniqueness_sees_that_an_index_is_partial_also_by_javas_rules() {
    let (store, _) = stored();
    let db = open::<now::User>(&store).evolution(permazen::Evolution::AsJava).build().unwrap();
    let refused = db.write(|tx| Ok(tx.create(now_user("a"))?.id())).unwrap_err();
    assert!(refused.to_string().contains("email"), "{refused}");
}

/// The program after: a value is required, and a function looks at another.
mod checked {
    use super::*;

    #[derive(PermazenObject, Debug, Default, Clone)]
    #[permazen(validate = User::is_young)]
    pub(super) struct User {
        pub(super) email: String,
        pub(super) age: i32,
        pub(super) name: String,
    }

    impl User {
        fn is_young(&self) -> Result<(), String> {
            if self.age < 10 { Ok(()) } else { Err("is old".into()) }
        }
    }
}

#[test]
fn an_object_that_cannot_be_loaded_does_not_pass_unchecked() {
    let (store, old) = stored();
    let db = open::<checked::User>(&store).build().unwrap();
    let set = |name: Option<&str>| {
        db.write(|tx| {
            let user = tx.get::<checked::User>(old)?;
            user.set_age(99)?;
            name.map_or(Ok(()), |name| user.set_name(name))
        })
    };
    let refused = set(None).unwrap_err().to_string();
    assert!(refused.contains("name"), "{refused}");
    let refused = set(Some("Ann")).unwrap_err().to_string();
    assert!(refused.contains("is old"), "{refused}");
    assert_eq!(db.read(|tx| tx.get::<checked::User>(old)?.age()).unwrap(), 1);
}

/// Programs whose collections have elements of different types. One of them knows nothing of the
/// rule, and the other one must move an object to see its note.
mod collections {
    use std::collections::{BTreeMap, BTreeSet};

    use permazen::OldValues;

    use super::*;

    pub(super) mod before {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone)]
        pub(in super::super) struct User {
            pub(in super::super) email: String,
            pub(in super::super) note: i32,
            pub(in super::super) tags: Vec<i64>,
            pub(in super::super) marks: BTreeSet<i64>,
            pub(in super::super) sizes: BTreeMap<String, i64>,
        }
    }

    pub(super) mod now {
        use super::*;

        #[derive(PermazenObject, Debug, Default, Clone)]
        pub(in super::super) struct User {
            #[permazen(indexed, unique)]
            pub(in super::super) email: String,
            #[permazen(upgrade_with = note)]
            pub(in super::super) note: String,
            pub(in super::super) tags: Vec<i32>,
            pub(in super::super) marks: BTreeSet<i32>,
            pub(in super::super) sizes: BTreeMap<String, i32>,
        }

        fn note(old: &OldValues<'_>) -> Result<String> {
            Ok(old.take::<i32>("note")?.to_string())
        }
    }

    /// A store with two objects of the program before, which have the same address.
    pub(super) fn stored() -> (Arc<dyn KvDatabase>, [ObjId; 2]) {
        let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
        let db = open::<before::User>(&store).build().unwrap();
        let ids = db.write(|tx| {
            let user = before::User { email: "a".into(), ..Default::default() };
            Ok([tx.create(user.clone())?.id(), tx.create(user)?.id()])
        });
        (store, ids.unwrap())
    }
}

#[test]
fn an_object_that_moves_to_get_the_content_of_a_collection_is_checked() {
    use collections::now::User;
    let setters: [fn(Obj<'_, User>) -> Result<()>; 3] = [
        |user| user.set_tags([1_i32]),
        |user| user.set_marks([1_i32]),
        |user| user.set_sizes([("m", 1_i32)]),
    ];
    for (number, set) in setters.into_iter().enumerate() {
        let (store, ids) = collections::stored();
        let db = open::<User>(&store).build().unwrap();
        let refused = db.write(|tx| ids.into_iter().try_for_each(|id| set(tx.get::<User>(id)?)));
        let refused = violations(refused);
        assert!(refused.iter().all(|it| it.path == "User.email"), "setter {number}: {refused}");
        assert_eq!(refused.len(), 2, "setter {number}");
        // With an address of its own, the object moves.
        let changed = db.write(|tx| {
            set(tx.get::<User>(ids[0])?)?;
            set(tx.get::<User>(ids[1])?)?;
            tx.get::<User>(ids[1])?.set_email("b")
        });
        changed.unwrap();
    }
}

#[test]
fn an_object_that_moves_so_by_javas_rules_is_checked() {
    use collections::now::User;
    let (store, ids) = collections::stored();
    let db = open::<User>(&store).evolution(permazen::Evolution::AsJava).build().unwrap();
    let refused =
        db.write(|tx| ids.into_iter().try_for_each(|id| tx.get::<User>(id)?.set_tags([1_i32])));
    assert_eq!(violations(refused).len(), 2);
}

#[test]
fn an_object_that_moves_to_store_changes_of_a_value_is_checked() {
    use collections::now::User;
    let (store, ids) = collections::stored();
    let db = open::<User>(&store).build().unwrap();
    let users = db.read(|tx| {
        let loaded = ids.into_iter().map(|id| tx.get::<User>(id)?.load_versioned());
        loaded.collect::<Result<Vec<_>>>()
    });
    let mut users = users.unwrap();
    users.iter_mut().for_each(|user| user.tags.push(1));
    let save = |tx: &permazen::Tx| users.iter().try_for_each(|user| user.store(tx).map(drop));
    let refused = violations(db.write(save));
    assert!(refused.iter().all(|it| it.path == "User.email"), "{refused}");
    assert_eq!(refused.len(), 2);
    // With an address of its own, the object moves.
    users[1].email = "b".into();
    let changed = db.write(|tx| users.iter().try_for_each(|user| user.store(tx).map(drop)));
    changed.unwrap();
}

#[test]
fn an_object_that_moves_to_store_changes_by_javas_rules_is_checked() {
    use collections::now::User;
    let (store, ids) = collections::stored();
    let db = open::<User>(&store).evolution(permazen::Evolution::AsJava).build().unwrap();
    let users = db.read(|tx| {
        let loaded = ids.into_iter().map(|id| tx.get::<User>(id)?.load_versioned());
        loaded.collect::<Result<Vec<_>>>()
    });
    let mut users = users.unwrap();
    // Without changes nothing is stored, also where nothing can be.
    db.read(|tx| users.iter().try_for_each(|user| user.store(tx).map(drop))).unwrap();
    users.iter_mut().for_each(|user| user.tags.push(1));
    let save = |tx: &permazen::Tx| users.iter().try_for_each(|user| user.store(tx).map(drop));
    let refused = violations(db.write(save));
    assert!(refused.iter().all(|it| it.path == "User.email"), "{refused}");
    assert_eq!(refused.len(), 2);
}

/// If the store fails during the search for the reason, that failure is not the reason.
#[test]
fn a_store_that_fails_while_an_index_is_partial_is_reported() {
    use permazen::kv::{KvError, fault::FaultStore};

    let (store, _) = stored();
    let store = FaultStore::new(store);
    let faults = store.faults();
    let db = Permazen::builder(store).model::<now::User>().build().unwrap();
    let mut failures = 0;
    loop {
        let tx = db.begin().unwrap();
        tx.create(now_user("b")).unwrap();
        faults.fail_nth(failures + 1, || KvError::Retry("planned".to_owned()));
        let error = tx.validate().unwrap_err();
        if faults.hits() == 0 {
            assert!(matches!(error, Error::Invalid(_)), "{error}");
            break;
        }
        assert!(error.is_retryable(), "failure {}: {error}", failures + 1);
        failures += 1;
    }
    assert!(failures > 3);
}

/// A program in which a required field has another name.
mod renamed {
    use super::*;

    #[derive(PermazenObject, Debug, Default, Clone)]
    pub(super) struct User {
        #[permazen(was = "email")]
        pub(super) mail: String,
        pub(super) age: i32,
    }
}

#[test]
fn null_under_a_former_name_is_a_violation() {
    let (store, id) = stored();
    let db = open::<renamed::User>(&store).build().unwrap();
    let refused = db.write(|tx| tx.any(id).set("email", &permazen::encoding::Value::Null));
    assert_eq!(found(&violations(refused)), [("User.mail".into(), Rule::Required, None, vec![])]);
    db.write(|tx| {
        tx.any(id).set("email", &permazen::encoding::Value::Null)?;
        tx.get::<renamed::User>(id)?.set_mail("b")
    })
    .unwrap();
}

#[test]
fn null_under_a_former_name_counts_after_the_removal_of_the_schema_was_undone() {
    let (store, id) = stored();
    let db = open::<renamed::User>(&store).build().unwrap();
    let refused = db.write(|tx| {
        let undone: Result<()> = tx.core().atomic(|core| {
            let old = tx.any(id).schema_id()?;
            assert!(tx.any(id).delete()?);
            assert!(core.remove_schema(old)?);
            Err(Error::other("no"))
        });
        assert!(matches!(undone, Err(Error::Other(_))), "{undone:?}");
        tx.any(id).set("email", &permazen::encoding::Value::Null)
    });
    assert_eq!(found(&violations(refused)), [("User.mail".into(), Rule::Required, None, vec![])]);
}

/// The check of the first object is before that of the second, which moves.
#[test]
fn objects_that_the_check_moves_leave_no_index_partial() {
    let (store, first) = stored();
    let before = open::<before::User>(&store).build().unwrap();
    let user = before::User { email: "b".into(), age: 1 };
    let second = before.write(|tx| Ok(tx.create(user.clone())?.id())).unwrap();
    let db = open::<now::User>(&store).build().unwrap();
    // Nothing but the check moves them.
    db.write(|tx| {
        for id in [first, second] {
            tx.get::<now::User>(id)?.revalidate()?;
        }
        Ok(())
    })
    .unwrap();
}

/// A program that must move objects to load them. Its hook moves or deletes others.
mod hooked {
    use super::*;

    #[derive(PermazenObject, Debug, Default, Clone)]
    #[permazen(hooks)]
    pub(super) struct User {
        #[permazen(indexed, unique)]
        pub(super) email: String,
        #[permazen(validate = any_age)]
        pub(super) age: i32,
        #[permazen(was = "nicks")]
        pub(super) names: Vec<String>,
    }

    fn any_age(_: &i32) -> Result<(), String> {
        Ok(())
    }

    #[permazen::hooks]
    impl User {
        #[on_validate]
        fn look_at_others(this: Obj<'_, Self>) -> Result<()> {
            for other in this.tx().all::<User>()?.iter() {
                let other = other?;
                match this.email()?.as_str() {
                    "reads" => drop(other.names()?.len()?),
                    "moves" => drop(other.migrate()?),
                    "deletes" if other != this => drop(other.delete()?),
                    "fails" => {
                        other.migrate()?;
                        return Err(Error::other("on purpose"));
                    }
                    _ => {}
                }
            }
            Ok(())
        }
    }
}

/// The program before `hooked`.
mod nicks {
    use super::*;

    #[derive(PermazenObject, Debug, Default, Clone)]
    pub(super) struct User {
        pub(super) email: String,
        pub(super) age: i32,
        pub(super) nicks: Vec<String>,
    }
}

#[test]
fn what_a_hook_moves_or_deletes_during_the_check_leaves_no_index_partial() {
    for email in ["reads", "moves", "deletes", "fails", "nothing"] {
        let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
        let before = open::<nicks::User>(&store).build().unwrap();
        before.write(|tx| Ok(tx.create(nicks::User::default())?.id())).unwrap();
        let db = open::<hooked::User>(&store).build().unwrap();
        let done = db.write(|tx| {
            let user = hooked::User { email: email.to_owned(), ..Default::default() };
            Ok(tx.create(user)?.id())
        });
        let refused = match email {
            "reads" | "moves" | "deletes" => {
                done.unwrap();
                continue;
            }
            _ => violations(done),
        };
        // The objects that the failed hook moved are back.
        let partial = |it: &&permazen::model::Violation| {
            matches!(it.cause.as_deref(), Some(Error::PartialIndex { missing: 1, .. }))
        };
        assert_eq!(refused.iter().filter(partial).count(), 1, "{email}: {refused}");
    }
}

/// The function needs the object, which must move for that. Its turn is after an object for which
/// the index was partial.
#[test]
fn objects_that_move_for_a_function_leave_no_index_partial() {
    let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let before = open::<nicks::User>(&store).build().unwrap();
    let some = before.write(|tx| Ok(tx.create(nicks::User::default())?.id())).unwrap();
    before.write(|tx| tx.any(some).delete().map(drop)).unwrap();
    let [new, old] = [1, 2].map(|last| {
        let mut id = some.to_bytes();
        id[7] = last;
        ObjId::from_bytes(id).unwrap()
    });
    before.write(|tx| Ok(tx.create_with_id(old, nicks::User::default())?.is_some())).unwrap();
    let db = open::<hooked::User>(&store).build().unwrap();
    db.write(|tx| {
        tx.create_with_id(new, &hooked::User { email: "new".into(), ..Default::default() })?;
        tx.any(old).set("age", &permazen::encoding::Value::Int(1))
    })
    .unwrap();
}
