//! Stores in LMDB, alone and beside other processes.

mod commit_numbers;
mod own_thread;
mod replaced;
mod shared;
mod space;
mod store;
mod structure;
mod waiting;
