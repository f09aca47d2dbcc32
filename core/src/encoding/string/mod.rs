//! Strings: the UTF-16 units as unsigned numbers, then `00`.
//!
//! Unit 0 is written as `01 00` and unit 1 as `01 01`. ASCII characters from `02` to `7f` stay as
//! they are, so a string of them can be borrowed from its encoded form ([`read_cow`]). This form
//! has no null. The registered encoding `String` adds `ff` for null.

pub(crate) mod encoding;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use permazen_kv::key::after_prefix;

use super::{EncodingError, Reader, uint};
use crate::bytes::{Result, invalid};

/// A string of UTF-16 units, as Java has it. Unlike a Rust string, it may have unpaired surrogates.
///
/// It sorts by units. This differs from the order of `str`: characters above U+FFFF come before
/// U+E000 – U+FFFF.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct JavaString(Repr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    Text(String),
    /// A string that has an unpaired surrogate. No other string has this form.
    Units(Box<[u16]>),
}

impl JavaString {
    /// The string with these units.
    pub fn from_units(units: &[u16]) -> Self {
        match String::from_utf16(units) {
            // Text is the usual case and takes less memory, so units are kept only if there is no
            // text.
            Ok(text) => JavaString(Repr::Text(text)),
            Err(_) => JavaString(Repr::Units(units.into())),
        }
    }

    /// The string as Rust text; `None` if it has unpaired surrogates.
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Repr::Text(text) => Some(text),
            Repr::Units(_) => None,
        }
    }

    /// The UTF-16 units.
    pub fn units(&self) -> impl Iterator<Item = u16> + '_ {
        let (text, units): (&str, &[u16]) = match &self.0 {
            Repr::Text(text) => (text, &[]),
            Repr::Units(units) => ("", units),
        };
        text.encode_utf16().chain(units.iter().copied())
    }

    /// The string as Rust text.
    ///
    /// # Errors
    /// The unchanged string if it has unpaired surrogates.
    pub fn into_string(self) -> std::result::Result<String, JavaString> {
        // A string that is text always has this form, so no conversion is tried.
        match self.0 {
            Repr::Text(text) => Ok(text),
            repr => Err(JavaString(repr)),
        }
    }

    /// The text, with U+FFFD in place of unpaired surrogates.
    pub fn to_string_lossy(&self) -> Cow<'_, str> {
        match &self.0 {
            Repr::Text(text) => Cow::Borrowed(text),
            Repr::Units(units) => Cow::Owned(String::from_utf16_lossy(units)),
        }
    }

    /// Whether the string has no units.
    pub fn is_empty(&self) -> bool {
        // A string of units has an unpaired surrogate, so it is not empty.
        matches!(&self.0, Repr::Text(text) if text.is_empty())
    }
}

impl From<&str> for JavaString {
    fn from(text: &str) -> Self {
        JavaString(Repr::Text(text.to_owned()))
    }
}

impl From<String> for JavaString {
    fn from(text: String) -> Self {
        JavaString(Repr::Text(text))
    }
}

impl PartialOrd for JavaString {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for JavaString {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            // Comparing bytes is faster than taking units apart.
            (Repr::Text(a), Repr::Text(b)) => compare(a, b),
            _ => self.units().cmp(other.units()),
        }
    }
}

impl fmt::Display for JavaString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_string_lossy())
    }
}

impl fmt::Debug for JavaString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Text(text) => fmt::Debug::fmt(text, f),
            Repr::Units(units) => write!(f, "utf16 {units:x?}"),
        }
    }
}

/// Compares two texts by UTF-16 units. This is the order of their encoded forms.
pub fn compare(a: &str, b: &str) -> Ordering {
    let differing = a.bytes().zip(b.bytes()).find(|(x, y)| x != y);
    match differing {
        None => a.len().cmp(&b.len()),
        // Lead bytes ee and ef start U+E000 – U+FFFF. Lead bytes from f0 start characters whose
        // units are surrogates, which are smaller.
        Some((x, y)) if x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0) => y.cmp(&x),
        Some((x, y)) => x.cmp(&y),
    }
}

