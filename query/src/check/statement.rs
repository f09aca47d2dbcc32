//! Statements.

use super::checked::{Checked, CheckedKind};
use super::checker::{Checker, Result};
use super::parameters::Parameters;
use crate::catalog::Catalog;
use crate::syntax::{Statement, StatementKind};

/// Resolves the names of a statement, and gives its values their encodings. Whether the index of
/// `using` can be used is not checked.
pub(crate) fn resolve(
    statement: &Statement,
    catalog: &Catalog,
    parameters: &Parameters,
) -> Result<Checked> {
    let checker = Checker { catalog, parameters };
    let kind = match &statement.kind {
        StatementKind::Find(find) => {
            let query = checker.query(&find.query)?;
            let columns = checker.columns(&query.objects, &find.columns)?;
            CheckedKind::Find(query, columns)
        }
        StatementKind::Show(query) => CheckedKind::Show(checker.query(query)?),
        StatementKind::Count(query) => CheckedKind::Count(checker.query(query)?),
        StatementKind::Export(query) => CheckedKind::Export(checker.query(query)?),
        StatementKind::Index(index) => CheckedKind::Index(checker.index_entries(index)?),
        StatementKind::Create(create) => CheckedKind::Create(checker.create(create)?),
        StatementKind::Set(set) => CheckedKind::Set(checker.set(set)?),
        StatementKind::Delete(delete) => CheckedKind::Delete(checker.delete(delete)?),
        StatementKind::Migrate(migrate) => CheckedKind::Migrate(checker.migrate(migrate)?),
        StatementKind::Explain(explain) => CheckedKind::Explain {
            run: explain.run,
            statement: Box::new(resolve(&explain.statement, catalog, parameters)?),
        },
    };
    Ok(Checked { catalog: catalog.clone(), kind, text: statement.to_string() })
}
