//! Running a script: as one transaction, or each piece as one of its own.

use std::time::Instant;

use permazen::object::Transaction;

use super::{Ids, Piece, PieceKind, Script};
use crate::commands::{Context, ONLY_AT_THE_PROMPT, Scope};
use crate::failure::{Answer, Exit, Failure};
use crate::output::{self, Output};
use crate::session::{ONLY_TRIED, Session};
use crate::statement;

/// The message if the output cannot be written after the commit.
const COMMITTED: &str = "what the script changes is committed";

/// The message if the reader of the output goes away before all changes are committed.
const NOT_READ: &str = "the output is not read any more";

/// The message if the reader of the output goes away before something that has other effects.
const LEFT_OUT: &str =
    "the output is not read any more, so changes or files that come after it were not made";

/// Runs a script. `each`: each piece is a transaction of its own.
///
/// # Errors
/// The first failure. Then nothing is changed; with `each`, not by the piece that failed nor by
/// those after it.
pub(crate) fn run(
    script: &Script,
    each: bool,
    session: &Session,
    out: &mut Output,
) -> Result<Answer, Failure> {
    allow(script, each, session)?;
    if script.pieces().iter().any(|piece| piece.scope().edits()) {
        out.never_page();
    }
    let answer = match script.pieces() {
        // As the only statement, it need not be one transaction.
        [piece] if piece.is_migration() => run_migration(piece, script, session, out)?,
        _ if each => run_each(script, session, out)?,
        _ => run_whole(script, session, out)?,
    };
    if session.options.dry_run && script.pieces().iter().any(|piece| piece.scope().edits()) {
        output::note(ONLY_TRIED);
    }
    Ok(answer)
}

/// Refuses pieces that may not run, before anything is read.
fn allow(script: &Script, each: bool, session: &Session) -> Result<(), Failure> {
    let refuse = |piece: &Piece, what: &str| {
        let end = script.text(piece).chars().next().map_or(0, char::len_utf8);
        let span = permazen_query::syntax::Span::new(0, end);
        Err(script.mistake(piece, permazen_query::Mistake::new(span, what)))
    };
    if let Some(piece) = script.pieces().iter().find(|piece| piece.scope().edits())
        && !session.options.write
        && !session.options.dry_run
    {
        return refuse(piece, "this changes the database, which needs --write");
    }
    let for_prompt = |piece: &&Piece| matches!(piece.scope(), Scope::AtPrompt(_));
    if let Some(piece) = script.pieces().iter().find(for_prompt) {
        return refuse(piece, ONLY_AT_THE_PROMPT);
    }
    let is_edit = |piece: &Piece| piece.scope() == Scope::InTransaction { edits: true };
    let first_edit = script.pieces().iter().position(is_edit);
    let edits = first_edit.is_some();
    if let Some(piece) = script.pieces().iter().find(|piece| piece.scope().has_own_transactions())
        && edits
        && !each
    {
        let what = "this has transactions of its own, so it cannot be in one with the changes of this \
                    script; use --each";
        return refuse(piece, what);
    }
    // Before the first edit, what is written is what is committed.
    let after_edit = first_edit.and_then(|at| script.pieces().get(at..)).unwrap_or_default();
    if let Some(piece) = after_edit.iter().find(|piece| piece.writes_file())
        && !each
        && !session.options.dry_run
    {
        let what = "this writes a file, which would stay if the changes before it were rolled back; \
                    use --each, or put it before them";
        return refuse(piece, what);
    }
    let mut own = script
        .pieces()
        .iter()
        .filter(|piece| piece.scope() == Scope::OwnTransactions { edits: true });
    if let (Some(_), Some(piece), false) = (own.next(), own.next(), each) {
        let what = "this has transactions of its own, and so has what changes something before it; \
                    use --each";
        return refuse(piece, what);
    }
    Ok(())
}

/// Runs a statement that moves objects to another schema, batch by batch.
pub(crate) fn run_migration(
    piece: &Piece,
    script: &Script,
    session: &Session,
    out: &mut Output,
) -> Result<Answer, Failure> {
    let PieceKind::Statement(statement) = &piece.kind else { return Ok(Answer::Yes) };
    let _working = session.interrupt.work();
    let locate = |mistake| script.mistake(piece, mistake);
    statement::migrate(statement, &locate, session, out)
}

/// Runs a script as one transaction.
fn run_whole(script: &Script, session: &Session, out: &mut Output) -> Result<Answer, Failure> {
    let edits =
        script.pieces().iter().any(|piece| piece.scope() == Scope::InTransaction { edits: true });
    let mut committed = 0;
    match run_one(script.pieces(), edits, &mut committed, script, session, out) {
        Err(failure) if edits => Err(but_nothing(failure)),
        Err(failure) if committed > 0 => Err(but_committed(failure, committed)),
        Ok(answer) if committed > 0 => {
            out.check().map_err(|failure| failure.but(COMMITTED))?;
            Ok(answer)
        }
        done => done,
    }
}

/// Runs each piece as a transaction of its own.
fn run_each(script: &Script, session: &Session, out: &mut Output) -> Result<Answer, Failure> {
    let mut answer = Answer::Yes;
    let mut committed = 0_u64;
    for (at, piece) in script.pieces().iter().enumerate() {
        let edits = piece.scope() == Scope::InTransaction { edits: true };
        let pieces = std::slice::from_ref(piece);
        let result = run_one(pieces, edits, &mut committed, script, session, out);
        let result = result
            .and_then(|answer| session.interrupt.check_unless_done().map(|()| answer))
            .and_then(|answer| out.check().map(|()| answer));
        match result {
            Ok(given) => answer = answer.max(given),
            Err(failure) if committed > 0 => return Err(but_committed(failure, committed)),
            Err(failure) if edits => return Err(but_nothing(failure)),
            Err(failure) => return Err(failure),
        }
        if out.is_gone() {
            let ended = may_end(script.pieces().get(at + 1..).unwrap_or_default(), session);
            ended.map_err(|failure| match committed {
                0 => but_nothing(failure),
                committed => but_committed(failure, committed),
            })?;
            break;
        }
    }
    Ok(answer)
}