/// How many bytes at the start are ASCII characters that stay as they are: `02` – `7f`.
#[inline]
fn plain_prefix(bytes: &[u8]) -> usize {
    // Eight bytes are tested at once, since most texts are ASCII.
    let chunks = bytes.as_chunks::<8>().0;
    let length = 8 * chunks.iter().take_while(|chunk| are_plain(**chunk)).count();
    let rest = bytes.get(length..).unwrap_or_default();
    length + rest.iter().take_while(|byte| (0x02..=0x7f).contains(*byte)).count()
}

/// Whether these are the bytes of one string, all of whose characters stay as they are.
#[inline]
pub(crate) fn is_plain(bytes: &[u8]) -> bool {
    let Some((0, text)) = bytes.split_last() else { return false };
    match text.last_chunk::<8>() {
        // The last eight bytes can overlap with a chunk before them: testing them twice is cheaper
        // than one by one.
        Some(last) => text.as_chunks::<8>().0.iter().chain([last]).all(|chunk| are_plain(*chunk)),
        None => plain_prefix(text) == text.len(),
    }
}

/// Whether these are ASCII characters that stay as they are.
#[inline]
fn are_plain(chunk: [u8; 8]) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const TWOS: u64 = 0x0202_0202_0202_0202;
    // A byte that is too large has its high bit set. A byte that is too small has it set after
    // subtracting 2.
    let word = u64::from_le_bytes(chunk);
    (word | word.wrapping_sub(TWOS)) & HIGH == 0
}

/// Reads the text if all its characters stay as they are. Otherwise `None`, and nothing is read.
#[inline]
fn plain<'a>(reader: &mut Reader<'a>) -> Option<&'a str> {
    let bytes = reader.rest();
    let length = plain_prefix(bytes);
    // The text can be borrowed only if the string ends here.
    let (text, [0, ..]) = bytes.split_at_checked(length)? else { return None };
    // ASCII is always UTF-8; the check keeps the code free of `unsafe`.
    let text = std::str::from_utf8(text).ok()?;
    reader.take(length + 1).ok()?;
    Some(text)
}

/// Appends a text.
pub fn write(text: &str, out: &mut Vec<u8>) {
    let mut rest = text;
    loop {
        let plain = plain_prefix(rest.as_bytes());
        // The prefix is ASCII, so it ends between two characters.
        let Some((plain, after)) = rest.split_at_checked(plain) else { break };
        out.extend_from_slice(plain.as_bytes());
        let mut chars = after.chars();
        // The text goes on after this character, so ASCII after it is copied at once again.
        let Some(next) = chars.next() else { break };
        for &mut unit in next.encode_utf16(&mut [0; 2]) {
            write_unit(unit, out);
        }
        rest = chars.as_str();
    }
    out.push(0);
}

/// Appends the string with these UTF-16 units.
pub fn write_units(units: impl IntoIterator<Item = u16>, out: &mut Vec<u8>) {
    for unit in units {
        write_unit(unit, out);
    }
    out.push(0);
}

fn write_unit(unit: u16, out: &mut Vec<u8>) {
    match unit {
        // 0 ends a string, so a unit 0 needs an escape. The escape is 1, which then needs one too.
        0 => out.extend_from_slice(&[1, 0]),
        1 => out.extend_from_slice(&[1, 1]),
        _ => uint::write(u32::from(unit), out),
    }
}

/// The bounds of the encoded strings that begin with a text: the first is included, the second is
/// not. Null is not between them.
///
/// The code of a unit is not the beginning of the code of another one. So a string begins with the
/// text exactly if its bytes begin with those of the text without its end.
pub(crate) fn starting_with(text: &str) -> (Vec<u8>, Vec<u8>) {
    let mut lower = Vec::new();
    write(text, &mut lower);
    // The end of the string is cut off, so that longer strings come within the bounds.
    lower.pop();
    // No code of a unit begins with `ff`, which is null. So it is after all strings.
    let upper = after_prefix(&lower).filter(|_| !lower.is_empty());
    (lower, upper.unwrap_or_else(|| vec![0xff]))
}

/// Reads a string as Rust text.
///
/// # Errors
/// The errors of [`read_units`]; [`EncodingError::Invalid`] if the string has unpaired surrogates
/// (see [`read_java`]).
pub fn read(reader: &mut Reader<'_>) -> Result<String> {
    read_cow(reader).map(Cow::into_owned)
}

