//! Queries whose names are resolved: objects, their order and their columns.

use std::collections::BTreeMap;
use std::sync::Arc;

use permazen::__internal::schema::ResolvedKind;
use permazen::StorageId;

use super::checker::{Checker, Result};
use super::index::index_named;
use super::names::{FieldAt, fields_in};
use super::objects::{CheckedObjects, CheckedObjectsKind};
use super::path::{Access, CheckedPath, Read};
use super::resolve_path::{PathFor, finished};
use super::versions::Versions;
use crate::mistake::Mistake;
use crate::syntax::{
    Limit, LiteralKind, Name, Part, Path, Query, SetOperator, Span, Special, Using,
};
use crate::text::quoted_name;

/// Which objects, in which order.
#[derive(Debug, Clone)]
pub(crate) struct CheckedQuery {
    /// The objects.
    pub(crate) objects: CheckedObjects,
    /// The keys by which they are sorted, before the ID.
    pub(crate) order: Vec<CheckedOrder>,
    /// How many at most.
    pub(crate) limit: Option<u64>,
    /// Which index must be used.
    pub(crate) using: CheckedUsing,
}

/// A key by which objects are sorted.
#[derive(Debug, Clone)]
pub(crate) struct CheckedOrder {
    /// The value; there is at most one.
    pub(crate) path: CheckedPath,
    /// Whether the greatest comes first.
    pub(crate) descending: bool,
}

/// Which index must be used.
#[derive(Debug, Clone)]
pub(crate) enum CheckedUsing {
    /// The one that the rule chooses.
    Any,
    /// No index.
    Scan,
    /// The one of a type with one of these storage IDs, which have the same name.
    Index {
        /// As it is written.
        text: String,
        /// Where it stands.
        span: Span,
        /// The type.
        object_type: StorageId,
        /// The storage IDs.
        storage_ids: Vec<StorageId>,
    },
}

/// A column, which shows a part of an object.
#[derive(Debug, Clone)]
pub(crate) struct CheckedColumn {
    /// The path whose values it shows.
    pub(crate) path: CheckedPath,
    /// The path with names as they are recorded.
    pub(crate) plain: String,
    /// Whether all values are numbers.
    pub(crate) numeric: bool,
}

impl CheckedColumn {
    fn of(path: CheckedPath, plain: String) -> Self {
        let whole = |access: &Access| access.read == Read::Whole;
        let has_whole = path.hops.last().is_some_and(|hop| hop.iter().any(|(_, at)| whole(at)));
        let numbers = path.kinds.iter().all(|kind| kind.is_number());
        CheckedColumn { numeric: numbers && !has_whole && !path.many, path, plain }
    }
}

