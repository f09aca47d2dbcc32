//! The syntax of Java's regular expressions, as far as it decides which texts are refused.

use std::collections::HashSet;

/// Why a text is no regular expression.
pub(super) type Reason = &'static str;

/// How many characters a part matches at most; `None`: any number.
type Length = Option<u64>;

/// Deeper nesting than any expression a person writes.
const MAX_DEPTH: usize = 200;

/// Names of general categories and of classes that need no prefix.
const PLAIN_PROPERTIES: [&str; 57] = [
    "C", "Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Me", "Mc", "Nd", "Nl", "No", "Zs", "Zl", "Zp",
    "Cc", "Cf", "Co", "Cs", "Pd", "Ps", "Pe", "Pc", "Po", "Sm", "Sc", "Sk", "So", "Pi", "Pf", "L",
    "M", "N", "Z", "P", "S", "LC", "LD", "L1", "all", "ASCII", "Alnum", "Alpha", "Blank", "Cntrl",
    "Digit", "Graph", "Lower", "Print", "Punct", "Space", "Upper", "XDigit", "IsL", "IsM", "IsN",
];

/// Checks that Java compiles an expression, given as UTF-16 units.
pub(super) fn check(units: &[u16]) -> Result<(), Reason> {
    let mut parser = Parser {
        text: without_quotes(code_points(units)),
        at: 0,
        comments: false,
        names: HashSet::new(),
        depth: 0,
    };
    parser.alternatives()?;
    match parser.peek() {
        None => Ok(()),
        Some(_) => Err("unmatched closing )"),
    }
}

/// Characters, with unpaired surrogates as they are.
fn code_points(units: &[u16]) -> Vec<u32> {
    char::decode_utf16(units.iter().copied())
        .map(|decoded| {
            decoded.map_or_else(|error| u32::from(error.unpaired_surrogate()), u32::from)
        })
        .collect()
}

const fn code(char: char) -> u32 {
    char as u32
}

fn is_ascii(point: u32, test: impl Fn(&u8) -> bool) -> bool {
    u8::try_from(point).is_ok_and(|byte| byte.is_ascii() && test(&byte))
}

/// Replaces text between `\Q` and `\E` by escaped characters.
fn without_quotes(text: Vec<u32>) -> Vec<u32> {
    const BACKSLASH: u32 = code('\\');
    let mut out = Vec::with_capacity(text.len());
    let mut quoted = false;
    let mut at = 0;
    while let Some(&point) = text.get(at) {
        let next = text.get(at + 1).copied();
        at += 1;
        if quoted {
            if point == BACKSLASH && next == Some(code('E')) {
                quoted = false;
                at += 1;
            } else {
                if is_ascii(point, |byte| !byte.is_ascii_alphanumeric()) {
                    out.push(BACKSLASH);
                }
                out.push(point);
            }
        } else if point == BACKSLASH && next == Some(code('Q')) {
            quoted = true;
            at += 1;
        } else {
            out.push(point);
            if point == BACKSLASH
                && let Some(next) = next
            {
                out.push(next);
                at += 1;
            }
        }
    }
    out
}

struct Parser {
    text: Vec<u32>,
    at: usize,
    /// Flag `x`: white space and comments do not count.
    comments: bool,
    names: HashSet<Vec<u32>>,
    depth: usize,
}

/// What an escape sequence stands for.
enum Escape {
    Char(u32),
    /// A class of characters, or a position.
    Other(Length),
}

impl Parser {
    fn raw(&self) -> Option<u32> {
        self.text.get(self.at).copied()
    }

    /// The next character that counts.
    fn peek(&mut self) -> Option<u32> {
        while self.comments {
            match self.raw() {
                Some(point)
                    if is_ascii(point, |byte| byte.is_ascii_whitespace() || *byte == 0x0b) =>
                {
                    self.at += 1
                }
                Some(point) if point == code('#') => {
                    while self
                        .raw()
                        .is_some_and(|point| !matches!(point, 0x0a | 0x0d | 0x85 | 0x2028 | 0x2029))
                    {
                        self.at += 1;
                    }
                }
                _ => break,
            }
        }
        self.raw()
    }

    fn peek_is(&mut self, wanted: char) -> bool {
        self.peek() == Some(code(wanted))
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek_is(wanted);
        self.at += usize::from(found);
        found
    }

    fn eat_raw(&mut self, wanted: char) -> bool {
        let found = self.raw() == Some(code(wanted));
        self.at += usize::from(found);
        found
    }

    fn next_raw(&mut self) -> Option<u32> {
        let next = self.raw()?;
        self.at += 1;
        Some(next)
    }

