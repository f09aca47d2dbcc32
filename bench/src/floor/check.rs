//! Both sides do the same once more, with the same IDs, and must then hold the same pairs.

use super::world::{World, pairs};
use crate::by_hand::{bags, people, referrers};
use crate::data;
use crate::model::{Note, Part, Person, Target};

/// Commits every kind of change on both sides. Our side draws the IDs.
///
/// # Panics
/// If any pair differs.
pub fn same_pairs(world: World, count: usize) {
    let sample = data::sample(world.ids.len(), count, u64::MAX);
    let (ids, bytes) = world.named(&sample);
    let (updated, deleted) = ids.split_at(ids.len() / 2);
    let new = data::people(count, u64::MAX);
    let (created, bag, target, note, part) = world
        .db
        .write(|tx| {
            let mut created = Vec::new();
            for person in &new {
                created.push(tx.create(Person::from(person))?.id().to_bytes());
            }
            for (id, age) in updated.iter().zip(300_000..) {
                tx.get(*id)?.set_age(age)?;
            }
            for id in deleted {
                tx.get(*id)?.delete()?;
            }
            let bag = world.bags[0];
            for value in [5, 1_000_000, 70] {
                tx.get(bag)?.list()?.push(value)?;
                tx.get(bag)?.members()?.add(value)?;
                tx.get(bag)?.map()?.insert(value, -value)?;
            }
            let target = tx.create(Target { label: 4 })?;
            let note = tx.create(Note { target: Some(target.to_ref()) })?.id();
            let part = tx.create(Part { whole: Some(target.to_ref()) })?.id();
            let target = target.to_ref();
            tx.get(target)?.delete()?;
            Ok((created, bag.id(), target.id(), note, part))
        })
        .unwrap();
    let mut txn = world.by_hand.write();
    for (id, person) in created.iter().zip(&new) {
        people::create(&mut txn, *id, person);
    }
    let (updated, deleted) = bytes.split_at(bytes.len() / 2);
    for (id, age) in updated.iter().zip(300_000..) {
        people::set_age(&mut txn, *id, age);
    }
    for id in deleted {
        people::delete(&mut txn, *id);
    }
    for value in [5, 1_000_000, 70] {
        bags::push(&mut txn, bag.to_bytes(), value);
        bags::add(&mut txn, bag.to_bytes(), value);
        bags::insert(&mut txn, bag.to_bytes(), value, -value);
    }
    let target = target.to_bytes();
    referrers::create_target(&mut txn, target, 4);
    referrers::create_referrer(&mut txn, note.to_bytes(), referrers::NOTE, target);
    referrers::create_referrer(&mut txn, part.to_bytes(), referrers::PART, target);
    referrers::delete_target(&mut txn, target);
    txn.commit();
    assert!(pairs(&world.db) == world.by_hand.content(), "both sides hold the same pairs");
}
