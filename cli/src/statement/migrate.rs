//! `migrate OBJECTS to SCHEMA` as the only statement: batch by batch.

use std::cell::Cell;
use std::ops::ControlFlow;

use permazen::object::{Error, NotMoved};
use permazen_query::syntax::Statement;
use permazen_query::{Mistake, QueryError};
use serde_json::json;

use crate::failure::{Answer, Exit, Failure, HOW_TO_LOSE};
use crate::output::{self, Output, Progress};
use crate::session::Session;

/// Adds to the failure how many objects were moved before it.
fn but_moved(failure: Failure, moved: u64, session: &Session) -> Failure {
    let nothing = moved == 0 && failure.exit != Exit::Interrupted;
    if session.options.dry_run || nothing {
        return failure;
    }
    failure.but(&the_rest_continues(moved))
}

/// Moves objects in batches, each in a transaction of its own. Objects that were moved stay so,
/// whatever happens to the rest; the same statement continues with the rest.
pub(crate) fn migrate(
    statement: &Statement,
    locate: &dyn Fn(Mistake) -> Failure,
    session: &Session,
    out: &mut Output,
) -> Result<Answer, Failure> {
    let progress = Progress::of("objects");
    let (moved, mut in_the_way) = (Cell::new(0), None);
    let mut run = {
        let transaction = session.begin_reading()?;
        let catalog = session.catalog(&transaction);
        let parameters = session.parameters(&transaction)?;
        let checked = permazen_query::check(statement, &catalog, &parameters).map_err(locate)?;
        let limits = session.limits();
        let plan = permazen_query::plan(&transaction, &checked);
        if let Some(why) = plan.iter().find_map(|plan| plan.scanned_without_index()) {
            output::note(why);
        }
        let run = permazen_query::migration(session.database(), &transaction, &checked, &limits);
        run.map_err(|error| match error {
            QueryError::Mistake(mistake) => locate(mistake),
            error => error.into(),
        })?
    };
    session.interrupt.check()?;
    session.wait_for_others()?;
    run = run
        .kv_options(permazen::kv::TxOptions::writing().with_wait(session.options.wait))
        .progress(|now| {
            progress.at(now.moved + now.refused);
            moved.set(now.moved);
            match session.wait_for_others() {
                Ok(()) => ControlFlow::Continue(()),
                Err(failure) => {
                    in_the_way = Some(failure);
                    ControlFlow::Break(())
                }
            }
        });
    if session.options.dry_run {
        run = run.dry_run();
    }
    let ran = run.run();
    drop(progress);
    let report = match (ran, in_the_way) {
        (Ok(report), None) => report,
        (_, Some(failure)) => return Err(but_moved(failure, moved.get(), session)),
        (Err(error), None) => return Err(but_moved(error.into(), moved.get(), session)),
    };
    let reasons: Vec<String> = report.refusals.iter().map(ToString::to_string).collect();
    let losses: Vec<String> =
        report.losses.iter().map(|lost| permazen_query::lost(lost.id, &lost.losses)).collect();
    if out.is_json() {
        let refusals = report
            .refusals
            .iter()
            .zip(&reasons)
            .map(|(refused, reason)| json!({ "id": refused.id.to_string(), "reason": reason }));
        out.json(&json!({
            "type": "migrated",
            "moved": report.moved,
            "refused": report.refused,
            "refusals": refusals.collect::<Vec<_>>(),
            "lossy": report.lossy,
            "losses": losses,
        }))?;
    } else {
        out.say(format_args!("Moved {} object(s)", report.moved));
        let mut list = |what: &str, count: u64, lines: &[String]| {
            if count > 0 {
                out.say(format_args!("{count} {what}:"));
                lines.iter().for_each(|line| out.say(format_args!("  {line}")));
                let more = count.saturating_sub(lines.len() as u64);
                if more > 0 {
                    out.say(format_args!("  and {more} more"));
                }
            }
        };
        list("object(s) of these have lost something", report.lossy, &losses);
        list("object(s) stay where they are", report.refused, &reasons);
    }
    let would_lose = |refused: &NotMoved<Error>| matches!(refused.error, Error::MoveRefused(_));
    if report.refusals.iter().any(would_lose) {
        output::note(HOW_TO_LOSE);
    }
    Ok(Answer::yes_if(report.refused == 0))
}

/// The message about a run that did not come to its end.
fn the_rest_continues(moved: u64) -> String {
    format!("{moved} object(s) are moved, and the same statement continues with the others")
}
