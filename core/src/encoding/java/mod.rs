//! The rules of Java's own texts: identifiers, regular expressions, and numbers as text.
//!
//! Rust has other rules for these. But a text must be accepted here exactly if Java Permazen
//! accepts it. The encodings use these functions; the functions do not use any encoding.

pub(crate) mod identifier;
mod identifier_table;
pub(crate) mod number_text;
pub(crate) mod pattern_syntax;
pub(crate) mod radix;
