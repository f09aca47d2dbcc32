//! Statements.

use std::sync::Arc;

use super::checked::{Checked, CheckedKind};
use super::parameters::Parameters;
use super::query::{CheckedObjects, CheckedObjectsKind, CheckedQuery};
use crate::catalog::Catalog;
use crate::mistake::Mistake;
use crate::syntax::{LiteralKind, Objects, ObjectsKind, Query, Statement, StatementKind};

type Result<T> = std::result::Result<T, Mistake>;

/// Looks up the names of a statement, and gives its values their encodings. Reads nothing.
///
/// # Errors
/// The first mistake, with its position.
pub fn check(statement: &Statement, catalog: &Catalog, parameters: &Parameters) -> Result<Checked> {
    let checker = Checker { catalog, parameters };
    let kind = match &statement.kind {
        StatementKind::Find(find) => CheckedKind::Find(checker.query(&find.query)?),
        StatementKind::Show(query) => CheckedKind::Show(checker.query(query)?),
        StatementKind::Count(query) => CheckedKind::Count(checker.query(query)?),
        StatementKind::Export(query) => CheckedKind::Export(checker.query(query)?),
        StatementKind::Explain(explain) => CheckedKind::Explain {
            run: explain.run,
            statement: Box::new(check(&explain.statement, catalog, parameters)?),
        },
        _ => return Err(Mistake::new(statement.span, "this statement cannot be checked yet")),
    };
    Ok(Checked { bundle: Arc::clone(catalog.schemas()), kind })
}

struct Checker<'c> {
    catalog: &'c Catalog,
    parameters: &'c Parameters,
}

impl Checker<'_> {
    fn query(&self, query: &Query) -> Result<CheckedQuery> {
        Ok(CheckedQuery { objects: self.objects(&query.objects)?, limit: query.limit })
    }

    fn objects(&self, objects: &Objects) -> Result<CheckedObjects> {
        let id = match &objects.kind {
            ObjectsKind::Type(name) => {
                let text = name.text.as_deref().unwrap_or_default();
                let found = self.catalog.type_named(text).ok_or_else(|| {
                    Mistake::new(name.span, format!("there is no object type `{text}`"))
                        .near(text, self.catalog.types().iter().map(|entry| &*entry.name))
                })?;
                let types = vec![found.storage_id];
                return Ok(CheckedObjects { types, kind: CheckedObjectsKind::Type });
            }
            ObjectsKind::Id(id) => *id,
            ObjectsKind::Parameter(name) => match self.parameters.get(name).map(|l| &l.kind) {
                Some(LiteralKind::Id(id)) => *id,
                _ => return Err(Mistake::new(objects.span, format!("`${name}` is no ID"))),
            },
            _ => return Err(Mistake::new(objects.span, "this cannot be checked yet")),
        };
        Ok(CheckedObjects { types: vec![id.storage_id()], kind: CheckedObjectsKind::Id(id) })
    }
}
