//! The report about stored objects before models are used with them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use permazen::__internal::model::ObjectCount;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{KvDatabase, TxOptions};
use permazen::model::{EnumType, EvolutionReport, FieldVerdict, Model};
use permazen::{
    Any, Counter, Error, Evolution, OldValues, Permazen, PermazenEnum, PermazenObject, Ref, Result,
};

#[derive(PermazenEnum, Debug, Clone, Copy, Default)]
enum Level {
    #[default]
    Low,
    High,
}

#[derive(PermazenEnum, Debug, Clone, Copy, Default)]
#[allow(dead_code)]
enum MoreLevels {
    #[default]
    Low,
    High,
    Highest,
}

#[derive(PermazenObject, Default)]
struct Place {}

mod old {
    use super::*;

    #[derive(PermazenObject, Default)]
    #[permazen(composite(name = "byName", fields(name, level)))]
    #[permazen(composite(name = "byAge", fields(name, age)))]
    pub(super) struct Item {
        #[permazen(indexed)]
        pub(super) name: String,
        pub(super) unindexed: i32,
        pub(super) age: i32,
        pub(super) wide: i64,
        pub(super) decimal: f64,
        pub(super) count: Counter,
        pub(super) former: String,
        #[permazen(indexed)]
        pub(super) level: Level,
        #[permazen(accessor = "the_set")]
        pub(super) set: BTreeSet<i32>,
        pub(super) list: Vec<i32>,
        pub(super) one: Option<i32>,
        pub(super) many: Vec<i32>,
        pub(super) map: BTreeMap<i32, i32>,
        pub(super) anything: Option<Ref<Any>>,
        pub(super) place: Option<Ref<Place>>,
        pub(super) own: i32,
        pub(super) lossy: i64,
        pub(super) reset: i64,
        pub(super) emptied: i64,
        pub(super) dropped: i64,
        pub(super) left: i64,
    }

    #[derive(PermazenObject, Default)]
    pub(super) struct Gone {}
}

mod new {
    use super::*;

    #[derive(PermazenObject)]
    #[permazen(removed("dropped"))]
    #[permazen(composite(name = "byName", fields(name, level)))]
    #[permazen(composite(name = "byAge", fields(name, age)))]
    pub(super) struct Item {
        #[permazen(indexed)]
        pub(super) name: String,
        #[permazen(indexed)]
        pub(super) unindexed: i32,
        pub(super) age: i64,
        pub(super) wide: i32,
        pub(super) decimal: bool,
        pub(super) count: i64,
        #[permazen(was = "former")]
        pub(super) now: String,
        #[permazen(indexed)]
        pub(super) level: MoreLevels,
        #[permazen(accessor = "the_set")]
        pub(super) set: BTreeSet<i64>,
        pub(super) list: BTreeSet<i32>,
        pub(super) one: Vec<i32>,
        pub(super) many: Option<i32>,
        pub(super) map: Vec<i32>,
        pub(super) anything: Option<Ref<Item>>,
        pub(super) place: Option<Ref<Item>>,
        #[permazen(upgrade_with = own)]
        pub(super) own: String,
        #[permazen(upgrade = "lossy")]
        pub(super) lossy: i32,
        #[permazen(upgrade = "reset")]
        pub(super) reset: i32,
        #[permazen(upgrade = "reset")]
        pub(super) emptied: String,
        pub(super) required: String,
        #[permazen(default = "nobody".to_owned())]
        pub(super) stated: String,
        pub(super) optional: Option<String>,
        pub(super) number: i32,
        pub(super) constant: Level,
        pub(super) link: Ref<Place>,
        pub(super) maybe: Option<Ref<Place>>,
        pub(super) many_more: Vec<String>,
    }

    fn own(old: &OldValues<'_>) -> Result<String> {
        Ok(old.get::<i32>("own")?.to_string())
    }
}

type Store = Arc<dyn KvDatabase>;

/// A store in which objects were stored by another program.
fn store<M: Model, const N: usize>(objects: [M; N]) -> Store {
    let store: Store = Arc::new(MemoryStore::new());
    let builder = Permazen::builder_shared(store.clone()).model::<M>();
    let db = builder.model::<Place>().model::<old::Gone>().build().unwrap();
    let mut objects = Some(objects);
    db.write(|tx| {
        let objects = objects.take().into_iter().flatten();
        objects.into_iter().try_for_each(|object| tx.create(object).map(drop))
    })
    .unwrap();
    store
}

