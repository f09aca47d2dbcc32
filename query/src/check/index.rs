//! Indexes by name, and checked `index` statements.

use std::ops::Bound;
use std::sync::Arc;

use permazen::__internal::encoding::EncodingKind;
use permazen::__internal::object::IndexKind;
use permazen::StorageId;
use permazen::encoding::Encoding;
use permazen::schema::ResolvedField;

use super::checker::{Checker, Result};
use super::condition::{Matcher, in_scales};
use super::names::{missing, ticked};
use super::path::{ValueKind, counter_encoding};
use crate::catalog::{Catalog, IndexEntry, kind_of};
use crate::mistake::Mistake;
use crate::syntax::{Bounds, IndexEntries, Name};

/// Indexes of the same name.
#[derive(Debug)]
pub(crate) struct FoundIndexes {
    /// The type that is named.
    pub(crate) object_type: Option<StorageId>,
    /// The indexes; never empty. Those of older and newer schemas can differ.
    pub(crate) indexes: Vec<IndexEntry>,
}

/// The indexes with this name: `Person.name`, `Person.tags.element`, `Person.byName`, `#17`.
pub(crate) fn index_named(catalog: &Catalog, names: &[Name]) -> Result<FoundIndexes> {
    let [of, rest @ ..] = names else {
        return Err(Mistake::new(Default::default(), "an index has a name"));
    };
    if let (None, Some(id), []) = (&of.text, of.storage_id, rest) {
        let all = catalog.types().iter().flat_map(|entry| entry.indexes());
        let indexes: Vec<_> = all.filter(|index| index.storage_id == id).collect();
        if indexes.is_empty() {
            return Err(missing(of, "index", []));
        }
        return Ok(FoundIndexes { object_type: None, indexes });
    }
    let types = catalog.types();
    let entry = types
        .iter()
        .find(|entry| of.is(&entry.name, entry.storage_id))
        .ok_or_else(|| missing(of, "object type", types.iter().map(|entry| &*entry.name)))?;
    let indexes = entry.indexes();
    let (Some(first), Some(last)) = (rest.first(), rest.last()) else {
        let what = format!(
            "{} is a type; an index is a field of it, as in Person.name",
            ticked(&entry.name)
        );
        return Err(Mistake::new(of.span, what));
    };
    let is_it = |index: &&IndexEntry| {
        let mut parts: Vec<&str> = match index.kind {
            // Its name can have dots.
            IndexKind::Composite => vec![&index.name],
            _ => index.name.split('.').collect(),
        };
        // The element of a set or list can be left out.
        let short = matches!(index.kind, IndexKind::SetElement | IndexKind::ListElement);
        if short && rest.len() == 1 {
            parts.truncate(1);
        }
        // A storage ID alone is that of the index.
        if let ([Name { text: None, storage_id: Some(id), .. }], _) = (rest, &parts) {
            return *id == index.storage_id;
        }
        parts.len() == rest.len()
            && parts.iter().zip(rest).all(|(part, name)| name.is_text(part))
            && last.storage_id.is_none_or(|id| id == index.storage_id)
    };
    let found: Vec<_> = indexes.iter().filter(is_it).cloned().collect();
    if !found.is_empty() {
        return Ok(FoundIndexes { object_type: Some(entry.storage_id), indexes: found });
    }
    let written: Vec<_> = rest.iter().filter_map(|name| name.text.as_deref()).collect();
    let written = written.join(".");
    let is_field = entry.fields().iter().any(|field| first.is_text(&field.name));
    let what = match is_field {
        true => format!("{} of {} has no index", ticked(&written), ticked(&entry.name)),
        false => format!("{} has no index {}", ticked(&entry.name), ticked(&written)),
    };
    let span = first.span.to(last.span);
    Err(Mistake::new(span, what).near(&written, indexes.iter().map(|index| &*index.name)))
}

/// `index`
#[derive(Debug, Clone)]
pub(crate) struct CheckedIndex {
    /// The name in messages.
    pub(crate) text: String,
    /// The type whose objects are listed; `None` for all types.
    pub(crate) object_type: Option<StorageId>,
    /// The storage ID with which the keys begin.
    pub(crate) storage_id: StorageId,
    /// The field or fields of the index.
    pub(crate) kind: IndexKind,
    /// The names and encodings of the indexed values.
    pub(crate) values: Vec<(Arc<str>, Arc<dyn Encoding>)>,
    /// For values of maps, the different encodings of the keys of those maps, with the types and
    /// schemas of the objects.
    pub(crate) map_keys: Vec<(Arc<dyn Encoding>, Vec<super::versions::Version>)>,
    /// The matchers for the first values.
    pub(crate) bounds: Vec<Matcher>,
    /// Whether the last entry comes first.
    pub(crate) reverse: bool,
    /// How many at most.
    pub(crate) limit: Option<u64>,
}

