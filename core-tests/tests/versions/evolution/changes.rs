//! Changes of a program after which values were lost by Java's rules.

use super::*;

mod priority {
    use super::*;

    #[derive(permazen::PermazenEnum, Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Priority {
        Low,
        High,
    }

    versions! {
        numbers {
            pub struct Issue {
                pub title: String,
                pub priority: i32,
            }
        }
        names {
            pub struct Issue {
                pub title: String,
                pub priority: Option<super::Priority>,
            }
        }
    }

    #[test]
    fn a_number_that_becomes_an_enum_is_not_lost() {
        on_each_store(|store| {
            let old = open::<numbers::Issue>(store);
            let value = numbers::Issue { title: "one".into(), priority: 3 };
            let id = create(&old, &value);
            let new = open::<names::Issue>(store);
            let moved = change(&new, id, |issue: Obj<'_, names::Issue>| issue.set_title("two"));
            assert!(!moved.unwrap());
            let refusal = refused(new.write(|tx| tx.get::<names::Issue>(id)?.priority()));
            let text = refusal.to_string();
            for part in
                [&id.to_string(), "Issue", "\"priority\"", "(value 3)", "upgrade_with", "lossy"]
            {
                assert!(text.contains(part), "{part} in: {text}");
            }
            assert!(text.contains(&old.schema().schema_id().to_string()), "{text}");
            assert!(text.contains(&new.schema().schema_id().to_string()), "{text}");
            let kept = numbers::Issue { title: "two".into(), ..value };
            assert_eq!(load::<numbers::Issue>(&old, id).unwrap(), kept);
            // Another value can take its place.
            let set = |issue: Obj<'_, names::Issue>| issue.set_priority(Priority::High);
            assert!(change(&new, id, set).unwrap());
            let set = names::Issue { title: "two".into(), priority: Some(Priority::High) };
            assert_eq!(load::<names::Issue>(&new, id).unwrap(), set);
            let low = names::Issue { priority: Some(Priority::Low), ..set };
            let low_id = create(&new, &low);
            assert_eq!(lost(load::<numbers::Issue>(&old, low_id)), ["priority"]);
            assert_eq!(load::<names::Issue>(&new, low_id).unwrap(), low);
        });
    }
}

mod numbers {
    use super::*;

    versions! {
        wide {
            pub struct Account {
                pub total: i64,
                pub rate: f64,
                pub text: String,
            }
        }
        narrow {
            pub struct Account {
                pub total: i32,
                pub rate: i32,
                pub text: i16,
            }
        }
    }

    #[test]
    fn a_number_is_converted_exactly_or_not_at_all() {
        on_each_store(|store| {
            let (wide, narrow) = (open::<wide::Account>(store), open::<narrow::Account>(store));
            let account =
                |total, rate, text: &str| wide::Account { total, rate, text: text.into() };
            let fits = create(&wide, &account(-7, 3.0, "12"));
            let expected = narrow::Account { total: -7, rate: 3, text: 12 };
            assert_eq!(load::<narrow::Account>(&narrow, fits).unwrap(), expected);
            for (value, field) in [
                (account(5_000_000_000, 0.0, "0"), "total"),
                (account(0, 1e20, "0"), "rate"),
                (account(0, 0.5, "0"), "rate"),
                (account(0, -0.0, "0"), "rate"),
                (account(0, f64::NAN, "0"), "rate"),
                (account(0, 0.0, "007"), "text"),
                (account(0, 0.0, " 7"), "text"),
                (account(0, 0.0, "40000"), "text"),
            ] {
                let id = create(&wide, &value);
                assert_eq!(lost(load::<narrow::Account>(&narrow, id)), [field], "{value:?}");
                let moved = narrow.write(|tx| tx.get::<narrow::Account>(id)?.migrate());
                assert_eq!(lost(moved), [field]);
                let kept = load::<wide::Account>(&wide, id).unwrap();
                assert_eq!(format!("{kept:?}"), format!("{value:?}"));
            }
        });
    }
}

mod elements {
    use super::*;

    versions! {
        old {
            pub struct Bag {
                pub numbers: BTreeSet<i32>,
                pub names: Vec<String>,
                pub one: Option<i32>,
                pub scores: BTreeMap<i32, i32>,
            }
        }
        new {
            pub struct Bag {
                pub numbers: BTreeSet<i64>,
                pub names: BTreeSet<String>,
                pub one: Vec<i32>,
                pub scores: BTreeMap<i64, String>,
            }
        }
    }

