//! The tree of the pairs, as a read-only transaction sees it: searches in the pages that LMDB has
//! mapped. LMDB's own search costs several times as much, and only one thread at a time may use a
//! transaction for it.
//!
//! What does not look as expected is left to LMDB.

use std::cmp::Ordering;
use std::{ptr, slice};

use super::page::{InLeaf, Page, number_at, u16_at};

/// LMDB itself does not follow trees that are deeper.
const MAX_DEPTH: usize = 32;
/// The length of the record of a tree, the place of its flags, and that of the number of its root.
const RECORD: usize = 48;
const FLAGS: usize = 4;
const ROOT: usize = 40;
/// The root of a tree without pages.
const NO_PAGE: u64 = u64::MAX;
/// The meta pages come first, and are part of no tree.
const META_PAGES: u64 = 2;

/// Where the tree is in memory.
#[derive(Debug)]
pub(super) struct Tree {
    /// The address of page 0.
    start: usize,
    page_len: usize,
    /// How many pages can be read.
    pages: u64,
    /// `None` if the tree is empty.
    root: Option<u64>,
}

/// Where a search has ended.
#[derive(Clone, Copy)]
pub(super) enum Spot<'t> {
    /// At this pair of a leaf.
    At(Page<'t>, usize),
    /// There is no such pair.
    Nowhere,
    /// At a page that is not as expected.
    Unexpected,
}

/// What is looked for: a key, without the byte before it that it has in a page.
#[derive(Clone, Copy)]
struct Wanted<'k> {
    key: &'k [u8],
    /// The first eight bytes, as they are stored.
    head: u64,
}

impl<'k> Wanted<'k> {
    #[inline]
    fn new(key: &'k [u8]) -> Self {
        let mut head = [0; 8];
        match key.first_chunk::<7>() {
            Some(start) => head[1..].copy_from_slice(start),
            None => head.iter_mut().skip(1).zip(key).for_each(|(to, from)| *to = *from),
        }
        Wanted { key, head: u64::from_be_bytes(head) }
    }

    /// How a stored key with these first eight bytes compares with this one, if they decide.
    #[inline]
    fn order_of_head(self, head: u64) -> Option<Ordering> {
        (head != self.head).then(|| head.cmp(&self.head))
    }

    /// How a stored key compares with this one.
    fn order_of(self, stored: &[u8]) -> Ordering {
        match stored.split_first() {
            Some((0, stored)) => stored.cmp(self.key),
            Some(_) => Ordering::Greater,
            None => Ordering::Less,
        }
    }

    /// The first node of a page, from `from` on, that is not `before` this key.
    #[inline]
    fn search(
        self,
        page: Page<'_>,
        from: usize,
        before: impl Fn(Ordering) -> bool,
    ) -> Option<usize> {
        page.partition(
            from,
            |head| self.order_of_head(head).map(&before),
            |stored| before(self.order_of(stored)),
        )
    }

    /// Whether this is a stored key.
    #[inline]
    fn is(self, stored: &[u8]) -> bool {
        stored.split_first().is_some_and(|(first, stored)| *first == 0 && stored == self.key)
    }
}

