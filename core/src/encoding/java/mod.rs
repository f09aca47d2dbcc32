//! What only the rules of Java's own texts need: identifiers, patterns, and the text forms of numbers.
//!
//! A text that Java Permazen accepts must be accepted here, and one that it refuses must be refused, although Rust has
//! other rules for the same things. The encodings next door use these functions; nothing here knows an encoding.

pub(crate) mod identifier;
mod identifier_table;
pub(crate) mod number_text;
pub(crate) mod pattern_syntax;
pub(crate) mod radix;
