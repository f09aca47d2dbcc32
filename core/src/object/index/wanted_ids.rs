//! Which objects a walk over an index wants, if only their IDs decide.

use permazen_kv::Direction;

use super::column::{ColumnFilter, FilterPosition};
use super::selection::{Selection, push_jump};
use crate::id::ObjId;
use crate::object::id_set::ids_within;
use crate::object::store::{Keep, LiveScan, extend_to_after_prefix};

/// Which IDs are wanted.
pub(super) struct WantedIds {
    filter: ColumnFilter,
    /// The smallest and the largest wanted ID, if all between them are wanted too.
    between: Option<(ObjId, ObjId)>,
}

impl WantedIds {
    /// The IDs that a selection wants, if its column of the ID is among those that a walk must
    /// check.
    pub(super) fn of(selection: &Selection, checked: &[usize]) -> Option<Self> {
        let id_column = selection.shape.id_column();
        // The bounds of the scan already leave out the IDs that are not wanted.
        if !checked.contains(&id_column) {
            return None;
        }
        let filter = selection.filters.get(id_column)?.clone()?;
        Some(WantedIds { between: ids_within(&filter), filter })
    }

    #[inline]
    pub(super) fn contains(&self, id: ObjId) -> bool {
        match self.between {
            Some((first, last)) => first <= id && id <= last,
            None => self.filter.contains(id.as_bytes()),
        }
    }

    /// Moves `scan` from an entry whose ID is not wanted to where the next wanted one can be.
    #[cold]
    pub(super) fn pass<K: Keep>(&self, scan: &mut LiveScan<'_, K>, target: &mut Vec<u8>) {
        let direction = scan.direction();
        let Some(key) = scan.current_key() else { return };
        // A key that is too short is damage. The walk reports it, so nothing is skipped.
        let Some((values, id)) = key.split_last_chunk::<{ ObjId::LEN }>() else { return };
        target.clear();
        target.extend_from_slice(values);
        let reachable = match self.filter.locate(id, direction) {
            FilterPosition::Inside => false,
            FilterPosition::Ahead(bound) => push_jump(target, bound, direction),
            FilterPosition::Past => {
                // All other IDs with these values are past too, so the next wanted entry has other
                // values.
                direction == Direction::Reverse || extend_to_after_prefix(target)
            }
        };
        if reachable {
            scan.skip_to(target);
        }
    }
}
