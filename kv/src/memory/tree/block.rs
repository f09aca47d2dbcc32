//! A block: sorted pairs that lie together in memory, so that a search and a walk touch few lines
//! of the cache.
//!
//! For each key there is its *head*: the four bytes after the common prefix of all keys of the
//! block. The heads are side by side and nearly always decide where a key is, without a look at the
//! keys. They are numbers with a sign, because processors compare many of these at once.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// A pair with more bytes than this is kept apart from the block, which only refers to it. So
/// little is copied when a block is.
const FAR: usize = 128;
/// The key length that stands for a pair that is kept apart.
const IS_FAR: u16 = u16::MAX;
/// The longest beginning of keys that a block leaves out of its heads.
const MAX_PREFIX: usize = 64;
/// The least room in bytes that a block gets at once.
const GROWTH: usize = 64;
/// At most one of this many bytes may be a gap.
const GAPS: usize = 4;

/// Up to `N` pairs in the order of their keys.
///
/// Methods that are given a position expect it to be in range. Otherwise reads return nothing and
/// changes do nothing.
#[derive(Debug)]
pub(super) struct Block<const N: usize> {
    len: usize,
    /// All keys have at least this many bytes in common at their beginning. They are also the first
    /// ones of `bytes`.
    prefix: usize,
    /// The head of each key; the greatest number where there is no key.
    heads: [i32; N],
    pointers: [CellPointer; N],
    /// The pairs, each as its key and then its value, in no order and with gaps.
    ///
    /// Pairs are appended. Gaps close before that when the room is used up, and when a block is
    /// copied, if they are more than a part of the bytes. So the bytes stay below 4/3 of the
    /// largest pairs, and the room of one copy.
    bytes: Vec<u8>,
    /// How many of `bytes` belong to no pair any more.
    gaps: usize,
    far: Vec<Far>,
}

/// Where a pair is: in the bytes of the block, or with [`IS_FAR`] in its list of pairs that are
/// kept apart.
#[derive(Debug, Clone, Copy, Default)]
struct CellPointer {
    start: u16,
    key: u16,
    value: u16,
}

impl CellPointer {
    /// `None` if one of the numbers has more than 16 bits, or the key length stands for something
    /// else.
    fn new(start: usize, key: usize, value: usize) -> Option<Self> {
        let [start, key, value] = [start, key, value].map(|number| u16::try_from(number).ok());
        Some(CellPointer { start: start?, key: key.filter(|key| *key != IS_FAR)?, value: value? })
    }

    fn bytes(self) -> Range<usize> {
        let start = usize::from(self.start);
        start..start + usize::from(self.key) + usize::from(self.value)
    }
}

/// A pair that is kept apart. Clones share it.
#[derive(Debug, Clone)]
struct Far {
    pair: Arc<[u8]>,
    key_len: usize,
}

