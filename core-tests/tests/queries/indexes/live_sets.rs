//! Loops over combined sets of objects whose bodies change what the sets contain.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use permazen::kv::KvDatabase;
use permazen::kv::counting::CountingStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::model::Objs;
use permazen::object::{self, IdSet};
use permazen::{ObjIdGenerator, Ref};

use super::*;

const SLOTS: usize = 30;

/// A database with some store, and the IDs that its objects can have, ascending.
struct World {
    db: Permazen,
    ids: Vec<ObjId>,
}

impl World {
    fn on(store: Arc<dyn KvDatabase>) -> World {
        let db = Permazen::builder_shared(store).model::<Person>().model::<Pet>().build().unwrap();
        db.database().set_id_generator(ObjIdGenerator::from_seed(1));
        let tx = db.begin().unwrap();
        let person = tx.create(Person::default()).unwrap().id();
        let pet = tx.create(Pet::default()).unwrap().id();
        let id = |of_type: ObjId, n: usize| {
            let mut bytes = of_type.to_bytes();
            bytes[6..].copy_from_slice(&[n as u8, 0]);
            ObjId::from_bytes(bytes).unwrap()
        };
        let mut ids: Vec<_> =
            (0..SLOTS).map(|n| id(if n.is_multiple_of(3) { pet } else { person }, n)).collect();
        ids.sort();
        drop(tx);
        World { db, ids }
    }

    fn person(&self) -> ObjId {
        *self.ids.iter().find(|id| self.is_person(**id)).unwrap()
    }

    fn is_person(&self, id: ObjId) -> bool {
        !id.to_bytes()[6].is_multiple_of(3)
    }
}

/// The values of an object.
#[derive(Debug, Clone)]
struct Content {
    rank: i32,
    tags: Vec<String>,
}

/// The stored objects, as they should be.
type Stored = BTreeMap<ObjId, Content>;

/// A set.
#[derive(Debug, Clone)]
enum Expr {
    Persons,
    Everything,
    Rank(i32),
    /// Persons only, by a composite index.
    RankName(i32),
    Tag(String),
    Given(BTreeSet<usize>),
    Union(Vec<Expr>),
    Intersection(Vec<Expr>),
    Difference(Box<Expr>, Box<Expr>),
    Range(Box<Expr>, usize, usize),
    OfPersons(Box<Expr>),
}

fn exprs() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        Just(Expr::Persons),
        Just(Expr::Everything),
        (0..3).prop_map(Expr::Rank),
        (0..3).prop_map(Expr::RankName),
        prop::sample::select(vec!["a", "b"]).prop_map(|tag| Expr::Tag(tag.into())),
        prop::collection::btree_set(0..SLOTS, 0..8).prop_map(Expr::Given),
    ];
    leaf.prop_recursive(4, 12, 3, |inner| {
        let one = || inner.clone().prop_map(Box::new);
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Expr::Union),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Expr::Intersection),
            (one(), one()).prop_map(|(a, b)| Expr::Difference(a, b)),
            (one(), 0..SLOTS, 0..SLOTS).prop_map(|(a, from, to)| Expr::Range(a, from, to)),
            one().prop_map(Expr::OfPersons),
        ]
    })
}

