//! Databases that are killed, cut short, damaged, or have no space.
//!
//! ```text
//! cargo test -p permazen-tests --test durability
//! PERMAZEN_KILLS=10000 cargo test -p permazen-tests --test durability kills -- --nocapture
//! ```
//!
//! The processes are this program, started again to play a role. A run prints its seed.
//! `PERMAZEN_SEED` repeats the same commits and pauses.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod copies;
mod creating;
mod damage;
mod disk;
mod faults;
mod kills;
mod loads;
mod model;
mod processes;
mod random;
mod upgrades;
mod workload;
