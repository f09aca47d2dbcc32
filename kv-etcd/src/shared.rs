//! The state that the transactions of a store share.

use permazen_kv::KvError;

use crate::client::Client;
use crate::error::Failure;
use crate::layout::Layout;
use crate::wire::{Op, Range};

/// How many operations etcd takes in one transaction unless it is started with another limit.
pub(crate) const MAX_TXN_OPS: usize = 128;

/// The state that transactions share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) client: Client,
    pub(crate) layout: Layout,
    /// How many pairs a commit may compare.
    pub(crate) most_checked: usize,
    /// How many revisions lie between two horizons.
    pub(crate) distance: i64,
}

impl Shared {
    pub(crate) fn error(&self, what: &str, failure: &Failure) -> KvError {
        failure.to_kv(what, &self.client.path())
    }

    /// How many operations the servers take for certain.
    pub(crate) fn max_txn_ops(&self) -> usize {
        self.client.address.max_txn_ops.unwrap_or(MAX_TXN_OPS)
    }

    /// The question where the horizon is.
    pub(crate) fn horizon(&self) -> Op {
        Op::Range(Range::of(self.layout.horizon()))
    }
}
