//! Two transactions of one version at the same time. The outcome is that of one after the other.

use std::sync::Barrier;

use permazen::Error;

use crate::models::naive::World;
use crate::models::steps::{New, Op, apply, is_refusal, op};
use crate::models::transaction::is_of_store;
use crate::models::{History, Program, count};

/// The results of the operations of a transaction, and whether the transaction broke rules.
struct Outcome {
    done: Vec<Result<New, Error>>,
    invalid: bool,
}

impl History {
    pub(crate) fn concurrent(&mut self) {
        let mut ops = || -> Vec<Op> {
            let all = 1 + self.random.below(4);
            (0..all).map(|_| op(&mut self.random, &self.world, 1)).collect()
        };
        let ops = [ops(), ops()];
        let barrier = Barrier::new(2);
        let Program { db, run, .. } = &self.programs[0];
        let one = |ops: &[Op]| {
            barrier.wait();
            let mut done = Vec::new();
            let result = db.write(|tx| {
                done.clear();
                for op in ops {
                    match run(tx, op) {
                        Err(error) if is_of_store(&error) => return Err(error),
                        outcome => done.push(outcome),
                    }
                }
                Ok(())
            });
            match result {
                Ok(()) => Outcome { done, invalid: false },
                Err(Error::Invalid(_)) => Outcome { done, invalid: true },
                Err(error) => panic!("{error:?}"),
            }
        };
        let outcomes = std::thread::scope(|scope| {
            let other = scope.spawn(|| one(&ops[1]));
            [one(&ops[0]), other.join().unwrap()]
        });
        let stored = self.stored();
        let both = outcomes.iter().filter(|it| !it.invalid).count();
        count(
            &mut self.counts,
            ["none of two committed", "one of two committed", "both committed"][both],
        );
        self.told.lock().unwrap().clear();
        self.heard.clear();
        let orders = [[0, 1], [1, 0]];
        let fits = |order: [usize; 2]| {
            let mut world = self.world.clone();
            order.iter().all(|n| after(&mut world, &ops[*n], &outcomes[*n], self.is_early()))
                && world == stored
        };
        let order = orders.into_iter().any(fits);
        let done = outcomes.iter().map(|it| (&it.done, it.invalid)).collect::<Vec<_>>();
        assert!(order, "{ops:#?} {done:#?} {:#?} {stored:#?}", self.world);
        self.world = stored;
    }

    fn is_early(&self) -> bool {
        self.validation == permazen::Validation::Early
    }
}

/// Whether a transaction on this world has this outcome. The world is then that after it.
fn after(world: &mut World, ops: &[Op], outcome: &Outcome, early: bool) -> bool {
    let before = world.clone();
    for (op, done) in ops.iter().zip(&outcome.done) {
        let mut next = world.clone();
        let applied = apply(&mut next, op, done.as_deref().unwrap_or_default(), 1);
        if early {
            next.settle();
        }
        match (done, applied) {
            (Ok(_), Ok(())) if !early || next.breaches(1).is_empty() => *world = next,
            (Err(Error::Invalid(_)), Ok(())) if early && !next.breaches(1).is_empty() => {}
            (Err(error), Err(refused)) if is_refusal(error, refused) => {}
            _ => return false,
        }
    }
    world.settle();
    if outcome.invalid == world.breaches(1).is_empty() {
        return false;
    }
    if outcome.invalid {
        *world = before;
    }
    true
}
