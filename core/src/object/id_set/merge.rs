//! Merges sorted streams of object IDs: unions, intersections and differences of any depth.
//!
//! A merge keeps the answers of its streams, so that each ID is read once. After a change of the
//! transaction, it forgets all that, and asks each stream anew for the IDs after the last one
//! returned.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Bound;

use permazen_kv::Direction;

use super::node::{Node, Op};
use super::plain::{Plain, Position, position, turned};
use crate::id::ObjId;
use crate::object::error::Result;
use crate::object::index::{ColumnFilter, FilterPosition};
use crate::object::store::ScanSource;

/// The IDs of a combined set, in one direction.
///
/// The sets that it combines are its parts. Each part knows its position. The whole is asked
/// whether an ID is in it. If not, it answers where the next ID can be, and is asked again there.
/// All parts asked on the way are asked about the same ID, so a set that occurs several times is
/// one part. `asking` records which part has asked which, instead of the call stack, so only memory
/// limits the nesting of sets.
pub(in crate::object) struct Merge<'t> {
    /// The first one is the whole.
    parts: Vec<MergePart<'t>>,
    asking: Vec<Asking>,
    direction: Direction,
    /// The change counter of the store, and its value when the parts were asked.
    counter: &'t Cell<u64>,
    changes: u64,
    /// The next ID is at this position or later; `None` at the end.
    from: Option<Position>,
}

struct MergePart<'t> {
    kind: Kind<'t>,
    /// The last answer since the transaction was changed.
    head: Option<Head>,
}

/// The answer of a part when it is asked about a position.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Head {
    /// The first ID of the part at or after the position is here.
    At(Position),
    /// The position is not in the part, and nothing before this one is.
    NotBefore(Position),
    /// The part has no ID at or after the position.
    End,
}

/// Each `usize` is the number of a part.
enum Kind<'t> {
    Plain(Plain<'t>),
    Union {
        /// The positions of parts. The flag says that it is only the first possible position.
        heads: BinaryHeap<Reverse<(Position, bool, usize)>>,
        parts: Vec<usize>,
        /// How many of the parts were asked.
        asked: usize,
    },
    Intersection(Vec<usize>),
    Difference {
        of: usize,
        without: usize,
    },
    Within {
        of: usize,
        filter: ColumnFilter,
    },
}

/// A part that waits for the answer of another one.
struct Asking {
    part: usize,
    /// The part that it asked last.
    last: usize,
    /// How many parts it has asked.
    asked: usize,
}

/// The next step of a part that is asked or gets an answer.
enum Move {
    Ask(usize),
    Answer(Head),
}

impl<'t> Merge<'t> {
    pub(in crate::object) fn new(
        node: &Node,
        source: &'t dyn ScanSource,
        direction: Direction,
    ) -> Self {
        // A node that occurs in several places becomes one part, so that it is read once.
        let mut layout = Layout { sources: vec![vec![node]], known: HashMap::new() };
        let mut parts = Vec::new();
        // The list of sources grows while parts are made, and ends when none is new.
        while let Some(nodes) = layout.sources.get_mut(parts.len()).map(std::mem::take) {
            let operands = Node::flattened(nodes, |op| matches!(op, Op::Union));
            let kind = match operands[..] {
                // A single node that is no union is made as it is.
                [node] => Kind::of(node, source, direction, &mut layout),
                _ => layout.union(operands),
            };
            parts.push(MergePart { kind, head: None });
        }
        let counter = source.changes();
        let changes = counter.get();
        Merge { parts, asking: Vec::new(), direction, counter, changes, from: Some(0) }
    }

    /// The next ID.
    pub(in crate::object) fn next(&mut self) -> Result<Option<ObjId>> {
        // A change can add or remove IDs anywhere, so no old answer holds.
        if self.counter.get() != self.changes {
            self.changes = self.counter.get();
            self.forget();
        }
        while let Some(from) = self.from {
            match self.ask(from)? {
                Head::At(found) => {
                    // At the last position there is no next one, which ends the merge.
                    self.from = found.checked_add(1);
                    return Ok(Some(ObjId::of_number(turned(found, self.direction))));
                }
                // The whole said only that nothing comes before this position.
                Head::NotBefore(next) => self.from = Some(next),
                Head::End => self.from = None,
            }
        }
        Ok(None)
    }

    /// Skips the IDs before `position`.
    pub(in crate::object) fn skip_to(&mut self, position: Position) {
        self.from = self.from.map(|from| from.max(position));
    }

