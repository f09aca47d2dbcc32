//! `schema`: the recorded schemas.

mod change;
mod compare;
mod effects;
mod encodings;
mod list;
pub(crate) mod named;
mod print_rust;
mod rust;
mod show;
mod verify;

pub(crate) use change::{Add, Gc, Remove};
pub(crate) use compare::Compare;
pub(crate) use list::List;
pub(crate) use print_rust::Rust;
pub(crate) use show::Show;
pub(crate) use verify::Verify;

/// Look at the recorded schemas, compare them, add and remove them.
#[derive(Debug, clap::Args)]
pub(crate) struct Schema {}
