//! Values as written.

use permazen::ObjId;
use permazen::encoding::JavaString;

use super::Span;

/// A value as written. The field it is for decides which value it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Literal {
    /// Where it stands.
    pub span: Span,
    /// The written value.
    pub kind: LiteralKind,
}

/// The forms in which a value is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiteralKind {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A decimal number, as written: `-12`, `0.5`, `1E-7`.
    Number(String),
    /// A text in quotes: a string, or the text form of any other value.
    Text(JavaString),
    /// `x'00ff'`
    Bytes(Vec<u8>),
    /// A constant of an enum.
    Word(String),
    /// `@1000000000000001`
    Id(ObjId),
    /// `$x`: a value that is given when the statement is checked.
    Parameter(String),
    /// `[1, 2]`
    List(Vec<Literal>),
    /// `{1, 2}`. Without elements, it is also the empty map.
    Set(Vec<Literal>),
    /// `{"a": 1}`, with at least one pair.
    Map(Vec<(Literal, Literal)>),
}

impl Literal {
    /// The literal, not from a text.
    pub fn of(kind: LiteralKind) -> Self {
        Literal { span: Span::default(), kind }
    }
}
