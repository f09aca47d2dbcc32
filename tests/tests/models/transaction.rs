//! One transaction: its operations, its commit, and repairs if that is refused.

use std::collections::{BTreeMap, BTreeSet};

use permazen::encoding::Value;
use permazen::kv::KvError;
use permazen::kv::fault::Faults;
use permazen::model::{Committed, Rule};
use permazen::{
    CommitError, Error, ObjId, ObjIdGenerator, Result, Transaction, Tx, Validation, Violations,
};

use crate::naive::{Breach, World};
use crate::steps::{New, Op, Random, Step, apply, is_refusal, op, run};
use crate::{Counts, History, count};

/// How a transaction ended.
pub(crate) enum Ended {
    Committed(World),
    /// It was rolled back on purpose, or because it broke rules.
    RolledBack,
    /// An operation of the store failed, and what the transaction would have committed, if that was
    /// the commit.
    Died(Error, Option<World>),
}

/// Runs transactions on a database.
pub(crate) struct Runner<'a> {
    pub(crate) history: &'a History,
    pub(crate) random: Random,
    pub(crate) counts: Counts,
    /// Lets each operation of the store fail once within each operation.
    pub(crate) shaken: Option<&'a Faults>,
    /// Is called when the transaction has begun.
    pub(crate) begun: Option<&'a dyn Fn()>,
}

impl History {
    pub(crate) fn runner<'a>(&'a self, seed: u64, shaken: Option<&'a Faults>) -> Runner<'a> {
        Runner {
            history: self,
            random: Random::new(seed),
            counts: Counts::new(),
            shaken,
            begun: None,
        }
    }

    /// Runs one transaction without failures of the store.
    pub(crate) fn transaction(&mut self) {
        let seed = self.random.next();
        let mut runner = self.runner(seed, None);
        let ended = runner.run();
        let counts = std::mem::take(&mut runner.counts);
        self.add(counts);
        self.ended(ended);
    }

    pub(crate) fn add(&mut self, counts: Counts) {
        for (what, times) in counts {
            *self.counts.entry(what).or_default() += times;
        }
    }

    pub(crate) fn ended(&mut self, ended: Ended) {
        match ended {
            Ended::Committed(world) => self.committed(world),
            Ended::RolledBack => assert!(self.told.lock().unwrap().is_empty()),
            Ended::Died(error, _) => panic!("{error:?}"),
        }
    }

    /// Compares what the observers of commits were told with what has changed.
    pub(crate) fn committed(&mut self, world: World) {
        let told = std::mem::take(&mut *self.told.lock().unwrap());
        let once: BTreeMap<ObjId, Committed> = told.iter().copied().collect();
        assert_eq!(once.len(), told.len(), "each object once: {told:?}");
        let (old, new) = (&self.world.things, &world.things);
        let ids: BTreeSet<_> = old.keys().chain(new.keys()).chain(once.keys()).collect();
        for id in ids {
            let told = once.get(id);
            let expected = match (old.get(id), new.get(id)) {
                (None, Some(_)) => Some(Committed::Created),
                (Some(_), None) => Some(Committed::Deleted),
                (Some(old), Some(new)) if old != new => Some(Committed::Changed),
                // It may have changed and then changed back.
                (Some(_), Some(_)) => told.filter(|it| **it == Committed::Changed).copied(),
                (None, None) => None,
            };
            let thing = new.get(id).or_else(|| old.get(id));
            let observed = thing.is_none_or(|it| ["User", "Review"].contains(&it.of_type));
            assert_eq!(told, expected.as_ref().filter(|_| observed), "{id}");
        }
        self.world = world;
    }
}

