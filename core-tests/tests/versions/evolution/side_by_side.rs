//! Programs of two versions that work on one database in turn. `tests/tests/programs/side_by_side`
//! has them at the same time.

use super::*;

mod field_added {
    use super::*;

    versions! {
        old {
            pub struct Item {
                pub name: String,
                pub count: Counter,
            }
        }
        new {
            pub struct Item {
                pub name: String,
                pub count: Counter,
                #[permazen(default = 7)]
                pub size: i32,
                pub note: Option<String>,
            }
        }
    }

    #[test]
    fn what_the_new_program_adds_outlives_the_old_program() {
        on_each_store(|store| {
            let old = open::<old::Item>(store);
            let item = old::Item { name: "a".into(), count: 3.into() };
            let id = create(&old, &item);
            let new = open::<new::Item>(store);
            let seen = new::Item { name: "a".into(), count: 3.into(), size: 7, note: None };
            assert_eq!(load::<new::Item>(&new, id).unwrap(), seen);
            // Fields that both programs know work where the object is, in either program.
            let set = |item: Obj<'_, new::Item>| {
                item.count().add(1)?;
                item.store(&new::Item { name: "b".into(), ..seen.clone() })
            };
            assert!(!change(&new, id, set).unwrap());
            assert!(change(&new, id, |item: Obj<'_, new::Item>| item.set_note("mine")).unwrap());
            let set = |item: Obj<'_, old::Item>| {
                item.count().add(1)?;
                item.store(&old::Item { name: "c".into(), count: 0.into() })
            };
            assert!(!change(&old, id, set).unwrap());
            assert_eq!(
                load::<old::Item>(&old, id).unwrap(),
                old::Item { name: "c".into(), count: 5.into() }
            );
            let expected =
                new::Item { name: "c".into(), count: 5.into(), size: 7, note: Some("mine".into()) };
            assert_eq!(load::<new::Item>(&new, id).unwrap(), expected);
            let back = old.write(|tx| tx.get::<old::Item>(id)?.migrate());
            assert_eq!(lost(back), ["note", "size"]);
            assert_eq!(load::<new::Item>(&new, id).unwrap(), expected);
            // The old program may still delete it.
            assert!(old.write(|tx| tx.get::<old::Item>(id)?.delete()).unwrap());
        });
    }
}

mod field_removed {
    use super::*;

    versions! {
        old {
            pub struct Item {
                pub name: String,
                pub secret: i32,
                pub tags: Vec<String>,
            }
        }
        new {
            pub struct Item {
                pub name: String,
                #[permazen(default = true)]
                pub fresh: bool,
            }
        }
        accepting {
            #[permazen(removed("secret", "tags"))]
            pub struct Item {
                pub name: String,
                #[permazen(default = true)]
                pub fresh: bool,
            }
        }
    }

    #[test]
    fn a_field_that_is_removed_stays_until_the_model_says_that_it_may_go() {
        on_each_store(|store| {
            let (old, new) = (open::<old::Item>(store), open::<new::Item>(store));
            let item = old::Item { name: "a".into(), secret: 5, tags: vec!["x".into()] };
            let id = create(&old, &item);
            let set = |item: Obj<'_, new::Item>| item.set_name("b");
            assert!(!change(&new, id, set).unwrap());
            assert_eq!(
                load::<new::Item>(&new, id).unwrap(),
                new::Item { name: "b".into(), fresh: true }
            );
            let set = |item: Obj<'_, new::Item>| item.set_fresh(false);
            assert_eq!(lost(change(&new, id, set)), ["secret", "tags"]);
            let store_all = |item: Obj<'_, new::Item>| {
                item.store(&new::Item { name: "c".into(), fresh: false })
            };
            assert_eq!(lost(change(&new, id, store_all)), ["secret", "tags"]);
            let kept = old::Item { name: "b".into(), ..item.clone() };
            assert_eq!(load::<old::Item>(&old, id).unwrap(), kept);
            // Where nothing would be lost, nothing is in the way.
            let empty = create(&old, &old::Item { secret: 0, tags: vec![], ..item });
            assert!(change(&new, empty, set).unwrap());
            // A newer program that accepts the losses.
            let accepting = open::<accepting::Item>(store);
            let set = |item: Obj<'_, accepting::Item>| item.set_fresh(false);
            assert!(change(&accepting, id, set).unwrap());
            let gone = old::Item { name: "b".into(), secret: 0, tags: vec![] };
            assert_eq!(load::<old::Item>(&old, id).unwrap(), gone);
        });
    }
}

