//! The tree of the pairs, as a read-only transaction sees it: searches in the pages that LMDB has
//! mapped. LMDB's own search costs several times as much, and only one thread at a time may use a
//! transaction for it.
//!
//! The file may be damaged. So nothing is read outside the pages that the file has, and bytes that
//! LMDB does not write give [`Spot::Unexpected`].

use std::cmp::Ordering;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering as Memory};
use std::{ptr, slice};

use super::file::problem_of_page;
use super::page::{HEAD, InLeaf, LmdbPage, overflow_count};
use super::tree_record::{self, MAX_DEPTH, TreeRecord};

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
    /// The level of the leaves; that of the root is 1.
    depth: u16,
    /// The pages that were checked as a whole, if each is to be checked before it is used.
    checked: Option<Checked>,
    /// The first defect that was found.
    problem: OnceLock<String>,
}

/// Pages that were checked, a bit for each.
#[derive(Debug)]
struct Checked(Box<[AtomicU64]>);

impl Checked {
    fn none_of(pages: u64) -> Self {
        // Without words, no page is known to be checked, and each is checked whenever it is used.
        let words = usize::try_from(pages.div_ceil(64)).unwrap_or(0);
        Checked((0..words).map(|_| AtomicU64::new(0)).collect())
    }

    fn word(&self, number: u64) -> Option<&AtomicU64> {
        self.0.get(usize::try_from(number / 64).ok()?)
    }

    #[inline]
    fn has(&self, number: u64) -> bool {
        self.word(number).is_some_and(|word| word.load(Memory::Relaxed) & 1 << (number % 64) != 0)
    }

    fn add(&self, number: u64) {
        if let Some(word) = self.word(number) {
            word.fetch_or(1 << (number % 64), Memory::Relaxed);
        }
    }
}

/// Where a search has ended.
#[derive(Clone, Copy)]
pub(super) enum Spot<'t> {
    /// At this pair of a leaf.
    At(LmdbPage<'t>, usize),
    /// There is no such pair.
    Nowhere,
    /// At a page that is not as expected.
    Unexpected,
}

/// The key that a search wants, without the byte before it that it has in a page.
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
        page: LmdbPage<'_>,
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

/// A branch on the way to a leaf.
#[derive(Clone, Copy)]
struct Fork<'t> {
    branch: LmdbPage<'t>,
    /// The node that was taken.
    taken: usize,
    level: u16,
}

/// The result of a descent from the root to the leaf where a key is, or would be.
struct Descent<'t> {
    leaf: LmdbPage<'t>,
    /// The first pair of the leaf that is not before the key.
    at: usize,
    /// The lowest branch on the way in which a page follows the one that was taken.
    left_of_next: Option<Fork<'t>>,
    /// The lowest branch on the way in which a page comes before the one that was taken.
    right_of_last: Option<Fork<'t>>,
    /// If pages are checked: the lower bound of the second of these branches, and the upper bound
    /// of the first.
    outer: Bounds<'t>,
}

/// The keys of a page are not less than the first of these, and less than the second one.
type Bounds<'t> = (Option<&'t [u8]>, Option<&'t [u8]>);

/// The end of a page that a search wants.
#[derive(Clone, Copy)]
enum Outer {
    First,
    Last,
}

impl Tree {
    /// The tree with this record; `None` if its keys are not ordered as usual, or if it cannot be
    /// right. If `is_checked`, each page is checked as a whole when it is used first.
    ///
    /// # Safety
    /// A read-only transaction must have returned `record`, and the tree is used only while that is
    /// open. [`readable_pages`](super::page::readable_pages) must have returned `page_len` for its
    /// environment. There are at least `pages` pages in its map, and in its file. Before the tree
    /// is used, the caller makes sure that it [begins](Tree::start) where the map does, because
    /// that depends on what a page says of itself.
    #[allow(unsafe_code)]
    pub(super) unsafe fn new(
        record: &[u8],
        page_len: usize,
        pages: u64,
        is_checked: bool,
    ) -> Option<Tree> {
        let of_tree = TreeRecord::read(record, 0)?;
        if record.len() != tree_record::LEN || of_tree.flags != 0 {
            return None;
        }
        let address = record.as_ptr().expose_provenance();
        let place = address & !(page_len - 1);
        // SAFETY: A read-only transaction returns values as they are in the memory map. There,
        // pages begin at multiples of their length, and a page with values of an open transaction
        // does not change.
        let bytes = unsafe { slice::from_raw_parts(ptr::with_exposed_provenance(place), page_len) };
        let page = LmdbPage::parse(bytes).ok()?;
        if !(META_PAGES..pages).contains(&page.number()) {
            return None;
        }
        let number = usize::try_from(page.number()).ok()?;
        let start = place.checked_sub(number.checked_mul(page_len)?)?;
        let (root, depth) = (of_tree.root(), of_tree.depth.min(MAX_DEPTH));
        let checked = is_checked.then(|| Checked::none_of(pages));
        let problem = OnceLock::new();
        page.is_leaf.then_some(Tree { start, page_len, pages, root, depth, checked, problem })
    }

