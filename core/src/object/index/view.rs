//! Live, ordered, read-only views of an index (docs/src/objects.md#indexes).

use std::ops::Bound;
use std::sync::Arc;

use super::column::{ColumnFilter, borrowed, encode_bound, is_inverted, push_lower, push_upper};
use super::ids::IndexIds;
use super::other_schemas::{HiddenObjects, IndexOverlay};
use super::rows::Rows;
use super::selection::{IndexSource, Selection};
use super::shape::IndexShape;
use super::walk::{IndexEntry, IndexIter};
use crate::encoding::Value;
use crate::id::{ObjId, StorageId};
use crate::layout::{self, SchemaIndex};
use crate::object::encoded::Encoded;
use crate::object::error::{Error, Result};
use crate::object::id_set::{IdSet, any_id, ids_between, ids_of_other_types, ids_of_types};
use crate::object::reference::NULL;

/// A live view of an index: its entries in key order, restricted column by column.
///
/// The columns are the indexed values, then the object ID. List elements and map values also have a
/// column for the position or the map key. A view contains the entries of **all** object types and
/// schemas that share the index; [`of_types`](IndexView::of_types) and
/// [`in_schemas`](IndexView::in_schemas) restrict that. Nothing is read until an iterator is used.
/// A view is cheap to clone.
#[derive(Clone)]
pub struct IndexView<'t> {
    pub(crate) source: &'t dyn IndexSource,
    pub(crate) selection: Arc<Selection>,
}

impl std::fmt::Debug for IndexView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("IndexView").field(&self.selection).finish()
    }
}

impl<'t> IndexView<'t> {
    /// A view of the whole index that returns the first `columns` columns.
    pub(crate) fn new(source: &'t dyn IndexSource, shape: Arc<IndexShape>, columns: usize) -> Self {
        let filters = vec![None; shape.columns()];
        IndexView {
            source,
            selection: Arc::new(Selection {
                shape,
                filters,
                tuples: None,
                columns,
                schemas: None,
                overlay: None,
            }),
        }
    }

    /// The field or fields of the index, and its columns.
    #[doc(hidden)]
    pub fn shape(&self) -> &IndexShape {
        &self.selection.shape
    }

    /// How many columns the entries of this view have.
    pub fn columns(&self) -> usize {
        self.selection.columns
    }

