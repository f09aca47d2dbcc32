//! Shared pieces of the whole-system tests.
