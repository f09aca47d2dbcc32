//! Where everything lies among the keys of etcd.
//!
//! | key | value |
//! |---|---|
//! | prefix `:d` key | 1 and the value, or 0 alone: a tombstone, where a key was removed |
//! | prefix `:t` token | `c` and the keys that the commit has removed; `a` if a store has asked for the commit in vain |
//! | prefix `:h` | the horizon: two revisions in 8 bytes each. Tombstones and tokens up to the first one may be missing; the second one will be the first |

use std::num::TryFromIntError;

use bytes::Bytes;
use permazen_kv::Hex;

use crate::error::Failure;

/// The first byte of a value.
const DEAD: u8 = 0;
const ALIVE: u8 = 1;

/// The first byte of a token.
const COMMITTED: u8 = b'c';
const ASKED: u8 = b'a';

/// The keys of a store.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    prefix: Vec<u8>,
}

impl Layout {
    pub(crate) fn new(prefix: &str) -> Self {
        Layout { prefix: format!("{prefix}:").into_bytes() }
    }

    fn of(&self, kind: u8, rest: &[u8]) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.prefix.len() + 1 + rest.len());
        key.extend_from_slice(&self.prefix);
        key.push(kind);
        key.extend_from_slice(rest);
        key
    }

    /// The key of a pair.
    pub(crate) fn data(&self, key: &[u8]) -> Vec<u8> {
        self.of(b'd', key)
    }

    /// The end of a range of pairs.
    pub(crate) fn data_end(&self, max: Option<&[u8]>) -> Vec<u8> {
        max.map_or_else(|| self.of(b'e', &[]), |max| self.data(max))
    }

    /// The key of the pair that etcd has under this one; `None` if it is of no pair of the store.
    pub(crate) fn key_of(&self, key: &Bytes) -> Option<Bytes> {
        let rest = key.strip_prefix(&self.prefix[..])?.strip_prefix(b"d")?;
        Some(key.slice_ref(rest))
    }

    pub(crate) fn token(&self, token: &[u8]) -> Vec<u8> {
        self.of(b't', token)
    }

    /// All tokens, and the end of them.
    pub(crate) fn tokens(&self) -> (Vec<u8>, Vec<u8>) {
        (self.of(b't', &[]), self.of(b'u', &[]))
    }

    pub(crate) fn horizon(&self) -> Vec<u8> {
        self.of(b'h', &[])
    }
}

/// A value, as etcd has it.
pub(crate) fn alive(value: &[u8]) -> Vec<u8> {
    let mut stored = Vec::with_capacity(value.len() + 1);
    stored.push(ALIVE);
    stored.extend_from_slice(value);
    stored
}

/// The record of a removed key.
pub(crate) fn tombstone() -> Vec<u8> {
    vec![DEAD]
}

/// The value of a key, from its record in etcd; `None` for a tombstone.
///
/// # Errors
/// If no commit has written it.
pub(crate) fn value_of(key: &[u8], stored: &Bytes) -> Result<Option<Bytes>, Failure> {
    match &stored[..] {
        [ALIVE, ..] => Ok(Some(stored.slice(1..))),
        [DEAD] => Ok(None),
        other => {
            let start = match other.get(..1) {
                Some(tag) => Hex(tag).to_string(),
                None => "nothing".to_owned(),
            };
            let len = other.len();
            Err(Failure::Damaged(format!(
                "no commit has written what key {} has: {len} bytes, of which the first one is {start}, where 01 stands \
                 before a value and 00 stands alone for a removed one",
                Hex(key)
            )))
        }
    }
}

/// The end of the revisions whose tombstones and tokens may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Horizon {
    /// Records that were written up to this revision may be missing.
    pub(crate) revision: i64,
    /// The revision of the horizon after it is raised.
    pub(crate) next: i64,
}

