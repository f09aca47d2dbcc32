//! Transactions in which operations of the store fail.

use permazen::kv::KvError;
use permazen::kv::fault::Faults;

use crate::models::naive::World;
use crate::models::steps::op;
use crate::models::transaction::{Ended, is_broken, is_of_store};
use crate::models::{History, count};

impl History {
    pub(crate) fn faulty(&mut self, faults: &Faults) {
        match self.random.below(3) {
            0 => self.ends_at_a_failure(faults),
            1 => self.survives_failures(faults),
            _ => self.cannot_undo(faults),
        }
    }

    /// Runs the same transaction again and again, and lets another operation of the store fail in
    /// each. The transaction is dead then, and the database is as before.
    fn ends_at_a_failure(&mut self, faults: &Faults) {
        let seed = self.random.next();
        let lost = self.random.one_in(2);
        let unknown = self.random.one_in(2);
        faults.lose_commits(lost);
        let mut nth = 1 + self.random.below(3) as u64;
        loop {
            let mut runner = self.runner(seed, None);
            // To begin is tried again if the store fails, so only what follows fails here.
            let fail = || {
                faults.fail_nth(nth, move || match unknown {
                    true => KvError::OutcomeUnknown("planned".to_owned()),
                    false => KvError::Retry("planned".to_owned()),
                });
            };
            runner.begun = Some(&fail);
            let ended = runner.run();
            let failed = faults.hits() > 0;
            faults.stop();
            let (error, after) = match ended {
                Ended::Died(error, after) => (Some(error), after),
                // A refused change could not be undone, and the transaction was rolled back.
                Ended::RolledBack if failed => (None, None),
                ended => {
                    assert!(!failed, "the failure {nth} is not reported");
                    return self.ended(ended);
                }
            };
            assert!(failed && error.as_ref().is_none_or(is_of_store), "{error:?}");
            count(&mut self.counts, "transaction died");
            let stored = self.stored();
            if stored == self.world {
                let told = std::mem::take(&mut *self.told.lock().unwrap());
                assert!(told.is_empty(), "{told:?}");
            } else {
                // It was the commit itself that failed, and everything is done.
                assert!(unknown && !lost, "failure {nth}: {error:?}");
                count(&mut self.counts, "commit of unknown outcome");
                self.told.lock().unwrap().clear();
                let mut after = after.unwrap();
                after.sync(&stored);
                self.world = after;
                return;
            }
            nth += 1 + self.random.below(4) as u64;
        }
    }

    /// Lets operations fail of which the transaction learns that they had no effect.
    fn survives_failures(&mut self, faults: &Faults) {
        let seed = self.random.next();
        let mut runner = self.runner(seed, Some(faults));
        let ended = runner.run();
        let counts = std::mem::take(&mut runner.counts);
        self.add(counts);
        match ended {
            Ended::Died(error, None) if is_broken(&error) => {
                count(&mut self.counts, "undo failed after a refusal");
                assert!(self.told.lock().unwrap().is_empty());
            }
            ended => self.ended(ended),
        }
    }

    /// Lets all operations fail from some point on, also those that undo. Then the operation has
    /// had no effect, or the transaction does nothing more.
    fn cannot_undo(&mut self, faults: &Faults) {
        let seed = self.random.next();
        let mut random = self.random.clone();
        let mut broken = 0;
        let mut runner = self.runner(seed, None);
        let program = runner.program;
        let mut commits = 0;
        let ended = runner.run_until(&mut |tx, world| {
            commits += 1;
            if commits > 1 {
                return;
            }
            let op = op(&mut random, world, program.version);
            faults.fail_from(1 + random.below(20) as u64, || {
                KvError::InvalidArgument("planned".to_owned())
            });
            let result = tx.core().atomic(|_| {
                (program.run)(tx, &op).and(Err::<(), _>(permazen::Error::other("undone")))
            });
            let failed = faults.hits() > 0;
            faults.stop();
            assert!(result.map(drop).is_err());
            match World::read(tx) {
                Ok(read) => assert_eq!(read, *world),
                Err(error) => {
                    assert!(failed && is_broken(&error), "{error:?}");
                    broken += 1;
                }
            }
        });
        let counts = std::mem::take(&mut runner.counts);
        self.add(counts);
        self.random.next();
        if broken == 0 {
            return self.ended(ended);
        }
        count(&mut self.counts, "undo failed");
        assert!(!matches!(ended, Ended::Committed(_)), "a broken transaction was committed");
        assert!(self.told.lock().unwrap().is_empty());
    }
}
