//! Checks trees.

use std::collections::HashMap;

use permazen_kv::Hex;

use super::pieces::PieceChecker;
use super::values::Values;
use crate::digest::{Digest, Kind};
use crate::error::Result;
use crate::ids::CommitId;
use crate::node::items::{Priority, REFERENCE};
use crate::node::view::Node;
use crate::rows::inspect::piece_key;
use crate::secret::Secret;
use crate::tree::boundaries::{Boundaries, ByHash, Group};
use crate::value::reference::Reference;

/// The facts of a node that must match its references.
struct NodeFacts {
    level: u8,
    entries: u64,
    items: usize,
    /// The least key below it, if it is known.
    first: Option<Box<[u8]>>,
    /// Its greatest key.
    last: Box<[u8]>,
    /// The node that ends without a cut: this one, or its last descendant. Only the last node of a
    /// level may end so.
    uncut: Option<Digest>,
}

/// Checks trees. Each node is loaded once, however many references it has.
pub(super) struct Trees<'h> {
    pub(super) pieces: PieceChecker<'h>,
    /// `None` if the secret cannot be read: then cuts are not checked.
    boundaries: Option<ByHash>,
    /// The facts of each visited node. `None` if it cannot be read.
    nodes: HashMap<Digest, Option<NodeFacts>>,
    values: Values,
    /// The page is attached to a remote, so lazy values may be absent.
    is_attached: bool,
}

impl<'h> Trees<'h> {
    pub(super) fn new(
        pieces: PieceChecker<'h>,
        secret: Option<&Secret>,
        is_attached: bool,
    ) -> Self {
        let boundaries = secret.map(ByHash::new);
        let (nodes, values) = (HashMap::new(), Values::new(secret));
        Trees { pieces, boundaries, nodes, values, is_attached }
    }

    /// Checks a tree of a commit.
    ///
    /// # Errors
    /// Those of the host.
    pub(super) fn check(&mut self, commit: &CommitId, root: &Digest) -> Result<()> {
        if *root == Node::empty().0 {
            return Ok(());
        }
        self.node(root, None, || format!("commit {commit}"))?;
        if let Some(Some(facts)) = self.nodes.get(root)
            && facts.level > 0
            && facts.items < 2
        {
            let expected = format!("a root with two items or more, for commit {commit}");
            self.pieces.add(root, expected, "one item");
        }
        Ok(())
    }

    /// Checks a node that was not visited, if it has this level. The level bounds the depth of the
    /// recursion, also in a damaged tree.
    fn node(
        &mut self,
        digest: &Digest,
        level: Option<u8>,
        from: impl Fn() -> String,
    ) -> Result<()> {
        if self.nodes.contains_key(digest) {
            return Ok(());
        }
        let facts = match self.load(digest, &from)? {
            Some(node) if level.is_some_and(|level| level != node.level()) => {
                self.wrong_level(digest, level, node.level(), from());
                return Ok(());
            }
            Some(node) => Some(self.facts(digest, &node)?),
            None => None,
        };
        self.nodes.insert(*digest, facts);
        Ok(())
    }

    fn wrong_level(&mut self, digest: &Digest, level: Option<u8>, found: u8, from: String) {
        let level = level.map(|level| level.to_string()).unwrap_or_default();
        let expected = format!("level {level}, below {from}");
        self.pieces.add(digest, expected, format!("level {found}"));
    }

    fn load(&mut self, digest: &Digest, from: impl Fn() -> String) -> Result<Option<Node>> {
        let Some(bytes) = self.pieces.load(Kind::Node, digest, from)? else { return Ok(None) };
        let row = (self.pieces.rows.number, &piece_key(digest)[..]);
        let read = Node::checked(digest, bytes);
        self.pieces.report.readable(row, "the one encoding of a node", read)
    }

