//! A language for Permazen databases: find, show, count, create, set, delete and migrate objects by
//! the names of the recorded schemas, without the program's structs.
//!
//! The language is described in the guide: docs/src/query-language.md. A statement goes through these
//! steps:
//!
//! | step | gives |
//! |---|---|
//! | [`parse`] | a [`Statement`](syntax::Statement): what is written |
//!
//! The library prints nothing. [`text`] makes text that is safe to print.
//!
//! ```
//! let statement = permazen_query::parse("find Person where age >= 30 order by name desc limit 20")?;
//! assert_eq!(statement.to_string(), "find Person where age >= 30 order by name desc limit 20");
//! # Ok::<(), permazen_query::Mistake>(())
//! ```
#![deny(missing_docs)]

mod mistake;
pub mod parse;
mod print;
pub mod syntax;
pub mod text;

pub use mistake::Mistake;
pub use parse::{parse, parse_literal, parse_objects, parse_script, parse_script_bytes};