    #[test]
    fn elements_are_converted_one_by_one() {
        on_each_store(|store| {
            let (old, new) = (open::<old::Bag>(store), open::<new::Bag>(store));
            let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let bag = |of: &[&str]| old::Bag {
                numbers: [-1, 2, i32::MAX].into(),
                names: names(of),
                one: Some(5),
                scores: [(1, 10), (2, 20)].into(),
            };
            let id = create(&old, &bag(&["a", "b"]));
            let expected = new::Bag {
                numbers: [-1, 2, i64::from(i32::MAX)].into(),
                names: ["a".to_owned(), "b".to_owned()].into(),
                one: vec![5],
                scores: [(1, "10".to_owned()), (2, "20".to_owned())].into(),
            };
            assert_eq!(load::<new::Bag>(&new, id).unwrap(), expected);
            assert!(new.write(|tx| tx.get::<new::Bag>(id)?.migrate()).unwrap());
            assert_eq!(load::<new::Bag>(&new, id).unwrap(), expected);
            // And back again.
            assert!(old.write(|tx| tx.get::<old::Bag>(id)?.migrate()).unwrap());
            assert_eq!(load::<old::Bag>(&old, id).unwrap(), bag(&["a", "b"]));
            // A set keeps neither the order nor the number of the elements.
            for of in [["b", "a"], ["a", "a"]] {
                let id = create(&old, &bag(&of));
                let refusal = refused(load::<new::Bag>(&new, id));
                let text = refusal.to_string();
                assert_eq!(refusal.losses.len(), 1, "{text}");
                let [_, value] = of;
                assert!(
                    text.contains(&format!(
                        "would lose content of field \"names\" (value {value:?}): a set would lose the order or the \
                         number of its elements"
                    )),
                    "{text}"
                );
                // No caller can set a list through the handle.
                assert!(text.contains("`tx.core()` for a collection"), "{text}");
                assert_eq!(load::<old::Bag>(&old, id).unwrap(), bag(&of));
            }
            for (value, field) in [
                (new::Bag { numbers: [1 << 40].into(), ..expected.clone() }, "numbers"),
                (new::Bag { one: vec![1, 2], ..expected.clone() }, "one"),
                (new::Bag { scores: [(1, "one".to_owned())].into(), ..expected.clone() }, "scores"),
            ] {
                let id = create(&new, &value);
                assert_eq!(lost(load::<old::Bag>(&old, id)), [field]);
                assert_eq!(load::<new::Bag>(&new, id).unwrap(), value);
            }
        });
    }
}

mod rolled_back {
    use super::*;

    versions! {
        v1 {
            pub struct Task {
                pub title: String,
                pub size: i32,
            }
        }
        v2 {
            pub struct Task {
                pub title: String,
                pub size: i64,
                pub notes: Vec<String>,
                #[permazen(default = 4)]
                pub stars: i32,
            }
        }
    }

    #[test]
    fn a_program_that_is_rolled_back_moves_nothing_back() {
        on_each_store(|store| {
            let v1 = open::<v1::Task>(store);
            let task = v1::Task { title: "one".into(), size: 1 };
            let ids: Vec<ObjId> = (0..20).map(|_| create(&v1, &task)).collect();
            let v2 = open::<v2::Task>(store);
            v2.write(|tx| {
                for id in &ids {
                    let task = tx.get::<v2::Task>(*id)?;
                    task.notes()?.push("seen")?;
                    assert_eq!(task.stars()?, 4);
                }
                Ok(())
            })
            .unwrap();
            let again = open::<v1::Task>(store);
            again
                .write(|tx| {
                    for id in &ids {
                        let task = tx.get::<v1::Task>(*id)?;
                        assert_eq!(task.title()?, "one");
                        task.set_title("two")?;
                        assert_eq!(schema_of(tx, *id), v2.schema().schema_id());
                        // The size has another type there, and notes and stars would be lost.
                        let refusal = refused(task.size());
                        let schema = v2.schema().schema_id().to_string();
                        assert!(refusal.to_string().contains(&schema), "{refusal}");
                        let lost: Vec<_> = refusal.losses.iter().map(|loss| &*loss.field).collect();
                        assert_eq!(lost, ["notes", "stars"]);
                        assert!(refusal.losses.iter().all(|loss: &Loss| loss.removed));
                        assert_eq!(super::lost(task.set_size(5)), ["notes", "stars"]);
                        assert_eq!(super::lost(task.load()), ["notes", "stars"]);
                    }
                    Ok(())
                })
                .unwrap();
            for id in ids {
                let expected =
                    v2::Task { title: "two".into(), size: 1, notes: vec!["seen".into()], stars: 4 };
                assert_eq!(load::<v2::Task>(&v2, id).unwrap(), expected);
            }
        });
    }
}

mod required {
    use super::*;

