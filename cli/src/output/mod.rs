//! All output of the program. Text from a database, a path or an argument is escaped, so that it
//! cannot control the terminal.

mod csv;
mod format;
mod json;
mod lines;
mod pager;
mod progress;
mod sink;
mod stderr;
mod stdout;
mod stream;
mod table;
mod writer;

pub(crate) use format::Format;
pub(crate) use json::SCHEMA;
pub(crate) use progress::Progress;
pub(crate) use stderr::{ask, failure, note, note_now, use_json};
pub(crate) use stdout::Output;
