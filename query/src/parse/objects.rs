//! Expressions that stand for sets of objects.

use super::cursor::Cursor;
use super::limits::Result;
use super::token::TokenKind;
use crate::syntax::{Direction, Objects, ObjectsKind, SetOperator, Step};

impl Cursor<'_> {
    pub(super) fn objects(&mut self) -> Result<Objects> {
        self.combined(&[SetOperator::Union, SetOperator::Minus], Self::intersection)
    }

    fn intersection(&mut self) -> Result<Objects> {
        self.combined(&[SetOperator::Intersect], Self::filtered)
    }

    fn combined(
        &mut self,
        operators: &[SetOperator],
        operand: fn(&mut Self) -> Result<Objects>,
    ) -> Result<Objects> {
        let start = self.start();
        let first = operand(self)?;
        let mut rest = Vec::new();
        while let Some(operator) = operators.iter().find(|o| self.at_word(o.word())) {
            self.take()?;
            rest.push((*operator, operand(self)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        let kind = ObjectsKind::Combined(Box::new(first), rest);
        Ok(Objects { span: self.since(start), kind })
    }

    fn filtered(&mut self) -> Result<Objects> {
        let start = self.start();
        let from = self.stepped()?;
        if !self.take_word("where")? {
            return Ok(from);
        }
        let condition = self.condition()?;
        if self.at_sign("->") || self.at_sign("<-") {
            let mut mistake = self.unexpected(&[]);
            mistake.what = "before a step, objects with a condition stand in parentheses".into();
            return Err(mistake);
        }
        let kind = ObjectsKind::Where(Box::new(from), Box::new(condition));
        Ok(Objects { span: self.since(start), kind })
    }

    fn stepped(&mut self) -> Result<Objects> {
        let start = self.start();
        let from = self.primary()?;
        let mut steps = Vec::new();
        loop {
            let start = self.start();
            let direction = match self.token().kind {
                TokenKind::Sign("->") => Direction::Forward,
                TokenKind::Sign("<-") => Direction::Back,
                _ => break,
            };
            self.take()?;
            let names = self.names("a field, or a type and a field")?;
            steps.push(Step { span: self.since(start), direction, names });
        }
        if steps.is_empty() {
            return Ok(from);
        }
        Ok(Objects { span: self.since(start), kind: ObjectsKind::Path(Box::new(from), steps) })
    }

    fn primary(&mut self) -> Result<Objects> {
        let start = self.start();
        if self.take_sign("(")? {
            let inner = self.nested(Self::objects)?;
            self.need_sign(")")?;
            return Ok(inner);
        }
        let kind = match &self.token().kind {
            TokenKind::Id(id) => ObjectsKind::Id(*id),
            TokenKind::Parameter(name) => ObjectsKind::Parameter(name.clone()),
            _ => {
                let kind = ObjectsKind::Type(self.name("a type, an ID or `(`")?);
                return Ok(Objects { span: self.since(start), kind });
            }
        };
        self.take()?;
        Ok(Objects { span: self.since(start), kind })
    }
}
