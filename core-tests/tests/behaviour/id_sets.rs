//! Combining sets of object IDs.

use std::collections::BTreeSet;

use permazen::ObjId;
use permazen::object::{IdSet, Transaction};
use proptest::prelude::*;

use crate::support::*;

/// How a set is made: by value of an index, from given IDs, or from other sets.
#[derive(Debug, Clone)]
enum Plan {
    WithValue(i32),
    Given(BTreeSet<u16>),
    All,
    Union(Box<Plan>, Box<Plan>),
    Intersection(Box<Plan>, Box<Plan>),
    Difference(Box<Plan>, Box<Plan>),
    Range(Box<Plan>, u16, u16),
}

fn plans() -> impl Strategy<Value = Plan> {
    let leaf = prop_oneof![
        (0i32..4).prop_map(Plan::WithValue),
        prop::collection::btree_set(0u16..60, 0..12).prop_map(Plan::Given),
        Just(Plan::All),
    ];
    leaf.prop_recursive(4, 16, 2, |inner| {
        let two = || (inner.clone().prop_map(Box::new), inner.clone().prop_map(Box::new));
        prop_oneof![
            two().prop_map(|(a, b)| Plan::Union(a, b)),
            two().prop_map(|(a, b)| Plan::Intersection(a, b)),
            two().prop_map(|(a, b)| Plan::Difference(a, b)),
            (inner.clone().prop_map(Box::new), 0u16..60, 0u16..60)
                .prop_map(|(a, from, to)| Plan::Range(a, from.min(to), from.max(to))),
        ]
    })
}

impl Plan {
    fn set<'t>(&self, tx: &'t Transaction) -> IdSet<'t> {
        match self {
            Plan::WithValue(value) => {
                tx.simple_index(sid(11)).unwrap().get(&[int(*value)]).unwrap()
            }
            Plan::Given(ids) => tx.id_set(ids.iter().map(|n| number(*n))).unwrap(),
            Plan::All => tx.objects("Foo").unwrap(),
            Plan::Union(a, b) => a.set(tx).union(&b.set(tx)),
            Plan::Intersection(a, b) => a.set(tx).intersection(&b.set(tx)),
            Plan::Difference(a, b) => a.set(tx).difference(&b.set(tx)),
            Plan::Range(a, from, to) => a.set(tx).range(number(*from)..number(*to)),
        }
    }

    fn model(&self, objects: &[(u16, i32)]) -> BTreeSet<ObjId> {
        let chosen = |wanted: &dyn Fn(i32) -> bool| {
            objects.iter().filter(|(_, v)| wanted(*v)).map(|(n, _)| number(*n)).collect()
        };
        match self {
            Plan::WithValue(value) => chosen(&|v| v == *value),
            Plan::Given(ids) => ids.iter().map(|n| number(*n)).collect(),
            Plan::All => chosen(&|_| true),
            Plan::Union(a, b) => &a.model(objects) | &b.model(objects),
            Plan::Intersection(a, b) => &a.model(objects) & &b.model(objects),
            Plan::Difference(a, b) => &a.model(objects) - &b.model(objects),
            Plan::Range(a, from, to) => {
                let range = number(*from)..number(*to);
                a.model(objects).into_iter().filter(|id| range.contains(id)).collect()
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn equals_sets_in_memory(
        values in prop::collection::vec(0i32..4, 0..60),
        plans in prop::collection::vec(plans(), 8),
    ) {
        let world = World::new();
        let tx = world.foo();
        let objects: Vec<(u16, i32)> = (0..).zip(values).collect();
        for (n, value) in &objects {
            create(&tx, number(*n));
            set(&tx, number(*n), "i", int(*value));
        }
        for plan in plans {
            let (found, model) = (plan.set(&tx), plan.model(&objects));
            let forward: Vec<_> = found.iter().collect::<Result<_, _>>().unwrap();
            prop_assert!(forward.iter().eq(model.iter()), "{:?}: {:?}", plan, forward);
            let backward: Vec<_> = found.iter().rev().collect::<Result<_, _>>().unwrap();
            prop_assert!(backward.iter().eq(model.iter().rev()), "{:?}: {:?}", plan, backward);
            prop_assert_eq!(found.count().unwrap(), model.len());
            for n in 0..60 {
                prop_assert_eq!(found.contains(number(n)).unwrap(), model.contains(&number(n)));
            }
            // from both ends in turn
            let (mut ids, mut seen) = (found.iter(), BTreeSet::new());
            while let Some(id) = if seen.len() % 3 == 0 { ids.next_back() } else { ids.next() } {
                prop_assert!(seen.insert(id.unwrap()), "an id came twice");
            }
            prop_assert_eq!(seen, model);
        }
    }
}

/// Random numbers, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// A set and what it must contain.
type Modelled<'t> = (IdSet<'t>, BTreeSet<ObjId>);

fn combine<'t>(
    dice: &mut Dice,
    (a, in_a): &Modelled<'t>,
    (b, in_b): &Modelled<'t>,
) -> Modelled<'t> {
    match dice.below(8) {
        0..4 => (a.union(b), in_a | in_b),
        4 => (a.intersection(b), in_a & in_b),
        5 => (a.difference(b), in_a - in_b),
        6 => {
            // All of b, and the part of a in a range.
            let (from, to) = (dice.below(300) as u16, dice.below(300) as u16);
            let range = number(from.min(to))..=number(from.max(to));
            let kept = in_a.range(range.clone()).copied().collect::<BTreeSet<_>>();
            (b.union(&a.range(range)), in_b | &kept)
        }
        _ => (a.union(b).difference(&a.intersection(b)), in_a ^ in_b),
    }
}

