//! Objects: which exist, and what the content of each says.

pub(crate) mod content;
pub(crate) mod info;
pub(crate) mod known;
pub(crate) mod scan;
