//! Escape sequences: the characters after a backslash.

use super::extent::{Atom, Extent};
use super::text::{Parser, Reason, code, is_ascii};

/// The names of general categories, and of classes that need no prefix.
const PLAIN_PROPERTIES: [&str; 57] = [
    "C", "Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Me", "Mc", "Nd", "Nl", "No", "Zs", "Zl", "Zp",
    "Cc", "Cf", "Co", "Cs", "Pd", "Ps", "Pe", "Pc", "Po", "Sm", "Sc", "Sk", "So", "Pi", "Pf", "L",
    "M", "N", "Z", "P", "S", "LC", "LD", "L1", "all", "ASCII", "Alnum", "Alpha", "Blank", "Cntrl",
    "Digit", "Graph", "Lower", "Print", "Punct", "Space", "Upper", "XDigit", "IsL", "IsM", "IsN",
];

/// The meaning of an escape sequence.
pub(super) enum Escape {
    Char(u32),
    /// A class of characters, a position, or a reference to a group.
    Other(Atom),
}

impl Parser {
    /// Reads the characters after a backslash.
    pub(super) fn escape(&mut self, in_class: bool) -> Result<Escape, Reason> {
        const UNKNOWN: Reason = "illegal or unsupported escape sequence";
        let Some(point) = self.next_raw() else { return Err("backslash at the end") };
        let class = Ok(Escape::Other(Atom::Char));
        // These have no meaning within a class, where only characters stand.
        let outside = |part: Atom| if in_class { Err(UNKNOWN) } else { Ok(Escape::Other(part)) };
        let reference = Atom::Whole(Extent::WITHOUT_LIMIT);
        match char::from_u32(point) {
            Some('0') => self.octal().map(Escape::Char),
            // A reference can match a text of any length.
            Some('1'..='9') => outside(reference),
            Some('A' | 'B' | 'G' | 'Z' | 'z') => outside(Atom::POSITION),
            Some('b') => {
                let braces = !in_class && self.peek_is('{');
                // Only `\b{g}` has braces.
                if braces && self.text.get(self.at + 1) == Some(&code('g')) {
                    self.at += 2;
                    if !self.eat_raw('}') {
                        return Err(UNKNOWN);
                    }
                }
                outside(Atom::POSITION)
            }
            Some('R') => outside(Atom::LINE_BREAK),
            Some('X') => outside(Atom::CLUSTER),
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
                // A name must be defined before it is used.
                if self.names.contains(&name) {
                    Ok(Escape::Other(reference))
                } else {
                    Err("named capturing group does not exist")
                }
            }
            Some('u') => {
                // Java has the braces for `\x` only.
                if self.raw() == Some(code('{')) {
                    return Err("illegal Unicode escape sequence");
                }
                self.hex(4).map(Escape::Char).ok_or("illegal Unicode escape sequence")
            }
            Some('x') => {
                self.hex_escape().map(Escape::Char).ok_or("illegal hexadecimal escape sequence")
            }
            // Java keeps all other letters for future use. Any other character stands for itself.
            Some(char) if char.is_ascii_alphabetic() => Err(UNKNOWN),
            _ => Ok(Escape::Char(point)),
        }
    }

    /// Reads one to three octal digits, up to 0377.
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
                // A third digit would exceed 0377 if the first is above 3.
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

    /// Reads two hex digits, or any number of them in braces.
    fn hex_escape(&mut self) -> Option<u32> {
        if !self.eat_raw('{') {
            return self.hex(2);
        }
        let mut number = self.hex_digit()?;
        while let Some(digit) = self.hex_digit() {
            number = number << 4 | digit;
            // A greater number is no character, and would overflow.
            if number > 0x10_ffff {
                return None;
            }
        }
        self.eat_raw('}').then_some(number)
    }

    /// Reads `{NAME}`. Does not check whether the name exists.
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
        // Whether the name exists is not known here, so any character stands for it.
        if self.at > start && self.eat_raw('}') { Ok(0xfffd) } else { Err(ERROR) }
    }

    /// Reads a letter or a name in braces, after `\p`.
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
            let name = self.text.get(start..self.at).unwrap_or_default();
            self.at += 1;
            if name.is_empty() {
                return Err("empty character family");
            }
            name.iter().map(|&point| char::from_u32(point).unwrap_or('\u{fffd}')).collect()
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
        // Names of scripts and blocks depend on the version of Unicode, so any word is taken.
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
}
