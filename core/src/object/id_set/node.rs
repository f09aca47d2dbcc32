//! How a set of object IDs is composed. Sets can be nested very deeply, so the code here, and the
//! code that walks over these nodes, does not recurse.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use permazen_kv::key::after_prefix;

use crate::id::ObjId;
use crate::object::error::Result;
use crate::object::index::ColumnFilter;
use crate::object::store::ScanSource;

/// A set of object IDs.
pub(in crate::object) struct Node {
    pub(in crate::object) op: Op,
    pub(in crate::object) operands: Vec<Arc<Node>>,
}

/// The content of a set of object IDs, or the combination of its operands.
#[derive(Debug)]
pub(in crate::object) enum Op {
    /// The IDs that follow `prefix` in any key.
    Keys {
        prefix: Vec<u8>,
        filter: ColumnFilter,
    },
    /// These IDs.
    Sorted(Arc<[ObjId]>),
    Union,
    Intersection,
    /// The IDs of the first of two operands that are not in the second.
    Difference,
    /// The IDs of the only operand that the filter wants.
    Within(ColumnFilter),
}

impl Node {
    /// A set that has no operands.
    pub(in crate::object) fn plain(op: Op) -> Self {
        Node { op, operands: Vec::new() }
    }

    /// The operands of which `nodes` are unions, each once, in order. If `is_op` selects
    /// intersections, those of which they are intersections.
    pub(in crate::object) fn flattened(nodes: Vec<&Node>, is_op: fn(&Op) -> bool) -> Vec<&Node> {
        let (mut open, mut found) = (nodes, Vec::new());
        // The list is taken from its end, so it is turned to keep the order.
        open.reverse();
        // The usual case needs no set of seen nodes.
        if open.len() == 1 && open.iter().all(|node| !is_op(&node.op)) {
            return open;
        }
        let mut seen = HashSet::new();
        while let Some(node) = open.pop() {
            // A node can occur in several places.
            if !seen.insert(std::ptr::from_ref(node)) {
                continue;
            }
            if is_op(&node.op) {
                open.extend(node.operands.iter().rev().map(|operand| &**operand));
            } else {
                found.push(node);
            }
        }
        found
    }

    /// Whether `id` is in the set.
    pub(in crate::object) fn contains(&self, source: &dyn ScanSource, id: ObjId) -> Result<bool> {
        // The nodes whose operands are being asked, with the number of operands asked so far.
        // `last` is the last answer.
        let (mut open, mut last) = (vec![(self, 0)], false);
        // The answers of nodes with operands, because a node can occur in several places.
        let mut known = HashMap::new();
        while let Some((node, asked)) = open.last_mut() {
            // The answer of the operand that was asked last says how this node goes on.
            let said = (*asked > 0).then_some(last);
            let answer = match (&node.op, said) {
                (Op::Keys { prefix, filter }, _) => {
                    Some(filter.contains(id.as_bytes()) && has_key(source, prefix, id)?)
                }
                (Op::Sorted(ids), _) => Some(ids.binary_search(&id).is_ok()),
                (Op::Union, Some(true)) => Some(true),
                (Op::Intersection, Some(false)) => Some(false),
                // Without the ID in the first set, the second need not be asked.
                (Op::Difference, Some(false)) if *asked == 1 => Some(false),
                (Op::Difference, Some(said)) if *asked == 2 => Some(!said),
                // The filter costs no read, so it is asked before the operand.
                (Op::Within(filter), None) if !filter.contains(id.as_bytes()) => Some(false),
                (Op::Union | Op::Intersection | Op::Difference | Op::Within(_), _) => None,
            };
            // The answer is open, so ask the next operand.
            if let (None, Some(operand)) = (answer, node.operands.get(*asked)) {
                *asked += 1;
                match known.get(&Arc::as_ptr(operand)) {
                    Some(answer) => last = *answer,
                    None => open.push((&**operand, 0)),
                }
                continue;
            }
            // An operation that ran out of operands has the answer of the last one.
            last = answer.unwrap_or(last);
            let node = *node;
            open.pop();
            // Plain nodes are asked again rather than remembered, since most occur once.
            if !open.is_empty() && !node.operands.is_empty() {
                known.insert(std::ptr::from_ref(node), last);
            }
        }
        Ok(last)
    }
}

impl Drop for Node {
    // The drop of nested nodes must not recurse, which could overflow the stack.
    fn drop(&mut self) {
        let mut open = std::mem::take(&mut self.operands);
        while let Some(node) = open.pop() {
            // A node that another set still uses keeps its operands.
            if let Some(mut node) = Arc::into_inner(node) {
                open.append(&mut node.operands);
            }
        }
    }
}

/// Whether any key begins with `prefix` and `id`.
fn has_key(source: &dyn ScanSource, prefix: &[u8], id: ObjId) -> Result<bool> {
    let mut min = prefix.to_vec();
    min.extend_from_slice(id.as_bytes());
    let max = after_prefix(&min);
    let mut found = false;
    source.with_read(&mut |kv| {
        found = kv.at_least(&min, max.as_deref())?.is_some();
        Ok(())
    })?;
    Ok(found)
}
