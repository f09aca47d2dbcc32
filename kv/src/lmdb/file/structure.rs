//! The structure of a data file, followed page by page without LMDB.
//!
//! LMDB trusts the bytes that it finds in the file. A damaged page can make it read outside the
//! file or the page, which ends the process. So this reads the pages in the ordinary way and checks
//! them before LMDB uses them. LMDB can read and write a file that passes. It is not known whether
//! the keys and values are the ones that were once stored, because LMDB keeps no checksums.
//!
//! Other named databases of the environment are followed as well, except for the order of their
//! keys, which may be any. A database whose keys can have several values (`MDB_DUPSORT`) has pages
//! of other kinds and is skipped: its pages count neither as used nor as missing.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use super::page::{WholePage, overflow_pages};
use crate::Hex;
use crate::lmdb::page::{HEAD, Node, number_at, overflow_count};
use crate::lmdb::tree_record::{self, MAX_DEPTH, TreeRecord};

/// The check stops after this many problems.
const MAX_PROBLEMS: usize = 100;
/// The flag of trees whose keys are numbers of eight bytes.
const INTEGER_KEY: u16 = 0x08;
/// The flags that only a database with several values for a key can have.
const OF_DUPSORT: u16 = 0x70;
/// The names of the flags that other programs may choose for their databases.
const CHOSEN: [(u16, &str); 6] = [
    (0x02, "MDB_REVERSEKEY"),
    (DUPSORT, "MDB_DUPSORT"),
    (INTEGER_KEY, "MDB_INTEGERKEY"),
    (0x10, "MDB_DUPFIXED"),
    (0x20, "MDB_INTEGERDUP"),
    (0x40, "MDB_REVERSEDUP"),
];
/// The flag of trees whose keys can have several values.
const DUPSORT: u16 = 0x04;

/// The records of named databases, with their names.
pub(super) type Databases = Vec<(Vec<u8>, TreeRecord)>;

/// The content of a tree. It decides which nodes the tree may have.
enum Content {
    /// The pairs.
    Pairs,
    /// The pairs of other software, in an order of its own.
    OtherPairs,
    /// The records of named databases.
    Databases(Databases),
    /// For each transaction, the pages that it has freed.
    Free { last_txn: u64 },
}

/// One walk through a tree.
struct Walk<'w> {
    what: &'w str,
    content: Content,
    tree: TreeRecord,
    branch: u64,
    leaf: u64,
    overflow: u64,
    entries: u64,
    last_key: Option<Vec<u8>>,
}

/// The file, and the pages that were seen.
pub(super) struct Structure<'f> {
    file: &'f File,
    page_len: u64,
    /// How many pages the file has.
    pages: u64,
    /// The last page that may be used.
    last_page: u64,
    used: PageSet,
    free: PageSet,
    problems: Vec<String>,
}

impl<'f> Structure<'f> {
    /// `len` is the length of the file. `last_page` is the last used page according to its meta
    /// page.
    pub(super) fn new(file: &'f File, page_len: u64, len: u64, last_page: u64) -> Self {
        Structure {
            file,
            page_len,
            pages: len / page_len.max(1),
            last_page,
            used: PageSet::default(),
            free: PageSet::default(),
            problems: Vec::new(),
        }
    }

    /// The problems, in the order in which they were found.
    pub(super) fn problems(self) -> Vec<String> {
        self.problems
    }

    /// Walks through the records of databases.
    pub(super) fn databases(&mut self, tree: TreeRecord) -> io::Result<Databases> {
        match self.walk("the list of databases", tree, Content::Databases(Vec::new()))? {
            Content::Databases(found) => Ok(found),
            _ => Ok(Vec::new()),
        }
    }

    /// Checks only the first page of the tree of pairs.
    pub(super) fn root_of_pairs(&mut self, tree: TreeRecord) -> io::Result<()> {
        self.check_flags("the pairs", tree, 0);
        if let Some(root) = self.root("the pairs", tree)
            && let Some(bytes) = self.load(root, "the pairs")?
            && let Err(problem) = WholePage::read(&bytes, root)
        {
            self.wrong(problem);
        }
        Ok(())
    }