    /// Forgets the answers of the parts.
    #[cold]
    fn forget(&mut self) {
        for part in &mut self.parts {
            part.head = None;
            match &mut part.kind {
                Kind::Plain(plain) => plain.restart(),
                Kind::Union { heads, asked, .. } => {
                    heads.clear();
                    *asked = 0;
                }
                Kind::Intersection(_) | Kind::Difference { .. } | Kind::Within { .. } => {}
            }
        }
    }

    /// Asks the whole about `target`.
    fn ask(&mut self, target: Position) -> Result<Head> {
        self.asking.clear();
        let mut next = Some(0);
        let mut answer = None;
        loop {
            if let Some(number) = next.take() {
                // A number without a part does not occur, and the end is a safe answer for it.
                let Some(part) = self.parts.get_mut(number) else { return Ok(Head::End) };
                match (part.head, &mut part.kind) {
                    // The last answer holds for this target too.
                    (Some(head), _) if !head.is_before(target) => answer = Some(head),
                    (_, Kind::Plain(plain)) => {
                        // The unread IDs begin here.
                        if part.head.is_none() {
                            plain.skip_to(target);
                        }
                        let head = first_of(plain, target, self.direction)?;
                        part.head = Some(head);
                        answer = Some(head);
                    }
                    _ => self.asking.push(Asking { part: number, last: 0, asked: 0 }),
                }
            }
            // No part waits, so the answer is that of the whole.
            let Some(asking) = self.asking.last_mut() else {
                return Ok(answer.unwrap_or(Head::End));
            };
            let Some(part) = self.parts.get_mut(asking.part) else { return Ok(Head::End) };
            match part.kind.step(asking, answer.take(), target, self.direction) {
                Move::Ask(part) => {
                    asking.last = part;
                    asking.asked += 1;
                    next = Some(part);
                }
                Move::Answer(head) => {
                    part.head = Some(head);
                    answer = Some(head);
                    self.asking.pop();
                }
            }
        }
    }
}

/// The parts to make.
struct Layout<'n> {
    /// Part number n is the union of the nodes in `sources[n]`.
    sources: Vec<Vec<&'n Node>>,
    /// The parts of single nodes.
    known: HashMap<*const Node, usize>,
}

impl<'n> Layout<'n> {
    /// The number of the part for this node.
    fn part(&mut self, node: &'n Node) -> usize {
        let next = self.sources.len();
        // A new part gets the next number, which is the place of its source.
        let number = *self.known.entry(std::ptr::from_ref(node)).or_insert(next);
        if number == next {
            self.sources.push(vec![node]);
        }
        number
    }

    /// The number of the part for the union of these nodes.
    fn part_of_all(&mut self, nodes: Vec<&'n Node>) -> usize {
        self.sources.push(nodes);
        self.sources.len() - 1
    }

    fn union<'t>(&mut self, operands: Vec<&'n Node>) -> Kind<'t> {
        let parts: Vec<_> = operands.into_iter().map(|node| self.part(node)).collect();
        Kind::Union { heads: BinaryHeap::with_capacity(parts.len()), parts, asked: 0 }
    }
}

impl Head {
    /// Whether this answer does not tell about `target`.
    fn is_before(self, target: Position) -> bool {
        match self {
            Head::At(head) => head < target,
            Head::NotBefore(head) => head <= target,
            Head::End => false,
        }
    }

    /// The part of this answer that also holds for any subset.
    fn weakened(self) -> Self {
        // A subset can lack the ID itself.
        match self {
            Head::At(head) => Head::NotBefore(head),
            head => head,
        }
    }

    /// The answer that there is nothing up to and including `target`.
    fn behind(target: Position) -> Self {
        target.checked_add(1).map_or(Head::End, Head::NotBefore)
    }
}

/// Where a plain stream has its first ID at or after `target`.
fn first_of(plain: &mut Plain<'_>, target: Position, direction: Direction) -> Result<Head> {
    let mut next = plain.next()?;
    // One step is tried before a seek, since the next ID is often the wanted one.
    if next.is_some_and(|id| position(id, direction) < target) {
        plain.skip_to(target);
        next = plain.next()?;
    }
    Ok(next.map_or(Head::End, |id| Head::At(position(id, direction))))
}

