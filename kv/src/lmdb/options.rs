//! How to open and use an environment.

use std::time::Duration;

use crate::Durability;

/// The settings of a [`LmdbBuilder`](super::LmdbBuilder); see there.
#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) create: bool,
    pub(super) read_only: bool,
    pub(super) map_size: Option<usize>,
    pub(super) first_map_size: Option<usize>,
    pub(super) max_readers: u32,
    pub(super) durability: Durability,
    pub(super) name: String,
    pub(super) wait: Duration,
    pub(super) groups: bool,
}

impl Options {
    /// Whether there is a commit that a power failure does not take away.
    pub(super) fn keeps_commits(&self) -> bool {
        self.durability != Durability::MayLoseEverything
    }
}