impl Expr {
    fn set<'t>(&self, tx: &'t Tx, world: &World) -> IdSet<'t> {
        let all = |exprs: &[Expr]| exprs.iter().map(|e| e.set(tx, world)).collect::<Vec<_>>();
        let ids = |slots: &BTreeSet<usize>| slots.iter().map(|n| world.ids[*n]).collect::<Vec<_>>();
        match self {
            Expr::Persons => tx.all::<Person>().unwrap().ids().clone(),
            Expr::Everything => tx.everything().unwrap().ids().clone(),
            Expr::Rank(rank) => {
                let ranks = tx.index(Person::RANK).unwrap().of_all_types().unwrap();
                ranks.get(*rank).unwrap().ids().clone()
            }
            Expr::RankName(rank) => {
                let found = tx.index(Person::RANK_NAME).unwrap().get((*rank, None::<String>));
                found.unwrap().ids().clone()
            }
            Expr::Tag(tag) => {
                let tags = tx.index(Person::TAGS).unwrap().of_all_types().unwrap();
                tags.get(tag).unwrap().ids().clone()
            }
            Expr::Given(slots) => tx.core().id_set(ids(slots)).unwrap(),
            Expr::Union(of) => tx.core().id_set([]).unwrap().union_all(all(of)),
            Expr::Intersection(of) => match &all(of)[..] {
                [first, others @ ..] => first.intersection_all(others),
                [] => tx.core().id_set([]).unwrap(),
            },
            Expr::Difference(a, b) => a.set(tx, world).difference(&b.set(tx, world)),
            Expr::Range(of, from, to) => {
                of.set(tx, world).range(world.ids[*from]..world.ids[*to.max(from)])
            }
            Expr::OfPersons(of) => of.set(tx, world).of_types([world.person().storage_id()]),
        }
    }

    fn has(&self, id: ObjId, stored: &Stored, world: &World) -> bool {
        let content = stored.get(&id);
        match self {
            Expr::Persons => content.is_some() && world.is_person(id),
            Expr::Everything => content.is_some(),
            Expr::Rank(rank) => content.is_some_and(|content| content.rank == *rank),
            Expr::RankName(rank) => {
                content.is_some_and(|content| content.rank == *rank) && world.is_person(id)
            }
            Expr::Tag(tag) => content.is_some_and(|content| content.tags.contains(tag)),
            Expr::Given(slots) => slots.iter().any(|n| world.ids[*n] == id),
            Expr::Union(of) => of.iter().any(|e| e.has(id, stored, world)),
            Expr::Intersection(of) => of.iter().all(|e| e.has(id, stored, world)),
            Expr::Difference(a, b) => a.has(id, stored, world) && !b.has(id, stored, world),
            Expr::Range(of, from, to) => {
                of.has(id, stored, world)
                    && (world.ids[*from]..world.ids[*to.max(from)]).contains(&id)
            }
            Expr::OfPersons(of) => of.has(id, stored, world) && world.is_person(id),
        }
    }
}

/// An object that a loop changes: by its number, or counted from the one returned last.
#[derive(Debug, Clone)]
enum Which {
    Slot(usize),
    Near(isize),
}

#[derive(Debug, Clone)]
enum Change {
    /// Creates the object, or changes it.
    Put(Which, Content),
    Delete(Which),
    /// Deletes an object in a larger operation that fails.
    Undone(Which),
}

/// A step of a loop, and what its body does then.
#[derive(Debug, Clone)]
enum Step {
    Next(Vec<Change>),
    NextBack(Vec<Change>),
    Skip(usize),
}

fn contents() -> impl Strategy<Value = Content> {
    let tag = prop::sample::select(vec!["a", "b"]).prop_map(str::to_owned);
    (0..3, prop::collection::vec(tag, 0..20)).prop_map(|(rank, tags)| Content { rank, tags })
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let which = || prop_oneof![1 => (0..SLOTS).prop_map(Which::Slot), 3 => (-3isize..5).prop_map(Which::Near)];
    let change = prop_oneof![
        4 => (which(), contents()).prop_map(|(which, content)| Change::Put(which, content)),
        2 => which().prop_map(Change::Delete),
        1 => which().prop_map(Change::Undone),
    ];
    prop::collection::vec(change, 0..3)
}

/// The steps of a loop: forward, backward, or both.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    (0..3).prop_flat_map(|way| {
        let step =
            (0..12, changes(), 0..SLOTS).prop_map(move |(dice, changes, slot)| match (way, dice) {
                (_, 0) => Step::Skip(slot),
                (0, _) | (2, 1..7) => Step::Next(changes),
                _ => Step::NextBack(changes),
            });
        prop::collection::vec(step, SLOTS + 10)
    })
}

