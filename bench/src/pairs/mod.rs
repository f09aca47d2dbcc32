//! Sorted maps of bytes, as programs written by hand use them: LMDB through heed, and a `BTreeMap`.

pub mod heed;
pub mod map;

/// A key on the stack.
#[derive(Clone, Copy)]
pub struct Key {
    bytes: [u8; 96],
    len: usize,
}

impl Key {
    #[inline]
    pub fn new(parts: &[&[u8]]) -> Key {
        let mut key = Key { bytes: [0; 96], len: 0 };
        for part in parts {
            key.push(part);
        }
        key
    }

    #[inline]
    pub fn push(&mut self, part: &[u8]) {
        self.bytes[self.len..self.len + part.len()].copy_from_slice(part);
        self.len += part.len();
    }

    /// The first key that does not start with this one.
    #[inline]
    pub fn after(mut self) -> Key {
        while self.bytes[self.len - 1] == 0xff {
            self.len -= 1;
        }
        self.bytes[self.len - 1] += 1;
        self
    }
}

impl std::ops::Deref for Key {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Read access to the pairs.
pub trait Read {
    /// All keys start with this.
    const START: &'static [u8];

    fn get(&self, key: &[u8]) -> Option<&[u8]>;

    /// Shows the pairs from `min` to before `max` until `visit` returns false.
    fn visit(&self, min: &[u8], max: &[u8], visit: impl FnMut(&[u8], &[u8]) -> bool);

    /// The last key from `min` to before `max`.
    fn last(&self, min: &[u8], max: &[u8]) -> Option<&[u8]>;
}

/// Write access to the pairs.
pub trait Write: Read {
    fn put(&mut self, key: &[u8], value: &[u8]);

    /// Puts a pair unless there is one with this key.
    fn put_new(&mut self, key: &[u8], value: &[u8]) -> bool;

    fn remove(&mut self, key: &[u8]);

    fn remove_range(&mut self, min: &[u8], max: &[u8]);
}