fn pairs(store: &Store) -> Vec<(Vec<u8>, Vec<u8>)> {
    let tx = store.begin(&TxOptions::default()).unwrap();
    let all = permazen::kv::KeySpan::new(&[], None);
    let pairs = tx.scan(all, permazen::kv::Direction::Forward).unwrap();
    pairs.map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap()).collect()
}

fn with<M: Model>(store: &Store) -> permazen::model::Builder {
    Permazen::builder_shared(store.clone()).model::<M>().model::<Place>()
}

fn report<M: Model>(store: &Store) -> EvolutionReport {
    with::<M>(store).build().unwrap().evolution_report().unwrap()
}

/// The verdict on a field of `Item`.
fn verdict(report: &EvolutionReport, name: &str) -> FieldVerdict {
    let types = report.versions.iter().flat_map(|version| &version.types);
    let mut fields = types.filter(|object_type| object_type.name == "Item").flat_map(|t| &t.fields);
    fields.find(|field| field.name == name).unwrap().verdict.clone()
}

#[test]
fn each_kind_of_change_has_its_verdict() {
    use FieldVerdict as V;
    let report = report::<new::Item>(&store([old::Item::default()]));
    let between = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    let exact = |(from, to)| V::Exact { from, to };
    let look = |(from, to)| V::Look { from, to };
    let lossy = |(from, to)| V::Lossy { from, to };
    let lost = |reason: &str, removed| V::WouldLose { reason: reason.to_owned(), removed };
    let expected = [
        ("name", V::Same),
        ("unindexed", V::Same),
        ("age", exact(between("int", "long"))),
        ("wide", look(between("long", "int"))),
        ("decimal", look(between("double", "boolean"))),
        ("count", exact(between("counter", "long"))),
        ("now", exact(between("String", "String"))),
        ("level", exact(between("enum of LOW, HIGH", "enum of LOW, HIGH, HIGHEST"))),
        ("set", exact(between("set of int", "set of long"))),
        ("list", look(between("list of int", "set of int"))),
        ("one", exact(between("Integer", "list of int"))),
        ("many", look(between("list of int", "Integer"))),
        ("map", lost("a map is not converted to a list", false)),
        ("anything", look(between("reference", "reference to Item"))),
        ("place", lost("it no longer allows references to any of these objects", false)),
        ("own", V::OwnCode),
        ("lossy", lossy(between("long", "int"))),
        ("reset", V::Reset),
        ("emptied", V::Required),
        ("required", V::Required),
        ("stated", V::Added),
        ("optional", V::Added),
        ("number", V::Added),
        ("constant", V::Added),
        ("link", V::Required),
        ("maybe", V::Added),
        ("manyMore", V::Added),
        ("dropped", V::Dropped),
    ];
    for (name, expected) in expected {
        assert_eq!(verdict(&report, name), expected, "{name}");
    }
    // A field without own code keeps the verdict, but own code of another field may carry it over.
    assert_eq!(verdict(&report, "left"), V::OwnCodeMayTake);
}

/// An object with a value in each field is refused exactly for the fields that the verdict names.
#[test]
fn moves_do_what_the_verdict_says() {
    let store = store([old::Item::default()]);
    let db = with::<old::Item>(&store).model::<old::Gone>().build().unwrap();
    db.write(|tx| {
        let (item, place) = (tx.create_default::<old::Item>()?, tx.create(Place {})?);
        item.store(&old::Item {
            name: "Ann".into(),
            unindexed: 1,
            age: 2,
            wide: 5_000_000_000,
            decimal: 0.5,
            count: Counter::default(),
            former: "old name".into(),
            level: Level::High,
            set: [1, 2].into(),
            list: vec![2, 1],
            one: Some(3),
            many: vec![1, 2],
            map: [(1, 2)].into(),
            anything: Some(Ref::new(place.id())),
            place: Some(place.to_ref()),
            own: 4,
            lossy: 5_000_000_000,
            reset: 5,
            emptied: 5,
            dropped: 6,
            left: 7,
        })?;
        item.count().add(8)
    })
    .unwrap();
    let db = with::<new::Item>(&store).build().unwrap();
    let report = db.evolution_report().unwrap();
    let dry = db.upgrade_all().dry_run().run().unwrap();
    // The place moves, and so does the object that has only defaults.
    assert_eq!((dry.moved, dry.refused), (2, 1));
    let Error::Refused(refusal) = &dry.refusals[0].error else { panic!("{dry:?}") };
    let refused: BTreeSet<&str> = refusal.losses.iter().map(|loss| &*loss.field).collect();
    let item = report.versions[0].types.iter().find(|t| t.name == "Item").unwrap();
    let may_refuse = |verdict: &FieldVerdict| {
        use FieldVerdict::{Look, OwnCode, OwnCodeMayTake, WouldLose};
        matches!(verdict, Look { .. } | OwnCode | OwnCodeMayTake | WouldLose { .. })
    };
    let expected =
        item.fields.iter().filter(|field| may_refuse(&field.verdict) && field.name != "own");
    let expected: BTreeSet<&str> = expected.map(|field| &*field.name).collect();
    assert_eq!(refused, expected);
}

