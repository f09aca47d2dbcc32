//! [`Conversion`]: the conversion of a value to another encoding, only if nothing is lost.
//!
//! [`convert`](super::convert) follows Java: it casts numbers and reads texts leniently. Here a
//! conversion counts only if converting back gives the same bytes again.

use std::borrow::Cow;

use super::convert::{convert, same_meaning, unwrap};
use super::{Encoding, EncodingError, EncodingKind, EnumEncoding, Result, Value};

/// Why a value is not converted exactly.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Inexact {
    /// The bytes are not a value of the encoding that is converted from, or not in the form in
    /// which it is written.
    #[error("the stored bytes are no proper value of {encoding}: {reason}")]
    Damaged {
        /// The encoding that is converted from.
        encoding: String,
        /// The defect of the bytes.
        reason: EncodingError,
    },
    /// The conversion gives a value, but another one than is stored.
    #[error("{value} does not fit {to}: it would become {becomes}")]
    Changes {
        /// The stored value, shortened.
        value: String,
        /// The encoding that is converted to.
        to: String,
        /// The result of the conversion, shortened; a remark if it has the same text as the value.
        becomes: String,
    },
    /// Nothing in the other encoding corresponds to the value.
    #[error("{value} is no {to}")]
    NoCounterpart {
        /// The stored value, shortened.
        value: String,
        /// The encoding that is converted to.
        to: String,
        /// Why the conversion fails.
        reason: EncodingError,
    },
    /// The value is the name of no constant of the enum.
    #[error("{value} is no constant of {to}")]
    NoConstant {
        /// The stored value, shortened.
        value: String,
        /// The enum that is converted to.
        to: String,
    },
    /// The value is null, and the other encoding has no null.
    #[error("null is no value of {to}")]
    Null {
        /// The encoding that is converted to.
        to: String,
    },
    /// No value of the one encoding has a counterpart in the other.
    #[error("{value} stays as it is: no value of {from} is converted exactly to {to}")]
    NoConversion {
        /// The stored value, shortened.
        value: String,
        /// The encoding that is converted from.
        from: String,
        /// The encoding that is converted to.
        to: String,
    },
}

/// The conversion of values from one encoding to another.
///
/// ```
/// use permazen::__internal::encoding::{Conversion, Exactness};
/// use permazen::encoding::{EncodingRegistry, Value};
/// let registry = EncodingRegistry::new();
/// let find = |alias: &str| registry.find_alias(alias).map(|found| found.expect("built in"));
/// let (int, long) = (find("int")?, find("long")?);
///
/// let widen = Conversion::new(&*int, &*long);
/// assert_eq!(widen.exactness(), Exactness::Always);
///
/// let narrow = Conversion::new(&*long, &*int);
/// assert_eq!(narrow.exactness(), Exactness::Sometimes);
/// let five = long.encode_all(&Value::Long(5))?;
/// assert_eq!(narrow.exact(&five), Ok(int.encode_all(&Value::Int(5))?));
///
/// let large = long.encode_all(&Value::Long(5_000_000_000))?;
/// let refused = narrow.exact(&large).unwrap_err();
/// assert_eq!(
///     refused.to_string(),
///     "5000000000 does not fit int: it would become 705032704"
/// );
/// assert_eq!(narrow.lossy(&large)?, int.encode_all(&Value::Int(705_032_704))?);
/// # Ok::<(), permazen::encoding::EncodingError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Conversion<'a> {
    pub(super) from: &'a dyn Encoding,
    pub(super) to: &'a dyn Encoding,
    renamed: &'a [(&'a str, &'a str)],
    /// Whether the renamings lead from `to` to `from`.
    reversed: bool,
}

/// Why [`Conversion::attempt`] gives no value.
pub(super) enum Failure {
    NoCounterpart(EncodingError),
    Changes(Value),
}

impl<'a> Conversion<'a> {
    /// The conversion of values of `from` to values of `to`.
    pub fn new(from: &'a dyn Encoding, to: &'a dyn Encoding) -> Self {
        Conversion { from, to, renamed: &[], reversed: false }
    }

