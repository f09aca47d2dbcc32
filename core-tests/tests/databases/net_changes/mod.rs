//! The changes of pending writes, by object and field.

mod costs;
mod examples;
mod naive;
mod random;
mod world;
