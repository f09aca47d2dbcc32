//! The code that all XML documents of this crate share: reading tag by tag, and escaping text.
//!
//! A DOCTYPE is refused and only the five predefined entities are known, so a document cannot grow
//! while it is read. Depth, attributes and namespaces are limited, so the cost of an element is
//! proportional to its length.
#![deny(clippy::indexing_slicing)]

mod escape;
mod parse;
mod well_formed;

pub(crate) use escape::{escape, is_xml_char};
pub(crate) use parse::{Fault, Parser, Position, Start, Tag};