    /// Enum constants that have another name now, as pairs: the name now, and the name before. This
    /// is for enums and for arrays of enums.
    ///
    /// A pair counts if the enum that is converted from has the name before and lacks the name now.
    /// So the pairs may list the names that a constant had in several earlier versions.
    ///
    /// ```
    /// use permazen::__internal::encoding::{Conversion, EnumEncoding, Exactness};
    /// use permazen::encoding::Encoding;
    /// let before: &dyn Encoding = &EnumEncoding::new(["LOW", "HIGH"])?;
    /// let now: &dyn Encoding = &EnumEncoding::new(["MINOR", "HIGH"])?;
    /// assert_eq!(Conversion::new(before, now).exactness(), Exactness::Sometimes);
    /// let renaming = Conversion::new(before, now).renaming(&[("MINOR", "LOW")]);
    /// assert_eq!(renaming.exactness(), Exactness::Always);
    /// assert_eq!(
    ///     renaming.exact(&before.encode_all(&before.from_text("LOW")?)?),
    ///     Ok(now.encode_all(&now.from_text("MINOR")?)?)
    /// );
    /// # Ok::<(), permazen::encoding::EncodingError>(())
    /// ```
    pub fn renaming(self, renamed: &'a [(&'a str, &'a str)]) -> Self {
        Conversion { renamed, ..self }
    }

    /// The encoded value of the one encoding that corresponds exactly to an encoded value of the
    /// other: converting back gives the same bytes. A number also stays the same number,
    /// and a point in time the same point in time.
    ///
    /// A reference is exact if the encoding converted to allows the type of its target. Null is
    /// exact if both encodings have it.
    ///
    /// # Errors
    /// [`Inexact`], which says what the value would become or why it has no counterpart.
    pub fn exact(&self, bytes: &[u8]) -> std::result::Result<Vec<u8>, Inexact> {
        let damaged = |reason| Inexact::Damaged { encoding: self.from.name().into_owned(), reason };
        let value = self.from.decode_all(bytes).map_err(damaged)?;
        // The bytes stay as they are, so they need not be in the form in which they are written.
        if self.from.is_same(self.to) {
            return Ok(bytes.to_vec());
        }
        // Damaged bytes could convert back to other bytes, and the value would look inexact.
        self.from.check_canonical(bytes).map_err(damaged)?;
        self.attempt(&value).map_err(|failure| self.refusal(&value, failure))
    }

    /// The result of Java's conversion: the nearest number, one without its upper bits, the point
    /// in time without its zone. A value may become another one.
    ///
    /// # Errors
    /// If the bytes are not a value, or if Java's conversion gives no value.
    pub fn lossy(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let value = self.from.decode_all(bytes)?;
        // The same encoding has the same bytes, damaged or not.
        if self.from.is_same(self.to) {
            return Ok(bytes.to_vec());
        }
        self.convert(&value).map(|(_, converted)| converted)
    }

    /// The conversion back.
    pub(super) fn back(&self) -> Self {
        Conversion { from: self.to, to: self.from, reversed: !self.reversed, ..*self }
    }

