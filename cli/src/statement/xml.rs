//! Objects of a statement as Permazen's XML.

use std::io;
use std::ops::ControlFlow;

use permazen::object::Transaction;
use permazen::object_xml::{ObjectXmlError, ObjectXmlWriter};
use permazen_query::syntax::{Statement, StatementKind};
use permazen_query::{Checked, QueryError, Ran};

use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;

/// Writes the objects of a statement. The export can be loaded elsewhere, so it has the schemas.
pub(super) fn write(
    transaction: &Transaction,
    statement: &Statement,
    checked: &Checked,
    session: &Session,
    out: &mut Output,
) -> Result<Result<Ran, QueryError>, Failure> {
    let mut writer = ObjectXmlWriter::new().with_storage_ids();
    if !matches!(statement.kind, StatementKind::Export(_)) {
        writer = writer.schemas([]);
    }
    out.paged(|out| {
        let mut found = Ok(Ran::default());
        let written = writer.write_each(transaction, out.document(), |write| {
            let mut written = Ok(());
            found =
                permazen_query::each_match(transaction, checked, &session.limits(), &mut |id| {
                    written = write(id);
                    if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                });
            // Without an error, the document would end as if it were whole.
            let whole = found.as_ref().is_ok_and(|ran| !ran.stopped);
            written.and(if whole { Ok(()) } else { Err(io::Error::other("not whole").into()) })
        });
        out.say("");
        out.check()?;
        match written {
            // The error is reported elsewhere.
            Err(ObjectXmlError::Io(_)) | Ok(_) => Ok(found),
            Err(error) => Err(error.into()),
        }
    })
}
