//! Conditions.

use super::{Literal, Path, Span};

/// A condition that an object meets or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Where it stands.
    pub span: Span,
    /// Its kind.
    pub kind: ConditionKind,
}

/// The kind of a condition. If a path reads several values, one of them has to meet it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConditionKind {
    /// All of these, at least two: `a and b`.
    And(Vec<Condition>),
    /// Any of these, at least two: `a or b`.
    Or(Vec<Condition>),
    /// Not this one.
    Not(Box<Condition>),
    /// `age >= 30`. `is null` is `= null`, `is not null` is `!= null`.
    Compare(Path, Comparison, Literal),
    /// `name in "A".."C"`
    Within(Path, Range),
    /// `name in {"Ann", "Bob"}`
    OneOf(Path, Vec<Literal>),
    /// A value is in the set or list that a parameter has: `name in $names`.
    OneOfParameter(Path, Literal),
    /// `tags has "x"`, also written `"x" in tags`.
    Has(Path, Literal),
    /// `name starts "An"`
    Starts(Path, Literal),
}

/// How a value is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// All of them.
    pub const ALL: [Comparison; 6] = [
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ];

    /// The sign for it.
    pub fn sign(self) -> &'static str {
        match self {
            Comparison::Equal => "=",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }
}

/// The values between two bounds. Null is not between any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// Where it stands.
    pub span: Span,
    /// The lower bound, which belongs to the range.
    pub from: Option<Literal>,
    /// The upper bound. Without one, the range ends before null.
    pub to: Option<Literal>,
    /// Whether the upper bound belongs to the range: `..=`.
    pub with_end: bool,
}
