//! Hooks and observers through the public interface, over the memory store.

mod after;
mod along;
mod committed;
mod derived;
mod errors;
mod events;
mod kinds;
mod mixins;
mod new_objects;
mod observers;
mod other_schemas;
mod recursion;
mod renamed;
mod validate;
mod whole;
mod within;

use std::cell::RefCell;

use permazen::kv::memory::MemoryStore;
use permazen::{Builder, Permazen};

thread_local! {
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Notes that something has happened in this thread.
fn log(line: impl Into<String>) {
    LOG.with_borrow_mut(|log| log.push(line.into()));
}

/// Takes the log of this thread.
fn taken() -> Vec<String> {
    LOG.take()
}

/// Takes the log of this thread, which must have these lines.
#[track_caller]
fn assert_log<const N: usize>(expected: [&str; N]) {
    assert_eq!(LOG.take(), expected);
}

fn builder() -> Builder {
    Permazen::builder(MemoryStore::new())
}
