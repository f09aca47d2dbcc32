//! Pages: their content, how it is read and written, as a store and as a database of objects, and
//! their lifecycle in a repository.
#![allow(clippy::panic, clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod at_commit;
mod comparison;
mod conformance;
mod contacts;
mod differences;
mod first_commit;
mod golden;
mod gone_pages;
mod histories;
mod lifecycle;
mod many_pages;
mod objects;
mod old_snapshots;
mod pages;
mod read_only;
mod separate;
mod streams;
mod unfinished;
mod values;
mod within_write;