impl Checker<'_> {
    pub(super) fn index_entries(&self, statement: &IndexEntries) -> Result<CheckedIndex> {
        let found = index_named(self.catalog, &statement.index)?;
        let text = statement.index.iter().map(ToString::to_string).collect::<Vec<_>>().join(".");
        // The newest one, unless the storage ID is given.
        let newest = found.indexes.iter().max_by_key(|index| index.schemas.last().copied());
        let Some(index) = newest else {
            return Err(Mistake::new(Default::default(), "an index has a name"));
        };
        let values: Vec<_> = index
            .fields
            .iter()
            .map(|field| {
                let simple = field.simple().map(|simple| Arc::clone(&simple.encoding));
                (Arc::clone(&field.full_name), simple.unwrap_or_else(counter_encoding))
            })
            .collect();
        let span = statement.index.first().map(|name| name.span).unwrap_or_default();
        if let Some((_, encoding)) = indivisible(&values, index.kind) {
            let what = format!(
                "the entries of this index cannot be taken apart, because encoding {} is not registered",
                encoding.name()
            );
            return Err(Mistake::new(span, what));
        }
        if let Some(bound) = statement.bounds.get(values.len()) {
            let s = if values.len() == 1 { "" } else { "s" };
            let what = format!("the index has {} value{s}", values.len());
            return Err(Mistake::new(bounds_span(bound), what));
        }
        let mut bounds = Vec::new();
        for (bound, field) in statement.bounds.iter().zip(&index.fields) {
            let kind = ValueKind::of(Some(field));
            let matcher = match bound {
                Bounds::Value(value) => Matcher::Equal(self.value(&kind, value)?),
                // Without bounds, null is there too.
                Bounds::Range(range) if range.from.is_none() && range.to.is_none() => {
                    Matcher::Within(Bound::Unbounded, Bound::Unbounded)
                }
                Bounds::Range(range) => self.within(&kind, range)?,
            };
            bounds.push(in_scales(&kind, matcher));
        }
        Ok(CheckedIndex {
            text,
            object_type: found.object_type,
            storage_id: index.storage_id,
            kind: index.kind,
            values,
            map_keys: self.map_keys(index.storage_id, found.object_type),
            bounds,
            reverse: statement.reverse,
            limit: self.limit(statement.limit.as_ref())?,
        })
    }

    /// The encodings of the keys of maps whose values are in this index.
    fn map_keys(
        &self,
        storage_id: StorageId,
        object_type: Option<StorageId>,
    ) -> Vec<(Arc<dyn Encoding>, Vec<super::versions::Version>)> {
        let mut keys: Vec<(Arc<dyn Encoding>, Vec<_>)> = Vec::new();
        for entry in self.catalog.types() {
            if object_type.is_some_and(|id| id != entry.storage_id) {
                continue;
            }
            for version in &entry.versions {
                for field in &version.fields {
                    let Some(key) = map_key(field, storage_id) else { continue };
                    let of = (entry.storage_id, version.schema);
                    match keys.iter_mut().find(|(known, _)| known.is_same(&**key)) {
                        Some((_, versions)) => versions.push(of),
                        None => keys.push((Arc::clone(key), vec![of])),
                    }
                }
            }
        }
        keys
    }
}

/// The encoding of the keys of a map whose values have this storage ID.
fn map_key(field: &ResolvedField, values: StorageId) -> Option<&Arc<dyn Encoding>> {
    let value = field.sub_field("value").filter(|value| value.storage_id == values)?;
    (kind_of(value) == IndexKind::MapValue).then_some(())?;
    field.sub_field("key")?.simple().map(|simple| &simple.encoding)
}

/// The value that makes entries of an index indivisible: its end cannot be found. Only the object
/// ID may follow a value of an encoding that is not registered.
fn indivisible(
    values: &[(Arc<str>, Arc<dyn Encoding>)],
    kind: IndexKind,
) -> Option<&(Arc<str>, Arc<dyn Encoding>)> {
    let has_suffix = matches!(kind, IndexKind::ListElement | IndexKind::MapValue);
    let last = values.len().saturating_sub(1);
    values.iter().enumerate().find_map(|(at, value)| {
        let unknown = matches!(value.1.kind(), EncodingKind::Unknown);
        (unknown && (has_suffix || at != last)).then_some(value)
    })
}

fn bounds_span(bounds: &Bounds) -> crate::syntax::Span {
    match bounds {
        Bounds::Value(value) => value.span,
        Bounds::Range(range) => range.span,
    }
}
