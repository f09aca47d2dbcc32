//! Mail addresses.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::letters::is_letter_or_digit;
use super::string_type::string_type;
use crate::bytes::invalid;
use crate::encoding::{EncodingError, JavaString, Result, Value};

/// A mail address, possibly with a person's name: `Fred Example <fred@example.com>`. It may also be
/// a group of addresses.
///
/// The syntax is that of RFC 822, as Jakarta Mail's strict parser reads it. It sorts as its text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InternetAddress {
    address: Box<[u16]>,
    /// The person's name as in mail headers, but without quotes.
    personal: Option<Box<[u16]>>,
}

impl InternetAddress {
    /// The address with this text.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`] if it is not a single address.
    pub fn new(address: &str) -> Result<Self> {
        Self::from_java(address.into())
    }

    /// The address with this text, which may be any string of Java's.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`] if it is not a single address.
    pub fn from_java(text: JavaString) -> Result<Self> {
        let units: Vec<u16> = text.units().collect();
        let address = parse(&units)
            .ok_or_else(|| EncodingError::Invalid(format!("invalid email address {text:?}")))?;
        // Space around a quoted name would be lost when the text is read again, so it is dropped
        // here.
        match address.as_java() {
            printed if printed.as_ref() == &text => Ok(address),
            printed => Ok(parse(&printed.units().collect::<Vec<_>>()).unwrap_or(address)),
        }
    }

    /// The whole address as a string.
    pub fn as_java(&self) -> Cow<'_, JavaString> {
        let mut units = Vec::new();
        match &self.personal {
            Some(personal) => {
                quote_phrase(personal, &mut units);
                units.extend(" <".encode_utf16());
                units.extend_from_slice(&self.address);
                units.push(u16::from(b'>'));
            }
            // A group and a simple address are read back without brackets.
            None if self.is_group() || self.is_simple() => units.extend_from_slice(&self.address),
            None => {
                units.push(u16::from(b'<'));
                units.extend_from_slice(&self.address);
                units.push(u16::from(b'>'));
            }
        }
        Cow::Owned(JavaString::from_units(&units))
    }

    /// The bare address, such as `fred@example.com`.
    pub fn address(&self) -> JavaString {
        JavaString::from_units(&self.address)
    }

    /// The person's name as in mail headers, but without quotes.
    pub fn personal(&self) -> Option<JavaString> {
        self.personal.as_deref().map(JavaString::from_units)
    }

    fn is_group(&self) -> bool {
        let colon = self.address.iter().position(|&unit| unit == u16::from(b':'));
        self.address.last() == Some(&u16::from(b';')) && colon.is_some_and(|index| index > 0)
    }

    fn is_simple(&self) -> bool {
        !self.address.iter().any(|&unit| is_one_of(unit, "()<>,;:\\\"[]"))
    }

    /// Checks that the address can be read back from its text. Some addresses cannot.
    fn check_readable(&self) -> Result<()> {
        // A simple address has no character with a meaning of its own, so reading it back is
        // spared.
        if self.is_simple() {
            return Ok(());
        }
        let text = self.as_java().into_owned();
        match parse(&text.units().collect::<Vec<_>>()) {
            Some(again) if again.as_java().as_ref() == &text => Ok(()),
            _ => invalid(format!("the email address {text:?} cannot be read back from its text")),
        }
    }
}

impl PartialOrd for InternetAddress {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for InternetAddress {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_java().cmp(&other.as_java())
    }
}

string_type!(InternetAddress, crate::encoding::ids::INTERNET_ADDRESS, check_readable);

fn is_one_of(unit: u16, chars: &str) -> bool {
    char::from_u32(u32::from(unit)).is_some_and(|char| char.is_ascii() && chars.contains(char))
}

/// Quotes a name if it has characters with a meaning in addresses.
fn quote_phrase(phrase: &[u16], out: &mut Vec<u16>) {
    let needs_escapes = phrase.iter().any(|&unit| is_one_of(unit, "\"\\"));
    let is_control = |unit: u16| unit < 0x20 && !is_one_of(unit, "\r\n\t");
    let needs_quotes = needs_escapes
        // Java quotes these characters, so the text of the same name must have the quotes too.
        || phrase.iter().any(|&unit| {
            is_control(unit) || unit >= 0x7f || is_one_of(unit, "()<>@,;:.[]") || unit == 0
        });
    if needs_quotes {
        out.push(u16::from(b'"'));
    }
    for &unit in phrase {
        if is_one_of(unit, "\"\\") {
            out.push(u16::from(b'\\'));
        }
        out.push(unit);
    }
    if needs_quotes {
        out.push(u16::from(b'"'));
    }
}