impl Horizon {
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        [self.revision.to_be_bytes(), self.next.to_be_bytes()].concat()
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let (revision, next) = bytes.split_at_checked(8)?;
        let number = |bytes: &[u8]| Some(i64::from_be_bytes(bytes.try_into().ok()?));
        Some(Horizon { revision: number(revision)?, next: number(next)? })
    }

    /// Horizons up to this revision are smaller than this.
    pub(crate) fn after(revision: i64) -> Vec<u8> {
        revision.saturating_add(1).to_be_bytes().to_vec()
    }
}

/// The meaning of a token.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// The commit took place, and removed these keys.
    Committed(Vec<Vec<u8>>),
    /// The commit had not taken place, and now cannot any more.
    Asked,
}

impl Token {
    /// The token of a commit that removes these keys.
    ///
    /// # Errors
    /// If one of them has 4 GiB or more.
    pub(crate) fn committed<'k>(
        removed: impl Iterator<Item = &'k [u8]>,
    ) -> Result<Vec<u8>, TryFromIntError> {
        let mut bytes = vec![COMMITTED];
        for key in removed {
            bytes.extend_from_slice(&u32::try_from(key.len())?.to_be_bytes());
            bytes.extend_from_slice(key);
        }
        Ok(bytes)
    }

    pub(crate) fn asked() -> Vec<u8> {
        vec![ASKED]
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Token> {
        let (kind, mut rest) = bytes.split_first()?;
        if *kind != COMMITTED {
            return (*kind == ASKED).then_some(Token::Asked);
        }
        let mut removed = Vec::new();
        while !rest.is_empty() {
            let (len, keys) = rest.split_at_checked(4)?;
            let len = u32::from_be_bytes(len.try_into().ok()?) as usize;
            let (key, others) = keys.split_at_checked(len)?;
            removed.push(key.to_vec());
            rest = others;
        }
        Some(Token::Committed(removed))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn prefixes_lie_apart() {
        let (outer, inner) = (Layout::new("a"), Layout::new("a/d"));
        let all = |layout: &Layout| (layout.data(b""), layout.data_end(None));
        let ((min, max), (other, _)) = (all(&outer), all(&inner));
        assert!(other < min || other >= max);
        assert_eq!(outer.key_of(&outer.data(b"key").into()).unwrap(), &b"key"[..]);
        for strange in [inner.data(b"key"), outer.horizon(), b"a:".to_vec(), Vec::new()] {
            assert_eq!(outer.key_of(&strange.into()), None);
        }
        assert_eq!(outer.data_end(Some(b"m")), b"a:dm");
    }

    #[test]
    fn a_removed_pair_is_no_empty_one() {
        assert_eq!(value_of(b"", &alive(b"").into()).unwrap().unwrap(), &b""[..]);
        assert_eq!(value_of(b"", &tombstone().into()).unwrap(), None);
        for strange in [&b""[..], &[DEAD, 0], &[2], b"c"] {
            let error = value_of(b"k", &Bytes::copy_from_slice(strange)).unwrap_err();
            assert!(error.to_string().contains("key 6b has"), "{error}");
        }
    }

    #[test]
    fn horizons_are_in_order_and_only_those_after_the_base_are_too_late() {
        for base in [0, 5, 255, 256, i64::MAX - 1] {
            let limit = Horizon::after(base);
            let horizon = |revision, next| Horizon { revision, next }.to_bytes();
            assert!(horizon(base, i64::MAX) < limit);
            assert!(horizon(base + 1, 0) >= limit);
        }
        let horizon = Horizon { revision: 7, next: 300 };
        assert_eq!(Horizon::parse(&horizon.to_bytes()), Some(horizon));
        assert_eq!(Horizon::parse(&[0; 15]), None);
    }

    #[test]
    fn a_token_says_what_was_removed() {
        let removed: [&[u8]; 3] = [b"", b"key", &[0; 300]];
        let bytes = Token::committed(removed.into_iter()).unwrap();
        let parsed = removed.iter().map(|key| key.to_vec()).collect();
        assert_eq!(Token::parse(&bytes), Some(Token::Committed(parsed)));
        assert_eq!(Token::parse(&Token::asked()), Some(Token::Asked));
        assert_eq!(Token::parse(&bytes[..7]), None);
        assert_eq!(Token::parse(b""), None);
    }
}
