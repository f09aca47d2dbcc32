//! The space that the pairs of a range of keys take in the file of a store.

#[cfg(feature = "lmdb")]
use crate::{KeySpan, KvError, Result};

/// The space that pairs take in the file of a store, see
/// [`KvDatabase::space`](crate::KvDatabase::space).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Space {
    /// How many pairs there are.
    pub pairs: u64,
    /// The bytes of their keys and values.
    pub pair_bytes: u64,
    /// The bytes of these pages that are in use: keys, values, and the bytes that the store adds to
    /// them.
    pub filled_bytes: u64,
    /// The bytes of the pages that hold the pairs. A page that holds other pairs too counts in
    /// part: by the share that these pairs have of the bytes in use in it. Pages of the store that
    /// only lead to these are not counted.
    pub page_bytes: u64,
}

impl Space {
    /// How full the pages are, from 0 to 1. Without pages, 1.
    ///
    /// ```
    /// use permazen_kv::Space;
    ///
    /// assert_eq!(Space::default().fill(), 1.0);
    /// ```
    pub fn fill(&self) -> f64 {
        if self.page_bytes == 0 { 1.0 } else { self.filled_bytes as f64 / self.page_bytes as f64 }
    }
}

/// Fails unless the spans ascend and do not overlap.
#[cfg(feature = "lmdb")]
pub(crate) fn check_spans(spans: &[KeySpan<'_>]) -> Result<()> {
    for span in spans {
        span.check()?;
    }
    let follow = |pair: &[KeySpan<'_>]| match pair {
        [one, next] => one.max.is_some_and(|max| max <= next.min),
        _ => true,
    };
    if spans.windows(2).all(follow) {
        return Ok(());
    }
    Err(KvError::InvalidArgument(
        "each range of keys must begin where the one before ends, or after that".to_owned(),
    ))
}