/// Removes quotes around a name, and backslashes inside.
fn unquote(phrase: &[u16]) -> Vec<u16> {
    let quote = u16::from(b'"');
    let body = match phrase {
        [first, body @ .., last] if *first == quote && *last == quote => body,
        // A quote at one end only is a part of the name.
        _ => return phrase.to_vec(),
    };
    let mut out = Vec::with_capacity(body.len());
    let mut units = body.iter().copied().peekable();
    while let Some(unit) = units.next() {
        let escaped = if unit == u16::from(b'\\') { units.next() } else { None };
        out.push(escaped.unwrap_or(unit));
    }
    out
}

/// The units without space and control characters at both ends.
fn trim(units: &[u16]) -> &[u16] {
    let is_visible = |unit: &u16| *unit > 0x20;
    let start = units.iter().position(is_visible);
    let last = units.iter().rposition(is_visible);
    start.zip(last).and_then(|(start, last)| units.get(start..=last)).unwrap_or_default()
}

/// The part of an address that has been read so far, as indexes into the text.
#[derive(Default)]
struct Token {
    start: Option<usize>,
    end: Option<usize>,
    personal: Option<(usize, usize)>,
    in_brackets: bool,
    has_personal: bool,
}

fn parse(text: &[u16]) -> Option<InternetAddress> {
    let mut found = Vec::new();
    let mut token = Token::default();
    let mut in_group = false;
    let mut index = 0;
    while let Some(&unit) = text.get(index) {
        match ascii(unit) {
            '(' => {
                token.has_personal = true;
                // A comment after the address ends it.
                if token.start.is_some() && token.end.is_none() {
                    token.end = Some(index);
                }
                let close = comment_end(text, index)?;
                // The first comment is the name, unless a name comes before the brackets.
                token.personal = token.personal.or(Some((index + 1, close)));
                index = close;
            }
            // Each comment and each bracket is read up to its end, so these close nothing.
            ')' | '>' => return None,
            '<' => {
                token.has_personal = true;
                if token.in_brackets {
                    return None;
                }
                let close = bracket_end(text, index)?;
                // Within a group the addresses are kept as one text.
                if !in_group {
                    if let Some(start) = token.start {
                        token.personal = Some((start, index));
                    }
                    token.start = Some(index + 1);
                }
                token.in_brackets = true;
                token.end = Some(close);
                index = close;
            }
            open @ ('"' | '[') => {
                // What is in quotes or in a literal has no special characters.
                token.has_personal = true;
                token.start = token.start.or(Some(index));
                index = closing(text, index, if open == '"' { '"' } else { ']' })?;
            }
            // Empty parts of a list are passed over, as in Jakarta Mail.
            ';' | ',' if token.start.is_none() => {
                let personal = token.personal;
                token = Token { personal, ..Token::default() };
            }
            ';' => {
                // A semicolon closes a group, and there is none.
                if !in_group {
                    return None;
                }
                in_group = false;
                let start = token.start?;
                // The name of a group is a part of its address.
                found.push(InternetAddress {
                    address: trim(text.get(start..=index)?).into(),
                    personal: None,
                });
                token = Token::default();
            }
            ',' if in_group => token.in_brackets = false,
            ',' => {
                found.push(finish(text, &token, index)?);
                token = Token::default();
            }
            ':' => {
                token.has_personal = true;
                // Groups do not nest.
                if in_group {
                    return None;
                }
                in_group = true;
                token.start = token.start.or(Some(index));
            }
            ' ' | '\t' | '\r' | '\n' => {}
            _ => token.start = token.start.or(Some(index)),
        }
        index += 1;
    }
    if token.start.is_some() {
        found.push(finish(text, &token, text.len())?);
    }
    // A list of several addresses is not a single address.
    match found.len() {
        1 => found.pop(),
        _ => None,
    }
}

/// The character if it is ASCII; otherwise a letter, which has no special meaning.
fn ascii(unit: u16) -> char {
    char::from_u32(u32::from(unit)).filter(char::is_ascii).unwrap_or('a')
}

/// The index of the closing parenthesis of a comment. Comments may nest.
fn comment_end(text: &[u16], open: usize) -> Option<usize> {
    let mut nesting = 1;
    let mut index = open + 1;
    while let Some(&unit) = text.get(index) {
        match ascii(unit) {
            // An escaped character closes nothing.
            '\\' => index += 1,
            '(' => nesting += 1,
            ')' => nesting -= 1,
            _ => {}
        }
        if nesting == 0 {
            return Some(index);
        }
        index += 1;
    }
    None
}