fn assert_same((set, model): &Modelled<'_>, what: &str) {
    assert!(set.iter().map(Result::unwrap).eq(model.iter().copied()), "{what}, forward");
    assert!(set.iter().rev().map(Result::unwrap).eq(model.iter().rev().copied()), "{what}, back");
    for n in (0..300).step_by(23) {
        assert_eq!(set.contains(number(n)).unwrap(), model.contains(&number(n)), "{what}, {n}");
    }
    for n in (0..300).step_by(50) {
        let mut ids = set.iter();
        ids.skip_to(number(n));
        let next = ids.next().transpose().unwrap();
        assert_eq!(next, model.range(number(n)..).next().copied(), "{what}, from {n}");
    }
    assert!(!format!("{set:?}").is_empty());
}

const OPERANDS: usize = 10_000;

fn some_sets<'t>(tx: &'t Transaction, dice: &mut Dice) -> Vec<Modelled<'t>> {
    let sets = (0..OPERANDS).map(|_| {
        let ids: BTreeSet<_> = (0..dice.below(4)).map(|_| number(dice.below(300) as u16)).collect();
        (tx.id_set(ids.iter().copied()).unwrap(), ids)
    });
    sets.collect()
}

/// Sets of ten thousand others, combined at random: in a tree of random shape, and in a chain.
#[test]
fn trees_of_any_shape() {
    let world = World::new();
    let tx = world.foo();
    for seed in 1..=2 {
        let mut dice = Dice(seed);
        let mut open = some_sets(&tx, &mut dice);
        while open.len() > 1 {
            let (a, b) = (dice.below(open.len()), dice.below(open.len() - 1));
            let a = open.swap_remove(a);
            let both = combine(&mut dice, &a, &open[b]);
            open[b] = both;
        }
        assert_same(&open[0], &format!("tree {seed}"));
        let mut deepest = None;
        for next in some_sets(&tx, &mut dice) {
            deepest = Some(match &deepest {
                Some(before) if dice.below(2) == 0 => combine(&mut dice, &next, before),
                Some(before) => combine(&mut dice, before, &next),
                None => next,
            });
        }
        assert_same(&deepest.unwrap(), &format!("chain {seed}"));
    }
}

