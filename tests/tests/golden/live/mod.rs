//! What traces and databases both need to speak with the object layer in recorded texts.

pub mod index_rows;
pub mod text;
