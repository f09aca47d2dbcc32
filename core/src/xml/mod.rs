//! What all XML documents of this crate have in common: how they are read tag by tag, and how text
//! is escaped.
//!
//! A DOCTYPE is refused and only the five predefined entities are known, so a document cannot grow
//! while it is read; depth, attributes and namespaces are limited, so no element costs more than in
//! proportion to its length.
#![deny(clippy::indexing_slicing)]

mod escape;
mod parse;
mod well_formed;

pub(crate) use escape::{escape, is_xml_char};
pub(crate) use parse::{Fault, Parser, Position, Start, Tag};
