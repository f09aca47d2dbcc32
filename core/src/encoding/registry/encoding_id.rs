//! The IDs of encodings.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use crate::bytes::{EncodingError, Result, invalid};

/// The largest number of array dimensions.
const MAX_DIMENSIONS: usize = 255;

/// The URN that names an encoding, such as `urn:fdc:permazen.io:2020:int`.
///
/// Built-in encodings have short aliases for people (`int`, `String[]`). Stored schemas always
/// contain the full ID. An ID that ends with `[]` names the arrays of the encoding without it.
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
    /// The IDs of built-in encodings start with this.
    pub const BUILTIN_PREFIX: &'static str = "urn:fdc:permazen.io:2020:";

    /// A full ID.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`] if the text is not an encoding ID.
    pub fn new(id: &str) -> Result<Self> {
        if is_id(id) {
            Ok(EncodingId::shared(id))
        } else {
            invalid(format!("invalid encoding id {id:?}"))
        }
    }

    /// A full ID in the source of a program. In a constant, an invalid ID does not compile.
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
    /// Outside a constant, if the text is not an encoding ID.
    pub const fn literal(id: &'static str) -> Self {
        assert!(is_id(id), "invalid encoding id");
        EncodingId::known(id)
    }

    /// The ID of a built-in encoding.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`] if `suffix` cannot be the name of a built-in encoding.
    pub fn builtin(suffix: &str) -> Result<Self> {
        if !is_builtin_suffix(suffix) {
            return invalid(format!("invalid name of a built-in encoding: {suffix:?}"));
        }
        Ok(EncodingId::shared(format!("{}{suffix}", Self::BUILTIN_PREFIX)))
    }

    /// The ID that an alias or a full ID means. It need not be registered.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`] if the text is neither.
    pub fn from_alias(alias: &str) -> Result<Self> {
        if is_builtin_suffix(alias) { Self::builtin(alias) } else { Self::new(alias) }
    }

    /// The short form for people: a built-in encoding without its prefix, otherwise the full ID.
    pub fn alias(&self) -> &str {
        match self.as_str().strip_prefix(Self::BUILTIN_PREFIX) {
            Some(suffix) if is_builtin_suffix(suffix) => suffix,
            _ => self.as_str(),
        }
    }

    /// The full ID.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Repr::Static(id) => id,
            Repr::Shared(id) => id,
        }
    }

    /// The number of `[]` at its end.
    pub fn dimensions(&self) -> usize {
        split_dimensions(self.as_str()).1
    }

    /// The ID without any `[]`.
    pub fn base(&self) -> EncodingId {
        EncodingId::shared(split_dimensions(self.as_str()).0)
    }

    /// The ID of the elements of these arrays; `None` if the ID does not name arrays.
    pub fn element(&self) -> Option<EncodingId> {
        self.as_str().strip_suffix("[]").map(EncodingId::shared)
    }

    /// The ID of the arrays of these values.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`] if there would be more than 255 dimensions.
    pub fn array(&self) -> Result<EncodingId> {
        if self.dimensions() == MAX_DIMENSIONS {
            return invalid(format!("too many array dimensions: {self}"));
        }
        Ok(EncodingId::shared(format!("{self}[]")))
    }

    /// An ID that is known to be valid.
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

/// The text before the `[]`s at its end, and their number.
fn split_dimensions(id: &str) -> (&str, usize) {
    let base = id.trim_end_matches("[]");
    (base, (id.len() - base.len()) / 2)
}

/// Works byte by byte, so that it can run in a constant.
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

/// Whether the part of an ID between two positions is a namespace-specific string.
#[allow(clippy::indexing_slicing, reason = "below `end`; constants have nothing else")]
const fn is_nss(id: &[u8], start: usize, end: usize) -> bool {
    // Java tests for the range from 'A' to 'f', not for hex digits. IDs that it accepts must stay
    // readable.
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
