//! Running one statement of the language in a transaction, and showing what comes of it.

use permazen::object::Transaction;
use permazen_query::syntax::{Statement, StatementKind};
use permazen_query::{Checked, Limits, Mistake, QueryError, Ran};

use crate::failure::{Answer, Failure};
use crate::output::{self, Format, Output};
use crate::session::Session;

/// Runs the statement `text` in a transaction. If it fails or is stopped by Ctrl-C, it has changed
/// nothing, and the transaction can go on. `locate` says where a mistake is.
pub(crate) fn run(
    transaction: &Transaction<'_>,
    text: &str,
    locate: &dyn Fn(Mistake) -> Failure,
    session: &Session,
    out: &mut Output,
) -> Result<Answer, Failure> {
    let statement = permazen_query::parse(text).map_err(locate)?;
    let format = format(&statement, out.format())?;
    let catalog = session.catalog(transaction);
    let parameters = session.parameters(transaction)?;
    let checked = permazen_query::check(&statement, &catalog, &parameters).map_err(locate)?;
    let failed = |error| match error {
        QueryError::Mistake(mistake) => locate(mistake),
        error => error.into(),
    };
    if let Some((explained, _)) = checked.explained() {
        let plan = permazen_query::plan(transaction, explained).map_err(failed)?;
        if out.is_json() {
            out.json_text(&format!("{{\"type\":\"plan\",\"plan\":{}}}", plan.json()));
        } else {
            out.paged(|out| plan.to_string().lines().for_each(|line| out.say(line)));
        }
        return Ok(Answer::Yes);
    }
    if checked.is_edit() {
        return Err(Failure::new("edits are not there yet"));
    }
    let ran = match format {
        Format::Xml => xml(transaction, &statement, &checked, session, out)?,
        format => out
            .rows(format, |rows| permazen_query::run(transaction, &checked, &limits(session), rows))
            .map_err(failed)?,
    };
    session.interrupt.check()?;
    out.check()?;
    if let Some(index) = &ran.scanned_without_index {
        output::note(format_args!("all objects were read, for lack of an index: {index}"));
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
    Ok(Answer::yes_if(!none && ran.damaged == 0))
}

/// What a statement may use.
fn limits(session: &Session) -> Limits {
    let mut limits = Limits::default();
    limits.stop = Some(session.interrupt.flag());
    limits
}

/// In which format the results of a statement are shown.
fn format(statement: &Statement, chosen: Option<Format>) -> Result<Format, Failure> {
    let kind = &statement.kind;
    let is_objects = matches!(kind, StatementKind::Show(_) | StatementKind::Export(_));
    let format = chosen.unwrap_or(match kind {
        StatementKind::Show(_) => Format::Lines,
        StatementKind::Export(_) => Format::Json,
        _ => Format::Table,
    });
    match format {
        Format::Csv | Format::Raw if is_objects => Err(Failure::new(format!(
            "{}: objects of `show` and `export` have no columns; use `find`",
            format.option()
        ))),
        Format::Xml => match kind {
            StatementKind::Find(find) if find.columns.is_empty() => Ok(format),
            StatementKind::Find(_) | StatementKind::Count(_) | StatementKind::Index(_) => {
                Err(Failure::new(format!(
                    "{}: only whole objects can be written as XML; use `find` without `columns`",
                    format.option()
                )))
            }
            _ => Ok(format),
        },
        format => Ok(format),
    }
}

/// Writes the objects of a statement as Permazen's XML. What is exported can be loaded elsewhere, so it
/// has the schemas.
fn xml(
    transaction: &Transaction<'_>,
    statement: &Statement,
    checked: &Checked,
    session: &Session,
    out: &mut Output,
) -> Result<Ran, Failure> {
    use permazen::object_xml::{ObjectXmlError, ObjectXmlWriter};
    let ids = permazen_query::matches(transaction, checked, &limits(session))?;
    session.interrupt.check()?;
    let stop = session.interrupt.flag();
    let ids = ids.into_iter().take_while(|_| !stop.load(std::sync::atomic::Ordering::Relaxed));
    let written = out.paged(|out| {
        let mut writer = ObjectXmlWriter::new().with_storage_ids();
        if !matches!(statement.kind, StatementKind::Export(_)) {
            writer = writer.schemas([]);
        }
        let written = writer.write_objects(transaction, ids.map(Ok), out.document());
        out.say("");
        written
    });
    let mut ran = Ran::default();
    match written {
        Ok(rows) => ran.rows = rows,
        Err(ObjectXmlError::Io(_)) if out.check().is_ok() => {}
        Err(error) => {
            out.check()?;
            return Err(error.into());
        }
    }
    Ok(ran)
}
