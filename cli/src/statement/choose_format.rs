//! In which format the results of a statement are shown.

use permazen_query::syntax::{Statement, StatementKind};

use crate::failure::Failure;
use crate::output::Format;

/// In which format the results of a statement are shown.
pub(super) fn choose_format(
    statement: &Statement,
    chosen: Option<Format>,
) -> Result<Format, Failure> {
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
