//! Runs the lines of the prompt.

use std::time::Instant;

use permazen::kv::KvDatabase;
use permazen::object::Transaction;
use permazen::open::StoreKind;

use super::lines::{Lines, Typed};
use super::pending::{Edit, Open, Pending, Shared, Version};
use crate::commands::{Asks, Context, Scope};
use crate::failure::{Answer, Exit, Failure};
use crate::output::{self, Output};
use crate::script::{
    Ids, Piece, PieceKind, Script, Source, option_in_comment, run_migration, run_piece,
};
use crate::session::{Counted, Session};

/// The state of the prompt.
pub(super) struct Work<'w> {
    pub(super) session: &'w Session,
    /// The database with optimistic transactions.
    pub(super) database: &'w Counted,
    pub(super) shared: &'w Shared,
    pub(super) lines: &'w mut dyn Lines,
    pub(super) out: &'w mut Output,
}

/// Whether the prompt continues.
pub(super) enum Then {
    Continue,
    Leave(Answer),
}

impl Work<'_> {
    /// Reads and runs lines.
    pub(super) fn until_the_end(&mut self) -> Result<Answer, Failure> {
        loop {
            let prompt = self.prompt();
            let then = match self.lines.read(&prompt, self.out)? {
                Typed::Text(text) => self.text(text),
                Typed::Dropped => continue,
                Typed::Unreadable(what) => Err(Failure::new(what)),
                Typed::End => self.leave(Answer::Yes),
            };
            match then {
                Ok(Then::Leave(answer)) => return Ok(answer),
                Ok(Then::Continue) => {}
                Err(failure) => {
                    if failure.exit == Exit::Interrupted {
                        self.lines.drop_waiting();
                    }
                    self.out.flush();
                    output::failure(&failure);
                }
            }
            self.out.check()?;
            if self.out.is_gone() {
                return Ok(self.lose_changes(Answer::Yes));
            }
        }
    }

    /// The text before the next line.
    fn prompt(&self) -> String {
        // A Ctrl-C from before is not for this.
        let _working = self.session.interrupt.work();
        let pending = self.shared.pending_now();
        let is_exact = self.session.store().kind() != StoreKind::Sqlite;
        let now = pending.transaction.as_ref().and_then(|_| self.version());
        let prompt = pending.prompt(now.map(|number| Version { number, is_exact }));
        drop(pending);
        self.shared.changed.notify_all();
        prompt
    }

    fn text(&mut self, text: String) -> Result<Then, Failure> {
        if let Some(note) = option_in_comment(&text) {
            output::note(note);
        }
        let script = Script::read(vec![Source { name: None, text }])?;
        for (at, piece) in script.pieces().iter().enumerate() {
            // Ctrl-C may have come too late for the piece before.
            if at > 0 {
                self.session.interrupt.check()?;
            }
            if let Then::Leave(answer) = self.piece(piece, &script)? {
                return Ok(Then::Leave(answer));
            }
        }
        Ok(Then::Continue)
    }

    fn piece(&mut self, piece: &Piece, script: &Script) -> Result<Then, Failure> {
        if let PieceKind::Command(command) = &piece.kind
            && let Some(answer) = command.ends_with()
        {
            return self.leave(answer);
        }
        let session = self.session;
        let _working = session.interrupt.work();
        // The answer of a statement is for the exit code of a script.
        let _: Answer = match piece.scope() {
            Scope::AtPrompt(task) => {
                self.do_task(task)?;
                Answer::Yes
            }
            Scope::OwnTransactions { edits } => {
                self.run_with_own_transactions(piece, script, edits)?
            }
            Scope::Anywhere | Scope::InTransaction { edits: false } => self.read(piece, script)?,
            Scope::InTransaction { edits: true } if piece.is_migration() => {
                self.migrate(piece, script)?
            }
            Scope::InTransaction { edits: true } => self.edit(piece, script)?,
        };
        session.interrupt.check_unless_done()?;
        Ok(Then::Continue)
    }

    /// Runs a piece that has transactions of its own.
    fn run_with_own_transactions(
        &mut self,
        piece: &Piece,
        script: &Script,
        edits: bool,
    ) -> Result<Answer, Failure> {
        // The next one prints a note on what a piece that does not edit sees, so that comes later.
        if !edits {
            self.refuse_if_waiting_for_itself(piece)?;
        }
        self.refuse_if_pending(edits)?;
        let asks = matches!(&piece.kind, PieceKind::Command(command) if command.asks());
        if edits && !asks && !self.is_wanted("this is committed at once; continue? [y/N] ")? {
            return Ok(Answer::No);
        }
        let (session, ids) = (self.session, &mut Ids::default());
        let (lines, out) = (&mut *self.lines, &mut *self.out);
        let asks: &mut Asks<'_> =
            &mut |question, out| Ok(lines.agrees(question, out)? == Some(true));
        let context = &mut Context { session, out, transaction: None, ids, asks: Some(asks) };
        run_piece(piece, script, context)
    }

    /// Refuses a piece that edits outside of the open transaction. For one that reads, notes which
    /// state it sees.
    fn refuse_if_pending(&self, edits: bool) -> Result<(), Failure> {
        let pending = self.shared.pending_now();
        match (pending.is_empty(), edits) {
            (true, _) => Ok(()),
            (false, true) => Err(Failure::new(
                "this has transactions of its own, and one is open here: `commit` it or `rollback` \
                 before",
            )),
            (false, false) => {
                output::note(SEES_COMMITTED);
                Ok(())
            }
        }
    }

    /// Refuses a piece that waits until no transaction writes to the server, while the one that is
    /// open here does: it would wait for itself. Only PostgreSQL has something to wait for. Of the
    /// servers that are used like it, CockroachDB and YugabyteDB have not; their stores do not say
    /// that they are serializable.
    fn refuse_if_waiting_for_itself(&self, piece: &Piece) -> Result<(), Failure> {
        let waits =
            matches!(&piece.kind, PieceKind::Command(command) if command.reads_with_certainty());
        let store = self.session.store();
        let is_on_postgres =
            store.kind() == StoreKind::Postgres && store.capabilities().serializable;
        if !waits || !is_on_postgres || self.shared.pending_now().transaction.is_none() {
            return Ok(());
        }
        Err(Failure::new(
            "this waits until transactions that write to the server have ended, and one is open \
             here: `commit` it or `rollback` before",
        ))
    }

    /// Runs a piece that only reads: in the transaction that is open, or in one of its own.
    fn read(&mut self, piece: &Piece, script: &Script) -> Result<Answer, Failure> {
        let (shared, session) = (self.shared, self.session);
        let pending = shared.pending_now();
        let ids = &mut Ids::default();
        let Some(open) = &pending.transaction else {
            if pending.must_be_replayed() && piece.scope().reads() {
                output::note(SEES_COMMITTED);
            }
            let (transaction, out) = (&session.begin_reading()?, &mut *self.out);
            let transaction = Some(transaction);
            let context = &mut Context { session, out, transaction, ids, asks: None };
            return run_piece(piece, script, context);
        };
        // The file stays, whatever becomes of the changes.
        if piece.writes_file() && !pending.edits.is_empty() {
            output::note(WRITES_WAITING);
        }
        let mut run = |transaction: &Transaction| {
            let (transaction, out) = (Some(transaction), &mut *self.out);
            run_piece(piece, script, &mut Context { session, out, transaction, ids, asks: None })
        };
        // To show a plan changes nothing, so it cannot be in conflict with other transactions.
        match piece.is_explanation() {
            true => open.transaction.untracked(run),
            false => run(&open.transaction),
        }
    }

    /// Runs a piece that edits, in the transaction that is open, or in a new one. If it fails, it
    /// has changed nothing.
    pub(super) fn edit(&mut self, piece: &Piece, script: &Script) -> Result<Answer, Failure> {
        let (shared, session) = (self.shared, self.session);
        let pending = &mut *shared.pending_now();
        if pending.must_be_replayed() {
            return Err(must_be_replayed());
        }
        let is_first = pending.transaction.is_none();
        let Pending { transaction, ids, edits, .. } = &mut *pending;
        let open = match transaction {
            Some(open) => open,
            None => transaction.insert(self.open()?),
        };
        let before = ids.changed();
        let (transaction, out) = (Some(&open.transaction), &mut *self.out);
        let context = &mut Context { session, out, transaction, ids, asks: None };
        let done = run_piece(piece, script, context);
        match &done {
            Ok(_) => {
                // If Ctrl-C has come, that was too late.
                session.interrupt.is_done();
                let text = script.text(piece).to_owned();
                edits.push(Edit { text, has_changed: ids.changed() > before });
            }
            Err(_) if is_first => pending.clear(),
            Err(_) => {}
        }
        done
    }

    /// Asks before changes that are committed at once.
    ///
    /// # Errors
    /// Also if changes are not allowed.
    fn is_wanted(&mut self, question: &str) -> Result<bool, Failure> {
        let options = &self.session.options;
        if options.dry_run {
            return Ok(true);
        }
        if !options.write {
            return Err(Failure::new("this changes the database, which needs --write"));
        }
        Ok(options.yes || self.lines.agrees(question, self.out)? == Some(true))
    }

    /// Moves objects to another schema, in batches that are committed at once.
    fn migrate(&mut self, piece: &Piece, script: &Script) -> Result<Answer, Failure> {
        self.refuse_if_pending(true)?;
        let question =
            "objects are moved in batches, which are committed at once; move them? [y/N] ";
        if !self.is_wanted(question)? {
            return Ok(Answer::No);
        }
        run_migration(piece, script, self.session, self.out)
    }

    /// Begins a transaction.
    pub(super) fn open(&self) -> Result<Open, Failure> {
        let before = self.version();
        let transaction = self.session.begin_optimistic(self.database)?;
        // If other transactions were committed meanwhile, it is not known which state it sees.
        let version = before.filter(|_| before == self.version());
        Ok(Open { transaction, begun: Instant::now(), version })
    }

    /// The number of the last committed state, if the store counts them.
    fn version(&self) -> Option<u64> {
        self.session.begin_reading_pairs().ok()?.version()
    }

    /// Leaves, unless there are changes and the person wants to keep them.
    fn leave(&mut self, answer: Answer) -> Result<Then, Failure> {
        if self.shared.pending().edits.is_empty() {
            return Ok(Then::Leave(answer));
        }
        let question = "there are changes that are not committed; leave and lose them? [y/N] ";
        match self.lines.agrees(question, self.out)? {
            Some(false) => Ok(Then::Continue),
            Some(true) => Ok(Then::Leave(answer)),
            // The input has ended, so there is no answer.
            None => Ok(Then::Leave(self.lose_changes(answer))),
        }
    }

    /// The answer with which the prompt ends if no person can be asked about the changes that wait.
    fn lose_changes(&self, answer: Answer) -> Answer {
        if self.shared.pending().edits.is_empty() {
            return answer;
        }
        output::note("the changes that were not committed are lost");
        let code = Answer::Leave(Failure::new("").exit.code());
        if answer == Answer::Yes { code } else { answer }
    }
}

const SEES_COMMITTED: &str = "this sees what is committed, not the changes that wait for `commit`";

const WRITES_WAITING: &str =
    "this writes the changes that wait for `commit` too, and `rollback` leaves the file as it is";

/// Why nothing can be changed or committed.
pub(super) fn must_be_replayed() -> Failure {
    Failure::new(
        "the transaction of these changes was given up: `replay` runs its statements again on what is \
         committed now, `rollback` forgets them",
    )
}