impl Runner<'_> {
    fn note(&mut self, what: &'static str) {
        count(&mut self.counts, what);
    }

    pub(crate) fn run(&mut self) -> Ended {
        self.run_until(&mut |_, _| {})
    }

    /// Runs a transaction. `before_commit` can make operations of the store fail.
    pub(crate) fn run_until(
        &mut self,
        before_commit: &mut dyn FnMut(&Transaction, &World),
    ) -> Ended {
        let generator = ObjIdGenerator::from_seed(self.random.next());
        self.history.db.database().set_id_generator(generator);
        let mut tx = match self.history.db.begin() {
            Ok(tx) => tx,
            Err(error) => return Ended::Died(error, None),
        };
        if let Some(begun) = self.begun {
            begun();
        }
        let mut world = self.history.world.clone();
        for _ in 0..1 + self.random.below(7) {
            if let Err(error) = self.step(&tx, &mut world) {
                return Ended::Died(error, None);
            }
        }
        if self.random.one_in(8) {
            drop(tx);
            return Ended::RolledBack;
        }
        for round in 0.. {
            before_commit(&tx, &world);
            let refused = match tx.commit() {
                Ok(()) => {
                    assert_eq!(world.breaches(), []);
                    self.note(if round == 0 { "committed" } else { "repaired" });
                    return Ended::Committed(world);
                }
                Err(refused) => refused,
            };
            tx = match self.refused(refused, &world) {
                Ok(tx) => tx,
                Err(error) => return Ended::Died(error, Some(world)),
            };
            if round == 4 || self.random.one_in(4) {
                return Ended::RolledBack;
            }
            if let Err(error) = self.repair(&tx, &mut world) {
                return Ended::Died(error, None);
            }
        }
        Ended::RolledBack
    }

    /// Compares the violations of a refused commit with those of the naive model.
    fn refused(&mut self, refused: CommitError, world: &World) -> Result<Transaction> {
        let (error, tx) = refused.into_parts();
        let Error::Invalid(violations) = &error else {
            assert!(tx.is_none(), "{error:?}");
            return Err(error);
        };
        self.note("commit refused");
        self.compare(violations, world);
        let tx = tx.unwrap();
        assert_eq!(World::read(&tx)?, *world, "the transaction is as it was");
        // It says the same again.
        match tx.validate() {
            Err(Error::Invalid(again)) => self.compare(&again, world),
            other => {
                other?;
                panic!("what was refused is valid");
            }
        }
        Ok(tx)
    }

    fn compare(&self, violations: &Violations, world: &World) {
        let expected = world.breaches();
        let key = |it: &Breach| (it.object, it.path.clone(), it.rule as u8);
        let mut found = BTreeSet::new();
        for it in violations {
            assert!(it.cause.is_none(), "{it}");
            let (object, path) = (it.object, it.path.clone());
            let it = Breach { object, path, rule: it.rule, others: it.others.clone() };
            assert!(expected.contains(&it), "{it:?} is not in {expected:#?}");
            assert!(found.insert(key(&it)), "{it:?} twice");
        }
        for it in &expected {
            let must = world.must_be_found(&self.history.world, it);
            assert!(!must || found.contains(&key(it)), "{it:?} is not in {violations}");
        }
    }

    /// Does operations that let nothing break rules.
    fn repair(&mut self, tx: &Tx, world: &mut World) -> Result<()> {
        for breach in world.breaches() {
            let id = breach.object;
            let Some(thing) = world.things.get(&id) else { continue };
            let number = 100 + self.random.below(1_000_000) as i32;
            let set = |field, value| Op::Set(id, field, value);
            let text = || Value::String(format!("repaired {number}"));
            let ops = match (thing.of_type, breach.rule) {
                ("User", _) => vec![set("email", Value::Null), set("rank", Value::Int(0))],
                ("Team", _) => vec![set("title", text())],
                ("Film", _) => {
                    vec![
                        set("star", Value::Null),
                        set("label", text()),
                        set("code", Value::Int(number)),
                    ]
                }
                ("Book", Rule::Unique) => vec![set("code", Value::Int(number))],
                ("Settings", Rule::Valid) => vec![set("theme", text())],
                _ => vec![Op::Delete(id)],
            };
            for op in ops {
                self.one(tx, world, &op)?;
            }
        }
        Ok(())
    }

    fn step(&mut self, tx: &Tx, world: &mut World) -> Result<()> {
        let step = if self.random.one_in(8) {
            let ops = (0..1 + self.random.below(3)).map(|_| op(&mut self.random, world)).collect();
            Step::Atomic(ops, self.random.one_in(2))
        } else {
            Step::One(op(&mut self.random, world))
        };
        match step {
            Step::One(op) => self.one(tx, world, &op),
            Step::Atomic(ops, undone) => self.atomic(tx, world, &ops, undone),
        }
    }

    /// Does an operation in the database and in the naive model.
    fn one(&mut self, tx: &Tx, world: &mut World, op: &Op) -> Result<()> {
        let done = self.shaken(tx, world, |tx| run(tx, op));
        self.agree(tx, world, op, done, self.is_early())
    }

    fn is_early(&self) -> bool {
        self.history.validation == Validation::Early
    }

    /// Compares the outcome of an operation with that in the naive model.
    fn agree(
        &mut self,
        _tx: &Tx,
        world: &mut World,
        op: &Op,
        done: Result<New>,
        early: bool,
    ) -> Result<()> {
        let mut after = world.clone();
        let expected = apply(&mut after, op, done.as_deref().unwrap_or_default());
        match (done, expected) {
            (Err(error), _) if is_of_store(&error) => return Err(error),
            (Ok(_), Ok(())) => {
                assert!(!early || after.breaches().is_empty(), "{op:?} breaks a rule");
                *world = after;
            }
            (Err(Error::Invalid(violations)), Ok(())) if early => {
                self.note("refused at once");
                assert!(!after.breaches().is_empty(), "{op:?}: {violations}");
            }
            (Err(error), Err(refused)) if is_refusal(&error, refused) => {
                self.note(match refused.0 {
                    "hook" => "refused: hook",
                    "reference" => "refused: reference",
                    "referenced" => "refused: referenced",
                    _ => "refused: missing",
                });
            }
            (done, expected) => panic!("{op:?}: {done:?}, but {expected:?} in {world:#?}"),
        }
        Ok(())
    }

    fn atomic(&mut self, tx: &Tx, world: &mut World, ops: &[Op], undone: bool) -> Result<()> {
        let done = self.shaken(tx, world, |tx| {
            let mut outcomes = Vec::new();
            let result = tx.core().atomic(|_| {
                for op in ops {
                    match run(tx, op) {
                        Err(error) if is_of_store(&error) => return Err(error),
                        outcome => outcomes.push(outcome),
                    }
                }
                if undone { Err(Error::other("undone")) } else { Ok(()) }
            });
            match result {
                Err(Error::Other(_)) if undone => {}
                Err(Error::Invalid(_)) => outcomes.push(result.map(|()| Vec::new())),
                result => result?,
            }
            Ok(outcomes)
        });
        let mut outcomes = done?;
        let invalid = if outcomes.len() > ops.len() { outcomes.pop() } else { None };
        let mut after = world.clone();
        for (op, outcome) in ops.iter().zip(outcomes) {
            self.agree(tx, &mut after, op, outcome, false)?;
        }
        if undone {
            self.note("atomic, undone");
        } else if self.is_early() {
            assert_eq!(invalid.is_some(), !after.breaches().is_empty(), "{invalid:?}");
            if invalid.is_none() {
                *world = after;
            }
        } else {
            assert!(invalid.is_none(), "{invalid:?}");
            *world = after;
        }
        Ok(())
    }

    /// Lets each operation of the store fail in turn, without an end of the transaction. Everything
    /// must then be as before. At last does it without failures.
    fn shaken<T>(&mut self, tx: &Tx, world: &World, run: impl Fn(&Tx) -> Result<T>) -> Result<T> {
        let Some(faults) = self.shaken else { return run(tx) };
        let seed = self.random.next();
        let mut nth = 1;
        loop {
            let generator = ObjIdGenerator::from_seed(seed);
            self.history.db.database().set_id_generator(generator);
            faults.fail_nth(nth, || KvError::InvalidArgument("planned".to_owned()));
            let result = run(tx);
            let failed = faults.hits() > 0;
            faults.stop();
            if !failed {
                return result;
            }
            match World::read(tx) {
                Ok(read) => {
                    assert!(result.is_err(), "the failure {nth} of the store is not reported");
                    assert_eq!(read, *world, "after failure {nth}");
                }
                // The store failed while something was undone that was refused anyway.
                Err(error) => {
                    assert!(is_broken(&error), "{error:?}");
                    return Err(error);
                }
            }
            self.note("operation failed and was done again");
            nth += 1 + self.random.below(3) as u64;
        }
    }
}

/// Whether the store has failed.
pub(crate) fn is_of_store(error: &Error) -> bool {
    if is_broken(error) {
        return true;
    }
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = next {
        if error.is::<KvError>() {
            return true;
        }
        next = error.source();
    }
    false
}

/// Whether the transaction does nothing more, because something could not be undone.
pub(crate) fn is_broken(error: &Error) -> bool {
    matches!(error, Error::Object(permazen::object::Error::Broken))
}
