//! Bytes as arguments and in listings: hex, and text in the style of C.

use std::fmt;
use std::str::FromStr;

use permazen::kv::{Hex, key};

/// Bytes that were typed: hex digits, or a C string in quotes. They are shown as hex.
///
/// A C string has printable ASCII characters and the escapes `\" \\ \b \t \n \f \r \xNN`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl FromStr for Bytes {
    type Err = InvalidBytes;

    fn from_str(text: &str) -> Result<Bytes, InvalidBytes> {
        let hex = || key::parse_hex(text).ok();
        c_string(text).or_else(hex).map(Bytes).ok_or(InvalidBytes)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(&self.0).fmt(f)
    }
}

/// A text that is no bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvalidBytes;

impl fmt::Display for InvalidBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            r#"invalid bytes: write an even number of hex digits (1000fa), or ASCII text in quotes ("abc\x00")"#,
        )
    }
}

impl std::error::Error for InvalidBytes {}

fn c_string(text: &str) -> Option<Vec<u8>> {
    let inside = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut bytes = Vec::with_capacity(inside.len());
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        bytes.push(match c {
            '\\' => match chars.next()? {
                c @ ('"' | '\\') => u8::try_from(c).ok()?,
                'b' => 0x08,
                't' => b'\t',
                'n' => b'\n',
                'f' => 0x0c,
                'r' => b'\r',
                'x' => {
                    let (high, low) = (chars.next()?.to_digit(16)?, chars.next()?.to_digit(16)?);
                    u8::try_from(high << 4 | low).ok()?
                }
                _ => return None,
            },
            '"' => return None,
            ' '..='~' => u8::try_from(c).ok()?,
            _ => return None,
        });
    }
    Some(bytes)
}

/// Shows bytes as a C string.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CString<'b>(pub(crate) &'b [u8]);

impl fmt::Display for CString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for &byte in self.0 {
            match byte {
                b'"' => f.write_str("\\\"")?,
                b'\\' => f.write_str("\\\\")?,
                0x08 => f.write_str("\\b")?,
                b'\t' => f.write_str("\\t")?,
                b'\n' => f.write_str("\\n")?,
                0x0c => f.write_str("\\f")?,
                b'\r' => f.write_str("\\r")?,
                b' '..=b'~' => write!(f, "{}", char::from(byte))?,
                _ => write!(f, "\\x{byte:02x}")?,
            }
        }
        f.write_str("\"")
    }
}

const BYTES_IN_LINE: usize = 32;
const HEX_COLUMNS: usize = 72;

/// Lists bytes in hex with their characters, 32 in a line, each line after `mark`. No bytes give no
/// line.
pub(crate) struct Listing<'b> {
    pub(crate) mark: char,
    pub(crate) bytes: &'b [u8],
}

impl fmt::Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.bytes.chunks(BYTES_IN_LINE) {
            let groups: Vec<_> = line.chunks(4).map(|group| Hex(group).to_string()).collect();
            let groups = groups.join(" ");
            let shown = |byte: u8| match byte {
                b' '..=b'~' => char::from(byte),
                _ => '.',
            };
            let characters: String = line.iter().map(|&byte| shown(byte)).collect();
            writeln!(f, "{} {groups:HEX_COLUMNS$}   {characters}", self.mark)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_hex_or_c_strings() {
        let good: [(&str, &[u8]); 8] = [
            ("", b""),
            ("00fA", b"\x00\xfa"),
            (r#""""#, b""),
            (r#""abc""#, b"abc"),
            (r#""a\"\\\b\t\n\f\r\x00\xFf~ ""#, b"a\"\\\x08\t\n\x0c\r\x00\xff~ "),
            ("10", b"\x10"),
            (r#""10""#, b"10"),
            (r#""Ann\x00""#, b"Ann\x00"),
        ];
        for (text, bytes) in good {
            assert_eq!(text.parse(), Ok(Bytes(bytes.to_vec())), "{text}");
        }
        for bad in [
            "0",
            "0g",
            "+1",
            " 00",
            "00 ",
            "\"",
            "\"a",
            "a\"",
            r#""a"b""#,
            r#""\""#,
            r#""\x0""#,
            r#""\x0g""#,
            r#""\q""#,
            "\"é\"",
            "\"\t\"",
            "é",
            "０0",
            "0x00",
        ] {
            assert_eq!(bad.parse::<Bytes>(), Err(InvalidBytes), "{bad}");
        }
    }

    #[test]
    fn c_strings_are_read_as_they_are_shown() {
        let all: Vec<u8> = (0..=255).collect();
        let text = CString(&all).to_string();
        assert_eq!(text.parse(), Ok(Bytes(all)));
        assert!(text.bytes().all(|byte| matches!(byte, b' '..=b'~')));
        assert_eq!(CString(b"\x10\x15x\x00").to_string(), r#""\x10\x15x\x00""#);
    }

    #[test]
    fn listings_have_32_bytes_in_a_line() {
        let key = b"\x10\0\0\0\0\0\0\x01\x15x\0";
        let shown = Listing { mark: 'K', bytes: key }.to_string();
        let java = "K 10000000 00000001 157800                                                   .........x.\n";
        assert_eq!(shown, java);
        assert_eq!(Listing { mark: 'V', bytes: b"" }.to_string(), "");
        let all: Vec<u8> = (0..=255).collect();
        let shown = Listing { mark: 'V', bytes: &all }.to_string();
        assert_eq!(shown.lines().count(), 8);
        assert!(shown.lines().all(|line| line.len() == 2 + 72 + 3 + 32));
        assert!(shown.chars().all(|c| matches!(c, ' '..='~' | '\n')));
    }
}