#[test]
fn indexes_are_complete_or_partial_in_each_version() {
    let report = report::<new::Item>(&store([old::Item::default()]));
    let item = report.versions[0].types.iter().find(|t| t.name == "Item").unwrap();
    let complete = |name: &str| item.indexes.iter().find(|i| i.name == name).unwrap().is_complete;
    // The same, and with more constants at the end.
    assert!(complete("name") && complete("level") && complete("byName"));
    // Not indexed before, another definition, and new.
    assert!(!complete("unindexed") && !complete("byAge") && !complete("link"));
}

mod plain {
    use super::*;

    #[derive(PermazenObject, Default)]
    pub(super) struct Item {
        pub(super) name: String,
        pub(super) nickname: String,
    }

    pub(super) mod fewer {
        use super::*;

        #[derive(PermazenObject, Default)]
        pub(in super::super) struct Item {
            pub(in super::super) name: String,
        }
    }

    pub(super) mod accepted {
        use super::*;

        #[derive(PermazenObject, Default)]
        #[permazen(removed("nickname"))]
        pub(in super::super) struct Item {
            pub(in super::super) name: String,
        }
    }

    /// Numbers that may be null, and the keys of a map.
    pub(super) mod nulls {
        use super::*;

        #[derive(PermazenObject, Default)]
        pub(in super::super) struct Item {
            pub(in super::super) size: Option<i32>,
            pub(in super::super) wide: Option<i32>,
            pub(in super::super) sure: i32,
            pub(in super::super) free: Option<i32>,
            #[permazen(value(indexed))]
            pub(in super::super) hours: BTreeMap<String, i32>,
        }
    }

    pub(super) mod no_nulls {
        use super::*;

        #[derive(PermazenObject, Default)]
        pub(in super::super) struct Item {
            pub(in super::super) size: String,
            pub(in super::super) wide: i64,
            pub(in super::super) sure: String,
            pub(in super::super) free: Option<String>,
            #[permazen(value(indexed))]
            pub(in super::super) hours: BTreeMap<i32, i32>,
        }
    }

    pub(super) mod handled {
        use super::*;
        use permazen::NewValues;

        #[derive(PermazenObject, Default)]
        #[permazen(on_schema_change = from_old)]
        pub(in super::super) struct Item {
            pub(in super::super) name: String,
            pub(in super::super) fresh: String,
        }

        fn from_old(old: &OldValues<'_>, new: &mut NewValues<'_, '_, Item>) -> Result<()> {
            let nickname: String = old.take("nickname")?;
            new.set(Item::FRESH, nickname)
        }
    }

    pub(super) mod required {
        use super::*;

        #[derive(PermazenObject, Default)]
        pub(in super::super) struct Item {
            pub(in super::super) name: String,
            pub(in super::super) nickname: String,
            pub(in super::super) fresh: String,
        }
    }
}

