//! Sets of objects and conditions.

use std::fmt::{Display, Formatter, Result};

use super::list;
use crate::syntax::{Condition, ConditionKind, Direction, Objects, ObjectsKind, Step};

impl Display for Objects {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.kind {
            ObjectsKind::Type(name) => name.fmt(f),
            ObjectsKind::Id(id) => write!(f, "@{id}"),
            ObjectsKind::Parameter(name) => write!(f, "${name}"),
            ObjectsKind::Path(from, steps) => {
                self.operand(f, from)?;
                steps.iter().try_for_each(|step| step.fmt(f))
            }
            ObjectsKind::Where(from, condition) => {
                self.operand(f, from)?;
                write!(f, " where {condition}")
            }
            ObjectsKind::Combined(first, rest) => {
                self.operand(f, first)?;
                for (operator, operand) in rest {
                    write!(f, " {} ", operator.word())?;
                    self.operand(f, operand)?;
                }
                Ok(())
            }
        }
    }
}

impl Objects {
    /// How closely the parts hold together.
    fn rank(&self) -> u8 {
        match &self.kind {
            ObjectsKind::Combined(..) => 0,
            ObjectsKind::Where(..) => 1,
            ObjectsKind::Path(..) => 2,
            ObjectsKind::Type(_) | ObjectsKind::Id(_) | ObjectsKind::Parameter(_) => 3,
        }
    }

    /// A part of this, in parentheses if it would not hold together without.
    fn operand(&self, f: &mut Formatter<'_>, operand: &Objects) -> Result {
        // Parts of the same rank are in parentheses too: `minus` depends on the order, and a chain
        // is printed flat.
        if operand.rank() > self.rank() { operand.fmt(f) } else { write!(f, "({operand})") }
    }
}

impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self.direction {
            Direction::Forward => "->",
            Direction::Back => "<-",
        })?;
        for (at, name) in self.names.iter().enumerate() {
            write!(f, "{}{name}", if at > 0 { "." } else { "" })?;
        }
        Ok(())
    }
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.kind {
            ConditionKind::And(parts) => self.chain(f, "and", parts),
            ConditionKind::Or(parts) => self.chain(f, "or", parts),
            ConditionKind::Not(inner) => {
                f.write_str("not ")?;
                self.operand(f, inner)
            }
            ConditionKind::Compare(path, comparison, value) => {
                write!(f, "{path} {} {value}", comparison.sign())
            }
            ConditionKind::Within(path, range) => write!(f, "{path} in {range}"),
            ConditionKind::OneOfParameter(path, parameter) => write!(f, "{path} in {parameter}"),
            ConditionKind::OneOf(path, values) => {
                write!(f, "{path} in {{")?;
                list(f, values, |f, value| value.fmt(f))?;
                f.write_str("}")
            }
            ConditionKind::Has(path, value) => write!(f, "{path} has {value}"),
            ConditionKind::Starts(path, text) => write!(f, "{path} starts {text}"),
        }
    }
}

impl Condition {
    fn rank(&self) -> u8 {
        match &self.kind {
            ConditionKind::Or(_) => 0,
            ConditionKind::And(_) => 1,
            ConditionKind::Not(_) => 2,
            _ => 3,
        }
    }

    fn chain(&self, f: &mut Formatter<'_>, word: &str, parts: &[Condition]) -> Result {
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                write!(f, " {word} ")?;
            }
            self.operand(f, part)?;
        }
        Ok(())
    }

    fn operand(&self, f: &mut Formatter<'_>, operand: &Condition) -> Result {
        let is_not = |condition: &Condition| matches!(condition.kind, ConditionKind::Not(_));
        // `not not` reads back without parentheses. For all other equal ranks they keep the tree as
        // it was.
        if operand.rank() > self.rank() || is_not(self) && is_not(operand) {
            operand.fmt(f)
        } else {
            write!(f, "({operand})")
        }
    }
}
