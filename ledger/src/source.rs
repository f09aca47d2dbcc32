//! Where values come from that are not here.

use std::time::Instant;

use crate::digest::{Digest, Kind};
use crate::error::Result;
use crate::ids::PageId;

/// Gets what a page does not have here: a remote, or anything else that has copies of its pieces.
/// [`Page::set_source`](crate::Page::set_source) gives it to a page.
///
/// It is called from threads of its own, without any lock and outside of any transaction of the
/// host, and at most five times at once for a page. What it gives is compared with the digests, so
/// it need not be trusted.
pub trait ObjectSource: Send + Sync {
    /// A name for messages.
    fn name(&self) -> String;

    /// For each of these pieces, at most 32, its bytes, or `None` if the source does not have it.
    /// Nobody waits for the answer after `until`, so it should give up then.
    ///
    /// # Errors
    /// If the source cannot be asked. Whoever fetches gets
    /// [`LedgerError::Network`](crate::LedgerError::Network) with the words of the error.
    fn fetch(
        &self,
        page: PageId,
        wanted: &[(Kind, Digest)],
        until: Instant,
    ) -> Result<Vec<Option<Vec<u8>>>>;
}
