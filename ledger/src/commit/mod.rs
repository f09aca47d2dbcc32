//! Commits: their bytes, and the times they have.

pub(crate) mod encoding;
pub(crate) mod time;
