//! Sets from several indexes, merged.

use std::sync::Arc;

use permazen::Any;
use permazen::encoding::FieldType;
use permazen::model::Objs;

use super::*;

/// A combination of sets.
#[derive(Debug, Clone)]
enum Expr {
    All,
    Name(Option<String>),
    Place(String),
    Rank(i32),
    Tag(String),
    RankName(i32, Option<String>),
    Union(Box<Expr>, Box<Expr>),
    Intersection(Box<Expr>, Box<Expr>),
    Difference(Box<Expr>, Box<Expr>),
}

/// A few strings, so that values meet.
fn word() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", "a", "b"]).prop_map(str::to_owned)
}

fn expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        Just(Expr::All),
        prop::option::of(word()).prop_map(Expr::Name),
        word().prop_map(Expr::Place),
        (0..3).prop_map(Expr::Rank),
        word().prop_map(Expr::Tag),
        (0..3, prop::option::of(word())).prop_map(|(rank, name)| Expr::RankName(rank, name)),
    ];
    leaf.prop_recursive(4, 24, 2, |inner| {
        let pair = || (inner.clone(), inner.clone());
        let boxed = |(a, b): (Expr, Expr)| (Box::new(a), Box::new(b));
        prop_oneof![
            pair().prop_map(move |pair| {
                let (a, b) = boxed(pair);
                Expr::Union(a, b)
            }),
            pair().prop_map(move |pair| {
                let (a, b) = boxed(pair);
                Expr::Intersection(a, b)
            }),
            pair().prop_map(move |pair| {
                let (a, b) = boxed(pair);
                Expr::Difference(a, b)
            }),
        ]
    })
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    let tags = prop::collection::vec(word(), 0..3);
    let plan = (any::<bool>(), prop::option::of(word()), word(), 0..3, tags).prop_map(
        |(is_person, name, place, rank, tags)| Plan { is_person, name, place, rank, tags },
    );
    prop::collection::vec(plan, 0..30)
}

/// The set of persons.
fn query<'t>(tx: &'t Tx, expr: &Expr) -> Result<Objs<'t, Person>> {
    Ok(match expr {
        Expr::All => tx.all()?,
        Expr::Name(name) => tx.index(Person::NAME)?.get(name)?,
        Expr::Place(place) => tx.index(Person::PLACE)?.get(place)?,
        Expr::Rank(rank) => tx.index(Person::RANK)?.get(rank)?,
        Expr::Tag(tag) => tx.index(Person::TAGS)?.get(tag)?,
        Expr::RankName(rank, name) => tx.index(Person::RANK_NAME)?.get((rank, name))?,
        Expr::Union(a, b) => query(tx, a)?.union(query(tx, b)?),
        Expr::Intersection(a, b) => query(tx, a)?.intersection(&query(tx, b)?),
        Expr::Difference(a, b) => query(tx, a)?.difference(query(tx, b)?),
    })
}

