//! The state that a database shares with its transactions, which keep it open.

use std::sync::Arc;

use crate::store_parts::counts::Counts;
use crate::store_parts::process::Process;

#[derive(Debug)]
pub(super) struct SharedEngine<E> {
    pub(super) engine: E,
    pub(super) counts: Arc<Counts>,
    /// The process that has opened it: its connections must not be used by another one.
    pub(super) process: Process,
}
