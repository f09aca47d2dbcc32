//! JSON as this program prints it: with unpaired surrogates, and numbers as they are written.

use std::fmt;

use permazen::encoding::JavaString;

/// A JSON value.
#[derive(Debug, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    /// A number as it is written.
    Number(String),
    Text(JavaString),
    Array(Vec<Json>),
    /// Names and values in their order.
    Object(Vec<(JavaString, Json)>),
}

/// The mistake in a text, and its place.
#[derive(Debug, PartialEq)]
pub(super) struct Mistake {
    /// The column in bytes, from 1.
    pub(super) column: usize,
    pub(super) what: &'static str,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
}

/// How deep arrays and objects can be in each other.
const MAX_DEPTH: usize = 512;

impl Json {
    /// The value that takes up all of the text.
    pub(super) fn parse(text: &str) -> Result<Json, Mistake> {
        let mut parser = Parser { text, at: 0 };
        let value = parser.value(0)?;
        parser.blanks();
        match parser.at == text.len() {
            true => Ok(value),
            false => parser.mistake("the line continues after its value"),
        }
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl Parser<'_> {
    fn mistake<T>(&self, what: &'static str) -> Result<T, Mistake> {
        Err(Mistake { column: self.at + 1, what })
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Whether this byte comes next, which is then read.
    fn take(&mut self, byte: u8) -> bool {
        self.blanks();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, Mistake> {
        match self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            true => {
                self.at += word.len();
                Ok(value)
            }
            false => self.mistake("a JSON value is expected here"),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, Mistake> {
        self.blanks();
        // The parser calls itself, and a hostile line must not use up the stack.
        if depth > MAX_DEPTH {
            return self.mistake("arrays and objects are too deep in each other");
        }
        match self.peek() {
            Some(b'n') => self.word("null", Json::Null),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'"') => self.text().map(Json::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'[') => {
                self.at += 1;
                let mut values = Vec::new();
                if self.take(b']') {
                    return Ok(Json::Array(values));
                }
                loop {
                    values.push(self.value(depth + 1)?);
                    if self.take(b']') {
                        return Ok(Json::Array(values));
                    }
                    if !self.take(b',') {
                        return self.mistake("a , or ] is expected here");
                    }
                }
            }
            Some(b'{') => {
                self.at += 1;
                let mut fields = Vec::new();
                if self.take(b'}') {
                    return Ok(Json::Object(fields));
                }
                loop {
                    self.blanks();
                    let name = self.text()?;
                    if !self.take(b':') {
                        return self.mistake("a : is expected here");
                    }
                    fields.push((name, self.value(depth + 1)?));
                    if self.take(b'}') {
                        return Ok(Json::Object(fields));
                    }
                    if !self.take(b',') {
                        return self.mistake("a , or } is expected here");
                    }
                }
            }
            _ => self.mistake("a JSON value is expected here"),
        }
    }

    /// Reads digits, of which there must be one.
    fn digits(&mut self) -> Result<(), Mistake> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { self.mistake("a digit is expected here") } else { Ok(()) }
    }

    fn number(&mut self) -> Result<Json, Mistake> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        match self.peek() {
            // JSON has no leading zeros: another digit after this one is a mistake of the line.
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(Json::Number(self.text.get(start..self.at).unwrap_or_default().to_owned()))
    }

    fn text(&mut self) -> Result<JavaString, Mistake> {
        if self.peek() != Some(b'"') {
            return self.mistake("a name in double quotes is expected here");
        }
        self.at += 1;
        let mut units = Vec::new();
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let Some(c) = rest.chars().next() else {
                return self.mistake("the text does not end");
            };
            match c {
                '"' => {
                    self.at += 1;
                    return Ok(JavaString::from_units(&units));
                }
                '\\' => {
                    self.at += 1;
                    units.push(self.escape()?);
                }
                // JSON has them as escapes only.
                '\0'..='\u{1f}' => return self.mistake("a control character in a text"),
                _ => {
                    self.at += c.len_utf8();
                    units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
                }
            }
        }
    }

    /// The UTF-16 unit of an escape.
    fn escape(&mut self) -> Result<u16, Mistake> {
        let Some(byte) = self.peek() else { return self.mistake("the text does not end") };
        let c = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let digits = self.text.get(self.at + 1..self.at + 5);
                // Asked before the digits are parsed: parsing would accept a plus sign.
                let digits = digits.filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
                let unit = digits.and_then(|text| u16::from_str_radix(text, 16).ok());
                let Some(unit) = unit else {
                    return self.mistake("four hex digits are expected after \\u");
                };
                // One unit at a time: the two halves of a pair come together in the text, and a
                // lone one is kept.
                self.at += 5;
                return Ok(unit);
            }
            _ => return self.mistake("there is no such escape"),
        };
        self.at += 1;
        Ok(c.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Json {
        Json::Text(text.into())
    }

    #[test]
    fn values_are_read() {
        assert_eq!(Json::parse(" null "), Ok(Json::Null));
        assert_eq!(
            Json::parse(r#""a\"\\\/\b\f\n\r\t\u00e9é""#),
            Ok(text("a\"\\/\u{8}\u{c}\n\r\té\u{e9}"))
        );
        assert_eq!(Json::parse(r#""\ud83d\ude00""#), Ok(text("😀")));
        let unpaired = Json::Text(JavaString::from_units(&[0xd83d, 0x61]));
        assert_eq!(Json::parse(r#""\ud83da""#), Ok(unpaired));
        for number in ["0", "-0", "10", "0.25", "1e5", "-1.5E-10", "9223372036854775807"] {
            assert_eq!(Json::parse(number), Ok(Json::Number(number.to_owned())));
        }
        let object = Json::Object(vec![
            ("a".into(), Json::Array(vec![Json::Bool(true), Json::Array(vec![])])),
            ("".into(), Json::Object(vec![])),
        ]);
        assert_eq!(Json::parse(r#"{"a": [true , []],"":{}}"#), Ok(object));
    }

    #[test]
    fn mistakes_have_a_place() {
        for (bad, column) in [
            ("", 1),
            ("nul", 1),
            ("01", 2),
            ("-", 2),
            ("1.", 3),
            ("+1", 1),
            ("\"a", 3),
            ("\"\\q\"", 3),
            ("\"\\u12\"", 3),
            ("\"\\u+123\"", 3),
            ("\"\u{1}\"", 2),
            ("[1 2]", 4),
            ("[1,]", 4),
            ("{\"a\" 1}", 6),
            ("{a:1}", 2),
            ("{\"a\":1,}", 8),
            ("1 1", 3),
        ] {
            assert_eq!(Json::parse(bad).map_err(|mistake| mistake.column), Err(column), "{bad}");
        }
        let deep = "[".repeat(100_000);
        assert!(Json::parse(&deep).is_err());
    }
}
