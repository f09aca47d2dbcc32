//! Section 13: objects that move to another schema.

use std::collections::BTreeSet;

use permazen::encoding::Value;
use permazen::model::{Evolution, NewValues, OldValues};
use permazen::object::FieldValue;
use permazen::{Counter, Error, PermazenEnum, PermazenObject, Ref};

use crate::rows::*;

mod before {
    use permazen::{Counter, PermazenEnum, PermazenObject, Ref};
    use std::collections::{BTreeMap, BTreeSet};

    #[derive(PermazenEnum, Debug, Clone, Copy, PartialEq)]
    pub enum Color {
        A,
        B,
        C,
    }

    #[derive(PermazenObject, Default)]
    #[permazen(composite(name = "both", fields(same, number)))]
    pub struct Item {
        pub same: i32,
        pub gains: i32,
        #[permazen(indexed)]
        pub loses: i32,
        pub number: i32,
        pub text: Option<String>,
        pub color: Option<Color>,
        pub colors: Option<Box<[Option<Color>]>>,
        pub tally: Counter,
        pub count: i64,
        pub numbers: BTreeSet<i32>,
        pub dropped: i32,
        pub friend: Option<Ref<Item>>,
        pub map: BTreeMap<String, i32>,
        pub list: Vec<i32>,
    }

    #[derive(PermazenObject, Default)]
    pub struct Vanished {
        pub n: i32,
    }
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq)]
enum Color {
    C,
    B,
    X,
}

#[derive(PermazenObject, Default)]
#[permazen(composite(name = "both", fields(same, fresh)))]
struct Item {
    same: i32,
    #[permazen(indexed)]
    gains: i32,
    loses: i32,
    number: Option<String>,
    text: i32,
    color: Option<Color>,
    colors: Option<Box<[Option<Color>]>>,
    tally: i64,
    count: Counter,
    numbers: BTreeSet<String>,
    fresh: i32,
    friend: Option<Ref<Item>>,
}

/// The database with one old object, and that object as a program of today sees it, by Java's
/// rules.
fn moved(old: &before::Item) -> (Permazen, ObjId) {
    let store = store();
    let id = open::<before::Item>(&store)
        .write(|tx| {
            let item = tx.create(old)?;
            if item.friend()?.is_some() {
                item.set_friend(item)?;
            }
            Ok(item.id())
        })
        .unwrap();
    let builder = Permazen::builder_shared(store).model::<Item>();
    (builder.evolution(Evolution::AsJava).build().unwrap(), id)
}

#[test]
fn m13_1_01_to_03_what_stays_what_goes_and_what_is_new() {
    let (db, id) =
        moved(&before::Item { same: 5, gains: 6, loses: 7, dropped: 8, ..Default::default() });
    db.write(|tx| {
        let item = tx.get::<Item>(id)?;
        assert!(tx.index(Item::GAINS)?.get(6)?.is_empty()?);
        assert!(item.migrate()?);
        assert_eq!((item.same()?, item.gains()?, item.loses()?, item.fresh()?), (5, 6, 7, 0));
        assert!(item.any().get("dropped").is_err());
        // Index entries come and go, whether or not the value has changed.
        assert_eq!(tx.index(Item::GAINS)?.get(6)?.to_vec()?, [item]);
        assert_eq!(tx.index_by_name("Item", "gains")?.count()?, 1);
        assert!(!field(tx, "Item", "loses").is_indexed());
        // The composite index is that of the new schema.
        assert_eq!(tx.index(Item::BOTH)?.get((5, 0))?.to_vec()?, [item]);
        Ok(())
    })
    .unwrap();
}

