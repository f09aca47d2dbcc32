//! `Evolution::AsJava` converts as Java does.

use permazen::encoding::number::{BigDecimal, BigInteger};
use permazen::model::{Evolution, FieldVerdict};

use super::*;

versions! {
    old {
        pub struct Thing {
            pub text: String,
            pub flag: bool,
            pub whole: i32,
            pub wide: f64,
            pub maybe: Option<i64>,
            pub nothing: Option<i64>,
            pub large: super::BigInteger,
            pub exact: super::BigDecimal,
            pub tally: Counter,
            #[permazen(accessor = "the_set")]
            pub set: BTreeSet<i32>,
            pub list: Vec<i32>,
            pub names: BTreeSet<i32>,
            pub single: i32,
            pub long: i64,
            pub word: String,
            pub many: Counter,
            pub few: Vec<i32>,
        }
    }
    new {
        pub struct Thing {
            pub text: Counter,
            pub flag: Counter,
            pub whole: Counter,
            pub wide: Counter,
            pub maybe: Counter,
            pub nothing: Counter,
            pub large: Counter,
            pub exact: Counter,
            pub tally: i32,
            #[permazen(accessor = "the_set")]
            pub set: i32,
            pub list: Option<i32>,
            pub names: BTreeSet<String>,
            pub single: Vec<i32>,
            pub long: i32,
            pub word: i32,
            pub many: BTreeSet<i64>,
            pub few: Counter,
        }
    }
}

fn thing() -> old::Thing {
    old::Thing {
        text: "5".into(),
        flag: true,
        whole: -6,
        wide: 7.9,
        maybe: Some(8),
        nothing: None,
        large: "18446744073709551617".parse().unwrap(),
        exact: "9.5".parse().unwrap(),
        tally: Counter(5_000_000_000),
        set: [1].into(),
        list: vec![2],
        names: [3].into(),
        single: 4,
        long: 5_000_000_000,
        word: "no number".into(),
        many: Counter(3),
        few: vec![1],
    }
}

fn open_as_java(store: &Store) -> Permazen {
    let builder = Permazen::builder_shared(store.clone()).model::<new::Thing>();
    builder.evolution(Evolution::AsJava).build().unwrap()
}

#[test]
fn java_converts_single_values_and_makes_counters_of_numbers_only() {
    on_each_store(|store| {
        let id = create(&open::<old::Thing>(store), &thing());
        let seen = load::<new::Thing>(&open_as_java(store), id).unwrap();
        let expected = new::Thing {
            // Text and truth values are no numbers.
            text: Counter(0),
            flag: Counter(0),
            whole: Counter(-6),
            wide: Counter(7),
            maybe: Counter(8),
            nothing: Counter(0),
            large: Counter(1),
            exact: Counter(9),
            tally: 705_032_704,
            // Where one is a collection and the other is not, the field starts anew.
            set: 0,
            list: None,
            names: BTreeSet::new(),
            single: Vec::new(),
            long: 705_032_704,
            word: 0,
            many: BTreeSet::new(),
            few: Counter(0),
        };
        assert_eq!(seen, expected);
        let db = open_as_java(store);
        assert!(db.write(|tx| tx.get::<new::Thing>(id)?.migrate()).unwrap());
        assert_eq!(load::<new::Thing>(&db, id).unwrap(), expected);
    });
}

#[test]
fn the_report_says_what_java_resets() {
    on_each_store(|store| {
        create(&open::<old::Thing>(store), &thing());
        let report = open_as_java(store).evolution_report().unwrap();
        let versions = report.versions.iter().flat_map(|version| &version.types);
        let reset: Vec<_> = versions
            .flat_map(|of_type| &of_type.fields)
            .filter(|field| matches!(field.verdict, FieldVerdict::Reset))
            .map(|field| &*field.name)
            .collect();
        assert_eq!(reset, ["text", "flag", "set", "list", "names", "single", "many", "few"]);
    });
}

mod stated {
    use super::*;

    versions! {
        old {
            pub struct Thing {
                pub number: i64,
                pub other: i64,
                pub reset: i32,
                pub friend: Option<Ref<Friend>>,
            }
            pub struct Friend {
                pub name: String,
            }
        }
        new {
            #[permazen(default_upgrade = "lossy")]
            pub struct Thing {
                #[permazen(upgrade = "exact")]
                pub number: i32,
                pub other: i32,
                #[permazen(upgrade = "reset")]
                pub reset: i64,
                #[permazen(upgrade = "exact")]
                pub friend: Option<Ref<Thing>>,
            }
            pub struct Friend {
                pub name: String,
            }
        }
    }

    #[test]
    fn what_the_model_states_holds_by_javas_rules_too() {
        on_each_store(|store| {
            let old = open2::<old::Thing, old::Friend>(store);
            let friend = create(&old, &old::Friend { name: "ann".into() });
            let fits = old::Thing { number: 5, other: 5_000_000_000, reset: 7, friend: None };
            let large = old::Thing { number: 5_000_000_000, ..fits.clone() };
            let friendly = old::Thing { friend: Some(Ref::new(friend)), ..fits.clone() };
            let ids = [&fits, &large, &friendly].map(|thing| create(&old, thing));
            let builder = Permazen::builder_shared(store.clone()).model::<new::Thing>();
            let db = builder.model::<new::Friend>().evolution(Evolution::AsJava).build().unwrap();
            let expected = new::Thing { number: 5, other: 705_032_704, reset: 0, friend: None };
            assert_eq!(load::<new::Thing>(&db, ids[0]).unwrap(), expected);
            assert_eq!(lost(load::<new::Thing>(&db, ids[1])), ["number"]);
            assert_eq!(lost(load::<new::Thing>(&db, ids[2])), ["friend"]);
            assert_eq!(load::<old::Thing>(&old, ids[1]).unwrap(), large);
            let report = db.evolution_report().unwrap();
            let things = report.versions.iter().flat_map(|version| &version.types);
            let things = things.filter(|of_type| of_type.name == "Thing");
            let verdict = |name: &str| {
                let fields = things.clone().flat_map(|of_type| &of_type.fields);
                fields.filter(|field| field.name == name).map(|field| &field.verdict).next()
            };
            assert!(matches!(verdict("number"), Some(FieldVerdict::Look { .. })));
            assert!(matches!(verdict("other"), Some(FieldVerdict::Lossy { .. })));
            assert!(matches!(verdict("friend"), Some(FieldVerdict::WouldLose { .. })));
        });
    }
}
