//! The commands of the shell: as arguments of the program, in scripts and at the prompt. Each has a
//! file of its own, with its arguments, its help and what it does (`command.rs`: the trait), and a
//! line in `table.rs`.

mod check;
mod command;
mod compact;
mod context;
mod copy;
mod demo;
mod file;
mod info;
mod kv;
mod list;
mod objects;
mod prompt;
mod schema;
mod simple;
mod stats;
mod table;
mod topics;
mod types;

pub(crate) use command::{Command, PromptTask, Scope};
pub(crate) use context::{Asks, Context, Unopened};
pub(crate) use kv::in_words;
pub(crate) use prompt::ONLY_AT_THE_PROMPT;
pub(crate) use table::{Line, Named, candidates, names};
