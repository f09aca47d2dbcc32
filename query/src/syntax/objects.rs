//! Expressions that stand for sets of objects.

use permazen::ObjId;

use super::{Condition, Name, Span};

/// A set of objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objects {
    /// Where it stands.
    pub span: Span,
    /// Which set.
    pub kind: ObjectsKind,
}

/// Which set of objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectsKind {
    /// All objects of a type.
    Type(Name),
    /// One object; the empty set if it does not exist.
    Id(ObjId),
    /// The object with the ID that the parameter holds.
    Parameter(String),
    /// The objects that are reached from other objects by these steps, at least one.
    Path(Box<Objects>, Vec<Step>),
    /// The objects of another set that meet a condition.
    Where(Box<Objects>, Box<Condition>),
    /// Sets combined from the left to the right, with at least one operator. `intersect` binds more
    /// closely than the others, so a combination has either only `intersect`, or none.
    Combined(Box<Objects>, Vec<(SetOperator, Objects)>),
}

/// How two sets are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SetOperator {
    /// The objects in at least one of them.
    Union,
    /// The objects in both.
    Intersect,
    /// The objects of the first that are not in the second.
    Minus,
}

impl SetOperator {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            SetOperator::Union => "union",
            SetOperator::Intersect => "intersect",
            SetOperator::Minus => "minus",
        }
    }
}

/// From objects to the objects they refer to, or to those that refer to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Where it stands.
    pub span: Span,
    /// Which way.
    pub direction: Direction,
    /// The names between the dots, at least one: a field, with a sub-field after it, with a type
    /// before it. A step back begins with the type.
    pub names: Vec<Name>,
}

/// The direction of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// `->`: to the objects that are referred to.
    Forward,
    /// `<-`: to the objects that refer.
    Back,
}
