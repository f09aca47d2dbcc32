//! The costs of steps of paths and of `referrers`, as their documentation promises.

use permazen::kv::counting::CountingStore;
use permazen::kv::memory::MemoryStore;
use permazen::model::Path;
use permazen::{Permazen, Ref};

use super::{Elephant, Giraffe};

/// Three elephants have the same parent; the first has two enemies, the second 40 friends.
#[test]
fn steps_cost_what_their_documentation_says() {
    let counting = CountingStore::new(MemoryStore::new());
    let counter = counting.counter();
    let db = Permazen::builder(counting).model::<Elephant>().model::<Giraffe>().build().unwrap();
    let children = db
        .write(|tx| {
            let parent = tx.create(Elephant::default())?;
            let child = || Elephant { parent: Some(parent.to_ref()), ..Elephant::default() };
            let children = [tx.create(child())?, tx.create(child())?, tx.create(child())?];
            for enemy in [children[1], children[2]] {
                children[0].enemies()?.add(Ref::new(enemy.id()))?;
            }
            // Many others refer to one of them.
            for _ in 0..40 {
                tx.create(Elephant { friend: Some(children[1].to_ref()), ..Elephant::default() })?;
            }
            Ok(children.map(|it| it.to_ref()))
        })
        .unwrap();
    db.read(|tx| {
        // Objects are known after the first look at them, which costs a get.
        let mut parent = None;
        for child in children {
            parent = tx.get(child)?.parent()?;
        }
        let parent = parent.unwrap();
        assert!(parent.exists()?);
        counter.take();
        let cost = |what: &dyn Fn() -> permazen::Result<usize>, found: usize| {
            assert_eq!(what().unwrap(), found);
            let counts = counter.take();
            assert_eq!(counts.writes(), 0);
            (counts.gets, counts.seeks, counts.steps)
        };

        // Forward through a reference: one get for each object.
        let up = Path::of::<Elephant>().to(Elephant::PARENT);
        assert_eq!(cost(&|| up.follow(tx, children)?.count(), 1), (3, 0, 0));

        // Forward through a set: one seek, and a step for each element.
        let enemies = Path::of::<Elephant>().to(Elephant::ENEMIES);
        let (gets, seeks, steps) = cost(&|| enemies.follow(tx, [children[0]])?.count(), 2);
        assert!((gets, seeks) == (0, 1) && steps <= 3, "{gets} gets, {seeks} seeks, {steps} steps");

        // Back: one seek, and a step for each object that refers to it. Nothing until it is read.
        let (gets, seeks, steps) = cost(&|| parent.referrers(Elephant::PARENT)?.count(), 3);
        assert!((gets, seeks) == (0, 1) && steps <= 4, "{gets} gets, {seeks} seeks, {steps} steps");
        let _not_read = parent.referrers(Elephant::PARENT)?;
        assert_eq!(cost(&|| Ok(0), 0), (0, 0, 0), "a last step back is made when the set is read");
        // The first of 40 is found without reading all of them.
        let friends = tx.get(children[1])?.referrers(Elephant::FRIEND)?;
        let (gets, seeks, steps) = cost(&|| Ok(usize::from(friends.first()?.is_some())), 1);
        assert!((gets, seeks) == (0, 1) && steps < 10, "{gets} gets, {seeks} seeks, {steps} steps");
        Ok(())
    })
    .unwrap();
}