    fn facts(&mut self, digest: &Digest, node: &Node) -> Result<NodeFacts> {
        let is_cut = self.check_cuts(digest, node);
        let mut facts = NodeFacts {
            level: node.level(),
            entries: node.entries(),
            items: node.len(),
            first: None,
            last: node.last_key().map(|key| key.to_vec()).unwrap_or_default().into(),
            uncut: (!is_cut).then_some(*digest),
        };
        if node.level() == 0 {
            facts.first = (node.len() > 0).then(|| node.key(0).to_vec().into());
            self.check_values(digest, node)?;
        } else {
            for at in 0..node.len() {
                self.check_child(digest, node, at, &mut facts)?;
            }
        }
        Ok(facts)
    }

    /// Checks that a node has no cut inside of it. Returns whether it ends with one.
    fn check_cuts(&mut self, digest: &Digest, node: &Node) -> bool {
        let Some(boundaries) = self.boundaries else { return true };
        let (mut total, mut count, mut is_cut) = (0, 0, false);
        for at in 0..node.len() {
            if is_cut {
                let key = short(&node.key(at - 1).to_vec());
                let expected = format!("a node that ends after key {key}, where the rule cuts");
                self.pieces.add(digest, expected, format!("{} more items", node.len() - at));
                (total, count) = (0, 0);
            }
            let key = node.key(at);
            let item = node.payload(at).size(key.prefix.len() + key.rest.len());
            (total, count) = (total + item, count + 1);
            let group = Group { item, total, count };
            is_cut = boundaries.cuts(node.level(), &[key.prefix, key.rest], group);
        }
        is_cut
    }

    fn check_values(&mut self, digest: &Digest, leaf: &Node) -> Result<()> {
        for at in 0..leaf.len() {
            let payload = leaf.payload(at);
            if payload.flags & REFERENCE == 0 {
                continue;
            }
            // The references of a leaf were parsed with it, so this cannot fail.
            let Ok(value) = Reference::parse(payload.bytes) else { continue };
            let is_needed = !(self.is_attached && payload.priority() == Priority::Lazy);
            self.values.check(&mut self.pieces, digest, &value, is_needed)?;
        }
        Ok(())
    }

    /// Checks a child against its inner node, and adds the facts of the child to those of the node.
    fn check_child(
        &mut self,
        digest: &Digest,
        node: &Node,
        at: usize,
        facts: &mut NodeFacts,
    ) -> Result<()> {
        let Some(child) = node.child(at) else { return Ok(()) };
        let level = node.level().checked_sub(1);
        self.node(&child.digest, level, || format!("piece {digest}"))?;
        let Some(Some(below)) = self.nodes.get(&child.digest) else { return Ok(()) };
        if level != Some(below.level) {
            self.wrong_level(&child.digest, level, below.level, format!("piece {digest}"));
            return Ok(());
        }
        let (key, pieces) = (node.key(at), &mut self.pieces);
        if below.entries != child.entries {
            let expected = format!("{} entries, as piece {digest} says", child.entries);
            pieces.add(&child.digest, expected, format!("{} entries", below.entries));
        }
        if key.cmp_key(&below.last).is_ne() {
            let expected =
                format!("last key {}, as piece {digest} says", short(&node.key(at).to_vec()));
            pieces.add(&child.digest, expected, short(&below.last));
        }
        match (at.checked_sub(1), &below.first) {
            (None, first) => facts.first.clone_from(first),
            (Some(before), Some(first)) if node.key(before).cmp_key(first).is_ge() => {
                let before = short(&node.key(before).to_vec());
                let expected = format!("keys above {before}, the last key before it");
                pieces.add(&child.digest, expected, format!("first key {}", short(first)));
            }
            _ => {}
        }
        match below.uncut {
            Some(uncut) if at + 1 < node.len() => {
                let expected =
                    format!("a cut of the rule at its end, as piece {} is not the last", uncut);
                pieces.add(&uncut, expected, format!("no cut, below piece {digest}"));
            }
            Some(uncut) if facts.uncut.is_none() => facts.uncut = Some(uncut),
            _ => {}
        }
        Ok(())
    }
}

/// At most 32 bytes of a key.
fn short(key: &[u8]) -> String {
    match key.get(..32) {
        Some(start) if key.len() > 32 => format!("{}…", Hex(start)),
        _ => Hex(key).to_string(),
    }
}