/// Lets a script end early because its output is not read any more. Fails if `rest`, which is not
/// run then, would change something or write a file.
fn may_end(rest: &[Piece], session: &Session) -> Result<(), Failure> {
    let has_effect = |piece: &Piece| piece.scope().edits() || piece.writes_file();
    match !session.options.dry_run && rest.iter().any(has_effect) {
        true => Err(Failure::new(LEFT_OUT)),
        false => Ok(()),
    }
}

/// Runs pieces as one transaction. Their output is held back until the transaction is committed,
/// and forgotten if it fails. They are run again if other programs were in the way, as long as
/// nothing is printed.
fn run_one(
    pieces: &[Piece],
    edits: bool,
    committed: &mut u64,
    script: &Script,
    session: &Session,
    out: &mut Output,
) -> Result<Answer, Failure> {
    let (begun, printed, before) = (Instant::now(), out.bytes(), *committed);
    let mut ids = Ids::default();
    loop {
        // After a Ctrl-C that came too late for the pieces before, this does not run.
        session.interrupt.check()?;
        ids.begin_again();
        if edits {
            out.hold();
        }
        match attempt(pieces, edits, &mut ids, committed, script, session, out) {
            Ok(answer) => {
                out.release();
                return Ok(answer);
            }
            Err(failure)
                if *committed == before
                    && out.bytes() == printed
                    && session.is_run_again(&failure, begun) =>
            {
                out.forget();
            }
            Err(failure) => {
                out.take_back();
                return Err(failure);
            }
        }
    }
}

/// Adds that something before it is committed.
fn but_committed(failure: Failure, committed: u64) -> Failure {
    failure.but(&format!(
        "what was changed before it is committed: {committed} statements or commands"
    ))
}

/// Adds that nothing is changed, although the output may report changes.
fn but_nothing(failure: Failure) -> Failure {
    match failure.exit {
        Exit::Unknown => failure,
        _ => failure.but("nothing is changed"),
    }
}

/// Runs pieces in one transaction, and commits it if they edit. Adds to `committed` how many have
/// changed something that is committed.
fn attempt(
    pieces: &[Piece],
    edits: bool,
    ids: &mut Ids,
    committed: &mut u64,
    script: &Script,
    session: &Session,
    out: &mut Output,
) -> Result<Answer, Failure> {
    let _working = session.interrupt.work();
    let mut answer = Answer::Yes;
    let mut transaction: Option<Transaction> = None;
    for (at, piece) in pieces.iter().enumerate() {
        session.interrupt.check()?;
        if piece.scope().has_own_transactions() {
            // The piece sees the committed state, and may change it; the pieces after it see its
            // changes.
            transaction = None;
        } else if transaction.is_none() {
            transaction = Some(if edits { session.begin()? } else { session.begin_reading()? });
        }
        let transaction = transaction.as_ref();
        let context = &mut Context { session, out, transaction, ids, asks: None };
        let ran = run_piece(piece, script, context);
        answer = answer.max(ran.map_err(|failure| script.with_position(piece, failure))?);
        if piece.scope() == (Scope::OwnTransactions { edits: true }) && !session.options.dry_run {
            *committed += 1;
        }
        if out.is_gone() {
            // With edits in the transaction, that is a failure in any case: see below.
            if !edits {
                let ended = may_end(pieces.get(at + 1..).unwrap_or_default(), session);
                // If something is committed, that is added where the script ends.
                ended.map_err(|failure| match *committed {
                    0 => but_nothing(failure),
                    _ => failure,
                })?;
            }
            break;
        }
        if edits {
            out.keep_pace();
        }
    }
    if !edits || session.options.dry_run {
        return Ok(answer);
    }
    // The output of changes that are not committed yet must have been written.
    out.check()?;
    if out.is_gone() {
        return Err(Failure::new(NOT_READ));
    }
    match transaction {
        Some(transaction) => {
            session.commit(transaction)?;
            *committed += 1;
            Ok(answer)
        }
        None => Ok(answer),
    }
}

/// Runs a piece in a transaction. A piece with transactions of its own needs no `transaction`.
pub(crate) fn run_piece(
    piece: &Piece,
    script: &Script,
    context: &mut Context<'_>,
) -> Result<Answer, Failure> {
    let session = context.session;
    let result = match &piece.kind {
        PieceKind::Statement(statement) => {
            let locate = |mistake| script.mistake(piece, mistake);
            match context.transaction {
                Some(transaction) => {
                    let (ids, out) = (&mut *context.ids, &mut *context.out);
                    statement::run(transaction, statement, &locate, ids, session, out)
                }
                None => Err(Failure::new("there is no transaction")),
            }
        }
        PieceKind::Command(command) => command.run(context),
        PieceKind::Help(text) => {
            text.lines().for_each(|line| context.out.say(line));
            Ok(Answer::Yes)
        }
    };
    // If Ctrl-C has come, it is the reason, whichever error was met.
    match result {
        Err(failure) if session.interrupt.check().is_err() && failure.exit != Exit::Unknown => {
            Err(Failure::interrupted())
        }
        result => result,
    }
}