/// Chains of one kind, and the same sets given all at once. Sets of keys as well as of IDs.
#[test]
fn many_operands_of_one_kind() {
    let world = World::new();
    let tx = world.foo();
    for n in 0..300 {
        create(&tx, number(n));
        set(&tx, number(n), "i", int(i32::from(n) % 100));
    }
    let index = tx.simple_index(sid(11)).unwrap();
    let all = tx.objects("Foo").unwrap();
    let mut dice = Dice(7);
    let mut sets: Vec<_> =
        (0..2000).map(|_| index.get(&[int(dice.below(60) as i32)]).unwrap()).collect();
    sets.extend(some_sets(&tx, &mut dice).into_iter().map(|(set, _)| set));
    let members: Vec<BTreeSet<ObjId>> =
        sets.iter().map(|set| set.iter().map(Result::unwrap).collect()).collect();
    let any: BTreeSet<ObjId> = members.iter().flatten().copied().collect();
    let whole: BTreeSet<ObjId> = (0..300).map(number).collect();

    let none = tx.id_set([]).unwrap();
    assert_same(&(sets.iter().fold(none.clone(), |a, b| a.union(b)), any.clone()), "left");
    assert_same(&(sets.iter().fold(none.clone(), |a, b| b.union(&a)), any.clone()), "right");
    assert_same(&(none.union_all(&sets), any), "at once");

    let few = &sets[..25];
    let left = &whole - &members[..25].iter().flatten().copied().collect();
    assert!(!left.is_empty());
    let complements: Vec<_> = few.iter().map(|set| all.difference(set)).collect();
    let repeated = || complements.iter().cycle().take(OPERANDS);
    assert_same(&(repeated().fold(all.clone(), |a, b| a.intersection(b)), left.clone()), "left");
    assert_same(&(repeated().fold(all.clone(), |a, b| b.intersection(&a)), left.clone()), "right");
    assert_same(&(all.intersection_all(repeated()), left.clone()), "at once");
    let taken = few.iter().cycle().take(OPERANDS).fold(all.clone(), |a, b| a.difference(b));
    assert_same(&(taken, left), "differences");

    // a set that is made of itself over and over
    let doubled = (0..100).fold(all.clone(), |set, _| set.union(&set));
    assert_same(&(doubled, whole), "doubled");
    let one = tx.id_set([number(1)]).unwrap();
    let even = tx.id_set((0..300).step_by(2).map(number)).unwrap();
    let toggled = (0..201).fold(even, |set, _| set.union(&one).difference(&set.intersection(&one)));
    let expected = (0..300).filter(|n| n % 2 == 0 || *n == 1).map(number).collect();
    assert_same(&(toggled, expected), "toggled");
}

/// Each operand of a union is read once: a seek for each operand, and a step for each of its IDs.
#[test]
fn a_union_reads_each_operand_once() {
    let world = World::new();
    let tx = world.foo();
    for n in 0..200 {
        create(&tx, number(n));
        set(&tx, number(n), "i", int(i32::from(n) / 2));
    }
    let index = tx.simple_index(sid(11)).unwrap();
    let sets: Vec<_> = (0..100).map(|n| index.get(&[int(n)]).unwrap()).collect();
    let (found, cost) = world.cost(|| tx.id_set([]).unwrap().union_all(&sets).count().unwrap());
    assert_eq!(found, 200);
    assert_eq!((cost.gets, cost.seeks, cost.steps), (0, 100, 200));
}

/// An intersection seeks past IDs that only one operand has.
#[test]
fn intersections_jump() {
    let world = World::new();
    let tx = world.foo();
    for n in 0..4000 {
        create(&tx, number(n));
        set(&tx, number(n), "i", int(1));
    }
    let index = tx.simple_index(sid(11)).unwrap();
    let few = tx.id_set([number(10), number(3900)]).unwrap();
    let both = index.get(&[int(1)]).unwrap().intersection(&few);
    let (found, cost) = world.cost(|| both.to_vec().unwrap());
    assert_eq!(found, [number(10), number(3900)]);
    assert!(cost.steps < 100, "{cost:?}");
}

#[test]
fn what_is_skipped_is_skipped_from_both_ends() {
    let world = World::new();
    let tx = world.foo();
    for n in 1..=4 {
        create(&tx, foo_id(n));
    }
    let mut ids = tx.objects("Foo").unwrap().iter();
    ids.skip_to(foo_id(3));
    let back: Vec<permazen::ObjId> = ids.rev().map(Result::unwrap).collect();
    assert_eq!(back, [foo_id(4), foo_id(3)]);
    let mut ids = tx.objects("Foo").unwrap().iter();
    assert_eq!(ids.next_back().unwrap().unwrap(), foo_id(4));
    ids.skip_to(foo_id(2));
    assert_eq!(ids.next().unwrap().unwrap(), foo_id(2));
    assert_eq!(ids.next_back().unwrap().unwrap(), foo_id(3));
    assert!(ids.next_back().is_none() && ids.next().is_none());
}
