//! Positions in a text.

/// Where a part of a statement stands in its text: positions of bytes.
///
/// All spans are equal, so that statements are equal if they say the same.
#[derive(Debug, Clone, Copy, Default)]
pub struct Span {
    /// The position of the first byte.
    pub start: usize,
    /// The position after the last byte.
    pub end: usize,
}

impl Span {
    /// The span from `start` up to `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Span { start, end }
    }

    /// The span from the beginning of this one to the end of the other one.
    #[must_use]
    pub fn to(self, other: Span) -> Self {
        Span { start: self.start, end: other.end.max(self.start) }
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Span) -> bool {
        true
    }
}

impl Eq for Span {}