impl<const N: usize> Block<N> {
    pub(super) fn new() -> Self {
        const { assert!(N * FAR + MAX_PREFIX < (IS_FAR as usize) / 2, "offsets have 16 bits") };
        const { assert!(FAR < IS_FAR as usize && N < IS_FAR as usize, "offsets have 16 bits") };
        Block {
            len: 0,
            prefix: 0,
            heads: [i32::MAX; N],
            pointers: [CellPointer::default(); N],
            bytes: Vec::new(),
            gaps: 0,
            far: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn pair(&self, at: usize) -> Option<(&[u8], &[u8])> {
        let pointer = *self.pointers.get(..self.len)?.get(at)?;
        if pointer.key == IS_FAR {
            let far = self.far.get(usize::from(pointer.start))?;
            return far.pair.split_at_checked(far.key_len);
        }
        self.bytes.get(pointer.bytes())?.split_at_checked(usize::from(pointer.key))
    }

    #[inline]
    pub(super) fn key(&self, at: usize) -> &[u8] {
        self.pair(at).unwrap_or_default().0
    }

    pub(super) fn last(&self) -> Option<(&[u8], &[u8])> {
        self.pair(self.len.checked_sub(1)?)
    }

    /// The position of `key`, or the one that it would have.
    #[inline]
    pub(super) fn find(&self, key: &[u8]) -> Result<usize, usize> {
        let Some(rest) = key.strip_prefix(self.prefix()) else {
            return Err(if key < self.prefix() { 0 } else { self.len });
        };
        let head = head_of(rest);
        let below: u32 = self.heads.iter().map(|other| u32::from(*other < head)).sum();
        let (mut from, mut to) = (below as usize, below as usize);
        // Keys with the same head are compared as a whole.
        while to < self.len && self.heads.get(to) == Some(&head) {
            to += 1;
        }
        while from < to {
            let middle = from + (to - from) / 2;
            match self.key(middle).get(self.prefix..).unwrap_or_default().cmp(rest) {
                Ordering::Less => from = middle + 1,
                Ordering::Equal => return Ok(middle),
                Ordering::Greater => to = middle,
            }
        }
        Err(from)
    }

    /// Puts a pair where [`find`](Self::find) says that its key would be. The block must not be
    /// full.
    pub(super) fn insert(&mut self, at: usize, key: &[u8], value: &[u8]) {
        if self.len == N || at > self.len {
            return;
        }
        if self.len == 0 {
            *self = Block::new();
            self.begin_with(key.get(..MAX_PREFIX).unwrap_or(key));
        } else if !key.starts_with(self.prefix()) {
            self.prefix = common(self.prefix(), key);
            self.make_heads();
        }
        let pointer = self.add_near(key, value);
        self.pointers.copy_within(at..self.len, at + 1);
        self.heads.copy_within(at..self.len, at + 1);
        self.len += 1;
        self.set_pointer(at, pointer);
        if let Some(head) = self.heads.get_mut(at) {
            *head = head_of(key.get(self.prefix..).unwrap_or_default());
        }
    }

    /// Replaces the value of a key. Returns how many bytes the old one had.
    pub(super) fn set_value(&mut self, at: usize, value: &[u8]) -> usize {
        let Some((key, old)) = self.pair(at) else { return 0 };
        let old_len = old.len();
        let pointer = self.pointers.get(at).copied().unwrap_or_default();
        if pointer.key != IS_FAR && old_len == value.len() {
            let range = pointer.bytes().end - old_len..pointer.bytes().end;
            if let Some(room) = self.bytes.get_mut(range) {
                room.copy_from_slice(value);
            }
            return old_len;
        }
        let key = key.to_vec();
        self.give_up(at);
        let pointer = self.add_near(&key, value);
        self.set_pointer(at, pointer);
        old_len
    }

    /// Removes the pairs at some positions.
    pub(super) fn remove(&mut self, range: Range<usize>) {
        if range.is_empty() || range.end > self.len {
            return;
        }
        for at in range.clone() {
            self.give_up(at);
        }
        let rest = range.start + (self.len - range.end);
        self.pointers.copy_within(range.end..self.len, range.start);
        self.heads.copy_within(range.end..self.len, range.start);
        if let Some(free) = self.heads.get_mut(rest..self.len) {
            free.fill(i32::MAX);
        }
        self.len = rest;
    }

    /// The pairs at some positions of some blocks, in this order, as one block.
    pub(super) fn of(parts: &[(&Self, Range<usize>)]) -> Self {
        let pairs =
            || parts.iter().flat_map(|(block, at)| at.clone().filter_map(|at| block.pair(at)));
        let mut made = Block::new();
        let Some((first, _)) = pairs().next() else { return made };
        let last = pairs().next_back().unwrap_or_default().0;
        let near = pairs().map(|(key, value)| key.len() + value.len()).filter(|len| *len <= FAR);
        let prefix = common(first, last).min(MAX_PREFIX);
        made.bytes.reserve_exact(prefix + near.sum::<usize>());
        made.begin_with(first.get(..prefix).unwrap_or_default());
        for (block, range) in parts {
            for (key, value, far) in range.clone().filter_map(|at| block.pair_to_share(at)) {
                let pointer = match far {
                    Some(far) => made.add_far(far),
                    None => made.add_near(key, value),
                };
                let at = made.len;
                made.len += 1;
                made.set_pointer(at, pointer);
            }
        }
        made.make_heads();
        made
    }

    /// Keeps the pairs before a position, and returns the others.
    pub(super) fn split_off(&mut self, at: usize) -> Self {
        let right = Block::of(&[(self, at..self.len)]);
        *self = Block::of(&[(self, 0..at)]);
        right
    }

    #[inline]
    fn prefix(&self) -> &[u8] {
        self.bytes.get(..self.prefix).unwrap_or_default()
    }

    /// Prepares an empty block for keys that begin with `prefix`.
    fn begin_with(&mut self, prefix: &[u8]) {
        self.bytes.extend_from_slice(prefix);
        self.prefix = prefix.len();
    }

    fn pair_to_share(&self, at: usize) -> Option<(&[u8], &[u8], Option<&Far>)> {
        let (key, value) = self.pair(at)?;
        let pointer = self.pointers.get(at)?;
        let far = self.far.get(usize::from(pointer.start)).filter(|_| pointer.key == IS_FAR);
        Some((key, value, far))
    }

    fn set_pointer(&mut self, at: usize, pointer: CellPointer) {
        if let Some(slot) = self.pointers.get_mut(at) {
            *slot = pointer;
        }
    }

    fn make_heads(&mut self) {
        let mut heads = [i32::MAX; N];
        for (at, head) in heads.iter_mut().enumerate().take(self.len) {
            *head = head_of(self.key(at).get(self.prefix..).unwrap_or_default());
        }
        self.heads = heads;
    }

    /// Adds the bytes of a pair to the block, or the pair to the list of pairs that are kept apart.
    /// It has no position yet.
    fn add_near(&mut self, key: &[u8], value: &[u8]) -> CellPointer {
        let len = key.len() + value.len();
        if len <= FAR {
            if self.bytes.capacity() - self.bytes.len() < len {
                if self.has_many_gaps() {
                    self.close_gaps();
                }
                self.bytes.reserve_exact(len.max(GROWTH));
            }
            if let Some(pointer) = CellPointer::new(self.bytes.len(), key.len(), value.len()) {
                self.bytes.extend_from_slice(key);
                self.bytes.extend_from_slice(value);
                return pointer;
            }
        }
        let pair = [key, value].concat().into();
        self.add_far(&Far { pair, key_len: key.len() })
    }

    fn add_far(&mut self, far: &Far) -> CellPointer {
        #[allow(clippy::cast_possible_truncation, reason = "one for each of `N` pairs; see `new`")]
        let start = self.far.len() as u16;
        self.far.push(far.clone());
        CellPointer { start, key: IS_FAR, value: 0 }
    }

    /// Leaves the bytes of a pair unused; it is empty then.
    fn give_up(&mut self, at: usize) {
        let Some(slot) = self.pointers.get_mut(at) else { return };
        let pointer = std::mem::take(slot);
        if pointer.key != IS_FAR {
            self.gaps += pointer.bytes().len();
            return;
        }
        // The last one moves into the slot of the one that goes.
        let last = self.far.len().saturating_sub(1);
        if usize::from(pointer.start) < self.far.len() {
            self.far.swap_remove(usize::from(pointer.start));
        }
        for other in self.pointers.iter_mut().take(self.len) {
            if other.key == IS_FAR && usize::from(other.start) == last {
                other.start = pointer.start;
            }
        }
    }

    fn has_many_gaps(&self) -> bool {
        self.gaps > self.bytes.len() / GAPS
    }

    fn close_gaps(&mut self) {
        if let Some((bytes, pointers)) = self.without_gaps() {
            (self.bytes, self.pointers, self.gaps) = (bytes, pointers, 0);
        }
    }

    /// The bytes of the pairs alone, and their pointers, with room for one more pair. `None` if an
    /// offset has more than 16 bits.
    fn without_gaps(&self) -> Option<(Vec<u8>, [CellPointer; N])> {
        let mut bytes = Vec::with_capacity(self.bytes.len() - self.gaps + GROWTH);
        let mut pointers = self.pointers;
        bytes.extend_from_slice(self.prefix());
        for pointer in pointers.iter_mut().take(self.len).filter(|pointer| pointer.key != IS_FAR) {
            let pair = self.bytes.get(pointer.bytes()).unwrap_or_default();
            pointer.start = u16::try_from(bytes.len()).ok()?;
            bytes.extend_from_slice(pair);
        }
        Some((bytes, pointers))
    }
}

impl<const N: usize> Clone for Block<N> {
    /// Has room for a pair, because a block is copied to be changed.
    fn clone(&self) -> Self {
        if self.has_many_gaps()
            && let Some((bytes, pointers)) = self.without_gaps()
        {
            return Block { bytes, pointers, gaps: 0, far: self.far.clone(), ..*self };
        }
        let mut bytes = Vec::with_capacity(self.bytes.len() + GROWTH);
        bytes.extend_from_slice(&self.bytes);
        Block { bytes, far: self.far.clone(), ..*self }
    }
}

/// The first four bytes, as a number that sorts as they do; missing ones count as zero.
#[inline]
fn head_of(rest: &[u8]) -> i32 {
    let head = match rest.first_chunk::<4>() {
        Some(head) => *head,
        None => {
            let mut head = [0; 4];
            for (to, from) in head.iter_mut().zip(rest) {
                *to = *from;
            }
            head
        }
    };
    (u32::from_be_bytes(head) ^ 1 << 31).cast_signed()
}

/// How many bytes two keys have in common at their beginning.
pub(super) fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
impl<const N: usize> Block<N> {
    /// Panics unless the keys ascend, the heads are theirs, each pair has bytes of its own, and few
    /// bytes belong to no pair.
    pub(super) fn check(&self) {
        let prefix = self.prefix();
        let (mut far, mut near) = (Vec::new(), Vec::new());
        for (at, pointer) in self.pointers.iter().take(self.len).enumerate() {
            let key = self.pair(at).expect("a pair").0;
            assert!(at == 0 || self.key(at - 1) < key, "the order of keys");
            assert_eq!(self.heads[at], head_of(key.strip_prefix(prefix).expect("the prefix")));
            match pointer.key {
                IS_FAR => far.push(usize::from(pointer.start)),
                _ => near.push((pointer.bytes().start, pointer.bytes().end)),
            }
        }
        assert!(self.heads[self.len..].iter().all(|head| *head == i32::MAX));
        far.sort_unstable();
        assert!(far.into_iter().eq(0..self.far.len()), "a pair apart has one pointer");
        near.sort_unstable();
        let (mut end, mut used) = (prefix.len(), prefix.len());
        for range in near.into_iter().filter(|(start, end)| start < end) {
            assert!(end <= range.0 && range.1 <= self.bytes.len(), "pairs overlap");
            end = range.1;
            used += range.1 - range.0;
        }
        let lost = self.bytes.len() - used - self.gaps;
        assert!(lost <= MAX_PREFIX, "only the beginning of a longer prefix is lost");
        assert!(self.bytes.capacity() <= Self::MOST_BYTES, "{} bytes", self.bytes.capacity());
    }

    /// When a block gets more room, pairs and lost bytes are 3/4 of it or more.
    const MOST_BYTES: usize = (N * FAR + 2 * MAX_PREFIX) * GAPS / (GAPS - 1) + FAR;
}