impl Change {
    fn make(&self, last: Option<ObjId>, tx: &Tx, stored: &mut Stored, world: &World) {
        let (Change::Put(which, _) | Change::Delete(which) | Change::Undone(which)) = self;
        let at = match which {
            Which::Slot(slot) => *slot,
            Which::Near(offset) => {
                let at = world.ids.iter().position(|id| Some(*id) == last).unwrap_or(0);
                at.saturating_add_signed(*offset).min(SLOTS - 1)
            }
        };
        let id = world.ids[at];
        match self {
            Change::Put(_, content) => {
                put(tx, world, id, content).unwrap();
                stored.insert(id, content.clone());
            }
            Change::Delete(_) => {
                assert_eq!(tx.any(id).delete().unwrap(), stored.remove(&id).is_some());
            }
            Change::Undone(_) => {
                let failed: object::Result<()> = tx.core().atomic(|tx| {
                    tx.delete(id)?;
                    Err(object::Error::Busy)
                });
                assert!(failed.is_err());
            }
        }
    }
}

fn put(tx: &Tx, world: &World, id: ObjId, content: &Content) -> Result<()> {
    let Content { rank, tags } = content.clone();
    if world.is_person(id) {
        let person = Person { rank, tags, ..Default::default() };
        if tx.create_with_id(Ref::<Person>::new(id), &person)?.is_none() {
            tx.get::<Person>(Ref::new(id))?.store(&person)?;
        }
    } else {
        let pet = Pet { rank, tags, ..Default::default() };
        if tx.create_with_id(Ref::<Pet>::new(id), &pet)?.is_none() {
            tx.get::<Pet>(Ref::new(id))?.store(&pet)?;
        }
    }
    Ok(())
}

/// Runs a loop over the set, and compares each step with the content that the set should have then.
fn assert_live(world: &World, before: &[Option<Content>], expr: &Expr, steps: &[Step]) {
    let tx = world.db.begin().unwrap();
    let mut stored = Stored::new();
    for (id, content) in world.ids.iter().zip(before) {
        if let Some(content) = content {
            put(&tx, world, *id, content).unwrap();
            stored.insert(*id, content.clone());
        }
    }
    let mut ids = expr.set(&tx, world).iter();
    let (mut lower, mut upper) = (Bound::Unbounded, Bound::Unbounded);
    let mut ended = false;
    for (at, step) in steps.iter().enumerate() {
        let left = |range: (Bound<ObjId>, Bound<ObjId>)| {
            let wanted = |id: &&ObjId| {
                std::ops::RangeBounds::contains(&range, *id) && expr.has(**id, &stored, world)
            };
            let left: Vec<ObjId> = world.ids.iter().filter(wanted).copied().collect();
            left
        };
        let (found, expected, changes) = match step {
            Step::Skip(slot) => {
                let id = world.ids[*slot];
                ids.skip_to(id);
                lower = match lower {
                    Bound::Included(old) if old > id => lower,
                    Bound::Excluded(old) if old >= id => lower,
                    _ => Bound::Included(id),
                };
                continue;
            }
            Step::Next(changes) => (ids.next(), left((lower, upper)).first().copied(), changes),
            Step::NextBack(changes) => {
                (ids.next_back(), left((lower, upper)).last().copied(), changes)
            }
        };
        // After its end, an iterator does not begin again.
        let expected = expected.filter(|_| !ended);
        ended |= expected.is_none();
        let found = found.map(Result::unwrap);
        assert_eq!(found, expected, "step {at} of {expr:?}");
        match (found, step) {
            (Some(id), Step::Next(_)) => lower = Bound::Excluded(id),
            (Some(id), Step::NextBack(_)) => upper = Bound::Excluded(id),
            _ => {}
        }
        for change in changes {
            change.make(found, &tx, &mut stored, world);
        }
    }
}

