//! Half-open key spans.

/// The keys from `min` (inclusive) to `max` (exclusive); no `max` means "to the end".
///
/// A borrowed, unchecked pair of bounds as scans and range removals take them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeySpan<'k> {
    /// Smallest key of the span; the empty key is the smallest of all keys.
    pub min: &'k [u8],
    /// First key after the span.
    pub max: Option<&'k [u8]>,
}

impl<'k> KeySpan<'k> {
    /// Every key.
    pub const FULL: KeySpan<'static> = KeySpan { min: &[], max: None };

    /// The keys in `[min, max)`.
    pub fn new(min: &'k [u8], max: Option<&'k [u8]>) -> Self {
        KeySpan { min, max }
    }
}
