//! Half-open key spans.

use std::fmt;

use crate::{KvError, Result};

/// The keys from `min` (inclusive) to `max` (exclusive). Without a `max`, the keys to the end.
///
/// A borrowed pair of bounds for scans and range removals. The bounds are not checked.
///
/// ```
/// use permazen_kv::KeySpan;
///
/// let span = KeySpan::new(b"a", Some(b"c"));
/// assert!(span.contains(b"bcd") && !span.contains(b"c"));
/// assert_eq!(span.to_string(), "[61,63)");
/// // The bounds are not checked: each method that takes a span decides what reversed bounds mean.
/// assert!(KeySpan::new(b"c", Some(b"a")).check().is_err());
/// ```
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

    /// Whether `key` is in the span.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.min <= key && self.max.is_none_or(|max| key < max)
    }

    /// Whether the span can contain no key.
    pub fn is_empty(&self) -> bool {
        self.max.is_some_and(|max| self.min >= max)
    }

    /// Whether the span contains every key.
    pub fn is_full(&self) -> bool {
        self.min.is_empty() && self.max.is_none()
    }

    /// Whether this is the span that contains `min` alone.
    pub fn is_single_key(&self) -> bool {
        self.max.is_some_and(|max| {
            max.split_last().is_some_and(|(last, head)| *last == 0 && head == self.min)
        })
    }

    /// Whether this is the span of every key that starts with `min`.
    fn is_prefix(&self) -> bool {
        let stem = match self.min.iter().rposition(|byte| *byte != 0xff) {
            Some(at) => &self.min[..=at],
            None => return self.max.is_none(),
        };
        self.max.is_some_and(|max| match (stem.split_last(), max.split_last()) {
            (Some((low, head)), Some((high, other))) => head == other && low + 1 == *high,
            _ => false,
        })
    }

    /// Checks that the bounds are in order.
    ///
    /// # Errors
    /// [`KvError::InvalidArgument`] if `min > max`.
    pub fn check(&self) -> Result<()> {
        match self.max {
            Some(max) if self.min > max => Err(KvError::InvalidArgument(format!(
                "key span with its bounds reversed: {} > {}",
                Hex(self.min),
                Hex(max)
            ))),
            _ => Ok(()),
        }
    }
}

/// `[01]` for a single key, `[01*]` for a prefix, `[01,)` without an end, `[01,02)` otherwise.
impl fmt::Display for KeySpan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_single_key() {
            write!(f, "[{}]", Hex(self.min))
        } else if self.is_prefix() {
            write!(f, "[{}*]", Hex(self.min))
        } else if let Some(max) = self.max {
            write!(f, "[{},{})", Hex(self.min), Hex(max))
        } else {
            write!(f, "[{},)", Hex(self.min))
        }
    }
}

/// Bytes shown as lower-case hexadecimal digits.
///
/// ```
/// assert_eq!(permazen_kv::Hex(&[0x01, 0xab]).to_string(), "01ab");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Hex<'b>(pub &'b [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_follows_the_shape_of_the_span() {
        let text = |min: &[u8], max: Option<&[u8]>| KeySpan::new(min, max).to_string();
        assert_eq!(text(&[1], Some(&[1, 0])), "[01]");
        assert_eq!(text(&[1], Some(&[2])), "[01*]");
        assert_eq!(text(&[0x12, 0xff], Some(&[0x13])), "[12ff*]");
        assert_eq!(text(&[1], None), "[01,)");
        assert_eq!(text(&[1], Some(&[1, 5])), "[01,0105)");
        assert_eq!(text(&[], None), "[*]");
        assert_eq!(text(&[0xff], None), "[ff*]");
        assert_eq!(text(&[5], Some(&[5])), "[05,05)");
    }

    #[test]
    fn bounds_in_the_wrong_order_are_refused() {
        assert!(KeySpan::new(&[2], Some(&[1])).check().is_err());
        assert!(KeySpan::new(&[2], Some(&[2])).check().is_ok());
        assert!(KeySpan::new(&[2], Some(&[])).check().is_err());
    }
}
