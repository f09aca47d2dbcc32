//! Conditions and paths.

use super::cursor::Cursor;
use super::limits::{MAX_DEPTH, Result};
use super::token::TokenKind;
use crate::mistake::Mistake;
use crate::syntax::{
    Comparison, Condition, ConditionKind, Literal, LiteralKind, Part, Path, Special,
};

impl Cursor<'_> {
    pub(super) fn condition(&mut self) -> Result<Condition> {
        self.chain("or", Self::conjunction, ConditionKind::Or)
    }

    fn conjunction(&mut self) -> Result<Condition> {
        self.chain("and", Self::negation, ConditionKind::And)
    }

    fn chain(
        &mut self,
        word: &str,
        part: fn(&mut Self) -> Result<Condition>,
        join: fn(Vec<Condition>) -> ConditionKind,
    ) -> Result<Condition> {
        let start = self.start();
        let first = part(self)?;
        if !self.at_word(word) {
            // A chain of one part is that part, so parentheses leave no trace in the tree.
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.take_word(word)? {
            parts.push(part(self)?);
        }
        Ok(Condition { span: self.since(start), kind: join(parts) })
    }

    fn negation(&mut self) -> Result<Condition> {
        let start = self.start();
        if self.take_word("not")? {
            let inner = self.nested(Self::negation)?;
            let kind = ConditionKind::Not(Box::new(inner));
            return Ok(Condition { span: self.since(start), kind });
        }
        if self.take_sign("(")? {
            let inner = self.nested(Self::condition)?;
            self.need_sign(")")?;
            return Ok(inner);
        }
        // Paths begin with names. A value without quotes looks like one, so only others can come
        // first.
        let kind = if self.at_marked_literal() {
            let value = self.literal()?;
            self.need_word("in")?;
            ConditionKind::Has(self.path()?, value)
        } else {
            let path = self.path()?;
            self.relation(path)?
        };
        Ok(Condition { span: self.since(start), kind })
    }

    fn relation(&mut self, path: Path) -> Result<ConditionKind> {
        if let TokenKind::Sign(sign) = self.token().kind
            && let Some(comparison) = Comparison::ALL.into_iter().find(|c| c.sign() == sign)
        {
            self.take()?;
            return Ok(ConditionKind::Compare(path, comparison, self.literal()?));
        }
        let start = self.start();
        if self.take_word("is")? {
            let comparison =
                if self.take_word("not")? { Comparison::NotEqual } else { Comparison::Equal };
            self.need_word("null")?;
            // `is null` is `= null`: null is a value, and there is no third outcome of a condition.
            let null = Literal { span: self.since(start), kind: LiteralKind::Null };
            return Ok(ConditionKind::Compare(path, comparison, null));
        }
        if self.take_word("has")? {
            return Ok(ConditionKind::Has(path, self.literal()?));
        }
        if self.take_word("starts")? {
            return Ok(ConditionKind::Starts(path, self.literal()?));
        }
        if self.take_word("in")? {
            return self.within(path);
        }
        Err(self.unexpected(&["a comparison", "`in`", "`has`", "`starts`", "`is null`"]))
    }

    fn within(&mut self, path: Path) -> Result<ConditionKind> {
        let start = self.start();
        // A set would also be a value, so it is asked for before the lower bound of a range.
        if self.at_sign("{") {
            let values = self.nested(|cursor| cursor.list("{", "}"))?;
            return Ok(ConditionKind::OneOf(path, values));
        }
        let from = if self.at_range() { None } else { Some(self.literal()?) };
        if self.at_range() {
            return Ok(ConditionKind::Within(path, self.range_after(start, from)?));
        }
        match from {
            // The parameter can be a set or a list. Its value is no part of the parsed text.
            Some(from) if matches!(from.kind, LiteralKind::Parameter(_)) => {
                Ok(ConditionKind::OneOfParameter(path, from))
            }
            _ => Err(self.unexpected(&["`..`", "`..=`"])),
        }
    }

    pub(super) fn path(&mut self) -> Result<Path> {
        let start = self.start();
        let mut parts = vec![self.part()?];
        loop {
            if self.take_sign(".")? {
                parts.push(self.part()?);
            } else if self.take_sign("[")? {
                let key = self.nested(Self::literal)?;
                self.need_sign("]")?;
                parts.push(Part::Key(key));
            } else {
                return Ok(Path { span: self.since(start), parts });
            }
            if parts.len() > MAX_DEPTH {
                return Err(Mistake::new(
                    self.since(start),
                    format!("a path has at most {MAX_DEPTH} parts"),
                ));
            }
        }
    }

    fn part(&mut self) -> Result<Part> {
        if let Some(special) = Special::ALL.into_iter().find(|s| self.at_word(s.word())) {
            self.take()?;
            return Ok(Part::Special(special));
        }
        Ok(Part::Name(self.name("a field")?))
    }
}
