//! One transaction: its operations, its commit, and repairs if that is refused.

use std::collections::{BTreeMap, BTreeSet};

use permazen::encoding::Value;
use permazen::kv::KvError;
use permazen::kv::fault::Faults;
use permazen::model::{Committed, Rule, Violation};
use permazen::{
    CommitError, Error, ObjId, ObjIdGenerator, Result, Transaction, Tx, Validation, Violations,
};

use crate::models::naive::{Breach, World, logical};
use crate::models::steps::{New, Op, Random, Step, apply, is_refusal, op};
use crate::models::{Counts, History, Program, count};

/// How a transaction ended.
pub(crate) enum Ended {
    Committed(World),
    /// It was rolled back on purpose, or because it broke rules.
    RolledBack,
    /// An operation of the store failed, and the content that the transaction would have committed,
    /// if that was the commit.
    Died(Error, Option<World>),
}

/// Runs transactions on a database.
pub(crate) struct Runner<'a> {
    pub(crate) history: &'a History,
    /// The program that runs it.
    pub(crate) program: &'a Program,
    pub(crate) random: Random,
    pub(crate) counts: Counts,
    /// Lets each operation of the store fail once within each operation.
    pub(crate) shaken: Option<&'a Faults>,
    /// Is called when the transaction has begun.
    pub(crate) begun: Option<&'a dyn Fn()>,
}

