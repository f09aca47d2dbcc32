//! Many objects at once: creating them, copying them, and objects as XML.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "tests")]

mod copies;
mod creating;
mod object_xml;
