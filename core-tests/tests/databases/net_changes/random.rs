//! Random edits, compared with all objects before and after.

use permazen::encoding::Value;
use permazen::object::{Migrate, Transaction};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::net_changes::naive::{Content, content, expected, lines};
use crate::net_changes::world::{World, a, config};

const STEPS: u32 = 400;

fn int(random: &mut StdRng) -> Value {
    Value::Int(random.random_range(0..4))
}

fn text(random: &mut StdRng) -> Value {
    Value::from(["", "x", "y", "z"][random.random_range(0..4)])
}

/// One random edit. Many of them are refused, because the object or the field is not there.
fn edit(tx: &Transaction, random: &mut StdRng) {
    let id = a(random.random_range(1..=4));
    let value = if random.random_bool(0.5) { int(random) } else { text(random) };
    let other = if random.random_bool(0.5) { int(random) } else { text(random) };
    let at = random.random_range(0..4);
    let _ = match random.random_range(0..18) {
        0..=2 => tx.create_with_id(id).map(drop),
        3 => tx.delete(id).map(drop),
        4 => tx.migrate(id).map(drop),
        5 => tx.set(id, "i", &value, Migrate::No),
        6 => tx.set(id, "s", &value, Migrate::No),
        7 => tx.set(id, "more", &value, Migrate::No),
        8 => tx.set_counter(id, "c", i64::from(at) - 1, Migrate::No),
        9 => tx.adjust_counter(id, "c", i64::from(at) - 1, Migrate::No),
        10 => tx.set_view(id, "set", Migrate::No).and_then(|set| set.add(&value)).map(drop),
        11 => tx.set_view(id, "set", Migrate::No).and_then(|set| set.remove(&value)).map(drop),
        12 => tx.list_view(id, "list", Migrate::No).and_then(|list| list.insert(at.min(1), &value)),
        13 => tx.list_view(id, "list", Migrate::No).and_then(|list| list.remove(at)).map(drop),
        14 => tx.map_view(id, "map", Migrate::No).and_then(|map| map.put(&value, &other)).map(drop),
        15 => tx.map_view(id, "map", Migrate::No).and_then(|map| map.remove(&value)).map(drop),
        16 => match random.random_range(0..3) {
            0 => tx.set_view(id, "set", Migrate::No).and_then(|set| set.clear()),
            1 => tx.list_view(id, "list", Migrate::No).and_then(|list| list.clear()),
            _ => tx.map_view(id, "map", Migrate::No).and_then(|map| map.clear()),
        },
        _ => tx.set_view(id, "map", Migrate::No).and_then(|set| set.add(&value)).map(drop),
    };
}

fn committed(world: &World) -> Content {
    content(&world.db.begin(&config(1)).unwrap())
}

fn run(seed: u64) -> usize {
    let mut random = StdRng::seed_from_u64(seed);
    let mut world = World::new();
    let mut before = committed(&world);
    let mut told = 0;
    for _ in 0..STEPS {
        if random.random_bool(0.15) {
            world.commit();
            before = committed(&world);
        }
        let version = random.random_range(1..=3);
        let edits = random.random_range(1..4);
        let after = world.edit(version, |tx| {
            (0..edits).for_each(|_| edit(tx, &mut random));
            content(tx)
        });
        let (found, expected) = (lines(&world.changes()), expected(&before, &after));
        assert_eq!(found, expected, "seed {seed}: {:?}", world.writes());
        told += found.len();
    }
    told
}

#[test]
fn random_edits() {
    let told: usize = (0..4).map(run).sum();
    assert!(told > 3_000, "{told}");
}