/// The object moves with its null, and reading it says that the value is missing.
#[test]
fn null_that_becomes_a_required_value_is_told() {
    use plain::no_nulls::Item;
    let store = store([plain::nulls::Item { wide: Some(1), ..Default::default() }]);
    let db = with::<Item>(&store).strict().build().unwrap();
    let report = db.evolution_report().unwrap();
    let integer = |to: &str| ("Integer".to_owned(), to.to_owned());
    let (from, to) = integer("String");
    assert_eq!(verdict(&report, "size"), FieldVerdict::ExactOrNull { from, to });
    let (from, to) = integer("long");
    assert_eq!(verdict(&report, "wide"), FieldVerdict::Look { from, to });
    let (from, to) = ("int".to_owned(), "String".to_owned());
    assert_eq!(verdict(&report, "sure"), FieldVerdict::Exact { from, to });
    let (from, to) = integer("String");
    assert_eq!(verdict(&report, "free"), FieldVerdict::Exact { from, to });
    assert!(report.to_string().contains("from Integer to String, but null is no value there"));
    let run = db.upgrade_all().run().unwrap();
    assert_eq!((run.moved, run.refused), (1, 0));
    db.write(|tx| {
        let item = tx.all::<Item>()?.first()?.unwrap();
        let error = item.size().unwrap_err();
        assert!(matches!(error, Error::Missing { is_null: true, is_new: false, .. }));
        assert_eq!(
            error.to_string(),
            format!(
                "Item.size of object {} has no value, but the model requires one: it is null, and the object is in \
                 schema {}, that of the models: set it, or make it an `Option`; `default = …` does not help, \
                 because it is only for new objects and those whose schema lacks the field",
                item.id(),
                db.schema().schema_id()
            )
        );
        item.set_size("1")?;
        assert_eq!(item.load()?.size, "1");
        Ok(())
    })
    .unwrap();
}