    /// Walks through all pairs.
    pub(super) fn pairs(&mut self, tree: TreeRecord) -> io::Result<()> {
        self.check_flags("the pairs", tree, 0);
        self.walk("the pairs", tree, Content::Pairs).map(drop)
    }

    /// Walks through a database that does not contain the pairs.
    pub(super) fn other(&mut self, name: &[u8], tree: TreeRecord) -> io::Result<()> {
        let what = format!("the database {:?}", String::from_utf8_lossy(name));
        if tree.flags & DUPSORT != 0 {
            tracing::debug!("{what} can have several values for a key; its pages are not checked");
            return Ok(());
        }
        self.walk(&what, tree, Content::OtherPairs).map(drop)
    }

    /// Walks through the lists of free pages. Call it after the other walks.
    pub(super) fn free_pages(&mut self, tree: TreeRecord, last_txn: u64) -> io::Result<()> {
        self.walk("the free pages", tree, Content::Free { last_txn })?;
        for page in self.pages..=self.last_page {
            if !self.free.contains(page) {
                self.wrong(format!("page {page} is neither in the file nor free"));
                break;
            }
        }
        Ok(())
    }

    fn check_flags(&mut self, what: &str, tree: TreeRecord, expected: u16) {
        if tree.flags != expected {
            self.wrong(format!("{what} are recorded with flags {:#x}", tree.flags));
        }
    }

    /// The first page of a tree, if it has one. Its record must agree.
    fn root(&mut self, what: &str, tree: TreeRecord) -> Option<u64> {
        let TreeRecord { depth, branch, leaf, overflow, entries, .. } = tree;
        let Some(root) = tree.root() else {
            if depth != 0 || [branch, leaf, overflow, entries] != [0; 4] {
                self.wrong(format!(
                    "{what}: recorded without a first page, but as {depth} pages deep with {entries} \
                     entries on {branch} branch, {leaf} leaf and {overflow} overflow pages"
                ));
            }
            return None;
        };
        let fits = (1..=MAX_DEPTH).contains(&depth);
        if !fits {
            self.wrong(format!(
                "{what}: recorded as {depth} pages deep, beginning with page {root}"
            ));
        }
        fits.then_some(root)
    }

