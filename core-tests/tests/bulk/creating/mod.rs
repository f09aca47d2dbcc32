//! Creating many objects at once: in a transaction, and in a new database. Both give what creating
//! one after the other gives.

mod create_many;
mod failures;
mod loader;
mod models;
mod others;
mod together;
