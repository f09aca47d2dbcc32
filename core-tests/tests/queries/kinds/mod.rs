//! Mix-ins and kinds: fields that models share, and sets of models as types.

mod accessors;
mod deletion;
mod evolution;
mod generic;
mod mistakes;
mod models;
mod nested;
mod queries;
mod random;
mod schemas;
mod uniqueness;
