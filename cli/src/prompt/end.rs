//! The commands about the transaction of the prompt.

use permazen::kv::{Conflict, KvError};
use permazen::object::{self, Transaction};
use permazen_query::{ChangeCounts, Changes};

use super::pending::Pending;
use super::work::{Work, must_be_replayed};
use crate::commands::{Context, PromptTask, in_words};
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::output::{self, Output};
use crate::script::{Script, Source, run_piece};
use crate::session::ONLY_TRIED;

const WAIT: &str = "the changes still wait for `commit`";

impl Work<'_> {
    /// Runs a command about the transaction.
    pub(super) fn do_task(&mut self, task: PromptTask) -> Result<(), Failure> {
        match task {
            PromptTask::Begin => self.begin(),
            PromptTask::Diff => self.diff(),
            PromptTask::Commit { yes } => self.commit(yes),
            PromptTask::Rollback => self.rollback(),
            PromptTask::Replay => self.replay(),
        }
    }

    fn begin(&mut self) -> Result<(), Failure> {
        let pending = &mut *self.shared.pending_now();
        if pending.must_be_replayed() {
            return Err(must_be_replayed());
        }
        if pending.transaction.is_some() {
            return Err(Failure::new("a transaction is open already"));
        }
        pending.transaction = Some(self.open()?);
        Ok(())
    }

    fn diff(&mut self) -> Result<(), Failure> {
        let pending = &*self.shared.pending_now();
        if pending.must_be_replayed() {
            output::note("`replay` runs these statements again on what is committed now:");
            let lines = pending.edits.iter().flat_map(|edit| edit.text.lines());
            lines.for_each(|line| self.out.say(line));
            return Ok(());
        }
        let Some(open) = &pending.transaction else {
            output::note("there are no changes");
            return Ok(());
        };
        let interrupt = &self.session.interrupt;
        let stop = interrupt.flag();
        let shown = self.out.paged(|out| {
            open.transaction.pending_changes(|changes| {
                show(Changes::new(changes.stop_when(&stop)), interrupt, out)
            })
        });
        if shown? == Some(false) && interrupt.check().is_ok() {
            output::note("there are no changes");
        }
        Ok(())
    }

    fn commit(&mut self, yes: bool) -> Result<(), Failure> {
        let shared = self.shared;
        let Some(counts) = self.counts()? else {
            output::note("there are no changes");
            return Ok(());
        };
        let options = &self.session.options;
        if options.dry_run {
            output::note(ONLY_TRIED);
            return Ok(());
        }
        if !options.write {
            let what = "this changes the database, which needs --write; `diff` shows the changes";
            return Err(Failure::new(what));
        }
        // While a person thinks or other programs write, the transaction may become too old.
        if !yes && !options.yes {
            let question = format!("{}; commit? [y/N] ", shown(&counts));
            if self.lines.agrees(&question, self.out)? != Some(true) {
                output::note(WAIT);
                return Ok(());
            }
        }
        self.session.wait_for_others().map_err(|failure| failure.but(WAIT))?;
        let pending = &mut *shared.pending();
        shared.give_up_if_too_old(pending);
        if pending.must_be_replayed() {
            return Err(must_be_replayed());
        }
        self.commit_pending(pending, &counts)
    }

    /// The changes of the transaction; `None` if there are no changes, and then it ends.
    fn counts(&self) -> Result<Option<ChangeCounts>, Failure> {
        let pending = &mut *self.shared.pending_now();
        if pending.must_be_replayed() {
            return Err(must_be_replayed());
        }
        let Some(open) = &pending.transaction else { return Ok(None) };
        let counts = counted(&open.transaction, &self.session.interrupt)?;
        let Some(counts) = counts else {
            // A server has some of the changes already if there are many, and does not say which.
            return Ok(Some(ChangeCounts::default()));
        };
        if counts.is_empty() {
            pending.clear();
            return Ok(None);
        }
        Ok(Some(counts))
    }

    /// Commits the waiting changes. If that fails, the statements can be replayed; if Ctrl-C has
    /// come before, they wait on.
    fn commit_pending(
        &mut self,
        pending: &mut Pending,
        counts: &ChangeCounts,
    ) -> Result<(), Failure> {
        let mut changed = None;
        let committed = self.session.interrupt.commit(|| {
            let Some(open) = pending.transaction.take() else { return Ok(()) };
            open.transaction.commit().map_err(|error| {
                changed = changed_key(&error);
                error.into()
            })
        });
        let failure = match committed {
            Ok(()) => {
                pending.clear();
                if self.out.is_json() {
                    let counts = counts.json();
                    self.out.json_text(&format!("{{\"type\":\"committed\",\"changes\":{counts}}}"));
                } else {
                    self.out.say(format_args!("committed: {}", shown(counts)));
                }
                return Ok(());
            }
            Err(failure) => failure,
        };
        if failure.exit == Exit::Unknown {
            pending.clear();
            return Err(failure);
        }
        if pending.transaction.is_some() {
            return Err(failure.but(WAIT));
        }
        let what =
            "nothing is committed; `replay` runs the statements again on what is committed now";
        match changed.and_then(|key| in_words(&key, self.session).ok()) {
            None => Err(failure.but(what)),
            Some(words) => {
                let message = format!("others have changed what was read here: {words}; {what}");
                Err(Failure { message, ..failure })
            }
        }
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        let pending = &mut *self.shared.pending();
        if pending.is_empty() {
            output::note("there is no transaction");
        }
        pending.clear();
        Ok(())
    }

    /// Runs the statements again in a new transaction. Objects that they create keep their IDs.
    fn replay(&mut self) -> Result<(), Failure> {
        let shared = self.shared;
        let pending = &mut *shared.pending();
        if pending.edits.is_empty() {
            output::note("there are no statements to run again");
            return Ok(());
        }
        pending.transaction = None;
        let open = self.open()?;
        pending.ids.begin_again();
        let Pending { edits, ids, .. } = &mut *pending;
        for edit in edits {
            let before = ids.changed();
            let script = Script::read(vec![Source { name: None, text: edit.text.clone() }])?;
            for piece in script.pieces() {
                let transaction = Some(&open.transaction);
                let (session, out) = (self.session, &mut *self.out);
                let context = &mut Context { session, out, transaction, ids, asks: None };
                // The transaction that is not complete goes with its changes.
                run_piece(piece, &script, context)
                    .and_then(|_| session.interrupt.check())
                    .map_err(|failure| {
                        failure
                            .but("nothing is replayed; `replay` tries again, `rollback` gives up")
                    })?;
            }
            let changes = ids.changed() > before;
            if edit.has_changed && !changes {
                output::note(format_args!(
                    "`{}` changed objects before, and changes none now",
                    edit.text
                ));
            }
            edit.has_changed = changes;
        }
        pending.transaction = Some(open);
        Ok(())
    }
}

