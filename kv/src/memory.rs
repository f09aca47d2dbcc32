//! An in-memory store.
