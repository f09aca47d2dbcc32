//! Pages as stores of the key/value layer.

mod held;
pub(crate) mod linear;
mod watched_keys;
