//! Programs on one store, each a process of its own: this test program, started again to play a
//! role.
//!
//! A test has an entry for them, which is a test by name:
//!
//! ```ignore
//! #[test]
//! fn program() {
//!     if let Some(words) = role() {
//!         play(&words, open);
//!     }
//! }
//! ```

mod bank;
mod histories;
mod interleavings;
mod process;
mod together;
mod world;

use permazen::kv::KvDatabase;

use crate::forks;

pub use bank::{Outcome, Records, accounts, bank, found, transfer};
pub use histories::are_strictly_serializable;
pub use interleavings::are_as_good_as_one_after_another;
pub use process::{Process, role, say};
pub use together::do_as_if_each_were_alone;
pub use world::{World, kill_programs, rounds};

/// How a program opens the store that a URL names.
pub type Open<S> = fn(&str) -> S;

/// A program that forks while it has a new store open, which has this URL. It does nothing else,
/// since a child of a process with other threads may wait for their locks.
///
/// # Panics
/// If the child can use the store of its parent, or the parent not any more.
pub fn a_child_of_a_fork_leaves_the_store_to_its_parent(url: &str) {
    Process::start(&["forks", url]).stop();
}

/// Plays the role for which a process was started.
///
/// # Panics
/// If there is no such role, or if something goes wrong.
pub fn play<S: KvDatabase + Clone + 'static>(words: &[String], open: Open<S>) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["bank", url, directory, name, threads] => {
            bank::work(open, url, directory.as_ref(), name, threads.parse().unwrap());
        }
        ["interleavings", url, case, program] => {
            interleavings::work(&open(url), case.parse().unwrap(), program.parse().unwrap());
        }
        ["histories", url, process] => histories::work(&open(url), process.parse().unwrap()),
        ["together", url, number, seconds] => {
            together::work(open, url, number.parse().unwrap(), seconds.parse().unwrap());
        }
        ["forks", url] => forks::a_child_leaves_the_store_to_its_parent(|| open(url)),
        _ => panic!("no role {words:?}"),
    }
}
