//! From text to tokens.

use permazen::encoding::JavaString;
use permazen::{ObjId, StorageId};

use super::limits::Result;
use super::token::{SIGNS, Token, TokenKind};
use crate::mistake::Mistake;
use crate::syntax::Span;
use crate::text::is_hidden;

pub(super) struct Lexer<'s> {
    source: &'s str,
    at: usize,
}

fn starts_word(c: char) -> bool {
    (c.is_alphabetic() || c == '_') && !is_hidden(c)
}

fn continues_word(c: char) -> bool {
    (c.is_alphanumeric() || c == '_' || c == '$') && !is_hidden(c)
}

/// Whether a text can be written as a word without backticks, if it is no word of the language.
pub(crate) fn is_plain_word(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(starts_word) && chars.all(continues_word)
}

impl<'s> Lexer<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        Lexer { source, at: 0 }
    }

    fn rest(&self) -> &'s str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next_char(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Passes over characters, and gives their text.
    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'s str {
        let rest = self.rest();
        let end = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn since(&self, start: usize) -> Span {
        Span::new(start, self.at)
    }

    /// Passes over white space and comments.
    fn skip_blanks(&mut self) {
        loop {
            self.take_while(|c| matches!(c, ' ' | '\t' | '\n' | '\r'));
            if !self.rest().starts_with("--") {
                return;
            }
            self.take_while(|c| c != '\n');
        }
    }

    pub(super) fn token(&mut self) -> Result<Token> {
        self.skip_blanks();
        let start = self.at;
        let kind = match self.peek() {
            None => TokenKind::End,
            // Asked before words, because `x` begins a word too.
            Some('x') if self.rest().starts_with("x'") => self.bytes()?,
            Some(c) if starts_word(c) => {
                TokenKind::Word(self.take_while(continues_word).to_owned())
            }
            Some('`') => self.name()?,
            Some('"') => self.text()?,
            Some('@') => self.id()?,
            Some('#') => self.storage_id()?,
            Some('$') => self.parameter()?,
            Some(c) if c.is_ascii_digit() => self.number()?,
            // Otherwise it is a sign: `->`, `-=`.
            Some('-') if self.digit_after("-") => self.number()?,
            Some(_) => self.sign()?,
        };
        Ok(Token { span: self.since(start), kind })
    }

    fn digit_after(&self, sign: &str) -> bool {
        let after = self.rest().strip_prefix(sign).and_then(|rest| rest.chars().next());
        after.is_some_and(|c| c.is_ascii_digit())
    }

    fn sign(&mut self) -> Result<TokenKind> {
        let start = self.at;
        // `a <-1` compares with a negative number: no step is followed by a digit.
        let sign = if self.rest().starts_with("<-") && self.digit_after("<-") {
            Some("<")
        } else {
            SIGNS.into_iter().find(|sign| self.rest().starts_with(sign))
        };
        if let Some(sign) = sign {
            self.at += sign.len();
            return Ok(TokenKind::Sign(sign));
        }
        let found = self.next_char().unwrap_or_default();
        let shown = if is_hidden(found) {
            format!("U+{:04X}", u32::from(found))
        } else {
            format!("`{found}`")
        };
        let what = match found {
            '\'' => {
                "a text stands in double quotes; single quotes are for bytes, as x'00ff'".into()
            }
            c if is_hidden(c) => format!("the invisible character {shown} is not allowed here"),
            _ => format!("{shown} begins nothing"),
        };
        Err(Mistake::new(self.since(start), what))
    }

    fn number(&mut self) -> Result<TokenKind> {
        let start = self.at;
        if self.peek() == Some('-') {
            self.at += 1;
        }
        let whole = self.take_while(|c| c.is_ascii_digit());
        // `1..5` is a range, so a point without a digit is no part of the number.
        if self.rest().starts_with('.') && self.digit_after(".") {
            self.at += 1;
            self.take_while(|c| c.is_ascii_digit());
        }
        if self.rest().starts_with(['e', 'E']) {
            self.at += 1;
            if self.rest().starts_with(['+', '-']) {
                self.at += 1;
            }
            if self.take_while(|c| c.is_ascii_digit()).is_empty() {
                let what = "an exponent needs digits";
                return Err(Mistake::new(self.since(start), what));
            }
        }
        // Without this, `30years` would be a number and then a name.
        if self.peek().is_some_and(continues_word) {
            self.take_while(continues_word);
            let what = "a name does not begin with a digit, and a number has no letters";
            return Err(Mistake::new(self.since(start), what));
        }
        if whole.len() > 1 && whole.starts_with('0') {
            let what = "a number does not begin with a needless 0";
            return Err(Mistake::new(self.since(start), what));
        }
        Ok(TokenKind::Number(self.source.get(start..self.at).unwrap_or_default().to_owned()))
    }

    fn id(&mut self) -> Result<TokenKind> {
        let start = self.at;
        self.at += 1;
        let digits = self.take_while(|c| c.is_ascii_alphanumeric());
        if digits.len() == 16
            && let Ok(id) = digits.parse::<ObjId>()
        {
            return Ok(TokenKind::Id(id));
        }
        let what = match digits.len() {
            16 => format!("@{digits} is not the ID of an object"),
            found => format!("after @ come 16 hex digits, not {found}"),
        };
        Err(Mistake::new(self.since(start), what))
    }

    fn storage_id(&mut self) -> Result<TokenKind> {
        let start = self.at;
        self.at += 1;
        let digits = self.take_while(|c| c.is_ascii_digit());
        let number = digits.parse::<u32>().ok().and_then(StorageId::new);
        number
            .map(TokenKind::StorageId)
            .ok_or_else(|| Mistake::new(self.since(start), "after # comes a storage ID, as #17"))
    }

    fn parameter(&mut self) -> Result<TokenKind> {
        let start = self.at;
        self.at += 1;
        let name = self.take_while(continues_word);
        if name.is_empty() {
            let what = "after $ comes the name of a parameter";
            return Err(Mistake::new(self.since(start), what));
        }
        Ok(TokenKind::Parameter(name.to_owned()))
    }

    fn bytes(&mut self) -> Result<TokenKind> {
        let start = self.at;
        self.at += 2;
        let digits = self.take_while(|c| c.is_ascii_hexdigit());
        if self.peek() != Some('\'') {
            let what = "bytes are pairs of hex digits with ' at the end";
            return Err(Mistake::new(self.since(start), what));
        }
        self.at += 1;
        let value = |digit: u8| char::from(digit).to_digit(16).and_then(|d| u8::try_from(d).ok());
        let pairs = digits.as_bytes().chunks(2).map(|pair| match *pair {
            [high, low] => Some(value(high)? << 4 | value(low)?),
            _ => None,
        });
        let bytes = pairs.collect::<Option<Vec<u8>>>();
        bytes
            .map(TokenKind::Bytes)
            .ok_or_else(|| Mistake::new(self.since(start), "bytes need an even number of digits"))
    }

    fn text(&mut self) -> Result<TokenKind> {
        let units = self.between('"', "text")?;
        Ok(TokenKind::Text(JavaString::from_units(&units)))
    }

    fn name(&mut self) -> Result<TokenKind> {
        let start = self.at;
        let units = self.between('`', "name")?;
        match JavaString::from_units(&units).into_string() {
            Ok(name) if !name.is_empty() => Ok(TokenKind::Quoted(name)),
            Ok(_) => Err(Mistake::new(self.since(start), "a name is not empty")),
            Err(_) => Err(Mistake::new(self.since(start), "a name has no unpaired surrogates")),
        }
    }

    /// The units between two quotes.
    fn between(&mut self, quote: char, what: &str) -> Result<Vec<u16>> {
        let start = self.at;
        self.at += 1;
        let mut units = Vec::new();
        let mut buffer = [0; 2];
        loop {
            let at = self.at;
            match self.next_char() {
                None => {
                    let what = format!("the {what} that begins here has no {quote} at its end");
                    return Err(Mistake::new(Span::new(start, start + 1), what));
                }
                Some(c) if c == quote => return Ok(units),
                Some('\\') => self.escape(at, &mut units)?,
                Some(c) => units.extend_from_slice(c.encode_utf16(&mut buffer)),
            }
        }
    }

    fn escape(&mut self, start: usize, units: &mut Vec<u16>) -> Result<()> {
        let unit = match self.next_char() {
            Some('"') => 0x22,
            Some('\\') => 0x5c,
            Some('/') => 0x2f,
            Some('`') => 0x60,
            Some('b') => 0x08,
            Some('f') => 0x0c,
            Some('n') => 0x0a,
            Some('r') => 0x0d,
            Some('t') => 0x09,
            Some('u') => return self.unicode_escape(start, units),
            _ => {
                return Err(Mistake::new(self.since(start), "there is no such escape").expecting(
                    &["\\\"", "\\\\", "\\/", "\\`", "\\b", "\\f", "\\n", "\\r", "\\t", "\\u{9b}"],
                ));
            }
        };
        units.push(unit);
        Ok(())
    }

    /// `\u009b`, one UTF-16 unit, or `\u{1f600}`.
    fn unicode_escape(&mut self, start: usize, units: &mut Vec<u16>) -> Result<()> {
        let wrong = |lexer: &Self| {
            let what = "after \\u come four hex digits, or a character's code in braces";
            Mistake::new(lexer.since(start), what)
        };
        let braces = self.peek() == Some('{');
        let rest = self.rest();
        let (digits, len) = if braces {
            let end = rest.find('}').filter(|end| (2..=7).contains(end));
            let end = end.ok_or_else(|| wrong(self))?;
            (rest.get(1..end), end + 1)
        } else {
            (rest.get(..4), 4)
        };
        let digits = digits.filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let code = code.ok_or_else(|| wrong(self))?;
        self.at += len;
        // A unit may be an unpaired surrogate, which no character is.
        if let Ok(unit) = u16::try_from(code) {
            units.push(unit);
            return Ok(());
        }
        let c = char::from_u32(code).ok_or_else(|| wrong(self))?;
        units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
        Ok(())
    }
}
