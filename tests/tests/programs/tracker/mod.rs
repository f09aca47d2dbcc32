//! The example program `tracker`, whose objects move from version 1 to versions 2 and 3, while the
//! program is killed, and while other versions of it work on the same database.
//!
//! ```text
//! cargo test -p permazen-tests --test programs tracker
//! PERMAZEN_KILLS=1000 cargo test -p permazen-tests --test programs tracker::kills -- --nocapture
//! ```
//!
//! `PERMAZEN_KILLS` sets how often the upgrade is killed (default 4). A run prints its seed, and
//! `PERMAZEN_SEED` repeats the same pauses.

#[path = "../../java/driver.rs"]
#[allow(unreachable_pub)]
mod driver;
mod golden;
mod java;
mod kills;
mod process;
#[path = "../../durability/random.rs"]
mod random;
mod versions;

/// The program.
#[path = "../../../../examples/tracker/main.rs"]
#[allow(dead_code)]
mod program;