/// The changes of a transaction, in words. The counts are empty only if the store does not tell the
/// changes.
fn shown(counts: &ChangeCounts) -> String {
    match counts.is_empty() {
        true => "more changes than the store tells".to_owned(),
        false => counts.to_string(),
    }
}

/// Counts the changes of a transaction. Ctrl-C ends that, and the counts until then are not shown.
/// `None` if the store does not tell the changes.
fn counted(
    transaction: &Transaction,
    interrupt: &Interrupt,
) -> Result<Option<ChangeCounts>, Failure> {
    let stop = interrupt.flag();
    let counts =
        transaction.pending_changes(|changes| ChangeCounts::of(changes.stop_when(&stop)))?;
    interrupt.check().map_err(|failure| failure.but(WAIT))?;
    Ok(counts)
}

/// Shows changes. Returns whether there are some.
fn show(changes: Changes<'_>, interrupt: &Interrupt, out: &mut Output) -> object::Result<bool> {
    let mut any = false;
    for row in changes {
        let row = row?;
        any = true;
        if out.is_gone() || interrupt.check().is_err() {
            break;
        }
        match out.is_json() {
            true => {
                let row = row.json();
                out.json_text(&format!("{{\"type\":\"change\",\"change\":{row}}}"));
            }
            false => out.say(row),
        }
    }
    Ok(any)
}