impl History {
    pub(crate) fn runner<'a>(&'a self, seed: u64, shaken: Option<&'a Faults>) -> Runner<'a> {
        let mut random = Random::new(seed);
        Runner {
            history: self,
            program: self.some_program(&mut random),
            random,
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

    /// Compares the events of the observers of commits with the changes.
    pub(crate) fn committed(&mut self, mut world: World) {
        world.sync(&self.stored());
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
                (Some(old), Some(new)) if old.fields != new.fields => Some(Committed::Changed),
                // It may have changed and then changed back. A move is no change.
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
        self.program.db.database().set_id_generator(generator);
        let mut tx = match self.program.db.begin() {
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
            self.history.heard.clear();
            let before = world.clone();
            if !self.is_off() {
                world.settle();
            }
            let refused = match tx.commit() {
                Ok(()) => {
                    self.history.heard.check(&before, &world, self.program.version, false);
                    self.must_be_right(&world);
                    self.note(if round == 0 { "committed" } else { "repaired" });
                    return Ended::Committed(world);
                }
                Err(refused) => refused,
            };
            tx = match self.refused(refused, &mut world) {
                Ok(tx) => tx,
                Err(error) => return Ended::Died(error, Some(world)),
            };
            self.history.heard.check(&before, &world, self.program.version, false);
            if round == 4 || self.random.one_in(4) {
                return Ended::RolledBack;
            }
            if let Err(error) = self.repair(&tx, &mut world) {
                return Ended::Died(error, None);
            }
        }
        Ended::RolledBack
    }

    /// The committed content breaks no rule of any version.
    fn must_be_right(&self, world: &World) {
        let versions: &[u8] = match self.is_off() {
            true => &[],
            false if self.history.has_versions => &[1, 2],
            false => &[1],
        };
        for version in versions {
            assert_eq!(world.breaches(*version), [], "of version {version}");
        }
    }

    fn is_off(&self) -> bool {
        self.history.validation == Validation::Off
    }

    /// Compares the violations of a refused commit with the violations of the naive model.
    fn refused(&mut self, refused: CommitError, world: &mut World) -> Result<Transaction> {
        let (error, tx) = refused.into_parts();
        let Error::Invalid(violations) = &error else {
            assert!(tx.is_none(), "{error:?}");
            return Err(error);
        };
        self.note("commit refused");
        let before = world.clone();
        let tx = tx.unwrap();
        let stored = World::read(&tx)?;
        // A check may have moved objects.
        world.sync(&stored);
        self.compare(violations, &before, world);
        assert_eq!(stored, *world, "the transaction is as it was");
        // It says the same again.
        match tx.validate() {
            Err(Error::Invalid(again)) => self.compare(&again, world, world),
            other => {
                other?;
                panic!("what was refused is valid");
            }
        }
        Ok(tx)
    }

    /// Compares violations with what the naive model says. Before the check, which may have moved
    /// objects, the world was `before`.
    fn compare(&mut self, violations: &Violations, before: &World, world: &World) {
        let version = self.program.version;
        let expected = world.breaches(version);
        let key = |it: &Breach| (it.object, it.path.clone(), it.rule as u8);
        let mut found = BTreeSet::new();
        for it in violations {
            if it.cause.is_some() {
                self.unchecked(it, before);
                continue;
            }
            let (object, path) = (it.object, first_path(&it.path));
            let it = Breach { object, path, rule: it.rule, others: it.others.clone() };
            assert!(expected.contains(&it), "{it:?} is not in {expected:#?}");
            assert!(found.insert(key(&it)), "{it:?} twice");
        }
        for it in &expected {
            let must = world.must_be_found(&self.history.world, it);
            // If an index lacks entries, or an object has null, the rule cannot be checked.
            let is_certain = it.rule == Rule::Required || !before.has_nulls();
            let is_certain = is_certain && !before.is_partial(&it.path, version);
            let is_found = found.contains(&key(it));
            assert!(!must || !is_certain || is_found, "{it:?} is not in {violations}");
        }
    }

    /// A rule could not be checked.
    fn unchecked(&mut self, it: &Violation, world: &World) {
        let is_partial = world.is_partial(&it.path, self.program.version);
        match it.cause.as_deref() {
            Some(Error::PartialIndex { .. }) if is_partial => self.note("index was partial"),
            Some(error) if world.has_nulls() && is_about_null(error) => {
                self.note("null was in the way")
            }
            cause => panic!("{it}: {cause:?} in {world:#?}"),
        }
    }

    /// Does operations that let nothing break rules.
    fn repair(&mut self, tx: &Tx, world: &mut World) -> Result<()> {
        if self.random.one_in(2) {
            self.one(tx, world, &Op::MoveAll)?;
        }
        for breach in world.breaches(self.program.version) {
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
                ("Note", _) => vec![set("text", text())],
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
            let ops = (0..1 + self.random.below(3)).map(|_| self.op(world)).collect();
            Step::Atomic(ops, self.random.one_in(2))
        } else {
            Step::One(self.op(world))
        };
        match step {
            Step::One(op) => self.one(tx, world, &op),
            Step::Atomic(ops, undone) => self.atomic(tx, world, &ops, undone),
        }
    }

    fn op(&mut self, world: &World) -> Op {
        op(&mut self.random, world, self.program.version)
    }

    /// Does an operation in the database and in the naive model.
    fn one(&mut self, tx: &Tx, world: &mut World, op: &Op) -> Result<()> {
        let program = self.program;
        let done = self.shaken(tx, world, |tx| {
            program.heard.clear();
            (program.run)(tx, op)
        });
        let before = world.clone();
        let stored = self.stored(tx, &done)?;
        let early = self.is_early();
        if self.agree(world, op, done, early, stored.as_ref())? {
            let alone = matches!(op, Op::Retain(..));
            self.history.heard.check(&before, world, program.version, alone);
        }
        if let Some(stored) = stored {
            assert_eq!(stored, *world, "after {op:?}");
        }
        Ok(())
    }

    /// The stored content after an operation, unless the store has failed.
    fn stored(&self, tx: &Tx, done: &Result<New>) -> Result<Option<World>> {
        match done {
            Err(error) if is_of_store(error) => Ok(None),
            _ => World::read(tx).map(Some),
        }
    }

    fn is_early(&self) -> bool {
        self.history.validation == Validation::Early
    }

    /// Compares the outcome of an operation with that in the naive model. Returns whether it has
    /// succeeded. `stored` says in which schemas objects are after it.
    fn agree(
        &mut self,
        world: &mut World,
        op: &Op,
        done: Result<New>,
        early: bool,
        stored: Option<&World>,
    ) -> Result<bool> {
        let version = self.program.version;
        let mut after = world.clone();
        let expected = apply(&mut after, op, done.as_deref().unwrap_or_default(), version);
        let sync = |world: &mut World| {
            if let Some(stored) = stored {
                world.sync(stored);
            }
        };
        match (done, expected) {
            (Err(error), _) if is_of_store(&error) => return Err(error),
            (Ok(_), Ok(())) => {
                if early {
                    after.settle();
                }
                sync(&mut after);
                assert!(!early || after.breaches(version).is_empty(), "{op:?} breaks a rule");
                *world = after;
                return Ok(true);
            }
            (Err(Error::Invalid(violations)), Ok(())) if early => {
                self.note("refused at once");
                self.must_break(&violations, world, &after, op);
            }
            (Err(error), Err(refused)) if is_refusal(&error, refused) => {
                self.note(match refused.0 {
                    "hook" => "refused: hook",
                    "reference" => "refused: reference",
                    "referenced" => "refused: referenced",
                    _ => "refused: missing",
                });
            }
            (Err(error), _) if world.has_nulls() && is_about_null(&error) => {
                self.note("null was in the way");
            }
            (done, expected) => panic!("{op:?}: {done:?}, but {expected:?} in {world:#?}"),
        }
        sync(world);
        Ok(false)
    }

    /// A change that was refused at once breaks a rule, or a rule could not be checked.
    fn must_break(&mut self, violations: &Violations, before: &World, after: &World, op: &Op) {
        for it in violations.iter().filter(|it| it.cause.is_some()) {
            let either =
                if after.is_partial(&it.path, self.program.version) { after } else { before };
            self.unchecked(it, either);
        }
        let is_checked = violations.iter().any(|it| it.cause.is_none());
        let breaches = after.breaches(self.program.version);
        assert!(!is_checked || !breaches.is_empty(), "{op:?}: {violations}");
    }

    fn atomic(&mut self, tx: &Tx, world: &mut World, ops: &[Op], undone: bool) -> Result<()> {
        let program = self.program;
        let done = self.shaken(tx, world, |tx| {
            let mut outcomes = Vec::new();
            let result = tx.core().atomic(|_| {
                for op in ops {
                    match (program.run)(tx, op) {
                        Err(error) if is_of_store(&error) => return Err(error),
                        outcome => outcomes.push((outcome, Some(World::read(tx)?))),
                    }
                }
                if undone { Err(Error::other("undone")) } else { Ok(()) }
            });
            match result {
                Err(Error::Other(_)) if undone => {}
                Err(Error::Invalid(_)) => outcomes.push((result.map(|()| Vec::new()), None)),
                result => result?,
            }
            Ok(outcomes)
        });
        let mut outcomes = done?;
        let invalid = if outcomes.len() > ops.len() { outcomes.pop() } else { None };
        let mut after = world.clone();
        for (op, (outcome, stored)) in ops.iter().zip(outcomes) {
            self.agree(&mut after, op, outcome, false, stored.as_ref())?;
        }
        match invalid {
            _ if undone => self.note("atomic, undone"),
            Some((Err(Error::Invalid(violations)), _)) => {
                assert!(self.is_early(), "{violations}");
                let op = Op::MoveAll;
                self.must_break(&violations, world, &after, &op);
            }
            Some(other) => panic!("{other:?}"),
            None => {
                if self.is_early() {
                    after.settle();
                }
                after.sync(&World::read(tx)?);
                let early = self.is_early();
                assert!(!early || after.breaches(program.version).is_empty(), "{ops:?}");
                *world = after;
            }
        }
        assert_eq!(World::read(tx)?, *world, "after {ops:?}, undone: {undone}");
        Ok(())
    }

    /// Lets each operation of the store fail in turn, without an end of the transaction. Everything
    /// must then be as before. At last does it without failures.
    fn shaken<T: std::fmt::Debug>(
        &mut self,
        tx: &Tx,
        world: &World,
        run: impl Fn(&Tx) -> Result<T>,
    ) -> Result<T> {
        let Some(faults) = self.shaken else { return run(tx) };
        let seed = self.random.next();
        let mut nth = 1;
        loop {
            let generator = ObjIdGenerator::from_seed(seed);
            self.program.db.database().set_id_generator(generator);
            faults.fail_nth(nth, || KvError::InvalidArgument("planned".to_owned()));
            let result = run(tx);
            let failed = faults.hits() > 0;
            faults.stop();
            if !failed {
                return result;
            }
            match World::read(tx) {
                Ok(read) => {
                    let text = || result.as_ref().ok().map(|it| format!("{it:?}"));
                    assert!(
                        result.is_err(),
                        "the failure {nth} of the store is not reported: {:?}",
                        text()
                    );
                    // A view of a collection moves its object before the failure.
                    let mut world = world.clone();
                    world.sync(&read);
                    assert_eq!(read, world, "after failure {nth}");
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

/// A path with the name of the field in the first version.
pub(crate) fn first_path(path: &str) -> String {
    let (of_type, name) = logical(path);
    let dot = if name.is_empty() || name.starts_with(['#', ':']) { "" } else { "." };
    format!("{of_type}{dot}{name}")
}

/// Whether an object cannot be read or moved because it lacks a value.
pub(crate) fn is_about_null(error: &Error) -> bool {
    let is_it = |error: &Error| matches!(error, Error::Missing { .. } | Error::Refused(_));
    error.causes().any(|cause| cause.downcast_ref().is_some_and(is_it))
}

/// Whether the store has failed.
pub(crate) fn is_of_store(error: &Error) -> bool {
    is_broken(error) || error.causes().any(|cause| cause.is::<KvError>())
}

/// Whether the transaction does nothing more, because something could not be undone.
pub(crate) fn is_broken(error: &Error) -> bool {
    matches!(error, Error::Object(permazen::object::Error::Broken))
}
