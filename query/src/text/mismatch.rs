//! Why a literal is no value of an encoding.

use super::{escaped, quoted, quoted_name};

fn shown(word: &str) -> String {
    quoted(&word.into())
}

/// Why a literal is no value of an encoding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// Its form is that of another type.
    #[error("{found} is no value of type {encoding}; expected {expected}")]
    WrongType {
        /// The name of the encoding.
        encoding: String,
        /// The literal that was written: `a number`.
        found: &'static str,
        /// The literals that could be written: `a text in quotes`.
        expected: &'static str,
    },
    /// It is a number that the type cannot hold.
    #[error("{number} is out of range for type {encoding}")]
    OutOfRange {
        /// The name of the encoding.
        encoding: String,
        /// The number as written.
        number: String,
    },
    /// Its text or bytes are no value.
    #[error("no value of type {encoding}: {}", escaped(why))]
    Invalid {
        /// The name of the encoding.
        encoding: String,
        /// The message of the encoding.
        why: String,
    },
    /// It is not among the constants of an enum.
    #[error("{} is not one of the constants {}", shown(word), constants.iter().map(|c| quoted_name(c)).collect::<Vec<_>>().join(", "))]
    NoSuchConstant {
        /// The written word.
        word: String,
        /// The constants there are.
        constants: Vec<String>,
    },
    /// It is null, and the type has no null.
    #[error("null is no value of type {encoding}")]
    Null {
        /// The name of the encoding.
        encoding: String,
    },
}
