//! The recorded schemas: whether their tables can be used, and which key ranges they give a
//! meaning.
//!
//! The checks call these first. Everything else uses `ranges`.

pub(crate) mod gaps;
pub(crate) mod joint;
pub(crate) mod metadata;
pub(crate) mod ranges;
