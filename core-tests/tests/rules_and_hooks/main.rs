//! Code that runs when objects change: rules, which may refuse it, and hooks and observers.
#![allow(clippy::unwrap_used, clippy::panic, clippy::duplicated_attributes, reason = "tests")]

mod errors_of_the_library;
mod hooks;
mod rules;
mod support;
mod xml_beside_hooks;
