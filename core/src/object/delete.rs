//! Deleting objects (transactions §9).
