//! Stores in SQLite, alone and beside other processes.

mod looking;
mod replaced;
mod store;
