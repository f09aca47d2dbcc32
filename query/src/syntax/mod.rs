//! Statements as data.
//!
//! [`parse`](crate::parse()) makes them from text, and their `Display` form is text that parses to
//! the same statement. Names are as written: [`check`](crate::check) resolves what they stand for.

mod condition;
mod literal;
mod name;
mod objects;
mod span;
mod statement;

pub use condition::{Comparison, Condition, ConditionKind, Range};
pub use literal::{Literal, LiteralKind};
pub use name::{Name, Part, Path, Special};
pub use objects::{Direction, Objects, ObjectsKind, SetOperator, Step};
pub use span::Span;
pub use statement::{
    Assignment, Bounds, Change, Create, Delete, Explain, Find, IndexEntries, Limit, Migrate, Order,
    Query, Set, Statement, StatementKind, Using,
};
