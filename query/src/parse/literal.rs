//! Values.

use super::cursor::Cursor;
use super::keywords::RESERVED;
use super::limits::Result;
use super::token::TokenKind;
use crate::syntax::{Literal, LiteralKind, Range};

impl Cursor<'_> {
    /// Whether a value can begin here that is no word.
    pub(super) fn at_marked_literal(&self) -> bool {
        match &self.token().kind {
            TokenKind::Number(_)
            | TokenKind::Text(_)
            | TokenKind::Bytes(_)
            | TokenKind::Id(_)
            | TokenKind::Parameter(_)
            | TokenKind::Sign("[" | "{") => true,
            TokenKind::Word(word) => matches!(word.as_str(), "null" | "true" | "false"),
            _ => false,
        }
    }

    pub(super) fn literal(&mut self) -> Result<Literal> {
        let start = self.start();
        let kind = match &self.token().kind {
            TokenKind::Word(word) => match word.as_str() {
                "null" => LiteralKind::Null,
                "true" => LiteralKind::Bool(true),
                "false" => LiteralKind::Bool(false),
                // A constant of this name needs backticks. Otherwise a missing value would take the
                // next word.
                word if RESERVED.contains(&word) => return Err(self.unexpected(&["a value"])),
                word => LiteralKind::Word(word.to_owned()),
            },
            TokenKind::Quoted(word) => LiteralKind::Word(word.clone()),
            TokenKind::Number(number) => LiteralKind::Number(number.clone()),
            TokenKind::Text(text) => LiteralKind::Text(text.clone()),
            TokenKind::Bytes(bytes) => LiteralKind::Bytes(bytes.clone()),
            TokenKind::Id(id) => LiteralKind::Id(*id),
            TokenKind::Parameter(name) => LiteralKind::Parameter(name.clone()),
            TokenKind::Sign("[") => {
                let kind = LiteralKind::List(self.nested(|cursor| cursor.list("[", "]"))?);
                return Ok(Literal { span: self.since(start), kind });
            }
            TokenKind::Sign("{") => {
                let kind = self.nested(Self::braces)?;
                return Ok(Literal { span: self.since(start), kind });
            }
            _ => return Err(self.unexpected(&["a value"])),
        };
        self.take()?;
        Ok(Literal { span: self.since(start), kind })
    }

    /// Values between brackets.
    pub(super) fn list(&mut self, open: &str, close: &str) -> Result<Vec<Literal>> {
        self.need_sign(open)?;
        let mut values = Vec::new();
        while !self.take_sign(close)? {
            if !values.is_empty() {
                self.need_comma_or(close)?;
            }
            values.push(self.literal()?);
        }
        Ok(values)
    }

    fn need_comma_or(&mut self, close: &str) -> Result<()> {
        if self.take_sign(",")? {
            return Ok(());
        }
        Err(self.unexpected(&["`,`", &format!("`{close}`")]))
    }

    fn braces(&mut self) -> Result<LiteralKind> {
        self.need_sign("{")?;
        if self.take_sign("}")? {
            // `{}` can be a map too. Only the field tells.
            return Ok(LiteralKind::Set(Vec::new()));
        }
        let first = self.literal()?;
        if !self.take_sign(":")? {
            let mut values = vec![first];
            while !self.take_sign("}")? {
                self.need_comma_or("}")?;
                values.push(self.literal()?);
            }
            return Ok(LiteralKind::Set(values));
        }
        let mut pairs = vec![(first, self.literal()?)];
        while !self.take_sign("}")? {
            self.need_comma_or("}")?;
            let key = self.literal()?;
            self.need_sign(":")?;
            pairs.push((key, self.literal()?));
        }
        Ok(LiteralKind::Map(pairs))
    }

    /// The rest of a range after its lower bound.
    pub(super) fn range_after(&mut self, start: usize, from: Option<Literal>) -> Result<Range> {
        let with_end = self.at_sign("..=");
        self.take()?;
        // `..` needs no upper bound. A word of the language after it continues the statement.
        let at_value = self.at_marked_literal() || self.at_name();
        let to = if with_end || at_value { Some(self.literal()?) } else { None };
        Ok(Range { span: self.since(start), from, to, with_end })
    }

    pub(super) fn at_range(&self) -> bool {
        self.at_sign("..") || self.at_sign("..=")
    }
}