    fn alternatives(&mut self) -> Result<Length, Reason> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("nested too deeply");
        }
        let mut longest = self.sequence()?;
        while self.eat('|') {
            let length = self.sequence()?;
            longest = longest.zip(length).map(|(a, b)| a.max(b));
        }
        self.depth -= 1;
        Ok(longest)
    }

    fn sequence(&mut self) -> Result<Length, Reason> {
        let mut total = Some(0u64);
        loop {
            let length = match self.peek().and_then(char::from_u32) {
                None if self.raw().is_none() => return Ok(total),
                Some('|' | ')') => return Ok(total),
                Some('*' | '+' | '?') => return Err("dangling meta character"),
                Some('(') => match self.group()? {
                    Some(length) => length,
                    // Only flags: nothing to repeat.
                    None => continue,
                },
                Some('[') => {
                    self.at += 1;
                    self.class(0)?;
                    Some(1)
                }
                Some('\\') => {
                    self.at += 1;
                    match self.escape(false)? {
                        Escape::Char(_) => Some(1),
                        Escape::Other(length) => length,
                    }
                }
                Some('^' | '$') => {
                    self.at += 1;
                    Some(0)
                }
                // An empty part, which the braces then repeat.
                Some('{') => Some(0),
                _ => {
                    self.at += 1;
                    Some(1)
                }
            };
            let length = self.repetition(length)?;
            total = total.zip(length).map(|(a, b)| a.saturating_add(b));
        }
    }

    /// A quantifier, if there is one, of a part of this length.
    fn repetition(&mut self, length: Length) -> Result<Length, Reason> {
        let most = match self.peek().and_then(char::from_u32) {
            Some('?') => {
                self.at += 1;
                Some(1)
            }
            Some('*' | '+') => {
                self.at += 1;
                None
            }
            Some('{') => {
                self.at += 1;
                self.counts()?
            }
            _ => return Ok(length),
        };
        if !self.eat('?') {
            self.eat('+');
        }
        Ok(length.zip(most).map(|(length, most)| length.saturating_mul(most)))
    }

    /// The rest of `{n}`, `{n,}` or `{n,m}`: the most repetitions.
    fn counts(&mut self) -> Result<Length, Reason> {
        if !self.raw().is_some_and(|point| is_ascii(point, u8::is_ascii_digit)) {
            return Err("illegal repetition");
        }
        let least = self.count()?;
        let mut most = Some(least);
        if self.eat_raw(',') {
            most = if self.raw() == Some(code('}')) { None } else { Some(self.count()?) };
        }
        if !self.eat_raw('}') {
            return Err("unclosed counted closure");
        }
        match most {
            Some(most) if most < least => Err("illegal repetition range"),
            most => Ok(most),
        }
    }

    fn count(&mut self) -> Result<u64, Reason> {
        let mut number = 0u64;
        while let Some(digit) = self.raw().filter(|&point| is_ascii(point, u8::is_ascii_digit)) {
            number = number * 10 + u64::from(digit - code('0'));
            if number > i32::MAX as u64 {
                return Err("illegal repetition range");
            }
            self.at += 1;
        }
        Ok(number)
    }

    /// A group; `None` if it only sets flags.
    fn group(&mut self) -> Result<Option<Length>, Reason> {
        self.at += 1;
        let outer_comments = self.comments;
        let mut look_behind = false;
        let mut look = false;
        if self.eat_raw('?') {
            match self.next_raw().and_then(char::from_u32) {
                Some(':' | '>') => {}
                Some('=' | '!') => look = true,
                Some('<') => match self.raw().and_then(char::from_u32) {
                    Some('=' | '!') => {
                        self.at += 1;
                        look = true;
                        look_behind = true;
                    }
                    _ => {
                        let name = self.group_name()?;
                        if !self.names.insert(name) {
                            return Err("named capturing group is already defined");
                        }
                    }
                },
                Some('$' | '@') => return Err("unknown group type"),
                _ => {
                    self.at -= 1;
                    self.flags()?;
                    match self.next_raw().and_then(char::from_u32) {
                        Some(')') => return Ok(None),
                        Some(':') => {}
                        _ => return Err("unknown inline modifier"),
                    }
                }
            }
        }
        let length = self.alternatives()?;
        if !self.eat(')') {
            return Err("unclosed group");
        }
        self.comments = outer_comments;
        if look_behind && length.is_none() {
            return Err("look-behind group does not have an obvious maximum length");
        }
        Ok(Some(if look { Some(0) } else { length }))
    }

    fn flags(&mut self) -> Result<(), Reason> {
        let mut on = true;
        loop {
            match self.raw().and_then(char::from_u32) {
                Some('i' | 'm' | 's' | 'd' | 'u' | 'c' | 'U') => {}
                Some('x') => self.comments = on,
                Some('-') if on => on = false,
                _ => return Ok(()),
            }
            self.at += 1;
        }
    }

    /// A name up to `>`.
    fn group_name(&mut self) -> Result<Vec<u32>, Reason> {
        let start = self.at;
        if !self.raw().is_some_and(|point| is_ascii(point, u8::is_ascii_alphabetic)) {
            return Err("capturing group name does not start with a Latin letter");
        }
        while self.raw().is_some_and(|point| is_ascii(point, u8::is_ascii_alphanumeric)) {
            self.at += 1;
        }
        let name = self.text[start..self.at].to_vec();
        if self.eat_raw('>') {
            Ok(name)
        } else {
            Err("named capturing group is missing trailing >")
        }
    }

    /// What follows a backslash.
    fn escape(&mut self, in_class: bool) -> Result<Escape, Reason> {
        const UNKNOWN: Reason = "illegal or unsupported escape sequence";
        let Some(point) = self.next_raw() else { return Err("backslash at the end") };
        let class = Ok(Escape::Other(Some(1)));
        let outside =
            |length: Length| if in_class { Err(UNKNOWN) } else { Ok(Escape::Other(length)) };
        match char::from_u32(point) {
            Some('0') => self.octal().map(Escape::Char),
            Some('1'..='9') => outside(None),
            Some('A' | 'B' | 'G' | 'Z' | 'z') => outside(Some(0)),
            Some('b') => {
                if !in_class && self.peek_is('{') {
                    self.at += 1;
                    if !self.eat_raw('g') || !self.eat_raw('}') {
                        return Err(UNKNOWN);
                    }
                }
                outside(Some(0))
            }
            Some('R') => outside(Some(2)),
            Some('X') => outside(None),
            Some('D' | 'H' | 'S' | 'V' | 'W' | 'd' | 'h' | 's' | 'w' | 'v') => class,
            Some('p' | 'P') => {
                self.property()?;
                class
            }
            Some('N') => self.character_name().map(Escape::Char),
            Some('a') => Ok(Escape::Char(0x07)),
            Some('e') => Ok(Escape::Char(0x1b)),
            Some('f') => Ok(Escape::Char(0x0c)),
            Some('n') => Ok(Escape::Char(0x0a)),
            Some('r') => Ok(Escape::Char(0x0d)),
            Some('t') => Ok(Escape::Char(0x09)),
            Some('c') => self
                .next_raw()
                .map(|point| Escape::Char(point ^ 64))
                .ok_or("illegal control escape sequence"),
            Some('k') => {
                if in_class {
                    return Err(UNKNOWN);
                }
                if !self.eat_raw('<') {
                    return Err("\\k is not followed by '<' for named capturing group");
                }
                let name = self.group_name()?;
                if self.names.contains(&name) {
                    Ok(Escape::Other(None))
                } else {
                    Err("named capturing group does not exist")
                }
            }
            Some('u') => {
                if self.raw() == Some(code('{')) {
                    return Err("illegal Unicode escape sequence");
                }
                self.hex(4).map(Escape::Char).ok_or("illegal Unicode escape sequence")
            }
            Some('x') => {
                self.hex_escape().map(Escape::Char).ok_or("illegal hexadecimal escape sequence")
            }
            Some(char) if char.is_ascii_alphabetic() => Err(UNKNOWN),
            _ => Ok(Escape::Char(point)),
        }
    }

    /// One to three octal digits, up to 0377.
    fn octal(&mut self) -> Result<u32, Reason> {
        let digit = |parser: &Self| {
            parser
                .raw()
                .filter(|&point| is_ascii(point, |byte| (b'0'..=b'7').contains(byte)))
                .map(|point| point - code('0'))
        };
        let Some(first) = digit(self) else { return Err("illegal octal escape sequence") };
        self.at += 1;
        let mut number = first;
        for count in 1..3 {
            match digit(self) {
                Some(next) if count == 1 || first <= 3 => number = number * 8 + next,
                _ => break,
            }
            self.at += 1;
        }
        Ok(number)
    }

    fn hex_digit(&mut self) -> Option<u32> {
        let digit = char::from_u32(self.raw()?)?.to_digit(16)?;
        self.at += 1;
        Some(digit)
    }

    fn hex(&mut self, count: usize) -> Option<u32> {
        (0..count).try_fold(0, |number, _| Some(number << 4 | self.hex_digit()?))
    }

    /// Two digits, or any number of them in braces.
    fn hex_escape(&mut self) -> Option<u32> {
        if !self.eat_raw('{') {
            return self.hex(2);
        }
        let mut number = self.hex_digit()?;
        while let Some(digit) = self.hex_digit() {
            number = number << 4 | digit;
            if number > 0x10_ffff {
                return None;
            }
        }
        self.eat_raw('}').then_some(number)
    }

    /// `{NAME}`: which names there are is not checked.
    fn character_name(&mut self) -> Result<u32, Reason> {
        const ERROR: Reason = "illegal character name escape sequence";
        if !self.eat_raw('{') {
            return Err(ERROR);
        }
        let start = self.at;
        while self.raw().is_some_and(|point| {
            is_ascii(point, |byte| byte.is_ascii_alphanumeric() || b" -()_".contains(byte))
        }) {
            self.at += 1;
        }
        if self.at > start && self.eat_raw('}') { Ok(0xfffd) } else { Err(ERROR) }
    }

    /// A letter or a name in braces, after `\p`.
    fn property(&mut self) -> Result<(), Reason> {
        const UNKNOWN: Reason = "unknown character property name";
        let name: String = if self.eat('{') {
            let start = self.at;
            while self.raw().is_some_and(|point| point != code('}')) {
                self.at += 1;
            }
            if self.raw().is_none() {
                return Err("unclosed character family");
            }
            self.at += 1;
            if self.at - 1 == start {
                return Err("empty character family");
            }
            self.text[start..self.at - 1]
                .iter()
                .map(|&point| char::from_u32(point).unwrap_or('\u{fffd}'))
                .collect()
        } else {
            match self.next_raw().and_then(char::from_u32) {
                Some(letter) => letter.to_string(),
                None => return Err(UNKNOWN),
            }
        };
        let is_word = |name: &str| {
            name.starts_with(|first: char| first.is_ascii_alphabetic())
                && name
                    .chars()
                    .all(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | ' ' | '-'))
        };
        let known = match name.split_once('=') {
            Some((key, value)) => {
                matches!(
                    key.to_ascii_lowercase().as_str(),
                    "sc" | "script" | "blk" | "block" | "gc" | "general_category"
                ) && is_word(value)
            }
            None => {
                PLAIN_PROPERTIES.contains(&name.as_str())
                    || ["In", "Is", "java"]
                        .iter()
                        .any(|prefix| name.strip_prefix(prefix).is_some_and(is_word))
            }
        };
        if known { Ok(()) } else { Err(UNKNOWN) }
    }

    /// The rest of a class of characters, after its opening bracket.
    fn class(&mut self, depth: usize) -> Result<(), Reason> {
        if depth > MAX_DEPTH {
            return Err("nested too deeply");
        }
        self.eat_raw('^');
        self.class_body(depth, true)
    }

    /// The parts of a class up to the closing bracket, which is read if `consume`.
    fn class_body(&mut self, depth: usize, consume: bool) -> Result<(), Reason> {
        if depth > MAX_DEPTH {
            return Err("nested too deeply");
        }
        let mut some = false;
        loop {
            match self.peek().and_then(char::from_u32) {
                None if self.raw().is_none() => return Err("unclosed character class"),
                Some('[') => {
                    self.at += 1;
                    self.class(depth + 1)?;
                    some = true;
                }
                Some('&') if self.text.get(self.at + 1) == Some(&code('&')) => {
                    self.at += 2;
                    let mut right = false;
                    while let Some(point) = self.peek() {
                        if point == code(']') || point == code('&') {
                            break;
                        }
                        if self.eat_raw('[') {
                            self.class(depth + 1)?
                        } else {
                            self.class_body(depth + 1, false)?
                        }
                        right = true;
                    }
                    if !some && !right {
                        return Err("bad class syntax");
                    }
                    some = true;
                }
                Some(']') if some => {
                    self.at += usize::from(consume);
                    return Ok(());
                }
                _ => {
                    self.class_range()?;
                    some = true;
                }
            }
        }
    }

    fn class_range(&mut self) -> Result<(), Reason> {
        let start = match self.next_raw() {
            Some(point) if point == code('\\') => match self.escape(true)? {
                Escape::Char(point) => point,
                Escape::Other(_) => return Ok(()),
            },
            Some(point) => point,
            None => return Err("unclosed character class"),
        };
        if !self.peek_is('-') {
            return Ok(());
        }
        match self.text.get(self.at + 1) {
            Some(&point) if point == code('[') || point == code(']') => return Ok(()),
            _ => self.at += 1,
        }
        let end = match self.peek() {
            Some(point) if point == code('\\') => {
                self.at += 1;
                match self.escape(true)? {
                    Escape::Char(point) => Some(point),
                    Escape::Other(_) => None,
                }
            }
            Some(point) => {
                self.at += 1;
                Some(point)
            }
            None => None,
        };
        if end.is_some_and(|end| end >= start) { Ok(()) } else { Err("illegal character range") }
    }
}