fn before() -> impl Strategy<Value = Vec<Option<Content>>> {
    prop::collection::vec(prop::option::weighted(0.7, contents()), SLOTS)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_removed_ahead_is_not_returned_and_what_is_inserted_is(
        before in before(), expr in exprs(), steps in steps(),
    ) {
        assert_live(&World::on(Arc::new(MemoryStore::new())), &before, &expr, &steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn on_lmdb_too(before in before(), expr in exprs(), steps in steps()) {
        let directory = tempfile::tempdir().unwrap();
        let store = permazen::kv::lmdb::LmdbStore::open_or_create(directory.path()).unwrap();
        assert_live(&World::on(Arc::new(store)), &before, &expr, &steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn on_an_optimistic_store_too(before in before(), expr in exprs(), steps in steps()) {
        let store = OptimisticDatabase::new(MemoryStore::new());
        assert_live(&World::on(Arc::new(store)), &before, &expr, &steps);
    }
}

/// Persons with these ranks, by ascending ID.
fn ranked<'t>(tx: &'t Tx, ranks: impl IntoIterator<Item = i32>) -> Vec<Obj<'t, Person>> {
    let made = ranks.into_iter().map(|rank| tx.create(Person { rank, ..Default::default() }));
    let mut made: Vec<_> = made.collect::<Result<_>>().unwrap();
    let ranks: Vec<i32> = made.iter().map(|person| person.rank().unwrap()).collect();
    made.sort_by_key(Obj::id);
    for (person, rank) in made.iter().zip(ranks) {
        person.set_rank(rank).unwrap();
    }
    made
}

fn of_rank<'t>(tx: &'t Tx, rank: i32) -> Objs<'t, Person> {
    tx.index(Person::RANK).unwrap().get(rank).unwrap()
}

#[test]
fn deleted_objects_are_not_in_a_union() {
    let db = db();
    for back in [false, true] {
        let tx = db.begin().unwrap();
        let all = ranked(&tx, [1, 2, 1, 2, 1, 2]);
        let mut both = of_rank(&tx, 1).union(of_rank(&tx, 2)).iter();
        let met = if back { both.next_back() } else { both.next() }.unwrap().unwrap();
        for other in all.iter().filter(|other| **other != met) {
            other.delete().unwrap();
        }
        assert!(both.next().is_none() && both.next_back().is_none());
    }
}

#[test]
fn what_leaves_the_right_side_comes_into_a_difference() {
    let db = db();
    let tx = db.begin().unwrap();
    let all = ranked(&tx, [0, 1]);
    let mut rest = tx.all::<Person>().unwrap().difference(of_rank(&tx, 1)).iter();
    assert_eq!(rest.next().unwrap().unwrap(), all[0]);
    all[1].set_rank(0).unwrap();
    assert_eq!(rest.next().unwrap().unwrap(), all[1]);
    assert!(rest.next().is_none());
}

/// Each object that is met takes the next one out of the set.
#[test]
fn every_second_object_is_met() {
    let db = db();
    for count in [6, 100, 600] {
        for kind in 0..4 {
            let tx = db.begin().unwrap();
            let all = ranked(&tx, (0..count).map(|n| n % 2));
            let both = of_rank(&tx, 0).union(of_rank(&tx, 1));
            let set = match kind {
                0 => both,
                1 => tx.all().unwrap().difference(of_rank(&tx, 5)),
                2 => tx.all().unwrap().intersection(both),
                _ => both.intersection(tx.all().unwrap()),
            };
            let mut met = 0;
            for person in &set {
                let person = person.unwrap();
                let at = all.binary_search_by_key(&person.id(), Obj::id).unwrap();
                assert_eq!(at, met * 2, "kind {kind}");
                if let Some(next) = all.get(at + 1) {
                    next.set_rank(5).unwrap();
                }
                met += 1;
            }
            assert_eq!(met, all.len() / 2, "kind {kind}");
        }
    }
}

/// A step after a change seeks each set once. Without changes, all is read as if there were none.
#[test]
fn a_step_after_a_change_seeks_each_set() {
    let store = CountingStore::new(MemoryStore::new());
    let counter = store.counter();
    let db = Permazen::builder(store).model::<Person>().model::<Pet>().build().unwrap();
    let tx = db.begin().unwrap();
    let all = ranked(&tx, (0..300).map(|n| n % 3));
    let set = of_rank(&tx, 0).union(of_rank(&tx, 1)).union(of_rank(&tx, 2));
    let seeks = |change: bool| {
        let (mut ids, mut seeks) = (set.iter(), Vec::new());
        for (n, person) in all.iter().enumerate() {
            counter.take();
            assert_eq!(ids.next().unwrap().unwrap(), *person);
            seeks.push(counter.take().seeks);
            if change {
                all[0].set_name(Some(n.to_string())).unwrap();
            }
        }
        seeks
    };
    assert_eq!(seeks(true), [3; 300]);
    let without: u64 = seeks(false).iter().sum();
    // Three sets of a hundred, in batches of 8, 32, and the rest.
    assert_eq!(without, 9);
}