/// Where a key is, or would be.
struct Found<'t> {
    leaf: Page<'t>,
    /// The first pair of the leaf that is not before the key.
    at: usize,
    /// The lowest branch on the way in which a page follows the one that was taken, which is given.
    left_of_next: Option<(Page<'t>, usize)>,
    /// The lowest branch on the way in which a page comes before the one that was taken.
    right_of_last: Option<(Page<'t>, usize)>,
}

impl Tree {
    /// The tree with this record, if its keys are ordered as usual.
    ///
    /// # Safety
    /// A read-only transaction must have returned `record`, and the tree is used only while that is
    /// open. [`readable_pages`](super::page::readable_pages) must have returned `page_len` for its
    /// environment. There are at least `pages` pages in its map. Before the tree is used, the caller makes sure
    /// that it [begins](Tree::start) where the map does, because that depends on what a page says of itself.
    #[allow(unsafe_code)]
    pub(super) unsafe fn new(record: &[u8], page_len: usize, pages: u64) -> Option<Tree> {
        if record.len() != RECORD || u16_at(record, FLAGS)? != 0 {
            return None;
        }
        let address = record.as_ptr().expose_provenance();
        let place = address & !(page_len - 1);
        // SAFETY: A read-only transaction returns values as they are in the memory map. There, pages
        // begin at multiples of their length, and a page with values of an open transaction does not
        // change.
        let bytes = unsafe { slice::from_raw_parts(ptr::with_exposed_provenance(place), page_len) };
        let page = Page::parse(bytes)?;
        if !(META_PAGES..pages).contains(&page.number()) {
            return None;
        }
        let number = usize::try_from(page.number()).ok()?;
        let start = place.checked_sub(number.checked_mul(page_len)?)?;
        let root = Some(number_at(record, ROOT)?).filter(|root| *root != NO_PAGE);
        page.is_leaf.then_some(Tree { start, page_len, pages, root })
    }

    /// The tree of which only the first pages can be read.
    #[cfg(test)]
    pub(super) fn limited(self, pages: u64) -> Tree {
        Tree { pages: self.pages.min(pages), ..self }
    }

    /// The address at which the map begins, by what this tree was made of.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    #[inline]
    fn page(&self, number: u64) -> Option<Page<'_>> {
        if number >= self.pages || number < META_PAGES {
            return None;
        }
        #[allow(clippy::cast_possible_truncation, reason = "`readable_pages` demands 64 bits")]
        let place = self.start + number as usize * self.page_len;
        // SAFETY: The map has this page, as `new` demands. A page of the tree of an open transaction does not
        // change, and the file has it. In a damaged file, a branch can name another page; LMDB would read that
        // in the same way.
        #[allow(unsafe_code)]
        let bytes =
            unsafe { slice::from_raw_parts(ptr::with_exposed_provenance(place), self.page_len) };
        Page::parse(bytes).filter(|page| page.number() == number)
    }

    #[inline]
    fn find(&self, root: u64, wanted: Wanted<'_>) -> Option<Found<'_>> {
        let (mut left_of_next, mut right_of_last) = (None, None);
        let mut page = self.page(root)?;
        for _ in 0..MAX_DEPTH {
            if page.is_leaf {
                let at = wanted.search(page, 0, Ordering::is_lt)?;
                return Some(Found { leaf: page, at, left_of_next, right_of_last });
            }
            // The key of the first node counts as less than all others.
            let next = wanted.search(page, 1, Ordering::is_le)?;
            let taken = next - 1;
            if next < page.count() {
                left_of_next = Some((page, taken));
            }
            if taken > 0 {
                right_of_last = Some((page, taken));
            }
            page = self.page(page.child(taken)?)?;
        }
        None
    }

    /// The outermost leaf below a page.
    fn outermost(&self, number: u64, node: impl Fn(Page<'_>) -> usize) -> Option<Page<'_>> {
        let mut page = self.page(number)?;
        for _ in 0..MAX_DEPTH {
            if page.is_leaf {
                return Some(page);
            }
            page = self.page(page.child(node(page))?)?;
        }
        None
    }

    #[inline]
    fn first_below(&self, number: u64) -> Option<Spot<'_>> {
        Some(Spot::At(self.outermost(number, |_| 0)?, 0))
    }

    #[inline]
    fn last_below(&self, number: u64) -> Option<Spot<'_>> {
        let leaf = self.outermost(number, |page| page.count() - 1)?;
        Some(Spot::At(leaf, leaf.count() - 1))
    }

    fn spot<'t>(&'t self, find: impl FnOnce(u64) -> Option<Spot<'t>>) -> Spot<'t> {
        self.root.map_or(Spot::Nowhere, |root| find(root).unwrap_or(Spot::Unexpected))
    }

    /// The pair with a key, which is given without the byte before it.
    #[inline]
    pub(super) fn get(&self, key: &[u8]) -> Spot<'_> {
        let wanted = Wanted::new(key);
        self.spot(|root| {
            let Found { leaf, at, .. } = self.find(root, wanted)?;
            if at == leaf.count() {
                return Some(Spot::Nowhere);
            }
            let InLeaf { stored, .. } = leaf.pair(at)?;
            Some(if wanted.is(stored) { Spot::At(leaf, at) } else { Spot::Nowhere })
        })
    }

    /// The first pair with a key that is not less than `min`.
    pub(super) fn at_least(&self, min: &[u8]) -> Spot<'_> {
        if min.is_empty() {
            return self.spot(|root| self.first_below(root));
        }
        self.spot(|root| {
            let Found { leaf, at, left_of_next, .. } = self.find(root, Wanted::new(min))?;
            if at < leaf.count() {
                return Some(Spot::At(leaf, at));
            }
            match left_of_next {
                Some((branch, taken)) => self.first_below(branch.child(taken + 1)?),
                None => Some(Spot::Nowhere),
            }
        })
    }

    /// The last pair with a key that is less than `max`, or the last one of all.
    pub(super) fn before(&self, max: Option<&[u8]>) -> Spot<'_> {
        let Some(max) = max else { return self.spot(|root| self.last_below(root)) };
        self.spot(|root| {
            let Found { leaf, at, right_of_last, .. } = self.find(root, Wanted::new(max))?;
            if at > 0 {
                return Some(Spot::At(leaf, at - 1));
            }
            match right_of_last {
                Some((branch, taken)) => self.last_below(branch.child(taken - 1)?),
                None => Some(Spot::Nowhere),
            }
        })
    }

    /// The first pair of the leaf after the one that has this key last.
    pub(super) fn next_leaf(&self, last: &[u8]) -> Spot<'_> {
        self.spot(|root| match self.find(root, Wanted::new(last))?.left_of_next {
            Some((branch, taken)) => self.first_below(branch.child(taken + 1)?),
            None => Some(Spot::Nowhere),
        })
    }
}
