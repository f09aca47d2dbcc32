//! Derive macros of the `permazen` crate.
