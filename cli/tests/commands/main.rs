//! The commands of the program `permazen`, each run as a process.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod copies;
mod damaged;
mod damaged_files;
mod effects;
mod every_value;
mod fixture;
mod java;
mod java_commands;
mod json_schema;
mod kills;
mod kv;
mod maintenance;
mod objects;
mod repairs;
mod schema;
mod simple;
mod types;
