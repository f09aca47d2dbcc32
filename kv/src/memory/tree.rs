//! A persistent B+tree. A clone costs one reference count; a change copies only the shared nodes on
//! its path.
//!
//! All leaves have the same depth. No node is empty, except an empty root. A node that a snapshot
//! still holds is copied before it is changed. A node that nothing else holds is changed in place,
//! so a transaction copies a path only once.

#[cfg(test)]
mod check;
mod node;
mod path;

use std::sync::Arc;

pub(super) use self::node::Entry;
use self::node::{Branch, MAX, MIN, Node, Sought, Split, find};
use self::path::{Ascend, Descend, Path};
use crate::{Hex, KvError};

/// An ordered map of byte strings with cheap clones.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    root: Arc<Node>,
    len: usize,
    bytes: usize,
}

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

    /// Whether both are the same version of the map.
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

    /// The last entry whose key is less than `max`; the last entry of all without a `max`.
    pub(super) fn below(&self, max: Option<&[u8]>) -> Option<&Entry> {
        match max {
            Some(max) => below(&self.root, Sought::new(max)),
            None => last(&self.root),
        }
    }

    /// Sets the value of `key`.
    ///
    /// # Errors
    /// [`KvError::Store`] if the tree is inconsistent; nothing was changed then.
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

    /// Removes `key` if it is there.
    pub(super) fn remove(&mut self, key: &[u8]) {
        if self.get(key).is_some() {
            let mut removed = Removed::default();
            remove_one(Arc::make_mut(&mut self.root), Sought::new(key), &mut removed);
            self.settle(removed);
        }
    }

    /// Removes the keys of `[min, max)`.
    pub(super) fn remove_range(&mut self, min: &[u8], max: Option<&[u8]>) {
        // If there is nothing to remove, no node must be copied.
        match self.at_least(min) {
            Some(first) if max.is_none_or(|max| first.key() < max) => {}
            _ => return,
        }
        let mut removed = Removed::default();
        let (min, max) = (Sought::new(min), max.map(Sought::new));
        remove_range(Arc::make_mut(&mut self.root), min, max, &mut removed);
        self.settle(removed);
    }

    /// Subtracts what was removed from the sums, and drops levels that have only one node.
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

/// After removals, merges child `at` with a neighbour if it has become too small.
fn mend(branch: &mut Branch, at: usize) {
    let Some(kid) = branch.kids.get(at) else { return };
    if kid.size() >= MIN {
        return;
    }
    // An empty child goes, and with it a separator beside it.
    if kid.size() == 0 {
        branch.kids.remove(at);
        if !branch.seps.is_empty() {
            branch.seps.remove(at.saturating_sub(1));
        }
        return;
    }
    // Without a neighbour, the child stays small until its parent is merged.
    if branch.kids.len() < 2 {
        return;
    }
    let left = at.min(branch.kids.len() - 2);
    let right = branch.kids.remove(left + 1);
    let sep = branch.seps.remove(left);
    if let Some(kid) = branch.kids.get_mut(left) {
        let node = Arc::make_mut(kid);
        node.append(sep, right);
        // The two do not fit in one node, so each gets half.
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
