//! What pending writes change, by object and field.

mod costs;
mod examples;
mod naive;
mod random;
mod world;
