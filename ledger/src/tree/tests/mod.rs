//! Trees against a sorted map, and against the tree that is built from scratch.
#![allow(clippy::print_stdout)]

mod costs;
mod definition;
mod differences;
mod edits;
mod in_memory;
mod operations;
mod uniform;
