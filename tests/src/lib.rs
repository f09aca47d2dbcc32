//! Pieces shared by the whole-system tests.

pub mod address_book;
pub mod child;
pub mod digest;
pub mod files;
pub mod hex;
pub mod on_page;
pub mod outcome;
pub mod portable;
pub mod scratch;
pub mod sources;
pub mod trace;