    versions! {
        old {
            pub struct User {
                pub name: String,
            }
        }
        without_default {
            pub struct User {
                pub name: String,
                pub mail: String,
            }
        }
        with_default {
            pub struct User {
                pub name: String,
                #[permazen(default = format!("{}@example.org", "nobody"))]
                pub mail: String,
            }
        }
        with_texts {
            pub struct User {
                pub name: String,
                #[permazen(default = "nobody@example.org")]
                pub mail: String,
                #[permazen(default = "none")]
                pub phone: Option<String>,
            }
        }
    }

    #[test]
    fn a_new_required_field_has_a_default_or_an_error_that_says_what_to_do() {
        on_each_store(|store| {
            let old = open::<old::User>(store);
            let id = create(&old, &old::User { name: "Ann".into() });
            let new = open::<without_default::User>(store);
            let missing = load::<without_default::User>(&new, id).unwrap_err();
            let text = missing.to_string();
            let schema = old.schema().schema_id();
            for part in ["User.mail", &id.to_string(), &schema.to_string(), "default = ", "Option"]
            {
                assert!(text.contains(part), "{part} in: {text}");
            }
            assert!(matches!(missing, Error::Missing { schema: of, .. } if of == schema));
            // The other fields work, and the field can be set.
            let name = new.read(|tx| tx.get::<without_default::User>(id)?.name()).unwrap();
            assert_eq!(name, "Ann");
            let other = open::<with_default::User>(store);
            let user = load::<with_default::User>(&other, id).unwrap();
            assert_eq!(user.mail, "nobody@example.org");
            let texts = open::<with_texts::User>(store);
            let user = load::<with_texts::User>(&texts, id).unwrap();
            assert_eq!((&*user.mail, user.phone.as_deref()), ("nobody@example.org", Some("none")));
            let set = |user: Obj<'_, without_default::User>| user.set_mail("ann@example.org");
            assert!(change(&new, id, set).unwrap());
            let user = load::<with_default::User>(&other, id).unwrap();
            assert_eq!(user.mail, "ann@example.org");
        });
    }

    #[test]
    fn programs_change_nothing_while_they_only_read() {
        on_each_store(|store| {
            let db = open::<old::User>(store);
            let id = create(&db, &old::User { name: "Ann".into() });
            let changes: [fn(&Tx, ObjId) -> permazen::Result<()>; 4] = [
                |tx, id| tx.get::<old::User>(id)?.set_name("Bob"),
                |tx, id| tx.get::<old::User>(id)?.delete().map(drop),
                |tx, id| tx.get::<old::User>(id)?.store(&old::User { name: "C".into() }),
                |tx, _| tx.create(old::User { name: "D".into() }).map(drop),
            ];
            for change in changes {
                let refused = db.read(|tx| change(tx, id));
                assert!(
                    matches!(&refused, Err(Error::Object(permazen::object::Error::ReadOnly))),
                    "{refused:?}"
                );
            }
            assert_eq!(load::<old::User>(&db, id).unwrap().name, "Ann");
        });
    }
}

mod own_first {
    use super::*;

    versions! {
        old {
            pub struct Visit {
                pub length: String,
                pub place: String,
            }
        }
        new {
            #[permazen(on_schema_change = super::minutes)]
            pub struct Visit {
                #[permazen(upgrade = "exact")]
                pub length: i32,
                #[permazen(upgrade_with = super::place)]
                pub place: i32,
            }
        }
    }

    fn minutes(
        old: &permazen::OldValues<'_>,
        new: &mut permazen::NewValues<'_, '_, new::Visit>,
    ) -> permazen::Result<()> {
        let text: String = old.get("length")?;
        if let Some(number) = text.strip_suffix(" min") {
            new.set(new::Visit::LENGTH, number.parse::<i32>().map_err(Error::other)?)?;
        }
        Ok(())
    }

    fn place(old: &permazen::OldValues<'_>) -> permazen::Result<i32> {
        let text: String = old.get("place")?;
        i32::try_from(text.len()).map_err(Error::other)
    }

    #[test]
    fn own_conversions_come_first() {
        on_each_store(|store| {
            let (old, new) = (open::<old::Visit>(store), open::<new::Visit>(store));
            let visit = |length: &str| old::Visit { length: length.into(), place: "four".into() };
            let loaded = |length: &str| load::<new::Visit>(&new, create(&old, &visit(length)));
            assert_eq!(loaded("20 min").unwrap(), new::Visit { length: 20, place: 4 });
            // Values that the own conversion leaves are converted by the library.
            assert_eq!(loaded("20").unwrap(), new::Visit { length: 20, place: 4 });
            assert_eq!(lost(loaded("soon")), ["length"]);
            let failed = loaded("a min").unwrap_err();
            let text = failed.to_string();
            assert!(text.contains(&old.schema().schema_id().to_string()), "{text}");
            let Error::Upgrade { value, .. } = failed else { panic!("{failed:?}") };
            assert_eq!(value, None, "the conversion is that of the type");
        });
    }
}
