//! Checks and repairs, called as a library.

mod catalogue;
mod completeness;
mod damage;
mod derived;
mod intents;
mod many_types;
mod mutations;
mod naive;
mod online;
mod temporary_files;
mod threads;
