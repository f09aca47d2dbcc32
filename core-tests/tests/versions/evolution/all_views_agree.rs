//! Whatever an own conversion sets: reading the field, loading the object and the index tell the
//! same value, or the object is refused as a whole.

use std::cell::Cell;
use std::collections::BTreeMap;

use permazen::{NewValues, OldValues, PermazenEnum, Result};

use super::*;

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Low,
    High,
}

versions! {
    first {
        pub struct Thing {
            #[permazen(indexed)]
            pub number: i32,
            #[permazen(indexed)]
            pub option: Option<i32>,
            #[permazen(indexed)]
            pub level: super::Level,
            #[permazen(element(indexed))]
            pub list: Vec<i32>,
            #[permazen(element(indexed))]
            pub items: BTreeSet<i32>,
            #[permazen(value(indexed))]
            pub map: BTreeMap<String, i32>,
            pub visits: Counter,
            pub plain: i32,
        }
    }
    middle {
        #[permazen(composite(name = "numberPlain", fields(number, plain)))]
        pub struct Thing {
            #[permazen(indexed)]
            pub number: i32,
            #[permazen(indexed)]
            pub option: Option<i32>,
            #[permazen(indexed)]
            pub level: super::Level,
            #[permazen(element(indexed))]
            pub list: Vec<i32>,
            #[permazen(element(indexed))]
            pub items: BTreeSet<i32>,
            #[permazen(value(indexed))]
            pub map: BTreeMap<String, i32>,
            pub visits: Counter,
            pub plain: i32,
            pub between: Option<String>,
        }
    }
    of_type {
        #[permazen(on_schema_change = super::of_type_sets)]
        #[permazen(composite(name = "numberPlain", fields(number, plain)))]
        pub struct Thing {
            #[permazen(indexed)]
            pub number: i32,
            #[permazen(indexed)]
            pub option: Option<i32>,
            #[permazen(indexed)]
            pub level: super::Level,
            #[permazen(element(indexed))]
            pub list: Vec<i32>,
            #[permazen(element(indexed))]
            pub items: BTreeSet<i32>,
            #[permazen(value(indexed))]
            pub map: BTreeMap<String, i32>,
            pub visits: Counter,
            #[permazen(indexed)]
            pub plain: i32,
            pub extra: Option<String>,
        }
    }
    of_fields {
        #[permazen(composite(name = "numberPlain", fields(number, plain)))]
        pub struct Thing {
            #[permazen(indexed, upgrade_with = super::number)]
            pub number: i32,
            #[permazen(indexed, upgrade_with = super::option)]
            pub option: Option<i32>,
            #[permazen(indexed, upgrade_with = super::level)]
            pub level: super::Level,
            #[permazen(element(indexed), upgrade_with = super::list)]
            pub list: Vec<i32>,
            #[permazen(element(indexed), upgrade_with = super::set)]
            pub items: BTreeSet<i32>,
            #[permazen(value(indexed), upgrade_with = super::map)]
            pub map: BTreeMap<String, i32>,
            pub visits: Counter,
            #[permazen(indexed, upgrade_with = super::number)]
            pub plain: i32,
            pub extra: Option<String>,
        }
    }
    resets {
        #[permazen(composite(name = "numberPlain", fields(number, plain)))]
        pub struct Thing {
            #[permazen(indexed, upgrade = "reset", default = 7)]
            pub number: i32,
            #[permazen(indexed, upgrade = "reset")]
            pub option: Option<i32>,
            #[permazen(indexed, upgrade = "reset")]
            pub level: super::Level,
            #[permazen(element(indexed), upgrade = "reset")]
            pub list: Vec<i32>,
            #[permazen(element(indexed), upgrade = "reset")]
            pub items: BTreeSet<i32>,
            #[permazen(value(indexed), upgrade = "reset")]
            pub map: BTreeMap<String, i32>,
            #[permazen(upgrade = "reset")]
            pub visits: Counter,
            #[permazen(indexed, upgrade = "reset", default = 7)]
            pub plain: i32,
            pub extra: Option<String>,
        }
    }
}

