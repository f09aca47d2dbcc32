//! A process that moves all objects to another schema is killed at random instants. Objects that it
//! moved stay moved, the rest is as it was, and the next process continues.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use permazen::model::MigrationEnd;
use permazen::{ObjId, Permazen, PermazenObject};

use crate::processes::{Role, Store, check, say};
use crate::random::{Random, seed, setting};
use crate::workload::Workload;

const OBJECTS: i64 = 1000;
const BATCH: usize = 100;

#[derive(PermazenObject)]
#[permazen(name = "Item")]
struct Before {
    name: String,
    number: i64,
    large: Vec<i64>,
}

#[derive(PermazenObject)]
#[permazen(name = "Item")]
struct After {
    #[permazen(indexed)]
    name: String,
    number: i32,
    large: Vec<i32>,
}

fn before(store: Store, path: &Path) -> Permazen {
    let builder = Permazen::builder_shared(store.create(path).unwrap());
    builder.model::<Before>().build().unwrap()
}

fn after(store: Store, path: &Path) -> Permazen {
    Permazen::builder_shared(store.create(path).unwrap()).model::<After>().build().unwrap()
}

/// Moves the objects until it is killed or done, and reports each batch.
pub(crate) fn child(path: &Path, store: Store) {
    let db = after(store, path);
    let run = db.upgrade_all().batch(BATCH).progress(|progress| {
        say(&format!("moved {}", progress.moved));
        ControlFlow::Continue(())
    });
    assert_eq!(run.run().unwrap().end, MigrationEnd::Done);
    say("done");
}

fn kills(store: Store) {
    let seed = seed(&format!("upgrades, {store:?}"));
    let mut random = Random::new(seed, 0);
    let (mut killed, mut begun) = (0, 0);
    let rounds = setting("PERMAZEN_KILLS").map_or(1, |kills| kills.div_ceil(50));
    for round in 0..rounds + 20 {
        // On a busy machine a process can have ended before it is killed.
        if round >= rounds && killed > 0 && begun > 0 {
            break;
        }
        let when = format!("{store:?}, PERMAZEN_SEED={seed}, round {round}");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store");
        let workload = Workload { seed, partition: 0, large: false };
        let role = Role { name: "upgrade", store, path: path.clone(), workload };
        let numbers = create(&before(store, &path));
        let mut moved = 0;
        loop {
            let mut process = role.start();
            if random.below(4) > 0 {
                process.wait_for("moved");
            }
            let ended = process.kill(Duration::from_micros(random.below(20_000)));
            check(store.create(&path).unwrap(), &when);
            let now = count_moved(store, &path, &numbers, &when);
            assert!(now >= moved + ended.last("moved "), "{when}: {now} after {moved}");
            begun += u64::from(now > moved);
            moved = now;
            if ended.said.iter().any(|line| line.contains("done")) || now == OBJECTS as u64 {
                break;
            }
            killed += 1;
        }
        let db = after(store, &path);
        assert_eq!(db.upgrade_all().run().unwrap().end, MigrationEnd::Done, "{when}");
        assert_eq!(count_moved(store, &path, &numbers, &when), OBJECTS as u64, "{when}");
        check(store.create(&path).unwrap(), &when);
        for (_, number) in numbers.iter().take(20) {
            let name = format!("item {number}");
            let found = db.read(|tx| tx.index(After::NAME)?.get(&name)?.count());
            assert_eq!(found.unwrap(), 1, "{when}");
        }
    }
    assert!(killed > 0 && begun > 0, "{killed} kills in the middle, {begun} of them had moved");
    println!("{store:?}: {killed} kills in the middle");
}

/// Creates the objects, and returns their numbers.
fn create(db: &Permazen) -> BTreeMap<ObjId, i64> {
    db.write(|tx| {
        let create = |number| {
            let item = Before { name: format!("item {number}"), number, large: vec![number; 10] };
            Ok((tx.create(item)?.id(), number))
        };
        (0..OBJECTS).map(create).collect::<permazen::Result<_>>()
    })
    .unwrap()
}

/// How many objects were moved, after a check that all have their values.
fn count_moved(store: Store, path: &Path, numbers: &BTreeMap<ObjId, i64>, when: &str) -> u64 {
    let db = after(store, path);
    let schema = db.schema().schema_id();
    db.read(|tx| {
        let mut moved = 0;
        for (id, number) in numbers {
            let any = tx.any(*id);
            moved += u64::from(any.schema_id()? == schema);
            let item = any.downcast::<After>().unwrap().load()?;
            let expected = (format!("item {number}"), *number, vec![*number as i32; 10]);
            assert_eq!((item.name, i64::from(item.number), item.large), expected, "{when}");
        }
        Ok(moved)
    })
    .unwrap()
}

#[test]
fn kills_while_all_objects_move_on_lmdb() {
    kills(Store::Lmdb);
}

#[test]
fn kills_while_all_objects_move_on_sqlite() {
    kills(Store::Sqlite);
}
