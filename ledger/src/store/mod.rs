//! Pages as stores of the key/value layer.

pub(crate) mod linear;
mod watched_keys;
