//! A persistent B+tree: cloning is one reference count, changing copies only the shared path.
//!
//! All leaves have the same depth and no node but an empty root is empty. A node that a snapshot
//! still holds is copied before it is changed; one that nobody else holds is changed in place, so
//! a transaction pays for the copy of a path once.

#[cfg(test)]
mod check;
mod path;

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use self::path::{Ascend, Descend, Path};
use crate::key::head_of;
use crate::{Hex, KvError};

/// Most entries of a leaf and most children of a branch.
const MAX: usize = 48;
/// A node with fewer entries or children than this is merged with a neighbour.
const MIN: usize = MAX / 4;

/// A key that is looked for.
#[derive(Clone, Copy)]
struct Sought<'k> {
    head: u64,
    key: &'k [u8],
}

impl<'k> Sought<'k> {
    fn new(key: &'k [u8]) -> Self {
        Sought { head: head_of(key), key }
    }

    /// How a key with the given head compares with this one.
    fn order_of<'a>(&self, head: u64, key: impl FnOnce() -> &'a [u8]) -> Ordering {
        head.cmp(&self.head).then_with(|| key().cmp(self.key))
    }
}

/// One key with its value; clones share both.
#[derive(Clone)]
pub(super) struct Entry {
    head: u64,
    /// The key, then the value.
    pair: Arc<[u8]>,
    key_len: usize,
}

impl Entry {
    fn new(key: &[u8], value: &[u8]) -> Self {
        let pair = [key, value].concat().into();
        Entry { head: head_of(key), pair, key_len: key.len() }
    }

    pub(super) fn key(&self) -> &[u8] {
        self.pair.get(..self.key_len).unwrap_or_default()
    }

    pub(super) fn value(&self) -> &[u8] {
        self.pair.get(self.key_len..).unwrap_or_default()
    }

    /// Whether neither version of an entry has been written since the other one was.
    pub(super) fn is_same(one: Option<&Entry>, other: Option<&Entry>) -> bool {
        match (one, other) {
            (Some(one), Some(other)) => Arc::ptr_eq(&one.pair, &other.pair),
            (one, other) => one.is_none() && other.is_none(),
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", Hex(self.key()), Hex(self.value()))
    }
}

/// What divides two children of a branch.
#[derive(Debug, Clone)]
struct Separator {
    head: u64,
    key: Arc<[u8]>,
}

impl Separator {
    fn new(key: &[u8]) -> Self {
        Separator { head: head_of(key), key: key.into() }
    }
}

#[derive(Debug, Clone)]
enum Node {
    Leaf(Vec<Entry>),
    Branch(Branch),
}

/// Children in key order; `seps[i]` is greater than every key below `kids[i]` and not greater than
/// any below `kids[i + 1]`.
#[derive(Debug, Clone)]
struct Branch {
    seps: Vec<Separator>,
    kids: Vec<Arc<Node>>,
}

/// An ordered map of byte strings with cheap clones.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    root: Arc<Node>,
    len: usize,
    bytes: usize,
}

/// What a changed node hands up: the right half it had to split off.
type Split = Option<(Separator, Arc<Node>)>;

impl Default for Tree {
    fn default() -> Self {
        Tree { root: Arc::new(Node::Leaf(Vec::new())), len: 0, bytes: 0 }
    }
}

impl Tree {
    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bytes of all keys and values together.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether both are the very same version of the map.
    pub(super) fn same_as(&self, other: &Tree) -> bool {
        Arc::ptr_eq(&self.root, &other.root)
    }

    /// The entry of `key`.
    pub(super) fn get(&self, key: &[u8]) -> Option<&Entry> {
        let mut node = &*self.root;
        let key = Sought::new(key);
        loop {
            match node {
                Node::Leaf(entries) => {
                    return find(entries, key).ok().and_then(|at| entries.get(at));
                }
                Node::Branch(branch) => node = branch.kids.get(branch.child_of(key))?,
            }
        }
    }

    /// The first entry whose key is `min` or greater.
    pub(super) fn at_least(&self, min: &[u8]) -> Option<&Entry> {
        at_least(&self.root, Sought::new(min))
    }

    /// The last entry whose key is less than `max`; without `max` the last of all.
    pub(super) fn below(&self, max: Option<&[u8]>) -> Option<&Entry> {
        match max {
            Some(max) => below(&self.root, Sought::new(max)),
            None => last(&self.root),
        }
    }

    /// Sets the value of `key`.
    ///
    /// # Errors
    /// [`KvError::Store`] if the tree breaks its own rules; nothing was changed then.
    pub(super) fn insert(&mut self, key: &[u8], value: &[u8]) -> crate::Result<()> {
        let (split, old) = insert(Arc::make_mut(&mut self.root), Sought::new(key), value)?;
        match old {
            Some(old) => self.bytes -= old.value().len(),
            None => {
                self.len += 1;
                self.bytes += key.len();
            }
        }
        self.bytes += value.len();
        if let Some((sep, right)) = split {
            let left = std::mem::replace(&mut self.root, Arc::new(Node::Leaf(Vec::new())));
            self.root = Arc::new(Node::Branch(Branch { seps: vec![sep], kids: vec![left, right] }));
        }
        Ok(())
    }