    /// The same tree, of which only the first pages can be read.
    #[cfg(test)]
    pub(super) fn limited(self, pages: u64) -> Tree {
        Tree { pages: self.pages.min(pages), ..self }
    }

    /// The address at which the map begins, computed from the arguments of `new`.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// The defect of the tree, after something was not as expected.
    pub(super) fn problem(&self) -> &str {
        self.problem.get().map_or("an entry of a page of the pairs is not within it", |known| known)
    }

    /// Notes a defect.
    #[cold]
    fn wrong<T>(&self, problem: impl FnOnce() -> String) -> Option<T> {
        self.problem.get_or_init(problem);
        None
    }

    /// Notes that the tree leads to pages that the file does not have.
    #[cold]
    fn outside<T>(&self, number: u64, pages: u64) -> Option<T> {
        let last = number.saturating_add(pages).saturating_sub(1);
        let end = self.pages.saturating_sub(1);
        self.wrong(|| format!("it leads to page {last}, where pages {META_PAGES} to {end} can be"))
    }

    /// The first `len` bytes of a page and the pages after it. The file must have these pages.
    #[inline(always)]
    fn bytes(&self, number: u64, len: usize) -> &[u8] {
        #[allow(clippy::cast_possible_truncation, reason = "`readable_pages` demands 64 bits")]
        let place = self.start + number as usize * self.page_len;
        // SAFETY: The map and the file have these pages, as `new` demands, and as each caller has
        // made sure. Pages of the tree of an open transaction do not change. In a damaged file, the
        // tree can lead to another page. A page that a commit writes meanwhile may change while it
        // is read; LMDB would read it in the same way, and with any bytes in it, reading it stays
        // inside it.
        #[allow(unsafe_code)]
        unsafe {
            slice::from_raw_parts(ptr::with_exposed_provenance(place), len)
        }
    }

