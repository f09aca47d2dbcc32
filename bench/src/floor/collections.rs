//! Changes of collections whose elements are indexed.

use permazen::{Obj, Tx};

use super::world::World;
use super::{Case, Round};
use crate::by_hand::{Id, bags};
use crate::measure::timed;
use crate::model::Bag;
use crate::pairs::heed::Writing;

fn case<'w>(
    world: &'w World,
    name: &'static str,
    goal: f64,
    by_hand: fn(&mut Writing<'_>, Id, i32),
    ours: fn(Obj<'_, Bag>, i32),
) -> Case<'w> {
    let bags = |round: &Round| -> Vec<_> {
        round.sample.iter().map(|n| world.bags[n % world.bags.len()]).collect()
    };
    let by_hand = move |round: &Round| {
        let ids: Vec<Id> = bags(round).iter().map(|id| id.id().to_bytes()).collect();
        let mut txn = world.by_hand.write();
        let cost = timed(ids.len(), || {
            for (at, id) in ids.iter().enumerate() {
                by_hand(&mut txn, *id, round.fresh(at));
            }
        });
        txn.abort();
        cost
    };
    let ours = move |round: &Round| {
        let ids = bags(round);
        let tx = world.db.begin().unwrap();
        let cost = timed(ids.len(), || {
            let tx: &Tx = &tx;
            for (at, id) in ids.iter().enumerate() {
                ours(tx.get(*id).unwrap(), round.fresh(at));
            }
        });
        tx.rollback().unwrap();
        cost
    };
    Case::new(name, goal, by_hand, ours)
}

pub fn cases(world: &World) -> Vec<Case<'_>> {
    vec![
        case(
            world,
            "push to an indexed list",
            1.4,
            |txn, id, value| bags::push(txn, id, value),
            |bag, value| bag.list().unwrap().push(value).unwrap(),
        ),
        case(
            world,
            "add to an indexed set",
            1.3,
            |txn, id, value| assert!(bags::add(txn, id, value)),
            |bag, value| assert!(bag.members().unwrap().add(value).unwrap()),
        ),
        case(
            world,
            "insert into an indexed map",
            1.3,
            |txn, id, value| bags::insert(txn, id, value, value),
            |bag, value| {
                assert!(bag.map().unwrap().insert(value, value).unwrap().is_none());
            },
        ),
    ]
}
