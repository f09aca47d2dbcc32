//! Names of encodings (encodings §6).

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use super::{EncodingError, Result};
use crate::bytes::invalid;

/// The largest number of array dimensions.
const MAX_DIMENSIONS: usize = 255;

/// The URN that names an encoding, such as `urn:fdc:permazen.io:2020:int`.
///
/// Built-in encodings have short aliases (`int`, `String[]`), which people may write and read; stored schemas always
/// hold the full id. Every id with a trailing `[]` names the arrays of the encoding without it.
///
/// ```
/// use permazen::encoding::EncodingId;
/// let id = EncodingId::from_alias("String[]")?;
/// assert_eq!(id.as_str(), "urn:fdc:permazen.io:2020:String[]");
/// assert_eq!(id.element(), EncodingId::from_alias("String").ok());
/// assert_eq!(id.alias(), "String[]");
/// # Ok::<(), permazen::encoding::EncodingError>(())
/// ```
#[derive(Clone)]
pub struct EncodingId(Repr);

#[derive(Clone)]
enum Repr {
    Static(&'static str),
    Shared(Arc<str>),
}

impl PartialEq for EncodingId {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for EncodingId {}

impl PartialOrd for EncodingId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for EncodingId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for EncodingId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl EncodingId {
    /// What the ids of built-in encodings start with.
    pub const BUILTIN_PREFIX: &'static str = "urn:fdc:permazen.io:2020:";

    /// A full id.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`] if the text is no encoding id.
    pub fn new(id: &str) -> Result<Self> {
        if is_id(id) {
            Ok(EncodingId::shared(id))
        } else {
            invalid(format!("invalid encoding id {id:?}"))
        }
    }

    /// A full id that stands in the program: in a constant, where an invalid one does not compile.
    ///
    /// ```
    /// use permazen::encoding::EncodingId;
    /// const VERSION: EncodingId = EncodingId::literal("urn:fdc:example.com:2026:version");
    /// assert_eq!(VERSION.dimensions(), 0);
    /// ```
    ///
    /// ```compile_fail
    /// # use permazen::encoding::EncodingId;
    /// const BAD: EncodingId = EncodingId::literal("version");
    /// # let _ = BAD;
    /// ```
    ///
    /// # Panics
    /// Elsewhere than in a constant, if the text is no encoding id.
    pub const fn literal(id: &'static str) -> Self {
        assert!(is_id(id), "invalid encoding id");
        EncodingId::known(id)
    }

    /// The id of a built-in encoding.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`] if `suffix` does not have the form of a built-in encoding's name.
    pub fn builtin(suffix: &str) -> Result<Self> {
        if !is_builtin_suffix(suffix) {
            return invalid(format!("invalid name of a built-in encoding: {suffix:?}"));
        }
        Ok(EncodingId::shared(format!("{}{suffix}", Self::BUILTIN_PREFIX)))
    }

    /// The id meant by an alias or a full id. Nothing needs to be registered under it.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`] if the text is neither.
    pub fn from_alias(alias: &str) -> Result<Self> {
        if is_builtin_suffix(alias) { Self::builtin(alias) } else { Self::new(alias) }
    }

    /// The short form people write: without the prefix of built-in encodings, or else the full id.
    pub fn alias(&self) -> &str {
        match self.as_str().strip_prefix(Self::BUILTIN_PREFIX) {
            Some(suffix) if is_builtin_suffix(suffix) => suffix,
            _ => self.as_str(),
        }
    }

    /// The full id.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Repr::Static(id) => id,
            Repr::Shared(id) => id,
        }
    }

    /// Number of trailing `[]`.
    pub fn dimensions(&self) -> usize {
        split_dimensions(self.as_str()).1
    }

    /// The id without any `[]`.
    pub fn base(&self) -> EncodingId {
        EncodingId::shared(split_dimensions(self.as_str()).0)
    }

    /// The id of the elements of these arrays; `None` if the id names no arrays.
    pub fn element(&self) -> Option<EncodingId> {
        self.as_str().strip_suffix("[]").map(EncodingId::shared)
    }

    /// The id of the arrays of these values.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`] if that would be more than 255 dimensions.
    pub fn array(&self) -> Result<EncodingId> {
        if self.dimensions() == MAX_DIMENSIONS {
            return invalid(format!("too many array dimensions: {self}"));
        }
        Ok(EncodingId::shared(format!("{self}[]")))
    }

    /// An id known to be valid.
    pub(crate) const fn known(id: &'static str) -> Self {
        EncodingId(Repr::Static(id))
    }

    fn shared(id: impl Into<Arc<str>>) -> Self {
        EncodingId(Repr::Shared(id.into()))
    }
}

impl fmt::Display for EncodingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for EncodingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EncodingId({self})")
    }
}

impl FromStr for EncodingId {
    type Err = EncodingError;

    fn from_str(id: &str) -> Result<Self> {
        Self::new(id)
    }
}

/// The text before the trailing `[]`s, and their number.
fn split_dimensions(id: &str) -> (&str, usize) {
    let base = id.trim_end_matches("[]");
    (base, (id.len() - base.len()) / 2)
}

/// Works on bytes, one by one, so that it can be asked of constants.
#[allow(clippy::indexing_slicing, reason = "below `end`; constants have nothing else")]
const fn is_id(id: &str) -> bool {
    let id = id.as_bytes();
    let (mut end, mut dimensions) = (id.len(), 0);
    while end >= 2 && id[end - 2] == b'[' && id[end - 1] == b']' {
        end -= 2;
        dimensions += 1;
    }
    let is_urn = end > 4 && matches!(id, [b'u', b'r', b'n', b':', ..]);
    if dimensions > MAX_DIMENSIONS || !is_urn {
        return false;
    }
    let mut at = 4;
    while at < end && id[at] != b':' {
        if !matches!(id[at], b'a'..=b'z' | b'0'..=b'9' | b'-') {
            return false;
        }
        at += 1;
    }
    let length = at - 4;
    at < end
        && 2 <= length
        && length <= 32
        && id[4] != b'-'
        && id[at - 1] != b'-'
        && is_nss(id, at + 1, end)
}

/// Whether the part of an id between two positions is a namespace-specific string.
#[allow(clippy::indexing_slicing, reason = "below `end`; constants have nothing else")]
const fn is_nss(id: &[u8], start: usize, end: usize) -> bool {
    // Java tests for the range from 'A' to 'f' rather than for hex letters; ids so accepted must stay readable.
    const fn is_hex(byte: u8) -> bool {
        matches!(byte, b'0'..=b'9' | b'A'..=b'f')
    }
    let mut at = start;
    while at < end {
        match id[at] {
            b'%' if at + 2 < end && is_hex(id[at + 1]) && is_hex(id[at + 2]) => at += 2,
            b'/' if at > start => {}
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => {}
            b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' => {}
            b',' | b';' | b'=' | b':' | b'@' => {}
            _ => return false,
        }
        at += 1;
    }
    start < end
}

fn is_builtin_suffix(suffix: &str) -> bool {
    let (base, dimensions) = split_dimensions(suffix);
    dimensions <= MAX_DIMENSIONS
        && base.starts_with(|first: char| first.is_ascii_alphabetic())
        && base.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        && !base.contains("--")
        && !base.ends_with('-')
}