    /// The conversion of the elements of arrays.
    pub(super) fn of_elements<'e>(
        &self,
        from: &'e dyn Encoding,
        to: &'e dyn Encoding,
    ) -> Conversion<'e>
    where
        'a: 'e,
    {
        Conversion { from, to, renamed: self.renamed, reversed: self.reversed }
    }

    /// The bytes of the value that corresponds exactly to a value of another encoding.
    pub(super) fn attempt(&self, value: &Value) -> std::result::Result<Vec<u8>, Failure> {
        let (converted, bytes) = self.convert(value).map_err(Failure::NoCounterpart)?;
        // Only the types that the new field allows count, not those that the old one allowed.
        if let (EncodingKind::Reference(_), EncodingKind::Reference(_)) =
            (self.from.kind(), self.to.kind())
        {
            return Ok(bytes);
        }
        // Not the stored bytes: a time in a region may be stored with an offset from an older
        // edition of the region's rules, and counts as the time that is read.
        let original = self.from.encode_all(value).map_err(Failure::NoCounterpart)?;
        // Converting back tells whether anything was lost on the way.
        let exact = self.back().convert(&converted).is_ok_and(|(_, back)| back == original)
            // A cast can give other bytes back and forth, and still be another number.
            && same_meaning(self.from, value, self.to, &converted);
        if exact { Ok(bytes) } else { Err(Failure::Changes(converted)) }
    }

    fn convert(&self, value: &Value) -> Result<(Value, Vec<u8>)> {
        let value = self.rename(self.from, self.to, value);
        // A value that `to` does not allow is refused when it is written.
        let converted = convert(self.to, self.from, &value)?;
        let bytes = self.to.encode_all(&converted)?;
        Ok((converted, bytes))
    }

    /// The value with the constants that have another name in `to`, as values of `to`.
    fn rename<'v>(
        &self,
        from: &dyn Encoding,
        to: &dyn Encoding,
        value: &'v Value,
    ) -> Cow<'v, Value> {
        if self.renamed.is_empty() {
            return Cow::Borrowed(value);
        }
        match (unwrap(from), unwrap(to), value) {
            (EncodingKind::Enum(from), EncodingKind::Enum(to), Value::Enum(constant)) => {
                match self.new_name(from, to, constant.name()).and_then(|name| to.by_name(name)) {
                    Some(constant) => Cow::Owned(Value::Enum(constant)),
                    None => Cow::Borrowed(value),
                }
            }
            // The constants of an enum array are renamed one by one.
            (EncodingKind::Array(from), EncodingKind::Array(to), Value::Array(items)) => {
                let rename = |item| self.rename(from.as_ref(), to.as_ref(), item).into_owned();
                Cow::Owned(Value::Array(items.iter().map(rename).collect()))
            }
            _ => Cow::Borrowed(value),
        }
    }

    /// The name in `to` of a renamed constant of `from`.
    fn new_name(&self, from: &EnumEncoding, to: &EnumEncoding, name: &str) -> Option<&'a str> {
        let (older, newer) = if self.reversed { (to, from) } else { (from, to) };
        let mut pairs = self.renamed.iter().filter(|(now, before)| {
            // The name before must be gone, or a constant could have two meanings.
            older.by_name(before).is_some()
                && older.by_name(now).is_none()
                && newer.by_name(now).is_some()
        });
        if self.reversed {
            pairs.find(|(now, _)| *now == name).map(|(_, before)| *before)
        } else {
            pairs.find(|(_, before)| *before == name).map(|(now, _)| *now)
        }
    }

    fn refusal(&self, value: &Value, failure: Failure) -> Inexact {
        let to = self.to.name().into_owned();
        // Null has a reason of its own, since the value's text would say nothing.
        if value.is_null() {
            return Inexact::Null { to };
        }
        let shown = show(self.from, value);
        let enums = [self.from, self.to].map(|e| matches!(unwrap(e), EncodingKind::Enum(_)));
        match failure {
            Failure::Changes(converted) => {
                let mut becomes = show(self.to, &converted);
                // Two values can have one text, and a message with the same text twice would help
                // little.
                if becomes == shown {
                    becomes = "another value with the same text".to_owned();
                }
                Inexact::Changes { value: shown, to, becomes }
            }
            // Only an enum has names, so the missing name is the reason.
            Failure::NoCounterpart(_) if enums[1] => Inexact::NoConstant { value: shown, to },
            // That no value is ever converted is more to know than why this one is not.
            Failure::NoCounterpart(_) if !enums[0] && self.is_never_exact() => {
                Inexact::NoConversion { value: shown, from: self.from.name().into_owned(), to }
            }
            Failure::NoCounterpart(reason) => Inexact::NoCounterpart { value: shown, to, reason },
        }
    }
}

/// The largest number of characters that a message shows of a value.
const SHOWN: usize = 64;

/// A value for messages: shortened, on one line, strings and names in quotes.
fn show(encoding: &dyn Encoding, value: &Value) -> String {
    let text = match value {
        Value::Null => return "null".to_owned(),
        Value::Utf16(text) => String::from_utf16_lossy(&text.units().collect::<Vec<_>>()),
        Value::String(text) => text.clone(),
        _ => encoding.to_text(value).unwrap_or_else(|_| value.type_name().into_owned()),
    };
    // A long text would hide the rest of the message.
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    match value {
        // A text in quotes shows where it begins and ends.
        Value::Utf16(_) | Value::String(_) | Value::Enum(_) => format!("{shown:?}"),
        // Quotes within a list stay as the list has them.
        _ => shown.escape_debug().to_string().replace("\\\"", "\""),
    }
}
