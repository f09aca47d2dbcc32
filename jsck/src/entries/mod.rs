//! Index entries: which there should be, which there are, and what is wrong where they differ.
//!
//! Objects note the entries they require. The checks compare, look up and sort them.

pub(crate) mod entry_findings;
pub(crate) mod fingerprint;
pub(crate) mod indexes;
pub(crate) mod is_required;
pub(crate) mod required;
pub(crate) mod sort;
pub(crate) mod temporary_items;
