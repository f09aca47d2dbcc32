//! The program `permazen`, run as its users run it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, clippy::print_stdout)]

mod command_line;
mod edits;
mod formats;
mod guide;
mod hostile;
mod interrupts;
#[cfg(unix)]
mod keyboard;
mod others;
mod pager;
mod prompt;
mod scripts;
mod servers;
mod stores;
mod support;
mod terminal;
