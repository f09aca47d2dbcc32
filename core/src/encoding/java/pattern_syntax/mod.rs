//! The syntax of Java's regular expressions, as far as it decides which texts are refused.

mod classes;
mod escapes;
mod extent;
mod text;

use escapes::Escape;
use extent::{Atom, Extent, Mode, Repetition};
use text::{MAX_DEPTH, Parser, Reason, TOO_DEEP, code, is_ascii};

/// Checks that Java compiles an expression, which is given as UTF-16 units. Parts deeper than
/// [`MAX_DEPTH`] are not checked, because Java's limit is the size of its stack.
pub(crate) fn check(units: &[u16]) -> Result<(), Reason> {
    let mut parser = Parser::new(units);
    match parser.alternatives() {
        // What is nested that deeply is taken as it is, since only Java's stack decides about it.
        Err(TOO_DEEP) => return Ok(()),
        checked => checked?,
    };
    // A closing parenthesis ends the alternatives, so one that is left has no opening one.
    match parser.peek() {
        None => Ok(()),
        Some(_) => Err("unmatched closing )"),
    }
}

impl Parser {
    fn alternatives(&mut self) -> Result<Extent, Reason> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(TOO_DEEP);
        }
        let mut extent = self.sequence()?;
        while self.eat('|') {
            extent = extent.or(self.sequence()?);
        }
        self.depth -= 1;
        Ok(extent)
    }

    fn sequence(&mut self) -> Result<Extent, Reason> {
        let mut extent = Extent::EMPTY;
        loop {
            let part = match self.peek().and_then(char::from_u32) {
                // A surrogate is no character of Rust, but the text goes on.
                None if self.raw().is_none() => return Ok(extent),
                Some('|' | ')') => return Ok(extent),
                Some('*' | '+' | '?') => return Err("dangling meta character"),
                Some('(') => match self.group()? {
                    Some(group) => group,
                    // The group only sets flags, so there is nothing to repeat.
                    None => continue,
                },
                Some('[') => {
                    self.at += 1;
                    self.class(0)?;
                    Atom::Char
                }
                Some('\\') => {
                    self.at += 1;
                    match self.escape(false)? {
                        Escape::Char(_) => Atom::Char,
                        Escape::Other(part) => part,
                    }
                }
                Some('^' | '$') => {
                    self.at += 1;
                    Atom::POSITION
                }
                // The brace is not read here: it is a quantifier that repeats an empty part.
                Some('{') => Atom::POSITION,
                _ => {
                    self.at += 1;
                    Atom::Char
                }
            };
            extent = match self.repetition()? {
                Some(repetition) => extent.then_repeated(part, repetition),
                None => extent.then(part.extent()),
            };
        }
    }

    /// Reads a quantifier; `None` if there is none.
    fn repetition(&mut self) -> Result<Option<Repetition>, Reason> {
        let (least, most) = match self.peek().and_then(char::from_u32) {
            Some('?') => {
                self.at += 1;
                (0, Some(1))
            }
            Some('*') => {
                self.at += 1;
                (0, None)
            }
            Some('+') => {
                self.at += 1;
                (1, None)
            }
            Some('{') => {
                self.at += 1;
                self.counts()?
            }
            _ => return Ok(None),
        };
        // The sign after a quantifier changes how it matches, and with it the length.
        let mode = if self.eat('?') {
            Mode::Lazy
        } else if self.eat('+') {
            Mode::Possessive
        } else {
            Mode::Greedy
        };
        Ok(Some(match (least, most) {
            // Java treats `{0,1}` as `?`.
            (0, Some(1)) => Repetition::Optional,
            _ => Repetition::Times { least, most, mode },
        }))
    }

    /// Reads the rest of `{n}`, `{n,}` or `{n,m}`: the smallest and the largest number of
    /// repetitions.
    fn counts(&mut self) -> Result<(i32, Option<i32>), Reason> {
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
            most => Ok((least, most)),
        }
    }

    fn count(&mut self) -> Result<i32, Reason> {
        let mut number = 0i32;
        while let Some(digit) = self.raw().filter(|&point| is_ascii(point, u8::is_ascii_digit)) {
            let digit = (digit - code('0')).cast_signed();
            // Java counts in 32 bits and refuses what does not fit.
            number = number
                .checked_mul(10)
                .and_then(|number| number.checked_add(digit))
                .ok_or("illegal repetition range")?;
            self.at += 1;
        }
        Ok(number)
    }

    /// Reads a group; `None` if it only sets flags.
    fn group(&mut self) -> Result<Option<Atom>, Reason> {
        self.at += 1;
        // A flag within a group holds up to its end.
        let outer_comments = self.comments;
        let mut look_behind = false;
        let mut look = false;
        let mut atomic = false;
        if self.eat('?') {
            match self.next_raw().and_then(char::from_u32) {
                Some(':') => {}
                Some('>') => atomic = true,
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
                        // Flags without a colon hold for the rest of the group around them.
                        Some(')') => return Ok(None),
                        Some(':') => {}
                        _ => return Err("unknown inline modifier"),
                    }
                }
            }
        }
        let extent = self.alternatives()?;
        if !self.eat(')') {
            return Err("unclosed group");
        }
        self.comments = outer_comments;
        // Java must know how far to look back.
        if look_behind && !extent.has_limit() {
            return Err("look-behind group does not have an obvious maximum length");
        }
        Ok(Some(match (look, atomic) {
            // What is looked at is not part of the match.
            (true, _) => Atom::POSITION,
            (_, true) => Atom::Whole(extent),
            _ => Atom::Group(extent),
        }))
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

    /// Reads a name up to `>`.
    fn group_name(&mut self) -> Result<Vec<u32>, Reason> {
        let start = self.at;
        if !self.raw().is_some_and(|point| is_ascii(point, u8::is_ascii_alphabetic)) {
            return Err("capturing group name does not start with a Latin letter");
        }
        while self.raw().is_some_and(|point| is_ascii(point, u8::is_ascii_alphanumeric)) {
            self.at += 1;
        }
        let name = self.text.get(start..self.at).unwrap_or_default().to_vec();
        if self.eat_raw('>') {
            Ok(name)
        } else {
            Err("named capturing group is missing trailing >")
        }
    }
}
