//! URIs.

use std::borrow::Cow;
use std::net::Ipv6Addr;

use super::string_type::string_type;
use crate::bytes::invalid;
use crate::encoding::{JavaString, Result, Value};

/// A URI or relative reference that `java.net.URI` accepts: RFC 2396, with characters beyond ASCII
/// as they are, and with IPv6 addresses in brackets.
///
/// The text stays as it is. The feature `url` adds conversions to and from that crate's type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uri(JavaString);

impl Uri {
    /// The URI with this text.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](crate::encoding::EncodingError::Invalid) if it is not a URI.
    pub fn new(uri: &str) -> Result<Self> {
        Self::from_java(uri.into())
    }

    /// The URI with this text, which may be any string of Java's.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](crate::encoding::EncodingError::Invalid) if it is not a URI.
    pub fn from_java(uri: JavaString) -> Result<Self> {
        let units: Vec<u16> = uri.units().collect();
        if (Parser { units: &units }).is_uri() {
            Ok(Uri(uri))
        } else {
            invalid(format!("invalid URI {uri:?}"))
        }
    }

    /// The URI as a string.
    pub fn as_java(&self) -> Cow<'_, JavaString> {
        Cow::Borrowed(&self.0)
    }

    /// The URI as text; `None` if it has unpaired surrogates.
    pub fn as_str(&self) -> Option<&str> {
        self.0.as_str()
    }
}

string_type!(Uri, crate::encoding::ids::URI);

/// The characters allowed in a part, besides letters, digits and marks, which are always allowed.
#[derive(Clone, Copy)]
struct Allowed(&'static str);

const MARKS: &str = "-_.!~*'()";
const URIC: Allowed = Allowed(";/?:@&=+$,[]");
const PATH: Allowed = Allowed(":@&=+$,;/");
const REG_NAME: Allowed = Allowed("$,;:@&=+");
const USER_INFO: Allowed = Allowed(";:&=+$,");

struct Parser<'u> {
    units: &'u [u16],
}

fn ascii(unit: u16) -> Option<char> {
    char::from_u32(u32::from(unit)).filter(char::is_ascii)
}

/// Whether it is a visible character beyond ASCII. Surrogates count.
fn is_other(unit: u16) -> bool {
    let space = matches!(
        unit,
        0xa0 | 0x1680 | 0x2000..=0x200a | 0x2028 | 0x2029 | 0x202f | 0x205f | 0x3000
    );
    unit > 0x9f && !space
}

