//! A notification that is being delivered in parts.

use super::notification::Pending;
use crate::commit::time::CommitTime;
use crate::digest::Digest;
use crate::ids::CommitId;
use crate::process::pins::Pin;

/// A notification that is being delivered in parts.
#[derive(Debug)]
pub(super) struct Target {
    /// `None` if they are lost.
    pub(super) differences: Option<Pending>,
    pub(super) commit: CommitId,
    pub(super) time: CommitTime,
    pub(super) version: (Pin, Digest),
    pub(super) moved: bool,
}