    #[inline(always)]
    fn page<const CHECKED: bool>(&self, number: u64) -> Option<LmdbPage<'_>> {
        if number >= self.pages || number < META_PAGES {
            return self.outside(number, 1);
        }
        let bytes = self.bytes(number, self.page_len);
        match LmdbPage::parse(bytes) {
            Ok(page) if page.number() == number && (!CHECKED || self.was_checked(number)) => {
                Some(page)
            }
            _ => self.look_closer(number, bytes),
        }
    }

    fn was_checked(&self, number: u64) -> bool {
        self.checked.as_ref().is_none_or(|checked| checked.has(number))
    }

    /// The page, if there is nothing wrong with it.
    #[cold]
    fn look_closer<'t>(&'t self, number: u64, bytes: &'t [u8]) -> Option<LmdbPage<'t>> {
        if let Some(problem) = problem_of_page(bytes, number) {
            return self.wrong(|| problem);
        }
        if let Some(checked) = &self.checked {
            checked.add(number);
        }
        LmdbPage::parse(bytes).ok()
    }

    /// Notes that a page is at a level where it cannot be.
    #[cold]
    fn wrong_level<T>(&self, page: LmdbPage<'_>, level: u16) -> Option<T> {
        self.wrong(|| {
            let kind = if page.is_leaf { "leaf" } else { "branch" };
            format!("page {} is a {kind} at depth {level} of {}", page.number(), self.depth)
        })
    }

    /// Whether the keys of a leaf are within the bounds.
    fn is_within(&self, leaf: LmdbPage<'_>, (low, high): Bounds<'_>) -> Option<()> {
        let (first, last) = (leaf.stored_key(0)?, leaf.stored_key(leaf.count() - 1)?);
        if low.is_none_or(|low| first >= low) && high.is_none_or(|high| last < high) {
            return Some(());
        }
        self.wrong(|| format!("page {} has keys that belong elsewhere", leaf.number()))
    }

    /// The leaf where a key is or would be, and its first pair that is not before the key. `pass`
    /// gets each branch on the way, and, if pages are checked, its bounds.
    #[inline(always)]
    fn descend<'t, const CHECKED: bool>(
        &'t self,
        root: u64,
        wanted: Wanted<'_>,
        mut pass: impl FnMut(Fork<'t>, Bounds<'t>),
    ) -> Option<(LmdbPage<'t>, usize)> {
        let (mut low, mut high) = (None, None);
        let mut page = self.page::<CHECKED>(root)?;
        let mut level = 1;
        while !page.is_leaf {
            if level >= self.depth {
                return self.wrong_level(page, level);
            }
            // The key of the first node counts as less than all others.
            let next = wanted.search(page, 1, Ordering::is_le)?;
            let taken = next - 1;
            pass(Fork { branch: page, taken, level }, (low, high));
            if CHECKED {
                high = page.stored_key(next).filter(|_| next < page.count()).or(high);
                low = page.stored_key(taken).filter(|_| taken > 0).or(low);
            }
            page = self.page::<CHECKED>(page.child(taken)?)?;
            level += 1;
        }
        if level != self.depth {
            return self.wrong_level(page, level);
        }
        let at = wanted.search(page, 0, Ordering::is_lt)?;
        if CHECKED {
            self.is_within(page, (low, high))?;
        }
        Some((page, at))
    }

    #[inline(always)]
    fn find_with<'t, const CHECKED: bool>(
        &'t self,
        root: u64,
        wanted: Wanted<'_>,
    ) -> Option<Descent<'t>> {
        let (mut left_of_next, mut right_of_last, mut outer) = (None, None, (None, None));
        let (leaf, at) = self.descend::<CHECKED>(root, wanted, |fork, (low, high)| {
            if fork.taken + 1 < fork.branch.count() {
                left_of_next = Some(fork);
                outer.1 = high;
            }
            if fork.taken > 0 {
                right_of_last = Some(fork);
                outer.0 = low;
            }
        })?;
        Some(Descent { leaf, at, left_of_next, right_of_last, outer })
    }

    #[inline(always)]
    fn find(&self, root: u64, wanted: Wanted<'_>) -> Option<Descent<'_>> {
        match self.checked {
            None => self.find_with::<false>(root, wanted),
            Some(_) => self.find_checked(root, wanted),
        }
    }

    #[cold]
    fn find_checked(&self, root: u64, wanted: Wanted<'_>) -> Option<Descent<'_>> {
        self.find_with::<true>(root, wanted)
    }

    /// The outermost leaf below a page at a level.
    fn outermost<'t>(
        &'t self,
        at: (u64, u16),
        bounds: Bounds<'t>,
        outer: Outer,
    ) -> Option<LmdbPage<'t>> {
        match self.checked {
            None => self.outermost_with::<false>(at, bounds, outer),
            Some(_) => self.outermost_with::<true>(at, bounds, outer),
        }
    }

    #[inline(always)]
    fn outermost_with<'t, const CHECKED: bool>(
        &'t self,
        (number, mut level): (u64, u16),
        (mut low, mut high): Bounds<'t>,
        outer: Outer,
    ) -> Option<LmdbPage<'t>> {
        let mut page = self.page::<CHECKED>(number)?;
        while !page.is_leaf {
            if level >= self.depth {
                return self.wrong_level(page, level);
            }
            let last = page.count() - 1;
            let taken = match outer {
                Outer::First => 0,
                Outer::Last => last,
            };
            if CHECKED && last > 0 {
                match outer {
                    Outer::First => high = page.stored_key(1),
                    Outer::Last => low = page.stored_key(last),
                }
            }
            page = self.page::<CHECKED>(page.child(taken)?)?;
            level += 1;
        }
        if level != self.depth {
            return self.wrong_level(page, level);
        }
        if CHECKED {
            self.is_within(page, (low, high))?;
        }
        Some(page)
    }

    /// The first pair below a page.
    #[inline]
    fn first_below<'t>(&'t self, at: (u64, u16), bounds: Bounds<'t>) -> Option<Spot<'t>> {
        Some(Spot::At(self.outermost(at, bounds, Outer::First)?, 0))
    }

    /// The last pair below a page.
    #[inline]
    fn last_below<'t>(&'t self, at: (u64, u16), bounds: Bounds<'t>) -> Option<Spot<'t>> {
        let leaf = self.outermost(at, bounds, Outer::Last)?;
        Some(Spot::At(leaf, leaf.count() - 1))
    }

    /// The first pair after the page that was taken at a fork, whose branch has this upper bound.
    fn first_after<'t>(
        &'t self,
        fork: Option<Fork<'t>>,
        high: Option<&'t [u8]>,
    ) -> Option<Spot<'t>> {
        let Some(Fork { branch, taken, level }) = fork else { return Some(Spot::Nowhere) };
        let bounds = match self.checked {
            None => (None, None),
            Some(_) => (branch.stored_key(taken + 1), branch.stored_key(taken + 2).or(high)),
        };
        self.first_below((branch.child(taken + 1)?, level + 1), bounds)
    }

    /// The last pair before the page that was taken at a fork, whose branch has this lower bound.
    fn last_before<'t>(
        &'t self,
        fork: Option<Fork<'t>>,
        low: Option<&'t [u8]>,
    ) -> Option<Spot<'t>> {
        let Some(Fork { branch, taken, level }) = fork else { return Some(Spot::Nowhere) };
        let bounds = match self.checked {
            None => (None, None),
            Some(_) => {
                let before = branch.stored_key(taken - 1).filter(|_| taken > 1);
                (before.or(low), branch.stored_key(taken))
            }
        };
        self.last_below((branch.child(taken - 1)?, level + 1), bounds)
    }

    fn spot<'t>(&'t self, find: impl FnOnce(u64) -> Option<Spot<'t>>) -> Spot<'t> {
        self.root.map_or(Spot::Nowhere, |root| find(root).unwrap_or(Spot::Unexpected))
    }

    /// The pair with a key, which is given without the byte before it.
    #[inline]
    pub(super) fn get(&self, key: &[u8]) -> Spot<'_> {
        let wanted = Wanted::new(key);
        self.spot(|root| {
            let (leaf, at) = match self.checked {
                None => self.descend::<false>(root, wanted, |_, _| {})?,
                Some(_) => self.find_checked(root, wanted).map(|found| (found.leaf, found.at))?,
            };
            if at == leaf.count() {
                return Some(Spot::Nowhere);
            }
            let InLeaf { stored, .. } = leaf.pair(at)?;
            Some(if wanted.is(stored) { Spot::At(leaf, at) } else { Spot::Nowhere })
        })
    }

    /// The value of a pair that is not in its leaf.
    pub(super) fn value_elsewhere(&self, leaf: LmdbPage<'_>, at: usize) -> Option<&[u8]> {
        let node = leaf.node(at)?;
        let (first, len) = (node.overflow()?, node.value_len() as usize);
        let all = HEAD.checked_add(len)?;
        let pages = all.div_ceil(self.page_len) as u64;
        if first < META_PAGES || pages > self.pages || first > self.pages - pages {
            return self.outside(first, pages);
        }
        let found = overflow_count(self.bytes(first, HEAD), first);
        if found.is_none_or(|found| found < pages) {
            return self.wrong(|| {
                format!(
                    "page {first} does not begin the {len} bytes that page {} refers to",
                    leaf.number()
                )
            });
        }
        self.bytes(first, all).get(HEAD..)
    }

    /// The first pair with a key that is not less than `min`.
    pub(super) fn at_least(&self, min: &[u8]) -> Spot<'_> {
        if min.is_empty() {
            return self.spot(|root| self.first_below((root, 1), (None, None)));
        }
        self.spot(|root| {
            let found = self.find(root, Wanted::new(min))?;
            let Descent { leaf, at, .. } = found;
            if at < leaf.count() {
                return Some(Spot::At(leaf, at));
            }
            self.first_after(found.left_of_next, found.outer.1)
        })
    }

    /// The last pair with a key that is less than `max`, or the last one of all.
    pub(super) fn before(&self, max: Option<&[u8]>) -> Spot<'_> {
        let Some(max) = max else {
            return self.spot(|root| self.last_below((root, 1), (None, None)));
        };
        self.spot(|root| {
            let found = self.find(root, Wanted::new(max))?;
            let Descent { leaf, at, .. } = found;
            if at > 0 {
                return Some(Spot::At(leaf, at - 1));
            }
            self.last_before(found.right_of_last, found.outer.0)
        })
    }

    /// The first pair of the leaf after the one that has this key last.
    pub(super) fn next_leaf(&self, last: &[u8]) -> Spot<'_> {
        self.spot(|root| {
            let found = self.find(root, Wanted::new(last))?;
            self.first_after(found.left_of_next, found.outer.1)
        })
    }
}
