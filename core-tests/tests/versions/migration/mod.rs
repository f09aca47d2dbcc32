//! Objects that move to another schema by the names of their fields, without losing anything.

mod batches;
mod exactly;
mod failures;
mod like_models;
mod world;