/// The index of the closing bracket of an address, which may contain quotes.
fn bracket_end(text: &[u16], open: usize) -> Option<usize> {
    let mut quoted = false;
    let mut index = open + 1;
    while let Some(&unit) = text.get(index) {
        match ascii(unit) {
            '\\' => index += 1,
            '"' => quoted = !quoted,
            '>' if !quoted => return Some(index),
            _ => {}
        }
        index += 1;
    }
    None
}

fn closing(text: &[u16], open: usize, wanted: char) -> Option<usize> {
    let mut index = open + 1;
    while let Some(&unit) = text.get(index) {
        match ascii(unit) {
            '\\' => index += 1,
            char if char == wanted => return Some(index),
            _ => {}
        }
        index += 1;
    }
    None
}

fn finish(text: &[u16], token: &Token, index: usize) -> Option<InternetAddress> {
    let address = trim(text.get(token.start?..token.end.unwrap_or(index))?);
    let personal = match token.personal {
        Some((start, end)) if token.has_personal => Some(unquote(trim(text.get(start..end)?))),
        _ => None,
    };
    // An empty name is no name, and the text would not read back.
    let personal = personal.filter(|personal| !trim(personal).is_empty());
    is_address(address, token.in_brackets)
        .then(|| InternetAddress { address: address.into(), personal: personal.map(Into::into) })
}

/// Whether a text is `local@domain` or `local`. In brackets, a route may come first.
fn is_address(address: &[u16], in_brackets: bool) -> bool {
    let at_sign = Some(&u16::from(b'@'));
    let mut rest = address;
    if in_brackets && address.first() == at_sign {
        // The route consists of domains, each with an `@`, up to a colon.
        while let Some(end) = rest.iter().position(|&unit| is_one_of(unit, ",:")) {
            if rest.first() != at_sign {
                return false;
            }
            let is_last = rest.get(end) == Some(&u16::from(b':'));
            rest = rest.get(end + 1..).unwrap_or_default();
            if is_last {
                break;
            }
        }
    }
    match local_end(address, address.len() - rest.len()) {
        None => false,
        Some(at) if at == address.len() => !address.is_empty(),
        Some(at) => is_domain(address.get(at + 1..).unwrap_or_default()),
    }
}

/// The index of the `@` after the local part, or the end; `None` if the local part is malformed.
fn local_end(address: &[u16], start: usize) -> Option<usize> {
    let mut last = None;
    let mut quoted = false;
    for (index, &unit) in address.iter().enumerate().skip(start) {
        let char = ascii(unit);
        let before = last.replace(char);
        // An escaped character has no special meaning.
        if char == '\\' || before == Some('\\') {
            continue;
        }
        let next = address.get(index + 1).map(|&unit| ascii(unit));
        match char {
            '"' => {
                quoted = !quoted;
                continue;
            }
            '\r' if next.is_some_and(|next| next != '\n') => return None,
            '\n' if next.is_some_and(|next| next != ' ' && next != '\t') => return None,
            // Quotes allow everything but line breaks.
            _ if quoted => continue,
            '.' if index == start || before == Some('.') => return None,
            '@' if index == 0 || before == Some('.') => return None,
            '@' => return Some(index),
            _ if unit <= 0x20 || unit == 0x7f || is_one_of(unit, "()<>,;:[]") => return None,
            _ => {}
        }
    }
    // An escaped `@` at the end counts as an `@` without a domain.
    (!quoted && last != Some('@')).then_some(address.len())
}

fn is_domain(domain: &[u16]) -> bool {
    let mut in_literal = false;
    let mut last = '@';
    for (index, &unit) in domain.iter().enumerate() {
        let char = ascii(unit);
        match char {
            '[' if index != 0 => return false,
            '[' => in_literal = true,
            ']' if index != domain.len() - 1 => return false,
            ']' => in_literal = false,
            _ if unit <= 0x20 || unit == 0x7f => return false,
            // A literal is an address in brackets, which is not looked into.
            _ if in_literal => {}
            '.' if last == '.' || index == 0 => return false,
            '.' | '-' => {}
            _ if !is_letter_or_digit(unit) => return false,
            _ => {}
        }
        last = char;
    }
    // A domain that ends with a point lacks its last part.
    !domain.is_empty() && last != '.'
}