    /// Removes `key`, if there.
    pub(super) fn remove(&mut self, key: &[u8]) {
        if self.get(key).is_some() {
            let mut removed = Removed::default();
            remove_one(Arc::make_mut(&mut self.root), Sought::new(key), &mut removed);
            self.settle(removed);
        }
    }

    /// Removes the keys of `[min, max)`.
    pub(super) fn remove_range(&mut self, min: &[u8], max: Option<&[u8]>) {
        match self.at_least(min) {
            Some(first) if max.is_none_or(|max| first.key() < max) => {}
            _ => return,
        }
        let mut removed = Removed::default();
        let (min, max) = (Sought::new(min), max.map(Sought::new));
        remove_range(Arc::make_mut(&mut self.root), min, max, &mut removed);
        self.settle(removed);
    }

    /// Takes account of what was removed and drops levels that have become a single path.
    fn settle(&mut self, removed: Removed) {
        self.len -= removed.len;
        self.bytes -= removed.bytes;
        loop {
            let below = match &*self.root {
                Node::Branch(branch) if branch.kids.len() <= 1 => branch.kids.first().cloned(),
                _ => return,
            };
            self.root = below.unwrap_or_else(|| Arc::new(Node::Leaf(Vec::new())));
        }
    }

    /// The entries of `[min, max)`, ascending.
    pub(super) fn ascend(&self, min: &[u8], max: Option<&[u8]>) -> Ascend<'_> {
        let end = max.and_then(|max| self.at_least(max));
        Ascend { path: Path::seek(&self.root, min), end }
    }

    /// The entries of `[min, max)`, descending.
    pub(super) fn descend(&self, min: &[u8], max: Option<&[u8]>) -> Descend<'_> {
        let end = if min.is_empty() { None } else { self.below(Some(min)) };
        let path = match max {
            Some(max) => Path::seek(&self.root, max),
            None => Path::end(&self.root),
        };
        Descend { path, end }
    }
}

#[derive(Default)]
struct Removed {
    len: usize,
    bytes: usize,
}

impl Removed {
    fn count(&mut self, entries: &[Entry]) {
        self.len += entries.len();
        self.bytes += entries.iter().map(|entry| entry.pair.len()).sum::<usize>();
    }

    fn count_all(&mut self, node: &Node) {
        match node {
            Node::Leaf(entries) => self.count(entries),
            Node::Branch(branch) => branch.kids.iter().for_each(|kid| self.count_all(kid)),
        }
    }
}

fn find(entries: &[Entry], key: Sought<'_>) -> Result<usize, usize> {
    entries.binary_search_by(|entry| key.order_of(entry.head, || entry.key()))
}

impl Branch {
    /// Index of the child `key` belongs to.
    fn child_of(&self, key: Sought<'_>) -> usize {
        self.seps.partition_point(|sep| key.order_of(sep.head, || &sep.key).is_le())
    }
}

impl Node {
    fn size(&self) -> usize {
        match self {
            Node::Leaf(entries) => entries.len(),
            Node::Branch(branch) => branch.kids.len(),
        }
    }

    /// Splits off the right half if this node has grown too large.
    ///
    /// A leaf that grew at its very end keeps most of its entries, so that keys arriving in order
    /// leave full leaves behind.
    fn split(&mut self, grew_at_end: bool) -> Split {
        if self.size() <= MAX {
            return None;
        }
        let at = if grew_at_end { MAX - MAX / 8 } else { self.size() / 2 };
        self.split_at(at)
    }

    fn split_at(&mut self, at: usize) -> Split {
        match self {
            Node::Leaf(entries) => {
                let right = entries.split_off(at);
                let sep = Separator::new(right.first()?.key());
                Some((sep, Arc::new(Node::Leaf(right))))
            }
            Node::Branch(branch) => {
                let kids = branch.kids.split_off(at);
                let seps = branch.seps.split_off(at);
                let sep = branch.seps.pop()?;
                Some((sep, Arc::new(Node::Branch(Branch { seps, kids }))))
            }
        }
    }

    /// Appends the content of the neighbour to the right, which `sep` divides from this node.
    fn append(&mut self, sep: Separator, right: Arc<Node>) {
        match (self, Arc::unwrap_or_clone(right)) {
            (Node::Leaf(left), Node::Leaf(mut right)) => left.append(&mut right),
            (Node::Branch(left), Node::Branch(mut right)) => {
                // A separator stands between two children. A branch that removals have emptied has
                // none to put beside it.
                if !left.kids.is_empty() && !right.kids.is_empty() {
                    left.seps.push(sep);
                }
                left.seps.append(&mut right.seps);
                left.kids.append(&mut right.kids);
            }
            // Neighbours have the same depth, hence the same kind.
            (Node::Leaf(_), Node::Branch(_)) | (Node::Branch(_), Node::Leaf(_)) => {}
        }
    }
}