#[test]
fn m13_1_04_a_value_that_would_be_dropped_keeps_the_object_where_it_is() {
    let store = store();
    let id = open::<before::Item>(&store)
        .write(|tx| {
            Ok(tx
                .create(before::Item { dropped: 8, text: Some("7".into()), ..Default::default() })?
                .id())
        })
        .unwrap();
    open::<Item>(&store)
        .write(|tx| {
            let item = tx.get::<Item>(id)?;
            let before = item.schema_id()?;
            let refused = item.migrate();
            let Err(Error::Refused(refusal)) = refused else { panic!("{refused:?}") };
            let lost: Vec<_> = refusal.losses.iter().map(|loss| loss.field.as_str()).collect();
            assert_eq!((refusal.id, lost), (id, vec!["dropped"]));
            assert_eq!(item.schema_id()?, before);
            Ok(())
        })
        .unwrap();
}

// ---- 13.2 old values

mod own {
    use super::*;

    #[derive(PermazenObject, Default)]
    #[permazen(name = "Item", on_schema_change = upgrade)]
    pub struct Item {
        pub summary: Option<String>,
    }

    fn upgrade(old: &OldValues<'_>, new: &mut NewValues<'_, '_, Item>) -> Result<()> {
        let mut parts = Vec::new();
        let names: Vec<_> = old.object_type().fields.iter().map(|it| it.name.clone()).collect();
        for name in &names {
            parts.push(match old.value(name)? {
                FieldValue::Simple(Value::Null) => continue,
                FieldValue::Simple(Value::Enum(it)) => {
                    format!("{name}={}#{}", it.name(), it.ordinal())
                }
                FieldValue::Simple(Value::Int(it)) => format!("{name}={it}"),
                FieldValue::Simple(Value::Ref(it)) => format!("{name}={}", it == old.id()),
                FieldValue::Counter(it) => format!("{name}=counter#{it}"),
                FieldValue::List(it) => format!("{name}={}", it.len()),
                _ => continue,
            });
            old.drop_field(name);
        }
        assert!(old.has("same") && !old.has("summary"));
        new.set(Item::SUMMARY, Some(parts.join(" ")))
    }
}

#[test]
fn m13_2_03_to_08_old_values() {
    let store = store();
    let (id, before) = open::<before::Item>(&store)
        .write(|tx| {
            let item = tx.create(before::Item {
                same: 42,
                color: Some(before::Color::C),
                tally: Counter(1_234_567_890_123),
                list: vec![1, 2],
                ..Default::default()
            })?;
            item.set_friend(item)?;
            Ok((item.id(), item.schema_id()?))
        })
        .unwrap();
    open::<own::Item>(&store)
        .write(|tx| {
            let item = tx.get::<own::Item>(id)?;
            assert_eq!(item.schema_id()?, before);
            let summary = item.summary()?.unwrap_or_default();
            // In the order of their names, also those that are the same.
            let parts: Vec<_> = summary.split(' ').collect();
            assert!(parts.is_sorted(), "{parts:?}");
            for part in
                ["color=C#2", "friend=true", "list=2", "same=42", "tally=counter#1234567890123"]
            {
                assert!(parts.contains(&part), "{part} in {summary}");
            }
            assert_eq!(item.schema_id()?, tx.schema().id);
            Ok(())
        })
        .unwrap();
}

// ---- 13.3 policies and conversions

#[test]
fn m13_3_02_and_07_what_cannot_be_converted_is_the_default_by_javas_rules() {
    let (db, id) =
        moved(&before::Item { text: Some("notnum".into()), number: 42, ..Default::default() });
    db.write(|tx| {
        let item = tx.get::<Item>(id)?;
        assert_eq!((item.text()?, item.number()?.as_deref()), (0, Some("42")));
        Ok(())
    })
    .unwrap();
}

mod policies {
    #[derive(permazen::PermazenObject, Default)]
    #[permazen(
        name = "Item",
        removed(
            "same", "gains", "loses", "number", "color", "colors", "tally", "count", "numbers",
            "dropped", "friend", "map", "list"
        )
    )]
    pub struct Reset {
        #[permazen(upgrade = "reset")]
        pub text: i32,
    }

    #[derive(permazen::PermazenObject, Default)]
    #[permazen(
        name = "Item",
        removed(
            "same", "gains", "loses", "number", "color", "colors", "tally", "count", "numbers",
            "dropped", "friend", "map", "list"
        )
    )]
    pub struct Exact {
        pub text: i32,
    }
}

