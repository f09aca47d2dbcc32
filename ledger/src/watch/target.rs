//! What a watcher is being told.

use super::notification::Pending;
use crate::commit::time::CommitTime;
use crate::digest::Digest;
use crate::ids::CommitId;
use crate::process::pins::Pin;

/// What is being told in parts.
#[derive(Debug)]
pub(super) struct Target {
    /// `None` if they cannot be computed any more.
    pub(super) differences: Option<Pending>,
    pub(super) commit: CommitId,
    pub(super) time: CommitTime,
    pub(super) version: (Pin, Digest),
    pub(super) moved: bool,
}
