//! Sets of keys that can be skipped through (kv §7.3).

use std::borrow::Cow;

/// A set of keys that also tells where to look next.
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
#[allow(missing_debug_implementations)]
pub struct Union<'f>(pub Vec<&'f dyn KeyFilter>);

/// The keys in all of some sets; without sets, none.
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