mod field_renamed {
    use super::*;

    versions! {
        old {
            pub struct Item {
                pub name: String,
                pub size: i32,
                pub friends: BTreeSet<Ref<Item>>,
            }
        }
        new {
            pub struct Item {
                #[permazen(was = "name")]
                pub title: String,
                #[permazen(was = "size")]
                pub len: i64,
                #[permazen(was = "friends")]
                pub pals: BTreeSet<Ref<Item>>,
            }
        }
        back {
            pub struct Item {
                #[permazen(was = "title")]
                pub name: String,
                #[permazen(was = "len")]
                pub size: i32,
                #[permazen(was = "pals")]
                pub friends: BTreeSet<Ref<Item>>,
            }
        }
    }

    #[test]
    fn a_renamed_field_has_its_value() {
        on_each_store(|store| {
            let (old, new) = (open::<old::Item>(store), open::<new::Item>(store));
            let item = old::Item { name: "a".into(), size: 5, friends: [].into() };
            let friend = create(&old, &item);
            let id = create(&old, &old::Item { friends: [Ref::new(friend)].into(), ..item });
            assert!(!new.read(|tx| tx.get::<new::Item>(id)?.len()).unwrap().is_negative());
            let title = |item: Obj<'_, new::Item>| item.set_title("b");
            assert!(change(&new, id, title).unwrap());
            let expected = new::Item { title: "b".into(), len: 5, pals: [Ref::new(friend)].into() };
            assert_eq!(load::<new::Item>(&new, id).unwrap(), expected);
            // The old program knows none of the new names, and cannot push the values out.
            let size = |item: Obj<'_, old::Item>| item.set_size(6);
            assert_eq!(lost(change(&old, id, size)), ["len", "pals", "title"]);
            assert!(old.read(|tx| tx.get::<old::Item>(id)?.friends()?.is_empty()).unwrap());
            let missing = load::<old::Item>(&old, id);
            assert!(matches!(missing, Err(Error::Missing { .. })), "{missing:?}");
            assert!(missing.unwrap_err().to_string().contains("name the newer field: `was = …`"));
            assert_eq!(load::<new::Item>(&new, id).unwrap(), expected);
            // An older program that names the newer fields knows their values.
            let back = load::<back::Item>(&open::<back::Item>(store), id).unwrap();
            assert_eq!((&*back.name, back.size, back.friends.len()), ("b", 5, 1));
            // The reference is still one, wherever the object is.
            let pals = new.read(|tx| tx.index(new::Item::PALS)?.get(Ref::new(friend))?.count());
            assert_eq!(pals.unwrap(), 1);
        });
    }
}

mod collections_renamed {
    use super::*;

    versions! {
        old {
            pub struct Item {
                pub name: String,
                pub rights: BTreeSet<String>,
                pub steps: Vec<i32>,
                pub scores: BTreeMap<String, i32>,
            }
        }
        new {
            pub struct Item {
                pub name: String,
                #[permazen(was = "rights")]
                pub permits: BTreeSet<String>,
                #[permazen(was = "steps")]
                pub path: Vec<i32>,
                #[permazen(was = "scores")]
                pub points: BTreeMap<String, i32>,
            }
        }
        accepting {
            #[permazen(removed("permits", "path", "points"))]
            pub struct Item {
                pub name: String,
                pub rights: BTreeSet<String>,
                pub steps: Vec<i32>,
                pub scores: BTreeMap<String, i32>,
            }
        }
    }

