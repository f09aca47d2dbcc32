//! Running one statement of the language in a transaction, and showing its result.

mod choose_format;
mod edit;
mod explain;
mod migrate;
mod schemas;
mod xml;

use permazen::object::Transaction;
use permazen_query::syntax::{Statement, StatementKind};
use permazen_query::{Mistake, QueryError, Rows};

pub(crate) use migrate::migrate;

use choose_format::choose_format;

use crate::failure::{Answer, Failure};
use crate::output::{self, Format, Output};
use crate::script::Ids;
use crate::session::Session;

/// Runs a statement in a transaction. If it fails or is stopped by Ctrl-C, it has changed nothing,
/// and the transaction can continue. `locate` says where a mistake is. `ids` are those of new
/// objects: they stay the same if the statements of a transaction are run again.
pub(crate) fn run(
    transaction: &Transaction,
    statement: &Statement,
    locate: &dyn Fn(Mistake) -> Failure,
    ids: &mut Ids,
    session: &Session,
    out: &mut Output,
) -> Result<Answer, Failure> {
    let format = choose_format(statement, out.format())?;
    let catalog = session.catalog(transaction);
    let parameters = session.parameters(transaction)?;
    let checked = permazen_query::check(statement, &catalog, &parameters)
        .map_err(|mistake| but_damaged(locate(mistake), session))?;
    let failed = |error| match error {
        QueryError::Mistake(mistake) => locate(mistake),
        QueryError::NotTaken(refused) => locate(Mistake::new(refused.span, refused.to_string())),
        error => error.into(),
    };
    if let Some((explained, run)) = checked.explained() {
        return explain::explain(transaction, explained, run, &failed, session, out);
    }
    if checked.is_edit() {
        return edit::edit(transaction, &checked, format, &failed, ids, session, out);
    }
    let ran = match format {
        Format::Xml => xml::write(transaction, statement, &checked, session, out)?,
        format => {
            let limits = session.limits();
            let is_export = matches!(statement.kind, StatementKind::Export(_));
            out.paged(|out| {
                if is_export && format == Format::Json {
                    schemas::write(transaction, out)?;
                }
                let run =
                    |rows: &mut dyn Rows| permazen_query::run(transaction, &checked, &limits, rows);
                Ok::<_, Failure>(out.rows(format, run))
            })?
        }
    };
    let ran = ran.map_err(failed)?;
    session.interrupt.check()?;
    out.check()?;
    if let Some(why) = &ran.scanned_without_index {
        output::note(why);
    }
    if ran.damaged > 0 {
        output::note(format_args!(
            "damaged values: {}; `check` says what is wrong and can be repaired",
            ran.damaged
        ));
    }
    let none = ran.rows == 0 && matches!(statement.kind, StatementKind::Show(_));
    if none && !out.is_gone() {
        output::note("there is no such object");
    }
    Ok(session.perhaps_lacking(Answer::yes_if(!none && ran.damaged == 0)))
}

/// Adds that a name may be in a schema that cannot be read.
fn but_damaged(failure: Failure, session: &Session) -> Failure {
    let schemas = session.damaged_schemas();
    if schemas.is_empty() {
        return failure;
    }
    let numbers: Vec<_> = schemas.iter().map(ToString::to_string).collect();
    failure.but(&format!("names of damaged schemas are not known ({})", numbers.join(", ")))
}
