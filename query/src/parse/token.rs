//! The smallest parts of a statement.

use permazen::encoding::JavaString;
use permazen::{ObjId, StorageId};

use crate::syntax::Span;

/// A part of a statement, and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) span: Span,
    pub(super) kind: TokenKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind {
    /// A word without backticks: a word of the language, or a name.
    Word(String),
    /// A name in backticks.
    Quoted(String),
    Number(String),
    Text(JavaString),
    Bytes(Vec<u8>),
    Id(ObjId),
    Parameter(String),
    /// `#17`
    StorageId(StorageId),
    /// One of [`SIGNS`].
    Sign(&'static str),
    End,
}

/// The signs, longer ones before their beginnings.
pub(super) const SIGNS: [&str; 23] = [
    "..=", "->", "<-", "<=", ">=", "!=", "+=", "-=", "..", "(", ")", "[", "]", "{", "}", ",", ".",
    ":", ";", "=", "<", ">", "!",
];
