//! Programs as processes of their own on one server: servers and programs are killed, and what was said of each commit is
//! compared with what is there.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod bank;
mod child;
mod clock;
mod histories;
mod interleavings;
mod kills;
mod together;
