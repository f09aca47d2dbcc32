//! A statement whose names and values are resolved.

use super::changes::{CheckedCreate, CheckedDelete, CheckedMigrate, CheckedSet};
use super::index::CheckedIndex;
use super::query::{CheckedColumn, CheckedQuery};
use crate::catalog::Catalog;

/// A statement whose names and values are resolved, for the schemas of one catalog.
#[derive(Debug, Clone)]
pub struct Checked {
    /// The catalog in which the names were resolved.
    pub(crate) catalog: Catalog,
    pub(crate) kind: CheckedKind,
    /// As it is written.
    pub(crate) text: String,
}

/// The action of a checked statement.
#[derive(Debug, Clone)]
pub(crate) enum CheckedKind {
    /// `find`
    Find(CheckedQuery, Vec<CheckedColumn>),
    /// `show`
    Show(CheckedQuery),
    /// `count`
    Count(CheckedQuery),
    /// `export`
    Export(CheckedQuery),
    /// `index`
    Index(CheckedIndex),
    /// `create`
    Create(CheckedCreate),
    /// `set`
    Set(CheckedSet),
    /// `delete`
    Delete(CheckedDelete),
    /// `migrate`
    Migrate(CheckedMigrate),
    /// `explain`
    Explain {
        /// Whether the statement is also run.
        run: bool,
        /// The statement.
        statement: Box<Checked>,
    },
}

impl Checked {
    /// Whether it changes objects: `create`, `set`, `delete`, `migrate`. An explanation changes
    /// nothing.
    pub fn is_edit(&self) -> bool {
        use CheckedKind::{Create, Delete, Migrate, Set};
        matches!(self.kind, Create(_) | Set(_) | Delete(_) | Migrate(_))
    }

    /// For `explain`, the statement that is explained, and whether it is also run.
    pub fn explained(&self) -> Option<(&Checked, bool)> {
        match &self.kind {
            CheckedKind::Explain { run, statement } => Some((statement, *run)),
            _ => None,
        }
    }
}
