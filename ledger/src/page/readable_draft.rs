//! Makes a draft readable before it is stored, so that it can be changed again.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;

use super::write::Draft;
use crate::digest::{Digest, Kind};
use crate::error::{LedgerError, Result};
use crate::node::items::REFERENCE;
use crate::node::view::Node;
use crate::process::streams::StreamedContent;
use crate::value::index::Index;
use crate::value::reference::Reference;

/// The new nodes and pieces of a draft, by their digests.
#[derive(Debug)]
pub(crate) struct ReadableDraft {
    nodes: HashMap<Digest, Arc<Node>>,
    pieces: HashMap<(Kind, Digest), Bytes>,
}

impl ReadableDraft {
    pub(crate) fn of(draft: &Draft) -> Result<Self> {
        let mut nodes = HashMap::new();
        for node in &draft.nodes {
            let parsed = Node::parse(node.bytes.clone());
            let wrong = |found| {
                let expected = "the one encoding of a node";
                LedgerError::integrity(Kind::Node, &node.digest, expected, found)
            };
            let parsed = parsed.map_err(wrong)?;
            nodes.insert(node.digest, Arc::new(parsed));
        }
        let pieces = draft.pieces.iter();
        let pieces = pieces.map(|piece| ((piece.kind, piece.part.digest), piece.bytes.clone()));
        Ok(ReadableDraft { nodes, pieces: pieces.collect() })
    }

    pub(super) fn node(&self, digest: &Digest) -> Option<Arc<Node>> {
        self.nodes.get(digest).map(Arc::clone)
    }

    pub(super) fn piece(&self, kind: Kind, digest: &Digest) -> Option<Bytes> {
        self.pieces.get(&(kind, *digest)).cloned()
    }
}

impl Draft {
    /// This draft with changes: the new pieces of both, without those that the changes have
    /// replaced.
    pub(crate) fn then(self, changed: Draft) -> Result<Draft> {
        let mut all = Draft { root: changed.root, ..self };
        all.nodes.extend(changed.nodes);
        all.pieces.extend(changed.pieces);
        all.streamed.extend(changed.streamed);
        let needed = Needed::of(&ReadableDraft::of(&all)?, &all.root);
        let mut seen = HashSet::new();
        all.nodes.retain(|node| needed.nodes.contains(&node.digest) && seen.insert(node.digest));
        all.pieces.retain(|piece| {
            needed.pieces.contains(&piece.part.digest) && seen.insert(piece.part.digest)
        });
        all.streamed.retain(|_, value| match &value.content {
            StreamedContent::Short(_) => false,
            StreamedContent::Long { value, .. } => needed.values.contains(&value.top),
        });
        Ok(all)
    }
}

/// The new pieces that are reachable from a root.
#[derive(Default)]
struct Needed {
    nodes: HashSet<Digest>,
    /// The tops of long values, new or not.
    values: HashSet<Digest>,
    pieces: HashSet<Digest>,
}

impl Needed {
    fn of(drafted: &ReadableDraft, root: &Digest) -> Self {
        let (mut needed, mut ahead) = (Needed::default(), vec![*root]);
        while let Some(digest) = ahead.pop() {
            let Some(node) = drafted.nodes.get(&digest) else { continue };
            if !needed.nodes.insert(digest) {
                continue;
            }
            for at in 0..node.len() {
                let payload = node.payload(at);
                if let Some(child) = node.child(at) {
                    ahead.push(child.digest);
                } else if payload.flags & REFERENCE != 0
                    && let Ok(value) = Reference::parse(payload.bytes)
                {
                    needed.values.insert(value.top);
                }
            }
        }
        ahead.extend(&needed.values);
        while let Some(digest) = ahead.pop() {
            if !needed.pieces.insert(digest) {
                continue;
            }
            let index = drafted.piece(Kind::Index, &digest).map(Index::parse);
            if let Some(Ok(index)) = index {
                ahead.extend((0..index.len()).filter_map(|at| index.part(at)).map(|it| it.digest));
            }
        }
        needed
    }
}
