//! The first of several things, and how many there are.

/// How many objects and references of each kind are listed.
const LISTED: usize = 1000;

/// The first of several, at most 1,000, and how many there are.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed<T> {
    /// The first ones.
    pub first: Vec<T>,
    /// How many there are in all.
    pub count: u64,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Listed { first: Vec::new(), count: 0 }
    }
}

impl<T> Listed<T> {
    pub(super) fn push(&mut self, item: impl FnOnce() -> T) {
        self.count += 1;
        if self.first.len() < LISTED {
            self.first.push(item());
        }
    }
}