fn number(_: &OldValues<'_>) -> Result<i32> {
    Ok(99)
}

fn option(_: &OldValues<'_>) -> Result<Option<i32>> {
    Ok(Some(99))
}

fn level(_: &OldValues<'_>) -> Result<Level> {
    Ok(Level::High)
}

fn list(_: &OldValues<'_>) -> Result<Vec<i32>> {
    Ok(vec![99, 99])
}

fn set(_: &OldValues<'_>) -> Result<BTreeSet<i32>> {
    Ok([99].into())
}

fn map(_: &OldValues<'_>) -> Result<BTreeMap<String, i32>> {
    Ok([("k".to_owned(), 99)].into())
}

thread_local! {
    /// The field that the conversion of the type sets.
    static FIELD: Cell<usize> = const { Cell::new(0) };
}

fn of_type_sets(_: &OldValues<'_>, new: &mut NewValues<'_, '_, of_type::Thing>) -> Result<()> {
    use of_type::Thing;
    match FIELD.get() {
        0 => new.set(Thing::NUMBER, 99),
        1 => new.set(Thing::OPTION, Some(99)),
        2 => new.set(Thing::LEVEL, Level::High),
        3 => new.set_list(Thing::LIST, [99, 99]),
        4 => new.set_elements(Thing::ITEMS, [99]),
        5 => new.set_entries(Thing::MAP, [("k".to_owned(), 99)]),
        6 => new.set_counter(Thing::VISITS, 99),
        7 => new.set(Thing::PLAIN, 99),
        _ => Ok(()),
    }
}

macro_rules! check_views {
    ($db:expr, $id:expr, $thing:ident) => {{
        let read = check_views!($db, $id, $thing, read);
        assert_eq!(check_views!($db, $id, $thing, write), read);
        read
    }};
    ($db:expr, $id:expr, $thing:ident, $read:ident) => {
        $db.$read(|tx| {
            let thing = tx.get::<$thing::Thing>($id)?;
            let getters = (
                thing.number(),
                thing.option(),
                thing.level(),
                thing.list().and_then(|it| it.load::<Vec<_>>()),
                thing.items().and_then(|it| it.load::<BTreeSet<_>>()),
                thing.map().and_then(|it| it.load::<BTreeMap<_, _>>()),
                thing.visits().get(),
                thing.plain(),
            );
            let mut found = String::new();
            if let Ok(all) = thing.load() {
                assert_eq!(getters.0.unwrap(), all.number);
                assert_eq!(getters.1.unwrap(), all.option);
                assert_eq!(getters.2.unwrap(), all.level);
                assert_eq!(getters.3.unwrap(), all.list);
                assert_eq!(getters.4.unwrap(), all.items);
                assert_eq!(getters.5.unwrap(), all.map);
                assert_eq!(getters.6.unwrap(), all.visits.get());
                assert_eq!(getters.7.unwrap(), all.plain);
                found = format!("{all:?}");
                // No value is found that is not there, and the one that is there is found.
                macro_rules! find {
                    ($index:expr, $value:expr, $wrong:expr) => {
                        let index = tx.index($index.complete_by_scan())?;
                        assert_eq!(index.get($value)?.count()?, 1, "{found}");
                        assert_eq!(index.get($wrong)?.count()?, 0, "{found}");
                    };
                }
                use $thing::Thing;
                find!(Thing::NUMBER, all.number, if all.number == 99 { 5 } else { 99 });
                find!(
                    Thing::OPTION,
                    all.option,
                    if all.option == Some(99) { Some(6) } else { Some(99) }
                );
                find!(
                    Thing::LEVEL,
                    all.level,
                    if all.level == Level::High { Level::Low } else { Level::High }
                );
                for (index, values) in [
                    (tx.index(Thing::LIST.complete_by_scan())?, all.list.clone()),
                    (
                        tx.index(Thing::ITEMS.complete_by_scan())?,
                        all.items.iter().copied().collect(),
                    ),
                    (
                        tx.index(Thing::MAP.value().complete_by_scan())?,
                        all.map.values().copied().collect(),
                    ),
                ] {
                    for value in [1, 2, 3, 99] {
                        let there = usize::from(values.contains(&value));
                        assert_eq!(index.get(value)?.count()?, there, "{value} in {found}");
                    }
                }
                find!(Thing::PLAIN, all.plain, if all.plain == 99 { 8 } else { 99 });
                let both = tx.index(Thing::NUMBER_PLAIN.complete_by_scan())?;
                assert_eq!(both.get((all.number, all.plain))?.count()?, 1, "{found}");
                assert_eq!(both.count()?, 1);
            }
            Ok(found)
        })
        .unwrap()
    };
}

