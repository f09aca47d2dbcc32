//! A language for Permazen databases: find, show, count, create, set, delete and migrate objects by
//! the names of the recorded schemas, without the program's structs.
//!
//! The language is described in the guide: docs/src/query-language.md. A statement goes through
//! these steps:
//!
//! | step | gives |
//! |---|---|
//! | [`parse`](parse()) | a [`Statement`](syntax::Statement): what is written |
//! | [`check`](check()) with a [`Catalog`] | a [`Checked`]: what is meant; names are found, values have their encodings |
//! | [`plan`](plan()) | a [`Plan`]: how it is run, for people |
//! | [`run`](run()) | what a reading statement finds, given to [`Rows`] |
//! | [`edit`](edit()) | what `create`, `set`, `delete` and `migrate` do, as one step |
//! | [`preview`](preview()) | what `delete` would do |
//! | [`Changes`] | what a transaction has changed so far |
//!
//! The library prints nothing. [`text`] makes text that is safe to print.
//!
//! ```
//! let statement = permazen_query::parse("find Person where age >= 30 order by name desc limit 20")?;
//! assert_eq!(statement.to_string(), "find Person where age >= 30 order by name desc limit 20");
//! # Ok::<(), permazen_query::Mistake>(())
//! ```
#![deny(missing_docs)]
#![cfg_attr(
    not(test),
    deny(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

pub mod catalog;
mod changes;
mod check;
mod checking;
mod edit;
mod error;
mod limits;
mod mistake;
mod not_taken;
pub mod parse;
mod plan;
mod print;
mod rows;
mod run;
pub mod syntax;
pub mod text;

pub use catalog::Catalog;
pub use changes::{ChangeCounts, ChangeRow, Changed, Changes, TypeChanges};
pub use check::{Checked, Parameters};
pub use checking::check;
pub use edit::{
    Edited, Listed, NewIds, Preview, PreviewObject, PreviewReference, edit, lost, migration,
    preview,
};
pub use error::QueryError;
pub use limits::Limits;
pub use mistake::{Mistake, nearest};
pub use not_taken::NotTaken;
pub use parse::{
    parse, parse_first, parse_literal, parse_objects, parse_script, parse_script_bytes,
};
pub use plan::{Plan, plan};
pub use rows::{Cell, Column, ObjectRow, Row, Rows};
pub use run::{Ran, each_match, matches, run};
