//! Where a level is cut into nodes.

use crate::secret::{BoundaryHash, Secret};

/// Decides where a level is cut, by its arguments only. If a group is not cut, neither is one with
/// the same last item that has no greater size and no more items.
pub(crate) trait Boundaries {
    /// Whether a node ends with this item.
    fn cuts(&self, level: u8, key: &[&[u8]], group: Group) -> bool;
}

/// The items since the last cut, including the present one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group {
    /// The size of the present item.
    pub(crate) item: u64,
    /// Their total size.
    pub(crate) total: u64,
    /// Their number.
    pub(crate) count: usize,
}

/// The rule of the format: see "Where a level is cut" in `docs/src/ledger-format.md`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByHash {
    hash: BoundaryHash,
    density: u128,
}

/// A node with fewer bytes is not cut.
const MIN: u64 = 1_024;
/// A node is cut once it has this many bytes.
const MAX: u64 = 65_536;
/// T: sizes of nodes lie close to this many bytes.
const MEAN: u64 = 4_096;

impl ByHash {
    pub(crate) fn new(secret: &Secret) -> Self {
        ByHash::with_mean(secret, MEAN)
    }

    /// The same rule with another T, for the measurement of this parameter.
    pub(crate) fn with_mean(secret: &Secret, mean: u64) -> Self {
        let density = (4 << 64) / u128::from(mean).pow(4);
        ByHash { hash: secret.boundary_hash(), density }
    }
}

impl Boundaries for ByHash {
    fn cuts(&self, level: u8, key: &[&[u8]], group: Group) -> bool {
        let least = if level == 0 { 2 } else { 4 };
        if group.count < least || group.total < MIN {
            return false;
        }
        if group.total >= MAX {
            return true;
        }
        let total = u128::from(group.total);
        let bound = u128::from(group.item) * total * total * total * self.density;
        u128::from(self.hash.of(level, key)) < bound.min(1 << 63)
    }
}
