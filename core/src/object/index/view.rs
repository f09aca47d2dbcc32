//! Live, ordered, read-only views of an index (transactions §8).

use std::ops::Bound;
use std::sync::Arc;

use super::column::{ColumnFilter, borrowed, encode_bound, is_inverted, push_lower, push_upper};
use super::entry::{IndexEntry, IndexIter};
use super::ids::IndexIds;
use super::selection::{IndexSource, Selection};
use super::shape::IndexShape;
use crate::encoding::Value;
use crate::id::{ObjId, StorageId};
use crate::layout::{self, SchemaIndex};
use crate::object::encoded::Encoded;
use crate::object::error::{Error, Result};
use crate::object::id_set::{IdSet, any_id, ids_between, ids_of_types};
use crate::object::reference::NULL;

/// A live view of an index: its entries in key order, restricted column by column.
///
/// The columns are the indexed values, then the object id, then, for list elements and map values, the
/// position or the map key. Entries of **all** object types and schemas that share the index are
/// there; [`of_types`](IndexView::of_types) and [`in_schemas`](IndexView::in_schemas) restrict that.
/// Nothing is read before an iterator is asked. A view is cheap to clone.
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
    /// A view of the whole index; `columns` of it are returned.
    pub(crate) fn new(source: &'t dyn IndexSource, shape: Arc<IndexShape>, columns: usize) -> Self {
        let filters = vec![None; shape.columns()];
        IndexView {
            source,
            selection: Arc::new(Selection { shape, filters, tuples: None, columns, schemas: None }),
        }
    }

    /// What the index is and which columns it has.
    pub fn shape(&self) -> &IndexShape {
        &self.selection.shape
    }

    /// How many columns the entries of this view have.
    pub fn columns(&self) -> usize {
        self.selection.columns
    }

    /// The methods for encoded values. Nothing is read.
    pub fn encoded(&self) -> Encoded<'_, Self> {
        Encoded(self)
    }

    fn changed(&self, change: impl FnOnce(&mut Selection)) -> Self {
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
        if matches!((&lower, &upper), (Bound::Unbounded, Bound::Unbounded)) {
            return Ok(self.clone());
        }
        self.filtered(column, ColumnFilter::range(lower, upper))
    }

    /// Restricts a column to values between two bounds. Restrictions add up. Null is above all other
    /// values.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a bound is no value of that column or the lower bound is above
    /// the upper one.
    pub fn with_bounds(
        &self,
        column: usize,
        lower: Bound<&Value>,
        upper: Bound<&Value>,
    ) -> Result<Self> {
        let encoded = |bound| encode_bound(bound, |value| self.encode(column, value));
        self.bounded(column, encoded(lower)?, encoded(upper)?)
    }

    /// Restricts the first columns, taken together and compared column by column, to the tuples
    /// between two bounds. A bound may have fewer columns than the index; it then stands for all
    /// entries that begin with it. Restrictions add up.
    ///
    /// ```
    /// # use std::ops::Bound;
    /// # use permazen::object::{IndexEntry, IndexView, Result};
    /// /// The next page of a listing, behind the last entry of the page before.
    /// fn next_page<'t>(view: &IndexView<'t>, last: &IndexEntry<'_>) -> Result<Vec<IndexEntry<'t>>> {
    ///     let rest = view.with_tuple_bounds(Bound::Excluded(&last.to_values()?), Bound::Unbounded)?;
    ///     rest.entries().take(20).collect()
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a bound has a value its column cannot have, or too many, or if the
    /// lower bound is above the upper one.
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
        let prefix = self.shape().prefix();
        let (mut min, mut max) = (prefix.to_vec(), prefix.to_vec());
        let reachable = push_lower(&mut min, borrowed(&lower));
        let bounded = push_upper(&mut max, borrowed(&upper));
        let max = if reachable { bounded.then_some(max) } else { Some(min.clone()) };
        Ok(self.changed(|selection| {
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
        }))
    }

    /// Restricts a column to one value.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if it is no value of that column.
    pub fn with_value(&self, column: usize, value: &Value) -> Result<Self> {
        self.encoded().with_value(column, &self.encode(column, value)?)
    }

    /// Restricts the first columns to these values.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if one is no value of its column, or there are too many.
    pub fn with_prefix(&self, values: &[Value]) -> Result<Self> {
        let mut view = self.clone();
        for (column, value) in values.iter().enumerate() {
            view = view.with_value(column, value)?;
        }
        Ok(view)
    }

    /// Restricts the first columns to the encoded values of an entry. Restrictions add up.
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

    /// Restricts the objects to these types.
    #[must_use]
    pub fn of_types(&self, types: impl IntoIterator<Item = StorageId>) -> Self {
        self.with_id_filter(ids_of_types(types))
    }

    /// Restricts the objects to a range of ids.
    #[must_use]
    pub fn of_ids(&self, range: impl std::ops::RangeBounds<ObjId>) -> Self {
        self.with_id_filter(ids_between(range))
    }

    /// The view without its restrictions to types and ranges of ids.
    pub(crate) fn of_any_object(&self) -> Self {
        self.changed(|selection| {
            if let Some(filter) = selection.filters.get_mut(selection.shape.id_column()) {
                *filter = None;
            }
        })
    }

    fn with_id_filter(&self, filter: ColumnFilter) -> Self {
        self.filtered(self.shape().id_column(), filter).unwrap_or_else(|_| self.clone())
    }

    /// Restricts the objects to those of one schema, as [`in_schemas`](IndexView::in_schemas) does.
    #[must_use]
    pub fn in_schema(&self, schema_index: SchemaIndex) -> Self {
        self.in_schemas([schema_index])
    }

    /// Restricts the objects to those of one of these schemas: those that were created in it and not
    /// migrated since, or migrated to it, which are the objects of
    /// [`objects_in_schema`](crate::object::Transaction::objects_in_schema). Which schemas have this index, and
    /// which one the transaction has, makes no difference. Restrictions add up: objects are in one
    /// schema only, so nothing is left of two restrictions to different ones.
    ///
    /// For each entry that satisfies all other restrictions, it costs a get for each of these schemas
    /// until that of the object is found.
    #[must_use]
    pub fn in_schemas(&self, schema_indexes: impl IntoIterator<Item = SchemaIndex>) -> Self {
        let mut wanted: Vec<_> = schema_indexes.into_iter().collect();
        wanted.sort_unstable();
        wanted.dedup();
        self.changed(|selection| {
            if let Some(schemas) = &selection.schemas {
                wanted.retain(|schema| schemas.contains(schema));
            }
            selection.schemas = Some(wanted);
        })
    }

    /// Restricts a column of references to those to objects of these types, and null if `or_null`.
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
        if or_null {
            filter = filter.or_above(Bound::Included(NULL.to_vec()));
        }
        self.filtered(column, filter)
    }

    /// The distinct combinations of the first `columns` columns, as far as an entry satisfies all
    /// restrictions, also those of the columns left out.
    ///
    /// Passing from one combination to the next costs a step per entry if they are few and a seek if
    /// they are many.
    #[must_use]
    pub fn distinct(&self, columns: usize) -> Self {
        let columns = columns.clamp(1, self.shape().columns());
        if columns == self.columns() {
            return self.clone();
        }
        self.changed(|selection| selection.columns = columns)
    }

    /// As [`distinct`](IndexView::distinct), without the restrictions of the columns left out.
    #[must_use]
    pub fn truncated(&self, columns: usize) -> Self {
        self.changed(|selection| {
            selection.columns = columns.clamp(1, selection.shape.columns());
            for filter in selection.filters.iter_mut().skip(selection.columns) {
                *filter = None;
            }
        })
    }

    /// The distinct indexed values (for a composite index: combinations) that have any object.
    #[must_use]
    pub fn values(&self) -> Self {
        self.distinct(self.shape().id_column())
    }

    /// The entries in index order, each decoded when asked; also readable from the back.
    ///
    /// Live: may be held while the transaction is changed; what is removed ahead of it is not
    /// returned, what is inserted ahead of it is. Cost: one seek, then one step per entry.
    pub fn entries(
        &self,
    ) -> IndexIter<
        't,
        impl FnMut(crate::object::IndexEntryRef<'_, 't>) -> Result<IndexEntry<'t>> + use<'t>,
    > {
        self.iter_with(|entry| Ok(entry.to_owned()))
    }

    /// The object ids in index order: for each value the ids of its objects ascending. An object is
    /// returned once per value (not once per position or map key). Also readable from the back.
    /// Cost: one seek, then one step per entry.
    pub fn ids(&self) -> IndexIds<'t> {
        IndexIds::new(self.source, self.distinct(self.shape().id_column() + 1).selection)
    }

    /// The entries in index order, each turned into something by `read` while its bytes are borrowed.
    /// Costs as [`entries`](IndexView::entries).
    pub fn iter_with<T, F>(&self, read: F) -> IndexIter<'t, F>
    where
        F: FnMut(crate::object::IndexEntryRef<'_, 't>) -> Result<T>,
    {
        IndexIter::new(self.source, self.selection.clone(), read)
    }

    /// The first entry. One seek, unless columns in the middle are restricted; the first few entries are
    /// read.
    ///
    /// # Errors
    /// [`Error::Kv`] if the store fails, [`Error::Inconsistent`] if a key is damaged.
    pub fn first(&self) -> Result<Option<IndexEntry<'t>>> {
        self.entries().next().transpose()
    }

    /// The last entry. Costs as [`first`](IndexView::first).
    ///
    /// # Errors
    /// As [`IndexView::first`].
    pub fn last(&self) -> Result<Option<IndexEntry<'t>>> {
        self.entries().next_back().transpose()
    }

    /// Whether there are no entries. Costs as [`first`](IndexView::first).
    ///
    /// # Errors
    /// As [`IndexView::first`].
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.iter_with(|_| Ok(())).next().transpose()?.is_none())
    }

    /// How many entries there are. Reads all of them.
    ///
    /// # Errors
    /// As [`IndexView::first`].
    pub fn count(&self) -> Result<usize> {
        self.iter_with(|_| Ok(())).try_fold(0, |count, entry| entry.map(|()| count + 1))
    }

    /// The objects that have exactly these values. Empty if a value cannot be one of the index. Nothing is
    /// read before the set is; that is one seek and a step per object.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the number of values is not that of the indexed values.
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
            Err(Error::InvalidArgument { .. }) => Ok(IdSet::empty(self.source.as_scan_source())),
            Err(error) => Err(error),
        }
    }

    /// The set of all objects in this view.
    ///
    /// Lazy if all indexed values are restricted to one value each, so that the ids stand in the index
    /// in order; otherwise the ids are collected and sorted at once.
    ///
    /// # Errors
    /// As [`IndexView::first`], when collecting.
    pub fn id_set(&self) -> Result<IdSet<'t>> {
        let Selection { shape, filters, schemas, .. } = &*self.selection;
        let id_column = shape.id_column();
        let source = self.source.as_scan_source();
        let mut prefix = shape.prefix().to_vec();
        let single = filters.iter().take(id_column).all(|filter| {
            filter.as_ref().and_then(ColumnFilter::single).is_some_and(|value| {
                prefix.extend_from_slice(value);
                true
            })
        });
        let suffix = filters.get(id_column + 1).is_some_and(Option::is_some);
        if !single || suffix || self.selection.tuples.is_some() {
            let ids: Result<Vec<_>> = self.ids().collect();
            return Ok(IdSet::of_ids(source, ids?));
        }
        let filter = filters.get(id_column).cloned().flatten().unwrap_or_else(any_id);
        let ids = IdSet::of_keys(source, prefix, filter);
        let Some(schemas) = schemas else { return Ok(ids) };
        let of_schemas = schemas
            .iter()
            .map(|schema| IdSet::of_keys(source, layout::object_schema_prefix(*schema), any_id()));
        Ok(ids.intersection(&IdSet::empty(source).union_all(of_schemas)))
    }
}

/// Restrictions to encoded values. That they are values of their column is not checked.
impl<'t> Encoded<'_, IndexView<'t>> {
    /// As [`IndexView::with_bounds`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the lower bound is above the upper one or there is no such column.
    pub fn with_bounds(
        self,
        column: usize,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) -> Result<IndexView<'t>> {
        self.0.bounded(column, lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec))
    }

    /// As [`IndexView::with_value`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is no such column.
    pub fn with_value(self, column: usize, value: &[u8]) -> Result<IndexView<'t>> {
        self.0.filtered(column, ColumnFilter::exactly(value.to_vec()))
    }
}