impl<'t> Kind<'t> {
    /// The part for `node`, which is not a union.
    fn of<'n>(
        node: &'n Node,
        source: &'t dyn ScanSource,
        direction: Direction,
        layout: &mut Layout<'n>,
    ) -> Self {
        if let Some(plain) = Plain::new(node, source, direction) {
            return Kind::Plain(plain);
        }
        match (&node.op, &node.operands[..]) {
            (Op::Intersection, _) => {
                let operands = Node::flattened(vec![node], |op| matches!(op, Op::Intersection));
                Kind::Intersection(operands.into_iter().map(|node| layout.part(node)).collect())
            }
            (Op::Difference, [of, without]) => {
                // A difference of a difference removes both sets from the first one.
                let (mut of, mut without) = (&**of, vec![&**without]);
                // A long chain of differences would ask a part for each of them, one inside the
                // other.
                while let (Op::Difference, [inner, more]) = (&of.op, &of.operands[..]) {
                    without.push(&**more);
                    of = &**inner;
                }
                Kind::Difference { of: layout.part(of), without: layout.part_of_all(without) }
            }
            (Op::Within(filter), [of]) => {
                Kind::Within { of: layout.part(of), filter: filter.clone() }
            }
            // Other numbers of operands do not occur; an empty union has no IDs.
            _ => layout.union(Vec::new()),
        }
    }

    /// The step of this part when it is asked about `target`, and each time the part that it asked
    /// has answered.
    fn step(
        &mut self,
        asking: &Asking,
        answer: Option<Head>,
        target: Position,
        direction: Direction,
    ) -> Move {
        match self {
            // Never reached: a plain part answers without asking others.
            Kind::Plain(_) => Move::Answer(Head::End),
            Kind::Union { heads, parts, asked } => {
                match answer {
                    Some(Head::At(head)) => heads.push(Reverse((head, false, asking.last))),
                    Some(Head::NotBefore(head)) => heads.push(Reverse((head, true, asking.last))),
                    Some(Head::End) | None => {}
                }
                // Each operand is asked once before the least of their IDs is known.
                if let Some(part) = parts.get(*asked) {
                    *asked += 1;
                    return Move::Ask(*part);
                }
                let Some(&Reverse((head, unsure, part))) = heads.peek() else {
                    return Move::Answer(Head::End);
                };
                let head = if unsure { Head::NotBefore(head) } else { Head::At(head) };
                // The answer does not tell about the target, so ask the part again.
                if head.is_before(target) {
                    heads.pop();
                    return Move::Ask(part);
                }
                Move::Answer(head)
            }
            Kind::Intersection(parts) => match answer {
                // A part without the target: the intersection does not have it either.
                Some(head) if head != Head::At(target) => Move::Answer(head.weakened()),
                _ => match parts.get(asking.asked) {
                    Some(part) => Move::Ask(*part),
                    None => Move::Answer(Head::At(target)),
                },
            },
            Kind::Difference { of, without } => match (answer, asking.asked) {
                (None, _) => Move::Ask(*of),
                // What the first set lacks need not be looked for in the second.
                (Some(head), 1) if head != Head::At(target) => Move::Answer(head.weakened()),
                (Some(_), 1) => Move::Ask(*without),
                (Some(taken), _) if taken == Head::At(target) => Move::Answer(Head::behind(target)),
                (Some(_), _) => Move::Answer(Head::At(target)),
            },
            Kind::Within { of, filter } => match answer {
                // The next ID of the set can be outside the filter, so it is only a lower bound.
                Some(Head::At(head)) if head != target => Move::Answer(Head::NotBefore(head)),
                Some(head) => Move::Answer(head),
                None => {
                    // The filter is asked first, since it costs no read.
                    let id = turned(target, direction).to_be_bytes();
                    match filter.locate(&id, direction) {
                        FilterPosition::Inside => Move::Ask(*of),
                        FilterPosition::Past => Move::Answer(Head::End),
                        FilterPosition::Ahead(bound) => match position_at(bound, direction) {
                            next if next > target => Move::Answer(Head::NotBefore(next)),
                            // A bound before the target is no step forward, and the search must not
                            // stand still.
                            _ => Move::Answer(Head::behind(target)),
                        },
                    }
                }
            },
        }
    }
}

/// The first position that can be within a bound of a filter.
fn position_at(bound: Bound<&[u8]>, direction: Direction) -> Position {
    let bytes = match bound {
        Bound::Included(bytes) | Bound::Excluded(bytes) => bytes,
        Bound::Unbounded => &[],
    };
    let fill = match (direction, bound) {
        // Backward, the last ID with these first bytes is the first that is met.
        (Direction::Reverse, Bound::Included(_) | Bound::Unbounded) => 0xff,
        _ => 0,
    };
    let mut id = [fill; ObjId::LEN];
    for (to, from) in id.iter_mut().zip(bytes) {
        *to = *from;
    }
    turned(u64::from_be_bytes(id), direction)
}
