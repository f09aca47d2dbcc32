//! Which part of an index is wanted, and where it is stored.

use std::ops::Bound;
use std::sync::Arc;

use permazen_kv::Direction;
use permazen_kv::key::after_prefix;

use super::column::{ColumnFilter, OwnedSpan, push_lower, push_upper, span_of};
use super::other_schemas::IndexOverlay;
use super::shape::IndexShape;
use crate::encoding::Encoding;
use crate::id::{ObjId, StorageId};
use crate::layout::SchemaIndex;
use crate::object::error::Result;
use crate::object::store::{ScanOverlay, ScanSource};

/// The source that index views read.
pub(crate) trait IndexSource: ScanSource {
    /// The encoding of the keys of the map in object `id` whose values have this storage ID.
    fn map_key_encoding(&self, id: ObjId, value: StorageId) -> Result<Arc<dyn Encoding>>;

    /// This source, for scans.
    fn as_scan_source(&self) -> &dyn ScanSource;
}

/// Which part of an index is wanted.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    pub(crate) shape: Arc<IndexShape>,
    /// The restriction of each column; `None` means no restriction.
    pub(crate) filters: Vec<Option<ColumnFilter>>,
    /// The key span of the wanted tuples; `None` if all are wanted.
    pub(crate) tuples: Option<OwnedSpan>,
    /// How many columns are returned. Entries that are equal in these are returned once.
    pub(crate) columns: usize,
    /// If given, only objects of these schemas are wanted. They ascend.
    pub(crate) schemas: Option<Vec<SchemaIndex>>,
    /// The entries that are shown besides those of the index itself.
    pub(crate) overlay: Option<Arc<IndexOverlay>>,
}

impl Selection {
    /// Adds a restriction to those of a column.
    pub(super) fn restrict(&mut self, column: usize, filter: ColumnFilter) {
        if let Some(slot) = self.filters.get_mut(column) {
            *slot = Some(match &*slot {
                Some(old) => old.intersect(&filter),
                None => filter,
            });
        }
    }

    /// The key span of the wanted entries, and the columns whose restrictions the span does not
    /// express.
    pub(crate) fn span(&self) -> (Vec<u8>, Option<Vec<u8>>, Vec<usize>) {
        let (mut min, mut max, checked) = self.column_span();
        if let Some((lower, upper)) = &self.tuples {
            if *lower > min {
                min.clone_from(lower);
            }
            // `None` compares as lower than any bound, but means that there is none.
            if upper.is_some() && max.as_ref().is_none_or(|max| upper.as_ref() < Some(max)) {
                max.clone_from(upper);
            }
        }
        (min, max, checked)
    }

    /// The overlay through which scans of the entries read.
    pub(super) fn scan_overlay(&self) -> Option<Arc<dyn ScanOverlay>> {
        self.overlay.clone().map(|overlay| overlay as Arc<_>)
    }

    /// The object ID in a key whose columns end at `ends`.
    pub(super) fn id_in<'k>(&self, key: &'k [u8], ends: &[usize]) -> &'k [u8] {
        self.shape.column(self.shape.id_column(), key, ends)
    }

    /// The key span that the column filters allow, and the columns whose restrictions it does not
    /// express.
    fn column_span(&self) -> (Vec<u8>, Option<Vec<u8>>, Vec<usize>) {
        let mut prefix = self.shape.prefix().to_vec();
        let nothing = |prefix: Vec<u8>| (prefix.clone(), Some(prefix), Vec::new());
        let no_schema = self.schemas.as_ref().is_some_and(Vec::is_empty);
        // A contradiction: nothing can be wanted.
        if no_schema || self.filters.iter().flatten().any(ColumnFilter::is_empty) {
            return nothing(prefix);
        }
        let mut filtered = self.filters.iter().enumerate();
        let mut span = None;
        let mut checked = Vec::new();
        for (column, filter) in filtered.by_ref() {
            // One value: the span can be narrowed by the next column too.
            if let Some(value) = filter.as_ref().and_then(ColumnFilter::single) {
                prefix.extend_from_slice(value);
                continue;
            }
            if let Some(filter) = filter {
                let Some(inner) = span_of(&prefix, filter) else { return nothing(prefix) };
                span = Some(inner);
                if !filter.is_one_range() {
                    checked.push(column);
                }
            }
            // The columns after the first one that is not a single value cannot narrow the span.
            break;
        }
        checked.extend(filtered.filter(|(_, filter)| filter.is_some()).map(|(column, _)| column));
        let (min, max) = span.unwrap_or_else(|| {
            let max = after_prefix(&prefix);
            // Without a filter, the span is that of all keys with the single values so far.
            (prefix, max)
        });
        (min, max, checked)
    }
}

/// Appends the bound of a jump in `direction` to `prefix`. Returns `false` if nothing is beyond it.
pub(crate) fn push_jump(prefix: &mut Vec<u8>, bound: Bound<&[u8]>, direction: Direction) -> bool {
    match direction {
        Direction::Forward => push_lower(prefix, bound),
        Direction::Reverse => push_upper(prefix, bound),
    }
}