    /// The methods for encoded values. Reads nothing.
    #[doc(hidden)]
    pub fn encoded(&self) -> Encoded<'_, Self> {
        Encoded(self)
    }

    pub(super) fn changed(&self, change: impl FnOnce(&mut Selection)) -> Self {
        let mut selection = Selection::clone(&self.selection);
        change(&mut selection);
        IndexView { source: self.source, selection: Arc::new(selection) }
    }

    pub(crate) fn filtered(&self, column: usize, filter: ColumnFilter) -> Result<Self> {
        if column >= self.selection.filters.len() {
            return Err(Error::invalid_argument(format!(
                "index {} has no column {column}",
                self.shape().name()
            )));
        }
        Ok(self.changed(|selection| selection.restrict(column, filter)))
    }

    fn bounded(&self, column: usize, lower: Bound<Vec<u8>>, upper: Bound<Vec<u8>>) -> Result<Self> {
        if is_inverted(&lower, &upper) {
            return Err(Error::invalid_argument(format!(
                "the lower bound of column {column} of index {} is above the upper one",
                self.shape().name()
            )));
        }
        // Without a filter for the column nothing is compared.
        if matches!((&lower, &upper), (Bound::Unbounded, Bound::Unbounded)) {
            return Ok(self.clone());
        }
        self.filtered(column, ColumnFilter::range(lower, upper))
    }

    /// Restricts a column to the values between two bounds. This adds to earlier restrictions. Null
    /// is above all other values.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a bound cannot be a value of that column, or if the lower
    /// bound is above the upper one.
    pub fn with_bounds(
        &self,
        column: usize,
        lower: Bound<&Value>,
        upper: Bound<&Value>,
    ) -> Result<Self> {
        let encoded = |bound| encode_bound(bound, |value| self.encode(column, value));
        self.bounded(column, encoded(lower)?, encoded(upper)?)
    }

    /// Restricts the first columns to the tuples between two bounds. Tuples are compared column by
    /// column. A bound may have fewer columns than the index; then it means all entries that begin
    /// with it. This adds to earlier restrictions.
    ///
    /// ```
    /// # use std::ops::Bound;
    /// # use permazen::object::{IndexEntry, IndexView, Result};
    /// /// The next page of a listing, after the last entry of the previous page.
    /// fn next_page<'t>(view: &IndexView<'t>, last: &IndexEntry<'_>) -> Result<Vec<IndexEntry<'t>>> {
    ///     let rest = view.with_tuple_bounds(Bound::Excluded(&last.to_values()?), Bound::Unbounded)?;
    ///     rest.entries().take(20).collect()
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a bound has a value that its column cannot have, or too many
    /// values, or if the lower bound is above the upper one.
    pub fn with_tuple_bounds(
        &self,
        lower: Bound<&[Value]>,
        upper: Bound<&[Value]>,
    ) -> Result<Self> {
        let tuple = |values: &[Value]| {
            let mut bytes = Vec::new();
            for (column, value) in values.iter().enumerate() {
                self.shape().encode(column, value, &mut bytes)?;
            }
            Ok::<_, Error>(bytes)
        };
        let (lower, upper) = (encode_bound(lower, tuple)?, encode_bound(upper, tuple)?);
        // A shorter upper bound includes all entries that begin with it, so it is not below a lower
        // bound that begins with it.
        let begins_with_upper = match (&lower, &upper) {
            (
                Bound::Included(lower) | Bound::Excluded(lower),
                Bound::Included(upper) | Bound::Excluded(upper),
            ) => lower.starts_with(upper),
            _ => false,
        };
        if is_inverted(&lower, &upper) && !begins_with_upper {
            return Err(Error::invalid_argument(format!(
                "the lower bound of the tuples of index {} is above the upper one",
                self.shape().name()
            )));
        }
        Ok(self.changed(|selection| {
            let prefix = selection.shape.prefix().to_vec();
            let whole =
                |bound: &Bound<Vec<u8>>| borrowed(bound).map(|bytes| [&prefix[..], bytes].concat());
            let (lower, upper) = (whole(&lower), whole(&upper));
            intersect_tuples(selection, borrowed(&lower), borrowed(&upper));
        }))
    }

    /// Restricts a column to one value.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if it cannot be a value of that column.
    pub fn with_value(&self, column: usize, value: &Value) -> Result<Self> {
        self.encoded().with_value(column, &self.encode(column, value)?)
    }

    /// Restricts the first columns to these values.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if one cannot be a value of its column, or if there are too many.
    pub fn with_prefix(&self, values: &[Value]) -> Result<Self> {
        let mut view = self.clone();
        for (column, value) in values.iter().enumerate() {
            view = view.with_value(column, value)?;
        }
        Ok(view)
    }

    /// Restricts the first columns to the encoded values of an entry. This adds to earlier
    /// restrictions.
    #[must_use]
    pub fn with_prefix_of(&self, entry: &IndexEntry<'_>) -> Self {
        self.changed(|selection| {
            for column in 0..entry.columns() {
                let exactly = ColumnFilter::exactly(entry.encoded(column).to_vec());
                selection.restrict(column, exactly);
            }
        })
    }

    fn encode(&self, column: usize, value: &Value) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.shape().encode(column, value, &mut bytes)?;
        Ok(bytes)
    }

    /// Restricts the objects to those of these types.
    #[must_use]
    pub fn of_types(&self, types: impl IntoIterator<Item = StorageId>) -> Self {
        self.with_id_filter(ids_of_types(types))
    }

    /// Restricts the objects to those with an ID in a range.
    #[must_use]
    pub fn of_ids(&self, range: impl std::ops::RangeBounds<ObjId>) -> Self {
        self.with_id_filter(ids_between(range))
    }

    /// The view without its restrictions of the object ID, which are those to types and ranges of
    /// IDs.
    pub(crate) fn of_any_object(&self) -> Self {
        self.changed(|selection| {
            if let Some(filter) = selection.filters.get_mut(selection.shape.id_column()) {
                *filter = None;
            }
        })
    }

    /// The view with an overlay instead of the one it has; `None` shows exactly the entries of the
    /// index.
    pub(crate) fn through(&self, overlay: Option<Arc<IndexOverlay>>) -> Self {
        // The view shows exactly the index already, so its selection stays shared.
        if overlay.is_none() && self.selection.overlay.is_none() {
            return self.clone();
        }
        self.changed(|selection| selection.overlay = overlay)
    }

    fn with_id_filter(&self, filter: ColumnFilter) -> Self {
        // Every index has this column, so the filter is always accepted.
        self.filtered(self.shape().id_column(), filter).unwrap_or_else(|_| self.clone())
    }

    /// Restricts the objects to those of one schema, like [`in_schemas`](IndexView::in_schemas).
    #[must_use]
    pub fn in_schema(&self, schema_index: SchemaIndex) -> Self {
        self.in_schemas([schema_index])
    }

    /// Restricts the objects to those of any of these schemas: they were created in the schema and
    /// not migrated since, or migrated to it. The schema of the
    /// transaction does not matter, nor which schemas have this index. This adds to earlier
    /// restrictions. Each object is in one schema only, so a view that is restricted to one schema
    /// and then to another one is empty.
    ///
    /// Cost: for each entry that meets all other restrictions, one get for each of these schemas
    /// until the object's schema is found.
    #[must_use]
    pub fn in_schemas(&self, schema_indexes: impl IntoIterator<Item = SchemaIndex>) -> Self {
        let mut wanted: Vec<_> = schema_indexes.into_iter().collect();
        wanted.sort_unstable();
        wanted.dedup();
        self.changed(|selection| {
            // Each restriction adds to the earlier ones.
            if let Some(schemas) = &selection.schemas {
                wanted.retain(|schema| schemas.contains(schema));
            }
            selection.schemas = Some(wanted);
        })
    }

    /// Restricts a column of references to those that refer to objects of these types. Null is
    /// included if `or_null` is set.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is no such column.
    pub fn with_references_to(
        &self,
        column: usize,
        types: impl IntoIterator<Item = StorageId>,
        or_null: bool,
    ) -> Result<Self> {
        let mut filter = ids_of_types(types);
        // Null is encoded as `ff`, above all object IDs, so its range is the last one.
        if or_null {
            filter = filter.or_above(Bound::Included(NULL.to_vec()));
        }
        self.filtered(column, filter)
    }

    /// The distinct combinations of the first `columns` columns. A combination is returned if it
    /// has an entry that meets all restrictions, even those of the columns that are left out.
    ///
    /// Cost of going from one combination to the next: one step per entry if there are few entries,
    /// a seek if there are many.
    #[must_use]
    pub fn distinct(&self, columns: usize) -> Self {
        let columns = columns.clamp(1, self.shape().columns());
        if columns == self.columns() {
            return self.clone();
        }
        self.changed(|selection| selection.columns = columns)
    }

    /// The distinct combinations of the first `columns` columns, without the restrictions of the
    /// columns left out. The costs are those of [`distinct`](IndexView::distinct).
    #[must_use]
    pub fn truncated(&self, columns: usize) -> Self {
        self.changed(|selection| {
            selection.columns = columns.clamp(1, selection.shape.columns());
            for filter in selection.filters.iter_mut().skip(selection.columns) {
                *filter = None;
            }
        })
    }

    /// The distinct indexed values that have an object; for a composite index, the combinations.
    #[must_use]
    pub fn values(&self) -> Self {
        self.distinct(self.shape().id_column())
    }

    /// The entries in index order; can also be read from the back. Each is decoded on request.
    ///
    /// The iterator is live: it may be held while the transaction changes. Entries that are removed
    /// ahead of it are not returned; entries that are inserted ahead of it are. Cost: one seek,
    /// then one step per entry.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = Result<IndexEntry<'t>>> + use<'t> {
        self.iter_with(|entry| Ok(entry.to_owned()))
    }

    /// The object IDs in index order: for each value the ascending IDs of its objects. An object is
    /// returned once per value, not once per position or map key. Can also be read from the back.
    /// Cost: one seek, then one step per entry.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = Result<ObjId>> + use<'t> {
        IndexIds::new(self.source, self.distinct(self.shape().id_column() + 1).selection)
    }

    /// The entries in index order. `read` converts each while its bytes are borrowed. Costs as much
    /// as [`entries`](IndexView::entries).
    #[doc(hidden)]
    pub fn iter_with<T, F>(&self, read: F) -> IndexIter<'t, F>
    where
        F: FnMut(crate::object::IndexEntryRef<'_, 't>) -> Result<T>,
    {
        IndexIter::new(self.source, self.selection.clone(), read)
    }

    /// The entries in index order, with all their columns decoded by `decode`. If it fails,
    /// iteration continues, unless the entry is damaged: then that is the error, and the last item.
    pub(crate) fn rows<T, E, F>(&self, decode: F) -> Rows<'t, F>
    where
        F: FnMut(crate::object::IndexEntryRef<'_, 't>) -> std::result::Result<T, E>,
    {
        Rows::new(self.source, self.selection.clone(), decode)
    }

    /// The first entry. Cost: one seek, and a step for each of the first few entries; more seeks if
    /// columns in the middle are restricted.
    ///
    /// # Errors
    /// [`Error::Kv`] if the store fails, [`Error::Inconsistent`] if a key is damaged.
    pub fn first(&self) -> Result<Option<IndexEntry<'t>>> {
        self.entries().next().transpose()
    }

    /// The last entry. Costs as much as [`first`](IndexView::first).
    ///
    /// # Errors
    /// The errors of [`IndexView::first`].
    pub fn last(&self) -> Result<Option<IndexEntry<'t>>> {
        self.entries().next_back().transpose()
    }

    /// Whether there are no entries. Costs as much as [`first`](IndexView::first).
    ///
    /// # Errors
    /// The errors of [`IndexView::first`].
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.iter_with(|_| Ok(())).next().transpose()?.is_none())
    }

    /// How many entries there are. Cost: all of them are read.
    ///
    /// # Errors
    /// The errors of [`IndexView::first`].
    pub fn count(&self) -> Result<usize> {
        let shape = self.shape();
        // Then each entry has its own ID, and IDs are read faster than entries.
        if self.columns() == shape.id_column() + 1 {
            return self.ids().try_fold(0, |count, id| id.map(|_| count + 1));
        }
        self.iter_with(|_| Ok(())).try_fold(0, |count, entry| entry.map(|()| count + 1))
    }

    /// The objects that have exactly these values. The set is empty if a value cannot be in the
    /// index. Nothing is read until the set is used. Cost then: one seek and one step per object.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the number of values is not the number of indexed values.
    pub fn get(&self, values: &[Value]) -> Result<IdSet<'t>> {
        if values.len() != self.shape().id_column() {
            return Err(Error::invalid_argument(format!(
                "index {} is on {} values, not {}",
                self.shape().name(),
                self.shape().id_column(),
                values.len()
            )));
        }
        match self.with_prefix(values) {
            Ok(view) => view.id_set(),
            // A value that cannot be in the index has no objects. Only the number of values is a
            // mistake.
            Err(Error::InvalidArgument { .. }) => Ok(IdSet::empty(self.source.as_scan_source())),
            Err(error) => Err(error),
        }
    }

    /// The set of all objects in this view.
    ///
    /// If each indexed value is restricted to one value, the IDs are stored in order, and the set
    /// reads them when it is used. Otherwise the IDs are collected and sorted at once.
    ///
    /// # Errors
    /// The errors of [`IndexView::first`], when collecting.
    pub fn id_set(&self) -> Result<IdSet<'t>> {
        let Selection { shape, filters, schemas, overlay, .. } = &*self.selection;
        let id_column = shape.id_column();
        let source = self.source.as_scan_source();
        let mut prefix = shape.prefix().to_vec();
        let single = filters.iter().take(id_column).all(|filter| {
            filter.as_ref().and_then(ColumnFilter::single).is_some_and(|value| {
                prefix.extend_from_slice(value);
                true
            })
        });
        // A restriction of positions or map keys leaves out some entries of an object.
        let suffix = filters.get(id_column + 1).is_some_and(Option::is_some);
        // The IDs are not stored in order, or not all of them count.
        if !single || suffix || self.selection.tuples.is_some() {
            let ids: Result<Vec<_>> = self.ids().collect();
            return Ok(IdSet::of_ids(source, ids?));
        }
        let filter = filters.get(id_column).cloned().flatten().unwrap_or_else(any_id);
        let mut ids = IdSet::of_keys(source, prefix.clone(), filter.clone());
        if let Some(overlay) = overlay {
            for HiddenObjects { of_type, schema } in &overlay.hidden {
                // Hidden objects of any schema are left out by their type alone.
                ids = match schema {
                    None => ids.within(ids_of_other_types(*of_type)),
                    Some(schema) => {
                        let there = layout::object_schema_prefix(*schema);
                        // The object schema index lists the objects of the schema, which are taken
                        // away from the set.
                        let hidden = ids_of_types([*of_type]);
                        ids.difference(&IdSet::of_keys(source, there, hidden))
                    }
                };
            }
        }
        // Merged entries come after the hidden ones were taken away: these are hidden only in the
        // own index.
        if let Some(overlay) = overlay {
            let values = prefix.get(shape.prefix().len()..).unwrap_or_default();
            let merged = overlay.merged.iter().map(|merged| {
                let filter = filter.intersect(&ids_of_types(merged.types.iter().copied()));
                IdSet::of_keys(source, [merged.shape.prefix(), values].concat(), filter)
            });
            ids = ids.union_all(merged);
            // Objects that were added have no entries in any index.
            if overlay.adds() {
                let added = IdSet::of_ids(source, overlay.added_after(&prefix).collect());
                ids = ids.union(&added.within(filter));
            }
        }
        let Some(schemas) = schemas else { return Ok(ids) };
        let of_schemas = schemas
            .iter()
            .map(|schema| IdSet::of_keys(source, layout::object_schema_prefix(*schema), any_id()));
        Ok(ids.intersection(&IdSet::empty(source).union_all(of_schemas)))
    }

    /// The objects that have an encoded value in the first column, if the view is the index as it
    /// is, and at most its objects are restricted. Does the same as
    /// [`with_value`](Encoded::with_value) and [`id_set`](Self::id_set), without a view in between.
    pub(crate) fn id_set_of_value(&self, value: &[u8]) -> Option<IdSet<'t>> {
        let Selection { shape, filters, tuples, columns: _, schemas, overlay } = &*self.selection;
        // A filter of the value column would make the set another one.
        let [None, of_objects, rest @ ..] = &filters[..] else { return None };
        let is_plain = shape.id_column() == 1
            && tuples.is_none()
            && schemas.is_none()
            && overlay.is_none()
            && rest.iter().all(Option::is_none);
        is_plain.then(|| {
            let prefix = [shape.prefix(), value].concat();
            let filter = of_objects.clone().unwrap_or_else(any_id);
            IdSet::of_keys(self.source.as_scan_source(), prefix, filter)
        })
    }
}