fn insert(node: &mut Node, key: Sought<'_>, value: &[u8]) -> crate::Result<(Split, Option<Entry>)> {
    Ok(match node {
        Node::Leaf(entries) => match find(entries, key) {
            Ok(at) => {
                let new = Entry::new(key.key, value);
                (None, entries.get_mut(at).map(|entry| std::mem::replace(entry, new)))
            }
            Err(at) => {
                let at_end = at == entries.len();
                entries.insert(at, Entry::new(key.key, value));
                (node.split(at_end), None)
            }
        },
        Node::Branch(branch) => {
            let at = branch.child_of(key);
            let kid = branch.kids.get_mut(at).ok_or_else(|| no_child(key))?;
            let (split, old) = insert(Arc::make_mut(kid), key, value)?;
            let Some((sep, right)) = split else { return Ok((None, old)) };
            let at_end = at + 1 == branch.kids.len();
            branch.seps.insert(at, sep);
            branch.kids.insert(at + 1, right);
            (node.split(at_end), old)
        }
    })
}

fn no_child(key: Sought<'_>) -> KvError {
    KvError::Store {
        context: format!("memory store: cannot put key {}", Hex(key.key)).into(),
        source: "its tree has no child for the key; copy what can be read to another store".into(),
    }
}

fn remove_one(node: &mut Node, key: Sought<'_>, removed: &mut Removed) {
    match node {
        Node::Leaf(entries) => {
            if let Ok(at) = find(entries, key) {
                removed.count(&[entries.remove(at)]);
            }
        }
        Node::Branch(branch) => {
            let at = branch.child_of(key);
            if let Some(kid) = branch.kids.get_mut(at) {
                remove_one(Arc::make_mut(kid), key, removed);
                mend(branch, at);
            }
        }
    }
}

fn remove_range(node: &mut Node, min: Sought<'_>, max: Option<Sought<'_>>, removed: &mut Removed) {
    match node {
        Node::Leaf(entries) => {
            let from = find(entries, min).unwrap_or_else(|at| at);
            let to = match max {
                Some(max) => find(entries, max).unwrap_or_else(|at| at),
                None => entries.len(),
            };
            removed.count(&entries.drain(from..to.max(from)).collect::<Vec<_>>());
        }
        Node::Branch(branch) => {
            let first = branch.child_of(min);
            let last = match max {
                Some(max) => branch.child_of(max),
                None => branch.kids.len() - 1,
            };
            if let Some(kid) = branch.kids.get_mut(first) {
                remove_range(Arc::make_mut(kid), min, max, removed);
            }
            if last > first {
                if let Some(kid) = branch.kids.get_mut(last) {
                    remove_range(Arc::make_mut(kid), min, max, removed);
                }
                for kid in branch.kids.drain(first + 1..last) {
                    removed.count_all(&kid);
                }
                branch.seps.drain(first + 1..last);
                mend(branch, first + 1);
            }
            mend(branch, first);
        }
    }
}

/// Restores the size of child `at` after removals, with the help of a neighbour.
fn mend(branch: &mut Branch, at: usize) {
    let Some(kid) = branch.kids.get(at) else { return };
    if kid.size() >= MIN {
        return;
    }
    if kid.size() == 0 {
        branch.kids.remove(at);
        if !branch.seps.is_empty() {
            branch.seps.remove(at.saturating_sub(1));
        }
        return;
    }
    if branch.kids.len() < 2 {
        return;
    }
    let left = at.min(branch.kids.len() - 2);
    let right = branch.kids.remove(left + 1);
    let sep = branch.seps.remove(left);
    if let Some(kid) = branch.kids.get_mut(left) {
        let node = Arc::make_mut(kid);
        node.append(sep, right);
        if node.size() > MAX
            && let Some((sep, right)) = node.split_at(node.size() / 2)
        {
            branch.seps.insert(left, sep);
            branch.kids.insert(left + 1, right);
        }
    }
}

fn first(node: &Node) -> Option<&Entry> {
    match node {
        Node::Leaf(entries) => entries.first(),
        Node::Branch(branch) => first(branch.kids.first()?),
    }
}

fn last(node: &Node) -> Option<&Entry> {
    match node {
        Node::Leaf(entries) => entries.last(),
        Node::Branch(branch) => last(branch.kids.last()?),
    }
}

fn at_least<'a>(node: &'a Node, min: Sought<'_>) -> Option<&'a Entry> {
    match node {
        Node::Leaf(entries) => entries.get(find(entries, min).unwrap_or_else(|at| at)),
        Node::Branch(branch) => {
            let at = branch.child_of(min);
            at_least(branch.kids.get(at)?, min).or_else(|| first(branch.kids.get(at + 1)?))
        }
    }
}

fn below<'a>(node: &'a Node, max: Sought<'_>) -> Option<&'a Entry> {
    match node {
        Node::Leaf(entries) => {
            entries.get(find(entries, max).unwrap_or_else(|at| at).checked_sub(1)?)
        }
        Node::Branch(branch) => {
            let at = branch.child_of(max);
            below(branch.kids.get(at)?, max).or_else(|| last(branch.kids.get(at.checked_sub(1)?)?))
        }
    }
}
