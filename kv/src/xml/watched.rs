//! Reads of a content that report their progress to a watch.

use std::cell::RefCell;

use crate::contract::pass_on::pass_on;
use crate::copy::Watch;
use crate::{Direction, KeySpan, KvRead, Result, Scan};

/// A content. Its scans tell a watch how far they are.
pub(super) struct Watched<'r, 'w> {
    content: &'r dyn KvRead,
    watch: RefCell<&'r mut Watch<'w>>,
}

impl<'r, 'w> Watched<'r, 'w> {
    pub(super) fn new(content: &'r dyn KvRead, watch: &'r mut Watch<'w>) -> Self {
        Watched { content, watch: RefCell::new(watch) }
    }
}

impl KvRead for Watched<'_, '_> {
    pass_on!(self => self.content; get, LIMITS);

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        let pairs = self.content.scan(span, direction)?;
        Ok(Box::new(pairs.map(|pair| {
            let (key, value) = pair?;
            self.watch.borrow_mut().copied(1, (key.len() + value.len()) as u64)?;
            Ok((key, value))
        })))
    }
}