/// Reads a string as Rust text. It is borrowed from the input if all characters are ASCII and none
/// is U+0000 or U+0001.
///
/// # Errors
/// The errors of [`read`].
pub fn read_cow<'a>(reader: &mut Reader<'a>) -> Result<Cow<'a, str>> {
    // The usual text is borrowed, which costs nothing.
    if let Some(text) = plain(reader) {
        return Ok(Cow::Borrowed(text));
    }
    match read_java(reader)?.into_string() {
        Ok(text) => Ok(Cow::Owned(text)),
        Err(_) => invalid("the string has unpaired surrogates, which Rust text cannot hold"),
    }
}

/// Reads any string.
///
/// # Errors
/// The errors of [`read_units`].
pub fn read_java(reader: &mut Reader<'_>) -> Result<JavaString> {
    if let Some(text) = plain(reader) {
        return Ok(text.into());
    }
    // The start is kept, because an unpaired surrogate is met only later.
    let start = reader.clone();
    let mut text = String::new();
    let mut high = None;
    while let Some(unit) = next_unit(reader)? {
        let decoded = match (high.take(), unit) {
            (None, 0xd800..=0xdbff) => {
                // A high surrogate is a character only with the unit after it.
                high = Some(unit);
                continue;
            }
            (None, _) => char::from_u32(u32::from(unit)),
            (Some(high), _) => {
                char::decode_utf16([high, unit]).next().and_then(std::result::Result::ok)
            }
        };
        match decoded {
            Some(next) => text.push(next),
            // An unpaired surrogate: read the string again, as units.
            None => return units_from(start, reader),
        }
    }
    // The string ended after a high surrogate, so it is unpaired.
    if high.is_some() {
        return units_from(start, reader);
    }
    Ok(text.into())
}

fn units_from<'a>(start: Reader<'a>, reader: &mut Reader<'a>) -> Result<JavaString> {
    *reader = start;
    read_units(reader).map(|units| JavaString::from_units(&units))
}

/// Reads a string as UTF-16 units.
///
/// # Errors
/// [`EncodingError::Truncated`] if the end is missing; [`EncodingError::Invalid`] for a wrong
/// escape or a unit above FFFF.
pub fn read_units(reader: &mut Reader<'_>) -> Result<Vec<u16>> {
    let mut units = Vec::new();
    while let Some(unit) = next_unit(reader)? {
        units.push(unit);
    }
    Ok(units)
}

/// Skips a string.
///
/// # Errors
/// The errors of [`read_units`].
pub fn skip(reader: &mut Reader<'_>) -> Result<()> {
    loop {
        // Plain characters are passed without taking them apart.
        reader.take(plain_prefix(reader.rest()))?;
        if next_unit(reader)?.is_none() {
            return Ok(());
        }
    }
}

/// Reads a string. Returns whether its bytes are those that [`write`] gives: no number takes more
/// bytes than it needs.
pub(crate) fn is_canonical(reader: &mut Reader<'_>) -> Result<bool> {
    loop {
        reader.take(plain_prefix(reader.rest()))?;
        let before = reader.rest().len();
        // The end must be the single byte `00`, not a longer form of 0.
        let Some(unit) = next_unit(reader)? else { return Ok(before - reader.rest().len() == 1) };
        // Units 0 and 1 are written with an escape byte.
        let expected = if unit < 2 { 2 } else { uint::len(u32::from(unit)) };
        if before - reader.rest().len() != expected {
            return Ok(false);
        }
    }
}

#[inline]
fn next_unit(reader: &mut Reader<'_>) -> Result<Option<u16>> {
    match uint::read(reader)? {
        0 => Ok(None),
        1 => match reader.byte()? {
            escaped @ (0 | 1) => Ok(Some(u16::from(escaped))),
            other => invalid(format!("invalid string escape sequence 0x01 0x{other:02x}")),
        },
        // A code of more than 16 bits can be written, but is no unit.
        unit => u16::try_from(unit).map(Some).map_err(|_| {
            EncodingError::Invalid(format!("string character 0x{unit:08x} is out of range"))
        }),
    }
}