    type Change<M> = fn(Obj<'_, M>) -> permazen::Result<()>;

    const REMOVALS: [Change<old::Item>; 11] = [
        |item| item.rights()?.remove("x").map(drop),
        |item| item.rights()?.clear(),
        |item| item.rights()?.range("a".."z")?.clear(),
        |item| item.steps()?.remove(0).map(drop),
        |item| item.steps()?.pop().map(drop),
        |item| item.steps()?.remove_range(0, 1),
        |item| item.steps()?.remove_range(0, 0),
        |item| item.steps()?.clear(),
        |item| item.scores()?.remove("k").map(drop),
        |item| item.scores()?.clear(),
        |item| item.scores()?.range("a".."z")?.clear(),
    ];

    #[test]
    fn what_the_old_program_cannot_see_it_cannot_remove_without_a_word() {
        on_each_store(|store| {
            let old = open::<old::Item>(store);
            let item = old::Item {
                name: "a".into(),
                rights: ["x".to_owned()].into(),
                steps: vec![1],
                scores: [("k".to_owned(), 1)].into(),
            };
            let id = create(&old, &item);
            let new = open::<new::Item>(store);
            assert_eq!(new.upgrade_all().run().unwrap().moved, 1);
            let kept = load::<new::Item>(&new, id).unwrap();
            assert_eq!((kept.permits.len(), kept.path.len(), kept.points.len()), (1, 1, 1));
            for remove in REMOVALS {
                assert_eq!(lost(change(&old, id, remove)), ["path", "permits", "points"]);
                assert_eq!(load::<new::Item>(&new, id).unwrap(), kept);
            }
            // Looking moves nothing, and fields that both programs know are changed where the
            // object is.
            assert!(
                !change(&old, id, |item: Obj<'_, old::Item>| {
                    assert!(item.rights()?.is_empty()? && item.steps()?.is_empty()?);
                    assert_eq!(item.scores()?.get("k")?, None);
                    item.set_name("b")
                })
                .unwrap()
            );
        });
    }

    #[test]
    fn what_holds_nothing_under_a_newer_name_moves_to_be_emptied() {
        on_each_store(|store| {
            let new = open::<new::Item>(store);
            let empty =
                new::Item { name: "a".into(), permits: [].into(), path: vec![], points: [].into() };
            let old = open::<old::Item>(store);
            let removals: [Change<old::Item>; 6] = [
                |item| item.rights()?.remove("x").map(|removed| assert!(!removed)),
                |item| item.rights()?.clear(),
                |item| item.steps()?.pop().map(|removed| assert_eq!(removed, None)),
                |item| item.steps()?.clear(),
                |item| item.scores()?.remove("k").map(|removed| assert_eq!(removed, None)),
                |item| item.scores()?.clear(),
            ];
            for remove in removals {
                let id = create(&new, &empty);
                assert!(change(&old, id, remove).unwrap());
                assert_eq!(load::<old::Item>(&old, id).unwrap().name, "a");
            }
            // A program that says that the newer fields may go has nothing to move the object for.
            let full = new::Item { permits: ["x".to_owned()].into(), ..empty };
            let id = create(&new, &full);
            let accepting = open::<accepting::Item>(store);
            let clear = |item: Obj<'_, accepting::Item>| item.rights()?.clear();
            assert!(!change(&accepting, id, clear).unwrap());
            assert_eq!(load::<new::Item>(&new, id).unwrap(), full);
        });
    }
}

mod index_added {
    use super::*;

    versions! {
        old {
            pub struct Item {
                pub name: String,
                pub size: i32,
            }
        }
        new {
            #[permazen(composite(name = "bySizeName", fields(size, name)))]
            pub struct Item {
                #[permazen(indexed)]
                pub name: String,
                pub size: i32,
            }
        }
    }

    #[test]
    fn each_object_has_the_entries_of_its_own_schema() {
        on_each_store(|store| {
            let (old, new) = (open::<old::Item>(store), open::<new::Item>(store));
            let first = create(&old, &old::Item { name: "a".into(), size: 1 });
            let second = create(&new, &new::Item { name: "a".into(), size: 2 });
            // Each program changes the object of the other.
            let set = |item: Obj<'_, new::Item>| item.set_name("b");
            assert!(!change(&new, first, set).unwrap());
            let set = |item: Obj<'_, old::Item>| item.set_name("b");
            assert!(!change(&old, second, set).unwrap());
            let store_all =
                |item: Obj<'_, old::Item>| item.store(&old::Item { name: "c".into(), size: 3 });
            assert!(!change(&old, second, store_all).unwrap());
            assert!(new.write(|tx| tx.get::<new::Item>(first)?.migrate()).unwrap());
            let found = new.read(|tx| {
                let names = tx.index(new::Item::NAME)?;
                let named = |name: &str| -> permazen::Result<Vec<ObjId>> {
                    names.get(name)?.iter().map(|item| Ok(item?.id())).collect()
                };
                Ok([named("a")?, named("b")?, named("c")?])
            });
            let found: [Vec<ObjId>; 3] = found.unwrap();
            assert_eq!(found, [vec![], vec![first], vec![second]]);
        });
    }
}

