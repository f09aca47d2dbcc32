//! Databases that are killed, cut short, starved and damaged.
//!
//! ```text
//! cargo test -p permazen-tests --test durability
//! PERMAZEN_KILLS=10000 cargo test -p permazen-tests --test durability kills -- --nocapture
//! ```
//!
//! Processes are this program run again to play a role. A run prints its seed; `PERMAZEN_SEED`
//! repeats the same commits and pauses.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod copies;
mod creating;
mod damage;
mod disk;
mod faults;
mod kills;
mod model;
mod processes;
mod random;
mod workload;