/// Restricts the tuples further, to those between two bounds, which are beginnings of keys.
pub(super) fn intersect_tuples(
    selection: &mut Selection,
    lower: Bound<&[u8]>,
    upper: Bound<&[u8]>,
) {
    let prefix = selection.shape.prefix();
    // A bound is a whole key; without one, the span is that of the index.
    let from = |bound: Bound<&[u8]>| match bound {
        Bound::Unbounded => prefix.to_vec(),
        Bound::Included(_) | Bound::Excluded(_) => Vec::new(),
    };
    let (mut min, mut max) = (from(lower), from(upper));
    let reachable = push_lower(&mut min, lower);
    let bounded = push_upper(&mut max, upper);
    // No key is above the lower bound, so the span is empty.
    let max = if reachable { bounded.then_some(max) } else { Some(min.clone()) };
    selection.tuples = Some(match selection.tuples.take() {
        None => (min, max),
        Some((old_min, old_max)) => {
            let max = match (old_max, max) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            (old_min.max(min), max)
        }
    });
}

/// Restrictions to encoded values. The bytes are not checked against the encoding of their column.
impl<'t> Encoded<'_, IndexView<'t>> {
    /// Restricts a column to the values between two bounds.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the lower bound is above the upper one, or if there is no such
    /// column.
    pub fn with_bounds(
        self,
        column: usize,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) -> Result<IndexView<'t>> {
        self.0.bounded(column, lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec))
    }

    /// Restricts a column to one value.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is no such column.
    pub fn with_value(self, column: usize, value: &[u8]) -> Result<IndexView<'t>> {
        self.0.filtered(column, ColumnFilter::exactly(value.to_vec()))
    }
}
