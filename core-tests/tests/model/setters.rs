//! The values that setters take, and whole collections set at once.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use permazen::kv::counting::CountingStore;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{Direction, KeySpan, KvDatabase, KvDatabaseExt as _, TxOptions};
use permazen::{Any, AnyObj, Error, Obj, Permazen, PermazenObject, Ref, Result, Tx};
use proptest::prelude::*;

#[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
struct Person {
    nick: Option<String>,
    boss: Option<Ref<Person>>,
    thing: Option<Ref<Any>>,
    age: Option<i32>,
    #[permazen(element(indexed))]
    tags: Vec<String>,
    pals: BTreeSet<Ref<Person>>,
    #[permazen(value(indexed))]
    scores: BTreeMap<String, i32>,
    maybe: Vec<Option<String>>,
    words: HashSet<String>,
    counts: HashMap<String, i64>,
}

fn in_transaction(body: impl FnMut(&Tx) -> Result<()>) {
    let db = Permazen::builder(MemoryStore::new()).model::<Person>().build().unwrap();
    db.write(body).unwrap();
}

#[test]
fn what_may_be_null_is_set_from_options() {
    in_transaction(|tx| {
        let (ann, bob) = (tx.create(Person::default())?, tx.create(Person::default())?);
        let nick: Option<&str> = "Annie the first".split(' ').next();
        ann.set_nick(&nick)?;
        assert_eq!(ann.nick()?.as_deref(), Some("Annie"));
        ann.set_nick("A")?;
        ann.set_nick(Some("B".to_owned()))?;
        assert_eq!(ann.nick()?.as_deref(), Some("B"));
        ann.set_nick(&None::<&str>)?;
        assert_eq!(ann.nick()?, None);
        ann.set_nick(None)?;
        let boss: Option<Obj<'_, Person>> = Some(bob);
        ann.set_boss(&boss)?;
        ann.set_thing(&boss)?;
        assert_eq!((ann.boss()?, ann.thing()?.map(|it| it.id())), (boss, Some(bob.id())));
        bob.set_boss(&ann.boss()?)?;
        assert_eq!(bob.boss()?, Some(bob));
        ann.set_boss(&None::<Obj<'_, Person>>)?;
        bob.set_boss(None)?;
        ann.set_thing(None)?;
        assert_eq!((ann.boss()?, bob.boss()?, ann.thing()?), (None, None, None));
        ann.set_age(Some(3))?;
        ann.set_age(None)?;
        ann.set_age(4)?;
        ann.maybe()?.push(&nick)?;
        ann.set_maybe([&nick, &None])?;
        assert_eq!(ann.maybe()?.load::<Vec<_>>()?, [Some("Annie".to_owned()), None]);
        Ok(())
    });
}

/// A setter of any reference takes the value that its accessor returns.
#[test]
fn any_object_is_a_value_for_any_reference() {
    #[derive(PermazenObject)]
    struct Holder {
        #[permazen(indexed)]
        one: Ref<Any>,
        maybe: Option<Ref<Any>>,
        things: BTreeSet<Ref<Any>>,
        list: Vec<Option<Ref<Any>>>,
        map: BTreeMap<Ref<Any>, Ref<Any>>,
    }

    let db = Permazen::builder(MemoryStore::new()).model::<Person>().model::<Holder>().build();
    db.unwrap()
        .write(|tx| {
            let (ann, bob) = (tx.create(Person::default())?, tx.create(Person::default())?);
            let holder = tx.create_default::<Holder>()?;
            holder.set_one(ann.any())?;
            holder.set_one(holder.one()?)?;
            assert_eq!(holder.one()?, ann.any());
            holder.set_maybe(bob.any())?;
            holder.set_maybe(&holder.maybe()?)?;
            assert_eq!(holder.maybe()?, Some(bob.any()));
            holder.set_maybe(&Some(ann.any()))?;
            assert_eq!(holder.maybe()?, Some(ann.any()));
            holder.set_maybe(&None::<AnyObj<'_>>)?;
            assert_eq!(holder.maybe()?, None);

            holder.set_things([ann.any(), bob.any()])?;
            assert!(holder.things()?.contains(ann.any())? && holder.things()?.remove(ann.any())?);
            assert!(!holder.things()?.add(bob.any())?);
            holder.things()?.extend([ann.any()])?;
            let both = BTreeSet::from([ann.to_ref().any(), bob.to_ref().any()]);
            assert_eq!(holder.things()?.load::<BTreeSet<_>>()?, both);
            holder.list()?.push(bob.any())?;
            holder.list()?.push(&Some(ann.any()))?;
            assert_eq!(holder.list()?.position(ann.any())?, Some(1));
            holder.set_list([&None, &Some(ann.any())])?;
            assert_eq!(holder.list()?.load::<Vec<_>>()?, [None, Some(ann.to_ref().any())]);
            holder.set_map([(ann.any(), bob.any())])?;
            holder.map()?.insert(bob.any(), ann.any())?;
            assert_eq!(holder.map()?.get(ann.any())?, Some(bob.to_ref().any()));

            assert_eq!(tx.find(Holder::ONE, ann.any())?, Some(holder));
            assert_eq!(tx.index(Holder::ONE)?.get(bob.any())?.count()?, 0);
            assert_eq!(Ref::<Any>::from(ann.any()), ann.to_ref().any());
            Ok(())
        })
        .unwrap();
}

#[test]
fn whole_collections_are_set() {
    in_transaction(|tx| {
        let (ann, bob) = (tx.create(Person::default())?, tx.create(Person::default())?);
        for tags in [&["a", "b", "c"][..], &["b", "c"], &[], &["c"], &["c", "d", "e", "f"]] {
            ann.set_tags(tags)?;
            assert_eq!(ann.tags()?.load::<Vec<_>>()?, tags);
            let indexed: Vec<String> =
                tx.index(Person::TAGS)?.iter().map(|entry| Ok(entry?.0)).collect::<Result<_>>()?;
            assert_eq!(indexed, tags);
        }
        ann.set_tags(vec!["x".to_owned()])?;
        ann.set_tags(&ann.load()?.tags)?;
        ann.set_pals([ann, bob])?;
        ann.set_pals([bob.to_ref()])?;
        assert_eq!(ann.pals()?.load::<Vec<_>>()?, [bob.to_ref()]);
        ann.set_scores([("a", 1), ("b", 2)])?;
        ann.set_scores(BTreeMap::from([("b".to_owned(), 3), ("c".to_owned(), 4)]))?;
        ann.set_scores(&ann.load()?.scores)?;
        let expected = BTreeMap::from([("b".to_owned(), 3), ("c".to_owned(), 4)]);
        assert_eq!(ann.scores()?.load::<BTreeMap<_, _>>()?, expected);
        assert_eq!(tx.index(Person::SCORES.value())?.get(1)?.count()?, 0);
        assert_eq!(tx.index(Person::SCORES.value())?.get(4)?.count()?, 1);
        // The collection itself may be read while it is set.
        ann.set_tags(ann.tags()?.iter().chain(ann.tags()?.iter()).collect::<Result<Vec<_>>>()?)?;
        assert_eq!(ann.tags()?.load::<Vec<_>>()?, ["x", "x"]);
        Ok(())
    });
}

/// A collection that is set is written where it differs, all or nothing.
#[test]
fn setting_a_collection_writes_what_differs() {
    let store = CountingStore::new(MemoryStore::new());
    let counter = store.counter();
    let db = Permazen::builder(store).model::<Person>().build().unwrap();
    let writes = |set: &dyn Fn() -> Result<()>| -> Result<u64> {
        counter.take();
        set()?;
        Ok(counter.take().writes())
    };
    db.write(|tx| {
        let (ann, gone) = (tx.create(Person::default())?, tx.create(Person::default())?);
        gone.delete()?;
        ann.set_tags(["a", "b", "c"])?;
        ann.set_pals([ann])?;
        ann.set_scores([("a", 1), ("b", 2)])?;
        assert_eq!(writes(&|| ann.set_tags(["a", "b", "c"]))?, 0);
        // The element, its entry in the index, and the entry of the element that was there.
        assert_eq!(writes(&|| ann.set_tags(["a", "x", "c"]))?, 3);
        assert_eq!(writes(&|| ann.set_tags(["a", "x"]))?, 2);
        assert_eq!(writes(&|| ann.set_pals([ann]))?, 0);
        assert_eq!(writes(&|| ann.set_scores([("b", 2), ("a", 1)]))?, 0);
        assert_eq!(writes(&|| ann.set_scores([("b", 2), ("a", 3)]))?, 3);
        let refused = ann.set_pals([gone.to_ref()]);
        assert!(matches!(refused, Err(Error::Object(_))), "{refused:?}");
        assert_eq!(ann.pals()?.load::<Vec<_>>()?, [ann.to_ref()]);
        assert!(gone.set_tags(["a"]).is_err());
        Ok(())
    })
    .unwrap();
}

#[test]
fn hash_sets_and_hash_maps_hold_the_plain_data() {
    in_transaction(|tx| {
        let words: HashSet<String> = ["a", "b", "c"].map(str::to_owned).into();
        let counts = HashMap::from([("x".to_owned(), 1), ("y".to_owned(), 2)]);
        let person = Person { words, counts, ..Person::default() };
        let ann = tx.create(&person)?;
        assert_eq!(ann.load()?, person);
        assert_eq!(ann.words()?.load::<Vec<_>>()?, ["a", "b", "c"]);
        ann.set_words(["d"])?;
        ann.set_counts(&HashMap::from([("z".to_owned(), 3)]))?;
        let loaded = ann.load()?;
        assert_eq!((loaded.words.len(), loaded.counts.get("z")), (1, Some(&3)));
        Ok(())
    });
}

#[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
#[permazen(composite(name = "byNameAge", fields(name, age)))]
struct Seen {
    #[permazen(indexed)]
    name: Option<String>,
    #[permazen(indexed)]
    age: i32,
    #[permazen(indexed)]
    other: Option<Ref<Seen>>,
    height: i64,
}

/// The value that a field is given.
#[derive(Debug, Clone)]
enum Given {
    Name(Option<String>),
    Age(i32),
    Other(Option<usize>),
    Height(i64),
}

fn given() -> impl Strategy<Value = Given> {
    prop_oneof![
        prop::option::of("[a-c]{0,2}").prop_map(Given::Name),
        (0..3).prop_map(Given::Age),
        prop::option::of(0..4usize).prop_map(Given::Other),
        (0..3i64).prop_map(Given::Height),
    ]
}

fn pairs(store: &dyn KvDatabase) -> Vec<(Vec<u8>, Vec<u8>)> {
    let tx = store.begin(&TxOptions::reading()).unwrap();
    let pairs = tx.scan(KeySpan::FULL, Direction::Forward).unwrap();
    pairs
        .map(|pair| pair.unwrap())
        .map(|(key, value)| (key.into_owned(), value.into_owned()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// An object that its transaction does not know is read together with the old value of the
    /// field. In the end, everything is as if it was known before.
    #[test]
    fn what_is_set_first_is_set_as_what_is_known(
        commits in prop::collection::vec(
            prop::collection::vec((0..4usize, given()), 1..5),
            1..12,
        ),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let open = |store: &Arc<dyn KvDatabase>| {
            Permazen::builder_shared(Arc::clone(store)).model::<Seen>().build().unwrap()
        };
        let first: Arc<dyn KvDatabase> = Arc::new(LmdbStore::open_or_create(dir.path()).unwrap());
        let first_db = open(&first);
        let ids = first_db.write(|tx| {
            (0..4).map(|_| Ok(tx.create(Seen::default())?.to_ref())).collect::<Result<Vec<_>>>()
        });
        let ids = ids.unwrap();
        let second: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
        second.write(|tx| pairs(&*first).iter().try_for_each(|(key, value)| tx.put(key, value))).unwrap();
        let second_db = open(&second);
        let both = [(first, first_db), (second, second_db)];
        for commit in &commits {
            for (known, (_, db)) in [false, true].into_iter().zip(&both) {
                db.write(|tx| {
                    for (number, given) in commit {
                        let seen = tx.get(ids[*number])?;
                        if known {
                            assert!(seen.exists()?);
                        }
                        match given {
                            Given::Name(name) => seen.set_name(name)?,
                            Given::Age(age) => seen.set_age(*age)?,
                            Given::Other(other) => seen.set_other(other.map(|other| ids[other]))?,
                            Given::Height(height) => seen.set_height(*height)?,
                        }
                    }
                    Ok(())
                }).unwrap();
            }
            let [first, second] = both.each_ref().map(|(store, _)| pairs(&**store));
            prop_assert_eq!(first, second);
        }
    }
}

/// Each commit gives a value another length, so it gets another place in the store.
#[test]
fn names_that_change_in_turn_leave_other_objects_as_they_are() {
    let db = Permazen::builder(MemoryStore::new()).model::<Person>().build().unwrap();
    let others = || (0..8).map(|age| Person { age: Some(age), ..Person::default() });
    let make = |tx: &Tx| {
        let others = others().map(|other| Ok(tx.create(other)?.to_ref()));
        let others = others.collect::<Result<Vec<Ref<Person>>>>()?;
        Ok((tx.create(Person::default())?.to_ref(), others))
    };
    let (person, kept) = db.write(make).unwrap();
    let names = ["N".repeat(40), "N".repeat(41)];
    for name in names.iter().cycle().take(2000) {
        db.write(|tx| tx.get(person)?.set_nick(name)).unwrap();
        db.read(|tx| {
            assert_eq!(tx.get(person)?.nick()?.as_ref(), Some(name));
            let found = kept.iter().map(|kept| tx.get(*kept)?.load());
            assert!(found.collect::<Result<Vec<_>>>()?.into_iter().eq(others()));
            Ok(())
        })
        .unwrap();
    }
}
