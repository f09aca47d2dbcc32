//! Keys under construction: in a vector, or on the stack if they are short.

/// A key to which bytes are added at its end.
pub(crate) trait KeyBuffer {
    /// Adds bytes at the end.
    fn append(&mut self, bytes: &[u8]);

    /// Takes the last byte away.
    fn pop(&mut self) -> Option<u8>;
}

impl KeyBuffer for Vec<u8> {
    #[inline]
    fn append(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    #[inline]
    fn pop(&mut self) -> Option<u8> {
        Vec::pop(self)
    }
}

/// Keys of up to this many bytes are on the stack.
const SHORT: usize = 64;

/// A key for one look-up. It allocates only if the key is long.
pub(crate) struct ShortKey {
    bytes: [u8; SHORT],
    len: usize,
    /// The whole key, if it did not fit. Then this is not empty.
    long: Vec<u8>,
}

impl ShortKey {
    #[inline]
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut key = ShortKey { bytes: [0; SHORT], len: 0, long: Vec::new() };
        key.append(bytes);
        key
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[u8] {
        if self.long.is_empty() {
            return self.bytes.get(..self.len).unwrap_or_default();
        }
        &self.long
    }

    #[cold]
    fn append_long(&mut self, bytes: &[u8]) {
        if self.long.is_empty() {
            self.long = self.bytes.get(..self.len).unwrap_or_default().to_vec();
            self.len = 0;
        }
        self.long.extend_from_slice(bytes);
    }
}

impl KeyBuffer for ShortKey {
    #[inline]
    fn append(&mut self, bytes: &[u8]) {
        match self.bytes.get_mut(self.len..self.len + bytes.len()) {
            // A key that is long once stays in the vector, so that its parts are in one place.
            Some(room) if self.long.is_empty() => {
                room.copy_from_slice(bytes);
                self.len += bytes.len();
            }
            _ => self.append_long(bytes),
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<u8> {
        if !self.long.is_empty() {
            return self.long.pop();
        }
        self.len = self.len.checked_sub(1)?;
        self.bytes.get(self.len).copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_short_key_is_built_like_a_vector(
            steps in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..50)), 0..200),
        ) {
            let (mut key, mut expected) = (ShortKey::new(&[7]), vec![7]);
            for step in steps {
                match step {
                    Some(bytes) => {
                        key.append(&bytes);
                        expected.extend(bytes);
                    }
                    None => prop_assert_eq!(KeyBuffer::pop(&mut key), expected.pop()),
                }
                prop_assert_eq!(key.as_slice(), &expected[..]);
            }
        }
    }
}