impl Checker<'_> {
    pub(super) fn query(&self, query: &Query) -> Result<CheckedQuery> {
        let objects = self.objects(&query.objects)?;
        let mut order = Vec::new();
        for by in &query.order {
            let path = self.path(&objects.types, &by.path, PathFor::Values)?;
            // An object has one place in an order, so one value must decide it.
            if path.many {
                let what = format!("`{}` can have several values, so it gives no order", path.text);
                return Err(Mistake::new(by.path.span, what));
            }
            order.push(CheckedOrder { path, descending: by.descending });
        }
        let using = match &query.using {
            None => CheckedUsing::Any,
            Some(Using::None(_)) => CheckedUsing::Scan,
            Some(Using::Index(names)) => {
                let found = index_named(self.catalog, names)?;
                CheckedUsing::Index {
                    text: names.iter().map(ToString::to_string).collect::<Vec<_>>().join("."),
                    span: names.first().map_or(query.objects.span, |name| {
                        names.last().map_or(name.span, |last| name.span.to(last.span))
                    }),
                    // An index given by its storage ID only can be of several types. Only one of
                    // them can be meant.
                    object_type: found.object_type.or(only(&objects.types)).ok_or_else(|| {
                        let what = "say the type of the index, as in Person.name";
                        Mistake::new(query.objects.span, what)
                    })?,
                    storage_ids: found.indexes.iter().map(|index| index.storage_id).collect(),
                }
            }
        };
        let limit = self.limit(query.limit.as_ref())?;
        Ok(CheckedQuery { objects, order, limit, using })
    }

    /// How many at most.
    pub(super) fn limit(&self, limit: Option<&Limit>) -> Result<Option<u64>> {
        let parameter = match limit {
            None => return Ok(None),
            Some(Limit::Count(count)) => return Ok(Some(*count)),
            Some(Limit::Parameter(parameter)) => parameter,
        };
        let count = match &self.given(parameter)?.kind {
            LiteralKind::Number(number) => number.parse().ok(),
            _ => None,
        };
        let wrong =
            || Mistake::new(parameter.span, "a limit is a whole number that is not negative");
        count.map(Some).ok_or_else(wrong)
    }

    /// The columns that are written, or all fields of the types.
    pub(super) fn columns(
        &self,
        objects: &CheckedObjects,
        columns: &[Path],
    ) -> Result<Vec<CheckedColumn>> {
        if columns.is_empty() {
            return Ok(self.all_columns(&objects.types));
        }
        columns
            .iter()
            .map(|path| {
                let checked = self.path(&objects.types, path, PathFor::Column)?;
                Ok(CheckedColumn::of(checked, plain(path)))
            })
            .collect()
    }

    /// The ID, the type if there are several, and all fields of these types.
    fn all_columns(&self, types: &[StorageId]) -> Vec<CheckedColumn> {
        let special = |special: Special| {
            let word = special.word().to_owned();
            CheckedColumn::of(finished(word.clone(), Vec::new(), Some(special), 0), word)
        };
        let versions = self.count_versions(types);
        let mut columns = vec![special(Special::Id)];
        if types.len() > 1 {
            columns.push(special(Special::Type));
        }
        let mut names: Vec<Arc<str>> = Vec::new();
        let mut fields: BTreeMap<Arc<str>, Vec<_>> = BTreeMap::new();
        for entry in self.entries(types) {
            for field in entry.fields() {
                let versions = fields_in(entry, |other| other.name == field.name);
                // The types can have fields of one name. They share a column, at the place of the
                // first one.
                if !fields.contains_key(&field.name) {
                    names.push(Arc::clone(&field.name));
                }
                let accesses = versions.into_iter().map(|(version, at)| (version, whole(at)));
                fields.entry(field.name).or_default().extend(accesses);
            }
        }
        for name in names {
            let hop: Versions<Access> =
                fields.remove(&name).unwrap_or_default().into_iter().collect();
            let path = finished(quoted_name(&name), vec![hop], None, versions);
            columns.push(CheckedColumn::of(path, name.to_string()));
        }
        columns
    }
}

/// A path with names as they are recorded.
fn plain(path: &Path) -> String {
    let mut plain = String::new();
    for part in &path.parts {
        let text = match part {
            Part::Key(key) => {
                // A key belongs to the name before it, without a dot.
                plain.push_str(&format!("[{key}]"));
                continue;
            }
            // Column headings are for programs too, so they have no backticks. With a storage ID,
            // only the written form says which field it is.
            Part::Name(Name { text: Some(text), storage_id: None, .. }) => text.clone(),
            Part::Name(name) => name.to_string(),
            Part::Special(special) => special.word().to_owned(),
        };
        if !plain.is_empty() {
            plain.push('.');
        }
        plain.push_str(&text);
    }
    plain
}

/// A field as it is shown in a column.
fn whole(at: FieldAt) -> Access {
    let read = match at.field.kind {
        ResolvedKind::Simple(_) => Read::Simple,
        ResolvedKind::Counter => Read::Counter,
        _ => Read::Whole,
    };
    Access { field: at.field, stored: at.stored, read, kind: 0 }
}

fn only(types: &[StorageId]) -> Option<StorageId> {
    match types {
        [one] => Some(*one),
        _ => None,
    }
}

/// A limit that is greater does not show that less than all objects of a type are meant.
const FEW: u64 = 1000;

/// Refuses a change of all objects of a type that does not say `all`.
pub(super) fn check_all(
    all: bool,
    word: &str,
    query: &Query,
    checked: &CheckedQuery,
) -> Result<()> {
    let is_limited = checked.limit.is_some_and(|limit| limit <= FEW);
    if all || is_limited || !has_whole_type(&checked.objects) {
        return Ok(());
    }
    let what = format!(
        "this changes every {}; say `{word} all`, or which ones with `where`",
        checked.objects.text
    );
    Err(Mistake::new(query.objects.span, what))
}

/// Whether a set has all objects of a type, as far as its form tells.
fn has_whole_type(objects: &CheckedObjects) -> bool {
    match &objects.kind {
        CheckedObjectsKind::Type(_) => true,
        CheckedObjectsKind::Combined(first, others) => others.iter().fold(
            has_whole_type(first),
            |is_whole, (operator, other)| match operator {
                SetOperator::Union => is_whole || has_whole_type(other),
                SetOperator::Intersect => is_whole && has_whole_type(other),
                // The set that is taken away cannot make the result a whole type.
                SetOperator::Minus => is_whole,
            },
        ),
        // A condition or a path says which objects are meant, even if they turn out to be all.
        _ => false,
    }
}