fn filled() -> first::Thing {
    first::Thing {
        number: 5,
        option: Some(6),
        level: Level::Low,
        list: vec![1, 2, 1],
        items: [2, 3].into(),
        map: [("k".to_owned(), 1), ("l".to_owned(), 3)].into(),
        visits: Counter(4),
        plain: 8,
    }
}

/// Databases with one object of a first version, which may have come to a second one, or of the
/// second.
fn each_past(test: impl Fn(&Store, ObjId)) {
    for past in 0..3 {
        on_each_store(|store| {
            let db = open::<first::Thing>(store);
            let id = create(&db, &filled());
            if past > 0 {
                let db = open::<middle::Thing>(store);
                if past > 1 {
                    change::<middle::Thing>(&db, id, |it| it.migrate().map(drop)).unwrap();
                }
            }
            test(store, id);
        });
    }
}

const FIELDS: [&str; 8] = ["number", "option", "level", "list", "items", "map", "visits", "plain"];

/// The fields whose conversions are never called, for each schema.
fn never_called(db: &Permazen) -> BTreeMap<u32, Vec<String>> {
    let mut fields: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for it in db.evolution_report().unwrap().never_called {
        fields.entry(it.number).or_default().push(it.field);
    }
    fields
}

#[test]
fn the_conversion_of_a_type() {
    for field in 0..=FIELDS.len() {
        FIELD.set(field);
        each_past(|store, id| {
            let db = open::<of_type::Thing>(store);
            let found = check_views!(db, id, of_type);
            let is_refused = field < FIELDS.len();
            assert_eq!(found.is_empty(), is_refused, "{field}: {found}");
            let run = db.upgrade_all().run().unwrap();
            assert_eq!(run.refused, u64::from(is_refused), "{field}: {run:?}");
            assert_eq!(check_views!(db, id, of_type), found);
            // A value that is set in the schema of the object is found there.
            change::<of_type::Thing>(&db, id, |it| it.set_number(1)).unwrap();
            assert_eq!(check_views!(db, id, of_type), found.replace("number: 5", "number: 1"));
        });
    }
}

#[test]
fn conversions_of_fields() {
    each_past(|store, id| {
        let db = open::<of_fields::Thing>(store);
        let without = FIELDS.iter().filter(|field| **field != "visits");
        let expected: Vec<&str> = without.copied().collect();
        assert!(never_called(&db).values().all(|fields| *fields == expected));
        let found = check_views!(db, id, of_fields);
        assert!(found.starts_with("Thing { number: 5, option: Some(6), level: Low"), "{found}");
        db.upgrade_all().run().unwrap();
        assert_eq!(check_views!(db, id, of_fields), found);
    });
}

#[test]
fn resets_of_fields() {
    each_past(|store, id| {
        let db = open::<resets::Thing>(store);
        assert!(never_called(&db).values().all(|fields| *fields == FIELDS));
        let found = check_views!(db, id, resets);
        assert!(found.ends_with("visits: Counter(4), plain: 8, extra: None }"), "{found}");
        db.upgrade_all().run().unwrap();
        assert_eq!(check_views!(db, id, resets), found);
    });
}
