//! Commits: their bytes, and the times they have.

pub(crate) mod encoding;
#[cfg(test)]
mod tests;
pub(crate) mod time;