    fn wrong(&mut self, problem: String) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }

    fn walk(&mut self, what: &str, tree: TreeRecord, content: Content) -> io::Result<Content> {
        let mut walk = Walk {
            what,
            content,
            tree,
            branch: 0,
            leaf: 0,
            overflow: 0,
            entries: 0,
            last_key: None,
        };
        let before = self.problems.len();
        if let Some(root) = self.root(what, tree) {
            self.page(&mut walk, root, 1, (None, None))?;
        }
        // Pages that a problem made unreachable were not counted, so the sums say nothing then.
        if self.problems.len() == before {
            for (of, found, recorded) in [
                ("entries", walk.entries, tree.entries),
                ("branch pages", walk.branch, tree.branch),
                ("leaf pages", walk.leaf, tree.leaf),
                ("overflow pages", walk.overflow, tree.overflow),
            ] {
                if found != recorded {
                    self.wrong(format!("{what}: {found} {of} where {recorded} are recorded"));
                }
            }
        }
        Ok(walk.content)
    }

    /// Reads a page, which must not have been seen before.
    fn load(&mut self, number: u64, what: &str) -> io::Result<Option<Vec<u8>>> {
        if !self.claim(number, 1, what) {
            return Ok(None);
        }
        self.read(number, self.page_len).map(Some)
    }

    /// The first bytes of a page, which need not be in the file.
    pub(super) fn read(&self, page: u64, len: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(len).map_err(io::Error::other)?];
        let mut file = self.file;
        file.seek(SeekFrom::Start(page.saturating_mul(self.page_len)))?;
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Notes that pages are used. Returns false if they cannot be used.
    fn claim(&mut self, first: u64, count: u64, what: &str) -> bool {
        let last = first.saturating_add(count - 1);
        if first < 2 || last > self.last_page {
            self.wrong(format!(
                "{what}: page {last} is recorded, where pages 2 to {} can be",
                self.last_page
            ));
            return false;
        }
        if last >= self.pages {
            self.wrong(format!("{what}: page {last} is recorded, and the file ends before it"));
            return false;
        }
        for page in first..=last {
            if self.free.contains(page) {
                self.wrong(format!("page {page} is in use and free"));
                return false;
            }
            if !self.used.insert(page) {
                self.wrong(format!("page {page} is used twice, at last for {what}"));
                return false;
            }
        }
        true
    }

    /// Checks a page and all pages below it. Their keys must be within the bounds.
    fn page(
        &mut self,
        walk: &mut Walk<'_>,
        number: u64,
        level: u16,
        (low, high): (Option<&[u8]>, Option<&[u8]>),
    ) -> io::Result<()> {
        // Enough problems were found.
        if self.problems.len() == MAX_PROBLEMS {
            return Ok(());
        }
        let Some(bytes) = self.load(number, walk.what)? else { return Ok(()) };
        let page = match WholePage::read(&bytes, number) {
            Ok(page) => page,
            Err(problem) => {
                self.wrong(format!("{}: {problem}", walk.what));
                return Ok(());
            }
        };
        let is_leaf = page.is_leaf;
        if is_leaf != (level == walk.tree.depth) || level > walk.tree.depth {
            let kind = if is_leaf { "leaf" } else { "branch" };
            let (what, depth) = (walk.what, walk.tree.depth);
            self.wrong(format!("{what}: page {number} is a {kind} at depth {level} of {depth}"));
            return Ok(());
        }
        if is_leaf {
            walk.leaf += 1;
            for node in &page.nodes {
                walk.entries += 1;
                self.key(walk, number, node.key, (low, high));
                self.leaf_node(walk, number, node)?;
            }
            return Ok(());
        }
        walk.branch += 1;
        // LMDB itself leaves such branches in the tree of free pages.
        if page.nodes.len() == 1 && !matches!(walk.content, Content::Free { .. }) {
            self.wrong(format!("{}: branch page {number} has one entry only", walk.what));
        }
        for (at, node) in page.nodes.iter().enumerate() {
            // The first key of a branch is not used: its page has all keys below the second.
            let from = if at == 0 { low } else { Some(node.key) };
            let to = page.nodes.get(at + 1).map(|next| next.key).or(high);
            if at > 0 && !self.key_fits(walk, node.key) {
                self.wrong(format!("{}: page {number} has an impossible key", walk.what));
            }
            self.page(walk, node.child(), level + 1, (from, to))?;
        }
        Ok(())
    }

    /// Checks a key of a leaf against the key before it and the branches above.
    fn key(
        &mut self,
        walk: &mut Walk<'_>,
        page: u64,
        key: &[u8],
        (low, high): (Option<&[u8]>, Option<&[u8]>),
    ) {
        if !self.key_fits(walk, key) {
            self.wrong(format!("{}: page {page} has an impossible key {}", walk.what, Hex(key)));
            return;
        }
        let less = |one: &[u8], other: &[u8]| match walk.content {
            Content::Free { .. } => number_at(one, 0) < number_at(other, 0),
            _ => one < other,
        };
        // The order of these keys is not known.
        if matches!(walk.content, Content::OtherPairs) {
            return;
        }
        let follows = walk.last_key.as_deref().is_none_or(|last| less(last, key));
        let within = low.is_none_or(|low| !less(key, low)) && high.is_none_or(|h| less(key, h));
        if !follows || !within {
            let (what, key) = (walk.what, Hex(key));
            self.wrong(format!("{what}: key {key} on page {page} is out of order"));
        }
        let last = walk.last_key.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
    }

    fn key_fits(&self, walk: &Walk<'_>, key: &[u8]) -> bool {
        match walk.content {
            Content::Free { .. } => key.len() == 8,
            // It may be written by an LMDB that allows longer keys.
            Content::OtherPairs => !key.is_empty(),
            _ => (1..=511).contains(&key.len()),
        }
    }

    fn leaf_node(&mut self, walk: &mut Walk<'_>, page: u64, node: &Node<'_>) -> io::Result<()> {
        let what = walk.what;
        let mut stored = Cow::Borrowed(node.data().unwrap_or_default());
        if let Some(first) = node.overflow() {
            let len = u64::from(node.value_len());
            let wanted = overflow_pages(len, self.page_len);
            if !self.claim(first, 1, what) {
                return Ok(());
            }
            let head = self.read(first, HEAD as u64)?;
            let Some(count) = overflow_count(&head, first).filter(|count| *count >= wanted) else {
                self.wrong(format!(
                    "{what}: page {first} does not begin the {len} bytes that page {page} refers to"
                ));
                return Ok(());
            };
            if count > 1 && !self.claim(first + 1, count - 1, what) {
                return Ok(());
            }
            walk.overflow += count;
            if matches!(walk.content, Content::Free { .. }) {
                stored = Cow::Owned(self.read(first, HEAD as u64 + len)?.split_off(HEAD));
            }
        }
        match &mut walk.content {
            Content::Pairs | Content::OtherPairs if node.is_database() => {
                self.wrong(format!("{what}: page {page} has a database where a value should be"));
            }
            Content::Pairs | Content::OtherPairs => {}
            Content::Databases(found) => {
                let is_record = node.is_database() && stored.len() == tree_record::LEN;
                match TreeRecord::read(&stored, 0).filter(|_| is_record) {
                    Some(record) => found.push((node.key.to_vec(), record)),
                    None if node.is_database() => {
                        self.wrong(format!("{what}: page {page} has a database without a record"));
                    }
                    None => {}
                }
            }
            Content::Free { last_txn } => {
                let txn = number_at(node.key, 0).unwrap_or(0);
                if node.is_database() || txn > *last_txn {
                    self.wrong(format!("{what}: page {page} has pages freed by a commit to come"));
                }
                self.free_list(page, &stored);
            }
        }
        Ok(())
    }

    /// The pages that one transaction has freed: first their number, then the pages.
    fn free_list(&mut self, page: u64, list: &[u8]) {
        let count = number_at(list, 0).unwrap_or(0);
        let room = (list.len() / 8) as u64;
        if !list.len().is_multiple_of(8) || count >= room {
            self.wrong(format!("the free pages: the list on page {page} is longer than it can be"));
            return;
        }
        for (_, free) in (1..=count).zip(list.as_chunks().0.iter().skip(1)) {
            let free = u64::from_ne_bytes(*free);
            if free < 2 || free > self.last_page {
                self.wrong(format!(
                    "the free pages: there is no page {free}, named on page {page}"
                ));
            } else if self.used.contains(free) {
                self.wrong(format!("page {free} is in use and free"));
            } else if !self.free.insert(free) {
                self.wrong(format!("page {free} is free twice"));
            }
        }
    }
}