fn is_in(plan: &Plan, expr: &Expr) -> bool {
    match expr {
        Expr::All => true,
        Expr::Name(name) => plan.name == *name,
        Expr::Place(place) => plan.place == *place,
        Expr::Rank(rank) => plan.rank == *rank,
        Expr::Tag(tag) => plan.tags.contains(tag),
        Expr::RankName(rank, name) => plan.rank == *rank && plan.name == *name,
        Expr::Union(a, b) => is_in(plan, a) || is_in(plan, b),
        Expr::Intersection(a, b) => is_in(plan, a) && is_in(plan, b),
        Expr::Difference(a, b) => is_in(plan, a) && !is_in(plan, b),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn sets_of_several_indexes_are_combined(plans in plans(), expr in expr(), later in plans()) {
        let db = db();
        let tx = db.begin().unwrap();
        let mut made: Vec<Made> = plans.iter().map(|plan| create(&tx, plan).unwrap()).collect();
        let set = query(&tx, &expr).unwrap();
        // The set sees what comes and goes.
        for pass in 0..2 {
            if pass == 1 {
                made.extend(later.iter().map(|plan| create(&tx, plan).unwrap()));
                if let Some(first) = made.pop() {
                    tx.any(first.id).delete().unwrap();
                }
            }
            let persons = made.iter().filter(|made| made.plan.is_person);
            let mut expected: Vec<ObjId> =
                persons.filter(|made| is_in(&made.plan, &expr)).map(|made| made.id).collect();
            expected.sort();
            let found: Vec<ObjId> = set.to_vec().unwrap().into_iter().map(id).collect();
            prop_assert_eq!(&found, &expected);
            let backward: Result<Vec<_>> = set.iter().rev().map(|person| Ok(id(person?))).collect();
            prop_assert!(backward.unwrap().iter().rev().eq(&expected));
            prop_assert_eq!(set.count().unwrap(), expected.len());
            // In the order of another index.
            let ranks = tx.index(Person::RANK_NAME).unwrap();
            let ranked: Result<Vec<_>> = ranks.objects_in(&set).map(|found| found.map(id)).collect();
            let ranked = ranked.unwrap();
            prop_assert!(ranks.objects().map(|found| id(found.unwrap())).filter(|id| expected.contains(id)).eq(ranked.iter().copied()));
            prop_assert_eq!(ranked.len(), expected.len());
            let names = tx.index(Person::NAME).unwrap().starts_with("a").unwrap();
            let named: Result<Vec<_>> = names.objects_in(set.clone()).rev().map(|found| found.map(id)).collect();
            let all = names.objects().rev().map(|found| id(found.unwrap()));
            prop_assert!(all.filter(|id| expected.contains(id)).eq(named.unwrap()));
            for made in made.iter().filter(|made| made.plan.is_person) {
                let person = tx.get::<Person>(made.id).unwrap();
                prop_assert_eq!(set.contains(person).unwrap(), expected.contains(&made.id));
            }
        }
    }
}

#[test]
fn sets_of_several_types_are_sets_of_any_objects() {
    let db = db();
    let found: Result<()> = db.write(|tx| {
        let ann = tx.create(Person { rank: 1, ..Default::default() })?;
        let rex = tx.create(Pet { rank: 1, ..Default::default() })?;
        let (persons, pets) = (tx.index(Person::RANK)?.get(1)?, tx.index(Pet::RANK)?.get(1)?);
        let both: Objs<'_, Any> = persons.any().union(pets.any());
        let mut ids = [ann.id(), rex.id()];
        ids.sort();
        assert_eq!(both.ids().to_vec()?, ids);
        let shared = tx.index(Person::RANK)?.of_all_types()?.get(1)?;
        assert_eq!(shared.difference(persons.any()).ids().to_vec()?, [rex.id()]);
        assert!(persons.any().intersection(pets.any()).is_empty()?);
        assert_eq!(persons.union_all([&tx.all()?]).intersection_all([persons.clone()]).count()?, 1);
        Ok(())
    });
    found.unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// `get` of a typed index, and `count` of all objects of a type, read less than the general
    /// way.
    #[test]
    fn the_short_ways_find_the_same(
        before in plans(), after in plans(), deleted in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
    ) {
        let store = Arc::new(MemoryStore::new());
        let db = Permazen::builder_shared(Arc::clone(&store) as Arc<_>);
        let db = db.model::<Person>().model::<Pet>().build().unwrap();
        let made = db.write(|tx| before.iter().map(|plan| create(tx, plan)).collect::<Result<Vec<_>>>());
        let mut ids: Vec<ObjId> = made.unwrap().iter().map(|made| made.id).collect();
        // Another schema, in which some of the pets are.
        let pets = Permazen::builder_shared(store).model::<Pet>().build().unwrap();
        let made = pets.write(|tx| {
            let pets = after.iter().filter(|plan| !plan.is_person);
            pets.map(|plan| create(tx, plan)).collect::<Result<Vec<_>>>()
        });
        ids.extend(made.unwrap().iter().map(|made| made.id));
        db.write(|tx| {
            for index in &deleted {
                if !ids.is_empty() {
                    tx.any(*index.get(&ids)).delete()?;
                }
            }
            for name in [None, Some(""), Some("a"), Some("b"), Some("c")] {
                let index = tx.index(Person::NAME)?;
                let name = name.map(str::to_owned);
                let value = name.to_value();
                let general = index.as_view().with_value(0, &value)?.id_set()?;
                assert_eq!(index.get(&name)?.ids().to_vec()?, general.to_vec()?);
            }
            assert_eq!(tx.all::<Person>()?.count()?, tx.all::<Person>()?.iter().count());
            assert_eq!(tx.all::<Pet>()?.count()?, tx.all::<Pet>()?.iter().count());
            assert_eq!(tx.everything()?.count()?, tx.everything()?.iter().count());
            Ok(())
        })
        .unwrap();
    }
}
