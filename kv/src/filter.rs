//! Sets of keys that can be skipped through (kv §7.3).

use std::borrow::Cow;

/// A set of keys that also tells where to look next.
///
/// [`Walker::step_in`](crate::Walker::step_in) skips with it what is not in the set.
///
/// ```
/// use std::borrow::Cow;
///
/// use permazen_kv::filter::KeyFilter;
/// use permazen_kv::{Direction, KeySpan, KvDatabase, KvWrite, TxOptions, Walker, memory::MemoryStore};
///
/// /// Keys of one byte below 0x80.
/// struct Ascii;
///
/// impl KeyFilter for Ascii {
///     fn contains(&self, key: &[u8]) -> bool {
///         matches!(key, [..0x80])
///     }
///     fn seek_higher<'a>(&'a self, key: &'a [u8]) -> Option<Cow<'a, [u8]>> {
///         match key {
///             [..0x80] => Some(key.into()),
///             [] => Some(vec![0].into()),
///             [first, ..] => Some(vec![first + 1].into()).filter(|_| *first < 0x7f),
///         }
///     }
///     fn seek_lower<'a>(&'a self, key: &'a [u8]) -> Option<Cow<'a, [u8]>> {
///         Some(key.into()) // Need not be tight.
///     }
/// }
///
/// let store = MemoryStore::new();
/// let mut tx = store.begin(&TxOptions::writing())?;
/// for key in [&b"a"[..], b"aa", b"b", &[0x80]] {
///     tx.put(key, b"")?;
/// }
/// let mut walker = Walker::new(KeySpan::FULL, Direction::Forward)?;
/// let mut found = Vec::new();
/// while let Some((key, _)) = walker.step_in(&tx, &Ascii)? {
///     found.push(key.into_owned());
/// }
/// assert_eq!(found, [b"a", b"b"]);
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
pub trait KeyFilter {
    /// Whether `key` is in the set.
    fn contains(&self, key: &[u8]) -> bool;

    /// `key` itself if it is in the set; otherwise some key greater than it below which the set has
    /// nothing from `key` on; none if the set has nothing from `key` on.
    fn seek_higher<'a>(&'a self, key: &'a [u8]) -> Option<Cow<'a, [u8]>>;

    /// Some bound, not above `key`, from which up to `key` (exclusive) the set has nothing; none if
    /// it has nothing below `key`. The bound need not be tight.
    ///
    /// The empty key stands for "no bound" both as argument and as result; it is a result only if
    /// it was the argument.
    fn seek_lower<'a>(&'a self, key: &'a [u8]) -> Option<Cow<'a, [u8]>>;
}

/// The keys in any of some sets; without sets, none.
///
/// ```
/// use permazen_kv::filter::{KeyFilter, Union};
/// use permazen_kv::{KeyRange, KeyRanges};
///
/// let one = KeyRanges::from(KeyRange::with_prefix(b"a"));
/// let two = KeyRanges::from(KeyRange::with_prefix(b"x"));
/// let union = Union(vec![&one, &two]);
/// assert!(union.contains(b"ab") && !union.contains(b"b"));
/// assert_eq!(union.seek_higher(b"b").as_deref(), Some(&b"x"[..]));
/// ```
#[allow(missing_debug_implementations)]
pub struct Union<'f>(pub Vec<&'f dyn KeyFilter>);

/// The keys in all of some sets; without sets, none.
///
/// ```
/// use permazen_kv::filter::{Intersection, KeyFilter};
/// use permazen_kv::{KeyRange, KeyRanges};
///
/// let one = KeyRanges::from(KeyRange::with_prefix(b"a"));
/// let two = KeyRanges::from(KeyRange::new(b"ab", None)?);
/// let both = Intersection(vec![&one, &two]);
/// assert!(both.contains(b"abc") && !both.contains(b"aa") && !both.contains(b"b"));
/// assert_eq!(both.seek_higher(b"a").as_deref(), Some(&b"ab"[..]));
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
#[allow(missing_debug_implementations)]
pub struct Intersection<'f>(pub Vec<&'f dyn KeyFilter>);

/// Orders bounds of which the empty one is the greatest.
fn upper(bound: &[u8]) -> (bool, &[u8]) {
    (bound.is_empty(), bound)
}

impl KeyFilter for Union<'_> {
    fn contains(&self, key: &[u8]) -> bool {
        self.0.iter().any(|filter| filter.contains(key))
    }

    fn seek_higher<'a>(&'a self, key: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        self.0.iter().filter_map(|filter| filter.seek_higher(key)).min()
    }

    fn seek_lower<'a>(&'a self, key: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let bounds = self.0.iter().filter_map(|filter| filter.seek_lower(key));
        bounds.max_by(|a, b| upper(a).cmp(&upper(b)))
    }
}

impl KeyFilter for Intersection<'_> {
    fn contains(&self, key: &[u8]) -> bool {
        !self.0.is_empty() && self.0.iter().all(|filter| filter.contains(key))
    }

    fn seek_higher<'a>(&'a self, key: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let bounds: Option<Vec<_>> = self.0.iter().map(|filter| filter.seek_higher(key)).collect();
        bounds?.into_iter().max()
    }

    fn seek_lower<'a>(&'a self, key: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let bounds: Option<Vec<_>> = self.0.iter().map(|filter| filter.seek_lower(key)).collect();
        bounds?.into_iter().min_by(|a, b| upper(a).cmp(&upper(b)))
    }
}