impl Parser<'_> {
    fn is_uri(&self) -> bool {
        let end = self.units.len();
        let fragment = self.find(0, end, "#");
        let first = self.find(0, end, ":/?#");
        let rest = if self.at(first, ':') {
            if !self.is_scheme(first) {
                return false;
            }
            first + 1
        } else {
            0
        };
        // A URI with a scheme and without a slash has no parts that Java looks into.
        let body = if rest > 0 && !self.at(rest, '/') {
            fragment > rest && self.all(rest, fragment, URIC)
        } else {
            self.is_hierarchical(rest, fragment)
        };
        // The fragment is allowed the same characters in both forms.
        body && (fragment == end || self.all(fragment + 1, end, URIC))
    }

    fn at(&self, index: usize, wanted: char) -> bool {
        self.units.get(index).copied() == Some(wanted as u16)
    }

    /// The index of the first of these characters in a range, or the end of the range.
    fn find(&self, start: usize, end: usize, wanted: &str) -> usize {
        let is_wanted = |unit: &u16| ascii(*unit).is_some_and(|char| wanted.contains(char));
        self.part(start, end).iter().position(is_wanted).map_or(end, |index| start + index)
    }

    /// Whether a range has only allowed characters and well-formed escapes.
    fn all(&self, start: usize, end: usize, allowed: Allowed) -> bool {
        let mut rest = self.part(start, end);
        while let [first, after @ ..] = rest {
            // A percent sign must begin an escape, wherever other characters are allowed.
            rest = match ascii(*first) {
                Some('%') => match after {
                    [a, b, after @ ..]
                        if [a, b].into_iter().all(|unit| {
                            ascii(*unit).is_some_and(|char| char.is_ascii_hexdigit())
                        }) =>
                    {
                        after
                    }
                    _ => return false,
                },
                Some(char)
                    if char.is_ascii_alphanumeric()
                        || MARKS.contains(char)
                        || allowed.0.contains(char) =>
                {
                    after
                }
                None if is_other(*first) => after,
                _ => return false,
            };
        }
        true
    }

    fn part(&self, start: usize, end: usize) -> &[u16] {
        self.units.get(start..end).unwrap_or_default()
    }

    fn is_scheme(&self, end: usize) -> bool {
        let mut chars = self.part(0, end).iter().map(|&unit| ascii(unit));
        chars.next().flatten().is_some_and(|first| first.is_ascii_alphabetic())
            && chars.all(|char| {
                char.is_some_and(|char| char.is_ascii_alphanumeric() || "+-.".contains(char))
            })
    }

    fn is_hierarchical(&self, start: usize, end: usize) -> bool {
        let mut path = start;
        if self.at(start, '/') && self.at(start + 1, '/') {
            path = self.find(start + 2, end, "/?");
            // Something must follow an empty authority, even if it is only a fragment.
            let is_authority = if path == start + 2 {
                path < self.units.len()
            } else {
                self.is_authority(start + 2, path)
            };
            if !is_authority {
                return false;
            }
        }
        let query = self.find(path, end, "?");
        self.all(path, query, PATH) && (query == end || self.all(query + 1, end, URIC))
    }

    /// Whether it is a registered name, which may be nearly anything, or a server whose host is an
    /// IPv6 address in brackets.
    fn is_authority(&self, start: usize, end: usize) -> bool {
        // A registered name allows nearly all that a server does, so only brackets need a second
        // look.
        self.all(start, end, REG_NAME) || self.is_bracketed_server(start, end)
    }

    fn is_bracketed_server(&self, start: usize, end: usize) -> bool {
        let at_sign = self.find(start, end, "@");
        let host = if at_sign < end { at_sign + 1 } else { start };
        let close = self.find(host, end, "]");
        if !self.at(host, '[')
            || close == end
            || (at_sign < end && !self.all(start, at_sign, USER_INFO))
        {
            return false;
        }
        let address: String =
            self.part(host + 1, close).iter().filter_map(|&unit| ascii(unit)).collect();
        // A scope follows the address after a percent sign.
        let (address, scope) = address
            .split_once('%')
            .map_or((address.as_str(), None), |(address, scope)| (address, Some(scope)));
        let is_scope = |scope: &str| {
            !scope.is_empty()
                && scope.chars().all(|char| char.is_ascii_alphanumeric() || "_.".contains(char))
        };
        // Characters beyond ASCII were left out of the text above, so they are looked for here.
        let only_ascii = self.part(host, close).iter().all(|&unit| ascii(unit).is_some());
        let port = self.part(close + 1, end);
        let is_port = match port {
            [] => true,
            [colon, digits @ ..] if *colon == u16::from(b':') => {
                let number: Option<String> =
                    digits.iter().map(|&unit| ascii(unit).filter(char::is_ascii_digit)).collect();
                // An empty port is allowed, and its digits must fit into a Java `int`.
                number.is_some_and(|number| number.is_empty() || number.parse::<i32>().is_ok())
            }
            _ => false,
        };
        only_ascii && is_ipv6(address) && scope.is_none_or(is_scope) && is_port
    }
}

/// Whether it is an IPv6 address. If it ends like IPv4, those numbers may have leading zeros.
fn is_ipv6(address: &str) -> bool {
    match address.rsplit_once(':') {
        Some((start, end)) if end.contains('.') => {
            let without_zeros = |number: &str| match number.trim_start_matches('0') {
                "" if !number.is_empty() => "0".to_owned(),
                rest => rest.to_owned(),
            };
            let end: Vec<String> = end.split('.').map(without_zeros).collect();
            format!("{start}:{}", end.join(".")).parse::<Ipv6Addr>().is_ok()
        }
        _ => address.parse::<Ipv6Addr>().is_ok(),
    }
}