#[test]
fn map_values_are_partial_for_queries_with_keys_if_the_keys_have_another_definition() {
    use plain::no_nulls::Item;
    let store = store([plain::nulls::Item { wide: Some(1), ..Default::default() }]);
    let db = with::<Item>(&store).build().unwrap();
    let report = db.evolution_report().unwrap();
    let item = report.versions[0].types.iter().find(|t| t.name == "Item").unwrap();
    let [hours] = &item.indexes[..] else { panic!("{:?}", item.indexes) };
    assert!(hours.is_complete && !hours.is_complete_with_keys);
    assert!(report.to_string().contains("index hours.value: partial for queries with keys"));
    db.read(|tx| {
        assert_eq!(tx.index(Item::HOURS.value())?.count()?, 0);
        let with_keys = tx.index(Item::HOURS.value().with_keys());
        assert!(matches!(with_keys, Err(Error::PartialIndex { missing: 1, .. })));
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_report_counts_objects_and_names_types_the_models_lack() {
    let store = store([old::Gone {}, old::Gone {}]);
    let db = with::<plain::Item>(&store).build().unwrap();
    let report = db.evolution_report().unwrap();
    assert_eq!(report.schema, db.schema().schema_id());
    assert_eq!(report.versions.len(), 1);
    let counts: Vec<_> = report.versions[0]
        .types
        .iter()
        .map(|t| (&*t.name, t.objects.counted, t.objects.or_more, t.in_models))
        .collect();
    assert_eq!(counts, [("Gone", 2, false, false), ("Place", 0, false, true)]);
    assert_eq!(
        report.to_string(),
        format!(
            "schema {}, recorded as number 1:\n  \
             Gone: 2 objects; the models have no such type, so they stay as they are\n  \
             Place: no objects; all its fields and indexes have the same values",
            report.versions[0].schema
        )
    );
    assert_eq!(report.warnings().count(), 0);
}

#[test]
fn a_report_says_that_a_reference_allows_more_types() {
    mod before {
        use super::*;
        #[derive(PermazenObject, Default)]
        pub(super) struct Item {
            pub(super) place: Option<Ref<Place>>,
            pub(super) places: Vec<Ref<Place>>,
            pub(super) thing: Option<Ref<Any>>,
        }
    }
    #[derive(PermazenObject, Default)]
    struct Item {
        place: Option<Ref<Any>>,
        places: Vec<Ref<Any>>,
        thing: Option<Ref<Any>>,
    }

    let store = store([before::Item::default()]);
    let report = with::<Item>(&store).build().unwrap().evolution_report().unwrap();
    let (from, to) = ("reference to Place".to_owned(), "reference".to_owned());
    assert_eq!(verdict(&report, "place"), FieldVerdict::SameAndMore { from, to });
    assert!(matches!(verdict(&report, "places"), FieldVerdict::SameAndMore { .. }));
    assert_eq!(verdict(&report, "thing"), FieldVerdict::Same);
    let text = report.to_string();
    let line =
        "place: every value is kept; more types are allowed: reference to Place becomes reference";
    assert!(text.contains(line), "{text}");
    assert_eq!(report.warnings().count(), 0);
}

#[test]
fn a_report_says_that_deletions_differ() {
    use std::collections::BTreeMap;
    mod before {
        use super::*;
        #[derive(PermazenObject, Default)]
        pub(super) struct Item {
            pub(super) place: Option<Ref<Place>>,
            #[permazen(inverse_delete = "nullify")]
            pub(super) same: Option<Ref<Place>>,
            #[permazen(
                key(inverse_delete = "delete"),
                value(inverse_delete = "remove", forward_delete)
            )]
            pub(super) ways: BTreeMap<Ref<Place>, Ref<Place>>,
            pub(super) one: Option<Ref<Place>>,
        }
    }
    #[derive(PermazenObject, Default)]
    struct Item {
        #[permazen(inverse_delete = "nullify")]
        place: Option<Ref<Place>>,
        #[permazen(inverse_delete = "nullify")]
        same: Option<Ref<Place>>,
        #[permazen(key(inverse_delete = "delete"), value(inverse_delete = "remove"))]
        ways: BTreeMap<Ref<Place>, Ref<Place>>,
        #[permazen(was = "one", inverse_delete = "ignore", allow_deleted)]
        other: Option<Ref<Place>>,
    }

    let store = store([before::Item::default()]);
    let report = with::<Item>(&store).build().unwrap().evolution_report().unwrap();
    let fields = report.versions.iter().flat_map(|it| &it.types).flat_map(|it| &it.fields);
    let found: Vec<_> = fields
        .flat_map(|field| &field.delete_actions)
        .map(|it| (&*it.name, &*it.from, &*it.to))
        .collect();
    let [exception, nullify, ignore] =
        ["exception", "nullify", "ignore"].map(|action| format!("inverse_delete = {action:?}"));
    let remove = "inverse_delete = \"remove\"";
    let forward = "inverse_delete = \"remove\", forward_delete";
    assert_eq!(
        found,
        [
            ("place", &*exception, &*nullify),
            ("ways.value", forward, remove),
            ("other", &*exception, &*ignore)
        ]
    );
    let text = report.to_string();
    let line = format!(
        "    place: the same; deletions: {exception} applies to place until an object moves (`migrate`, \
         `upgrade_all`), then {nullify}\n"
    );
    assert!(text.contains(&line), "{text}");
    assert!(!text.contains("same: "), "{text}");
    assert_eq!(report.warnings().count(), 0);
}

#[test]
fn counting_stops_in_time() {
    let limit = ObjectCount::LIMIT;
    for (objects, expected) in [(limit - 1, (limit - 1, false)), (limit + 1, (limit, true))] {
        let store = store([plain::Item::default()]);
        let db = with::<plain::Item>(&store).model::<old::Gone>().build().unwrap();
        db.write(|tx| (1..objects).try_for_each(|_| tx.create(plain::Item::default()).map(drop)))
            .unwrap();
        let report = report::<plain::fewer::Item>(&store);
        let item = report.versions[0].types.iter().find(|t| t.name == "Item").unwrap();
        assert_eq!((item.objects.counted, item.objects.or_more), expected);
    }
}

#[test]
fn a_report_says_in_words_what_becomes_of_each_field() {
    let text = report::<new::Item>(&store([old::Item::default()])).to_string();
    for line in [
        "Item: 1 object\n",
        "age: every value is converted exactly, from int to long",
        "now: renamed from former, so programs of that schema do not find it in newer objects; every value is kept",
        "wide: not every value can be converted exactly, from long to int",
        "own: own code converts it",
        "reset: dropped; it starts at its default",
        "required: no value for a field that requires one and has no default",
        "stated: added, with its default",
        "dropped: dropped",
        "map: would be lost, so an object with such a value stays as it is: a map is not converted to a list",
        "index unindexed: partial, these objects are not in it yet",
    ] {
        assert!(text.contains(&format!("    {line}")) || text.contains(line), "{line} in\n{text}");
    }
    assert!(!text.contains("    name:"), "{text}");
}

#[test]
fn strict_refuses_losses_and_leaves_the_database_untouched() {
    let store = store([plain::Item { name: "Ann".into(), nickname: "A".into() }]);
    let before = pairs(&store);
    let refused = with::<plain::fewer::Item>(&store).strict().build().unwrap_err();
    assert_eq!(pairs(&store), before);
    let text = refused.to_string();
    for part in ["strict", "Item.nickname", "1 object", "removed(\"nickname\")"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let Error::WouldLose(report) = refused else { panic!("{refused:?}") };
    let names: Vec<_> = report.warnings().map(|warning| &*warning.field.name).collect();
    assert_eq!(names, ["nickname"]);
    // With a word of acceptance it opens, and so it does without `strict`.
    with::<plain::accepted::Item>(&store).strict().build().unwrap();
    let db = with::<plain::fewer::Item>(&store).build().unwrap();
    assert_eq!(db.evolution_report().unwrap().warnings().count(), 1);
    // Also where the schema is recorded already.
    let before = pairs(&store);
    with::<plain::fewer::Item>(&store).strict().build().unwrap_err();
    assert_eq!(pairs(&store), before);
}

#[test]
fn strict_removes_no_schema_when_it_refuses() {
    let store = store([plain::Item::default()]);
    // A recorded schema without objects, which opening would remove.
    drop(with::<plain::accepted::Item>(&store).build().unwrap());
    let before = pairs(&store);
    with::<plain::required::Item>(&store).strict().build().unwrap_err();
    assert_eq!(pairs(&store), before);
    with::<plain::required::Item>(&store).build().unwrap();
    assert_ne!(pairs(&store), before);
}

#[test]
fn strict_refuses_required_values_that_are_missing() {
    let store = store([plain::Item::default()]);
    let refused = with::<plain::required::Item>(&store).strict().build().unwrap_err();
    assert!(
        refused.to_string().contains("Item.fresh: no value for a field that requires one"),
        "{refused}"
    );
    assert!(!refused.is_retryable());
}

mod nulls {
    use super::*;

    #[derive(PermazenEnum, Debug, Clone, Copy)]
    pub(super) enum Color {
        Red,
    }

    #[derive(PermazenObject, Default)]
    pub(super) struct Item {
        pub(super) number: Option<i32>,
        pub(super) stated: Option<i32>,
        pub(super) many: Vec<String>,
        pub(super) text: String,
        pub(super) text_or_red: String,
        pub(super) narrow: Option<i64>,
        pub(super) kept: Option<String>,
    }

    pub(super) mod required {
        use super::*;

        #[derive(PermazenObject)]
        pub(in super::super) struct Item {
            pub(in super::super) number: String,
            #[permazen(default = "none".to_owned())]
            pub(in super::super) stated: String,
            pub(in super::super) many: String,
            #[permazen(upgrade = "lossy")]
            pub(in super::super) text: Color,
            #[permazen(upgrade = "lossy", default = Color::Red)]
            pub(in super::super) text_or_red: Color,
            pub(in super::super) narrow: Option<i32>,
            pub(in super::super) kept: String,
        }
    }
}

/// Values that are or become null where the model requires one.
#[test]
fn values_that_may_be_null_where_the_model_requires_one_are_told() {
    let store = store([nulls::Item { text: "blue".into(), ..nulls::Item::default() }]);
    let report = report::<nulls::required::Item>(&store);
    use FieldVerdict::{ExactOrNull, Look, Lossy, LossyOrNull};
    for name in ["number", "stated"] {
        assert!(matches!(verdict(&report, name), ExactOrNull { .. }), "{name}");
    }
    for name in ["many", "narrow"] {
        assert!(matches!(verdict(&report, name), Look { .. }), "{name}");
    }
    assert!(matches!(verdict(&report, "text"), LossyOrNull { .. }));
    assert!(matches!(verdict(&report, "textOrRed"), Lossy { .. }));
    // The encoding of a `String` has null in any case, so nothing can be said.
    assert_eq!(verdict(&report, "kept"), FieldVerdict::Same);
    let warnings: Vec<_> = report.warnings().map(|warning| &*warning.field.name).collect();
    assert_eq!(warnings, ["text"]);
    let text = report.to_string();
    let part = "text: converted as well as possible, from String to enum of RED; what has no counterpart is null";
    assert!(text.contains(part), "{text}");
    with::<nulls::required::Item>(&store).strict().build().unwrap_err();
    // And so it is.
    let db = with::<nulls::required::Item>(&store).build().unwrap();
    db.write(|tx| {
        let item = tx.all::<nulls::required::Item>()?.into_iter().next().unwrap()?;
        assert_eq!(item.text_or_red()?.identifier(), "RED");
        assert!(matches!(item.number(), Err(Error::Missing { .. })));
        assert!(matches!(item.stated(), Err(Error::Missing { .. })));
        assert!(matches!(item.many(), Err(Error::Missing { .. })));
        assert!(matches!(item.text(), Err(Error::Missing { .. })));
        Ok(())
    })
    .unwrap();
}

/// The verdict is there before anything is recorded.
#[test]
fn a_builder_gives_the_report_and_leaves_the_database_untouched() {
    let store = store([plain::Item { name: "Ann".into(), nickname: "A".into() }]);
    // A recorded schema without objects, which opening would remove.
    drop(with::<plain::accepted::Item>(&store).build().unwrap());
    let before = pairs(&store);
    let builder = with::<plain::fewer::Item>(&store);
    let told = builder.evolution_report().unwrap();
    assert_eq!(pairs(&store), before);
    let warnings: Vec<_> = told.warnings().map(|warning| &*warning.field.name).collect();
    assert_eq!(warnings, ["nickname"]);
    // The same as afterwards, and also where the schema is recorded already.
    assert_eq!(builder.build().unwrap().evolution_report().unwrap(), told);
    assert_eq!(with::<plain::fewer::Item>(&store).evolution_report().unwrap(), told);
    let refused = with::<plain::required::Item>(&store).allow_new_schema(false);
    assert!(matches!(refused.evolution_report(), Err(Error::SchemaDiffers { .. })));
    // An empty store stays empty.
    let empty: Store = Arc::new(MemoryStore::new());
    let report = with::<plain::Item>(&empty).evolution_report().unwrap();
    assert!(report.versions.is_empty() && pairs(&empty).is_empty());
}

#[test]
fn own_code_of_the_type_may_carry_everything_over() {
    let store = store([plain::Item { name: "Ann".into(), nickname: "A".into() }]);
    let db = with::<plain::handled::Item>(&store).strict().build().unwrap();
    let report = db.evolution_report().unwrap();
    assert_eq!(verdict(&report, "name"), FieldVerdict::Same);
    assert_eq!(verdict(&report, "fresh"), FieldVerdict::OwnCodeMaySet);
    assert_eq!(verdict(&report, "nickname"), FieldVerdict::OwnCodeMayTake);
}

/// An index lacks nothing of a type without objects.
#[test]
fn no_objects_make_no_index_partial() {
    let store = store([plain::nulls::Item::default()]);
    let db = with::<plain::nulls::Item>(&store).build().unwrap();
    // So that the schema stays in use.
    db.write(|tx| tx.create(Place {}).map(drop)).unwrap();
    let text = || report::<plain::no_nulls::Item>(&store).to_string();
    assert!(text().contains("index hours.value"));
    db.write(|tx| tx.all::<plain::nulls::Item>()?.first()?.unwrap().delete()).unwrap();
    let text = text();
    assert!(text.contains("Item: no objects") && !text.contains("index hours"), "{text}");
}

#[test]
fn strict_minds_only_types_with_objects() {
    let store = store([old::Gone {}]);
    with::<plain::Item>(&store).build().unwrap();
    with::<plain::fewer::Item>(&store).strict().build().unwrap();
    with::<plain::required::Item>(&store).strict().build().unwrap();
}

/// A program of an earlier version must run on the database of a later one.
#[test]
fn a_program_that_is_rolled_back_is_warned_and_runs() {
    let store = store([plain::required::Item::default()]);
    let db = with::<plain::Item>(&store).build().unwrap();
    let report = db.evolution_report().unwrap();
    assert!(matches!(verdict(&report, "fresh"), FieldVerdict::WouldLose { removed: true, .. }));
    db.write(|tx| {
        let item = tx.all::<plain::Item>()?.into_iter().next().unwrap()?;
        item.set_name("Ann")
    })
    .unwrap();
}

#[test]
fn the_report_says_what_javas_rules_drop() {
    let store = store([old::Item::default()]);
    let as_java = |store| with::<new::Item>(store).evolution(Evolution::AsJava);
    let report = as_java(&store).build().unwrap().evolution_report().unwrap();
    assert_eq!(verdict(&report, "left"), FieldVerdict::Dropped);
    assert_eq!(verdict(&report, "set"), FieldVerdict::Reset);
    assert!(matches!(verdict(&report, "wide"), FieldVerdict::Lossy { .. }));
    assert!(matches!(verdict(&report, "age"), FieldVerdict::Exact { .. }));
    assert!(matches!(verdict(&report, "place"), FieldVerdict::Lossy { .. }));
    let warnings: Vec<_> = report.warnings().map(|warning| &*warning.field.name).collect();
    assert_eq!(warnings, ["emptied", "required", "link"]);
}

#[test]
fn one_version_only_needs_no_words() {
    let store = store([plain::Item::default()]);
    let db = with::<plain::Item>(&store).model::<old::Gone>().build().unwrap();
    let report = db.evolution_report().unwrap();
    assert!(report.versions.is_empty());
    assert_eq!(report.to_string(), "no other schema is recorded");
}

#[test]
fn a_report_can_be_serialized() {
    let store = store([plain::Item::default()]);
    let report = report::<plain::fewer::Item>(&store);
    let json = serde_json::to_value(&report).unwrap();
    let version = &json["versions"][0];
    assert_eq!(version["schema"], report.versions[0].schema.to_string());
    let item = &version["types"][1];
    assert_eq!((&item["name"], &item["objects"]["counted"]), (&"Item".into(), &1.into()));
    assert_eq!(item["fields"][0]["verdict"]["is"], "same");
    assert_eq!(item["fields"][1]["verdict"]["is"], "would_lose");
}

/// Own code of one field may take the values of fields that the model lacks, or may not.
#[test]
fn what_own_code_may_take_is_not_said_to_be_converted() {
    mod before {
        #[derive(permazen::PermazenObject, Default)]
        pub(super) struct Thing {
            pub(super) price: f64,
            pub(super) other: i32,
            pub(super) x: i32,
        }
    }
    mod now {
        fn nothing_taken(_: &permazen::model::OldValues<'_>) -> permazen::Result<i64> {
            Ok(7)
        }

        #[derive(permazen::PermazenObject, Default)]
        pub(super) struct Thing {
            #[permazen(upgrade_with = nothing_taken)]
            pub(super) cents: i64,
            pub(super) x: i32,
        }
    }
    let store: Store = Arc::new(MemoryStore::new());
    let db = Permazen::builder_shared(store.clone()).model::<before::Thing>().build().unwrap();
    db.write(|tx| tx.create(before::Thing { price: 1.5, other: 2, x: 3 }).map(drop)).unwrap();
    drop(db);
    let db = Permazen::builder_shared(store).model::<now::Thing>().strict().build().unwrap();
    let report = db.evolution_report().unwrap();
    let fields = &report.versions[0].types[0].fields;
    let verdicts: Vec<_> =
        fields.iter().map(|field| (&*field.name, field.verdict.clone())).collect();
    assert_eq!(
        verdicts,
        [
            ("cents", FieldVerdict::OwnCodeMakes),
            ("x", FieldVerdict::Same),
            ("other", FieldVerdict::OwnCodeMayTake),
            ("price", FieldVerdict::OwnCodeMayTake),
        ]
    );
    let text = report.to_string();
    assert!(!text.contains("converts it"), "{text}");
    let line = |start: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(start));
        line.unwrap_or_else(|| panic!("{start} in\n{text}"))
    };
    assert!(line("cents:").contains("programs of that schema do not find it"), "{text}");
    for name in ["price:", "other:"] {
        assert!(
            line(name).contains("may take it; an object whose value it does not take"),
            "{text}"
        );
        assert!(line(name).contains("programs of that schema do not find it"), "{text}");
        assert!(text.find("that the models lack") < text.find(name), "{text}");
    }
    assert!(text.find("cents:") < text.find("that the models lack"), "{text}");
    // The run does what the report says.
    let dry = db.upgrade_all().dry_run().run().unwrap();
    assert_eq!((dry.moved, dry.refused), (0, 1));
}