/// The key in conflict: another transaction has changed it, and the one that cannot be committed
/// has read it.
fn changed_key(error: &object::Error) -> Option<Vec<u8>> {
    let object::Error::Kv { source: KvError::Conflict(conflict), .. } = error else { return None };
    let mut conflict: &Conflict = conflict;
    loop {
        match conflict {
            Conflict::ReadWrite(key) | Conflict::ReadAdjust(key) => return Some(key.to_vec()),
            Conflict::ReadRemove { min, .. } => return Some(min.to_vec()),
            Conflict::Within(within) => conflict = within,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use permazen::kv::counting::CountingStore;
    use permazen::kv::memory::MemoryStore;
    use permazen::kv::optimistic::OptimisticDatabase;
    use permazen::object::{Database, TransactionConfig};
    use permazen::schema::{ObjectType, SchemaModel};

    use super::*;
    use crate::prompt::lines::{Lines, Typed};
    use crate::prompt::pending::Shared;
    use crate::session::Session;

    #[test]
    fn ctrl_c_ends_the_count_before_the_question() {
        let model = SchemaModel::new().object_type(ObjectType::new("Book"));
        let config = TransactionConfig::new(model).unwrap();
        let store = CountingStore::new(MemoryStore::new());
        let counter = store.counter();
        let db = Database::new(Arc::new(OptimisticDatabase::new(store)));
        db.begin(&config).unwrap().commit().unwrap();
        let tx = db.begin(&config).unwrap();
        (0..1000).for_each(|_| assert!(tx.create("Book").is_ok()));
        let interrupt = Interrupt::deaf();
        let reads = |is_interrupted| {
            let _working = interrupt.work();
            if is_interrupted {
                interrupt.ctrl_c();
            }
            counter.take();
            let counts = counted(&tx, &interrupt);
            (counts.map_err(|failure| failure.message), counter.take().reads())
        };
        let (counts, whole) = reads(false);
        assert_eq!(shown(&counts.unwrap().unwrap()), "Book: 1000 created");
        let (stopped, reads) = reads(true);
        assert_eq!(stopped.unwrap_err(), "interrupted; the changes still wait for `commit`");
        assert!(reads < 10 && whole >= 1000, "{reads} of {whole}");
    }

    /// An input on which nothing is typed.
    struct Silence;

    impl Lines for Silence {
        fn read(&mut self, _: &str, _: &mut Output) -> Result<Typed, Failure> {
            Ok(Typed::End)
        }

        fn agrees(&mut self, _: &str, _: &mut Output) -> Result<Option<bool>, Failure> {
            Ok(None)
        }
    }

    #[test]
    fn ctrl_c_just_before_the_commit_keeps_the_transaction() {
        let words = ["permazen", "memory:", "--write", "--prompt"].map(std::ffi::OsString::from);
        let args = crate::command_line::parse(&words).unwrap().args;
        let interrupt = Interrupt::deaf();
        let session = Session::open(&args, Arc::default(), interrupt.clone()).unwrap();
        let database = session.optimistic();
        let shared = Shared::new(args.max_age);
        let out = &mut Output::to(Box::new(std::io::sink()), interrupt.clone());
        let lines = &mut Silence;
        let mut work = Work { session: &session, database: &database, shared: &shared, lines, out };
        let pending = &mut *shared.pending();
        pending.transaction = Some(work.open().unwrap());
        let _working = interrupt.work();
        interrupt.ctrl_c();
        let failure = work.commit_pending(pending, &ChangeCounts::default()).unwrap_err();
        assert_eq!(failure.exit, Exit::Interrupted);
        assert!(failure.message.ends_with(WAIT), "{}", failure.message);
        assert!(pending.transaction.is_some());
        drop(interrupt.work());
        let _working = interrupt.work();
        work.commit_pending(pending, &ChangeCounts::default()).unwrap();
        assert!(pending.is_empty());
    }
}
