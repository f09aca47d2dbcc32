//! Combining sets of object ids.

use std::collections::BTreeSet;

use permazen::ObjId;
use permazen::object::{IdSet, Transaction};
use proptest::prelude::*;

use crate::support::*;

fn number(n: u16) -> ObjId {
    let mut bytes = [0x0a, 0, 0, 0, 0, 0, 0, 0];
    bytes[6..].copy_from_slice(&n.to_be_bytes());
    ObjId::from_bytes(bytes).unwrap()
}

/// How a set is made: by value of an index, of given ids, or of other sets.
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
    fn set<'t>(&self, tx: &'t Transaction<'_>) -> IdSet<'t> {
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

/// An intersection seeks over what only one operand has.
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
