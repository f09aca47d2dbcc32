//! Sources of values that are not stored here.

use std::time::Instant;

use crate::digest::{Digest, Kind};
use crate::error::Result;
use crate::ids::PageId;

/// Fetches absent pieces of a page: from a remote, or from anything else that has copies of them.
/// Set it with [`Page::set_source`](crate::Page::set_source).
///
/// It is called on threads of its own, without any lock and outside of any transaction of the host,
/// and at most five times at once for a page. The bytes that it returns are compared with the
/// digests, so it need not be trusted.
pub trait PieceSource: Send + Sync {
    /// A name for messages.
    fn name(&self) -> String;

    /// Returns for each of these pieces, at most 32, its bytes, or `None` if the source does not
    /// have it. An answer after `until` is ignored, so the source should give up then.
    ///
    /// # Errors
    /// If the source cannot be reached. The caller of the fetch gets
    /// [`LedgerError::Network`](crate::LedgerError::Network) with the text of the error.
    fn fetch(
        &self,
        page: PageId,
        wanted: &[(Kind, Digest)],
        until: Instant,
    ) -> Result<Vec<Option<Vec<u8>>>>;
}
