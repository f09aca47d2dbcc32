//! Items of nodes, and lists of them in one allocation.

use crate::digest::Digest;

/// The longest key of a page.
pub(crate) const MAX_KEY_LEN: usize = 8_192;

/// The longest value that lies in a leaf.
pub(crate) const MAX_INLINE_LEN: usize = 512;

/// The size of an item, besides its key and payload, when boundaries of levels are chosen.
pub(crate) const ITEM_SIZE: u64 = 8;

/// How many bytes a reference to a long value and one to a child have.
pub(crate) const REFERENCE_LEN: usize = Digest::LEN + 8;

/// Whether copies of a page must have a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Priority {
    /// Every copy must have it. A put is eager unless it says otherwise.
    #[default]
    Eager,
    /// A page that is [attached to a remote](crate::PageRemote) need not have it, if it has more
    /// than 512 bytes: [`PageSnapshot::fetch`](crate::PageSnapshot::fetch) gets it.
    /// [`ValueRef::lazy`](crate::ValueRef::lazy) makes such a value.
    Lazy,
}

impl Priority {
    /// The flag in a payload.
    pub(crate) fn flags(self) -> u16 {
        match self {
            Priority::Eager => 0,
            Priority::Lazy => LAZY,
        }
    }
}

/// The value is lazy.
pub(crate) const LAZY: u16 = 1 << 15;

/// The payload refers to a long value.
pub(crate) const REFERENCE: u16 = 1 << 14;

/// The payload of a key in a node: in a leaf a value or a reference to it, in an inner node a
/// child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Payload<'a> {
    /// [`LAZY`] and [`REFERENCE`].
    pub(crate) flags: u16,
    pub(crate) bytes: &'a [u8],
}

impl<'a> Payload<'a> {
    /// A value that lies in the leaf.
    pub(crate) fn inline(bytes: &'a [u8]) -> Self {
        Payload { flags: 0, bytes }
    }

    /// Whether copies of the page must have the value.
    pub(crate) fn priority(&self) -> Priority {
        if self.flags & LAZY == 0 { Priority::Eager } else { Priority::Lazy }
    }

    /// The size of an item with this payload and a key of `key_len` bytes.
    pub(crate) fn size(&self, key_len: usize) -> u64 {
        (key_len + self.bytes.len()) as u64 + ITEM_SIZE
    }

    /// The child, if this is the payload of an inner item.
    pub(crate) fn child(&self) -> Option<Child> {
        let (digest, entries) = self.bytes.split_at_checked(Digest::LEN)?;
        let entries = u64::from_be_bytes(entries.try_into().ok()?);
        Some(Child { digest: Digest::from_slice(digest)?, entries })
    }
}

/// A node as its parent names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Child {
    pub(crate) digest: Digest,
    /// How many entries are below it.
    pub(crate) entries: u64,
}

impl Child {
    pub(crate) fn to_bytes(self) -> [u8; REFERENCE_LEN] {
        let mut bytes = [0; REFERENCE_LEN];
        bytes[..Digest::LEN].copy_from_slice(&self.digest.0);
        bytes[Digest::LEN..].copy_from_slice(&self.entries.to_be_bytes());
        bytes
    }
}

/// An item as it lies in a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeItem<'a> {
    /// [`LAZY`] and [`REFERENCE`].
    pub(crate) flags: u16,
    /// How many bytes of its key follow the prefix of the node.
    pub(crate) rest_len: usize,
    /// The rest of its key, and the payload.
    pub(crate) bytes: &'a [u8],
}

impl<'a> NodeItem<'a> {
    pub(crate) fn payload(&self) -> Payload<'a> {
        Payload { flags: self.flags, bytes: &self.bytes[self.rest_len..] }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[..self.rest_len]
    }
}

/// A list of items.
#[derive(Debug, Clone, Default)]
pub(crate) struct Items {
    bytes: Vec<u8>,
    /// Where the key and the payload of each item end, and the flags of the payload.
    ends: Vec<(usize, usize, u16)>,
}

impl Items {
    /// Appends an item.
    pub(crate) fn push(&mut self, key: &[u8], payload: Payload<'_>) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(payload.bytes);
        self.ends.push((key_end, self.bytes.len(), payload.flags));
    }

    /// Appends an item of a node, whose key is in two parts. The second one and the payload lie
    /// side by side.
    pub(crate) fn push_from(&mut self, prefix: &[u8], item: NodeItem<'_>) {
        self.bytes.reserve(prefix.len() + item.bytes.len());
        self.bytes.extend_from_slice(prefix);
        let key_end = self.bytes.len() + item.rest_len;
        self.bytes.extend_from_slice(item.bytes);
        self.ends.push((key_end, self.bytes.len(), item.flags));
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn start(&self, at: usize) -> usize {
        at.checked_sub(1).map_or(0, |before| self.ends[before].1)
    }

    /// The key at this position, which is below [`len`](Items::len).
    pub(crate) fn key(&self, at: usize) -> &[u8] {
        &self.bytes[self.start(at)..self.ends[at].0]
    }

    /// The key without its first bytes, and the payload.
    pub(crate) fn without_prefix(&self, at: usize, prefix: usize) -> NodeItem<'_> {
        let ((key_end, end, flags), start) = (self.ends[at], self.start(at) + prefix);
        NodeItem { flags, rest_len: key_end - start, bytes: &self.bytes[start..end] }
    }

    /// How many bytes the keys and payloads up to this position have, which is included.
    pub(crate) fn end(&self, at: usize) -> usize {
        self.ends[at].1
    }

    /// The payload at this position, which is below [`len`](Items::len).
    pub(crate) fn payload(&self, at: usize) -> Payload<'_> {
        let (key_end, end, flags) = self.ends[at];
        Payload { flags, bytes: &self.bytes[key_end..end] }
    }
}
