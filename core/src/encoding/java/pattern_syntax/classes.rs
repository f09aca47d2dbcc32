//! Classes of characters: the text in brackets.

use super::escapes::Escape;
use super::text::{MAX_DEPTH, Parser, Reason, TOO_DEEP, code};

impl Parser {
    /// Reads the rest of a class of characters, after its opening bracket.
    pub(super) fn class(&mut self, depth: usize) -> Result<(), Reason> {
        if depth > MAX_DEPTH {
            return Err(TOO_DEEP);
        }
        self.eat_raw('^');
        self.class_body(depth, true)
    }

    /// Reads the parts of a class up to the closing bracket. Reads the bracket too if `consume` is
    /// true.
    fn class_body(&mut self, depth: usize, consume: bool) -> Result<(), Reason> {
        if depth > MAX_DEPTH {
            return Err(TOO_DEEP);
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
                // Two signs intersect the classes, and a single one stands for itself.
                Some('&') if self.text.get(self.at + 1) == Some(&code('&')) => {
                    self.at += 2;
                    let mut right = false;
                    while let Some(point) = self.peek() {
                        // Another intersection is read by the loop around this one.
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
                    // An intersection needs a class on one of its sides.
                    if !some && !right {
                        return Err("bad class syntax");
                    }
                    some = true;
                }
                // A bracket at the start stands for itself.
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
                // A class cannot begin a range, so a `-` after it is read as a character.
                Escape::Other(_) => return Ok(()),
            },
            Some(point) => point,
            None => return Err("unclosed character class"),
        };
        if !self.peek_is('-') {
            return Ok(());
        }
        // A `-` before a bracket stands for itself.
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