mod enum_changed {
    use super::*;

    mod old_enum {
        #[derive(permazen::PermazenEnum, Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Color {
            Red,
            Green,
            Blue,
        }
    }

    mod new_enum {
        #[derive(permazen::PermazenEnum, Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Color {
            Blue,
            #[permazen(was = "RED")]
            Crimson,
            Black,
        }
    }

    versions! {
        old {
            pub struct Item {
                #[permazen(indexed)]
                pub color: super::old_enum::Color,
                pub colors: Vec<Option<super::old_enum::Color>>,
            }
        }
        new {
            pub struct Item {
                #[permazen(indexed)]
                pub color: super::new_enum::Color,
                pub colors: Vec<Option<super::new_enum::Color>>,
            }
        }
    }

    #[test]
    fn constants_are_carried_over_by_name() {
        use new_enum::Color as New;
        use old_enum::Color as Old;
        on_each_store(|store| {
            let (old, new) = (open::<old::Item>(store), open::<new::Item>(store));
            let item = |color, colors: &[Option<Old>]| old::Item { color, colors: colors.to_vec() };
            let id = create(&old, &item(Old::Blue, &[Some(Old::Red), None, Some(Old::Blue)]));
            let moved = new::Item {
                color: New::Blue,
                colors: vec![Some(New::Crimson), None, Some(New::Blue)],
            };
            assert_eq!(load::<new::Item>(&new, id).unwrap(), moved);
            assert!(new.write(|tx| tx.get::<new::Item>(id)?.migrate()).unwrap());
            assert_eq!(load::<new::Item>(&new, id).unwrap(), moved);
            let blue = new.read(|tx| tx.index(new::Item::COLOR)?.get(New::Blue)?.count());
            assert_eq!(blue.unwrap(), 1);
            // The old program does not know what `Crimson` was.
            assert_eq!(lost(load::<old::Item>(&old, id)), ["colors"]);
            assert_eq!(load::<new::Item>(&new, id).unwrap(), moved);
            // `Green` has no place in the new program, nor `Black` in the old one.
            let green = create(&old, &item(Old::Green, &[]));
            assert_eq!(lost(load::<new::Item>(&new, green)), ["color"]);
            let set = |item: Obj<'_, new::Item>| item.set_color(New::Black);
            assert!(change(&new, green, set).unwrap());
            assert_eq!(lost(load::<old::Item>(&old, green)), ["color"]);
            let set = |item: Obj<'_, old::Item>| item.set_color(Old::Green);
            assert!(change(&old, green, set).unwrap());
            assert_eq!(load::<old::Item>(&old, green).unwrap(), item(Old::Green, &[]));
        });
    }
}

mod type_removed {
    use super::*;

    versions! {
        old {
            pub struct Item {
                pub name: String,
                pub place: Option<Ref<Place>>,
            }
            pub struct Place {
                pub name: String,
            }
        }
        new {
            pub struct Item {
                pub name: String,
                pub size: i32,
            }
        }
    }

    #[test]
    fn objects_of_a_type_that_is_removed_stay() {
        on_each_store(|store| {
            let builder = Permazen::builder_shared(store.clone());
            let old = builder.model::<old::Item>().model::<old::Place>().build().unwrap();
            let place = create(&old, &old::Place { name: "here".into() });
            let item = old::Item { name: "a".into(), place: Some(Ref::new(place)) };
            let id = create(&old, &item);
            let new = open::<new::Item>(store);
            let set = |item: Obj<'_, new::Item>| item.set_size(2);
            assert_eq!(lost(change(&new, id, set)), ["place"]);
            let set = |item: Obj<'_, new::Item>| item.set_name("b");
            assert!(!change(&new, id, set).unwrap());
            new.write(|tx| {
                let unknown: Vec<ObjId> = tx
                    .untyped()?
                    .into_iter()
                    .map(|any| Ok(any?.id()))
                    .collect::<permazen::Result<_>>()?;
                assert_eq!(unknown, [place]);
                assert_eq!(tx.any(place).get("name")?, "here".into());
                Ok(())
            })
            .unwrap();
            let kept = old::Item { name: "b".into(), ..item };
            assert_eq!(load::<old::Item>(&old, id).unwrap(), kept);
            assert_eq!(load::<old::Place>(&old, place).unwrap().name, "here");
        });
    }
}
