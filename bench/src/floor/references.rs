//! Deletion of an object that many refer to.

use permazen::{Ref, Result, Tx};

use super::world::World;
use super::{Case, Round};
use crate::by_hand::referrers::{self, NOTE, PART};
use crate::measure::timed;
use crate::model::{Note, Part, Target};

type Refer = fn(&Tx, Ref<Target>) -> Result<[u8; 8]>;

/// A target with many referrers is in both databases while the cases run. Deleting it is rolled
/// back.
fn case<'w>(
    world: &'w World,
    name: &'static str,
    goal: f64,
    (field, refer): (u8, Refer),
    count: usize,
) -> Case<'w> {
    let (target, ids) = world
        .db
        .write(|tx| {
            let target = tx.create(Target { label: 1 })?.to_ref();
            let ids: Result<Vec<_>> = (0..count).map(|_| refer(tx, target)).collect();
            Ok((target, ids?))
        })
        .unwrap();
    let mut txn = world.by_hand.write();
    referrers::create_target(&mut txn, target.id().to_bytes(), 1);
    for id in ids {
        referrers::create_referrer(&mut txn, id, field, target.id().to_bytes());
    }
    txn.commit();
    Case::new(
        name,
        goal,
        move |_: &Round| {
            let mut txn = world.by_hand.write();
            let target = target.id().to_bytes();
            let cost = timed(count, || referrers::delete_target(&mut txn, target));
            txn.abort();
            cost
        },
        move |_| {
            let tx = world.db.begin().unwrap();
            let cost = timed(count, || assert!(tx.get(target).unwrap().delete().unwrap()));
            tx.rollback().unwrap();
            cost
        },
    )
}

pub fn cases(world: &World, count: usize) -> Vec<Case<'_>> {
    let note: Refer = |tx, target| Ok(tx.create(Note { target: Some(target) })?.id().to_bytes());
    let part: Refer = |tx, whole| Ok(tx.create(Part { whole: Some(whole) })?.id().to_bytes());
    vec![
        case(world, "delete: a referrer nullified", 1.3, (NOTE, note), count),
        case(world, "delete: a referrer deleted", 1.4, (PART, part), count),
    ]
}
