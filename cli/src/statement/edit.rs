//! Statements that change objects.

use permazen::object::Transaction;
use permazen_query::{Checked, Edited, QueryError};

use crate::failure::{Answer, Failure};
use crate::output::{self, Format, Output};
use crate::script::Ids;
use crate::session::Session;

/// Runs a statement that changes objects, and reports the changes. If it fails or is stopped, it
/// has changed nothing.
pub(super) fn edit(
    transaction: &Transaction,
    checked: &Checked,
    format: Format,
    failed: &dyn Fn(QueryError) -> Failure,
    ids: &mut Ids,
    session: &Session,
    out: &mut Output,
) -> Result<Answer, Failure> {
    let edited =
        permazen_query::edit(transaction, checked, &session.limits(), &mut ids.of_statements);
    let edited = edited.map_err(failed)?;
    if edited.stopped {
        return Err(Failure::interrupted());
    }
    let Edited { created, set, deleted, moved, .. } = &edited;
    ids.has_changed(created.len() as u64 + set + deleted + moved);
    show(&edited, format, out);
    if matches!(format, Format::Table | Format::Lines) {
        edited.losses.iter().for_each(|loss| out.say(format_args!("  {loss}")));
        let more = edited.lossy.saturating_sub(edited.losses.len() as u64);
        if more > 0 {
            out.say(format_args!("  and {more} more"));
        }
    }
    if let Some(why) = &edited.scanned_without_index {
        output::note(why);
    }
    Ok(Answer::Yes)
}

/// Formats that have only values show the IDs of new objects; XML has nothing to show.
fn show(edited: &Edited, format: Format, out: &mut Output) {
    match format {
        Format::Table | Format::Lines => out.say(edited),
        Format::Json => {
            let json = edited.json();
            out.json_text(&format!("{{\"type\":\"edited\",\"edited\":{json}}}"));
        }
        Format::Csv | Format::Raw => edited.created.iter().for_each(|id| out.say(id)),
        Format::Xml => {}
    }
}