#[test]
fn m13_3_01_and_03_values_are_reset_or_must_be_converted() {
    let old = |text: &str| {
        let store = store();
        let text = Some(text.to_owned());
        let id = open::<before::Item>(&store)
            .write(|tx| {
                Ok(tx.create(before::Item { text: text.clone(), ..Default::default() })?.id())
            })
            .unwrap();
        (store, id)
    };
    let (store, id) = old("7");
    let reset = open::<policies::Reset>(&store).write(|tx| tx.get::<policies::Reset>(id)?.text());
    assert_eq!(reset.unwrap(), 0);
    let (store, id) = old("7");
    let exact = open::<policies::Exact>(&store).write(|tx| tx.get::<policies::Exact>(id)?.text());
    assert_eq!(exact.unwrap(), 7);
    let (store, id) = old("notnum");
    let db = open::<policies::Exact>(&store);
    let refused = db.write(|tx| tx.get::<policies::Exact>(id)?.text());
    let Err(Error::Refused(refusal)) = refused else { panic!("{refused:?}") };
    assert_eq!(refusal.losses[0].field, "text");
    // The stored value is there.
    let text = db.read(|tx| tx.any(id).get("text")).unwrap();
    assert_eq!(text, Value::from("notnum"));
}

#[test]
fn m13_3_04_to_06_numbers_become_counters_and_counters_numbers() {
    let (db, id) = moved(&before::Item { count: -6, tally: Counter(9), ..Default::default() });
    db.write(|tx| {
        let item = tx.get::<Item>(id)?;
        assert_eq!((item.count().get()?, item.tally()?), (-6, 9));
        Ok(())
    })
    .unwrap();
}

#[test]
fn m13_3_08_collections_of_other_elements_start_empty_by_javas_rules_and_are_converted_by_ours() {
    let numbers = BTreeSet::from([3, 4]);
    let (db, id) = moved(&before::Item { numbers: numbers.clone(), ..Default::default() });
    db.write(|tx| {
        assert!(tx.get::<Item>(id)?.numbers()?.is_empty()?);
        Ok(())
    })
    .unwrap();
    let store = store();
    let id = open::<before::Item>(&store)
        .write(|tx| {
            let (numbers, text) = (numbers.clone(), Some("7".to_owned()));
            Ok(tx.create(before::Item { numbers, text, ..Default::default() })?.id())
        })
        .unwrap();
    open::<Item>(&store)
        .write(|tx| {
            assert_eq!(tx.get::<Item>(id)?.numbers()?.load::<Vec<_>>()?, ["3", "4"]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn m13_3_10_references_stay_if_they_are_allowed() {
    let store = store();
    let id = open::<before::Item>(&store)
        .write(|tx| {
            let text = Some("7".to_owned());
            let item = tx.create(before::Item { text, ..Default::default() })?;
            item.set_friend(item)?;
            Ok(item.id())
        })
        .unwrap();
    open::<Item>(&store)
        .write(|tx| {
            let item = tx.get::<Item>(id)?;
            assert!(item.migrate()?);
            assert_eq!(item.friend()?, Some(item));
            Ok(())
        })
        .unwrap();
}

#[test]
fn m13_3_11_enums_go_by_name() {
    let colors: Box<[_]> = [Some(before::Color::B), None, Some(before::Color::C)].into();
    let (db, id) = moved(&before::Item {
        color: Some(before::Color::C),
        colors: Some(colors),
        ..Default::default()
    });
    db.write(|tx| {
        let item = tx.get::<Item>(id)?;
        assert_eq!(item.color()?, Some(Color::C));
        let colors = item.colors()?.unwrap_or_default();
        assert_eq!(*colors, [Some(Color::B), None, Some(Color::C)]);
        Ok(())
    })
    .unwrap();
}
