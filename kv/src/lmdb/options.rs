//! How an environment is to be opened and used.

use std::time::Duration;

use crate::Durability;

/// What a [`LmdbBuilder`](super::LmdbBuilder) has been told, see there.
#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) create: bool,
    pub(super) read_only: bool,
    pub(super) map_size: Option<usize>,
    pub(super) max_readers: u32,
    pub(super) durability: Durability,
    pub(super) name: String,
    pub(super) wait: Duration,
}
