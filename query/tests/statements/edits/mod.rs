//! Statements that change objects.

mod changes;
mod create;
mod delete;
mod guide;
mod migrate;
mod new_ids;
mod preview;
mod random;
mod refusals;
mod set;
mod world;
