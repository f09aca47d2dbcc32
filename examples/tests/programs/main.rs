//! The example programs: their output, and their models on databases that Java has written.
#![allow(clippy::unwrap_used, unreachable_pub, reason = "tests, with modules of the programs")]
#![allow(dead_code, reason = "the programs have a `main`")]

mod graph;
mod music;
