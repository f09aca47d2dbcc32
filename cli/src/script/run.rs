//! Running a script: as one transaction, or each piece as one of its own.

use std::time::Instant;

use permazen::object::Transaction;
use permazen_query::NewIds;

use super::{Piece, PieceKind, Script};
use crate::commands::prompt::ONLY_AT_THE_PROMPT;
use crate::commands::{Context, Place, migrate};
use crate::failure::{Answer, Exit, Failure};
use crate::output::{self, Output};
use crate::session::Session;
use crate::{ONLY_TRIED, statement};

/// Runs a script. `each`: each piece is a transaction of its own.
///
/// # Errors
/// The first failure. Then nothing is changed; with `each`, not by the piece that failed nor by those
/// after it.
pub(crate) fn run(
    script: &Script,
    each: bool,
    session: &Session,
    out: &mut Output,
) -> Result<Answer, Failure> {
    allow(script, each, session)?;
    let answer = match script.pieces() {
        // Alone, it need not be one transaction.
        [piece] if migrate::is_migration(script.text(piece)) => {
            run_migration(piece, script, session, out)?
        }
        _ if each => run_each(script, session, out)?,
        _ => run_whole(script, session, out)?,
    };
    if session.options.dry_run && script.pieces().iter().any(|piece| piece.place().edits()) {
        output::note(ONLY_TRIED);
    }
    Ok(answer)
}

/// Refuses what may not run, before anything is read.
fn allow(script: &Script, each: bool, session: &Session) -> Result<(), Failure> {
    let refuse = |piece: &Piece, what: &str| {
        let end = script.text(piece).chars().next().map_or(0, char::len_utf8);
        let span = permazen_query::syntax::Span::new(0, end);
        Err(script.mistake(piece, permazen_query::Mistake::new(span, what)))
    };
    if let Some(piece) = script.pieces().iter().find(|piece| piece.place().edits())
        && !session.options.write
        && !session.options.dry_run
    {
        return refuse(piece, "this changes the database, which needs --write");
    }
    let for_prompt = |piece: &&Piece| matches!(&piece.kind, PieceKind::Command(command) if command.is_for_prompt());
    if let Some(piece) = script.pieces().iter().find(for_prompt) {
        return refuse(piece, ONLY_AT_THE_PROMPT);
    }
    let edits = script.pieces().iter().any(|piece| piece.place() == Place::Inside { edits: true });
    if let Some(piece) = script.pieces().iter().find(|piece| piece.place().is_alone())
        && edits
        && !each
    {
        let what = "this has transactions of its own, so it cannot be in one with the changes of this \
                    script; use --each";
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
    let _working = session.interrupt.work();
    let locate = |mistake| script.mistake(piece, mistake);
    migrate::in_batches(script.text(piece), &locate, session, out)
}

/// Runs a script as one transaction. Runs it again if others were in the way, as long as nothing was
/// printed.
fn run_whole(script: &Script, session: &Session, out: &mut Output) -> Result<Answer, Failure> {
    let (begun, before) = (Instant::now(), out.bytes());
    let edits = script.pieces().iter().any(|piece| piece.place() == Place::Inside { edits: true });
    let mut ids = NewIds::new();
    loop {
        ids.begin_again();
        match attempt(script.pieces(), edits, &mut ids, script, session, out) {
            Err(failure)
                if failure.is_retryable
                    && out.bytes() == before
                    && begun.elapsed() < session.options.wait => {}
            Err(failure) if edits && failure.exit != Exit::Unknown => {
                return Err(failure.but("nothing is changed"));
            }
            done => return done,
        }
    }
}

/// Runs each piece as a transaction of its own.
fn run_each(script: &Script, session: &Session, out: &mut Output) -> Result<Answer, Failure> {
    let mut answer = Answer::Yes;
    let mut committed = 0_u64;
    for piece in script.pieces() {
        let edits = piece.place() == Place::Inside { edits: true };
        let before = out.bytes();
        let begun = Instant::now();
        let mut ids = NewIds::new();
        let result = loop {
            ids.begin_again();
            match attempt(std::slice::from_ref(piece), edits, &mut ids, script, session, out) {
                Err(failure)
                    if failure.is_retryable
                        && out.bytes() == before
                        && begun.elapsed() < session.options.wait => {}
                result => break result,
            }
        };
        let result = result.and_then(|answer| session.interrupt.check().map(|()| answer));
        match result {
            Ok(given) => answer = answer.max(given),
            Err(failure) if committed > 0 && !session.options.dry_run => {
                return Err(failure.but(&format!(
                    "what was changed before it is committed: {committed} statements or commands"
                )));
            }
            Err(failure) => return Err(failure),
        }
        committed += u64::from(piece.place().edits());
        if out.is_gone() {
            break;
        }
    }
    Ok(answer)
}

/// Runs pieces in one transaction, and commits it if they edit.
fn attempt(
    pieces: &[Piece],
    edits: bool,
    ids: &mut NewIds,
    script: &Script,
    session: &Session,
    out: &mut Output,
) -> Result<Answer, Failure> {
    let _working = session.interrupt.work();
    let mut answer = Answer::Yes;
    let mut transaction: Option<Transaction<'_>> = None;
    for piece in pieces {
        session.interrupt.check()?;
        if piece.place().is_alone() {
            // It sees, and may change, what is committed; what comes after it sees that.
            transaction = None;
        } else if transaction.is_none() {
            transaction = Some(if edits { session.begin()? } else { session.begin_reading()? });
        }
        answer = answer.max(run_piece(piece, transaction.as_ref(), ids, script, session, out)?);
        if out.is_gone() {
            break;
        }
    }
    if !edits || session.options.dry_run {
        return Ok(answer);
    }
    // What was printed must have been taken before it becomes true.
    out.check()?;
    if out.is_gone() {
        return Err(Failure::new("nobody reads the output any more"));
    }
    match transaction {
        Some(transaction) => session.commit(transaction).map(|()| answer),
        None => Ok(answer),
    }
}

/// Runs a piece in a transaction; one that is alone needs none.
pub(crate) fn run_piece(
    piece: &Piece,
    transaction: Option<&Transaction<'_>>,
    ids: &mut NewIds,
    script: &Script,
    session: &Session,
    out: &mut Output,
) -> Result<Answer, Failure> {
    let result = match &piece.kind {
        PieceKind::Statement { .. } => {
            let text = script.text(piece);
            let locate = |mistake| script.mistake(piece, mistake);
            match transaction {
                Some(transaction) => statement::run(transaction, text, &locate, ids, session, out),
                None => Err(Failure::new("there is no transaction")),
            }
        }
        PieceKind::Command(command) => command.run(&mut Context { session, out, transaction }),
        PieceKind::Help(text) => {
            text.lines().for_each(|line| out.say(line));
            Ok(Answer::Yes)
        }
    };
    // Whatever was met when Ctrl-C came: that is why.
    match result {
        Err(failure) if session.interrupt.check().is_err() && failure.exit != Exit::Unknown => {
            Err(Failure::interrupted())
        }
        result => result,
    }
}
