//! The derive macros: what they declare, the messages for what they do not accept, and declarations
//! that are hard for them.
#![allow(
    uncommon_codepoints,
    reason = "names of every kind are derived; the lint is of whole crates"
)]

pub mod accepted;
mod evolution;
mod hostile;
mod messages;