/// The names of these flags of a database, if another program may have chosen them; `None` if they
/// are the flags of Permazen's databases, or impossible.
pub(super) fn chosen_by_others(flags: u16) -> Option<String> {
    let known = CHOSEN.iter().fold(0, |all, (flag, _)| all | flag);
    let is_possible = flags & !known == 0 && (flags & OF_DUPSORT == 0 || flags & DUPSORT != 0);
    if flags == 0 || !is_possible {
        return None;
    }
    let names = CHOSEN.iter().filter(|(flag, _)| flags & flag != 0).map(|(_, name)| *name);
    Some(names.collect::<Vec<_>>().join(" | "))
}

/// The flags of the tree of free pages. One flag may differ: it says how the environment was
/// opened.
pub(super) fn free_flags_fit(flags: u16) -> bool {
    const NO_SUB_DIRECTORY: u16 = 0x4000;
    flags & !NO_SUB_DIRECTORY == INTEGER_KEY
}

/// A set of page numbers.
#[derive(Default)]
struct PageSet(HashMap<u64, u64>);

impl PageSet {
    /// Returns false if the page was in the set already.
    fn insert(&mut self, page: u64) -> bool {
        let word = self.0.entry(page / 64).or_default();
        let bit = 1 << (page % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    fn contains(&self, page: u64) -> bool {
        self.0.get(&(page / 64)).is_some_and(|word| word & (1 << (page % 64)) != 0)
    }
}
